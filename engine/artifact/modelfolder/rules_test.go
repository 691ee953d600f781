package modelfolder

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// configOf is a config of an architecture whose rules are written with blanks for tabs, and _ for
// what is empty.
func configOf(t *testing.T, json, rules string) *config {
	fields, err := readObject([]byte(json))
	require.NoError(t, err)
	var lines []string
	for _, line := range strings.Split(rules, "\n") {
		columns := strings.Fields(line)
		for i := range columns {
			if columns[i] = strings.ReplaceAll(columns[i], ";", "; "); columns[i] == "_" {
				columns[i] = ""
			}
		}
		lines = append(lines, strings.Join(columns, "\t"))
	}
	return newConfig(fields, parse(strings.Join(lines, "\n")))
}

// TestLayersOfDifferentSizes: layers with equal sizes that follow each other are counted together,
// and a layer without the tensor lies between no others.
func TestLayersOfDifferentSizes(t *testing.T) {
	c := configOf(t, `{"n": 6, "width": [2, 2, 3, 0, 3, 2], "heads": [1, 4, 1, 1, 5, 1]}`,
		"tensor w width[i];2 _ n heads[i] width[i]")
	var got [][]int64
	require.NoError(t, c.each(c.of.tensors, func(t tensor) error {
		got = append(got, append([]int64{t.n, t.elements}, t.dims...))
		return nil
	}))
	assert.Equal(t, [][]int64{{5, 4, 2, 2}, {6, 6, 3, 2}, {1, 4, 2, 2}}, got)
	got = nil
	enough := errors.New("enough")
	assert.Equal(t, enough, c.each(c.of.tensors, func(t tensor) error {
		if got = append(got, nil); len(got) == 2 {
			return enough
		}
		return nil
	}))
	assert.Len(t, got, 2)
}

// TestFieldsOfLists: a list that JSON leaves out has as many items as its rule says, each by its
// place; what JSON has counts.
func TestFieldsOfLists(t *testing.T) {
	const rules = "items kinds n i*10\n" +
		"items long 5000 i\nitems broken n missing[i]\nitems unknown n _\nitems sizeless none i"
	c := configOf(t, `{"n": 3}`, rules)
	v, err := c.field("kinds")
	require.NoError(t, err)
	assert.Equal(t, []any{int64(0), int64(10), int64(20)}, v)
	for name, want := range map[string]string{
		"long": "5000: got 5000 layers, want at most 4096", "broken": "no value",
		"unknown":  "unknown: no rule is known for what the class makes of it",
		"sizeless": "none: got null, no value",
	} {
		_, err := c.field(name)
		assert.EqualError(t, err, want)
	}
	v, err = configOf(t, `{"n": 3, "kinds": 4}`, rules).field("kinds")
	require.NoError(t, err)
	assert.Equal(t, int64(4), v)
}

// TestFieldsOfEachOther: a field is computed from others that are computed, up to 16 deep.
func TestFieldsOfEachOther(t *testing.T) {
	var chain strings.Builder
	for i := range mostDerived {
		chain.WriteString("derived a" + strconv.Itoa(i) + " a" + strconv.Itoa(i+1) + "+1\n")
	}
	c := configOf(t, `{"a16": 0}`, chain.String()+"derived b a0\nderived x y\nderived y x")
	v, err := c.field("a0")
	require.NoError(t, err)
	assert.Equal(t, int64(16), v)
	for _, name := range []string{"b", "x"} {
		_, err = c.field(name)
		assert.EqualError(t, err, "got fields that are computed from each other")
	}
	v, err = c.field("a1")
	require.NoError(t, err, "what was tried before does not count")
	assert.Equal(t, int64(15), v)
}

