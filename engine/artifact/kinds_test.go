package artifact_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// TestKindsOfFiles: what an artifact of each kind is called, from whom it is, and what it can
// answer.
func TestKindsOfFiles(t *testing.T) {
	data := filepath.Join("..", "..", "testdata")
	for _, tt := range []struct{ file, format, line, producer, runtimes, modes string }{
		{"artifacts/small/addmm.script.pt", "torchscript", "a TorchScript archive (torch.jit.save)", "", "eager,torchscript",
			"inference"},
		{"compiled/mlp.t4.pt2", "aotinductor", "", "compiled for CUDA, compute capability 7.5", "compiled", "inference"},
	} {
		path := filepath.Join(data, filepath.FromSlash(tt.file))
		name, line, err := artifact.What(path)
		require.NoError(t, err, tt.file)
		assert.Equal(t, tt.format, name, tt.file)
		if tt.line != "" {
			assert.Equal(t, tt.line, line, tt.file)
		}
		a, err := artifact.Open(path)
		require.NoError(t, err, tt.file)
		assert.Equal(t, tt.format, a.Format, tt.file)
		if tt.producer != "" {
			assert.Equal(t, tt.producer, a.Producer, tt.file)
		}
		assert.Equal(t, tt.runtimes+" "+tt.modes, strings.Join(a.Runtimes, ",")+" "+strings.Join(a.Modes, ","), tt.file)
		require.NotNil(t, a.Program, tt.file)
	}

	path := filepath.Join(data, "artifacts", "small", "addmm.script.pt")
	bytes, err := os.ReadFile(path)
	require.NoError(t, err)
	a, err := artifact.Unpack(bytes)
	require.NoError(t, err)
	assert.Equal(t, "torchscript", a.Format)
	_, err = artifact.Unpack(bytes[:len(bytes)/2])
	assert.Error(t, err)

	dir := t.TempDir()
	name, line, err := artifact.What(filepath.Join(dir, "gone.pt"))
	assert.EqualError(t, err, filepath.Join(dir, "gone.pt")+": no such file or directory")
	assert.Empty(t, name+line)
	name, line, err = artifact.What(dir)
	require.NoError(t, err)
	assert.Empty(t, name)
	assert.NotEmpty(t, line)
}

// TestAnEnginesStart: the recorded start of an engine is one kind of artifact, known by what it
// holds.
func TestAnEnginesStart(t *testing.T) {
	path := filepath.Join("..", "..", "testdata", "serving", "tiny.rec")
	a, err := artifact.Open(path)
	require.NoError(t, err)
	assert.Equal(t, artifact.ServedFormat, a.Format)
	assert.Equal(t, "vllm 0.19.0, torch 2.10.0, on a pretend NVIDIA H100 80GB HBM3", a.Producer)
	assert.Equal(t, []string{"vllm"}, a.Runtimes)
	assert.Equal(t, []string{"serve"}, a.Modes)
	assert.Equal(t, "models/tiny", a.Served.Model)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	wrong := filepath.Join(t.TempDir(), "wrong.rec")
	require.NoError(t, os.WriteFile(wrong, []byte(strings.Replace(string(data), `"blocks": 4652439`, `"blocks": -1`, 1)),
		0o600))
	_, err = artifact.Open(wrong)
	assert.ErrorContains(t, err, "kv: got the number -1, want 0 to 2^53")
}

// TestRunsWithOtherValues: those with other events are kept, by what their values were.
func TestRunsWithOtherValues(t *testing.T) {
	r := testcase.Reading(testcase.More("most", 512*units.MiB))
	r.Values.Runs = append([]recording.ValueRun{{Values: "least", As: recording.Balanced}}, r.Values.Runs...)
	a, err := artifact.OfRecording(r)
	require.NoError(t, err)
	require.Len(t, a.Recorded.Others, 1)
	assert.Equal(t, "most", a.Recorded.Others[0].Values)
	assert.NotEqual(t, a.Recorded.Trace, a.Recorded.Others[0].Trace)
}

// TestWhereARecordingIsFrom: a pretend GPU is never shown as a real one.
func TestWhereARecordingIsFrom(t *testing.T) {
	for where, want := range map[recording.Where]string{recording.OnCUDA: "torch 2.15, on Tesla T4",
		recording.OnPretend: "torch 2.15, on a pretend Tesla T4", recording.OnCPU: "torch 2.15, on CPU tensors"} {
		r, err := recording.Read(filepath.Join("..", "recording", "testdata", "records", "small.json"))
		require.NoError(t, err)
		r.Torch, r.Where, r.Device.Name, r.Runtime, r.Mode = "2.15", where, "Tesla T4", "eager", "inference"
		a, err := artifact.OfRecording(r)
		require.NoError(t, err)
		assert.Equal(t, want, a.Producer)
		assert.Equal(t, []string{"eager"}, a.Runtimes)
		assert.Equal(t, []string{"inference"}, a.Modes)
		r.Runtime, r.Mode = "", ""
		a, err = artifact.OfRecording(r)
		require.NoError(t, err)
		assert.Empty(t, append(a.Runtimes, a.Modes...), "what it does not state it does not refuse")
		r.Compiled, r.Runtime, r.Mode = true, "eager", "program"
		a, err = artifact.OfRecording(r)
		require.NoError(t, err)
		assert.Equal(t, []string{"compiled", "eager"}, a.Runtimes, "as it is reported first")
		assert.Empty(t, a.Modes, "a program may train or not")
		r.Events = nil
		_, err = artifact.OfRecording(r)
		assert.EqualError(t, err, "got a recording without events, want one that was made with its history")
	}
}

// TestRunsThatContradictThemselves: a recording whose events cannot be replayed is refused, and so
// is one of other values, by their word.
func TestRunsThatContradictThemselves(t *testing.T) {
	twice := recording.Event{Action: trace.Alloc, Key: 1 << 51, Size: 512}
	r := testcase.Reading(testcase.More("most", 512*units.MiB))
	run := &r.Values.Runs[0]
	run.Events = append(run.Events, twice, twice)
	_, err := artifact.OfRecording(r)
	assert.EqualError(t, err, fmt.Sprintf("values most: event %d: got an alloc at 0x8000000000000, which is not free",
		run.Shared+len(run.Events)-1))
	r.Events = append(r.Events, twice, twice)
	_, err = artifact.OfRecording(r)
	assert.EqualError(t, err, fmt.Sprintf("event %d: got an alloc at 0x8000000000000, which is not free", len(r.Events)-1))
}
