package exec_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// TestPassesRun: a pass that leaves all as it found it is not run again; one that may not is.
func TestPassesRun(t *testing.T) {
	made := func(m *exec.Machine) *tensor.Tensor { return fresh(t, m, 4) }
	apply := func(m *exec.Machine, key string, args ...any) any {
		b, ok := m.Table().Lookup(key)
		require.True(t, ok, key)
		full, err := b.Fill(args)
		require.NoError(t, err)
		v, err := m.Apply(b, full)
		require.NoError(t, err)
		return v
	}
	list := func() *ops.List { return &ops.List{Refs: 1, Items: []any{int64(1)}} }
	inner := list()
	state := &program.State{Meta: tensor.Meta{DType: tensor.Int64, Device: "cpu", Sizes: []int64{1}, Strides: []int64{1}},
		Class: tensor.Constant, Data: &tensor.Data{Ints: []int64{3}}}
	weight := &program.State{Meta: meta(4), Class: tensor.Parameter}
	into := func(m *exec.Machine, out *tensor.Tensor) {
		b, ok := m.Table().Lookup("aten::relu")
		require.True(t, ok)
		v, err := m.ApplyInto(b, []any{m.State(state)}, out)
		require.NoError(t, err)
		m.Drop(v)
	}
	for _, c := range []struct {
		why     string
		kept    []any
		o       exec.Options
		forward func(m *exec.Machine, args []any)
		passes  int
	}{
		{"one that does nothing", nil, exec.Options{}, func(*exec.Machine, []any) {}, 1},
		{"what it makes", nil, exec.Options{}, func(m *exec.Machine, _ []any) { m.Drop(made(m)) }, 1},
		{"a container of its own is written", nil, exec.Options{}, func(m *exec.Machine, _ []any) { m.Touch(list()) }, 1},
		{"one that the driver keeps", []any{inner}, exec.Options{}, func(m *exec.Machine, _ []any) { m.Touch(inner) }, 2},
		{"one within a kept list", []any{&ops.List{Items: []any{inner}}}, exec.Options{}, func(m *exec.Machine, _ []any) {
			m.Touch(inner)
		}, 2},
		{"within a kept tuple", []any{&ops.Tuple{Items: []any{int64(1), inner}}}, exec.Options{},
			func(m *exec.Machine, _ []any) { m.Touch(inner) }, 2},
		{"within a kept dict", []any{&ops.Dict{Keys: []any{"a"}, Values: []any{inner}}}, exec.Options{},
			func(m *exec.Machine, _ []any) { m.Touch(inner) }, 2},
		{"behind others of the same", []any{list(), inner}, exec.Options{}, func(m *exec.Machine, _ []any) {
			m.Touch(list())
			m.Touch(inner)
			m.Touch(list())
		}, 2},
		{"another one than is kept", []any{inner}, exec.Options{}, func(m *exec.Machine, _ []any) { m.Touch(list()) }, 1},
		{"an argument's", nil, exec.Options{}, func(m *exec.Machine, args []any) { m.Touch(args[1]) }, 2},
		{"by an operator", nil, exec.Options{}, func(m *exec.Machine, args []any) {
			m.Drop(apply(m, "aten::append.t", args[1], int64(2)))
		}, 2},
		{"an operator that only reads", nil, exec.Options{}, func(m *exec.Machine, args []any) {
			apply(m, "aten::len.t", args[1])
		}, 1},
		{"an attribute is set", nil, exec.Options{}, func(m *exec.Machine, _ []any) { m.Alter() }, 2},
		{"a tensor of the model is met for the first time", nil, exec.Options{}, func(m *exec.Machine, _ []any) {
			m.State(&program.State{Meta: meta(1), Class: tensor.Parameter})
		}, 2},
		{"an argument gets other sizes", nil, exec.Options{}, func(m *exec.Machine, args []any) {
			m.Drop(apply(m, "aten::resize_", args[0], ops.IntList(1)))
		}, 2},
		{"an argument is written, of which nothing is known", nil, exec.Options{}, func(m *exec.Machine, args []any) {
			m.Drop(apply(m, "aten::relu_", args[0]))
		}, 1},
		{"a tensor is written whose value is known", nil, exec.Options{}, func(m *exec.Machine, _ []any) {
			m.Drop(apply(m, "aten::relu_", m.State(state)))
		}, 2},
		{"a tensor of the model is written, of which nothing is known", nil, exec.Options{}, func(m *exec.Machine, _ []any) {
			m.Drop(apply(m, "aten::relu_", m.State(weight)))
		}, 1},
		{"a tensor whose value is known is the out of a kernel", nil, exec.Options{}, func(m *exec.Machine, _ []any) {
			into(m, m.State(state))
		}, 2},
		{"one whose alias is known", nil, exec.Options{}, func(m *exec.Machine, _ []any) {
			into(m, m.TensorOn(m.State(state).Storage, state.Meta))
		}, 2},
		{"what the pass made gets other sizes", nil, exec.Options{}, func(m *exec.Machine, _ []any) {
			m.Drop(apply(m, "aten::resize_", made(m), ops.IntList(1)))
		}, 1},
		{"a branch depends on data", nil, exec.Options{}, func(m *exec.Machine, _ []any) { m.Choose(exec.Branch{}) }, 4},
		{"a size was taken at its most", nil, exec.Options{}, func(m *exec.Machine, _ []any) {
			m.Bound(ops.Between("t::n", 1, 2))
		}, 2},
		{"rounds depend on data", nil, exec.Options{}, func(m *exec.Machine, _ []any) {
			r, err := m.Rounds(endless{}, ops.NewUnbacked("t::n", schema.Int))
			require.NoError(t, err)
			for more := true; more; r.Done() {
				more, err = r.Next(true, nil)
				require.NoError(t, err)
			}
		}, 2},
		{"something is missing", nil, exec.Options{}, func(m *exec.Machine, _ []any) {
			m.Unsupported("t::f", trace.NoRule)
		}, 2},
		{"an argument dies", nil, exec.Options{}, func(m *exec.Machine, args []any) { m.Drop(args[0]); m.Drop(args[0]) }, 2},
		{"the last of three passes is that before it", nil, exec.Options{Passes: make([]trace.Pass, 3)},
			func(*exec.Machine, []any) {}, 2},
		{"as many nodes as may run", nil, exec.Options{MaxSteps: 8}, func(m *exec.Machine, _ []any) {
			for range 4 {
				require.NoError(t, m.Step())
			}
		}, 1},
		{"two passes are more than may run", nil, exec.Options{MaxSteps: 7}, func(m *exec.Machine, _ []any) {
			for range 4 {
				_ = m.Step()
			}
		}, 2},
	} {
		passes := 0
		c.o.Platform, c.o.Inputs = none(t), []exec.Input{{Value: meta(4)}, {Value: []exec.Input{{Value: int64(1)}}}}
		_, err := exec.Run(context.Background(), scripted{params: []program.Param{{Name: "x"}, {Name: "l"}}, passes: &passes,
			kept: c.kept,
			load: func(m *exec.Machine) { m.Load(nil, []*program.State{state, weight}) },
			forward: func(m *exec.Machine, args []any) (any, error) {
				c.forward(m, args)
				return nil, nil
			}}.start(), builtin.Table(), c.o)
		require.NoError(t, err, c.why)
		require.Equal(t, c.passes, passes, c.why)
	}
}

