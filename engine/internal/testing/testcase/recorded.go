package testcase

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	file "github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// SourceOnly is a memspec.yaml of a training case that has a source and no artifact.
const SourceOnly = `version: 1
models:
  net: {source: "zoo.py:Net.make", device: t4, budget: {allocated: 64MiB}, mode: training, cases: [{optimizer: {name: Adam, fused: true}}]}
`

// Project is a folder with a memspec.yaml and a source.
func Project(t *testing.T, yaml, source string) (dir string, cases []spec.Case) {
	t.Helper()
	dir = t.TempDir()
	Write(t, filepath.Join(dir, "memspec.yaml"), []byte(yaml))
	Write(t, filepath.Join(dir, "zoo.py"), []byte(source))
	cases, err := spec.Load(filepath.Join(dir, "memspec.yaml"))
	require.NoError(t, err)
	return dir, cases
}

// Write writes a file, and makes its folder.
func Write(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// MadeFrom is how an export of zoo.py with one source file was made.
func MadeFrom(path, text string) *file.Made {
	sum := sha256.Sum256([]byte(text))
	return &file.Made{Files: []file.File{{Path: path, SHA256: hex.EncodeToString(sum[:])}},
		Command: []string{"python", "-m", "memshim", "export", "zoo.py:a b"}}
}

// Trained is a recorded training run on a pretend T4: a parameter of 4 MiB, then in each iteration
// an activation, a gradient and, from the first step on, the optimizer's state of 8 MiB. The first
// event of the first iteration and all of a steady step are frees.
func Trained() *file.Recording {
	r := &file.Recording{}
	total, context := units.Bytes(15828320256), units.Bytes(0)
	r.Header = file.Header{Case: "net", Runtime: "eager", Where: file.OnPretend, Built: "source", Mode: "training",
		Torch: "2.15.0+cu130", Device: file.Device{Name: "Tesla T4", Total: &total, ComputeCapability: "7.5", SMs: 40},
		Weights: 4 * units.MiB, Context: &context, Made: &file.Made{},
		Training: &file.Training{Optimizer: "Adam", Arguments: map[string]any{"fused": true}, Loss: "mean",
			Accumulate: 1, Iterations: 3}}
	key := uint64(1 << 32)
	site := func(op string, c tensor.Category) int {
		r.Sites = append(r.Sites, file.Site{Op: op, Module: "net", Category: c})
		return len(r.Sites)
	}
	alloc := func(size units.Bytes, at int) file.Event {
		key += 64 << 20
		e := file.Event{Action: trace.Alloc, Key: key, Size: size, Site: at}
		r.Events = append(r.Events, e)
		return e
	}
	free := func(e file.Event) {
		for _, a := range []trace.Action{trace.FreeRequested, trace.FreeCompleted} {
			e.Action = a
			r.Events = append(r.Events, e)
		}
	}
	end := func(name string, phases ...file.Phase) {
		zero := units.Bytes(0)
		r.Passes = append(r.Passes, file.Pass{Name: name, Allocated: &zero, Reserved: &zero, Active: &zero,
			InactiveSplit: &zero, Events: len(r.Events), Phases: phases})
	}
	alloc(4*units.MiB, site("parameter", tensor.Parameter))
	staged := alloc(1*units.MiB, site("input", tensor.Input))
	end(file.Baseline)
	forward, backward, step := site("aten::relu", tensor.Activation), site("aten::mm",
		tensor.Gradient), site("aten::_fused_adam_", tensor.OptimizerState)
	var gradient file.Event
	for _, name := range []string{file.First, file.Steady, file.Steady} {
		var phases []file.Phase
		begin := func(name string) { phases = append(phases, file.Phase{Name: name, Events: len(r.Events)}) }
		begin("forward")
		if name == file.First {
			free(staged)
		}
		saved := alloc(16*units.MiB, forward)
		begin("backward")
		gradient = alloc(4*units.MiB, backward)
		free(saved)
		begin("step")
		if name == file.First {
			alloc(8*units.MiB, step)
		}
		free(gradient)
		end(name, phases...)
	}
	return r
}

// Keep writes a recording into a file.
func Keep(t *testing.T, r *file.Recording, path string) {
	t.Helper()
	require.NoError(t, r.Check())
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, r.Encode(f))
	require.NoError(t, f.Close())
}

// PassNames are the names of the passes of a report.
func PassNames(r *report.Report) []string {
	var names []string
	for _, p := range r.Passes {
		names = append(names, p.Name)
	}
	return names
}
