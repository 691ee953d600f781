// Who holds what, at the allocated peak or at an event that is picked, as an icicle: what lies below a box is a part of it. By module, by source line, by category or by what autograd saved it for.

// icicle is the section, and a function that shows an event, -1 for the peak, in it.
function icicle(d) {
  const kinds = [
    ['module', site => [...modules(site), leaf(site)]],
    ['line', ([op, module, file, category]) => [file || '(' + category + ')', op || '(unnamed)', ...(module ? [module] : [])]],
    ['category', site => [site[3], ...modules(site), leaf(site)]],
    ...(d.sites.some(site => site[4]) ? [['saved for', site => [site[4] || '(' + site[3] + ')', ...modules(site), leaf(site)]]] : []),
  ];
  const modules = ([, module]) => module ? module.split('.') : [];
  const leaf = ([op, module, file]) => (module && op.startsWith(module + '.') ? op.slice(module.length + 1) : op) || file || '(unnamed)';
  const frame = make('div', {class: 'frame'});
  const readout = make('p', {class: 'readout', role: 'status'});
  const title = make('h4', {}), back = make('button', {type: 'button'}, 'the allocated peak');
  const tables = make('div', {});
  const before = ['made before', '', '', 'untraced', ''], saves = kinds.length > 3;
  let root, zoomed, kindNow = 0, width = 0, held = d.holders, moment = 'the peak';

  function at(event) {
    const there = event < 0 ? 'the allocated peak' : 'event ' + event + (during(d, event) ? ', ' + during(d, event) : '');
    title.textContent = 'Held ' + (event < 0 ? 'at ' : 'after ') + there;
    back.hidden = event < 0;
    held = event < 0 ? d.holders : heldAfter(d, event);
    moment = event < 0 ? 'the peak' : 'event ' + event;
    pick(kindNow);
  }

  function pick(kind) {
    kindNow = kind;
    root = node('all of ' + (moment === 'the peak' ? moment : 'what is held'), null);
    for (const [number, bytes, requested, count] of held) {
      const site = number < 0 ? before : d.sites[number];
      let at = root;
      add(at, bytes, requested, count);
      for (const part of kinds[kind][1](site)) {
        if (!at.below.has(part)) at.below.set(part, node(part, at));
        at = at.below.get(part);
        add(at, bytes, requested, count);
      }
      at.category = site[3];
    }
    root.below.forEach(join);
    zoomed = root;
    const rows = [];
    for (const child of sorted(root)) {
      rows.push([child.name, size(child.bytes), share(child.bytes, root.bytes), String(child.count)]);
    }
    const every = [...held].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([number, bytes, , count]) => {
      const [op, module, file, category, saver] = number < 0 ? before : d.sites[number];
      return [size(bytes), String(count), category.replace('_', ' '), module, op, file, ...(saves ? [saver] : [])];
    });
    const holders = table('holders as a table', [['bytes', true], ['storages', true], ['category'], ['module'], ['operator'], ['line'], ...(saves ? [['saved for']] : [])], every);
    holders.open = moment !== 'the peak';
    tables.replaceChildren(table('as a table, by ' + kinds[kind][0], [[kinds[kind][0]], ['bytes', true], ['share', true], ['storages', true]], rows), holders);
    if (width) show();
  }

  // join makes one box of a module and the only module in it.
  function join(at) {
    while (at.below.size === 1 && kindNow !== 1) {
      const [only] = at.below.values();
      if (only.below.size === 0) break;
      at.name += '.' + only.name;
      at.below = only.below;
      at.below.forEach(child => { child.above = at; });
    }
    at.below.forEach(join);
  }

  function node(name, above) {
    return {name, above, below: new Map(), bytes: 0, requested: 0, count: 0, category: ''};
  }
  function add(at, bytes, requested, count) {
    at.bytes += bytes;
    at.requested = requested === null ? null : at.requested + requested;
    at.count += count;
  }
  const sorted = at => [...at.below.values()].sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
  const says = at => at.name + ': ' + size(at.bytes) + ', ' + share(at.bytes, root.bytes) + ' of ' + moment + ', ' + at.count + (at.count === 1 ? ' storage' : ' storages') +
    (at.requested === null ? '' : ', ' + size(at.requested) + ' asked for') + (at.category ? ', ' + at.category : '');

  function show() {
    const row = 22, most = 9;
    const boxes = [], byNode = new Map();
    let deepest = 0;
    lay(zoomed, 0, width, 0, null);
    const svg = draw('svg', {width, height: (deepest + 1) * row, class: 'icicle', role: 'tree', 'aria-label': 'who holds ' + (moment === 'the peak' ? 'the allocated peak' : moment) + ' of ' + d.name}, ...boxes);
    svg.addEventListener('click', event => zoom(byNode.get(event.target.closest('g'))));
    svg.addEventListener('pointerover', event => tell(event.target.closest('g')));
    svg.addEventListener('focusin', event => tell(event.target.closest('g')));
    rove(svg, boxes[0], (from, key) => {
      const at = byNode.get(from);
      if (key === 'Enter' || key === ' ') return zoom(at);
      if (key === 'Escape') return zoom(root);
      const siblings = at.at.above && at !== byNode.get(boxes[0]) ? sorted(at.at.above).filter(s => drawn(s)) : [at.at];
      const i = siblings.indexOf(at.at);
      switch (key) {
        case 'ArrowRight': return drawn(siblings[i + 1]);
        case 'ArrowLeft': return drawn(siblings[i - 1]);
        case 'ArrowDown': return drawn(sorted(at.at).find(s => drawn(s)));
        case 'ArrowUp': return at.at === zoomed ? null : drawn(at.at.above);
      }
      return null;
    });
    frame.replaceChildren(svg);
    tell(boxes[0]);

    function drawn(at) {
      return at ? boxes.find(box => byNode.get(box).at === at) : null;
    }
    function tell(box) {
      if (box && byNode.has(box)) readout.textContent = says(byNode.get(box).at);
    }
    function zoom(entry) {
      const at = entry && (entry.at || entry);
      if (!at || at === zoomed && at === root) return null;
      zoomed = at === zoomed ? at.above : at;
      show();
      frame.querySelector('[tabindex="0"]').focus();
      return null;
    }
    // lay puts a box of a node at x, and those below it next to each other, the largest first.
    function lay(at, x, wide, depth) {
      if (wide < 1 || depth > most) return;
      deepest = Math.max(deepest, depth);
      const box = draw('g', {role: 'treeitem', tabindex: '-1', 'aria-level': depth + 1, 'aria-label': says(at), class: 'box ' + (at.below.size ? 'inner' : at.category || 'inner')},
        draw('title', {}, says(at)), draw('rect', {x, y: depth * row, width: Math.max(0.5, wide - 1), height: row - 1}));
      if (at.below.size) box.setAttribute('aria-expanded', 'true');
      const letters = Math.floor((wide - 8) / 7);
      if (letters > 2) box.append(draw('text', {x: x + 4, y: depth * row + 15}, at.name.length > letters ? at.name.slice(0, letters - 1) + '…' : at.name));
      boxes.push(box);
      byNode.set(box, {at});
      let next = x;
      for (const child of sorted(at)) {
        const part = wide * child.bytes / at.bytes;
        lay(child, next, part, depth + 1);
        next += part;
      }
    }
  }

  const names = new Set(d.at.filter((at, i) => d.change[i]).map(site => categoryOf(d, site)));
  if (d.start) names.add('untraced');
  const out = make('section', {}, title, back, choice('by', kinds.map(kind => kind[0]), pick), make('p', {class: 'legend'}, ...colours(names)), frame, readout, tables);
  back.addEventListener('click', () => at(-1));
  at(-1);
  watch(frame, w => {
    width = w;
    show();
  });
  return [out, at];
}
