// Package view holds the operators that show a tensor in another shape or order, cut it, join
// several, repeat or flip them, with the copying forms of the views.
package view

import "github.com/memspec/memspec/engine/ops"

// Rules are the family's rows. Overloads of one name stand in PyTorch's order.
var Rules = ops.WithLacks(lacks,
	viewRules, copyRules, joinRules, outRules,
)
