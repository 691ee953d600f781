package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// maxCuDNNTrain and maxCuDNNEval are the batch sizes cuDNN takes in batch norm (aten/src/ATen/native/Normalization.cpp
// _select_batch_norm_backend).
const (
	maxCuDNNTrain = 880801
	maxCuDNNEval  = 65535
)

// cudnnTakes says whether batch norm goes to cuDNN: not bfloat16, float32 weights under half inputs, weight, bias and running statistics
// there (or none of the statistics in training), at least 3 dimensions.
func (c *Call) cudnnTakes(training bool) bool {
	x, w, b, mean, variance := c.T("input"), c.T("weight"), c.T("bias"), c.T("running_mean"), c.T("running_var")
	if x.Device == "cpu" || x.DType == tensor.BFloat16 || w == nil || b == nil {
		return false
	}
	if x.DType == tensor.Float16 && w.DType != tensor.Float32 || x.DType != tensor.Float16 && x.DType != w.DType {
		return false
	}
	if (mean == nil || variance == nil) && !(training && mean == nil && variance == nil) {
		return false
	}
	limit := int64(maxCuDNNEval)
	if training {
		limit = maxCuDNNTrain
	}
	const cudnnMinEpsilon = 0 // CUDNN_BN_MIN_EPSILON since cuDNN 7.5
	return len(x.Sizes) >= 3 && x.Sizes[0] <= limit && c.Float("eps") >= cudnnMinEpsilon && x.Numel() < 1<<31-1
}

