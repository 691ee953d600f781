package aotinductor

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestSnippets: what pieces of a wrapper become, or why they are not read: testdata/snippets. A
// piece follows a line == REASON; what follows its line -- stands behind the function.
func TestSnippets(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "snippets", "*.txtar"), func(a *golden.Archive) {
		var out strings.Builder
		for _, piece := range strings.Split("\n"+string(a.Input("code")), "\n== ")[1:] {
			why, code, _ := strings.Cut(piece, "\n")
			code, behind, _ := strings.Cut(strings.TrimRight(code, "\n")+"\n", "--\n")
			p, err := decodeCPP(wrapper(code)+behind, "w.cpp")
			fmt.Fprintf(&out, "== %s\n", why)
			if err != nil {
				fmt.Fprintln(&out, err)
				continue
			}
			if err := program.Check(p); err != nil {
				fmt.Fprintln(&out, "check:", err)
				continue
			}
			for line := range strings.Lines(listing(a.T(), p)) {
				if strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "symbol") && !strings.HasPrefix(line, "symbol s77 ") {
					line, _, _ = strings.Cut(line, "  # ")
					fmt.Fprintln(&out, strings.TrimRight(line, "\n"))
				}
			}
		}
		a.Want("read", []byte(out.String()))
	})
}

// TestOwnArguments: what the record of a package's own operators says of an argument, and what is
// of no known form: then the operator has no arguments.
func TestOwnArguments(t *testing.T) {
	g := &graph{names: map[string]program.Arg{"x": {Value: &program.Value{Name: "x"}},
		"w": {Const: &program.State{Name: "w"}}, "new": {Value: &program.Value{Name: "new"}}},
		none: map[*program.Value]bool{}}
	g.none[g.names["new"].Value] = true
	for _, tt := range []struct {
		arg  string
		want program.Arg
		ok   bool
	}{
		{`{"as_none": true}`, program.Arg{}, true}, {`{"as_int": 3}`, program.Arg{Const: int64(3)}, true},
		{`{"as_int": 3.5}`, program.Arg{}, false}, {`{"as_float": 3.5}`, program.Arg{Const: 3.5}, true},
		{`{"as_float": "x"}`, program.Arg{}, false},
		{`{"as_bool": true}`, program.Arg{Const: true}, true}, {`{"as_bool": 1}`, program.Arg{}, false},
		{`{"as_string": "a"}`, program.Arg{Const: "a"}, true}, {`{"as_string": 1}`, program.Arg{}, false},
		{`{"as_ints": [1, 2]}`, program.Arg{Items: []program.Arg{{Const: int64(1)}, {Const: int64(2)}}}, true},
		{`{"as_ints": []}`, program.Arg{Items: []program.Arg{}}, true}, {`{"as_ints": ["a"]}`, program.Arg{}, false},
		{`{"as_floats": [1.5]}`, program.Arg{Items: []program.Arg{{Const: 1.5}}}, true},
		{`{"as_floats": 1}`, program.Arg{}, false},
		{`{"as_bools": [true, false]}`, program.Arg{Items: []program.Arg{{Const: true}, {Const: false}}}, true},
		{`{"as_bools": [1]}`, program.Arg{}, false}, {`{"as_tensor": {"name": "x"}}`, g.names["x"], true},
		{`{"as_tensor": {"name": "w"}}`, g.names["w"], true}, {`{"as_tensor": {"name": "y"}}`, program.Arg{}, false},
		{`{"as_tensor": {"name": "new"}}`, g.names["new"], false}, {`{"as_tensor": 3}`, program.Arg{}, false},
		{`{"as_tensors": [{"name": "x"}, {"name": "w"}]}`, program.Arg{Items: []program.Arg{g.names["x"], g.names["w"]}},
			true},
		{`{"as_tensors": []}`, program.Arg{Items: []program.Arg{}}, true}, {`{"as_tensors": [{"name": "x"}, {"name": "y"}]}`,
			program.Arg{Items: []program.Arg{g.names["x"], {}}}, false}, {`{"as_tensors": 3}`, program.Arg{}, false},
		{`{"as_device": {}}`, program.Arg{}, false}, {`{}`, program.Arg{}, false},
		{`{"as_int": 3, "as_bool": true}`, program.Arg{}, false},
	} {
		var arg map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(tt.arg), &arg), tt.arg)
		got, ok := ownArgument(g, arg)
		assert.Equal(t, tt.ok, ok, tt.arg)
		if ok {
			assert.Equal(t, tt.want, got, tt.arg)
		}
	}
}

