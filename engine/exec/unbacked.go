package exec

import (
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/trace"
)

// Numbers that are read off tensor data are unknown. Where one decides neither a size nor a dtype,
// a number of its kind is its hint; where it is a size, an end of its range is taken; else what
// follows is unknown too, and the account incomplete.

// fillUnbacked gives an operator's arguments with known numbers for unknown ones; assumed says that
// some were replaced. Where a number may decide something ok is false, and what an operator would
// have made of it is recorded as unsupported.
func (d *Dispatch) fillUnbacked(b *ops.Bound, args []any) (known []any, assumed, ok bool) {
	if d.Incomplete() {
		return nil, false, false // numbers may be unknown for want of a rule
	}
	hints := ops.Hints{Bound: d.Bound}
	known, ok = hints.Fill(b, args)
	if !ok {
		if ops.MakesTensor(b, args) {
			d.Unsupported(b.Schema.Key(), trace.ReadsData)
		}
		return nil, false, false
	}
	if hints.Why != "" {
		d.Note(note.Note{ID: hints.Why})
	}
	return known, hints.Why != "", true
}

// Bound chooses a number in the range of a size that depends on tensor data: what the case states
// of its place, else an end of the range.
func (d *Dispatch) Bound(u ops.Unbacked) int64 {
	if n, ok := d.Assumed(); ok {
		return min(max(n, u.Min), u.Max)
	}
	d.bounded, d.byData = true, true
	d.Note(note.Note{ID: note.ShapeBound})
	if d.lower {
		return max(u.Min, 0)
	}
	return u.Max
}

// Lower says whether the run takes data-dependent sizes at their lower end.
func (d *Dispatch) Lower() bool { return d.lower }

// AnyUnknown says whether an argument, or a member of a list, is not known.
func AnyUnknown(args []any) bool {
	for _, v := range args {
		switch v := v.(type) {
		case ops.Unbacked:
			return true
		case *ops.List:
			if AnyUnknown(v.Items) {
				return true
			}
		}
	}
	return false
}

// unknownResult has the form of b's returns. The tensors among them count as neither known nor
// sized.
func (d *Dispatch) unknownResult(b *ops.Bound) any {
	for i := range b.Schema.Returns {
		if b.Schema.Returns[i].Type.Kind == schema.Tensor {
			d.UnknownTensor()
		}
	}
	if len(b.Schema.Returns) == 0 {
		return ops.NewUnbacked(b.Schema.Key(), schema.Any)
	}
	items := make([]any, len(b.Schema.Returns))
	for i := range items {
		items[i] = ops.NewUnbacked(b.Schema.Key(), ops.KindOf(b.Schema.Returns[i].Type))
	}
	if len(items) == 1 {
		return items[0]
	}
	return &ops.Tuple{Items: items, Refs: 1}
}
