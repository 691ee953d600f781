package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
)

// judgeRanks compares each rank that ran, or the one that the case is of, with the case's budgets.
// The result is the worst rank's: of the worst outcome, then the one that comes nearest to a
// budget, then of the most reserved, then the first.
func (ms *Models) judgeRanks(ctx context.Context, c spec.Case) *Result {
	var missing *origin.Uncaptured
	list, ranks, err := origin.ReadRanks(&c)
	if err != nil {
		if errors.As(err, &missing) && ms.Unrecorded != nil {
			all := c
			all.Rank = nil // all ranks are recorded together
			ms.Unrecorded(&all, "")
		}
		return Failed(c, err)
	}
	var worst *Result
	for _, rank := range ranks {
		r := ms.judgeRank(ctx, c.OfRank(rank), list)
		if r.Err != nil {
			return Failed(c, fmt.Errorf("rank %d: %w", rank, r.Err))
		}
		if worst == nil || worse(r, worst) {
			worst = r
		}
	}
	worst.Case.Rank = c.Rank // whatever is asked of the case further is asked of all
	return worst
}

// judgeRank judges one rank of a case. Its recording is read for that alone.
func (ms *Models) judgeRank(ctx context.Context, c spec.Case, list *origin.Ranks) *Result {
	run, err := ms.run(ctx, c)
	ms.byPath.Drop(origin.Path(&c))
	if err != nil {
		return Failed(c, err)
	}
	describeRank(run, list)
	return judged(ctx, run)
}

// describeRank says in a run's report which rank it is of which that ran. Where others differ and
// did not run, its figures are an estimate: they may take more.
func describeRank(run *engine.Run, list *origin.Ranks) {
	of := &report.Rank{Rank: *run.Case.Rank, WorldSize: list.WorldSize, Unlike: list.Unlike()}
	for _, r := range list.Ranks {
		of.Run = append(of.Run, r.Rank)
		if r.Rank == of.Rank {
			of.Place = r.Place
		}
	}
	run.Report.Rank = of
	if of.Unlike == 0 {
		return
	}
	if run.Report.Quality == report.Exact {
		run.Report.Quality = report.Estimated
	}
	n := note.Note{ID: note.RanksNotRun,
		Subject: fmt.Sprintf("%d of %d ranks that take otherwise (%s)", of.Unlike, of.WorldSize, list.Why())}
	run.Report.Notes = append(run.Report.Notes, report.Note{ID: n.ID, Text: n.Text()})
}

// worse says whether a is nearer to failing than b.
func worse(a, b *Result) bool {
	if a.Verdict.Outcome != b.Verdict.Outcome {
		return verdict.Worst(a.Verdict.Outcome, b.Verdict.Outcome) == a.Verdict.Outcome
	}
	return cmp.Or(cmp.Compare(used(a), used(b)), cmp.Compare(a.Report.Peak.Reserved, b.Report.Peak.Reserved)) > 0
}

// used is the largest share of a budget that a result takes.
func used(r *Result) float64 {
	most := 0.0
	for _, f := range r.Verdict.Findings {
		if share, ok := f.Share(); ok {
			most = max(most, share)
		}
	}
	return most
}