// TestOwnCalls: what the record says of a call, by the call's number, and of none.
func TestOwnCalls(t *testing.T) {
	const in = "data/aotinductor/model/"
	call := func(number string) string {
		return `AtenTensorHandle buf0_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_uninitialized_tensor(&buf0_handle));
RAIIAtenTensorHandle buf0(buf0_handle);
aoti_torch_proxy_executor_call_function(proxy_executor, ` + number +
			`, 0, nullptr, 2, std::array<AtenTensorHandle, 2>{arg0_1, buf0}.data());
output_handles[0] = buf0.release();
`
	}
	const record = `{"nodes": [{"node": {"target": "mine::first.default", "inputs": [{"name": "x", "arg": {"as_tensor": {"name": "arg0_1"}}}, {"name": "n", "arg": {"as_int": 3}}]}},
		{"node": {"target": "mine::second.out", "inputs": [{"name": "x", "arg": {"as_other": 1}}]}}, {"node": {"target": "no operator", "inputs": []}}]}`
	for _, tt := range []struct{ number, record, want string }{
		{"0", record, "buf0%1 mine::first(x=arg0_1%0, n=3); inductor::free(arg0_1%0); return [buf0%1]"},
		{"1", record, "buf0%1 inductor::proxy_executor().mine::second.out; inductor::free(arg0_1%0); return [buf0%1]"},
		{"2", record, "buf0%1 inductor::proxy_executor().an operator of the package's own; inductor::free(arg0_1%0); " +
			"return [buf0%1]"},
		{"3", record, "buf0%1 inductor::proxy_executor().an operator of the package's own; inductor::free(arg0_1%0); " +
			"return [buf0%1]"},
		{"-1", record, "buf0%1 inductor::proxy_executor().an operator of the package's own; inductor::free(arg0_1%0); " +
			"return [buf0%1]"},
		{"arg0_1", record, "buf0%1 inductor::proxy_executor().an operator of the package's own; inductor::free(arg0_1%0); " +
			"return [buf0%1]"},
		{"0", "", "buf0%1 inductor::proxy_executor().an operator of the package's own; " +
			"inductor::free(arg0_1%0); return [buf0%1]"},
		{"0", "[]", in + "a.wrapper.json: got json: cannot unmarshal array into Go value of type struct { Nodes " +
			"[]aotinductor.ownCall }, want the calls of operators that the package brings"},
	} {
		p, err := Decode(fstest.MapFS{in + "a.wrapper.cpp": {Data: []byte(wrapper(call(tt.number)))},
			in + "a.wrapper.json": {Data: []byte(tt.record)}}, "")
		if err != nil {
			assert.EqualError(t, err, tt.want)
			continue
		}
		assert.Equal(t, tt.want, nodes(t, p), "call %s", tt.number)
		assert.True(t, p.Compiled)
		assert.Equal(t, "compiled for CUDA", p.Producer)
		assert.Equal(t, [2]int{}, p.For)
	}
	for meta, want := range map[string][2]int{"75": {7, 5}, "120": {12, 0}, "10": {1, 0}, "9": {}, "999": {99, 9},
		"1000": {}, "x": {}} {
		f := fstest.MapFS{in + "a.wrapper.cpp": {Data: []byte(wrapper("output_handles[0] = arg0_1.release();\n"))},
			in + "a.wrapper_metadata.json": {Data: []byte(`{"AOTI_COMPUTE_CAPABILITY": "` + meta + `"}`)}}
		assert.True(t, Sniff(f))
		p, err := Decode(f, "")
		require.NoError(t, err)
		assert.Equal(t, want, p.For, meta)
	}
	twice := fstest.MapFS{in + "a.wrapper.cpp": {Data: []byte(wrapper("output_handles[0] = arg0_1.release();\n"))},
		in + "a.wrapper_metadata.json": {Data: []byte(`{"AOTI_COMPUTE_CAPABILITY": "75", "AOTI_COMPUTE_CAPABILITY": "80"}`)}}
	p8, err := Decode(twice, "")
	require.NoError(t, err)
	assert.Equal(t, [2]int{8, 0}, p8.For, "of two that are stated the last, as JSON is read")
	delete(twice, in+"a.wrapper_metadata.json")
	twice[in+kernelsFile+"/x"] = &fstest.MapFile{}
	_, err = Decode(twice, "")
	assert.Error(t, err, "a file of kernels that is a folder")
	_, err = Decode(fstest.MapFS{in + "a.wrapper.cpp/b": {}}, "")
	assert.Error(t, err, "a wrapper that is a folder")
	p,
		err := Decode(
		fstest.MapFS{Folder + "/other/a.wrapper.cpp": {Data: []byte(wrapper("output_handles[0] = arg0_1.release();\n"))},
			Folder + "/other/a.kernel.cpp": {}, Folder + "/other/a.txt": {}}, "")
	require.NoError(t, err, "the only model, of whatever name")
	assert.Equal(t, Folder+"/other/a.wrapper.cpp", p.Entry.Record)
	assert.False(t, Sniff(fstest.MapFS{"data/other": {}}))
	_, err = Decode(fstest.MapFS{"data/other": {}}, "")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	for text, want := range map[string]string{"output_handles[0] = v.release();\n": in + "a.wrapper.cpp:18:1: got v, " +
		"want a name that stands for something"} {
		_, err := Decode(fstest.MapFS{in + "a.wrapper.cpp": {Data: []byte(wrapper(text))}}, "")
		assert.EqualError(t, err, want)
	}
}

