package recording_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/units"
)

// servedFile is the start of vLLM with a tiny Llama, as memshim capture recorded it.
func servedFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "serving", name))
	require.NoError(t, err)
	return string(data)
}

// The figures of a recorded start, and what is left where the driver takes more.
func TestARecordedStart(t *testing.T) {
	s, err := recording.DecodeServed([]byte(servedFile(t, "tiny.rec")))
	require.NoError(t, err)
	assert.Equal(t, int64(36347), s.KV.Requests())
	assert.Equal(t, "0.19.0", s.Made.Packages["vllm"])
	assert.Equal(t, *s.KV, s.WithDriver(0))
	block := s.KV.Bytes / units.Bytes(s.KV.Blocks)
	rest := s.Least().KVMemory % block
	assert.Equal(t, s.KV.Blocks, s.WithDriver(rest).Blocks, "what is beside whole blocks")
	less := s.WithDriver(rest + 1)
	assert.Equal(t, s.KV.Blocks-1, less.Blocks)
	assert.Equal(t, s.KV.Tokens-16, less.Tokens)
	assert.InDelta(t, s.KV.Concurrency, less.Concurrency, 0.01)
	assert.Equal(t, int64(0), s.WithDriver(units.TiB).Tokens, "more than there is")

	stated := *s
	stated.Workers = append([]recording.ServedWorker{}, s.Workers...)
	for i := range stated.Workers {
		stated.Workers[i].Activation, stated.Workers[i].Outside = nil, nil
	}
	assert.Equal(t, *s.KV, stated.WithDriver(units.TiB), "the command states the size of the cache")
	hybrid := *s
	kv := *s.KV
	kv.Tokens /= 2
	hybrid.KV = &kv
	left := hybrid.WithDriver(s.Least().KVMemory - block.Mul(kv.Blocks/2))
	assert.InDelta(t, kv.Tokens/2, left.Tokens, 8, "tokens of several groups fall with the blocks")
}

