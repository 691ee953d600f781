package inductor

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

// TestSnippets: what pieces of a wrapper become, or why they are not read: testdata/snippets. A piece follows a line == REASON; what follows its line
// -- stands behind the function.
func TestSnippets(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "snippets", "*.txtar"), func(a *golden.Archive) {
		var out strings.Builder
		for _, piece := range strings.Split("\n"+string(a.Input("code")), "\n== ")[1:] {
			why, code, _ := strings.Cut(piece, "\n")
			code, behind, _ := strings.Cut(strings.TrimRight(code, "\n")+"\n", "--\n")
			var p *program.Program
			var err error
			if filepath.Base(a.T().Name()) == "python" {
				p, err = decodePython(pythonWrapper(code)+"\n"+behind, "w.py")
			} else {
				p, err = decodeCPP(wrapper(code)+behind, "w.cpp")
			}
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

// TestMostResults: an operator's results are told up to one more than 65536; what is told of a further one is passed over.
func TestMostResults(t *testing.T) {
	for at, told := range map[int]int{0: 1, 1 << 16: 1<<16 + 1, 1<<16 + 1: 0} {
		p, err := decodePython(pythonWrapper(fmt.Sprintf("buf0 = torch.ops.aten.f.default(arg1_1)\nbuf1 = buf0[%d]\nassert_tensor_metadata(buf1, (8, ), (1, ), torch.float16, 'torch.ops.aten.f.default')\nreturn (buf1, )", at)), "w.py")
		require.NoError(t, err)
		g, err := p.Entry.Graph()
		require.NoError(t, err)
		assert.Len(t, g.Body.Nodes[0].Told.Recorded, told)
	}
}

// TestOwnArguments: what the record of a package's own operators says of an argument, and what is of no known form: then the operator has no arguments.
func TestOwnArguments(t *testing.T) {
	g := &graph{names: map[string]program.Arg{"x": {Value: &program.Value{Name: "x"}}, "w": {Const: &program.State{Name: "w"}}, "new": {Value: &program.Value{Name: "new"}}}, none: map[*program.Value]bool{}}
	g.none[g.names["new"].Value] = true
	for _, tt := range []struct {
		arg  string
		want program.Arg
		ok   bool
	}{
		{`{"as_none": true}`, program.Arg{}, true}, {`{"as_int": 3}`, program.Arg{Const: int64(3)}, true}, {`{"as_int": 3.5}`, program.Arg{}, false}, {`{"as_float": 3.5}`, program.Arg{Const: 3.5}, true}, {`{"as_float": "x"}`, program.Arg{}, false},
		{`{"as_bool": true}`, program.Arg{Const: true}, true}, {`{"as_bool": 1}`, program.Arg{}, false}, {`{"as_string": "a"}`, program.Arg{Const: "a"}, true}, {`{"as_string": 1}`, program.Arg{}, false},
		{`{"as_ints": [1, 2]}`, program.Arg{Items: []program.Arg{{Const: int64(1)}, {Const: int64(2)}}}, true}, {`{"as_ints": []}`, program.Arg{Items: []program.Arg{}}, true}, {`{"as_ints": ["a"]}`, program.Arg{}, false},
		{`{"as_floats": [1.5]}`, program.Arg{Items: []program.Arg{{Const: 1.5}}}, true}, {`{"as_floats": 1}`, program.Arg{}, false}, {`{"as_bools": [true, false]}`, program.Arg{Items: []program.Arg{{Const: true}, {Const: false}}}, true},
		{`{"as_bools": [1]}`, program.Arg{}, false}, {`{"as_tensor": {"name": "x"}}`, g.names["x"], true}, {`{"as_tensor": {"name": "w"}}`, g.names["w"], true}, {`{"as_tensor": {"name": "y"}}`, program.Arg{}, false},
		{`{"as_tensor": {"name": "new"}}`, g.names["new"], false}, {`{"as_tensor": 3}`, program.Arg{}, false}, {`{"as_tensors": [{"name": "x"}, {"name": "w"}]}`, program.Arg{Items: []program.Arg{g.names["x"], g.names["w"]}}, true},
		{`{"as_tensors": []}`, program.Arg{Items: []program.Arg{}}, true}, {`{"as_tensors": [{"name": "x"}, {"name": "y"}]}`, program.Arg{Items: []program.Arg{g.names["x"], {}}}, false}, {`{"as_tensors": 3}`, program.Arg{}, false},
		{`{"as_device": {}}`, program.Arg{}, false}, {`{}`, program.Arg{}, false}, {`{"as_int": 3, "as_bool": true}`, program.Arg{}, false},
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

// TestOwnCalls: what the record tells of a call, by the call's number, and of none.
func TestOwnCalls(t *testing.T) {
	const in = "data/aotinductor/model/"
	call := func(number string) string {
		return `AtenTensorHandle buf0_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_uninitialized_tensor(&buf0_handle));
RAIIAtenTensorHandle buf0(buf0_handle);
aoti_torch_proxy_executor_call_function(proxy_executor, ` + number + `, 0, nullptr, 2, std::array<AtenTensorHandle, 2>{arg0_1, buf0}.data());
output_handles[0] = buf0.release();
`
	}
	const record = `{"nodes": [{"node": {"target": "mine::first.default", "inputs": [{"name": "x", "arg": {"as_tensor": {"name": "arg0_1"}}}, {"name": "n", "arg": {"as_int": 3}}]}},
		{"node": {"target": "mine::second.out", "inputs": [{"name": "x", "arg": {"as_other": 1}}]}}, {"node": {"target": "no operator", "inputs": []}}]}`
	for _, tt := range []struct{ number, record, want string }{
		{"0", record, "buf0%1 mine::first(x=arg0_1%0, n=3); inductor::free(arg0_1%0); return [buf0%1]"},
		{"1", record, "buf0%1 inductor::proxy_executor().mine::second.out; inductor::free(arg0_1%0); return [buf0%1]"},
		{"2", record, "buf0%1 inductor::proxy_executor().an operator of the package's own; inductor::free(arg0_1%0); return [buf0%1]"},
		{"3", record, "buf0%1 inductor::proxy_executor().an operator of the package's own; inductor::free(arg0_1%0); return [buf0%1]"},
		{"-1", record, "buf0%1 inductor::proxy_executor().an operator of the package's own; inductor::free(arg0_1%0); return [buf0%1]"},
		{"arg0_1", record, "buf0%1 inductor::proxy_executor().an operator of the package's own; inductor::free(arg0_1%0); return [buf0%1]"},
		{"0", "", "buf0%1 inductor::proxy_executor().an operator of the package's own; inductor::free(arg0_1%0); return [buf0%1]"},
		{"0", "[]", in + "a.wrapper.json: got json: cannot unmarshal array into Go value of type struct { Nodes []inductor.ownCall }, want the calls of operators that the package brings"},
	} {
		p, err := Decode(fstest.MapFS{in + "a.wrapper.cpp": {Data: []byte(wrapper(call(tt.number)))}, in + "a.wrapper.json": {Data: []byte(tt.record)}}, "")
		if err != nil {
			assert.EqualError(t, err, tt.want)
			continue
		}
		assert.Equal(t, tt.want, nodes(t, p), "call %s", tt.number)
		assert.True(t, p.Compiled)
		assert.Equal(t, "compiled for CUDA", p.Producer)
		assert.Equal(t, [2]int{}, p.For)
	}
	for told, want := range map[string][2]int{"75": {7, 5}, "120": {12, 0}, "10": {1, 0}, "9": {}, "999": {99, 9}, "1000": {}, "x": {}} {
		f := fstest.MapFS{in + "a.wrapper.cpp": {Data: []byte(wrapper("output_handles[0] = arg0_1.release();\n"))}, in + "a.wrapper_metadata.json": {Data: []byte(`{"AOTI_COMPUTE_CAPABILITY": "` + told + `"}`)}}
		assert.True(t, Sniff(f))
		p, err := Decode(f, "")
		require.NoError(t, err)
		assert.Equal(t, want, p.For, told)
	}
	twice := fstest.MapFS{in + "a.wrapper.cpp": {Data: []byte(wrapper("output_handles[0] = arg0_1.release();\n"))}, in + "a.wrapper_metadata.json": {Data: []byte(`{"AOTI_COMPUTE_CAPABILITY": "75", "AOTI_COMPUTE_CAPABILITY": "80"}`)}}
	p8, err := Decode(twice, "")
	require.NoError(t, err)
	assert.Equal(t, [2]int{8, 0}, p8.For, "of two that are told the last, as JSON is read")
	delete(twice, in+"a.wrapper_metadata.json")
	twice[in+kernelsFile+"/x"] = &fstest.MapFile{}
	_, err = Decode(twice, "")
	assert.Error(t, err, "a file of kernels that is a folder")
	_, err = Decode(fstest.MapFS{in + "a.wrapper.cpp/b": {}}, "")
	assert.Error(t, err, "a wrapper that is a folder")
	p, err := Decode(fstest.MapFS{Folder + "/other/a.wrapper.cpp": {Data: []byte(wrapper("output_handles[0] = arg0_1.release();\n"))}, Folder + "/other/a.kernel.cpp": {}, Folder + "/other/a.txt": {}}, "")
	require.NoError(t, err, "the only model, of whatever name")
	assert.Equal(t, Folder+"/other/a.wrapper.cpp", p.Entry.Record)
	assert.False(t, Sniff(fstest.MapFS{"data/other": {}}))
	_, err = Decode(fstest.MapFS{"data/other": {}}, "")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	for text, want := range map[string]string{"output_handles[0] = v.release();\n": in + "a.wrapper.cpp:18:1: got v, want a name that stands for something"} {
		_, err := Decode(fstest.MapFS{in + "a.wrapper.cpp": {Data: []byte(wrapper(text))}}, "")
		assert.EqualError(t, err, want)
	}
}

// TestStackOf: a traceback tells the outermost call first, a stack the innermost.
func TestStackOf(t *testing.T) {
	s := stackOf("File \"/a.py\", line 1, in f\n    g()\n  File \"/b.py\", line 20, in g\n    h(x)\n  File \"/c d.py\", line 3, in h\n    return x")
	var got []string
	for _, f := range s.Frames {
		got = append(got, fmt.Sprint(f.File, ":", f.Line, " ", f.Function, " ", f.Text))
	}
	assert.Equal(t, []string{"/c d.py:3 h return x", "/b.py:20 g h(x)", "/a.py:1 f g()"}, got)
}

// TestCallsBehindEachOther: functions may call others a hundred deep; how many are called behind each other does not count.
func TestCallsBehindEachOther(t *testing.T) {
	var behind strings.Builder
	for range 150 {
		behind.WriteString("x = [arg1_1]\ny = part0(x)\n")
	}
	_, err := decodePython(pythonWrapper(behind.String()+"return ()")+"\ndef part0(args):\n    a, = args\n    return ()\n", "w.py")
	require.NoError(t, err)
	for deep, want := range map[int]string{100: "", 101: "got functions that call others deeper than 100, or of more than 65536 lines together"} {
		text := pythonWrapper("x = [arg1_1]\ny = part1(x)\nreturn ()")
		for i := 1; i <= deep; i++ {
			text += fmt.Sprintf("\ndef part%d(args):\n    a, = args\n", i)
			if i < deep {
				text += fmt.Sprintf("    x = [a]\n    y = part%d(x)\n", i+1)
			}
			text += "    return ()\n"
		}
		_, err := decodePython(text, "w.py")
		if want == "" {
			require.NoError(t, err, "%d", deep)
		} else {
			require.ErrorContains(t, err, want, "%d", deep)
		}
	}
}

// shownMeta writes a tensor: float32[8 64] strides [1 8] cuda.
func shownMeta(m *tensor.Meta) string {
	text := fmt.Sprintf("%s%v", m.DType, m.Sizes)
	if !slices.Equal(m.Strides, tensor.ContiguousStrides(m.Sizes)) {
		text += fmt.Sprintf(" strides %v", m.Strides)
	}
	return text + " " + m.Device
}

// TestExamples: what get_args tells of an argument, and an example that is none.
func TestExamples(t *testing.T) {
	whole := pythonWrapper("return (arg1_1, )")
	for _, tt := range []struct{ why, example, want string }{
		{"sizes by another argument", "rand_strided((arg0_1, 64), (64, 1), device='cuda:0', dtype=torch.float32)", "float32[8 64] cuda"},
		{"by a sum", "rand_strided((2*arg0_1, 64), (64, 1), device='cuda:0', dtype=torch.float32)", "float32[16 64] cuda"},
		{"of another device", "rand_strided((8, 64), (64, 1), device='cpu', dtype=torch.float32)", "float32[8 64] cpu"},
		{"without either", "rand_strided((8, 64), (64, 1))", "float32[8 64] cuda"},
		{"of no dimensions", "rand_strided((), ())", "float32[] cuda"},
		{"by its whole name", "torch._dynamo.testing.rand_strided((8, 64), (64, 1), dtype=torch.int8)", "int8[8 64] cuda"},
		{"with something else", "rand_strided((8, 64), (64, 1), 3, dtype=torch.int8, other=3)", "int8[8 64] cuda"},
		{"of strides", "rand_strided((8, 64), (1, 8))", "float32[8 64] strides [1 8] cuda"},
		{"of another dtype", "rand_strided((8, 64), (64, 1), dtype=torch.float33, device=3)", "14:51: got torch.float33, want a dtype"},
		{"two that are wrong", "rand_strided((8, 64), (64, 1), dtype=torch.float33, dtype=torch.float34)", "14:51: got torch.float33, want a dtype"},
		{"sizes that are none", "rand_strided(8, 64)", "14:27: got 8, want a list of sizes"},
		{"strides that are none", "rand_strided((8, 64), 64)", "14:36: got 64, want a list of sizes"},
		{"both with a text", "rand_strided(('a', 64), ('b', 1))", "14:28: got a in a size, want whole numbers, symbols, + - * // % min and max"},
		{"a size of nothing", "rand_strided((q, 64), (64, 1))", "14:28: got the size q in an example, want a number"},
		{"as many strides as sizes", "rand_strided((8, 64), (1, ))", "14:14: got strides of another length than sizes"},
		{"one list", "rand_strided((8, 64))", "14:14: got rand_strided(…) as an example of arg1_1, want rand_strided"},
		{"another function", "other((8, 64), (64, 1))", "14:14: got a call of other, want numbers and names"},
		{"a name", "x", "14:14: got x as an example of arg1_1, want rand_strided"},
	} {
		w, err := DecodeWrapper(strings.Replace(whole, "rand_strided((8, 64), (64, 1), device='cuda:0', dtype=torch.float32)", tt.example, 1), "w.py")
		if err != nil {
			assert.EqualError(t, err, tt.want, tt.why)
			continue
		}
		require.Len(t, w.States, 2, tt.why)
		m := w.States[0].Meta
		assert.Equal(t, tt.want, shownMeta(&m), tt.why)
		assert.NotNil(t, m.Sizes, tt.why)
		assert.Equal(t, int64(m.StorageBytes()), w.States[0].NBytes, tt.why)
	}
}

// TestConstants: what a wrapper tells of its weights.
func TestConstants(t *testing.T) {
	whole := wrapper("output_handles[0] = arg0_1.release();\n")
	for _, tt := range []struct{ old, new, want string }{
		{"", "", "net.w parameter float32[64 8] cuda 2048"},
		{`constants_info_[0].name = "w";`, `constants_info_[0].type = static_cast<int32_t>(torch::aot_inductor::ConstantType::Buffer);`, "net.w buffer float32[64 8] cuda 2048"},
		{`constants_info_[0].name = "w";`, `constants_info_[0].type = static_cast<int32_t>(torch::aot_inductor::ConstantType::TensorConstant);`, "net.w constant float32[64 8] cuda 2048"},
		{`constants_info_[0].name = "w";`, `constants_info_[0].type = static_cast<int32_t>(torch::aot_inductor::ConstantType::Parameter);`, "net.w parameter float32[64 8] cuda 2048"},
		{`    constants_info_[0].original_fqn = "net.w";` + "\n", "", "w parameter float32[64 8] cuda 2048"},
		{"cached_torch_device_type_cuda", "cached_torch_device_type_cpu", "net.w parameter float32[64 8] cpu 2048"},
		{"cached_torch_dtype_float32", "cached_torch_dtype_float33", `constant 0: got dtype "float33"`},
		{"data_size = 2048", "data_size = -1", "constant 0: got a negative size"},
		{"data_size = 2048", "data_size = 9223372036854775807", "net.w parameter float32[64 8] cuda 9223372036854775807"},
		{"shape = {64, 8};\n    constants_info_[0].stride = {8, 1}", "shape = {0, 9223372036854775807};\n    constants_info_[0].stride = {1, 1}", "net.w parameter float32[0 9223372036854775807] strides [1 1] cuda 2048"},
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

// TestMostLists: the members of lists that are declared count together, however many each has.
func TestMostLists(t *testing.T) {
	for _, tt := range []struct {
		why   string
		lists int
		of    string
		want  string
	}{
		{"sixteen of the most", 16, "4096", ""},
		{"one more", 17, "4096", "26:20: got a list of 4096, want one of at most 4096 results, and 65536 together"},
		{"many of a few", 100, "2", ""},
		{"many of none", 100, "0", ""},
		{"fewer than none", 1, "-1", "10:20: got a list of -1, want one of at most 4096 results, and 65536 together"},
		{"too many at once", 1, "4097", "10:20: got a list of 4097, want one of at most 4096 results, and 65536 together"},
	} {
		_, err := decodePython(pythonWrapper(strings.Repeat("buf0 = [None] * "+tt.of+"\n", tt.lists)+"return (arg1_1, )"), "w.py")
		if tt.want == "" {
			require.NoError(t, err, tt.why)
			continue
		}
		assert.ErrorContains(t, err, tt.want[strings.Index(tt.want, "got"):], tt.why)
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

// TestFirstAssert: of two checks of an input the first tells its layout.
func TestFirstAssert(t *testing.T) {
	const check = `if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(arg0_1, {9L, 9L}, {9L, 1L}, "input"); }` + "\n"
	p, err := decodeCPP(wrapper(check+"output_handles[0] = arg0_1.release();\n"), "w.cpp")
	require.NoError(t, err)
	assert.Equal(t, "float32[s77, 8] strides [8, 1] cuda", p.Entry.Params[0].Meta.String())
}

// TestShortAssert: a check of an input that tells sizes alone tells no layout.
func TestShortAssert(t *testing.T) {
	_, err := decodeCPP(strings.Replace(wrapper("output_handles[0] = arg0_1.release();\n"), "{s77, 8L}, {8L, 1L}, \"input\"", "{s77, 8L}", 1), "w.cpp")
	assert.EqualError(t, err, "got no sizes of the input arg0_1 (assert_size_stride), want a package of torch 2.9 or later")
}

// TestMostLines: the lines of functions count each time that they are called.
func TestMostLines(t *testing.T) {
	behind := "\ndef part(args):\n    a, = args\n" + strings.Repeat("    pass\n", 2044) + "    return ()\n\ndef many(args):\n    a, = args\n" + strings.Repeat("    x = [a]\n    y = part(x)\n", 32) + "    return ()\n"
	for calls, want := range map[int]string{0: "", 1: "got functions that call others deeper than 100, or of more than 65536 lines together"} {
		_, err := decodePython(pythonWrapper(strings.Repeat("x = [arg1_1]\ny = many(x)\n", calls)+"return ()")+behind, "w.py")
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	fewer := strings.Replace(behind, strings.Repeat("    pass\n", 2044), strings.Repeat("    pass\n", 2040), 1) // 32 times 2042 and 66
	_, err := decodePython(pythonWrapper("x = [arg1_1]\ny = many(x)\nreturn ()")+fewer, "w.py")
	require.NoError(t, err)
}
