package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// Estimate predicts what one case takes. A run that does not fit its device is a result (Report.OOM), as is an incomplete one.
func Estimate(ctx context.Context, c spec.Case) (*report.Report, error) {
	m, err := Open(c.Artifact)
	if err != nil {
		return nil, err
	}
	return m.Estimate(ctx, c)
}

// Check predicts what one case takes and judges its budgets. The error says why there is nothing to judge.
func Check(ctx context.Context, c spec.Case) (verdict.Verdict, error) {
	r := Judge(ctx, c)
	return r.Verdict, r.Err
}

// A Result is one case with everything that was found out about it.
type Result struct {
	Case    spec.Case
	Report  *report.Report // nil where Err is not
	Verdict verdict.Verdict
	Err     error // why nothing could be judged; the outcome is then Error
}

// Judge is Check with the report beside the verdict.
func Judge(ctx context.Context, c spec.Case) *Result {
	if err := runnable(&c); err != nil {
		return failed(c, err)
	}
	m, err := Open(c.Artifact)
	if err != nil {
		return failed(c, err)
	}
	return m.Judge(ctx, c)
}

func failed(c spec.Case, err error) *Result {
	return &Result{Case: c, Err: plain(err), Verdict: verdict.Verdict{Outcome: verdict.Error}}
}

// A Model is an opened artifact; it may be used by several goroutines.
type Model struct {
	Path    string
	Program *program.Program
}

// Open reads an artifact.
func Open(path string) (m *Model, err error) {
	defer caught(path, &err)
	if path == "" {
		return nil, errors.New("got no artifact, want one: source: alone tells how to build the live model, which memspec itself cannot run")
	}
	p, err := artifact.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	return &Model{Path: path, Program: p}, nil
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

// Judge estimates and judges one case of the model.
func (m *Model) Judge(ctx context.Context, c spec.Case) *Result {
	rep, err := m.Estimate(ctx, c)
	if err != nil {
		return failed(c, err)
	}
	o := verdict.Options{Allow: c.Allow}
	if rep.Quality == report.Bound {
		var refuses *exec.EvalError // the model has no run at that end
		if o.Lower, err = m.estimate(ctx, c, true); err != nil && !errors.As(err, &refuses) {
			return failed(c, fmt.Errorf("at the lower end of data-dependent sizes: %w", err))
		}
	}
	return &Result{Case: c, Report: rep, Verdict: verdict.Judge(rep, c.Budgets, o)}
}

// Estimate predicts what one case of the model takes.
func (m *Model) Estimate(ctx context.Context, c spec.Case) (*report.Report, error) {
	return m.estimate(ctx, c, false)
}

func (m *Model) estimate(ctx context.Context, c spec.Case, lower bool) (r *report.Report, err error) {
	defer caught(m.Path, &err)
	which := likeliest
	if lower {
		which = lowerEnd
	}
	run, err := m.run(ctx, c, which)
	if err != nil {
		return nil, err
	}
	tr := run.Trace
	tl, err := Replay(c, tr)
	if err != nil {
		return nil, err
	}
	src := report.Source{Run: m.describe(c), Platform: &c.Platform, Timeline: tl, Scratch: answered(run.Calls, c.Platform.Answerer()), Ask: askCommand(c.Pos.File)}
	if src.Upper, err = m.upper(ctx, c, tr); err != nil {
		return nil, err
	}
	return report.Build(src), nil
}

// upper is what a case takes at most where its trace has estimates: with every workspace of estimated size at its most, and every local of
// Python's that the artifact does not tell of held to the end of its call. It is nil where nothing is estimated.
func (m *Model) upper(ctx context.Context, c spec.Case, tr *trace.Trace) (*allocator.Peaks, error) {
	if slices.ContainsFunc(tr.Notes, func(n trace.Note) bool { return n.ID == note.LocalsUnknown }) {
		r, err := m.run(ctx, c, localsHeld)
		if err != nil {
			return nil, err
		}
		tr = r.Trace
	} else if len(tr.Upper) == 0 {
		return nil, nil
	}
	a, err := newAllocator(c)
	if err != nil {
		return nil, err
	}
	return allocator.ReplayUpper(tr, a)
}

// Trace runs one case of the model and returns what it allocates and frees.
func (m *Model) Trace(ctx context.Context, c spec.Case) (*trace.Trace, error) {
	r, err := m.run(ctx, c, likeliest)
	if err != nil {
		return nil, err
	}
	return r.Trace, nil
}

// account is which of the accounts of a case a run gives.
type account uint8

const (
	likeliest  account = iota // the prediction
	lowerEnd                  // data-dependent sizes at their lower end
	localsHeld                // locals that the artifact does not tell of held to the end of their calls
)

// run runs one case.
func (m *Model) run(ctx context.Context, c spec.Case, which account) (r *exec.Result, err error) {
	defer caught(m.Path, &err)
	if err := runnable(&c); err != nil {
		return nil, err
	}
	if c.Platform.Scratch == nil && c.Scratch != "" {
		if c.Platform.Scratch, err = profile.Load(c.Scratch); err != nil {
			return nil, plain(err)
		}
	}
	dtype, err := castTo(c.DType)
	if err != nil {
		return nil, err
	}
	inputs, err := execInputs(c.Inputs, dtype)
	if err != nil {
		return nil, err
	}
	o := exec.Options{Inputs: inputs, Liveness: liveness(m.runtime(c)), Platform: &c.Platform, DType: dtype, Lower: which == lowerEnd,
		HoldLocals: which == localsHeld, Assume: assumptions(c.Assume)}
	r, err = exec.Run(ctx, torchscript.New(m.Program), builtin.Table(), o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Path, err)
	}
	return r, nil
}

