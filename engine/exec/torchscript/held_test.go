package torchscript

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// eachSmall calls f with the small archives of a kind and the inputs that they were recorded with.
func eachSmall(t *testing.T, kind string, f func(name string, p *program.Program, o exec.Options)) {
	t.Helper()
	n := eachArchive(t, kind, func(file string) bool { return strings.Contains(file, "/small/") }, f)
	require.Greater(t, n, 30)
}

// eachArchive is eachSmall for the archives that take names.
func eachArchive(t *testing.T, kind string, takes func(file string) bool, f func(name string, p *program.Program, o exec.Options)) (n int) {
	t.Helper()
	const testdata = "../../../testdata"
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	for _, r := range conformance.Read(t, filepath.Join(testdata, "conformance/2.15-fake-cuda")) {
		s := r.Stream(kind + ".torchscript")
		if s == nil || s.Artifact == "" || !takes(s.Artifact) {
			continue
		}
		a, err := artifact.Open(filepath.Join(testdata, s.Artifact))
		require.NoError(t, err)
		f(r.Model, a.Program, exec.Options{Inputs: r.ExecInputs(t), Platform: &none, DType: tensor.Undefined})
		n++
	}
	return n
}

// TestHeld runs traced archives with every local held that Python might still hold, and prints what the first pass then allocates and frees. The account
// without stands above where the two differ.
func TestHeld(t *testing.T) {
	var out strings.Builder
	var apart []string
	eachSmall(t, "trace", func(name string, p *program.Program, o exec.Options) {
		o.Liveness, o.HeldToo = exec.PythonFrame, true
		start := New(p)
		likely, err := exec.Run(context.Background(), start, builtin.Table(), o)
		require.NoError(t, err)
		o.HoldLocals, o.HeldToo = true, false
		held, err := exec.Run(context.Background(), start, builtin.Table(), o)
		require.NoError(t, err)
		fresh, err := exec.Run(context.Background(), New(p), builtin.Table(), o)
		require.NoError(t, err)
		require.Equal(t, fresh.Trace, held.Trace, "%s: what an earlier run read", name)
		if likely.Held == nil {
			apart = append(apart, name)
		} else {
			require.Equal(t, freesSorted(held.Trace), freesSorted(likely.Held), "%s: both accounts of one run, and the second of a run of its own", name)
		}
		require.NotEmpty(t, held.Trace.Notes, name)
		require.Equal(t, likely.Trace.Notes[0].Note, held.Trace.Notes[0].Note, name)
		fmt.Fprintf(&out, "## %s\n", name)
		a, b := conformance.Events(likely.Trace, 1), conformance.Events(held.Trace, 1)
		if a != b {
			fmt.Fprintf(&out, "%s%s\n", a, b)
		}
	})
	golden.File(t, "testdata/held.txt", out.String())
	require.Empty(t, apart, "that one run does not tell both accounts of")
}

// freesSorted are a trace's events, frees with nothing in between by storage: their order changes nothing.
func freesSorted(tr *trace.Trace) []trace.Event {
	out := slices.Clone(tr.Events)
	for from := 0; from < len(out); {
		to := from + 1
		for out[from].Action == trace.FreeRequested && to < len(out) && out[to].Action == trace.FreeRequested && out[to].Pass == out[from].Pass {
			to++
		}
		slices.SortFunc(out[from:to], func(a, b trace.Event) int { return cmp.Compare(a.Storage, b.Storage) })
		from = to
	}
	return out
}

// TestHeldThroughCalls holds that a run tells both accounts of models whose modules call others many deep, and hand on what these leave.
func TestHeldThroughCalls(t *testing.T) {
	deep := []string{"densenet121.trace", "googlenet.trace", "resnet50.trace", "swin_t.trace"}
	n := eachArchive(t, "trace", func(file string) bool {
		return slices.ContainsFunc(deep, func(name string) bool { return strings.Contains(file, name) })
	}, func(name string, p *program.Program, o exec.Options) {
		o.Liveness, o.HeldToo = exec.PythonFrame, true
		both, err := exec.Run(context.Background(), New(p), builtin.Table(), o)
		require.NoError(t, err)
		o.HoldLocals, o.HeldToo = true, false
		held, err := exec.Run(context.Background(), New(p), builtin.Table(), o)
		require.NoError(t, err)
		require.NotNil(t, both.Held, name)
		require.True(t, slices.Equal(freesSorted(held.Trace), freesSorted(both.Held)), name)
	})
	require.Greater(t, n, 2)
}

