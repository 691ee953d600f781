package torchexport

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
)

const (
	inputX    = `"inputs": [{"as_tensor": {"name": "x"}}]`
	specX     = `{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}`
	specY     = `{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}`
	argumentX = `{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}`
	resultY   = `"outputs": [{"as_tensor": {"name": "y"}}], "metadata"`
	noCalls   = `"module_call_graph": []`
	noSizes   = `"sym_int_values": {}`
)

// graphOf is the function of the model with edits, as it is printed, or the error.
func graphOf(t *testing.T, files fstest.MapFS) string {
	p, err := Decode(files)
	if err != nil {
		return err.Error()
	}
	require.NoError(t, program.Check(p))
	var b bytes.Buffer
	require.NoError(t, program.Write(&b, p))
	_, text, _ := strings.Cut(b.String(), "func ")
	return text
}

// callOf is a module_call_graph with a structure of inputs and one of results.
func callOf(in, out string) string {
	return `"module_call_graph": [{"fqn": "", "signature": {"in_spec": "` + in + `", "out_spec": "` + out +
		`", "forward_arg_names": ["x"]}}]`
}

// TestKindsOfInputs: what each kind of input and output becomes, whole.
func TestKindsOfInputs(t *testing.T) {
	const x = " float32[4] strides [1] cpu"
	const relu = "  y%1 = aten::relu(self=x%0) -> no tensor  # 0\n"
	more := func(input, spec string) []string {
		return []string{inputX, `"inputs": [{"as_tensor": {"name": "x"}}, ` + input + `]`, specX, specX + ", " + spec}
	}
	with := func(edits []string, more ...string) []string { return append(edits, more...) }
	for _, tt := range []struct {
		why   string
		edits []string
		want  string
	}{
		{"a tensor", nil, "forward(x%0: Tensor" + x + ")  # models/model.json:1\n" + relu + "  prim::Return([y%1])  # 1\n"},
		{"an object", with(more(`{"as_custom_obj": {"name": "obj", "class_fqn": "C"}}`,
			`{"custom_obj": {"arg": {"name": "obj"}, "custom_obj_name": "self.obj"}}`),
			argumentX, argumentX+`, {"name": "o", "arg": {"as_custom_obj": {"name": "obj"}}},
				{"name": "p", "arg": {"as_custom_obj": {"name": "lost"}}}`),
			"forward(x%0: Tensor" + x + ")  # models/model.json:1\n" +
				"  y%1 = aten::relu(self=x%0, o=self.obj(None), p=lost(None)) -> no tensor  # 0\n  prim::Return([y%1])  # 1\n"},
		{"a token", with(more(`{"as_tensor": {"name": "t"}}`, `{"token": {"arg": {"name": "t"}}}`),
			argumentX, argumentX+`, {"name": "t", "arg": {"as_tensor": {"name": "t"}}}`),
			"forward(x%0: Tensor" + x + ")  # models/model.json:1\n" +
				"  y%1 = aten::relu(self=x%0, t=None) -> no tensor  # 0\n  prim::Return([y%1])  # 1\n"},
		{"a number that stays open", with(more(`{"as_sym_int": {"as_name": "s"}}`,
			`{"user_input": {"arg": {"as_sym_int": {"as_name": "s"}}}}`),
			noSizes, `"sym_int_values": {"r": {"as_int": 1}, "s": {"as_expr": {"expr_str": "2*s0"}}}`),
			"forward(x%0: Tensor" + x + ", s%1: int 2*s0)  # models/model.json:1\n" +
				"  y%2 = aten::relu(self=x%0) -> no tensor  # 0\n  prim::Return([y%2])  # 1\n"},
		{"a number that nothing is known of", more(`{"as_sym_float": {"as_name": "s"}}`,
			`{"user_input": {"arg": {"as_sym_float": {"as_name": "s"}}}}`),
			"forward(x%0: Tensor" + x + ", s%1: Any)  # models/model.json:1\n" +
				"  y%2 = aten::relu(self=x%0) -> no tensor  # 0\n  prim::Return([y%2])  # 1\n"},
		{"a number in an unknown form", with(more(`{"as_sym_int": {"as_name": "s"}}`,
			`{"user_input": {"arg": {"as_sym_int": {"as_name": "s"}}}}`),
			noSizes, `"sym_int_values": {"s": {"as_expr": {"expr_str": "Frob(s0)"}}}`),
			`models/model.json: input s: got "(", want an operator or the end`},
		{"a literal", more(`{"as_none": true}`, `{"constant_input": {"name": "k", "value": {"as_float": 0.5}}}`),
			"forward(x%0: Tensor" + x + ", k%1: Any = 0.5)  # models/model.json:1\n" +
				"  y%2 = aten::relu(self=x%0) -> no tensor  # 0\n  prim::Return([y%2])  # 1\n"},
		{"a literal that is none", more(`{"as_layout": 99}`, `{"user_input": {"arg": {"as_layout": 99}}}`),
			"models/model.json: input : got layout 99, want one of torch.export's"},
		{"one weight twice", []string{inputX, `"inputs": [{"as_tensor": {"name": "x"}}, {"as_tensor": {"name": "w"}}]`, specX,
			`{"parameter": {"arg": {"name": "x"}, "parameter_name": "net.w"}},
				{"buffer": {"arg": {"name": "w"}, "buffer_name": "net.w"}}`,
			argumentX, argumentX + `, {"name": "o", "arg": {"as_tensor": {"name": "w"}}}`},
			"forward()  # models/model.json:1\n" +
				"  y%0 = aten::relu(self=state net.w, o=state net.w) -> no tensor  # 0\n  prim::Return([y%0])  # 1\n"},
		{"a write to an input", []string{specY,
			`{"user_input_mutation": {"arg": {"name": "y"}, "user_input_name": "x"}}, ` + specY},
			"forward(x%0: Tensor" + x + ")  # models/model.json:1\n" + relu +
				"  copy__y%2: Tensor = aten::copy_(self=x%0, src=y%1)  # 1\n  prim::Return([copy__y%2])  # 2\n"},
		{"a write to no input", []string{specY,
			`{"user_input_mutation": {"arg": {"name": "y"}, "user_input_name": "z"}}`},
			"models/model.json: got a write to z, which is no input"},
		{"a write of nothing", []string{specY,
			`{"user_input_mutation": {"arg": {"name": "z"}, "user_input_name": "x"}}`},
			`models/model.json: got the name "z", which stands for nothing yet`},
		{"a result of nothing", []string{specY, `{"user_output": {"arg": {"as_tensor": {"name": "z"}}}}`},
			`models/model.json: got the name "z", which stands for nothing yet`},
		{"a list of results", []string{resultY,
			`"outputs": [{"as_tensors": [{"name": "y"}, {"name": "z"}]}, {"as_none": true}], "metadata"`}, "forward(x%0: Tensor" + x + ")  # models/model.json:1\n" +
			"  y%1: Tensor, z%2: Tensor, %3: Any = aten::relu(self=x%0) -> no tensor, no tensor, no tensor  # 0\n" +
			"  prim::Return([y%1])  # 1\n"},
		{"a list of results of another kind", []string{resultY, `"outputs": [{"as_ints": [1]}], "metadata"`},
			"models/model.json: node 0, torch.ops.aten.relu.default: got a result of another kind than tensor, number, list " +
				"or None"},
		{"a size that is no text", []string{`[{"as_int": 4}]`, `[{"as_expr": {"expr_str": "s0 + \x"}}]`},
			`models/model.json: input x: got "\\", want a number, a dim or (`},
		{"a graph as a result", []string{specY, `{"user_output": {"arg": {"as_graph": {"name": "g", "graph": {}}}}}`},
			`models/model.json: got the name "g" where a literal is wanted`},
		{"a graph in a dict", []string{argumentX,
			`{"name": "self", "arg": {"as_string_to_argument": {"g": {"as_graph": {"name": "g", "graph": {}}}}}, "kind": 1}`},
			`models/model.json: node 0, torch.ops.aten.relu.default: argument self: got the name "g" where a literal is wanted`},
	} {
		got := strings.ReplaceAll(graphOf(t, model(tt.edits...)), "y%1: Tensor = ", "y%1 = ")
		for _, id := range []string{"0", "2"} {
			got = strings.ReplaceAll(got, "y%"+id+": Tensor = aten::relu", "y%"+id+" = aten::relu")
		}
		assert.Equal(t, tt.want, got, tt.why)
	}
}

