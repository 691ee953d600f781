package index

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// into is the operator's form that writes in place, which PyTorch takes but on fake tensors.
func into(c *ops.Call, op, overload string) string {
	if !c.OnFakeTensors() {
		op += "_"
	}
	return op + overload
}

// indexSelectGradient adds into zeros.
func indexSelectGradient(c *ops.Call) (any, error) {
	zeros := c.Do("aten::new_zeros", c.Self(), c.Arg("self_sizes"))
	return c.Do(into(c, "aten::index_add", ""), zeros, c.Int("dim"), c.T("index"), c.Self()), nil
}

// gatherGradient is the same with scatter_add.
func gatherGradient(c *ops.Call) (any, error) {
	zeros := c.Do("aten::new_zeros", c.T("self"), ops.IntList(c.T("self").Sizes...))
	return c.Do(into(c, "aten::scatter_add", ""), zeros, c.Int("dim"), c.T("index"), c.Self()), nil
}

// chosenGradient scatters the gradient of a reduction that chose elements (max, sort, topk).
func chosenGradient(c *ops.Call) (any, error) {
	grad, at, dim, sizes := c.Self(), c.T("indices"), c.Int("dim"), c.Ints("sizes")
	if !c.Bool("keepdim") && len(sizes) > 0 {
		grad, at = c.Do("aten::unsqueeze", grad, dim), c.Do("aten::unsqueeze", at, dim)
	}
	zeros := c.Do("aten::new_zeros", grad, ops.IntList(sizes...))
	return c.Do(into(c, "aten::scatter", ".src"), zeros, dim, at, grad), nil
}

// maskedIndex is index without its checks; the mask fills in later.
func maskedIndex(c *ops.Call) ([]tensor.Meta, error) {
	for _, t := range c.Tensors("indices") {
		if t != nil {
			return index(c)
		}
	}
	return ops.FreshSelf(c)
}
