package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/cudameasure"
	"github.com/memspec/memspec/cudameasure/verify"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/internal/cli"
)

const verifySpec = `version: 1
defaults: {device: edge, runtime: eager, torch: 2.15}
devices:
  edge: {memory: 8GiB, compute_capability: 8.7, sms: 16}
models:
  m:
    artifact: ARTIFACT
    inputs: {x: "float32[B,32]"}
    cases:
      - dims: {B: 2}
        budget: {reserved: 1GiB}
  other:
    artifact: ARTIFACT
    inputs: {x: "float32[4,32]"}
    budget: {reserved: 1GiB}
`

// asPredicted is a record that says of m[B=2] what is predicted: made up here, not measured.
func asPredicted(t *testing.T, spec string) *cudameasure.Measurement {
	t.Helper()
	cases, err := cli.LoadCases([]string{spec}, []string{"m[B=2]"})
	require.NoError(t, err)
	c := cases[0]
	r := suite.Judge(t.Context(), c)
	require.NoError(t, r.Err)
	p := c.Platform
	m := &cudameasure.Measurement{Recording: recording.Recording{Header: recording.Header{Case: c.Name, Runtime: "eager",
		Where: recording.OnCUDA, Built: "by hand for a test, not measured",
		Device: recording.Device{Name: "not measured", Total: &p.Device.Memory, ComputeCapability: "8.7"}, Torch: "2.15.0",
		Mode:  "inference",
		Flags: recording.Flags{TF32CuDNN: p.TF32CuDNN}, Grad: "no_grad", Inputs: []string{c.Inputs[0].String()},
		Weights: r.Report.Weights}}}
	phase := func(name string, s report.Sizes) {
		none := units.Bytes(0)
		m.Passes = append(m.Passes, recording.Pass{Name: name, Requested: s.Requested, Allocated: &s.Allocated,
			Reserved: &s.Reserved, Active: &s.Allocated, InactiveSplit: &none})
	}
	phase("baseline", r.Report.Baseline)
	for _, pass := range r.Report.Passes {
		phase(pass.Name, pass.Peak)
	}
	return m
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, b, 0o644))
}

