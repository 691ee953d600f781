package aotinductor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
)

// decodeCPP reads a wrapper's text that nothing stands beside.
func decodeCPP(text, record string) (*program.Program, error) {
	return decodePackage(text, record, beside{})
}

// wrapper is the text of a package's wrapper around the code of run_impl.
func wrapper(code string) string {
	return `    constants_info_[0].name = "w";
    constants_info_[0].dtype = cached_torch_dtype_float32;
    constants_info_[0].device_type = cached_torch_device_type_cuda;
    constants_info_[0].data_size = 2048;
    constants_info_[0].shape = {64, 8};
    constants_info_[0].stride = {8, 1};
    constants_info_[0].original_fqn = "net.w";
    int32_t arg0_1_expected_dtype = aoti_torch_dtype_float32();
    if (arg0_1_size[0] < 2) {
    if (arg0_1_size[0] > 64) {
void AOTInductorModel::run_impl(AtenTensorHandle* input_handles) {
    auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 1);
    auto arg0_1 = std::move(inputs[0]);
    [[maybe_unused]] auto& w = constants_->at(0);
    auto arg0_1_size = arg0_1.sizes();
    int64_t s77 = arg0_1_size[0];
    if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(arg0_1, {s77, 8L}, {8L, 1L}, "input"); }
` + code + `}
`
}

const buffer = `    const int64_t int_array_0[] = {s77, 64L};
    static constexpr int64_t int_array_1[] = {64L, 1L};
    AtenTensorHandle buf0_handle;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, int_array_0, int_array_1, cached_torch_dtype_float32, cached_torch_device_type_cuda, this->device_idx_, &buf0_handle));
    RAIIAtenTensorHandle buf0(buf0_handle);
`

func listing(t testing.TB, p *program.Program) string {
	var b strings.Builder
	require.NoError(t, program.Write(&b, p))
	return b.String()
}

// TestStatements: what each statement of a wrapper becomes.
func TestStatements(t *testing.T) {
	for _, tt := range []struct{ why, code, want string }{
		{"a buffer is made, handed on and given to the caller", buffer + "auto buf1 = std::move(buf0);  // reuse\n" +
			"output_handles[0] = buf1.release();",
			"buf0%1 inductor::empty_strided() -> float32[s77, 64] strides [64, 1] cuda; buf1%2 inductor::move(buf0%1); inductor::free(arg0_1%0); return [buf1%2]"},
		{"what nothing ends, ends with the function, the latest first",
			buffer + "auto buf1 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(buf0, 1, int_array_1, " +
				"int_array_1, 2L));\noutput_handles[0] = arg0_1.release();",
			"buf0%1 inductor::empty_strided() -> float32[s77, 64] strides [64, 1] cuda; buf1%2 inductor::reinterpret_tensor(buf0%1) -> [64, 1] strides [64, 1] offset 2 cuda; inductor::free(buf1%2); inductor::free(buf0%1); return [arg0_1%0]"},
		{"a view in a call ends with its statement", buffer + "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_mm_out(buf0, " +
			"arg0_1, wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(w, 2, int_array_1, int_array_1, 0L))));\n" +
			"arg0_1.reset();\noutput_handles[0] = buf0.release();",
			`buf0%1 inductor::empty_strided() -> float32[s77, 64] strides [64, 1] cuda; view 1%2 inductor::reinterpret_tensor(state net.w) -> [64, 1] strides [64, 1] cuda; aten::mm.out(out=buf0%1, self=arg0_1%0, mat2=view 1%2); inductor::free(view 1%2); inductor::free(arg0_1%0); return [buf0%1]`},
		{"the kernel that first uses a buffer says what it is", buffer + "// Topologically Sorted Source Nodes: [gelu], " +
			"Original ATen: [aten.addmm, aten.gelu]\ncall_triton_poi_fused_addmm_gelu_0(arg0_1, w, buf0, 1024L*s77, " +
			"this->device_idx_, stream, kernels, this->cubin_dir_);\noutput_handles[0] = buf0.release();",
			`buf0%1 inductor::empty_strided().aten::addmm, aten::gelu -> float32[s77, 64] strides [64, 1] cuda; inductor::kernel(arg0_1%0, state net.w, buf0%1).triton_poi_fused_addmm_gelu_0; inductor::free(arg0_1%0); return [buf0%1]`},
		{"a kernel made of a library's operator alone copies an operand for it", buffer + "// Topologically Sorted Source " +
			"Nodes: [conv2d], Original ATen: [aten.convolution]\ncall_triton_poi_fused_convolution_0(w, buf0, 64L, stream);\n" +
			"output_handles[0] = buf0.release();",
			`buf0%1 inductor::empty_strided().layout copy for aten::convolution -> float32[s77, 64] strides [64, 1] cuda; inductor::kernel(state net.w, buf0%1).triton_poi_fused_convolution_0; inductor::free(arg0_1%0); return [buf0%1]`},
		{"a kernel of a weight that is made of other operators is no copy", buffer + "// Topologically Sorted Source " +
			"Nodes: [relu], Original ATen: [aten.relu, aten.add]\ncall_triton_poi_fused_relu_0(w, buf0, 64L, stream);\n" +
			"output_handles[0] = buf0.release();",
			`buf0%1 inductor::empty_strided().aten::relu, aten::add -> float32[s77, 64] strides [64, 1] cuda; inductor::kernel(state net.w, buf0%1).triton_poi_fused_relu_0; inductor::free(arg0_1%0); return [buf0%1]`},
		{"an operator makes what its handle names; a list comes with its length",
			"AtenTensorHandle buf0_handle;\nAOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_convolution(arg0_1, w, nullptr, " +
				"static_cast<const int64_t*>(std::array<int64_t, 2>{2L, s77}.data()), 2, 0, &buf0_handle));\n" +
				"RAIIAtenTensorHandle buf0(buf0_handle);\nif (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(buf0, " +
				"{s77, 4L}, {4L, 1L}, \"torch.ops.aten.convolution.default\", cached_torch_dtype_float16, \"torch.float16\"); }\n" +
				"arg0_1.reset();\noutput_handles[0] = buf0.release();",
			`buf0%1 aten::convolution(arg0_1%0, state net.w, None, [2, s77], 0) -> float16[s77, 4] strides [4, 1] cuda; inductor::free(arg0_1%0); return [buf0%1]`},
		{"of an operator without a function in C the results are stated",
			"AtenTensorHandle buf0_handle;\nAOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_uninitialized_tensor(&buf0_handle));\n" +
				"RAIIAtenTensorHandle buf0(buf0_handle);\naoti_torch_proxy_executor_call_function(proxy_executor, 0, 0, nullptr, " +
				"2, std::array<AtenTensorHandle, 2>{arg0_1, buf0}.data());\nassert_size_stride(buf0, {1L}, {1L}, " +
				"\"torch.ops.mine.op.default\");\noutput_handles[0] = buf0.release();",
			`buf0%1 inductor::proxy_executor().an operator of the package's own; inductor::free(arg0_1%0); return [buf0%1]`},
	} {
		t.Run(tt.why, func(t *testing.T) {
			p, err := decodeCPP(wrapper(tt.code), "w.cpp")
			require.NoError(t, err)
			require.NoError(t, program.Check(p))
			assert.Equal(t, tt.want, nodes(t, p))
			require.Len(t, p.Symbols, 1)
			assert.Equal(t, program.Symbol{Name: "s77", Max: 64}, p.Symbols[0])
		})
	}
}

