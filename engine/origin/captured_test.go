package origin_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/origin"
	file "github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

const linears = "../../testdata/artifacts/small/module_list.script.pt"

// A case with a source alone is predicted from its recording in .memspec; without one, or with one
// of another source, it is inconclusive and says what to do.
func TestASourceIsPredictedFromItsRecording(t *testing.T) {
	const text = "class Net: ...\n"
	dir, cases := testcase.Project(t, testcase.SourceOnly, text)
	c := cases[0]
	yaml := filepath.Join(dir, "memspec.yaml")
	r := suite.Judge(context.Background(), c)
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	var missing *origin.Uncaptured
	require.ErrorAs(t, r.Err, &missing)
	assert.Equal(t, "python -m memshim capture "+layout.ShellQuote(yaml)+" --case net",
		origin.CaptureCommand(missing.Case))
	assert.Equal(t, filepath.Join(dir, ".memspec"), filepath.Dir(missing.Path))
	assert.Equal(t, "INCONCLUSIVE net on t4: got no recording of it ("+missing.Path+"), want the one that this makes: "+
		origin.CaptureCommand(missing.Case), r.Line())

	rec := testcase.Trained()
	rec.Made = nil
	testcase.Keep(t, rec, missing.Path)
	r = suite.Judge(context.Background(), c)
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome, "one that does not state its source's files")
	assert.Contains(t, r.Line(), "the recording does not record what it was made from: its source may have changed "+
		"since the artifact was made; to make it again: "+origin.CaptureCommand(missing.Case))

	rec.Made = testcase.MadeFrom("../zoo.py", text)
	testcase.Keep(t, rec, missing.Path)
	r = suite.Judge(context.Background(), c)
	require.NoError(t, r.Err)
	assert.Equal(t, verdict.Pass, r.Verdict.Outcome, "%v", r.Report.Notes)
	assert.Equal(t, report.Exact, r.Report.Quality)
	assert.Equal(t, "pretend", r.Report.Where)
	assert.Equal(t, "torch 2.15.0+cu130, on a pretend Tesla T4", r.Report.Producer)

	testcase.Write(t, filepath.Join(dir, "zoo.py"), []byte(text+"# grown\n"))
	r = suite.Judge(context.Background(), c)
	require.NoError(t, r.Err)
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	assert.Equal(t, filepath.Join(dir, "zoo.py")+" has changed since the artifact was made; to make it again: "+
		origin.CaptureCommand(missing.Case), r.Report.Notes[0].Text)
	assert.Contains(t, r.Line(), "has changed since the artifact was made")
	c.Allow = []string{string(note.ArtifactStale)}
	assert.Equal(t, verdict.Pass, suite.Judge(context.Background(), c).Verdict.Outcome, "allow: lets it pass")

	c = cases[0]
	training := *c.Training
	c.Training = &training
	c.Training.Optimizer = "SGD"
	assert.NotEqual(t, missing.Path, c.Captured(), "another step has another recording")
	testcase.Keep(t, rec, c.Captured())
	_, err := engine.Estimate(context.Background(), c)
	assert.ErrorContains(t, err,
		`the run was recorded with optimizer Adam {"fused":true}, the case says SGD {"fused":true}`,
		"and one that is not of it is refused")
}

// A training run is reported by iteration and phase, with who holds its peak.
func TestTrainingIsReportedByPhase(t *testing.T) {
	dir, cases := testcase.Project(t, testcase.SourceOnly, "")
	testcase.Keep(t, testcase.Trained(), cases[0].Captured())
	r, err := engine.Estimate(context.Background(), cases[0])
	require.NoError(t, err)
	assert.Equal(t, []string{"first", "steady"}, testcase.PassNames(r), "the steady iterations are one")
	type held map[string]units.Bytes
	want := map[string]held{
		"first forward": {"parameter": 4, "activation": 16}, "first backward": {"parameter": 4, "activation": 16,
			"gradient": 4},
		"first step":      {"parameter": 4, "gradient": 4, "optimizer_state": 8},
		"steady forward":  {"parameter": 4, "activation": 16, "optimizer_state": 8},
		"steady backward": {"parameter": 4, "activation": 16, "gradient": 4, "optimizer_state": 8},
		"steady step":     {"parameter": 4, "gradient": 4, "optimizer_state": 8},
	}
	got := map[string]held{}
	for _, p := range r.Passes {
		for _, ph := range p.Phases {
			h, sum := held{}, units.Bytes(0)
			for _, s := range ph.Held {
				h[s.Category] = s.Bytes / units.MiB
				sum += s.Bytes
			}
			assert.Equal(t, ph.Peak.Allocated, sum, "%s %s: what is held adds up to the peak", p.Name, ph.Name)
			got[p.Name+" "+ph.Name] = h
		}
	}
	assert.Equal(t, want, got)
	assert.Equal(t, 4*units.MiB, r.Weights)
	var text strings.Builder
	r.Artifact = strings.TrimPrefix(r.Artifact, dir)
	require.NoError(t, report.WriteText(&text, r))
	for _, line := range []string{"first iteration", "held at the peak of each phase, steady iteration:",
		"optimizer state", "recording, torch 2.15.0+cu130, on a pretend Tesla T4"} {
		assert.Contains(t, text.String(), line)
	}
}

