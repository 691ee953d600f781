// The memory of a run over its events: allocated as areas by category, reserved as a line, budgets and the device as lines, and as bands below it passes, their phases and modules.

// timeline calls picked with an event that is clicked.
function timeline(d, picked) {
  const n = d.change.length, {allocated, reserved} = figures(d);
  const top = reserved.reduce((a, b) => Math.max(a, b), 1);
  const near = d.lines.filter(line => line.bytes <= 2.5 * top);
  const most = near.reduce((a, line) => Math.max(a, line.bytes), top) * 1.06;
  const far = d.lines.filter(line => line.bytes > 2.5 * top);

  const frame = make('div', {class: 'frame'});
  const readout = make('p', {class: 'readout'});
  const state = {cursor: Math.max(0, d.peak[0])};
  const says = i => {
    const parts = ['event ' + i];
    if (during(d, i)) parts.push(during(d, i));
    parts.push('allocated ' + size(allocated[i]), 'reserved ' + size(reserved[i]));
    if (d.change[i] !== 0) parts.push((d.change[i] > 0 ? 'takes ' : 'gives back ') + size(Math.abs(d.change[i])) + ' (' + place(d.sites[d.at[i]]) + ')');
    if (d.oom && i === n - 1) parts.push(size(d.oom) + ' asked for, which is not there (' + place(d.sites[d.at[i]]) + ')');
    if (i === d.peak[0]) parts.push('the allocated peak');
    if (i === d.peak[1]) parts.push('the reserved peak');
    return parts.join(', ');
  };
  watch(frame, width => frame.replaceChildren(plot(width)));

  function plot(width) {
    const chart = axes(d, width, 220, most, 'slider');
    const {svg, x, y, left, span, above, height} = chart;
    svg.setAttribute('tabindex', '0');
    svg.setAttribute('aria-valuemin', 0);
    svg.setAttribute('aria-valuemax', Math.max(0, n - 1));
    chart.areas();
    let lowest = Infinity;
    [...near].sort((a, b) => b.bytes - a.bytes).forEach((line, i) => {
      const aside = y(line.bytes) - lowest < 14 && i % 2 ? span / 2 : 0; // names of lines that are close stand beside each other
      lowest = y(line.bytes);
      svg.append(draw('line', {class: 'limit ' + (line.name === 'device' ? 'device' : ''), x1: left, x2: left + span, y1: y(line.bytes), y2: y(line.bytes)}),
        draw('text', {class: 'limit-name', x: left + span - 4 - aside, y: y(line.bytes) - 3, 'text-anchor': 'end'}, line.name + ' ' + size(line.bytes)));
    });
    chart.peaks();
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
      else if (event.key === 'Enter') picked(state.cursor);
      else return;
      event.preventDefault();
    });
    const under = event => Math.floor((event.clientX - svg.getBoundingClientRect().left - left) / span * n);
    svg.addEventListener('pointermove', event => move(under(event)));
    svg.addEventListener('click', event => {
      move(under(event));
      picked(state.cursor);
    });
    move(state.cursor);
    return svg;
  }

  const out = make('section', {}, make('h4', {}, 'Allocated and reserved memory by event'), legend(d, near));
  if (far.length) out.append(make('p', {class: 'note'}, 'above the picture: ' + far.map(line => line.name + ' ' + size(line.bytes)).join(', ')));
  const highest = (values, first, last) => size(values.subarray(first, last + 1).reduce((a, b) => Math.max(a, b), 0));
  out.append(frame, readout, make('p', {class: 'note'}, 'A click, or Enter, lists what is held after the event.'),
    table('phases as a table', [['phase'], ['events', true], ['allocated at most', true], ['reserved at most', true]], parts(d).map(([name, first, last]) =>
      [name, first + ' to ' + last, highest(allocated, first, last), highest(reserved, first, last)])));
  return out;
}

// parts are the phases of a run, and the passes that have only one.
function parts(d) {
  const within = ([, first, last]) => d.phases.filter(([, from]) => first <= from && from <= last);
  return d.passes.flatMap(pass => within(pass).length ? within(pass).map(([name, first, last]) => [pass[0] + ', ' + name, first, last]) : [pass]);
}

