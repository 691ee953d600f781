package cudameasure

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

const MiB = units.MiB

// predictedSmall is what small.json says, as a prediction.
func predictedSmall() *report.Report {
	pass := func(name string, n units.Bytes) report.Pass {
		return report.Pass{Name: name, Peak: report.Sizes{Requested: n - 100, Allocated: n, Reserved: 20 * MiB}}
	}
	return &report.Report{Weights: 3 * MiB, Delta: 4 * MiB, Baseline: report.Sizes{Requested: 4*MiB - 100,
		Allocated: 4 * MiB, Reserved: 20 * MiB},
		Passes: []report.Pass{pass("first", 8*MiB), pass("steady", 7*MiB)},
		Peak:   report.Peak{Requested: 8*MiB - 100, Allocated: 8 * MiB, Reserved: 20 * MiB}, Quality: report.Exact}
}

// smallCase is the case that small.json was made for.
func smallCase(t *testing.T) *spec.Case {
	t.Helper()
	v, err := platform.ParseVersion("2.15")
	require.NoError(t, err)
	d := device.Device{Name: "by hand", Memory: 22500 * MiB, ComputeCapability: device.Capability{Major: 8, Minor: 6}}
	p, err := platform.New(d, v)
	require.NoError(t, err)
	in, err := spec.ParseInput("x=float32[2,1024,512]")
	require.NoError(t, err)
	return &spec.Case{Name: "small[B=2]", Artifact: "small.pt", Platform: p, Runtime: spec.Eager, Mode: spec.Inference,
		Grad:   spec.NoGrad,
		Inputs: []spec.Input{in}, Tolerance: 0.01}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*report.Report)
		tolerance float64
		want      []string
		under     bool
	}{
		{"the same", func(*report.Report) {}, 0, nil, false},
		{"under by a byte, no tolerance", func(r *report.Report) { r.Peak.Allocated-- }, 0,
			[]string{"peak allocated measured 8.0 MiB (8388608 B), predicted 8.0 MiB (8388607 B): UNDER-ESTIMATED by 1 B " +
				"(+1.2e-05%), tolerance 0%"}, true},
		{"exactly at the tolerance", func(r *report.Report) { r.Peak.Reserved = 16 * MiB }, 0.25, nil, false},
		{"beyond it, under", func(r *report.Report) { r.Peak.Reserved = 16 * MiB }, 0.24,
			[]string{"peak reserved measured 20.0 MiB (20971520 B), predicted 16.0 MiB (16777216 B): UNDER-ESTIMATED by 4.0 " +
				"MiB (+25.0%), tolerance 24%"}, true},
		{"beyond it, over", func(r *report.Report) { r.Peak.Reserved = 32 * MiB }, 0.1,
			[]string{"peak reserved measured 20.0 MiB (20971520 B), predicted 32.0 MiB (33554432 B): over-estimated by 12.0 " +
				"MiB (-37.5%), tolerance 10%"}, false},
		{"predicted nothing", func(r *report.Report) { r.Peak.Allocated = 0 }, 1,
			[]string{"peak allocated measured 8.0 MiB (8388608 B), predicted 0 B (0 B): UNDER-ESTIMATED by 8.0 MiB (n/a), " +
				"tolerance 100%"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := predictedSmall()
			c.change(r)
			got, err := Compare(r, record(t, "small"), c.tolerance)
			require.NoError(t, err)
			assert.Equal(t, c.want, texts(got))
			assert.Equal(t, len(c.want) > 0, got.Broken())
			for _, f := range got.Findings {
				assert.Equal(t, c.under, f.Under)
			}
		})
	}
	incomplete := predictedSmall()
	incomplete.Quality, incomplete.Peak.Allocated = report.Incomplete, MiB
	got, err := Compare(incomplete, record(t, "small"), 0.01)
	require.NoError(t, err)
	require.Len(t, got.Findings, 1)
	assert.Contains(t, got.Findings[0].Text, "; the prediction is incomplete")
	assert.Equal(t, []bool{false, true}, []bool{got.Broken(), got.Unsure()}, "not analysed and wrong never look alike")
	_, err = Compare(predictedSmall(), record(t, "cpu"), 1)
	assert.ErrorContains(t, err, "got a record on CPU tensors")
}

func texts(c *Comparison) []string {
	var out []string
	for _, f := range c.Findings {
		out = append(out, f.Text)
	}
	return out
}