// TestRulesWithoutAValue: what a rule cannot say is an error that names the tensor, and no figure.
func TestRulesWithoutAValue(t *testing.T) {
	for rule, want := range map[string]string{
		"tensor w 2 _ n":                            "",
		"tensor w 2 _ absent":                       "absent: got null, no value",
		"tensor w absent":                           "w: absent: got null, no value",
		"tensor w 2 _ n absent":                     "w: absent: got null, no value",
		"tensor w 2 _ n 1 list[i]":                  "w: list: got 1 items, want one for layer 1",
		"tensor w 2 _ n 1 absent[i]":                "",
		"tensor w 2**48 _ n":                        "",
		"tensor w 2**48+1 _ n":                      "w: got 281474976710657 elements, want at most 281474976710656",
		"tensor w 2**48 float32 n 2**15":            "got a size that does not fit 63 bits",
		"tensor w 2**48 float32 n 2**14":            "got a size that does not fit 63 bits",
		"tensor w 2**48 float32 n 2**13":            "",
		"tensor a.*.up.weight 2**48 _ n\nwords n 3": "n has 3: no rule",
	} {
		c := configOf(t, `{"n": 2, "list": [1]}`, rule)
		_, err := c.elements(nil)
		if strings.Contains(rule, "words") {
			c.json["n"] = []any{"3", int64(4)}
			_, err = c.elements(nil)
			want = "n has 4: no rule is known for what the class makes of it"
		}
		if want == "" {
			assert.NoError(t, err, rule)
		} else {
			assert.EqualError(t, err, want, rule)
		}
	}
	c := configOf(t, `{}`, "tensor a.*.up_proj.weight 2**24;2**24 _ 1 2**20")
	_, err := c.elements(&method{name: "fp8", known: true, bits: 8})
	assert.Equal(t, errTooLarge, err, "of what is quantised, too")
}

// TestEngineTensorsOfAStack: the tensors of a module stand together in each layer, however far
// apart their rules are; what has no layers stands where its rule does.
func TestEngineTensorsOfAStack(t *testing.T) {
	c := configOf(t, `{"n": 2, "sizes": [7, 8]}`, strings.Join([]string{
		"tensor first.weight 1", "tensor m.*.up_proj.weight 2 float32 n", "tensor m.*.norm.weight 3 _ n",
		"tensor once.*.weight 4", "tensor m.*.up_proj.bias sizes[i] _ n", "tensor m.*.gate_proj.weight 5 _ n",
		"tensor other.*.up_proj.weight 6 _ 1", "tensor last.weight 9 _ _ 2"}, "\n"))
	got, err := c.engineTensors()
	require.NoError(t, err)
	assert.Equal(t, []EngineTensor{{1, ""}, {7, "float32"}, {3, ""}, {7, ""}, {7, "float32"}, {3, ""}, {8, ""}, {4, ""},
		{6, ""}, {9, ""}, {9, ""}}, got)
	for rule, want := range map[string]string{
		"tensor m.*.up_proj.weight 2 _ 5000":                           "5000: got 5000 layers, want at most 4096",
		"tensor m.*.up_proj.weight 2 _ n\ntensor m.*.b sizes[i+1] _ 1": "sizes: got 2 items, want one for layer 2",
		"tensor m.*.up_proj.weight 2 _ 1 2**17+1": "m.*.up_proj.weight: " +
			"got 131073 tensors of a layer, want at most 131072",
		"tensor a 1\ntensor b.*.weight 2 _ 2 2**16": "got more than 131072 tensors",
		"tensor b.*.weight 2 _ 2 2**16":             "",
	} {
		_, err := configOf(t, `{"n": 2, "sizes": [7, 8]}`, rule).engineTensors()
		if want == "" {
			assert.NoError(t, err, rule)
		} else {
			assert.EqualError(t, err, want, rule)
		}
	}
}