func TestVerify(t *testing.T) {
	t.Setenv("COLUMNS", "400") // what is looked for is not broken
	artifact, err := filepath.Abs("../../testdata/artifacts/small/module_list.script.pt")
	require.NoError(t, err)
	spec := filepath.Join(t.TempDir(), "memspec.yaml")
	text := bytes.ReplaceAll([]byte(verifySpec), []byte("ARTIFACT"), []byte(artifact))
	require.NoError(t, os.WriteFile(spec, text, 0o644))
	tight := filepath.Join(filepath.Dir(spec), "tight.yaml")
	require.NoError(t, os.WriteFile(tight, bytes.Replace(text, []byte("reserved: 1GiB"), []byte("reserved: 1KiB"), 1),
		0o644))
	grow := func(m *cudameasure.Measurement, by units.Bytes) {
		*m.Passes[1].Allocated += by
	}
	for _, c := range []struct {
		name   string
		spec   string
		args   []string
		change func(*cudameasure.Measurement)
		code   int
		want   []string
	}{
		{name: "the same", code: 0, want: []string{"PASS m[B=2]\n", "  measured   not measured, torch 2.15.0 (",
			"2 cases: 2 pass, 1 of them not measured\n", "first allocated"}},
		{name: "within the tolerance", change: func(m *cudameasure.Measurement) {
			grow(m, 1)
		}, code: 0, want: []string{"  UNDER\n", "PASS m[B=2]"}},
		{name: "under-estimated", change: func(m *cudameasure.Measurement) { grow(m, units.MiB) }, code: 1,
			want: []string{"FAIL m[B=2]", "  broken     peak allocated measured ", ": UNDER-ESTIMATED by 1.0 MiB (+",
				"2 cases: 1 pass, 1 fail"}},
		{name: "over-estimated", change: func(m *cudameasure.Measurement) {
			*m.Passes[1].Reserved, *m.Passes[0].Reserved, *m.Passes[2].Reserved = 1, 1, 1
		}, code: 1,
			want: []string{"FAIL m[B=2]", ": over-estimated by "}},
		{name: "the measured number breaks the budget", change: func(m *cudameasure.Measurement) {
			*m.Passes[2].Reserved = 2 * units.GiB
		}, code: 1,
			want: []string{"  broken     measured reserved 2.00 GiB (2147483648 B), budget 1.00 GiB (1073741824 B): over by " +
				"1.00 GiB (+100.0%), "}},
		{name: "the predicted number breaks the budget", spec: tight, code: 1,
			want: []string{"FAIL m[B=2]", "  predicted  FAIL m[B=2] on edge, eager: peak reserved "}},
		{name: "a measurement is required and missing", args: []string{"--require"}, code: 3,
			want: []string{"INCONCLUSIVE other", "  not measured; a measurement is required\n",
				"2 cases: 1 pass, 1 inconclusive, 1 of them not measured"}},
		{name: "required and there", args: []string{"--require", "--case", "m*"}, code: 0,
			want: []string{"1 case: 1 pass\n"}},
		{name: "on CPU tensors", change: func(m *cudameasure.Measurement) {
			m.Where = "cpu"
			for i := range m.Passes {
				m.Passes[i] = recording.Pass{Name: m.Passes[i].Name, Requested: 1}
			}
		}, code: 3, want: []string{"  left out   ", "recorded on CPU tensors: there is no allocator's number to compare with",
			"got no record that any case can be compared with"}},
		{name: "of another device", change: func(m *cudameasure.Measurement) { m.Device.ComputeCapability = "9.0" }, code: 3,
			want: []string{"measured with not measured, the case is for edge"}},
		{name: "unreadable", change: func(m *cudameasure.Measurement) {
			m.Schema = 7
		}, code: 2, want: []string{"record.json: got no measurement record of schema 1"}},
		{name: "no such folder", args: []string{"--measured", "absent"}, code: 2,
			want: []string{"memspec: absent: no such file or directory\n"}},
		{name: "no folder given", args: []string{"--measured", ""}, code: 2,
			want: []string{"memspec: --measured: got no folder, want that of the records"}},
		{name: "events", change: func(m *cudameasure.Measurement) {
			m.Events = []recording.Event{{Action: trace.Alloc, Key: 512, Size: 1}}
		}, code: 0, want: []string{"  events     the streams part after 0: the sizes differ: measured "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			m := asPredicted(t, spec)
			if c.change != nil {
				c.change(m)
			}
			writeJSON(t, filepath.Join(dir, "record.json"), m)
			if c.spec == "" {
				c.spec = spec
			}
			var out bytes.Buffer
			code := run(append([]string{"verify", c.spec, "--measured", dir}, c.args...), nil, &out, &out)
			assert.Equal(t, c.code, code, "%s", out.String())
			for _, w := range c.want {
				assert.Contains(t, out.String(), w)
			}
		})
	}
	t.Run("json", func(t *testing.T) {
		dir := t.TempDir()
		m := asPredicted(t, spec)
		grow(m, units.MiB)
		writeJSON(t, filepath.Join(dir, "record.json"), m)
		var out bytes.Buffer
		assert.Equal(t, 1, run([]string{"verify", spec, "--measured", dir, "--format", "json"}, nil, &out, io.Discard))
		validate(t, "verify", out.Bytes())
		var cases struct {
			Exit  int
			Cases []struct {
				Outcome, Predicted string
				Measured           []struct {
					Rows     []verify.RowJSON
					Findings []cudameasure.Finding
				}
			}
		}
		require.NoError(t, json.Unmarshal(out.Bytes(), &cases))
		assert.Equal(t, 1, cases.Exit)
		assert.Equal(t, []string{"fail", "pass"}, []string{cases.Cases[0].Outcome, cases.Cases[0].Predicted})
		require.Len(t, cases.Cases[0].Measured, 1)
		first := cases.Cases[0].Measured[0].Rows[5]
		assert.Equal(t, []any{"first", report.Allocated, units.MiB, true}, []any{first.Phase, first.Metric, first.Difference,
			first.Under})
		assert.True(t, cases.Cases[0].Measured[0].Findings[0].Under)
	})
}

func validate(t *testing.T, schema string, value []byte) {
	t.Helper()
	text, ok := report.JSONSchema(schema)
	require.True(t, ok)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", doc))
	s, err := c.Compile("schema.json")
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	require.NoError(t, err)
	require.NoError(t, s.Validate(v))
}
