package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	file "github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

const (
	linears = "../testdata/artifacts/small/module_list.script.pt"
	bad     = "../testdata/artifacts/bad/"
)

func TestCheckOutcomes(t *testing.T) {
	fits := testcase.On(t, "none", linears, "float32[2,32]")
	r, err := engine.Estimate(context.Background(), fits)
	require.NoError(t, err)
	peak := r.Peak.Allocated
	for _, tt := range []struct {
		name string
		edit func(c *spec.Case)
		want verdict.Outcome
		why  string
	}{
		{"exactly at the limit", func(c *spec.Case) { c.Budgets = testcase.AtMost(report.Allocated, peak) }, verdict.Pass,
			""},
		{"a byte over", func(c *spec.Case) { c.Budgets = testcase.AtMost(report.Allocated, peak-1) }, verdict.Fail, ""},
		{"no budget", func(*spec.Case) {}, verdict.Inconclusive, "nothing passes by accident"},
		{"operator without a rule", func(c *spec.Case) {
			c.Artifact, c.Inputs, c.Budgets = bad+"custom.pt", testcase.Inputs(t, []string{"float32[4,4]"}),
				testcase.AtMost(report.Allocated, units.GiB)
		}, verdict.Inconclusive, "a number that is too small must not pass"},
		{"operator without a rule, allowed", func(c *spec.Case) {
			c.Artifact, c.Inputs, c.Budgets = bad+"custom.pt", testcase.Inputs(t, []string{"float32[4,4]"}),
				testcase.AtMost(report.Allocated, units.GiB)
			c.Allow = []string{"op-missing"}
		}, verdict.Pass, "allow: names the note"},
		{"between the two ends", func(c *spec.Case) {
			c.Artifact, c.Inputs, c.Budgets = bad+"nonzero.pt", testcase.Inputs(t, []string{"float32[1024,1024]"}),
				testcase.AtMost(report.Allocated, 8*units.MiB)
		}, verdict.Inconclusive, "between 4 MiB and 36 MiB the data decides"},
		{"under the lower end", func(c *spec.Case) {
			c.Artifact, c.Inputs, c.Budgets = bad+"nonzero.pt", testcase.Inputs(t, []string{"float32[1024,1024]"}),
				testcase.AtMost(report.Allocated, units.MiB)
		}, verdict.Fail, "the input alone is 4 MiB"},
		{"over the upper end", func(c *spec.Case) {
			c.Artifact, c.Inputs, c.Budgets = bad+"nonzero.pt", testcase.Inputs(t, []string{"float32[1024,1024]"}),
				testcase.AtMost(report.Allocated, units.GiB)
		}, verdict.Pass, ""},
		{"out of memory", func(c *spec.Case) {
			c.Platform.Device.Memory, c.Budgets = units.MiB, testcase.AtMost(report.Allocated, units.GiB)
		}, verdict.Fail, "the budget is met only because the run ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := fits
			tt.edit(&c)
			v, err := engine.Check(context.Background(), c)
			require.NoError(t, err)
			assert.Equal(t, tt.want, v.Outcome, tt.why)
		})
	}
}

func TestCheckErrors(t *testing.T) {
	for _, tt := range []struct {
		want string
		edit func(c *spec.Case)
	}{
		{"absent.pt: no such file or directory", func(c *spec.Case) { c.Artifact = "absent.pt" }},
		{"got no artifact, want one", func(c *spec.Case) { c.Artifact = "" }},
		{"got mode training, want inference", func(c *spec.Case) { c.Mode = spec.Training }},
		{"got runtime export, want eager or torchscript: that is what can be predicted of a TorchScript archive",
			func(c *spec.Case) { c.Runtime = spec.Export }},
		{"alloc_conf: ", func(c *spec.Case) { c.Platform.AllocConf = "max_split_size_mb:1" }},
		{"got input y, want one of x Tensor", func(c *spec.Case) { c.Inputs[0].Name = "y" }},
		{`got dtype "float17"`, func(c *spec.Case) { c.DType = "float17" }},
		{"input float32[B,32]: got dim", func(c *spec.Case) { c.Inputs = open(t, "float32[B,32]") }},
		{"input [float32[2], float32[B]]: got dim", func(c *spec.Case) { c.Inputs = open(t, "[float32[2], float32[B]]") }},
		{"input {a: (float32[B], 2)}: got dim", func(c *spec.Case) { c.Inputs = open(t, "{a: (float32[B], 2)}") }},
		{"got torchscript, want the recorded start of an engine", func(c *spec.Case) {
			c.Program = &spec.Program{Serve: true}
		}},
	} {
		t.Run(tt.want, func(t *testing.T) {
			c := testcase.On(t, "t4", linears, "float32[2,32]")
			tt.edit(&c)
			v, err := engine.Check(context.Background(), c)
			assert.ErrorContains(t, err, tt.want)
			assert.Equal(t, verdict.Error, v.Outcome)
		})
	}
}

