package exec_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/trace"
)

// ways runs a program that meets a number of branches on tensor data, one after the other, in a
// single pass; way gets the sides that it takes. runs is how often it ran.
func ways(t *testing.T, o exec.Options, branches int, way func(m *exec.Machine, took []bool) error) (r *exec.Result,
	runs int, err error) {
	t.Helper()
	o.Platform = none(t)
	o.Passes = trace.FirstAndSteady()[:1]
	r, err = exec.Run(context.Background(), scripted{passes: &runs, forward: func(m *exec.Machine, _ []any) (any, error) {
		took := make([]bool, branches)
		for i := range took {
			took[i] = m.Choose(exec.Branch{Node: int32(i)})
		}
		return nil, way(m, took)
	}}.start(), builtin.Table(), o)
	return r, runs, err
}

// born are the bytes of a trace's births.
func born(r *exec.Result) (out []int64) {
	for _, e := range r.Trace.Events {
		if e.Action == trace.Alloc {
			out = append(out, int64(e.Bytes))
		}
	}
	return out
}

// lacks are what a trace's coverage misses.
func lacks(r *exec.Result) (out []string) {
	for _, u := range r.Trace.Coverage.Unsupported {
		out = append(out, fmt.Sprintf("%s %s %s", u.Op, u.Reason, u.Detail))
	}
	return out
}

// takes makes as many elements as the sides say in binary.
func takes(t *testing.T) func(m *exec.Machine, took []bool) error {
	return func(m *exec.Machine, took []bool) error {
		n := int64(1)
		for _, side := range took {
			n *= 2
			if side {
				n++
			}
		}
		m.Drop(fresh(t, m, n))
		return nil
	}
}

// TestEveryWay: all combinations of sides are run, up to 256, and up to as many nodes and items of
// lists together as a run may take.
func TestEveryWay(t *testing.T) {
	r, runs, err := ways(t, exec.Options{}, 3, takes(t))
	require.NoError(t, err)
	require.Equal(t, 8, runs)
	require.Equal(t, []int64{4 * 0b1111}, born(r))
	require.Empty(t, lacks(r))

	r, runs, err = ways(t, exec.Options{Lower: true}, 3, takes(t))
	require.NoError(t, err)
	require.Equal(t, 8, runs)
	require.Equal(t, []int64{4 * 0b1000}, born(r))

	r, runs, err = ways(t, exec.Options{}, 8, takes(t))
	require.NoError(t, err)
	require.Equal(t, 256, runs)
	require.Empty(t, lacks(r), "eight branches are not too many")

	r, runs, err = ways(t, exec.Options{}, 9, takes(t))
	require.NoError(t, err)
	require.Equal(t, 256, runs)
	require.Equal(t, []string{"prim::If many-branches 256"}, lacks(r))

	nothing := func(*exec.Machine, []bool) error { return nil }
	r, runs, err = ways(t, exec.Options{}, 9, nothing)
	require.NoError(t, err)
	require.Equal(t, 10, runs, "a side that changes nothing is not combined with others")
	require.Empty(t, lacks(r))

	for _, c := range []struct{ max, steps, items, runs int }{
		{39, 10, 0, 4}, {40, 10, 0, 4}, {41, 10, 0, 5}, {40, 4, 6, 4}, {41, 4, 6, 5}, {41, 4, 5, 5}, {70, 10, 0, 7},
		{80, 10, 0, 8},
	} {
		r, runs, err = ways(t, exec.Options{MaxSteps: c.max}, 3, func(m *exec.Machine, took []bool) error {
			for range c.steps {
				require.NoError(t, m.Step())
			}
			require.NoError(t, m.Walk(c.items))
			return takes(t)(m, took)
		})
		require.NoError(t, err)
		require.Equal(t, c.runs, runs, c)
		var want []string
		if runs < 8 {
			want = []string{fmt.Sprintf("prim::If many-branches %d", runs)}
		}
		require.Equal(t, want, lacks(r), c)
	}
}

