package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/cudameasure"
	"github.com/memspec/memspec/cudameasure/verify"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/verdict"
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
