package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

// outRules write their results into tensors that are given (structured kernels: aten/src/ATen/native/Resize.cpp resize_output). Overloads that
// PyTorch makes of others by a copy are not among them.
var outRules = []Rule{
	{Schema: "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::add.Tensor"), Scratch: intoScratch("aten::add.Tensor")},
	{Schema: "aten::sub.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::sub.Tensor"), Scratch: intoScratch("aten::sub.Tensor")},
	{Schema: "aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::mul.Tensor"), Scratch: intoScratch("aten::mul.Tensor")},
	{Schema: "aten::div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::div.Tensor"), Scratch: intoScratch("aten::div.Tensor")},
	{Schema: "aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::div.Tensor_mode"), Scratch: intoScratch("aten::div.Tensor_mode")},
	{Schema: "aten::pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::pow.Tensor_Tensor"), Scratch: intoScratch("aten::pow.Tensor_Tensor")},
	{Schema: "aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::pow.Tensor_Scalar"), Scratch: intoScratch("aten::pow.Tensor_Scalar")},
	{Schema: "aten::pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::pow.Scalar"), Scratch: intoScratch("aten::pow.Scalar")},
	{Schema: "aten::maximum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::maximum"), Scratch: intoScratch("aten::maximum")},
	{Schema: "aten::minimum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::minimum"), Scratch: intoScratch("aten::minimum")},
	{Schema: "aten::fmax.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::fmax"), Scratch: intoScratch("aten::fmax")},
	{Schema: "aten::fmin.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::fmin"), Scratch: intoScratch("aten::fmin")},
	{Schema: "aten::atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::atan2"), Scratch: intoScratch("aten::atan2")},
	{Schema: "aten::remainder.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::remainder.Tensor"), Scratch: intoScratch("aten::remainder.Tensor")},
	{Schema: "aten::fmod.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::fmod.Tensor"), Scratch: intoScratch("aten::fmod.Tensor")},
	{Schema: "aten::eq.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::eq.Tensor"), Scratch: intoScratch("aten::eq.Tensor")},
	{Schema: "aten::eq.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::eq.Scalar"), Scratch: intoScratch("aten::eq.Scalar")},
	{Schema: "aten::ne.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::ne.Tensor"), Scratch: intoScratch("aten::ne.Tensor")},
	{Schema: "aten::ne.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::ne.Scalar"), Scratch: intoScratch("aten::ne.Scalar")},
	{Schema: "aten::lt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::lt.Tensor"), Scratch: intoScratch("aten::lt.Tensor")},
	{Schema: "aten::lt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::lt.Scalar"), Scratch: intoScratch("aten::lt.Scalar")},
	{Schema: "aten::le.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::le.Tensor"), Scratch: intoScratch("aten::le.Tensor")},
	{Schema: "aten::le.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::le.Scalar"), Scratch: intoScratch("aten::le.Scalar")},
	{Schema: "aten::gt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::gt.Tensor"), Scratch: intoScratch("aten::gt.Tensor")},
	{Schema: "aten::gt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::gt.Scalar"), Scratch: intoScratch("aten::gt.Scalar")},
	{Schema: "aten::ge.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::ge.Tensor"), Scratch: intoScratch("aten::ge.Tensor")},
	{Schema: "aten::ge.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::ge.Scalar"), Scratch: intoScratch("aten::ge.Scalar")},
	{Schema: "aten::logical_and.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::logical_and"), Scratch: intoScratch("aten::logical_and")},
	{Schema: "aten::logical_or.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::logical_or"), Scratch: intoScratch("aten::logical_or")},
	{Schema: "aten::logical_xor.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::logical_xor"), Scratch: intoScratch("aten::logical_xor")},
	{Schema: "aten::logical_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::logical_not"), Scratch: intoScratch("aten::logical_not")},
	{Schema: "aten::bitwise_and.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::bitwise_and.Tensor"), Scratch: intoScratch("aten::bitwise_and.Tensor")},
	{Schema: "aten::bitwise_or.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::bitwise_or.Tensor"), Scratch: intoScratch("aten::bitwise_or.Tensor")},
	{Schema: "aten::bitwise_xor.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::bitwise_xor.Tensor"), Scratch: intoScratch("aten::bitwise_xor.Tensor")},
	{Schema: "aten::bitwise_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::bitwise_not"), Scratch: intoScratch("aten::bitwise_not")},
	{Schema: "aten::abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::abs"), Scratch: intoScratch("aten::abs")},
	{Schema: "aten::neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::neg"), Scratch: intoScratch("aten::neg")},
	{Schema: "aten::ceil.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::ceil"), Scratch: intoScratch("aten::ceil")},
	{Schema: "aten::floor.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::floor"), Scratch: intoScratch("aten::floor")},
	{Schema: "aten::trunc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::trunc"), Scratch: intoScratch("aten::trunc")},
	{Schema: "aten::round.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::round"), Scratch: intoScratch("aten::round")},
	{Schema: "aten::sign.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::sign"), Scratch: intoScratch("aten::sign")},
	{Schema: "aten::exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::exp"), Scratch: intoScratch("aten::exp")},
	{Schema: "aten::exp2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::exp2"), Scratch: intoScratch("aten::exp2")},
	{Schema: "aten::expm1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::expm1"), Scratch: intoScratch("aten::expm1")},
	{Schema: "aten::log.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::log"), Scratch: intoScratch("aten::log")},
	{Schema: "aten::log2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::log2"), Scratch: intoScratch("aten::log2")},
	{Schema: "aten::log10.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::log10"), Scratch: intoScratch("aten::log10")},
	{Schema: "aten::log1p.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::log1p"), Scratch: intoScratch("aten::log1p")},
	{Schema: "aten::sqrt.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::sqrt"), Scratch: intoScratch("aten::sqrt")},
	{Schema: "aten::rsqrt.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::rsqrt"), Scratch: intoScratch("aten::rsqrt")},
	{Schema: "aten::reciprocal.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::reciprocal"), Scratch: intoScratch("aten::reciprocal")},
	{Schema: "aten::sin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::sin"), Scratch: intoScratch("aten::sin")},
	{Schema: "aten::cos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::cos"), Scratch: intoScratch("aten::cos")},
	{Schema: "aten::tan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::tan"), Scratch: intoScratch("aten::tan")},
	{Schema: "aten::asin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::asin"), Scratch: intoScratch("aten::asin")},
	{Schema: "aten::acos.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::acos"), Scratch: intoScratch("aten::acos")},
	{Schema: "aten::atan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::atan"), Scratch: intoScratch("aten::atan")},
	{Schema: "aten::sinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::sinh"), Scratch: intoScratch("aten::sinh")},
	{Schema: "aten::cosh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::cosh"), Scratch: intoScratch("aten::cosh")},
	{Schema: "aten::tanh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::tanh"), Scratch: intoScratch("aten::tanh")},
	{Schema: "aten::sigmoid.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::sigmoid"), Scratch: intoScratch("aten::sigmoid")},
	{Schema: "aten::erf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::erf"), Scratch: intoScratch("aten::erf")},
	{Schema: "aten::erfc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::erfc"), Scratch: intoScratch("aten::erfc")},
	{Schema: "aten::erfinv.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::erfinv"), Scratch: intoScratch("aten::erfinv")},
	{Schema: "aten::lgamma.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::lgamma"), Scratch: intoScratch("aten::lgamma")},
	{Schema: "aten::digamma.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::digamma"), Scratch: intoScratch("aten::digamma")},
	{Schema: "aten::clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::clamp"), Scratch: intoScratch("aten::clamp")},
	{Schema: "aten::clamp.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::clamp.Tensor"), Scratch: intoScratch("aten::clamp.Tensor")},
	{Schema: "aten::clamp_min.out(Tensor self, Scalar min, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::clamp_min"), Scratch: intoScratch("aten::clamp_min")},
	{Schema: "aten::clamp_max.out(Tensor self, Scalar max, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::clamp_max"), Scratch: intoScratch("aten::clamp_max")},
	{Schema: "aten::silu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::silu"), Scratch: intoScratch("aten::silu")},
	{Schema: "aten::mish.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::mish"), Scratch: intoScratch("aten::mish")},
	{Schema: "aten::elu.out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::elu"), Scratch: intoScratch("aten::elu")},
	{Schema: "aten::hardtanh.out(Tensor self, Scalar min_val=-1, Scalar max_val=1, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::hardtanh"), Scratch: intoScratch("aten::hardtanh")},
	{Schema: "aten::leaky_relu.out(Tensor self, Scalar negative_slope=0.01, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::leaky_relu"), Scratch: intoScratch("aten::leaky_relu")},
	{Schema: "aten::softplus.out(Tensor self, Scalar beta=1, Scalar threshold=20, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::softplus"), Scratch: intoScratch("aten::softplus")},
	{Schema: "aten::hardsigmoid.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::hardsigmoid"), Scratch: intoScratch("aten::hardsigmoid")},
	{Schema: "aten::hardswish.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::hardswish"), Scratch: intoScratch("aten::hardswish")},
	{Schema: "aten::threshold.out(Tensor self, Scalar threshold, Scalar value, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::threshold"), Scratch: intoScratch("aten::threshold")},
	{Schema: "aten::where.self_out(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::where.self"), Scratch: intoScratch("aten::where.self")},
	{Schema: "aten::lerp.Scalar_out(Tensor self, Tensor end, Scalar weight, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::lerp.Scalar"), Scratch: intoScratch("aten::lerp.Scalar")},
	{Schema: "aten::lerp.Tensor_out(Tensor self, Tensor end, Tensor weight, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::lerp.Tensor"), Scratch: intoScratch("aten::lerp.Tensor")},
	{Schema: "aten::addcmul.out(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::addcmul"), Scratch: intoScratch("aten::addcmul")},
	{Schema: "aten::addcdiv.out(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::addcdiv"), Scratch: intoScratch("aten::addcdiv")},
	{Schema: "aten::nan_to_num.out(Tensor self, float? nan=None, float? posinf=None, float? neginf=None, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::nan_to_num"), Scratch: intoScratch("aten::nan_to_num")},
	{Schema: "aten::frac.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::frac"), Scratch: intoScratch("aten::frac")},
}

