package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/exec/recorded"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// A Run is one case of a model, run and replayed. Whatever is shown of it is one of these values,
// each made once.
type Run struct {
	Case     spec.Case // with the workspace profile that was used
	Model    *Model
	Trace    *trace.Trace        // what it allocates and frees; nil of an engine's start
	Timeline *allocator.Timeline // the trace through the allocator of the case's device; nil of an engine's start
	Upper    *allocator.Upper    // of the same run with the upper bounds of what is estimated; nil where nothing is
	// of libraries that decide on their own workspace, each once, in the order they are first made
	Calls  []LibraryCall
	Report *report.Report

	origin []trace.Note // on what the artifact was made from
}

// Run runs one case of the model. Whatever is read from files is read before the run begins.
func (m *Model) Run(ctx context.Context, c spec.Case) (r *Run, err error) {
	defer caught(m.Path, &err)
	if m.Artifact.Served != nil {
		notes, err := m.Origin.Notes(&c)
		if err != nil {
			return nil, err
		}
		return m.served(c, notes)
	}
	if c.Program.Serves() {
		return nil, fmt.Errorf("%s: got %s, want the recorded start of an engine", m.Path, m.Artifact.Format)
	}
	if c, err = m.asRecorded(c); err != nil {
		return nil, err
	}
	if err := m.Artifact.Answers(string(c.Runtime), string(c.Mode)); err != nil {
		return nil, err
	}
	if err := m.runsOn(&c.Platform.Device); err != nil {
		return nil, err
	}
	if err := m.opener.useProfile(&c); err != nil {
		return nil, err
	}
	notes, err := m.Origin.Notes(&c)
	if err != nil {
		return nil, err
	}
	return m.run(ctx, c, likeliest, notes)
}

// asRecorded is the case as a recorded run answers it: where the case does not state a mode, the
// recording's own counts; of a program also the allocator's settings, which are part of how it
// runs.
func (m *Model) asRecorded(c spec.Case) (spec.Case, error) {
	if recorded.OfProgram(m.Artifact.Recorded) &&
		(c.Platform.AllocConf == "" && !(c.FromFile() && c.States("alloc_conf"))) {
		c.Platform.AllocConf = m.Artifact.Recorded.Header.AllocConf
	}
	if m.Artifact.Recorded == nil || len(m.Artifact.Modes) == 0 || c.States("mode") && c.Mode != "" {
		return c, nil
	}
	return c.InMode(spec.Mode(m.Artifact.Modes[0]))
}

// checkValues runs a recorded program again with other values; "" where nothing records how it was
// run, or that was not a program.
func (m *Model) checkValues() string {
	if !recorded.OfProgram(m.Artifact.Recorded) {
		return ""
	}
	return m.Origin.CheckValues()
}

// useProfile reads the workspace profile that a case names, and puts the answers of o behind it.
func (o *Opener) useProfile(c *spec.Case) (err error) {
	if path := c.Workspace; c.Platform.Workspace == nil && path != "" {
		c.Platform.Workspace, err = o.profiles.Get(path, func() (*profile.Profile, error) { return profile.Load(path) })
		if err != nil {
			return regular.Plain(err)
		}
	}
	if o.Answers != nil {
		c.Platform.Workspace = c.Platform.Workspace.Before(o.Answers)
	}
	return nil
}

// run executes a case and replays what it allocates.
func (m *Model) run(ctx context.Context, c spec.Case, which account, origin []trace.Note) (*Run, error) {
	made, err := m.execute(ctx, &c, which)
	if err != nil {
		return nil, err
	}
	made.Trace.Notes = append(made.Trace.Notes, origin...)
	r := &Run{Case: c, Model: m, Trace: made.Trace, Calls: libraryCalls(made.Calls, c.Platform.Answerer()), origin: origin}
	a, err := allocator.On(&c.Platform, r.Trace.Heap)
	if err != nil {
		return nil, err
	}
	if r.Timeline, err = allocator.Replay(r.Trace, a); err != nil {
		return nil, err
	}
	if which == likeliest {
		if r.Upper, err = r.upper(ctx, a.Fresh()); err != nil {
			return nil, err
		}
	}
	src := r.source()
	if src.OtherValues, err = r.otherValues(src, a); err != nil {
		return nil, err
	}
	r.Report = report.Build(src)
	return r, nil
}

