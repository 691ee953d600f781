package modelfolder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/units"
)

// TestFoldersOnDisk: a folder with a config.json, or that file, is a model's folder; a config.json
// that is no file makes none. An error names the path.
func TestFoldersOnDisk(t *testing.T) {
	top := t.TempDir()
	write := func(path, text string) string {
		path = filepath.Join(top, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	config := write("model/config.json", tinyLlama)
	bad := filepath.Dir(write("bad/config.json", "{}"))
	empty := filepath.Dir(write("empty/other.json", "{}"))
	require.NoError(t, os.MkdirAll(filepath.Join(top, "dir", ConfigName), 0o755))
	for path, want := range map[string]bool{config: true, filepath.Dir(config): true, filepath.Dir(config) + "/": true,
		bad: true, empty: false, filepath.Join(top, "dir"): false, filepath.Join(top, "absent"): false,
		write("model/other.json", "{}"): false} {
		assert.Equal(t, want, IsFolder(path), path)
		m, err := Open(path)
		switch {
		case !want:
			assert.EqualError(t, err, path+": got no config.json, want a model's folder")
		case path == bad:
			assert.EqualError(t, err, path+": config.json: got model_type null, want the name of an architecture, such as "+
				`"llama"`)
		default:
			require.NoError(t, err, path)
			assert.Equal(t, "llama", m.Type)
			assert.Equal(t, "LlamaForCausalLM", m.Class)
		}
	}
}

// TestDTypeOfAConfig: the first place that has one counts, with PyTorch's prefix or without.
func TestDTypeOfAConfig(t *testing.T) {
	for config, want := range map[string]string{
		`{}`: "", `{"dtype": "float16", "torch_dtype": "float32"}`: "float16",
		`{"torch_dtype": "torch.bfloat16"}`:                               "bfloat16",
		`{"dtype": null, "torch_dtype": "float32"}`:                       "float32",
		`{"text_config": {"dtype": "float16", "torch_dtype": "float32"}}`: "float16",
		`{"text_config": {"torch_dtype": "float16"}}`:                     "float16",
		`{"torch_dtype": "float32", "text_config": {"dtype": "float16"}}`: "float32",
		`{"dtype": "auto"}`:                   "error: dtype: got auto, want a dtype such as bfloat16",
		`{"text_config": {"torch_dtype": 3}}`: "error: text_config.torch_dtype: got 3, want a dtype such as bfloat16",
	} {
		json, err := readObject([]byte(config))
		require.NoError(t, err)
		m := &Model{}
		if err := m.readDType(json); err != nil {
			m.DType = "error: " + err.Error()
		}
		assert.Equal(t, want, m.DType, config)
	}
	for name, want := range map[string]units.Bytes{"float64": 8, "int64": 8, "float32": 4, "int32": 4, "bfloat16": 2,
		"float16": 2, "int16": 2, "int8": 1, "uint8": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "other": 0} {
		n, ok := ItemSize(name)
		assert.Equal(t, want, n, name)
		assert.Equal(t, want > 0, ok, name)
	}
}

// TestSizesOfAConfig: each size has several names, of which the first counts, and may stand in the
// config of the text. What is no positive whole number is none.
func TestSizesOfAConfig(t *testing.T) {
	sizes := func(config string) Sizes {
		json, err := readObject([]byte(config))
		require.NoError(t, err)
		m := &Model{}
		m.readSizes(newConfig(json, &architecture{}))
		return m.Sizes
	}
	for _, tt := range []struct {
		names string
		want  Sizes
	}{
		{"max_position_embeddings n_positions max_seq_len model_max_length n_ctx", Sizes{Context: 7}},
		{"num_hidden_layers n_layer n_layers num_layers decoder_layers", Sizes{Layers: 7}},
		{"hidden_size n_embd d_model", Sizes{Hidden: 7}},
		{"vocab_size", Sizes{Vocabulary: 7}},
		{"n_inner ffn_dim decoder_ffn_dim", Sizes{Width: 7}},
		{"intermediate_size ffn_hidden_size", Sizes{Width: 7, ExpertWidth: 7}},
		{"num_experts_per_tok moe_topk moe_k num_experts_per_token", Sizes{Experts: 7}},
		{"moe_intermediate_size expert_ffn_hidden_size", Sizes{ExpertWidth: 7}},
	} {
		names := strings.Fields(tt.names)
		for i, name := range names {
			assert.Equal(t, tt.want, sizes(`{"`+name+`": 7}`), name)
			assert.Equal(t, tt.want, sizes(`{"text_config": {"`+name+`": 7}}`), name)
			if i > 0 {
				assert.Equal(t, tt.want, sizes(`{"`+name+`": 8, "`+names[i-1]+`": 7}`), name)
			}
		}
		assert.Equal(t, tt.want, sizes(`{"text_config": {"`+names[0]+`": 8}, "`+names[0]+`": 7}`))
		assert.Equal(t, Sizes{}, sizes(`{"`+names[0]+`": 0}`))
		assert.Equal(t, Sizes{}, sizes(`{"`+names[0]+`": "7"}`))
	}
	assert.Equal(t, Sizes{Context: 1}, sizes(`{"n_ctx": 1}`))
	assert.Equal(t, Sizes{Width: 7, ExpertWidth: 7}, sizes(`{"n_inner": 8, "ffn_hidden_size": 7}`))
	assert.Equal(t, Sizes{Width: 8, ExpertWidth: 7}, sizes(`{"intermediate_size": 8, "expert_ffn_hidden_size": 7}`))
	assert.Equal(t, Sizes{Width: 9, ExpertWidth: 7}, sizes(`{"moe_intermediate_size": 7, "intermediate_size": 9}`))
}

// TestFilesAreCounted: as many as hold weights, and they are compared with what is built.
func TestFilesAreCounted(t *testing.T) {
	one := file(`{"a": {"dtype": "BF16", "shape": [2300], "data_offsets": [0, 4600]}}`, 4600)
	more := file(`{"b": {"dtype": "BF16", "shape": [45], "data_offsets": [0, 90]}}`, 90)
	same := file(`{"b": {"dtype": "BF16", "shape": [44], "data_offsets": [0, 88]}}`, 88)
	of := func(last *fstest.MapFile) *Model {
		return read(t, tinyLlama, fstest.MapFS{"model-00001-of-00002.safetensors": one,
			"model-00002-of-00002.safetensors": last})
	}
	m := of(more)
	assert.Equal(t, 2, m.Weights.Files)
	assert.Equal(t, units.Bytes(2*2345), m.Weights.Bytes("bfloat16"))
	assert.Equal(t, []string{"the files hold 1 elements more than transformers builds for llama: tied or further " +
		"layers that an engine may not load"}, m.Notes)
	assert.Nil(t, m.Weights.Engine)
	m = of(same)
	assert.Empty(t, m.Notes)
	assert.NotNil(t, m.Weights.Engine, "they hold what is built")
	assert.Equal(t, units.Bytes(2*2344), m.Weights.Stored)

	m = read(t, tinyLlama,
		fstest.MapFS{singleName: file(`{"a": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}}`, 8)})
	assert.False(t, m.Weights.Known)
	assert.Equal(t, []string{"weights: no size is known for the dtype C64 of a"}, m.Unknown)
}

// TestElementsInOtherDTypes: what an engine holds of each dtype. Of files numbers with a fraction
// are in the engine's, unless they are quantised; of rules alone in their own.
func TestElementsInOtherDTypes(t *testing.T) {
	elements := map[string]int64{"": 1, "float32": 10, "bfloat16": 100, "int32": 1000}
	for _, tt := range []struct {
		why  string
		w    Weights
		want units.Bytes
	}{
		{"of rules", Weights{}, 8*1 + 4*10 + 2*100 + 4*1000},
		{"of files", Weights{Files: 1}, 8*1 + 8*10 + 8*100 + 4*1000},
		{"of files that are quantised", Weights{Files: 1, Method: "fp8"}, 8*1 + 4*10 + 2*100 + 4*1000},
	} {
		tt.w.Elements = elements
		assert.Equal(t, tt.want, tt.w.Bytes("float64"), tt.why)
		assert.Equal(t, int64(1111), tt.w.Parameters())
	}
}

// TestLatentAndYarn: what an engine is started with depends on the kind of attention, and on the
// kind of rope.
func TestLatentAndYarn(t *testing.T) {
	m := read(t, tinyLlama, nil)
	assert.Equal(t, []bool{false, false}, []bool{m.Weights.Latent, m.Weights.Yarn})
	with := func(fields string) *Model { return read(t, strings.Replace(tinyLlama, "{", "{"+fields+",", 1), nil) }
	m = with(`"kv_lora_rank": 1, "rope_scaling": {"type": "yarn", "factor": 2}`)
	assert.Equal(t, []bool{true, true}, []bool{m.Weights.Latent, m.Weights.Yarn})
	m = with(`"kv_lora_rank": 0, "rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 2}`)
	assert.Equal(t, []bool{false, false}, []bool{m.Weights.Latent, m.Weights.Yarn}, "the newer name counts")
}

// TestEncoders: an encoder is a config that says something.
func TestEncoders(t *testing.T) {
	for config, want := range map[string]string{
		`{}`: "", `{"vision_config": {}}`: "", `{"vision_config": 3}`: "", `{"vision_config": {"a": 1}}`: "vision_config",
		`{"audio_config": {"a": 1}}`:                            "audio_config",
		`{"audio_config": {"a": 1}, "vision_config": {"a": 1}}`: "vision_config",
	} {
		json, err := readObject([]byte(config))
		require.NoError(t, err)
		assert.Equal(t, want, encoderField(json), config)
	}
}
