package torchscript

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// started is the interpreter of a program that gives back its input, as its run left it.
func started(t *testing.T, l exec.Liveness) *interp {
	t.Helper()
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	a, err := artifact.Decode(fstest.MapFS{"version": file("3\n"), "constants.pkl": file("\x80\x02)."),
		"data.pkl": file("\x80\x02c__torch__\nM\n)\x81}(ub."),
		"code/__torch__.py": file(
			"class M(Module):\n  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n    return x\n")})
	require.NoError(t, err)
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	x := tensor.Meta{DType: tensor.Float32, Sizes: []int64{2}, Strides: []int64{1}, Device: exec.Accelerator}
	var m *interp
	_, err = exec.Run(context.Background(), func(on *exec.Machine) (exec.Driver, error) {
		driver, err := New(a.Program)(on)
		m, _ = driver.(*interp)
		return driver, err
	}, builtin.Table(), exec.Options{Inputs: []exec.Input{{Value: x}}, Platform: &none, Liveness: l})
	require.NoError(t, err)
	return m
}

// TestIdentity: what the interpreter answers itself, and what it leaves to the rules.
func TestIdentity(t *testing.T) {
	const left = "left to the rules"
	unknown := ops.NewUnbacked("t::n", schema.Int)
	list := ops.NewList(schema.Int, int64(1))
	tuple := func() *ops.Tuple { return &ops.Tuple{Refs: 1, Items: []any{int64(5), int64(6)}} }
	x := &tensor.Tensor{Storage: &tensor.Storage{ID: -1}}
	enum := []program.Arg{{}, {Const: program.EnumLit{}}}
	eager, inlined := started(t, exec.PythonFrame), started(t, exec.LastUse)
	for _, tt := range []struct {
		why, op        string
		args           []any
		node           []program.Arg // as the code has the arguments, nil where it does not matter
		flags          program.NodeFlags
		eager, inlined any
	}{
		{why: "a member", op: "prim::TupleIndex", args: []any{tuple(), int64(1)}, eager: int64(6), inlined: int64(6)},
		{why: "the first", op: "aten::__getitem__", args: []any{tuple(), int64(0)}, eager: int64(5), inlined: int64(5)},
		{why: "the first, from the end", op: "aten::__getitem__", args: []any{tuple(), int64(-2)}, eager: int64(5),
			inlined: int64(5)},
		{why: "before the first", op: "aten::__getitem__", args: []any{tuple(), int64(-3)},
			eager: "got index -3 into a tuple of 2", inlined: "got index -3 into a tuple of 2"},
		{why: "behind the last", op: "aten::__getitem__", args: []any{tuple(), int64(2)},
			eager: "got index 2 into a tuple of 2", inlined: "got index 2 into a tuple of 2"},
		{why: "of what is not known", op: "aten::__getitem__", args: []any{unknown, int64(0)}, eager: unknown,
			inlined: unknown},
		{why: "at what is not known", op: "aten::__getitem__", args: []any{tuple(), unknown}, eager: left, inlined: left},
		{why: "of a list", op: "aten::__getitem__", args: []any{list, int64(0)}, eager: left, inlined: left},
		{why: "of three arguments", op: "aten::__getitem__", args: []any{unknown, int64(0), int64(0)}, eager: left,
			inlined: left},
		{why: "is", op: "aten::__is__", args: []any{x, x}, eager: true, inlined: true},
		{why: "is not", op: "aten::__isnot__", args: []any{x, x}, eager: false, inlined: false},
		{why: "is None", op: "aten::__is__", args: []any{x, nil}, eager: false, inlined: false},
		{why: "what is not known is not None", op: "aten::__is__", args: []any{unknown, nil}, eager: false, inlined: false},
		{why: "nor is None it", op: "aten::__isnot__", args: []any{nil, unknown}, eager: true, inlined: true},
		{why: "it may be anything else", op: "aten::__is__", args: []any{unknown, x}, eager: unknown, inlined: unknown},
		{why: "and anything else may be it", op: "aten::__isnot__", args: []any{x, unknown}, eager: unknown,
			inlined: unknown},
		{why: "of one argument", op: "aten::__is__", args: []any{x}, eager: left, inlined: left},
		{why: "a member of an enumeration as the code writes it is an object of its own in TorchScript", op: "aten::__is__",
			args: []any{Enum{Name: "a"}, Enum{Name: "a"}}, node: enum, eager: true, inlined: false},
		{why: "another member is another in either", op: "aten::__isnot__", args: []any{Enum{Name: "a"}, Enum{Name: "b"}},
			node: enum, eager: true, inlined: true},
		{why: "a negation that scripting wrote is part of the next operator in eager execution", op: "aten::neg",
			args: []any{int64(3)}, flags: program.Builtin, eager: int64(3), inlined: left},
		{why: "the program's own is an operator", op: "aten::neg", args: []any{int64(3)}, eager: left, inlined: left},
		{why: "a future has its value", op: "aten::wait", args: []any{int64(4)}, eager: int64(4), inlined: int64(4)},
		{why: "text of what is not known", op: "aten::format", args: []any{"{}", unknown}, eager: "", inlined: ""},
		{why: "text of what is", op: "aten::format", args: []any{"{}", int64(1)}, eager: left, inlined: left},
		{why: "a print of what is not known", op: "prim::Print", args: []any{unknown}, eager: "", inlined: ""},
		{why: "another operator", op: "aten::add", args: []any{unknown, unknown}, eager: left, inlined: left},
	} {
		for _, run := range []struct {
			m    *interp
			want any
		}{{eager, tt.eager}, {inlined, tt.inlined}} {
			n := &program.Node{Operation: &program.Operation{Op: tt.op, Flags: tt.flags}, Args: tt.node}
			if n.Args == nil {
				n.Args = make([]program.Arg, len(tt.args))
			}
			got, done, err := run.m.onIdentity(n, tt.args)
			if err != nil {
				got = err.Error()
			}
			if !done {
				assert.Nil(t, got, tt.why)
				got = left
			}
			assert.Equal(t, run.want, got, "%s, eager %v", tt.why, run.m.eager)
		}
	}
}

