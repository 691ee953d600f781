// Package reduce holds the operators that reduce or scan dimensions, sort them, and count or
// compute statistics along them.
package reduce

import "github.com/memspec/memspec/engine/ops"

// Rules are the family's rows. Overloads of one name stand in PyTorch's order.
var Rules = ops.WithLacks(lacks, reduceRules, sortRules, histogramddRules, statisticsRules, outRules)
