package exec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// TestSites: a place is that of the operator under way, until it is left; one can be entered again.
func TestSites(t *testing.T) {
	s := newSites()
	s.Begin(trace.Forward)
	assert.Equal(t, trace.SiteID(0), s.EnterAs(tensor.Gradient, "a", "m", program.Pos{File: "a.py", Line: 3}))
	assert.Equal(t, trace.SiteID(1), s.Enter("b", "", program.Pos{}))
	first := trace.Site{Op: "a", Module: "m", File: "a.py", Line: 3, Phase: trace.Forward, Category: tensor.Gradient}
	second := trace.Site{Op: "b", Phase: trace.Forward, Category: tensor.Activation}
	assert.Equal(t, []trace.Site{first, second}, s.list)
	assert.Equal(t, second, s.current())
	s.EnterAgain(0)
	assert.Equal(t, first, s.current())
	s.Leave()
	assert.Equal(t, trace.Site{}, s.current())
}

// TestOfSchema: a number that is not known has the kind that the operator's schema states of its
// one result.
func TestOfSchema(t *testing.T) {
	size := ops.Between("t::size", 0, 8)
	for text, want := range map[string]ops.Unbacked{
		"t::f(Tensor x) -> int": size, "t::f(Tensor x) -> Tensor": size, "t::f(Tensor x) -> (float, float)": size,
		"t::f.o(Tensor x) -> float": ops.NewUnbacked("t::f.o", schema.Float),
		"t::f(Tensor x) -> bool":    ops.NewUnbacked("t::f", schema.Bool),
	} {
		s, err := schema.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, ofSchema(&ops.Call{Bound: &ops.Bound{Schema: s}}, size), text)
	}
}

// births and frees are a heap's events: +0 and -0.
func birthsAndFrees(events []trace.Event) string {
	var out []string
	for _, e := range events {
		switch e.Action {
		case trace.Alloc:
			out = append(out, fmt.Sprintf("+%d=%d", e.Storage, e.Bytes))
		case trace.FreeRequested:
			out = append(out, fmt.Sprintf("-%d", e.Storage))
		default:
			out = append(out, e.Action.String())
		}
	}
	return strings.Join(out, " ")
}

// TestDropOrder: in what order a container's last holder releases its members: CPython clears lists
// and tuples from the end, C++ from the front; named results and dicts go from the front in either.
func TestDropOrder(t *testing.T) {
	for _, c := range []struct {
		why         string
		of          func(items []any) any
		cpp, python string
	}{
		{"a list", func(v []any) any { return &ops.List{Refs: 1, Items: v} }, "-0 -1 -2", "-2 -1 -0"},
		{"a tuple", func(v []any) any { return &ops.Tuple{Refs: 1, Items: v} }, "-0 -1 -2", "-2 -1 -0"},
		{"a named result", func(v []any) any { return &ops.Tuple{Refs: 1, Items: v, Struct: true} }, "-0 -1 -2",
			"-0 -1 -2"},
		{"a dict", func(v []any) any { return &ops.Dict{Refs: 1, Keys: []any{v[0], "k"}, Values: v[1:]} }, "-0 -1 -2",
			"-0 -1 -2"},
		{"a list within a tuple", func(v []any) any {
			return &ops.Tuple{Refs: 1, Items: []any{v[0], &ops.List{Refs: 1, Items: v[1:]}}}
		}, "-0 -1 -2", "-2 -1 -0"},
	} {
		for _, python := range []bool{false, true} {
			h := newHeap(newSites(), LastUse)
			want := c.cpp
			if python {
				h.PythonContainers()
				want = c.python
			}
			var items []any
			for range 3 {
				v, err := h.NewTensor(tensor.Meta{DType: tensor.Int8, Sizes: []int64{1}, Strides: []int64{1},
					Device: Accelerator}, tensor.Activation)
				require.NoError(t, err)
				items = append(items, v)
			}
			of := c.of(items)
			h.Hold(of)
			h.Drop(of)
			assert.Equal(t, "+0=1 +1=1 +2=1", birthsAndFrees(h.Events()), "%s has another holder", c.why)
			h.Drop(of)
			assert.Equal(t, want, birthsAndFrees(h.Events()[3:]), "%s, python %v", c.why, python)
		}
	}
	h := newHeap(newSites(), PythonFrame)
	outside := h.TensorOn(&tensor.Storage{ID: -1, Device: Accelerator}, tensor.Meta{})
	h.Hold(outside)
	h.Drop(outside)
	assert.Empty(t, h.Events(), "a storage that the run did not make")
}

