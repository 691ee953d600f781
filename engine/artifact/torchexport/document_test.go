package torchexport

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestArguments reads each kind of argument that the schema has (torch/_export/serde/schema.py),
// members that nobody asks for among them.
func TestArguments(t *testing.T) {
	tensorOf := func(name string) argument { return argument{kind: tensorArg, text: name} }
	number := func(n int64) argument { return argument{kind: intArg, n: n} }
	for _, tt := range []struct {
		text string
		want argument
	}{
		{`{"as_none": true}`, argument{}},
		{`{"as_none": []}`, argument{}},
		{`{"as_tensor": {"name": "x", "other": {"a": 1}}}`, tensorOf("x")},
		{`{"as_tensor": null, "as_int": 3}`, number(3)},
		{`{"as_float": 2.5}`, argument{kind: floatArg, f: 2.5}},
		{`{"as_bool": true}`, argument{kind: boolArg, n: 1}},
		{`{"as_bool": false}`, argument{kind: boolArg}},
		{`{"as_string": "sum"}`, argument{kind: stringArg, text: "sum"}},
		{`{"as_sym_int": {"as_name": "s0"}}`, argument{kind: symbolArg, text: "s0"}},
		{`{"as_sym_int": {"as_int": 4}}`, number(4)},
		{`{"as_sym_float": {"as_float": 4.5}}`, argument{kind: floatArg, f: 4.5}},
		{`{"as_sym_bool": {"as_bool": true}}`, argument{kind: boolArg, n: 1}},
		{`{"as_scalar_type": 7}`, argument{kind: dtypeArg, n: 7}},
		{`{"as_memory_format": 2}`, argument{kind: formatArg, n: 2}},
		{`{"as_layout": 7}`, argument{kind: layoutArg, n: 7}},
		{`{"as_device": {"index": 1, "type": "cuda"}}`, argument{kind: deviceArg, text: "cuda"}},
		{`{"as_operator": "f"}`, argument{kind: operatorArg, text: "f"}},
		{`{"as_custom_obj": {"name": "o", "class_fqn": "c"}}`, argument{kind: objectArg, text: "o"}},
		{`{"as_complex": {"imag": 2.5, "note": "", "real": 1.5}}`,
			argument{kind: complexArg, items: []argument{{kind: floatArg, f: 1.5}, {kind: floatArg, f: 2.5}}}},
		{`{"as_optional_tensor": {"as_tensor": {"name": "x"}}}`, tensorOf("x")},
		{`{"as_optional_tensor": {"as_none": true}}`, argument{}},
		{`{"as_optional_tensor": {"name": "x"}}`, tensorOf("x")},
		{`{"as_tensors": [{"name": "x"}, {"name": "y"}]}`, argument{kind: listArg, elem: tensorArg,
			items: []argument{tensorOf("x"), tensorOf("y")}}},
		{`{"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "y"}}]}`,
			argument{kind: listArg, elem: tensorArg, items: []argument{{}, tensorOf("y")}}},
		{`{"as_nested_tensors": [[{"name": "x"}], []]}`,
			argument{kind: listArg, elem: listArg,
				items: []argument{{kind: listArg, elem: tensorArg, items: []argument{tensorOf("x")}},
					{kind: listArg, elem: tensorArg}}}},
		{`{"as_ints": [1, 2]}`, argument{kind: listArg, elem: intArg, items: []argument{number(1), number(2)}}},
		{`{"as_floats": [1.5]}`, argument{kind: listArg, elem: floatArg, items: []argument{{kind: floatArg, f: 1.5}}}},
		{`{"as_bools": [true, false]}`, argument{kind: listArg, elem: boolArg, items: []argument{{kind: boolArg, n: 1},
			{kind: boolArg}}}},
		{`{"as_strings": ["a"]}`, argument{kind: listArg, elem: stringArg, items: []argument{{kind: stringArg, text: "a"}}}},
		{`{"as_sym_ints": [{"as_int": 1}, {"as_name": "s0"}]}`,
			argument{kind: listArg, elem: intArg, items: []argument{number(1), {kind: symbolArg, text: "s0"}}}},
		{`{"as_sym_floats": []}`, argument{kind: listArg, elem: floatArg}},
		{`{"as_sym_bools": []}`, argument{kind: listArg, elem: boolArg}},
		{`{"as_int_lists": [[1], []]}`,
			argument{kind: listArg, elem: listArg, items: []argument{{kind: listArg, elem: intArg, items: []argument{number(1)}},
				{kind: listArg, elem: intArg}}}},
		{`{"as_float_lists": [[1.5]]}`,
			argument{kind: listArg, elem: listArg,
				items: []argument{{kind: listArg, elem: floatArg, items: []argument{{kind: floatArg, f: 1.5}}}}}},
		{`{"as_string_to_argument": {"k": {"as_int": 1}}}`,
			argument{kind: dictArg, items: []argument{{kind: intArg, n: 1, name: "k"}}}},
	} {
		r := newReader([]byte(tt.text))
		got := r.argument()
		r.End()
		require.NoError(t, r.Err(), tt.text)
		assert.Equal(t, tt.want, got, tt.text)
	}
	for _, text := range []string{`{"as_thing": 1}`, `{"as_sym_int": {"as_thing": 1}}`,
		`{"as_optional_tensor": {"as_int": 1}}`} {
		r := newReader([]byte(text))
		r.argument()
		assert.ErrorContains(t, r.Err(), "want one that is known", text)
	}
	r := newReader([]byte(`{"name": "dim", "kind": 2, "arg": {"as_int": 1}}`))
	assert.Equal(t, argument{kind: intArg, n: 1, name: "dim"}, r.namedArgument())
}

