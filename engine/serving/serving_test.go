package serving

import (
	"encoding/json"
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

// The configs of two models, as their publisher has them; fields that decide nothing here are left
// out.
const (
	qwen3 = `{"model_type": "qwen3", "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12288, "max_position_embeddings": 40960,
		"num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8, "rope_theta": 1000000, "torch_dtype": "bfloat16",
		"use_sliding_window": false, "vocab_size": 151936}`
	qwen3MoE = `{"model_type": "qwen3_moe", "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 40960,
		"mlp_only_layers": [], "moe_intermediate_size": 768, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8,
		"num_hidden_layers": 48, "num_key_value_heads": 4, "rope_theta": 1000000.0, "torch_dtype": "bfloat16", "vocab_size": 151936,
		"decoder_sparse_step": 1, "use_sliding_window": false}`
)

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
	assert.Equal(t, 2*(*e.Weights-*e.Rounding), *f.Weights-*f.Rounding)
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
