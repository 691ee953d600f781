package torchscript

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// TestMethodOfACompiledClass: what a method of an object of C++ takes is not known, so it is listed
// with its line, as an operator that no rule has.
func TestMethodOfACompiledClass(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	a, err := artifact.Decode(fstest.MapFS{"version": file("3\n"), "constants.pkl": file("\x80\x02)."),
		"data.pkl": file("\x80\x02c__torch__\nM\n)\x81}(ub."),
		"code/__torch__.py": file("class M(Module):\n  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" +
			"    r = ops.profiler._record_function_enter_new(\"a\", None)\n    n = (r).state()\n    return x\n")})
	require.NoError(t, err)
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	x := tensor.Meta{DType: tensor.Float32, Sizes: []int64{2}, Strides: []int64{1}, Device: exec.Accelerator}
	done, err := exec.Run(context.Background(), New(a.Program), builtin.Table(),
		exec.Options{Inputs: []exec.Input{{Value: x}}, Platform: &none})
	require.NoError(t, err)
	found := done.Trace.Coverage.Unsupported
	require.Len(t, found, 1)
	assert.Equal(t, "state", found[0].Op)
	assert.Equal(t, trace.CustomClass, found[0].Reason)
}
