package fx

import (
	"fmt"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// associated is associative_scan(graph, xs, others) as PyTorch runs it eagerly
// (torch/_higher_order_ops/associative_scan.py generic_associative_scan): neighbours along the
// first dimension are combined all at once, the half that comes of it is scanned, and the other
// half is combined from that.
func (w *walker) associated(in *inst) (any, error) {
	if len(in.node.Args) < 1 {
		return nil, fmt.Errorf("%s: got no tensors to go over", in.node.Op)
	}
	a := &associator{walker: w, in: in}
	xs := w.members(&in.node.Args[0])
	for i := 1; i < len(in.node.Args); i++ {
		a.others = append(a.others, w.members(&in.node.Args[i])...)
	}
	if want := len(in.blocks[0].src.Params); len(xs) == 0 || 2*len(xs)+len(a.others) != want ||
		len(in.blocks[0].src.Outs) != len(xs) {
		return nil, fmt.Errorf("%s: got %d tensors to go over and %d others, want a graph of two of each, the others, and "+
			"as many results", in.node.Op, len(xs), len(a.others))
	}
	items, err := a.scan(xs)
	if err != nil {
		return nil, err
	}
	return &ops.Tuple{Refs: 1, Items: items}, nil
}

// associator is an associative scan under way.
type associator struct {
	*walker
	in     *inst
	others []any
}

// scan scans a list of tensors; each result is held once.
func (a *associator) scan(elems []any) ([]any, error) {
	for _, v := range elems[1:] { // what is not known stays so
		if _, unknown := v.(ops.Unbacked); unknown {
			continue
		}
		if _, err := a.length(v); err != nil {
			return nil, err
		}
	}
	n, err := a.length(elems[0])
	if err != nil {
		return nil, err
	}
	if n < 2 {
		for _, v := range elems {
			a.Hold(v)
		}
		return elems, nil
	}
	reduced, err := a.combine(part{elems, 0, int64(-1), 2}, part{elems, 1, nil, 2})
	if err != nil {
		return nil, err
	}
	odd, err := a.scan(reduced)
	if err != nil {
		return nil, err
	}
	left := part{odd, 0, nil, 1}
	if n%2 == 0 {
		left.end = int64(-1)
	}
	even, err := a.combine(left, part{elems, 2, nil, 2})
	if err != nil {
		return nil, err
	}
	whole, err := a.withFirst(elems, even)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(elems))
	for i := range out {
		if out[i], err = a.interleave(whole[i], odd[i]); err != nil {
			return nil, err
		}
	}
	for _, list := range [][]any{reduced, odd, whole} { // as its frame releases its names
		a.dropList(list)
	}
	return out, nil
}

// part is a slice of each tensor of a list along the first dimension.
type part struct {
	of    []any
	start int64
	end   any // nil: all
	step  int64
}

// combine runs the graph on two parts.
func (a *associator) combine(left, right part) ([]any, error) {
	if err := a.Step(); err != nil {
		return nil, err
	}
	var args []any
	for _, p := range []part{left, right} {
		for _, x := range p.of {
			v, err := a.do("aten::slice.Tensor", x, int64(0), p.start, p.end, p.step)
			if err != nil {
				return nil, err
			}
			args = append(args, v)
		}
	}
	slices := len(args)
	a.combining = true
	out, err := a.graphOf(a.in, 0, append(args, a.others...))
	a.combining = false
	if err != nil {
		return nil, err
	}
	a.enterSite(a.in)
	for _, v := range args[:slices] {
		a.Drop(v)
	}
	return out.Items, nil
}

// withFirst puts the first of each tensor before what was combined of the others, which is released
// then.
func (a *associator) withFirst(elems, even []any) ([]any, error) {
	out := make([]any, len(elems))
	for i, x := range elems {
		first, err := a.do("aten::slice.Tensor", x, int64(0), int64(0), int64(1), int64(1))
		if err != nil {
			return nil, err
		}
		if t, ok := even[i].(*tensor.Tensor); ok && t.Numel() == 0 {
			out[i] = first
			continue
		}
		if out[i], err = a.do("aten::cat", &ops.List{Elem: schema.Tensor, Items: []any{first, even[i]}},
			int64(0)); err != nil {
			return nil, err
		}
		a.Drop(first)
	}
	a.dropList(even)
	return out, nil
}

// interleave puts the members of two tensors together alternately.
func (a *associator) interleave(even, odd any) (any, error) {
	n, err := a.length(even)
	if err != nil {
		return nil, err
	}
	m, err := a.length(odd)
	if err != nil {
		return nil, err
	}
	longer := n == m+1
	if longer {
		pad := make([]int64, 2*len(odd.(*tensor.Tensor).Sizes))
		pad[len(pad)-1] = 1
		if odd, err = a.do("aten::constant_pad_nd", odd, ops.IntList(pad...)); err != nil {
			return nil, err
		}
	}
	stacked, err := a.do("aten::stack", &ops.List{Elem: schema.Tensor, Items: []any{even, odd}}, int64(1))
	if err != nil {
		return nil, err
	}
	out, err := a.do("aten::flatten.using_ints", stacked, int64(0), int64(1))
	if err != nil {
		return nil, err
	}
	if longer {
		flat := out
		if out, err = a.do("aten::slice.Tensor", flat, int64(0), int64(0), 2*n-1, int64(1)); err != nil {
			return nil, err
		}
		a.Drop(odd)
		a.Drop(flat)
	}
	a.Drop(stacked)
	return out, nil
}

// dropList releases a list as CPython does: the last first.
func (a *associator) dropList(l []any) {
	for i := len(l) - 1; i >= 0; i-- {
		a.Drop(l[i])
	}
}

// length is a tensor's first size.
func (a *associator) length(v any) (int64, error) {
	t, ok := v.(*tensor.Tensor)
	if !ok || len(t.Sizes) == 0 {
		return 0, fmt.Errorf("%s: got %s to go over, want a tensor with a dimension", a.in.node.Op, ops.TypeName(v))
	}
	return t.Sizes[0], nil
}
