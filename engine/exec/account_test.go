package exec_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// none is the device without libraries.
func none(t *testing.T) *platform.Platform {
	t.Helper()
	d, err := device.Lookup("none")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	return &p
}

// scripted is a driver whose parts are functions; those that are nil do nothing.
type scripted struct {
	m       *exec.Machine
	params  []program.Param
	load    func(m *exec.Machine)
	prepare func(m *exec.Machine) error
	forward func(m *exec.Machine, args []any) (any, error)
	kept    []any
	passes  *int
}

func (s scripted) Params() []program.Param { return s.params }
func (s scripted) Literal(v any) any       { return v }
func (s scripted) Describe(*exec.State)    {}
func (s scripted) Load() {
	if s.load != nil {
		s.load(s.m)
	}
}
func (s scripted) Prepare() error {
	if s.prepare == nil {
		return nil
	}
	return s.prepare(s.m)
}
func (s scripted) Kept(show func(any)) {
	for _, v := range s.kept {
		show(v)
	}
}
func (s scripted) Forward(args []any) (any, error) {
	if s.passes != nil {
		*s.passes++
	}
	if s.forward == nil {
		return nil, nil
	}
	return s.forward(s.m, args)
}

// start makes the driver's Start.
func (s scripted) start() exec.Start {
	return func(m *exec.Machine) (exec.Driver, error) {
		s.m = m
		return s, nil
	}
}

func fresh(t *testing.T, m *exec.Machine, n int64) *tensor.Tensor {
	t.Helper()
	v, err := m.NewTensor(meta(n), tensor.Activation)
	require.NoError(t, err)
	return v
}

