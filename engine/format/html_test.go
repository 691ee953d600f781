package format_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/verdict"
)

// pageCases are runs under several settings; some break their budget, one does not fit.
func pageCases(t testing.TB) []*format.Case {
	return ran(t, strings.ReplaceAll(settingsCases, "budget: {allocated: 1GiB}", "budget: {allocated: 40MiB, reserved: "+
		"60MiB}"))
}

func page(t testing.TB, cases ...*format.Case) []byte {
	return write(t, named(t, "html"), format.Options{Version: "v1.2.3"}, cases...)
}

// The page in a browser. It is one browser for all of them, for it takes a second to start.
func TestPage(t *testing.T) {
	b := startBrowser(t)
	for _, tt := range []struct {
		name string
		fn   func(*testing.T, *browser)
	}{{"of one case", onePage}, {"of a training step", stepPage}, {"of runs side by side", besidePage},
		{"of many cases", manyPage}, {"of hostile names", hostilePage}, {"contrast", contrast}} {
		t.Run(tt.name, func(t *testing.T) {
			b.t, b.log = t, nil
			tt.fn(t, b)
			assert.Empty(t, b.log, "the console")
		})
	}
}

// The page of one case: everything is drawn, keys move through it, a screen reader finds its way,
// and the console stays empty.
func onePage(t *testing.T, b *browser) {
	cases := pageCases(t)
	b.size(1100, 1500, "light")
	b.open(page(t, cases[3]), "")
	b.picture("one-light")
	events := len(cases[3].Timeline.Trace.Events)
	assert.EqualValues(t, 1, b.eval("document.querySelectorAll('svg.timeline').length"))
	assert.EqualValues(t, len(cases[3].Timeline.Passes), b.eval("document.querySelectorAll('svg.timeline .pass').length"))
	assert.EqualValues(t, 0, b.eval("document.querySelectorAll('svg.timeline .phase').length"),
		"a forward pass has one phase")
	assert.EqualValues(t, 2, b.eval("document.querySelectorAll('svg.timeline .limit').length"),
		"two budgets; the device is far above")
	assert.EqualValues(t, events-1, b.eval("+document.querySelector('svg.timeline').getAttribute('aria-valuemax')"))
	end, _ := cases[3].Timeline.At(cases[3].Timeline.Peaks.Reserved.Event)
	assert.EqualValues(t, len(end.Segments), b.eval("document.querySelectorAll('svg.segments [role=row]').length"))
	assert.Contains(t, b.eval("document.querySelector('.reasons').textContent"), "kept for allocations above 1 MiB")

	value := func() string {
		return fmt.Sprint(b.eval("document.activeElement.getAttribute('aria-valuetext') || " +
			"document.activeElement.getAttribute('aria-label')"))
	}
	b.eval("document.querySelector('svg.timeline').focus()")
	for _, step := range []struct{ key, want string }{
		{"Home", "event 0, "}, {"ArrowRight", "event 1, "}, {"End", fmt.Sprintf("event %d, ", events-1)},
		{"ArrowLeft", fmt.Sprintf("event %d, ", events-2)}, {"p", "the allocated peak"},
	} {
		b.press(step.key)
		assert.Contains(t, value(), step.want, step.key)
	}
	assert.Contains(t, value(), "allocated "+cases[3].Report.Peak.Allocated.String())

	b.eval("document.querySelector('svg.icicle [tabindex=\"0\"]').focus()")
	for _, step := range []struct{ key, want string }{
		{"ArrowDown", "conv1: "}, {"ArrowRight", "bn1: "}, {"ArrowLeft", "conv1: "}, {"ArrowUp", "all of the peak: "},
		{"ArrowDown", "conv1: "}, {"Enter", "conv1: "}, {"ArrowRight", "conv1: "},
		{"ArrowDown", "aten::conv2d: "}, {"Escape", "all of the peak: "},
	} {
		b.press(step.key)
		assert.True(t, strings.HasPrefix(value(), step.want), "%s: %s", step.key, value())
	}
	assert.Contains(t, value(), cases[3].Report.Peak.Allocated.String()+", 100.0%")
	b.eval("document.querySelectorAll('fieldset input')[2].click()")
	assert.Contains(t, b.eval("document.querySelector('svg.icicle').textContent"), "parameter", "by category")

	b.eval("document.querySelector('svg.segments [tabindex=\"0\"]').focus()")
	b.press("End")
	assert.Contains(t, value(), " free, ")
	b.press("ArrowDown")
	assert.Contains(t, value(), "segment of 2.0 MiB, small")

	roles := strings.Join(b.roles(), "\n")
	for _, want := range []string{"main ", "heading memspec", "heading Cases", "heading split on small",
		"table Every case with its peaks", "columnheader tightest budget", "rowheader split on small",
		"slider memory over the events of split on small", "tree who holds the allocated peak", "treeitem all of the peak",
		"radio module", "grid segments at the reserved peak", "gridcell ", "link split on small"} {
		assert.Contains(t, roles, want, "the accessibility tree")
	}
	b.size(1100, 1500, "dark")
	b.picture("one-dark")
}