// A recorded start that says what cannot be is refused, with what is wrong.
func TestARecordedStartIsChecked(t *testing.T) {
	whole := servedFile(t, "tiny.rec")
	for _, tt := range []struct{ old, with, want string }{
		{`"schema": 1`, `"schema": 2`, "got schema 2, want 1"},
		{`"fits": true`, `"fits": null`, "got an engine that did not start"},
		{`"fits": true`, `"fits": false`, "got fits false beside another kv or error"},
		{`"workers": [`, `"workers": [], "was": [`, "got 0 workers, want 1 to 65536"},
		{`"workers": [`, `"workers": [` + strings.Repeat("{}, ", 65536), "got 65537 workers, want 1 to 65536"},
		{`"count": 1`, `"count": 0`, "device: got a count of 0"},
		{`"least": `, `"least": 9`, "driver: got sizes 9257949696, 268435456 and 290455552"},
		{`"loaded": `, `"loaded": -`, "worker 0: got a size of -3938816 bytes"},
		{`"activation": `, `"activation": null, "was": `, "worker 0: got one of activation and outside_pytorch"},
		{`"blocks": `, `"blocks": -`, "kv: got the number -4652439"},
		{`"tokens": `, `"tokens": 9223372036854775807, "was": `, "kv: got the number 9223372036854775807, want 0 to 2^53"},
		{`"kv_memory": `, `"kv_memory": -9223372036854775808, "was": `, "worker 0: got a kv_memory of -9223372036854775808"},
		{`"memory": `, `"memory": -`, "device: got a memory of -85045477376 bytes"},
		{`"concurrency": `, `"concurrency": 1e300, "was": `, "kv: got concurrency 1e+300"},
		{`"kv_cache": `, `"kv_cache": 1, "was": `, "blocks in 1 bytes"},
		{`"release": "`, `"release": "\u001b`, "want it printable"},
		{`"files": [`, `"files": [{"path": "/etc/passwd", "sha256": ""}`, `got path "/etc/passwd"`},
	} {
		require.Contains(t, whole, tt.old)
		_, err := recording.DecodeServed([]byte(strings.Replace(whole, tt.old, tt.with, 1)))
		assert.ErrorContains(t, err, tt.want)
	}
	text, number := "\x1b", units.Bytes(1<<53+1)
	for _, tt := range []struct {
		edit func(*recording.Served)
		want string // "" where it is taken
	}{
		{func(s *recording.Served) { s.Error = &recording.ServedError{} }, "got fits true beside another kv or error"},
		{func(s *recording.Served) { s.KV = nil }, "got fits true beside another kv or error"},
		{func(s *recording.Served) { *s.Fits, s.KV = false, nil }, "got fits false beside another kv or error"},
		{func(s *recording.Served) {
			*s.Fits, s.KV, s.Error, s.Workers = false, nil, &recording.ServedError{}, nil
		}, ""},
		{func(s *recording.Served) { s.Device.Count = 65536 }, ""},
		{func(s *recording.Served) { s.Device.Count = 65537 }, "device: got a count of 65537, want 1 to 65536"},
		{func(s *recording.Served) { s.Device.Memory = number - 1 }, ""},
		{func(s *recording.Served) { s.Device.Memory = number }, "device: got a memory of"},
		{func(s *recording.Served) { s.Driver.Least, s.Driver.Bytes, s.Driver.Most = 5, 5, 5 }, ""},
		{func(s *recording.Served) { s.Driver.Least, s.Driver.Bytes, s.Driver.Most = 5, 6, 5 },
			"driver: got sizes 5, 6 and 5"},
		{func(s *recording.Served) { s.Driver.Least = -1 }, "driver: got sizes -1"},
		{func(s *recording.Served) { s.Driver.Most = number }, "driver: got sizes"},
		{func(s *recording.Served) { s.KV.Utilization = 0 }, ""},
		{func(s *recording.Served) { s.KV.Utilization = 1 }, ""},
		{func(s *recording.Served) { s.KV.Utilization = 1.5 }, "and gpu_memory_utilization 1.5, want numbers from 0"},
		{func(s *recording.Served) { s.KV.Utilization = -0.5 }, "and gpu_memory_utilization -0.5, want numbers from 0"},
		{func(s *recording.Served) { s.KV.Concurrency = 0 }, ""},
		{func(s *recording.Served) { s.KV.Concurrency = -0.5 }, "kv: got concurrency -0.5"},
		{func(s *recording.Served) { s.KV.Concurrency = 1 << 53 }, "kv: got concurrency 9.007199254740992e+15"},
		{func(s *recording.Served) { s.KV.CacheDType = text }, `got the text "\x1b", want it printable`},
		{func(s *recording.Served) { s.KV.DType = text }, `got the text "\x1b", want it printable`},
		{func(s *recording.Served) { s.Command = []string{text} }, `got the text "\x1b", want it printable`},
		{func(s *recording.Served) { s.Workers[0].KVMemory = 1 - number }, ""},
		{func(s *recording.Served) { s.Workers[0].KVMemory = -number }, "worker 0: got a kv_memory of"},
	} {
		s, err := recording.DecodeServed([]byte(whole))
		require.NoError(t, err)
		tt.edit(s)
		data, err := json.Marshal(s)
		require.NoError(t, err)
		if _, err = recording.DecodeServed(data); tt.want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, tt.want)
		}
	}
	spaces := bytes.Repeat([]byte(" "), 64<<20+1)
	_, err := recording.DecodeServed(spaces)
	assert.EqualError(t, err, "got a recording of more than 67108864 bytes")
	_, err = recording.DecodeServed(spaces[1:])
	assert.ErrorContains(t, err, "unexpected end of JSON input")
	_, err = recording.DecodeServed([]byte("{"))
	assert.EqualError(t, err, "not the start of an engine: unexpected end of JSON input")
}
