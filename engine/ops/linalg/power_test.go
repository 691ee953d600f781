package linalg_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestMatrixPowers: a power is so many products as torch.linalg.matrix_power dispatches aten::mm
// for it (torch 2.15), squares and what is gathered of them; each takes cuBLAS's workspace, and
// what is left is the result.
func TestMatrixPowers(t *testing.T) {
	for n, products := range map[int64]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 6: 3, 7: 4, 8: 3} {
		call := aten.Call{Op: "aten::linalg_matrix_power", Args: []any{aten.Dense(tensor.Float32, 3, 3), n}}
		got, _ := call.Run(t, builtin.Table(), aten.On(t, "a10g", "2.15"))
		assert.Equal(t, products, strings.Count(got, "+8519680"), "power %d: %s", n, got)
		left := strings.Count(got, "+") - strings.Count(got, "-")
		assert.Equal(t, 1, left, "power %d: %s", n, got)
	}
}
