// Package prim holds the operators that give no tensor: questions about tensors, arithmetic on
// numbers, strings, lists, dicts and tuples.
package prim

import "github.com/memspec/memspec/engine/ops"

// Rules are the family's rows. Overloads of one name stand in PyTorch's order.
var Rules = [][]ops.Rule{
	primRules, uncomputedRules, ofReals(numberRules), containerRules, stringRules,
}
