package nn

import (
	"math"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// batchNormCuDNN says whether batch norm goes to cuDNN (Normalization.cpp
// _select_batch_norm_backend).
func batchNormCuDNN(c *ops.Call) bool {
	x, w := c.T("input"), c.T("weight")
	mean, variance := c.T("running_mean") != nil, c.T("running_var") != nil
	training := c.Bool("training")
	limit := int64(65535)
	if training {
		limit = 880801
	}
	return ops.OnCUDA(x) && x.DType != tensor.BFloat16 && w != nil && c.T("bias") != nil &&
		(x.DType != tensor.Float16 || w.DType == tensor.Float32) &&
		(mean && variance || !mean && !variance && training) && len(x.Sizes) >= 3 && x.Sizes[0] <= limit &&
		x.Numel() <= math.MaxInt32
}

func batchNormIndex(c *ops.Call) (any, error) {
	x := c.T("input")
	if len(x.Sizes) < 2 && x.Numel() > 0 {
		return nil, c.Errorf("got input %v, want at least 2 dimensions", x.Sizes)
	}
	empty := func(d tensor.DType, n int64) *tensor.Tensor {
		return c.Do("aten::empty.memory_format", ops.IntList(n),
			ops.Kw{"dtype": int64(d), "device": ops.Device(x.Device)})
	}
	switch {
	case x.Numel() == 0:
		n := x.Sizes[min(1, len(x.Sizes)-1)]
		reserve, mean, invstd := empty(tensor.Uint8, 0), empty(x.DType.AccumulateType(),
			n), empty(x.DType.AccumulateType(), n)
		out := c.Do("aten::clone", x)
		if w := c.T("weight"); w != nil {
			out = c.Do("aten::mul.Tensor", out, c.Do("aten::select.int", w, int64(0), int64(0)))
		}
		if b := c.T("bias"); b != nil {
			out = c.Do("aten::add.Tensor", out, c.Do("aten::select.int", b, int64(0), int64(0)))
		}
		return c.Tuple(out, mean, invstd, reserve, int64(0)), nil
	case batchNormCuDNN(c):
		args := make([]any, 0, 8)
		args = append(args, c.Do("aten::contiguous", x, int64(x.SuggestFormat())))
		for _, name := range []string{"weight", "bias", "running_mean", "running_var"} {
			if t := c.T(name); t != nil {
				args = append(args, c.Do("aten::contiguous", t, int64(tensor.Contiguous)))
			} else {
				args = append(args, nil)
			}
		}
		ts := c.DoParts("aten::cudnn_batch_norm", append(args, c.Arg("training"), c.Arg("momentum"), c.Arg("eps"))...)
		return c.Tuple(ops.OrNone(ts[0]), ops.OrNone(ts[1]), ops.OrNone(ts[2]), ops.OrNone(ts[3]), int64(1)), nil
	}
	reserve := empty(tensor.Uint8, 0)
	ts := c.DoParts("aten::native_batch_norm", x, c.Arg("weight"), c.Arg("bias"), c.Arg("running_mean"),
		c.Arg("running_var"), c.Arg("training"), c.Arg("momentum"), c.Arg("eps"))
	return c.Tuple(ops.OrNone(ts[0]), ops.OrNone(ts[1]), ops.OrNone(ts[2]), reserve, int64(0)), nil
}

func batchNorm(c *ops.Call) (any, error) {
	return c.DoGet(0, "aten::_batch_norm_impl_index", c.Args...), nil
}

// checkChannels refuses per-channel arguments of another length.
func checkChannels(c *ops.Call, n int64, names ...string) error {
	for _, name := range names {
		if t := c.T(name); t != nil && (t.Numel() != n || len(t.Sizes) != 1) {
			return c.Errorf("got %s of sizes %v, want a vector of %d", name, t.Sizes, n)
		}
	}
	return nil
}

// cudnnBatchNorm keeps statistics only in training; its reserve is empty except channels last in
// training, whose size cuDNN decides.
func cudnnBatchNorm(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("input")
	if len(x.Sizes) < 2 {
		return nil, c.Errorf("got input %v, want at least 2 dimensions", x.Sizes)
	}
	if err := checkChannels(c, x.Sizes[1], "weight", "bias", "running_mean", "running_var"); err != nil {
		return nil, err
	}
	n := int64(0)
	if c.Bool("training") {
		n = x.Sizes[1]
	}
	// the mean; of the same sizes: the inverse deviation, and the reserve where there is none
	saved := ops.FreshAs(x, c.T("weight").DType, n)
	reserve := saved
	if reserve.DType = tensor.Uint8; n > 0 {
		reserve = ops.FreshAs(x, tensor.Uint8, 0)
	}
	return []tensor.Meta{ops.FreshFormat(x, x.SuggestFormat(), x.Sizes...), saved, saved, reserve}, nil
}

func cudnnBatchNormWorkspace(c *ops.Call) []workspace.Request {
	return workspace.CuDNNBatchNorm(&c.T("input").Meta, c.Bool("training"))
}

func nativeBatchNorm(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("input")
	if len(x.Sizes) < 2 {
		return nil, c.Errorf("got input %v, want at least 2 dimensions", x.Sizes)
	}
	if err := checkChannels(c, x.Sizes[1], "weight", "bias", "running_mean", "running_var"); err != nil {
		return nil, err
	}
	n := x.Sizes[1]
	if x.Device == "cpu" && !c.Bool("training") {
		n = 0
	}
	d := x.DType.AccumulateType()
	f := tensor.Preserve
	if x.Device == "cpu" {
		f = x.SuggestFormat()
	}
	return []tensor.Meta{ops.EmptyLike(x, x.DType, f), ops.FreshAs(x, d, n), ops.FreshAs(x, d, n)}, nil
}

// updatedBatchNorm is the same with cuDNN's reserve, which is empty where no gradient is wanted
// (native/cuda/Normalization.cu).
func updatedBatchNorm(c *ops.Call) ([]tensor.Meta, error) {
	ms, err := nativeBatchNorm(c)
	if err != nil {
		return nil, err
	}
	return append(ms, ops.FreshAs(c.T("input"), tensor.Uint8, 0)), nil
}

func functionalBatchNorm(c *ops.Call) ([]tensor.Meta, error) {
	ms, err := nativeBatchNorm(c)
	if err != nil {
		return nil, err
	}
	return append(ms, ops.FreshLike(c.T("running_mean"), c.T("running_mean").Sizes...),
		ops.FreshLike(c.T("running_var"), c.T("running_var").Sizes...)), nil
}

// instanceNorm is a batch norm over batch × channels.
func instanceNorm(c *ops.Call) (any, error) {
	x := c.T("input")
	if len(x.Sizes) < 2 {
		return nil, c.Errorf("got input %v, want at least 2 dimensions", x.Sizes)
	}
	b, ch := x.Sizes[0], x.Sizes[1]
	repeat := func(name string) *tensor.Tensor {
		if t := c.T(name); t != nil {
			return c.Do("aten::repeat", t, ops.IntList(b))
		}
		return nil
	}
	w, bias, mean, variance := repeat("weight"), repeat("bias"), repeat("running_mean"), repeat("running_var")
	shape := append([]int64{1, b * ch}, x.Sizes[2:]...)
	flat := c.Do("aten::view", c.Do("aten::contiguous", x), ops.IntList(shape...))
	out := c.Do("aten::batch_norm", flat, ops.OrNone(w), ops.OrNone(bias), ops.OrNone(mean), ops.OrNone(variance),
		c.Arg("use_input_stats"), c.Arg("momentum"), c.Arg("eps"), c.Arg("cudnn_enabled"))
	if c.Bool("use_input_stats") || c.T("running_mean") == nil {
		for _, s := range []struct {
			name string
			t    *tensor.Tensor
		}{{"running_mean", mean}, {"running_var", variance}} {
			if s.t == nil {
				continue
			}
			m := c.Do("aten::mean.dim", c.Do("aten::view", s.t, ops.IntList(b, ch)), ops.IntList(0), false)
			c.Do("aten::copy_", c.T(s.name), m)
			c.Free(m)
		}
	}
	return c.Do("aten::view", out, ops.IntList(x.Sizes...)), nil
}
