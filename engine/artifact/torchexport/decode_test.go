package torchexport

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/program"
)

var exported = filepath.Join("..", "..", "..", "testdata", "artifacts", "exported")

func open(t testing.TB, path string) fs.FS {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	z, err := ptzip.Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	return z
}

func decode(t testing.TB, path string) *program.Program {
	p, err := Decode(open(t, path))
	require.NoError(t, err)
	return p
}

// TestDecode holds the programs of the small archives, each of which shows one thing of the format,
// against their text.
func TestDecode(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(exported, "*.pt2"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".pt2")
		t.Run(name, func(t *testing.T) {
			p := decode(t, path)
			require.NoError(t, program.Check(p))
			var b bytes.Buffer
			require.NoError(t, program.Write(&b, p))
			golden.File(t, filepath.Join("testdata", name+".txt"), b.String())
		})
	}
}

// TestModelsDecode: every model of the conformance table is a sound program.
func TestModelsDecode(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(exported, "models", "*.pt2"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		p := decode(t, path)
		require.NoError(t, program.Check(p), path)
		assert.NotEmpty(t, p.States, path)
	}
}

// TestOldLayout reads the one archive of schema 2 that was found in public.
func TestOldLayout(t *testing.T) {
	path := filepath.Join("..", "..", "..", "..", "shared", "corpus", "pt2",
		"KladovValentin__hades-pid__exported_program.pt2")
	if _, err := os.Stat(path); err != nil {
		t.Skip("no corpus")
	}
	p := decode(t, path)
	require.NoError(t, program.Check(p))
	assert.Equal(t, "torch 2.4 or before, export schema 2.0", p.Producer)
	assert.Len(t, p.States, 30)
	assert.Equal(t, "(*, *)", p.Entry.Output.String())
}

