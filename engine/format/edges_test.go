package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// TestPiecesThatWent: what of the segments before is none of those after: whole ones by address and
// size, of expandable ones each range.
func TestPiecesThatWent(t *testing.T) {
	segments := func(text string) (out []trace.Segment) {
		for _, w := range strings.Fields(text) {
			var s trace.Segment
			s.Expandable = strings.HasPrefix(w, "e")
			var from, to uint64
			_, err := fmt.Sscanf(strings.TrimPrefix(w, "e"), "%d-%d", &from, &to)
			require.NoError(t, err, w)
			s.Addr, s.Size, s.Stream = from, units.Bytes(to-from), 3
			out = append(out, s)
		}
		return out
	}
	for _, tt := range []struct{ before, after, went string }{
		{"", "", ""}, {"2-4", "2-4", ""}, {"2-4", "", "2-4"}, {"", "2-4", ""}, {"2-4 6-8", "6-8", "2-4"},
		{"2-4", "2-5", "2-4"}, {"2-4", "3-5", "2-4"},
		{"e2-8", "e2-8", ""}, {"e2-8", "", "e2-8"}, {"e2-8", "e0-2 e8-9", "e2-8"}, {"e2-8", "e0-9", ""},
		{"e2-8", "e2-5", "e5-8"}, {"e2-8", "e5-8", "e2-5"}, {"e2-8", "e4-6", "e2-4 e6-8"}, {"e2-8", "e1-3 e7-9", "e3-7"},
		{"e2-8", "e2-3 e4-5 e6-8", "e3-4 e5-6"}, {"e2-8", "e8-9", "e2-8"}, {"e2-4 e6-8", "e6-8", "e2-4"},
	} {
		want := segments(tt.went)
		assert.Equal(t, want, gone(segments(tt.before), segments(tt.after)), "%s, then %s", tt.before, tt.after)
	}
}

// TestFormats: what each format needs, and what a file of it holds.
func TestFormats(t *testing.T) {
	var all []string
	for _, f := range Formats() {
		row := f.Name
		for word, is := range map[string]bool{" verdicts": f.Needs&Verdicts != 0, " timelines": f.Needs&Timelines != 0} {
			if is {
				row += word
			}
		}
		if f.Uses != 0 {
			row += fmt.Sprintf(" uses %d", f.Uses)
		}
		if f.One {
			row += " one"
		}
		if f.Binary {
			row += " binary"
		}
		all = append(all, row)
		found, ok := ByName(Formats(), f.Name)
		assert.True(t, ok)
		assert.Equal(t, f.Doc, found.Doc)
	}
	assert.Equal(t, []string{"text", "json", "junit verdicts", "sarif verdicts", "github verdicts", "markdown",
		"html uses 2", "snapshot timelines one binary", "perfetto timelines", "pprof timelines one binary", "csv"}, all)
	none, ok := ByName(Formats(), "txt")
	assert.False(t, ok)
	assert.Empty(t, none.Name)
}

// TestCasesThatRest: cases that pass on the same ground are one line, which names the first five.
func TestCasesThatRest(t *testing.T) {
	var r restingCases
	for i := range 7 {
		r.add(&Case{Name: fmt.Sprint("c", i), Judged: true, Outcome: verdict.Pass, RestsOn: "estimate"})
		if i == 4 {
			assert.Equal(t, "5 cases that pass rest on estimate: c0, c1, c2, c3, c4", r.groups[0].text())
		}
	}
	r.add(&Case{Name: "w", Judged: true, Outcome: verdict.Warn, RestsOn: "allow"})
	for _, c := range []*Case{{Outcome: verdict.Pass, RestsOn: "allow"}, {Judged: true, Outcome: verdict.Pass},
		{Judged: true, Outcome: verdict.Fail, RestsOn: "allow"}} {
		r.add(c)
	}
	require.Len(t, r.groups, 2)
	assert.Equal(t, "7 cases that pass rest on estimate: c0, c1, c2, c3, c4, 2 more", r.groups[0].text())
	assert.Equal(t, "1 case that passes rests on allow: w", r.groups[1].text())
}

// TestAnnotationWithoutFindings: a case that could not be judged is annotated by its line, at its
// place as far as that is known.
func TestAnnotationWithoutFindings(t *testing.T) {
	for want, c := range map[string]*Case{
		"::error title=a: error::ERROR a: no such file\n": {Name: "a", Line: "ERROR a: no such file", Outcome: verdict.Error},
		"::error file=m.yaml,title=a: error::ERROR\n": {Name: "a", Line: "ERROR", Outcome: verdict.Error,
			Pos: verdict.Pos{File: "m.yaml"}},
		"::warning file=m.yaml,line=3,title=a: warn::over\n": {Name: "a", Line: "WARN", Outcome: verdict.Warn,
			Pos: verdict.Pos{File: "m.yaml"}, Findings: []Finding{{Text: "over", Pos: verdict.Pos{File: "m.yaml", Line: 3}}}},
	} {
		assert.Equal(t, strings.ReplaceAll(want, "title=a: ", "title=a%3A "), (&github{}).annotate(c))
	}
}

