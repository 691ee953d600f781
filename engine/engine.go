package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/internal/once"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// Estimate predicts what one case takes. A run that does not fit its device is a result
// (Report.OOM), as is an incomplete one.
func Estimate(ctx context.Context, c spec.Case) (*report.Report, error) {
	r, err := run(ctx, c)
	if err != nil {
		return nil, err
	}
	return r.Report, nil
}

// Check predicts what one case takes and judges its budgets. The error says why there is nothing to
// judge. A case with fits: or regression: asks for more runs than one: suite.Judge judges it.
func Check(ctx context.Context, c spec.Case) (verdict.Verdict, error) {
	v, err := check(ctx, c)
	if err != nil {
		return verdict.Verdict{Outcome: OutcomeOf(err)}, regular.Plain(err)
	}
	return v, nil
}

func check(ctx context.Context, c spec.Case) (verdict.Verdict, error) {
	if len(c.Fits) > 0 || len(c.Regression) > 0 {
		return verdict.Verdict{}, fmt.Errorf("%s: got a case with fits: or regression:, want suite.Judge for it", c.Name)
	}
	r, err := run(ctx, c)
	if err != nil {
		return verdict.Verdict{}, err
	}
	v, _, err := r.Judge(ctx)
	return v, err
}

// run opens what a case names and runs it.
func run(ctx context.Context, c spec.Case) (*Run, error) {
	if c.EveryRank() {
		return nil, fmt.Errorf("%s: got a case of several ranks, want suite.Judge for it, or one of them (OfRank)", c.Name)
	}
	path, err := origin.Find(&c)
	if err != nil {
		return nil, err
	}
	m, err := Open(path)
	if err != nil {
		return nil, err
	}
	return m.Run(ctx, c)
}

// An Opener opens artifacts. Their runs have in common what it holds; the zero value is ready, and
// several goroutines may use it.
type Opener struct {
	// Environ is the caller's environment, NAME=VALUE: variables that a recorded run read are
	// compared with it. nil compares none. The engine reads no environment itself.
	Environ []string

	// Answers are used where the workspace profile of a case has none: what was asked just now.
	Answers *profile.Profile

	profiles once.Map[*profile.Profile]
}

// A Model is an opened artifact; it may be used by several goroutines.
type Model struct {
	Path     string
	Artifact *artifact.Artifact
	Origin   *origin.Origin // what it was made from

	opener *Opener
	seen   *fx.Seen // of an exported program, where its sidecar records it

	// eager reads the program that the live model runs, once; nil where its sidecar holds none.
	eager func() (*Model, error)

	mu   sync.Mutex
	idle []exec.Start // of the program: each knows what an earlier run read, and serves one run at a time
}

// Open reads an artifact.
func Open(path string) (*Model, error) { return new(Opener).Open(path) }

// Open reads an artifact.
func (o *Opener) Open(path string) (m *Model, err error) {
	defer caught(path, &err)
	if path == "" {
		return nil, errors.New("got no artifact, want one")
	}
	a, err := artifact.Open(path)
	if err != nil {
		return nil, regular.Plain(err)
	}
	m = o.model(path, a)
	if a.Program != nil {
		return m, m.readSidecar()
	}
	if a.Served != nil {
		m.Origin.Made = a.Served.Made
		return m, nil
	}
	switch h := a.Recorded.Header; {
	case h != nil:
		m.Origin.Made = h.Made
	default: // a memory snapshot: what its device held before the first event is rebuilt
		if _, err := allocator.Rewind(a.Recorded.Recording); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return m, nil
}

// OfRecording is the model of a run that was recorded just now, of the source as it is. path is
// where it would be kept.
func OfRecording(path string, r *recording.Recording) (*Model, error) {
	a, err := artifact.OfRecording(r)
	if err != nil {
		return nil, err
	}
	m := new(Opener).model(path, a)
	m.Origin.Made = &recording.Made{}
	return m, nil
}

func (o *Opener) model(path string, a *artifact.Artifact) *Model {
	return &Model{Path: path, Artifact: a, opener: o, Origin: &origin.Origin{Path: path, Program: a.Program,
		Environ: o.Environ}}
}

// readSidecar reads what the file beside a program records of how it was made.
func (m *Model) readSidecar() error {
	s, err := origin.ReadSidecar(m.Path)
	if s == nil || err != nil {
		return err
	}
	m.Origin.Made = s.Made
	if m.seen, err = s.Seen(m.Path, m.Artifact.Program); err != nil {
		return err
	}
	if s.Eager != nil {
		m.eager = sync.OnceValues(func() (*Model, error) {
			a, seen, err := s.EagerModel(m.Path)
			return &Model{Path: m.Path + origin.SidecarSuffix, Artifact: a, seen: seen}, err
		})
	}
	m.Origin.Compared = m.seen != nil || m.eager != nil
	return nil
}

// Program is what the artifact holds to be run; the error says that it holds a run instead.
func (m *Model) Program() (*program.Program, error) {
	if m.Artifact.Program == nil {
		return nil, errors.New("got a recorded run, which holds no program")
	}
	return m.Artifact.Program, nil
}

// caught makes a bug on one artifact an error of that artifact: the other cases still run.
func caught(path string, err *error) {
	if bug := recover(); bug != nil {
		*err = fmt.Errorf("%s: internal error: %v", path, bug)
	}
}