// TestWaysThatMiss: what any way misses is missing, once; eight ways are run then at most.
func TestWaysThatMiss(t *testing.T) {
	assume := exec.Options{Assume: map[string]int64{"m.py:1": 1}}
	r, runs, err := ways(t, assume, 5, func(m *exec.Machine, took []bool) error {
		m.Lacks(exec.Lack{Op: "t::f", Reason: trace.NoRule})
		m.Lacks(exec.Lack{Op: "t::g", Reason: trace.NoRule})
		if !took[0] { // another way than the heaviest
			m.Lacks(exec.Lack{Op: "t::f", Reason: trace.ReadsData})
		}
		if !took[1] {
			m.Lacks(exec.Lack{Op: "t::h", Reason: trace.NoRule})
			m.Lacks(exec.Lack{Op: "t::f", Reason: trace.NoRule, Detail: "twice"})
		}
		return takes(t)(m, took)
	})
	require.NoError(t, err, "of what is missing an assumption may be about")
	require.Equal(t, 8, runs)
	require.ElementsMatch(t, []string{"t::f no-rule ", "t::g no-rule ", "t::f reads-data ", "t::h no-rule ",
		"t::f no-rule twice"}, lacks(r))

	r, runs, err = ways(t, exec.Options{MaxSteps: 4}, 5, func(m *exec.Machine, took []bool) error {
		require.NoError(t, m.Step())
		m.Lacks(exec.Lack{Op: "t::f", Reason: trace.NoRule})
		return takes(t)(m, took)
	})
	require.NoError(t, err)
	require.Equal(t, 4, runs)
	require.Equal(t, []string{"t::f no-rule "}, lacks(r), "how many ways there are is not added")

	_, runs, err = ways(t, exec.Options{}, 5, func(m *exec.Machine, took []bool) error {
		if took[4] && took[3] && took[2] && took[1] && took[0] {
			m.Lacks(exec.Lack{Op: "t::f", Reason: trace.NoRule})
		}
		return takes(t)(m, took)
	})
	require.NoError(t, err)
	require.Equal(t, 32, runs, "the last way misses something: the others ran")

	assume = exec.Options{Assume: map[string]int64{"m.py:1": 1}}
	_, _, err = ways(t, assume, 1, takes(t))
	require.EqualError(t, err, "assume: got the place m.py:1, want none: no size and no loop depends on tensor data")
	assume.Lower = true
	_, _, err = ways(t, assume, 1, takes(t))
	require.NoError(t, err, "the run at the upper end has said so")
}

// TestWaysThatFail: a way that fails is not kept where another one works. It is an operator's
// refusal, then the account misses that way at its upper end; data may forbid a model's own raise.
func TestWaysThatFail(t *testing.T) {
	refusal := &exec.EvalError{Msg: "got 2, want 3"}
	raise := &exec.EvalError{Msg: "no", Raise: true}
	later := &exec.EvalError{Msg: "got 5, want 3"}
	for _, c := range []struct {
		why   string
		fails [4]error // by way: neither side, the second, the first, both
		lower bool
		err   error
		born  int64 // elements of the way that is kept
		lacks []string
	}{
		{"none", [4]error{}, false, nil, 7, nil},
		{"the first way", [4]error{refusal}, false, nil, 7, []string{" refused-way got 2, want 3"}},
		{"the heaviest way", [4]error{3: refusal}, false, nil, 6, []string{" refused-way got 2, want 3"}},
		{"two ways: the first is named", [4]error{1: refusal, 2: later}, false, nil, 7,
			[]string{" refused-way got 5, want 3"}},
		{"the model's own", [4]error{raise, nil, nil, raise}, false, nil, 6, nil},
		{"at the lower end", [4]error{refusal}, true, nil, 5, nil},
		{"all: the first is the error", [4]error{refusal, later, later, later}, false, refusal, 4, nil},
		{"all at the lower end", [4]error{raise, later, later, later}, true, raise, 4, nil},
	} {
		r, runs, err := ways(t, exec.Options{Lower: c.lower}, 2, func(m *exec.Machine, took []bool) error {
			_ = takes(t)(m, took)
			i := 0
			for _, side := range took {
				i *= 2
				if side {
					i++
				}
			}
			return c.fails[i]
		})
		require.Equal(t, 4, runs, c.why)
		if c.err == nil {
			require.NoError(t, err, c.why)
		} else {
			require.Equal(t, c.err, err, c.why)
		}
		require.Equal(t, []int64{4 * c.born}, born(r), c.why)
		require.Equal(t, c.lacks, lacks(r), c.why)
	}
}

// TestWaysEnd: a limit and the caller's end are no errors of the model on one of its ways: no other
// way is run.
func TestWaysEnd(t *testing.T) {
	for _, c := range []struct {
		err  error
		runs int
	}{
		{&exec.EvalError{Msg: "got 2, want 3", Cause: errors.New("got 2, want 3")}, 2},
		{&exec.EvalError{Msg: "no", Raise: true}, 2},
		{errors.New("internal error"), 1},
		{&exec.EvalError{Cause: &exec.LimitError{What: "steps", Limit: 3}}, 1},
		{&exec.EvalError{Cause: context.Canceled}, 1},
		{&exec.EvalError{Cause: fmt.Errorf("m.py:3: %w", context.DeadlineExceeded)}, 1},
	} {
		_, runs, err := ways(t, exec.Options{}, 1, func(*exec.Machine, []bool) error { return c.err })
		require.Equal(t, c.err, err)
		require.Equal(t, c.runs, runs, c.err)
	}
}