// open is an input whose dims have no values.
func open(t *testing.T, text string) []spec.Input {
	t.Helper()
	in, err := spec.ParseInput(text)
	require.NoError(t, err)
	return []spec.Input{in}
}

// Live ranges are those of a program that is run, as it can be run.
func TestLifetimesOfWhatIsNoProgram(t *testing.T) {
	for _, tt := range []struct {
		path, want string
		edit       func(c *spec.Case)
	}{
		{"../testdata/compiled/mlp.t4.pt2", ".pt2: got compiled code, which frees its buffers itself", func(*spec.Case) {}},
		{"recording/testdata/records/small.json", "small.json: got a recorded run, which holds no program",
			func(*spec.Case) {}},
		{linears, "got mode training, want inference", func(c *spec.Case) { c.Mode = spec.Training }},
		{linears, "got runtime compiled, want eager or torchscript", func(c *spec.Case) { c.Runtime = spec.Compiled }},
		{linears, `got dtype "float17"`, func(c *spec.Case) { c.DType = "float17" }},
	} {
		m, err := engine.Open(tt.path)
		require.NoError(t, err)
		c := testcase.On(t, "t4", tt.path, "float32[2,32]")
		tt.edit(&c)
		funcs, err := m.Lifetimes(context.Background(), c, false)
		assert.ErrorContains(t, err, tt.want)
		assert.Empty(t, funcs)
	}
}

// A context takes its part of the device: what is left is the limit.
func TestTheContextCountsAgainstTheDevice(t *testing.T) {
	c := testcase.On(t, "a10g", linears, "float32[2,32]")
	c.Platform.Device.Memory = 4 * units.MiB
	r, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	require.Nil(t, r.OOM)
	require.Nil(t, r.Peak.Total, "what the context takes is not known")

	c.Platform.Device.Context, c.Platform.Device.ContextKnown = 3*units.MiB, true
	r, err = engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	require.NotNil(t, r.OOM, "one segment of 2 MiB is more than the 1 MiB left")
	assert.Equal(t, units.MiB, r.OOM.Limit)
}

// Half precision halves parameters and floating inputs alike; integers stay.
func TestDTypeCastsParametersAndInputs(t *testing.T) {
	c := testcase.On(t, "none", linears, "float32[1024,32]")
	whole, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	c.DType = "float16"
	half, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	assert.Equal(t, whole.Baseline.Requested, 2*half.Baseline.Requested)
	assert.Equal(t, whole.Peak.Requested, 2*half.Peak.Requested)
}

func TestSettingsOfTheAllocatorChangeReserved(t *testing.T) {
	c := testcase.On(t, "t4", "../testdata/artifacts/torchvision/resnet18.script.pt", "float32[8,3,224,224]")
	native, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	c.Platform.AllocConf = "expandable_segments:True"
	expandable, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	assert.Less(t, expandable.Peak.Reserved, native.Peak.Reserved, "segments that grow leave no gaps")
	assert.LessOrEqual(t, expandable.Peak.Allocated, native.Peak.Allocated)
}

// A bug on one artifact is an error of that artifact.
func TestABugIsAnError(t *testing.T) {
	m := &engine.Model{Path: "m.pt"}
	_, err := m.Run(context.Background(), testcase.On(t, "t4", "m.pt"))
	assert.ErrorContains(t, err, "m.pt: internal error: ")
}

func TestJudgeStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := engine.Estimate(ctx, testcase.On(t, "none", bad+"endless.pt", "float32[4,4]"))
	assert.ErrorIs(t, err, context.Canceled)
}

// A case that asks for more than one run is no case of Check: it does not pass by the budgets
// alone.
func TestCheckRefusesWhatAsksForMoreRuns(t *testing.T) {
	for name, edit := range map[string]func(c *spec.Case){
		"fits:":       func(c *spec.Case) { c.Fits = make([]spec.Fit, 1) },
		"regression:": func(c *spec.Case) { c.Regression = []spec.Regression{{Metric: report.Reserved}} },
	} {
		c := testcase.On(t, "none", linears, "float32[2,32]")
		c.Budgets = testcase.AtMost(report.Allocated, units.GiB)
		edit(&c)
		v, err := engine.Check(context.Background(), c)
		assert.EqualError(t, err, "m: got a case with fits: or regression:, want suite.Judge for it", name)
		assert.Equal(t, verdict.Error, v.Outcome, name)
	}
}

// What the sources are compared with is read before anything runs: where it cannot be read, the
// program is not run.
func TestOriginIsReadBeforeTheRun(t *testing.T) {
	c := testcase.On(t, "none", linears, "float32[2,31]") // which the model does not take
	m, err := engine.Open(c.Artifact)
	require.NoError(t, err)
	m.Origin.Made = &file.Made{Files: []file.File{{Path: strings.Repeat("a", 1000), SHA256: strings.Repeat("0a", 32)}}}
	_, err = m.Run(context.Background(), c)
	assert.ErrorContains(t, err, "file name too long")
}
