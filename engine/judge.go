package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
)

// Judge compares the run with its case's budgets. It also returns by what, for other budgets of the
// same run.
func (r *Run) Judge(ctx context.Context) (verdict.Verdict, verdict.Options, error) {
	lower, err := r.lower(ctx)
	if err != nil {
		return verdict.Verdict{}, verdict.Options{}, fmt.Errorf("at the lower end of data-dependent sizes: %w", err)
	}
	o := verdict.Options{Allow: r.Case.Allow, Lower: lower, Assume: assumed(&r.Case), Basis: r.Case.Judge}
	return verdict.Judge(r.Report, r.Case.Budgets, o), o, nil
}

// lower is the report of the same run with data-dependent sizes at their lower end; nil where there
// is none.
func (r *Run) lower(ctx context.Context) (lower *report.Report, err error) {
	if r.Report.Quality != report.Bound || len(r.Report.OtherValues) > 0 {
		return nil, nil
	}
	defer caught(r.Model.Path, &err)
	low, err := r.Model.run(ctx, r.Case, lowerEnd, r.origin)
	var refuses *exec.EvalError // the model has no run at that end
	switch {
	case err == nil:
		return low.Report, nil
	case errors.As(err, &refuses):
		return nil, nil
	}
	return nil, err
}

// assumed are a case's assumptions in words.
func assumed(c *spec.Case) []string {
	var out []string
	for _, a := range c.Assume {
		out = append(out, fmt.Sprintf("%s = %d", a.Line, a.Size))
	}
	return out
}

// OutcomeOf is the outcome of a case that an error kept from being judged.
func OutcomeOf(err error) verdict.Outcome {
	var missing *origin.Uncaptured
	if errors.As(err, &missing) {
		return verdict.Inconclusive
	}
	return verdict.Error
}
