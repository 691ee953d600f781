package nn

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// Recurrent layers through cuDNN (aten/src/ATen/native/cudnn/RNN.cpp) and packed sequences.

// throughCuDNN is _cudnn_impl: one operator for all layers.
func throughCuDNN(c *ops.Call, mode RNNMode, x *tensor.Tensor, batchSizes []int64) (any, error) {
	var hx, cx *tensor.Tensor
	if mode == LSTM {
		hs := c.Tensors("hx")
		if len(hs) != 2 {
			return nil, c.Errorf("got %d hidden states, want 2", len(hs))
		}
		hx, cx = hs[0], hs[1]
	} else {
		hx = c.T("hx")
	}
	if len(hx.Sizes) != 3 {
		return nil, c.Errorf("got hidden state %v, want 3 dimensions", hx.Sizes)
	}
	size, proj := hx.Sizes[2], int64(0)
	if projected(c, mode) {
		size, proj = cx.Sizes[2], hx.Sizes[2]
	}
	stride := int64(2)
	if c.Bool("has_biases") {
		stride = 4
	}
	ts := c.DoParts("aten::_cudnn_rnn", x, c.Arg("params"), stride, nil, hx, ops.OrNone(cx), int64(mode), size, proj,
		c.Arg("num_layers"), c.Bool("batch_first"), c.Arg("dropout"), c.Arg("train"), c.Arg("bidirectional"),
		ops.IntList(batchSizes...), nil)
	if mode == LSTM {
		return c.Tuple(ops.OrNone(ts[0]), ops.OrNone(ts[1]), ops.OrNone(ts[2])), nil
	}
	return c.Tuple(ops.OrNone(ts[0]), ops.OrNone(ts[1])), nil
}

func RNNDirections(c *ops.Call) int64 {
	if c.Bool("bidirectional") {
		return 2
	}
	return 1
}

// cudnnRNNWithWeights returns the flat weights too, where they were given.
func cudnnRNNWithWeights(c *ops.Call) (any, error) {
	ts := c.DoParts("memspec::cudnn_rnn", c.Args...)
	return c.Tuple(ops.OrNone(ts[0]), ops.OrNone(ts[1]), ops.OrNone(ts[2]), ops.OrNone(ts[3]), c.Arg("weight_buf")), nil
}

func cudnnRNN(c *ops.Call) ([]tensor.Meta, error) {
	x, hx, cx := c.T("input"), c.T("hx"), c.T("cx")
	dirs, size := RNNDirections(c), c.Int("hidden_size")
	outSize := size
	if p := c.Int("proj_size"); p != 0 {
		outSize = p
	}
	packed := len(c.Ints("batch_sizes")) > 0
	if len(hx.Sizes) != 3 || len(x.Sizes) != 3 && !(packed && len(x.Sizes) == 2) {
		return nil, c.Errorf("got input %v and hx %v, want 3 dimensions", x.Sizes, hx.Sizes)
	}
	sizes := append(slices.Clone(x.Sizes[:len(x.Sizes)-1]), outSize*dirs)
	out := ops.FreshLike(x, sizes...)
	if c.Bool("batch_first") && !packed && !c.OnFakeTensors() { // computed with time first, seen with the batch first
		out = ops.TransposedMeta(ops.FreshLike(x, sizes[1], sizes[0], sizes[2]), 0, 1)
	}
	cell := ops.FreshLike(hx, 0)
	if RNNMode(c.Int("mode")) == LSTM && cx != nil {
		cell = ops.FreshLike(cx, cx.Sizes...)
	}
	kept := int64(0)
	if c.Bool("train") && !c.OnFakeTensors() {
		l := recurrentLayers(c, &x.Meta)
		kept = int64(l.Reserve())
	}
	return []tensor.Meta{out, ops.FreshLike(hx, hx.Sizes...), cell, ops.FreshAs(x, tensor.Uint8, kept)}, nil
}

func cudnnRNNWorkspace(c *ops.Call) []workspace.Request {
	x, weights := c.T("input"), c.Tensors("weight")
	l := recurrentLayers(c, &x.Meta)
	l.Packed = c.T("weight_buf") != nil || oneStorage(weights)
	for _, w := range weights {
		l.Weights = append(l.Weights, &w.Meta)
	}
	return l.CuDNN(c.Platform())
}

func recurrentLayers(c *ops.Call, x *tensor.Meta) workspace.RecurrentLayers {
	l := workspace.RecurrentLayers{BatchFirst: c.Bool("batch_first") && len(x.Sizes) == 3,
		Recurrent: workspace.Recurrent{Mode: c.Int("mode"), Hidden: c.Int("hidden_size"), Projected: c.Int("proj_size"),
			Layers: c.Int("num_layers"), Directions: RNNDirections(c), Training: c.Bool("train")}}
	l.Dropout = l.Training && l.Layers > 1 && c.Float("dropout") > 0
	l.Of(x, c.Ints("batch_sizes"))
	return l
}

func oneStorage(ts []*tensor.Tensor) bool {
	for _, t := range ts {
		if t == nil || t.Storage != ts[0].Storage {
			return false
		}
	}
	return len(ts) > 0
}

func flattenWeight(c *ops.Call) ([]tensor.Meta, error) {
	ts := c.Tensors("weight_arr")
	if len(ts) == 0 || ts[0] == nil {
		return nil, c.Errorf("got no weights, want at least 1")
	}
	n := int64(0)
	for _, t := range ts {
		n += t.Numel()
	}
	return ops.One(ops.FreshLike(ts[0], n))
}

