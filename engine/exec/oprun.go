package exec

import (
	"context"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Bench runs operators one at a time: what recorded samples are compared with. Tensors among the arguments existed before; their storages
// must have been made by Bench.Storage. The trace holds what the operator allocated and freed, its result being held.
type Bench struct{ m *machine }

// NewBench prepares to run operators on p.
func NewBench(t *ops.Table, p *platform.Platform) *Bench {
	m := newMachine(context.Background(), nil, t, Options{Platform: p, MaxSteps: DefaultMaxSteps, MaxDepth: DefaultMaxDepth})
	return &Bench{m: m}
}

// Tensor makes an argument. A nil storage is a fresh one that holds just the tensor.
func (b *Bench) Tensor(meta tensor.Meta, s *tensor.Storage) *tensor.Tensor {
	if s == nil {
		s = b.m.newStorage(meta.StorageBytes(), meta.Device, tensor.Input)
	}
	b.m.refs[s.ID]++
	return &tensor.Tensor{Meta: meta, Storage: s}
}

// Run resolves name and runs it; events are those since the arguments were made. refused says that no overload takes the arguments.
func (b *Bench) Run(name string, args []any, kw ops.Kw) (result any, events []trace.Event, err error) {
	for _, a := range args {
		b.m.hold(a)
	}
	from := len(b.m.tr.Events)
	bound, full, err := b.m.table.Resolve(name, args, kw)
	if err != nil {
		return nil, nil, err
	}
	v, err := b.m.apply(bound, full)
	return v, b.m.tr.Events[from:], err
}

// Missing lists the operators without a rule that were met.
func (b *Bench) Missing() []trace.Unsupported { return b.m.tr.Coverage.Unsupported }

// Notes lists what was assumed.
func (b *Bench) Notes() []trace.Note { return b.m.tr.Notes }