// TestStructures: inputs by the names of their arguments, and structures that are refused.
func TestStructures(t *testing.T) {
	in := func(positional, keywords string) string {
		return `[1, ` + tree("builtins.tuple", positional, keywords) + `]`
	}
	none, leaf := tree("builtins.dict"), `{\"type\": null, \"context\": null, \"children_spec\": []}`
	deep := func(n int) string {
		return strings.Repeat(`{\"type\": \"builtins.tuple\", \"context\": null, \"children_spec\": [`, n) + leaf +
			strings.Repeat("]}", n)
	}
	const refused = "models/model.json: "
	for _, tt := range []struct{ why, in, out, want string }{
		{"a name of an argument", in(tree("builtins.tuple", leaf), none), "", "  input x = *\n"},
		{"of a structure", in(tree("builtins.tuple", tree("builtins.list", leaf)), none), "", "  input x = [*]\n"},
		{"behind those that have a name", in(tree("builtins.tuple", tree("builtins.tuple"), tree("builtins.list"),
			tree("builtins.list", leaf)), none), "", "  input x = ()\n  input arg1 = []\n  input arg2 = [*]\n"},
		{"a leaf behind them", in(tree("builtins.tuple", tree("builtins.tuple"), leaf), none), "",
			"  input x = ()\n  input x = *\n"},
		{"as deep as can be", `[1, ` + tree("builtins.tuple", deep(99), none) + `]`, "", "  input x = " +
			strings.Repeat("(", 98) + "*" + strings.Repeat(")", 98) + "\n"},
		{"deeper", `[1, ` + tree("builtins.tuple", deep(100), none) + `]`, "",
			refused + "got a treespec nested more than 100 deep"},
		{"more keys than members", in(tree("builtins.tuple", leaf),
			`{\"type\": \"builtins.dict\", \"context\": \"[\\\"a\\\"]\", \"children_spec\": []}`), "",
			refused + "got a treespec of a dict of 1 keys with 0 members"},
		{"a leaf with members", in(`{\"type\": null, \"context\": null, \"children_spec\": [`+leaf+`]}`, none), "",
			refused + "got a treespec whose leaf has children"},
		{"results of another number", in(tree("builtins.tuple", leaf), none),
			`[1, ` + tree("builtins.tuple", leaf, leaf) + `]`, refused + "got 1 results, want the 2 leaves of out_spec"},
		{"results in no structure", in(tree("builtins.tuple", leaf), none), "[1]",
			refused + "got a treespec that is none, want a protocol number and a tree"},
		{"a long text", strings.Repeat(" ", maxTreeText+1), "",
			refused + "got a treespec of 4194305 bytes, want at most 4194304"},
	} {
		got := graphOf(t, model(noCalls, callOf(tt.in, tt.out)))
		if !strings.HasPrefix(tt.want, refused) {
			_, got, _ = strings.Cut(got, "\n")
			got, _, _ = strings.Cut(got, "  y%1")
		}
		assert.Equal(t, tt.want, got, tt.why)
	}
}