// stepCase is a training loop of two iterations.
func stepCase(t *testing.T, name string) *format.Case {
	tr, err := tracetext.Parse(strings.NewReader(`passes first steady
p = alloc 8MiB parameter fc.weight
pass 1 forward
x = alloc 20MiB activation aten::relu fc net.py:3
pass 1 backward
w = alloc 6MiB workspace aten::mm fc net.py:3
free w
g = alloc 8MiB gradient aten::mm fc net.py:3
pass 1 step
s = alloc 16MiB optimizer_state aten::zeros fc train.py:9
pass 2 forward
free x
free g
y = alloc 20MiB activation aten::relu fc net.py:3
pass 2 backward
h = alloc 8MiB gradient aten::mm fc net.py:3
`))
	require.NoError(t, err)
	caching, err := allocator.New(allocator.Config{})
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, caching)
	require.NoError(t, err)
	return &format.Case{Name: name, Timeline: tl, Report: &report.Report{Run: report.Run{Mode: "training"}}}
}

// The page of a training step: iterations and their phases are marked, memory is stacked by
// category, and what is held after an event that is clicked is listed.
func stepPage(t *testing.T, b *browser) {
	b.size(1100, 1500, "light")
	b.open(page(t, stepCase(t, "step")), "")
	b.picture("step-light")
	texts := func(selector string) any {
		return b.eval("[...document.querySelectorAll('" + selector + "')].map(e => e.textContent)")
	}
	assert.Equal(t, []any{"load, events 0 to 0", "first iteration, events 1 to 5", "steady iteration, events 6 to 9"},
		texts(".timeline .pass title"))
	assert.Equal(t, []any{"forward, events 1 to 1", "backward, events 2 to 4", "optimizer, events 5 to 5",
		"forward, events 6 to 8", "backward, events 9 to 9"}, texts(".timeline .phase title"))
	assert.Equal(t, []any{"area parameter", "area gradient", "area optimizer_state", "area activation", "area workspace"},
		b.eval("[...document.querySelectorAll('.timeline .area')].map(e => e.getAttribute('class'))"), "from the bottom up")
	assert.Equal(t, 52.0*(1<<20), b.eval(`(() => {
		const rows = stack(dataOf(document.querySelector('details.case')), 1);
		return rows[9][1].reduce((a, b) => a + b);
	})()`), "the stack is as high as what is allocated")
	rows := func() any {
		return b.eval("[...document.querySelectorAll('.pictures > section:nth-of-type(2) details[open] tbody tr')].map(r " +
			"=> [...r.cells].map(c => c.textContent).join('|'))")
	}
	assert.Equal(t, []any{}, rows())
	b.eval(`(() => {
		const svg = document.querySelector('svg.timeline');
		const box = svg.getBoundingClientRect(), left = 76, span = box.width - left - 8;
		svg.dispatchEvent(new MouseEvent('click', {clientX: box.left + left + span * 3.5 / 10, clientY: box.top + 50, bubbles: true}));
	})()`)
	assert.Equal(t, "Held after event 3, first iteration, backward",
		b.eval("document.querySelectorAll('.pictures h4')[1].textContent"))
	assert.Equal(t, []any{"20.0 MiB|1|activation|fc|aten::relu|net.py:3", "8.0 MiB|1|parameter||fc.weight|"}, rows())
	b.eval("document.querySelector('svg.timeline').focus()")
	b.press("End")
	b.press("Enter")
	assert.Equal(t, []any{"20.0 MiB|1|activation|fc|aten::relu|net.py:3",
		"16.0 MiB|1|optimizer state|fc|aten::zeros|train.py:9", "8.0 MiB|1|parameter||fc.weight|",
		"8.0 MiB|1|gradient|fc|aten::mm|net.py:3"}, rows())
	assert.Contains(t, b.eval("document.querySelector('.icicle').getAttribute('aria-label')"), "who holds event 9 of step")
	b.picture("step-picked")
	b.eval("document.querySelector('.pictures button').click()")
	assert.Equal(t, "Held at the allocated peak", b.eval("document.querySelectorAll('.pictures h4')[1].textContent"))
	assert.Equal(t, []any{}, rows())
}

