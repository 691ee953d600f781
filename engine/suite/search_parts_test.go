package suite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

const smallNet = "../../testdata/artifacts/small/module_list.script.pt"

// valued makes cases that fit where fits says so, and asks for more than they may from a value on.
func valued(t *testing.T, fits func(int64) bool, cannot int64) (At, *[]int64) {
	base := testcase.On(t, "none", smallNet, "float32[1,32]")
	var tried []int64
	return func(v int64) (spec.Case, error) {
		tried = append(tried, v)
		c := base
		c.Budgets = testcase.AtMost(report.Weights, 1<<30)
		if !fits(v) {
			c.Budgets = testcase.AtMost(report.Weights, 1)
		}
		if v >= cannot {
			c.Budgets = append(c.Budgets, verdict.Budget{Metric: report.Allocated, Limit: 1})
		}
		return c, nil
	}, &tried
}

// TestFewestOfValues: which of rising values are run to find the smallest that fits, and which
// larger ones do not.
func TestFewestOfValues(t *testing.T) {
	var values []int64
	for v := int64(10); v <= 200; v += 10 {
		values = append(values, v)
	}
	for _, tt := range []struct {
		why    string
		fits   func(int64) bool
		fewest int64
		before int64
		holes  []int64
		tried  int
	}{
		{"from one on", func(v int64) bool { return v >= 70 }, 70, 60, nil, 8},
		{"the smallest", func(int64) bool { return true }, 10, 0, nil, 3},
		{"none", func(int64) bool { return false }, 0, 200, nil, 6},
		{"the last", func(v int64) bool { return v == 200 }, 200, 190, nil, 8},
		{"two below the first that was found", func(v int64) bool { return v >= 70 || v == 50 }, 50, 40, []int64{60}, 9},
		{"one above does not", func(v int64) bool { return v >= 70 && v != 90 }, 70, 60, []int64{90}, 8},
	} {
		at, _ := valued(t, tt.fits, math.MaxInt64)
		got, err := new(Models).Fewest(context.Background(), at, values)
		require.NoError(t, err, tt.why)
		before := int64(0)
		if got.Before != nil {
			before = got.Before.Value
		}
		assert.Equal(t, []any{tt.fewest, tt.before, tt.holes, tt.tried, report.Exact},
			[]any{got.Fewest, before, got.Holes, got.Tried, got.Quality}, tt.why)
	}
	_, err := new(Models).Fewest(context.Background(), nil, nil)
	assert.EqualError(t, err, "got no values to search, want one or more")
}

// TestScan: the largest value that fits below the first that cannot, none where none does, and no
// more than so many values. Errors end it.
func TestScan(t *testing.T) {
	for _, tt := range []struct {
		why          string
		fits         int64 // alone
		cannot, from int64
		most, want   int64
	}{
		{"one below", 3, 6, 1, 64, 3}, {"none fits", 99, 6, 1, 64, 0}, {"the last that can", 5, 6, 1, 64, 5},
		{"beyond the bound", 5, 64, 1, 4, 0}, {"the bound", 4, 64, 1, 4, 4}, {"the answer cannot", 1, 3, 9, 64, 1},
		{"not even one can", 1, 1, 0, 64, 0},
	} {
		at, _ := valued(t, func(v int64) bool { return v == tt.fits }, tt.cannot)
		s := newSearch(context.Background(), new(Models), at)
		assert.Equal(t, tt.want, s.scan(tt.from, tt.most), tt.why)
		require.NoError(t, s.err, tt.why)
	}
	at, _ := valued(t, func(int64) bool { return false }, math.MaxInt64)
	s := newSearch(context.Background(), new(Models), at)
	for v := int64(1); v <= mostScanned+1; v++ {
		s.tried[v] = &Limit{}
	}
	s.scan(mostScanned, mostScanned+1)
	assert.EqualError(t, s.err, "got more than 8192 values between one that fits and one that cannot, want a narrower "+
		"search (--most)")
	delete(s.tried, 1)
	s.err = nil
	assert.Zero(t, s.scan(mostScanned, mostScanned+1), "as many as may be: with the first there are no more")
	gone := errors.New("gone")
	s = newSearch(context.Background(), new(Models), func(int64) (spec.Case, error) { return spec.Case{}, gone })
	assert.True(t, s.cannot(1))
	require.ErrorIs(t, s.err, gone)
	assert.True(t, s.cannot(1), "an error stays")
	s = newSearch(context.Background(), new(Models), func(int64) (spec.Case, error) { return on(t, "gone.pt"), nil })
	assert.True(t, s.cannot(7))
	assert.EqualError(t, s.err, "at 7: gone.pt: no such file or directory")
}

