package suite

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
)

// A Result is one case with everything that was found out about it.
type Result struct {
	Case     spec.Case
	Run      *engine.Run    // nil where Err is not
	Report   *report.Report // the run's
	Verdict  verdict.Verdict
	Before   *report.Report // what the case took before, of the same run; nil where nothing was compared
	Change   string         // against it, in words; "" where nothing changed, else why it could not be compared
	Remedies []string       // changes with which a failing case would pass, where they were asked for
	Fits     []string       // values of dims that it was asked to fit and does
	// why nothing could be judged; the outcome is then Error, or Inconclusive of an
	// *origin.Uncaptured
	Err error

	options    verdict.Options // of Verdict
	uncompared bool            // regression: has nothing to compare with
	unfit      []unfit
}

// unfit is a value of a dim that a case must fit and does not.
type unfit struct {
	spec.Fit
	why string // among the verdict's
}

// Failed is the result of a case that an error kept from being judged.
func Failed(c spec.Case, err error) *Result {
	return &Result{Case: c, Err: regular.Plain(err), Verdict: verdict.Verdict{Outcome: engine.OutcomeOf(err)}}
}

// judge runs a case and compares it with its budgets, the values of its fits: and its baseline.
func (ms *Models) judge(ctx context.Context, c spec.Case) *Result {
	r := ms.judgeBudgets(ctx, c)
	if r.Err != nil {
		return r
	}
	for _, f := range c.Fits {
		if err := ms.judgeFit(ctx, r, f); err != nil {
			return Failed(c, fmt.Errorf("fits: %s: %w", f.Name, err))
		}
	}
	if c.Baseline == "" {
		if len(c.Regression) > 0 {
			r.cannotCompare(noBaseline(&c))
		}
		return r
	}
	b, err := ms.Baseline(c.Baseline)
	if err != nil {
		return Failed(c, err)
	}
	r.Compare(b.Report(c.Name), filepath.Base(c.Baseline))
	return r
}

// judgeBudgets runs a case and compares it with its budgets.
func (ms *Models) judgeBudgets(ctx context.Context, c spec.Case) *Result {
	if c.EveryRank() || c.Rank != nil {
		return ms.judgeRanks(ctx, c)
	}
	run, err := ms.run(ctx, c)
	if err != nil {
		return Failed(c, err)
	}
	return judged(ctx, run)
}

// judged compares a run with its case's budgets.
func judged(ctx context.Context, run *engine.Run) *Result {
	v, by, err := run.Judge(ctx)
	if err != nil {
		return Failed(run.Case, err)
	}
	return &Result{Case: run.Case, Run: run, Report: run.Report, Verdict: v, options: by}
}

// judgeFit runs the case once more, at a value that it must fit.
func (ms *Models) judgeFit(ctx context.Context, r *Result, f spec.Fit) error {
	at, err := ms.resultAt(ctx, r.dim(f.Name), f.Value)
	if err != nil {
		return err
	}
	switch broken := at.Limit(f.Value); {
	case broken == nil:
		if len(r.Case.Budgets) == 0 && r.Verdict.Outcome == verdict.Inconclusive { // nothing else was asked
			r.Verdict.Outcome, r.Verdict.Why = verdict.Pass, nil
		}
		r.Fits = append(r.Fits, fmt.Sprintf("fits at %s=%d", f.Name, f.Value))
	case broken.Unsure:
		why := fmt.Sprintf("fits: %s=%d is undecided: %s", f.Name, f.Value, broken)
		r.Verdict.Outcome = verdict.Worst(r.Verdict.Outcome, verdict.Inconclusive)
		r.Verdict.Why = append(slices.DeleteFunc(r.Verdict.Why, saysNoBudget), why)
	default:
		why := fmt.Sprintf("fits: %s=%d does not: %s", f.Name, f.Value, broken)
		if len(r.Case.Budgets) == 0 {
			r.Verdict.Why = nil
		}
		r.Verdict.Outcome = verdict.Fail
		r.Verdict.Why = append(r.Verdict.Why, why)
		r.unfit = append(r.unfit, unfit{f, why})
	}
	return nil
}

// dim makes the result's case with other values of a dim.
func (r *Result) dim(name string) At {
	return func(value int64) (spec.Case, error) { return r.Case.With(spec.Dim{Name: name, Value: value}) }
}

// resultAt is a case judged at a value of a dim.
func (ms *Models) resultAt(ctx context.Context, at At, value int64) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := at(value)
	if err != nil {
		return nil, err
	}
	c.Fits = nil // they are what is asked here
	r := ms.judge(ctx, c)
	if r.Err != nil {
		return nil, fmt.Errorf("at %d: %w", value, r.Err)
	}
	return r, nil
}
