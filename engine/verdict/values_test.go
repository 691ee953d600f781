package verdict_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// A figure that values decide is judged at both its ends: every way it can end, with its words.
func TestFigureThatValuesDecide(t *testing.T) {
	decided := func(change func(*report.Report)) *report.Report {
		return account(func(r *report.Report) {
			r.Quality, r.Notes = report.Bound, notes(note.ValueRead, note.ValueDecides)
			r.OtherValues = []report.OtherValues{{Values: "most", Reserved: 300, Allocated: 150, Fits: true}}
			if change != nil {
				change(r)
			}
		})
	}
	full := &report.OutOfMemory{Requested: 10, Limit: 20}
	total := units.Bytes(230)
	for _, c := range []struct {
		name   string
		report *report.Report
		budget verdict.Budget
		want   verdict.Finding // except the budget
		text   string
	}{
		{"the most is at the limit", decided(nil), verdict.Budget{Metric: report.Reserved, Limit: 300},
			verdict.Finding{Outcome: verdict.Pass, Predicted: 200, Known: true, Lower: 200, HasLower: true},
			"peak reserved 200 B, budget 300 B"},
		{"the limit is between the ends", decided(nil), verdict.Budget{Metric: report.Reserved, Limit: 299},
			verdict.Finding{Predicted: 200, Known: true, Lower: 200, HasLower: true, Upper: 300},
			"peak reserved 200 B, budget 299 B: values that no kernel computed decide: between 200 B and 300 B; " +
				"assume: states which is meant"},
		{"the least is at the limit", decided(nil), verdict.Budget{Metric: report.Reserved, Limit: 200},
			verdict.Finding{Predicted: 200, Known: true, Lower: 200, HasLower: true, Upper: 300},
			"peak reserved 200 B, budget 200 B: values that no kernel computed decide: between 200 B and 300 B; " +
				"assume: states which is meant"},
		{"the least is over", decided(nil), verdict.Budget{Metric: report.Reserved, Limit: 199},
			verdict.Finding{Outcome: verdict.Fail, Predicted: 200, Known: true, Over: 1, Lower: 200, HasLower: true},
			"peak reserved 200 B, budget 199 B: over by 1 B (+0.5%)"},
		{"the first note with a place names it", decided(func(r *report.Report) {
			r.Notes = []report.Note{{ID: note.ValueStated, Assume: "a.py:1"}, {ID: note.ValueDecides},
				{ID: note.ValueDecides, Assume: "b.py:2"}, {ID: note.ValueDecides, Assume: "c.py:3"}}
		}), verdict.Budget{Metric: report.Allocated, Limit: 120},
			verdict.Finding{Predicted: 100, Known: true, Lower: 100, HasLower: true, Upper: 150},
			"peak allocated 100 B, budget 120 B: values that no kernel computed decide: between 100 B and 150 B; " +
				"assume: states which is meant for b.py:2"},
		{"a run with other values does not fit", decided(func(r *report.Report) { r.OtherValues[0].Fits = false }),
			verdict.Budget{Metric: report.Reserved, Limit: 1000},
			verdict.Finding{Predicted: 200, Known: true, Lower: 200, HasLower: true, Upper: 300},
			"peak reserved 200 B, budget 1000 B: values that no kernel computed decide: between 200 B and 300 B, and " +
				"1 of 2 runs do not fit the device; assume: states which is meant"},
		{"the run itself does not fit, another does", decided(func(r *report.Report) {
			r.OOM, r.Quality = full, report.Incomplete // what comes after is missing, and need not be known
		}), verdict.Budget{Metric: report.Reserved, Limit: 1000},
			verdict.Finding{Predicted: 200, Known: true, Lower: 200, HasLower: true, Upper: 300},
			"peak reserved 200 B, budget 1000 B: values that no kernel computed decide: between 200 B and 300 B, and " +
				"1 of 2 runs do not fit the device; assume: states which is meant"},
		{"none fits", decided(func(r *report.Report) { r.OOM, r.OtherValues[0].Fits = full, false }),
			verdict.Budget{Metric: report.Reserved, Limit: 1000},
			verdict.Finding{Outcome: verdict.Fail, Predicted: 200, Known: true, Lower: 200, HasLower: true,
				Why: "with any values the run stops where the device's memory ends"},
			"peak reserved 200 B, budget 1000 B: with any values the run stops where the device's memory ends"},
		{"another was recorded up to where memory ran out", decided(func(r *report.Report) { r.OtherValues[0].Cut = true }),
			verdict.Budget{Metric: report.Reserved, Limit: 1000},
			verdict.Finding{Predicted: 200, Known: true, Lower: 200, HasLower: true, Upper: 300},
			"peak reserved 200 B, budget 1000 B: values that no kernel computed decide: between 200 B and 300 B or more; " +
				"assume: states which is meant"},
		{"an incomplete run", decided(func(r *report.Report) { r.Quality = report.Incomplete }),
			verdict.Budget{Metric: report.Reserved, Limit: 1000},
			verdict.Finding{Predicted: 200, Known: true, Why: "the report is incomplete"},
			"peak reserved 200 B, budget 1000 B: the report is incomplete"},
		{"page-locked memory, which the others do not record", decided(nil),
			verdict.Budget{Metric: report.HostPinned, Limit: 1000},
			verdict.Finding{},
			"host pinned unknown, budget 1000 B: page-locked memory of the host is not known: a recording of a run on a " +
				"pretend GPU has it"},
		{"a total without a context", decided(nil), verdict.Budget{Metric: report.Total, Limit: 1000},
			verdict.Finding{},
			"peak total unknown, budget 1000 B: what a CUDA context takes on a10g is not known: give context: for it " +
				"under devices:"},
		{"a total with a range of contexts, kept at the upper end", decided(func(r *report.Report) {
			r.Context = &report.Context{Low: 50, High: 80}
		}), verdict.Budget{Metric: report.Total, Limit: 380},
			verdict.Finding{Outcome: verdict.Pass, Predicted: 380, Known: true, Lower: 250, HasLower: true},
			"peak total 380 B, budget 380 B"},
		{"a total with a range of contexts, broken at the upper end", decided(func(r *report.Report) {
			r.Context = &report.Context{Low: 50, High: 80}
		}), verdict.Budget{Metric: report.Total, Limit: 360},
			verdict.Finding{Predicted: 380, Known: true, Over: 20, Lower: 250, HasLower: true, Upper: 380},
			"peak total between 250 B and 380 B, budget 360 B: values that no kernel computed decide: between 250 B and " +
				"380 B; assume: states which is meant"},
		{"a total that is known", decided(func(r *report.Report) { r.Peak.Total = &total }),
			verdict.Budget{Metric: report.Total, Limit: 229},
			verdict.Finding{Outcome: verdict.Fail, Predicted: 230, Known: true, Over: 1, Lower: 230, HasLower: true},
			"peak total 230 B, budget 229 B: over by 1 B (+0.4%)"},
		{"the most keeps it, an upper figure does not", decided(func(r *report.Report) {
			r.Notes = append(r.Notes, report.Note{ID: note.WorkspaceEstimate})
			r.Upper = &report.Upper{Allocated: 400, Reserved: 500}
		}), verdict.Budget{Metric: report.Reserved, Limit: 499},
			verdict.Finding{Predicted: 200, Known: true, Lower: 200, HasLower: true, Upper: 500},
			"peak reserved 200 B, budget 499 B: estimated library workspace could take it to 500 B, over the budget; to " +
				"make it exact: measure it on the card (memspec verify)"},
		{"a regression compares like with like", decided(nil),
			verdict.Budget{Metric: report.Reserved, Limit: 200, Regression: true, Text: "2% over 196 B before"},
			verdict.Finding{Outcome: verdict.Pass, Predicted: 200, Known: true},
			"peak reserved 200 B, regression limit 200 B (2% over 196 B before)"},
	} {
		v := verdict.Judge(c.report, []verdict.Budget{c.budget}, verdict.Options{})
		f := v.Findings[0]
		assert.Equal(t, c.text, f.String(), c.name)
		assert.Empty(t, v.Why, "%s: the finding has the reason", c.name)
		if c.want.Outcome != verdict.Fail && c.want.Why == "" {
			f.Why = "" // the text has it
		}
		c.want.Budget = c.budget
		assert.Equal(t, c.want, f, c.name)
	}
}
