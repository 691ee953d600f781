package verdict_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// account is a report with 100 B allocated and 200 B reserved, 60 B of it weights and inputs.
func account(change func(*report.Report)) *report.Report {
	r := &report.Report{Schema: report.Schema, Quality: report.Exact, Weights: 50, Delta: 40,
		Baseline: report.Sizes{Allocated: 60}, Peak: report.Peak{Allocated: 100, Reserved: 200}}
	r.Device = "a10g"
	if change != nil {
		change(r)
	}
	return r
}

func one(m report.Metric, limit units.Bytes) []verdict.Budget {
	return []verdict.Budget{{Metric: m, Limit: limit}}
}

func notes(ids ...note.ID) []report.Note {
	var out []report.Note
	for _, id := range ids {
		out = append(out, report.Note{ID: id})
	}
	return out
}

func TestJudge(t *testing.T) {
	bound := func(peak units.Bytes, ids ...note.ID) *report.Report {
		return account(func(r *report.Report) { r.Quality, r.Peak.Reserved, r.Notes = report.Bound, peak, notes(ids...) })
	}
	incomplete := account(func(r *report.Report) {
		r.Quality = report.Incomplete
		r.Coverage.Unsupported = []report.Unsupported{{Op: "aten::a"}, {Op: "aten::b"}, {Op: "aten::c"}, {Op: "aten::d"}}
	})
	for _, c := range []struct {
		name    string
		report  *report.Report
		budgets []verdict.Budget
		options verdict.Options
		want    verdict.Outcome
		over    units.Bytes
		why     string
	}{
		{name: "under the limit", report: account(nil), budgets: one(report.Reserved, 201), want: verdict.Pass},
		{name: "exactly at the limit", report: account(nil), budgets: one(report.Reserved, 200), want: verdict.Pass},
		{name: "a byte over the limit", report: account(nil), budgets: one(report.Reserved, 199), want: verdict.Fail,
			over: 1},
		{name: "allocated", report: account(nil), budgets: one(report.Allocated, 99), want: verdict.Fail, over: 1},
		{name: "delta", report: account(nil), budgets: one(report.Delta, 40), want: verdict.Pass},
		{name: "weights", report: account(nil), budgets: one(report.Weights, 49), want: verdict.Fail, over: 1},
		{name: "zero is a limit", report: account(nil), budgets: one(report.Reserved, 0), want: verdict.Fail, over: 200},
		{name: "a warning never fails", report: account(nil),
			budgets: []verdict.Budget{{Metric: report.Reserved, Limit: 1, Level: verdict.LevelWarn}},
			want:    verdict.Warn, over: 199},
		{name: "a warning that holds is a pass", report: account(nil),
			budgets: []verdict.Budget{{Metric: report.Reserved, Limit: 200, Level: verdict.LevelWarn}},
			want:    verdict.Pass},
		{name: "a metric that does not exist", report: account(nil), budgets: one("speed", 1), want: verdict.Inconclusive,
			why: "speed is not known"},

		{name: "total without context", report: account(nil), budgets: one(report.Total, 1000), want: verdict.Inconclusive,
			why: "what a CUDA context takes on a10g is not known: give context: for it under devices:"},
		{name: "total with context", report: account(func(r *report.Report) {
			total := units.Bytes(300)
			r.Peak.Total = &total
		}), budgets: one(report.Total, 300),
			want: verdict.Pass},

		{name: "incomplete, though under", report: incomplete, budgets: one(report.Reserved, 1000),
			want: verdict.Inconclusive,
			why:  "no rule for aten::a, aten::b, aten::c, aten::d"},
		{name: "incomplete, though over", report: incomplete, budgets: one(report.Reserved, 1), want: verdict.Inconclusive,
			over: 199,
			why:  "no rule for aten::a, aten::b, aten::c, aten::d"},
		{name: "incomplete and allowed", report: incomplete, budgets: one(report.Reserved, 1000),
			options: verdict.Options{Allow: []string{"op-missing"}}, want: verdict.Pass},
		{name: "a quality nobody knows", report: account(func(r *report.Report) { r.Quality = "" }),
			budgets: one(report.Reserved, 1000), want: verdict.Inconclusive,
			why: "the report is incomplete"},

		{name: "estimate under", report: account(func(r *report.Report) { r.Quality = report.Estimated }),
			budgets: one(report.Reserved, 200), want: verdict.Pass},
		{name: "estimate over", report: account(func(r *report.Report) { r.Quality = report.Estimated }),
			budgets: one(report.Reserved, 150), want: verdict.Fail, over: 50},
		{name: "estimate under, its upper over", report: account(func(r *report.Report) {
			r.Quality, r.Upper = report.Estimated, &report.Upper{Allocated: 150, Reserved: 260}
		}), budgets: one(report.Reserved, 250), want: verdict.Inconclusive, why: "estimated library workspace could take " +
			"it to 260 B, over the budget; to make it exact: measure it on the card (memspec verify)"},
		{name: "the upper of an archive without Python's names is over", report: account(func(r *report.Report) {
			r.Quality, r.Upper, r.Notes = report.Estimated, &report.Upper{Allocated: 150, Reserved: 260},
				[]report.Note{{ID: note.LocalsUnknown}, {ID: note.WorkspaceEstimate}}
		}), budgets: one(report.Reserved, 250), want: verdict.Inconclusive, why: "local variables that outlive what the " +
			"trace shows could take it to 260 B, over the budget; to make it exact: measure it on the card (memspec verify)"},
		{name: "the upper of a program that the live model departs from is over", report: account(func(r *report.Report) {
			r.Quality, r.Upper, r.Notes = report.Estimated, &report.Upper{Allocated: 150, Reserved: 260},
				[]report.Note{{ID: note.OperatorsDiffer}}
		}), budgets: one(report.Reserved, 250), want: verdict.Inconclusive, why: "operators that only the live model runs " +
			"could take it to 260 B, over the budget; to make it exact: measure it on the card (memspec verify)"},

		{name: "bound under: the upper end passes", report: bound(200, "shape-bound"), budgets: one(report.Reserved, 200),
			want: verdict.Pass},
		{name: "bound over, no lower end", report: bound(300, "shape-bound"), budgets: one(report.Reserved, 200),
			want: verdict.Inconclusive, over: 100,
			why: "this is the most that data-dependent sizes allow; the least was not judged"},
		{name: "bound over, lower under", report: bound(300, "shape-bound"), budgets: one(report.Reserved, 200),
			options: verdict.Options{Lower: bound(200)},
			want:    verdict.Inconclusive, over: 100, why: "data-dependent sizes decide: " +
				"between 200 B and 300 B; assume: states " +
				"a tighter bound"},
		{name: "bound over, lower over", report: bound(300, "branch-both"), budgets: one(report.Reserved, 200),
			options: verdict.Options{Lower: bound(201)},
			want:    verdict.Fail, over: 100},
		{name: "bound under, lower under", report: bound(200, "branch-both"), budgets: one(report.Reserved, 200),
			options: verdict.Options{Lower: bound(100)}, want: verdict.Pass},
		{name: "bound under, lower over", report: bound(200, "shape-bound"), budgets: one(report.Reserved, 200),
			options: verdict.Options{Lower: bound(240)},
			want:    verdict.Inconclusive, why: "data-dependent sizes decide: between 200 " +
				"B and 240 B; assume: states a tighter " +
				"bound"},
		{name: "bound over, its note allowed", report: bound(300, "shape-bound"), budgets: one(report.Reserved, 200),
			options: verdict.Options{Lower: bound(200), Allow: []string{"shape-bound"}}, want: verdict.Fail, over: 100},
		{name: "bound over, one of two notes allowed", report: bound(300, "shape-bound", "branch-both"),
			budgets: one(report.Reserved, 200),
			options: verdict.Options{Lower: bound(200), Allow: []string{"shape-bound"}}, want: verdict.Inconclusive, over: 100,
			why: "data-dependent sizes decide: between 200 B and 300 B; assume: states a tighter bound"},
		{name: "bound, lower end incomplete", report: bound(200, "shape-bound"), budgets: one(report.Reserved, 200),
			options: verdict.Options{Lower: incomplete},
			want:    verdict.Inconclusive, why: "the lower end of data-dependent sizes could not be judged"},
		{name: "bound, lower end without memory", report: bound(200, "shape-bound"), budgets: one(report.Reserved, 200),
			options: verdict.Options{
				Lower: account(func(r *report.Report) { r.OOM = &report.OutOfMemory{Requested: 10, Limit: 20} })},
			want: verdict.Inconclusive, why: "the lower end of data-dependent sizes could not be judged"},
		{name: "bound, lower end without the size", report: account(func(r *report.Report) {
			total := units.Bytes(300)
			r.Quality, r.Peak.Total, r.Notes = report.Bound, &total, notes("shape-bound")
		}), budgets: one(report.Total, 300), options: verdict.Options{Lower: bound(100)},
			want: verdict.Inconclusive, why: "the lower end of data-dependent sizes could not be judged"},
		{name: "a bound without a note", report: bound(300), budgets: one(report.Reserved, 200), want: verdict.Inconclusive,
			over: 100,
			why:  "this is the most that data-dependent sizes allow; the least was not judged"},
		{name: "an estimate with a bound note", report: account(func(r *report.Report) {
			r.Quality, r.Notes = report.Estimated, notes("workspace-estimate", "shape-bound")
		}),
			budgets: one(report.Reserved, 150), options: verdict.Options{Lower: bound(100)}, want: verdict.Inconclusive,
			over: 50,
			why:  "data-dependent sizes decide: between 100 B and 200 B; assume: states a tighter bound"},

		{name: "out of memory under the limit", report: account(func(r *report.Report) {
			r.OOM = &report.OutOfMemory{Requested: 10, Limit: 20}
		}),
			budgets: one(report.Reserved, 1000), want: verdict.Fail, why: "the run stopped where the device's memory ended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := verdict.Judge(c.report, c.budgets, c.options)
			assert.Equal(t, c.want, v.Outcome)
			require.Len(t, v.Findings, 1)
			f := v.Findings[0]
			assert.Equal(t, c.want, f.Outcome)
			assert.Equal(t, c.over, f.Over)
			assert.Equal(t, c.why, f.Why)
		})
	}
}

