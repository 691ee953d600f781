package exec

import (
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// results builds what an operator returns. Its results get their storages, fresh, of an argument or
// the argument itself, as the schema's alias annotations say. Those that are made already are taken
// from made, which may be nil.
func (d *Dispatch) results(c *ops.Call, metas []tensor.Meta, made []*tensor.Tensor) (any, error) {
	copies := c.Rule.Copies != nil && c.Rule.Copies(c)
	if len(c.Results) == 1 && !c.Results[0].List {
		if len(metas) != 1 {
			return nil, fmt.Errorf("internal error: %s: got %d results, want 1", c.Schema.Key(), len(metas))
		}
		if made != nil && made[0] != nil {
			return made[0], nil
		}
		t, err := d.result(c, c.Results[0], &metas[0], copies)
		if err != nil || t == nil {
			return nil, err
		}
		return t, nil
	}
	out := make([]any, 0, len(c.Results))
	var ints []int64
	if c.Rule.Ints != nil {
		ints = c.Rule.Ints(c)
	}
	next := 0
	for i, r := range c.Results {
		if c.Schema.Returns[i].Type.Kind == schema.Int && len(ints) > 0 {
			out, ints = append(out, ints[0]), ints[1:]
			continue
		}
		n := 1
		var items []any
		if r.List {
			n = max(len(metas)-next, 0)
		}
		for range n {
			if next >= len(metas) {
				return nil, fmt.Errorf("internal error: %s: got %d results, want %d", c.Schema.Key(), len(metas),
					len(c.Results))
			}
			var t *tensor.Tensor
			var err error
			if made != nil && made[next] != nil {
				t = made[next]
			} else if t, err = d.result(c, r, &metas[next], copies); err != nil {
				return nil, err
			}
			next++
			var v any
			if t != nil {
				v = t
			}
			if r.List {
				items = append(items, v)
			} else {
				out = append(out, v)
			}
		}
		if r.List {
			out = append(out, &ops.List{Items: items, Elem: schema.Tensor, Refs: 1})
		}
	}
	switch len(c.Results) {
	case 0:
		return nil, nil
	case 1:
		return out[0], nil
	}
	return &ops.Tuple{Items: out, Refs: 1, Struct: c.Schema.Returns[0].Name != ""}, nil
}

// result is one returned tensor, held once; nil for an undefined one.
func (d *Dispatch) result(c *ops.Call, r ops.Result, meta *tensor.Meta, copies bool) (*tensor.Tensor, error) {
	if meta.DType == tensor.Undefined {
		return nil, nil
	}
	var base *tensor.Tensor
	if r.Mode != ops.Fresh && !(copies && r.Mode == ops.View) {
		base, _ = c.Args[r.Arg].(*tensor.Tensor)
	}
	d.coverage.TensorOutputs++
	if meta.DType.Valid() {
		d.coverage.KnownDType++
		if !d.byData {
			d.coverage.Sized++
		}
	}
	switch {
	case base == nil:
		t, err := d.NewTensor(*meta, tensor.Activation)
		if err != nil {
			return nil, c.Errorf("%v", err)
		}
		t.Data = d.value(c, t)
		d.values.add(t)
		return t, nil
	case r.Mode == ops.InPlace:
		if err := d.write(c, base, meta); err != nil {
			return nil, err
		}
		d.Hold(base)
		return base, nil
	case sameMeta(&base.Meta, meta) && c.Rule.Copies != nil:
		d.Hold(base)
		return base, nil
	}
	if err := meta.Check(); err != nil {
		return nil, c.Errorf("%v", err)
	}
	t := d.TensorOn(base.Storage, *meta)
	t.View = true
	t.Data = d.value(c, t)
	d.values.add(t)
	d.Hold(t)
	return t, nil
}

// write makes an argument that is written in place what it is afterwards.
func (d *Dispatch) write(c *ops.Call, t *tensor.Tensor, meta *tensor.Meta) error {
	if !sameMeta(&t.Meta, meta) {
		if err := d.remeta(t, meta); err != nil {
			return c.Errorf("%v", err)
		}
	}
	data := d.value(c, t) // from the values before the write
	d.forget(t)
	t.Data = data
	d.values.add(t)
	return nil
}

// remeta gives a tensor that is written in place other sizes, strides or dtype. A storage that is
// too small for them grows (resize_).
func (d *Dispatch) remeta(t *tensor.Tensor, meta *tensor.Meta) error {
	if err := meta.Check(); err != nil {
		return err
	}
	d.changes.write(t.Storage)
	t.Meta = *meta
	if need := meta.StorageBytes(); need > t.Storage.NBytes && t.Storage.ID >= 0 {
		d.grow(t.Storage, need)
	}
	return nil
}

func sameMeta(a, b *tensor.Meta) bool {
	return a.DType == b.DType && a.StorageOffset == b.StorageOffset && a.Device == b.Device &&
		slices.Equal(a.Sizes, b.Sizes) && slices.Equal(a.Strides, b.Strides)
}

// ApplyInto runs an operator that writes its result into out, which is resized where it does not
// fit: a kernel writes there and allocates nothing; what is made of other operators copies.
func (d *Dispatch) ApplyInto(b *ops.Bound, args []any, out *tensor.Tensor) (any, error) {
	if b.Rule.Out == nil || len(b.Results) != 1 || b.Results[0].List || AnyUnknown(args) {
		v, err := d.Apply(b, args)
		if err != nil {
			return nil, err
		}
		d.Drop(v)
		d.Hold(out)
		return out, nil
	}
	c := &ops.Call{Bound: b, Args: args, M: d}
	metas, err := b.Rule.Out(c)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(metas[0].Sizes, out.Sizes) {
		meta := metas[0]
		meta.DType = out.DType
		if err := d.remeta(out, &meta); err != nil {
			return nil, c.Errorf("%v", err)
		}
	}
	d.forget(out)
	d.Hold(out)
	return out, nil
}
