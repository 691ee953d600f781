package torchscript

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/internal/conformance"
	"github.com/memspec/memspec/engine/internal/golden"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// compareGolden holds text to a file.
func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if golden.Updating() {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "MEMSPEC_UPDATE=1 go test ./engine/exec/torchscript")
}

// eachSmall calls f with the small archives of a kind and the inputs that they were recorded with.
func eachSmall(t *testing.T, kind string, f func(name string, p *program.Program, o exec.Options)) {
	t.Helper()
	const testdata = "../../../testdata"
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	n := 0
	for _, r := range conformance.Read(t, filepath.Join(testdata, "conformance/2.15-fake-cuda")) {
		s := r.Stream(kind + ".torchscript")
		if s == nil || !strings.Contains(s.Artifact, "/small/") {
			continue
		}
		a, err := artifact.Open(filepath.Join(testdata, s.Artifact))
		require.NoError(t, err)
		f(r.Model, a.Program, exec.Options{Inputs: r.ExecInputs(t), Platform: &none, DType: tensor.Undefined})
		n++
	}
	require.Greater(t, n, 30)
}

// TestHeld runs traced archives with every local held that Python might still hold, and prints what the first pass then allocates and frees. The account
// without stands above where the two differ.
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
		fmt.Fprintf(&out, "## %s\n", name)
		a, b := conformance.Events(likely.Trace, 1), conformance.Events(held.Trace, 1)
		if a != b {
			fmt.Fprintf(&out, "%s%s\n", a, b)
		}
	})
	compareGolden(t, "testdata/held.txt", out.String())
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
	compareGolden(t, "testdata/frozen.txt", out.String())
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
		compareGolden(t, "testdata/lifetimes."+kind+".txt", out.String())
	}
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