// TestCasesThatAreNotDrawn: a page says how many cases it does not draw.
func TestCasesThatAreNotDrawn(t *testing.T) {
	tr, err := tracetext.Parse(strings.NewReader("a = alloc 512\nfree a\n"))
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, caching(t))
	require.NoError(t, err)
	for n, want := range map[int]string{0: "", 1: "1 case that passes is not drawn", 2: "2 cases are not drawn"} {
		var b strings.Builder
		p := newHTML(&b, Options{}).(*page)
		p.pictures = mostPictures
		for range n {
			require.NoError(t, p.Case(&Case{Name: "m", Timeline: tl, Judged: true, Outcome: verdict.Pass}))
		}
		require.NoError(t, p.End(&Summary{}))
		assert.Equal(t, want != "", strings.Contains(b.String(), "not drawn"), n)
		assert.Contains(t, b.String(), want)
	}
}

// TestSaversHavePaths: who saved a storage stands by its path in the repository, and the account
// stays as it was.
func TestSaversHavePaths(t *testing.T) {
	p := Paths{Root: "/repo/", Exists: func(string) bool { return true }}
	own := []report.Holder{{Site: report.Site{File: "/repo/a.py"}, SavedBy: &report.Site{Op: "o", File: "/repo/b.py"}}, {}}
	got := p.holders(own)
	assert.Equal(t, []report.Holder{{Site: report.Site{File: "a.py"}, SavedBy: &report.Site{Op: "o", File: "b.py"}}, {}}, got)
	assert.Equal(t, "/repo/b.py", own[0].SavedBy.File)
	_, in := Paths{}.below("/a.py")
	assert.False(t, in, "there is no root")
}

// TestResultWithoutAPlace: code scanning points to the artifact where a case has no file.
func TestResultWithoutAPlace(t *testing.T) {
	var b strings.Builder
	w := newSARIF(&b, Options{})
	require.NoError(t, w.Case(&Case{Name: "m", Judged: true, Outcome: verdict.Fail,
		Report:   &report.Report{Run: report.Run{Artifact: "m.pt"}},
		Findings: []Finding{{Outcome: verdict.Fail, Rule: "budget", Text: "over"}}}))
	require.NoError(t, w.End(&Summary{}))
	assert.True(t, json.Valid([]byte(b.String())))
	assert.Contains(t, b.String(), `"uri": "m.pt"`)
}

// TestCodeSpans: a text within more backticks than it has in a row, apart from them where its ends
// would be taken for theirs. A bar does not end a table's cell.
func TestCodeSpans(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "`a`", "a b": "`a b`", "a`b": "``a`b``", "`a": "`` `a ``", "a`": "`` a` ``", "``": "``` `` ```",
		" a": "`  a `", "a ": "` a  `", "a|b": "`a\\|b`", "a\nb": "`a\uFFFDb`",
	} {
		assert.Equal(t, want, codeSpan(text), "%q", text)
	}
	assert.Equal(t, "first call", word("first call"))
	assert.Equal(t, "`a_b`", word("a_b"))
}

// TestLimitsOfATimeline: budgets on what it shows of the whole run, and what the device has.
func TestLimitsOfATimeline(t *testing.T) {
	c := &Case{Limit: 9, Figures: []Figure{{Metric: report.Allocated, Limit: limitOf(1)}, {Metric: report.Reserved},
		{Metric: report.Reserved, Limit: limitOf(2), Moment: "baseline"}, {Metric: report.Total, Limit: limitOf(3)},
		{Metric: report.Reserved, Limit: limitOf(4)}}}
	assert.Equal(t, []pictureLine{{"budget allocated", "allocated", 1}, {"budget reserved", "reserved", 4},
		{"device", "reserved", 9}}, limits(c))
	assert.Equal(t, []pictureLine{}, limits(&Case{}))
	p := &plot{columns: 10}
	var b strings.Builder
	p.phases(&b, []band{{Name: "a", First: 0, Last: 3}, {Name: "none", First: 4, Last: 3}}, 4)
	_, line, _ := strings.Cut(strings.SplitN(b.String(), "\n", 2)[0], "└")
	assert.Equal(t, "─────────┴", line, "a pass behind the last event begins in the last column")
}

// TestCaseWithoutAFile: a test of no file has the class of the tool.
func TestCaseWithoutAFile(t *testing.T) {
	var b strings.Builder
	w := newJUnit(&b, Options{})
	require.NoError(t, w.Case(&Case{Name: "m", Judged: true, Outcome: verdict.Pass}))
	require.NoError(t, w.Case(&Case{Name: "n", Judged: true, Outcome: verdict.Pass, Pos: verdict.Pos{File: "m.yaml"}}))
	require.NoError(t, w.End(&Summary{}))
	assert.Contains(t, b.String(), `classname="memspec" name="m"`)
	assert.Contains(t, b.String(), `classname="m.yaml" name="n"`)
}

// TestSnapshotOfAnEmptiedCache: segments that a program gives back alone are freed there.
func TestSnapshotOfAnEmptiedCache(t *testing.T) {
	tr, err := tracetext.Parse(strings.NewReader("a = alloc 2MiB\nb = alloc 512\nfree a\nc = alloc 512\n"))
	require.NoError(t, err)
	tr.Events = slices.Insert(tr.Events, 3, trace.Event{Action: trace.EmptyCache, Storage: trace.NoStorage,
		Site: trace.NoSite})
	tl, err := allocator.Replay(tr, caching(t))
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, newSnapshot(&b, Options{}).Case(&Case{Timeline: tl}))
	text := string(ReadablePickle(t, b.Bytes()))
	var actions []string
	for _, line := range strings.Split(text, "{action: \"")[1:] {
		action, _, _ := strings.Cut(line, "\"")
		actions = append(actions, action)
	}
	assert.Equal(t, []string{"segment_alloc", "alloc", "segment_alloc", "alloc", "free_requested", "free_completed",
		"segment_free", "alloc"}, actions)
}
