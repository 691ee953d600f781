package modelfolder

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/units"
)

// TestRotaryTables: cosines and sines of as many positions as the kind of rope has, for what is
// rotated of a head.
func TestRotaryTables(t *testing.T) {
	const rope = `"max_position_embeddings": 32, "num_attention_heads": 2, "hidden_size": 8`
	for _, c := range []struct {
		why, fields string
		elements    int64
		note        string
	}{
		{"positions times hidden size by heads", rope, 32 * 4, ""},
		{"a head of another size", rope + `, "head_dim": 6`, 32 * 6, ""},
		{"the part that multi-head latent attention rotates", rope + `, "qk_rope_head_dim": 2`, 32 * 2, ""},
		{"half of a head", rope + `, "partial_rotary_factor": 0.5`, 32 * 2, ""},
		{"a whole head", rope + `, "partial_rotary_factor": 1.0`, 32 * 4, ""},
		{"none of it is no setting", rope + `, "partial_rotary_factor": 0`, 32 * 4, ""},
		{"the newer place of the setting", rope + `, "rope_parameters": {"partial_rotary_factor": 0.5}`, 32 * 2, ""},
		{"yarn: positions of before times a factor",
			rope + `, "rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 16}`, 64 * 4, ""},
		{"yarn without them: those of the config", rope + `, "rope_scaling": {"rope_type": "yarn", "factor": 4}`, 128 * 4,
			""},
		{"linear: those of the config",
			rope + `, "rope_scaling": {"type": "linear", "factor": 2.5, "original_max_position_embeddings": 16}`, 80 * 4, ""},
		{"a factor that leaves one", rope + `, "rope_scaling": {"type": "linear", "factor": 0.03125}`, 4, ""},
		{"a factor that leaves part of one", rope + `, "rope_scaling": {"type": "linear", "factor": 0.03}`, 0,
			"the table of rotary embeddings of this rope_type is not counted: linear"},
		{"no factor", rope + `, "rope_scaling": {"type": "linear"}`, 0,
			"the table of rotary embeddings of this rope_type is not counted: linear"},
		{"no positions", `"max_position_embeddings": 0, "num_attention_heads": 2, "hidden_size": 8`, 0,
			"the table of rotary embeddings of this rope_type is not counted: default"},
		{"a factor that leaves none", rope + `, "rope_scaling": {"type": "linear", "factor": 0.01}`, 0,
			"the table of rotary embeddings of this rope_type is not counted: linear"},
		{"llama3", rope + `, "rope_scaling": {"rope_type": "llama3", "factor": 8}`, 32 * 4, ""},
		{"a kind without a rule", rope + `, "rope_scaling": {"rope_type": "longrope"}`, 0,
			"the table of rotary embeddings of this rope_type is not counted: longrope"},
		{"one for each kind of layer",
			rope +
				`, "rope_parameters": {"full_attention": {"rope_type": "default"}, "sliding_attention": {"rope_type": "linear", "factor": 2}}`, 32*4 + 64*4, ""},
		{"two kinds of layer without a rule are named in the order of their names",
			rope + `, "rope_parameters": {"b": {"rope_type": "longrope"}, "a": {"rope_type": "su"}}`, 0,
			"the table of rotary embeddings of this rope_type is not counted: su\n" +
				"the table of rotary embeddings of this rope_type is not counted: longrope"},
		{"more than fits is not counted", rope + `, "head_dim": 4611686018427387904`, 0, ""},
	} {
		m := read(t, `{"model_type": "llama", "vocab_size": 64, "intermediate_size": 16, "num_hidden_layers": 1, `+c.fields+
			`}`, nil)
		assert.Equal(t, c.elements, m.Weights.Rotary, c.why)
		if c.note != "" {
			assert.Contains(t, strings.Join(m.Notes, "\n")+"\n", c.note+"\n", c.why)
		}
	}
}