// nodes are a program's nodes on one line.
func nodes(t testing.TB, p *program.Program) string {
	var out []string
	for line := range strings.Lines(listing(t, p)) {
		line, body := strings.CutPrefix(line, "  ")
		if !body {
			continue
		}
		line, _, _ = strings.Cut(line, "  # ")
		line = strings.ReplaceAll(strings.ReplaceAll(line, ": Tensor", ""), " = ", " ")
		if rest, ok := strings.CutPrefix(line, "prim::Return("); ok {
			line = "return " + strings.TrimSuffix(rest, ")")
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

// TestRefused: what is not known is an error at its line, and never passed over.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ why, code, want string }{
		{"a loop", "for (int i = 0; i < 3; i++) { }", "18:1: got for, want if or while: other control flow in compiled " +
			"code is not read"},
		{"a choice", "if (x) { buf0.reset(); }", "18:1: got a block that runs if x, want a comparison of a value that was " +
			"read with a number"},
		{"a value of nothing", "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_item_int64(buf9, &u0_raw));",
			"18:29: got a value of buf9, want one of a buffer"},
		{"a choice by a number that was not read", "if (x == 0) { buf0.reset(); }", "18:1: got a block that runs if x, " +
			"want a comparison of a value that was read with a number"},
		{"a loop with a condition", "while (x) { if (!x) break; }", "18:1: got a loop while x, want while (1)"},
		{"a loop without end", "while (1) { }", "18:1: got a loop that is left in 0 places, want one"},
		{"a way out by a number that was not read", "while (1) { if (!x) break; }", "18:13: got a loop that is left if x, " +
			"want a value that was read to be nought"},
		{"a way out of no loop", "int64_t x;\naoti_torch_item_int64(arg0_1, &x);\nif (!x) break;",
			"20:1: got a block that runs if x, want a comparison of a value that was read with a number"},
		{"a name of a block behind it", "int64_t x;\naoti_torch_item_int64(arg0_1, &x);\nif (x == 0) { auto y = " +
			"std::move(arg0_1); }\ny.reset();", "21:1: got y freed, want a name that stands for something"},
		{"an else of nothing", ";\nelse { }", "19:1: got else, want it behind an if"},
		{"an else of what is only checked", "else { }",
			"17:5: got a block that runs if _check_aoti_runtime_check_inputs_env, want a comparison of a value that was read " +
				"with a number"},
		{"a call that no wrapper makes", "system(\"true\");", "18:1: got a call of system, want one that a wrapper makes"},
		{"a name that stands for nothing", "buf7.reset();", "18:1: got buf7 freed, want a name that stands for something"},
		{"an output that is not there", "output_handles[1] = arg0_1.release();", "19:1: got no output 0 of 2"},
		{"a size with a choice", "const int64_t int_array_0[] = {s77 ? 1L : 2L};", "18:36: got ?, want , or }"},
		{"a size of a float", buffer[:0] + "AtenTensorHandle h_handle;\n" +
			"AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(1, {1.5}, {1L}, cached_torch_dtype_float32, " +
			"cached_torch_device_type_cuda, 0, &h_handle));", "19:58: got 1.5 in a size, want whole numbers, symbols, + - * " +
			"// % min and max"},
		{"another dtype", "AtenTensorHandle h_handle;\nAOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(1, {1L}, {1L}, " +
			"cached_torch_dtype_float33, cached_torch_device_type_cuda, 0, &h_handle));",
			"19:69: got cached_torch_dtype_float33, want a dtype"},
		{"a constant that is not there", "auto& v = constants_->at(1);", "18:1: got constant 1, want one of 1"},
		{"an end without a beginning", "} buf0", "18: got no output 0 of 0"},
		{"a text without an end", "auto x = \"a\n;", "18:10: got a text without an end"},
		{"choices nested without end", strings.Repeat("if (x) ", 200) + ";",
			"18:694: got statements nested deeper than 100"},
		{"more strides than sizes", buffer[:0] + "AtenTensorHandle h_handle;\n" +
			"AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(1, {1L}, {1L, 1L}, cached_torch_dtype_float32, " +
			"cached_torch_device_type_cuda, 0, &h_handle));", "19:57: got 1 sizes and 2 strides"},
		{"a kernel of a view of nothing", "call_triton_poi_0(wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(" +
			"nope, 1, {1L}, {1L}, 0L)), stream);", "18:51: got a view of nope, want a buffer"},
		{"calls that no check makes, the first", "if (_check_aoti_runtime_check_inputs_env()) { assert_numel(g(1), h(2)); }",
			"18:60: got a call of g, want one of assert_size_stride, assert_alignment, assert_numel, static_cast here"},
		{"nested without end", strings.Repeat("{", 200), "18:51: got blocks nested deeper than 100"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			_, err := decodeCPP(wrapper(tt.code), "w.cpp")
			if tt.why == "an end without a beginning" { // what follows the function is another's
				assert.NoError(t, err)
				return
			}
			assert.EqualError(t, err, tt.want)
		})
	}
	for _, tt := range []struct{ why, old, new, want string }{
		{"no code", "run_impl(", "run(", "1:1: got no void AOTInductorModel::run_impl(…), want the wrapper of a package"},
		{"a weight smaller than its tensor", "data_size = 2048", "data_size = 2047", "constant net.w: got 2047 bytes, want " +
			"the 2048 of its tensor"},
		{"a weight of unequal ranks", "shape = {64, 8}", "shape = {64}", "constant net.w: got 1 sizes and 2 strides"},
		{"a weight out of order", "constants_info_[0].name", "constants_info_[3].name",
			"got constant 3 after -1, want them in order"},
		{"an input without sizes", `"input");`, `"input"`, "20:1: got the end, want }"},
		{"an input without a dtype", "_expected_dtype", "_dtype", "got no dtype of the input arg0_1, want the checks that " +
			"AOTInductor writes"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			_, err := decodeCPP(strings.Replace(wrapper("output_handles[0] = arg0_1.release();\n"), tt.old, tt.new, 1), "w.cpp")
			assert.EqualError(t, err, tt.want)
		})
	}
}

