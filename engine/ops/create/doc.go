// Package create holds the operators that make tensors: from sizes and numbers, from random numbers
// (dropout among them), and as casts and copies of others.
package create

import "github.com/memspec/memspec/engine/ops"

// Rules are the family's rows. Overloads of one name stand in PyTorch's order.
var Rules = ops.WithLacks(lacks,
	factoryRules, randomRules, copyRules,
)
