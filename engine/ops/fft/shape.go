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
	last, sizes := dims[len(dims)-1], halved(c, &x.Meta, dims)
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

// fftWorkspace is what a transform takes beside its result (native/cuda/SpectralOps.cpp): each
// plan's copy of an input that it cannot see as batches of signals, the copy that a transform to
// real numbers overwrites, and what a transform of several plans goes through.
func fftWorkspace(c *ops.Call) []workspace.Request {
	x := &c.Self().Meta
	dims, err := c.WrapDims(c.Ints("dim"), len(x.Sizes))
	if err != nil || len(dims) == 0 || !ops.OnCUDA(c.Self()) || x.Numel() == 0 {
		return nil
	}
	area := func(last int64, plans int) []workspace.Request {
		return (workspace.FFT{Input: x, Dims: dims, Last: last, Plans: plans}).CuFFT(c.Platform())
	}
	one, before := oneCufftPlan(dims), dims[:len(dims)-1]
	switch c.Schema.Name {
	case "aten::_fft_c2c":
		sorted := slices.Clone(dims)
		byStride(sorted, x.Strides)
		return append(batches(x, x.Strides, sorted), area(0, (len(dims)+cufftMaxDims-1)/cufftMaxDims)...)
	case "aten::_fft_c2r":
		out, strides := []workspace.Request{workspace.CopyOf(x, fftSource)}, tensor.ContiguousStrides(x.Sizes)
		if one {
			return append(append(out, batches(x, strides, dims)...), area(c.Int("last_dim_size"), 1)...)
		}
		if len(before) > 0 {
			sorted := slices.Clone(before)
			byStride(sorted, x.Strides)
			out = append(out, workspace.GivenBack(batches(x, x.Strides, sorted))...)
			strides = complexStrides(x.Strides, x.Sizes, before)
		}
		out = append(out, batches(x, strides, dims[len(dims)-1:])...)
		return append(out, area(c.Int("last_dim_size"), len(dims))...)
	case "aten::_fft_r2c":
		if one || len(before) == 0 {
			return append(batches(x, x.Strides, dims), area(0, 1)...)
		}
		m := ops.FreshAs(c.Self(), x.DType.ToComplex(), halved(c, x, dims)...)
		strides := fftStrides(x.Strides, m.Sizes, dims[len(dims)-1:])
		out := append([]workspace.Request{workspace.CopyOf(&m, fftSource)}, workspace.GivenBack(batches(x, x.Strides,
			dims[len(dims)-1:]))...)
		sorted := slices.Clone(before)
		byStride(sorted, strides)
		out = append(out, workspace.Make(0))
		return append(append(out, batches(&m, strides, sorted)...), area(0, len(dims))...)
	}
	return nil
}

const fftSource = "native/cuda/SpectralOps.cpp"

// batches is the copy that _exec_fft makes of an input whose other dimensions, by falling stride,
// are no view of one, or whose signals do not lie as cuFFT takes them.
func batches(x *tensor.Meta, strides []int64, dims []int) []workspace.Request {
	var order []int
	for i := range x.Sizes {
		if !slices.Contains(dims, i) {
			order = append(order, i)
		}
	}
	byStride(order, strides)
	n := len(order)
	order = append(order, dims...)
	sizes, seen := make([]int64, len(order)), make([]int64, len(order))
	for i, d := range order {
		sizes[i], seen[i] = x.Sizes[d], strides[d]
	}
	shape := append([]int64{tensor.Numel(sizes[:n])}, sizes[n:]...)
	if seen, ok := ops.ViewStrides(sizes, seen, shape); ok && embedded(shape, seen) {
		return nil
	}
	return []workspace.Request{workspace.CopyOf(x, fftSource)}
}

// embedded says whether cuFFT can be given these signals, the batch first: each stride is a
// multiple of the next (native/cuda/CuFFTPlanCache.h as_cufft_embed).
func embedded(sizes, strides []int64) bool {
	last := strides[len(strides)-1]
	if last <= 0 || sizes[0] != 1 && strides[0] == 0 {
		return false
	}
	for i := len(strides) - 2; i > 0; i-- {
		switch {
		case sizes[i] == 1:
		case strides[i] <= 0 || strides[i]%last != 0:
			return false
		default:
			last = strides[i]
		}
	}
	return true
}

// halved are the sizes of a transform of real numbers, whose last dimension may have half of them.
func halved(c *ops.Call, x *tensor.Meta, dims []int) []int64 {
	sizes, last := slices.Clone(x.Sizes), dims[len(dims)-1]
	if c.Bool("onesided") {
		sizes[last] = sizes[last]/2 + 1
	}
	return sizes
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