// TestSignature reads each kind of input and output that a program's signature has.
func TestSignature(t *testing.T) {
	x := argument{kind: tensorArg, text: "x"}
	for _, tt := range []struct {
		text string
		want inputSpec
	}{
		{`{"user_input": {"arg": {"as_tensor": {"name": "x"}}, "more": 1}}`, inputSpec{kind: userSpec, arg: x}},
		{`{"parameter": {"arg": {"name": "x"}, "parameter_name": "w"}}`, inputSpec{kind: parameterSpec, arg: x, target: "w"}},
		{`{"buffer": {"arg": {"name": "x"}, "buffer_name": "b", "persistent": true}}`,
			inputSpec{kind: bufferSpec, arg: x, target: "b", persistent: true}},
		{`{"tensor_constant": {"arg": {"name": "x"}, "tensor_constant_name": "c"}}`,
			inputSpec{kind: constantSpec, arg: x, target: "c"}},
		{`{"custom_obj": {"arg": {"name": "x", "class_fqn": ""}, "custom_obj_name": "o"}}`,
			inputSpec{kind: objectSpec, arg: x, target: "o"}},
		{`{"token": {"arg": {"name": "x"}}}`, inputSpec{kind: tokenSpec, arg: x}},
		{`{"constant_input": {"name": "n", "value": {"as_int": 3}}}`,
			inputSpec{kind: literalSpec, arg: argument{kind: intArg, n: 3}, target: "n"}},
		{`{"user_input": null, "token": {"arg": {"name": "x"}}}`, inputSpec{kind: tokenSpec, arg: x}},
	} {
		r := newReader([]byte(tt.text))
		got := r.inputSpec()
		r.End()
		require.NoError(t, r.Err(), tt.text)
		assert.Equal(t, tt.want, got, tt.text)
	}
	for _, tt := range []struct {
		text string
		want outputSpec
	}{
		{`{"user_output": {"arg": {"as_tensor": {"name": "x"}}, "more": 1}}`, outputSpec{kind: userSpec, arg: x}},
		{`{"loss_output": {"arg": {"name": "x"}}}`, outputSpec{kind: lossSpec, arg: x}},
		{`{"buffer_mutation": {"arg": {"name": "x"}, "buffer_name": "b"}}`, outputSpec{kind: bufferMutation, arg: x,
			target: "b"}},
		{`{"parameter_mutation": {"arg": {"name": "x"}, "parameter_name": "w"}}`, outputSpec{kind: parameterMutation, arg: x,
			target: "w"}},
		{`{"user_input_mutation": {"arg": {"name": "x"}, "user_input_name": "i"}}`,
			outputSpec{kind: inputMutation, arg: x, target: "i"}},
		{`{"gradient_to_parameter": {"arg": {"name": "x"}, "parameter_name": "w"}}`,
			outputSpec{kind: gradientSpec, arg: x, target: "w"}},
		{`{"gradient_to_user_input": {"arg": {"name": "x"}, "user_input_name": "i"}}`,
			outputSpec{kind: gradientSpec, arg: x, target: "i"}},
		{`{"token": {"arg": {"name": "x"}}}`, outputSpec{kind: tokenSpec, arg: x}},
	} {
		r := newReader([]byte(tt.text))
		got := r.outputSpec()
		r.End()
		require.NoError(t, r.Err(), tt.text)
		assert.Equal(t, tt.want, got, tt.text)
	}
	in, out := newReader([]byte(`{"thing": {}}`)), newReader([]byte(`{"thing": {}}`))
	in.inputSpec()
	assert.ErrorContains(t, in.Err(), "got an input of kind thing, want one that is known")
	out.outputSpec()
	assert.ErrorContains(t, out.Err(), "got an output of kind thing, want one that is known")
}

