package aten

import (
	"slices"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Bench runs operators one at a time: what recorded samples are compared with. Tensors among the
// arguments existed before.
type Bench struct {
	table *ops.Table
	d     *exec.Dispatch
}

// NewBench prepares to run operators on p.
func NewBench(t *ops.Table, p *platform.Platform) *Bench {
	return newBench(t, exec.Options{Platform: p})
}

// newLowerBench has sizes that depend on tensor data at the lower bound, as where all data is zero.
func newLowerBench(t *ops.Table, p *platform.Platform) *Bench {
	return newBench(t, exec.Options{Platform: p, Lower: true})
}

func newBench(t *ops.Table, o exec.Options) *Bench {
	return &Bench{table: t, d: exec.NewDispatch(t, o)}
}

// Tensor makes an argument. A nil storage is a fresh one that holds just the tensor.
func (b *Bench) Tensor(meta tensor.Meta, s *tensor.Storage) *tensor.Tensor {
	if s == nil {
		s = b.d.NewStorage(meta.StorageBytes(), meta.Device, tensor.Input)
	}
	t := b.d.TensorOn(s, meta)
	b.d.Hold(t)
	return t
}

// Run resolves name and runs it; events are those since the arguments were made, the result being
// held. An *ops.NoOverloadError says that no overload takes the arguments.
func (b *Bench) Run(name string, args []any, kw ops.Kw) (result any, events []trace.Event, err error) {
	for _, a := range args {
		b.d.Hold(a)
	}
	from := len(b.d.Events())
	bound, full, err := b.table.Resolve(name, args, kw)
	if err != nil {
		return nil, nil, err
	}
	v, err := b.d.Apply(bound, full)
	return v, b.d.Events()[from:], err
}

// Upper lists the storages whose size is an estimate, with the most that they may take.
func (b *Bench) Upper() []trace.Estimate { return b.d.Trace().Upper }

// Missing lists the operators without a rule that were met.
func (b *Bench) Missing() []trace.Unsupported { return b.d.Trace().Coverage.Unsupported }

// Notes lists what was assumed.
func (b *Bench) Notes() []trace.Note { return b.d.Trace().Notes }

// doubted says whether the account is no exact one.
func (b *Bench) doubted() bool {
	return slices.ContainsFunc(b.Notes(), func(n trace.Note) bool {
		return n.ID == note.WorkspaceUnknown || n.ID == note.WorkspaceEstimate || n.ID == note.ShapeBound
	})
}