// What stands beside the outcome: where an estimate at the upper bound, or the lower end of a
// bound, comes to.
func TestEnds(t *testing.T) {
	upper := func(reserved units.Bytes) *report.Report {
		return account(func(r *report.Report) {
			r.Quality, r.Upper = report.Estimated, &report.Upper{Allocated: 1000, Reserved: reserved}
		})
	}
	lower := func(peak units.Bytes) verdict.Options {
		return verdict.Options{Lower: account(func(r *report.Report) { r.Quality, r.Peak.Reserved = report.Bound, peak })}
	}
	bound := account(func(r *report.Report) { r.Quality, r.Notes = report.Bound, notes("shape-bound") })
	for _, c := range []struct {
		name    string
		report  *report.Report
		budget  verdict.Budget
		options verdict.Options
		want    verdict.Finding // except the budget
	}{
		{"an upper end over the budget", upper(260), verdict.Budget{Metric: report.Reserved, Limit: 250}, verdict.Options{},
			verdict.Finding{Outcome: verdict.Inconclusive, Predicted: 200, Known: true, Upper: 260,
				Why: "estimated library workspace could take it to 260 B, over the budget; to make it exact: measure it on the " +
					"card (memspec verify)"}},
		{"an upper end over the budget, judged by the likely figure", upper(260), verdict.Budget{Metric: report.Reserved,
			Limit: 250}, verdict.Options{Basis: verdict.ByLikely},
			verdict.Finding{Outcome: verdict.Pass, Predicted: 200, Known: true, Upper: 260, Why: "estimated library workspace " +
				"could take it to 260 B, over the budget"}},
		{"an upper end at the budget", upper(250), verdict.Budget{Metric: report.Reserved, Limit: 250}, verdict.Options{},
			verdict.Finding{Outcome: verdict.Pass, Predicted: 200, Known: true}},
		{"broken anyway", upper(260), verdict.Budget{Metric: report.Reserved, Limit: 199}, verdict.Options{},
			verdict.Finding{Outcome: verdict.Fail, Predicted: 200, Known: true, Over: 1}},
		{"no upper end of that metric", upper(260), verdict.Budget{Metric: report.Weights, Limit: 50}, verdict.Options{},
			verdict.Finding{Outcome: verdict.Pass, Predicted: 50, Known: true}},
		{"a lower end that agrees", bound, verdict.Budget{Metric: report.Reserved, Limit: 200}, lower(100),
			verdict.Finding{Outcome: verdict.Pass, Predicted: 200, Known: true, Lower: 100, HasLower: true}},
		{"a size that is not known is not over", account(nil), verdict.Budget{Metric: report.Total, Limit: -1},
			verdict.Options{},
			verdict.Finding{Outcome: verdict.Inconclusive, Why: "what a CUDA context takes on a10g is not known: give " +
				"context: for it under devices:"}},
	} {
		c.want.Budget = c.budget
		assert.Equal(t, c.want, verdict.Judge(c.report, []verdict.Budget{c.budget}, c.options).Findings[0], c.name)
	}
}

