package cudameasure

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

const records = "../engine/recording/testdata/records"

func record(t *testing.T, name string) *Measurement {
	t.Helper()
	m, err := Read(filepath.Join(records, name+".json"))
	require.NoError(t, err)
	return m
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
	small.Sampled.Most = 120 * MiB
	got, ok = small.Value(report.Total)
	assert.True(t, ok)
	assert.Equal(t, 20*MiB, got, "nothing but what the allocator has")
	small.Sampled.Most--
	_, ok = small.Value(report.Total)
	assert.False(t, ok, "a byte less than the allocator has")
	small.Sampled.Most = 110 * MiB
	_, ok = small.Value(report.Total)
	assert.False(t, ok, "samples that missed the peak say nothing")
}

func TestFoldersAreMeasurements(t *testing.T) {
	got, err := ReadFolder(records)
	require.NoError(t, err)
	require.Len(t, got, 3)
	assert.Equal(t, filepath.Join(records, "cpu.json"), got[0].File)
	assert.Equal(t, "small[B=2]", got[0].Case)
	assert.Nil(t, got[0].Sampled)
	_, err = ReadFolder(t.TempDir() + "/none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// Of a compiled model the first pass is none of its calls, where the run came to a later one: its
// peak counts as the first call's alone.
func TestValuesOfACompiledModel(t *testing.T) {
	const MiB = units.MiB
	m := record(t, "small")
	values := func() (allocated, first, delta units.Bytes) {
		allocated, ok := m.Value(report.Allocated)
		assert.True(t, ok)
		first, ok = m.Value(report.FirstCall)
		assert.True(t, ok)
		delta, ok = m.Value(report.Delta)
		assert.True(t, ok)
		return allocated, first, delta
	}
	allocated, first, delta := values()
	assert.Equal(t, []units.Bytes{8 * MiB, 8 * MiB, 4 * MiB}, []units.Bytes{allocated, first, delta})
	m.Compiled = true
	allocated, first, delta = values()
	assert.Equal(t, []units.Bytes{7 * MiB, 8 * MiB, 3 * MiB}, []units.Bytes{allocated, first, delta})
	m.Passes = m.Passes[:2]
	allocated, _, _ = values()
	assert.Equal(t, 8*MiB, allocated, "the run ended in the first pass")
	_, ok := m.Value("nothing")
	assert.False(t, ok)
}
