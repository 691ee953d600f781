package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/aotinductor"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
)

// Estimate predicts what one case takes. A run that does not fit its device is a result (Report.OOM), as is an incomplete one.
func Estimate(ctx context.Context, c spec.Case) (*report.Report, error) {
	var ms Models
	r, err := ms.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	return r.Report, nil
}

// Check predicts what one case takes and judges its budgets. The error says why there is nothing to judge.
func Check(ctx context.Context, c spec.Case) (verdict.Verdict, error) {
	r := Judge(ctx, c)
	return r.Verdict, r.Err
}

// Judge is Check with everything that was found out beside the verdict.
func Judge(ctx context.Context, c spec.Case) *Result {
	var ms Models
	return ms.Judge(ctx, c)
}

// A Model is an opened artifact; it may be used by several goroutines.
type Model struct {
	Path     string
	Artifact *artifact.Artifact

	seen *fx.Seen        // of an exported program, where its sidecar tells it
	made *recording.Made // how, as far as it tells

	environ []string // NAME=VALUE, for variables that the run read; nil where it is not known

	// eager reads the program that the live model runs, once; nil where its sidecar holds none.
	eager func() (*Model, error)

	mu   sync.Mutex
	idle []exec.Start // of the program: each knows what an earlier run read, and serves one run at a time
}

// start is what starts a run of the model's program.
func (m *Model) start() exec.Start {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.idle); n > 0 {
		s := m.idle[n-1]
		m.idle = m.idle[:n-1]
		return s
	}
	switch p := m.Artifact.Program; {
	case p.Tells == program.TellsModules: // graphs alone
		return fx.NewSeen(p, m.seen)
	case p.Compiled:
		return aotinductor.New(p)
	}
	return torchscript.New(m.Artifact.Program)
}

// done gives back what start gave, after a run that ended.
func (m *Model) done(s exec.Start) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = append(m.idle, s)
}

// Open reads an artifact.
func Open(path string) (m *Model, err error) {
	defer caught(path, &err)
	if path == "" {
		return nil, errors.New("got no artifact, want one")
	}
	a, err := artifact.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	if err := begin(a); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m = &Model{Path: path, Artifact: a}
	var s *sidecar
	if a.Program != nil {
		if s, err = readSidecar(path); err != nil {
			return nil, err
		}
	}
	m.readMade(s)
	return m, m.readSeen(s)
}

// Program is what the artifact holds to be run; the error says that it holds a run instead.
func (m *Model) Program() (*program.Program, error) {
	if m.Artifact.Program == nil {
		return nil, errors.New("got a recorded run, which holds no program")
	}
	return m.Artifact.Program, nil
}

// plain says "PATH: no such file or directory", without the system call that found out.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && err.Error() == pe.Error() {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}

// caught makes a bug on one artifact an error of that artifact: the other cases still run.
func caught(path string, err *error) {
	if bug := recover(); bug != nil {
		*err = fmt.Errorf("%s: internal error: %v", path, bug)
	}
}

// backtrace is the model's own stack where err has one.
func backtrace(err error) string {
	var e *exec.EvalError
	if errors.As(err, &e) {
		return e.Backtrace()
	}
	return ""
}
