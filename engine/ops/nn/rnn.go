package nn

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Recurrent layers step by step, as PyTorch runs them where cuDNN does not: on the host, and on
// fake tensors.

// RNNMode is at::native's mode, numbered as cudnnRNNMode_t.
type RNNMode int64

const (
	reluMode RNNMode = 0
	tanhMode RNNMode = 1
	LSTM     RNNMode = 2
	GRU      RNNMode = 3
)

// cellParams are the weights of one direction of one layer.
type cellParams struct{ ih, hh, biasIH, biasHH, hr *tensor.Tensor }

// hidden is a state: c is the cell's, of an LSTM only.
type hidden struct{ h, c *tensor.Tensor }

func cells(c *ops.Call, proj bool) ([]cellParams, error) {
	ts := c.Tensors("params")
	n := 2
	if c.Bool("has_biases") {
		n += 2
	}
	if proj {
		n++
	}
	if len(ts)%n != 0 {
		return nil, c.Errorf("got %d parameters, want a multiple of %d", len(ts), n)
	}
	var out []cellParams
	for ; len(ts) > 0; ts = ts[n:] {
		p := cellParams{ih: ts[0], hh: ts[1]}
		if c.Bool("has_biases") {
			p.biasIH, p.biasHH = ts[2], ts[3]
		}
		if proj {
			p.hr = ts[n-1]
		}
		out = append(out, p)
	}
	return out, nil
}

// step is one cell. Only its new state stays.
func step(c *ops.Call, mode RNNMode, x *tensor.Tensor, s hidden, p *cellParams) hidden {
	if mode == tanhMode || mode == reluMode {
		hh := c.Do("aten::linear", s.h, p.hh, ops.OrNone(p.biasHH))
		ih := c.Do("aten::linear", x, p.ih, ops.OrNone(p.biasIH))
		sum := c.Do("aten::add_.Tensor", hh, ih)
		out := c.Do([]string{"aten::relu", "aten::tanh"}[mode], sum)
		c.Free(ih, hh, sum)
		return hidden{h: out}
	}
	ih := c.Do("aten::linear", x, p.ih)
	hh := c.Do("aten::linear", s.h, p.hh)
	if mode == GRU {
		ts := c.DoParts("aten::_thnn_fused_gru_cell", ih, hh, s.h, ops.OrNone(p.biasIH), ops.OrNone(p.biasHH))
		c.Free(ts[1], hh, ih)
		return hidden{h: ts[0]}
	}
	ts := c.DoParts("aten::_thnn_fused_lstm_cell", ih, hh, s.c, ops.OrNone(p.biasIH), ops.OrNone(p.biasHH))
	out := hidden{ts[0], ts[1]}
	if p.hr != nil {
		out.h = c.Do("aten::linear", ts[0], p.hr)
		c.Free(ts[0])
	}
	c.Free(ts[2], hh, ih)
	return out
}

// run is FullLayer over unbound steps: every output and the last state.
func run(c *ops.Call, mode RNNMode, xs []*tensor.Tensor, s hidden, p *cellParams) ([]*tensor.Tensor, hidden) {
	outs := make([]*tensor.Tensor, 0, len(xs))
	first := true
	for _, x := range xs {
		if !c.OK() {
			break
		}
		next := step(c, mode, x, s, p)
		if !first {
			c.Free(s.c) // the old h is among the outputs
		}
		s, first = next, false
		outs = append(outs, s.h)
	}
	return outs, s
}

// freeOutputs frees outputs, the first one first, less the one the last state holds.
func freeOutputs(c *ops.Call, outs []*tensor.Tensor, last hidden) {
	for _, t := range outs {
		if t != last.h {
			c.Free(t)
		}
	}
}

