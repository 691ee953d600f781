// Package pointwise holds the operators that compute every element by itself: arithmetic,
// comparisons, functions of one tensor, activations, masks, their gradients, and _foreach_ over
// lists of tensors.
package pointwise

import "github.com/memspec/memspec/engine/ops"

// Rules are the family's rows. Overloads of one name stand in PyTorch's order.
var Rules = ops.WithLacks(lacks,
	binaryRules, specialRules, unaryRules, activationRules, differenceRules, backwardRules, compareRules, foreachRules,
	outRules,
)
