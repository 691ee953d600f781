// The device memory that the allocator holds, segment by segment, with the blocks in it; and why what is free does not serve.

function segments(d) {
  const frame = make('div', {class: 'frame'});
  const readout = make('p', {class: 'readout', role: 'status'});
  const reasons = make('div', {});
  let moment = d.moments[0], width = 0;

  function pick(i) {
    moment = d.moments[i];
    const sums = new Map();
    let free = 0, held = 0;
    for (const s of moment.segments) {
      held += s.size;
      for (const [bytes, , , reason] of s.blocks) {
        if (reason < 0) continue;
        free += bytes;
        const sum = sums.get(reason) || [0, 0];
        sums.set(reason, [sum[0] + bytes, sum[1] + 1]);
      }
    }
    const asked = i === 0 && d.peak[1] === moment.event ? ', when ' + size(d.requested) + ' was asked for and no free block served' : '';
    reasons.replaceChildren(make('p', {}, size(free) + ' of ' + size(held) + ' in ' + moment.segments.length + (moment.segments.length === 1 ? ' segment is' : ' segments is') + ' cached but free at ' + moment.name + asked + '.'));
    if (sums.size && asked) {
      reasons.append(make('ul', {class: 'reasons'}, ...[...sums].sort((a, b) => b[1][0] - a[1][0]).map(([reason, [bytes, count]]) =>
        make('li', {}, size(bytes) + ' in ' + count + (count === 1 ? ' block: ' : ' blocks: ') + d.reasons[reason]))));
    }
    reasons.append(table('segments as a table', [['address'], ['size', true], ['pool'], ['stream', true], ['in use', true], ['free', true], ['largest free block', true]], moment.segments.map(s => {
      const unused = s.blocks.filter(block => block[3] >= 0).map(block => block[0]);
      const sum = unused.reduce((a, b) => a + b, 0);
      return [s.addr, size(s.size), s.pool, String(s.stream), size(s.size - sum), size(sum), unused.length ? size(Math.max(...unused)) : ''];
    })));
    if (width) show();
  }

  const says = (s, [bytes, requested, site, reason]) => reason >= 0 ?
    size(bytes) + ' free, ' + d.reasons[reason] + '; segment of ' + size(s.size) + ', ' + s.pool :
    size(bytes) + ' in use, ' + size(requested) + ' asked for: ' + place(d.sites[site]) + '; segment of ' + size(s.size) + ', ' + s.pool;

  function show() {
    const row = 18, left = 84;
    const largest = moment.segments.reduce((a, s) => Math.max(a, s.size), 1);
    const rows = moment.segments.map((s, i) => {
      const span = Math.max(6, (width - left - 2) * s.size / largest);
      const g = draw('g', {role: 'row', 'aria-label': 'segment of ' + size(s.size) + ', ' + s.pool});
      g.append(draw('text', {class: 'axis', x: left - 6, y: i * row + 13, 'text-anchor': 'end'}, size(s.size)));
      let at = left;
      for (const block of s.blocks) {
        const wide = span * block[0] / s.size;
        const category = block[3] >= 0 ? 'free' : (d.sites[block[2]] || ['', '', '', ''])[3];
        g.append(draw('g', {role: 'gridcell', tabindex: '-1', class: 'box ' + category, 'aria-label': says(s, block)},
          draw('title', {}, says(s, block)), draw('rect', {x: at, y: i * row + 2, width: Math.max(0.4, wide - (wide > 3 ? 0.6 : 0)), height: row - 4})));
        at += wide;
      }
      return g;
    });
    const svg = draw('svg', {width, height: rows.length * row + 4, class: 'segments', role: 'grid', 'aria-label': 'segments at ' + moment.name + ' of ' + d.name}, ...rows);
    const tell = event => {
      const box = event.target.closest('[role=gridcell]');
      if (box) readout.textContent = box.getAttribute('aria-label');
    };
    svg.addEventListener('pointerover', tell);
    svg.addEventListener('focusin', tell);
    const first = svg.querySelector('[role=gridcell]');
    if (first) {
      rove(svg, first, (from, key) => {
        const cells = g => g ? [...g.querySelectorAll('[role=gridcell]')] : [];
        const here = cells(from.parentNode), i = here.indexOf(from), line = rows.indexOf(from.parentNode);
        switch (key) {
          case 'ArrowRight': return here[i + 1] || null;
          case 'ArrowLeft': return here[i - 1] || null;
          case 'ArrowDown': return cells(rows[line + 1])[0] || null;
          case 'ArrowUp': return cells(rows[line - 1])[0] || null;
          case 'Home': return here[0];
          case 'End': return here[here.length - 1];
        }
        return null;
      });
    }
    frame.replaceChildren(svg);
    readout.textContent = 'a box is a block; those with a dotted edge are free';
  }

  const out = make('section', {}, make('h4', {}, 'Segments'));
  if (d.moments.length > 1) out.append(choice('at', d.moments.map(m => m.name), pick));
  out.append(frame, readout, reasons);
  pick(0);
  watch(frame, w => {
    width = w;
    show();
  });
  return out;
}