// TestSeveralPrograms: of several in one package, the one that torch.export.save names is read.
func TestSeveralPrograms(t *testing.T) {
	files := model()
	files["models/another.json"] = &fstest.MapFile{Data: []byte("{")}
	assert.Contains(t, graphOf(t, files), "forward(x%0")
	files["models/zero.json"] = &fstest.MapFile{Data: []byte("{")}
	assert.Contains(t, graphOf(t, files), "forward(x%0")
}

// TestBrokenFilesOfWeights: what describes weights and cannot be read is an error with its record;
// what is of another form says nothing.
func TestBrokenFilesOfWeights(t *testing.T) {
	zipped := func(name, text string) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		require.NoError(t, err)
		_, err = f.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	broken := zipped("archive/data.pkl", "N.")
	broken[6] = 1 // encrypted
	const config, saved = "data/weights/model_weights_config.json", "data/weights/model.pt"
	pickled := func(record string) string {
		return `{"config": {"w": {"path_name": "` + record + `", "use_pickle": true}}}`
	}
	for _, tt := range []struct {
		why   string
		files map[string]string
		want  string // "" of none
	}{
		{"weights of no archive", map[string]string{saved: "weights"}, ""},
		{"an archive without its end", map[string]string{saved: "PK\x03\x04"}, saved + ": not a zip archive"},
		{"an archive without a pickle", map[string]string{saved: string(zipped("archive/other", "N."))}, ""},
		{"a pickle that cannot be read", map[string]string{saved: string(broken)},
			saved + ": data.pkl: offset 0: got an encrypted record"},
		{"a pickle of no dict", map[string]string{saved: string(zipped("archive/data.pkl", "N."))}, ""},
		{"a dict of no tensors", map[string]string{saved: string(zipped("archive/data.pkl", "}K\x01K\x02s."))}, ""},
		{"objects that are built", map[string]string{saved: string(zipped("archive/data.pkl",
			"}(U\x01acos\nsystem\n)\x81U\x01bcos\nsystem\n)\x81}bu."))}, ""},
		{"a config that is a folder", map[string]string{config + "/x": ""}, "read " + config + ": invalid argument"},
		{"a weight of which only the size is known", map[string]string{config: pickled("0"),
			ptzip.StrippedRecord: `{"schema":1,"records":{"data/weights/0":9}}`},
			"open data/weights/0: file does not exist"},
		{"a weight that is no archive", map[string]string{config: pickled("0"), "data/weights/0": "PK\x03\x04"},
			"data/weights/0: not a zip archive"},
		{"sizes that cannot be read", map[string]string{ptzip.StrippedRecord: "["}, "memspec_stripped.json"},
	} {
		files := model()
		for name, text := range tt.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		_, err := Decode(files)
		switch {
		case tt.want == "":
			assert.NoError(t, err, tt.why)
		case tt.why == "sizes that cannot be read":
			assert.Error(t, err, tt.why)
		default:
			assert.EqualError(t, err, tt.want, tt.why)
		}
	}
}

