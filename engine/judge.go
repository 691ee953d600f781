package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
)

// A Result is one case with everything that was found out about it.
type Result struct {
	Case     spec.Case
	Run      *Run           // nil where Err is not
	Report   *report.Report // the run's
	Verdict  verdict.Verdict
	Before   *report.Report // what the case took before, of the same run; nil where nothing was compared
	Change   string         // against it, in words; "" where nothing changed, else why it could not be told
	options  verdict.Options
	Remedies []string // changes with which a failing case would pass, where they were asked for

	uncompared bool     // regression: has nothing to compare with
	Fits       []string // values of dims that it was asked to fit and does
	Err        error    // why nothing could be judged; the outcome is then Error, or Inconclusive of an *Uncaptured
}

func failed(c spec.Case, err error) *Result {
	r := &Result{Case: c, Err: plain(err), Verdict: verdict.Verdict{Outcome: verdict.Error}}
	var missing *Uncaptured
	if errors.As(err, &missing) {
		r.Verdict.Outcome = verdict.Inconclusive
	}
	return r
}

// Judge holds the run against its case's budgets. Where tensor data decides sizes, the model is run again at their lower end.
func (r *Run) Judge(ctx context.Context) *Result {
	var lower *report.Report
	if r.Report.Quality == report.Bound && len(r.Report.OtherValues) == 0 {
		low, err := r.Model.run(ctx, r.Case, lowerEnd)
		var refuses *exec.EvalError // the model has no run at that end
		switch {
		case err == nil:
			lower = low.Report
		case !errors.As(err, &refuses):
			return failed(r.Case, fmt.Errorf("at the lower end of data-dependent sizes: %w", err))
		}
	}
	return judged(r.Case, r, r.Report, lower)
}

// judged holds an account against its case's budgets. lower is the account with data-dependent sizes at their lower end, nil where there is none.
func judged(c spec.Case, run *Run, account, lower *report.Report) *Result {
	o := verdict.Options{Allow: c.Allow, Lower: lower, Assume: assumed(&c), Basis: c.Judge}
	return &Result{Case: c, Run: run, Report: account, options: o, Verdict: verdict.Judge(account, c.Budgets, o)}
}

// assumed are a case's assumptions in words.
func assumed(c *spec.Case) []string {
	var out []string
	for _, a := range c.Assume {
		out = append(out, fmt.Sprintf("%s = %d", a.Line, a.Size))
	}
	return out
}

// JudgeRecording judges a case by a run of it that was recorded just now: what its file in .memspec would tell, if it were kept.
func JudgeRecording(ctx context.Context, c spec.Case, r *recording.Recording) *Result {
	a, err := artifact.OfRecording(r)
	if err != nil {
		return failed(c, err)
	}
	m := &Model{Path: pathOf(&c), Artifact: a, made: &recording.Made{}} // of the source as it is
	run, err := m.Run(ctx, c)
	if err != nil {
		return failed(c, err)
	}
	return run.Judge(ctx)
}