// TestPayloads reads the list of a program's tensors.
func TestPayloads(t *testing.T) {
	list,
		err := readPayloads(
		[]byte(
			`{"version": [1], "config": {"w": {"path_name": "weight_0", "other": {}, "use_pickle": false, "tensor_meta": null},
		"c": {"path_name": "tensor_1", "use_pickle": true}}}`))
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, []string{"w", "weight_0", "c", "tensor_1"}, []string{list[0].name, list[0].record, list[1].name,
		list[1].record})
	assert.Equal(t, []bool{false, true}, []bool{list[0].pickled, list[1].pickled})
	_, err = readPayloads([]byte(`{"config": [1]}`))
	assert.Error(t, err)
}

// TestTargets: what Python's functions are called as operators.
func TestTargets(t *testing.T) {
	for _, tt := range []struct{ target, op, key string }{
		{"torch.ops.aten.add.Tensor", "aten::add", "aten::add.Tensor"},
		{"torch.ops.aten.relu.default", "aten::relu", "aten::relu"},
		{"torch.ops.aten.relu", "aten::relu", "aten::relu"},
		{"torch.ops.higher_order.cond", program.HigherOrder + "cond", ""},
		{"_operator.floordiv", "aten::floordiv", ""},
		{"torch.sym_max", "prim::max", ""},
		{"math.cbrt", "python::math.cbrt", ""},
	} {
		op, key := operator(tt.target)
		assert.Equal(t, []string{tt.op, tt.key}, []string{op, key}, tt.target)
	}
	// the schema's numbers of layouts and formats (torch/_export/serde/schema.py), and c10's
	assert.Equal(t, map[int64]int64{1: 1, 2: 2, 3: 4, 4: 5, 5: 6, 6: 3, 7: 0}, layouts,
		"sparse COO, CSR, CSC, BSR, BSC, MKL-DNN, strided")
	assert.Equal(t, map[int64]tensor.MemoryFormat{1: tensor.Contiguous, 2: tensor.ChannelsLast, 3: tensor.ChannelsLast3d,
		4: tensor.Preserve}, memoryFormats)
}

// TestTrees reads the structures of inputs and outputs.
func TestTrees(t *testing.T) {
	const leaf = `{"type": null, "context": null, "children_spec": []}`
	node := func(kind, context, children string) string {
		return `[1, {"type": "` + kind + `", "context": ` + context + `, "children_spec": [` + children + `]}]`
	}
	for _, tt := range []struct {
		text string
		kind program.TreeKind
		want []string
	}{
		{node("builtins.tuple", `"null"`, leaf+","+leaf), program.TupleTree, nil},
		{node("builtins.list", `"null"`, leaf), program.ListTree, nil},
		{node("collections.deque", `"null"`, leaf), program.ListTree, nil},
		{node("builtins.dict", `"[\"a\", \"b\"]"`, leaf+","+leaf), program.DictTree, []string{"a", "b"}},
		{node("collections.defaultdict",
			`{"default_factory_module": "builtins", "default_factory_name": "list", "dict_context": ["a", "b"]}`, leaf+","+leaf),
			program.DictTree, []string{"a", "b"}},
		{node("my.Output", `"[\"logits\"]"`, leaf), program.ObjectTree, []string{"logits"}},
		{node("my.Output", `"[\"logits\", \"loss\", \"more\"]"`, leaf), program.ObjectTree, nil},
		{node("my.Output", `null`, leaf), program.ObjectTree, nil},
	} {
		tree, err := readTree(tt.text)
		require.NoError(t, err, tt.text)
		assert.Equal(t, tt.kind, tree.Kind, tt.text)
		assert.Equal(t, tt.want, tree.Names, tt.text)
	}
	for _, tt := range []struct{ text, want string }{
		{node("builtins.dict", `"[\"a\"]"`, leaf+","+leaf), "got a treespec of a dict of 1 keys with 2 members"},
		{`[1, {"type": null, "context": null, "children_spec": [` + leaf + `]}]`, "got a treespec whose leaf has children"},
		{`[1]`, "got a treespec that is none, want a protocol number and a tree"},
		{`[1, {}, {}]`, "got a treespec that is none, want a protocol number and a tree"},
		{`[1, {"type": 1}]`, "treespec: json: cannot unmarshal number"},
		{`[1, 2]`, "treespec: json: cannot unmarshal number"},
	} {
		_, err := readTree(tt.text)
		assert.ErrorContains(t, err, tt.want)
	}
}

