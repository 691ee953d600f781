package aotinductor_test

import (
	"context"
	"fmt"
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

// TestInputs: compiled code takes tensors of one dtype, and nothing in their place.
func TestInputs(t *testing.T) {
	const text = `int32_t arg0_1_expected_dtype = aoti_torch_dtype_float32();
void AOTInductorModel::run_impl(AtenTensorHandle* input_handles) {
    auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 1);
    auto arg0_1 = std::move(inputs[0]);
    if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(arg0_1, {s0, 8L}, {8L, 1L}, "input"); }
    output_handles[0] = arg0_1.release();
}
`
	of := func(d tensor.DType) tensor.Meta {
		return tensor.Meta{DType: d, Sizes: []int64{4, 8}, Strides: []int64{8, 1}}
	}
	untyped := func(p *program.Param) { p.Type = &program.Type{Kind: program.AnyType} }
	for _, tt := range []struct {
		why  string
		edit func(*program.Param)
		give any
		want string
	}{
		{"the tensor that it was made for", nil, of(tensor.Float32), ""},
		{"another dtype", nil, of(tensor.Float16), "input arg0_1: got float16, want float32: compiled code takes one dtype"},
		{"another size", nil, tensor.Meta{DType: tensor.Float32, Sizes: []int64{4, 7}, Strides: []int64{7, 1}},
			"input arg0_1, dimension 1: got 7, want 8"},
		{"an int for a tensor", untyped, int64(3), "input arg0_1: got no tensor, want float32[s0, 8] strides [8, 1] cuda"},
		{"nothing for a tensor", untyped, nil, "input arg0_1: got no tensor, want float32[s0, 8] strides [8, 1] cuda"},
	} {
		p, err := artifact.Decode(fstest.MapFS{"data/aotinductor/model/a.wrapper.cpp": {Data: []byte(text)}}, "")
		require.NoError(t, err)
		if tt.edit != nil {
			tt.edit(&p.Entry.Params[0])
		}
		d, err := device.Lookup("t4")
		require.NoError(t, err)
		on, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
		require.NoError(t, err)
		_, err = exec.Run(context.Background(), aotinductor.New(p), builtin.Table(),
			exec.Options{Inputs: []exec.Input{{Value: tt.give}}, Platform: &on})
		if tt.want == "" {
			require.NoError(t, err, tt.why)
			continue
		}
		var outside *exec.InputError
		require.ErrorAs(t, err, &outside, tt.why)
		assert.Equal(t, tt.want, err.Error(), tt.why)
	}
}

// TestPlaces: a buffer is reported by the operators that its kernel was made of, an operator by its
// own name.
func TestPlaces(t *testing.T) {
	code := buffer("buf0", "{s0, 8L}", "{8L, 1L}") + "AtenTensorHandle buf1_handle;\n" +
		"AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_relu(buf0, &buf1_handle));\nRAIIAtenTensorHandle buf1(buf1_handle);\n" +
		"output_handles[0] = buf1.release();"
	placed := 0
	_, tr, err := edited(t, code, func(g *program.Graph) {
		placed = len(g.Body.Nodes) - 1 // the return has none
		for _, n := range g.Body.Nodes {
			n.Text = "aten.add, aten.mul"
		}
	})
	require.NoError(t, err)
	var got []string
	for _, e := range tr.Events {
		if e.Pass == 1 && e.Action == trace.Alloc {
			got = append(got, tr.Sites[e.Site].Op)
		}
	}
	assert.Equal(t, []string{"aten.add, aten.mul", "aten::relu"}, got)
	assert.Len(t, tr.Sites, placed+1, "in two passes each line is one place, the input another")
}

// TestPlacesOfStacks: where the line of the user's own code is reported, it is the place.
func TestPlacesOfStacks(t *testing.T) {
	_, tr, err := edited(t, buffer("buf0", "{s0, 8L}", "{8L, 1L}")+"output_handles[0] = buf0.release();",
		func(g *program.Graph) {
			g.Body.Nodes[0].Where.Stack = &program.Stack{Frames: []*program.Frame{{File: "/u/net.py", Line: 7}}}
		})
	require.NoError(t, err)
	for _, e := range tr.Events {
		if e.Pass == 1 && e.Action == trace.Alloc {
			assert.Equal(t, "/u/net.py:7", fmt.Sprint(tr.Sites[e.Site].File, ":", tr.Sites[e.Site].Line))
		}
	}
}

// TestFirstInput: of two inputs that do not fit the error names the first.
func TestFirstInput(t *testing.T) {
	const text = `int32_t arg0_1_expected_dtype = aoti_torch_dtype_float32();
int32_t arg1_1_expected_dtype = aoti_torch_dtype_float16();
void AOTInductorModel::run_impl(AtenTensorHandle* input_handles) {
    auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 2);
    auto arg0_1 = std::move(inputs[0]);
    auto arg1_1 = std::move(inputs[1]);
    if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(arg0_1, {8L}, {1L}, "input"); assert_size_stride(arg1_1, {8L}, {1L}, "input"); }
    output_handles[0] = arg0_1.release();
}
`
	p, err := artifact.Decode(fstest.MapFS{"data/aotinductor/model/a.wrapper.cpp": {Data: []byte(text)}}, "")
	require.NoError(t, err)
	d, err := device.Lookup("t4")
	require.NoError(t, err)
	on, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
	require.NoError(t, err)
	in := exec.Input{Value: tensor.Meta{DType: tensor.Int64, Sizes: []int64{8}, Strides: []int64{1},
		Device: exec.Accelerator}}
	_, err = exec.Run(context.Background(), aotinductor.New(p), builtin.Table(), exec.Options{Inputs: []exec.Input{in, in},
		Platform: &on})
	assert.EqualError(t, err, "input arg0_1: got int64, want float32: compiled code takes one dtype")
}

// TestLoopsPlace: whether a loop goes on depends on data: the note stands at the loop.
func TestLoopsPlace(t *testing.T) {
	read := func(name string) string {
		return "AtenTensorHandle " + name + "_handle;\nAOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(0, " +
			"int_array_0, int_array_0, cached_torch_dtype_bool, cached_torch_device_type_cuda, this->device_idx_, &" + name +
			"_handle));\nRAIIAtenTensorHandle " + name + "(" + name + "_handle);\nbool " + name +
			"_scalar;\nAOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_item_bool(" + name + ", &" + name + "_scalar));\n"
	}
	_, tr, err := run(t, "static constexpr int64_t *int_array_0=nullptr;\nwhile (1) {\n"+read("test")+
		"if (!test_scalar) break;\n}\noutput_handles[0] = arg0_1.release();")
	require.NoError(t, err)
	var got []string
	for _, n := range tr.Notes {
		s := tr.Sites[n.Site]
		got = append(got, string(n.ID)+" "+s.Op)
	}
	assert.Equal(t, []string{"branch-both while_loop"}, got)
}
