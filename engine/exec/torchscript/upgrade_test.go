package torchscript

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestUpgrade follows the replacements that torch 2.15 makes in the archives that its own tests
// keep of old versions.
func TestUpgrade(t *testing.T) {
	of := func(d tensor.DType) *tensor.Tensor { return &tensor.Tensor{Meta: tensor.Meta{DType: d}} }
	n, x := of(tensor.Int64), of(tensor.Float32)
	size := ops.NewList(0, int64(2))
	trunc := ops.Kw{"rounding_mode": "trunc"}
	for _, c := range []struct {
		means  program.Upgrade
		args   []any
		kw     ops.Kw
		want   []any
		wantKw ops.Kw
		why    string
	}{
		{program.Div0To3, []any{n, n}, nil, []any{n, n}, trunc, "integers were divided as C does"},
		{program.Div0To3, []any{n, int64(2)}, nil, []any{n, int64(2)}, trunc, "by a number too"},
		{program.Div0To3, []any{n, x}, nil, []any{n, x}, nil, "a real divisor makes it real"},
		{program.Div0To3, []any{n, 2.0}, nil, []any{n, 2.0}, nil, "a real number too"},
		{program.Div0To3, []any{x, int64(2)}, nil, []any{x, int64(2)}, nil, "a real tensor stays so"},
		{program.Div0To3, []any{int64(3), int64(2)}, nil, []any{int64(3), int64(2)}, nil, "numbers are Python's"},
		{program.Full0To4, []any{size, int64(2)}, nil, []any{size, 2.0}, nil, "an int filled floats"},
		{program.Full0To4, []any{size, true}, ops.Kw{"dtype": nil}, []any{size, 1.0}, ops.Kw{"dtype": nil}, "a bool too"},
		{program.Full0To4, []any{size, int64(2)}, ops.Kw{"dtype": int64(4)}, []any{size, int64(2)}, ops.Kw{"dtype": int64(4)},
			"a dtype decides"},
		{program.Full0To4, []any{size, int64(2)}, ops.Kw{"out": x}, []any{size, int64(2)}, ops.Kw{"out": x}, "so does out"},
		{program.Linspace0To7, []any{int64(0), int64(1), nil}, nil, []any{int64(0), int64(1), int64(100)}, nil,
			"100 steps where none were given"},
		{program.Linspace0To7, []any{int64(0), int64(1), int64(5)}, nil, []any{int64(0), int64(1), int64(5)}, nil,
			"else as many as said"},
		{program.Logspace0To8, []any{int64(0), int64(1)}, nil, []any{int64(0), int64(1)}, ops.Kw{"steps": int64(100)},
			"by name where the argument is left out"},
	} {
		args, kw := upgrade(c.means, c.args, c.kw)
		assert.Equal(t, c.want, args, c.why)
		assert.Equal(t, c.wantKw, kw, c.why)
	}
}
