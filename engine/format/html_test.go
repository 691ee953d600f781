package format_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/format"
)

// pageCases are runs under several settings; some break their budget, one does not fit.
func pageCases(t testing.TB) []*format.Case {
	return ran(t, strings.ReplaceAll(settingsCases, "budget: {allocated: 1GiB}", "budget: {allocated: 40MiB, reserved: 60MiB}"))
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
	}{{"of one case", onePage}, {"of many cases", manyPage}, {"of hostile names", hostilePage}, {"contrast", contrast}} {
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
	assert.EqualValues(t, len(cases[3].Timeline.Phases), b.eval("document.querySelectorAll('svg.timeline .phase').length"))
	assert.EqualValues(t, 2, b.eval("document.querySelectorAll('svg.timeline .limit').length"), "two budgets; the device is far above")
	assert.EqualValues(t, events-1, b.eval("+document.querySelector('svg.timeline').getAttribute('aria-valuemax')"))
	end, _, err := cases[3].Timeline.At(cases[3].Timeline.Peaks.Reserved.Event)
	require.NoError(t, err)
	assert.EqualValues(t, len(end.Segments), b.eval("document.querySelectorAll('svg.segments [role=row]').length"))
	assert.Contains(t, b.eval("document.querySelector('.reasons').textContent"), "kept for allocations above 1 MiB")

	value := func() string {
		return fmt.Sprint(b.eval("document.activeElement.getAttribute('aria-valuetext') || document.activeElement.getAttribute('aria-label')"))
	}
	b.eval("document.querySelector('svg.timeline').focus()")
	for _, step := range []struct{ key, want string }{
		{"Home", "event 0, "}, {"ArrowRight", "event 1, "}, {"End", fmt.Sprintf("event %d, ", events-1)}, {"ArrowLeft", fmt.Sprintf("event %d, ", events-2)}, {"p", "the allocated peak"},
	} {
		b.press(step.key)
		assert.Contains(t, value(), step.want, step.key)
	}
	assert.Contains(t, value(), "allocated "+cases[3].Report.Peak.Allocated.String())

	b.eval("document.querySelector('svg.icicle [tabindex=\"0\"]').focus()")
	for _, step := range []struct{ key, want string }{
		{"ArrowDown", "conv1: "}, {"ArrowRight", "bn1: "}, {"ArrowLeft", "conv1: "}, {"ArrowUp", "all of the peak: "}, {"ArrowDown", "conv1: "}, {"Enter", "conv1: "}, {"ArrowRight", "conv1: "},
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
	for _, want := range []string{"main ", "heading memspec", "heading Cases", "heading split on small", "table Every case with its peaks", "columnheader tightest budget", "rowheader split on small",
		"slider memory over the events of split on small", "tree who holds the allocated peak", "treeitem all of the peak", "radio module", "grid segments at the reserved peak", "gridcell ", "link split on small"} {
		assert.Contains(t, roles, want, "the accessibility tree")
	}
	b.size(1100, 1500, "dark")
	b.picture("one-dark")
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
	assert.EqualValues(t, 0, b.eval("document.querySelectorAll('svg').length"), "nothing is drawn before it is opened")
	b.eval("document.querySelector('#cases a[href=\"#c321\"]').click()")
	b.eval("new Promise(r => setTimeout(r, 100))")
	assert.Equal(t, true, b.eval("document.getElementById('c321').open"))
	assert.EqualValues(t, 1, b.eval("document.querySelectorAll('svg.timeline').length"))
	b.size(1100, 1500, "dark")
	b.picture("many-dark")
	b.eval("const f = document.getElementById('filter'); f.value = 'tiny'; f.dispatchEvent(new Event('input'))")
	assert.EqualValues(t, 500/len(few), b.eval("[...document.querySelectorAll('#cases tbody tr')].filter(r => !r.hidden).length"))
	assert.Equal(t, fmt.Sprintf("%d of 500", 500/len(few)), b.eval("document.getElementById('shown').textContent"))
}

// Names are text: none becomes an element, an attribute or a script, and the page's policy has nothing to forbid.
func hostilePage(t *testing.T, b *browser) {
	cases := hostileCases(t)
	b.size(1100, 1500, "light")
	b.open(page(t, cases...), "")
	b.eval("for (const d of document.querySelectorAll('details')) d.open = true; new Promise(r => setTimeout(r, 200))")
	b.picture("hostile")
	assert.EqualValues(t, 2, b.eval("document.querySelectorAll('svg.timeline').length"))
	assert.Equal(t, []any{}, b.eval("[...document.querySelectorAll('img, iframe, text script, a[href^=javascript]')].map(e => e.outerHTML)"))
	assert.EqualValues(t, 4, b.eval("document.querySelectorAll('script').length"), "its own, and the data of two cases and of all")
	assert.Contains(t, b.eval("document.querySelector('#c0 h3').textContent"), "</failure>]]><script>alert(1)</script>")
	assert.Contains(t, b.eval("[...document.querySelectorAll('#c0 details.table')].map(d => d.textContent).join()"), "constructor", "a name of JavaScript's own")
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
