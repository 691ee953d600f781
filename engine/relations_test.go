package engine_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/internal/testing/tracetext"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// run is an archive with the inputs it was recorded with, on a device that takes workspace.
type run struct {
	name string
	m    *engine.Model
	c    spec.Case
}

// everyRun is every recorded archive, once as TorchScript and once eager.
func everyRun(t *testing.T) []run {
	t.Helper()
	d, err := device.Lookup("t4")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	var out []run
	for i, r := range recordings(t) {
		if testing.Short() && i%8 != 0 { // under the race detector a part will do
			continue
		}
		for _, kind := range []string{"script", "trace"} {
			s := r.Stream(kind + ".torchscript")
			if s == nil || s.Artifact == "" {
				continue
			}
			m, err := engine.Open(filepath.Join("..", "testdata", s.Artifact))
			require.NoError(t, err)
			for _, runtime := range []spec.Runtime{spec.TorchScript, spec.Eager} {
				c := spec.Case{Name: r.Model, Artifact: m.Path, Platform: p, Runtime: runtime, Inputs: testcase.Inputs(t, r.Inputs)}
				out = append(out, run{r.Model + "/" + kind + "." + string(runtime), m, c})
			}
		}
	}
	return out
}

// What holds for every run whatever the model: each package's own check, the order of the figures
// at every event, no peak lower than what was asked for at once, a trace that reads back, and the
// same bytes the second time.
func TestInvariants(t *testing.T) {
	for _, r := range everyRun(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			if r.c.Runtime == spec.TorchScript { // once a model
				require.NoError(t, program.Check(r.m.Artifact.Program))
			}
			run, err := r.m.Run(ctx, r.c)
			if err != nil {
				t.Skipf("does not run, and TestConformance says so: %v", err)
			}
			tr, tl := run.Trace, run.Timeline
			require.NoError(t, tr.Validate())

			text := tr.String()
			back, err := tracetext.Parse(strings.NewReader(text))
			require.NoError(t, err)
			assert.Equal(t, text, back.String(), "a trace printed and parsed is itself")

			require.Nil(t, tl.OOM)
			tl.Each(func(i int, s allocator.Stats) bool {
				ok := s.Requested <= s.Active && s.Allocated <= s.Active && s.Active <= s.Reserved
				assert.True(t, ok, "event %d: %+v", i, s)
				return ok
			})
			for _, p := range []allocator.Peak{tl.Peaks.Allocated, tl.Peaks.Reserved} {
				snap, st := tl.At(p.Event)
				var sum allocator.Stats
				for _, seg := range snap.Segments {
					sum.Reserved += seg.Size
					for _, b := range seg.Blocks {
						if b.State == trace.ActiveAllocated {
							sum.Allocated, sum.Requested = sum.Allocated+b.Size, sum.Requested+b.Requested
						}
					}
				}
				got := []units.Bytes{sum.Requested, sum.Allocated, sum.Reserved}
				assert.Equal(t, []units.Bytes{st.Requested, st.Allocated, st.Reserved}, got, "the sums over the blocks")
			}
			var asked, most units.Bytes
			for _, e := range tr.Events {
				switch e.Action {
				case trace.Alloc:
					asked += e.Bytes
				case trace.FreeRequested:
					asked -= e.Bytes
				}
				most = max(most, asked)
			}
			assert.GreaterOrEqual(t, tl.Peaks.Allocated.Bytes, most, "no peak is lower than what was asked for")

			again, err := r.m.Run(ctx, r.c)
			require.NoError(t, err)
			assert.Equal(t, text, again.Trace.String(), "two runs print the same bytes")
		})
	}
}

// Every storage of a convolutional model grows with the batch by the same bytes a sample: size(3) -
// size(2) = size(2) - size(1). Library workspace is left out: a library chooses another plan when
// it likes.
func TestStoragesAreAffineInTheBatch(t *testing.T) {
	d, err := device.Lookup("none")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	for _, name := range []string{"alexnet.script", "resnet50.script", "mobilenet_v3_small.script", "vgg16.trace"} {
		t.Run(name, func(t *testing.T) {
			m, err := engine.Open("../testdata/artifacts/torchvision/" + name + ".pt")
			require.NoError(t, err)
			var events [3][]trace.Event
			for i, input := range []string{"float32[1,3,224,224]", "float32[2,3,224,224]", "float32[3,3,224,224]"} {
				run,
					err := m.Run(context.Background(), spec.Case{Platform: p, Runtime: spec.Eager,
					Inputs: testcase.Inputs(t, []string{input})})
				require.NoError(t, err)
				events[i] = run.Trace.Events
			}
			require.Equal(t, len(events[0]), len(events[1]))
			require.Equal(t, len(events[0]), len(events[2]))
			for i := range events[0] {
				a, b, c := events[0][i], events[1][i], events[2][i]
				if !assert.Equal(t, b.Bytes-a.Bytes, c.Bytes-b.Bytes, "event %d: got %d, %d, %d bytes", i, a.Bytes, b.Bytes,
					c.Bytes) {
					return
				}
			}
		})
	}
}
