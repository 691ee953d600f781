package exec_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/workspace"
)

// toy is a dispatcher with rules of a test's own. Tensors have float32 elements unless they say so,
// and are t0, t1, … by their storages' births.
type toy struct {
	*exec.Dispatch
	t     *testing.T
	table *ops.Table
}

func newToy(t *testing.T, on string, o exec.Options, rules ...ops.Rule) *toy {
	t.Helper()
	table, err := ops.NewTable(rules)
	require.NoError(t, err)
	d, err := device.Lookup(on)
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	o.Platform = &p
	return &toy{exec.NewDispatch(table, o), t, table}
}

func meta(n int64) tensor.Meta {
	return tensor.Meta{DType: tensor.Float32, Sizes: []int64{n}, Strides: []int64{1}, Device: exec.Accelerator}
}

func undefined() tensor.Meta { return tensor.Meta{DType: tensor.Undefined} }

// broken has fewer strides than sizes.
func broken() tensor.Meta {
	return tensor.Meta{DType: tensor.Float32, Sizes: []int64{2}, Device: exec.Accelerator}
}

// gives is a rule's Out that gives tensors of so many elements.
func gives(ns ...int64) func(*ops.Call) ([]tensor.Meta, error) {
	metas := make([]tensor.Meta, len(ns))
	for i, n := range ns {
		metas[i] = meta(n)
	}
	return func(*ops.Call) ([]tensor.Meta, error) { return metas, nil }
}

func (y *toy) of(m tensor.Meta) *tensor.Tensor {
	y.t.Helper()
	v, err := y.NewTensor(m, tensor.Activation)
	require.NoError(y.t, err)
	return v
}

func (y *toy) bound(key string) *ops.Bound {
	y.t.Helper()
	b, ok := y.table.Lookup(key)
	require.True(y.t, ok, key)
	return b
}

// run runs an operator and releases what it gives.
func (y *toy) run(key string, args ...any) string {
	y.t.Helper()
	v, err := y.Apply(y.bound(key), args)
	if err != nil {
		return "error: " + err.Error()
	}
	text := shown(v)
	y.Drop(v)
	return text
}

// shown is a value as text.
func shown(v any) string {
	list := func(open string, items []any, end string) string {
		out := make([]string, len(items))
		for i := range items {
			out[i] = shown(items[i])
		}
		return open + strings.Join(out, " ") + end
	}
	switch v := v.(type) {
	case nil:
		return "None"
	case *tensor.Tensor:
		text := fmt.Sprintf("t%d", v.Storage.ID)
		if v.View {
			text += fmt.Sprint("view", v.Sizes)
		}
		if v.Data != nil {
			text += fmt.Sprint(v.Data.Ints)
		}
		return text
	case *ops.List:
		return list("[", v.Items, "]")
	case *ops.Tuple:
		return list("(", v.Items, ")")
	case ops.Unbacked:
		return "?" + map[schema.Kind]string{schema.Int: "int", schema.Float: "float", schema.Any: "any"}[v.Kind]
	}
	return fmt.Sprint(v)
}

// lived are events as text: births with their bytes, deaths and what they are of.
func (y *toy) lived(from int) string {
	var out []string
	for _, e := range y.Events()[from:] {
		switch e.Action {
		case trace.Alloc:
			out = append(out, fmt.Sprintf("+%d=%d", e.Storage, e.Bytes))
		case trace.FreeRequested:
			out = append(out, fmt.Sprintf("-%d", e.Storage))
		default:
			out = append(out, "empty")
		}
	}
	return strings.Join(out, " ")
}