// TestListElem: the type of a list's members is the one that is annotated, then the one it is
// declared with, then that of the first.
func TestListElem(t *testing.T) {
	of := func(k program.TypeKind) *program.Type {
		return &program.Type{Kind: program.ListType, Elems: []*program.Type{{Kind: k}}}
	}
	for _, tt := range []struct {
		why      string
		types    []*program.Type
		declared *program.Type
		items    []any
		want     schema.Kind
	}{
		{"annotated", []*program.Type{of(program.IntType)}, of(program.TensorType), []any{1.5}, schema.Int},
		{"annotated as something else than a list", []*program.Type{{Kind: program.IntType}}, of(program.TensorType),
			[]any{1.5}, schema.Tensor},
		{"declared", nil, of(program.StrType), []any{1.5}, schema.Str},
		{"declared as something else", nil, &program.Type{Kind: program.AnyType}, []any{1.5}, schema.Float},
		{"ints", nil, nil, []any{int64(1), 1.5}, schema.Int},
		{"bools", nil, nil, []any{true}, schema.Bool},
		{"text", nil, nil, []any{"a"}, schema.Str},
		{"tensors", nil, nil, []any{&tensor.Tensor{}}, schema.Tensor},
		{"lists", nil, nil, []any{&ops.List{}}, schema.Any},
		{"nothing", nil, nil, nil, schema.Any},
	} {
		n := &program.Node{Operation: &program.Operation{Op: "prim::ListConstruct", Types: tt.types},
			Outs: []*program.Value{{Type: tt.declared}}}
		assert.Equal(t, tt.want, listElem(n, &ops.List{Items: tt.items}), tt.why)
	}
}

// TestByValue: optional arguments and lists are moved into an operator's call, tensors are only
// referred to, and what the operator has not is neither.
func TestByValue(t *testing.T) {
	m := started(t, exec.LastUse)
	got := ""
	for _, key := range []string{"aten::cat", "aten::clamp.Tensor", "aten::linear"} {
		b, ok := m.Table().Lookup(key)
		require.True(t, ok, key)
		for i := range len(b.Schema.Args) + 1 {
			got += fmt.Sprintf("%s %d %v\n", key, i, byValue(b, &program.Arg{}, i))
		}
		for _, name := range []string{"tensors", "max", "weight", "bias", "none"} {
			got += fmt.Sprintf("%s %s %v\n", key, name, byValue(b, &program.Arg{Name: name}, 0))
		}
	}
	assert.Equal(t, `aten::cat 0 true
aten::cat 1 false
aten::cat 2 false
aten::cat tensors true
aten::cat max false
aten::cat weight false
aten::cat bias false
aten::cat none false
aten::clamp.Tensor 0 false
aten::clamp.Tensor 1 true
aten::clamp.Tensor 2 true
aten::clamp.Tensor 3 false
aten::clamp.Tensor tensors false
aten::clamp.Tensor max true
aten::clamp.Tensor weight false
aten::clamp.Tensor bias false
aten::clamp.Tensor none false
aten::linear 0 false
aten::linear 1 false
aten::linear 2 true
aten::linear 3 false
aten::linear tensors false
aten::linear max false
aten::linear weight false
aten::linear bias true
aten::linear none false
`, got)
}

