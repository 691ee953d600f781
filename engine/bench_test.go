//go:build unix

package engine_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/platform"
	file "github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

func resnet50(b *testing.B, kind string, rt spec.Runtime) spec.Case {
	d, err := device.Lookup("a10g")
	require.NoError(b, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(b, err)
	in, err := spec.ParseInput("float32[1,3,224,224]")
	require.NoError(b, err)
	return spec.Case{Artifact: "../testdata/artifacts/torchvision/resnet50." + kind + ".pt", Platform: p, Runtime: rt,
		Inputs: []spec.Input{in}}
}

// TestMain has the collector as the command sets it.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(1600)
		debug.SetMemoryLimit(256 << 20)
	}
	os.Exit(m.Run())
}

// each runs f on one core and reports its processor time. Nothing samples allocations, as in the
// command, unless that is asked for.
func each(b *testing.B, f func(b *testing.B)) {
	if flag.Lookup("test.memprofile").Value.String() == "" {
		defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
		runtime.MemProfileRate = 0
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b.ReportAllocs()
	m := newCPUMeter()
	for b.Loop() {
		f(b)
		m.iteration()
	}
	m.report(b)
}

// resnet50 from the file to its report, everything read anew each time.
func BenchmarkResnet50(b *testing.B) {
	for _, kind := range []string{"script", "trace"} {
		for _, rt := range []spec.Runtime{spec.Eager, spec.TorchScript} {
			c := resnet50(b, kind, rt)
			b.Run(kind+"/"+string(rt), func(b *testing.B) {
				each(b, func(b *testing.B) {
					r, err := engine.Estimate(context.Background(), c)
					require.NoError(b, err)
					require.NotZero(b, r.Peak.Allocated)
				})
			})
		}
	}
}

// The steps of BenchmarkResnet50/script/eager: reading the archive (functions are read when they
// are first called, and count to the run), the run of it, whole, and of that the replay and the
// account alone.
func BenchmarkSteps(b *testing.B) {
	ctx := context.Background()
	c := resnet50(b, "script", spec.Eager)
	open := func(b *testing.B) *engine.Model {
		m, err := engine.Open(c.Artifact)
		require.NoError(b, err)
		return m
	}
	m := open(b)
	run, err := m.Run(ctx, c)
	require.NoError(b, err)
	b.Run("open", func(b *testing.B) { each(b, func(b *testing.B) { open(b) }) })
	b.Run("open and run", func(b *testing.B) {
		each(b, func(b *testing.B) {
			_, err := open(b).Run(ctx, c)
			require.NoError(b, err)
		})
	})
	b.Run("run again", func(b *testing.B) {
		each(b, func(b *testing.B) {
			_, err := m.Run(ctx, c)
			require.NoError(b, err)
		})
	})
	b.Run("replay", func(b *testing.B) {
		each(b, func(b *testing.B) {
			a, err := allocator.On(&c.Platform, nil)
			require.NoError(b, err)
			_, err = allocator.Replay(run.Trace, a)
			require.NoError(b, err)
		})
	})
	b.Run("report", func(b *testing.B) {
		each(b, func(*testing.B) { report.Build(report.Source{Platform: &c.Platform, Timeline: run.Timeline}) })
	})
}

// The project's own memspec.yaml, from the file to every verdict, on one core.
func BenchmarkCheck(b *testing.B) {
	each(b, func(b *testing.B) {
		cases, err := spec.Load("../memspec.yaml")
		require.NoError(b, err)
		var models suite.Models
		models.JudgeAll(context.Background(), cases, nil, func(r *suite.Result) { require.NoError(b, r.Err) })
	})
}

// A training step of 10,000 events, from the .rec to its report.
func BenchmarkRecording(b *testing.B) {
	d, err := device.Lookup("t4")
	require.NoError(b, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(b, err)
	rec := testcase.Trained()
	key, at := uint64(1<<40), len(rec.Events)
	for i := range 3333 { // within the last step: most are freed in the order of a stack
		e := file.Event{Action: trace.Alloc, Key: key + uint64(i)<<21, Size: units.Bytes(512 * (1 + i%63)),
			Site: 1 + i%len(rec.Sites)}
		rec.Events = append(rec.Events, e)
		for _, a := range []trace.Action{trace.FreeRequested, trace.FreeCompleted} {
			e.Action = a
			rec.Events = append(rec.Events, e)
		}
	}
	rec.Passes[len(rec.Passes)-1].Events += len(rec.Events) - at
	path := filepath.Join(b.TempDir(), "step.rec")
	f, err := os.Create(path)
	require.NoError(b, err)
	require.NoError(b, rec.Encode(f))
	require.NoError(b, f.Close())
	c := spec.Case{Artifact: path, Platform: p}
	each(b, func(b *testing.B) {
		r, err := engine.Estimate(context.Background(), c)
		require.NoError(b, err)
		require.Len(b, r.Passes, 2)
	})
}