// TestResults: what an operator returns, by its schema's returns and alias annotations, and by what
// its rule says of them.
func TestResults(t *testing.T) {
	metas := func(ms ...tensor.Meta) func(*ops.Call) ([]tensor.Meta, error) {
		return func(*ops.Call) ([]tensor.Meta, error) { return ms, nil }
	}
	ints := func(ns ...int64) func(*ops.Call) []int64 { return func(*ops.Call) []int64 { return ns } }
	copies := func(yes bool) func(*ops.Call) bool { return func(*ops.Call) bool { return yes } }
	on := func(m tensor.Meta) *tensor.Meta { return &m }
	for _, c := range []struct {
		why   string
		rule  ops.Rule
		given *tensor.Meta // of the argument; nil for None
		want  string
		lived string // once the result has gone
	}{
		{"one tensor is itself", ops.Rule{Schema: "t::f(Tensor? x) -> Tensor", Out: gives(1)}, nil, "t0", "+0=4 -0"},
		{"one that is not defined is None", ops.Rule{Schema: "t::f(Tensor? x) -> Tensor", Out: metas(undefined())}, nil,
			"None", ""},
		{"of one, two were made", ops.Rule{Schema: "t::f(Tensor? x) -> Tensor", Out: gives(1, 2)}, nil,
			"error: internal error: t::f: got 2 results, want 1", ""},
		{"of one, none was", ops.Rule{Schema: "t::f(Tensor? x) -> Tensor", Out: gives()}, nil,
			"error: internal error: t::f: got 0 results, want 1", ""},
		{"one that cannot be", ops.Rule{Schema: "t::f(Tensor? x) -> Tensor", Out: metas(broken())}, nil,
			"error: t::f: got strides of another length than sizes", ""},
		{"none", ops.Rule{Schema: "t::f(Tensor? x) -> ()", Out: gives()}, nil, "None", ""},
		{"two are made in their order, and go from the end", ops.Rule{Schema: "t::f(Tensor? x) -> (Tensor, Tensor)",
			Out: gives(1, 2)}, nil, "(t0 t1)", "+0=4 +1=8 -1 -0"},
		{"with names they are a struct, which goes from the front",
			ops.Rule{Schema: "t::f(Tensor? x) -> (Tensor values, Tensor indices)", Out: gives(1, 2)}, nil, "(t0 t1)",
			"+0=4 +1=8 -0 -1"},
		{"two of which one is not defined", ops.Rule{Schema: "t::f(Tensor? x) -> (Tensor, Tensor)",
			Out: metas(undefined(), meta(1))}, nil, "(None t0)", "+0=4 -0"},
		{"of two, one was made", ops.Rule{Schema: "t::f(Tensor? x) -> (Tensor, Tensor)", Out: gives(1)}, nil,
			"error: internal error: t::f: got 1 results, want 2", "+0=4"},
		{"of two the second cannot be", ops.Rule{Schema: "t::f(Tensor? x) -> (Tensor, Tensor)",
			Out: metas(meta(1), broken())}, nil, "error: t::f: got strides of another length than sizes", "+0=4"},
		{"numbers stand where the schema has them", ops.Rule{Schema: "t::f(Tensor? x) -> (int, Tensor, int, Tensor)",
			Out: gives(1, 2), Ints: ints(7, 8)}, nil, "(7 t0 8 t1)", "+0=4 +1=8 -1 -0"},
		{"a number alone", ops.Rule{Schema: "t::f(Tensor? x) -> (Tensor, int)", Out: gives(1), Ints: ints(7)}, nil, "(t0 7)",
			"+0=4 -0"},
		{"a list", ops.Rule{Schema: "t::f(Tensor? x) -> Tensor[]", Out: gives(1, 2, 3)}, nil, "[t0 t1 t2]",
			"+0=4 +1=8 +2=12 -2 -1 -0"},
		{"a list of one", ops.Rule{Schema: "t::f(Tensor? x) -> Tensor[]", Out: gives(1)}, nil, "[t0]", "+0=4 -0"},
		{"an empty list", ops.Rule{Schema: "t::f(Tensor? x) -> Tensor[]", Out: gives()}, nil, "[]", ""},
		{"a list with one that is not defined", ops.Rule{Schema: "t::f(Tensor? x) -> Tensor[]",
			Out: metas(meta(1), undefined())}, nil, "[t0 None]", "+0=4 -0"},
		{"a list behind others has what is left", ops.Rule{Schema: "t::f(Tensor? x) -> (Tensor, int, Tensor[])",
			Out: gives(1, 2, 3), Ints: ints(7)}, nil, "(t0 7 [t1 t2])", "+0=4 +1=8 +2=12 -2 -1 -0"},
		{"also where that is none", ops.Rule{Schema: "t::f(Tensor? x) -> (Tensor, Tensor[])", Out: gives(1)}, nil, "(t0 [])",
			"+0=4 -0"},

		{"a view has its argument's storage", ops.Rule{Schema: "t::f(Tensor(a)? x) -> Tensor(a)", Out: gives(2)}, on(meta(4)),
			"t0view[2]", "+0=16"},
		{"of the argument's own sizes too", ops.Rule{Schema: "t::f(Tensor(a)? x) -> Tensor(a)", Out: gives(4)}, on(meta(4)),
			"t0view[4]", "+0=16"},
		{"of no argument it is fresh", ops.Rule{Schema: "t::f(Tensor(a)? x) -> Tensor(a)", Out: gives(2)}, nil, "t0",
			"+0=8 -0"},
		{"one that cannot be", ops.Rule{Schema: "t::f(Tensor(a)? x) -> Tensor(a)", Out: metas(broken())}, on(meta(4)),
			"error: t::f: got strides of another length than sizes", "+0=16"},
		{"what may copy and does not is its argument where it looks like it",
			ops.Rule{Schema: "t::f(Tensor(a)? x) -> Tensor(a)", Out: gives(4), Copies: copies(false)}, on(meta(4)), "t0",
			"+0=16"},
		{"a view where it does not", ops.Rule{Schema: "t::f(Tensor(a)? x) -> Tensor(a)", Out: gives(2),
			Copies: copies(false)}, on(meta(4)), "t0view[2]", "+0=16"},
		{"what copies is fresh", ops.Rule{Schema: "t::f(Tensor(a)? x) -> Tensor(a)", Out: gives(4), Copies: copies(true)},
			on(meta(4)), "t1", "+0=16 +1=16 -1"},
		{"what is written in place is its argument, whatever copies", ops.Rule{Schema: "t::f(Tensor(a!)? x) -> Tensor(a!)",
			Out: gives(4), Copies: copies(true)}, on(meta(4)), "t0", "+0=16"},
		{"one that grows gets a bigger storage", ops.Rule{Schema: "t::f(Tensor(a!)? x) -> Tensor(a!)", Out: gives(8)},
			on(meta(4)), "t1", "+0=16 +1=32 -0"},
		{"one that shrinks keeps it", ops.Rule{Schema: "t::f(Tensor(a!)? x) -> Tensor(a!)", Out: gives(2)}, on(meta(4)), "t0",
			"+0=16"},
		{"and one that cannot be", ops.Rule{Schema: "t::f(Tensor(a!)? x) -> Tensor(a!)", Out: metas(broken())}, on(meta(4)),
			"error: t::f: got strides of another length than sizes", "+0=16"},
		{"views in a list", ops.Rule{Schema: "t::f(Tensor(a -> *)? x) -> Tensor(a)[]", Out: gives(1, 2)}, on(meta(4)),
			"[t0view[1] t0view[2]]", "+0=16"},
	} {
		y := newToy(t, "none", exec.Options{Liveness: exec.PythonFrame}, c.rule)
		var x any
		if c.given != nil {
			x = y.of(*c.given)
		}
		require.Equal(t, c.want, y.run("t::f", x), c.why)
		require.Equal(t, c.lived, y.lived(0), c.why)
	}
}