// TestTheTable: what is no line of it is a bug, and so is a rule that cannot be read.
func TestTheTable(t *testing.T) {
	assert.PanicsWithValue(t, "architectures.txt: unknown line of tensors", func() { parse("tensors\ta\n") })
	assert.Panics(t, func() { parse("tensor\ta\t1 +\n") })
	a := parse("architecture\tx\tXModel\n\n#\ta comment\n")
	assert.Equal(t, []string{"x", "XModel"}, []string{a.name, a.class})
	for _, name := range []string{"", "llama\tLlamaForCausalLM", "llama\n", "llama\r", "lama", "architecture"} {
		assert.Nil(t, find(name), "%q", name)
	}
	assert.Equal(t, "llama", find("llama").name)
}

// TestArchitecturesWithoutRules: those whose models were not measured, or have no cache, say why.
func TestArchitecturesWithoutRules(t *testing.T) {
	m := read(t, `{"model_type": "bailing_hybrid"}`, nil)
	assert.Equal(t, []string{
		"weights of bailing_hybrid: no rule is known (its models have not been measured), and the folder has no " +
			"safetensors files",
		"KV cache of bailing_hybrid: no rule is known (its models have not been measured)"}, m.Unknown)
	assert.False(t, m.Weights.Known || m.Cache.Known)
	assert.Empty(t, m.Cache.Parts)
}

// TestFilesThatCannotBeRead: what is too large, denser than JSON of a config, or shorter than it
// says, is refused.
func TestFilesThatCannotBeRead(t *testing.T) {
	dense := strings.Repeat("{", 1<<18)
	const tooDense = "got 262144 objects in 262144 bytes, want at most 147456"
	parts := fstest.MapFS{}
	for i := range mostFiles + 1 {
		parts["model-"+strconv.Itoa(i)+"-of-9.safetensors"] = &fstest.MapFile{}
	}
	large := make([]byte, mostHeader+9)
	binary.LittleEndian.PutUint64(large, mostHeader+1)
	one := func(text string, data int) fstest.MapFS { return fstest.MapFS{singleName: file(text, data)} }
	for _, tt := range []struct {
		config string
		files  fstest.MapFS
		want   string
	}{
		{dense, nil, "config.json: " + tooDense},
		{strings.Repeat(" ", mostConfig+1), nil, "config.json: got more than 4194304 bytes, want fewer bytes"},
		{tinyLlama, fstest.MapFS{indexName: {Data: []byte(dense)}}, "model.safetensors.index.json: " + tooDense},
		{tinyLlama, fstest.MapFS{indexName + "/x": {}}, "read model.safetensors.index.json: invalid argument"},
		{tinyLlama, one(dense, 0), "model.safetensors: " + tooDense},
		{tinyLlama, parts, "got 4097 files of weights, want at most 4096"},
		{tinyLlama, fstest.MapFS{singleName: {Data: large}},
			"model.safetensors: got a header of 33554433 bytes, want at most 33554432"},
		{tinyLlama, one(`{"a": {"data_offsets": [0, 1, 2]}}`, 2),
			"model.safetensors: offset 31: a: got 3 data_offsets, want 2"},
		{tinyLlama, one(`{"a": {"dtype": "U8", "shape": [-1], "data_offsets": [0, 1]}}`, 2),
			"model.safetensors: offset 34: a: got a size of -1, want one that fits"},
		{tinyLlama, one(`{"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 0]}}`, 2),
			"model.safetensors: offset 59: a: got data_offsets [1 0] in 2 bytes of data, want its beginning and end"},
		{tinyLlama, one(`{"a": {"dtype": "U8", "shape": [1], "data_offsets": [-1, 0]}}`, 2),
			"model.safetensors: offset 60: a: got data_offsets [-1 0] in 2 bytes of data, want its beginning and end"},
	} {
		_, err := readMap(tt.config, tt.files)
		assert.EqualError(t, err, tt.want)
	}
	_, err := Read(fstest.MapFS{})
	assert.EqualError(t, err, "config.json: file does not exist")

	tensors := map[string]Tensor{}
	header := one(`{"a": {"dtype": "U8", "new": {}, "shape": [2], "data_offsets": [0, 2]}}`, 2)
	n, err := readHeader(header, singleName, 71, tensors)
	require.NoError(t, err)
	assert.Equal(t, int64(71), n)
	assert.Equal(t, map[string]Tensor{"a": {DType: "U8", Bytes: 2, Sizes: 2}}, tensors, "what is new says nothing")
	_, err = readHeader(header, singleName, 70, tensors)
	assert.EqualError(t, err, "got a header of 71 bytes, want at most 70", "of all files together")
	_, err = readHeader(shorter{header}, singleName, 99, tensors)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = readHeader(nameless{header}, singleName, 99, tensors)
	assert.Equal(t, errBroken, err)
}

