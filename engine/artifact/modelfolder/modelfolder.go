// Package modelfolder reads a model's folder as transformers saves it: config.json, and the headers
// of safetensors files. It returns what the weights take and what a sequence keeps in a KV cache.
//
// Nothing is executed and no tensor bytes are read. architectures.txt says what transformers builds
// for a config, as rules that were found from its models and compared with others of them. Where a
// folder has safetensors headers, they say what the weights are. An architecture without rules, or
// a field that no rule covers, is reported and never guessed.
package modelfolder

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/internal/nearest"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/units"
)

// ConfigName is the file that makes a folder a model's.
const ConfigName = "config.json"

const (
	mostConfig = 4 << 20 // bytes of config.json; a list of modules that are not quantised may have some 100 KiB
	mostFile   = 1 << 50 // bytes of a file of weights, of which only the header is read
)

// A Model is what a folder says of its model.
type Model struct {
	Type    string // model_type
	Class   string // of transformers, which the rules describe; "" where none is known
	DType   string // of parameters, as config.json has it: bfloat16
	Weights Weights
	Cache   Cache
	Sizes   Sizes
	Notes   []string // what was assumed
	Unknown []string // what no rule says; the estimate is then incomplete
}

// Sizes are the config's own, for what an engine computes with; 0 where it has none.
type Sizes struct {
	Context, Layers, Hidden, Vocabulary int64
	Width                               int64 // between the two halves of a layer's MLP
	Experts, ExpertWidth                int64 // that a token is sent to, and how wide each is
}

// IsFolder says whether a path is a folder with a config.json, or that file.
func IsFolder(path string) bool {
	folder, _ := openFolder(path)
	if folder != nil {
		folder.Close()
	}
	return folder != nil
}

// openFolder opens what Open reads, nil where that is no model's folder, and returns the model's
// folder in it. A snapshot in a cache of the hub holds links to files beside it, so that the folder
// of the whole model is opened.
func openFolder(path string) (folder *regular.Folder, inside string) {
	dir := filepath.Clean(path)
	if filepath.Base(dir) == ConfigName {
		dir = filepath.Dir(dir)
	}
	root, inside := dir, "."
	if abs, err := filepath.Abs(dir); err == nil && filepath.Base(filepath.Dir(abs)) == "snapshots" {
		root, inside = filepath.Dir(filepath.Dir(abs)), "snapshots/"+filepath.Base(abs)
	}
	folder, err := regular.OpenFolder(root, mostFile)
	if err != nil {
		return nil, ""
	}
	if info, err := folder.Stat(pathIn(inside, ConfigName)); err != nil || !info.Mode().IsRegular() {
		folder.Close()
		return nil, ""
	}
	return folder, inside
}

func pathIn(folder, name string) string {
	if folder == "." {
		return name
	}
	return folder + "/" + name
}

// Open reads a model's folder, or the folder of a config.json.
func Open(path string) (*Model, error) {
	folder, inside := openFolder(path)
	if folder == nil {
		return nil, fmt.Errorf("%s: got no %s, want a model's folder", path, ConfigName)
	}
	defer folder.Close()
	in, _ := fs.Sub(folder, inside) // its config.json was found
	m, err := Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Read reads the files of a model's folder.
func Read(folder fs.FS) (*Model, error) {
	data, err := readAll(folder, ConfigName, mostConfig)
	if err != nil {
		return nil, regular.Plain(err)
	}
	json, err := readObject(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ConfigName, err)
	}
	headers, files, err := readHeaders(folder)
	if err != nil {
		return nil, err
	}
	m, err := describe(json, headers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ConfigName, err)
	}
	m.Weights.Files = len(files)
	return m, nil
}

