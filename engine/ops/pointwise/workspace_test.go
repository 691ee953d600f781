package pointwise_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// What kernels take beside results, on a real device.
func TestWorkspace(t *testing.T) {
	f := tensor.Float32
	on := aten.Dense
	for _, c := range []struct {
		op   string
		args []any
		want string
		why  string
	}{
		{"aten::where", []any{on(tensor.Bool, 4), on(tensor.Float16, 4), on(f, 4)}, "+16 +16 -0",
			"where casts the odd operand"},
		{"aten::where", []any{on(tensor.Bool, 4), on(f, 4), on(f, 4)}, "+16", "nothing to cast"},
		{"aten::pow", []any{true, on(f, 4)}, "+16 +1 -1", "the base as a tensor, of a bool"},
		{"aten::pow", []any{2.5, on(f, 4)}, "+16 +8 -1", "of a float"},
		{"aten::pow", []any{complex(1, 2), on(f, 4)}, "+32 +16 -1", "of a complex number"},
		{"aten::pow", []any{2.5, on(f, 0)}, "", "none of no elements"},
		{"aten::add", []any{on(tensor.Float16, 4), on(f, 4)}, "+16", "TensorIterator casts inside the kernel"},
	} {
		got, _ := aten.Call{Op: c.op, Args: c.args}.Run(t, builtin.Table(), aten.On(t, "a10g", "2.15"))
		assert.Equal(t, c.want, got, "%s: %s", c.op, c.why)
	}
}
