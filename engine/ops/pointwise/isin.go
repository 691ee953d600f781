package pointwise

import (
	"math"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// inPairs says whether isin compares each element with each that is looked for; else it sorts all
// of them (native/TensorCompare.cpp isin_Tensor_Tensor_out).
func inPairs(elements, tests int64) bool {
	return float64(tests) < float32Of(10*math.Pow(float64(elements), float32Of(0.145)))
}

func float32Of(f float64) float64 { return float64(float32(f)) }

// isInWorkspace is the comparisons of all pairs and, of each element, whether one of them holds.
func isInWorkspace(c *ops.Call) []workspace.Request {
	const source = "native/cuda/TensorCompare.cpp isin_default_kernel_gpu"
	tests := c.T("test_elements")
	if !ops.OnCUDA(tests) {
		return nil
	}
	var out []workspace.Request
	elements := int64(1)
	if t, ok := c.Args[0].(*tensor.Tensor); ok {
		elements = t.Numel()
	} else {
		out = append(out, workspace.CopyOf(&tensor.Meta{DType: numberDType(c.Args[0])}, source))
	}
	if n := elements * tests.Numel(); elements > 0 && inPairs(elements, tests.Numel()) {
		out = append(out, workspace.Make(0), workspace.CopyOf(bools(n), source),
			workspace.CopyOf(bools(elements), source))
	}
	return out
}

func bools(n int64) *tensor.Meta {
	return &tensor.Meta{DType: tensor.Bool, Sizes: []int64{n}, Strides: []int64{1}}
}

// numberDType is that of the tensor that PyTorch makes of a number (native/ScalarOps.h
// wrapped_scalar_tensor): as wide as Python's.
func numberDType(v any) tensor.DType {
	switch v.(type) {
	case bool:
		return tensor.Bool
	case complex128:
		return tensor.Complex128
	}
	return tensor.Float64
}

// ofSorts is a call that sorts, or compares elements of other dtypes.
func ofSorts(c *ops.Call) string {
	tests := c.T("test_elements")
	if tests == nil {
		return ""
	}
	elements := int64(1)
	if t, ok := c.Args[0].(*tensor.Tensor); ok {
		elements = t.Numel()
		if t.DType != tests.DType {
			return "elements of two dtypes"
		}
	}
	if elements*tests.Numel() > 0 && !inPairs(elements, tests.Numel()) {
		return "the sorts of all elements"
	}
	return ""
}