// describe takes a model from its config and the tensors of its files, nil where it has none.
func describe(json object, headers map[string]Tensor) (*Model, error) {
	modelType, ok := json["model_type"].(string)
	if !ok {
		return nil, fmt.Errorf("got model_type %s, want the name of an architecture, such as \"llama\"",
			kindOf(json["model_type"]))
	}
	m := &Model{Type: modelType}
	rules := find(modelType)
	if rules == nil {
		m.unknownf("no rules for the architecture %.40q%s; those that are known are of transformers %s", modelType,
			hint(modelType), RulesOf)
		rules = &architecture{name: modelType, unknown: "not known", cacheless: "not known"}
	}
	m.Class = rules.class
	c := newConfig(json, rules)
	if err := m.readDType(json); err != nil {
		return nil, err
	}
	m.readSizes(c)
	for _, name := range slices.Sorted(maps.Keys(rules.fixed)) {
		if v, ok := c.given(name); ok && !equal(v, rules.fixed[name]) {
			m.unknownf("%s %v: the rules of %s were compared with %v alone", name, v, modelType, rules.fixed[name])
		}
		if of, nested := strings.CutSuffix(name, ".model_type"); nested && c.plain(of) == nil {
			m.unknownf("%s: got none; what %s takes then is not in its rules", of, modelType)
		}
	}
	if err := m.readWeights(c, headers); err != nil {
		return nil, err
	}
	m.readCache(c)
	if field := encoderField(json); field != "" {
		m.unknownf("the rest: an engine runs the encoder of %s in its profile run, with the largest input that it takes; "+
			"--language-model-only leaves it out", field)
	}
	return m, nil
}

func (m *Model) notef(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
}
func (m *Model) unknownf(format string, args ...any) {
	m.Unknown = append(m.Unknown, fmt.Sprintf(format, args...))
}

// hint is what a name may have meant.
func hint(modelType string) string {
	if near := nearest.Word(modelType, known()); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// readDType reads the dtype that the model was saved in.
func (m *Model) readDType(json object) error {
	for _, path := range []string{"dtype", "torch_dtype", "text_config.dtype", "text_config.torch_dtype"} {
		v, _ := member(json, strings.Split(path, "."))
		if v == nil {
			continue
		}
		text, ok := v.(string)
		text = strings.TrimPrefix(text, "torch.")
		if _, known := ItemSize(text); !ok || !known {
			return fmt.Errorf("%s: got %v, want a dtype such as bfloat16", path, v)
		}
		m.DType = text
		return nil
	}
	return nil
}

// itemSizes are the bytes of PyTorch's dtypes that parameters and caches have.
var itemSizes = map[string]units.Bytes{
	"float64": 8, "int64": 8, "float32": 4, "int32": 4, "bfloat16": 2, "float16": 2, "int16": 2, "int8": 1, "uint8": 1,
	"bool":          1,
	"float8_e4m3fn": 1, "float8_e5m2": 1,
}

// ItemSize returns the bytes of one element of a dtype, such as bfloat16.
func ItemSize(dtype string) (units.Bytes, bool) {
	n, ok := itemSizes[dtype]
	return n, ok
}

// readSizes takes what an engine computes with from the usual names; what is missing stays 0.
func (m *Model) readSizes(c *config) {
	first := func(names ...string) int64 {
		for _, prefix := range []string{"", "text_config."} {
			for _, name := range names {
				if v, err := c.field(prefix + name); err == nil {
					if n, ok := v.(int64); ok && n > 0 {
						return n
					}
				}
			}
		}
		return 0
	}
	m.Sizes = Sizes{
		Context:     first("max_position_embeddings", "n_positions", "max_seq_len", "model_max_length", "n_ctx"),
		Layers:      first("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"),
		Hidden:      first("hidden_size", "n_embd", "d_model"),
		Vocabulary:  first("vocab_size"),
		Width:       first("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "decoder_ffn_dim"),
		Experts:     first("num_experts_per_tok", "moe_topk", "moe_k", "num_experts_per_token"),
		ExpertWidth: first("moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size", "ffn_hidden_size"),
	}
}

// readAll reads a file of a folder that has at most so many bytes.
func readAll(folder fs.FS, name string, most int64) ([]byte, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := regular.All(f, name, most)
	return data, err
}
