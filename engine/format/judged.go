package format

import (
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/verdict"
)

// Judged is the case of a verdict: its figures are the budgets' metrics in their order, its
// findings what did not pass. Where one reason holds for the whole case (it does not fit, an
// operator has no rule), that is the one finding. What a command knows besides (the line, the
// account, the timeline) is its own to add.
func Judged(name string, pos verdict.Pos, r *report.Report, v verdict.Verdict) *Case {
	c := &Case{Name: name, Pos: pos, Judged: true, Outcome: v.Outcome, Report: r}
	if r != nil {
		c.RestsOn = v.RestsOn()
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		c.Figures = append(c.Figures, budgetFigure(f, r))
		if f.Outcome != verdict.Pass && len(v.Why) == 0 {
			c.Findings = append(c.Findings, Finding{Rule: ruleOf(f), Outcome: f.Outcome, Metric: f.Metric, Text: f.String(),
				Pos: ofFile(f.Pos, pos)})
		}
	}
	for _, why := range v.Why {
		c.Findings = append(c.Findings, Finding{Rule: caseRule(r), Outcome: v.Outcome, Text: why, Pos: pos})
	}
	return c
}

// ofFile is the place of a budget, or the case's where --set added the budget.
func ofFile(budget, its verdict.Pos) verdict.Pos {
	if budget.File == verdict.Added {
		return its
	}
	return budget
}

// Failed is a case that could not be run: an error, or inconclusive where there is nothing to run
// yet.
func Failed(name string, pos verdict.Pos, err error, outcome verdict.Outcome) *Case {
	rule := RuleError
	if outcome == verdict.Inconclusive {
		rule = RuleInconclusive
	}
	return &Case{Name: name, Pos: pos, Judged: true, Outcome: outcome, Error: err.Error(),
		Findings: []Finding{{Rule: rule, Outcome: outcome, Text: err.Error(), Pos: pos}}}
}

func budgetFigure(f *verdict.Finding, r *report.Report) Figure {
	limit := f.Limit
	out := Figure{Metric: f.Metric, Outcome: f.Outcome, Limit: &limit}
	if f.Known {
		v := f.Predicted
		out.Predicted = &v
	}
	if r != nil {
		if v, ok := r.UpperValue(f.Metric); ok {
			out.Upper = &v
		}
	}
	return out
}

func ruleOf(f *verdict.Finding) Rule {
	if f.Outcome == verdict.Inconclusive {
		return RuleInconclusive
	}
	return BudgetRule(f.Metric)
}

func caseRule(r *report.Report) Rule {
	if r != nil && !r.Fits() {
		return RuleOutOfMemory
	}
	return RuleInconclusive
}
