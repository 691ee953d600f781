package builtin_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

func onDevice(d tensor.DType, sizes ...int64) *tensor.Tensor {
	return &tensor.Tensor{Meta: ops.NewMeta(d, "cuda", sizes), Storage: &tensor.Storage{}}
}

func TestResolve(t *testing.T) {
	x := onDevice(tensor.Float32, 2, 3)
	zero := onDevice(tensor.Int64)
	zero.Data = &tensor.Data{Ints: []int64{5}}
	ints := ops.NewList(schema.Int, int64(1), int64(2))
	tests := []struct {
		name string
		pos  []any
		kw   ops.Kw
		want string
		why  string
	}{
		{"aten::add", []any{x, x}, nil, "aten::add.Tensor", "two tensors"},
		{"aten::add", []any{x, int64(1)}, nil, "aten::add.Scalar", "a number takes the overload for numbers"},
		{"aten::add", []any{int64(1), int64(2)}, nil, "aten::add.int", "no tensor at all"},
		{"aten::add", []any{1.5, int64(2)}, nil, "aten::add.float_int", "mixed numbers keep their types"},
		{"aten::add", []any{"a", "b"}, nil, "aten::add.str", "strings"},
		{"aten::add", []any{ints, ints}, nil, "aten::add.t", "lists"},
		{"aten::add", []any{x, x}, ops.Kw{"alpha": int64(2)}, "aten::add.Tensor", "a keyword-only argument"},
		{"aten::size", []any{x}, nil, "aten::size", "all sizes"},
		{"aten::size", []any{x, int64(1)}, nil, "aten::size.int", "one size"},
		{"aten::slice", []any{x, int64(0)}, nil, "aten::slice.Tensor", "a tensor"},
		{"aten::slice", []any{ints, int64(0)}, nil, "aten::slice.t", "a list"},
		{"aten::sum", []any{x, ints}, nil, "aten::sum.dim_IntList", "dimensions"},
		{"aten::view", []any{x, ops.NewList(schema.Int, zero)}, nil, "aten::view", "a known 0-dim tensor passes for an int " +
			"in the second round"},
	}
	for _, tt := range tests {
		t.Run(tt.want+" "+tt.why, func(t *testing.T) {
			b, args, err := builtin.Table().Resolve(tt.name, tt.pos, tt.kw)
			require.NoError(t, err)
			require.Equal(t, tt.want, b.Schema.Key())
			require.Len(t, args, len(b.Schema.Args), "defaults are filled in")
		})
	}
	_, _, err := builtin.Table().Resolve("aten::no_such_thing", nil, nil)
	var missing *ops.MissingError
	require.True(t, errors.As(err, &missing))
	_, _, err = builtin.Table().Resolve("aten::relu", []any{"text"}, nil)
	var none *ops.NoOverloadError
	require.True(t, errors.As(err, &none))
	require.Equal(t, "str", none.Got)
}

// FuzzResolve holds that no arguments make overload resolution panic, and that what it returns fits
// its schema.
func FuzzResolve(f *testing.F) {
	keys := builtin.Table().Keys()
	f.Add(uint16(0), []byte{0, 1})
	f.Add(uint16(77), []byte{5, 3, 2})
	f.Add(uint16(400), []byte{8, 8, 8, 1, 0})
	f.Fuzz(func(t *testing.T, n uint16, kinds []byte) {
		if len(kinds) > 12 {
			return
		}
		name := schema.NameOf(keys[int(n)%len(keys)] + "(")
		args := make([]any, len(kinds))
		for i, k := range kinds {
			args[i] = valueOfKind(k)
		}
		b, full, err := builtin.Table().Resolve(name, args, nil)
		if err != nil {
			return
		}
		if !b.Schema.VarArgs && len(full) != len(b.Schema.Args) {
			t.Fatalf("%s: got %d arguments, want %d", b.Schema.Key(), len(full), len(b.Schema.Args))
		}
	})
}

func valueOfKind(k byte) any {
	switch k % 14 {
	case 0:
		return onDevice(tensor.Float32, 2, 3)
	case 1:
		return int64(k)
	case 2:
		return 1.5
	case 3:
		return k&16 != 0
	case 4:
		return "text"
	case 5:
		return ops.NewList(schema.Int, int64(1), int64(2))
	case 6:
		return ops.NewList(schema.Tensor, onDevice(tensor.Int64, 4))
	case 7:
		return nil
	case 8:
		return ops.Device("cuda")
	case 9:
		return &ops.Tuple{Items: []any{int64(1), nil}}
	case 10:
		return &ops.Dict{Keys: []any{"a"}, Values: []any{int64(1)}}
	case 11:
		return ops.NewUnbacked("x", schema.Any)
	case 12:
		return ops.NewList(schema.Any)
	}
	return complex(1, 2)
}
