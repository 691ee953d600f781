// What a run's events add up to: figures by event, by category, by holder.

// What storages are for, from the bottom of the stack to its top, with the words for people. What was there before the first event has no site.
const categories = [['parameter', 'parameters'], ['buffer', 'buffers'], ['constant', 'constants'], ['input', 'inputs'], ['gradient', 'gradients'], ['optimizer_state', 'optimizer state'],
  ['activation', 'activations'], ['temporary', 'temporaries'], ['workspace', 'workspace'], ['untraced', 'unattributed']];
const categoryOf = (d, at) => at < 0 ? 'untraced' : d.sites[at][3];

// figures are allocated and reserved memory after each event.
function figures(d) {
  const n = d.change.length, allocated = new Float64Array(n), reserved = new Float64Array(n);
  for (let i = 0, sum = d.start, change = 0, held = 0; i < n; i++) {
    sum += d.change[i];
    while (change < d.reserved.length && d.reserved[change][0] <= i) held = d.reserved[change++][1];
    allocated[i] = sum;
    reserved[i] = held;
  }
  return {allocated, reserved};
}

// stack is allocated memory by category, a row for every `per` events: [first event, bytes by category] at the row's highest event.
function stack(d, per) {
  const at = new Map(categories.map(([name], i) => [name, i])), now = categories.map(() => 0), rows = [];
  now[at.get('untraced')] = d.start;
  let sum = d.start, most = -1;
  d.change.forEach((change, i) => {
    now[at.get(categoryOf(d, d.at[i]))] += change;
    sum += change;
    if (i % per === 0) {
      rows.push([i, now.slice()]);
      most = sum;
    } else if (sum > most) {
      rows[rows.length - 1][1] = now.slice();
      most = sum;
    }
  });
  return rows;
}

// heldAfter is what is held after an event: [site, bytes, null, storages], the largest first. What was asked for is known at the peak only.
function heldAfter(d, event) {
  const held = new Map([[-1, [-1, d.start, null, d.start ? 1 : 0]]]);
  for (let i = 0; i <= event; i++) {
    if (!d.change[i]) continue;
    if (!held.has(d.at[i])) held.set(d.at[i], [d.at[i], 0, null, 0]);
    const row = held.get(d.at[i]);
    row[1] += d.change[i];
    row[3] += d.change[i] > 0 ? 1 : -1;
  }
  return [...held.values()].filter(row => row[1] > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

// during names the pass and the phase of an event: "steady iteration, backward".
function during(d, event) {
  return [d.passes, d.phases].map(bands => bands.find(([, first, last]) => first <= event && event <= last)).filter(band => band).map(([name]) => name).join(', ');
}