// TestValuesBesideAnAnswer: which values a search of recorded cases still has to run.
func TestValuesBesideAnAnswer(t *testing.T) {
	s := &search{tried: map[int64]*Limit{2: nil, 5: {}, 9: nil}}
	for _, tt := range []struct {
		values      []int64
		count       int64
		first, last int64
		want        []int64
	}{
		{nil, 2, 1, 10, nil}, {nil, 3, 1, 10, nil}, {nil, 4, 1, 10, []int64{7}}, {nil, 5, 1, 10, []int64{7, 3}},
		{nil, 9, 1, 10, []int64{7, 3}}, {nil, 2, 3, 7, []int64{7}}, {nil, 2, 3, 6, []int64{3}}, {nil, 2, 4, 6, nil},
		{[]int64{7}, 5, 1, 10, []int64{7, 3}}, {[]int64{20}, 4, 1, 10, []int64{20, 7}}, {[]int64{4}, 4, 1, 10, []int64{4}},
	} {
		assert.Equal(t, tt.want, s.lacking(tt.values, tt.count, tt.first, tt.last, 5, 7, 3), "%v", tt)
	}
	assert.Equal(t, []int64{3, 1, 4, 6}, s.untried([]int64{3}, 1, 6))
	for _, tt := range []struct{ low, most, fits, high int64 }{
		{0, 20, 9, 21}, {9, 20, 0, 5}, {2, 4, 9, 5},
	} {
		fits, high := s.above(tt.low, tt.most)
		assert.Equal(t, []int64{tt.fits, tt.high}, []int64{fits, high}, "%v", tt)
	}
	s.tried[11], s.tried[10] = &Limit{}, &Limit{}
	fits, high := s.above(0, 20)
	assert.Equal(t, []int64{9, 10}, []int64{fits, high})
	assert.Equal(t, []int64{5}, s.holes(9))
	assert.Equal(t, []int64{5, 10, 11}, s.holes(12))
	s.at = func(v int64) (spec.Case, error) {
		return spec.Case{Dims: []spec.Dim{{Name: "B", Value: v}, {Name: "H", Value: 3}}}, nil
	}
	assert.Equal(t, "B=9 H=3 fits, B=10 H=3 does not", s.bracket())
	delete(s.tried, 10)
	delete(s.tried, 11)
	assert.Equal(t, "B=9 H=3 fits", s.bracket())
	s.tried = map[int64]*Limit{4: {}}
	assert.Empty(t, s.bracket())
}

// TestTryReportsTheFirstError: all values are run, and the first error stays.
func TestTryReportsTheFirstError(t *testing.T) {
	var ran []int64
	s := newSearch(context.Background(), new(Models), func(v int64) (spec.Case, error) {
		ran = append(ran, v)
		return spec.Case{}, fmt.Errorf("gone %d", v)
	})
	s.try([]int64{3, 5, 4})
	assert.Equal(t, []int64{3, 5, 4}, ran)
	assert.EqualError(t, s.err, "gone 3")
	s.try([]int64{6})
	assert.Len(t, ran, 3, "an error ends it")
	assert.False(t, s.contradicts(2, 8), "and says nothing of the answer")
}

