package quant

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// PackedRows is what embedding_bag_prepack makes of a table on the host.
func PackedRows(d tensor.DType, sizes ...int64) *ops.Packed {
	w := &tensor.Tensor{Meta: ops.NewMeta(d, "cpu", sizes), Storage: &tensor.Storage{ID: -1}}
	return &ops.Packed{Class: "quantized.EmbeddingPackedParamsBase", State: &packedParams{weight: w}}
}