// TestHeadersOfAllFiles: their headers have a limit in all.
func TestHeadersOfAllFiles(t *testing.T) {
	half := `{"__metadata__": "` + strings.Repeat("x", mostHeaders/3) + `"}`
	files := fstest.MapFS{}
	for i := range 3 {
		files["model-"+strconv.Itoa(i)+"-of-3.safetensors"] = file(half, 0)
	}
	_, err := readMap(tinyLlama, files)
	assert.EqualError(t, err, "model-2-of-3.safetensors: got a header of 22369641 bytes, want at most 22369582")
}

// shorter is a folder whose files end before what they say.
type shorter struct{ fs.FS }

func (s shorter) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return shortFile{f, io.LimitReader(f, 20)}, err
}

type shortFile struct {
	fs.File
	io.Reader
}

func (f shortFile) Read(p []byte) (int, error) { return f.Reader.Read(p) }

// nameless is a folder whose files say nothing of themselves.
type nameless struct{ fs.FS }

func (s nameless) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return namelessFile{f}, err
}

type namelessFile struct{ fs.File }

func (namelessFile) Stat() (fs.FileInfo, error) { return nil, errBroken }

// TestOddConfigs: fields of other kinds than a class takes decide nothing, and stop nothing.
func TestOddConfigs(t *testing.T) {
	for _, kinds := range []string{"3", `["full_attention", 3]`, `"full_attention"`, `{}`} {
		m := read(t, `{"model_type": "qwen3_next", "num_hidden_layers": 2, "layer_types": `+kinds+`}`, nil)
		const why = ": no rule is known for what the class makes of it"
		has := map[string]string{`"full_attention"`: "full_attention", `{}`: "map[]"}[kinds]
		if has == "" {
			has = "3"
		}
		assert.Equal(t, []string{"weights: layer_types has " + has + why, "KV cache: layer_types has " + has + why},
			m.Unknown, kinds)
	}
	_, err := readMap(`{"model_type": "llama", "text_config": 3, "vocab_size": 64}`, nil)
	assert.NoError(t, err)
	m := read(t, strings.Replace(tinyLlama, "{", `{"head_dim": 4611686018427387904,`, 1),
		fstest.MapFS{singleName: file(`{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}`, 1)})
	assert.Equal(t, int64(0), m.Weights.Rotary, "a table that does not fit is not counted")
	assert.Nil(t, m.Weights.Engine, "nor is what the rules cannot say")
	assert.True(t, m.Weights.Known)
	assert.Empty(t, m.Notes)
}

// TestNotesOfWeights: what was assumed about the weights, all of it.
func TestNotesOfWeights(t *testing.T) {
	const counted = "weights are counted from config.json by the rules of transformers 5.23.0; the folder has no " +
		"safetensors files"
	one := fstest.MapFS{singleName: file(`{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}`, 1)}
	for _, tt := range []struct {
		why, fields string
		files       fstest.MapFS
		want        []string
	}{
		{"rules", "", nil, []string{counted}},
		{"rules, quantised", `"quantization_config": {"quant_method": "fp8"},`, nil, []string{counted,
			"weights that fp8 quantises are by formula: scales and zeros beside them in the method's usual form"}},
		{"files", "", one, []string{"the files hold 2343 elements fewer than transformers builds for llama"}},
		{"files, quantised", `"quantization_config": {"quant_method": "fp8"},`, one, nil},
		{"a rope without a rule", `"rope_scaling": {"rope_type": "su"},`, nil,
			[]string{"the table of rotary embeddings of this rope_type is not counted: su", counted}},
	} {
		m := read(t, strings.Replace(tinyLlama, "{", "{"+tt.fields, 1), tt.files)
		assert.Equal(t, tt.want, m.Notes, tt.why)
		assert.Empty(t, m.Unknown, tt.why)
	}
}

