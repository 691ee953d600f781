package torchscript

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// TestAlikeFunctionsAreApart holds that functions of one graph stay their own functions: in what is
// known of a failure, and in the live ranges.
func TestAlikeFunctionsAreApart(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	class := func(name string) *fstest.MapFile {
		return file("class " + name + "(Module):\n  def f(self: __torch__." + name + "." + name +
			", x: Tensor, n: int) -> Tensor:\n    return torch.reshape(x, [n])\n")
	}
	a, err := artifact.Decode(fstest.MapFS{"version": file("3\n"), "constants.pkl": file("\x80\x02)."),
		"data.pkl": file("\x80\x02c__torch__\nM\n)\x81}(ub."),
		"code/__torch__.py": file(`class M(Module):
  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    a = __torch__.A.A.__new__(__torch__.A.A)
    b = __torch__.B.B.__new__(__torch__.B.B)
    y = (a).f(x, 4, )
    return (b).f(y, 7, )
`), "code/__torch__/A.py": class("A"), "code/__torch__/B.py": class("B")})
	require.NoError(t, err)
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	x := tensor.Meta{DType: tensor.Float32, Sizes: []int64{2, 2}, Strides: []int64{2, 1}, Device: exec.Accelerator}
	start, ranges := Watch(a.Program)
	_, err = exec.Run(context.Background(), start, builtin.Table(), exec.Options{Inputs: []exec.Input{{Value: x}},
		Platform: &none, Liveness: exec.PythonFrame})
	require.ErrorContains(t, err, "code/__torch__/B.py:3: ")
	var failed *exec.EvalError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "__torch__.B.B.f", failed.Stack[0].Func)
	require.Equal(t, "aten::reshape", failed.Op)
	_, err = exec.Run(context.Background(), New(a.Program), builtin.Table(), exec.Options{Inputs: []exec.Input{{Value: x}},
		Platform: &none, Liveness: exec.LastUse})
	var inlined *exec.EvalError
	require.ErrorAs(t, err, &inlined)
	require.Equal(t, failed.Op, inlined.Op)
	require.Equal(t, failed.Pos, inlined.Pos)
	require.Equal(t, "__torch__.B.B.f", inlined.Stack[0].Func)
	var names []string
	funcs := ranges()
	for i := range funcs {
		names = append(names, funcs[i].Func.Name)
	}
	require.Equal(t, []string{"__torch__.A.A.f", "__torch__.B.B.f", "__torch__.M.forward"}, names)
	require.Same(t, funcs[0].Graph, funcs[1].Graph)
}
