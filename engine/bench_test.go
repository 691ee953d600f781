package engine_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/spec"
)

// resnet50 from the file to its report, everything read anew each time.
func BenchmarkResnet50(b *testing.B) {
	d, err := device.Lookup("a10g")
	require.NoError(b, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(b, err)
	in, err := spec.ParseInput("float32[1,3,224,224]")
	require.NoError(b, err)
	c := spec.Case{Artifact: "../testdata/artifacts/torchvision/resnet50.script.pt", Platform: p, Runtime: spec.Eager, Inputs: []spec.Input{in}}
	b.ReportAllocs()
	for b.Loop() {
		r, err := engine.Estimate(context.Background(), c)
		require.NoError(b, err)
		require.NotZero(b, r.Peak.Allocated)
	}
}

// The project's own memspec.yaml, from the file to every verdict, on one core.
func BenchmarkCheck(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b.ReportAllocs()
	for b.Loop() {
		cases, err := spec.Load("../memspec.yaml")
		require.NoError(b, err)
		var models engine.Models
		models.JudgeAll(context.Background(), cases, nil, func(r *engine.Result) { require.NoError(b, r.Err) })
	}
}
