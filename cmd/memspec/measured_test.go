package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/cudameasure"
	"github.com/memspec/memspec/cudameasure/verify"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/internal/cli"
)

// TestRulesOfMeasuredFindings: a budget that a measurement breaks has the budget's rule, so that
// other tools show it as that one; what memspec and a measurement disagree about has a separate
// one.
func TestRulesOfMeasuredFindings(t *testing.T) {
	for _, tt := range []struct {
		why     string
		finding cudameasure.Finding
		rule    format.Rule
		outcome verdict.Outcome
	}{
		{"a broken budget", cudameasure.Finding{Budget: true, Metric: report.Reserved}, format.BudgetRule(report.Reserved),
			verdict.Fail},
		{"one that only warns", cudameasure.Finding{Budget: true, Warn: true, Metric: report.Allocated},
			format.BudgetRule(report.Allocated), verdict.Warn},
		{"a disagreement", cudameasure.Finding{Metric: report.Reserved}, format.RuleDisagreement, verdict.Fail},
		{"what is not known", cudameasure.Finding{Unknown: true}, format.RuleInconclusive, verdict.Inconclusive},
	} {
		c := &format.Case{}
		addMeasured(c, &verify.Compared{Comparison: &cudameasure.Comparison{Findings: []cudameasure.Finding{tt.finding}}}, "")
		assert.Equal(t, []any{tt.rule, tt.outcome}, []any{c.Findings[0].Rule, c.Findings[0].Outcome}, tt.why)
	}
}

// TestMeasuredFigures: a measured peak stands beside the budget's figure and breaks it where it is
// over; every other row is a figure of its pass, of the pretend GPU, and of the record where there
// are several.
func TestMeasuredFigures(t *testing.T) {
	size := func(b units.Bytes) *units.Bytes { return &b }
	rows := []cudameasure.Row{{Phase: "first", Metric: report.Allocated, Predicted: 1, Measured: 2},
		{Phase: "peak", Metric: report.Allocated, Predicted: 3, Measured: 9},
		{Phase: "peak", Metric: report.Reserved, Predicted: 5, Measured: 6}}
	text := func(where recording.Where, file string, limit units.Bytes) []string {
		c := &format.Case{Figures: []format.Figure{{Metric: report.Allocated, Predicted: size(3), Limit: size(limit)},
			{Metric: report.Weights, Predicted: size(7)}}}
		addMeasured(c, &verify.Compared{Comparison: &cudameasure.Comparison{Where: where, Rows: rows}}, file)
		var out []string
		for _, f := range c.Figures {
			measured := "-"
			if f.Measured != nil {
				measured = f.Measured.Exact()
			}
			out = append(out, fmt.Sprintf("%s %s: %s %s %s", f.Moment, f.Metric, f.Predicted.Exact(), measured, f.Outcome))
		}
		return out
	}
	pass := verdict.Pass.String()
	zero := verdict.Outcome(0).String()
	assert.Equal(t, []string{" allocated: 3 B 9 B " + zero, " weights: 7 B - " + zero, "first allocated: 1 B 2 B " + pass,
		" reserved: 5 B 6 B " + pass}, text(recording.OnCUDA, "", 9))
	assert.Equal(t, []string{" allocated: 3 B - " + zero, " weights: 7 B - " + zero,
		"first on a pretend GPU a.json allocated: 1 B 2 B " + pass, "on a pretend GPU a.json allocated: 3 B 9 B " + pass,
		"on a pretend GPU a.json reserved: 5 B 6 B " + pass}, text(recording.OnPretend, "a.json", 9))
	for limit, want := range map[units.Bytes]verdict.Outcome{9: verdict.Pass, 8: verdict.Fail} {
		c := &format.Case{Figures: []format.Figure{{Metric: report.Allocated, Outcome: verdict.Pass, Limit: size(limit)}}}
		addMeasured(c, &verify.Compared{Comparison: &cudameasure.Comparison{Rows: rows[1:2]}}, "")
		assert.Equal(t, want, c.Figures[0].Outcome, "%d", limit)
		require.Len(t, c.Figures, 1)
	}
}

// TestSeveralMeasurements: a case that fails to run is an error's finding, one that has to be
// measured and is not is undecided, and of several records each has its name.
func TestSeveralMeasurements(t *testing.T) {
	var o verifyOptions
	o.out = cli.NewOutputs(&cobra.Command{}, format.Verdicts)
	account := func() *verify.Account {
		return &verify.Account{Result: &suite.Result{Case: spec.Case{Name: "m", Pos: spec.Pos{File: "a.yaml", Line: 3}},
			Err: errors.New("no")}, Outcome: verdict.Error}
	}
	a := account()
	a.Failed = errors.New("it raised")
	a.Required = true
	c := o.accountCase(a)
	require.Len(t, c.Findings, 2)
	assert.Equal(t, format.Finding{Rule: format.RuleError, Outcome: verdict.Error, Text: "it raised", Pos: c.Pos},
		c.Findings[1])
	a = account()
	a.Required = true
	c = o.accountCase(a)
	require.Len(t, c.Findings, 2)
	assert.Equal(t, format.Finding{Rule: format.RuleInconclusive, Outcome: verdict.Inconclusive,
		Text: "not measured; a measurement is required", Pos: c.Pos}, c.Findings[1])
	row := []cudameasure.Row{{Phase: "peak", Metric: report.Allocated}}
	for _, name := range []string{"a.json", "b.json"} {
		m := &cudameasure.Measurement{}
		m.File = name
		a.Compared = append(a.Compared, verify.Compared{Measured: m, Comparison: &cudameasure.Comparison{Rows: row}})
	}
	c = o.accountCase(a)
	require.Len(t, c.Figures, 2)
	assert.Equal(t, []string{"a.json", "b.json"}, []string{c.Figures[0].Moment, c.Figures[1].Moment})
	a.Compared = a.Compared[:1]
	c = o.accountCase(a)
	require.Len(t, c.Figures, 1)
	assert.Empty(t, c.Figures[0].Moment)
}
