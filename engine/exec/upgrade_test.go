package exec

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestUpgrade follows the replacements that torch 2.15 makes in the archives that its own tests keep of old versions.
func TestUpgrade(t *testing.T) {
	of := func(d tensor.DType) *tensor.Tensor { return &tensor.Tensor{Meta: tensor.Meta{DType: d}} }
	n, x := of(tensor.Int64), of(tensor.Float32)
	size := ops.NewList(0, int64(2))
	trunc := ops.Kw{"rounding_mode": "trunc"}
	for _, c := range []struct {
		version int
		op      string
		args    []any
		kw      ops.Kw
		want    []any
		wantKw  ops.Kw
		why     string
	}{
		{3, "aten::div", []any{n, n}, nil, []any{n, n}, trunc, "integers were divided as C does"},
		{3, "aten::div_", []any{n, int64(2)}, nil, []any{n, int64(2)}, trunc, "in place too"},
		{3, "aten::div", []any{n, x}, nil, []any{n, x}, nil, "a real divisor makes it real"},
		{3, "aten::div", []any{n, 2.0}, nil, []any{n, 2.0}, nil, "a real number too"},
		{3, "aten::div", []any{x, int64(2)}, nil, []any{x, int64(2)}, nil, "a real tensor stays so"},
		{3, "aten::div", []any{int64(3), int64(2)}, nil, []any{int64(3), int64(2)}, nil, "numbers are Python's"},
		{4, "aten::div", []any{n, n}, nil, []any{n, n}, nil, "version 4 divides as today"},
		{4, "aten::full", []any{size, int64(2)}, nil, []any{size, 2.0}, nil, "an int filled floats"},
		{4, "aten::full", []any{size, true}, ops.Kw{"dtype": nil}, []any{size, 1.0}, ops.Kw{"dtype": nil}, "a bool too"},
		{4, "aten::full", []any{size, int64(2)}, ops.Kw{"dtype": int64(4)}, []any{size, int64(2)}, ops.Kw{"dtype": int64(4)}, "a dtype decides"},
		{4, "aten::full", []any{size, int64(2)}, ops.Kw{"out": x}, []any{size, int64(2)}, ops.Kw{"out": x}, "so does out"},
		{5, "aten::full", []any{size, int64(2)}, nil, []any{size, int64(2)}, nil, "version 5 fills as today"},
		{7, "aten::linspace", []any{int64(0), int64(1), nil}, nil, []any{int64(0), int64(1), int64(100)}, nil, "100 steps where none were given"},
		{7, "aten::linspace", []any{int64(0), int64(1), int64(5)}, nil, []any{int64(0), int64(1), int64(5)}, nil, "else as many as said"},
		{8, "aten::linspace", []any{int64(0), int64(1), nil}, nil, []any{int64(0), int64(1), nil}, nil, "version 8 wants them"},
		{8, "aten::logspace", []any{int64(0), int64(1)}, nil, []any{int64(0), int64(1)}, ops.Kw{"steps": int64(100)}, "logspace a version later"},
	} {
		m := &machine{prog: &program.Program{Version: c.version}}
		args, kw := m.upgrade(c.op, c.args, c.kw)
		assert.Equal(t, c.want, args, c.why)
		assert.Equal(t, c.wantKw, kw, c.why)
	}
}
