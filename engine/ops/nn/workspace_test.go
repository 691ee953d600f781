package nn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// The base grid of affine_grid has a coordinate more a point than its result
// (aten/src/ATen/native/AffineGridGenerator.cpp make_base_grid_4D and make_base_grid_5D).
func TestAffineGrid(t *testing.T) {
	for _, tt := range []struct {
		why   string
		theta tensor.Meta
		size  []int64
		want  string
	}{
		{"40 points of 2 coordinates, and of 3", aten.Dense(tensor.Float32, 2, 2, 3), []int64{2, 3, 4, 5}, "+480 +320 -0"},
		{"240 points of 3 coordinates, and of 4", aten.Dense(tensor.Float32, 2, 3, 4), []int64{2, 3, 4, 5, 6},
			"+3840 +2880 -0"},
		{"half as many bytes", aten.Dense(tensor.Float16, 2, 2, 3), []int64{2, 3, 4, 5}, "+240 +160 -0"},
	} {
		got, _ := aten.Call{Op: "aten::affine_grid_generator", Args: []any{tt.theta, ops.IntList(tt.size...), false}}.Run(t,
			builtin.Table(), aten.On(t, "a10g", "2.15"))
		assert.Equal(t, tt.want, got, tt.why)
	}
}