// Ranks stand side by side, on one scale, and each leads to its case.
func besidePage(t *testing.T, b *browser) {
	cases := []*format.Case{stepCase(t, "rank 0"), stepCase(t, "rank 4"), pageCases(t)[0]}
	cases[0].Beside, cases[1].Beside = true, true
	b.size(1100, 1500, "light")
	b.open(page(t, cases...), "")
	b.picture("beside-light")
	assert.Equal(t, []any{"rank 0", "rank 4"},
		b.eval("[...document.querySelectorAll('.beside figcaption')].map(e => e.textContent)"))
	assert.EqualValues(t, 2, b.eval("document.querySelectorAll('.beside svg').length"))
	assert.Equal(t, true,
		b.eval("document.querySelectorAll('.beside svg')[0].innerHTML === document.querySelectorAll('.beside "+
			"svg')[1].innerHTML"), "one scale")
	b.eval("document.querySelectorAll('.beside a')[1].click()")
	b.eval("new Promise(r => setTimeout(r, 100))")
	assert.Equal(t, true, b.eval("document.getElementById('c1').open"))
}

// TestFailingCasesAreOpen: the first ones, and no case that passes.
func TestFailingCasesAreOpen(t *testing.T) {
	var cases []*format.Case
	for i := range 30 {
		c := stepCase(t, fmt.Sprint("case ", i))
		c.Judged, c.Outcome = true, [...]verdict.Outcome{verdict.Pass, verdict.Fail, verdict.Inconclusive}[i%3]
		cases = append(cases, c)
	}
	cases = append(cases, stepCase(t, "not judged"))
	open := regexp.MustCompile(`<details class="case" id="c(\d+)" open>`).FindAllSubmatch(page(t, cases...), -1)
	var got []string
	for _, m := range open {
		got = append(got, string(m[1]))
	}
	assert.Equal(t, strings.Fields("1 4 7 10 13 16 19 22 25 28"), got)
	cases = cases[:2]
	cases[1].Outcome = verdict.Error
	assert.Contains(t, string(page(t, cases...)), `id="c1" open>`)
	full := stepCase(t, "full")
	full.Report.OOM = &report.OutOfMemory{}
	assert.Contains(t, string(page(t, full, cases[0])), `id="c0" open>`)
}

