// Package quant holds the operators on quantised tensors.
package quant

import "github.com/memspec/memspec/engine/ops"

// Rules are the family's rows. Overloads of one name stand in PyTorch's order.
var Rules = [][]ops.Rule{
	quantRules, bagRules, prepackedRules,
}