// TestWhereLinesMeet: a line through two loads meets their limit.
func TestWhereLinesMeet(t *testing.T) {
	for _, tt := range []struct {
		why   string
		loads map[int64]load
		low   int64
		want  int64
		ok    bool
	}{
		{"none", nil, 4, 0, false},
		{"one", map[int64]load{1: {10, 100}}, 4, 0, false},
		{"two", map[int64]load{1: {10, 100}, 4: {40, 100}}, 4, 10, true},
		{"part of a value is none", map[int64]load{1: {10, 109}, 4: {40, 109}}, 4, 10, true},
		{"values above do not count", map[int64]load{1: {10, 100}, 4: {40, 100}, 5: {99, 100}}, 4, 10, true},
		{"the largest of the lower half", map[int64]load{1: {39, 100}, 2: {20, 100}, 3: {1, 100}, 4: {40, 100}}, 4, 10, true},
		{"none in the lower half", map[int64]load{3: {30, 100}, 4: {40, 100}}, 4, 10, true},
		{"no limit", map[int64]load{1: {10, 0}, 4: {40, 100}}, 4, 0, false},
		{"limits that differ", map[int64]load{1: {10, 90}, 4: {40, 100}}, 4, 0, false},
		{"it does not rise", map[int64]load{1: {40, 100}, 4: {40, 100}}, 4, 0, false},
		{"beyond any search", map[int64]load{1: {1, math.MaxInt64}, 4: {2, math.MaxInt64}}, 4, EndValue, true},
		{"over its limit already", map[int64]load{1: {10, 35}, 4: {40, 35}}, 4, 3, true},
	} {
		got, ok := meets(tt.loads, tt.low)
		assert.Equal(t, []any{tt.want, tt.ok}, []any{got, ok}, tt.why)
	}
	for _, tt := range []struct {
		a, b load
		want bool
	}{
		{load{1, 2}, load{1, 3}, true}, {load{1, 3}, load{1, 2}, false}, {load{1, 2}, load{2, 4}, false},
		{load{math.MaxInt64, math.MaxInt64}, load{math.MaxInt64 - 1, math.MaxInt64}, true},
		{load{math.MaxInt64 - 1, math.MaxInt64}, load{math.MaxInt64, math.MaxInt64}, false},
	} {
		assert.Equal(t, tt.want, tt.a.nearer(tt.b), "%v than %v", tt.a, tt.b)
	}
}

// TestLoads: how near a result comes to what it may take: the nearest of its budgets and of
// the device, of an engine the share of its tokens that is wanted.
func TestLoads(t *testing.T) {
	finding := func(m report.Metric, predicted, upper, limit units.Bytes) verdict.Finding {
		return verdict.Finding{Budget: verdict.Budget{Metric: m, Limit: limit}, Predicted: predicted, Upper: upper}
	}
	engine := func(tokens, longest int64, fs ...verdict.Finding) *Result {
		return &Result{Report: &report.Report{Serving: &report.Serving{KV: &report.KVCache{Tokens: tokens,
			MaxModelLen: longest}}}, Verdict: verdict.Verdict{Findings: fs}}
	}
	run := func(change func(*Result)) *Result {
		r := &Result{Report: &report.Report{Peak: report.Peak{Requested: 90, Allocated: 100, Reserved: 200}}}
		change(r)
		return r
	}
	for _, tt := range []struct {
		why            string
		r              *Result
		load, requests load
	}{
		{"nothing to keep", run(func(*Result) {}), load{}, load{90, 0}},
		{"the nearest budget", run(func(r *Result) {
			r.Verdict.Findings = []verdict.Finding{finding(report.Reserved, 200, 0, 1000),
				finding(report.Allocated, 100, 400, 800), finding(report.Delta, 4, 0, 0)}
			r.Case.Budgets = []verdict.Budget{{Metric: report.Allocated, Limit: 800}}
		}), load{400, 800}, load{90, 800}},
		{"the device", run(func(r *Result) { r.Case.Platform.Device.Memory = 1000 }), load{100, 1000}, load{90, 1000}},
		{"the device, at the upper figure", run(func(r *Result) {
			r.Case.Platform.Device.Memory, r.Report.Upper = 1000, &report.Upper{Allocated: 150}
		}), load{150, 1000}, load{90, 1000}},
		{"out of memory", run(func(r *Result) { r.Report.OOM = &report.OutOfMemory{} }), load{}, load{}},
		{"an engine that does not start", &Result{Report: &report.Report{Serving: &report.Serving{}}}, load{}, load{}},
		{"the longest request", engine(400, 100), load{whole / 4, whole}, load{}},
		{"requests, in tokens", engine(400, 100, finding(report.Concurrency, 4, 0, 3)), load{whole / 4 * 3, whole}, load{}},
		{"tokens", engine(400, 100, finding(report.KVTokens, 400, 0, 200)), load{whole / 2, whole}, load{}},
		{"loaded memory", engine(400, 100, finding(report.Loaded, 3, 0, 4)), load{3, 4}, load{}},
		{"no tokens", engine(0, 100, finding(report.KVTokens, 0, 0, 200)), load{}, load{}},
	} {
		assert.Equal(t, tt.load, tt.r.load(), tt.why)
		assert.Equal(t, tt.requests, tt.r.requests(), tt.why)
	}
	assert.Nil(t, deviceLimit(engine(1, 1), 1), "the engine says itself whether it fits")
}

