package create_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestSomeNumber: there is a number from low on below high, also where none is drawn ("random_ expects 'from' to be less than 'to'").
func TestSomeNumber(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	like := h.Of(tensor.Int64, 2)
	for _, tt := range []struct {
		op   string
		args []any
		want string // of an error
	}{
		{"aten::randint", []any{int64(1), ops.IntList(2)}, ""},
		{"aten::randint", []any{int64(0), ops.IntList(2)}, "aten::randint: got numbers from 0 below 0, want at least one"},
		{"aten::randint", []any{int64(3), int64(4), ops.IntList(2)}, ""},
		{"aten::randint", []any{int64(-3), int64(-2), ops.IntList(2)}, ""},
		{"aten::randint", []any{int64(3), int64(3), ops.IntList(2)}, "aten::randint: got numbers from 3 below 3, want at least one"},
		{"aten::randint", []any{int64(5), int64(3), ops.IntList(0)}, "aten::randint: got numbers from 5 below 3, want at least one"},
		{"aten::randint", []any{int64(0), ops.IntList(2), like}, "aten::randint: got numbers from 0 below 0, want at least one"},
		{"aten::randint_like", []any{like, int64(1)}, ""},
		{"aten::randint_like", []any{like, int64(0)}, "aten::randint_like: got numbers from 0 below 0, want at least one"},
		{"aten::randint_like", []any{like, int64(3), int64(4)}, ""},
		{"aten::randint_like", []any{like, int64(3), int64(3)}, "aten::randint_like: got numbers from 3 below 3, want at least one"},
	} {
		var kw ops.Kw
		args := tt.args
		if out, ok := args[len(args)-1].(*tensor.Tensor); ok {
			args, kw = args[:len(args)-1], ops.Kw{"out": out}
		}
		got, _, err := h.Bench.Run(tt.op, args, kw)
		if tt.want != "" {
			assert.EqualError(t, err, tt.want)
			continue
		}
		require.NoError(t, err, tt.op)
		assert.Equal(t, tensor.Int64, got.(*tensor.Tensor).DType, tt.op)
	}
}
