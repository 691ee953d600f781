package fft

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// stftCenter pads the signal at both ends first (native/SpectralOps.cpp stft).
func stftCenter(c *ops.Call) (any, error) {
	x := c.Self()
	if !c.Bool("center") {
		return transformFrames(c, x, nil)
	}
	n := len(x.Sizes)
	if n != 1 && n != 2 {
		return nil, c.Errorf("got %v, want 1 or 2 dimensions", x.Sizes)
	}
	wide := append(slices.Repeat([]int64{1}, 3-n), x.Sizes...)
	p := c.Int("n_fft") / 2
	padded := c.Do("aten::pad", c.Do("aten::view", x, ops.IntList(wide...)), ops.IntList(p, p), c.Arg("pad_mode"))
	view := c.Do("aten::view", padded, ops.IntList(append(slices.Clone(x.Sizes[:n-1]), x.Sizes[n-1]+2*p)...))
	return transformFrames(c, view, []*tensor.Tensor{view, padded})
}

// paddedWindow puts a short window into the middle of n_fft zeros.
func paddedWindow(c *ops.Call, n, length int64) *tensor.Tensor {
	w := c.T("window")
	if length >= n {
		return w
	}
	d, device := c.Self().DType.ToReal(), c.Self().Device
	if w != nil {
		d, device = w.DType, w.Device
	}
	zeros := c.Do("aten::zeros", ops.IntList(n), ops.Kw{"dtype": int64(d), "device": ops.Device(device)})
	part := c.Do("aten::narrow", zeros, int64(0), (n-length)/2, length)
	if w != nil {
		c.Do("aten::copy_", part, w)
	} else {
		c.Do("aten::fill_.Scalar", part, int64(1))
	}
	c.Free(part, part)
	return zeros
}

func stft(c *ops.Call) (any, error) { return transformFrames(c, c.Self(), nil) }

// transformFrames releases what made x once it is multiplied by the window.
func transformFrames(c *ops.Call, x *tensor.Tensor, made []*tensor.Tensor) (any, error) {
	n := c.Int("n_fft")
	hop, length := c.IntOr("hop_length", n/4), c.IntOr("win_length", n)
	flat := len(x.Sizes) == 1
	if flat {
		x = c.Do("aten::unsqueeze", x, int64(0))
		made = append([]*tensor.Tensor{x}, made...)
	}
	if !c.OK() {
		return nil, nil
	}
	if len(x.Sizes) != 2 || n <= 0 || hop <= 0 || x.Sizes[1] < n || length <= 0 || length > n {
		return nil, c.Errorf("got %v, n_fft %d, hop %d and window of %d, want a signal of at least n_fft",
			c.Self().Sizes, n, hop, length)
	}
	window := paddedWindow(c, n, length)
	frames := 1 + (x.Sizes[1]-n)/hop
	seen := c.Do("aten::as_strided", x, ops.IntList(x.Sizes[0], frames, n),
		ops.IntList(x.Strides[0], hop*x.Strides[1], x.Strides[1]))
	in := seen
	if window != nil {
		in = c.Do("aten::mul.Tensor", seen, window)
		c.Free(seen)
		c.Free(made...)
	}
	isComplex := in.DType.Complex()
	onesided := !isComplex
	if v, ok := c.Arg("onesided").(bool); ok {
		onesided = v
	}
	var out *tensor.Tensor
	if isComplex {
		out = c2c(c, in, []int{2}, true)
	} else {
		out = r2c(c, in, []int{2}, onesided)
	}
	out = c.Do("aten::transpose_", out, int64(1), int64(2))
	if flat {
		out = c.Do("aten::squeeze_.dim", out, int64(0))
	}
	if !c.Bool("return_complex") {
		out = c.Do("aten::view_as_real", out)
	}
	if window != c.T("window") {
		c.Free(window)
	}
	return out, nil
}

// istft transforms back and adds the frames up where they overlap.
func istft(c *ops.Call) (any, error) {
	x := c.Self()
	n := c.Int("n_fft")
	hop, length := c.IntOr("hop_length", n/4), c.IntOr("win_length", n)
	if !x.DType.Complex() {
		return nil, c.Errorf("got %s, want a complex dtype", x.DType)
	}
	flat := len(x.Sizes) == 2
	if flat {
		x = c.Do("aten::unsqueeze", x, int64(0))
	}
	if !c.OK() || len(x.Sizes) != 3 || hop <= 0 {
		return nil, c.Errorf("got %v and hop %d, want [batch, frequencies, frames]", c.Self().Sizes, hop)
	}
	batch, frames := x.Sizes[0], x.Sizes[2]
	onesided, rows := x.Sizes[1] != n, n
	if c.Has("onesided") {
		onesided = c.Bool("onesided")
	}
	if onesided {
		rows = n/2 + 1
	}
	if rows != x.Sizes[1] || frames == 0 || length <= 0 || length > n || hop > length {
		return nil, c.Errorf("got %v, n_fft %d, hop %d and a window of %d, want %d frequencies of frames that meet",
			c.Self().Sizes, n, hop, length, rows)
	}
	window := paddedWindow(c, n, length)
	if window == nil {
		window = c.Do("aten::ones", ops.IntList(n),
			ops.Kw{"dtype": int64(x.DType.ToReal()), "device": ops.Device(x.Device)})
	}
	turned := c.Do("aten::transpose.int", x, int64(1), int64(2))
	var y *tensor.Tensor
	if x.Sizes[1] == n && c.Has("onesided") && !c.Bool("onesided") || c.Bool("return_complex") {
		y = c2c(c, turned, []int{2}, false)
		if !c.Bool("return_complex") {
			y = c.Do("aten::real", y)
		}
	} else {
		y = c2r(c, turned, []int{2}, n)
	}
	scaled := c.Do("aten::mul.Tensor", y, c.Do("aten::view", window, ops.IntList(1, 1, n)))
	total := n + hop*(frames-1)
	added := c.Empty(y, y.DType, batch, total)
	squares := c.Do("aten::pow.Tensor_Scalar", window, int64(2))
	envelope := c.Empty(window, window.DType, 1, total)
	c.Free(squares)
	start, end := int64(0), total
	if c.Bool("center") {
		start, end = n/2, total-n/2
	}
	if c.Has("length") {
		end = start + c.Int("length")
	}
	end = max(end, start)
	cut := func(t *tensor.Tensor) *tensor.Tensor {
		return c.Do("aten::slice.Tensor", t, int64(1), start, min(end, total))
	}
	out := c.Do("aten::div.Tensor", cut(added), cut(envelope))
	if end > total {
		out = c.Do("aten::constant_pad_nd", out, ops.IntList(0, end-total))
	}
	c.Free(scaled)
	if flat {
		return c.Do("aten::squeeze.dim", out, int64(0)), nil
	}
	return out, nil
}
