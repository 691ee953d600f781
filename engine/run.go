package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// A Run is one case of a model, run and replayed. Whatever a door shows of it is one of these values, each made once.
type Run struct {
	Case     spec.Case // with the workspace profile that was used
	Model    *Model
	Trace    *trace.Trace        // what it allocates and frees
	Timeline *allocator.Timeline // the trace through the allocator of the case's device
	Upper    *allocator.Upper    // of the same run with what is estimated at its most; nil where nothing is
	Calls    []LibraryCall       // what it asks of libraries, each call once, in the order they are first made
	Report   *report.Report      // the account of it
}

// account is one of several that a case may be given.
type account uint8

const (
	likeliest  account = iota // the prediction
	lowerEnd                  // data-dependent sizes at their lower end
	localsHeld                // locals that the artifact does not tell of held to the end of their calls
)

// Run runs one case of the model.
func (m *Model) Run(ctx context.Context, c spec.Case) (*Run, error) { return m.run(ctx, c, likeliest) }

func (m *Model) run(ctx context.Context, c spec.Case, which account) (r *Run, err error) {
	defer caught(m.Path, &err)
	if err := m.Artifact.Answers(string(c.Runtime), string(c.Mode)); err != nil {
		return nil, err
	}
	if err := m.runsOn(&c.Platform.Device); err != nil {
		return nil, err
	}
	if c.Platform.Workspace == nil && c.Workspace != "" {
		if c.Platform.Workspace, err = profile.Load(c.Workspace); err != nil {
			return nil, plain(err)
		}
	}
	made, err := m.execute(ctx, &c, which)
	if err != nil {
		return nil, err
	}
	stale, err := m.staleness(&c)
	if err != nil {
		return nil, err
	}
	made.Trace.Notes = append(made.Trace.Notes, stale...)
	r = &Run{Case: c, Model: m, Trace: made.Trace, Calls: libraryCalls(made.Calls, c.Platform.Answerer())}
	a, err := allocator.On(&c.Platform, r.Trace.Heap)
	if err != nil {
		return nil, err
	}
	if r.Timeline, err = allocator.Replay(r.Trace, a); err != nil {
		return nil, err
	}
	if which == likeliest {
		if r.Upper, err = r.upper(ctx, made.Held, a.Fresh()); err != nil {
			return nil, err
		}
	}
	src := report.Source{Run: r.describe(), Platform: &c.Platform, Timeline: r.Timeline, Upper: r.Upper, Workspace: answered(r.Calls),
		Ask: askCommand(c.Pos.File), Remake: m.settleCommand(&c), Origin: m.origin(&c)}
	if rec := m.Artifact.Recorded; rec != nil {
		src.Unknown = notTold(rec)
		src.Compiled = rec.Header != nil && rec.Header.Compiled
		if rec.Header != nil && !ofProgram(rec) && !tellsWeights(r.Trace) {
			src.Weights = &rec.Header.Weights
		}
	}
	if src.OtherValues, err = r.otherValues(m.Artifact.Recorded, src, a); err != nil {
		return nil, err
	}
	r.Report = report.Build(src)
	return r, nil
}

// upper is what the run takes at most where its trace has estimates: with every workspace of estimated size at its most, and every local of
// Python's that the artifact does not tell of, or that other operators may hold, held to the end of its call. It is nil where nothing is estimated,
// and where nothing tells the most. held is the account with such locals, where the run told it too.
func (r *Run) upper(ctx context.Context, held *trace.Trace, a allocator.Allocator) (*allocator.Upper, error) {
	tr := r.Trace
	if slices.ContainsFunc(tr.Notes, func(n trace.Note) bool { return n.ID == note.WorkspaceUnknown }) {
		return nil, nil // no figure is the most
	}
	if slices.ContainsFunc(tr.Notes, func(n trace.Note) bool { return n.ID == note.LocalsUnknown || n.ID == note.OperatorsDiffer }) {
		if tr = held; tr == nil {
			again, err := r.Model.execute(ctx, &r.Case, localsHeld)
			if err != nil {
				return nil, err
			}
			tr = again.Trace
		}
	} else if len(tr.Upper) == 0 {
		return nil, nil
	}
	return allocator.ReplayUpper(tr, a)
}

// execute runs the model's program abstractly; a run that was recorded is as it is.
func (m *Model) execute(ctx context.Context, c *spec.Case, which account) (*exec.Result, error) {
	if rec := m.Artifact.Recorded; rec != nil {
		tr, err := recorded(rec, c)
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

// withProgram calls f with the model whose program a case runs: of an eager run the one in the sidecar, if there is one and it takes the inputs (it may
// leave fewer sizes open than the artifact).
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
	o := exec.Options{Inputs: inputs, Liveness: liveness(m.runtime(c)), Platform: &c.Platform, DType: dtype, Lower: which == lowerEnd,
		HoldLocals: which == localsHeld, HeldToo: which == likeliest, Assume: assumptions(c.Assume)}
	table, err := tableOf(c)
	if err != nil {
		return nil, err
	}
	r, err := exec.Run(ctx, start, table, o)
	if outside := (*exec.InputError)(nil); err != nil && dtype != tensor.Undefined && m.Artifact.Program.Tells != program.TellsSource && !errors.As(err, &outside) {
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
	case len(m.Artifact.Modes) == 0 && ofProgram(m.Artifact.Recorded):
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

func (r *Run) describe() report.Run {
	c, m := &r.Case, r.Model
	inputs, where := inputTexts(c.Inputs), ""
	if rec := m.Artifact.Recorded; rec != nil && rec.Header != nil {
		inputs, where = rec.Header.Inputs, string(rec.Header.Where)
	}
	return report.Run{Program: ofProgram(m.Artifact.Recorded), Artifact: m.Path, Format: m.Artifact.Format, Producer: m.Artifact.Producer, Where: where, Runtime: string(m.runtime(c)), Mode: string(m.mode(c)),
		Device: c.Platform.Device.Name, Torch: c.Platform.Torch.String(), AllocConf: c.Platform.AllocConf, Inputs: inputs}
}

// inputTexts are inputs in the grammar of --input.
func inputTexts(ins []spec.Input) []string {
	out := make([]string, len(ins))
	for i, in := range ins {
		out[i] = in.String()
	}
	return out
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

// runsOn says whether compiled code runs on a device: its kernels are binaries, which run on their compute capability and on later ones of its major
// (CUDA C++ Programming Guide, binary compatibility).
func (m *Model) runsOn(d *device.Device) error {
	p := m.Artifact.Program
	if p == nil || p.For == [2]int{} || d.Kind == device.None {
		return nil
	}
	if cc := d.ComputeCapability; cc.Major != p.For[0] || cc.Minor < p.For[1] {
		return fmt.Errorf("%s: got code that was compiled for compute capability %d.%d, want code for %s, which has %s", m.Path, p.For[0], p.For[1], d.Name, cc)
	}
	return nil
}