// axes is an empty picture of a run, whose highest line is at `most` bytes, with its bands; areas and peaks draw into it.
function axes(d, width, height, most, role) {
  const left = 76, right = 8, above = 10, row = 18, n = d.change.length;
  const rows = role === 'img' ? [d.passes] : [d.passes, ...(d.phases.length ? [d.phases] : []), ...d.modules];
  const span = Math.max(1, width - left - right);
  const x = i => left + span * i / Math.max(1, n);
  const y = bytes => above + height * (1 - bytes / most);
  const svg = draw('svg', {width, height: above + height + 14 + rows.length * row, class: 'timeline', role, 'aria-label': 'memory over the events of ' + d.name});
  for (const tick of ticks(most)) {
    svg.append(draw('line', {class: 'grid', x1: left, x2: left + span, y1: y(tick), y2: y(tick)}),
      draw('text', {class: 'axis', x: left - 6, y: y(tick) + 4, 'text-anchor': 'end'}, size(tick)));
  }
  rows.forEach((bands, depth) => bands.forEach((band, i) => svg.append(strip(band, depth, i, bands === d.passes ? 'pass' : bands === d.phases ? 'phase' : 'module'))));
  return {svg, x, y, left, span, above, height, areas, peaks};

  // areas are allocated memory by category, one on the other, and reserved as a line. Where there are more events than pixels, it is the highest of each pixel.
  function areas() {
    const per = Math.max(1, Math.floor(n / (2 * span)));
    const columns = stack(d, per), below = columns.map(() => 0), {reserved} = figures(d);
    const end = first => x(Math.min(n, first + per)).toFixed(1);
    categories.forEach(([name], k) => {
      if (columns.every(([, bytes]) => !bytes[k])) return;
      let path = '', back = '';
      columns.forEach(([first, bytes], c) => {
        const from = x(first).toFixed(1), low = y(below[c]).toFixed(1);
        below[c] += bytes[k];
        path += (path ? 'L' : 'M') + from + ' ' + y(below[c]).toFixed(1) + 'H' + end(first);
        back = 'L' + end(first) + ' ' + low + 'H' + from + back;
      });
      svg.append(draw('path', {class: 'area ' + name, d: path + back + 'Z'}));
    });
    let line = '';
    for (const [first] of columns) {
      const highest = reserved.subarray(first, first + per).reduce((a, b) => Math.max(a, b), 0);
      line += (line ? 'L' : 'M') + x(first).toFixed(1) + ' ' + y(highest).toFixed(1) + 'H' + end(first);
    }
    svg.append(draw('path', {class: 'reserved', d: line}));
  }

  function peaks() {
    const {allocated, reserved} = figures(d);
    for (const [event, values, name] of [[d.peak[0], allocated, 'allocated peak'], [d.peak[1], reserved, 'reserved peak']]) {
      if (event >= 0 && event < n) svg.append(draw('circle', {class: 'peak', cx: x(event + 0.5), cy: y(values[event]), r: 4}, draw('title', {}, name + ' ' + size(values[event]))));
    }
    if (d.oom) svg.append(draw('path', {class: 'oom', d: 'M' + (x(n) - 5) + ' ' + (above + 2) + 'l8 8m0 -8l-8 8'}, draw('title', {}, 'out of memory: ' + size(d.oom) + ' asked for')));
  }

  function strip([name, first, last], depth, i, kind) {
    const begin = x(first), wide = x(last + 1) - begin, down = above + height + 10 + depth * row;
    const g = draw('g', {class: 'band ' + kind + (i % 2 ? ' odd' : '')},
      draw('title', {}, name + ', events ' + first + ' to ' + last),
      draw('rect', {x: begin, y: down, width: Math.max(0.5, wide - 0.5), height: row - 2}));
    const text = kind === 'module' && bandLevel(depth) > 0 ? name.slice(name.lastIndexOf('.') + 1) : name;
    if (wide > 7 * text.length + 6) g.append(draw('text', {x: begin + 4, y: down + row - 6}, text));
    return g;
  }

  // bandLevel is how deep a row of modules is, 0 for the outermost.
  function bandLevel(depth) {
    return depth - (rows.length - d.modules.length);
  }
}

// colours is the key to categories.
function colours(names) {
  return categories.filter(([name]) => names.has(name)).map(([name, words]) => make('span', {class: 'key'},
    draw('svg', {width: 12, height: 12, 'aria-hidden': 'true'}, draw('g', {class: 'box ' + name}, draw('rect', {width: 12, height: 12}))), ' ' + words));
}

function legend(d, lines) {
  const names = new Set(d.at.filter((at, i) => d.change[i]).map(at => categoryOf(d, at)));
  if (d.start) names.add('untraced');
  const key = (kind, text) => make('span', {class: 'key'}, draw('svg', {width: 18, height: 10, 'aria-hidden': 'true'}, draw('line', {class: kind, x1: 0, x2: 18, y1: 5, y2: 5})), ' ' + text);
  return make('p', {class: 'legend'}, ...colours(names), key('reserved', 'reserved'),
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

// beside draws runs side by side, on one scale.
function beside(box, runs) {
  const most = 1.06 * runs.reduce((a, {d}) => d.reserved.reduce((b, [, bytes]) => Math.max(b, bytes), a), 1);
  for (const {id, d} of runs) {
    const frame = make('div', {class: 'frame'});
    box.append(make('figure', {}, make('figcaption', {}, make('a', {href: '#' + id}, d.name)), frame));
    watch(frame, width => {
      const chart = axes(d, width, 130, most, 'img');
      chart.areas();
      chart.peaks();
      frame.replaceChildren(chart.svg);
    });
  }
  const names = new Set(runs.flatMap(({d}) => d.at.filter((at, i) => d.change[i]).map(at => categoryOf(d, at))));
  box.before(make('p', {class: 'legend'}, ...colours(names)));
}
