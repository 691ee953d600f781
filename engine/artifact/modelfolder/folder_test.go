package modelfolder

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/units"
)

// tinyLlama has 2 layers: 2 * 64 * 8 of embeddings and head, 2 * (4 * 8 * 8 + 3 * 8 * 16 + 2 * 8)
// and a norm of 8 are 2,344 parameters.
const tinyLlama = `{"model_type": "llama", "vocab_size": 64, "hidden_size": 8, "intermediate_size": 16,
	"num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 32, "torch_dtype": "bfloat16"}`

// file is a safetensors file with that header, and so many bytes of data.
func file(header string, data int) *fstest.MapFile {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, uint64(len(header)))
	b.WriteString(header)
	b.Write(make([]byte, data))
	return &fstest.MapFile{Data: b.Bytes()}
}

func read(t *testing.T, config string, more fstest.MapFS) *Model {
	t.Helper()
	m, err := readMap(config, more)
	require.NoError(t, err)
	return m
}

func readMap(config string, more fstest.MapFS) (*Model, error) {
	folder := fstest.MapFS{ConfigName: {Data: []byte(config)}}
	for name, f := range more {
		folder[name] = f
	}
	return Read(folder)
}

func TestConfigAloneIsEnough(t *testing.T) {
	m := read(t, tinyLlama, nil)
	assert.Empty(t, m.Unknown)
	assert.Equal(t, int64(2344), m.Weights.Parameters())
	assert.Equal(t, units.Bytes(2*2344), m.Weights.Bytes("bfloat16"))
	assert.Equal(t, units.Bytes(2*2*2*8), m.Cache.PerToken("bfloat16"), "2 layers, keys and values of 2 heads of 4")
	assert.Equal(t, int64(32*4), m.Weights.Rotary)
}

// TestOneFieldOfTheConfig: each field changes what its meaning says, by as much.
func TestOneFieldOfTheConfig(t *testing.T) {
	for _, c := range []struct {
		why, field string
		parameters int64
		perToken   units.Bytes
	}{
		{"nothing changes", ``, 2344, 64},
		{"the head is the embedding", `"tie_word_embeddings": true`, 2344 - 64*8, 64},
		{"one head of keys and values: 2 layers less 2 * 4 * 8", `"num_key_value_heads": 1`, 2344 - 2*2*4*8, 32},
		{"null is the default: as many as heads", `"num_key_value_heads": null`, 2344, 64},
		{"biases of q, k, v and o", `"attention_bias": true`, 2344 + 2*4*8, 64},
		{"heads wider than the model: q, k, v and o have 2 * 6", `"head_dim": 6`, 2344 + 2*4*4*8, 96},
	} {
		config := tinyLlama
		if c.field != "" {
			config = strings.Replace(tinyLlama, "{", "{"+c.field+",", 1)
		}
		m := read(t, config, nil)
		assert.Equal(t, c.parameters, m.Weights.Parameters(), c.why)
		assert.Equal(t, c.perToken, m.Cache.PerToken("bfloat16"), c.why)
	}
}

func TestWindowsAndStates(t *testing.T) {
	c := Cache{Parts: []CachePart{
		{Grows: ByToken, Elements: 10},
		{Grows: ByWindow, Window: 4, Elements: 3},
		{Grows: State, Elements: 7, DType: "float32"},
	}}
	assert.Equal(t, units.Bytes(26), c.PerToken("bfloat16"))
	assert.Equal(t, units.Bytes(2*10*3+2*3*3+4*7), c.PerSequence("bfloat16", 3, 0), "no window is full")
	assert.Equal(t, units.Bytes(2*10*9+2*3*4+4*7), c.PerSequence("bfloat16", 9, 0), "the window is full")
	assert.Equal(t, units.Bytes(2*10*9+2*3*6+4*7), c.PerSequence("bfloat16", 9, 2), "a step adds to the window")
	assert.Equal(t, units.Bytes(10*9+3*4+4*7), c.PerSequence("float8_e4m3fn", 9, 0), "states keep their dtype")
}

// TestHeadersDecide: files say what the weights are, whatever the rules say.
func TestHeadersDecide(t *testing.T) {
	header :=
		`{"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]}, "b": {"dtype": "I32", "shape": [2], "data_offsets": [24, 32]}}`
	for name, files := range map[string]fstest.MapFS{
		"one file": {singleName: file(header, 32)},
		"an index": {
			indexName:             {Data: []byte(`{"weight_map": {"a": "x.safetensors", "b": "x.safetensors"}}`)},
			"x.safetensors":       file(header, 32),
			"ignored.safetensors": file(`{}`, 0),
		},
		"parts": {"model-00001-of-00001.safetensors": file(header, 32), "consolidated.safetensors": file(header, 32)},
	} {
		m := read(t, tinyLlama, files)
		assert.Equal(t, 1, m.Weights.Files, name)
		assert.Equal(t, units.Bytes(32), m.Weights.Stored, name)
		assert.Equal(t, units.Bytes(6*2+8), m.Weights.Bytes("bfloat16"), "%s: whole numbers stay as they are", name)
		assert.Contains(t, m.Notes[0], "2336 elements fewer", name)
	}
	quantised := strings.Replace(tinyLlama, "{", `{"quantization_config": {"quant_method": "other"},`, 1)
	m := read(t, quantised, fstest.MapFS{singleName: file(header, 32)})
	assert.Equal(t, units.Bytes(32), m.Weights.Bytes("bfloat16"), "what is quantised is loaded as it is saved")
	assert.Empty(t, m.Unknown)
}