// An estimate whose likely run fits the device and whose upper one does not is undecided whatever
// the budget is, unless the likely figure decides. A regression is undecided where the upper figure
// did fit before.
func TestUpperThatDoesNotFit(t *testing.T) {
	r := account(func(r *report.Report) {
		r.Quality, r.Upper = report.Estimated, &report.Upper{Allocated: 150, Reserved: 260,
			OOM: &report.NoRoom{Requested: 90, Limit: 300}}
	})
	before := units.Bytes(300)
	const why = "estimated library workspace could take it over the device's memory: 90 B asked for with a limit of 300 B"
	const settle = "; to make it exact: measure it on the card (memspec verify)"
	for _, c := range []struct {
		name   string
		budget verdict.Budget
		basis  verdict.Basis
		want   verdict.Outcome
		why    string
	}{
		{"reserved", verdict.Budget{Metric: report.Reserved, Limit: 1000}, "", verdict.Inconclusive, why + settle},
		{"weights", verdict.Budget{Metric: report.Weights, Limit: 1000}, verdict.ByUpper, verdict.Inconclusive, why + settle},
		{"the likely figure decides", verdict.Budget{Metric: report.Reserved, Limit: 1000}, verdict.ByLikely, verdict.Pass,
			why},
		{"a warning", verdict.Budget{Metric: report.Reserved, Limit: 1000, Level: verdict.LevelWarn}, "", verdict.Warn,
			why + settle},
		{"broken anyway", verdict.Budget{Metric: report.Reserved, Limit: 199}, "", verdict.Fail, ""},
		{"did not fit before either", verdict.Budget{Metric: report.Reserved, Limit: 200, Regression: true}, "", verdict.Pass,
			""},
		{"did fit before", verdict.Budget{Metric: report.Reserved, Limit: 200, Regression: true, UpperLimit: &before}, "",
			verdict.Inconclusive, why + settle},
	} {
		f := verdict.Judge(r, []verdict.Budget{c.budget}, verdict.Options{Basis: c.basis}).Findings[0]
		assert.Equal(t, c.want, f.Outcome, c.name)
		assert.Equal(t, c.why, f.Why, c.name)
		assert.Equal(t, c.why != "", f.NoRoom, c.name)
		assert.Equal(t, c.want == verdict.Inconclusive, f.Undecided(), c.name)
	}
}

