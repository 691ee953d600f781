// Package index holds the operators that read or write elements by position or mask: index, gather,
// scatter, nonzero, diagonals, triangles.
package index

import "github.com/memspec/memspec/engine/ops"

// Rules are the family's rows. Overloads of one name stand in PyTorch's order.
var Rules = ops.WithLacks(lacks,
	indexRules, outRules,
)
