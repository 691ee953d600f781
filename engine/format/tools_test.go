package format_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// ran are the cases of a memspec.yaml with their timelines; artifacts lie in testdata/artifacts.
func ran(t testing.TB, yaml string) []*format.Case {
	t.Helper()
	parsed, err := spec.Parse("../../testdata/artifacts/memspec.yaml", []byte(yaml))
	require.NoError(t, err)
	var out []*format.Case
	for _, c := range parsed {
		r := suite.Judge(context.Background(), c)
		require.NoError(t, r.Err)
		k := format.Judged(c.Name, c.Pos, r.Report, r.Verdict)
		k.Line = r.Line()
		k.Timeline = r.Run.Timeline
		out = append(out, k)
	}
	return out
}

// settingsCases run one model under the settings that change what the device gives and takes back.
const settingsCases = `version: 1
defaults: {device: small, runtime: eager}
devices:
  small: {memory: 1GiB, compute_capability: 8.6, sms: 20, context: 100MiB}
  tight: {memory: 264MiB, compute_capability: 8.6, sms: 20, context: 100MiB}
  tiny: {memory: 120MiB, compute_capability: 8.6, sms: 20, context: 100MiB}
models:
  default: {artifact: torchvision/mobilenet_v3_small.script.pt, inputs: ["float32[4,3,224,224]"], budget: {allocated: 1GiB}}
  torchscript: {artifact: torchvision/mobilenet_v3_small.script.pt, runtime: torchscript, inputs: ["float32[4,3,224,224]"], budget: {allocated: 1GiB}}
  expandable: {artifact: torchvision/mobilenet_v3_small.script.pt, alloc_conf: "expandable_segments:True", inputs: ["float32[4,3,224,224]"], budget: {allocated: 1GiB}}
  split: {artifact: torchvision/resnet18.script.pt, alloc_conf: "max_split_size_mb:21", inputs: ["float32[16,3,224,224]"], budget: {allocated: 1GiB}}
  roundup: {artifact: torchvision/resnet18.script.pt, alloc_conf: "roundup_power2_divisions:8", inputs: ["float32[16,3,224,224]"], budget: {allocated: 1GiB}}
  retries: {artifact: torchvision/resnet18.script.pt, device: tight, inputs: ["float32[16,3,224,224]"], budget: {allocated: 1GiB}}
  does-not-fit: {artifact: torchvision/mobilenet_v3_small.script.pt, device: tiny, inputs: ["float32[8,3,224,224]"], budget: {allocated: 1GiB}}
`

// What is written as a snapshot and replayed as one gives the same addresses and the same peaks.
func TestSnapshotReplays(t *testing.T) {
	seen := map[trace.Action]int{}
	retries := 0
	for _, c := range ran(t, settingsCases) {
		t.Run(c.Name, func(t *testing.T) {
			data := write(t, named(t, "snapshot"), format.Options{}, c)
			devices, err := allocator.ReplaySnapshot(data)
			require.NoError(t, err)
			require.Len(t, devices, 1)
			d := devices[0]
			assert.True(t, d.Agrees(), "%d of %d addresses, first %+v, %+v", d.AddressMatch, d.Allocs, d.FirstMismatch, d.Peaks)
			p := c.Timeline.Peaks
			assert.Equal(t, allocator.PeakSizes{Requested: p.Requested.Bytes, Allocated: p.Allocated.Bytes,
				Active: p.Active.Bytes, Reserved: p.Reserved.Bytes}, d.Peaks.Simulated)
			assert.Equal(t, 0, d.Skipped)
			recs, err := trace.ReadSnapshot(data)
			require.NoError(t, err)
			for _, e := range recs[0].Trace.Events {
				seen[e.Action]++
			}
			end, _ := c.Timeline.At(len(c.Timeline.Trace.Events) - 1)
			assert.Len(t, recs[0].Final, len(end.Segments))
			retries += c.Timeline.End.Retries
		})
	}
	for _, a := range []trace.Action{trace.Alloc, trace.FreeRequested, trace.FreeCompleted, trace.SegmentAlloc,
		trace.SegmentFree, trace.SegmentMap, trace.OOM} {
		assert.Positive(t, seen[a], "no case shows %s", a)
	}
	assert.Positive(t, retries)
}

func TestPprofIsRead(t *testing.T) {
	c := ran(t, settingsCases)[0]
	path := filepath.Join(t.TempDir(), "peak.pb.gz")
	require.NoError(t, os.WriteFile(path, write(t, named(t, "pprof"), format.Options{}, c), 0o600))
	// Go compiles it where it is asked for first, and keeps it
	tool, err := exec.Command("go", "tool", "-n", "pprof").Output()
	require.NoError(t, err)
	top := func(args ...string) string {
		var stderr bytes.Buffer
		cmd := exec.Command(strings.TrimSpace(string(tool)),
			append(append([]string{"-top", "-unit=B", "-nodecount=8"}, args...), path)...)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s", &stderr)
		return strings.Join(strings.Fields(string(out)), " ")
	}
	assert.Contains(t, top(), "of "+c.Report.Peak.Allocated.Exact()[:len(c.Report.Peak.Allocated.Exact())-2]+"B total",
		"every byte of the peak")
	assert.Contains(t, top("-sample_index=requested"), "Type: requested")
	assert.Contains(t, top("-cum"), " features", "modules are on the stack")
	assert.Contains(t, top("-lines"), "torchvision/models/mobilenetv3.py:112", "the model's own lines")
	assert.NotContains(t, top("-tagfocus=category=workspace"), "classifier.3.weight")
}

// The counters end at the run's peaks, and every slice lies within the one above it.
func TestPerfetto(t *testing.T) {
	c := ran(t, settingsCases)[0]
	var doc struct {
		TraceEvents []struct {
			Ph, Name string
			TID      int `json:"tid"`
			TS, Dur  int
			Args     map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(write(t, named(t, "perfetto"), format.Options{}, c), &doc))
	var allocated, reserved units.Bytes
	type slice struct{ begin, end int }
	var stack []slice
	slices, deepest := 0, 0
	for _, e := range doc.TraceEvents {
		switch e.Ph {
		case "C":
			allocated = max(allocated, units.Bytes(e.Args["allocated"].(float64)))
			reserved = max(reserved, units.Bytes(e.Args["reserved"].(float64)))
		case "X":
			s := slice{e.TS, e.TS + e.Dur}
			for len(stack) > 0 && stack[len(stack)-1].end <= s.begin {
				stack = stack[:len(stack)-1]
			}
			if len(stack) > 0 {
				require.LessOrEqual(t, s.end, stack[len(stack)-1].end, "%s at %d", e.Name, e.TS)
			}
			stack = append(stack, s)
			slices++
			deepest = max(deepest, len(stack))
		}
	}
	assert.Equal(t, c.Report.Peak.Allocated, allocated)
	assert.Equal(t, c.Report.Peak.Reserved, reserved)
	assert.Greater(t, slices, 100)
	assert.GreaterOrEqual(t, deepest, 5, "phase, modules, operator")
}