// TestResultsHeld: a result holds its storage as long as the caller holds the result, whoever else
// releases it.
func TestResultsHeld(t *testing.T) {
	for _, c := range []struct{ why, schema string }{
		{"a view", "t::f(Tensor(a) x) -> Tensor(a)"},
		{"what is written in place", "t::f(Tensor(a!) x) -> Tensor(a!)"},
	} {
		y := newToy(t, "none", exec.Options{}, ops.Rule{Schema: c.schema, Out: gives(4)})
		x := y.of(meta(4))
		v, err := y.Apply(y.bound("t::f"), []any{x})
		require.NoError(t, err)
		y.Drop(x)
		require.Equal(t, "+0=16", y.lived(0), c.why)
		y.Drop(v)
		require.Equal(t, "+0=16 -0", y.lived(0), c.why)
	}
}

// TestCoverage: tensors are counted as they are returned; of which the dtype is known, and the
// size.
func TestCoverage(t *testing.T) {
	odd := meta(2)
	odd.DType = 200
	bounded := ops.Between("t::n", 1, 3)
	y := newToy(t, "none", exec.Options{},
		ops.Rule{Schema: "t::two(Tensor x) -> (Tensor, Tensor)", Out: func(*ops.Call) ([]tensor.Meta, error) {
			return []tensor.Meta{undefined(), meta(2)}, nil
		}},
		ops.Rule{Schema: "t::odd(Tensor(a) x) -> Tensor(a)", Out: func(*ops.Call) ([]tensor.Meta, error) {
			return []tensor.Meta{odd}, nil
		}},
		ops.Rule{Schema: "t::sized(int[] n) -> Tensor", Out: func(c *ops.Call) ([]tensor.Meta, error) {
			return gives(c.Ints("n")...)(c)
		}},
		ops.Rule{Schema: "t::host(Tensor x) -> (Tensor, int)", Host: func(c *ops.Call) (any, error) { return int64(2), nil }},
	)
	counts := func() string {
		c := y.Trace().Coverage
		return fmt.Sprint(c.TensorOutputs, c.KnownDType, c.Sized)
	}
	x := y.of(meta(4))
	y.run("t::two", x)
	require.Equal(t, "1 1 1", counts(), "one that is not defined is none")
	y.run("t::sized", ops.IntList(3))
	require.Equal(t, "2 2 2", counts())
	require.Equal(t, "t3", y.run("t::sized", ops.NewList(schema.Int, bounded)))
	require.Equal(t, "3 3 2", counts(), "its size depends on data")
	require.True(t, y.Bounded())
	y.run("t::two", x)
	require.Equal(t, "4 4 3", counts(), "the next operator's does not")
	y.run("t::odd", x)
	require.Equal(t, "5 4 3", counts(), "of no dtype that is known")
	y.run("t::host", ops.NewUnbacked("t::n", schema.Int))
	require.Equal(t, "6 4 3", counts(), "what stands for a tensor that is not known is one; a number is none")
}

