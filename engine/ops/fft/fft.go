package fft

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// fftInput is promote_tensor_fft: integers become floats, and reals complex where that is asked
// for.
func fftInput(c *ops.Call, x *tensor.Tensor, complexOnly bool) *tensor.Tensor {
	d := ops.FloatType(x.DType)
	if complexOnly {
		d = d.ToComplex()
	}
	if d == x.DType {
		return x
	}
	return c.Do("aten::_to_copy", x, ops.Kw{"dtype": int64(d)})
}

// resizeFFT cuts or pads dims to sizes; -1 leaves one as it is.
func resizeFFT(c *ops.Call, x *tensor.Tensor, dims []int, sizes []int64) *tensor.Tensor {
	if !c.OK() {
		return x
	}
	n := len(x.Sizes)
	pad := make([]int64, 2*n)
	pads := false
	given := x.Sizes
	for i, d := range dims {
		switch {
		case sizes[i] == 0 || sizes[i] < -1 || sizes[i] < 0 && given[d] == 0:
			c.Fail(c.Errorf("got a length of %d in dimension %d of sizes %v, want at least 1", sizes[i], d, given))
		case slices.Contains(dims[:i], d):
			c.Fail(c.Errorf("got dimension %d twice", d))
		case sizes[i] < 0:
		case sizes[i] < given[d]:
			x = c.Do("aten::slice.Tensor", x, int64(d), int64(0), sizes[i])
		case sizes[i] > given[d]:
			pad[2*(n-1-d)+1] = sizes[i] - given[d]
			pads = true
		}
	}
	if pads {
		padded := c.Do("aten::constant_pad_nd", x, ops.IntList(pad...))
		if x != c.Self() { // the name that held it now holds what was padded
			c.Free(x)
		}
		x = padded
	}
	return x
}

// oneDim are the dimension and length of a 1-d transform.
func oneDim(c *ops.Call) (dims []int, err error) {
	if len(c.Self().Sizes) == 0 {
		return nil, c.Errorf("got a 0-dim tensor, want at least one dimension")
	}
	if c.Has("n") && c.Int("n") < 1 {
		return nil, c.Errorf("got a length of %d, want at least 1", c.Int("n"))
	}
	d, err := c.WrapDim(c.Int("dim"), len(c.Self().Sizes))
	return []int{d}, err
}

func fftNorm(c *ops.Call) int64 { return 0 }

func r2c(c *ops.Call, x *tensor.Tensor, dims []int, onesided bool) *tensor.Tensor {
	return c.Do("aten::_fft_r2c", x, ops.DimList(dims), fftNorm(c), onesided)
}

func c2c(c *ops.Call, x *tensor.Tensor, dims []int, forward bool) *tensor.Tensor {
	return c.Do("aten::_fft_c2c", x, ops.DimList(dims), fftNorm(c), forward)
}

func c2r(c *ops.Call, x *tensor.Tensor, dims []int, last int64) *tensor.Tensor {
	return c.Do("aten::_fft_c2r", x, ops.DimList(dims), fftNorm(c), last)
}

func fftOne(forward bool) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		dims, err := oneDim(c)
		if err != nil {
			return nil, err
		}
		real := !c.Self().DType.Complex()
		x := resizeFFT(c, fftInput(c, c.Self(), false), dims, []int64{c.IntOr("n", -1)})
		if real { // the inverse is a conjugated view
			return r2c(c, x, dims, false), nil
		}
		return c2c(c, x, dims, forward), nil
	}
}

// rfft also does ihfft, whose result is a conjugated view.
func rfft(bool) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		dims, err := oneDim(c)
		if err != nil {
			return nil, err
		}
		return r2c(c, resizeFFT(c, fftInput(c, c.Self(), false), dims, []int64{c.IntOr("n", -1)}), dims, true), nil
	}
}

// irfft also does hfft, which conjugates first: that copies.
func irfft(conj bool) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		dims, err := oneDim(c)
		if err != nil {
			return nil, err
		}
		n := c.IntOr("n", -1)
		x := fftInput(c, c.Self(), true)
		if n >= 0 {
			x = resizeFFT(c, x, dims, []int64{n/2 + 1})
		} else {
			n = 2 * (c.Self().Sizes[dims[0]] - 1)
		}
		if n < 1 && c.OK() {
			return nil, c.Errorf("got %v for %d points, want at least 1", c.Self().Sizes, n)
		}
		if conj {
			x = c.Do("aten::clone", x)
		}
		return c2r(c, x, dims, n), nil
	}
}

