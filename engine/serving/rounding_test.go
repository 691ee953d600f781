package serving

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact/modelfolder"
	"github.com/memspec/memspec/engine/units"
)

// TestRounding: a tensor of more than 10 MiB takes a segment of whole 2 MiB, all of it where no
// more than 1 MiB would be left; a small one a multiple of 512 bytes.
func TestRounding(t *testing.T) {
	const mib = int64(units.MiB)
	for _, c := range []struct {
		why     string
		tensors []modelfolder.EngineTensor
		rotary  int64
		layers  int64
		want    units.Bytes
		later   units.Bytes // of the releases that split no large block
	}{
		{"1 MiB is left of 76", []modelfolder.EngineTensor{{Elements: 75 * mib / 2}}, 0, 0, units.MiB, units.MiB},
		{"1.5 MiB is left of 26", []modelfolder.EngineTensor{{Elements: 49 * mib / 4}}, 0, 0, 0, 3 * units.MiB / 2},
		{"no more than 20 MiB is split later", []modelfolder.EngineTensor{{Elements: 41 * mib / 4}}, 0, 0, 0,
			3 * units.MiB / 2},
		{"to 512 bytes", []modelfolder.EngineTensor{{Elements: 3}}, 0, 0, 506, 506},
		{"in another dtype than the engine's", []modelfolder.EngineTensor{{Elements: 3, DType: "float32"}}, 0, 0, 500, 500},
		{"a table as well", []modelfolder.EngineTensor{{Elements: 256}}, 3, 0, 506, 506},
		{"four scales of each layer", []modelfolder.EngineTensor{{Elements: 256}}, 0, 2, 2 * 4 * 512, 2 * 4 * 512},
		{"of as many layers as a model may have", []modelfolder.EngineTensor{{Elements: 256}}, 0, 4098, 4096 * 4 * 512,
			4096 * 4 * 512},
	} {
		elements := map[string]int64{}
		for _, tensor := range c.tensors {
			elements[tensor.DType] += tensor.Elements
		}
		w := modelfolder.Weights{Elements: elements, Engine: c.tensors, Rotary: c.rotary}
		m := &modelfolder.Model{Weights: w, Sizes: modelfolder.Sizes{Layers: c.layers}}
		got, later := rounding(m, "bfloat16", 0), rounding(m, "bfloat16", laterSplit)
		require.NotNil(t, got, c.why)
		assert.Equal(t, []units.Bytes{c.want, c.later}, []units.Bytes{*got, *later}, c.why)
	}
	assert.Nil(t, rounding(&modelfolder.Model{}, "bfloat16", 0), "no rule says which tensors there are")
}