// Under another size of memory, fraction or allocator the recording is replayed; on another class
// of device it is an estimate.
func TestARecordingIsReplayedUnderOtherSettings(t *testing.T) {
	_, cases := testcase.Project(t, testcase.SourceOnly, "")
	path := cases[0].Captured()
	testcase.Keep(t, testcase.Trained(), path)
	for _, tt := range []struct {
		why  string
		edit func(*spec.Case)
		want report.Quality
		fits bool
	}{
		{"as recorded", func(*spec.Case) {}, report.Exact, true},
		{"less memory", func(c *spec.Case) { c.Platform.Device.Memory = 8 * units.GiB }, report.Exact, true},
		{"too little memory", func(c *spec.Case) { c.Platform.Device.Memory = c.Platform.Device.Context + 24*units.MiB },
			report.Exact, false},
		{"a fraction", func(c *spec.Case) { c.Platform.MemoryFraction = 0.001 }, report.Exact, false},
		{"another allocator", func(c *spec.Case) { c.Platform.AllocConf = "expandable_segments:True" }, report.Exact, true},
		{"another class of device", func(c *spec.Case) { c.Platform.Device.SMs = 46 }, report.Estimated, true},
	} {
		c := cases[0]
		c.Source, c.Artifact = "", path
		tt.edit(&c)
		r, err := engine.Estimate(context.Background(), c)
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, r.Quality, tt.why)
		assert.Equal(t, tt.fits, r.OOM == nil, tt.why)
		assert.Equal(t, tt.want == report.Estimated, r.HasNote(note.OtherDevice), tt.why)
	}
}

// A run that ended where memory ran out ends there again on its device, and is incomplete where
// there is more.
func TestARunThatRanOutOfMemory(t *testing.T) {
	_, cases := testcase.Project(t, testcase.SourceOnly, "")
	rec := testcase.Trained()
	cut := rec.Passes[1].Phases[1].Events
	rec.Passes, rec.OOM = rec.Passes[:1], &file.OutOfMemory{Pass: file.First, Text: "CUDA out of memory."}
	rec.Events = append(rec.Events[:cut:cut], file.Event{Action: trace.OOM, Key: 1, Size: 64 * units.MiB})
	c := cases[0]
	testcase.Keep(t, rec, c.Captured())
	r := suite.Judge(context.Background(), c)
	require.NoError(t, r.Err)
	assert.Equal(t, report.Incomplete, r.Report.Quality)
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	assert.Contains(t, r.Line(), "the recording ends where memory ran out")
	c.Platform.Device.Memory = c.Platform.Device.Context + 48*units.MiB
	r = suite.Judge(context.Background(), c)
	require.NotNil(t, r.Report.OOM)
	assert.Equal(t, 64*units.MiB, r.Report.OOM.Requested)
	assert.Equal(t, verdict.Fail, r.Verdict.Outcome)
}

// What was read and never computed makes the figure an estimate, with the user's line.
func TestAValueThatWasRead(t *testing.T) {
	_, cases := testcase.Project(t, testcase.SourceOnly, "")
	rec := testcase.Trained()
	rec.Notes = []file.Note{{ID: "value-read", Text: "aten::item read 1 value that no kernel computed: 0 was taken",
		File: "train.py", Line: 12}}
	testcase.Keep(t, rec, cases[0].Captured())
	r, err := engine.Estimate(context.Background(), cases[0])
	require.NoError(t, err)
	assert.Equal(t, report.Estimated, r.Quality)
	require.True(t, r.HasNote(note.ValueRead))
	assert.Equal(t, "train.py", r.Notes[0].First.File)
	assert.Equal(t, 12, r.Notes[0].First.Line)
}

