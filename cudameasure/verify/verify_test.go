package verify_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/cudameasure"
	"github.com/memspec/memspec/cudameasure/verify"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/verdict"
)

// What a whole account looks like is in the scripts of memspec verify and in the messages of
// package assert.

// predicted is a case for a T4, predicted.
func predicted(t *testing.T) *suite.Result {
	t.Helper()
	cases, err := spec.Parse("memspec.yaml", []byte(`version: 1
defaults: {device: t4, torch: 2.15, runtime: eager}
models:
  m: {artifact: ../../testdata/artifacts/small/module_list.script.pt, inputs: ["float32[2,32]"], budget: {allocated: 1GiB}}
`))
	require.NoError(t, err)
	cases[0].Artifact = "../../testdata/artifacts/small/module_list.script.pt"
	r := suite.Judge(context.Background(), cases[0])
	require.NoError(t, r.Err)
	return r
}

// machine has two GPUs, the second a T4, and a Python that runs body; $d is a folder.
func machine(t *testing.T, body string) (*verify.Machine, string) {
	t.Helper()
	d := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(d, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nd='"+d+"'\n"+text+"\n"), 0o755))
		return path
	}
	smi := write("nvidia-smi", `case $1 in *memory.used*) echo GPU-a, 1; echo GPU-b, 1 ;;
*) echo asked >>"$d/asked"; echo "0, NVIDIA L4, GPU-a, 8.9, 23034, 556"; echo "1, Tesla T4, GPU-b, 7.5, 15360, 442" ;; esac`)
	return &verify.Machine{Tools: &cudameasure.Tools{SMI: smi, Python: write("python", body)}, Required: true}, d
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// unset takes a variable out of the environment for the test.
func unset(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "") // puts it back afterwards
	require.NoError(t, os.Unsetenv(name))
}

func TestTheCasesOwnGPUIsTaken(t *testing.T) {
	unset(t, "CUDA_VISIBLE_DEVICES")
	m, d := machine(t, `echo "$CUDA_VISIBLE_DEVICES" >"$d/visible"; echo "memshim: ValueError: no" >&2; exit 1`)
	a, err := m.Run(context.Background(), predicted(t))
	require.NoError(t, err)
	assert.Equal(t, "GPU-b\n", read(t, d+"/visible"))
	assert.Equal(t, verdict.Error, a.Outcome, "the model's own error")
	assert.Equal(t, "the model fails: ValueError: no", a.AsJSON().Error)

	t.Setenv("CUDA_VISIBLE_DEVICES", "1")
	_, err = m.Run(context.Background(), predicted(t))
	require.NoError(t, err)
	assert.Equal(t, "1\n", read(t, d+"/visible"), "what the user chose stays")
	assert.Equal(t, "asked\n", read(t, d+"/asked"), "the devices are asked for once")
}

// Subtests may be parallel; what a device has in use must be one run's own.
func TestOneCaseIsRunAtATime(t *testing.T) {
	m,
		d := machine(t,
		`[ ! -e "$d/running" ] || echo overlap >>"$d/overlaps"; : >"$d/running"; sleep 0.1; rm "$d/running"; exit 3`)
	r := predicted(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			a, err := m.Run(context.Background(), r)
			assert.NoError(t, err)
			assert.Equal(t, verdict.Inconclusive, a.Outcome, "no GPU after all, and one is required")
			assert.Contains(t, a.NotMeasured(), "not measured: no CUDA device")
		})
	}
	all.Wait()
	assert.NoFileExists(t, d+"/overlaps")
}

