package suite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

const programSpec = `version: 1
defaults: {mode: training, optimizer: AdamW, autocast: bfloat16, device: t4}
models:
  pretrain:
    program: zoo.py
    args: [--depth, 3]
    env: {WIDTH: "8", GONE: null}
    budget: {allocated: 64MiB}
    cases:
      - {name: small}
      - {name: large, args: [--batch, 2], env: {WIDTH: 16}, cwd: runs}
`

// recordedProgram is a recorded run of zoo.py as a program.
func recordedProgram(text string) *recording.Recording {
	rec := testcase.Trained()
	rec.Built, rec.Training, rec.Weights = "a program", nil, 0
	rec.Made = testcase.MadeFrom("../zoo.py", text)
	return rec
}

// A program's words are the model's and then the case's; of its variables the case's count. What
// defaults: say of models that are built is not the program's.
func TestACaseOfAProgram(t *testing.T) {
	_, cases := testcase.Project(t, programSpec, "")
	assert.Equal(t, &spec.Program{File: "zoo.py", Args: []string{"--depth", "3"},
		Env: []spec.Variable{{Name: "GONE", Unset: true}, {Name: "WIDTH", Value: "8"}}},
		cases[0].Program)
	assert.Equal(t, &spec.Program{File: "zoo.py", Args: []string{"--depth", "3", "--batch", "2"}, Cwd: "runs",
		Env: []spec.Variable{{Name: "GONE", Unset: true}, {Name: "WIDTH", Value: "16"}}}, cases[1].Program)
	assert.NotEqual(t, cases[0].Captured(), cases[1].Captured())
	assert.Equal(t, spec.ByProgram, cases[0].Mode)
	assert.Nil(t, cases[0].Training)
	assert.Empty(t, cases[0].Platform.Autocast)
}

// A case of a program is predicted from its recording, which is stale as soon as anything that the
// run read has changed; a variable that the case itself sets is not the caller's.
func TestAProgramIsPredictedFromItsRecording(t *testing.T) {
	dir, cases := testcase.Project(t, programSpec, "run()\n")
	c := cases[0]
	judge := func() *suite.Result {
		return suite.New([]string{"WIDTH=4", "GONE=1", "DEPTH=2"}).Judge(context.Background(), c)
	}
	var missing *origin.Uncaptured
	require.ErrorAs(t, judge().Err, &missing)
	assert.Equal(t, verdict.Inconclusive, judge().Verdict.Outcome)
	assert.Contains(t, origin.CaptureCommand(missing.Case), "python -m memshim capture ")
	assert.Contains(t, origin.CaptureCommand(missing.Case), " --case small")

	rec := recordedProgram("run()\n")
	rec.Made.Variables = map[string]string{"WIDTH": recording.HashVariable("WIDTH", "8"), "GONE": "",
		"DEPTH": recording.HashVariable("DEPTH", "2")}
	testcase.Keep(t, rec, c.Captured())
	r := judge()
	require.NoError(t, r.Err)
	assert.Equal(t, verdict.Pass, r.Verdict.Outcome, "%v", r.Verdict.Why)
	assert.True(t, r.Report.Program)
	assert.Equal(t, "training", r.Report.Mode, "as it was recorded")
	assert.Equal(t, "memspec explain --case small "+filepath.Join(dir, "memspec.yaml"), suite.ExplainCommand(r.Case))

	rec.Made.Variables["DEPTH"] = recording.HashVariable("DEPTH", "3")
	testcase.Keep(t, rec, c.Captured())
	assert.Contains(t, judge().Line(), "variable DEPTH has changed")
	delete(rec.Made.Variables, "DEPTH")
	testcase.Keep(t, rec, c.Captured())
	testcase.Write(t, filepath.Join(dir, "zoo.py"), []byte("run(2)\n"))
	assert.Contains(t, judge().Line(), "zoo.py has changed since the artifact was made")
	assert.Equal(t, verdict.Inconclusive, judge().Verdict.Outcome)
}

// A program runs under its own allocator's settings: they count where the case states none.
func TestAProgramsAllocatorSettings(t *testing.T) {
	_, cases := testcase.Project(t, programSpec, "run()\n")
	c := cases[0]
	rec := recordedProgram("run()\n")
	rec.Events[0].Size = 12 * units.MiB // a segment for itself, or part of 20 MiB
	testcase.Keep(t, rec, c.Captured())
	segments := suite.Judge(context.Background(), c).Report
	rec.AllocConf = "expandable_segments:True"
	testcase.Keep(t, rec, c.Captured())
	expandable := suite.Judge(context.Background(), c).Report
	assert.Equal(t, "expandable_segments:True", expandable.AllocConf)
	assert.Equal(t, []units.Bytes{50 * units.MiB, 42 * units.MiB}, reservedOf(segments, expandable))
	c.Platform.AllocConf = "max_split_size_mb:64"
	assert.Equal(t, "max_split_size_mb:64", suite.Judge(context.Background(), c).Report.AllocConf, "what the case states")
}

func reservedOf(reports ...*report.Report) []units.Bytes {
	var out []units.Bytes
	for _, r := range reports {
		out = append(out, r.Peak.Reserved)
	}
	return out
}