// Replay takes a trace through the allocator of the case's device.
func Replay(c spec.Case, tr *trace.Trace) (*allocator.Timeline, error) {
	a, err := newAllocator(c)
	if err != nil {
		return nil, err
	}
	return allocator.Replay(tr, a)
}

func newAllocator(c spec.Case) (allocator.Allocator, error) {
	settings, err := allocator.ParseSettings(c.Platform.AllocConf, c.Platform.Torch)
	if err != nil {
		return nil, fmt.Errorf("alloc_conf: %w", err)
	}
	if f := c.Platform.MemoryFraction; f > 0 && f < 1 {
		settings.MemoryFraction = f // set_per_process_memory_fraction: garbage collection goes by it too
	}
	return allocator.New(allocator.Config{Limit: limit(&c.Platform), Total: c.Platform.Device.Memory, Settings: settings})
}

// limit is what all segments together may take: the device's memory less what the context takes, where that is known, and no more than the
// fraction of it that the process allows itself. 0 is no limit.
func limit(p *platform.Platform) units.Bytes {
	most := p.Limit()
	if d := p.Device; d.ContextKnown && d.Memory > d.Context {
		most = min(most, d.Memory-d.Context)
	}
	return most
}

// runnable refuses what a case asks for and the engine cannot do.
func runnable(c *spec.Case) error {
	switch {
	case c.Err != nil:
		return c.Err
	case c.Mode == spec.Training:
		return errors.New("got mode training, want inference: training is not predicted yet")
	case c.Runtime == spec.Export:
		return errors.New("got runtime export, want eager or torchscript: exported programs are not read yet")
	}
	return nil
}

// runtime is how the case runs: as it says, else as its artifact is usually run.
func (m *Model) runtime(c spec.Case) spec.Runtime {
	if c.Runtime == spec.ByArtifact {
		return spec.TorchScript
	}
	return c.Runtime
}

func liveness(r spec.Runtime) exec.Liveness {
	if r == spec.Eager {
		return exec.PythonFrame
	}
	return exec.LastUse
}

func (m *Model) describe(c spec.Case) report.Run {
	inputs := make([]string, len(c.Inputs))
	for i, in := range c.Inputs {
		inputs[i] = in.String()
	}
	mode := c.Mode
	if mode == "" {
		mode = spec.Inference
	}
	return report.Run{Artifact: m.Path, Format: m.Program.Format, Producer: m.Program.Producer, Runtime: string(m.runtime(c)), Mode: string(mode),
		Device: c.Platform.Device.Name, Torch: c.Platform.Torch.String(), AllocConf: c.Platform.AllocConf, Inputs: inputs}
}

// backtrace is the model's own stack where err has one.
func backtrace(err error) string {
	var e *exec.EvalError
	if errors.As(err, &e) {
		return e.Backtrace()
	}
	return ""
}