// An archive is stale where its sidecar has files that are others now.
func TestAnArchiveWithASidecar(t *testing.T) {
	const text = "x = 1\n"
	dir, _ := testcase.Project(t, testcase.SourceOnly, text)
	archive := filepath.Join(dir, "model.pt")
	data, err := os.ReadFile(linears)
	require.NoError(t, err)
	testcase.Write(t, archive, data)
	sidecar,
		err := json.Marshal(map[string]any{"inputs": []string{"float32[2,32]"}, "made": testcase.MadeFrom("zoo.py", text),
		"released": []int{1}})
	require.NoError(t, err)
	testcase.Write(t, archive+".inputs.json", sidecar)
	c := testcase.On(t, "t4", archive, "float32[2,32]")
	c.Budgets = testcase.AtMost(report.Allocated, units.GiB)
	assert.Equal(t, verdict.Pass, suite.Judge(context.Background(), c).Verdict.Outcome)
	testcase.Write(t, filepath.Join(dir, "zoo.py"), []byte("x = 2\n"))
	r := suite.Judge(context.Background(), c)
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	assert.Equal(t, filepath.Join(dir, "zoo.py")+" has changed since the artifact was made; to make it again: python -m "+
		"memshim export 'zoo.py:a b'", r.Report.Notes[0].Text)

	testcase.Write(t, archive+".inputs.json", []byte(`{"made": {"files": [{"path": "/zoo.py", "sha256": ""}]}}`))
	_, err = engine.Estimate(context.Background(), c)
	assert.ErrorContains(t, err, `model.pt.inputs.json: made: file 0: got path "/zoo.py", want one relative to the folder`)
}

// Without a sidecar the debug records of a scripted archive report: its functions must still be in
// the source.
func TestAScriptedArchiveRecordsItsSource(t *testing.T) {
	m, err := engine.Open(linears)
	require.NoError(t, err)
	g, err := m.Artifact.Program.Entry.Graph()
	require.NoError(t, err)
	require.NotNil(t, g.Source)
	base := filepath.Base(g.Source.File)
	dir := t.TempDir()
	c := testcase.On(t, "t4", linears, "float32[2,32]")
	c.Dir, c.Source, c.Budgets = dir, base+":make", testcase.AtMost(report.Allocated, units.GiB)
	source := filepath.Join(dir, base)
	head := strings.Repeat("# moved down\n", 5)
	judged := func() *suite.Result { return suite.Judge(context.Background(), c) }

	testcase.Write(t, source, []byte(head+strings.ReplaceAll(g.Source.Text, "\n", "\r\n")))
	assert.Equal(t, verdict.Pass, judged().Verdict.Outcome, "where it stands, and how lines end, does not matter")
	lines := strings.SplitAfter(strings.TrimRight(g.Source.Text, "\n"), "\n")
	testcase.Write(t, source, []byte(head+strings.Join(lines[:len(lines)-1], "")+"        x = x + 1\n"+lines[len(lines)-1]+
		"\n"))
	r := judged()
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	assert.Contains(t, r.Line(), source+" no longer has the function that stood at its line ")
	c.Source = strings.TrimSuffix(base, ".py") + ":make"
	assert.Contains(t, judged().Line(), source+" no longer has the function", "named as a module")
	c.Source = "elsewhere.net:make"
	assert.Equal(t, verdict.Pass, judged().Verdict.Outcome, "a module that Python finds elsewhere")
	c.Source = base + ":make"
	require.NoError(t, os.Remove(source))
	assert.Contains(t, judged().Line(), source+" is gone since the artifact was made")
	c.Source = "other/" + c.Source
	assert.Equal(t, verdict.Pass, judged().Verdict.Outcome, "functions of another file say nothing")
}

// What a record does not record is not made up: without categories nothing is called an activation,
// and the weights are the header's.
func TestARecordWithoutCategories(t *testing.T) {
	rec := testcase.Trained()
	for i := range rec.Sites {
		rec.Sites[i].Category = tensor.Activation
	}
	rec.Weights = 4*units.MiB - 4
	path := filepath.Join(t.TempDir(), "a.rec")
	testcase.Keep(t, rec, path)
	c := testcase.On(t, "t4", path)
	r, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	assert.Equal(t, 4*units.MiB-4, r.Weights)
	for _, h := range r.Holders {
		assert.Equal(t, report.Untraced, h.Category)
	}
	assert.Equal(t, []report.Share{{Category: report.Untraced, Bytes: 20 * units.MiB}}, r.Passes[0].Phases[0].Held)
}