// upper is the upper bound of a run whose trace has estimates: with every workspace of estimated
// size at its upper bound, and every local of Python's that the artifact does not record, or that
// other operators may hold, held to the end of its call. It is nil where nothing is estimated, and
// where there is no upper bound.
func (r *Run) upper(ctx context.Context, a allocator.Allocator) (*allocator.Upper, error) {
	tr := r.Trace
	if slices.ContainsFunc(tr.Notes, func(n trace.Note) bool { return n.ID == note.WorkspaceUnknown }) {
		return nil, nil // no figure is the most
	}
	if slices.ContainsFunc(tr.Notes, func(n trace.Note) bool {
		return n.ID == note.LocalsUnknown || n.ID == note.OperatorsDiffer
	}) {
		again, err := r.Model.execute(ctx, &r.Case, localsHeld)
		if err != nil {
			return nil, err
		}
		tr = again.Trace
	} else if len(tr.Upper) == 0 {
		return nil, nil
	}
	return allocator.ReplayUpper(tr, a)
}

// source is what the run's report is built of.
func (r *Run) source() report.Source {
	c, m := &r.Case, r.Model
	src := report.Source{Run: r.describe(), Platform: &c.Platform, Timeline: r.Timeline, Upper: r.Upper,
		Workspace: answered(r.Calls),
		Ask:       askCommand(c.Pos.File), Remake: m.Origin.SettleCommand(c), Record: m.Origin.RecordingOf(c),
		CheckValues: m.checkValues(), Origin: m.Origin.Unknown(c)}
	if rec := m.Artifact.Recorded; rec != nil {
		src.Unknown = recorded.Unknown(rec)
		src.Compiled = rec.Header != nil && rec.Header.Compiled
		if h := rec.Header; h != nil && h.NCCL != nil {
			src.NCCL = &report.NCCL{Low: h.NCCL.Low, High: h.NCCL.High, Communicators: h.NCCL.Communicators}
		}
		if rec.Header != nil {
			src.HostPinned = rec.Header.HostPinned
		}
		if rec.Header != nil && !recorded.OfProgram(rec) && !recorded.RecordsWeights(r.Trace) {
			src.Weights = &rec.Header.Weights
		}
	}
	return src
}

// otherValues replays the recorded runs with other values that take otherwise, each on an allocator
// of its case. src is the source of the run's report.
func (r *Run) otherValues(src report.Source, a allocator.Allocator) ([]report.OtherValues, error) {
	rec := r.Model.Artifact.Recorded
	if rec == nil {
		return nil, nil
	}
	var out []report.OtherValues
	for _, other := range rec.Others {
		tr := *other.Trace
		if other.OOM != nil {
			tr.Coverage.Unsupported = []trace.Unsupported{{Reason: trace.CutShort, Detail: other.OOM.Pass, Count: 1}}
		}
		var err error
		if src.Timeline, err = allocator.Replay(&tr, a.Fresh()); err != nil {
			return nil, err
		}
		out = append(out, report.Build(src).WithValues(other.Values))
	}
	return out, nil
}

func (r *Run) describe() report.Run {
	c, m := &r.Case, r.Model
	inputs, where := spec.InputTexts(c.Inputs), ""
	if rec := m.Artifact.Recorded; rec != nil && rec.Header != nil {
		inputs, where = rec.Header.Inputs, string(rec.Header.Where)
	}
	return report.Run{Program: recorded.OfProgram(m.Artifact.Recorded), Artifact: m.Path, Format: m.Artifact.Format,
		Producer: m.Artifact.Producer, Where: where, Runtime: string(m.runtime(c)), Mode: string(m.mode(c)),
		Device: c.Platform.Device.Name, Torch: c.Platform.Torch.String(), AllocConf: c.Platform.AllocConf, Inputs: inputs}
}