// plain is the call of the overload that gives new results.
func (c *Call) plain(key string) (*Call, error) {
	b, ok := c.M.Table().Lookup(key)
	if !ok {
		return nil, &MissingError{Op: key}
	}
	args := make([]any, len(b.Schema.Args))
	for i := range args {
		args[i] = c.Arg(b.Schema.Args[i].Name)
	}
	return &Call{Bound: b, Args: args, M: c.M}, nil
}

// into is the results of the overload key, in the tensors given for them: one of other sizes is resized, and its storage grows where it must.
func into(key string) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		plain, err := c.plain(key)
		if err != nil {
			return nil, err
		}
		metas, err := plain.Rule.Out(plain)
		if err != nil {
			return nil, err
		}
		metas = slices.Clone(metas)
		given := c.Args[len(c.Args)-len(metas):]
		for i, m := range metas {
			out, ok := given[i].(*tensor.Tensor)
			if !ok {
				return nil, c.Errorf("got %s, want a tensor for the result", TypeName(given[i]))
			}
			if !canCast(m.DType, out.DType) {
				return nil, c.Errorf("got a result of %s and a tensor of %s for it", m.DType, out.DType)
			}
			if out.Device != m.Device {
				return nil, c.Errorf("got a result on %s and a tensor on %s for it", m.Device, out.Device)
			}
			if slices.Equal(out.Sizes, m.Sizes) {
				metas[i] = out.Meta
				continue
			}
			metas[i] = view(out, m.Sizes, m.Strides, out.StorageOffset)
		}
		return metas, nil
	}
}

