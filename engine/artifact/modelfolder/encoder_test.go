package modelfolder

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	qwenText = `"vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
		"num_attention_heads": 28, "num_key_value_heads": 4, "tie_word_embeddings": false`
	qwenVision = `"vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16,
		"in_chans": 3, "out_hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2}`
)

// TestTextAndImages: Qwen2.5-VL-7B has 8,292,166,656 parameters, as published with it,
// 7,615,616,512 of them those of Qwen2.5-7B. Its config of the hub has the text's fields beside the
// encoder's.
func TestTextAndImages(t *testing.T) {
	for why, config := range map[string]string{
		"flat": `{"model_type": "qwen2_5_vl", "torch_dtype": "bfloat16", ` + qwenText + `, ` + qwenVision + `}`,
		"nested": `{"model_type": "qwen2_5_vl", "torch_dtype": "bfloat16", "text_config": {` + qwenText + `}, ` + qwenVision +
			`}`,
	} {
		m := read(t, config, nil)
		assert.Equal(t, int64(8_292_166_656), m.Weights.Parameters(), why)
		assert.Contains(t, m.Notes, "of the weights 1.26 GiB are of the encoder, and of what joins it to the text", why)
		assert.Equal(t, int64(2*28*4*128*2), int64(m.Cache.PerToken("bfloat16")), why)
		assert.Equal(t, []string{"the rest: an engine runs the encoder of " +
			"vision_config in its profile run, with the largest " +
			"input that it takes; --language-model-only leaves it out"}, m.Unknown, why)
	}
}

// TestEncoderParameters: those that are no part of the text, by the names of the architecture.
func TestEncoderParameters(t *testing.T) {
	for config, want := range map[string]int64{
		`{"model_type": "qwen2_5_vl", "text_config": {` + qwenText + `}, ` + qwenVision + `}`: 8_292_166_656 - 7_615_616_512,
		tinyLlama: 0,
		`{"model_type": "qwen2_5_vl", "text_config": {` + qwenText + `}, "vision_config": {"depth": "x"}}`: 0,
	} {
		fields, err := readObject([]byte(config))
		require.NoError(t, err)
		assert.Equal(t, want, newConfig(fields, find(fields["model_type"].(string))).encoderParameters(), config)
	}
}

// TestNestedConfigs: rules of a class that takes any text model were found with one of them.
func TestNestedConfigs(t *testing.T) {
	const vision = `"vision_config": {"model_type": "clip_vision_model", "hidden_size": 1024}`
	for _, c := range []struct{ config, unknown string }{
		{`{"model_type": "llava", "text_config": {"model_type": "llama"}, ` + vision + `}`, ""},
		{`{"model_type": "llava", "text_config": {"model_type": "qwen2"}, ` + vision + `}`,
			"text_config.model_type qwen2: the rules of llava were compared with llama alone"},
		{`{"model_type": "llava", ` + vision + `}`, "text_config: got none; what llava takes then is not in its rules"},
		{`{"model_type": "mllama", "text_config": {}, "vision_config": {"hidden_size": 64}}`,
			"weights: the rules of mllama leave out the encoder of vision_config, and the folder has no safetensors files"},
	} {
		unknown := strings.Join(read(t, c.config, nil).Unknown, "\n")
		if c.unknown == "" {
			assert.Equal(t, 0, strings.Count(unknown, "\n"), unknown)
		} else {
			assert.Contains(t, unknown, c.unknown)
		}
	}
}
