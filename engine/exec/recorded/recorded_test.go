package recorded_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec/recorded"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	file "github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

const (
	snapshots = "../../../testdata/snapshots/"
	records   = "../../recording/testdata/records/"
)

// A memory snapshot is checked like any artifact: its events are replayed on the case's device, and
// what it does not record is not made up.
func TestASnapshotIsAnArtifact(t *testing.T) {
	c := testcase.On(t, "a10g", snapshots+"good.pickle")
	c.Budgets = append(testcase.AtMost(report.Reserved, 2*units.MiB), testcase.AtMost(report.Weights, units.GiB)...)
	r := suite.Judge(context.Background(), c)
	require.NoError(t, r.Err)
	rep := r.Report
	assert.Equal(t, 2048*units.Bytes(1), rep.Peak.Allocated, "1024, 512 and 512 B; what comes after takes the place of "+
		"one that was freed")
	assert.Equal(t, 2*units.MiB, rep.Peak.Reserved)
	assert.Equal(t, report.Run{Artifact: c.Artifact, Format: "snapshot", Producer: "torch.cuda.memory._dump_snapshot",
		Runtime: "recorded", Mode: "recorded",
		Device: "a10g", Torch: "2.15", Inputs: []string{}}, rep.Run)
	assert.Equal(t, report.Estimated, rep.Quality, "nobody says on which device it was recorded")
	assert.True(t, rep.HasNote(note.OtherDevice))
	assert.Equal(t, []string{"recorded"}, testcase.PassNames(rep))
	_, known := rep.Value(report.Weights)
	assert.False(t, known, "which blocks are weights, a snapshot does not say")
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome, "so that a budget on them does not pass")
	assert.Contains(t, r.Verdict.Findings[0].Why, "allow: [other-device] states that it was the case's")
	c.Allow = []string{string(note.OtherDevice)}
	assert.Equal(t, verdict.Pass, suite.Judge(context.Background(), c).Verdict.Findings[0].Outcome)

	c.Inputs = testcase.Inputs(t, []string{"float32[1]"})
	_, err := engine.Estimate(context.Background(), c)
	assert.EqualError(t, err, snapshots+"good.pickle: the run was recorded with inputs that a memory snapshot does not "+
		"record, the case says float32[1]")
}

// A recording says what was run on what: on the same device it is exact, elsewhere an estimate, and
// a case that says otherwise is an error.
func TestARecordingIsAnArtifact(t *testing.T) {
	record := records + "small.json"
	c := testcase.On(t, "rtx-3090", record)
	c.Platform.Device.Memory = 23569891328
	r, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	assert.Equal(t, "recording", r.Format)
	assert.Equal(t, "eager", r.Runtime)
	assert.Equal(t, []string{"first", "steady"}, testcase.PassNames(r))
	assert.Equal(t, report.Exact, r.Quality, "%v", r.Notes)
	assert.NotEmpty(t, r.Inputs, "the recording's own")
	assert.NotZero(t, r.Weights)

	c.Platform.Device.ComputeCapability = device.Capability{Major: 9}
	r, err = engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	assert.Equal(t, report.Estimated, r.Quality)
	require.True(t, r.HasNote(note.OtherDevice))
	assert.Contains(t, r.Notes[0].Text, "(compute capability 8.6), the case is on rtx-3090 (9.0); to record it for the "+
		"case: ")
	assert.True(t, r.Notes[0].Undecided)
	c.Budgets = []verdict.Budget{{Metric: report.Allocated, Limit: units.GiB}}
	v, err := engine.Check(context.Background(), c)
	require.NoError(t, err)
	assert.Equal(t, verdict.Inconclusive, v.Outcome)
	assert.Equal(t, []string{r.Notes[0].Text}, v.Why)
	c.Allow = []string{string(note.OtherDevice)}
	v, err = engine.Check(context.Background(), c)
	require.NoError(t, err)
	assert.Equal(t, verdict.Pass, v.Outcome)
	c.Budgets, c.Allow = nil, nil

	for _, tt := range []struct {
		want string
		edit func(*spec.Case)
	}{
		{"the run was recorded with inputs ", func(c *spec.Case) { c.Inputs = testcase.Inputs(t, []string{"float32[7]"}) }},
		{"the run was recorded with dtype none, the case says float16", func(c *spec.Case) { c.DType = "float16" }},
		{"the run was recorded with autocast none, the case says bfloat16", func(c *spec.Case) {
			c.Platform.Autocast = "bfloat16"
		}},
		{"the run was recorded with benchmark off, the case says on", func(c *spec.Case) { c.Platform.Benchmark = true }},
		{"got runtime torchscript, want eager: that is what was recorded", func(c *spec.Case) {
			c.Runtime = spec.TorchScript
		}},
		{"got mode training, want inference: that is what was recorded", func(c *spec.Case) { c.Mode = spec.Training }},
	} {
		c := testcase.On(t, "rtx-3090", record)
		tt.edit(&c)
		_, err := engine.Estimate(context.Background(), c)
		assert.ErrorContains(t, err, tt.want)
	}
}

