package suite

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// Compare compares a result with what its case took before: what changed is reported, and the
// case's regression: is judged as budgets. before is nil where there is nothing to compare with;
// from names where it is from.
func (r *Result) Compare(before *report.Report, from string) {
	if r.Report == nil {
		return
	}
	if before == nil {
		r.cannotCompare("there is no report of the case in " + from)
		return
	}
	if differ := report.Unlike(&before.Run, &r.Report.Run); len(differ) > 0 {
		r.cannotCompare("the report in " + from + " is of another run: " + strings.Join(differ, "; "))
		return
	}
	r.Before = before
	r.Change = report.Diff(before, r.Report).Sentence(before.PeakAt, r.Report.PeakAt)
	var budgets []verdict.Budget
	for _, g := range r.Case.Regression {
		was, ok := before.Value(g.Metric)
		if !ok {
			r.cannotCompare(fmt.Sprintf("%s is not known in %s", g.Metric, from))
			continue
		}
		b := verdict.Budget{Metric: g.Metric, Limit: allowed(was, g), Level: g.Level, Regression: true,
			Text: g.Text + past(g.Metric) + g.Metric.Text(was) + " before", Path: g.Path, Pos: g.Pos}
		if was, ok := upperBefore(before, g.Metric); ok {
			limit := allowed(was, g)
			b.UpperLimit = &limit
		}
		budgets = append(budgets, b)
	}
	if len(budgets) == 0 {
		return
	}
	judged := verdict.Judge(r.Report, budgets, r.options)
	r.Verdict.Findings = append(r.Verdict.Findings, judged.Findings...)
	r.Verdict.Why = slices.DeleteFunc(r.Verdict.Why, saysNoBudget)
	if len(r.Case.Budgets) == 0 && len(r.Case.Fits) == 0 && !r.uncompared {
		r.Verdict.Outcome = judged.Outcome
		return
	}
	r.Verdict.Outcome = verdict.Worst(r.Verdict.Outcome, judged.Outcome)
}

// Incomparable records why there is nothing to compare a result with: a case with regression: is
// then inconclusive.
func (r *Result) Incomparable(why string) {
	if r.Report != nil {
		r.cannotCompare(why)
	}
}

// upperBefore is the upper figure of a metric before: of an exact report its figure; false where an
// estimate does not record it.
func upperBefore(before *report.Report, m report.Metric) (units.Bytes, bool) {
	if up, ok := before.UpperValue(m); ok {
		return up, true
	}
	if before.Quality == report.Exact {
		return before.Value(m)
	}
	return 0, false
}

// cannotCompare makes a case that has a regression: inconclusive: nothing passes for want of
// something to compare with.
func (r *Result) cannotCompare(why string) {
	if len(r.Case.Regression) == 0 {
		r.Change = why
		return
	}
	r.uncompared = true
	r.Verdict.Outcome = verdict.Worst(r.Verdict.Outcome, verdict.Inconclusive)
	r.Verdict.Why = append(slices.DeleteFunc(r.Verdict.Why, saysNoBudget), "regression: "+why)
}

// saysNoBudget: a regression: is one.
func saysNoBudget(why string) bool { return why == verdict.NoBudget }

// allowed is what a metric may come to: of a number the least.
func allowed(was units.Bytes, g spec.Regression) units.Bytes {
	more := g.Bytes
	if g.Percent != nil {
		share := new(big.Rat).Mul(g.Percent, big.NewRat(int64(was), 100))
		more = units.Bytes(new(big.Int).Quo(share.Num(), share.Denom()).Int64())
	}
	if g.Metric.Counts() {
		return max(was-more, 0)
	}
	return was.Add(more)
}

// past is "over" of sizes, which may grow, and "under" of numbers, which may drop.
func past(m report.Metric) string {
	if m.Counts() {
		return " under "
	}
	return " over "
}

// noBaseline is why a case with regression: cannot be compared where there is no baseline at all,
// with the command that writes one.
func noBaseline(c *spec.Case) string {
	command := "memspec baseline"
	if c.Pos.File != "" && c.Pos.File != "memspec.yaml" {
		command += " " + layout.ShellQuote(c.Pos.File)
	}
	return "there is no " + spec.BaselineFile + " beside memspec.yaml; to write it: " + command
}
