package fx

import (
	"fmt"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// scan is scan(graph, carried, xs, others) as PyTorch runs it eagerly
// (torch/_higher_order_ops/scan.py generic_scan): the graph on what is carried and each part of xs
// along the first dimension, from a copy of the first; what it gives beside what is carried is
// written into results for all parts.
func (w *walker) scan(in *inst) (any, error) {
	all, err := w.operands(in, 0, 0)
	if err != nil {
		return nil, err
	}
	if len(in.node.Args) < 2 {
		return nil, fmt.Errorf("%s: got no lists of what is carried and gone over", in.node.Op)
	}
	n, xs := len(w.members(&in.node.Args[0])), w.members(&in.node.Args[1])
	if len(xs) == 0 || n > len(in.blocks[0].src.Outs) {
		return nil, fmt.Errorf("%s: got no tensors to go over", in.node.Op)
	}
	first, ok := xs[0].(*tensor.Tensor)
	if !ok || len(first.Sizes) == 0 {
		return nil, fmt.Errorf("%s: got something else than tensors with a dimension to go over", in.node.Op)
	}
	s := &scanner{walker: w, in: in, all: all, carried: n, xs: xs}
	rounds := first.Sizes[0]
	if rounds == 0 {
		return w.missing(in)
	}
	for s.round = range rounds {
		if err := w.Step(); err != nil {
			return nil, err
		}
		if err := s.next(rounds); err != nil {
			return nil, err
		}
		w.enterSite(in)
	}
	return s.result(), nil
}

// scanner is a scan under way: what its function's names hold.
type scanner struct {
	*walker
	in      *inst
	all     []any // operands: what was carried first, xs, others
	carried int
	xs      []any
	round   int64

	last       *ops.Tuple // of the latest round: what is carried, and its results
	firstRound *ops.Tuple // its results are held to the end
	copies     []any      // of the first parts
	outs       []any      // the results for all parts
	indices    []any
}

// next runs a round and stores its results.
func (s *scanner) next(rounds int64) error {
	args := append([]any(nil), s.all...)
	if s.last != nil {
		copy(args, s.last.Items[:s.carried])
	}
	for i, x := range s.xs {
		op := "aten::select.int"
		if s.round == 0 {
			op = "aten::select_copy.int"
		}
		part, err := s.do(op, x, int64(0), s.round)
		if err != nil {
			return err
		}
		args[s.carried+i] = part
		if s.round == 0 {
			s.copies = append(s.copies, part)
		} else {
			defer s.Drop(part)
		}
	}
	out, err := s.graphOf(s.in, 0, args)
	if err != nil {
		return err
	}
	s.enterSite(s.in)
	if s.round == 0 {
		s.firstRound = &ops.Tuple{Refs: 1, Items: out.Items[s.carried:]}
		for _, v := range s.firstRound.Items {
			s.Hold(v)
		}
		if err := s.prepare(rounds); err != nil {
			return err
		}
	}
	if s.last != nil { // two names bound anew, what is carried first
		for _, v := range s.last.Items {
			s.Drop(v)
		}
	}
	s.last = out
	for i, v := range out.Items[s.carried:] {
		if err := s.store(i, v); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the results for all parts, and the indices by which a round is written into them.
func (s *scanner) prepare(rounds int64) error {
	for _, v := range s.firstRound.Items {
		t, ok := v.(*tensor.Tensor)
		if !ok {
			return fmt.Errorf("%s: got %s from its graph, want a tensor", s.in.node.Op, ops.TypeName(v))
		}
		sizes := append([]int64{rounds}, t.Sizes...)
		out, err := s.NewTensor(contiguous(t.DType, sizes, t.Device), tensor.Activation)
		if err != nil {
			return err
		}
		s.outs = append(s.outs, out)
	}
	for _, v := range s.firstRound.Items {
		t := v.(*tensor.Tensor)
		index, err := s.NewTensor(contiguous(tensor.Int64, append([]int64{1}, t.Sizes...), t.Device), tensor.Activation)
		if err != nil {
			return err
		}
		s.indices = append(s.indices, index)
	}
	return nil
}

// store writes result i of a round.
func (s *scanner) store(i int, v any) error {
	at, err := s.do("aten::mul.Tensor", s.indices[i], s.round)
	if err != nil {
		return err
	}
	defer s.Drop(at)
	row, err := s.do("aten::unsqueeze", v, int64(0))
	if err != nil {
		return err
	}
	defer s.Drop(row)
	out, err := s.do("aten::scatter_.src", s.outs[i], int64(0), at, row)
	if err == nil {
		s.Drop(out)
	}
	return err
}

// result is what the scan gives; its function releases the rest.
func (s *scanner) result() *ops.Tuple {
	out := &ops.Tuple{Refs: 1}
	for _, v := range s.last.Items[:s.carried] {
		s.Hold(v)
		out.Items = append(out.Items, v)
	}
	out.Items = append(out.Items, s.outs...)
	for _, v := range s.copies {
		s.Drop(v)
	}
	s.Drop(s.firstRound)
	s.Drop(s.last)
	for _, v := range s.indices {
		s.Drop(v)
	}
	return out
}

func contiguous(d tensor.DType, sizes []int64, device string) tensor.Meta {
	return tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: device}
}