// A page of 500 cases is there at once, and draws what is opened.
func manyPage(t *testing.T, b *browser) {
	few := pageCases(t)
	var cases []*format.Case
	for i := range 500 {
		c := *few[i%len(few)]
		c.Name = fmt.Sprintf("%s[B=%d]", c.Name, i)
		cases = append(cases, &c)
	}
	var text bytes.Buffer
	w := named(t, "html").New(&text, format.Options{})
	for _, c := range cases {
		require.NoError(t, w.Case(c))
	}
	require.NoError(t, w.End(&format.Summary{}))
	assert.Less(t, text.Len(), 16<<20)
	b.size(1100, 1500, "light")
	began := time.Now()
	b.open(text.Bytes(), "")
	took := time.Since(began)
	t.Logf("%d bytes, %s until it is there", text.Len(), took)
	b.picture("many-light")
	assert.EqualValues(t, 500, b.eval("document.querySelectorAll('#cases tbody tr').length"))
	assert.EqualValues(t, b.eval("document.querySelectorAll('details.case[open]').length"),
		b.eval("document.querySelectorAll('svg.timeline').length"),
		"nothing is drawn before it is opened")
	b.eval("document.querySelector('#cases a[href=\"#c321\"]').click()")
	b.eval("new Promise(r => setTimeout(r, 100))")
	assert.Equal(t, true, b.eval("document.getElementById('c321').open"))
	assert.EqualValues(t, 1, b.eval("document.querySelectorAll('#c321 svg.timeline').length"))
	b.size(1100, 1500, "dark")
	b.picture("many-dark")
	b.eval("const f = document.getElementById('filter'); f.value = 'tiny'; f.dispatchEvent(new Event('input'))")
	assert.EqualValues(t, 500/len(few),
		b.eval("[...document.querySelectorAll('#cases tbody tr')].filter(r => !r.hidden).length"))
	assert.Equal(t, fmt.Sprintf("%d of 500", 500/len(few)), b.eval("document.getElementById('shown').textContent"))
}

// Names are text: none becomes an element, an attribute or a script, and the page's policy has
// nothing to forbid.
func hostilePage(t *testing.T, b *browser) {
	cases := hostileCases(t)
	b.size(1100, 1500, "light")
	b.open(page(t, cases...), "")
	b.eval("for (const d of document.querySelectorAll('details')) d.open = true; new Promise(r => setTimeout(r, 200))")
	b.picture("hostile")
	assert.EqualValues(t, 2, b.eval("document.querySelectorAll('svg.timeline').length"))
	assert.Equal(t, []any{},
		b.eval("[...document.querySelectorAll('img, iframe, text script, a[href^=javascript]')].map(e => e.outerHTML)"))
	assert.EqualValues(t, 4, b.eval("document.querySelectorAll('script').length"), "its own, and the data of two cases "+
		"and of all")
	assert.Contains(t, b.eval("document.querySelector('#c0 h3').textContent"), "</failure>]]><script>alert(1)</script>")
	assert.Contains(t, b.eval("[...document.querySelectorAll('#c0 details.table')].map(d => d.textContent).join()"),
		"constructor", "a name of JavaScript's own")
}

// Text can be read on its ground in both schemes: WCAG's 4.5 to 1.
func contrast(t *testing.T, b *browser) {
	for _, scheme := range []string{"light", "dark"} {
		b.size(1100, 1500, scheme)
		b.open(page(t, append(archiveCases(t, "testdata/small.txtar"), pageCases(t)[:1]...)...), "#c0")
		low := b.eval(`(() => {
			const lum = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
			const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== 'rgba(0, 0, 0, 0)') return c; } return 'rgb(255, 255, 255)'; };
			const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
			const out = [];
			for (const e of document.querySelectorAll('p, td, th, li, dt, dd, pre, a, h1, h2, h3, h4, span, summary, label')) {
				const r = ratio(getComputedStyle(e).color, ground(e));
				if (r < 4.5) out.push(e.tagName + '.' + e.className + ' ' + r.toFixed(2));
			}
			for (const e of document.querySelectorAll('svg .box text, svg .band text')) {
				const r = ratio(getComputedStyle(e).fill, getComputedStyle(e.parentNode.querySelector('rect')).fill);
				if (r < 4.5) out.push(e.parentNode.getAttribute('class') + ' ' + r.toFixed(2));
			}
			return [...new Set(out)];
		})()`)
		assert.Equal(t, []any{}, low, scheme)
	}
}

// A page loads nothing: its policy forbids it, and the script and style it allows are its own.
func TestPageLoadsNothing(t *testing.T) {
	text := string(page(t, pageCases(t)[:1]...))
	assert.Contains(t, text, "default-src &#39;none&#39;")
	assert.NotRegexp(t, `(?i)(src|href)="?(https?:|//)|@import|url\(|fetch\(|XMLHttpRequest|import\(`, text)
	assert.Equal(t, 1, strings.Count(text, "<script>"))
}
