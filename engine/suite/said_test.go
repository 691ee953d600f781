package suite

import (
	"context"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// TestAllowedGrowth: sizes may grow by so much and numbers drop by it, to nothing at the least.
func TestAllowedGrowth(t *testing.T) {
	for _, tt := range []struct {
		why     string
		metric  report.Metric
		was     units.Bytes
		bytes   units.Bytes
		percent *big.Rat
		want    units.Bytes
		past    string
	}{
		{"bytes", report.Reserved, 100, 7, nil, 107, " over "},
		{"a share, of which bytes are whole", report.Allocated, 150, 0, big.NewRat(3, 1), 154, " over "},
		{"more than any size", report.Total, units.Max, 7, nil, units.Max, " over "},
		{"tokens", report.KVTokens, 100, 7, nil, 93, " under "},
		{"a share of requests", report.Concurrency, 150, 0, big.NewRat(3, 1), 146, " under "},
		{"all of them", report.KVTokens, 5, 7, nil, 0, " under "},
	} {
		g := spec.Regression{Metric: tt.metric, Bytes: tt.bytes, Percent: tt.percent}
		assert.Equal(t, tt.want, allowed(tt.was, g), tt.why)
		assert.Equal(t, tt.past, past(tt.metric), tt.why)
	}
}

// TestNothingToCompareWith: a case with regression: is then inconclusive, another one only says
// so, and one that was not judged says nothing.
func TestNothingToCompareWith(t *testing.T) {
	of := func(regression bool, rep *report.Report) *Result {
		r := &Result{Report: rep, Verdict: verdict.Verdict{Outcome: verdict.Pass, Why: []string{verdict.NoBudget, "other"}}}
		if regression {
			r.Case.Regression = []spec.Regression{{Metric: report.Reserved}}
		}
		r.Incomparable("gone")
		return r
	}
	r := of(true, &report.Report{})
	assert.Equal(t, []any{verdict.Inconclusive, []string{"other", "regression: gone"}, ""},
		[]any{r.Verdict.Outcome, r.Verdict.Why, r.Change})
	r = of(false, &report.Report{})
	assert.Equal(t, []any{verdict.Pass, []string{verdict.NoBudget, "other"}, "gone"},
		[]any{r.Verdict.Outcome, r.Verdict.Why, r.Change})
	r = of(true, nil)
	assert.Equal(t, []any{verdict.Pass, []string{verdict.NoBudget, "other"}, ""},
		[]any{r.Verdict.Outcome, r.Verdict.Why, r.Change})
	assert.Empty(t, r.RestsOn())
	for file, want := range map[string]string{
		"":             "memspec baseline",
		"memspec.yaml": "memspec baseline", "a b/memspec.yaml": "memspec baseline 'a b/memspec.yaml'",
	} {
		got := noBaseline(&spec.Case{Pos: verdict.Pos{File: file}})
		assert.Equal(t, "there is no "+spec.BaselineFile+" beside memspec.yaml; to write it: "+want, got)
	}
}

// TestLinesOfResults: a result in a line, by what is known of it.
func TestLinesOfResults(t *testing.T) {
	c := spec.Case{Name: "m", Pos: verdict.Pos{File: "memspec.yaml", Line: 3, Col: 5}}
	failed := &Result{Case: c, Err: assert.AnError, Verdict: verdict.Verdict{Outcome: verdict.Error}}
	assert.Equal(t, "ERROR m: "+assert.AnError.Error(), failed.Line())
	const head = ": assert.AnError general error for testing\n"
	assert.Equal(t, "ERROR m"+head+"  case       memspec.yaml:3\n  reproduce  again\n",
		failed.Message(MessageOptions{Columns: 100, Reproduce: []string{"again"}}))
	failed.Case.Platform.Device.Name = "t4"
	failed.Case.ArtifactPos = verdict.Pos{File: "memspec.yaml", Line: 9, Col: 5}
	assert.Equal(t, "ERROR m on t4"+head+"  case       memspec.yaml:3\n  artifact   memspec.yaml:9\n",
		failed.Message(MessageOptions{}))
	failed.Case.ArtifactPos = verdict.Pos{File: "memspec.yaml", Line: 3, Col: 9}
	assert.NotContains(t, failed.Message(MessageOptions{}), "artifact", "on the case's line")

	held := func(f verdict.Finding) verdict.Finding {
		f.Outcome, f.Metric, f.Known, f.Predicted, f.Limit = verdict.Pass, report.Reserved, true, 5, 10
		return f
	}
	r := &Result{Case: c, Report: &report.Report{Run: report.Run{Device: "t4", Runtime: "eager"}}, Change: "more",
		Fits: []string{"fits at B=3"}, Verdict: verdict.Verdict{Outcome: verdict.Pass,
			Findings: []verdict.Finding{held(verdict.Finding{}), held(verdict.Finding{Open: true, Why: "nobody knows"})}}}
	assert.Equal(t, "PASS m on t4, eager: reserved 5 B of 10 B, reserved 5 B of 10 B, fits at B=3, before: more, "+
		"caution: reserved: nobody knows", r.Line())
	r.Verdict.Findings, r.Change = r.Verdict.Findings[:1], ""
	assert.Equal(t, "PASS m on t4, eager: reserved 5 B of 10 B, fits at B=3", r.Line())
	r.Verdict.Outcome, r.Verdict.Why, r.uncompared = verdict.Inconclusive, []string{"regression: gone"}, true
	assert.Equal(t, "INCONCLUSIVE m on t4, eager: regression: gone; fits at B=3; its budgets hold", r.Line())
	r.Verdict.Findings = nil
	assert.Equal(t, "INCONCLUSIVE m on t4, eager: regression: gone; fits at B=3", r.Line())
	r.Report.Serving = &report.Serving{Fits: true, KV: &report.KVCache{Tokens: 5}}
	assert.Equal(t, report.Headline(r.Report), r.predicted())
}

// TestWhatIsPredicted: beside both peaks, each other metric whose budget does not hold, once.
func TestWhatIsPredicted(t *testing.T) {
	r := &Result{Report: &report.Report{Weights: 2, Peak: report.Peak{Reserved: 9, Allocated: 7}}}
	find := func(m report.Metric, of verdict.Outcome, known bool) {
		r.Verdict.Findings = append(r.Verdict.Findings, verdict.Finding{Budget: verdict.Budget{Metric: m}, Outcome: of,
			Known: known, Predicted: 4})
	}
	find(report.Total, verdict.Pass, true)
	find(report.Delta, verdict.Fail, false)
	find(report.Allocated, verdict.Fail, true)
	assert.Equal(t, "9 B reserved, 7 B allocated, 2 B of it weights", r.predicted())
	find(report.Total, verdict.Warn, true)
	find(report.Delta, verdict.Inconclusive, true)
	find(report.Delta, verdict.Fail, true)
	r.Report.Unknown = []report.Metric{report.Weights}
	assert.Equal(t, "9 B reserved, 7 B allocated, 4 B delta, 4 B total", r.predicted())
}

// TestOperatorsWithoutARule: so many rows, and how many more there are.
func TestOperatorsWithoutARule(t *testing.T) {
	written := func(n, rows int) string {
		rep := &report.Report{}
		for i := range n {
			rep.Coverage.Unsupported = append(rep.Coverage.Unsupported, report.Unsupported{Op: "my::" + string(rune('a'+i)),
				Count: i + 1, First: report.Site{File: "m.py", Line: 7}})
		}
		var b strings.Builder
		writeUnsupported(layout.To(&b), rep, rows)
		return b.String()
	}
	const title = "  operators without a rule:\n"
	const a, b = "    my::a ×1, first at m.py:7\n", "    my::b ×2, first at m.py:7\n"
	assert.Empty(t, written(0, 1))
	assert.Equal(t, title+a+"    … 3 more (-v)\n", written(4, 1))
	assert.Equal(t, title+a+b, written(2, 2))
	assert.Equal(t, title+a+b, written(2, 0))
}

// TestCommandsOfACase: how a case is explained again: by its name in its file, on the device that
// it was moved to, or by all that it is.
func TestCommandsOfACase(t *testing.T) {
	cases, err := spec.Parse("a/memspec.yaml", []byte("version: 1\nmodels:\n  m: {source: 'z.py:n', device: t4, "+
		"budget: {reserved: 1}}\n"))
	require.NoError(t, err)
	failed := &Result{Case: cases[0], Verdict: verdict.Verdict{Outcome: verdict.Fail}}
	assert.Equal(t, "memspec explain --case m a/memspec.yaml", ExplainCommand(cases[0]))
	assert.Equal(t, "python -m memshim advise m a/memspec.yaml", failed.adviseCommand())
	on, err := cases[0].OnNamed("l4")
	require.NoError(t, err)
	assert.Equal(t, "memspec explain --case m --device l4 a/memspec.yaml", ExplainCommand(on))
	for why, other := range map[string]*Result{
		"elsewhere":       {Case: on, Verdict: failed.Verdict},
		"that passes":     {Case: cases[0]},
		"without a file":  {Case: spec.Case{Source: "z.py:n"}, Verdict: failed.Verdict},
		"of an artifact":  {Case: spec.Case{Artifact: "m.pt", Pos: cases[0].Pos}, Verdict: failed.Verdict},
		"inconclusive":    {Case: cases[0], Verdict: verdict.Verdict{Outcome: verdict.Inconclusive}},
		"an engine's own": {Case: served(cases[0]), Verdict: failed.Verdict},
	} {
		assert.Empty(t, other.adviseCommand(), why)
	}
	own := testcase.On(t, "t4", "m n.pt", "x=float32[1,2]", "int64[3]")
	base := "memspec explain 'm n.pt' --input 'x=float32[1,2]' --input 'int64[3]' --device t4 --torch " +
		own.Platform.Torch.String()
	own.Runtime = spec.ByArtifact
	assert.Equal(t, base, ExplainCommand(own))
	own.Runtime, own.Platform.AllocConf = spec.Eager, "a:b"
	assert.Equal(t, base+" --runtime eager --alloc-conf a:b", ExplainCommand(own))
}

func served(c spec.Case) spec.Case {
	c.Program = &spec.Program{Serve: true}
	return c
}

// TestTheWorseOfTwo: by outcome, then by the share of a budget, then by what is reserved; of equal
// ones the first stays.
func TestTheWorseOfTwo(t *testing.T) {
	of := func(outcome verdict.Outcome, predicted, reserved units.Bytes) *Result {
		return &Result{Report: &report.Report{Peak: report.Peak{Reserved: reserved}}, Verdict: verdict.Verdict{
			Outcome: outcome, Findings: []verdict.Finding{
				{Budget: verdict.Budget{Metric: report.Allocated, Limit: 100}, Known: true, Predicted: predicted},
				{Budget: verdict.Budget{Metric: report.Delta, Limit: 100}, Known: true, Predicted: 1},
				{Budget: verdict.Budget{Metric: report.Weights, Limit: 1}, Predicted: 99}}}}
	}
	rising := []*Result{of(verdict.Pass, 10, 9), of(verdict.Pass, 20, 5), of(verdict.Pass, 20, 6),
		of(verdict.Warn, 5, 1), of(verdict.Inconclusive, 4, 1), of(verdict.Fail, 3, 1)}
	for i, a := range rising {
		for j, b := range rising {
			assert.Equal(t, i > j, worse(a, b), "%d and %d", i, j)
		}
	}
	assert.InDelta(t, 0.2, used(rising[1]), 1e-12)
	tokens := of(verdict.Pass, 0, 0)
	tokens.Verdict.Findings = []verdict.Finding{{Budget: verdict.Budget{Metric: report.KVTokens, Limit: 50}, Known: true,
		Predicted: 200}}
	assert.InDelta(t, 0.25, used(tokens), 1e-12, "of numbers what is wanted of what there is")
}

// TestSeveralUnfitValues: every value of fits: that does not fit is reported, in their order, with
// the largest that does.
func TestSeveralUnfitValues(t *testing.T) {
	cases, err := spec.Parse("../../testdata/artifacts/small/memspec.yaml", []byte("version: 1\nmodels:\n  m:\n"+
		"    artifact: module_list.script.pt\n    device: t4\n    inputs: [\"float32[B*C,32]\"]\n    dims: {B: 2, C: 1}\n"+
		"    budget: {delta: 64KiB}\n    fits: {B: 4000, C: 3000}\n"))
	require.NoError(t, err)
	require.Len(t, cases, 1)
	r := Judge(context.Background(), cases[0])
	require.NoError(t, r.Err)
	assert.Equal(t, verdict.Fail, r.Verdict.Outcome)
	require.Len(t, r.Verdict.Why, 2)
	assert.Regexp(t, `^fits: B=4000 does not: delta .* of 64.0 KiB; the largest that does is \d+$`, r.Verdict.Why[0])
	assert.Regexp(t, `^fits: C=3000 does not: delta .* of 64.0 KiB; the largest that does is \d+$`, r.Verdict.Why[1])
	var ms Models
	assert.Empty(t, ms.Remedies(context.Background(), r), "the case itself keeps its budget")
	large, err := cases[0].With(spec.Dim{Name: "B", Value: 4000})
	require.NoError(t, err)
	r = Judge(context.Background(), large)
	assert.Empty(t, ms.Remedies(context.Background(), r), "a smaller value passes with all of fits: alone")
}

// TestValuesOfAGuidedSearch: which values a search of recorded cases runs, in their order: those
// that close the gap, those beside the answer, and those further below it.
func TestValuesOfAGuidedSearch(t *testing.T) {
	for _, tt := range []struct {
		why     string
		fits    func(int64) bool
		most    int64
		serves  bool
		largest int64
		holes   []int64
		tried   []int64
	}{
		{"up to 20", func(v int64) bool { return v <= 20 }, 64, false, 20, nil,
			[]int64{1, 16, 64, 63, 61, 57, 49, 33, 24, 20, 22, 21, 28, 19, 18, 17, 15, 10, 5}},
		{"all", func(int64) bool { return true }, 20, false, 20, nil, []int64{1, 16, 20, 19, 18, 17, 15, 10, 5}},
		{"none", func(int64) bool { return false }, 20, false, 0, nil, []int64{1}},
		{"a hole below", func(v int64) bool { return v <= 20 && v != 18 }, 64, false, 20, []int64{18},
			[]int64{1, 16, 64, 63, 61, 57, 49, 33, 24, 20, 22, 21, 28, 19, 18, 17, 15, 10, 5, 4, 6, 7, 8, 9, 11, 12, 13, 14}},
		{"one above", func(v int64) bool { return v <= 20 || v == 24 }, 64, false, 24, []int64{21, 22, 23},
			[]int64{1, 16, 64, 63, 61, 57, 49, 33, 24, 28, 26, 25, 32, 23, 22, 21, 19, 12, 6, 8, 9, 10, 11, 13, 14, 15, 17,
				18, 20}},
		{"an engine", func(v int64) bool { return v <= 20 }, 64, true, 20, nil,
			[]int64{1, 16, 64, 63, 61, 57, 49, 33, 24, 20, 22, 21, 10, 5}},
	} {
		at, tried := valued(t, tt.fits, math.MaxInt64)
		s := newSearch(context.Background(), new(Models), at)
		s.serves = tt.serves
		largest, holes := s.guided(tt.most)
		require.NoError(t, s.err)
		assert.Equal(t, tt.largest, largest, tt.why)
		assert.Equal(t, tt.holes, holes, tt.why)
		assert.Equal(t, tt.tried, *tried, tt.why)
	}
}