// TestResultsInOrder: a kernel's rule may say where among its workspace each of its results is
// made; the tensors are numbered without the numbers beside them.
func TestResultsInOrder(t *testing.T) {
	asks := []workspace.Request{{Bytes: 1}, {Result: 2}, {Bytes: 2}, {Result: 1}, {Bytes: 3, Drops: 1}}
	rule := ops.Rule{Schema: "t::f(Tensor x) -> (Tensor, int, Tensor)", Out: gives(10, 20), Ints: func(*ops.Call) []int64 {
		return []int64{7}
	},
		Workspace: func(*ops.Call) []workspace.Request { return asks }}
	y := newToy(t, "a10g", exec.Options{}, rule)
	x := y.of(meta(1))
	require.Equal(t, "(t4 7 t2)", y.run("t::f", x))
	require.Equal(t, "+0=4 +1=1 +2=80 +3=2 +4=40 -3 +5=3 -5 -1 -4 -2", y.lived(0))

	one := ops.Rule{Schema: "t::f(Tensor x) -> Tensor", Out: gives(10), Workspace: func(*ops.Call) []workspace.Request {
		return []workspace.Request{{Bytes: 1}, {Result: 1}}
	}}
	y = newToy(t, "a10g", exec.Options{}, one)
	require.Equal(t, "t1", y.run("t::f", nil))
	require.Equal(t, "+0=1 +1=40 -0 -1", y.lived(0))

	rule.Out = func(*ops.Call) ([]tensor.Meta, error) { return []tensor.Meta{meta(1), broken()}, nil }
	y = newToy(t, "a10g", exec.Options{}, rule)
	require.Equal(t, "error: t::f: got strides of another length than sizes", y.run("t::f", nil),
		"the second one is made first")
	require.Equal(t, "+0=1", y.lived(0))
}

// TestWorkspaceAround: other workspace is taken before the results or after them, and what is left
// of it goes behind both, the latest first.
func TestWorkspaceAround(t *testing.T) {
	y := newToy(t, "a10g", exec.Options{}, ops.Rule{Schema: "t::f(Tensor? x) -> Tensor", Out: gives(10),
		Workspace: func(*ops.Call) []workspace.Request {
			return []workspace.Request{{Bytes: 1, Before: true}, {Bytes: 2}, {Bytes: 3, Before: true}}
		}})
	require.Equal(t, "t2", y.run("t::f", nil))
	require.Equal(t, "+0=1 +1=3 +2=40 +3=2 -3 -1 -0 -2", y.lived(0))
	y.TakeOutside(5)
	y.TakeOutside(7)
	require.EqualValues(t, 12, y.Trace().Outside)
}

