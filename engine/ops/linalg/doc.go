// Package linalg holds products of matrices (mm, linear, einsum, …) and linear algebra:
// decompositions, solvers, norms of matrices.
package linalg

import "github.com/memspec/memspec/engine/ops"

// Rules are the family's rows. Overloads of one name stand in PyTorch's order.
var Rules = ops.WithLacks(lacks,
	matmulRules, linalgRules,
)
