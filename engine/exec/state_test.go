package exec

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// TestStateFirst: a thing is new once, and each has a separate number; which one it is is written every time.
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
