package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// TestPlotPhases: a pass's name stands where it begins, if it ends before the next one's place and
// before the plot's end.
func TestPlotPhases(t *testing.T) {
	for _, tt := range []struct {
		why, line, names string
		columns, events  int
		all              []band
	}{
		{"all fit", "─────┴────", "load forward", 20, 40, []band{{Name: "load", First: 0, Last: 9},
			{Name: "forward", First: 10, Last: 39}}},
		{"a name longer than its phase is left out", "", "load      back", 20, 40,
			[]band{{Name: "load", First: 0, Last: 9}, {Name: "forward", First: 10, Last: 19},
				{Name: "back", First: 20, Last: 39}}},
		{"one that would leave the plot too", "", "load", 10, 10, []band{{Name: "load", First: 0, Last: 4},
			{Name: "forward", First: 5, Last: 9}}},
		{"one that fits to the last column", "", "load  abcd", 10, 10, []band{{Name: "load", First: 0, Last: 5},
			{Name: "abcd", First: 6, Last: 9}}},
		{"one that begins where another's name stands", "", "loading", 10, 10, []band{{Name: "loading", First: 0, Last: 6},
			{Name: "b", First: 7, Last: 9}}},
		{"calls within a pass are not named", "", "load", 10, 10, []band{{Name: "load", First: 0, Last: 9},
			{Name: "m", Kind: moduleBand, First: 5, Last: 9}}},
		{"phases stand below passes", "────────┴────", "first\nforward step", 20, 40,
			[]band{{Name: "first", First: 0, Last: 39}, {Name: "forward", Kind: phaseBand, First: 0, Last: 15},
				{Name: "step", Kind: phaseBand, First: 16, Last: 39}}},
	} {
		p := &plot{columns: tt.columns}
		var b strings.Builder
		p.phases(&b, tt.all, tt.events)
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		assert.Equal(t, tt.names, strings.Join(lines[1:], "\n"), tt.why)
		if tt.line != "" {
			assert.Contains(t, lines[0], tt.line, tt.why)
		}
	}
}

// TestTightestBudget: a case's line in the page says the budget of which the most is taken; where
// the run did not fit, that.
func TestTightestBudget(t *testing.T) {
	size := func(n units.Bytes) *units.Bytes { return &n }
	figures := []Figure{
		{Metric: report.Allocated, Limit: size(200), Predicted: size(100)},
		{Metric: report.Reserved, Limit: size(100), Predicted: size(90)},
		{Metric: report.Total, Limit: size(0), Predicted: size(90)},
		{Metric: report.Delta, Predicted: size(999)},
		{Metric: report.Weights, Limit: size(1)},
	}
	k := &pageCase{}
	k.figures(&Case{Figures: figures, Report: &report.Report{}})
	assert.Equal(t, "reserved 90 B of 100 B", k.Budget)
	assert.InDelta(t, 0.9, k.ShareB, 1e-9)
	k = &pageCase{}
	k.figures(&Case{Figures: figures})
	assert.Equal(t, "reserved 90 B of 100 B", k.Budget, "without an account too")
	k = &pageCase{}
	k.figures(&Case{Figures: append(figures, Figure{Metric: report.KVTokens, Limit: size(950), Predicted: size(1000)})})
	assert.Equal(t, "kv_tokens 1,000, at least 950", k.Budget, "of what there is to be enough of, the least is nearest")
	assert.InDelta(t, 0.95, k.ShareB, 1e-9)
	k = &pageCase{}
	k.figures(&Case{Figures: figures, Report: &report.Report{Serving: &report.Serving{Unfit: "no room"}}})
	assert.Equal(t, "does not fit: no room", k.Budget)
	k = &pageCase{}
	k.figures(&Case{Figures: figures, Report: &report.Report{OOM: &report.OutOfMemory{Requested: 7, Limit: 5}}})
	assert.Equal(t, "does not fit: 7 B asked for, limit 5 B", k.Budget)
	assert.Zero(t, k.ShareB)
}