// TestAgainNumbers: a module that is called again has a number, within another that has one.
func TestAgainNumbers(t *testing.T) {
	p := newPlaces()
	c := p.call([]byte("L__self__,,net.Net;L__self___a,a@1,A;L__self___a_b,a.b@12,B"))
	require.NotNil(t, c)
	var got []string
	for ; c != nil; c = c.Outer {
		got = append(got, fmt.Sprint(c.Module.FQN, " ", c.Module.Class, " ", c.Number))
	}
	assert.Equal(t, []string{"a.b B 12", "a A 1", " net.Net 0"}, got)
	assert.Nil(t, p.call([]byte(`L__self__,,net.Net\x`)), "what no JSON is")
	for text, want := range map[string]string{"net.Net": " ", "L__self__,a": "a ", "L__self__,a,b,C": "a,b C"} {
		c := newPlaces().call([]byte(text))
		assert.Equal(t, want, c.Module.FQN+" "+c.Module.Class, text)
	}
}

// TestVersionsOfBrokenDocuments: the schema's version is found behind what cannot be read, and what
// is behind it does not count.
func TestVersionsOfBrokenDocuments(t *testing.T) {
	for text, want := range map[string]string{
		`{"graph_module": 3, "schema_version": {"major": 9, "minor": 2}}`: "got schema version 9.2, want 8.x or older: a " +
			"newer torch wrote this",
		`{"graph_module": 3, "schema_version": {"minor": 2, "major": 9, "new": []}, "x": }`: "got schema version 9.2, want " +
			"8.x or older: a newer torch wrote this",
		`{"graph_module": 3, "schema_version": {"major": 8}}`: "offset 17: got a number, want an object",
		`{"graph_module": 3, "other": {"major": 9}}`:          "offset 17: got a number, want an object",
	} {
		_, err := readDocument([]byte(text))
		assert.EqualError(t, err, want)
	}
}
