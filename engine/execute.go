package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/aotinductor"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/exec/recorded"
	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
)

// account is one of several that a case may be given.
type account uint8

const (
	likeliest  account = iota // the prediction
	lowerEnd                  // data-dependent sizes at their lower end
	localsHeld                // locals that the artifact does not record, held to the end of their calls
)

// execute runs the model's program abstractly; a run that was recorded is as it is.
func (m *Model) execute(ctx context.Context, c *spec.Case, which account) (*exec.Result, error) {
	if rec := m.Artifact.Recorded; rec != nil {
		tr, err := recorded.Trace(rec, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		return &exec.Result{Trace: tr}, nil
	}
	var r *exec.Result
	err := m.withProgram(c, func(of *Model) (err error) {
		start := of.start()
		r, err = m.executeOn(ctx, start, c, which)
		of.done(start)
		return err
	})
	return r, err
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
	case p.Records == program.RecordsModules: // graphs alone
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

// withProgram calls f with the model whose program a case runs: of an eager run the one in the
// sidecar, if there is one and it takes the inputs (it may leave fewer sizes open than the
// artifact).
func (m *Model) withProgram(c *spec.Case, f func(of *Model) error) error {
	if m.eager != nil && liveness(m.runtime(c)) == exec.PythonFrame {
		of, err := m.eager()
		if err != nil {
			return err
		}
		err = f(of)
		var outside *exec.InputError
		if !errors.As(err, &outside) {
			return err
		}
	}
	return f(m)
}

func (m *Model) executeOn(ctx context.Context, start exec.Start, c *spec.Case, which account) (*exec.Result, error) {
	dtype, err := castTo(c.DType)
	if err != nil {
		return nil, err
	}
	inputs, err := execInputs(c.Inputs, dtype)
	if err != nil {
		return nil, err
	}
	o := exec.Options{Inputs: inputs, Liveness: liveness(m.runtime(c)), Platform: &c.Platform, DType: dtype,
		Lower:      which == lowerEnd,
		HoldLocals: which == localsHeld, Assume: assumptions(c.Assume)}
	table, err := tableOf(c)
	if err != nil {
		return nil, err
	}
	r, err := exec.Run(ctx, start, table, o)
	if outside := (*exec.InputError)(nil); err != nil && dtype != tensor.Undefined &&
		m.Artifact.Program.Records != program.RecordsSource && !errors.As(err, &outside) {
		err = fmt.Errorf("%w (the program's casts are those of its export: export the model in %s)", err, c.DType)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Path, err)
	}
	return r, nil
}

// runtime is how the case runs: as it says, else eagerly, and a recorded run as it was recorded.
func (m *Model) runtime(c *spec.Case) spec.Runtime {
	switch {
	case c.Runtime != spec.ByArtifact && m.Artifact.Recorded == nil:
		return c.Runtime
	case len(m.Artifact.Runtimes) > 0:
		return spec.Runtime(m.Artifact.Runtimes[0])
	}
	return report.Recorded
}

// mode is what the run does.
func (m *Model) mode(c *spec.Case) spec.Mode {
	switch {
	case len(m.Artifact.Modes) == 0 && recorded.OfProgram(m.Artifact.Recorded):
		return report.Program
	case len(m.Artifact.Modes) == 0:
		return report.Recorded
	case c.Mode == "":
		return spec.Mode(m.Artifact.Modes[0])
	}
	return c.Mode
}

func liveness(r spec.Runtime) exec.Liveness {
	if r == spec.Eager {
		return exec.PythonFrame
	}
	return exec.LastUse
}

// tableOf is every rule that a case knows: memspec's, and those of the user's own operators.
func tableOf(c *spec.Case) (*ops.Table, error) {
	if len(c.Operators) == 0 {
		return builtin.Table(), nil
	}
	rules := make([]ops.Rule, len(c.Operators))
	for i := range c.Operators {
		var err error
		if rules[i], err = c.Operators[i].Rule(); err != nil {
			return nil, err
		}
	}
	return builtin.With(rules)
}

// runsOn says whether compiled code runs on a device: its kernels are binaries, which run on their
// compute capability and on later ones of its major (CUDA C++ Programming Guide, binary
// compatibility).
func (m *Model) runsOn(d *device.Device) error {
	p := m.Artifact.Program
	if p == nil || p.For == [2]int{} || d.Kind == device.None {
		return nil
	}
	if cc := d.ComputeCapability; cc.Major != p.For[0] || cc.Minor < p.For[1] {
		return fmt.Errorf("%s: got code that was compiled for compute capability %d.%d, want code for %s, which has %s",
			m.Path, p.For[0], p.For[1], d.Name, cc)
	}
	return nil
}

// Lifetimes runs one case of the model and returns the live ranges of the functions that it ran: by
// them values were released. most holds locals that the artifact does not record to their latest
// end, as the upper end of a report does.
func (m *Model) Lifetimes(ctx context.Context, c spec.Case, most bool) (funcs []lifetime.Func, err error) {
	defer caught(m.Path, &err)
	p, err := m.Program()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Path, err)
	}
	if p.Compiled {
		return nil, fmt.Errorf("%s: got compiled code, which frees its buffers itself: memspec dump --stage program shows "+
			"where", m.Path)
	}
	if err := m.Artifact.Answers(string(c.Runtime), string(c.Mode)); err != nil {
		return nil, err
	}
	which := likeliest
	if most {
		which = localsHeld
	}
	err = m.withProgram(&c, func(of *Model) error {
		start, lifetimes := of.watch()
		_, err := m.executeOn(ctx, start, &c, which)
		if err == nil {
			funcs = lifetimes()
		}
		return err
	})
	return funcs, err
}

func (m *Model) watch() (exec.Start, func() []lifetime.Func) {
	if p := m.Artifact.Program; p.Records != program.RecordsModules {
		return torchscript.Watch(p)
	}
	return fx.Watch(m.Artifact.Program, m.seen)
}
