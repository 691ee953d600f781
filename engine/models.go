package engine

import (
	"context"
	"runtime"
	"sync"

	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// Models are opened artifacts, each read once however many cases run it. The zero value is ready; several goroutines may use it.
type Models struct {
	mu       sync.Mutex
	byPath   map[string]func() (*Model, error)
	profiles map[string]func() (*profile.Profile, error)
}

// Open reads an artifact, or returns what reading it gave before.
func (ms *Models) Open(path string) (*Model, error) {
	ms.mu.Lock()
	if ms.byPath == nil {
		ms.byPath = map[string]func() (*Model, error){}
	}
	open, ok := ms.byPath[path]
	if !ok {
		open = sync.OnceValues(func() (*Model, error) { return Open(path) })
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
	if c.Platform.Workspace == nil && c.Workspace != "" {
		if c.Platform.Workspace, err = ms.profile(c.Workspace); err != nil {
			return nil, plain(err)
		}
	}
	return m.Run(ctx, c)
}

// Judge runs a case and holds it against its budgets.
func (ms *Models) Judge(ctx context.Context, c spec.Case) *Result {
	r, err := ms.Run(ctx, c)
	if err != nil {
		return failed(c, err)
	}
	return r.Judge(ctx)
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
				results[i] <- ms.Judge(ctx, cases[i])
				ms.mu.Lock()
				path := pathOf(&cases[i])
				if left[path]--; left[path] == 0 {
					delete(ms.byPath, path)
				}
				ms.mu.Unlock()
				if done != nil {
					done()
				}
			}
		}()
	}
	for _, r := range results {
		each(<-r)
	}
}
