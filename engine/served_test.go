package engine

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// servedModel is the recorded start of an engine on an H100, after a change.
func servedModel(t *testing.T, change func(*recording.Served)) *Model {
	t.Helper()
	m, err := Open(filepath.Join("..", "testdata", "serving", "tiny.rec"))
	require.NoError(t, err)
	change(m.Artifact.Served)
	return m
}

func onCard(t *testing.T, name string) spec.Case {
	t.Helper()
	d, err := device.Lookup(name)
	require.NoError(t, err)
	c := spec.Case{Name: "m"}
	c.Platform.Device = d
	return c
}

// The figures of an engine's start hold for the card that it was started on alone.
func TestServedOnItsCard(t *testing.T) {
	m := servedModel(t, func(s *recording.Served) { s.Device.Count = 2 })
	r, err := m.Run(context.Background(), onCard(t, "h100-sxm-80gb"))
	require.NoError(t, err)
	assert.Equal(t, 2, r.Report.GPUs)
	assert.Equal(t, report.Estimated, r.Report.Quality)
	assert.True(t, r.Report.HasNote(note.DriverEstimate))
	_, err = m.Run(context.Background(), onCard(t, "t4"))
	assert.ErrorContains(t, err, "got the start of an engine on h100-sxm-80gb, want one on t4: its figures hold for "+
		"that card alone")
	c := onCard(t, "h100-sxm-80gb")
	c.Platform.Device.Memory = 2 * units.GiB
	_, err = m.Run(context.Background(), c)
	assert.ErrorContains(t, err, " of memory, want one on 2.00 GiB")
	m.Artifact.Served.Device.Count = 1
	r, err = m.Run(context.Background(), onCard(t, "h100-sxm-80gb"))
	require.NoError(t, err)
	assert.Zero(t, r.Report.GPUs)
}

// A report has the least of what the workers leave and the most of what they take, and says why an
// engine does not fit.
func TestServing(t *testing.T) {
	small, large := 2*units.MiB, 3*units.MiB
	m := servedModel(t, func(s *recording.Served) {
		w := s.Workers[0]
		w.Loaded, w.Activation, w.KVMemory = 1, &large, w.KVMemory-units.GiB
		s.Workers[0].Loaded, s.Workers[0].Activation = small, &small
		s.Workers = append(s.Workers, w)
	})
	s := m.Artifact.Served
	got := serving(s)
	assert.Equal(t, small, *got.Loaded)
	assert.Equal(t, large, *got.Activation)
	assert.Equal(t, s.Workers[1].KVMemory, got.KV.Memory)
	assert.Equal(t, "bfloat16", got.KV.DType, "auto is the model's")
	require.NotNil(t, got.LeastTokens)
	assert.Less(t, *got.LeastTokens, got.KV.Tokens, "where the driver takes the most that logs have")
	assert.Equal(t, *got.LeastTokens/s.KV.MaxModelLen, *got.LeastWhole)
	s.KV.CacheDType, s.Driver.Logged = "fp8", false
	got = serving(s)
	assert.Equal(t, "fp8", got.KV.DType)
	assert.Nil(t, got.LeastTokens, "no logs say how much more it may take")
	notes := driverNotes(s)
	require.Len(t, notes, 1)
	assert.Equal(t, note.DriverUnlogged, notes[0].ID)
	assert.Zero(t, got.KV.Replicas, "one engine")
	s.KV.Replicas, s.KV.TokensInAll = 2, 99
	got = serving(s)
	assert.EqualValues(t, []any{2, 99}, []any{int(got.KV.Replicas), int(got.KV.TokensInAll)})
	s.Workers[1].Outside = nil
	assert.Empty(t, driverNotes(s), "the command states the size of the cache")
	assert.NotNil(t, serving(s).LeastTokens)
	s.KV, s.Error = nil, &recording.ServedError{Text: "too large"}
	assert.Equal(t, "too large", serving(s).Unfit)
	s.Error.Stage = "KV cache"
	got = serving(s)
	assert.Equal(t, "KV cache: too large", got.Unfit)
	assert.Nil(t, got.KV)
	assert.Empty(t, driverNotes(s))
	assert.Nil(t, larger(nil, nil))
	assert.Equal(t, &large, larger(&large, nil))
	assert.Equal(t, &large, larger(nil, &large))
}

// What a case writes becomes what the executor takes: floating tensors in the case's dtype, the
// rest as it is.
func TestExecInputs(t *testing.T) {
	for _, c := range []struct {
		text string
		want any
	}{
		{"x=1", int64(1)}, {"x=1.5", 1.5}, {"x=true", true}, {"x='a'", "a"}, {"x=None", nil},
		{"x=[1, 'b']", []exec.Input{{Value: int64(1)}, {Value: "b"}}},
		{"x=(1, 2.5)", exec.Tuple{{Value: int64(1)}, {Value: 2.5}}},
		{"x={a: 1, b: [2]}", exec.Dict{{Name: "a", Value: int64(1)}, {Name: "b", Value: []exec.Input{{Value: int64(2)}}}}},
		{"x=float32[2,3]", tensor.Meta{DType: tensor.Float16, Sizes: []int64{2, 3}, Strides: []int64{3, 1}, Device: "cuda"}},
		{"x=int64[2]", tensor.Meta{DType: tensor.Int64, Sizes: []int64{2}, Strides: []int64{1}, Device: "cuda"}},
	} {
		in, err := spec.ParseInput(c.text)
		if !assert.NoError(t, err, c.text) {
			continue
		}
		got, err := execInputs([]spec.Input{in}, tensor.Float16)
		require.NoError(t, err)
		assert.Equal(t, []exec.Input{{Name: "x", Value: c.want}}, got, c.text)
	}
	none, err := castTo("")
	require.NoError(t, err)
	assert.Equal(t, tensor.Undefined, none)
	half, err := castTo("float16")
	require.NoError(t, err)
	assert.Equal(t, tensor.Float16, half)
	_, err = castTo("float17")
	assert.Error(t, err)
	assert.Nil(t, assumptions(nil))
	assert.Equal(t, map[string]int64{"a.py:3": 7},
		assumptions([]spec.Assumption{{Line: "a.py:3", Size: 7}, {Line: "a.py:4", Values: "most"}}))
	assert.Equal(t, []string{"a.py:3 = 7"}, assumed(&spec.Case{Assume: []spec.Assumption{{Line: "a.py:3", Size: 7}}}))
}

// A recording that was made just now is a model of it, and holds no program.
func TestOfRecording(t *testing.T) {
	r, err := recording.Read(filepath.Join("recording", "testdata", "records", "small.json"))
	require.NoError(t, err)
	m, err := OfRecording("a.rec", r)
	require.NoError(t, err)
	assert.Equal(t, "a.rec", m.Path)
	assert.NotNil(t, m.Origin.Made)
	_, err = m.Program()
	assert.EqualError(t, err, "got a recorded run, which holds no program")
	r.Events = nil
	_, err = OfRecording("a.rec", r)
	assert.EqualError(t, err, "got a recording without events, want one that was made with its history")
}