// TestStackOf: a traceback reports the outermost call first, a stack the innermost.
func TestStackOf(t *testing.T) {
	s := stackOf("File \"/a.py\", line 1, in f\n    g()\n  File \"/b.py\", line 20, in g\n    h(x)\n  File \"/c d.py\", " +
		"line 3, in h\n    return x")
	var got []string
	for _, f := range s.Frames {
		got = append(got, fmt.Sprint(f.File, ":", f.Line, " ", f.Function, " ", f.Text))
	}
	assert.Equal(t, []string{"/c d.py:3 h return x", "/b.py:20 g h(x)", "/a.py:1 f g()"}, got)
}

// shownMeta writes a tensor: float32[8 64] strides [1 8] cuda.
func shownMeta(m *tensor.Meta) string {
	text := fmt.Sprintf("%s%v", m.DType, m.Sizes)
	if !slices.Equal(m.Strides, tensor.ContiguousStrides(m.Sizes)) {
		text += fmt.Sprintf(" strides %v", m.Strides)
	}
	return text + " " + m.Device
}

// TestConstants: what a wrapper says of its weights.
func TestConstants(t *testing.T) {
	whole := wrapper("output_handles[0] = arg0_1.release();\n")
	for _, tt := range []struct{ old, new, want string }{
		{"", "", "net.w parameter float32[64 8] cuda 2048"},
		{`constants_info_[0].name = "w";`,
			`constants_info_[0].type = static_cast<int32_t>(torch::aot_inductor::ConstantType::Buffer);`,
			"net.w buffer float32[64 8] cuda 2048"},
		{`constants_info_[0].name = "w";`,
			`constants_info_[0].type = static_cast<int32_t>(torch::aot_inductor::ConstantType::TensorConstant);`,
			"net.w constant float32[64 8] cuda 2048"},
		{`constants_info_[0].name = "w";`,
			`constants_info_[0].type = static_cast<int32_t>(torch::aot_inductor::ConstantType::Parameter);`,
			"net.w parameter float32[64 8] cuda 2048"},
		{`    constants_info_[0].original_fqn = "net.w";` + "\n", "", "w parameter float32[64 8] cuda 2048"},
		{"cached_torch_device_type_cuda", "cached_torch_device_type_cpu", "net.w parameter float32[64 8] cpu 2048"},
		{"cached_torch_dtype_float32", "cached_torch_dtype_float33", `constant 0: got dtype "float33"`},
		{"data_size = 2048", "data_size = -1", "constant 0: got a negative size"},
		{"data_size = 2048", "data_size = 9223372036854775807", "net.w parameter float32[64 8] cuda 9223372036854775807"},
		{"shape = {64, 8};\n    constants_info_[0].stride = {8, 1}", "shape = {0, 9223372036854775807};\n    " +
			"constants_info_[0].stride = {1, 1}", "net.w parameter float32[0 9223372036854775807] strides [1 1] cuda 2048"},
		{"shape = {64, 8}", "shape = {64, x}", "constant 0: "},
	} {
		p, err := decodeCPP(strings.Replace(whole, tt.old, tt.new, 1), "w.cpp")
		if err != nil {
			assert.ErrorContains(t, err, strings.TrimPrefix(tt.want, "constant 0: "), tt.new)
			continue
		}
		s := p.States[0]
		assert.Equal(t, tt.want, fmt.Sprint(s.Name, " ", s.Class, " ", shownMeta(&s.Meta), " ", s.NBytes), tt.new)
	}
}

// TestAlikeConstants: of two weights of one name the second has another.
func TestAlikeConstants(t *testing.T) {
	whole := wrapper("output_handles[0] = arg0_1.release();\n")
	first := whole[:strings.Index(whole, "    int32_t arg0_1")]
	p, err := decodeCPP(first+strings.ReplaceAll(first, "[0]", "[1]")+whole[len(first):], "w.cpp")
	require.NoError(t, err)
	assert.Equal(t, []string{"net.w", "constant 1"}, []string{p.States[0].Name, p.States[1].Name})
}

// TestFirstAssert: of two checks of an input the first reports its layout.
func TestFirstAssert(t *testing.T) {
	const check = `if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(arg0_1, {9L, 9L}, {9L, 1L}, "input"); }` + "\n"
	p, err := decodeCPP(wrapper(check+"output_handles[0] = arg0_1.release();\n"), "w.cpp")
	require.NoError(t, err)
	assert.Equal(t, "float32[s77, 8] strides [8, 1] cuda", p.Entry.Params[0].Meta.String())
}

// TestShortAssert: a check of an input that reports sizes alone reports no layout.
func TestShortAssert(t *testing.T) {
	_, err := decodeCPP(strings.Replace(wrapper("output_handles[0] = arg0_1.release();\n"),
		"{s77, 8L}, {8L, 1L}, \"input\"", "{s77, 8L}", 1), "w.cpp")
	assert.EqualError(t, err, "got no sizes of the input arg0_1 (assert_size_stride), want a package of torch 2.9 or "+
		"later")
}
