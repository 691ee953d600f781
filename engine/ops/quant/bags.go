package quant

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// bagRules are embedding bags whose rows are packed with their scales
// (aten/src/ATen/native/quantized): in a tensor of bytes, or in an object.
var bagRules = []ops.Rule{
	{Schema: "quantized::embedding_bag_$1(__torch__.torch.classes.quantized.EmbeddingPackedParamsBase weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor",
		For: "byte 4bit", Out: packedBag},
	{Schema: "quantized::embedding_bag_byte_rowwise_offsets(Tensor weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor",
		Out: bagOf(byteRows)},
	{Schema: "quantized::embedding_bag_4bit_rowwise_offsets(Tensor weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor",
		Out: bagOf(halfByteRows)},
	{Schema: "quantized::embedding_bag_2bit_rowwise_offsets(Tensor weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor",
		Out: bagOf(quarterByteRows)},
	{Schema: "quantized::embedding_bag_byte_prepack(Tensor weight) -> Tensor", Out: packedRows(byteRows)},
	{Schema: "quantized::embedding_bag_4bit_prepack(Tensor weight, bool optimized_qparams=False, int nbins=200, float ratio=0.16) -> Tensor", Out: packedRows(halfByteRows)},
	{Schema: "quantized::embedding_bag_2bit_prepack(Tensor weight, bool optimized_qparams=False, int nbins=200, float ratio=0.16) -> Tensor", Out: packedRows(quarterByteRows)},
	{Schema: "quantized::embedding_bag_byte_unpack(Tensor weight) -> Tensor", Out: unpackedRows(byteRows)},
	{Schema: "quantized::embedding_bag_4bit_unpack(Tensor weight) -> Tensor", Out: unpackedRows(halfByteRows)},
	{Schema: "quantized::embedding_bag_2bit_unpack(Tensor weight) -> Tensor", Out: unpackedRows(quarterByteRows)},
}

// rows are rows of numbers packed into bytes, with a scale and a bias behind them.
type rows struct{ perByte, behind int64 }

var (
	byteRows        = rows{1, 8} // two floats
	halfByteRows    = rows{2, 4} // two halves
	quarterByteRows = rows{4, 4}
)

// width is the numbers of a row.
func (r rows) width(c *ops.Call, w *tensor.Tensor) (int64, error) {
	if len(w.Sizes) != 2 || w.Sizes[1] < r.behind {
		return 0, c.Errorf("got weight %v, want rows of numbers and %d bytes behind", w.Sizes, r.behind)
	}
	return (w.Sizes[1] - r.behind) * r.perByte, nil
}

func bagOf(r rows) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		n, err := r.width(c, c.T("weight"))
		if err != nil {
			return nil, err
		}
		return bags(c, n)
	}
}

// packedBag is a bag of an object's rows.
func packedBag(c *ops.Call) ([]tensor.Meta, error) {
	p, err := packed(c, 0)
	if err != nil {
		return nil, err
	}
	if p.weight == nil || len(p.weight.Sizes) != 2 {
		return nil, c.Errorf("got no weight of 2 dimensions")
	}
	return bags(c, p.weight.Sizes[1])
}

// bags are a row of width floats each: a bag begins at each offset, or is a row of indices.
func bags(c *ops.Call, width int64) ([]tensor.Meta, error) {
	at, offsets := c.T("indices"), c.T("offsets")
	switch {
	case len(at.Sizes) == 2:
		return ops.One(ops.FreshAs(at, tensor.Float32, at.Sizes[0], width))
	case len(at.Sizes) != 1 || offsets == nil || len(offsets.Sizes) != 1:
		return nil, c.Errorf("got indices %v, want a matrix, or a vector with a vector of offsets", at.Sizes)
	}
	n := offsets.Sizes[0]
	if c.Bool("include_last_offset") {
		n--
	}
	if n < 0 {
		return nil, c.Errorf("got no offsets, want the last at least")
	}
	return ops.One(ops.FreshAs(at, tensor.Float32, n, width))
}

func packedRows(r rows) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		w := c.T("weight")
		if len(w.Sizes) < 2 {
			return nil, c.Errorf("got weight %v, want rows", w.Sizes)
		}
		sizes := append([]int64(nil), w.Sizes...)
		last := len(sizes) - 1
		sizes[last] = (sizes[last]+r.perByte-1)/r.perByte + r.behind
		return ops.One(ops.FreshAs(w, tensor.Uint8, sizes...))
	}
}

func unpackedRows(r rows) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		w := c.T("weight")
		n, err := r.width(c, w)
		if err != nil {
			return nil, err
		}
		return ops.One(ops.FreshAs(w, tensor.Float32, w.Sizes[0], n))
	}
}