// A total of which only a range is known passes, fails or is unknown by both its ends.
func TestTotalWithinARange(t *testing.T) {
	ranged := func(quality report.Quality, ids ...note.ID) *report.Report {
		return account(func(r *report.Report) {
			r.Quality, r.Context, r.Notes = quality, &report.Context{Low: 50, High: 80, Source: "logs"}, notes(ids...)
		})
	}
	for _, c := range []struct {
		name    string
		limit   units.Bytes
		options verdict.Options
		report  *report.Report
		want    verdict.Outcome
		text    string
	}{
		{"at the upper end", 280, verdict.Options{}, ranged(report.Exact), verdict.Pass, "peak total 280 B, budget 280 B"},
		{"a byte under the lower end", 249, verdict.Options{}, ranged(report.Exact), verdict.Fail,
			"peak total 280 B, budget 249 B: over by 31 B (+12.4%)"},
		{"at the lower end", 250, verdict.Options{}, ranged(report.Exact), verdict.Inconclusive,
			"peak total between 250 B and 280 B, budget 250 B: a CUDA context on a10g takes between 50 B and 80 B: give " +
				"context: for it under devices:"},
		{"over, but not at the lower end of the data", 240, verdict.Options{Lower: account(func(r *report.Report) {
			r.Peak.Reserved, r.Context = 150, &report.Context{Low: 50, High: 80}
		})}, ranged(report.Bound, note.ShapeBound), verdict.Inconclusive,
			"peak total between 200 B and 280 B, budget 240 B: a CUDA context on a10g takes between 50 B and 80 B: give " +
				"context: for it under devices:"},
	} {
		f := verdict.Judge(c.report, one(report.Total, c.limit), c.options).Findings[0]
		assert.Equal(t, c.want, f.Outcome, c.name)
		assert.Equal(t, c.text, f.String(), c.name)
	}
}

