package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Recurrent layers through cuDNN (aten/src/ATen/native/cudnn/RNN.cpp) and packed sequences.

// throughCuDNN is _cudnn_impl: one operator for all layers.
func (c *Call) throughCuDNN(mode rnnMode, x *tensor.Tensor, batchSizes []int64) (any, error) {
	var hx, cx *tensor.Tensor
	if mode == lstmMode {
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
	if c.projected(mode) {
		size, proj = cx.Sizes[2], hx.Sizes[2]
	}
	stride := int64(2)
	if c.Bool("has_biases") {
		stride = 4
	}
	ts := c.parts("aten::_cudnn_rnn", x, c.Arg("params"), stride, nil, hx, opt(cx), int64(mode), size, proj, c.Arg("num_layers"),
		c.Bool("batch_first"), c.Arg("dropout"), c.Arg("train"), c.Arg("bidirectional"), intList(batchSizes...), nil)
	if mode == lstmMode {
		return c.Tuple(opt(ts[0]), opt(ts[1]), opt(ts[2])), nil
	}
	return c.Tuple(opt(ts[0]), opt(ts[1])), nil
}

func (c *Call) rnnDirections() int64 {
	if c.Bool("bidirectional") {
		return 2
	}
	return 1
}

// cudnnRNNWithWeights returns the flat weights too, where they were given.
func cudnnRNNWithWeights(c *Call) (any, error) {
	ts := c.parts("memspec::cudnn_rnn", c.Args...)
	return c.Tuple(opt(ts[0]), opt(ts[1]), opt(ts[2]), opt(ts[3]), c.Arg("weight_buf")), nil
}

func cudnnRNN(c *Call) ([]tensor.Meta, error) {
	x, hx, cx := c.T("input"), c.T("hx"), c.T("cx")
	dirs, size := c.rnnDirections(), c.Int("hidden_size")
	outSize := size
	if p := c.Int("proj_size"); p != 0 {
		outSize = p
	}
	packed := len(c.Ints("batch_sizes")) > 0
	if len(hx.Sizes) != 3 || len(x.Sizes) != 3 && !(packed && len(x.Sizes) == 2) {
		return nil, c.Errorf("got input %v and hx %v, want 3 dimensions", x.Sizes, hx.Sizes)
	}
	sizes := append(slices.Clone(x.Sizes[:len(x.Sizes)-1]), outSize*dirs)
	out := fresh(x, sizes...)
	if c.Bool("batch_first") && !packed && !c.fake() { // computed with time first, seen with the batch first
		out = swapMeta(fresh(x, sizes[1], sizes[0], sizes[2]), 0, 1)
	}
	cell := fresh(hx, 0)
	if rnnMode(c.Int("mode")) == lstmMode && cx != nil {
		cell = fresh(cx, cx.Sizes...)
	}
	return []tensor.Meta{out, fresh(hx, hx.Sizes...), cell, freshAs(x, tensor.Uint8, 0)}, nil
}

// cudnnRNNScratch is a contiguous input, the weights in one buffer where they do not lie in one storage already, and the workspace. cuDNN tells its
// size only to a handle of a device (cudnnGetRNNTempSpaceSizes; without a device there is no handle), and no recording has one: it is taken
// as none and at the most as the gates of all layers, time steps and directions. Training's reserve is not asked for either.
func cudnnRNNScratch(c *Call) []Scratch {
	x := c.T("input")
	if !onCUDA(x) {
		return nil
	}
	var out []Scratch
	seen := &tensor.Tensor{Meta: x.Meta}
	if c.Bool("batch_first") && len(x.Sizes) == 3 {
		seen.Meta = swapped(x, 0, 1)
	}
	if !seen.IsContiguous() {
		out = append(out, Scratch{Bytes: x.NBytes(), Before: true, Source: "native/cudnn/RNN.cpp input.contiguous()"})
	}
	if c.T("weight_buf") == nil && !oneStorage(c.Tensors("weight")) {
		bytes := units.Bytes(0)
		for _, w := range c.Tensors("weight") {
			bytes += w.NBytes()
		}
		out = append(out, Scratch{Bytes: bytes, Source: "native/cudnn/RNN.cpp weight_buf: the weights are not one chunk of memory"})
	}
	rows := product(x.Sizes[:len(x.Sizes)-1])
	return append(out, Scratch{
		Upper:  units.Bytes(rows * 4 * c.Int("hidden_size") * c.rnnDirections() * max(c.Int("num_layers"), 1) * x.DType.ItemSize()),
		Source: "the workspace of cuDNN's recurrent layers is not known: taken as none", Note: "scratch-estimate",
	})
}

func oneStorage(ts []*tensor.Tensor) bool {
	for _, t := range ts {
		if t == nil || t.Storage != ts[0].Storage {
			return false
		}
	}
	return len(ts) > 0
}

func flattenWeight(c *Call) ([]tensor.Meta, error) {
	ts := c.Tensors("weight_arr")
	if len(ts) == 0 || ts[0] == nil {
		return nil, c.Errorf("got no weights, want at least 1")
	}
	n := int64(0)
	for _, t := range ts {
		n += t.Numel()
	}
	return one(fresh(ts[0], n))
}

// packPadded drops the padding: as many rows as the lengths add up to.
func packPadded(c *Call) ([]tensor.Meta, error) {
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
		rows = c.M.Bound(batch, time*batch)
	}
	data := fresh(x, append([]int64{rows}, x.Sizes[2:]...)...)
	return []tensor.Meta{data, newMeta(tensor.Int64, "cpu", []int64{steps})}, nil
}

