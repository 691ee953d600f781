package exec_test

import (
	"context"
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
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// pass is a driver whose forward is a function.
type pass struct {
	m       *exec.Machine
	forward func(m *exec.Machine)
}

func (pass) Params() []program.Param { return nil }
func (pass) Literal(v any) any       { return v }
func (pass) Load()                   {}
func (pass) Prepare() error          { return nil }
func (pass) Kept(func(any))          {}
func (pass) Describe(*exec.State)    {}
func (p pass) Forward([]any) (any, error) {
	p.forward(p.m)
	return nil, nil
}

// endless is a loop that only data ends.
type endless struct{}

func (endless) Enter()              {}
func (endless) Branch() exec.Branch { return exec.Branch{} }
func (endless) PositionOnly() bool  { return false }

// TestLongest holds the account of the longest lives to what a driver tells, one pass after another, and what it cannot tell to none.
func TestLongest(t *testing.T) {
	made := func(m *exec.Machine, n int64) *tensor.Tensor {
		v, err := m.NewTensor(tensor.Meta{DType: tensor.Float32, Sizes: []int64{n}, Strides: []int64{1}, Device: exec.Accelerator}, tensor.Activation)
		require.NoError(t, err)
		return v
	}
	// later lets go of v, which the other account holds until after another is made.
	later := func(m *exec.Machine, v any) {
		m.HoldLonger(v)
		m.Drop(v)
		m.Drop(made(m, 2))
		m.DropLonger(v)
	}
	for _, c := range []struct {
		name, run, held string
		forward         func(m *exec.Machine)
	}{
		{"nothing is held longer", "+0=4 -0", "+0=4 -0", func(m *exec.Machine) { m.Drop(made(m, 1)) }},
		{"a tensor", "+0=4 -0 +1=8 -1", "+0=4 +1=8 -1 -0", func(m *exec.Machine) { later(m, made(m, 1)) }},
		{"what is let go of later by both", "+0=4 +1=8 -1 +2=8 -2 -0", "+0=4 +1=8 -1 +2=8 -2 -0", func(m *exec.Machine) {
			v := made(m, 1)
			m.Hold(v)
			later(m, v)
			m.Drop(made(m, 2))
			m.Drop(v)
		}},
		{"a tensor on the host has no events", "+0=8 -0", "+0=8 -0", func(m *exec.Machine) {
			v, err := m.NewTensor(tensor.Meta{DType: tensor.Float32, Sizes: []int64{3}, Strides: []int64{1}, Device: "cpu"}, tensor.Activation)
			require.NoError(t, err)
			later(m, v)
		}},
		{"what a list holds", "+0=4 -0 +1=8 -1", "+0=4 +1=8 -1 -0", func(m *exec.Machine) { later(m, &ops.List{Refs: 1, Items: []any{made(m, 1), nil}}) }},
		{"what a dict holds in a tuple", "+0=4 -0 +1=8 -1", "+0=4 +1=8 -1 -0", func(m *exec.Machine) {
			later(m, &ops.Tuple{Refs: 1, Items: []any{&ops.Dict{Refs: 1, Keys: []any{"a"}, Values: []any{made(m, 1)}}}})
		}},
		{"two storages", "+0=4 +1=12 -0 +2=8 -2 -1 +3=8 -3", "+0=4 +1=12 +2=8 -2 -0 +3=8 -3 -1", func(m *exec.Machine) {
			a, b := made(m, 1), made(m, 3)
			later(m, a)
			later(m, b)
		}},
		{"a storage that grows", "+0=4 +1=400 -0 -1 +2=8 -2", "+0=4 +1=400 -0 +2=8 -2 -1", func(m *exec.Machine) {
			v := made(m, 1)
			m.HoldLonger(v)
			resize(t, m, v, 100)
			m.Drop(v)
			m.Drop(made(m, 2))
			m.DropLonger(v)
		}},
		{"a container that is written", "+0=4 -0 +1=8 -1", "", func(m *exec.Machine) {
			l := &ops.List{Refs: 1, Items: []any{made(m, 1)}}
			later(m, l)
			m.Touch(l)
		}},
		{"an object of the program's", "", "", func(m *exec.Machine) { later(m, holder{}) }},
		{"a way that depends on data", "", "", func(m *exec.Machine) { m.Choose(exec.Branch{}) }},
		{"a size that depends on data", "", "", func(m *exec.Machine) { m.Bound(ops.Between("a", 1, 2)) }},
		{"rounds that depend on data", "", "", func(m *exec.Machine) {
			r, err := m.Rounds(endless{}, ops.NewUnbacked("a", schema.Int))
			require.NoError(t, err)
			_, err = r.Next(true, nil)
			require.NoError(t, err)
		}},
		{"what is not let go of", "+0=4 -0", "", func(m *exec.Machine) {
			v := made(m, 1)
			m.HoldLonger(v)
			m.Drop(v)
		}},
		{"what the driver does not know", "", "", func(m *exec.Machine) { m.LoseLongest() }},
	} {
		d, err := device.Lookup("none")
		require.NoError(t, err)
		on, err := platform.New(d, platform.Newest())
		require.NoError(t, err)
		for _, told := range []bool{true, false} {
			r, err := exec.Run(context.Background(), func(m *exec.Machine) (exec.Driver, error) {
				if told {
					m.TellLongest()
				}
				return pass{m, c.forward}, nil
			}, builtin.Table(), exec.Options{Platform: &on})
			require.NoError(t, err, c.name)
			if c.run != "" {
				require.Equal(t, c.run, passEvents(r.Trace, 1), c.name)
			}
			if c.held == "" || !told {
				require.Nil(t, r.Held, c.name)
				continue
			}
			require.NotNil(t, r.Held, c.name)
			for p := 1; p <= 2; p++ {
				require.Equal(t, c.held, passEvents(r.Held, p), "%s, pass %d", c.name, p)
			}
		}
	}
}

// holder is a value of a driver's own.
type holder struct{}

func (holder) Hold()                {}
func (holder) Drop(*exec.Heap)      {}
func (holder) Describe(*exec.State) {}

func resize(t *testing.T, m *exec.Machine, v *tensor.Tensor, n int64) {
	t.Helper()
	args := []any{v, &ops.List{Items: []any{n}, Elem: schema.Int}}
	bound, full, err := m.Table().Resolve("aten::resize_", args, nil)
	require.NoError(t, err)
	r, err := m.Apply(bound, full)
	require.NoError(t, err)
	m.Drop(r)
}

// passEvents are a pass's births and deaths, its storages numbered.
func passEvents(tr *trace.Trace, pass int) string {
	var out []string
	number := map[tensor.StorageID]int{}
	for _, e := range tr.Events {
		switch {
		case e.Pass != pass:
		case e.Action == trace.Alloc:
			number[e.Storage] = len(number)
			out = append(out, fmt.Sprintf("+%d=%d", number[e.Storage], e.Bytes))
		default:
			out = append(out, fmt.Sprintf("-%d", number[e.Storage]))
		}
	}
	return strings.Join(out, " ")
}