// TestHeldFrozen holds that what a frozen archive makes is held to the end: it is one function without frames and names. A small traced one of one
// function stands for it.
func TestHeldFrozen(t *testing.T) {
	var out strings.Builder
	eachSmall(t, "trace", func(name string, p *program.Program, o exec.Options) {
		if name != "addmm" {
			return
		}
		p.Tells = program.TellsNothing
		o.Liveness = exec.PythonFrame
		for _, o.HoldLocals = range []bool{false, true} {
			r, err := exec.Run(context.Background(), New(p), builtin.Table(), o)
			require.NoError(t, err)
			require.Len(t, r.Trace.Notes, 1)
			fmt.Fprintf(&out, "%s%s\n", conformance.Events(r.Trace, 1), r.Trace.Notes[0].Subject)
		}
	})
	golden.File(t, "testdata/frozen.txt", out.String())
}

// TestHeldTooOrNot holds that a run tells the account of the longest lives as a run of its own does, or does not tell it. Scripts whose names nobody
// knows stand for what traced archives seldom have: containers that are written, objects, branches and loops that depend on data.
func TestHeldTooOrNot(t *testing.T) {
	var not []string
	eachSmall(t, "script", func(name string, p *program.Program, o exec.Options) {
		p.Tells = program.TellsNothing
		o.Liveness, o.HeldToo = exec.PythonFrame, true
		both, err := exec.Run(context.Background(), New(p), builtin.Table(), o)
		require.NoError(t, err)
		if both.Held == nil {
			not = append(not, name)
			return
		}
		o.HoldLocals, o.HeldToo = true, false
		held, err := exec.Run(context.Background(), New(p), builtin.Table(), o)
		require.NoError(t, err)
		require.Equal(t, freesSorted(held.Trace), freesSorted(both.Held), name)
		require.Nil(t, held.Held, "nobody asked for it")
	})
	require.Equal(t, []string{"dict_values", "encoder_layer", "list_comprehension", "list_growth", "list_input", "list_methods", "list_read", "module_dict", "objects",
		"profiler_range", "resample", "script_class", "with_block", "zip_enumerate"}, not)
}

// TestHeldToAnEarlyReturn holds that a function which returns from within a block lets go, in either account, of what it would have held to its end.
func TestHeldToAnEarlyReturn(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	a, err := artifact.Decode(fstest.MapFS{"version": file("3\n"), "constants.pkl": file("\x80\x02)."), "data.pkl": file("\x80\x02c__torch__\nM\n)\x81}(ub."),
		"code/__torch__.py": file(`class M(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    a = (self).first(x, True, )
    b = torch.add(a, 1)
    c = torch.add(b, 1)
    d = torch.add(c, 1)
    e = torch.add(d, 1)
    f = torch.add(e, 1)
    g = torch.add(f, 1)
    return torch.add(g, 1)
  def first(self: __torch__.M, x: Tensor, early: bool) -> Tensor:
    y = torch.add(x, 1)
    if early:
      return torch.add(y, 2)
    else:
      pass
    z = torch.mul(y, y)
    return torch.mul(z, y)
`)})
	require.NoError(t, err)
	a.Program.Tells = program.TellsNothing
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	x := tensor.Meta{DType: tensor.Float32, Sizes: []int64{4}, Strides: []int64{1}, Device: exec.Accelerator}
	o := exec.Options{Inputs: []exec.Input{{Value: x}}, Platform: &none, Liveness: exec.PythonFrame, HeldToo: true}
	both, err := exec.Run(context.Background(), New(a.Program), builtin.Table(), o)
	require.NoError(t, err)
	require.NotNil(t, both.Held)
	o.HoldLocals, o.HeldToo = true, false
	held, err := exec.Run(context.Background(), New(a.Program), builtin.Table(), o)
	require.NoError(t, err)
	require.Equal(t, freesSorted(held.Trace), freesSorted(both.Held))
	require.NotEqual(t, freesSorted(both.Trace), freesSorted(both.Held))
}

