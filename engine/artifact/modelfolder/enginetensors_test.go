package modelfolder

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestEngineTensors: what vLLM makes of a model, module after module: projections of one input in
// one tensor, and embeddings with a multiple of 64 rows.
func TestEngineTensors(t *testing.T) {
	m := read(t,
		`{"model_type": "qwen2", "vocab_size": 65, "hidden_size": 8, "intermediate_size": 24, "num_hidden_layers": 2,
		"num_attention_heads": 2, "num_key_value_heads": 1, "tie_word_embeddings": false}`, nil)
	layer := []EngineTensor{
		{(8 + 2*4) * 8, ""}, {8 + 2*4, ""}, // q, k and v, and their biases
		{8 * 8, ""},      // o
		{2 * 24 * 8, ""}, // gate and up
		{24 * 8, ""},     // down
		{8, ""}, {8, ""}, // norms
	}
	var want []EngineTensor
	want = append(want, EngineTensor{128 * 8, ""})
	want = append(want, layer...)
	want = append(want, layer...)
	want = append(want, EngineTensor{8, ""}, EngineTensor{128 * 8, ""})
	assert.ElementsMatch(t, want, m.Weights.Engine)
	assert.Equal(t, want[0], m.Weights.Engine[0])
	assert.Equal(t, layer[2], m.Weights.Engine[3], "in the order of a layer's modules")
}

// TestEngineTensorsOfLatentAttention: its two first projections are one tensor, unless queries have
// none.
func TestEngineTensorsOfLatentAttention(t *testing.T) {
	config :=
		`{"model_type": "deepseek_v2", "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "first_k_dense_replace": 1,
		"num_attention_heads": 2, "kv_lora_rank": 6, "qk_rope_head_dim": 2, "qk_nope_head_dim": 4, "v_head_dim": 4, "vocab_size": 64, "q_lora_rank": %s}`
	one := read(t, fmt.Sprintf(config, "5"), nil).Weights.Engine
	assert.Contains(t, one, EngineTensor{(5 + 6 + 2) * 16, ""})
	two := read(t, fmt.Sprintf(config, "null"), nil).Weights.Engine
	assert.Contains(t, two, EngineTensor{(6 + 2) * 16, ""})
	assert.Contains(t, two, EngineTensor{2 * (4 + 2) * 16, ""}, "the queries")
}

// TestEngineTensorsAreNotKnown: where numbers are quantised, or the files hold others than the
// rules say.
func TestEngineTensorsAreNotKnown(t *testing.T) {
	config :=
		`{"model_type": "llama", "vocab_size": 64, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2%s}`
	assert.NotNil(t, read(t, fmt.Sprintf(config, ""), nil).Weights.Engine)
	assert.Nil(t, read(t, fmt.Sprintf(config, `, "quantization_config": {"quant_method": "fp8"}`), nil).Weights.Engine)
	assert.Nil(t, read(t, `{"model_type": "not-known"}`, nil).Weights.Engine)
	many :=
		`{"model_type": "stablelm", "vocab_size": 64, "hidden_size": 64, "qk_layernorm": true, "num_hidden_layers": %s, "num_attention_heads": %s, "num_key_value_heads": 2}`
	assert.NotNil(t, read(t, fmt.Sprintf(many, "2", "32"), nil).Weights.Engine)
	assert.Nil(t, read(t, fmt.Sprintf(many, "1", "131073"), nil).Weights.Engine, "a norm of each head, of one layer")
	assert.Nil(t, read(t, fmt.Sprintf(many, "4096", "32"), nil).Weights.Engine, "of all layers")
}
