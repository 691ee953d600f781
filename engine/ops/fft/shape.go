package fft

import (
	"cmp"
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// cufftMaxDims is how many dimensions one cuFFT plan transforms.
const cufftMaxDims = 3

// fftStrides is the layout that _exec_fft gives: batch dimensions outside in the order of the
// input's strides, then the transformed ones as listed, densely.
func fftStrides(strides, sizes []int64, dims []int) []int64 {
	if slices.Contains(sizes, 0) {
		return tensor.ContiguousStrides(sizes)
	}
	var order []int
	for i := range sizes {
		if !slices.Contains(dims, i) {
			order = append(order, i)
		}
	}
	byStride(order, strides)
	order = append(order, dims...)
	out := make([]int64, len(sizes))
	next := int64(1)
	for i := len(order) - 1; i >= 0; i-- {
		out[order[i]] = next
		next *= max(sizes[order[i]], 1)
	}
	return out
}

// byStride sorts dimensions by falling stride.
func byStride(dims []int, strides []int64) {
	slices.SortStableFunc(dims, func(a, b int) int { return cmp.Compare(strides[b], strides[a]) })
}

// complexStrides are those of complex transforms over dims, at most three at a time
// (_fft_c2c_cufft).
func complexStrides(strides, sizes []int64, dims []int) []int64 {
	dims = slices.Clone(dims)
	for len(dims) > 0 {
		byStride(dims, strides)
		n := max(len(dims)-cufftMaxDims, 0)
		strides = fftStrides(strides, sizes, dims[n:])
		dims = dims[:n]
	}
	return strides
}

// oneCufftPlan is use_optimized_cufft_path.
func oneCufftPlan(dims []int) bool {
	return len(dims) <= cufftMaxDims && !(len(dims) >= 2 && dims[0] == 0 && dims[1] == 1)
}

// fftDims are the dims of a transform of a tensor of the dtype that it takes.
func fftDims(c *ops.Call, takes func(tensor.DType) bool, what string) ([]int, error) {
	if t := c.Self().DType; !takes(t) {
		return nil, c.Errorf("got %s, want a %s dtype", t, what)
	}
	dims, err := c.WrapDims(c.Ints("dim"), len(c.Self().Sizes))
	if err == nil && len(dims) == 0 {
		err = c.Errorf("got no dims, want at least 1")
	}
	return dims, err
}

func fftC2C(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Self()
	dims, err := fftDims(c, tensor.DType.Complex, "complex")
	if err != nil {
		return nil, err
	}
	m := ops.FreshLike(x, x.Sizes...)
	m.Strides = complexStrides(x.Strides, x.Sizes, dims)
	return ops.One(m)
}

func fftR2C(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Self()
	dims, err := fftDims(c, tensor.DType.Floating, "floating")
	if err != nil {
		return nil, err
	}
	last := dims[len(dims)-1]
	sizes := slices.Clone(x.Sizes)
	if c.Bool("onesided") {
		sizes[last] = sizes[last]/2 + 1
	}
	m := ops.FreshAs(x, x.DType.ToComplex(), sizes...)
	if oneCufftPlan(dims) {
		m.Strides = fftStrides(x.Strides, sizes, dims)
		return ops.One(m)
	}
	m.Strides = fftStrides(x.Strides, sizes, []int{last})
	m.Strides = complexStrides(m.Strides, sizes, dims[:len(dims)-1])
	return ops.One(m)
}

func fftC2R(c *ops.Call) ([]tensor.Meta, error) {
	x := c.Self()
	dims, err := fftDims(c, tensor.DType.Complex, "complex")
	if err != nil {
		return nil, err
	}
	last := dims[len(dims)-1]
	sizes := slices.Clone(x.Sizes)
	sizes[last] = c.Int("last_dim_size")
	m := ops.FreshAs(x, x.DType.ToReal(), sizes...)
	switch {
	case oneCufftPlan(dims):
		m.Strides = fftStrides(tensor.ContiguousStrides(x.Sizes), sizes, dims)
	case len(dims) > 1:
		m.Strides = fftStrides(complexStrides(x.Strides, x.Sizes, dims[:len(dims)-1]), sizes, []int{last})
	default:
		m.Strides = fftStrides(tensor.ContiguousStrides(x.Sizes), sizes, dims)
	}
	return ops.One(m)
}

func fftWorkspace(c *ops.Call) []workspace.Request {
	dims, err := c.WrapDims(c.Ints("dim"), len(c.Self().Sizes))
	if err != nil || len(dims) == 0 {
		return nil
	}
	f := workspace.FFT{Input: &c.Self().Meta, Dims: dims, Plans: 1}
	switch c.Schema.Name {
	case "aten::_fft_c2c":
		f.Plans = (len(dims) + cufftMaxDims - 1) / cufftMaxDims
	case "aten::_fft_c2r":
		f.Last = c.Int("last_dim_size")
		fallthrough
	default:
		if !oneCufftPlan(dims) {
			f.Plans = len(dims)
		}
	}
	return f.CuFFT(c.Platform())
}

func fftFreq(half bool) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		n := c.Int("n")
		if half {
			n = n/2 + 1
		}
		return ops.One(ops.NewMeta(c.DTypeOr("dtype", tensor.Float32), c.DeviceOr("device", "cpu"), []int64{n}))
	}
}