// events are all of a trace, each with its pass and the place that it came from.
func events(tr *trace.Trace) string {
	var out strings.Builder
	for _, e := range tr.Events {
		s := tr.Site(e.Site)
		sign := "+"
		if e.Action == trace.FreeRequested {
			sign = "-"
		}
		fmt.Fprintf(&out, "%d %s%d=%d %s %s", e.Pass, sign, e.Storage, e.Bytes, s.Phase, s.Category)
		for _, word := range []string{s.Op, s.Module} {
			if word != "" {
				out.WriteString(" " + word)
			}
		}
		if s.File != "" {
			fmt.Fprintf(&out, " %s:%d", s.File, s.Line)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// TestAccount: the whole account of a run: the model's tensors, the inputs, what is prepared, two
// passes; a pass's result goes before the next.
func TestAccount(t *testing.T) {
	of := func(name string, n int64, c tensor.Category) *program.State {
		return &program.State{Name: name, Meta: meta(n), Class: c}
	}
	weight, buffer := of("weight", 2, tensor.Parameter), of("sub.mean", 3, tensor.Buffer)
	class := func(kind program.ClassKind, parameters, buffers []string, attrs ...string) *program.Class {
		c := &program.Class{Kind: kind, Parameters: parameters, Buffers: buffers}
		for _, a := range attrs {
			c.Attrs = append(c.Attrs, program.Attr{Name: a})
		}
		return c
	}
	sub := &program.Object{Class: class(program.ModuleClass, nil, []string{"mean"}, "mean"), Attrs: []any{buffer}}
	plain := &program.Object{Class: class(program.PlainClass, []string{"bias"}, nil, "bias"),
		Attrs: []any{of("plain.bias", 4, tensor.Parameter)}}
	bias, running := of("bias", 5, tensor.Parameter), of("running", 6, tensor.Buffer)
	root := &program.Object{Class: class(program.ModuleClass, []string{"weight", "absent", "bias", "unfilled", "text"},
		[]string{"running"}, "plain", "running", "weight", "sub", "bias", "again", "bare", "text", "unfilled"),
		Attrs: []any{plain, running, weight, sub, bias, sub, &program.Object{}, "text"}}
	s := scripted{
		params: []program.Param{{Name: "x", Type: &program.Type{Kind: program.TensorType}},
			{Name: "k", Default: int64(5), HasDef: true}},
		load: func(m *exec.Machine) {
			m.Load(root, []*program.State{weight, of("CONSTANTS.c0", 7, tensor.Constant)})
		},
		prepare: func(m *exec.Machine) error {
			m.Sites.Enter("prepared", "", program.Pos{})
			fresh(t, m, 8)
			m.Sites.Leave()
			return nil
		},
		forward: func(m *exec.Machine, args []any) (any, error) {
			require.Len(t, args, 2)
			require.Equal(t, int64(5), args[1])
			m.Sites.Enter("t::f", "layer", program.Pos{File: "net.py", Line: 3})
			a := fresh(t, m, 9)
			m.Sites.Enter("t::g", "", program.Pos{File: "net.py", Line: 4})
			b := fresh(t, m, 10)
			m.Drop(a)
			return b, nil
		},
	}
	r, err := exec.Run(context.Background(), s.start(), builtin.Table(),
		exec.Options{Platform: none(t), DType: tensor.Undefined, Inputs: []exec.Input{{Value: meta(1)}}})
	require.NoError(t, err)
	require.Equal(t, `0 +0=12 load buffer sub.mean sub
0 +1=8 load parameter weight
0 +2=20 load parameter bias
0 +3=24 load buffer running
0 +4=28 load constant CONSTANTS.c0 CONSTANTS
0 +5=4 load input input x
1 +6=32 forward activation prepared
1 +7=36 forward activation t::f layer net.py:3
1 +8=40 forward activation t::g net.py:4
1 -7=36 forward activation t::f layer net.py:3
2 -8=40 forward activation t::g net.py:4
2 +9=36 forward activation t::f layer net.py:3
2 +10=40 forward activation t::g net.py:4
2 -9=36 forward activation t::f layer net.py:3
`, events(r.Trace))
	require.Equal(t, trace.FirstAndSteady(), r.Trace.Passes)
	require.Equal(t, "exec", r.Trace.Origin)

	r, err = exec.Run(context.Background(), s.start(), builtin.Table(),
		exec.Options{Platform: none(t), DType: tensor.Undefined, Inputs: []exec.Input{{Value: meta(1)}},
			Passes: []trace.Pass{{Name: "only"}}})
	require.NoError(t, err)
	require.Equal(t, []trace.Pass{{Name: "only"}}, r.Trace.Passes)
	require.Equal(t, 1, r.Trace.Events[len(r.Trace.Events)-1].Pass)

	failed := errors.New("got nothing, want something")
	_, err = exec.Run(context.Background(), func(*exec.Machine) (exec.Driver, error) {
		return nil, failed
	}, builtin.Table(), exec.Options{Platform: none(t)})
	require.ErrorIs(t, err, failed, "no driver")
	_, err = exec.Run(context.Background(), scripted{prepare: func(*exec.Machine) error { return failed }}.start(),
		builtin.Table(), exec.Options{Platform: none(t)})
	require.ErrorIs(t, err, failed, "not prepared")
}

// TestStatesLoaded: how a tensor of the model comes to the device, by what it is and where it was.
func TestStatesLoaded(t *testing.T) {
	number := tensor.Meta{DType: tensor.Int64, Device: "cpu"}
	on := func(m tensor.Meta, device string) tensor.Meta { m.Device = device; return m }
	quantized := meta(4)
	quantized.DType = tensor.QInt8
	ints := meta(4)
	ints.DType = tensor.Int32
	sparse := tensor.Meta{DType: tensor.Float32, Sizes: []int64{2, 3}, Strides: []int64{6, 2}, StorageOffset: 5,
		Device: "cpu"}
	dense := tensor.Meta{DType: tensor.Float32, Sizes: []int64{2, 3}, Strides: []int64{1, 2}, StorageOffset: 5,
		Device: "cpu"}
	for _, c := range []struct {
		why   string
		state program.State
		o     exec.Options
		card  bool
		want  string
	}{
		{"a parameter moves", program.State{Meta: on(meta(4), "cpu"), Class: tensor.Parameter}, exec.Options{}, false,
			"float32[4] [1] 0 on cuda: 16"},
		{"a packed one stays on the host", program.State{Meta: on(meta(4), "cpu"), Class: tensor.Parameter, Packed: true},
			exec.Options{}, false, "float32[4] [1] 0 on cpu: 16"},
		{"a quantized one too", program.State{Meta: quantized, Class: tensor.Parameter}, exec.Options{}, false,
			"qint8[4] [1] 0 on cpu: 4"},
		{"one with gaps between its elements has none then", program.State{Meta: sparse, Class: tensor.Buffer},
			exec.Options{}, false, "float32[2 3] [3 1] 0 on cuda: 24"},
		{"one without keeps its strides", program.State{Meta: dense, Class: tensor.Buffer}, exec.Options{}, false,
			"float32[2 3] [1 2] 0 on cuda: 24"},
		{"converted with the model", program.State{Meta: meta(4), Class: tensor.Parameter},
			exec.Options{DType: tensor.Float16}, false, "float16[4] [1] 0 on cuda: 8"},
		{"what has no floating type is not", program.State{Meta: ints, Class: tensor.Parameter},
			exec.Options{DType: tensor.Float16}, false, "int32[4] [1] 0 on cuda: 16"},
		{"nor is a constant", program.State{Meta: meta(4), Class: tensor.Constant}, exec.Options{DType: tensor.Float16},
			false, "float32[4] [1] 0 on cuda: 16"},
		{"a constant on the host stays there in eager execution",
			program.State{Meta: on(meta(4), "cpu"), Class: tensor.Constant}, exec.Options{Liveness: exec.PythonFrame}, false,
			"float32[4] [1] 0 on cpu: 16"},
		{"an archive's moves as it is loaded", program.State{Meta: on(meta(4), "cpu"), Class: tensor.Constant},
			exec.Options{}, false, "float32[4] [1] 0 on cuda: 16"},
		{"the code's own is where the code runs", program.State{Meta: on(meta(4), "cpu"), Class: tensor.Constant,
			OfCode: true}, exec.Options{Liveness: exec.PythonFrame}, false, "float32[4] [1] 0 on cuda: 16"},
		{"one on the device is there", program.State{Meta: on(meta(4), "cuda:0"), Class: tensor.Constant},
			exec.Options{Liveness: exec.PythonFrame}, false, "float32[4] [1] 0 on cuda: 16"},
		{"a buffer moves in eager execution", program.State{Meta: on(meta(4), "cpu"), Class: tensor.Buffer},
			exec.Options{Liveness: exec.PythonFrame}, false, "float32[4] [1] 0 on cuda: 16"},
		{"a number is Python's", program.State{Meta: on(number, "cuda"), Class: tensor.Constant, OfCode: true},
			exec.Options{Liveness: exec.PythonFrame}, true, "int64[] [] 0 on cpu: 8"},
		{"in TorchScript's runtime it goes where the archive goes", program.State{Meta: number, Class: tensor.Constant},
			exec.Options{}, true, "int64[] [] 0 on cuda: 8"},
		{"but for runs that are compared with the host's", program.State{Meta: on(number, "cuda"), Class: tensor.Constant},
			exec.Options{}, false, "int64[] [] 0 on cpu: 8"},
		{"a buffer without dimensions is no number", program.State{Meta: number, Class: tensor.Buffer}, exec.Options{}, false,
			"int64[] [] 0 on cuda: 8"},
	} {
		c.o.Platform = none(t)
		if c.o.DType == 0 {
			c.o.DType = tensor.Undefined
		}
		if c.card {
			c.o.Platform = newToy(t, "a10g", exec.Options{}).Platform()
		}
		data := &tensor.Data{}
		c.state.Data = data
		_, err := exec.Run(context.Background(), scripted{load: func(m *exec.Machine) {
			m.Load(nil, nil)
			v := m.State(&c.state)
			require.Same(t, v, m.State(&c.state), "%s: once", c.why)
			require.Same(t, data, v.Data)
			require.Equal(t, c.want, fmt.Sprintf("%s%v %v %d on %s: %d", v.DType, v.Sizes, v.Strides, v.StorageOffset, v.Device,
				v.Storage.NBytes), c.why)
			tied := &program.State{Meta: meta(9), Class: tensor.Parameter}
			m.Tie(tied, &c.state)
			require.Same(t, v, m.State(tied))
			require.Equal(t, c.state.Class, v.Storage.Category)
		}}.start(), builtin.Table(), c.o)
		require.NoError(t, err, c.why)
	}
}

// TestInputValues: what forward is given for each kind of input, and which are refused.
func TestInputValues(t *testing.T) {
	num := &program.Type{Kind: program.IntType}
	opt := &program.Type{Kind: program.OptionalType, Elems: []*program.Type{num}}
	none_ := &program.Type{Kind: program.NoneType}
	host := meta(2)
	host.Device = "cpu"
	unplaced := meta(2)
	unplaced.Device = ""
	for _, c := range []struct {
		why    string
		params []program.Param
		inputs []exec.Input
		want   string
	}{
		{"tensors, where they say or on the accelerator", []program.Param{{Name: "a"}, {Name: "b"}},
			[]exec.Input{{Value: host}, {Value: unplaced}}, "t0 t1 | +1=8"},
		{"numbers, text and nothing", []program.Param{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}},
			[]exec.Input{{Value: nil}, {Value: true}, {Value: int64(3)}, {Value: 1.5}, {Value: "x"}}, "None true 3 1.5 x |"},
		{"a list, in its order", []program.Param{{Name: "a"}},
			[]exec.Input{{Value: []exec.Input{{Value: meta(1)}, {Value: int64(2)}, {Value: meta(3)}}}},
			"[t0 2 t1] | +0=4 +1=12"},
		{"a tuple", []program.Param{{Name: "a"}}, []exec.Input{{Value: exec.Tuple{{Value: meta(1)}, {Value: int64(2)}}}},
			"(t0 2) | +0=4"},
		{"a dict", []program.Param{{Name: "a"}},
			[]exec.Input{{Value: exec.Dict{{Name: "k", Value: meta(1)}, {Name: "l", Value: int64(2)}}}}, "{k:t0 l:2} | +0=4"},
		{"by name, in any order", []program.Param{{Name: "a"}, {Name: "b"}}, []exec.Input{{Name: "b", Value: meta(1)},
			{Name: "a", Value: meta(2)}}, "t1 t0 | +0=4 +1=8"},
		{"what has a default may be left out, and what may be None",
			[]program.Param{{Name: "a", HasDef: true, Default: int64(4)}, {Name: "b", Type: opt}, {Name: "c", Type: none_}}, nil,
			"4 None None |"},
		{"what is given is not the default", []program.Param{{Name: "a", HasDef: true, Default: int64(4)},
			{Name: "b", Type: opt}}, []exec.Input{{Value: int64(6)}, {Value: int64(7)}}, "6 7 |"},
		{"all that is missing is reported, in order", []program.Param{{Name: "a", Type: num}, {Name: "b", HasDef: true},
			{Name: "c"}, {Name: "d", Type: num}}, []exec.Input{{Name: "d", Value: int64(1)}},
			"error: got no input a, c, want one each of: a int, b ?, c ?, d int; a c"},
		{"one too many", []program.Param{{Name: "a"}}, []exec.Input{{Value: int64(1)}, {Value: int64(2)}},
			"error: got 2 inputs, want 1: a ?;"},
		{"of a model without any", nil, []exec.Input{{Value: int64(1)}}, "error: got 1 inputs, want 0: none;"},
		{"a name that is none", []program.Param{{Name: "a"}}, []exec.Input{{Name: "z", Value: int64(1)}},
			"error: got input z, want one of a ?;"},
		{"twice", []program.Param{{Name: "a"}, {Name: "b"}}, []exec.Input{{Value: int64(1)}, {Name: "a", Value: int64(1)}},
			"error: got input a twice, want it once;"},
		{"of another type", []program.Param{{Name: "a", Type: num}}, []exec.Input{{Value: "x"}},
			"error: input a: got str, want int;"},
		{"sizes for a tensor", []program.Param{{Name: "a", Type: &program.Type{Kind: program.TensorType}}},
			[]exec.Input{{Value: []exec.Input{{Value: int64(2)}, {Value: int64(3)}}}},
			"error: input a: got int[], want Tensor, such as float32[2,3];"},
		{"a tensor that cannot be", []program.Param{{Name: "a"}}, []exec.Input{{Value: broken()}},
			"error: input a: got strides of another length than sizes;"},
		{"one in a list", []program.Param{{Name: "a"}}, []exec.Input{{Value: []exec.Input{{Value: broken()}}}},
			"error: input a: got strides of another length than sizes;"},
		{"in a tuple", []program.Param{{Name: "a"}}, []exec.Input{{Value: exec.Tuple{{Value: broken()}}}},
			"error: input a: got strides of another length than sizes;"},
		{"in a dict", []program.Param{{Name: "a"}}, []exec.Input{{Value: exec.Dict{{Name: "k", Value: broken()}}}},
			"error: input a: got strides of another length than sizes;"},
		{"what no input can be", []program.Param{{Name: "a"}}, []exec.Input{{Value: 7}},
			"error: input a: internal error: got input of Go type int;"},
	} {
		got := ""
		r,
			err := exec.Run(context.Background(),
			scripted{params: c.params, forward: func(m *exec.Machine, args []any) (any, error) {
				var out []string
				for _, v := range args {
					if d, ok := v.(*ops.Dict); ok {
						text := make([]string, len(d.Keys))
						for i := range text {
							text[i] = fmt.Sprint(d.Keys[i]) + ":" + shown(d.Values[i])
						}
						out = append(out, "{"+strings.Join(text, " ")+"}")
						continue
					}
					out = append(out, shown(v))
				}
				got = strings.Join(append(out, "|"), " ")
				for _, v := range args { // a caller who releases has the last hold but one, of a container too
					m.Drop(v)
				}
				require.NotContains(t, passEvents(m.Trace(), 1), "-", c.why)
				for _, v := range args {
					m.Drop(v)
				}
				require.Equal(t, strings.Count(passEvents(m.Trace(), 0), "+"), strings.Count(passEvents(m.Trace(), 1), "-"),
					"%s: without the last hold all are freed", c.why)
				return nil, nil
			}}.start(), builtin.Table(), exec.Options{Platform: none(t), Inputs: c.inputs, Passes: []trace.Pass{{}}})
		var input *exec.InputError
		if errors.As(err, &input) {
			require.Equal(t, c.want, strings.TrimSpace("error: "+err.Error()+"; "+strings.Join(input.Missing, " ")), c.why)
			continue
		}
		require.NoError(t, err, c.why)
		for _, e := range r.Trace.Events {
			if e.Action == trace.Alloc {
				got += fmt.Sprintf(" +%d=%d", e.Storage, e.Bytes)
			}
		}
		require.Equal(t, c.want, got, c.why)
	}
}
