// The memory of a run over its events: allocated as an area, reserved as a line, budgets and the device as lines, phases and modules as bands below.

function timeline(d) {
  const n = d.change.length;
  const allocated = new Array(n), reserved = new Array(n);
  for (let i = 0, sum = 0, change = 0, held = 0; i < n; i++) {
    sum += d.change[i];
    while (change < d.reserved.length && d.reserved[change][0] <= i) held = d.reserved[change++][1];
    allocated[i] = sum;
    reserved[i] = held;
  }
  const top = reserved.reduce((a, b) => Math.max(a, b), 1);
  const near = d.lines.filter(line => line.bytes <= 2.5 * top);
  const most = near.reduce((a, line) => Math.max(a, line.bytes), top) * 1.06;
  const far = d.lines.filter(line => line.bytes > 2.5 * top);

  const frame = make('div', {class: 'frame'});
  const readout = make('p', {class: 'readout'});
  const state = {cursor: Math.max(0, d.peak[0])};
  const says = i => {
    const parts = ['event ' + i, 'allocated ' + size(allocated[i]), 'reserved ' + size(reserved[i])];
    if (d.change[i] !== 0) parts.push((d.change[i] > 0 ? 'takes ' : 'gives back ') + size(Math.abs(d.change[i])) + ' (' + place(d.sites[d.at[i]]) + ')');
    if (d.oom && i === n - 1) parts.push(size(d.oom) + ' asked for, which is not there (' + place(d.sites[d.at[i]]) + ')');
    if (i === d.peak[0]) parts.push('the allocated peak');
    if (i === d.peak[1]) parts.push('the reserved peak');
    return parts.join(', ');
  };
  watch(frame, width => frame.replaceChildren(plot(width)));

  function plot(width) {
    const left = 76, right = 8, above = 10, height = 220, row = 18;
    const rows = [d.phases, ...d.modules];
    const span = Math.max(1, width - left - right);
    const x = i => left + span * i / Math.max(1, n);
    const y = bytes => above + height * (1 - bytes / most);
    const svg = draw('svg', {width, height: above + height + 14 + rows.length * row, class: 'timeline', tabindex: '0', role: 'slider',
      'aria-label': 'memory over the events of ' + d.name, 'aria-valuemin': 0, 'aria-valuemax': Math.max(0, n - 1)});
    for (const tick of ticks(most)) {
      svg.append(draw('line', {class: 'grid', x1: left, x2: left + span, y1: y(tick), y2: y(tick)}),
        draw('text', {class: 'axis', x: left - 6, y: y(tick) + 4, 'text-anchor': 'end'}, size(tick)));
    }
    svg.append(draw('path', {class: 'allocated', d: steps(allocated, true)}), draw('path', {class: 'reserved', d: steps(reserved, false)}));
    let lowest = Infinity;
    [...near].sort((a, b) => b.bytes - a.bytes).forEach((line, i) => {
      const aside = y(line.bytes) - lowest < 14 && i % 2 ? span / 2 : 0; // names of lines that are close stand beside each other
      lowest = y(line.bytes);
      svg.append(draw('line', {class: 'limit ' + (line.name === 'device' ? 'device' : ''), x1: left, x2: left + span, y1: y(line.bytes), y2: y(line.bytes)}),
        draw('text', {class: 'limit-name', x: left + span - 4 - aside, y: y(line.bytes) - 3, 'text-anchor': 'end'}, line.name + ' ' + size(line.bytes)));
    });
    for (const [event, values, name] of [[d.peak[0], allocated, 'allocated peak'], [d.peak[1], reserved, 'reserved peak']]) {
      if (event >= 0 && event < n) svg.append(draw('circle', {class: 'peak', cx: x(event + 0.5), cy: y(values[event]), r: 4}, draw('title', {}, name + ' ' + size(values[event]))));
    }
    if (d.oom) svg.append(draw('path', {class: 'oom', d: 'M' + (x(n) - 5) + ' ' + (above + 2) + 'l8 8m0 -8l-8 8'}, draw('title', {}, 'out of memory: ' + size(d.oom) + ' asked for')));
    rows.forEach((bands, depth) => bands.forEach((band, i) => svg.append(strip(band, depth, i))));
    const mark = draw('line', {class: 'cursor', y1: above, y2: above + height});
    svg.append(mark);
    const move = i => {
      state.cursor = Math.min(Math.max(0, i), n - 1);
      mark.setAttribute('x1', x(state.cursor + 0.5));
      mark.setAttribute('x2', x(state.cursor + 0.5));
      const text = says(state.cursor);
      readout.textContent = text;
      svg.setAttribute('aria-valuenow', state.cursor);
      svg.setAttribute('aria-valuetext', text);
    };
    const keys = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -Math.ceil(n / 20), PageUp: Math.ceil(n / 20)};
    svg.addEventListener('keydown', event => {
      if (event.key in keys) move(state.cursor + keys[event.key]);
      else if (event.key === 'Home') move(0);
      else if (event.key === 'End') move(n - 1);
      else if (event.key === 'p') move(d.peak[0]);
      else return;
      event.preventDefault();
    });
    svg.addEventListener('pointermove', event => move(Math.floor((event.clientX - svg.getBoundingClientRect().left - left) / span * n)));
    move(state.cursor);
    return svg;

    // steps is the path of values that hold from their event to the next; where there are more than pixels, the highest of each pixel.
    function steps(values, area) {
      const per = Math.max(1, Math.floor(n / (2 * span)));
      let path = area ? 'M' + left + ' ' + y(0) : '';
      for (let i = 0; i < n; i += per) {
        let v = values[i];
        for (let j = i + 1; j < i + per && j < n; j++) v = Math.max(v, values[j]);
        path += (path ? 'L' : 'M') + x(i).toFixed(1) + ' ' + y(v).toFixed(1) + 'H' + x(Math.min(n, i + per)).toFixed(1);
      }
      return area ? path + 'V' + y(0) + 'Z' : path;
    }

    function strip([name, first, last], depth, i) {
      const begin = x(first), wide = x(last + 1) - begin, down = above + height + 10 + depth * row;
      const g = draw('g', {class: 'band ' + (depth === 0 ? 'phase' : 'module') + (i % 2 ? ' odd' : '')},
        draw('title', {}, name + ', events ' + first + ' to ' + last),
        draw('rect', {x: begin, y: down, width: Math.max(0.5, wide - 0.5), height: row - 2}));
      const text = depth > 1 ? name.slice(name.lastIndexOf('.') + 1) : name;
      if (wide > 7 * text.length + 6) g.append(draw('text', {x: begin + 4, y: down + row - 6}, text));
      return g;
    }
  }

  const out = make('section', {}, make('h4', {}, 'Allocated and reserved memory by event'), legend(near));
  if (far.length) out.append(make('p', {class: 'note'}, 'above the picture: ' + far.map(line => line.name + ' ' + size(line.bytes)).join(', ')));
  out.append(frame, readout, table('phases as a table', [['phase'], ['events', true], ['allocated at most', true], ['reserved at most', true]], d.phases.map(([name, first, last]) =>
    [name, first + ' to ' + last, size(Math.max(...allocated.slice(first, last + 1))), size(Math.max(...reserved.slice(first, last + 1)))])));
  return out;
}

function legend(lines) {
  const key = (kind, text) => make('span', {class: 'key'}, draw('svg', {width: 18, height: 10, 'aria-hidden': 'true'},
    draw(kind === 'allocated' ? 'rect' : 'line', kind === 'allocated' ? {class: 'allocated', width: 18, height: 10} : {class: kind, x1: 0, x2: 18, y1: 5, y2: 5})), ' ' + text);
  return make('p', {class: 'legend'}, key('allocated', 'allocated'), key('reserved', 'reserved'),
    lines.some(line => line.name !== 'device') ? key('limit', 'budget') : null,
    lines.some(line => line.name === 'device') ? key('limit device', 'device, less what its context takes') : null);
}

// ticks are round sizes up to most: at least three, at most seven.
function ticks(most) {
  let step = 1;
  while (most / step > 6) step *= 2;
  const out = [];
  for (let v = 0; v <= most; v += step) out.push(v);
  return out;
}
