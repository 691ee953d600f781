package serving

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact/modelfolder"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/units"
)

func model(t *testing.T, config string) *modelfolder.Model {
	t.Helper()
	m, err := modelfolder.Read(fstest.MapFS{modelfolder.ConfigName: {Data: []byte(config)}})
	require.NoError(t, err)
	return m
}

func options(t *testing.T, name string) Options {
	t.Helper()
	d, err := device.Lookup(name)
	require.NoError(t, err)
	return Options{Device: d, Batch: 1, BatchedTokens: 8192, Share: 0.9, DType: "auto", CacheDType: "auto"}
}

// The configs of three models, as their publisher has them; fields that decide nothing here are left out.
const (
	qwen3 = `{"model_type": "qwen3", "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12288, "max_position_embeddings": 40960,
		"num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8, "rope_theta": 1000000, "torch_dtype": "bfloat16",
		"use_sliding_window": false, "vocab_size": 151936}`
	qwen3MoE = `{"model_type": "qwen3_moe", "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 40960,
		"mlp_only_layers": [], "moe_intermediate_size": 768, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8,
		"num_hidden_layers": 48, "num_key_value_heads": 4, "rope_theta": 1000000.0, "torch_dtype": "bfloat16", "vocab_size": 151936,
		"decoder_sparse_step": 1, "use_sliding_window": false}`
	qwen25 = `{"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "max_position_embeddings": 131072,
		"max_window_layers": 28, "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "rope_theta": 1000000.0,
		"sliding_window": 131072, "torch_dtype": "bfloat16", "use_sliding_window": false, "vocab_size": 152064}`
)

// TestPublishedLogs compares with what vLLM 0.19 logged on an H100 of 80 GB, with 95 % of its memory,
// 8,192 tokens in one pass and 1,024 requests: weights to the two decimals of the log, tokens times
// bytes of a token to a block of 16 tokens of what the log calls KV memory, and all else in the range.
func TestPublishedLogs(t *testing.T) {
	const gib = float64(units.GiB)
	for _, c := range []struct {
		name, config        string
		weights, activation float64 // GiB
		outside, kv         float64
		tokens              int64
	}{
		{"Qwen3-8B", qwen3, 15.27, 2.21, 0.25, 57.50, 418688},
		{"Qwen3-30B-A3B", qwen3MoE, 56.88, 2.68, 0.27, 15.41, 168288},
	} {
		o := options(t, "h100-sxm-80gb")
		o.Share, o.Batch, o.Context = 0.95, 1024, 8192
		e := New(c.name, model(t, c.config), o)
		assert.Equal(t, fmt.Sprintf("%.2f", c.weights), fmt.Sprintf("%.2f", float64(*e.Weights)/gib), c.name)
		assert.Less(t, math.Abs(float64(c.tokens)*float64(*e.KVPerToken)/gib-c.kv), 0.006, "%s: the log has two decimals", c.name)
		rest := c.activation + c.outside
		assert.Less(t, float64(e.Rest.AtLeast)/gib, rest, c.name)
		assert.Greater(t, float64(e.Rest.AtMost)/gib, rest, c.name)
		assert.LessOrEqual(t, e.KVTokens.AtLeast, c.tokens, c.name)
		assert.GreaterOrEqual(t, e.KVTokens.AtMost, c.tokens, c.name)
	}
}

// TestPublishedLogOfTwoGPUs: half of the parameters lies on each GPU, the rotary table on both. Norms
// and biases that both have are 0.001 GiB. A token has half its heads on each.
func TestPublishedLogOfTwoGPUs(t *testing.T) {
	e := New("Qwen2.5-7B", model(t, qwen25), options(t, "h100-sxm-80gb"))
	half := float64((*e.Weights-e.RotaryTable)/2+e.RotaryTable) / float64(units.GiB)
	assert.Equal(t, "7.12", fmt.Sprintf("%.2f", half))
	assert.Less(t, math.Abs(2390592*float64(*e.KVPerToken/2)/float64(units.GiB)-63.84), 0.006)
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		why    string
		device string
		batch  int64
		config string
		want   Outcome
	}{
		{"room for one", "l4", 1, qwen3, Fits},
		{"3 of 1.13 GiB in 3.17 to 4.24 GiB", "l4", 3, qwen3, Undecided},
		{"more than the range's upper end", "l4", 16, qwen3, Exceeds},
		{"the weights alone are too large", "l4", 1, qwen3MoE, Exceeds},
		{"a device without a limit", "none", 1, qwen3, Unlimited},
		{"an architecture without rules", "l4", 1, `{"model_type": "x", "max_position_embeddings": 5}`, Incomplete},
	} {
		o := options(t, c.device)
		o.Batch, o.Context = c.batch, 8192
		assert.Equal(t, c.want, New("m", model(t, c.config), o).Outcome, c.why)
	}
}

// TestNothingIsJudgedWithoutAFigure: each that is missing is enough.
func TestNothingIsJudgedWithoutAFigure(t *testing.T) {
	size := units.Bytes(1)
	for _, c := range []struct {
		why string
		e   Estimate
	}{
		{"no length is known", Estimate{Weights: &size}},
		{"no weights are known", Estimate{KVPerSequence: &size}},
		{"something is not known", Estimate{Weights: &size, KVPerSequence: &size, Unknown: []string{"x"}}},
	} {
		c.e.judge(options(t, "l4"))
		assert.Equal(t, Incomplete, c.e.Outcome, c.why)
	}
}

func TestDTypes(t *testing.T) {
	float32 := strings.Replace(qwen3, "bfloat16", "float32", 1)
	o := options(t, "l4")
	e := New("m", model(t, float32), o)
	assert.Equal(t, "bfloat16", e.DType)
	assert.Contains(t, e.Notes[len(e.Notes)-1], "saved in float32")
	o.DType, o.CacheDType = "float32", "float8_e4m3fn"
	f := New("m", model(t, float32), o)
	assert.Equal(t, 2*(*e.Weights), *f.Weights)
	assert.Equal(t, *e.KVPerToken/2, *f.KVPerToken)
}

// TestText holds what is printed, for people and as JSON.
func TestText(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(a *golden.Archive) {
		o := options(t, strings.TrimSpace(string(a.Input("device"))))
		o.Context, o.Batch = 8192, 4
		e := New("models/m", model(t, string(a.Input("config"))), o)
		var text strings.Builder
		require.NoError(t, e.WriteText(&text))
		a.Want("text", []byte(text.String()))
		data, err := json.MarshalIndent(e, "", "  ")
		require.NoError(t, err)
		a.Want("json", append(data, '\n'))
	})
}