// packPadded drops the padding: as many rows as the lengths add up to.
func packPadded(c *ops.Call) ([]tensor.Meta, error) {
	x, lengths := c.T("input"), c.T("lengths")
	if len(x.Sizes) < 2 || len(lengths.Sizes) != 1 {
		return nil, c.Errorf("got input %v and lengths %v, want [time, batch, …] and [batch]", x.Sizes, lengths.Sizes)
	}
	time, batch := x.Sizes[0], x.Sizes[1]
	if c.Bool("batch_first") {
		time, batch = batch, time
	}
	rows, steps := int64(0), time
	if lengths.Data != nil && len(lengths.Data.Ints) > 0 {
		for _, n := range lengths.Data.Ints {
			rows += n
		}
		steps = slices.Max(lengths.Data.Ints)
	} else {
		rows = c.SizeBetween(batch, time*batch)
	}
	data := ops.FreshLike(x, append([]int64{rows}, x.Sizes[2:]...)...)
	return []tensor.Meta{data, ops.NewMeta(tensor.Int64, "cpu", []int64{steps})}, nil
}

// padPacked puts the padding back.
func padPacked(c *ops.Call) ([]tensor.Meta, error) {
	x, sizes := c.T("data"), c.T("batch_sizes")
	if len(x.Sizes) == 0 {
		return nil, c.Errorf("got data [], want rows")
	}
	time := max(sizes.Numel(), c.Int("total_length"))
	batch := int64(0)
	if sizes.Data != nil && len(sizes.Data.Ints) > 0 {
		batch = sizes.Data.Ints[0]
	} else {
		batch = c.SizeBetween(ops.DivCeil(x.Sizes[0], max(sizes.Numel(), 1)), max(x.Sizes[0]-sizes.Numel()+1, 1))
	}
	m := ops.FreshLike(x, append([]int64{time, batch}, x.Sizes[1:]...)...)
	if c.Bool("batch_first") {
		m = ops.TransposedMeta(m, 0, 1)
	}
	return []tensor.Meta{m, ops.NewMeta(tensor.Int64, "cpu", []int64{batch})}, nil
}

// recurrentPacked runs over a packed sequence. Its batch sizes are numbers on the host; where they
// are not known they are taken as even.
func recurrentPacked(mode RNNMode) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		x := c.T("data")
		sizes := packedSizes(c, x)
		if ops.OnCUDA(x) && !c.OnFakeTensors() {
			return throughCuDNN(c, mode, x, sizes)
		}
		ps, err := cells(c, projected(c, mode))
		if err != nil {
			return nil, err
		}
		states, err := initial(c, mode, ps)
		if err != nil || !c.OK() {
			return nil, err
		}
		dirs := int(RNNDirections(c))
		var last []hidden
		given := x
		for i := range len(ps) / dirs {
			var outs []*tensor.Tensor
			for d := range dirs {
				out, s := packedLayer(c, mode, x, sizes, states[i*dirs+d], &ps[i*dirs+d], d == 1)
				outs, last = append(outs, out), append(last, s)
			}
			out := outs[0]
			if dirs == 2 {
				out = c.Do("aten::cat", ops.TensorList(outs...), int64(1))
				c.Free(outs[1], outs[0])
			}
			if x != given {
				c.Free(x)
			}
			x = out
			if !c.OK() {
				return nil, nil
			}
		}
		h, cell := finals(c, mode, last)
		if mode == LSTM {
			return c.Tuple(x, h, cell), nil
		}
		return c.Tuple(x, h), nil
	}
}

func packedSizes(c *ops.Call, x *tensor.Tensor) []int64 {
	b := c.T("batch_sizes")
	if b.Data != nil && int64(len(b.Data.Ints)) == b.Numel() {
		return b.Data.Ints
	}
	n := max(b.Numel(), 1)
	out := make([]int64, n)
	for i := range out {
		out[i] = x.Sizes[0] / n
		if int64(i) < x.Sizes[0]%n {
			out[i]++
		}
	}
	return out
}

// packedLayer is PackedLayer, or ReversedPackedLayer: sequences that have ended leave their state
// behind.
func packedLayer(
	c *ops.Call, mode RNNMode, x *tensor.Tensor, sizes []int64, s hidden, p *cellParams, back bool,
) (*tensor.Tensor, hidden) {
	var outs []*tensor.Tensor
	var ended []hidden
	part := func(s hidden, from, to int64) hidden {
		cut := func(t *tensor.Tensor) *tensor.Tensor {
			if t == nil {
				return nil
			}
			return c.Do("aten::narrow", t, int64(0), from, to-from)
		}
		return hidden{cut(s.h), cut(s.c)}
	}
	offset, alive := int64(0), sizes[0]
	steps := slices.Clone(sizes)
	full := s
	if back {
		slices.Reverse(steps)
		offset, alive = x.Sizes[0], steps[0]
		s = part(full, 0, alive)
	}
	for _, n := range steps {
		if n < alive {
			ended = append(ended, part(s, n, alive))
			s = part(s, 0, n)
		} else if n > alive { // backwards, sequences begin late
			late := part(full, alive, n)
			s = joined(c, s, late)
		}
		alive = n
		if back {
			offset -= n
		}
		in := c.Do("aten::narrow", x, int64(0), offset, n)
		if !back {
			offset += n
		}
		s = step(c, mode, in, s, p)
		c.Free(in)
		outs = append(outs, s.h)
	}
	if back {
		slices.Reverse(outs)
	}
	out := c.Do("aten::cat", ops.TensorList(outs...), int64(0))
	for i := len(ended) - 1; i >= 0; i-- {
		s = joined(c, s, ended[i])
	}
	return out, s
}

func joined(c *ops.Call, a, b hidden) hidden {
	out := hidden{h: c.Do("aten::cat", ops.TensorList(a.h, b.h), int64(0))}
	if a.c != nil {
		out.c = c.Do("aten::cat", ops.TensorList(a.c, b.c), int64(0))
	}
	return out
}
