package aotinductor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	artifact "github.com/memspec/memspec/engine/artifact/aotinductor"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/aotinductor"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// run runs a wrapper's code on an input of [4, 8], and returns the first call's events.
func run(t *testing.T, code string) (string, *trace.Trace, error) {
	return edited(t, code, func(*program.Graph) {})
}

// edited is run of a graph that was changed.
func edited(t *testing.T, code string, edit func(*program.Graph)) (string, *trace.Trace, error) {
	text := `int32_t arg0_1_expected_dtype = aoti_torch_dtype_float32();
void AOTInductorModel::run_impl(AtenTensorHandle* input_handles) {
    auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 1);
    auto arg0_1 = std::move(inputs[0]);
    if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(arg0_1, {s0, 8L}, {8L, 1L}, "input"); }
` + code + "}\n"
	p, err := artifact.Decode(fstest.MapFS{"data/aotinductor/model/a.wrapper.cpp": {Data: []byte(text)}}, "")
	require.NoError(t, err)
	g, err := p.Entry.Graph()
	require.NoError(t, err)
	edit(g)
	d, err := device.Lookup("t4")
	require.NoError(t, err)
	on, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
	require.NoError(t, err)
	in := exec.Input{Value: tensor.Meta{DType: tensor.Float32, Sizes: []int64{4, 8}, Strides: []int64{8, 1}}}
	r, err := exec.Run(context.Background(), aotinductor.New(p), builtin.Table(),
		exec.Options{Inputs: []exec.Input{in}, Platform: &on, DType: tensor.Undefined})
	if err != nil {
		return "", nil, err
	}
	require.NoError(t, r.Trace.Validate())
	var out []string
	number := map[tensor.StorageID]int{}
	for _, e := range r.Trace.Events {
		switch n, known := number[e.Storage]; {
		case e.Pass != 1:
		case e.Action == trace.Alloc:
			number[e.Storage] = len(number)
			out = append(out, fmt.Sprintf("+%d", e.Bytes))
		case known:
			out = append(out, fmt.Sprintf("-%d", n))
		}
	}
	return strings.Join(out, " "), r.Trace, nil
}

func buffer(name string, sizes, strides string) string {
	return fmt.Sprintf(`AtenTensorHandle %[1]s_handle;
AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, %[2]s, %[3]s, cached_torch_dtype_float32, cached_torch_device_type_cuda, this->device_idx_, &%[1]s_handle));
RAIIAtenTensorHandle %[1]s(%[1]s_handle);
`, name, sizes, strides)
}

// TestLifetimes: buffers begin and end where the code says, at the sizes of the call.
func TestLifetimes(t *testing.T) {
	a, b := buffer("buf0", "{s0, 8L}", "{8L, 1L}"), buffer("buf1", "{2L*s0, 8L}", "{8L, 1L}")
	for _, tt := range []struct{ why, code, want string }{
		{"one ends, one is the caller's", a + b + "buf0.reset();\noutput_handles[0] = buf1.release();", "+128 +256 -0"},
		{"a buffer that is used again takes nothing", a + "auto buf2 = std::move(buf0);\nbuf0.reset();\noutput_handles[0] " +
			"= buf2.release();", "+128"},
		{"a size as a number of an operator", "AtenTensorHandle buf0_handle;\nAtenTensorHandle buf1_handle;\n" +
			"AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_topk(arg0_1, s0 - 1L, 0L, 1, 0, &buf0_handle, &buf1_handle));\n" +
			"RAIIAtenTensorHandle buf0(buf0_handle);\nRAIIAtenTensorHandle buf1(buf1_handle);\noutput_handles[0] = " +
			"buf0.release();", "+96 +192 -1"},
		{"a view keeps the storage", a + "auto buf2 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(buf0, 1, " +
			"{8L}, {1L}, 0L)); buf0.reset();\n" + b + "buf2.reset();\noutput_handles[0] = buf1.release();", "+128 +256 -0"},
		{"what nothing ends goes with the call, the latest first", a + b + "output_handles[0] = arg0_1.release();",
			"+128 +256 -1 -0"},
		{"a block of code ends what it made", "{\n" + a + "}\n" + b + "output_handles[0] = buf1.release();", "+128 -0 +256"},
		{"one buffer as two outputs", a + "output_handles[0] = buf0.release();\noutput_handles[1] = output_handles[0];",
			"+128"},
		{"a product's workspace is its own", a + buffer("buf1", "{s0, s0}", "{s0, 1L}") +
			"AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_mm_out(buf1, arg0_1, " +
			"wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg0_1, 2, {8L, s0}, {1L, 8L}, 0L))));\n" +
			"buf0.reset();\noutput_handles[0] = buf1.release();", "+128 +64 +8519680 -2 -0"},
	} {
		got, tr, err := run(t, tt.code)
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, got, tt.why)
		assert.Empty(t, tr.Coverage.Unsupported, tt.why)
	}
}