// TestWhichModelsRotate: those whose config says how, and those whose class does by default.
func TestWhichModelsRotate(t *testing.T) {
	const sizes = `"max_position_embeddings": 32, "num_attention_heads": 2, "hidden_size": 8`
	for _, tt := range []struct {
		fields, rules string
		want          int64
	}{
		{sizes, "", 0}, {sizes, "rotary", 128}, {sizes + `, "rope_theta": 1`, "", 128},
		{sizes + `, "rope_scaling": null`, "", 0},
		{sizes + `, "rope_scaling": {}`, "", 128}, {sizes + `, "rope_parameters": {"rope_type": "default"}`, "", 128},
		{sizes + `, "rope_parameters": {"rope_type": "linear", "factor": 2}, "rope_scaling": {"type": "su"}`, "", 256},
		{`"text_config": {` + sizes + `, "rope_theta": 1}`, "", 128},
		{`"text_config": {` + sizes + `}, "rope_theta": 1`, "", 0},
	} {
		m := &Model{}
		c := configOf(t, "{"+tt.fields+"}", "architecture x X\n"+tt.rules)
		m.readRotary(c)
		assert.Equal(t, tt.want, m.Weights.Rotary, tt.fields+tt.rules)
	}
}

// TestWhichQuantization: that of the whole model comes before that of its text.
func TestWhichQuantization(t *testing.T) {
	const fp8, awq = `"quantization_config": {"quant_method": "fp8"}`, `"quantization_config": {"quant_method": "awq"}`
	for config, want := range map[string]string{"{" + fp8 + `, "text_config": {` + awq + "}}": "fp8",
		`{"text_config": {` + awq + "}}": "awq", `{"quantization_config": null, "text_config": {` + awq + "}}": "awq"} {
		json, err := readObject([]byte(config))
		require.NoError(t, err)
		m, err := quantization(json)
		require.NoError(t, err)
		assert.Equal(t, want, m.name, config)
	}
}

// TestCacheOfRules: what each kind of layer keeps, by how it grows: what grows by token first.
func TestCacheOfRules(t *testing.T) {
	c := configOf(t, `{"n": 3, "window": [4, 4, 0]}`, strings.Join([]string{"cache state 5;2 state@float32 2",
		"cache w window[i];6 window n", "cache k 8 token n", "cache v 7 token@float16 n", "cache k 3 token 1"}, "\n"))
	for i := range c.of.cache {
		c.of.cache[i].kind = strings.ReplaceAll(c.of.cache[i].kind, "@", " ")
	}
	m := &Model{}
	m.readCache(c)
	assert.Equal(t, Cache{Known: true, Parts: []CachePart{
		{Grows: ByToken, Elements: 3*8 + 3, Tensors: 4},
		{Grows: ByToken, Elements: 3 * 7, DType: "float16", Tensors: 3},
		{Grows: ByWindow, Window: 4, Elements: 2 * 6, Tensors: 2},
		{Grows: State, Elements: 2 * 10, DType: "float32", Tensors: 2},
	}}, m.Cache)
	assert.Empty(t, m.Unknown)

	c = configOf(t, `{"n": 2}`, "cache k 2**48 token n\ncache k 2**48 token n 2**20")
	m = &Model{}
	m.readCache(c)
	assert.Equal(t, Cache{}, m.Cache, "no part of what does not fit is kept")
	assert.Equal(t, []string{"KV cache: got a size that does not fit 63 bits"}, m.Unknown)
}
