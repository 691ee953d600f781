package serving

import (
	"github.com/memspec/memspec/engine/artifact/modelfolder"
	"github.com/memspec/memspec/engine/units"
)

// What an engine takes outside PyTorch's allocator while it starts, on one GPU. vLLM's published
// logs of releases 0.17 to 0.19 on H100 have 0.13 to 0.27 GiB: modules and library handles.
const (
	leastOutside = 128 * units.MiB
	mostOutside  = 288 * units.MiB
)

// CUDA graphs of a dense model of 36 layers take 8 MiB for the 37 pieces of one batch size and 4
// MiB for its full graph on an H100, by the same logs. An engine captures batch sizes up to 512, in
// steps of 8, and leaves them out with enforce_eager.
const (
	graphBytes    = 12 * units.MiB
	graphLayers   = 36
	mostGraphs    = 512
	graphStep     = 8
	smallerGraphs = 4 // 1, 2, 4 and the first step
)

// Copies that activations have at once, as multiples of one layer's or one batch of logits.
const (
	mostHidden = 6 // residual, norm, attention's input and output, and what the next layer needs
	mostWide   = 3 // gate and up together, and what is multiplied of them
	mostLogits = 3 // float32: logits, probabilities and their sorted copy, beside those of the model's dtype
)

// rest returns what is neither weights nor KV cache. The peak of an engine's profile run is where
// the sampler works on the logits of all requests, or in a layer: at least the larger of their
// smallest forms, at most both in their largest.
func rest(m *modelfolder.Model, e *Estimate) Range[units.Bytes] {
	item, _ := modelfolder.ItemSize(e.DType)
	s := &m.Sizes
	row := units.Bytes(s.Vocabulary).Mul(e.Batch)
	token := units.Bytes(s.Hidden).Mul(e.BatchedTokens).Mul(int64(item))
	width := s.Width
	if s.Experts > 0 {
		width = max(width, s.Experts*(s.ExpertWidth+s.Hidden))
	}
	wide := units.Bytes(width).Mul(e.BatchedTokens).Mul(int64(item))
	least := max(row.Mul(4+int64(item)), token.Mul(2))
	most := row.Mul(4*mostLogits + int64(item)).Add(token.Mul(mostHidden)).Add(wide.Mul(mostWide))
	sizes := min(e.Batch, mostGraphs)/graphStep + smallerGraphs
	graphs := graphBytes.Mul(sizes).Mul(s.Layers+1) / (graphLayers + 1)
	return Range[units.Bytes]{least.Add(leastOutside), most.Add(mostOutside).Add(graphs)}
}