// TestFigureResult: what a table of budgets says of one: nothing of a case that was not judged, the
// error of one that could not be, else how it went.
func TestFigureResult(t *testing.T) {
	size := func(n units.Bytes) *units.Bytes { return &n }
	judged, broken := &markdownCase{judged: true}, &markdownCase{judged: true, outcome: verdict.Error,
		error: "no such file"}
	for _, tt := range []struct {
		why  string
		c    *markdownCase
		f    Figure
		want string
	}{
		{"not judged", &markdownCase{}, Figure{Outcome: verdict.Fail, Limit: size(2), Predicted: size(3)}, ""},
		{"an error", broken, Figure{Outcome: verdict.Pass}, "**error**: `no such file`"},
		{"a pass", judged, Figure{Outcome: verdict.Pass, Limit: size(4), Predicted: size(3)}, "pass: 75.0% of the budget"},
		{"what was measured counts", judged, Figure{Outcome: verdict.Pass, Limit: size(4), Predicted: size(3),
			Measured: size(2)}, "pass: 50.0% of the budget"},
		{"a pass of no figure", judged, Figure{Outcome: verdict.Pass, Limit: size(4)}, "pass"},
		{"a pass without a budget", judged, Figure{Outcome: verdict.Pass, Predicted: size(3)}, "pass"},
		{"over", judged, Figure{Outcome: verdict.Fail, Limit: size(4), Predicted: size(5)}, "**fail**: over by 1 B (+25.0%)"},
		{"over by more than there may be", judged, Figure{Outcome: verdict.Fail, Limit: size(1), Predicted: size(4)},
			"**fail**: over by 3 B (+300.0%)"},
		{"too few", judged, Figure{Metric: report.KVTokens, Outcome: verdict.Fail, Limit: size(4000), Predicted: size(3000)},
			"**fail**: short by 1,000 (-25.0%)"},
		{"over a budget of nothing", judged, Figure{Outcome: verdict.Fail, Limit: size(0), Predicted: size(5)}, "**fail**"},
		{"over by an estimate", judged, Figure{Outcome: verdict.Inconclusive, Limit: size(4), Predicted: size(6)},
			"**inconclusive**: over by 2 B (+50.0%)"},
		{"not over, and not settled", judged, Figure{Outcome: verdict.Inconclusive, Limit: size(4), Predicted: size(4)},
			"**inconclusive**"},
		{"a warning without a budget", judged, Figure{Outcome: verdict.Warn, Predicted: size(4)}, "**warn**"},
	} {
		assert.Equal(t, tt.want, figureResult(tt.c, &tt.f), tt.why)
	}
}

func caching(t *testing.T) allocator.Allocator {
	a, err := allocator.New(allocator.Config{})
	require.NoError(t, err)
	return a
}

// TestPlotThatFails: a plot that cannot be written is an error.
func TestPlotThatFails(t *testing.T) {
	tr, err := tracetext.Parse(strings.NewReader("a = alloc 512\nfree a\n"))
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, caching(t))
	require.NoError(t, err)
	closed, w := io.Pipe()
	require.NoError(t, closed.Close())
	require.ErrorIs(t, Plot(w, &Case{Timeline: tl}), io.ErrClosedPipe)
}

// TestPassName: a pass has the trace's name, that of a training step is an iteration, and of
// several alike each has its number; without a name or a report it is its number.
func TestPassName(t *testing.T) {
	of := func(r *report.Report, names ...string) *Case {
		tr := &trace.Trace{}
		for _, name := range names {
			tr.Passes = append(tr.Passes, trace.Pass{Name: name})
		}
		return &Case{Timeline: &allocator.Timeline{Trace: tr}, Report: r}
	}
	inference, training := &report.Report{}, &report.Report{Run: report.Run{Mode: "training"}}
	for _, tt := range []struct {
		c    *Case
		pass int
		want string
	}{
		{of(nil, "first"), 0, "load"},
		{of(nil, "first"), 1, "pass 1"},
		{of(inference, "first"), 1, "first pass"},
		{of(inference, "first"), 2, "pass 2"},
		{of(inference, ""), 1, "pass 1"},
		{of(training, "first", "steady"), 2, "steady iteration"},
		{of(training, "first", "steady", "steady"), 1, "first iteration"},
		{of(training, "first", "steady", "steady"), 3, "steady iteration 3"},
	} {
		assert.Equal(t, tt.want, passName(tt.c, tt.pass))
	}
}