func batchNorm(c *Call) (any, error) {
	x, training := c.T("input"), c.Bool("training")
	if len(x.Sizes) < 2 && x.Numel() > 0 {
		return nil, c.Errorf("got %d dimensions, want at least 2", len(x.Sizes))
	}
	if x.Numel() == 0 {
		return emptyBatchNorm(c, x)
	}
	for _, name := range []string{"weight", "bias", "running_mean", "running_var"} {
		if t := c.T(name); t != nil && t.Numel() != x.Sizes[1] {
			return nil, c.Errorf("got %s of %d elements for %d channels, want one a channel", name, t.Numel(), x.Sizes[1])
		}
	}
	var r []*tensor.Tensor
	if c.cudnnTakes(training) {
		if f := x.SuggestFormat(); !x.IsFormat(f) {
			x = c.Do("aten::contiguous", x, int64(f))
			defer c.Free(x) // a temporary of the call: it goes before the statistics do
		}
		r = c.DoList("aten::cudnn_batch_norm", x, c.T("weight"), opt(c.T("bias")), opt(c.T("running_mean")), opt(c.T("running_var")), training, c.Float("momentum"), c.Float("eps"))
	} else {
		r = c.DoList("aten::native_batch_norm", x, opt(c.T("weight")), opt(c.T("bias")), opt(c.T("running_mean")), opt(c.T("running_var")), training, c.Float("momentum"), c.Float("eps"))
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	return r[0], nil
}

// emptyBatchNorm is batch norm of no elements: statistics are made, and let go of.
func emptyBatchNorm(c *Call, x *tensor.Tensor) (any, error) {
	if len(x.Sizes) > 1 {
		for range 2 {
			c.Do("aten::empty.memory_format", c.ints([]int64{x.Sizes[1]}), Kw{"dtype": int64(accumulate(x.DType)), "device": Device(x.Device)})
		}
	}
	return c.Do("aten::clone", x), c.Err()
}

// cudnnBatchNorm keeps mean and variance in training only; reserve is 0 bytes where no device tells otherwise.
func cudnnBatchNorm(c *Call) ([]tensor.Meta, error) {
	x := c.T("input")
	channels := int64(0)
	if c.Bool("training") {
		channels = x.Sizes[1]
	}
	save := newMeta(c.T("weight").DType, x.Device, []int64{channels})
	reserve := newMeta(tensor.Uint8, x.Device, []int64{0})
	return []tensor.Meta{freshFormat(x, x.SuggestFormat(), x.Sizes...), save, save, reserve}, nil
}

// nativeBatchNorm makes the saved statistics also in inference, in the accumulation type.
func nativeBatchNorm(c *Call) ([]tensor.Meta, error) {
	x := c.T("input")
	if len(x.Sizes) < 2 {
		return nil, c.Errorf("got %d dimensions, want at least 2", len(x.Sizes))
	}
	d, n := accumulate(x.DType), x.Sizes[1]
	if x.Device == "cpu" && c.Schema.ArgIndex("training") >= 0 && !c.Bool("training") || c.Schema.Name == "aten::_native_batch_norm_legit_no_training" && x.Device == "cpu" {
		n = 0
	}
	save := newMeta(d, x.Device, []int64{n})
	return []tensor.Meta{emptyLike(x, x.DType, x.SuggestFormat()), save, save}, nil
}

// accumulate is at::toAccumulateType on CUDA: half types add up in float32.
func accumulate(d tensor.DType) tensor.DType {
	if d == tensor.Float16 || d == tensor.BFloat16 {
		return tensor.Float32
	}
	return d
}

func layerNorm(c *Call) (any, error) {
	r := c.DoList("aten::native_layer_norm", c.T("input"), c.Arg("normalized_shape"), opt(c.T("weight")), opt(c.T("bias")), c.Float("eps"))
	if c.Err() != nil {
		return nil, c.Err()
	}
	return r[0], nil
}

// normalized checks that the last dimensions are those to normalise, and returns the sizes of their statistics.
func (c *Call) normalized(x *tensor.Tensor) ([]int64, error) {
	shape := c.Ints("normalized_shape")
	lead := len(x.Sizes) - len(shape)
	if len(shape) == 0 || lead < 0 || !slices.Equal(x.Sizes[lead:], shape) {
		return nil, c.Errorf("got input %v, want its last sizes to be %v", x.Sizes, shape)
	}
	for _, name := range []string{"weight", "bias"} {
		if w := c.T(name); w != nil && !slices.Equal(w.Sizes, shape) {
			return nil, c.Errorf("got %s %v, want %v", name, w.Sizes, shape)
		}
	}
	stat := slices.Clone(x.Sizes[:lead])
	for range shape {
		stat = append(stat, 1)
	}
	return stat, nil
}

func nativeLayerNorm(c *Call) ([]tensor.Meta, error) {
	x := c.T("input")
	stat, err := c.normalized(x)
	if err != nil {
		return nil, err
	}
	d := accumulate(x.DType)
	s := newMeta(d, x.Device, stat)
	return []tensor.Meta{fresh(x, x.Sizes...), s, s}, nil
}

func groupNorm(c *Call) (any, error) {
	x, groups := c.T("input"), c.Int("num_groups")
	if len(x.Sizes) < 2 || groups <= 0 || x.Sizes[1]%groups != 0 {
		return nil, c.Errorf("got input %v for %d groups, want channels that divide", x.Sizes, groups)
	}
	n, ch := x.Sizes[0], x.Sizes[1]
	hxw := int64(1)
	for _, d := range x.Sizes[2:] {
		hxw *= d
	}
	r := c.DoList("aten::native_group_norm", x, opt(c.T("weight")), opt(c.T("bias")), n, ch, hxw, groups, c.Float("eps"))
	if c.Err() != nil {
		return nil, c.Err()
	}
	return r[0], nil
}

func nativeGroupNorm(c *Call) ([]tensor.Meta, error) {
	x := c.T("input")
	d := x.DType
	s := newMeta(d, x.Device, []int64{c.Int("N"), c.Int("group")})
	return []tensor.Meta{emptyLike(x, x.DType, x.SuggestFormat()), s, s}, nil
}

// instanceNorm is batch norm over [1, B*C, …] with the channels' tensors repeated (aten/src/ATen/native/Normalization.cpp).
func instanceNorm(c *Call) (any, error) {
	x := c.T("input")
	if len(x.Sizes) < 2 {
		return nil, c.Errorf("got %d dimensions, want at least 2", len(x.Sizes))
	}
	n, ch := x.Sizes[0], x.Sizes[1]
	rep := func(name string) any {
		t := c.T(name)
		if t == nil {
			return nil
		}
		return c.Do("aten::repeat", t, c.ints([]int64{n}))
	}
	w, b, mean, variance := rep("weight"), rep("bias"), rep("running_mean"), rep("running_var")
	shape := append([]int64{1, n * ch}, x.Sizes[2:]...)
	y := c.Do("aten::view", c.Do("aten::contiguous", x), c.ints(shape))
	out := c.Do("aten::batch_norm", y, w, b, mean, variance, c.Bool("use_input_stats"), c.Float("momentum"), c.Float("eps"), c.Bool("cudnn_enabled"))
	for _, v := range []any{mean, variance} {
		t, ok := v.(*tensor.Tensor)
		if ok && c.Bool("use_input_stats") {
			m := c.Do("aten::mean.dim", c.Do("aten::view", t, c.ints([]int64{n, ch})), c.ints([]int64{0}), false)
			c.Free(m)
		}
	}
	return c.Do("aten::view", out, c.ints(x.Sizes)), c.Err()
}

// rmsNorm is fused where weight and input share a dtype, else made of parts in float32 (aten/src/ATen/native/layer_norm.cpp).
func rmsNorm(c *Call) (any, error) {
	x, w := c.T("input"), c.T("weight")
	if _, err := c.normalized(x); err != nil {
		return nil, err
	}
	if x.Device != "cpu" && (w == nil || w.DType == x.DType) && x.DType.Floating() && c.Platform().Torch.AtLeast(2, 9) {
		r := c.DoList("aten::_fused_rms_norm", x, c.Arg("normalized_shape"), opt(w), c.Arg("eps"))
		if c.Err() != nil {
			return nil, c.Err()
		}
		return r[0], nil
	}
	dims := &List{Elem: schema.Int}
	for i := range c.Ints("normalized_shape") {
		dims.Items = append(dims.Items, int64(-1-i))
	}
	up := x
	if x.DType == tensor.Float16 || x.DType == tensor.BFloat16 {
		up = c.Do("aten::to.dtype", x, int64(tensor.Float32))
	}
	sq := c.Do("aten::pow.Tensor_Scalar", up, int64(2))
	mean := c.Do("aten::mean.dim", sq, dims, true)
	c.Do("aten::add_.Scalar", mean, 1e-6)
	r := c.Do("aten::rsqrt", mean)
	c.Free(mean, sq)
	y := c.Do("aten::mul.Tensor", up, r)
	if w != nil {
		z := c.Do("aten::mul.Tensor", y, w)
		c.Free(y)
		y = z
	}
	if up != x {
		c.Free(up)
	}
	return c.Do("aten::type_as", y, x), c.Err()
}

func fusedRMSNorm(c *Call) ([]tensor.Meta, error) {
	x := c.T("input")
	stat, err := c.normalized(x)
	if err != nil {
		return nil, err
	}
	return []tensor.Meta{fresh(x, x.Sizes...), newMeta(accumulate(x.DType), x.Device, stat)}, nil
}