// quiet is a driver that keeps nothing.
type quiet struct{ Driver }

func (quiet) Kept(func(any)) {}

// TestRepeatMakes: what a pass that is repeated adds: its events on new storages, without what it
// alone takes and without the emptied cache; its estimates, sources, nodes and steps. It is run
// where it left something for the next one to find, or where its bounds end.
func TestRepeatMakes(t *testing.T) {
	list := &ops.List{}
	for _, c := range []struct {
		why    string
		change func(m *Machine)
		want   bool
	}{
		{"as it is", func(*Machine) {}, true},
		{"as many steps as may be", func(m *Machine) { m.o.MaxSteps = 7 }, true},
		{"one less", func(m *Machine) { m.o.MaxSteps = 6 }, false},
		{"as many storages as may be", func(m *Machine) { m.o.maxStorages = 7 }, true},
		{"one storage less", func(m *Machine) { m.o.maxStorages = 6 }, false},
		{"every pass is to be run", func(m *Machine) { m.o.RunEveryPass() }, false},
		{"something changed", func(m *Machine) { m.Alter() }, false},
		{"a branch was met", func(m *Machine) { m.sides.met++ }, false},
		{"a loop that may not end", func(m *Machine) { m.unsettled++ }, false},
		{"what is unknown", func(m *Machine) { m.Unsupported("t::f", trace.NoRule) }, false},
		{"a size at its bound", func(m *Machine) { m.bounded = true }, false},
		{"a list that is no argument is written", func(m *Machine) { m.Touch(&ops.List{}) }, true},
		{"an argument", func(m *Machine) { m.Touch(list) }, false},
		{"what was there before is freed", func(m *Machine) { m.release(0) }, false},
	} {
		m := newMachine(context.Background(), nil, Options{Platform: &platform.Platform{}, MaxSteps: 99, maxStorages: 99})
		m.driver, m.args = quiet{}, []any{&ops.Tuple{Items: []any{int64(1), list}}}
		storage := func(bytes units.Bytes) tensor.StorageID {
			return m.NewStorage(bytes, Accelerator, tensor.Activation).ID
		}
		storage(4)
		m.steps, m.Sites.pass = 1, 1
		m.changes.start(1)
		from := m.mark()
		a, once, b := storage(8), storage(16), storage(32)
		m.steps += 3
		m.coverage.Nodes, m.coverage.TensorOutputs, m.coverage.KnownDType, m.coverage.Sized = 2, 3, 4, 5
		m.changes.once = []tensor.StorageID{once}
		m.upper = []trace.Estimate{{Storage: once, Bytes: 20}, {Storage: b, Bytes: 40}}
		m.sources = []trace.Source{{Storage: a, Text: "a"}, {Storage: once, Text: "once"}}
		m.emptyCache()
		m.release(a)
		c.change(m)
		to := m.mark()
		m.Sites.pass = 2
		m.release(b)
		n, steps := len(m.events), m.steps
		require.Equal(t, c.want, m.repeat(from, to), c.why)
		if !c.want {
			assert.Len(t, m.events, n, c.why)
			assert.Equal(t, steps, m.steps, c.why)
			continue
		}
		assert.Equal(t, "+0=4 +1=8 +2=16 +3=32 empty_cache -1 -3 +4=8 +5=32 -4", birthsAndFrees(m.events), c.why)
		for i, e := range m.events[n:] {
			assert.Equal(t, 2, e.Pass, i)
		}
		assert.Equal(t, []trace.Estimate{{Storage: 2, Bytes: 20}, {Storage: 3, Bytes: 40}, {Storage: 5, Bytes: 40}},
			m.upper)
		assert.Equal(t, []trace.Source{{Storage: 1, Text: "a"}, {Storage: 2, Text: "once"}, {Storage: 4, Text: "a"}},
			m.sources)
		assert.Equal(t, trace.Coverage{Nodes: 4, TensorOutputs: 6, KnownDType: 8, Sized: 10}, m.coverage)
		assert.Equal(t, []int64{7, 52, 60}, []int64{int64(m.steps), int64(m.bytes), int64(m.peak)})
	}
}