// TestOperators: one without a rule leaves the account incomplete, and has the results that the
// wrapper says of; one whose rule and wrapper disagree is an error.
func TestOperators(t *testing.T) {
	call := func(name, op string, sizes string) string {
		return "AtenTensorHandle buf0_handle;\nAOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_" + name +
			"(arg0_1, &buf0_handle));\nRAIIAtenTensorHandle buf0(buf0_handle);\n" +
			`if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(buf0, ` + sizes + `, {8L, 1L}, "torch.ops.` + op +
			`", cached_torch_dtype_float32, "torch.float32"); }` +
			"\noutput_handles[0] = buf0.release();\n"
	}
	got, tr, err := run(t, call("relu", "aten.relu.default", "{s0, 8L}"))
	require.NoError(t, err)
	assert.Equal(t, "+128", got)
	assert.Empty(t, tr.Coverage.Unsupported)

	got, tr, err = run(t, call("nothing_like_it", "aten.nothing_like_it.default", "{3L*s0, 8L}"))
	require.NoError(t, err)
	assert.Equal(t, "+384", got)
	require.Len(t, tr.Coverage.Unsupported, 1)
	assert.Equal(t, "aten::nothing_like_it", tr.Coverage.Unsupported[0].Op)

	_, _, err = run(t, call("nothing_like_it", "aten.nothing_like_it.default", "{4611686018427387904L, 8L}"))
	assert.ErrorContains(t, err, "overflow", "larger than any memory")

	_, _, err = run(t, call("relu", "aten.relu.default", "{5L*s0, 8L}"))
	assert.ErrorContains(t, err, "aten::relu: got result 0 of 128 bytes, the package says 640: another PyTorch wrote it")

	_, _, err = run(t, strings.Replace(call("relu", "aten.relu.default", "{s0, 8L}"), "(arg0_1, &", "(arg0_1, 1L, &", 1))
	assert.ErrorContains(t, err, "got more arguments than the 1 of aten::relu: the package is of another PyTorch")

	own := "AtenTensorHandle buf0_handle;\n" +
		"AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_uninitialized_tensor(&buf0_handle));\nRAIIAtenTensorHandle " +
		"buf0(buf0_handle);\n" +
		"aoti_torch_proxy_executor_call_function(proxy_executor, 0, 0, nullptr, 2, std::array<AtenTensorHandle, 2>{arg0_1, " +
		"buf0}.data());\n" +
		`if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(buf0, {s0, 1L}, {1L, 1L}, "torch.ops.mine.op.default", cached_torch_dtype_float32, "torch.float32"); }` + "\noutput_handles[0] = buf0.release();\n"
	got, tr, err = run(t, own)
	require.NoError(t, err)
	assert.Equal(t, "+16", got)
	require.Len(t, tr.Coverage.Unsupported, 1)
	assert.Equal(t, "mine::op", tr.Coverage.Unsupported[0].Op)
}

// TestViewsStayWithin: a view that begins before its buffer or ends behind it is an error at its
// line.
func TestViewsStayWithin(t *testing.T) {
	for view, want := range map[string]string{
		"2, {s0, 8L}, {8L, 1L}, 0L": "",
		"1, {8L}, {1L}, 24L":        "",
		"1, {0L}, {1L}, 99L":        "", // nothing of it is looked at
		"2, {s0, 9L}, {8L, 1L}, 0L": "got a view up to byte 132 from element 0 on, want it within the " +
			"128 bytes of buf0",
		"1, {8L}, {1L}, 25L": "got a view up to byte 132 from element 25 on, want it within the " +
			"128 bytes of buf0",
		"1, {8L}, {1L}, -1L": "got a view up to byte 28 from element -1 on, want it within the " +
			"128 bytes of buf0",
		"2, {1000000L, 1000000L}, {1000000L, 1L}, 0L": "got a view up to byte 4000000000000 from element 0 on, want it " +
			"within the 128 bytes of buf0",
	} {
		_, _,
			err := run(t, buffer("buf0", "{s0, 8L}", "{8L, 1L}")+
			"auto buf1 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(buf0, "+view+"));\noutput_handles[0] = "+
			"buf1.release();")
		if want == "" {
			require.NoError(t, err, view)
			continue
		}
		require.ErrorContains(t, err, want, view)
		assert.Contains(t, err.Error(), "a.wrapper.cpp:9", view)
	}
}

func TestRuns(t *testing.T) {
	assert.True(t, aotinductor.Runs("inductor::free"))
	assert.False(t, aotinductor.Runs("inductor::proxy_executor"), "an operator that has no rule")
	assert.False(t, aotinductor.Runs("aten::relu"))
}

// TestNamesOfNothing: what takes a buffer that is gone, or that was moved on, fails with its name.
func TestNamesOfNothing(t *testing.T) {
	a, b := buffer("buf0", "{s0, 8L}", "{8L, 1L}"), buffer("buf1", "{s0, s0}", "{s0, 1L}")
	const product = "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_mm_out(%s, %s, " +
		"wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(%s, 2, {8L, s0}, {1L, 8L}, 0L))));\n"
	for _, tt := range []struct{ why, code string }{
		{"a view", a + "buf0.reset();\nauto buf2 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(buf0, 1, " +
			"{8L}, {1L}, 0L));"},
		{"a move", a + "buf0.reset();\nauto buf2 = std::move(buf0);"},
		{"a second move", a + "auto buf2 = std::move(buf0);\nauto buf3 = std::move(buf0);"},
		{"an output", a + "buf0.reset();\noutput_handles[0] = buf0.release();"},
		{"an argument", a + b + "buf0.reset();\n" + fmt.Sprintf(product, "buf1", "buf0", "arg0_1")},
		{"a view in an argument", a + b + "buf0.reset();\n" + fmt.Sprintf(product, "buf1", "arg0_1", "buf0")},
		{"a result", a + b + "buf0.reset();\n" + fmt.Sprintf(product, "buf0", "arg0_1", "arg0_1")},
	} {
		_, _, err := run(t, tt.code)
		assert.ErrorContains(t, err, "got buf0, which names no tensor here", tt.why)
	}
}
