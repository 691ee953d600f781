package index

import (
	"github.com/memspec/memspec/engine/ops"
)

// outRules
var outRules = []ops.Rule{
	{Schema: "aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::tril.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::triu.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::scatter.src_out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into},
	{Schema: "aten::scatter.value_out(Tensor self, int dim, Tensor index, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into},
	{Schema: "aten::scatter_reduce.two_out(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into},
	{Schema: "aten::index_put.out(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, *, Tensor(a!) out) -> Tensor(a!)", Body: indexPutOut},
}

// indexPutOut computes a result and copies it: torchgen made this overload of the one without out=
// (torchgen/gen_functionalization_type.py, CompositeExplicitAutograd).
func indexPutOut(c *ops.Call) (any, error) {
	made := c.Do("aten::index_put", c.T("self"), c.Arg("indices"), c.T("values"), c.Bool("accumulate"))
	return c.Do("aten::copy_", c.T("out"), made), nil
}