// padPacked puts the padding back.
func padPacked(c *Call) ([]tensor.Meta, error) {
	x, sizes := c.T("data"), c.T("batch_sizes")
	time := max(sizes.Numel(), c.Int("total_length"))
	batch := int64(0)
	if sizes.Data != nil && len(sizes.Data.Ints) > 0 {
		batch = sizes.Data.Ints[0]
	} else {
		batch = c.M.Bound(divCeil(x.Sizes[0], max(sizes.Numel(), 1)), max(x.Sizes[0]-sizes.Numel()+1, 1))
	}
	lead := []int64{time, batch}
	if c.Bool("batch_first") {
		lead = []int64{batch, time}
	}
	m := fresh(x, append(lead, x.Sizes[1:]...)...)
	if c.Bool("batch_first") {
		m = swapMeta(fresh(x, append([]int64{time, batch}, x.Sizes[1:]...)...), 0, 1)
	}
	return []tensor.Meta{m, newMeta(tensor.Int64, "cpu", []int64{batch})}, nil
}

// recurrentPacked runs over a packed sequence. Its batch sizes are numbers on the host; where they are not known they are taken as even.
func recurrentPacked(mode rnnMode) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		x := c.T("data")
		sizes := c.packedSizes(x)
		if onCUDA(x) && !c.fake() {
			return c.throughCuDNN(mode, x, sizes)
		}
		ps, err := c.cells(c.projected(mode))
		if err != nil {
			return nil, err
		}
		states, err := c.initial(mode, ps)
		if err != nil || !c.ok() {
			return nil, err
		}
		dirs := int(c.rnnDirections())
		var last []hidden
		given := x
		for i := range len(ps) / dirs {
			var outs []*tensor.Tensor
			for d := range dirs {
				out, s := c.packedLayer(mode, x, sizes, states[i*dirs+d], &ps[i*dirs+d], d == 1)
				outs, last = append(outs, out), append(last, s)
			}
			out := outs[0]
			if dirs == 2 {
				out = c.Do("aten::cat", tensorList(outs...), int64(1))
				c.Free(outs[1], outs[0])
			}
			if x != given {
				c.Free(x)
			}
			x = out
			if !c.ok() {
				return nil, nil
			}
		}
		h, cell := c.finals(mode, last)
		if mode == lstmMode {
			return c.Tuple(x, h, cell), nil
		}
		return c.Tuple(x, h), nil
	}
}

func (c *Call) packedSizes(x *tensor.Tensor) []int64 {
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

// packedLayer is PackedLayer, or ReversedPackedLayer: sequences that have ended leave their state behind.
func (c *Call) packedLayer(mode rnnMode, x *tensor.Tensor, sizes []int64, s hidden, p *cellParams, back bool) (*tensor.Tensor, hidden) {
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
			s = c.joined(s, late)
		}
		alive = n
		if back {
			offset -= n
		}
		in := c.Do("aten::narrow", x, int64(0), offset, n)
		if !back {
			offset += n
		}
		s = c.step(mode, in, s, p)
		c.Free(in)
		outs = append(outs, s.h)
	}
	if back {
		slices.Reverse(outs)
	}
	out := c.Do("aten::cat", tensorList(outs...), int64(0))
	for i := len(ended) - 1; i >= 0; i-- {
		s = c.joined(s, ended[i])
	}
	return out, s
}

func (c *Call) joined(a, b hidden) hidden {
	out := hidden{h: c.Do("aten::cat", tensorList(a.h, b.h), int64(0))}
	if a.c != nil {
		out.c = c.Do("aten::cat", tensorList(a.c, b.c), int64(0))
	}
	return out
}