// TestBandsOfAStep: an iteration has its phases below it, and those the modules; a pass of one
// phase has none.
func TestBandsOfAStep(t *testing.T) {
	tr, err := tracetext.Parse(strings.NewReader(`passes first steady
p = alloc 3MiB parameter p.weight
pass 1 forward
x = alloc 4MiB activation aten::relu a net.py:3
pass 1 backward
g = alloc 3MiB gradient aten::mm a net.py:3
free g
pass 1 step
s = alloc 6MiB optimizer_state aten::zeros "" net.py:9
pass 2 forward
free x
`))
	require.NoError(t, err)
	caching, err := allocator.New(allocator.Config{})
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, caching)
	require.NoError(t, err)
	var got []string
	for _, b := range bands(&Case{Timeline: tl, Report: &report.Report{Run: report.Run{Mode: "training"}}},
		len(tr.Events)) {
		got = append(got, fmt.Sprintf("%s%s %d to %d", strings.Repeat(" ", b.Depth), b.Name, b.First, b.Last))
	}
	assert.Equal(t, []string{"load 0 to 0", " p.weight 0 to 0", "first iteration 1 to 4", " forward 1 to 1", "  a 1 to 1",
		"   aten::relu net.py:3 1 to 1", " backward 2 to 3", "  a 2 to 3", "   aten::mm net.py:3 2 to 3", " optimizer 4 to 4",
		"  aten::zeros net.py:9 4 to 4", "steady iteration 5 to 5"}, got)
}

// TestPeakOf: the moment that a finding is about: that at which memory ran out, else that of the
// figure's peak; of what holds no single moment there is none.
func TestPeakOf(t *testing.T) {
	peak, reserved, out := &report.Moment{Event: 1}, &report.Moment{Event: 2}, report.Moment{Event: 3}
	whole := &report.Report{PeakAt: peak, ReservedAt: reserved}
	full := &report.Report{PeakAt: peak, ReservedAt: reserved, OOM: &report.OutOfMemory{Moment: out}}
	compiled := &report.Report{PeakAt: peak, ReservedAt: reserved, FirstCall: &report.Sizes{}}
	for _, m := range report.BudgetMetrics() {
		assert.Nil(t, peakOf(nil, m), m)
		assert.Equal(t, &out, peakOf(full, m), m)
	}
	for m, want := range map[report.Metric]*report.Moment{
		report.Allocated: peak, report.Delta: peak, report.Reserved: reserved, report.Total: reserved, report.Weights: nil,
		report.FirstCall: peak,
	} {
		assert.Equal(t, want, peakOf(whole, m), m)
	}
	assert.Nil(t, peakOf(compiled, report.FirstCall), "what the first call takes is another's peak")
	assert.Equal(t, peak, peakOf(compiled, report.Allocated))
}

// TestPictureOfNothing: lists of what there is none of are written as empty ones, over which the
// page's script goes.
func TestPictureOfNothing(t *testing.T) {
	tl, err := allocator.Replay(&trace.Trace{}, caching(t))
	require.NoError(t, err)
	p := pictureOf(&Case{Name: "empty", Timeline: tl}, Paths{}, newShared())
	text, err := json.Marshal(p)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "null")
	var plot strings.Builder
	require.NoError(t, Plot(&plot, &Case{Name: "empty", Timeline: tl}))
	assert.Empty(t, plot.String())
}

// TestPictureHolders: a place that holds several storages at the peak is one row.
func TestPictureHolders(t *testing.T) {
	tr, err := tracetext.Parse(strings.NewReader(`passes one
pass 1 forward
a = alloc 600 activation aten::relu net m.py:3
b = alloc 2MiB activation aten::mm net m.py:4
c = alloc 500 activation aten::relu net m.py:3
`))
	require.NoError(t, err)
	tl, err := allocator.Replay(tr, caching(t))
	require.NoError(t, err)
	p := pictureOf(&Case{Name: "two", Timeline: tl}, Paths{}, newShared())
	relu, mm := p.At[0], p.At[1]
	assert.Equal(t, [][4]int64{{int64(relu), 1024 + 512, 1100, 2}, {int64(mm), 2 << 20, 2 << 20, 1}}, p.Holders)
}