func TestFindingText(t *testing.T) {
	const mib, gib = units.MiB, units.GiB
	finding := func(m report.Metric, predicted, limit units.Bytes, why string) *verdict.Finding {
		return &verdict.Finding{Budget: verdict.Budget{Metric: m, Limit: limit}, Known: true, Predicted: predicted,
			Over: max(predicted-limit, 0), Why: why}
	}
	for _, c := range []struct {
		finding *verdict.Finding
		want    string
	}{
		{finding(report.Reserved, 200*mib, 300*mib, ""), "peak reserved 200.0 MiB, budget 300.0 MiB"},
		{finding(report.Allocated, 300*mib, 200*mib, ""), "peak allocated 300.0 MiB, " +
			"budget 200.0 MiB: over by 100.0 MiB (+50.0%)"},
		{finding(report.Reserved, 3*gib, 2*gib, "and why"), "peak reserved 3.00 GiB, budget 2.00 GiB: over by 1.00 GiB " +
			"(+50.0%): and why"},
		{finding(report.Reserved, 2*gib+100*mib, 2*gib, ""), "peak reserved 2.10 GiB, " +
			"budget 2.00 GiB: over by 0.10 GiB (+4.9%)"},
		{finding(report.Reserved, gib+gib/100, gib, ""), "peak reserved 1.01 GiB, budget 1.00 GiB: over by 0.01 GiB (+1.0%)"},
		{finding(report.Reserved, gib+gib/100-1, gib, ""), "peak reserved 1.01 GiB, " +
			"budget 1.00 GiB: over by 10.2 MiB (+1.0%)"},
		{finding(report.Reserved, gib+100*mib-1, gib-1, ""), "peak reserved 1.10 GiB, " +
			"budget 1.00 GiB: over by 100.0 MiB (+9.8%)"},
		{finding(report.Weights, 5, 4, ""), "weights 5 B, budget 4 B: over by 1 B (+25.0%)"},
		{finding(report.Weights, 2, 1, ""), "weights 2 B, budget 1 B: over by 1 B (+100.0%)"},
		{finding(report.Weights, 5, 0, ""), "weights 5 B, budget 0 B: over by 5 B"},
		{finding(report.Weights, 1, 0, ""), "weights 1 B, budget 0 B: over by 1 B"},
		{finding(report.Weights, 0, 0, ""), "weights 0 B, budget 0 B"},
		{&verdict.Finding{Budget: verdict.Budget{Metric: report.Total, Limit: mib}, Why: "no context"},
			"peak total unknown, budget 1.0 MiB: no context"},
	} {
		assert.Equal(t, c.want, c.finding.String())
	}
}

