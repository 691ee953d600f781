package torchscript

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
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
func eachArchive(t *testing.T, kind string, takes func(file string) bool, f func(name string, p *program.Program,
	o exec.Options)) (n int) {
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

// TestHeld runs traced archives with every local held that Python might still hold, and prints what
// the first pass then allocates and frees. The account without stands above where the two differ.
func TestHeld(t *testing.T) {
	var out strings.Builder
	eachSmall(t, "trace", func(name string, p *program.Program, o exec.Options) {
		o.Liveness = exec.PythonFrame
		start := New(p)
		likely, err := exec.Run(context.Background(), start, builtin.Table(), o)
		require.NoError(t, err)
		o.HoldLocals = true
		held, err := exec.Run(context.Background(), start, builtin.Table(), o)
		require.NoError(t, err)
		fresh, err := exec.Run(context.Background(), New(p), builtin.Table(), o)
		require.NoError(t, err)
		require.Equal(t, fresh.Trace, held.Trace, "%s: what an earlier run read", name)
		require.NotEmpty(t, held.Trace.Notes, name)
		require.Equal(t, likely.Trace.Notes[0].Note, held.Trace.Notes[0].Note, name)
		o.Liveness = exec.LastUse // which has no names that could hold anything
		inHeld, err := exec.Run(context.Background(), start, builtin.Table(), o)
		require.NoError(t, err)
		o.HoldLocals = false
		inlined, err := exec.Run(context.Background(), start, builtin.Table(), o)
		require.NoError(t, err)
		require.Equal(t, inlined.Trace, inHeld.Trace, name)
		fmt.Fprintf(&out, "## %s\n", name)
		a, b := conformance.Events(likely.Trace, 1), conformance.Events(held.Trace, 1)
		if a != b {
			fmt.Fprintf(&out, "%s%s\n", a, b)
		}
	})
	golden.File(t, "testdata/held.txt", out.String())
}

// TestHeldFrozen holds that what a frozen archive makes is held to the end: it is one function
// without frames and names. A small traced one of one function stands for it.
func TestHeldFrozen(t *testing.T) {
	var out strings.Builder
	eachSmall(t, "trace", func(name string, p *program.Program, o exec.Options) {
		if name != "addmm" {
			return
		}
		p.Records = program.RecordsNothing
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

// TestHeldToAnEarlyReturn: a function that returns from within a block frees what it would have
// held to its end.
func TestHeldToAnEarlyReturn(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	a, err := artifact.Decode(fstest.MapFS{"version": file("3\n"), "constants.pkl": file("\x80\x02)."),
		"data.pkl": file("\x80\x02c__torch__\nM\n)\x81}(ub."),
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
	a.Program.Records = program.RecordsNothing
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	x := tensor.Meta{DType: tensor.Float32, Sizes: []int64{4}, Strides: []int64{1}, Device: exec.Accelerator}
	o := exec.Options{Inputs: []exec.Input{{Value: x}}, Platform: &none, Liveness: exec.PythonFrame}
	likely, err := exec.Run(context.Background(), New(a.Program), builtin.Table(), o)
	require.NoError(t, err)
	o.HoldLocals = true
	held, err := exec.Run(context.Background(), New(a.Program), builtin.Table(), o)
	require.NoError(t, err)
	require.NotEqual(t, conformance.Events(likely.Trace, 1), conformance.Events(held.Trace, 1))
	require.Equal(t, "+0:add@14=16 +1:add@16=16 -0 +2:add@6=16 +3:add@7=16 +4:add@8=16 +5:add@9=16 +6:add@10=16 "+
		"+7:add@11=16 "+
		"+8:add@12=16 -1 -2 -3 -4 -5 -6 -7\n", conformance.Events(held.Trace, 1))
}

// TestWatch prints the live ranges by which runs of some archives released values, in either
// runtime.
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
				fmt.Fprintf(&out, "## %s, %s\n", name, map[exec.Liveness]string{exec.PythonFrame: "eager",
					exec.LastUse: "torchscript"}[l])
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

// TestFastPathUnderAutocast holds that a trace of an encoder's fast path records nothing of the
// live module under autocast, which does not take it; the archive itself does.
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
		}{{&under, exec.PythonFrame, []trace.Reason{trace.NotUnderAutocast}}, {&under, exec.LastUse, nil},
			{o.Platform, exec.PythonFrame, nil}} {
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
