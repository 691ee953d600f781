package cudameasure

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

func record(t *testing.T, name string) *Measurement {
	t.Helper()
	m, err := Read(filepath.Join("testdata/records", name+".json"))
	require.NoError(t, err)
	return m
}

// The records here, and what Go writes of them, are of the shim's own schema.
func TestRecordsKeepTheSchema(t *testing.T) {
	const file = "../pyshim/src/memshim/schemas/measurement.schema.json"
	schema, err := jsonschema.NewCompiler().Compile(file)
	require.NoError(t, err)
	for _, name := range []string{"small", "oom", "cpu"} {
		data, err := os.ReadFile(filepath.Join("testdata/records", name+".json"))
		require.NoError(t, err)
		written, err := json.Marshal(record(t, name))
		require.NoError(t, err)
		for what, text := range map[string][]byte{"file": data, "written by Go": written} {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			require.NoError(t, err)
			assert.NoError(t, schema.Validate(v), "%s %s", name, what)
		}
		assert.JSONEq(t, string(data), string(written), "%s: read and written is the same", name)
	}
}

func TestRecordsThatAreRefused(t *testing.T) {
	data, err := os.ReadFile("testdata/records/small.json")
	require.NoError(t, err)
	cpu, err := os.ReadFile("testdata/records/cpu.json")
	require.NoError(t, err)
	for _, c := range []struct {
		name, from, to, want string
		data                 []byte
	}{
		{"no JSON", `"schema"`, `schema`, "got no measurement record: ", data},
		{"another schema", `"schema": 1`, `"schema": 2`, "got no measurement record of schema 1", data},
		{"no schema", `"schema": 1,`, ``, "got no measurement record of schema 1", data},
		{"an unknown key", `"torch":`, `"torhc":`, `unknown field "torhc"`, data},
		{"an unknown place", `"where": "cuda"`, `"where": "tpu"`, `got where "tpu", want cuda or cpu`, data},
		{"no case", `"case": "small[B=2]"`, `"case": ""`, "got no case", data},
		{"an unknown phase", `"name":"first"`, `"name":"second"`, `phase 1: got "second", want first`, data},
		{"a size below 0", `"allocated":8388608`, `"allocated":-1`, "phase 1: got a size below 0", data},
		{"no number on CUDA", `"allocated":8388608`, `"allocated":null`, "phase 1: got no number of the allocator in a record on CUDA", data},
		{"a number on CPU", `"allocated":null`, `"allocated":1`, "phase 0: got an allocator's number in a record on CPU tensors", cpu},
		{"events that are not there", `"events":5}`, `"events":50}`, "phase 1: got it ended by event 50 of 8", data},
		{"a stack that is not there", `"stack":0`, `"stack":9`, "event 1: got stack 9 of 2", data},
		{"a frame that is not there", `[0,1]`, `[0,7]`, "stack 1: got frame 7 of 2", data},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, string(c.data), c.from)
			_, err := Parse(bytes.Replace(c.data, []byte(c.from), []byte(c.to), 1))
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
		})
	}
	_, err = Parse(append(data, "{}"...))
	assert.Error(t, err)
}

func TestValues(t *testing.T) {
	const MiB = units.MiB
	small, cpu := record(t, "small"), record(t, "cpu")
	for _, c := range []struct {
		metric report.Metric
		want   units.Bytes
		why    string
	}{
		{report.Weights, 3 * MiB, ""},
		{report.Allocated, 8 * MiB, "the first pass has the peak"},
		{report.Delta, 4 * MiB, "8 MiB less the baseline's 4"},
		{report.Reserved, 20 * MiB, ""},
		{report.Total, 320 * MiB, "with the context's 300"},
	} {
		got, ok := small.Value(c.metric)
		assert.True(t, ok, c.metric)
		assert.Equal(t, c.want, got, "%s: %s", c.metric, c.why)
		_, ok = cpu.Value(c.metric)
		assert.Equal(t, c.metric == report.Weights, ok, "%s of CPU tensors", c.metric)
	}
	small.Context = nil
	_, ok := small.Value(report.Total)
	assert.False(t, ok, "no context, no total")
	small.Sampled = &Sampled{Before: 100 * MiB, Most: 370 * MiB, Samples: 9}
	got, ok := small.Value(report.Total)
	assert.True(t, ok)
	assert.Equal(t, 270*MiB, got, "as the samples saw the device")
	small.Sampled.Most = 110 * MiB
	_, ok = small.Value(report.Total)
	assert.False(t, ok, "samples that missed the peak tell nothing")
}

func TestEventsAreATrace(t *testing.T) {
	for _, name := range []string{"small", "cpu"} {
		tr, err := record(t, name).Trace()
		require.NoError(t, err)
		require.NoError(t, tr.Validate())
		var text []string
		for i, e := range tr.Events {
			if trace.Memory(tr, &e) {
				text = append(text, tr.EventText(i))
			}
		}
		assert.Len(t, text, 5, "%s: %v", name, text)
		assert.Equal(t, []int{0, 1, 2}, passes(tr))
	}
	small, err := record(t, "small").Trace()
	require.NoError(t, err)
	cpu, err := record(t, "cpu").Trace()
	require.NoError(t, err)
	assert.Nil(t, trace.Align(small, cpu, trace.Memory), "the same storages, whoever made them")
	assert.Equal(t, "model.py", small.Site(small.Events[2].Site).File, "the innermost frame of Python, not the allocator's own")

	m := record(t, "small")
	m.Events[5].Size = 2 * units.MiB
	other, err := m.Trace()
	require.NoError(t, err)
	d := trace.Align(small, other, trace.Memory)
	require.NotNil(t, d)
	assert.Equal(t, "the sizes differ", d.Why)
	m.Events[0].Action = "malloc"
	_, err = m.Trace()
	assert.EqualError(t, err, `event 0: got action "malloc", want PyTorch's word for one`)
}

func passes(tr *trace.Trace) []int {
	var out []int
	for _, e := range tr.Events {
		if len(out) == 0 || out[len(out)-1] != e.Pass {
			out = append(out, e.Pass)
		}
	}
	return out
}

func TestFoldersAreReadByName(t *testing.T) {
	got, err := ReadFolder("testdata/records")
	require.NoError(t, err)
	require.Len(t, got, 3)
	assert.Equal(t, filepath.Join("testdata/records", "cpu.json"), got[0].File)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.json"), []byte("{}"), 0o644))
	_, err = ReadFolder(dir)
	assert.EqualError(t, err, filepath.Join(dir, "a.json")+": got no measurement record of schema 1")
	_, err = ReadFolder(filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}
