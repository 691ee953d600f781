'use strict';
// What the pictures share: sizes in words, elements, a cursor that arrow keys move.

const units = [['TiB', 2 ** 40, 2], ['GiB', 2 ** 30, 2], ['MiB', 2 ** 20, 1], ['KiB', 2 ** 10, 1]];

// size is a number of bytes for people, as memspec prints it.
function size(bytes) {
  const n = Math.abs(bytes);
  for (const [name, unit, decimals] of units) {
    if (n >= unit) return (bytes / unit).toFixed(decimals) + ' ' + name;
  }
  return bytes + ' B';
}

const share = (part, whole) => whole ? (100 * part / whole).toFixed(1) + '%' : '0.0%';

// make is an element of the page; text goes in as text, never as markup.
function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// draw is an element of a picture.
function draw(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  for (const child of children) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

// place says where something was made: "aten::conv2d, layer1.0.conv1, resnet.py:146, activation, saved for ReluBackward0 resnet.py:148".
function place(site) {
  return site ? site.map((text, i) => i === 4 && text ? 'saved for ' + text : text).filter(text => text !== '').join(', ') : 'made before';
}

// table is what a picture shows, for those who would rather read it.
function table(title, head, rows) {
  const cell = (tag, text, numeric) => make(tag, numeric ? {class: 'n'} : {}, text);
  return make('details', {class: 'table'}, make('summary', {}, title),
    make('div', {class: 'scroll'}, make('table', {},
      make('thead', {}, make('tr', {}, ...head.map(([text, numeric]) => cell('th', text, numeric)))),
      make('tbody', {}, ...rows.map(row => make('tr', {}, ...row.map((text, i) => cell('td', text, head[i][1]))))))));
}

// choice is a row of radio buttons; picked is called with the chosen one's number.
let choices = 0;
function choice(title, names, picked) {
  const group = 'choice' + choices++;
  return make('fieldset', {}, make('legend', {}, title), ...names.map((name, i) => {
    const input = make('input', {type: 'radio', name: group, value: i});
    input.checked = i === 0;
    input.addEventListener('change', () => picked(i));
    return make('label', {}, input, ' ' + name);
  }));
}

// rove lets arrow keys move between the elements of a picture, one of which takes the focus. step(element, key) is the next one, or null.
function rove(root, first, step) {
  first.setAttribute('tabindex', '0');
  root.addEventListener('keydown', event => {
    const from = event.target.closest('[tabindex]');
    const to = from && root.contains(from) ? step(from, event.key) : null;
    if (!to) return;
    event.preventDefault();
    from.setAttribute('tabindex', '-1');
    to.setAttribute('tabindex', '0');
    to.focus();
  });
}

// watch calls render with the width there is, now and whenever it changes.
function watch(element, render) {
  let last = 0;
  const run = () => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      render(width);
    }
  };
  new ResizeObserver(run).observe(element);
  run();
}