// TestRight: a case that was judged is right where it passes; one that was not where it ran, fits
// and is whole.
func TestRight(t *testing.T) {
	for _, tt := range []struct {
		why  string
		c    Case
		want bool
	}{
		{"judged, and passes", Case{Judged: true, Outcome: verdict.Pass, Error: "x"}, true},
		{"judged, and fails", Case{Judged: true, Outcome: verdict.Fail, Report: &report.Report{}}, false},
		{"judged, and warns", Case{Judged: true, Outcome: verdict.Warn}, false},
		{"not judged, without an account", Case{}, true},
		{"with an error", Case{Error: "x", Report: &report.Report{}}, false},
		{"with an account", Case{Report: &report.Report{Quality: report.Exact}}, true},
		{"that does not fit", Case{Report: &report.Report{OOM: &report.OutOfMemory{}}}, false},
		{"that is not whole", Case{Report: &report.Report{Quality: report.Incomplete}}, false},
		{"both", Case{Report: &report.Report{Quality: report.Incomplete, OOM: &report.OutOfMemory{}}}, false},
	} {
		assert.Equal(t, tt.want, tt.c.Right(), tt.why)
	}
}

// TestBudgetFigure: what a finding says of a budget, with the upper figure where an account has
// one.
func TestBudgetFigure(t *testing.T) {
	f := &verdict.Finding{Budget: verdict.Budget{Metric: report.Allocated, Limit: 5}, Outcome: verdict.Fail, Predicted: 7,
		Known: true}
	size := func(n units.Bytes) *units.Bytes { return &n }
	assert.Equal(t, Figure{Metric: report.Allocated, Outcome: verdict.Fail, Limit: size(5), Predicted: size(7)},
		budgetFigure(f, nil))
	assert.Equal(t, Figure{Metric: report.Allocated, Outcome: verdict.Fail, Limit: size(5), Predicted: size(7)},
		budgetFigure(f, &report.Report{}))
	with := budgetFigure(f, &report.Report{Upper: &report.Upper{Allocated: 9}})
	require.NotNil(t, with.Upper)
	assert.Equal(t, units.Bytes(9), *with.Upper)
	f.Known = false
	assert.Nil(t, budgetFigure(f, nil).Predicted)
}

// TestReasonsInOrder: what could not be known is reported in its order, at the case, and a budget's
// own finding is not said beside it.
func TestReasonsInOrder(t *testing.T) {
	pos := verdict.Pos{File: "memspec.yaml", Line: 3}
	fails := verdict.Finding{Budget: verdict.Budget{Metric: report.Allocated, Limit: 5}, Outcome: verdict.Fail,
		Predicted: 7, Known: true}
	passes := verdict.Finding{Budget: verdict.Budget{Metric: report.Reserved, Limit: 9}, Outcome: verdict.Pass,
		Predicted: 7, Known: true}
	c := Judged("m", pos, nil, verdict.Verdict{Outcome: verdict.Inconclusive, Findings: []verdict.Finding{fails, passes},
		Why: []string{"first", "second"}})
	var texts []string
	for _, f := range c.Findings {
		texts = append(texts, f.Text)
		assert.Equal(t, pos, f.Pos)
	}
	assert.Equal(t, []string{"first", "second"}, texts)
	assert.Len(t, c.Figures, 2)
	c = Judged("m", pos, nil, verdict.Verdict{Outcome: verdict.Fail, Findings: []verdict.Finding{passes, fails}})
	require.Len(t, c.Findings, 1)
	assert.Equal(t, report.Allocated, c.Findings[0].Metric)
	assert.True(t, c.Judged)
}

// TestReportsPaths: every place of an account that is reported has its path as it is reported.
func TestReportsPaths(t *testing.T) {
	p := Paths{}
	full := &report.Report{OOM: &report.OutOfMemory{Moment: report.Moment{Site: report.Site{File: "/opt/a.py"}}},
		Holders: []report.Holder{{Site: report.Site{File: "/opt/b.py"}}}}
	out := p.Report(full)
	require.NotNil(t, out.OOM)
	assert.NotSame(t, full.OOM, out.OOM)
	named, _ := p.Source("/opt/a.py")
	assert.Equal(t, named, out.OOM.File)
	assert.Equal(t, "/opt/a.py", full.OOM.File, "the account itself stays")
	assert.Nil(t, p.Report(&report.Report{}).OOM)
}

