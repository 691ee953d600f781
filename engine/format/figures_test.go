package format

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// TestAnnotationsByShare: of cases of one outcome the one whose figure is the largest share over
// its limit comes first, whatever its size; one without a limit is last, and equal ones keep their
// order.
func TestAnnotationsByShare(t *testing.T) {
	var b strings.Builder
	w := newGitHub(&b, Options{})
	of := func(name string, figures ...[2]units.Bytes) {
		c := &Case{Name: name, Judged: true, Outcome: verdict.Fail, Line: name}
		for _, f := range figures {
			figure := Figure{Metric: report.Reserved, Predicted: &f[0], Limit: &f[1]}
			if f[1] < 0 {
				figure.Limit = nil
			}
			c.Figures = append(c.Figures, figure)
		}
		require.NoError(t, w.Case(c))
	}
	of("2 over 100", [2]units.Bytes{102, 100})
	of("1 over 1", [2]units.Bytes{2, 1})
	of("no limit", [2]units.Bytes{1000, -1})
	of("3 over 10 and 1 over 100", [2]units.Bytes{13, 10}, [2]units.Bytes{101, 100})
	of("a limit of nothing", [2]units.Bytes{7, 0})
	of("5 under 10", [2]units.Bytes{5, 10})
	require.NoError(t, w.Case(&Case{Name: "not judged", Outcome: verdict.Fail}))
	require.NoError(t, w.Case(&Case{Name: "an error", Judged: true, Outcome: verdict.Error, Line: "e"}))
	require.NoError(t, w.End(&Summary{}))
	var order []string
	for line := range strings.Lines(b.String()) {
		if rest, ok := strings.CutPrefix(line, "::error title="); ok {
			name, _, _ := strings.Cut(rest, "%3A ")
			order = append(order, name)
		}
	}
	assert.Equal(t, []string{"1 over 1", "3 over 10 and 1 over 100", "2 over 100", "no limit", "a limit of nothing",
		"5 under 10", "an error"}, order)
}

// TestPassesInWords: a size that passes is a share of its budget, a number of the least that is
// asked for.
func TestPassesInWords(t *testing.T) {
	judged := &markdownCase{judged: true}
	for want, metric := range map[string]report.Metric{
		"pass: 150.0% of the least": report.KVTokens, "pass: 150.0% of the budget": report.Reserved} {
		limit, value := units.Bytes(4), units.Bytes(6)
		assert.Equal(t, want, figureResult(judged, &Figure{Metric: metric, Outcome: verdict.Pass, Limit: &limit,
			Predicted: &value}))
		assert.Equal(t, "pass", figureResult(judged, &Figure{Metric: metric, Outcome: verdict.Pass, Limit: &limit}))
		assert.Equal(t, "pass", figureResult(judged, &Figure{Metric: metric, Outcome: verdict.Pass, Predicted: &value}))
	}
}

// TestFiguresOfAReport: each metric with its upper figure, as far as they are known.
func TestFiguresOfAReport(t *testing.T) {
	r := &report.Report{Weights: 1, Delta: 2, Peak: report.Peak{Allocated: 3, Reserved: 4},
		Upper: &report.Upper{Allocated: 5, Reserved: 6}, Unknown: []report.Metric{report.Weights}}
	var got []string
	for _, f := range ReportFigures(r) {
		got = append(got, fmt.Sprintf("%s %s %s %s", f.Name(), f.Outcome, f.text(f.Predicted), f.text(f.Upper)))
	}
	assert.Equal(t, []string{"weights pass  ", "delta pass 2 B 5 B", "allocated pass 3 B 5 B", "reserved pass 4 B 6 B",
		"total pass  "}, got)
	assert.Len(t, (&Case{Report: r}).figures(), 5)
	assert.Empty(t, (&Case{}).figures())
	assert.Len(t, (&Case{Report: r, Figures: make([]Figure, 1)}).figures(), 1)
}

// TestPlaceOfAnAddedBudget: what --set added stands at the case, which has a line.
func TestPlaceOfAnAddedBudget(t *testing.T) {
	its := verdict.Pos{File: "m.yaml", Line: 3}
	added, own := verdict.Pos{File: verdict.Added, Line: 1}, verdict.Pos{File: "m.yaml", Line: 9}
	fails := func(at verdict.Pos) verdict.Finding {
		return verdict.Finding{Budget: verdict.Budget{Metric: report.Reserved, Pos: at}, Outcome: verdict.Fail}
	}
	c := Judged("m", its, nil, verdict.Verdict{Outcome: verdict.Fail, Findings: []verdict.Finding{fails(added), fails(own)}})
	require.Len(t, c.Findings, 2)
	assert.Equal(t, []verdict.Pos{its, own}, []verdict.Pos{c.Findings[0].Pos, c.Findings[1].Pos})
}

// TestNothingRan: of a case without a timeline, or one that holds nothing, there is nothing to
// draw.
func TestNothingRan(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Plot(&b, &Case{}))
	require.NoError(t, newSnapshot(&b, Options{}).Case(&Case{}))
	require.NoError(t, newSnapshot(&b, Options{}).End(nil))
	p := newPprof(&b, Options{}).(*pprof)
	require.NoError(t, p.Case(&Case{Name: "m", Report: &report.Report{}}))
	assert.Empty(t, p.p.Comments)
	tl, err := allocator.Replay(&trace.Trace{Events: []trace.Event{{Action: trace.EmptyCache, Storage: trace.NoStorage,
		Site: trace.NoSite}}}, caching(t))
	require.NoError(t, err)
	require.NoError(t, Plot(&b, &Case{Timeline: tl}))
	assert.Empty(t, b.String())
}

// TestMarkdownToTheByte: a document takes a comment's bytes, less what stands at its end where it
// is cut, and not one more.
func TestMarkdownToTheByte(t *testing.T) {
	written := func(most, n int) string {
		var b strings.Builder
		w := newMarkdown(&b, Options{Most: most})
		require.NoError(t, w.Case(&Case{Name: "m", Judged: true, Outcome: verdict.Fail, Account: func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat("x", n))
			return err
		}}))
		require.NoError(t, w.End(&Summary{}))
		return b.String()
	}
	rest := len(written(0, 1)) - 1
	for most, left := range map[int]int{0: 65000, 4000: 4000} {
		full := written(most, left-200-rest)
		assert.Len(t, full, left-200)
		assert.NotContains(t, full, "Not shown")
		cut := written(most, left-200-rest+1)
		assert.Contains(t, cut, "\nNot shown, for this is as long as it may be: 0 rows, 1 account.\n")
		assert.Less(t, len(cut), 400)
	}
}