func TestARunIsCanceled(t *testing.T) {
	m, d := machine(t, `: >"$d/running"; sleep 86400`)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for range 1000 {
			if _, err := os.Stat(d + "/running"); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	_, err := m.Run(ctx, predicted(t))
	assert.ErrorIs(t, err, context.Canceled)
}

// A record of a pretend GPU that lies among measurements is left out.
func TestAPretendRecordIsNoMeasurement(t *testing.T) {
	r := predicted(t)
	record, err := cudameasure.Read("../../engine/recording/testdata/records/small.json")
	require.NoError(t, err)
	record.Case, record.Where = r.Case.Name, recording.OnPretend
	kept := &verify.Kept{Records: []*cudameasure.Measurement{record}, Required: true}
	a, err := kept.Compare(context.Background(), r)
	require.NoError(t, err)
	require.Len(t, a.Skipped, 1)
	assert.Equal(t, "recorded on a pretend GPU: no GPU took these numbers", a.Skipped[0].Why)
	assert.Equal(t, verdict.Inconclusive, a.Outcome)

	kept.Pretend, record.Where = true, recording.OnCUDA
	a, err = kept.Compare(context.Background(), r)
	require.NoError(t, err)
	assert.Equal(t, "measured on a GPU, and what pretend ones took was asked for", a.Skipped[0].Why)
}

func TestThePretendGPUNeedsNone(t *testing.T) {
	m, d := machine(t, `echo "$@" >"$d/asked-for"; echo "memshim: got no C compiler" >&2; exit 3`)
	m.Pretend = true
	a, err := m.Run(context.Background(), predicted(t))
	require.NoError(t, err)
	assert.Contains(t, read(t, d+"/asked-for"), "--where pretend")
	assert.NoFileExists(t, d+"/asked", "no driver is asked")
	assert.Equal(t, "not run on a pretend GPU: no pretend GPU here: got no C compiler; a run is required", a.NotMeasured())
	assert.Equal(t, verdict.Inconclusive, a.Outcome)
	none := predicted(t)
	none.Case.Platform.Device.Kind = device.None
	a, err = m.Run(context.Background(), none)
	require.NoError(t, err)
	assert.Contains(t, a.NotMeasured(), "the device none is no GPU that could be pretended")
}

// A case with a source alone is predicted from a recording; a run on a pretend GPU is one, so that
// its budgets are judged.
func TestASourceAloneIsJudgedByItsRun(t *testing.T) {
	cases, err := spec.Parse("memspec.yaml", []byte(`version: 1
models:
  small: {source: "zoo.py:net", device: rtx-3090, inputs: {x: "float32[2,1024,512]"}, budget: {allocated: 8388607}}
  fits: {source: "zoo.py:net", device: rtx-3090, inputs: {x: "float32[2,1024,512]"}, budget: {allocated: 8388608}}
`))
	require.NoError(t, err)
	record, err := cudameasure.Read("../../engine/recording/testdata/records/small.json")
	require.NoError(t, err)
	record.Where, record.Device.SMs = recording.OnPretend, cases[0].Platform.Device.SMs
	for i, want := range []verdict.Outcome{verdict.Fail, verdict.Pass} {
		// the first has a byte less than the 8 MiB it takes
		sourceIsJudged(t, cases[i], record, want)
	}
}

func sourceIsJudged(t *testing.T, c spec.Case, record *cudameasure.Measurement, want verdict.Outcome) {
	t.Helper()
	record.Case = c.Name
	text, err := json.Marshal(&record.Recording)
	require.NoError(t, err)
	m,
		d := machine(t,
		`for a in "$@"; do [ "$prev" != --output ] || out=$a; prev=$a; done; cat >/dev/null; cp "$d/record.json" "$out"`)
	require.NoError(t, os.WriteFile(d+"/record.json", text, 0o600))
	m.Pretend = true
	r := suite.Judge(context.Background(), c)
	require.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	a, err := m.Run(context.Background(), r)
	require.NoError(t, err)
	require.Empty(t, a.Skipped)
	assert.Equal(t, want, a.Outcome, c.Name)
	assert.Equal(t, report.Exact, a.Report.Quality, "%v", a.Report.Notes)
	assert.Equal(t, "pretend", a.Report.Where)
	require.Len(t, a.Compared, 1)
	assert.True(t, a.Compared[0].Aligned, "its events were kept")
	assert.Nil(t, a.Compared[0].Parts, "they are the prediction's own")
}

func TestACaseWithoutAPredictionIsNotCompared(t *testing.T) {
	r := predicted(t)
	record, err := cudameasure.Read("../../engine/recording/testdata/records/small.json")
	require.NoError(t, err)
	record.Case, r.Err = r.Case.Name, os.ErrNotExist
	a, err := (&verify.Kept{Records: []*cudameasure.Measurement{record}}).Compare(context.Background(), r)
	require.NoError(t, err)
	require.Len(t, a.Skipped, 1)
	assert.True(t, strings.HasPrefix(a.Skipped[0].Why, "measured with"), a.Skipped[0].Why)
	var b strings.Builder
	require.NoError(t, a.WriteText(&b))
	assert.Contains(t, b.String(), "  not measured\n")
}

// What is not right comes first in an account's one line.
func TestHeadline(t *testing.T) {
	r := predicted(t)
	name := strings.ToUpper(verdict.Pass.String()) + " " + r.Case.Name
	with := func(change func(a *verify.Account)) string {
		a := &verify.Account{Result: &suite.Result{Case: r.Case}}
		a.Verdict.Outcome, a.Outcome = verdict.Pass, verdict.Pass
		change(a)
		return a.Headline()
	}
	assert.Equal(t, name+": no such file or other", with(func(a *verify.Account) {
		a.Err = errors.New("no such file\nor other")
	}))
	assert.Equal(t, name+": not measured; a measurement is required", with(func(a *verify.Account) { a.Required = true }))
	assert.Equal(t, name+": not measured", with(func(a *verify.Account) {}))
	assert.Contains(t, with(func(a *verify.Account) {
		a.Compared = []verify.Compared{{Comparison: &cudameasure.Comparison{}}}
	}), " as predicted")
}

// What a comparison finds worsens a case's outcome: what is broken more than what is not known, and
// that more than a warning.
func TestComparisonsWorsenTheOutcome(t *testing.T) {
	record := func(r *suite.Result) *cudameasure.Measurement {
		m, err := cudameasure.Read("../../engine/recording/testdata/records/small.json")
		require.NoError(t, err)
		total := r.Case.Platform.Device.Memory
		m.Case, m.Torch, m.Events = r.Case.Name, "2.15.0", nil
		m.Device = recording.Device{Name: "by hand", Total: &total, ComputeCapability: "7.5"}
		m.Inputs = []string{r.Case.Inputs[0].String()}
		m.Weights = r.Report.Weights
		phase := func(i int, s report.Sizes) {
			allocated, reserved := s.Allocated, s.Reserved
			m.Passes[i].Requested, m.Passes[i].Allocated, m.Passes[i].Reserved = s.Requested, &allocated, &reserved
		}
		phase(0, r.Report.Baseline)
		for i, pass := range r.Report.Passes {
			phase(i+1, pass.Peak)
		}
		return m
	}
	compare := func(change func(*suite.Result, *cudameasure.Measurement)) (*verify.Account, error) {
		r := predicted(t)
		m := record(r)
		change(r, m)
		return (&verify.Kept{Records: []*cudameasure.Measurement{m}}).Compare(t.Context(), r)
	}
	more := func(m *cudameasure.Measurement) { *m.Passes[1].Allocated *= 3 }
	for _, c := range []struct {
		why    string
		change func(*suite.Result, *cudameasure.Measurement)
		want   verdict.Outcome
	}{
		{"the same", func(*suite.Result, *cudameasure.Measurement) {}, verdict.Pass},
		{"more than predicted", func(_ *suite.Result, m *cudameasure.Measurement) { more(m) }, verdict.Fail},
		{"more than predicted, which is incomplete", func(r *suite.Result, m *cudameasure.Measurement) {
			r.Report.Quality = report.Incomplete
			more(m)
		}, verdict.Inconclusive},
		{"over a budget that only warns", func(r *suite.Result, m *cudameasure.Measurement) {
			r.Case.Tolerance = 10
			r.Case.Budgets[0].Level, r.Case.Budgets[0].Limit = verdict.LevelWarn, *m.Passes[1].Allocated+1
			more(m)
		}, verdict.Warn},
	} {
		a, err := compare(c.change)
		require.NoError(t, err, c.why)
		require.Len(t, a.Compared, 1, "%s: %v", c.why, a.Skipped)
		assert.Equal(t, c.want, a.Outcome, c.why)
	}
	a, err := compare(func(r *suite.Result, m *cudameasure.Measurement) { r.Err = os.ErrNotExist })
	require.NoError(t, err)
	assert.Equal(t, []verify.Skipped{{File: "../../engine/recording/testdata/records/small.json",
		Why: "there is no prediction"}}, a.Skipped)
}

// Which GPUs a machine has instead is said with all their names.
func TestOtherGPUsAreNamed(t *testing.T) {
	m, _ := machine(t, "exit 1")
	r := predicted(t)
	l40s, err := device.Lookup("l40s")
	require.NoError(t, err)
	r.Case.Platform.Device = l40s
	a, err := m.Run(t.Context(), r)
	require.NoError(t, err)
	assert.Contains(t, a.NotMeasured(), "NVIDIA L4, Tesla T4")
}