// A regression compares the plain figures of two runs: neither end of data-dependent sizes is asked
// for.
func TestRegressionOfABound(t *testing.T) {
	r := account(func(r *report.Report) { r.Quality, r.Notes = report.Bound, notes("shape-bound") })
	grown := []verdict.Budget{{Metric: report.Reserved, Limit: 150, Regression: true, Text: "50% over 100 B before"}}
	v := verdict.Judge(r, grown, verdict.Options{})
	assert.Equal(t, verdict.Fail, v.Outcome)
	assert.Equal(t, "peak reserved 200 B, regression limit 150 B (50% over 100 B before): over by 50 B (+33.3%)",
		v.Findings[0].String())
	assert.Equal(t, "reserved 200 B of 150 B (regression: 50% over 100 B before)", v.Findings[0].Held())
}

func TestNothingPassesByAccident(t *testing.T) {
	assert.Equal(t, verdict.Inconclusive, verdict.Verdict{}.Outcome)
	assert.Equal(t, verdict.Inconclusive, verdict.Finding{}.Outcome)
	v := verdict.Judge(account(nil), nil, verdict.Options{})
	assert.Equal(t, verdict.Inconclusive, v.Outcome)
	assert.Equal(t, []string{"no budget was given"}, v.Why)
	v = verdict.Judge(&report.Report{}, one(report.Reserved, 1), verdict.Options{})
	assert.Equal(t, verdict.Inconclusive, v.Outcome, "an empty report says nothing")
}

func TestWorstFindingDecides(t *testing.T) {
	budgets := []verdict.Budget{
		{Metric: report.Allocated, Limit: 100},
		{Metric: report.Delta, Limit: 1, Level: verdict.LevelWarn},
		{Metric: report.Total, Limit: 1},
		{Metric: report.Reserved, Limit: 1},
	}
	for i, want := range []verdict.Outcome{verdict.Pass, verdict.Warn, verdict.Inconclusive, verdict.Fail} {
		v := verdict.Judge(account(nil), budgets[:i+1], verdict.Options{})
		assert.Equal(t, want, v.Outcome, "the first %d budgets", i+1)
		for k, f := range v.Findings {
			assert.Equal(t, budgets[k], f.Budget, "findings are in the order of the budgets")
		}
	}
	warned := verdict.Judge(account(func(r *report.Report) { r.Quality = report.Incomplete }), budgets[1:2],
		verdict.Options{})
	assert.Equal(t, verdict.Warn, warned.Outcome, "a budget of level warn only ever warns")
	assert.Equal(t, []string{"the report is incomplete"}, warned.Why)
}

func TestOutOfMemorySaysSo(t *testing.T) {
	v := verdict.Judge(account(func(r *report.Report) {
		r.OOM = &report.OutOfMemory{Requested: 10 * units.MiB, Limit: 20 * units.MiB}
	}), one(report.Reserved, 1000), verdict.Options{})
	assert.Equal(t, []string{"the run does not fit the device: 10.0 MiB asked for with a limit of 20.0 MiB"}, v.Why)
}