// model is a program of one operator, with its parts to be changed.
func model(edits ...string) fstest.MapFS {
	text :=
		`{"graph_module": {"graph": {"inputs": [{"as_tensor": {"name": "x"}}], "outputs": [{"as_tensor": {"name": "y"}}],
		"nodes": [{"target": "torch.ops.aten.relu.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}],
			"outputs": [{"as_tensor": {"name": "y"}}], "metadata": {}}],
		"tensor_values": {"x": {"dtype": 7, "sizes": [{"as_int": 4}], "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "device": {"type": "cpu", "index": null},
			"layout": 7, "requires_grad": false}}, "sym_int_values": {}, "sym_bool_values": {}},
		"signature": {"input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}], "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]},
		"module_call_graph": []}, "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20}, "torch_version": "2.15.0"}`
	for i := 0; i+1 < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			panic("nothing to edit: " + edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	return fstest.MapFS{"models/model.json": {Data: []byte(text)}, "archive_format": {Data: []byte("pt2")}}
}

func TestRefused(t *testing.T) {
	big := strings.Repeat("[", 2000)
	for _, c := range []struct {
		why   string
		files fstest.MapFS
		want  string
	}{
		{"a schema of tomorrow", model(`"major": 8`, `"major": 9`), "models/model.json: got schema version 9.20, want 8.x " +
			"or older: a newer torch wrote this"},
		{"a schema of tomorrow, in a form of tomorrow", model(`"major": 8`, `"major": 9`, `"nodes": [`,
			`"nodes": 7, "other": [`),
			"models/model.json: got schema version 9.20, want 8.x or older: a newer torch wrote this"},
		{"a schema of long ago", model(`{"major": 8, "minor": 20}`, `1`), "models/model.json: got schema version 1.0, want " +
			"2.x to 8.x: an old torch wrote this; export the model again"},
		{"no schema", model(`"schema_version"`, `"scheme"`), "models/model.json: got no schema_version, want one: is this " +
			"a torch.export program?"},
		{"no graph", model(`"graph":`, `"grape":`), "models/model.json: got no graph_module.graph, want one"},
		{"no JSON", fstest.MapFS{"models/model.json": {Data: []byte("{")}}, "models/model.json: offset 1: got the end, " +
			"want a string"},
		{"bottomless JSON", fstest.MapFS{"models/model.json": {Data: []byte(`{"a": ` + big)}},
			"models/model.json: offset 1006: got values nested more than 1000 deep"},
		{"no program", fstest.MapFS{"models/readme.txt": {Data: []byte("x")}}, "got no models/*.json, want a program"},
		{"no program at all", fstest.MapFS{}, "got no record serialized_exported_program.json and no folder models, want " +
			"one of them"},
		{"two programs", fstest.MapFS{"models/a.json": {}, "models/b.json": {}}, "got the programs a, b in one package, " +
			"want one of them saved by itself (torch.export.save)"},
		{"a name that nothing makes", model(`"arg": {"as_tensor": {"name": "x"}}, "kind"`,
			`"arg": {"as_tensor": {"name": "z"}}, "kind"`),
			`models/model.json: node 0, torch.ops.aten.relu.default: argument self: got the name "z", which stands for nothing yet`},
		{"a node that takes its own result", model(`"arg": {"as_tensor": {"name": "x"}}, "kind"`,
			`"arg": {"as_tensor": {"name": "y"}}, "kind"`),
			`models/model.json: node 0, torch.ops.aten.relu.default: argument self: got the name "y", which stands for nothing yet`},
		{"a kind of argument of tomorrow", model(`"arg": {"as_tensor": {"name": "x"}}, "kind"`,
			`"arg": {"as_quantum": {"name": "x"}}, "kind"`),
			"models/model.json: offset 217: got an argument of kind as_quantum, want one that is known"},
		{"a kind of input of tomorrow", model(`{"user_input": `, `{"dream": `), "models/model.json: offset 606: got an " +
			"input of kind dream, want one that is known"},
		{"a kind of output of tomorrow", model(`{"user_output": `, `{"dream": `), "models/model.json: offset 679: got an " +
			"output of kind dream, want one that is known"},
		{"a kind of size of tomorrow", model(`[{"as_int": 4}]`, `[{"as_jagged": 4}]`), "models/model.json: offset 371: got " +
			"a size of kind as_jagged, want one that is known"},
		{"fewer inputs in the signature", model(`[{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}]`, `[]`),
			"models/model.json: got 1 inputs of the graph and 0 of its signature"},
		{"an input that nothing describes", model(`"tensor_values": {"x"`, `"tensor_values": {"z"`),
			"models/model.json: input x: got no tensor_values of it"},
		{"a weight that nothing describes", model(`{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}`,
			`{"parameter": {"arg": {"name": "w"}, "parameter_name": "net.w"}}`,
			`"tensor_values": {"x"`, `"tensor_values": {"z"`), "models/model.json: net.w: got " +
			"no description of it, want its sizes"},
		{"an unknown dtype", model(`"dtype": 7`, `"dtype": 99`), "models/model.json: input x: got dtype 99, want one of " +
			"torch.export's"},
		{"a negative size", model(`{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}`,
			`{"parameter": {"arg": {"name": "w"}, "parameter_name": "net.w"}}`, `{"as_int": 4}`, `{"as_int": -4}`),
			"models/model.json: net.w: got a negative size"},
		{"an absurd size", model(`{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}`,
			`{"parameter": {"arg": {"name": "w"}, "parameter_name": "net.w"}}`, `[{"as_int": 4}]`,
			`[{"as_int": 4611686018427387904}, {"as_int": 4611686018427387904}]`, `"strides": [{"as_int": 1}]`,
			`"strides": [{"as_int": 1}, {"as_int": 1}]`),
			"models/model.json: net.w: size overflows int64"},
		{"an open size of a weight", model(`{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}`,
			`{"parameter": {"arg": {"name": "w"}, "parameter_name": "net.w"}}`, `[{"as_int": 4}]`,
			`[{"as_expr": {"expr_str": "s0"}}]`), "models/model.json: net.w: got the size s0, want a plain number"},
		{"several open sizes of a weight: the first", model(`{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}`,
			`{"parameter": {"arg": {"name": "w"}, "parameter_name": "net.w"}}`,
			`[{"as_int": 4}]`, `[{"as_int": 4}, {"as_expr": {"expr_str": "s1"}}, {"as_expr": {"expr_str": "s2"}}]`),
			"models/model.json: net.w: got the size s1, want a plain number"},
		{"open strides of a weight: the first", model(`{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}`,
			`{"parameter": {"arg": {"name": "w"}, "parameter_name": "net.w"}}`,
			`"strides": [{"as_int": 1}]`, `"strides": [{"as_expr": {"expr_str": "s3"}}, {"as_expr": {"expr_str": "s4"}}]`),
			"models/model.json: net.w: got the size s3, want a plain number"},
		{"an input of a size in an unknown form",
			model(`[{"as_int": 4}]`, `[{"as_expr": {"expr_str": "Frob(Symbol('s0'))"}}]`),
			`models/model.json: input x: size "Frob(Symbol('s0'))": got Frob of 1 arguments, want a function of sizes that is known`},
		{"a joint graph", model(`{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}`,
			`{"gradient_to_parameter": {"arg": {"name": "y"}, "parameter_name": "w"}}`),
			"models/model.json: got a joint graph of forward and backward, want a program of forward alone: a training step " +
				"is recorded instead (python -m memshim capture)"},
		{"a write to nothing", model(`{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}`,
			`{"buffer_mutation": {"arg": {"name": "y"}, "buffer_name": "w"}}`),
			"models/model.json: got a write to w, which is no parameter or buffer"},
		{"a result that is a text", model(`"outputs": [{"as_tensor": {"name": "y"}}], "metadata"`,
			`"outputs": [{"as_string": "y"}], "metadata"`),
			"models/model.json: node 0, torch.ops.aten.relu.default: got a result of another " +
				"kind than tensor, number, list or None"},
		{"a graph where none can be", model(`"arg": {"as_tensor": {"name": "x"}}, "kind"`,
			`"arg": {"as_graph": {"name": "g", "graph": {}}}, "kind"`),
			"models/model.json: node 0, torch.ops.aten.relu.default: got a graph as an argument, want one in " +
				"torch.ops.higher_order alone"},
		{"a structure that is none",
			model(`"module_call_graph": []`,
				`"module_call_graph": [{"fqn": "", "signature": {"in_spec": "[1, 2", "out_spec": ""}}]`),
			"models/model.json: got a treespec that is none, want a protocol number and a tree"},
		{"a structure of tomorrow",
			model(`"module_call_graph": []`,
				`"module_call_graph": [{"fqn": "", "signature": {"in_spec": "[2, {}]", "out_spec": ""}}]`),
			"models/model.json: got a treespec of protocol 2, want 1"},
		{"a structure of one member",
			model(`"module_call_graph": []`, `"module_call_graph": [{"fqn": "", "signature": {"in_spec": "[1, `+
				tree("builtins.tuple", tree("builtins.tuple"))+`]", "out_spec": ""}}]`),
			"models/model.json: got an in_spec of another form than (positional arguments, keyword arguments)"},
		{"a structure of positional arguments twice",
			model(`"module_call_graph": []`, `"module_call_graph": [{"fqn": "", "signature": {"in_spec": "[1, `+
				tree("builtins.tuple", tree("builtins.tuple"), tree("builtins.tuple"))+`]", "out_spec": ""}}]`),
			"models/model.json: got an in_spec of another form than (positional arguments, keyword arguments)"},
		{"a structure in a list",
			model(`"module_call_graph": []`, `"module_call_graph": [{"fqn": "", "signature": {"in_spec": "[1, `+
				tree("builtins.list", tree("builtins.tuple"), tree("builtins.dict"))+`]", "out_spec": ""}}]`),
			"models/model.json: got an in_spec of another form than (positional arguments, keyword arguments)"},
		{"a structure of no inputs",
			model(`"module_call_graph": []`, `"module_call_graph": [{"fqn": "", "signature": {"in_spec": "[1, `+
				tree("builtins.tuple", tree("builtins.tuple"), tree("builtins.dict"))+`]", "out_spec": ""}}]`),
			"models/model.json: got 1 inputs, want the 0 leaves of in_spec"},
		{"a weight without a record", func() fstest.MapFS {
			m := model()
			m["data/weights/model_weights_config.json"] =
				&fstest.MapFile{Data: []byte(`{"config": {"w": {"path_name": "weight_0", "is_param": true, "use_pickle": false}}}`)}
			return m
		}(), "data/weights/model_weights_config.json: got no record data/weights/weight_0, want that of w"},
		{"a weight in a record that is too short", func() fstest.MapFS {
			m := model(`{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}`,
				`{"parameter": {"arg": {"name": "x"}, "parameter_name": "w"}}`)
			m["data/weights/model_weights_config.json"] =
				&fstest.MapFile{Data: []byte(`{"config": {"w": {"path_name": "weight_0", "is_param": true, "use_pickle": false}}}`)}
			m["data/weights/weight_0"] = &fstest.MapFile{Data: make([]byte, 12)}
			return m
		}(), "models/model.json: w: got a tensor of 16 bytes in data/weights/weight_0 of 12"},
	} {
		_, err := Decode(c.files)
		assert.EqualError(t, err, c.want, c.why)
	}
	_, err := Decode(model())
	require.NoError(t, err, "without an edit it is read")
}

// tree is a node of a treespec, quoted for a text.
func tree(kind string, members ...string) string {
	context := map[string]string{"builtins.dict": `\"[]\"`}[kind]
	if context == "" {
		context = `\"null\"`
	}
	return `{\"type\": \"` + kind + `\", \"context\": ` + context + `, \"children_spec\": [` + strings.Join(members,
		", ") + `]}`
}

// TestFakeWeights: weights of no bytes share one record, and are separate tensors all the same.
func TestFakeWeights(t *testing.T) {
	m := model(`"inputs": [{"as_tensor": {"name": "x"}}]`,
		`"inputs": [{"as_tensor": {"name": "x"}}, {"as_tensor": {"name": "v"}}]`,
		`{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}`,
		`{"parameter": {"arg": {"name": "x"}, "parameter_name": "w"}}, {"parameter": {"arg": {"name": "v"}, "parameter_name": "v"}}`)
	meta :=
		`"tensor_meta": {"dtype": 7, "sizes": [{"as_int": 4}], "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "device": {"type": "meta"}, "layout": 7, "requires_grad": true}`
	m["data/weights/model_weights_config.json"] = &fstest.MapFile{Data: []byte(fmt.Sprintf(
		`{"config": {"v": {"path_name": "weight_0", "is_param": true, "use_pickle": false, %[1]s}, "w": {"path_name": "weight_0", "is_param": true, "use_pickle": false, %[1]s}}}`, meta))}
	m["data/weights/weight_0"] = &fstest.MapFile{}
	p, err := Decode(m)
	require.NoError(t, err)
	require.Len(t, p.States, 2)
	assert.Equal(t, "v", p.States[0].Name, "in the archive's order")
	assert.NotEqual(t, p.States[0].Storage, p.States[1].Storage)
	assert.EqualValues(t, 16, p.States[0].NBytes)
	m["data/weights/weight_0"] = &fstest.MapFile{Data: make([]byte, 16)}
	p, err = Decode(m)
	require.NoError(t, err)
	assert.Equal(t, p.States[0].Storage, p.States[1].Storage, "weights with bytes in one record are tied")
}

// FuzzDecode: no model makes the decoder panic, hang or exhaust memory, and what it accepts is a
// sound program that can be written.
func FuzzDecode(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join(exported, "*.pt2"))
	require.NoError(f, err)
	for _, path := range paths {
		z := open(f, path)
		if strings.HasSuffix(path, "_27.pt2") || strings.HasSuffix(path, "_28.pt2") { // older layouts of the same
			continue
		}
		data, err := fs.ReadFile(z, "models/model.json")
		require.NoError(f, err)
		config, err := fs.ReadFile(z, "data/weights/model_weights_config.json")
		require.NoError(f, err)
		f.Add(data, config)
	}
	f.Fuzz(func(t *testing.T, data, config []byte) {
		p,
			err := Decode(fstest.MapFS{"models/model.json": {Data: data},
			"data/weights/model_weights_config.json": {Data: config},
			"data/weights/weight_0":                  {Data: make([]byte, 64)}})
		if err != nil {
			return
		}
		if err := program.Check(p); err != nil && !strings.Contains(err.Error(), "which is no symbol") {
			t.Fatal(err)
		}
		require.NoError(t, program.Write(io.Discard, p))
	})
}
