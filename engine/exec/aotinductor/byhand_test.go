package aotinductor_test

import (
	"context"
	"errors"
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
	"github.com/memspec/memspec/engine/internal/testing/faults"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// TestByHand: a graph that no wrapper is read as, made by hand, is refused with a reason, not run
// otherwise.
func TestByHand(t *testing.T) {
	node := func(op string, args ...program.Arg) *program.Node {
		return &program.Node{Operation: &program.Operation{Op: op}, Args: args}
	}
	block := func(nodes ...*program.Node) *program.Block { return &program.Block{Nodes: nodes} }
	with := func(n *program.Node, blocks ...*program.Block) *program.Node {
		n.Blocks = blocks
		return n
	}
	end := func(g *program.Graph) *program.Node { return g.Body.Nodes[len(g.Body.Nodes)-1] }
	value := func(g *program.Graph, name string) *program.Value {
		v := &program.Value{ID: g.NumValues, Name: name}
		g.NumValues++
		return v
	}
	for _, tt := range []struct {
		why  string
		edit func(*program.Graph)
		want string
	}{
		{"no nodes", func(g *program.Graph) { g.Body.Nodes = nil }, "got the end of the code, want a return"},
		{"no return", func(g *program.Graph) { g.Body.Nodes = g.Body.Nodes[:len(g.Body.Nodes)-1] },
			"a.wrapper.cpp:10: got the end of the code, want a return"},
		{"another node with blocks", func(g *program.Graph) {
			g.Body.Nodes = []*program.Node{with(node("prim::If"), block())}
		}, "a.wrapper.cpp:0: got prim::If with blocks, want code of a wrapper"},
		{"a loop that nothing leaves", func(g *program.Graph) {
			g.Body.Nodes = []*program.Node{with(node(program.RoundsOf), block(node(program.BufferDeclare))), end(g)}
		}, "a.wrapper.cpp:0: got a loop that nothing leaves"},
		{"a way out of no loop", func(g *program.Graph) {
			g.Body.Nodes = []*program.Node{with(node(program.LeaveLoop, program.Arg{Value: g.Params[0]}), block()), end(g)}
		}, "a.wrapper.cpp:0: got a way out of a loop outside of one"},
		{"code on the way out of a loop that cannot run", func(g *program.Graph) {
			gone, test, moved := value(g, "gone"), value(g, "test"), value(g, "moved")
			read := node(program.ValueRead, program.Arg{Value: g.Params[0]})
			read.Outs = []*program.Value{test}
			move := node(program.BufferMove, program.Arg{Value: gone})
			move.Outs = []*program.Value{moved}
			leave := with(node(program.LeaveLoop, program.Arg{Value: test}), block(move))
			g.Body.Nodes = []*program.Node{with(node(program.RoundsOf), block(read, leave)), end(g)}
		}, "a.wrapper.cpp:0: got gone, which names no tensor here"},
		{"a choice by a tensor", func(g *program.Graph) {
			choice := node(program.Choice, program.Arg{Value: g.Params[0]}, program.Arg{Const: int64(1)})
			g.Body.Nodes = []*program.Node{with(choice, block(), block()), end(g)}
		}, "a.wrapper.cpp:0: got Tensor to choose by, want a value"},
		{"a view of a number", func(g *program.Graph) {
			n := node(program.BufferAlias, program.Arg{Const: int64(3)})
			n.Outs = []*program.Value{value(g, "buf0")}
			g.Body.Nodes = []*program.Node{n, end(g)}
		}, "a.wrapper.cpp:0: got a number, which names no tensor here"},
		{"a view of a number that was read", func(g *program.Graph) {
			read, n := node(program.ValueRead, program.Arg{Value: g.Params[0]}), node(program.BufferView)
			read.Outs, n.Outs = []*program.Value{value(g, "u0")}, []*program.Value{value(g, "buf0")}
			n.Args = []program.Arg{{Value: read.Outs[0]}}
			g.Body.Nodes = []*program.Node{read, n, end(g)}
		}, "a.wrapper.cpp:0: got unknown, want a tensor"},
		{"a size of a dimension that is no number", func(g *program.Graph) {
			g.Body.Nodes = []*program.Node{node(program.SizeRead, program.Arg{Value: g.Params[0]}, program.Arg{Const: "0"}),
				end(g)}
		}, "a.wrapper.cpp:0: got dimension 0 of arg0_1, want one of 2"},
	} {
		_, _, err := edited(t, buffer("buf0", "{s0, 8L}", "{8L, 1L}")+"output_handles[0] = arg0_1.release();", tt.edit)
		require.Error(t, err, tt.why)
		assert.Equal(t, tt.want, strings.ReplaceAll(err.Error(), "data/aotinductor/model/", ""), tt.why)
	}
	d, err := device.Lookup("t4")
	require.NoError(t, err)
	on, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
	require.NoError(t, err)
	failing := errors.New("no graph")
	for _, tt := range []struct {
		why   string
		entry *program.Func
		want  string
	}{
		{"no entry", nil, "got a program without a graph, want one"},
		{"a graph that cannot be read", program.NewFunc(&program.Func{}, func(*program.Func) (*program.Graph, error) {
			return nil, failing
		}), "no graph"},
	} {
		_, err := exec.Run(context.Background(), aotinductor.New(&program.Program{Entry: tt.entry}), builtin.Table(),
			exec.Options{Platform: &on})
		assert.ErrorContains(t, err, tt.want, tt.why)
	}
}

// TestArguments: an operator's arguments by place and by name, lists, what is left out, and what is
// refused.
func TestArguments(t *testing.T) {
	number := func(n int64) program.Arg { return program.Arg{Const: n} }
	named := func(name string, a program.Arg) program.Arg {
		a.Name = name
		return a
	}
	for _, tt := range []struct {
		why, op string
		args    func(x program.Arg) []program.Arg
		outs    int
		want    string // what is allocated, and released with the call; or an error
	}{
		{"defaults", "aten::topk", func(x program.Arg) []program.Arg { return []program.Arg{x, number(2)} }, 2, "+32 +64"},
		{"by name", "aten::topk", func(x program.Arg) []program.Arg {
			return []program.Arg{named("k", number(2)), named("dim", number(0)), x}
		}, 2, "+64 +128"},
		{"results without a name are released", "aten::topk", func(x program.Arg) []program.Arg {
			return []program.Arg{x, number(2)}
		}, 0, "+32 +64"},
		{"one name for all results", "aten::topk", func(x program.Arg) []program.Arg {
			return []program.Arg{x, number(2)}
		}, 1, "+32 +64"},
		{"a list of tensors, which it does not release", "aten::cat", func(x program.Arg) []program.Arg {
			return []program.Arg{{Items: []program.Arg{x, x}}, number(0)}
		}, 1, "+256"},
		{"no list", "aten::new_zeros", func(x program.Arg) []program.Arg { return []program.Arg{x, {}} }, 1, "+4"},
		{"no list and its length", "aten::new_zeros", func(x program.Arg) []program.Arg {
			return []program.Arg{x, {}, number(0)}
		}, 1, "+4"},
		{"more results than there are", "aten::topk", func(x program.Arg) []program.Arg {
			return []program.Arg{x, number(2)}
		}, 3, "aten::topk: got 2 results, want 3"},
		{"a name that it has not", "aten::relu", func(x program.Arg) []program.Arg {
			return []program.Arg{x, named("dim", number(0))}
		}, 1, "got the argument dim, want one of aten::relu"},
		{"two are left out", "aten::topk", func(program.Arg) []program.Arg { return nil }, 1,
			"got no argument self of aten::topk: the package is of another PyTorch"},
		{"a list for a tensor", "aten::relu", func(x program.Arg) []program.Arg {
			return []program.Arg{{Items: []program.Arg{x}}}
		}, 1, "aten::relu: self: got a list, want Tensor"},
		{"a list in a list of tensors", "aten::cat", func(x program.Arg) []program.Arg {
			return []program.Arg{{Items: []program.Arg{{Items: []program.Arg{x}}}}}
		}, 1, "aten::cat: tensors: got a list, want Tensor"},
		{"a fraction for a whole number", "aten::topk", func(x program.Arg) []program.Arg {
			return []program.Arg{x, {Const: 1.5}}
		}, 2, "aten::topk: k: got a fraction, want a whole number"},
		{"nothing for a whole number", "aten::topk", func(x program.Arg) []program.Arg {
			return []program.Arg{x, {}}
		}, 2, "aten::topk: k: got nothing, want int"},
		{"a word for a whole number", "aten::topk", func(x program.Arg) []program.Arg {
			return []program.Arg{x, {Const: "two"}}
		}, 2, "aten::topk: got str as k, want int"},
	} {
		got, tr, err := edited(t, "output_handles[0] = arg0_1.release();", func(g *program.Graph) {
			n := &program.Node{Operation: &program.Operation{Op: tt.op, Meta: &program.NodeMeta{Key: tt.op}},
				Args: tt.args(program.Arg{Value: g.Params[0]})}
			for i := range tt.outs {
				n.Outs = append(n.Outs, &program.Value{ID: g.NumValues, Name: fmt.Sprint("buf", i)})
				g.NumValues++
			}
			g.Body.Nodes = append([]*program.Node{n}, g.Body.Nodes...)
		})
		if err != nil {
			got = strings.TrimPrefix(strings.ReplaceAll(err.Error(), "data/aotinductor/model/", ""), "a.wrapper.cpp:0: ")
		} else {
			born, died, _ := strings.Cut(got, " -")
			assert.Len(t, strings.Fields(died), len(strings.Fields(born)), tt.why)
			got = born
			assert.Empty(t, tr.Coverage.Unsupported, tt.why)
			for _, e := range tr.Events {
				assert.False(t, e.Storage == 0 && e.Action == trace.FreeRequested, "%s: the caller's tensor dies", tt.why)
			}
		}
		assert.Equal(t, tt.want, got, tt.why)
	}
}

// TestMissingWithin: an operator whose rule calls one that there is not has its results as the
// wrapper records them.
func TestMissingWithin(t *testing.T) {
	d, err := device.Lookup("t4")
	require.NoError(t, err)
	on, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
	require.NoError(t, err)
	const text = `int32_t arg0_1_expected_dtype = aoti_torch_dtype_float32();
void AOTInductorModel::run_impl(AtenTensorHandle* input_handles) {
    auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 1);
    auto arg0_1 = std::move(inputs[0]);
    if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(arg0_1, {8L}, {1L}, "input"); }
    AtenTensorHandle buf0_handle;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_relu(arg0_1, &buf0_handle));
    RAIIAtenTensorHandle buf0(buf0_handle);
    if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(buf0, {8L}, {1L}, "torch.ops.aten.relu.default", cached_torch_dtype_float32, "torch.float32"); }
    output_handles[0] = buf0.release();
}
`
	p, err := artifact.Decode(fstest.MapFS{"data/aotinductor/model/a.wrapper.cpp": {Data: []byte(text)}}, "")
	require.NoError(t, err)
	table, err := faults.New(builtin.Table())
	require.NoError(t, err)
	table.Fail(1, &ops.MissingError{Op: "test::none"})
	in := exec.Input{Value: tensor.Meta{DType: tensor.Float32, Sizes: []int64{8}, Strides: []int64{1},
		Device: exec.Accelerator}}
	r, err := exec.Run(context.Background(), aotinductor.New(p), table.Table,
		exec.Options{Inputs: []exec.Input{in}, Platform: &on})
	require.NoError(t, err)
	var got []string
	for _, u := range r.Trace.Coverage.Unsupported {
		got = append(got, u.Op)
	}
	assert.Equal(t, []string{"test::none", "aten::relu"}, got)
	assert.Equal(t, "+32", firstPass(r.Trace))
}