// TestStored: what a rule's tensor is saved as by each method, and which tensors are not quantised.
func TestStored(t *testing.T) {
	layers, err := compile("2")
	require.NoError(t, err)
	for _, c := range []struct {
		why, method, name string
		dims              []int64
		want              map[string]int64 // nil: as it is
	}{
		{"one scale", "fp8", "layers.up_proj.weight", []int64{20, 30}, map[string]int64{"float8_e4m3fn": 600, "float32": 1}},
		{"a scale for each expert", "fp8", "layers.experts.up_proj", []int64{4, 20, 30},
			map[string]int64{"float8_e4m3fn": 2400, "float32": 4}},
		{"a scale for each block", "fp8 block", "layers.up_proj.weight", []int64{20, 30},
			map[string]int64{"float8_e4m3fn": 600, "float32": 3 * 4}},
		{"and of each expert", "fp8 block", "layers.experts.up_proj", []int64{4, 20, 30},
			map[string]int64{"float8_e4m3fn": 2400, "float32": 4 * 3 * 4}},
		{"experts alone", "mxfp4", "layers.experts.up_proj", []int64{2, 32, 64},
			map[string]int64{"uint8": 2*32*64/2 + 2*32*64/32}},
		{"no other layer", "mxfp4", "layers.up_proj.weight", []int64{32, 64}, nil},
		{"two in a byte, a scale for 64", "bitsandbytes", "layers.up_proj.weight", []int64{20, 64},
			map[string]int64{"uint8": 640, "float32": 20}},
		{"scales of 8 bits, a scale of 256 of them", "bitsandbytes double", "layers.up_proj.weight", []int64{300, 64},
			map[string]int64{"uint8": 9600 + 300, "float32": 2}},
		{"exactly 256 of them", "bitsandbytes double", "layers.up_proj.weight", []int64{256, 64},
			map[string]int64{"uint8": 8192 + 256, "float32": 1}},
		{"8 bits, a scale for each row", "bitsandbytes 8", "layers.up_proj.weight", []int64{20, 64},
			map[string]int64{"int8": 1280, "float32": 20}},
		{"of each expert", "bitsandbytes 8", "layers.experts.up_proj", []int64{3, 20, 64},
			map[string]int64{"int8": 3840, "float32": 60}},
		{"packed, zeros, scales", "awq", "layers.up_proj.weight", []int64{64, 256},
			map[string]int64{"int32": 64*256/8 + 2*64/8, "float16": 2 * 64}},
		{"and the order of inputs", "gptq", "layers.up_proj.weight", []int64{64, 256},
			map[string]int64{"int32": 64*256/8 + 2*64/8 + 256, "float16": 2 * 64}},
		{"of each expert", "gptq", "layers.experts.up_proj", []int64{3, 64, 256},
			map[string]int64{"int32": 3 * (64*256/8 + 2*64/8 + 256), "float16": 3 * 2 * 64}},
		{"one group", "gptq -1", "layers.up_proj.weight", []int64{64, 256}, map[string]int64{"int32": 64*256/8 + 64/8 + 256,
			"float16": 64}},
		{"a group that is not full", "awq", "layers.up_proj.weight", []int64{64, 192},
			map[string]int64{"int32": 64*192/8 + 2*64/8, "float16": 2 * 64}},
		{"a router", "fp8", "layers.mlp.router.weight", []int64{4, 30}, nil},
		{"a gate", "fp8", "layers.mlp.gate.weight", []int64{4, 30}, nil},
		{"a gate of the shared expert", "fp8", "layers.mlp.shared_expert_gate.weight", []int64{1, 30}, nil},
		{"a head in a layer", "fp8", "layers.lm_head.weight", []int64{64, 30}, nil},
		{"embeddings", "fp8", "layers.embed_positions.weight", []int64{64, 30}, nil},
		{"gpt2's embeddings", "fp8", "layers.wte.weight", []int64{64, 30}, nil},
		{"gpt2's positions", "fp8", "layers.wpe.weight", []int64{64, 30}, nil},
		{"a norm", "fp8", "layers.norm_proj.weight", []int64{64, 30}, nil},
		{"a bias", "fp8", "layers.up_proj.bias", []int64{64}, nil},
		{"two sizes, no weight", "fp8", "layers.relative", []int64{64, 30}, nil},
		{"three sizes, no experts", "fp8", "layers.conv.weight", []int64{64, 30, 4}, nil},
		{"kept by its whole name", "fp8 keep", "layers.kept.weight", []int64{64, 30}, nil},
		{"kept by its last name", "fp8 keep", "layers.mlp.last.weight", []int64{64, 30}, nil},
		{"kept with what is in it", "fp8 keep", "layers.part.up_proj.weight", []int64{64, 30}, nil},
		{"not by a part of a name", "fp8 keep", "layers.mlp.blast.weight", []int64{64, 30},
			map[string]int64{"float8_e4m3fn": 1920, "float32": 1}},
	} {
		config := map[string]string{
			"fp8":                 `{"quant_method": "fp8"}`,
			"fp8 block":           `{"quant_method": "fp8", "weight_block_size": [8, 8]}`,
			"fp8 keep":            `{"quant_method": "fp8", "ignored_layers": ["layers.kept", "layers.part", "last"]}`,
			"mxfp4":               `{"quant_method": "mxfp4"}`,
			"bitsandbytes":        `{"load_in_4bit": true}`,
			"bitsandbytes double": `{"load_in_4bit": true, "bnb_4bit_use_double_quant": true}`,
			"bitsandbytes 8":      `{"load_in_8bit": true}`,
			"awq":                 `{"quant_method": "awq"}`,
			"gptq":                `{"quant_method": "gptq", "bits": 4, "group_size": 128}`,
			"gptq -1":             `{"quant_method": "gptq", "group_size": -1}`,
		}[c.method]
		json, err := readObject([]byte(`{"quantization_config": ` + config + `}`))
		require.NoError(t, err)
		m, err := quantization(json)
		require.NoError(t, err)
		assert.True(t, m.known, c.method)
		got := m.stored(&tensor{rule: &tensorRule{name: c.name, layers: layers}, dims: c.dims})
		assert.Equal(t, c.want, got, "%s: %s %s", c.why, c.method, c.name)
	}
}