// TestTextsOfBudgetsAndRows: a least is called one, and what is cut says how much is left out.
func TestTextsOfBudgetsAndRows(t *testing.T) {
	written := func(write func(*layout.Printer)) string {
		var b strings.Builder
		write(layout.To(&b))
		return b.String()
	}
	for metric, want := range map[report.Metric]string{
		report.KVTokens: "  budget     kv_tokens at least 2,048 (2,048 tokens)\n" +
			"             fail: kv_tokens unknown, at least 2,048:\n",
		report.Reserved: "  budget     reserved at most 2.0 KiB (2048 B)\n" +
			"             fail: peak reserved unknown, budget 2.0 KiB:\n",
	} {
		f := verdict.Finding{Budget: verdict.Budget{Metric: metric, Limit: 2048}, Outcome: verdict.Fail}
		r := &Result{Verdict: verdict.Verdict{Findings: []verdict.Finding{f}}}
		assert.Equal(t, want, written(func(p *layout.Printer) { r.writeBudget(p, &r.Verdict.Findings[0]) }))
	}
	rep := &report.Report{Coverage: report.Coverage{Unsupported: []report.Unsupported{{Op: "a", Count: 2},
		{Op: "b", Count: 1, First: report.Site{Op: "b", Module: "m"}}, {Op: "c", Count: 3}}}}
	rep.Coverage.Unsupported[0].Reason = trace.NoRule
	const two = "  operators without a rule:\n    a ×2, first at\n    b ×1, first at b  m\n"
	for rows, want := range map[int]string{0: two + "    c ×3, first at\n", 3: two + "    c ×3, first at\n",
		2: two + "    … 1 more (-v)\n"} {
		assert.Equal(t, want, written(func(p *layout.Printer) { writeUnsupported(p, rep, rows) }), rows)
	}
	r := &Result{Report: &report.Report{}}
	for i, category := range []string{"parameter", "buffer", "constant", "input", "activation", "parameter"} {
		r.Report.Holders = append(r.Report.Holders, report.Holder{Site: report.Site{Op: fmt.Sprint("w", i)},
			Category: category, Flat: units.Bytes(1 + i)})
	}
	const most = "  weights, the largest first:\n    flat   cum  name  what\n     6 B   6 B  w5    parameter\n" +
		"     3 B   9 B  w2    constant\n"
	rest := "     2 B  11 B  w1    buffer\n     1 B  12 B  w0    parameter\n"
	for rows, want := range map[int]string{0: most + rest, 4: most + rest, 2: most + "    … 2 more (-v)\n"} {
		got := written(func(p *layout.Printer) { r.writeParameters(p, rows) })
		if rows == 2 {
			want = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(want, "   cum", "  cum"), "   6 B  w", "  6 B  w"),
				"   9 B", "  9 B")
		}
		assert.Equal(t, want, got, rows)
	}
}

