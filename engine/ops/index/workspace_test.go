package index_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// What kernels take beside results, on a real device.
func TestWorkspace(t *testing.T) {
	f := tensor.Float32
	on, onHost := aten.Dense, aten.Dense(f)
	onHost.Device = "cpu"
	for _, c := range []struct {
		op   string
		args []any
		want string
		why  string
	}{
		{"aten::index", []any{on(f, 64, 2), ops.NewList(schema.Optional, on(tensor.Bool, 64))},
			"+4 +1 -1 +512 +1023 -3 -0 +512 -2",
			"a mask is nonzero first: a count, what counting takes, 64 places, what choosing takes"},
		{"aten::index", []any{on(f, 64, 2), ops.NewList(schema.Optional, on(tensor.Int64, 8))}, "+64",
			"positions are read where they lie"},
		{"aten::index_put_", []any{on(f, 64), ops.NewList(schema.Optional, on(tensor.Bool, 64)), onHost}, "",
			"one value of the host's at a mask is masked_fill"},
		{"aten::index_put_", []any{on(f, 64), ops.NewList(schema.Optional, on(tensor.Bool, 64)), on(f)},
			"+4 +1 -1 +512 +1023 -3 -0 -2", "one of the device's is written at places, as others are"},
	} {
		got, _ := aten.Call{Op: c.op, Args: c.args}.Run(t, builtin.Table(), aten.On(t, "a10g", "2.15"))
		assert.Equal(t, c.want, got, "%s: %s", c.op, c.why)
	}
}