// TestBodies: what a body makes lives until the operator returns, the latest goes first; what it
// frees goes at once, and what it keeps stays for so long.
func TestBodies(t *testing.T) {
	failed := errors.New("got nothing, want something")
	made := ops.Rule{Schema: "t::made(int n) -> Tensor", Out: func(c *ops.Call) ([]tensor.Meta, error) {
		return gives(c.Int("n"))(c)
	}}
	fails := ops.Rule{Schema: "t::fails() -> Tensor", Out: func(*ops.Call) ([]tensor.Meta, error) { return nil, failed }}
	hollow := ops.Rule{Schema: "t::hollow() -> Tensor", Host: func(*ops.Call) (any, error) {
		return ops.NewUnbacked("t::hollow", schema.Any), nil
	}}
	for _, c := range []struct {
		why  string
		body func(c *ops.Call) (any, error)
		want string
		live string
	}{
		{"the result stays, the rest goes", func(c *ops.Call) (any, error) {
			a := c.Do("t::made", int64(1))
			c.Do("t::made", int64(2))
			b := c.Do("t::made", int64(3))
			c.Do("t::made", int64(4))
			_ = a
			return b, nil
		}, "t2", "+0=4 +1=8 +2=12 +3=16 -3 -1 -0 -2"},
		{"freed in the middle", func(c *ops.Call) (any, error) {
			a := c.Do("t::made", int64(1))
			b := c.Do("t::made", int64(2))
			c.Free(a)
			d := c.Do("t::made", int64(3))
			_ = b
			return d, nil
		}, "t2", "+0=4 +1=8 -0 +2=12 -1 -2"},
		{"of two holds of one, freed once", func(c *ops.Call) (any, error) {
			a := c.Do("t::made", int64(1))
			c.M.Keep(a)
			c.Free(a)
			return c.Do("t::made", int64(2)), nil
		}, "t1", "+0=4 +1=8 -0 -1"},
		{"what is not held is not freed", func(c *ops.Call) (any, error) {
			c.Free(c.T("x"))
			return c.Do("t::made", int64(2)), nil
		}, "t0", "+0=8 -0"},
		{"nested: what an inner one keeps goes with it", func(c *ops.Call) (any, error) {
			c.Do("t::made", int64(1))
			return c.Do("t::inner"), nil
		}, "t2", "+0=4 +1=20 +2=24 -1 -0 -2"},
		{"the first failure is reported, not what is said of it", func(c *ops.Call) (any, error) {
			c.Do("t::made", int64(1))
			c.Do("t::fails")
			return nil, errors.New("got an empty tensor")
		}, "error: " + failed.Error(), "+0=4 -0"},
		{"what it says itself is reported else", func(c *ops.Call) (any, error) {
			return nil, failed
		}, "error: " + failed.Error(), ""},
		{"an operator without a rule leaves its result unknown", func(c *ops.Call) (any, error) {
			return c.Do("t::nowhere"), nil
		}, "?any", ""},
		{"one whose result is unknown too", func(c *ops.Call) (any, error) { return c.Do("t::hollow"), nil }, "?any", ""},
	} {
		y := newToy(t, "none", exec.Options{}, made, fails, hollow, ops.Rule{Schema: "t::inner() -> Tensor",
			Body: func(c *ops.Call) (any, error) {
				c.Do("t::made", int64(5))
				return c.Do("t::made", int64(6)), nil
			}}, ops.Rule{Schema: "t::f(Tensor? x) -> Tensor", Body: c.body})
		require.Equal(t, c.want, y.run("t::f", nil), c.why)
		require.Equal(t, c.live, y.lived(0), c.why)
	}
}

// TestUnknownResults: where numbers are not known an operator's results have the form of its
// returns, and the account says what is missing.
func TestUnknownResults(t *testing.T) {
	never := func(*ops.Call) ([]tensor.Meta, error) { panic("it has no arguments") }
	for _, c := range []struct{ schema, want string }{
		{"t::f(int n) -> Tensor", "?any"},
		{"t::f(int n) -> ()", "?any"},
		{"t::f(int n) -> (Tensor, int, float)", "(?any ?int ?float)"},
	} {
		y := newToy(t, "none", exec.Options{}, ops.Rule{Schema: c.schema, Out: never})
		require.Equal(t, c.want, y.run("t::f", ops.NewUnbacked("t::n", schema.Int)), c.schema)
		require.Equal(t, []trace.Unsupported{{Op: "t::f", Reason: trace.ReadsData, Count: 1}}, y.Trace().Coverage.Unsupported)
		require.Equal(t, c.want, y.run("t::f", ops.NewUnbacked("t::n", schema.Int)), c.schema)
		require.Len(t, y.Trace().Coverage.Unsupported, 1, "what follows from it is no news")
		require.Equal(t, 1, y.Trace().Coverage.Unsupported[0].Count)
	}
}

