// Package suite judges cases: many of them, each file read once, with what one case asks of several
// runs (fits:), what it took before (regression:), how far a dim can go, and what a failing test
// prints.
package suite

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
)

// Judge runs one case and compares it with its budgets, its fits: and its baseline.
func Judge(ctx context.Context, c spec.Case) *Result { return new(Models).Judge(ctx, c) }

// Judge runs a case and compares it with its budgets, its fits: and its baseline. Where a value of
// fits: does not fit, the largest that does is searched.
func (ms *Models) Judge(ctx context.Context, c spec.Case) *Result {
	r := ms.judge(ctx, c)
	for _, f := range r.unfit {
		found, err := ms.Largest(ctx, r.dim(f.Name), f.Value)
		if err != nil {
			return Failed(c, fmt.Errorf("fits: %s: %w", f.Name, err))
		}
		if i := slices.Index(r.Verdict.Why, f.why); i >= 0 {
			r.Verdict.Why[i] += fmt.Sprintf("; the largest that does is %d", found.Largest)
		}
	}
	return r
}

// JudgeAll judges cases on all processors and hands each result to each, in the order of the cases
// and on the caller's goroutine. done, if not nil, is called once a case as it ends, from any
// goroutine.
func (ms *Models) JudgeAll(ctx context.Context, cases []spec.Case, done func(), each func(*Result)) {
	results := make([]chan *Result, len(cases))
	for i := range results {
		results[i] = make(chan *Result, 1)
	}
	next := make(chan int, len(cases))
	left := map[string]*atomic.Int64{} // cases of an artifact yet to run: after the last it is dropped
	for i := range cases {
		next <- i
		path := origin.Path(&cases[i])
		if left[path] == nil {
			left[path] = new(atomic.Int64)
		}
		left[path].Add(1)
	}
	close(next)
	for range min(runtime.GOMAXPROCS(0), len(cases)) {
		go func() {
			for i := range next {
				r := ms.Judge(ctx, cases[i])
				if done != nil {
					done() // before the result is handed on: none comes after the last
				}
				results[i] <- r
				if path := origin.Path(&cases[i]); left[path].Add(-1) == 0 {
					ms.byPath.Drop(path)
				}
			}
		}()
	}
	for _, r := range results {
		each(<-r)
	}
}

// JudgeRecording compares a run of a case that was recorded just now with its budgets: what its
// file in .memspec would say, if it were kept.
func JudgeRecording(ctx context.Context, c spec.Case, r *recording.Recording) *Result {
	m, err := engine.OfRecording(origin.Path(&c), r)
	if err != nil {
		return Failed(c, err)
	}
	run, err := m.Run(ctx, c)
	if err != nil {
		return Failed(c, err)
	}
	return judged(ctx, run)
}