// TestDrawnCases: a page draws so many cases, then as many again that are not right.
func TestDrawnCases(t *testing.T) {
	for _, tt := range []struct {
		why     string
		before  int
		judged  bool
		outcome verdict.Outcome
		want    bool
	}{
		{"the first", 0, true, verdict.Pass, true},
		{"the last that passes", mostPictures - 1, true, verdict.Pass, true},
		{"one more that passes", mostPictures, true, verdict.Pass, false},
		{"one more that nothing judges", mostPictures, false, verdict.Fail, false},
		{"one more that fails", mostPictures, true, verdict.Fail, true},
		{"one more to warn of", mostPictures, true, verdict.Warn, true},
		{"the last that fails", 2*mostPictures - 1, true, verdict.Fail, true},
		{"one more still", 2 * mostPictures, true, verdict.Fail, false},
	} {
		p := &page{pictures: tt.before}
		assert.Equal(t, tt.want, p.drawn(&Case{Judged: tt.judged, Outcome: tt.outcome}), tt.why)
		count := tt.before
		if tt.want {
			count++
		}
		assert.Equal(t, count, p.pictures, "%s: how many are drawn", tt.why)
	}
}

// TestChange: how a figure changed, with its share of what it was where it was something and is not
// the same.
func TestChange(t *testing.T) {
	size := func(n units.Bytes) *units.Bytes { return &n }
	for _, tt := range []struct {
		before, after *units.Bytes
		want          string
	}{
		{nil, size(1), ""}, {size(1), nil, ""}, {nil, nil, ""},
		{size(100), size(102), "+2 B (+2.0%)"}, {size(100), size(98), "-2 B (-2.0%)"}, {size(100), size(100), "0 B"},
		{size(0), size(5), "+5 B"}, {size(1), size(0), "-1 B (-100.0%)"}, {size(0), size(0), "0 B"},
	} {
		f := Figure{Metric: report.Allocated, Before: tt.before, Predicted: tt.after}
		assert.Equal(t, tt.want, f.changed(), "%v to %v", tt.before, tt.after)
	}
	tokens := Figure{Metric: report.KVTokens, Before: size(418784), Predicted: size(400000)}
	assert.Equal(t, "-18,784 (-4.5%)", tokens.changed())
}

// TestPlaces: where an annotation and a finding of code scanning stand: at the budget's line, else
// at the case's, else in its file alone.
func TestPlaces(t *testing.T) {
	at := func(file string, line int) verdict.Pos { return verdict.Pos{File: file, Line: line} }
	for _, tt := range []struct {
		why            string
		ofCase, budget verdict.Pos
		github         string
		file           string
		line           int
	}{
		{"the budget's", at("memspec.yaml", 3), at("memspec.yaml", 7), "file=memspec.yaml,line=7,", "memspec.yaml", 7},
		{"the case's", at("memspec.yaml", 3), verdict.Pos{}, "file=memspec.yaml,line=3,", "memspec.yaml", 3},
		{"the file's", at("memspec.yaml", 0), verdict.Pos{}, "file=memspec.yaml,title", "memspec.yaml", 0},
		{"none", verdict.Pos{}, verdict.Pos{}, "::error title=", "", 0},
	} {
		c := &Case{Name: "a", Pos: tt.ofCase, Judged: true, Outcome: verdict.Fail,
			Findings: []Finding{{Outcome: verdict.Fail, Text: "over", Pos: tt.budget}}}
		assert.Contains(t, (&github{}).annotate(c), tt.github, tt.why)
		r := (&sarif{}).result(c, c.Findings[0])
		if tt.file == "" {
			assert.Empty(t, r.Locations, tt.why)
			continue
		}
		assert.Equal(t, tt.file, r.Locations[0].Physical.Artifact.URI, tt.why)
		line := 0
		if region := r.Locations[0].Physical.Region; region != nil {
			line = region.StartLine
		}
		assert.Equal(t, tt.line, line, tt.why)
	}
}

// A figure of one moment is named by both; what could not be run is an error, or inconclusive where
// it is not there yet.
func TestNamesOfFigures(t *testing.T) {
	assert.Equal(t, "reserved", (&Figure{Metric: report.Reserved}).Name())
	assert.Equal(t, "at the start reserved", (&Figure{Metric: report.Reserved, Moment: "at the start"}).Name())
	for outcome, rule := range map[verdict.Outcome]Rule{verdict.Error: RuleError, verdict.Inconclusive: RuleInconclusive} {
		c := Failed("m", verdict.Pos{Line: 3}, errors.New("wrong"), outcome)
		assert.Equal(t, []Finding{{Rule: rule, Outcome: outcome, Text: "wrong", Pos: verdict.Pos{Line: 3}}}, c.Findings)
		assert.True(t, c.Judged)
	}
}
