// Package nn holds the operators of neural networks' layers: convolutions, pooling, normalisation,
// softmax, embeddings, losses, recurrent layers, padding, resizing, and torchvision's.
package nn

import "github.com/memspec/memspec/engine/ops"

// Rules are the family's rows. Overloads of one name stand in PyTorch's order.
var Rules = ops.WithLacks(lacks,
	convRules, poolRules, normRules, softmaxRules, embeddingRules, lossRules, rnnRules, visionRules, padRules,
	upsampleRules,
)