// A recording made with inputs by position serves a case that names them, and the other way round;
// order, dtype, sizes and given names count.
func TestInputsByPositionAndByName(t *testing.T) {
	for _, tt := range []struct {
		recorded, inputs []string
		same             bool
	}{
		{[]string{"float32[8,64]"}, []string{"input=float32[8,64]"}, true},
		{[]string{"input=float32[8,64]"}, []string{"float32[8,64]"}, true},
		{[]string{"float32[8,64]", "mask=bool[8]"}, []string{"x=float32[8,64]", "mask=bool[8]"}, true},
		{[]string{"float32[8,64]"}, []string{"x=float32[8,65]"}, false},
		{[]string{"float32[8,64]"}, []string{"x=float16[8,64]"}, false},
		{[]string{"bool[8]", "float32[8,64]"}, []string{"x=float32[8,64]", "mask=bool[8]"}, false},
		{[]string{"float32[8,64]"}, []string{"x=float32[8,64]", "mask=bool[8]"}, false},
		{[]string{"x=float32[8,64]"}, []string{"y=float32[8,64]"}, false},
	} {
		rec := testcase.Trained()
		rec.Inputs = tt.recorded
		path := filepath.Join(t.TempDir(), "a.rec")
		testcase.Keep(t, rec, path)
		_, err := engine.Estimate(context.Background(), testcase.On(t, "t4", path, tt.inputs...))
		if tt.same {
			assert.NoError(t, err, "%q for %q", tt.recorded, tt.inputs)
		} else {
			assert.ErrorContains(t, err, "the run was recorded with inputs ", "%q for %q", tt.recorded, tt.inputs)
		}
	}
}

// A recorded run holds no program to be walked through.
func TestARecordedRunHasNoOperators(t *testing.T) {
	m, err := engine.Open(snapshots + "good.pickle")
	require.NoError(t, err)
	_, err = m.Program()
	assert.EqualError(t, err, "got a recorded run, which holds no program")
}

// Snapshots of real GPUs give the peaks that replaying them gives, but where the recording says of
// segments that went back to the device: the same allocator without that knowledge has other blocks
// to choose from, and reserves no less.
func TestSnapshotsOfRealGPUs(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "shared", "corpus", "snapshots", "*.p*k*"))
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("no corpus beside the repository")
	}
	none, err := device.Lookup("none")
	require.NoError(t, err)
	ran := 0
	for _, path := range paths {
		m, err := engine.Open(path)
		if err != nil {
			assert.Regexp(t, "events of the devices|in which nothing was recorded", err.Error())
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), func(t *testing.T) {
			rec := m.Artifact.Recorded
			require.NoError(t, rec.Trace.Validate())
			p, err := platform.New(none, platform.Newest())
			require.NoError(t, err)
			p.AllocConf = rec.Settings.Text
			run, err := m.Run(context.Background(), spec.Case{Platform: p})
			if err != nil {
				t.Skipf("settings of another release: %v", err)
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			all, err := allocator.ReplaySnapshot(data)
			require.NoError(t, err)
			want := all[0].Peaks.Simulated
			got := run.Report.Peak
			assert.Equal(t, want.Requested, got.Requested)
			if given(rec.Trace) {
				assert.GreaterOrEqual(t, got.Reserved, want.Reserved)
			} else {
				assert.Equal(t, [3]units.Bytes{want.Allocated, want.Active, want.Reserved},
					[3]units.Bytes{got.Allocated, got.Active, got.Reserved})
			}
			var held units.Bytes
			for _, h := range run.Report.Holders {
				held += h.Flat
			}
			assert.Equal(t, got.Allocated, held, "what holds the peak adds up to it")
			ran++
		})
	}
	assert.GreaterOrEqual(t, ran, 10)
}

