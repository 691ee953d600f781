package nn

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

const lossSource = "native/Loss.cpp"

// writtenOver is a loss an element whose mean or sum is written over it (mse_loss, smooth_l1_loss;
// binary_cross_entropy and soft_margin_loss where asReduced): the result has no dimensions and
// keeps the storage of all elements. On the way the kernel makes the elements once more, or the
// reduced value beside them. Fake tensors get a separate result.
func writtenOver(asReduced bool) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		m, err := pointLoss(c)
		if err != nil {
			return nil, err
		}
		if c.Int("reduction") == reduceNone || c.OnFakeTensors() || !ops.OnCUDA(c.T("self")) {
			return empty(c, m[0]), nil
		}
		each, err := ops.Pointwise(c)
		if err != nil {
			return nil, err
		}
		if each[0].NBytes() == 0 { // nothing to write over
			if asReduced {
				beside := empty(c, m[0])
				out := empty(c, m[0])
				c.Free(beside)
				return out, nil
			}
			return empty(c, m[0]), nil
		}
		all := empty(c, each[0])
		beside := each[0]
		if asReduced {
			beside = m[0]
		}
		c.Free(empty(c, beside))
		none := ops.IntList()
		return c.Do("aten::as_strided", all, none, none), nil
	}
}

func empty(c *ops.Call, m tensor.Meta) *tensor.Tensor {
	return c.Do("aten::empty_strided", ops.IntList(m.Sizes...), ops.IntList(m.Strides...),
		ops.Kw{"dtype": int64(m.DType), "device": ops.Device(m.Device)})
}

// huberWorkspace is the loss of each element, where their mean or sum is asked for.
func huberWorkspace(c *ops.Call) []workspace.Request {
	each, err := ops.Pointwise(c)
	if err != nil || c.Int("reduction") == reduceNone || !ops.OnCUDA(c.T("self")) {
		return nil
	}
	return []workspace.Request{workspace.CopyOf(&each[0], lossSource), workspace.Make(0)}
}

// logitsWorkspace is the logarithms of the sigmoid, their weights on the way, and the loss of each
// element where their mean or sum is asked for.
func logitsWorkspace(c *ops.Call) []workspace.Request {
	x, y := c.T("self"), c.T("target")
	if !ops.OnCUDA(x) {
		return nil
	}
	out := []workspace.Request{workspace.CopyOf(&x.Meta, lossSource)}
	if w := c.T("pos_weight"); w != nil {
		out = append(out, workspace.CopyOf(&w.Meta, lossSource), workspace.CopyOf(&y.Meta, lossSource))
		out = append(out, workspace.DropOldest(2)...)
	}
	if c.Int("reduction") != reduceNone {
		out = append(out, workspace.CopyOf(&y.Meta, lossSource))
	}
	return append(out, workspace.Make(0))
}

// logitsLoss has the target's dtype: 1 - target, and what is done to it in place.
func logitsLoss(c *ops.Call) ([]tensor.Meta, error) {
	m, err := pointLoss(c)
	if err != nil || c.OnFakeTensors() || !ops.OnCUDA(c.T("self")) || !c.T("target").DType.Floating() {
		return m, err
	}
	m[0].DType = c.T("target").DType
	return m, nil
}

// nllWorkspace is what of the operands does not lie row by row, copied (native/cuda/Loss.cu).
func nllWorkspace(c *ops.Call) []workspace.Request {
	operands := []*tensor.Meta{&c.T("self").Meta, &c.T("target").Meta}
	if w := c.T("weight"); w != nil {
		operands = append(operands, &w.Meta)
	}
	return append([]workspace.Request{workspace.Make(0), workspace.Make(1)},
		workspace.Contiguous("native/cuda/Loss.cu", operands...)...)
}

// nll2dWorkspace are copies of operands that do not lie row by row, where the losses are added up
// (native/cuda/NLLLoss2d.cu).
func nll2dWorkspace(c *ops.Call) []workspace.Request {
	out := []workspace.Request{workspace.Make(1), workspace.Make(0)}
	if c.Int("reduction") == reduceNone {
		return out
	}
	return append(out, workspace.Contiguous("native/cuda/NLLLoss2d.cu", &c.T("self").Meta, &c.T("target").Meta)...)
}

// multiMarginWorkspace is operands that do not lie row by row, copied, and a loss a row where their
// mean or sum is asked for (native/cuda/MultiMarginLoss.cu).
func multiMarginWorkspace(c *ops.Call) []workspace.Request {
	const source = "native/cuda/MultiMarginLoss.cu"
	x := c.T("self")
	if !ops.OnCUDA(x) {
		return nil
	}
	operands := []*tensor.Meta{&x.Meta, &c.T("target").Meta}
	if w := c.T("weight"); w != nil {
		operands = append(operands, &w.Meta)
	}
	out := append([]workspace.Request{workspace.Make(0)}, workspace.Contiguous(source, operands...)...)
	if len(x.Sizes) == 2 && c.Int("reduction") != reduceNone {
		rows := ops.FreshLike(x, x.Sizes[0])
		out = append(out, workspace.CopyOf(&rows, source))
	}
	return out
}

// multilabelWorkspace is the targets of each row, then a loss a row where their mean or sum is
// asked for (native/cuda/MultiLabelMarginCriterion.cu).
func multilabelWorkspace(c *ops.Call) []workspace.Request {
	const source = "native/cuda/MultiLabelMarginCriterion.cu"
	x := c.T("self")
	out := []workspace.Request{workspace.Make(1)}
	if ops.OnCUDA(x) && len(x.Sizes) == 2 && c.Int("reduction") != reduceNone {
		rows := ops.FreshLike(x, x.Sizes[0])
		out = append(out, workspace.CopyOf(&rows, source))
	}
	return append(out, workspace.Make(0))
}