// TestPassAgain: what the account of a pass that is not run again says: of its nodes, tensors and
// sizes as much as of the one before.
func TestPassAgain(t *testing.T) {
	m, err := exec.RunOnce(scripted{forward: func(m *exec.Machine, _ []any) (any, error) {
		for range 3 {
			require.NoError(t, m.Step())
			m.Node()
		}
		m.UnknownTensor()
		b, ok := m.Table().Lookup("aten::empty.memory_format")
		require.True(t, ok)
		full, err := b.Fill([]any{ops.IntList(64), ops.Kw{"device": exec.Accelerator}})
		require.NoError(t, err)
		v, err := m.Apply(b, full)
		require.NoError(t, err)
		kept := fresh(t, m, 16)
		m.Drop(v)
		return kept, nil
	}}.start(), builtin.Table(), exec.Options{Platform: none(t)})
	require.NoError(t, err)
	c := m.Trace().Coverage
	require.Equal(t, []int{6, 4, 2, 2, 6, 2}, []int{c.Nodes, c.TensorOutputs, c.KnownDType, c.Sized, m.Steps(), m.Made()})
	require.EqualValues(t, 4*(64+16), m.Peak(), "the second pass begins without the first one's result")
	require.Equal(t, "+0=256 +1=64 -0", passEvents(m.Trace(), 1))
	var all []string
	for _, e := range m.Trace().Events {
		all = append(all, fmt.Sprint(e.Pass, ":", e.Storage))
	}
	require.Equal(t, "1:0 1:1 1:0 2:1 2:2 2:3 2:2", strings.Join(all, " "))
}

// TestSteps: a run ends at a bound, and where its caller has gone.
func TestSteps(t *testing.T) {
	_, err := exec.Run(context.Background(), scripted{forward: func(m *exec.Machine, _ []any) (any, error) {
		for range 3 {
			if err := m.Step(); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}}.start(), builtin.Table(), exec.Options{Platform: none(t), MaxSteps: 2})
	require.EqualError(t, err, "got more than 2 steps, want fewer")
	for most, want := range map[int]string{3: "", 2: "got more than 2 allocations, want fewer"} {
		o := exec.Options{Platform: none(t), Passes: make([]trace.Pass, 1)}
		o.MakeAtMost(most)
		_, err = exec.RunOnce(scripted{forward: func(m *exec.Machine, _ []any) (any, error) {
			for range 3 {
				m.Drop(fresh(t, m, 1))
			}
			return nil, m.Step()
		}}.start(), builtin.Table(), o)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	steps := 0
	_, err = exec.Run(ctx, scripted{forward: func(m *exec.Machine, _ []any) (any, error) {
		for {
			steps++
			if err := m.Step(); err != nil {
				return nil, err
			}
		}
	}}.start(), builtin.Table(), exec.Options{Platform: none(t)})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 4096, steps, "a look every so often")
}

// endless is a loop that only data ends.
type endless struct{}

func (endless) Enter()              {}
func (endless) Branch() exec.Branch { return exec.Branch{} }
func (endless) PositionOnly() bool  { return false }

// passEvents are the births of a pass, numbered, with their bytes, and the deaths.
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
