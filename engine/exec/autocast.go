package exec

import (
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// casts is the state of autocast. It casts the arguments of an operator before the operator is
// dispatched, the outermost first: inside one that it has seen to nothing more is cast.
type casts struct {
	to       string // the dtype, "" where autocast is off
	depth    int    // of regions of the program's own
	inside   bool
	byTensor map[*tensor.Tensor]*tensor.Tensor // of parameters, kept to the end of the pass
	order    []*tensor.Tensor
}

// applyCast runs an overload on arguments that autocast has changed.
func (d *Dispatch) applyCast(b *ops.Bound, cast, args []any, mark int) (any, error) {
	d.casts.inside = true
	v, err := d.run(b, cast)
	d.casts.inside = false
	if err == nil {
		v, err = d.castBack(b, args, v, mark)
	}
	d.dropTemps(mark)
	return v, err
}

// autocast casts an operator's arguments, or chooses another overload. out is nil where autocast
// leaves the operator alone.
func (d *Dispatch) autocast(b *ops.Bound, args []any) (to *ops.Bound, out []any, err error) {
	p := castPolicyOf(b.Schema.Name, b.Schema.Overload)
	if p == 0 {
		return b, nil, nil
	}
	lower, err := tensor.ParseDType(d.casts.to)
	if err != nil {
		return nil, nil, err
	}
	switch p {
	case castDType:
		return b, d.autocastDType(b, args), nil
	case castNorm:
		to, out = d.autocastNorm(b, args)
		return to, out, nil
	case castRefused:
		return nil, nil, fmt.Errorf("%s is refused under autocast: PyTorch calls it unsafe", b.Schema.Name)
	case castRNN:
		out, err = d.autocastRNN(b, args, lower)
	case castWidest:
		var wide tensor.DType
		if wide, err = widest(b, args, lower); err == nil {
			out, err = d.castAll(args, wide, lower)
		}
	case castFloat:
		out, err = d.castAll(args, tensor.Float32, lower)
	case castVision:
		out, err = d.castInOrder(args, lower)
	default:
		out, err = d.castAll(args, lower, lower)
	}
	return b, out, err
}

// castAll casts every argument. The casts are arguments of one C++ call, which compilers may
// evaluate in any order; GCC, which builds PyTorch for Linux, begins with the last.
func (d *Dispatch) castAll(args []any, to, lower tensor.DType) (out []any, err error) {
	out = make([]any, len(args))
	for i := len(args) - 1; i >= 0; i-- {
		if out[i], err = d.castArg(args[i], to, lower); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// autocastNorm is the overload with a dtype, for those that have none.
func (d *Dispatch) autocastNorm(b *ops.Bound, args []any) (*ops.Bound, []any) {
	overload := map[string]string{"Scalar": "ScalarOpt_dtype",
		"ScalarOpt_dim": "ScalarOpt_dim_dtype"}[b.Schema.Overload]
	to, ok := d.table.Lookup("aten::norm." + overload)
	if !ok || !eligible(args[0].(*tensor.Tensor)) {
		return b, args
	}
	return to, append(slices.Clone(args), int64(tensor.Float32))
}

// autocastRNN copies the weights into one buffer of float16 and casts input and states to float16,
// whatever autocast's own dtype is. The dtype of the buffer that they lie in already decides, where
// it is given, else that of the first (aten/src/ATen/cudnn/AutocastRNN.cpp).
func (d *Dispatch) autocastRNN(b *ops.Bound, args []any, lower tensor.DType) (out []any, err error) {
	out = slices.Clone(args)
	weights := ops.Members(args[b.Schema.ArgIndex("weight")])
	buffer := b.Schema.ArgIndex("weight_buf")
	flat, _ := args[buffer].(*tensor.Tensor)
	if flat == nil && len(weights) > 0 {
		flat, _ = weights[0].(*tensor.Tensor)
	}
	if flat != nil && eligible(flat) && flat.DType != tensor.Float16 {
		n := int64(0)
		for _, v := range weights {
			if t, ok := v.(*tensor.Tensor); ok {
				n += t.Numel()
			}
		}
		if out[buffer], err = d.temporary("aten::empty.memory_format", ops.NewList(schema.Int, n),
			int64(tensor.Float16), nil, Accelerator, nil, nil); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"cx", "hx", "input"} {
		i := b.Schema.ArgIndex(name)
		if out[i], err = d.castArg(args[i], tensor.Float16, lower); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// autocastDType sets the dtype argument where it is None and the first tensor is one that autocast
// looks at.
func (d *Dispatch) autocastDType(b *ops.Bound, args []any) []any {
	t, ok := args[0].(*tensor.Tensor) // aten::sum.int adds up a list
	if !ok || !eligible(t) {
		return args
	}
	i := b.Schema.ArgIndex("dtype")
	if args[i] != nil {
		return args
	}
	out := slices.Clone(args)
	out[i] = int64(tensor.Float32)
	return out
}

// eligible tensors are the Accelerator's, of a floating type other than float64.
func eligible(t *tensor.Tensor) bool {
	return t.Device == Accelerator && t.DType.Floating() && t.DType != tensor.Float64
}

// widest is the type that castWidest goes to; a floating type that is neither of the two is
// refused, as autocast_mode.h's prioritize does.
func widest(b *ops.Bound, args []any, lower tensor.DType) (tensor.DType, error) {
	w := lower
	for _, v := range args {
		t, ok := v.(*tensor.Tensor)
		switch {
		case !ok || !eligible(t) || t.DType == lower:
		case t.DType == tensor.Float32:
			w = tensor.Float32
		default:
			return w, fmt.Errorf("%s: got %s under autocast to %s, want float32 or %[3]s", b.Schema.Name, t.DType,
				lower)
		}
	}
	return w, nil
}

// castInOrder casts the arguments of torchvision's operators to float32: these wrappers begin with
// the first.
func (d *Dispatch) castInOrder(args []any, lower tensor.DType) (out []any, err error) {
	out = make([]any, len(args))
	for i, v := range args {
		if out[i], err = d.castArg(v, tensor.Float32, lower); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// castArg casts one argument. Parameters that require a gradient are cast once and kept to the end
// of the pass; all else for the call, views of parameters too (aten/src/ATen/autocast_mode.cpp
// cached_cast).
func (d *Dispatch) castArg(v any, to, lower tensor.DType) (any, error) {
	switch t := v.(type) {
	case *tensor.Tensor:
		if !eligible(t) || t.DType == to {
			return v, nil
		}
		cached := to == lower && t.DType == tensor.Float32 && t.RequiresGrad &&
			t.Storage.Category == tensor.Parameter && !t.View
		if c := d.casts.byTensor[t]; cached && c != nil {
			return c, nil
		}
		if !cached {
			return d.temporary("aten::to.dtype", t, int64(to))
		}
		c, err := d.made("aten::to.dtype", t, int64(to))
		if err != nil {
			return nil, err
		}
		// as the parameter does, also under no_grad: python -m oracle.part torchvision vit_b_32 t4
		// 4 autocast script eager
		c.RequiresGrad = true
		if d.casts.byTensor == nil {
			d.casts.byTensor = map[*tensor.Tensor]*tensor.Tensor{}
		}
		d.casts.byTensor[t] = c
		d.casts.order = append(d.casts.order, c)
		return c, nil
	case *ops.List:
		out := &ops.List{Elem: t.Elem, Items: make([]any, len(t.Items))}
		for i, item := range t.Items {
			c, err := d.castArg(item, to, lower)
			if err != nil {
				return nil, err
			}
			out.Items[i] = c
		}
		return out, nil
	}
	return v, nil
}

// castBack gives all results of a torchvision operator the dtype that its first argument had,
// places of maxima too, and releases the casts before and of the results after, both from the first
// on. nms gives positions and leaves them.
func (d *Dispatch) castBack(b *ops.Bound, args []any, v any, mark int) (any, error) {
	if castPolicies()[b.Schema.Name] != castVision {
		return v, nil
	}
	slices.Reverse(d.temps[mark:])
	d.dropTemps(mark)
	if b.Schema.Name == "torchvision::nms" {
		return v, nil
	}
	first := args[0].(*tensor.Tensor)
	results := []any{v}
	if tuple, ok := v.(*ops.Tuple); ok {
		results = tuple.Items
	}
	var wide []*tensor.Tensor
	for i, item := range results {
		t, ok := item.(*tensor.Tensor)
		if !ok {
			continue
		}
		c, err := d.made("aten::to.dtype", t, int64(first.DType))
		if err != nil {
			return nil, err
		}
		results[i] = c
		wide = append(wide, t)
	}
	for _, t := range wide {
		d.Drop(t)
	}
	if _, ok := v.(*ops.Tuple); ok {
		return v, nil
	}
	return results[0], nil
}

// temporary is a tensor that an operator makes, held to the end of the one that is about to run.
func (d *Dispatch) temporary(op string, args ...any) (any, error) {
	t, err := d.made(op, args...)
	if err != nil {
		return nil, err
	}
	d.temps = append(d.temps, t)
	return t, nil
}

// made is the tensor that an operator makes; arguments left out take their defaults.
func (d *Dispatch) made(op string, args ...any) (*tensor.Tensor, error) {
	b, ok := d.table.Lookup(op)
	if !ok {
		return nil, &ops.MissingError{Op: op}
	}
	full, err := b.Fill(args)
	if err != nil {
		return nil, err
	}
	r, err := d.Apply(b, full)
	if err != nil {
		return nil, err
	}
	t, ok := r.(*tensor.Tensor)
	if !ok {
		return nil, fmt.Errorf("internal error: got %s from %s", ops.TypeName(r), op)
	}
	return t, nil
}

// leaveAutocast releases the cached casts, as the outermost autocast context does.
func (d *Dispatch) leaveAutocast() {
	for _, c := range d.casts.order {
		d.Drop(c)
	}
	d.casts = casts{to: d.casts.to, depth: d.casts.depth}
}

// Autocast runs a region of the program under autocast to a dtype, or under none where that is "".
// Leaving the outermost region releases the cached casts (torch/amp/autocast_mode.py __exit__); one
// around the whole pass is the machine's.
func (d *Dispatch) Autocast(to string, region func() error) error {
	was := d.casts.to
	d.casts.to = to
	d.casts.depth++
	err := region()
	d.casts.depth--
	d.casts.to = was
	if d.casts.depth == 0 && d.platform.Autocast == "" {
		d.leaveAutocast()
	}
	return err
}