// TestQuantised: layers 2 * (4 * 64 + 3 * 128) = 1,280 elements of linear layers; the rest is 1,064
// in 16 bits.
func TestQuantised(t *testing.T) {
	for _, c := range []struct {
		config string
		bytes  units.Bytes
	}{
		{`{"quant_method": "fp8", "weight_block_size": [8, 8]}`, 1064*2 + 1280 + 4*2*(4+3*2)},
		{`{"quant_method": "fp8"}`, 1064*2 + 1280 + 4*2*7},
		{`{"quant_method": "fp8", "modules_to_not_convert": ["o_proj"]}`, 1064*2 + 1280 + 128 + 4*2*6},
		{`{"quant_method": "awq", "bits": 4, "group_size": 8}`, 1064*2 + 1280/2 + (1280/8)*2 + (1280/8)/2},
		{`{"quant_method": "bitsandbytes", "load_in_4bit": true}`, 1064*2 + 1280/2 + 4*2*(4*1+3*2)},
	} {
		m := read(t, strings.Replace(tinyLlama, "{", `{"quantization_config": `+c.config+`,`, 1), nil)
		assert.Equal(t, c.bytes, m.Weights.Bytes("bfloat16"), c.config)
	}
	m := read(t, strings.Replace(tinyLlama, "{", `{"quantization_config": {"quant_method": "aqlm"},`, 1), nil)
	assert.False(t, m.Weights.Known)
	assert.Equal(t, []string{`weights: no rule for the quantization method "aqlm" without safetensors files`}, m.Unknown)
}

// TestWhatIsNotKnownIsSaid: no figure is made up.
func TestWhatIsNotKnownIsSaid(t *testing.T) {
	m := read(t, `{"model_type": "lama"}`, nil)
	assert.False(t, m.Weights.Known)
	assert.False(t, m.Cache.Known)
	require.Len(t, m.Unknown, 1)
	assert.Contains(t, m.Unknown[0], `did you mean "llama"?`)

	m = read(t, `{"model_type": "a-later-one"}`,
		fstest.MapFS{singleName: file(`{"a": {"dtype": "BF16", "shape": [5], "data_offsets": [0, 10]}}`, 10)})
	assert.True(t, m.Weights.Known, "headers need no rule")
	assert.False(t, m.Cache.Known)
}

func TestBadFolders(t *testing.T) {
	index := func(text string) fstest.MapFS { return fstest.MapFS{indexName: {Data: []byte(text)}} }
	one := func(header string, data int) fstest.MapFS { return fstest.MapFS{singleName: file(header, data)} }
	for _, c := range []struct {
		config string
		files  fstest.MapFS
		want   string
	}{
		{`[]`, nil, `config.json: offset 0: got an array, want an object`},
		{tinyLlama + " x", nil, `config.json: offset 194: got 'x', want the end`},
		{`{}`, nil, `config.json: got model_type null, want the name of an architecture, such as "llama"`},
		{`{"model_type": 7}`, nil,
			`config.json: got model_type a whole number, want the name of an architecture, such as "llama"`},
		{`{"model_type": "llama", "dtype": "bf17"}`, nil, `config.json: dtype: got bf17, want a dtype such as bfloat16`},
		{`{"model_type": "llama", "quantization_config": 3}`, nil,
			`config.json: quantization_config: got a whole number, want an object`},
		{tinyLlama, index(`{"weight_map": {"a": "../x.safetensors"}}`),
			`model.safetensors.index.json: offset 39: got the file "../x.safetensors", want one of this folder that ends in .safetensors`},
		{tinyLlama, index(`{"weight_map": {"a": "x.bin"}}`),
			`model.safetensors.index.json: offset 28: got the file "x.bin", want one of this folder that ends in .safetensors`},
		{tinyLlama, index(`{}`), `model.safetensors.index.json: got 0 files in weight_map, want 1 to 4096`},
		{tinyLlama, index(`{"weight_map": {"a": "x.safetensors"}}`), `x.safetensors: file does not exist`},
		{tinyLlama, fstest.MapFS{singleName: {Data: []byte("abc")}},
			`model.safetensors: got 3 bytes, want a safetensors file`},
		{tinyLlama, fstest.MapFS{singleName: {Data: []byte("version https://git-lfs.github.com/spec/v1\n")}},
			`model.safetensors: got a Git LFS pointer, want the file itself (git lfs pull)`},
		{tinyLlama, fstest.MapFS{singleName: {Data: []byte("\xff\xff\xff\xff\xff\xff\xff\xff{}")}},
			`model.safetensors: got a header of 18446744073709551615 bytes in a file of 10, want a whole safetensors file`},
		{tinyLlama, one(`{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}`, 7),
			`model.safetensors: offset 60: a: got data_offsets [0 8] in 7 bytes of data, want its beginning and end`},
		{tinyLlama, one(`{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}`, 8),
			`model.safetensors: offset 60: a: got 4 bytes for 2 elements of F32`},
		{tinyLlama, one(`{"a": {"dtype": "F33", "shape": [2], "data_offsets": [0, 4]}}`, 8),
			`model.safetensors: offset 60: a: got the dtype "F33", want one of safetensors`},
		{tinyLlama, one(`{"a": {"dtype": "F32", "shape": [4611686018427387904, 4], "data_offsets": [0, 4]}}`, 8),
			`model.safetensors: offset 55: a: got a size of 4, want one that fits`},
	} {
		_, err := readMap(c.config, c.files)
		assert.EqualError(t, err, c.want)
	}
}