// TestBound: which of a range's sizes is taken: what the case states of the place, within the
// range, else the end that the run is about.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		why    string
		o      exec.Options
		min    int64
		want   int64
		byData bool
	}{
		{"the most", exec.Options{}, 2, 9, true},
		{"the least", exec.Options{Lower: true}, 2, 2, true},
		{"the least size is nothing", exec.Options{Lower: true}, ops.NoMin, 0, true},
		{"stated", exec.Options{Assume: map[string]int64{":0": 5}}, 2, 5, false},
		{"stated as more than there can be", exec.Options{Assume: map[string]int64{":0": 50}}, 2, 9, false},
		{"stated as less", exec.Options{Assume: map[string]int64{":0": 1}}, 2, 2, false},
	} {
		y := newToy(t, "none", c.o)
		y.Sites.Begin(trace.Forward)
		y.Sites.Enter("t::f", "", program.Pos{})
		require.Equal(t, c.want, y.Bound(ops.Between("t::n", c.min, 9)), c.why)
		require.Equal(t, c.byData, y.Bounded(), c.why)
		require.Equal(t, c.byData, len(y.Trace().Notes) == 1, "%s: a note says so", c.why)
		require.Equal(t, c.o.Lower, y.Lower())
	}
}

// TestAssumedValues: what is computed with a number that only stands for another is no known value,
// neither there nor in what the operator is made of; behind it values are known again.
func TestAssumedValues(t *testing.T) {
	host := func(*ops.Call) ([]tensor.Meta, error) {
		return []tensor.Meta{{DType: tensor.Int64, Sizes: []int64{1}, Strides: []int64{1}, Device: "cpu"}}, nil
	}
	seven := func(*ops.Call) *tensor.Data { return &tensor.Data{Ints: []int64{7}} }
	sized := ops.NewList(schema.Int, ops.Between("t::n", 1, 1))
	y := newToy(t, "none", exec.Options{},
		ops.Rule{Schema: "t::known(Tensor[] x) -> Tensor", Out: host, Value: seven},
		ops.Rule{Schema: "t::scaled(Tensor x, Scalar by) -> Tensor", Out: host, Value: seven},
		ops.Rule{Schema: "t::sized(int[] n) -> Tensor", Out: host, Value: seven},
		ops.Rule{Schema: "t::both(Tensor x, Scalar by) -> Tensor", Body: func(c *ops.Call) (any, error) {
			a := c.Do("t::sized", sized)
			return c.Do("t::known", c.List(schema.Tensor, a)), nil
		}},
		ops.Rule{Schema: "t::inner(Tensor x, Scalar by) -> Tensor", Body: func(c *ops.Call) (any, error) {
			return c.Do("t::sized", sized), nil
		}},
	)
	x := y.of(tensor.Meta{DType: tensor.Int64, Sizes: []int64{1}, Strides: []int64{1}, Device: "cpu"})
	none := y.of(tensor.Meta{DType: tensor.Int64, Sizes: []int64{0}, Strides: []int64{1}, Device: "cpu"})
	by := ops.NewUnbacked("t::n", schema.Int)
	data := func(v any, err error) any {
		require.NoError(t, err)
		if d := v.(*tensor.Tensor).Data; d != nil {
			return d.Ints
		}
		return nil
	}
	call := func(key string, args ...any) any { return data(y.Apply(y.bound(key), args)) }
	known := []int64{7}
	require.Equal(t, known, call("t::known", ops.TensorList()), "of nothing")
	require.Equal(t, known, call("t::known", ops.TensorList(none)), "of no elements")
	require.Nil(t, call("t::known", ops.TensorList(none, x)), "of one that is not known")
	require.Nil(t, call("t::known", ops.NewList(schema.List, ops.TensorList(x))), "within a list")
	x.Data = &tensor.Data{Ints: []int64{3}}
	require.Equal(t, known, call("t::known", ops.TensorList(none, x)), "of known ones")
	require.Equal(t, known, call("t::scaled", x, int64(2)))
	floats := ops.NewUnbacked("t::n", schema.Int)
	require.Nil(t, call("t::scaled", x, floats), "by a number that stands for another")
	require.Equal(t, known, call("t::scaled", x, int64(2)), "behind it")
	require.Equal(t, known, call("t::sized", sized), "a size at an end of its range is taken as it is")
	require.Nil(t, call("t::inner", x, by), "within such an operator, whatever the part's own numbers are")
	require.Nil(t, call("t::both", x, by), "and behind the part")
	require.Equal(t, known, call("t::scaled", x, int64(2)), "behind all of it")
	require.Equal(t, known, call("t::sized", sized))
}