// layer is FullLayer or FullBidirectionalLayer.
func layer(c *ops.Call, mode RNNMode, x *tensor.Tensor, states []hidden, ps []cellParams) (*tensor.Tensor, []hidden) {
	list := c.DoAny("aten::unbind.int", x, int64(0))
	l, ok := list.(*ops.List)
	if !ok {
		return ops.NoResult(), states
	}
	xs := make([]*tensor.Tensor, len(l.Items))
	for i, v := range l.Items {
		xs[i], _ = v.(*tensor.Tensor)
	}
	defer c.M.Free(list)
	outs, last := run(c, mode, xs, states[0], &ps[0])
	out := c.Do("aten::stack", ops.TensorList(outs...))
	if len(ps) == 1 {
		freeOutputs(c, outs, last)
		return out, []hidden{last}
	}
	// from the last step on, whose size is that of the first
	backs, backLast := run(c, mode, xs, states[1], &ps[1])
	slices.Reverse(backs)
	back := c.Do("aten::stack", ops.TensorList(backs...))
	both := c.Do("aten::cat", ops.TensorList(out, back), int64(len(x.Sizes)-1))
	c.Free(back)
	freeOutputs(c, backs, backLast)
	c.Free(out)
	freeOutputs(c, outs, last)
	return both, []hidden{last, backLast}
}

// layers is apply_layer_stack. It gives the last layer's outputs and every direction's last state.
func layers(c *ops.Call, mode RNNMode, x *tensor.Tensor, states []hidden, ps []cellParams) (*tensor.Tensor, []hidden) {
	dirs := 1
	if c.Bool("bidirectional") {
		dirs = 2
	}
	var last []hidden
	given := x
	n := len(ps) / dirs
	for i := range n {
		out, s := layer(c, mode, x, states[i*dirs:(i+1)*dirs], ps[i*dirs:(i+1)*dirs])
		if !c.OK() {
			return ops.NoResult(), nil
		}
		last = append(last, s...)
		if x != given {
			c.Free(x)
		}
		x = out
		if c.Bool("train") && c.Float("dropout") > 0 && i < n-1 {
			dropped := c.Do("aten::dropout", x, c.Arg("dropout"), true)
			c.Free(x)
			x = dropped
		}
	}
	return x, last
}

// initial are the given states, one a layer and direction.
func initial(c *ops.Call, mode RNNMode, ps []cellParams) ([]hidden, error) {
	var hs, cs []*tensor.Tensor
	if mode == LSTM {
		hx := c.Tensors("hx")
		if len(hx) != 2 {
			return nil, c.Errorf("got %d hidden states, want 2", len(hx))
		}
		hs, cs = c.DoList("aten::unbind.int", hx[0], int64(0)), c.DoList("aten::unbind.int", hx[1], int64(0))
	} else {
		hs = c.DoList("aten::unbind.int", c.T("hx"), int64(0))
	}
	if !c.OK() {
		return nil, nil
	}
	if len(hs) != len(ps) || mode == LSTM && len(cs) != len(ps) {
		return nil, c.Errorf("got %d hidden states, want %d", len(hs), len(ps))
	}
	out := make([]hidden, len(hs))
	for i := range hs {
		out[i].h = hs[i]
		if cs != nil {
			out[i].c = cs[i]
		}
	}
	return out, nil
}

// finals stacks the last states: the cells' first, as C++ evaluates the arguments of make_tuple
// from the right.
func finals(c *ops.Call, mode RNNMode, last []hidden) (h, cell *tensor.Tensor) {
	hs, cs := make([]*tensor.Tensor, len(last)), make([]*tensor.Tensor, len(last))
	for i, s := range last {
		hs[i], cs[i] = s.h, s.c
	}
	if mode == LSTM {
		cell = c.Do("aten::stack", ops.TensorList(cs...))
	}
	h = c.Do("aten::stack", ops.TensorList(hs...))
	if mode == LSTM {
		c.Free(cs...)
	}
	c.Free(hs...)
	return h, cell
}

func projected(c *ops.Call, mode RNNMode) bool {
	hx := c.Tensors("hx")
	return mode == LSTM && len(hx) == 2 && len(hx[0].Sizes) == 3 && len(hx[1].Sizes) == 3 &&
		hx[0].Sizes[2] != hx[1].Sizes[2]
}