// TestSizesBeyondReason end in what is not known, and take no time.
func TestSizesBeyondReason(t *testing.T) {
	for field, want := range map[string]string{
		`"num_hidden_layers": 9000000000`:                     "got 9000000000 layers, want at most 4096",
		`"vocab_size": 9000000000000000000`:                   "got a size that does not fit 63 bits",
		`"hidden_size": -8`:                                   "no value",
		`"vocab_size": 9000000000, "hidden_size": 1000000000`: "want at most 281474976710656",
		`"num_attention_heads": 0`:                            "no value",
	} {
		m := read(t, `{"model_type": "llama", `+field+`}`, nil)
		require.NotEmpty(t, m.Unknown, field)
		assert.Contains(t, m.Unknown[0], want, field)
	}
}

// TestSnapshotOfTheHub: config.json is a link to a file beside the snapshots, as the hub's cache
// has it.
func TestSnapshotOfTheHub(t *testing.T) {
	top := t.TempDir()
	snapshot := filepath.Join(top, "models--a--b", "snapshots", "0123")
	blobs := filepath.Join(top, "models--a--b", "blobs")
	require.NoError(t, os.MkdirAll(snapshot, 0o755))
	require.NoError(t, os.MkdirAll(blobs, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(blobs, "x"), []byte(tinyLlama), 0o644))
	if err := os.Symlink("../../blobs/x", filepath.Join(snapshot, ConfigName)); err != nil {
		t.Skip(err)
	}
	m, err := Open(snapshot)
	require.NoError(t, err)
	assert.Equal(t, "llama", m.Type)

	outside := filepath.Join(top, "outside")
	require.NoError(t, os.Mkdir(outside, 0o755))
	require.NoError(t, os.Symlink(filepath.Join(blobs, "x"), filepath.Join(outside, ConfigName)))
	assert.False(t, IsFolder(outside), "a link that leads out of any other folder is not followed")
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(tinyLlama), []byte(`{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}`))
	f.Add([]byte(`{"model_type": "gemma3_text", "layer_types": ["full_attention"], "sliding_window": 1e300}`),
		[]byte(`{}`))
	f.Add(
		[]byte(
			`{"model_type": "qwen3_moe", "mlp_only_layers": [[]], "quantization_config": {"quant_method": "gptq", "bits": 8, "group_size": -1}}`), []byte(`[`))
	f.Fuzz(func(t *testing.T, config, header []byte) {
		for _, files := range []fstest.MapFS{nil, {singleName: file(string(header), 8)}, {indexName: {Data: header}}} {
			m, err := readMap(string(config), files)
			if err == nil && (m.Weights.Bytes("bfloat16") < 0 || m.Cache.PerSequence("bfloat16", 1<<20, 0) < 0) {
				t.Errorf("got %+v, want no negative size", m)
			}
		}
	})
}

// TestKindsOfLayers: kinds have older names, and no figure is made of a kind that no rule was found
// with.
func TestKindsOfLayers(t *testing.T) {
	config := `{"model_type": "qwen3_next", "num_hidden_layers": 2, "layer_types": ["KIND", "linear_attention"]}`
	kinds := func(kind string) *Model { return read(t, strings.Replace(config, "KIND", kind, 1), nil) }
	full := kinds("full_attention")
	assert.Empty(t, full.Unknown)
	assert.Equal(t, full, kinds("attention"), "an older name")
	assert.NotEqual(t, full.Weights, kinds("linear_attention").Weights)
	other := kinds("conv")
	assert.False(t, other.Weights.Known)
	assert.False(t, other.Cache.Known)
	require.Len(t, other.Unknown, 2)
	assert.Contains(t, other.Unknown[0], "layer_types has conv: no rule is known")
}

// A field that the rules were compared with one value of is not known at another.
func TestAFieldWithOneComparedValue(t *testing.T) {
	tied := read(t, `{"model_type": "dbrx", "tie_word_embeddings": true}`, nil)
	assert.Contains(t, tied.Unknown, "tie_word_embeddings true: the rules of dbrx were compared with false alone")
	assert.NotContains(t, read(t, `{"model_type": "dbrx", "tie_word_embeddings": false}`, nil).Unknown,
		"tie_word_embeddings")
}