// TestRemap: a device that tracing wrote into an archive is the run's, except one without memory; a
// script names what its author named.
func TestRemap(t *testing.T) {
	for _, tt := range []struct {
		named, traced, scripted ops.Device
		notes                   int
	}{
		{"cpu", exec.Accelerator, "cpu", 1}, {"xpu:1", exec.Accelerator, "xpu:1", 1}, {"meta", "meta", "meta", 0},
		{"cuda", exec.Accelerator, exec.Accelerator, 0}, {"cuda:1", exec.Accelerator, exec.Accelerator, 0},
	} {
		m := started(t, exec.LastUse)
		m.fromHost = false
		assert.Equal(t, tt.scripted, m.remap(tt.named), tt.named)
		before := len(m.Trace().Notes)
		m.fromHost = true
		assert.Equal(t, tt.traced, m.remap(tt.named), tt.named)
		assert.Len(t, m.Trace().Notes, before+tt.notes, tt.named)
	}
}

// TestAttribute: an object has what the archive fills in, else its class's constant; what is None
// there is None where the class has no constant.
func TestAttribute(t *testing.T) {
	class := &program.Class{Name: "C",
		Attrs: []program.Attr{{Name: "stated"}, {Name: "both", HasDef: true, Default: int64(1)},
			{Name: "default", HasDef: true, Default: int64(2)}, {Name: "none"},
			{Name: "beyond", HasDef: true, Default: int64(3)}, {Name: "lacking"}}}
	lit := &program.Object{Class: class, Attrs: []any{int64(5), int64(6), nil, nil}}
	made := &Object{Class: class, attrs: make([]any, 6), filled: make([]bool, 6)}
	const lacks = "lacks"
	for name, want := range map[string][2]any{"stated": {int64(5), lacks}, "both": {int64(6), int64(1)},
		"default": {int64(2), int64(2)}, "none": {nil, lacks}, "beyond": {int64(3), int64(3)}, "lacking": {lacks, lacks},
		"other": {lacks, lacks}} {
		m := started(t, exec.PythonFrame)
		for i, o := range []*Object{m.object(lit), made} {
			got, ok := m.getAttr(o, name)
			if !ok {
				assert.Nil(t, got)
				got = lacks
			}
			assert.Equal(t, want[i], got, "%s of the archive's, of the program's: %d", name, i)
		}
	}
}

// TestGivesNumber: which nodes on constants may be computed ahead where only numbers are.
func TestGivesNumber(t *testing.T) {
	m := started(t, exec.LastUse)
	one := program.Arg{Const: int64(1)}
	for _, tt := range []struct {
		op   string
		args []program.Arg
		want bool
	}{
		{"aten::add", []program.Arg{one, one}, true},
		{"aten::add", []program.Arg{one, {Name: "other", Const: int64(1)}}, false},
		{"aten::__is__", []program.Arg{one, {}}, true},
		{"aten::__isnot__", []program.Arg{one, {}}, true},
		{"test::none", []program.Arg{one}, false},
		{"aten::ones",
			[]program.Arg{{Const: &program.ListLit{Items: []any{int64(2)}, Elem: &program.Type{Kind: program.IntType}}}}, false},
	} {
		n := &program.Node{Operation: &program.Operation{Op: tt.op}, Args: tt.args}
		assert.Equal(t, tt.want, m.givesNumber(n), "%s of %d", tt.op, len(tt.args))
	}
}

// TestNoProgram: what has no method to run, or none that can be read, is an error.
func TestNoProgram(t *testing.T) {
	failing := errors.New("no graph")
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	for _, tt := range []struct {
		why   string
		entry *program.Func
		want  string
	}{
		{"no entry", nil, "got a program without a forward method, want one"},
		{"a graph that cannot be read", program.NewFunc(&program.Func{}, func(*program.Func) (*program.Graph, error) {
			return nil, failing
		}), "no graph"},
	} {
		for _, l := range []exec.Liveness{exec.LastUse, exec.PythonFrame} {
			_, err := exec.Run(context.Background(), New(&program.Program{Entry: tt.entry}), builtin.Table(),
				exec.Options{Platform: &none, Liveness: l})
			assert.ErrorContains(t, err, tt.want, tt.why)
		}
	}
}

// TestLiteral: what an archive has of a class of C++ is packed, and has its state.
func TestLiteral(t *testing.T) {
	m := started(t, exec.LastUse)
	assert.Equal(t, &ops.Packed{Class: "C", State: int64(3)}, m.literal(&program.Opaque{Class: "C", State: int64(3)}))
}

// TestContainersCount: what a program makes of lists, tuples and dicts ends a run that makes too
// much.
func TestContainersCount(t *testing.T) {
	for _, op := range []string{"prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct"} {
		m := started(t, exec.LastUse)
		in := &inst{node: &program.Node{Operation: &program.Operation{Op: op}}}
		_, err := m.eval(nil, in)
		require.NoError(t, err, op)
		require.Error(t, m.MakeItems(1<<25))
		_, err = m.eval(nil, in)
		assert.ErrorContains(t, err, "bytes of strings, lists, tuples and dicts", op)
	}
}
