package exec

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// TestStateFirst: a thing is new once, and each has a separate number; which one it is is written
// every time.
func TestStateFirst(t *testing.T) {
	s := &State{seen: map[any]int{}}
	a, b := new(int), new(int)
	assert.True(t, s.First('t', a))
	assert.True(t, s.First('t', b))
	assert.False(t, s.First('t', a))
	assert.Equal(t, []byte{'t', 0, 't', 2, 't', 0}, s.out, "numbers as varints: 0, 1, 0")
}

// described is a driver without a state.
type described struct{ Driver }

func (described) Describe(s *State) { s.Text("driver") }

// TestDescribe: what a run goes on by beside the values that it carries: what its driver and the
// operator under way hold, what lives, what libraries have taken and autocast has cast. Each case
// changes one of them.
func TestDescribe(t *testing.T) {
	machine := func() *Machine {
		m := newMachine(context.Background(), nil, Options{Platform: &platform.Platform{}})
		m.driver = described{}
		return m
	}
	on := func(m *Machine, bytes units.Bytes) *tensor.Storage {
		return m.NewStorage(bytes, Accelerator, tensor.Activation)
	}
	base := string(machine().describe(nil, false))
	seen := map[string]string{base: "nothing"}
	for _, c := range []struct {
		why    string
		change func(m *Machine)
	}{
		{"a storage of no bytes lives", func(m *Machine) { on(m, 0) }},
		{"one of some", func(m *Machine) { on(m, 8) }},
		{"of more", func(m *Machine) { on(m, 9) }},
		{"two of as many", func(m *Machine) { on(m, 4); on(m, 4) }},
		{"a temporary", func(m *Machine) { m.temps = []any{int64(1)} }},
		{"workspace was taken", func(m *Machine) { m.once = map[string]bool{"k": true} }},
		{"a parameter was cast", func(m *Machine) { m.casts.order = []*tensor.Tensor{nil} }},
	} {
		m := machine()
		c.change(m)
		text := string(m.describe(nil, false))
		require.NotContains(t, seen, text, "%s, and %s", c.why, seen[text])
		seen[text] = c.why
	}
	dead := machine()
	dead.release(on(dead, 8).ID)
	assert.Equal(t, base, string(dead.describe(nil, false)), "what died decides nothing")
	assert.NotEqual(t, base, string(machine().describe([]any{int64(1)}, false)), "what is carried does")
	bare := machine()
	bare.driver = silent{}
	assert.NotEqual(t, base, string(bare.describe(nil, false)), "and what the driver holds")
	moved := func(at int64) *tensor.Tensor {
		return &tensor.Tensor{Meta: tensor.Meta{StorageOffset: at}, Storage: &tensor.Storage{ID: -1}}
	}
	m := machine()
	assert.NotEqual(t, m.describe([]any{moved(1)}, false), m.describe([]any{moved(2)}, false))
	assert.Equal(t, m.describe([]any{moved(1)}, true), m.describe([]any{moved(2)}, true), "where positions do not matter")
}

type silent struct{ Driver }

func (silent) Describe(*State) {}

// Values of different kinds, and in another order, are different states; a thing that is shared is
// the same again.
func TestValuesAreKeptApart(t *testing.T) {
	list := &ops.List{Items: []any{int64(1)}}
	one := func() any { return &ops.List{Items: []any{int64(1)}} }
	held := func(m tensor.Meta) *tensor.Tensor {
		return &tensor.Tensor{Meta: m, Storage: &tensor.Storage{ID: -1}}
	}
	data := held(tensor.Meta{})
	data.Data = &tensor.Data{Ints: []int64{1}}
	text := strings.Repeat("a", 55)
	seen := map[string]int{}
	for i, vs := range [][]any{
		{&ops.Tuple{Items: []any{text}}}, {"\x00\x02\x6e" + text}, // alike but for what kind each is
		{}, {nil}, {nil, nil}, {nil, int64(1)}, {int64(1), nil}, {int64(1)}, {int64(2)}, {int64(55)},
		{math.Float64frombits(55)}, {1.0}, {2.0},
		{"as", "b"}, {"a", "sb"}, // where one text ends
		{"n"}, {""}, {"", nil}, {nil, ""}, {true}, {false}, {ops.NewUnbacked("aten::item", schema.Int)},
		{one(), int64(2)}, {&ops.List{Items: []any{int64(1), int64(2)}}}, // which members are the list's
		{list, list}, {one(), one()}, {&ops.Tuple{Items: []any{int64(1)}}}, {one()},
		{&ops.List{Items: []any{int64(1)}, Elem: schema.Int}},
		{&ops.Dict{Keys: []any{"a"}, Values: []any{int64(1)}}}, {&ops.Dict{Keys: []any{"a"}, Values: []any{int64(2)}}},
		{&ops.Dict{Keys: []any{"b"}, Values: []any{int64(1)}}}, {&ops.Tuple{Items: []any{int64(2)}}},
		{&ops.List{Items: []any{int64(2)}}},
		{held(tensor.Meta{})}, {data}, {held(tensor.Meta{DType: tensor.Float16})},
		{held(tensor.Meta{Sizes: []int64{1}, Strides: []int64{1}})},
		{held(tensor.Meta{Sizes: []int64{2}, Strides: []int64{1}})},
		{held(tensor.Meta{Sizes: []int64{2}, Strides: []int64{2}})}, {held(tensor.Meta{Device: "cpu"})},
	} {
		s := &State{seen: map[any]int{}}
		s.Values(vs)
		at, again := seen[string(s.out)]
		assert.False(t, again, "values %d and %d: %q", i, at, s.out)
		seen[string(s.out)] = i
	}
	empty, filled := &State{}, &State{}
	empty.Slot(false, nil)
	filled.Slot(true, nil)
	assert.NotEqual(t, empty.out, filled.out)
	assert.NotEmpty(t, empty.out)
}
