package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

// Recurrent layers step by step, as PyTorch runs them where cuDNN does not: on the host, and on fake tensors.

// rnnMode is at::native's mode, numbered as cudnnRNNMode_t.
type rnnMode int64

const (
	reluMode rnnMode = 0
	tanhMode rnnMode = 1
	lstmMode rnnMode = 2
	gruMode  rnnMode = 3
)

// cellParams are the weights of one direction of one layer.
type cellParams struct{ ih, hh, biasIH, biasHH, hr *tensor.Tensor }

// hidden is a state: c is the cell's, of an LSTM only.
type hidden struct{ h, c *tensor.Tensor }

func (c *Call) cells(proj bool) ([]cellParams, error) {
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
func (c *Call) step(mode rnnMode, x *tensor.Tensor, s hidden, p *cellParams) hidden {
	if mode == tanhMode || mode == reluMode {
		hh := c.Do("aten::linear", s.h, p.hh, opt(p.biasHH))
		ih := c.Do("aten::linear", x, p.ih, opt(p.biasIH))
		sum := c.Do("aten::add_.Tensor", hh, ih)
		out := c.Do([]string{"aten::relu", "aten::tanh"}[mode], sum)
		c.Free(ih, hh, sum)
		return hidden{h: out}
	}
	ih := c.Do("aten::linear", x, p.ih)
	hh := c.Do("aten::linear", s.h, p.hh)
	if mode == gruMode {
		ts := c.parts("aten::_thnn_fused_gru_cell", ih, hh, s.h, opt(p.biasIH), opt(p.biasHH))
		c.Free(ts[1], hh, ih)
		return hidden{h: ts[0]}
	}
	ts := c.parts("aten::_thnn_fused_lstm_cell", ih, hh, s.c, opt(p.biasIH), opt(p.biasHH))
	out := hidden{ts[0], ts[1]}
	if p.hr != nil {
		out.h = c.Do("aten::linear", ts[0], p.hr)
		c.Free(ts[0])
	}
	c.Free(ts[2], hh, ih)
	return out
}

// run is FullLayer over unbound steps: every output and the last state.
func (c *Call) run(mode rnnMode, xs []*tensor.Tensor, s hidden, p *cellParams) ([]*tensor.Tensor, hidden) {
	outs := make([]*tensor.Tensor, 0, len(xs))
	first := true
	for _, x := range xs {
		if !c.ok() {
			break
		}
		next := c.step(mode, x, s, p)
		if !first {
			c.Free(s.c) // the old h is among the outputs
		}
		s, first = next, false
		outs = append(outs, s.h)
	}
	return outs, s
}

// letGo frees outputs, the first one first, less the one the last state holds.
func (c *Call) letGo(outs []*tensor.Tensor, last hidden) {
	for _, t := range outs {
		if t != last.h {
			c.Free(t)
		}
	}
}

// layer is FullLayer or FullBidirectionalLayer.
func (c *Call) layer(mode rnnMode, x *tensor.Tensor, states []hidden, ps []cellParams) (*tensor.Tensor, []hidden) {
	list := c.DoAny("aten::unbind.int", x, int64(0))
	l, ok := list.(*List)
	if !ok {
		return c.nothing(), states
	}
	xs := make([]*tensor.Tensor, len(l.Items))
	for i, v := range l.Items {
		xs[i], _ = v.(*tensor.Tensor)
	}
	defer c.M.Free(list)
	outs, last := c.run(mode, xs, states[0], &ps[0])
	out := c.Do("aten::stack", tensorList(outs...))
	if len(ps) == 1 {
		c.letGo(outs, last)
		return out, []hidden{last}
	}
	slices.Reverse(xs)
	backs, backLast := c.run(mode, xs, states[1], &ps[1])
	slices.Reverse(backs)
	back := c.Do("aten::stack", tensorList(backs...))
	both := c.Do("aten::cat", tensorList(out, back), int64(len(x.Sizes)-1))
	c.Free(back)
	c.letGo(backs, backLast)
	c.Free(out)
	c.letGo(outs, last)
	return both, []hidden{last, backLast}
}

// layers is apply_layer_stack. It gives the last layer's outputs and every direction's last state.
func (c *Call) layers(mode rnnMode, x *tensor.Tensor, states []hidden, ps []cellParams) (*tensor.Tensor, []hidden) {
	dirs := 1
	if c.Bool("bidirectional") {
		dirs = 2
	}
	var last []hidden
	given := x
	n := len(ps) / dirs
	for i := range n {
		out, s := c.layer(mode, x, states[i*dirs:(i+1)*dirs], ps[i*dirs:(i+1)*dirs])
		if !c.ok() {
			return c.nothing(), nil
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
func (c *Call) initial(mode rnnMode, ps []cellParams) ([]hidden, error) {
	var hs, cs []*tensor.Tensor
	if mode == lstmMode {
		hx := c.Tensors("hx")
		if len(hx) != 2 {
			return nil, c.Errorf("got %d hidden states, want 2", len(hx))
		}
		hs, cs = c.DoList("aten::unbind.int", hx[0], int64(0)), c.DoList("aten::unbind.int", hx[1], int64(0))
	} else {
		hs = c.DoList("aten::unbind.int", c.T("hx"), int64(0))
	}
	if !c.ok() {
		return nil, nil
	}
	if len(hs) != len(ps) || mode == lstmMode && len(cs) != len(ps) {
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

// finals stacks the last states: the cells' first, as C++ evaluates the arguments of make_tuple from the right.
func (c *Call) finals(mode rnnMode, last []hidden) (h, cell *tensor.Tensor) {
	hs, cs := make([]*tensor.Tensor, len(last)), make([]*tensor.Tensor, len(last))
	for i, s := range last {
		hs[i], cs[i] = s.h, s.c
	}
	if mode == lstmMode {
		cell = c.Do("aten::stack", tensorList(cs...))
	}
	h = c.Do("aten::stack", tensorList(hs...))
	if mode == lstmMode {
		c.Free(cs...)
	}
	c.Free(hs...)
	return h, cell
}

func (c *Call) projected(mode rnnMode) bool {
	hx := c.Tensors("hx")
	return mode == lstmMode && len(hx) == 2 && len(hx[0].Sizes) == 3 && len(hx[1].Sizes) == 3 && hx[0].Sizes[2] != hx[1].Sizes[2]
}

func recurrent(mode rnnMode) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		x := c.T("input")
		if len(x.Sizes) != 3 {
			return nil, c.Errorf("got input %v, want 3 dimensions", x.Sizes)
		}
		ps, err := c.cells(c.projected(mode))
		if err != nil {
			return nil, err
		}
		if onCUDA(x) && !c.fake() {
			return c.throughCuDNN(mode, x, nil)
		}
		first := c.Bool("batch_first")
		if first {
			x = c.Do("aten::transpose.int", x, int64(0), int64(1))
		}
		states, err := c.initial(mode, ps)
		if err != nil || !c.ok() {
			return nil, err
		}
		out, last := c.layers(mode, x, states, ps)
		h, cell := c.finals(mode, last)
		if first && mode == lstmMode {
			out = c.Do("aten::transpose.int", out, int64(0), int64(1))
		} else if first {
			out = c.Do("aten::transpose_", out, int64(0), int64(1))
		}
		if mode == lstmMode {
			return c.Tuple(out, h, cell), nil
		}
		return c.Tuple(out, h), nil
	}
}

func lstmCell(c *Call) (any, error) {
	hx := c.Tensors("hx")
	if len(hx) != 2 {
		return nil, c.Errorf("got %d hidden states, want 2", len(hx))
	}
	p := cellParams{ih: c.T("w_ih"), hh: c.T("w_hh"), biasIH: c.T("b_ih"), biasHH: c.T("b_hh")}
	if err := c.checkCell(&p, hx...); err != nil {
		return nil, err
	}
	s := c.step(lstmMode, c.T("input"), hidden{hx[0], hx[1]}, &p)
	return c.Tuple(opt(s.h), opt(s.c)), nil
}

func oneCell(mode rnnMode) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		p := cellParams{ih: c.T("w_ih"), hh: c.T("w_hh"), biasIH: c.T("b_ih"), biasHH: c.T("b_hh")}
		if err := c.checkCell(&p, c.T("hx")); err != nil {
			return nil, err
		}
		return opt(c.step(mode, c.T("input"), hidden{h: c.T("hx")}, &p).h), nil
	}
}

// checkCell refuses states that do not fit the input or the weights (native/RNN.cpp check_rnn_cell_forward_hidden).
func (c *Call) checkCell(p *cellParams, hx ...*tensor.Tensor) error {
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

func fusedLSTMCell(c *Call) ([]tensor.Meta, error) {
	g, cx := c.T("input_gates"), c.T("cx")
	return []tensor.Meta{fresh(cx, cx.Sizes...), fresh(cx, cx.Sizes...), fresh(g, g.Sizes...)}, nil
}

func fusedGRUCell(c *Call) ([]tensor.Meta, error) {
	hx := c.T("hx")
	if len(hx.Sizes) != 2 {
		return nil, c.Errorf("got hx %v, want 2 dimensions", hx.Sizes)
	}
	return []tensor.Meta{fresh(hx, hx.Sizes...), fresh(hx, hx.Sizes[0], hx.Sizes[1]*5)}, nil
}
