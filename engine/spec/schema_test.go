package spec_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/spec"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(spec.Schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, c.AddResource("memspec.schema.json", doc))
	s, err := c.Compile("memspec.schema.json")
	require.NoError(t, err)
	return s
}

// schemaSays validates YAML as an editor does: read as data, then as JSON.
func schemaSays(t *testing.T, s *jsonschema.Schema, data string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(data), &v); err != nil {
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return s.Validate(doc)
}

// TestSchemaAgreesWithTheReader on documents with at most one thing wrong. Where only the reader
// knows, unknowable says why.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	s := compiled(t)
	const model = "artifact: a.pt, device: t4, budget: {reserved: 1GiB}"
	inModel := func(s string) string { return "version: 1\nmodels: {m: {" + model + ", " + s + "}}\n" }
	inCase := func(s string) string { return "version: 1\nmodels: {m: {" + model + ", cases: [{" + s + "}]}}\n" }
	inDefaults := func(s string) string { return "version: 1\ndefaults: {" + s + "}\nmodels: {m: {" + model + "}}\n" }
	program := func(s string) string {
		return "version: 1\nmodels: {m: {device: t4, budget: {reserved: 1GiB}, " + s + "}}\n"
	}
	engine := func(s string) string {
		return "version: 1\nmodels: {m: {device: t4, budget: {loaded: 1GiB}, " + s + "}}\n"
	}
	device := func(s string) string { return "version: 1\ndevices: {d: {" + s + "}}\nmodels: {m: {" + model + "}}\n" }
	budget := func(s string) string {
		return "version: 1\nmodels: {m: {artifact: a.pt, device: t4, dims: {B: 2}, budget: {reserved: " + s + "}}}\n"
	}
	for _, c := range []struct {
		doc        string
		good       bool
		unknowable string
	}{
		{doc: inModel(""), good: true},
		{doc: "version: 1\ndefaults:\nmodels: {m: {" + model + "}}\n", good: true},
		{doc: "models: {m: {" + model + "}}\n"},
		{doc: "version: 1\n"},
		{doc: "version: 2\nmodels: {m: {" + model + "}}\n"},
		{doc: "version: 1\nmodels: {}\n"},
		{doc: "version: 1\nmodels: []\n"},
		{doc: "version: 1\nmodels: {m: {" + model + "}}\nextra: 1\n"},
		{doc: "version: 1\nmodels: {m: {device: t4, budget: {reserved: 1GiB}}}\n"},
		{doc: "version: 1\nmodels: {m: {source: 'a.py:b.c', device: t4, budget: {reserved: 1GiB}}}\n", good: true},
		{doc: "version: 1\nmodels: {m: {source: a.py, device: t4, budget: {reserved: 1GiB}}}\n"},
		{doc: "version: 1\nmodels: {m: {source: 'pkg.net:build', device: t4, budget: {reserved: 1GiB}}}\n", good: true},
		{doc: "version: 1\nmodels: {m: {source: 'pkg/net:build', device: t4, budget: {reserved: 1GiB}}}\n"},
		{doc: "version: 1\nmodels: {m: {source: 'pkg.net:', device: t4, budget: {reserved: 1GiB}}}\n"},
		{doc: program("program: train.py"), good: true}, {doc: program("module: pkg.train"), good: true},
		{doc: program("module: pkg/train")},
		{doc: program("program: ''")}, {doc: program("program: train.py, module: pkg.train")},
		{doc: program("program: train.py, source: 'a.py:b'")},
		{doc: program(
			"program: train.py, args: [--batch, 2, '', true], env: {WIDTH: '8', DEPTH: 2, HOME: null}, cwd: scripts"),
			good: true},
		{doc: program("program: train.py, steps: 3, ranks: {world_size: 512, nproc_per_node: 8, run: [0, last, '3']}"),
			good: true},
		{doc: program("program: train.py, ranks: {world_size: 8, run: all}, cases: [{ranks: {world_size: 16}, steps: 1}]"),
			good: true},
		{doc: program("program: train.py, ranks: {world_size: 8, run: []}")},
		{doc: program("program: train.py, ranks: {world_size: 8, run: [most]}")},
		{doc: program("program: train.py, ranks: {world_size: 0}")}, {doc: program("program: train.py, ranks: 8")},
		{doc: program("program: train.py, ranks: {size: 8}")},
		{doc: program("program: train.py, ranks: {run: 0}"), unknowable: "a case may have world_size:"},
		{doc: program("program: train.py, ranks: {world_size: 4, nproc_per_node: 8}"), unknowable: "a multiple"},
		{doc: program("program: train.py, steps: 0")},
		{doc: program("program: train.py, args: --batch 2")}, {doc: program("program: train.py, args: [[a]]")},
		{doc: program("program: train.py, env: [A=1]")},
		{doc: program("program: train.py, env: {A=B: 1}")}, {doc: program("program: train.py, env: {LD_PRELOAD: a.so}")},
		{doc: program("program: train.py, env: {MEMSPEC_RUN: a}")},
		{doc: program("program: train.py, env: {A: [1]}")}, {doc: program("program: train.py, cwd: ''")},
		{doc: program("program: train.py, inputs: ['float32[2]']")},
		{doc: program("program: train.py, mode: training")},
		{doc: program("program: train.py, cases: [{args: [a], env: {A: b}, cwd: c}]"), good: true},
		{doc: program("program: train.py, cases: [{dims: {B: 2}}]")}, {doc: inModel("args: [a]")},
		{doc: inCase("env: {A: b}")}, {doc: inDefaults("args: [a]")},
		{doc: engine("serve: [vllm, serve, m, --x, 4]"), good: true}, {doc: engine("serve: []")},
		{doc: engine("serve: vllm")}, {doc: engine("serve: [[a]]")},
		{doc: engine("serve: [vllm], at_least: {kv_tokens: 4, concurrency: 2*3}, args: [a], env: {A: b}, cwd: c, judge: " +
			"likely, allow: [driver-unlogged]"), good: true},
		{doc: engine("serve: [vllm], at_least: {loaded: 4}")},
		{doc: engine("serve: [vllm], regression: {kv_tokens: 2%, loaded: 1MiB}"), good: true},
		{doc: engine("serve: [vllm], regression: {allocated: 2%}")}, {doc: engine("serve: [vllm], program: train.py")},
		{doc: engine("serve: [vllm], source: 'a.py:b'")},
		{doc: engine("serve: [vllm], steps: 3")}, {doc: engine("serve: [vllm], torch: 2.10")},
		{doc: engine("serve: [vllm], cases: [{args: [a], at_least: {kv_tokens: 1}}]"), good: true},
		{doc: engine("serve: [vllm], cases: [{budget: {reserved: 1}}]")},
		{doc: engine("serve: [vllm], cases: [{memory_fraction: 0.5}]")},
		{doc: program("serve: [vllm]")}, {doc: program("program: train.py, at_least: {kv_tokens: 1}")},
		{doc: inModel("at_least: {kv_tokens: 1}")}, {doc: inCase("budget: {loaded: 1}")},
		{doc: inDefaults("at_least: {kv_tokens: 1}"), good: true},
		{doc: "version: 1\nmodels: {m: {artifact: '', device: t4, budget: {reserved: 1GiB}}}\n"},
		{doc: "version: 1\nmodels: {'': {" + model + "}}\n"},
		{doc: "version: 1\nmodels: {m: {artifact: a.pt, budget: {reserved: 1GiB}}}\n", unknowable: "the device may be in " +
			"any of three places"},
		{doc: "version: 1\nmodels: {m: {artifact: a.pt, device: t4}}\n", unknowable: "the budget may be in any of three " +
			"places"},
		{doc: "version: 1\nmodels: {m: {artifact: a.pt, device: toaster, budget: {reserved: 1GiB}}}\n",
			unknowable: "devices have many names, and users add theirs"},
		{doc: inModel("artifact: b.pt"), good: false},

		{doc: inModel("name: x")}, {doc: inCase("name: x"), good: true}, {doc: inCase("name: ' '")},
		{doc: inCase("name: 3"), good: true},
		{doc: inCase("source: 'a.py:b'")}, {doc: inDefaults("artifact: b.pt")}, {doc: inDefaults("dims: {B: 1}")},
		{doc: inModel("cases: []")}, {doc: inModel("cases: {}")},
		{doc: inCase("nmae: x")},

		{doc: inModel("runtime: eager"), good: true}, {doc: inModel("runtime: eagre")},
		{doc: inModel("mode: training"), good: true}, {doc: inModel("mode: train")},
		{doc: inModel(
			"mode: training, optimizer: AdamW, loss: mean, clip: 1, accumulate: 2, iterations: 4, checkpoint: [a.*]"),
			good: true},
		{doc: inModel("mode: training, optimizer: {name: AdamW, betas: [0.9, 0.99], fused: true}, checkpoint: {modules: " +
			"[a], reentrant: true}"), good: true},
		{doc: inModel("mode: training, optimizer: SGD, optimizer_in_backward: true"), good: true},
		{doc: inModel("mode: training, optimizer_in_backward: 1")},
		{doc: inModel("mode: training, optimizer: SGD, optimizer_in_backward: true, accumulate: 2"),
			unknowable: "the keys may be in any of three places"},
		{doc: inModel("mode: training, optimizer: {fused: true}")}, {doc: inModel("mode: training, optimizer: [AdamW]")},
		{doc: inModel("mode: training, optimizer: 'a b'")},
		{doc: inModel("mode: training, loss: ''")}, {doc: inModel("mode: training, clip: 0")},
		{doc: inModel("mode: training, accumulate: 0")},
		{doc: inModel("varies: [T]"), good: true}, {doc: inModel("varies: T")}, {doc: inModel("lengths: {T: [1]}")},
		{doc: inModel("lengths: [1, 2]")},
		{doc: inModel("mode: training, iterations: 1")}, {doc: inModel("mode: training, iterations: 1000")},
		{doc: inModel("mode: training, checkpoint: []")},
		{doc: inModel("mode: training, checkpoint: {reentrant: true}")}, {doc: inModel("mode: training, checkpoint: true")},
		{doc: inDefaults("optimizer: AdamW, checkpoint: [a]"), good: true},
		{doc: inModel("clip: 1"), unknowable: "the mode may be in any of three places"},
		{doc: inModel("torch: 2.10"), good: true}, {doc: inModel("torch: '2.9.1'"), good: true},
		{doc: inModel("torch: latest")},
		{doc: inModel("torch: 1.13"), unknowable: "a number, not a text that can be ordered"},
		{doc: inModel("torch: 2"), unknowable: "JSON has no 2.0 that is not 2"},
		{doc: inModel("cudnn: 9.10.2.21"), good: true}, {doc: inModel("cudnn: nine")}, {doc: inModel("cudnn: [9]")},
		{doc: inModel("alloc_conf: 'max_split_size_mb:64'"), good: true}, {doc: inModel("alloc_conf: ''"), good: true},
		{doc: inModel("alloc_conf: {}")},
		{doc: inModel("cublas_workspace: ':4096:8'"), good: true}, {doc: inModel("cublas_workspace: '4096:8'")},
		{doc: inModel("cublas_workspace: ''"), good: true},
		{doc: inModel("memory_fraction: 0.5"), good: true}, {doc: inModel("memory_fraction: 0")},
		{doc: inModel("memory_fraction: 1.5")}, {doc: inModel("memory_fraction: half")},
		{doc: inModel("nccl: 1.5GiB"), good: true}, {doc: inModel("nccl: 0B"), good: true}, {doc: inModel("nccl: -1GiB")},
		{doc: inModel("nccl: [1GiB]")},
		{doc: inModel("tolerance: 2.5%"), good: true}, {doc: inModel("tolerance: 0.01")}, {doc: inModel("tolerance: one")},
		{doc: inModel("tolerance: 200%"), unknowable: "a text"},
		{doc: inModel("level: warn"), good: true}, {doc: inModel("level: error")},
		{doc: inModel("grad: no_grad"), good: true}, {doc: inModel("grad: off")},
		{doc: inModel("dtype: half"), good: true}, {doc: inModel("dtype: int8")},
		{doc: inModel("autocast: bfloat16"), good: true}, {doc: inModel("autocast: float32")},
		{doc: inModel("attention: math"), good: true}, {doc: inModel("attention: [flash_attention, cudnn_attention]"),
			good: true}, {doc: inModel("attention: []")},
		{doc: inModel("attention: flash")}, {doc: inModel("attention: [overrideable]")},
		{doc: inDefaults("attention: efficient_attention"), good: true}, {doc: inCase("attention: {math: true}")},
		{doc: inModel("flags: {tf32: true}"), good: true}, {doc: inModel("flags: {tf32: 1}")},
		{doc: inModel("flags: {tf23: true}")}, {doc: inModel("flags: true")},
		{doc: inModel("workspace: a.json"), good: true}, {doc: inModel("scratch: a.json")},
		{doc: "version: 1\nx-anchors: {any: thing}\nmodels: {m: {" + model + "}}\n", good: true},
		{doc: inModel("x-anchors: 1")}, {doc: inModel("workspace: ''")},
		{doc: inModel("allow: [shape-bound]"), good: true}, {doc: inModel("allow: [Shape]")},
		{doc: inModel("allow: shape-bound")},
		{doc: inModel("depends: {ignore: [data/**, '../shared', '$WIDTH', '$HYDRA_*'], also: ['conf/**/*.yaml']}"),
			good: true}, {doc: inDefaults("depends: {}"), good: true},
		{doc: inCase("depends: {also: []}"), good: true}, {doc: inModel("depends: [data]")},
		{doc: inModel("depends: {ignores: [data]}")}, {doc: inModel("depends: {ignore: data}")},
		{doc: inModel("depends: {ignore: [/data]}")}, {doc: inModel("depends: {also: ['$WIDTH']}")},
		{doc: inModel("depends: {ignore: ['']}")}, {doc: inModel("depends: {ignore: ['a\\b']}")},
		{doc: inModel("depends: {ignore: ['$']}")}, {doc: inModel("depends: {ignore: ['$A/B']}")},
		{doc: inModel("assume: {'a.py:3': 300}"), good: true}, {doc: inModel("assume: {'a.py:3': -1}")},
		{doc: inModel("assume: [3]")},

		{doc: inModel("dims: {B: 1, H: [1, 2]}"), good: true}, {doc: inModel("dims: {B: -1}")},
		{doc: inModel("dims: {B: []}")}, {doc: inModel("dims: {B: 1.5}")},
		{doc: inModel("dims: {min: 1}")}, {doc: inModel("dims: {'a b': 1}")}, {doc: inModel("dims: {B: [[1]]}")},
		{doc: inModel("dims: {B: 99999999999999999999}")},

		{doc: budget("1GiB"), good: true}, {doc: budget("1073741824"), good: true}, {doc: budget("60%"), good: true},
		{doc: budget("98MiB + 12MiB*B"), good: true},
		{doc: budget("'max(1MiB, B//2)'"), good: true}, {doc: budget("-1")}, {doc: budget("1.5")}, {doc: budget("[1GiB]")},
		{doc: budget("null")}, {doc: budget("''")}, {doc: budget("1GiB;")},
		{doc: budget("110MB"), unknowable: "an expression"}, {doc: budget("98MiB +"), unknowable: "an expression"},
		{doc: budget("C"), unknowable: "dims without a value"},
		{doc: budget("99999999999GiB"), unknowable: "overflow"}, {doc: budget("120%"), unknowable: "a text"},
		{doc: strings.Replace(budget("1"), "reserved", "speed", 1)},

		{doc: inModel("inputs: {x: 'float32[1]'}"), good: true},
		{doc: inModel("inputs: ['float32[1]', 3, null, true, 1.5, [1], {k: 1}]"), good: true},
		{doc: inModel("inputs: {x: {dtype: float32, shape: [1, H*2], memory_format: contiguous}}, dims: {H: 2}"), good: true},
		{doc: inModel("inputs: {x: {dtype: float32}}")}, {doc: inModel("inputs: {x: {shape: [1]}}")},
		{doc: inModel("inputs: {x: {dtype: float32, shape: 3}}")},
		{doc: inModel("inputs: {x: {dtype: float32, shape: [1], stride: [1]}}")},
		{doc: inModel("inputs: {x: {dtype: float32, shape: [-1]}}")},
		{doc: inModel("inputs: {x: {dtype: float32, shape: [1], memory_format: nchw}}")},
		{doc: inModel("inputs: {'a b': 1}")}, {doc: inModel("inputs: 3")},
		{doc: inModel("inputs: {x: ''}")},
		{doc: inModel("inputs: {x: 'float23[1]'}"), unknowable: "the grammar of inputs"},
		{doc: inModel("inputs: {x: hello}"), unknowable: "the grammar of inputs"},
		{doc: inModel("inputs: {x: {dtype: float23, shape: [1]}}"), unknowable: "PyTorch's dtypes have many names"},
		{doc: inModel("inputs: {x: {dtype: float32, shape: [1], memory_format: channels_last}}"),
			unknowable: "the number of sizes"},

		{doc: device("memory: 8GiB, compute_capability: 8.7, sms: 16, context: 300MiB"), good: true},
		{doc: device("memory: 8GiB, compute_capability: '8.7', sms: 16, clock: 1")},
		{doc: device("memory: [8GiB], compute_capability: 8.7, sms: 16")},
		{doc: device("memory: 8GiB, compute_capability: 8.7, sms: 0")},
		{doc: device("memory: 8GiB"), unknowable: "a built-in row may have the rest"},
		{doc: device("memory: 8GiB, compute_capability: 8, sms: 16"), unknowable: "JSON has no 8.0 that is not 8"},
		{doc: "version: 1\ndevices: {none: {memory: 1GiB}}\nmodels: {m: {" + model + "}}\n"},
		{doc: "version: 1\ndevices: {D: {memory: 1GiB, compute_capability: 8.7, sms: 1}}\nmodels: {m: {" + model + "}}\n"},
		{doc: inModel("cases: [{name: a}, {name: a}]"), unknowable: "names given twice"},
	} {
		_, readErr := spec.Parse("memspec.yaml", []byte(c.doc))
		schemaErr := schemaSays(t, s, c.doc)
		assert.Equal(t, c.good, readErr == nil, "reader on\n%s%v", c.doc, readErr)
		assert.Equal(t, c.good || c.unknowable != "", schemaErr == nil, "schema on\n%s%v", c.doc, schemaErr)
	}
}

// TestSchemaOnArchives holds the schema to every file that the reader is tested on.
func TestSchemaOnArchives(t *testing.T) {
	// These files are good to a schema. The reason is why it cannot know better.
	blind := map[string]string{
		"spec_documents":         "an editor sees one document at a time",
		"spec_unbound":           "dims without a value",
		"spec_unused":            "dims that nothing names",
		"spec_limits_of_budgets": "what a budget comes to",
	}
	s := compiled(t)
	for pattern, good := range map[string]bool{"../../testdata/spec/*.txtar": true,
		"../../testdata/errors/spec_*.txtar": false} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			name := strings.TrimSuffix(filepath.Base(path), ".txtar")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			var doc string
			for _, f := range txtar.Parse(data).Files {
				if f.Name == "memspec.yaml" {
					doc = string(f.Data)
				}
			}
			err = schemaSays(t, s, doc)
			assert.Equal(t, good || blind[name] != "", err == nil, "%s: %v", name, err)
		}
	}
}
