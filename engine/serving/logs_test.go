package serving

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/units"
)

// logged is a row of testdata/serving/logs.csv: what vLLM logged on an H100 of 80 GB, with 95 % of
// its memory, 8,192 tokens in one pass and 1,024 requests, where its own arguments say nothing
// else.
type logged map[string]string

func (l logged) number(t *testing.T, column string) float64 {
	t.Helper()
	return number(t, l[column])
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return n
}

const servingFolder = "../../testdata/serving/"

// logRows returns the rows of a table of logs.
func logRows(t *testing.T, name string) (found []logged) {
	t.Helper()
	f, err := os.Open(servingFolder + name)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	for _, row := range rows[1:] {
		l := logged{}
		for i, column := range rows[0] {
			l[column] = row[i]
		}
		found = append(found, l)
	}
	return found
}

// publishedLogs returns the rows whose model's config is known, with the configs.
func publishedLogs(t *testing.T) ([]logged, map[string]json.RawMessage) {
	t.Helper()
	var configs map[string]json.RawMessage
	data, err := os.ReadFile(servingFolder + "configs.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &configs))
	var found []logged
	for _, l := range logRows(t, "logs.csv") {
		if configs[l["model"]] != nil {
			found = append(found, l)
		}
	}
	return found, configs
}

// TestPublishedLogs: weights to the two decimals of a log; tokens times bytes of a token to a block
// of 16 of what the log calls KV memory; tokens in the range.
func TestPublishedLogs(t *testing.T) {
	const gib, half = float64(units.GiB), 0.0051 // of the second decimal
	rows, configs := publishedLogs(t)
	seen, perToken := 0, 0
	for _, l := range rows {
		o, alone := l.options(t)
		if !alone || l["release"] < "0.17" { // whose profile run was another
			continue
		}
		seen++
		e := New(l["model"], model(t, string(configs[l["model"]])), o)
		require.Empty(t, e.Unknown, l["model"])
		assert.InDelta(t, l.number(t, "loaded"), float64(*e.Weights)/gib, half, l["model"])
		tokens := int64(l.number(t, "tokens"))
		if len(e.KVParts) == 1 {
			perToken++
			block := e.KVPerToken.Mul(16)
			assert.InDelta(t, l.number(t, "kv"), float64(e.KVPerToken.Mul(tokens))/gib, half+float64(block)/gib, l["model"])
		}
		assert.LessOrEqual(t, e.KVTokens.AtLeast, tokens, l["model"])
		assert.GreaterOrEqual(t, e.KVTokens.AtMost, tokens, l["model"])
	}
	assert.Equal(t, []int{22, 19}, []int{seen, perToken})
}

// TestWeightsOfTheEngine: to the byte what vLLM 0.19.0 with torch 2.10 loads on a pretend H100, as
// its worker's model_memory_usage has it.
func TestWeightsOfTheEngine(t *testing.T) {
	_, configs := publishedLogs(t)
	for name, loaded := range map[string]units.Bytes{
		"Qwen3-8B": 16394145792, "granite-3.1-2b-instruct": 5084172288,
		"Qwen2.5-7B-Instruct": 15299447808, "phi-4": 29407176704,
	} {
		e := New(name, model(t, string(configs[name])), options(t, "h100-sxm-80gb"))
		assert.Equal(t, loaded, *e.Weights, name)
	}
	// of vLLM 0.24.0 with torch 2.11: to the byte, to 512 bytes, and to 1 MiB
	for name, loaded := range map[string]units.Bytes{
		"Qwen2.5-7B-Instruct": 15343488000, "Qwen3-8B": 16394146304 - 512, "Qwen2.5-0.5B-Instruct": 995047424 - units.MiB,
	} {
		e := New(name, model(t, string(configs[name])), options(t, "h100-sxm-80gb"))
		assert.Equal(t, loaded, e.laterWeights(), name)
	}
}

func (e *Estimate) laterWeights() units.Bytes { return *e.Weights - *e.Rounding + *e.RoundingLater }

// TestRotaryTablesWithoutACompiler: latent attention's tables scaled by YaRN are in float32 where
// nothing is compiled, with 16 bits of weights: seen with vLLM 0.19.0.
func TestRotaryTablesWithoutACompiler(t *testing.T) {
	_, configs := publishedLogs(t)
	const note = "an engine that is started with --enforce-eager keeps the rotary tables in float32: 20.0 MiB more"
	deepSeek := model(t, string(configs["DeepSeek-V2-Lite-Chat"]))
	o := options(t, "h100-sxm-80gb")
	assert.Contains(t, New("DeepSeek-V2-Lite", deepSeek, o).Notes, note)
	o.DType = "float32"
	assert.NotContains(t, strings.Join(New("DeepSeek-V2-Lite", deepSeek, o).Notes, " "), "eager")
	plain := model(t, strings.Replace(string(configs["DeepSeek-V2-Lite-Chat"]), `"yarn"`, `"linear"`, 1))
	assert.NotContains(t, strings.Join(New("DeepSeek-V2-Lite", plain, options(t, "h100-sxm-80gb")).Notes, " "), "eager")
}

// TestLaterLogs: what later releases of vLLM logged on other cards, with the batches that they
// chose there: weights, tokens in the range, and the bytes of a token.
func TestLaterLogs(t *testing.T) {
	const gib = float64(units.GiB)
	_, configs := publishedLogs(t)
	rows := logRows(t, "logs-later.csv")
	require.Len(t, rows, 2)
	for _, l := range rows {
		o := options(t, l["card"])
		o.BatchedTokens, o.Batch = int64(l.number(t, "batched")), int64(l.number(t, "requests"))
		words := strings.Fields(l["arguments"])
		require.Equal(t, []string{"--max-model-len", "--gpu-memory-utilization"}, []string{words[0], words[2]})
		o.Context, o.Share = int64(number(t, words[1])), number(t, words[3])
		e := New(l["model"], model(t, string(configs[l["model"]])), o)
		require.Empty(t, e.Unknown)
		assert.InDelta(t, l.number(t, "loaded"), float64(e.laterWeights())/gib, 0.0051, l["model"])
		tokens := int64(l.number(t, "tokens"))
		assert.InDelta(t, l.number(t, "kv"), float64(e.KVPerToken.Mul(tokens))/gib, 0.0051+float64(e.KVPerToken.Mul(16))/gib)
		assert.LessOrEqual(t, e.KVTokens.AtLeast, tokens, l["model"])
		assert.GreaterOrEqual(t, e.KVTokens.AtMost, tokens, l["model"])
	}
}

// options returns what a row was started with, and whether it is of one GPU, without weights that
// the engine quantises.
func (l logged) options(t *testing.T) (Options, bool) {
	t.Helper()
	o := options(t, "h100-sxm-80gb")
	o.Share, o.Batch, o.Context = 0.95, 1024, 8192
	for words := strings.Fields(l["arguments"]); len(words) > 0; words = words[2:] {
		switch words[0] {
		case "--dtype":
			o.DType = words[1]
		case "--kv-cache-dtype":
			o.CacheDType = map[string]string{"fp8": "float8_e4m3fn"}[words[1]]
		case "--max-model-len":
			n, err := strconv.ParseInt(words[1], 10, 64)
			require.NoError(t, err)
			o.Context = n
		case "--quantization":
			return o, false
		default:
			t.Fatalf("got %s, want an option of this test", words[0])
		}
	}
	return o, l["gpus"] == "1" && l["stages"] == "1"
}

// TestPublishedLogOfTwoGPUs: half of the parameters lies on each GPU, the rotary table on both.
// Norms and biases that both have are 0.001 GiB. A token has half its heads on each.
func TestPublishedLogOfTwoGPUs(t *testing.T) {
	_, configs := publishedLogs(t)
	e := New("Qwen2.5-7B", model(t, string(configs["Qwen2.5-7B-Instruct"])), options(t, "h100-sxm-80gb"))
	half := float64((*e.Weights-e.RotaryTable)/2+e.RotaryTable) / float64(units.GiB)
	assert.InDelta(t, 7.12, half, 0.025, "with what PyTorch rounds up")
	assert.InDelta(t, 63.84, 2390592*float64(*e.KVPerToken/2)/float64(units.GiB), 0.006)
}
