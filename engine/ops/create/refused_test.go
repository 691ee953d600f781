package create_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestSomeNumber: there is a number from low on below high, also where none is drawn ("random_
// expects 'from' to be less than 'to'").
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
		{"aten::randint", []any{int64(3), int64(3), ops.IntList(2)}, "aten::randint: got numbers from 3 below 3, want at " +
			"least one"},
		{"aten::randint", []any{int64(5), int64(3), ops.IntList(0)}, "aten::randint: got numbers from 5 below 3, want at " +
			"least one"},
		{"aten::randint", []any{int64(0), ops.IntList(2), like}, "aten::randint: got numbers " +
			"from 0 below 0, want at least one"},
		{"aten::randint_like", []any{like, int64(1)}, ""},
		{"aten::randint_like", []any{like, int64(0)}, "aten::randint_like: got numbers from 0 below 0, want at least one"},
		{"aten::randint_like", []any{like, int64(3), int64(4)}, ""},
		{"aten::randint_like", []any{like, int64(3), int64(3)}, "aten::randint_like: got numbers from 3 below 3, want at " +
			"least one"},
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

// TestAutocastCasts: TorchScript's autocast casts what is on a device, or on the host, to the dtype
// it has for it where it is on there; float64 and what is no real number stay.
func TestAutocastCasts(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	const reduced, whole = "aten::_autocast_to_reduced_precision", "aten::_autocast_to_full_precision"
	for _, tt := range []struct {
		why       string
		op        string
		d         tensor.DType
		device    string
		cuda, cpu bool
		want      tensor.DType
	}{
		{"on for the host", reduced, tensor.Float32, "cpu", false, true, tensor.BFloat16},
		{"on for the device, not here", reduced, tensor.Float32, "cpu", true, false, tensor.Float32},
		{"off", reduced, tensor.Float32, "cpu", false, false, tensor.Float32},
		{"on for the device", reduced, tensor.Float32, "cuda", true, false, tensor.Float16},
		{"on for the host, not here", reduced, tensor.Float32, "cuda", false, true, tensor.Float32},
		{"off on a device", reduced, tensor.Float32, "cuda", false, false, tensor.Float32},
		{"both on, on the device", reduced, tensor.Float32, "cuda", true, true, tensor.Float16},
		{"it is of that dtype", reduced, tensor.Float16, "cuda", true, true, tensor.Float16},
		{"float64 stays", reduced, tensor.Float64, "cuda", true, true, tensor.Float64},
		{"integers stay", reduced, tensor.Int64, "cuda", true, true, tensor.Int64},
		{"back, on the device", whole, tensor.Float16, "cuda", true, false, tensor.Float32},
		{"back, on the host", whole, tensor.BFloat16, "cpu", false, true, tensor.Float32},
		{"not back where it is off", whole, tensor.Float16, "cuda", false, true, tensor.Float16},
		{"nor on the host", whole, tensor.BFloat16, "cpu", true, false, tensor.BFloat16},
		{"integers stay then too", whole, tensor.Int64, "cpu", true, true, tensor.Int64},
	} {
		x := h.Bench.Tensor(ops.NewMeta(tt.d, tt.device, []int64{5}), nil)
		args := []any{x, tt.cuda, tt.cpu}
		if tt.op == reduced {
			args = append(args, int64(tensor.Float16), int64(tensor.BFloat16))
		}
		got, _, err := h.Bench.Run(tt.op, args, nil)
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, got.(*tensor.Tensor).DType, tt.why)
		assert.Equal(t, tt.want == tt.d, got == any(x), "%s: what needs no cast is the tensor itself", tt.why)
	}
}