// manyDims are the dimensions of an n-d transform and their lengths: s names the last ones where
// dim is not given.
func manyDims(c *ops.Call) ([]int, []int64, error) {
	n := len(c.Self().Sizes)
	s := c.Ints("s")
	var dims []int
	switch {
	case c.Has("dim"):
		d, err := c.WrapDims(c.Ints("dim"), n)
		if err != nil {
			return nil, nil, err
		}
		dims = d
	default:
		from := 0
		if c.Has("s") {
			from = n - len(s)
		}
		for i := max(from, 0); i < n; i++ {
			dims = append(dims, i)
		}
	}
	if !c.Has("s") {
		s = slices.Repeat([]int64{-1}, len(dims))
	}
	if len(s) != len(dims) || len(dims) == 0 {
		return nil, nil, c.Errorf("got s %v and %d dims, want as many of both", s, len(dims))
	}
	return dims, s, nil
}

// many is an n-d transform: body gets the input cut or padded to its lengths.
func many(complex bool, body func(c *ops.Call, x *tensor.Tensor, dims []int) any) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		dims, s, err := manyDims(c)
		if err != nil {
			return nil, err
		}
		return body(c, resizeFFT(c, fftInput(c, c.Self(), complex), dims, s), dims), nil
	}
}

func fftMany(forward bool) func(*ops.Call) (any, error) {
	return many(true, func(c *ops.Call, x *tensor.Tensor, dims []int) any { return c2c(c, x, dims, forward) })
}

var rfftMany = many(false, func(c *ops.Call, x *tensor.Tensor, dims []int) any { return r2c(c, x, dims, true) })

// lastSize is the length of the real dimension, and s with that of its complex half.
func lastSize(c *ops.Call, dims []int, s []int64) (int64, []int64, error) {
	k := len(s) - 1
	last := s[k]
	s = slices.Clone(s)
	if len(c.Self().Sizes) == 0 {
		return 0, nil, c.Errorf("got an input without dimensions, want at least 1")
	}
	if last < 0 {
		last = 2 * (c.Self().Sizes[dims[k]] - 1)
	}
	if last == 0 && c.OK() { // of a size of 0 resizeFFT reports
		return 0, nil, c.Errorf("got %v for %d points, want at least 1", c.Self().Sizes, last)
	}
	s[k] = last/2 + 1
	return last, s, nil
}

// manyToReal is an n-d transform to real numbers; body gets the length of its last dimension.
func manyToReal(
	body func(c *ops.Call, x *tensor.Tensor, dims []int, last int64) any,
) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		dims, s, err := manyDims(c)
		if err != nil {
			return nil, err
		}
		last, s, err := lastSize(c, dims, s)
		if err != nil {
			return nil, err
		}
		return body(c, resizeFFT(c, fftInput(c, c.Self(), true), dims, s), dims, last), nil
	}
}

var irfftMany = manyToReal(func(c *ops.Call, x *tensor.Tensor, dims []int, last int64) any {
	return c2r(c, x, dims, last)
})

var hfftMany = manyToReal(func(c *ops.Call, x *tensor.Tensor, dims []int, last int64) any {
	k := len(dims) - 1
	if k > 0 {
		x = c2c(c, x, dims[:k], true)
	}
	return c2r(c, c.Do("aten::clone", x), dims[k:], last)
})

var ihfftMany = many(false, func(c *ops.Call, x *tensor.Tensor, dims []int) any {
	k := len(dims) - 1
	half := r2c(c, x, dims[k:], true)
	if k == 0 {
		return half
	}
	conj := c.Do("aten::clone", half)
	c.Free(half)
	return c2c(c, conj, dims[:k], false)
})

func fftShift(sign int64) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		x := c.Self()
		dims := c.Ints("dim")
		if !c.Has("dim") {
			for i := range x.Sizes {
				dims = append(dims, int64(i))
			}
		}
		shifts := make([]int64, len(dims))
		for i, d := range dims {
			w, err := c.WrapDim(d, len(x.Sizes))
			if err != nil {
				return nil, err
			}
			if len(x.Sizes) == 0 {
				return nil, c.Errorf("got a 0-dim tensor, want at least one dimension")
			}
			shifts[i] = x.Sizes[w] / 2
			if sign < 0 {
				shifts[i] = (x.Sizes[w] + 1) / 2
			}
		}
		return c.Do("aten::roll", x, ops.IntList(shifts...), ops.IntList(dims...)), nil
	}
}
