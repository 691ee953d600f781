// The page: pictures of a case are drawn when it is opened, or is open from the start, and the table can be filtered.

// What cases share: sites as [operator, module, file:line, category, what autograd saved it for]. A parameter's operator begins with its module.
const shared = JSON.parse(document.getElementById('shared').textContent);
shared.sites = shared.sites.map(site => {
  const [op, module, file, category, saver] = site.map(i => shared.names[i]);
  return [op.startsWith('.') ? module + op : op, module, file, category, saver];
});

// dataOf is what is drawn of a case, null where nothing is.
function dataOf(details) {
  const box = details.querySelector('.pictures');
  if (!box) return null;
  const d = JSON.parse(document.getElementById(box.dataset.of).textContent);
  const named = ([name, first, last]) => [shared.names[name], first, last];
  d.sites = shared.sites;
  d.passes = d.passes.map(named);
  d.phases = d.phases.map(named);
  d.modules = d.modules.map(bands => bands.map(named));
  return d;
}

function pictures(details) {
  const box = details.querySelector('.pictures');
  if (!box || box.dataset.drawn) return;
  box.dataset.drawn = 'yes';
  const d = dataOf(details);
  const [holders, at] = d.change.length ? icicle(d) : [null, null];
  if (d.change.length) box.append(timeline(d, at), holders);
  if (d.moments.length) box.append(segments(d));
}

for (const details of document.querySelectorAll('details.case')) {
  details.addEventListener('toggle', () => {
    if (details.open) pictures(details);
  });
}

// What a link of the table names is opened.
function follow() {
  const details = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!details || !details.matches('details.case')) return;
  details.open = true;
  pictures(details);
  details.querySelector('summary').focus({preventScroll: true});
  details.scrollIntoView();
}
window.addEventListener('hashchange', follow);
follow();

const all = [...document.querySelectorAll('details.case')];
if (all.length === 1) all[0].open = true;
for (const details of all) {
  if (details.open) pictures(details);
}

const side = document.getElementById('beside');
if (side) beside(side, all.filter(details => details.dataset.beside).map(details => ({id: details.id, d: dataOf(details)})).filter(run => run.d));

const filter = document.getElementById('filter');
if (filter && all.length > 10) {
  filter.closest('p').hidden = false;
  filter.addEventListener('input', () => {
    const wanted = filter.value.toLowerCase();
    let shown = 0;
    const rows = document.querySelectorAll('#cases tbody tr');
    rows.forEach((row, i) => {
      const fits = row.textContent.toLowerCase().includes(wanted);
      row.hidden = !fits;
      all[i].hidden = !fits;
      if (fits) shown++;
    });
    document.getElementById('shown').textContent = shown + ' of ' + rows.length;
  });
}
