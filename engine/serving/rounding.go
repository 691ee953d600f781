package serving

import (
	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/artifact/modelfolder"
	"github.com/memspec/memspec/engine/units"
)

// latentWorkspace is what vLLM takes once it looks for a kernel of latent attention, on every card
// and whichever kernel it then chooses: g_sm100_workspace in
// vllm/v1/attention/backends/mla/cutlass_mla.py, of releases 0.19 to 0.33.
const latentWorkspace = 128 * units.MiB

// scales are numbers in float32 that vLLM keeps of each layer's attention, of queries, keys, values
// and probabilities: set_default_quant_scales in vllm/model_executor/layers/attention/attention.py.
const scales = 4

// mostLayers is how many layers a model may have: more are not allocated one by one.
const mostLayers = 4096

// laterSplit is max_split_size_mb while vLLM loads a model, from 0.22 on:
// _scoped_allocator_max_split in vllm/v1/worker/gpu_worker.py. A larger block has its whole
// segment.
const laterSplit = 20 * units.MiB

// rounding returns what the tensors that an engine makes of a model take of PyTorch's allocator
// beyond the bytes of its weights, embeddings' padding and scales of attention among it: blocks are
// multiples of 512 bytes, and a block that leaves no more than 1 MiB of a segment has all of it, as
// has one of more than maxSplit bytes where that is not 0. nil where no rule says which tensors
// there are.
func rounding(m *modelfolder.Model, dtype string, maxSplit units.Bytes) *units.Bytes {
	w := &m.Weights
	if w.Engine == nil {
		return nil
	}
	settings := allocator.DefaultSettings()
	settings.MaxSplitSize = maxSplit
	cuda, _ := allocator.New(allocator.Config{Settings: settings})   // which are the default ones otherwise
	malloc := func(size units.Bytes) { _, _ = cuda.Malloc(size, 0) } // the device has no limit
	item, _ := modelfolder.ItemSize(dtype)
	for _, t := range w.Engine {
		size := item
		if own, ok := modelfolder.ItemSize(t.DType); ok {
			size = own
		}
		malloc(size.Mul(t.Elements))
	}
	malloc(item.Mul(w.Rotary))
	for range scales * min(m.Sizes.Layers, mostLayers) {
		malloc(4)
	}
	more := cuda.Stats().Allocated - min(cuda.Stats().Allocated, w.Bytes(dtype).Add(item.Mul(w.Rotary)))
	return &more
}
