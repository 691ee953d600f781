package suite

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// TestLimitOf: what a value breaks, and whether that is sure.
func TestLimitOf(t *testing.T) {
	of := func(change func(*Result)) *Limit {
		r := &Result{Report: &report.Report{Quality: report.Exact, Peak: report.Peak{Reserved: 100}}}
		change(r)
		return r.Limit(3)
	}
	got := of(func(r *Result) { r.Report.OOM = &report.OutOfMemory{Requested: 7, Limit: 105} })
	assert.Equal(t, &Limit{Value: 3, Metric: report.Reserved, Predicted: 107, Limit: 105, Why: "the device's memory ends"},
		got)

	got = of(func(r *Result) {
		r.Report.Quality, r.Report.Coverage.Unsupported = report.Incomplete, []report.Unsupported{{Op: "my::op"}}
	})
	require.NotNil(t, got, "an account that is not whole breaks nothing for sure, and fits nothing either")
	assert.True(t, got.Unsure)
	assert.Equal(t, units.Bytes(100), got.Predicted)
	assert.Contains(t, got.Why, "my::op")

	assert.Nil(t, of(func(r *Result) {
		r.Verdict = verdict.Verdict{Outcome: verdict.Pass, Findings: []verdict.Finding{{Outcome: verdict.Pass}}}
	}))
	assert.Nil(t, of(func(r *Result) { r.Verdict.Outcome = verdict.Inconclusive }), "without a budget there is none to "+
		"break")

	got = of(func(r *Result) { r.Report.Notes = []report.Note{{ID: note.WorkspaceUnknown, Text: "no rule"}} })
	require.NotNil(t, got, "a figure that may be too low fits no device for sure")
	assert.True(t, got.Unsure)
	got = of(func(r *Result) {
		r.Verdict = verdict.Verdict{Outcome: verdict.Inconclusive, Why: []string{"nobody knows"},
			Findings: []verdict.Finding{{Outcome: verdict.Pass}}}
	})
	require.NotNil(t, got, "an outcome that no budget explains")
	assert.Equal(t, Limit{Value: 3, Metric: report.Reserved, Predicted: 100, Why: "nobody knows", Unsure: true}, *got)
}
