package suite_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
)

const engineSpec = `version: 1
models:
  chat:
    serve: [vllm, serve, models/tiny, --max-model-len, "{L}", --max-num-seqs, "{S}"]
    dims: {L: 1024, S: 16}
    device: h100-sxm-80gb
    at_least: {concurrency: S}
    judge: likely
`

const tokenBytes = 147456 // of KV cache, as Qwen3-8B has it

// keepEngine writes the start of an engine with 2 MiB of activations more for each request, and of
// its KV cache what is left of 60 GiB.
func keepEngine(t *testing.T, path string, length, requests int64) {
	t.Helper()
	data, err := os.ReadFile("../../testdata/serving/tiny.rec")
	require.NoError(t, err)
	rec, err := recording.DecodeServed(data)
	require.NoError(t, err)
	left := 60*units.GiB - (2 * units.MiB).Mul(requests)
	k := rec.KV
	rec.Workers[0].KVMemory, rec.Made = left, &recording.Made{}
	k.Blocks = int64(left / (16 * tokenBytes))
	k.Tokens, k.Bytes = 16*k.Blocks, units.Bytes(16*k.Blocks*tokenBytes)
	k.MaxModelLen, k.MaxNumSeqs, k.Concurrency = length, requests, float64(k.Tokens)/float64(length)
	if length > k.Tokens {
		fits := false
		rec.Fits, rec.KV = &fits, nil
		rec.Error = &recording.ServedError{Stage: "KV cache", Text: "To serve at least one request"}
	}
	data, err = json.Marshal(rec)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// A search over an engine's starts asks for few of them: what it wants of what there is leads it.
func TestLargestOfAnEnginesStarts(t *testing.T) {
	for _, c := range []struct {
		why, dim string
		set      []string
		largest  int64
		next     string // what breaks there
		starts   int
	}{
		// 436,672 tokens are left, of which 16 requests have 27,292 each
		{"the length at which 16 requests fit", "L", nil, 27292, "concurrency 15, at least 16", 14},
		{"the length of one request", "L", []string{"at_least: {concurrency: 1}"}, 436672, "kv_tokens 0: KV cache: To serve",
			19},
		// of 421 requests each has 2 MiB of activations, and 430,912 tokens are left
		{"requests of 1,024 tokens that all fit", "S", nil, 420, "concurrency 420, at least 421", 11},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, cases := testcase.Project(t, engineSpec, "")
			base := cases[0]
			if len(c.set) > 0 {
				var err error
				base, err = base.WithLines(c.set...)
				require.NoError(t, err)
			}
			models := suite.New(nil)
			var wanted []spec.Case
			models.Unrecorded = func(c *spec.Case, _ string) { wanted = append(wanted, *c) }
			at := func(n int64) (spec.Case, error) { return base.With(spec.Dim{Name: c.dim, Value: n}) }
			for starts := 0; starts < 100; {
				wanted = nil
				found, err := models.Largest(context.Background(), at, 1<<20)
				if err == nil {
					assert.Equal(t, c.largest, found.Largest)
					require.NotNil(t, found.Next)
					assert.Contains(t, found.Next.String(), c.next)
					assert.Equal(t, c.starts, starts)
					return
				}
				require.NotEmpty(t, wanted, "%v", err)
				for _, one := range wanted {
					keepEngine(t, one.Captured(), one.Dims[0].Value, one.Dims[1].Value)
				}
				starts += len(wanted)
			}
			t.Fatal("got no answer after 100 starts")
		})
	}
}