// TestPackages: which record of a package is read, and what is said where none is.
func TestPackages(t *testing.T) {
	text := &fstest.MapFile{Data: []byte(wrapper("output_handles[0] = arg0_1.release();\n"))}
	meta := func(device string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"AOTI_DEVICE_KEY": "` + device + `", "AOTI_COMPUTE_CAPABILITY": "90"}`)}
	}
	const in = "data/aotinductor/model/"
	for _, tt := range []struct {
		why   string
		files fstest.MapFS
		want  string
	}{
		{"a library alone", fstest.MapFS{in + "a.so": text}, "got no wrapper (*.wrapper.cpp) below data/aotinductor, want " +
			"the package with its sources: aot_inductor.package_cpp_only, or torch 2.6 and later"},
		{"two models", fstest.MapFS{in + "a.wrapper.cpp": text, "data/aotinductor/other/a.wrapper.cpp": text,
			in + "a.wrapper_metadata.json": meta("cuda")}, ""},
		{"two models, none of which is the one that is loaded", fstest.MapFS{"data/aotinductor/first/a.wrapper.cpp": text,
			"data/aotinductor/other/a.wrapper.cpp": text}, "got 2 wrappers, of the models first, other, want one named: " +
			"FILE.pt2#MODEL; without it the model named model is read, as aoti_load_package does"},
		{"code of a CPU", fstest.MapFS{in + "a.wrapper.cpp": text, in + "a.wrapper_metadata.json": meta("cpu")},
			"got a package that was compiled for cpu, want one compiled for cuda"},
		{"stripped of its source", fstest.MapFS{in + "a.wrapper.cpp": &fstest.MapFile{}},
			in + "a.wrapper.cpp: got no text, want the wrapper's"},
		{"code of a GPU", fstest.MapFS{in + "a.wrapper.cpp": text, in + "a.kernel.cpp": text,
			in + "a.wrapper_metadata.json": meta("cuda")}, ""},
	} {
		t.Run(tt.why, func(t *testing.T) {
			p, err := Decode(tt.files, "")
			if tt.want != "" {
				require.EqualError(t, err, tt.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "compiled for CUDA, compute capability 9.0", p.Producer)
		})
	}
}

// TestNamedModel: the one that is asked for, whatever else is in the package.
func TestNamedModel(t *testing.T) {
	text := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(wrapper("output_handles[0] = arg0_1.release(); // " + name + "\n"))}
	}
	const in = "data/aotinductor/"
	several := fstest.MapFS{in + "a.txt": text(""),
		in + "first/a.wrapper.cpp": text("first"), in + "model/b.wrapper.cpp": text("model"),
		in + "empty/a.so":          text(""),
		in + "twice/a.wrapper.cpp": text(""), in + "twice/b.wrapper.cpp": text("")}
	for _, tt := range []struct{ model, record, want string }{
		{"", "model/b.wrapper.cpp", ""},
		{"model", "model/b.wrapper.cpp", ""},
		{"first", "first/a.wrapper.cpp", ""},
		{"second", "", "got no model second in the package, want one of empty, first, model, twice"},
		{"first/..", "", "got no model first/.. in the package, want one of empty, first, model, twice"},
		{"empty", "", "got 0 wrappers of the model empty, want one"},
		{"twice", "", "got 2 wrappers of the model twice, want one"},
	} {
		p, err := Decode(several, tt.model)
		if tt.want != "" {
			require.EqualError(t, err, tt.want)
			continue
		}
		require.NoError(t, err, tt.model)
		assert.Equal(t, in+tt.record, p.Entry.Record, tt.model)
	}
	_, err := Decode(fstest.MapFS{in + "first/a.wrapper.cpp": text("first")}, "model")
	require.EqualError(t, err, "got no model model in the package, want one of first",
		"a package of one is held to the name too")
}

// open reads a package of the repository.
func open(t testing.TB, path string) *program.Program {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	z, err := ptzip.Open(strings.NewReader(string(data)), int64(len(data)))
	require.NoError(t, err)
	p, err := Decode(z, "")
	require.NoError(t, err, path)
	return p
}

// TestCommittedPackages: those of the repository are sound, and every buffer but the results ends.
func TestCommittedPackages(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "compiled", "*.pt2"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		require.NoError(t, program.Check(open(t, path)), path)
	}
}

// TestLimits: what an open size was compiled for.
func TestLimits(t *testing.T) {
	text := strings.ReplaceAll(wrapper("output_handles[0] = arg0_1.release();\n"), "_size[0] < 2)", "_size[0] < 3)")
	p, err := decodeCPP(text, "w.cpp")
	require.NoError(t, err)
	assert.Equal(t, program.Symbol{Name: "s77", Min: 3, Max: 64}, p.Symbols[0])
}

func FuzzWrapper(f *testing.F) {
	f.Add(wrapper(buffer + "output_handles[0] = buf0.release();"))
	f.Add("void AOTInductorModel::run_impl() {}")
	f.Add(wrapper(cppControl))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := decodeCPP(text, "w.cpp")
		if err != nil {
			return
		}
		if _, err := p.Entry.Graph(); err == nil {
			_ = listing(t, p)
		}
	})
}

func BenchmarkResnet50(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "compiled", "resnet50.t4.pt2"))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		z, err := ptzip.Open(strings.NewReader(string(data)), int64(len(data)))
		require.NoError(b, err)
		p, err := Decode(z, "")
		require.NoError(b, err)
		_, err = p.Entry.Graph()
		require.NoError(b, err)
	}
}
