// Who holds the allocated peak, as an icicle: what lies below a box is a part of it. By module, by source line or by category.

function icicle(d) {
  const kinds = [
    ['module', site => [...modules(site), leaf(site)]],
    ['line', ([op, module, file, category]) => [file || '(' + category + ')', op || '(unnamed)', ...(module ? [module] : [])]],
    ['category', site => [site[3], ...modules(site), leaf(site)]],
  ];
  const modules = ([, module]) => module ? module.split('.') : [];
  const leaf = ([op, module, file]) => (module && op.startsWith(module + '.') ? op.slice(module.length + 1) : op) || file || '(unnamed)';
  const frame = make('div', {class: 'frame'});
  const readout = make('p', {class: 'readout', role: 'status'});
  const tables = make('div', {});
  let root, zoomed, kindNow = 0, width = 0;

  function pick(kind) {
    kindNow = kind;
    root = node('all of the peak', null);
    for (const [site, bytes, requested, count] of d.holders) {
      let at = root;
      add(at, bytes, requested, count);
      for (const part of kinds[kind][1](d.sites[site])) {
        if (!at.below.has(part)) at.below.set(part, node(part, at));
        at = at.below.get(part);
        add(at, bytes, requested, count);
      }
      at.category = d.sites[site][3];
    }
    root.below.forEach(join);
    zoomed = root;
    const rows = [];
    for (const child of sorted(root)) {
      rows.push([child.name, size(child.bytes), share(child.bytes, root.bytes), String(child.count)]);
    }
    tables.replaceChildren(table('as a table, by ' + kinds[kind][0], [[kinds[kind][0]], ['bytes', true], ['share', true], ['storages', true]], rows));
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
    at.requested += requested;
    at.count += count;
  }
  const sorted = at => [...at.below.values()].sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
  const says = at => at.name + ': ' + size(at.bytes) + ', ' + share(at.bytes, root.bytes) + ' of the peak, ' + at.count + (at.count === 1 ? ' storage' : ' storages') +
    ', ' + size(at.requested) + ' asked for' + (at.category ? ', ' + at.category : '');

  function show() {
    const row = 22, most = 9;
    const boxes = [], byNode = new Map();
    let deepest = 0;
    lay(zoomed, 0, width, 0, null);
    const svg = draw('svg', {width, height: (deepest + 1) * row, class: 'icicle', role: 'tree', 'aria-label': 'who holds the allocated peak of ' + d.name}, ...boxes);
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
      const box = draw('g', {role: 'treeitem', tabindex: '-1', 'aria-level': depth + 1, 'aria-label': says(at), class: 'box ' + (at.below.size ? 'inner' : at.category)},
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

  const out = make('section', {}, make('h4', {}, 'Held at the allocated peak'), choice('by', kinds.map(kind => kind[0]), pick), categories(d), frame, readout, tables);
  pick(0);
  watch(frame, w => {
    width = w;
    show();
  });
  return out;
}

// categories is the key to the colours, of those that there are.
function categories(d) {
  const seen = [...new Set(d.holders.map(([site]) => d.sites[site][3]))].sort();
  return make('p', {class: 'legend'}, ...seen.map(name => make('span', {class: 'key'},
    draw('svg', {width: 12, height: 12, 'aria-hidden': 'true'}, draw('g', {class: 'box ' + name}, draw('rect', {width: 12, height: 12}))), ' ' + name.replace('_', ' '))));
}