func intoScratch(key string) func(*Call) []Scratch {
	return func(c *Call) []Scratch {
		plain, err := c.plain(key)
		if err != nil || plain.Rule.Scratch == nil {
			return nil
		}
		return plain.Rule.Scratch(plain)
	}
}

// outReduceRules
var outReduceRules = []Rule{
	{Schema: "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::sum.dim_IntList"), Scratch: intoScratch("aten::sum.dim_IntList")},
	{Schema: "aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::mean.dim"), Scratch: intoScratch("aten::mean.dim")},
	{Schema: "aten::amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::amax"), Scratch: intoScratch("aten::amax")},
	{Schema: "aten::amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::amin"), Scratch: intoScratch("aten::amin")},
	{Schema: "aten::any.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::any.dim"), Scratch: intoScratch("aten::any.dim")},
	{Schema: "aten::all.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::all.dim"), Scratch: intoScratch("aten::all.dim")},
	{Schema: "aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::prod.dim_int"), Scratch: intoScratch("aten::prod.dim_int")},
	{Schema: "aten::argmax.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::argmax"), Scratch: intoScratch("aten::argmax")},
	{Schema: "aten::argmin.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::argmin"), Scratch: intoScratch("aten::argmin")},
	{Schema: "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)", Out: into("aten::max.dim"), Scratch: intoScratch("aten::max.dim")},
	{Schema: "aten::min.dim_min(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) min, Tensor(b!) min_indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: into("aten::min.dim"), Scratch: intoScratch("aten::min.dim")},
	{Schema: "aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::cumsum"), Scratch: intoScratch("aten::cumsum")},
	{Schema: "aten::cumprod.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::cumprod"), Scratch: intoScratch("aten::cumprod")},
	{Schema: "aten::logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::logsumexp"), Scratch: intoScratch("aten::logsumexp")},
	{Schema: "aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: into("aten::sort.stable"), Scratch: intoScratch("aten::sort.stable")},
	{Schema: "aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: into("aten::sort"), Scratch: intoScratch("aten::sort")},
	{Schema: "aten::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: into("aten::topk"), Scratch: intoScratch("aten::topk")},
	{Schema: "aten::kthvalue.values(Tensor self, SymInt k, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: into("aten::kthvalue"), Scratch: intoScratch("aten::kthvalue")},
	{Schema: "aten::median.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: into("aten::median.dim"), Scratch: intoScratch("aten::median.dim")},
	{Schema: "aten::nanmedian.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: into("aten::nanmedian.dim"), Scratch: intoScratch("aten::nanmedian.dim")},
	{Schema: "aten::mode.values(Tensor self, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: into("aten::mode"), Scratch: intoScratch("aten::mode")},
}

// outIndexRules
var outIndexRules = []Rule{
	{Schema: "aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::index_select"), Scratch: intoScratch("aten::index_select")},
	{Schema: "aten::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::gather"), Scratch: intoScratch("aten::gather")},
	{Schema: "aten::tril.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::tril"), Scratch: intoScratch("aten::tril")},
	{Schema: "aten::triu.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::triu"), Scratch: intoScratch("aten::triu")},
}

// outJoinRules
var outJoinRules = []Rule{
	{Schema: "aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)", Out: into("aten::cat"), Scratch: intoScratch("aten::cat")},
}