func recurrent(mode RNNMode) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		x := c.T("input")
		if len(x.Sizes) != 3 {
			return nil, c.Errorf("got input %v, want 3 dimensions", x.Sizes)
		}
		ps, err := cells(c, projected(c, mode))
		if err != nil {
			return nil, err
		}
		if ops.OnCUDA(x) && !c.OnFakeTensors() {
			return throughCuDNN(c, mode, x, nil)
		}
		first := c.Bool("batch_first")
		if first {
			x = c.Do("aten::transpose.int", x, int64(0), int64(1))
		}
		states, err := initial(c, mode, ps)
		if err != nil || !c.OK() {
			return nil, err
		}
		out, last := layers(c, mode, x, states, ps)
		h, cell := finals(c, mode, last)
		if first && mode == LSTM {
			out = c.Do("aten::transpose.int", out, int64(0), int64(1))
		} else if first {
			out = c.Do("aten::transpose_", out, int64(0), int64(1))
		}
		if mode == LSTM {
			return c.Tuple(out, h, cell), nil
		}
		return c.Tuple(out, h), nil
	}
}

func lstmCell(c *ops.Call) (any, error) {
	hx := c.Tensors("hx")
	if len(hx) != 2 {
		return nil, c.Errorf("got %d hidden states, want 2", len(hx))
	}
	p := cellParams{ih: c.T("w_ih"), hh: c.T("w_hh"), biasIH: c.T("b_ih"), biasHH: c.T("b_hh")}
	if err := checkCell(c, &p, hx...); err != nil {
		return nil, err
	}
	s := step(c, LSTM, c.T("input"), hidden{hx[0], hx[1]}, &p)
	return c.Tuple(ops.OrNone(s.h), ops.OrNone(s.c)), nil
}

func oneCell(mode RNNMode) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		p := cellParams{ih: c.T("w_ih"), hh: c.T("w_hh"), biasIH: c.T("b_ih"), biasHH: c.T("b_hh")}
		if err := checkCell(c, &p, c.T("hx")); err != nil {
			return nil, err
		}
		return ops.OrNone(step(c, mode, c.T("input"), hidden{h: c.T("hx")}, &p).h), nil
	}
}

// checkCell refuses states that do not fit the input or the weights (native/RNN.cpp
// check_rnn_cell_forward_hidden).
func checkCell(c *ops.Call, p *cellParams, hx ...*tensor.Tensor) error {
	x := c.T("input")
	if len(p.ih.Sizes) != 2 || len(p.hh.Sizes) != 2 || len(x.Sizes) == 2 && x.Sizes[1] != p.ih.Sizes[1] {
		return c.Errorf("got input %v, weights %v and %v, want inputs of one size", x.Sizes, p.ih.Sizes, p.hh.Sizes)
	}
	if p.ih.Sizes[0] != p.hh.Sizes[0] || p.hh.Sizes[1] == 0 || p.hh.Sizes[0]%p.hh.Sizes[1] != 0 {
		return c.Errorf("got weights %v and %v, want one first size, a multiple of the state's", p.ih.Sizes, p.hh.Sizes)
	}
	for _, b := range []*tensor.Tensor{p.biasIH, p.biasHH} {
		if b != nil && (len(b.Sizes) != 1 || b.Sizes[0] != p.hh.Sizes[0]) {
			return c.Errorf("got a bias %v, want a vector of %d", b.Sizes, p.hh.Sizes[0])
		}
	}
	for _, h := range hx {
		if len(x.Sizes) == 2 && (len(h.Sizes) != 2 || h.Sizes[0] != x.Sizes[0] || h.Sizes[1] != p.hh.Sizes[1]) {
			return c.Errorf("got a state %v for input %v, want [%d %d]", h.Sizes, x.Sizes, x.Sizes[0], p.hh.Sizes[1])
		}
	}
	return nil
}

func fusedLSTMCell(c *ops.Call) ([]tensor.Meta, error) {
	g, cx := c.T("input_gates"), c.T("cx")
	return []tensor.Meta{ops.FreshLike(cx, cx.Sizes...), ops.FreshLike(cx, cx.Sizes...), ops.FreshLike(g, g.Sizes...)},
		nil
}

func fusedGRUCell(c *ops.Call) ([]tensor.Meta, error) {
	hx := c.T("hx")
	if len(hx.Sizes) != 2 {
		return nil, c.Errorf("got hx %v, want 2 dimensions", hx.Sizes)
	}
	return []tensor.Meta{ops.FreshLike(hx, hx.Sizes...), ops.FreshLike(hx, hx.Sizes[0], hx.Sizes[1]*5)}, nil
}
