package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

const (
	linears = "../testdata/artifacts/small/module_list.script.pt"
	bad     = "../testdata/artifacts/bad/"
)

// caseOn is a case without budgets.
func caseOn(t testing.TB, name, artifact string, inputs ...string) spec.Case {
	t.Helper()
	d, err := device.Lookup(name)
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	return spec.Case{Name: "m", Artifact: artifact, Platform: p, Inputs: parseInputs(t, inputs)}
}

func atMost(m report.Metric, limit units.Bytes) []verdict.Budget {
	return []verdict.Budget{{Metric: m, Limit: limit}}
}

func TestCheckOutcomes(t *testing.T) {
	fits := caseOn(t, "none", linears, "float32[2,32]")
	r, err := engine.Estimate(context.Background(), fits)
	require.NoError(t, err)
	peak := r.Peak.Allocated
	for _, tt := range []struct {
		name string
		edit func(c *spec.Case)
		want verdict.Outcome
		why  string
	}{
		{"exactly at the limit", func(c *spec.Case) { c.Budgets = atMost(report.Allocated, peak) }, verdict.Pass, ""},
		{"a byte over", func(c *spec.Case) { c.Budgets = atMost(report.Allocated, peak-1) }, verdict.Fail, ""},
		{"no budget", func(*spec.Case) {}, verdict.Inconclusive, "nothing passes by accident"},
		{"operator without a rule", func(c *spec.Case) {
			c.Artifact, c.Inputs, c.Budgets = bad+"custom.pt", parseInputs(t, []string{"float32[4,4]"}), atMost(report.Allocated, units.GiB)
		}, verdict.Inconclusive, "a number that is too small must not pass"},
		{"operator without a rule, allowed", func(c *spec.Case) {
			c.Artifact, c.Inputs, c.Budgets = bad+"custom.pt", parseInputs(t, []string{"float32[4,4]"}), atMost(report.Allocated, units.GiB)
			c.Allow = []string{"op-missing"}
		}, verdict.Pass, "allow: names the note"},
		{"between the two ends", func(c *spec.Case) {
			c.Artifact, c.Inputs, c.Budgets = bad+"nonzero.pt", parseInputs(t, []string{"float32[1024,1024]"}), atMost(report.Allocated, 8*units.MiB)
		}, verdict.Inconclusive, "between 4 MiB and 36 MiB the data decides"},
		{"under the lower end", func(c *spec.Case) {
			c.Artifact, c.Inputs, c.Budgets = bad+"nonzero.pt", parseInputs(t, []string{"float32[1024,1024]"}), atMost(report.Allocated, units.MiB)
		}, verdict.Fail, "the input alone is 4 MiB"},
		{"over the upper end", func(c *spec.Case) {
			c.Artifact, c.Inputs, c.Budgets = bad+"nonzero.pt", parseInputs(t, []string{"float32[1024,1024]"}), atMost(report.Allocated, units.GiB)
		}, verdict.Pass, ""},
		{"out of memory", func(c *spec.Case) {
			c.Platform.Device.Memory, c.Budgets = units.MiB, atMost(report.Allocated, units.GiB)
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
		{"got runtime export, want eager or torchscript: that is what can be predicted of a TorchScript archive", func(c *spec.Case) { c.Runtime = spec.Export }},
		{"alloc_conf: ", func(c *spec.Case) { c.Platform.AllocConf = "max_split_size_mb:1" }},
		{"got input y, want one of x Tensor", func(c *spec.Case) { c.Inputs[0].Name = "y" }},
	} {
		t.Run(tt.want, func(t *testing.T) {
			c := caseOn(t, "t4", linears, "float32[2,32]")
			tt.edit(&c)
			v, err := engine.Check(context.Background(), c)
			assert.ErrorContains(t, err, tt.want)
			assert.Equal(t, verdict.Error, v.Outcome)
		})
	}
}

// A context takes its part of the device: what is left is the limit.
func TestTheContextCountsAgainstTheDevice(t *testing.T) {
	c := caseOn(t, "a10g", linears, "float32[2,32]")
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
	c := caseOn(t, "none", linears, "float32[1024,32]")
	whole, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	c.DType = "float16"
	half, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	assert.Equal(t, whole.Baseline.Requested, 2*half.Baseline.Requested)
	assert.Equal(t, whole.Peak.Requested, 2*half.Peak.Requested)
}

func TestSettingsOfTheAllocatorChangeReserved(t *testing.T) {
	c := caseOn(t, "t4", "../testdata/artifacts/torchvision/resnet18.script.pt", "float32[8,3,224,224]")
	native, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	c.Platform.AllocConf = "expandable_segments:True"
	expandable, err := engine.Estimate(context.Background(), c)
	require.NoError(t, err)
	assert.Less(t, expandable.Peak.Reserved, native.Peak.Reserved, "segments that grow leave no gaps")
	assert.LessOrEqual(t, expandable.Peak.Allocated, native.Peak.Allocated)
}

// JudgeAll hands results over in order, whatever the order they end in, and reads an artifact once.
func TestJudgeAll(t *testing.T) {
	var cases []spec.Case
	for range 20 {
		for _, artifact := range []string{"../testdata/artifacts/torchvision/alexnet.script.pt", "absent.pt", "../testdata/artifacts/torchvision/resnet18.trace.pt"} {
			c := caseOn(t, "t4", artifact, "float32[1,3,224,224]")
			c.Budgets = atMost(report.Allocated, units.GiB)
			cases = append(cases, c)
		}
	}
	var models engine.Models
	i := 0
	models.JudgeAll(context.Background(), cases, nil, func(r *engine.Result) {
		assert.Equal(t, cases[i].Artifact, r.Case.Artifact)
		want := verdict.Pass
		if i%3 == 1 {
			want = verdict.Error
		}
		assert.Equal(t, want, r.Verdict.Outcome)
		i++
	})
	assert.Equal(t, len(cases), i)
	models.JudgeAll(context.Background(), nil, nil, func(*engine.Result) { t.Error("got a result of no case") })
}

func TestJudgeStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := engine.Estimate(ctx, caseOn(t, "none", bad+"endless.pt", "float32[4,4]"))
	assert.ErrorIs(t, err, context.Canceled)
}

func TestMissing(t *testing.T) {
	m, err := engine.Open(bad + "custom.pt")
	require.NoError(t, err)
	missing, err := m.Missing()
	require.NoError(t, err)
	require.Len(t, missing, 1)
	assert.Equal(t, "memspec_test::twice", missing[0].Op)
	assert.Equal(t, 1, missing[0].Count)
	assert.NotZero(t, missing[0].First.Line)
}

func TestExplainCommand(t *testing.T) {
	c := caseOn(t, "t4", "my model.pt", "x=float32[2,32]")
	assert.Equal(t, "memspec explain 'my model.pt' --input 'x=float32[2,32]' --device t4 --torch 2.15", engine.ExplainCommand(c))
	c.Runtime, c.Platform.AllocConf = spec.Eager, "expandable_segments:True"
	assert.Equal(t, "memspec explain 'my model.pt' --input 'x=float32[2,32]' --device t4 --torch 2.15 --runtime eager --alloc-conf expandable_segments:True",
		engine.ExplainCommand(c))
	c.Name, c.Pos.File = "m[B=8]", "memspec.yaml"
	assert.Equal(t, "memspec explain --case 'm[B=8]' memspec.yaml", engine.ExplainCommand(c))
	assert.Equal(t, `'it'\''s'`, engine.ShellQuote("it's"))
	assert.Equal(t, `''`, engine.ShellQuote(""))
}

func TestSidecarInputs(t *testing.T) {
	dir := t.TempDir()
	artifact := filepath.Join(dir, "m.pt")
	ins, err := engine.SidecarInputs(artifact)
	require.NoError(t, err)
	assert.Empty(t, ins, "there is none")
	write := func(text string) {
		require.NoError(t, os.WriteFile(artifact+".inputs.json", []byte(text), 0o644))
	}
	write(`{"inputs": ["x=float32[B,3]", "7"]}`)
	ins, err = engine.SidecarInputs(artifact)
	require.NoError(t, err)
	require.Len(t, ins, 2)
	assert.Equal(t, "x=float32[B,3]", ins[0].String())
	for text, want := range map[string]string{`{"inputs": ["x=float32["]}`: "inputs[0] x=float32[: ", `[`: "unexpected end of JSON"} {
		write(text)
		_, err = engine.SidecarInputs(artifact)
		assert.ErrorContains(t, err, want)
	}
}

// A bug on one artifact is an error of that artifact.
func TestABugIsAnError(t *testing.T) {
	m := &engine.Model{Path: "m.pt"}
	_, err := m.Run(context.Background(), caseOn(t, "t4", "m.pt"))
	assert.ErrorContains(t, err, "m.pt: internal error: ")
}

// A run makes each value once: what judges it, and what a door shows of it, are the same.
func TestARunIsMadeOnce(t *testing.T) {
	c := caseOn(t, "a10g", linears, "float32[2,32]")
	c.Budgets = atMost(report.Allocated, units.GiB)
	var models engine.Models
	r := models.Judge(context.Background(), c)
	require.NoError(t, r.Err)
	assert.Same(t, r.Run.Report, r.Report)
	assert.Same(t, r.Run.Trace, r.Run.Timeline.Trace)
	assert.Equal(t, r.Report.Peak.Allocated, r.Run.Timeline.Peaks.Allocated.Bytes)
	m, err := models.Open(linears)
	require.NoError(t, err)
	assert.Same(t, m, r.Run.Model)
}