// TestQuantizationWithoutARule: settings that no formula is known for.
func TestQuantizationWithoutARule(t *testing.T) {
	for _, config := range []string{
		`{"quant_method": "gptq", "bits": 3}`, `{"quant_method": "awq", "bits": 2}`, `{"quant_method": "aqlm"}`,
		`{"quant_method": "fp8", "weight_block_size": [8, 0]}`,
		`{"quant_method": "fp8", "weight_block_size": [0, 8]}`, `{"quant_method": "fp8", "weight_block_size": [8, -1]}`,
		`{}`, `{"load_in_4bit": false, "load_in_8bit": false}`, `{"quant_method": null}`,
	} {
		json, err := readObject([]byte(`{"text_config": {"quantization_config": ` + config + `}}`))
		require.NoError(t, err)
		m, err := quantization(json)
		require.NoError(t, err)
		assert.False(t, m.known, config)
	}
}

// TestSizesOfSafetensors: every dtype of the format, by the bits of an element.
func TestSizesOfSafetensors(t *testing.T) {
	for bits, names := range map[int]string{
		4: "F4", 6: "F6_E2M3 F6_E3M2", 8: "BOOL U8 I8 F8_E4M3 F8_E5M2 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ",
		16: "I16 U16 F16 BF16", 32: "I32 U32 F32", 64: "I64 U64 F64 C64",
	} {
		for _, name := range strings.Fields(names) {
			header := func(size int) fstest.MapFS {
				text := fmt.Sprintf(`{"a": {"dtype": %q, "shape": [3, 8], "data_offsets": [0, %d]}}`, name, size)
				return fstest.MapFS{singleName: file(text, size)}
			}
			tensors, _, err := readHeaders(header(3 * bits))
			require.NoError(t, err, name)
			assert.Equal(t, map[string]Tensor{"a": {DType: name, Bytes: units.Bytes(3 * bits), Sizes: 24}}, tensors)
			_, _, err = readHeaders(header(3*bits + 1))
			assert.ErrorContains(t, err, fmt.Sprintf("got %d bytes for 24 elements of %s", 3*bits+1, name))
		}
	}
}

// TestPartsOfOneKind are one part of the cache, and what holds nothing is none.
func TestPartsOfOneKind(t *testing.T) {
	var c Cache
	for _, part := range []CachePart{
		{Grows: ByToken, Elements: 10, Tensors: 2},
		{Grows: ByToken, Elements: 5, Tensors: 1},
		{Grows: ByToken, Elements: 5, Tensors: 1, DType: "float32"},
		{Grows: ByWindow, Elements: 3, Tensors: 1, Window: 4},
		{Grows: ByWindow, Elements: 3, Tensors: 1, Window: 8},
		{Grows: ByWindow, Elements: 4, Tensors: 1, Window: 4},
		{Grows: State, Tensors: 7},
		{Grows: State, Elements: 2, Tensors: 1},
	} {
		c.add(part)
	}
	assert.Equal(t, []CachePart{
		{Grows: ByToken, Elements: 15, Tensors: 3},
		{Grows: ByToken, Elements: 5, Tensors: 1, DType: "float32"},
		{Grows: ByWindow, Elements: 7, Tensors: 2, Window: 4},
		{Grows: ByWindow, Elements: 3, Tensors: 1, Window: 8},
		{Grows: State, Elements: 2, Tensors: 1},
	}, c.Parts)
}