// TestWorseResults: of one outcome that is worse which takes more of a budget, then more memory.
func TestWorseResults(t *testing.T) {
	of := func(outcome verdict.Outcome, reserved units.Bytes, shares ...units.Bytes) *Result {
		r := &Result{Report: &report.Report{Peak: report.Peak{Reserved: reserved}}}
		r.Verdict.Outcome = outcome
		for _, s := range shares {
			r.Verdict.Findings = append(r.Verdict.Findings, verdict.Finding{Known: true, Predicted: s,
				Budget: verdict.Budget{Limit: 100}})
		}
		return r
	}
	r := of(verdict.Pass, 1, 20, 50, 40)
	r.Verdict.Findings = append(r.Verdict.Findings, verdict.Finding{Known: true, Predicted: 99})
	assert.InDelta(t, 0.5, used(r), 0)
	assert.Zero(t, used(of(verdict.Pass, 1)))
	rising := []*Result{of(verdict.Pass, 1, 10), of(verdict.Pass, 2, 10), of(verdict.Pass, 1, 11), of(verdict.Warn, 1, 1),
		of(verdict.Inconclusive, 1, 1), of(verdict.Fail, 1, 1)}
	for i, a := range rising {
		for k, b := range rising {
			assert.Equal(t, i > k, worse(a, b), "%d, %d", i, k)
		}
	}
}

// TestErrorsOfCases: what keeps a case from being judged is its error, wherever it comes.
func TestErrorsOfCases(t *testing.T) {
	c := on(t, smallNet, "float32[1,32]")
	c.Fits = []spec.Fit{{Dim: spec.Dim{Name: "B", Value: 2}}}
	r := new(Models).Judge(context.Background(), c)
	assert.EqualError(t, r.Err, `fits: B: m: got the dim "B", want one of the case's: it has none`)
	assert.Equal(t, verdict.Error, r.Verdict.Outcome)
	r.Compare(nil, "b.json")
	assert.Empty(t, r.Change, "there is nothing to compare")

	of := JudgeRecording(context.Background(), c, &recording.Recording{})
	assert.Error(t, of.Err, "a recording of nothing")
	c.Workspace = t.TempDir() + "/gone.json"
	of = JudgeRecording(context.Background(), c, testcase.Trained())
	assert.Error(t, of.Err)

	_, err := readBaseline(iotest.ErrReader(errors.New("gone")), "b.json", 8)
	assert.EqualError(t, err, "gone")
	_, err = readBaseline(strings.NewReader(strings.Repeat("{", 1<<20)), "b.json", 1<<20)
	assert.EqualError(t, err, "b.json: not a baseline: got 1048576 objects in 1048576 bytes, want at most 147456")
}

// TestAdviseIsForMemspecYAML: a case on a card of the command line is not the file's, so no command
// advises on it.
func TestAdviseIsForMemspecYAML(t *testing.T) {
	cases, err := spec.Parse("memspec.yaml", []byte("version: 1\nmodels:\n  a: {source: 'zoo.py:net', device: t4, budget: "+
		"{reserved: 1}}\n"))
	require.NoError(t, err)
	there, err := cases[0].OnNamed("l4")
	require.NoError(t, err)
	failed := verdict.Verdict{Outcome: verdict.Fail}
	assert.Equal(t, "python -m memshim advise a memspec.yaml", (&Result{Case: cases[0], Verdict: failed}).adviseCommand())
	assert.Empty(t, (&Result{Case: there, Verdict: failed}).adviseCommand())
	assert.Empty(t, (&Result{Case: cases[0], Verdict: verdict.Verdict{Outcome: verdict.Pass}}).adviseCommand())
}
