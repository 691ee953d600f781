package view_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
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
		{"aten::roll", []any{on(f, 4, 8), ops.IntList(1), ops.IntList(0)}, "+128", "one shift writes the result"},
		{"aten::roll", []any{on(f, 4, 8), ops.IntList(1, 2), ops.IntList(0, 1)}, "+128 +128 -0",
			"the first shift's result lives until the second is written"},
	} {
		got, _ := aten.Call{Op: c.op, Args: c.args}.Run(t, builtin.Table(), aten.On(t, "a10g", "2.15"))
		assert.Equal(t, c.want, got, "%s: %s", c.op, c.why)
	}
}