func TestTable(t *testing.T) {
	r := predictedSmall()
	r.Passes[0].Peak.Allocated, r.Peak.Allocated, r.Delta = 7*MiB, 7*MiB, 3*MiB
	r.Passes[1].Peak.Reserved = 22 * MiB
	c, err := Compare(r, record(t, "small"), 1)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, c.WriteTable(&b))
	assert.Equal(t, strings.TrimPrefix(`
                       predicted    measured  difference       %
  baseline requested   4194204 B   4194204 B         0 B      0%
     first requested   8388508 B   8388508 B         0 B      0%
    steady requested   7339932 B   7339932 B         0 B      0%
      peak requested   8388508 B   8388508 B         0 B      0%
  baseline allocated   4194304 B   4194304 B         0 B      0%
     first allocated   7340032 B   8388608 B  +1048576 B  +14.3%  UNDER
    steady allocated   7340032 B   7340032 B         0 B      0%
      peak allocated   7340032 B   8388608 B  +1048576 B  +14.3%  UNDER
   baseline reserved  20971520 B  20971520 B         0 B      0%
      first reserved  20971520 B  20971520 B         0 B      0%
     steady reserved  23068672 B  20971520 B  -2097152 B   -9.1%
       peak reserved  20971520 B  20971520 B         0 B      0%
          peak delta   3145728 B   4194304 B  +1048576 B  +33.3%  UNDER
`, "\n"), b.String())
}

func TestVerifyBudgets(t *testing.T) {
	budget := func(m report.Metric, n units.Bytes, l verdict.Level) verdict.Budget {
		return verdict.Budget{Metric: m, Limit: n, Level: l, Pos: verdict.Pos{File: "memspec.yaml", Line: 9, Col: 3}}
	}
	for _, c := range []struct {
		name                  string
		budget                verdict.Budget
		context               bool
		broken, unsure, warns bool
		want                  []string
	}{
		{"exactly at the limit", budget(report.Allocated, 8*MiB, verdict.LevelFail), true, false, false, false, nil},
		{"over", budget(report.Allocated, 8*MiB-1, verdict.LevelFail), true, true, false, false,
			[]string{"measured allocated 8.0 MiB (8388608 B), budget 8.0 MiB (8388607 B): over by 1 B (+1.2e-05%), " +
				"memspec.yaml:9"}},
		{"over, of level warn", budget(report.Delta, 2*MiB, verdict.LevelWarn), true, false, false, true,
			[]string{"measured delta 4.0 MiB (4194304 B), budget 2.0 MiB (2097152 B): over by 2.0 MiB (+100.0%), " +
				"memspec.yaml:9"}},
		{"total with a context", budget(report.Total, 300*MiB, verdict.LevelFail), true, true, false, false,
			[]string{"measured total 320.0 MiB (335544320 B), budget 300.0 MiB (314572800 B): over by 20.0 MiB (+6.7%), " +
				"memspec.yaml:9"}},
		{"total without one", budget(report.Total, 300*MiB, verdict.LevelFail), false, false, true, false,
			[]string{"total was not measured, budget 300.0 MiB"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := record(t, "small")
			if !c.context {
				m.Context = nil
			}
			cs := smallCase(t)
			cs.Budgets = []verdict.Budget{c.budget}
			got, err := Verify(cs, predictedSmall(), m)
			require.NoError(t, err)
			assert.Equal(t, c.want, texts(got))
			assert.Equal(t, []bool{c.broken, c.unsure, c.warns}, []bool{got.Broken(), got.Unsure(), got.Warns()})
		})
	}
}

func TestOutOfMemoryIsBroken(t *testing.T) {
	cs := smallCase(t)
	got, err := Verify(cs, predictedSmall(), record(t, "oom"))
	require.NoError(t, err)
	assert.Equal(t, []string{"measured out of memory in the first pass: CUDA out of memory."}, texts(got))
	assert.True(t, got.Broken())
	assert.True(t, got.Findings[0].Under, "the prediction let it fit")
}