func TestExitCode(t *testing.T) {
	p, w, f, i, e := verdict.Pass, verdict.Warn, verdict.Fail, verdict.Inconclusive, verdict.Error
	for _, c := range []struct {
		outcomes []verdict.Outcome
		want     int
		why      string
	}{
		{nil, 0, "no case was chosen: the caller says so"},
		{[]verdict.Outcome{p, p}, 0, ""},
		{[]verdict.Outcome{p, w}, 0, "warn never counts"},
		{[]verdict.Outcome{p, i, w}, 3, ""},
		{[]verdict.Outcome{i, e}, 2, "an error comes before inconclusive"},
		{[]verdict.Outcome{e, f, i}, 1, "a failure comes first"},
	} {
		assert.Equal(t, c.want, verdict.ExitCode(c.outcomes), "%v: %s", c.outcomes, c.why)
	}
}

func TestWords(t *testing.T) {
	data, err := json.Marshal([]verdict.Outcome{verdict.Inconclusive, verdict.Pass, verdict.Warn, verdict.Fail,
		verdict.Error})
	require.NoError(t, err)
	assert.JSONEq(t, `["inconclusive", "pass", "warn", "fail", "error"]`, string(data))
	assert.Equal(t, "memspec.yaml:14:3", verdict.Pos{File: "memspec.yaml", Line: 14, Col: 3}.String())
	assert.Equal(t, "memspec.yaml:14", verdict.Pos{File: "memspec.yaml", Line: 14}.String())
	assert.Equal(t, "", verdict.Pos{}.String())
	assert.Equal(t, "memspec.yaml", verdict.Pos{File: "memspec.yaml"}.String())
	assert.Equal(t, "warn", verdict.LevelWarn.String())
}

// What is said of an artifact that is another now is inconclusive whatever it is, with the words of
// the note; allowed, it is judged.
func TestStaleArtifact(t *testing.T) {
	const said = "models/zoo.py has changed"
	r := account(func(r *report.Report) {
		r.Notes = []report.Note{{ID: note.WorkspaceEstimate, Text: "by rule"}, {ID: note.ArtifactStale, Text: said}}
	})
	for _, limit := range []units.Bytes{199, 201} {
		v := verdict.Judge(r, one(report.Reserved, limit), verdict.Options{})
		assert.Equal(t, verdict.Inconclusive, v.Outcome)
		assert.Equal(t, []string{said}, v.Why)
		assert.Equal(t, said, v.Findings[0].Why)
	}
	allowed := verdict.Options{Allow: []string{string(note.ArtifactStale)}}
	assert.Equal(t, verdict.Pass, verdict.Judge(r, one(report.Reserved, 201), allowed).Outcome)
	assert.Equal(t, verdict.Fail, verdict.Judge(r, one(report.Reserved, 199), allowed).Outcome)
	assert.Empty(t, verdict.Judge(r, one(report.Reserved, 201), allowed).Why)
}

// TestOK: what passes and what only warns lets a test pass.
func TestOK(t *testing.T) {
	for o, want := range map[verdict.Outcome]bool{verdict.Pass: true, verdict.Warn: true, verdict.Fail: false,
		verdict.Inconclusive: false, verdict.Error: false} {
		assert.Equal(t, want, verdict.Verdict{Outcome: o}.OK(), o.String())
	}
}

// TestFirstStaleNote: of several artifacts the first that is stale is reported.
func TestFirstStaleNote(t *testing.T) {
	r := account(func(r *report.Report) {
		r.Notes = []report.Note{{ID: note.ArtifactStale, Text: "first"}, {ID: note.ArtifactStale, Text: "second"}}
	})
	assert.Equal(t, []string{"first"}, verdict.Judge(r, one(report.Reserved, 201), verdict.Options{}).Why)
}
