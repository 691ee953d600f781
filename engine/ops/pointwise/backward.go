package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Gradients as a training run dispatches them (tools/autograd/derivatives.yaml,
// FunctionsManual.cpp).

// bothLike is two gradients of one shape (prelu).
func bothLike(c *ops.Call) ([]tensor.Meta, error) {
	m, err := ops.Pointwise(c)
	if err != nil {
		return nil, err
	}
	return append(m, m[0].Clone()), nil
}

// logSigmoidGradient takes its shape from the gradient and self; the buffer is of the host.
func logSigmoidGradient(c *ops.Call) ([]tensor.Meta, error) {
	return c.Elementwise(c.Self().DType, []*tensor.Tensor{c.T("grad_output"), c.T("self")})
}
