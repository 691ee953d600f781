// Package attention holds scaled dot product attention, by which kernel it runs, and the fast paths
// of nn.MultiheadAttention and nn.TransformerEncoderLayer.
package attention

import "github.com/memspec/memspec/engine/ops"

// Rules are the family's rows. Overloads of one name stand in PyTorch's order.
var Rules = ops.WithLacks(lacks, attentionRules)