// The pass that memory ran out in is no row: its peaks are as far as it came. Who held what is
// reported.
func TestOutOfMemoryReportsWhoHeldWhat(t *testing.T) {
	held := []recording.Held{{Bytes: 5 * MiB, Count: 2}, {Bytes: 3 * MiB, Count: 1, File: "net.py", Line: 7,
		Function: "forward"}, {Bytes: 2, File: "a.py"}, {Bytes: 1, File: "b.py"}}
	for _, c := range []struct {
		pass, want string
		passes     int
		rows       []string
	}{
		{recording.First, "measured out of memory in the first pass: Tried to allocate 9.00 GiB.; held then: 5.0 MiB by " +
			"the model and its inputs, 3.0 MiB by net.py:7 (forward), " +
			"2 B by a.py:0 ()", 2, []string{"baseline", "baseline", "baseline"}},
		{recording.Baseline, "measured out of memory while the model was loaded: Tried to allocate 9.00 GiB.; held then: " +
			"5.0 MiB by the model and its inputs, 3.0 MiB by " +
			"net.py:7 (forward), 2 B by a.py:0 ()", 1, nil},
	} {
		m := record(t, "small")
		m.Passes, m.Events = m.Passes[:c.passes], m.Events[:m.Passes[c.passes-1].Events]
		m.OOM = &recording.OutOfMemory{Pass: c.pass, Text: "Tried to allocate 9.00 GiB.", Held: held}
		require.NoError(t, m.Check())
		got, err := Verify(smallCase(t), predictedSmall(), m)
		require.NoError(t, err)
		assert.Equal(t, []string{c.want}, texts(got))
		assert.True(t, got.Broken())
		var rows []string
		for _, r := range got.Rows {
			rows = append(rows, r.Phase)
		}
		assert.Equal(t, c.rows, rows)
	}
}

func TestWhyNot(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*spec.Case, *Measurement)
		want   string
	}{
		{"the case's own", func(*spec.Case, *Measurement) {}, ""},
		{"memory as another driver reports it", func(_ *spec.Case, m *Measurement) { *m.Device.Total -= 400 * MiB }, ""},
		{"another cuDNN", func(_ *spec.Case, m *Measurement) {
			m.CuDNN = "9.10.2"
		}, `measured with cuDNN "9.10.2", the case says "9.26.0.51"`},
		{"no cuDNN", func(_ *spec.Case, m *Measurement) { m.CuDNN = "" }, ""},
		{"another memory", func(_ *spec.Case, m *Measurement) {
			*m.Device.Total *= 2
		}, "measured with by hand, not measured, the case is for by hand"},
		{"another capability", func(_ *spec.Case, m *Measurement) {
			m.Device.ComputeCapability = "9.0"
		}, "measured with by hand, not measured, the case is for by hand"},
		{"another torch", func(_ *spec.Case, m *Measurement) {
			m.Torch = "2.1.5"
		}, `measured with torch "2.1.5", the case says "2.15"`},
		{"another runtime", func(_ *spec.Case, m *Measurement) {
			m.Runtime = "torchscript"
		}, `measured with runtime "torchscript", the case says "eager"`},
		{"a runtime by artifact", func(c *spec.Case, _ *Measurement) { c.Runtime = spec.ByArtifact }, ""},
		{"other inputs and flags", func(_ *spec.Case, m *Measurement) {
			m.Inputs, m.Flags.Benchmark = []string{"x=float32[1]"}, true
		},
			`measured with flags "tf32_cudnn benchmark", the case says "tf32_cudnn"; inputs "x=float32[1]", the case says "x=float32[2,1024,512]"`},
		{"on CPU tensors", func(_ *spec.Case, m *Measurement) {
			m.Where = recording.OnCPU
		}, "recorded on CPU tensors: there is no allocator's number to compare with"},
		{"on a pretend GPU of the case's device", func(_ *spec.Case, m *Measurement) { m.Where = recording.OnPretend }, ""},
		{"on a pretend GPU of another", func(_ *spec.Case, m *Measurement) { m.Where, m.Device.SMs = recording.OnPretend, 7 },
			"on a pretend GPU with by hand, not measured, the case is for by hand"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cs, m := smallCase(t), record(t, "small")
			c.change(cs, m)
			assert.Equal(t, c.want, WhyNot(cs, m))
		})
	}
}

// Which flags are on is said in the order of PyTorch's own, with the attentions last.
func TestFlagsInWords(t *testing.T) {
	assert.Equal(t, "tf32_matmul tf32_cudnn benchmark deterministic cudnn_v7 attention math, flash",
		flagText(recording.Flags{TF32Matmul: true, TF32CuDNN: true, Benchmark: true, Deterministic: true, CuDNNv7: true,
			Attention: []string{"math", "flash"}}))
	assert.Empty(t, flagText(recording.Flags{}))
	_, err := Verify(smallCase(t), predictedSmall(), record(t, "cpu"))
	assert.ErrorContains(t, err, "got a record on CPU tensors")
}
