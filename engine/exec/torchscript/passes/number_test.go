package passes

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestNumber: which constants are numbers. Their values may be of another kind than their dtype
// only where an archive is not PyTorch's.
func TestNumber(t *testing.T) {
	ints, floats := &tensor.Data{Ints: []int64{7}}, &tensor.Data{Floats: []float64{2.5}}
	for _, tt := range []struct {
		why   string
		dtype tensor.DType
		sizes []int64
		data  *tensor.Data
		want  any
	}{
		{"an int", tensor.Int64, nil, ints, int64(7)},
		{"a small int", tensor.Uint8, nil, ints, int64(7)},
		{"a bool", tensor.Bool, nil, ints, true},
		{"false", tensor.Bool, nil, &tensor.Data{Ints: []int64{0}}, false},
		{"a float", tensor.Float32, nil, floats, 2.5},
		{"a half", tensor.Float16, nil, floats, 2.5},
		{"a complex number is none that is read", tensor.Complex64, nil, floats, nil},
		{"an int with a float's value", tensor.Int64, nil, floats, nil},
		{"a bool with a float's value", tensor.Bool, nil, floats, nil},
		{"a float with an int's value", tensor.Float32, nil, ints, nil},
		{"an int of two values", tensor.Int64, nil, &tensor.Data{Ints: []int64{1, 2}}, nil},
		{"a bool of two values", tensor.Bool, nil, &tensor.Data{Ints: []int64{1, 2}}, nil},
		{"a float of two values", tensor.Float64, nil, &tensor.Data{Floats: []float64{1, 2}}, nil},
		{"one with a dimension", tensor.Int64, []int64{1}, ints, nil},
		{"one whose value is not known", tensor.Int64, nil, nil, nil},
	} {
		got, ok := number(&program.State{Meta: tensor.Meta{DType: tt.dtype, Sizes: tt.sizes}, Data: tt.data})
		assert.Equal(t, tt.want, got, tt.why)
		assert.Equal(t, tt.want != nil, ok, tt.why)
	}
	for _, v := range []any{nil, int64(1), "text", 1.5} {
		_, ok := number(v)
		assert.False(t, ok, "%v is no constant of the archive", v)
	}
}
