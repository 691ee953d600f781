package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// Models are opened artifacts, each read once however many cases run it. The zero value is ready; several goroutines may use it.
type Models struct {
	// Environ is the caller's environment, NAME=VALUE: variables that a recorded run read are compared with it. nil compares none. The engine reads no
	// environment itself.
	Environ []string

	// Answers stand behind the workspace profile of each case: what was asked just now.
	Answers *profile.Profile
	// Called, if not nil, gets the library calls of each run, from any goroutine.
	Called func(*spec.Case, []LibraryCall)

	mu        sync.Mutex
	byPath    map[string]func() (*Model, error)
	profiles  map[string]func() (*profile.Profile, error)
	baselines map[string]func() (*Baseline, error)
}

// Open reads an artifact, or returns what reading it gave before.
func (ms *Models) Open(path string) (*Model, error) {
	ms.mu.Lock()
	if ms.byPath == nil {
		ms.byPath = map[string]func() (*Model, error){}
	}
	open, ok := ms.byPath[path]
	if !ok {
		open = sync.OnceValues(func() (*Model, error) {
			m, err := Open(path)
			if err == nil {
				m.environ = ms.Environ
			}
			return m, err
		})
		ms.byPath[path] = open
	}
	ms.mu.Unlock()
	return open()
}

// Run runs a case, its artifact and workspace profile read once.
func (ms *Models) Run(ctx context.Context, c spec.Case) (*Run, error) {
	path, err := artifactOf(&c)
	if err != nil {
		return nil, err
	}
	m, err := ms.Open(path)
	if err != nil {
		return nil, err
	}
	if err := ms.useProfile(&c); err != nil {
		return nil, err
	}
	run, err := m.Run(ctx, c)
	if err == nil && ms.Called != nil {
		ms.Called(&c, run.Calls)
	}
	return run, err
}

// useProfile reads the workspace profile that a case names, and puts the answers of ms behind it.
func (ms *Models) useProfile(c *spec.Case) (err error) {
	if c.Platform.Workspace == nil && c.Workspace != "" {
		if c.Platform.Workspace, err = ms.profile(c.Workspace); err != nil {
			return plain(err)
		}
	}
	if ms.Answers != nil {
		c.Platform.Workspace = c.Platform.Workspace.Before(ms.Answers)
	}
	return nil
}

// Judge runs a case and compares it with its budgets, its fits: and its baseline.
func (ms *Models) Judge(ctx context.Context, c spec.Case) *Result {
	run, err := ms.Run(ctx, c)
	if err != nil {
		return failed(c, err)
	}
	result := run.Judge(ctx)
	if result.Err != nil {
		return result
	}
	for _, f := range c.Fits {
		if err := ms.judgeFit(ctx, result, f); err != nil {
			return failed(c, err)
		}
	}
	if c.Baseline == "" {
		if len(c.Regression) > 0 {
			result.cannotCompare(noBaseline(&c))
		}
		return result
	}
	b, err := ms.Baseline(c.Baseline)
	if err != nil {
		return failed(c, err)
	}
	var before *report.Report
	if entry := b.Case(c.Name); entry != nil {
		before = entry.Report()
	}
	result.Compare(before, filepath.Base(c.Baseline))
	return result
}

// Baseline reads a baseline once.
func (ms *Models) Baseline(path string) (*Baseline, error) {
	ms.mu.Lock()
	if ms.baselines == nil {
		ms.baselines = map[string]func() (*Baseline, error){}
	}
	load, ok := ms.baselines[path]
	if !ok {
		load = sync.OnceValues(func() (*Baseline, error) { return ReadBaseline(path) })
		ms.baselines[path] = load
	}
	ms.mu.Unlock()
	return load()
}

// judgeFit runs the case once more at a value that it must fit, and on for what would.
func (ms *Models) judgeFit(ctx context.Context, r *Result, f spec.Fit) error {
	at := func(value int64) (spec.Case, error) { return r.Case.With(spec.Dim{Name: f.Name, Value: value}) }
	s := &search{ctx: ctx, models: ms, at: at, tried: map[int64]*Limit{}}
	fits := s.fits(f.Value)
	if s.err != nil {
		return fmt.Errorf("fits: %s: %w", f.Name, s.err)
	}
	if fits {
		if len(r.Case.Budgets) == 0 && r.Verdict.Outcome == verdict.Inconclusive { // nothing else was asked
			r.Verdict.Outcome, r.Verdict.Why = verdict.Pass, nil
		}
		r.Fits = append(r.Fits, fmt.Sprintf("fits at %s=%d", f.Name, f.Value))
		return nil
	}
	if broken := s.tried[f.Value]; broken.Unsure {
		r.Verdict.Outcome = verdict.Worst(r.Verdict.Outcome, verdict.Inconclusive)
		r.Verdict.Why = append(slices.DeleteFunc(r.Verdict.Why, saysNoBudget), fmt.Sprintf("fits: %s=%d cannot be told: %s", f.Name, f.Value, broken))
		return nil
	}
	largest, err := ms.Largest(ctx, at, f.Value)
	if err != nil {
		return fmt.Errorf("fits: %s: %w", f.Name, err)
	}
	why := fmt.Sprintf("fits: %s=%d does not: %s; the largest that does is %d", f.Name, f.Value, s.tried[f.Value], largest.Largest)
	if len(r.Case.Budgets) == 0 {
		r.Verdict.Why = nil
	}
	r.Verdict.Outcome = verdict.Fail
	r.Verdict.Why = append(r.Verdict.Why, why)
	return nil
}

// profile reads a workspace profile once.
func (ms *Models) profile(path string) (*profile.Profile, error) {
	ms.mu.Lock()
	if ms.profiles == nil {
		ms.profiles = map[string]func() (*profile.Profile, error){}
	}
	load, ok := ms.profiles[path]
	if !ok {
		load = sync.OnceValues(func() (*profile.Profile, error) { return profile.Load(path) })
		ms.profiles[path] = load
	}
	ms.mu.Unlock()
	return load()
}

// JudgeAll judges cases on all processors and hands each result to each, in the order of the cases and on the caller's goroutine.
// done, if not nil, is called once a case as it ends, from any goroutine.
func (ms *Models) JudgeAll(ctx context.Context, cases []spec.Case, done func(), each func(*Result)) {
	results := make([]chan *Result, len(cases))
	for i := range results {
		results[i] = make(chan *Result, 1)
	}
	next := make(chan int, len(cases))
	left := map[string]int{} // cases of an artifact yet to run: after the last it is dropped
	for i := range cases {
		next <- i
		left[pathOf(&cases[i])]++
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
				ms.mu.Lock()
				path := pathOf(&cases[i])
				if left[path]--; left[path] == 0 {
					delete(ms.byPath, path)
				}
				ms.mu.Unlock()
			}
		}()
	}
	for _, r := range results {
		each(<-r)
	}
}