// TestStacks reads what Python's traceback writes, the innermost frame first, each frame once in
// the program.
func TestStacks(t *testing.T) {
	p := newPlaces()
	raw := []byte(
		`  File \"net.py\", line 13, in forward\n    out = self.helper(x)\n  File \"net.py\", line 21, in helper\n    return x + 1\n    ~~^~~\n`)
	s := p.stack(raw)
	require.NotNil(t, s)
	require.Len(t, s.Frames, 2)
	assert.Equal(t, program.Frame{File: "net.py", Line: 21, Function: "helper", Text: "return x + 1"}, *s.Frames[0])
	assert.Equal(t, program.Frame{File: "net.py", Line: 13, Function: "forward", Text: "out = self.helper(x)"},
		*s.Frames[1])
	assert.Same(t, s, p.stack(raw), "read once")
	assert.Nil(t, p.stack(nil))
	assert.Nil(t, p.stack([]byte(`no frame here`)))
	other := p.stack([]byte(`  File \"net.py\", line 13, in forward\n    out = self.helper(x)\n`))
	assert.Same(t, s.Frames[1], other.Frames[0], "equal frames are one")
}

// TestFramesOfStacks: which lines of a stack begin a frame; all others are the text of the frame
// above, or nothing.
func TestFramesOfStacks(t *testing.T) {
	for _, tt := range []struct {
		why, line string
		want      program.Frame
		ok        bool
	}{
		{"as Python writes it", `  File "net.py", line 13, in forward`, program.Frame{File: "net.py", Line: 13,
			Function: "forward"}, true},
		{"without a function", `File "net.py", line 13`, program.Frame{File: "net.py", Line: 13}, true},
		{"a name with quotes", `File "a"b.py", line 1, in f`, program.Frame{File: `a"b.py`, Line: 1, Function: "f"}, true},
		{"code", "out = self.helper(x)", program.Frame{}, false},
		{"no line", `File "net.py"`, program.Frame{}, false},
		{"a line that is no number", `File "net.py", line x, in f`, program.Frame{}, false},
		{"nothing", "", program.Frame{}, false},
	} {
		f, ok := frameLine(tt.line)
		assert.Equal(t, tt.want, f, tt.why)
		assert.Equal(t, tt.ok, ok, tt.why)
	}
}

// TestCallsOfModules: the modules that a node is in, the outermost first, each call once in the
// program.
func TestCallsOfModules(t *testing.T) {
	p := newPlaces()
	inner := p.call([]byte(`L__self__,,net.Net;L__self___c,c@1,torch.nn.Conv2d`))
	require.NotNil(t, inner)
	assert.Equal(t, "c", inner.Module.FQN)
	assert.Equal(t, 1, inner.Number)
	require.NotNil(t, inner.Outer)
	assert.Same(t, inner.Outer, p.call([]byte(`L__self__,,net.Net`)))
	assert.Nil(t, inner.Outer.Outer)
	deep := func(calls int) []byte { return []byte(strings.Repeat("a,m,C;", calls-1) + "a,m,C") }
	depth := 0
	for c := p.call(deep(maxCalls + 1)); c != nil; c = c.Outer {
		depth++
	}
	assert.Equal(t, maxCalls+1, depth, "as deep as modules may call one another")
	for _, tt := range []struct {
		why string
		raw []byte
	}{{"none", nil}, {"deeper", deep(maxCalls + 2)}, {"torch lost them", []byte(noModules)},
		{"no JSON text", []byte(`a,b\x,C`)}} {
		assert.Nil(t, p.call(tt.raw), tt.why)
	}
}
