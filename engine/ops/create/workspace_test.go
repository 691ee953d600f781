package create_test

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
	f, on := tensor.Float32, aten.Dense
	for _, c := range []struct {
		op   string
		args []any
		want string
		why  string
	}{
		{"aten::dropout", []any{on(f, 64), 0.5, true}, "+64 +256 -0", "the kernel makes the mask first"},
	} {
		got, _ := aten.Call{Op: c.op, Args: c.args}.Run(t, builtin.Table(), aten.On(t, "a10g", "2.15"))
		assert.Equal(t, c.want, got, "%s: %s", c.op, c.why)
	}
}
