package ops

import (
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// Rule is one operator overload: a row of the table. Its Schema's alias annotations decide whether
// a result is fresh, a view, or the argument itself; the other fields say what the schema cannot.
type Rule struct {
	// Schema is PyTorch's own text, pasted from testdata/aten/<torch>/schemas.txt. A row of several
	// overloads has $1 and $2 where their texts differ.
	Schema string
	// For lists what $1 and $2 are in each overload: "sin cos", or "int:float Scalar:Scalar" for two.
	For string

	// Exactly one of Out, Body and Host.

	// Out gives the metadata of each tensor the operator returns, in the order of its returns; a
	// list of tensors is flattened and comes last. A Meta with DType tensor.Undefined is an
	// undefined tensor (None). For a result that is an argument written in place (Tensor(a!)) the
	// Meta replaces the argument's own: return c.T("self").Meta where nothing changes.
	Out func(*Call) ([]tensor.Meta, error)
	// Ints are the results of an Out rule that are ints, in the order of its returns.
	Ints func(*Call) []int64
	// Body runs other operators: see Call.Do. What it returns is the operator's result: a tensor, a
	// *Tuple of several results, a *List.
	Body func(*Call) (any, error)
	// Host computes on sizes, numbers, strings and containers; no storage is made. It may return
	// tensors it was given.
	Host func(*Call) (any, error)

	// Copies says whether a may-alias operator (contiguous, reshape, to) copies in this call; then
	// the result is fresh. When it does not copy and Out's Meta equals self's, the result is self.
	Copies func(*Call) bool
	// Value computes the elements of a small CPU result whose inputs are all known; nil where it
	// cannot.
	Value func(*Call) *tensor.Data
	// Workspace is what no tensor shows, in the order it is asked for. It is not asked on the device
	// none.
	Workspace func(*Call) []workspace.Request
	// Lacks is what this call's kernels take on a device, and how long, that no formula gives; ""
	// where all is reported. nil: always.
	Lacks func(*Call) string
	// Ref says where PyTorch states so, when the schema does not.
	Ref string
}