// TestSooner holds that ranges which end before those by which a function runs are found, where something may be allocated in between.
func TestSooner(t *testing.T) {
	eachSmall(t, "trace", func(name string, p *program.Program, _ exec.Options) {
		if name != "alias" {
			return
		}
		c := newCompiler(p)
		for _, at := range []struct {
			value  string
			to     int
			sooner bool
		}{{"out0", 1, true}, {"out0", 2, true}, {"out0", 3, false}, {"out", 7, false}, {"out", 6, false}, {"out", 5, true}} {
			code, err := c.ready(p.Entry, p.Root, asTold)
			require.NoError(t, err)
			copied := *code
			i := slices.IndexFunc(code.told, func(r lifetime.Range) bool { return r.Value.Name == at.value })
			require.GreaterOrEqual(t, i, 0, at.value)
			r := code.told[i]
			r.To = at.to
			c.followLongest(&copied, []lifetime.Range{r})
			require.Equal(t, at.sooner, copied.sooner, at)
		}
	})
}

// TestWatch prints the live ranges by which runs of some archives let go of values, in either runtime.
func TestWatch(t *testing.T) {
	_, none := Watch(&program.Program{})
	require.Nil(t, none(), "nothing has run")
	for _, kind := range []string{"script", "trace"} {
		var out bytes.Buffer
		eachSmall(t, kind, func(name string, p *program.Program, o exec.Options) {
			switch name {
			case "alias", "functions", "loop_while", "early_return", "branch", "results_together":
			default:
				return
			}
			for _, l := range []exec.Liveness{exec.PythonFrame, exec.LastUse} {
				o.Liveness = l
				start, ranges := Watch(p)
				_, err := exec.Run(context.Background(), start, builtin.Table(), o)
				require.NoError(t, err)
				fmt.Fprintf(&out, "## %s, %s\n", name, map[exec.Liveness]string{exec.PythonFrame: "eager", exec.LastUse: "torchscript"}[l])
				funcs := ranges()
				for i := range funcs {
					require.NoError(t, lifetime.Check(&funcs[i]), name)
				}
				require.NoError(t, lifetime.Write(&out, funcs))
				out.WriteByte('\n')
			}
		})
		golden.File(t, "testdata/lifetimes."+kind+".txt", out.String())
	}
}

// TestWatchHeld prints the live ranges by which a traced archive is held as long as Python might.
func TestWatchHeld(t *testing.T) {
	var out bytes.Buffer
	eachSmall(t, "trace", func(name string, p *program.Program, o exec.Options) {
		if name != "functions" && name != "results_together" {
			return
		}
		o.Liveness, o.HoldLocals = exec.PythonFrame, true
		start, ranges := Watch(p)
		_, err := exec.Run(context.Background(), start, builtin.Table(), o)
		require.NoError(t, err)
		funcs := ranges()
		for i := range funcs {
			require.NoError(t, lifetime.Check(&funcs[i]), name)
		}
		fmt.Fprintf(&out, "## %s\n", name)
		require.NoError(t, lifetime.Write(&out, funcs))
	})
	golden.File(t, "testdata/lifetimes.held.txt", out.String())
}

// TestFastPathUnderAutocast holds that a trace of an encoder's fast path tells nothing of the live module under autocast, which does not take it; the
// archive itself does.
func TestFastPathUnderAutocast(t *testing.T) {
	eachSmall(t, "trace", func(name string, p *program.Program, o exec.Options) {
		if name != "encoder_layer" {
			return
		}
		under := *o.Platform
		under.Autocast = "float16"
		for _, c := range []struct {
			on   *platform.Platform
			l    exec.Liveness
			want []trace.Reason
		}{{&under, exec.PythonFrame, []trace.Reason{trace.NotUnderAutocast}}, {&under, exec.LastUse, nil}, {o.Platform, exec.PythonFrame, nil}} {
			o.Platform, o.Liveness = c.on, c.l
			tr, err := exec.Run(context.Background(), New(p), builtin.Table(), o)
			require.NoError(t, err)
			var got []trace.Reason
			for i := range tr.Trace.Coverage.Unsupported {
				got = append(got, tr.Trace.Coverage.Unsupported[i].Reason)
			}
			require.Equal(t, c.want, got)
		}
	})
}