// given says whether a recording says of memory that went back to the device.
func given(tr *trace.Trace) bool {
	for i := range tr.Events {
		if a := tr.Events[i].Action; a == trace.SegmentFree || a == trace.SegmentUnmap {
			return true
		}
	}
	return false
}

// A program's recording (memshim run) begins with nothing: its weights are those that it holds at
// the peak, where categories are known, and its mode is its own where no optimizer stepped. Without
// modules it is shown by line.
func TestAProgramsRecording(t *testing.T) {
	program := func(edit func(*file.Recording)) (*report.Report, string) {
		rec := testcase.Trained()
		rec.Built, rec.Weights, rec.Training, rec.Passes[0].Events = "a program", 0, nil, 0
		rec.Frames, rec.Stacks = []file.Frame{{File: "train.py", Line: 7, Function: "main"}}, [][]int{{0}}
		for i := range rec.Sites {
			rec.Sites[i].Stack = 1
		}
		edit(rec)
		path := filepath.Join(t.TempDir(), "a.rec")
		testcase.Keep(t, rec, path)
		r, err := engine.Estimate(context.Background(), testcase.On(t, "t4", path))
		require.NoError(t, err)
		var text bytes.Buffer
		require.NoError(t, report.WriteText(&text, r))
		return r, text.String()
	}

	r, text := program(func(*file.Recording) {})
	w, known := r.Value(report.Weights)
	assert.True(t, known && w == 4*units.MiB, "got weights %s", w)
	assert.Contains(t, text, "eager, training")
	assert.NotContains(t, text, "baseline")
	assert.NotContains(t, text, "delta")
	assert.Contains(t, text, "cum  module")

	r, text = program(func(rec *file.Recording) {
		rec.Mode = "program"
		for i := range rec.Sites {
			rec.Sites[i].Module, rec.Sites[i].Category = "", tensor.Untraced
		}
	})
	_, known = r.Value(report.Weights)
	assert.False(t, known)
	assert.True(t, r.Program)
	assert.Contains(t, text, "eager, program")
	assert.NotContains(t, text, "weights")
	assert.Contains(t, text, "cum  line")
	assert.Regexp(t, `train\.py:7 +untraced`, text)
	assert.Equal(t, report.ByLine, report.DefaultBy(r.Holders))
}

// TestTraceOfACutRun: what a run that ended out of memory does not record is missing on a device
// that it fits; a dim that varies in the real run and did not in the recorded one is noted.
func TestTraceOfACutRun(t *testing.T) {
	sizes := map[string][]int64{"same": {2, 2}, "other": {2, 3}}
	rec := &artifact.Recorded{Recording: &trace.Recording{Trace: &trace.Trace{}},
		Header: &file.Header{OOM: &file.OutOfMemory{Pass: "steady"}, Lengths: sizes}}
	tr, err := recorded.Trace(rec, &spec.Case{Varies: []string{"same", "other", "none"}})
	require.NoError(t, err)
	assert.Equal(t, []trace.Unsupported{{Reason: trace.CutShort, Detail: "steady", Count: 1}}, tr.Coverage.Unsupported)
	var varies []string
	for _, n := range tr.Notes {
		if n.ID == note.FixedLengths {
			varies = append(varies, n.Subject)
			assert.Equal(t, trace.NoSite, n.Site)
		}
	}
	assert.Equal(t, []string{"same", "none"}, varies)
	assert.Empty(t, rec.Trace.Notes, "the events are shared, and stay as they are")
	rec.Header = nil
	tr, err = recorded.Trace(rec, &spec.Case{Varies: []string{"same"}})
	require.NoError(t, err)
	assert.Empty(t, tr.Coverage.Unsupported)
	assert.Equal(t, note.FixedLengths, tr.Notes[0].ID)
}
