package exec

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// TestFromHost: a program that names an accelerator anywhere, in a tensor of the model or of the
// caller, means what it says of devices.
func TestFromHost(t *testing.T) {
	states := func(devices ...string) (out []*program.State) {
		for _, d := range devices {
			out = append(out, &program.State{Meta: tensor.Meta{Device: d}})
		}
		return out
	}
	entry := func(devices ...string) *program.Func {
		f := &program.Func{Params: []program.Param{{}}} // a number has no device
		for _, d := range devices {
			f.Params = append(f.Params, program.Param{Meta: &program.TensorMeta{Device: d}})
		}
		return f
	}
	for _, tt := range []struct {
		why    string
		states []*program.State
		entry  *program.Func
		want   bool
	}{
		{"nothing", nil, nil, true},
		{"a model on the host, without an entry", states("cpu"), nil, true},
		{"all on the host", states("cpu", "cpu"), entry("cpu", "meta"), true},
		{"a weight on a GPU", states("cpu", "cuda:0"), entry("cpu"), false},
		{"a weight on a GPU, without an entry", states("cuda"), nil, false},
		{"the first argument on a GPU", states("cpu"), entry("cuda:0", "cpu"), false},
		{"the last argument on a GPU", states("cpu"), entry("cpu", "cuda"), false},
		{"no weights, and an argument on a GPU", nil, entry("cuda:1"), false},
	} {
		assert.Equal(t, tt.want, FromHost(&program.Program{States: tt.states, Entry: tt.entry}), tt.why)
	}
}

// TestLoadOrder: what no module holds is loaded in the order of the program's states.
func TestLoadOrder(t *testing.T) {
	m := newMachine(context.Background(), nil, Options{Platform: &platform.Platform{}})
	m.driver = described{}
	var states []*program.State
	for _, n := range []int64{3, 1, 2} {
		meta := tensor.Meta{DType: tensor.Float32, Sizes: []int64{n << 20}, Strides: []int64{1}, Device: Accelerator}
		states = append(states, &program.State{Name: "s", Meta: meta, Storage: int(n), NBytes: 4 * n << 20,
			Class: tensor.Constant})
	}
	m.Load(nil, states)
	var sizes []units.Bytes
	for _, e := range m.events {
		sizes = append(sizes, e.Bytes)
	}
	assert.Equal(t, []units.Bytes{12 << 20, 4 << 20, 8 << 20}, sizes)
}

// TestLoadTree: a module's children are loaded before it, in their order, then its parameters and
// its buffers; a module that holds itself is loaded once, and an attribute that is no module's is
// not.
func TestLoadTree(t *testing.T) {
	m := newMachine(context.Background(), nil, Options{Platform: &platform.Platform{}})
	m.driver = described{}
	state := func(name string) *program.State {
		return &program.State{Name: name, Meta: tensor.Meta{DType: tensor.Float32, Sizes: []int64{1}, Strides: []int64{1},
			Device: Accelerator}}
	}
	module := func(params, buffers, attrs []string, values ...any) *program.Object {
		c := &program.Class{Kind: program.ModuleClass, Parameters: params, Buffers: buffers}
		for _, name := range attrs {
			c.Attrs = append(c.Attrs, program.Attr{Name: name})
		}
		return &program.Object{Class: c, Attrs: values}
	}
	first := module([]string{"w"}, nil, []string{"w"}, state("first.w"))
	second := module([]string{"w"}, nil, []string{"w"}, state("second.w"))
	config := module([]string{"w"}, nil, []string{"w"}, state("config.w"))
	config.Class.Kind = program.PlainClass
	root := module([]string{"w", "v", "missing"}, []string{"b"},
		[]string{"b", "w", "v", "first", "itself", "config", "second"},
		state("b"), state("w"), state("v"), first, nil, config, second)
	root.Attrs[4] = root
	m.Load(root, nil)
	var names []string
	for _, e := range m.events {
		names = append(names, m.Sites.list[e.Site].Op)
	}
	assert.Equal(t, []string{"first.w", "second.w", "w", "v", "b"}, names)
}

// keeping is a driver that keeps values.
type keeping struct {
	Driver
	kept []any
}

func (k keeping) Kept(look func(any)) { each(k.kept, look) }

// TestTouchedOld: a container that was written counts where an argument or the driver holds it,
// however deep, and one that holds itself is looked through once.
func TestTouchedOld(t *testing.T) {
	written, other := &ops.List{}, &ops.List{}
	itself := &ops.List{}
	itself.Items = []any{itself, other}
	for _, c := range []struct {
		why           string
		touched, args []any
		kept          []any
		want          bool
	}{
		{"nothing was written", nil, []any{written}, nil, false},
		{"an argument", []any{written}, []any{other, written}, nil, true},
		{"what the pass made", []any{written}, []any{other, itself}, []any{other}, false},
		{"what the driver keeps", []any{written}, nil, []any{other, written}, true},
		{"in a list", []any{other}, []any{itself}, nil, true},
		{"in a tuple", []any{written}, []any{&ops.Tuple{Items: []any{other, written}}}, nil, true},
		{"in a dict", []any{written}, []any{&ops.Dict{Keys: []any{"k"}, Values: []any{written}}}, nil, true},
		{"a tuple holds a dict", []any{written},
			[]any{&ops.Tuple{Items: []any{&ops.Dict{Keys: []any{"k"}, Values: []any{other}}}}}, nil, false},
	} {
		m := newMachine(context.Background(), nil, Options{Platform: &platform.Platform{}})
		m.driver, m.args = keeping{kept: c.kept}, c.args
		for _, v := range c.touched {
			m.changes.touch(v)
		}
		assert.Equal(t, c.want, m.touchedOld(), c.why)
	}
}
