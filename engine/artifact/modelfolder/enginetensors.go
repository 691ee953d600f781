package modelfolder

import (
	"fmt"
	"strings"
)

// An EngineTensor is a parameter as vLLM makes it on one GPU.
type EngineTensor struct {
	Elements int64
	DType    string // "" is the one that the engine runs in
}

// mostEngineTensors bounds what a config may ask for; the largest models have some thousand
// tensors.
const mostEngineTensors = 1 << 17

// vocabularyPadding is what vLLM makes the rows of embeddings a multiple of:
// DEFAULT_VOCAB_PADDING_SIZE in vllm/model_executor/layers/vocab_parallel_embedding.py.
const vocabularyPadding = 64

// vocabularies are the modules that have a row for each token.
var vocabularies = map[string]bool{"embed_tokens": true, "lm_head": true, "wte": true}

// merged are modules of transformers whose weights vLLM keeps as one tensor: QKVParallelLinear and
// MergedColumnParallelLinear in vllm/model_executor/layers/linear.py.
var merged = map[string]string{
	"q_proj": "qkv_proj", "k_proj": "qkv_proj", "v_proj": "qkv_proj",
	"gate_proj": "gate_up_proj", "up_proj": "gate_up_proj",
	"q_a_proj": "fused_qkv_a_proj", "kv_a_proj_with_mqa": "fused_qkv_a_proj",
}

// engineTensors returns what vLLM makes of a config whose weights are not quantised, in the order
// of its modules: what stands before the layers, layer after layer, and what follows them.
func (c *config) engineTensors() ([]EngineTensor, error) {
	var all []EngineTensor
	done := map[string]bool{}
	for r := range c.of.tensors {
		rule := &c.of.tensors[r]
		rules := []*tensorRule{rule}
		if stack, _, inside := strings.Cut(rule.name, ".*"); inside && rule.layers != nil {
			if done[stack] {
				continue
			}
			done[stack] = true
			rules = c.of.inStack(stack)
		}
		layers, err := c.count(rule.layers)
		for i := int64(0); err == nil && i < layers; i++ {
			var found []EngineTensor
			if found, err = c.layerTensors(rules, i); len(all)+len(found) > mostEngineTensors {
				err = fmt.Errorf("got more than %d tensors", mostEngineTensors)
			}
			all = append(all, found...)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// inStack returns the rules of a stack of layers, those of one module together.
func (a *architecture) inStack(stack string) []*tensorRule {
	var modules []string
	of := map[string][]*tensorRule{}
	for r := range a.tensors {
		rule := &a.tensors[r]
		if rule.layers == nil || !strings.HasPrefix(rule.name, stack+".*") {
			continue
		}
		module, _, _ := splitName(rule.name)
		if of[module] == nil {
			modules = append(modules, module)
		}
		of[module] = append(of[module], rule)
	}
	var all []*tensorRule
	for _, module := range modules {
		all = append(all, of[module]...)
	}
	return all
}

// splitName takes model.layers.*.mlp.up_proj.weight apart: the module around it, up_proj, and
// weight.
func splitName(name string) (parent, module, parameter string) {
	rest, parameter := cutLast(name)
	parent, module = cutLast(rest)
	return parent, module, parameter
}

func cutLast(name string) (before, after string) {
	at := strings.LastIndexByte(name, '.')
	return name[:max(at, 0)], name[at+1:]
}

// layerTensors returns the tensors of some rules in one layer.
func (c *config) layerTensors(rules []*tensorRule, layer int64) ([]EngineTensor, error) {
	var all []EngineTensor
	at := map[string]int{} // of tensors that others are merged with
	for _, rule := range rules {
		t, err := c.tensor(rule, layer)
		if err != nil {
			return nil, err
		}
		parent, module, parameter := splitName(rule.name)
		if vocabularies[module] && parameter == "weight" && len(t.dims) == 2 {
			rows := parts(t.dims[0], vocabularyPadding) * vocabularyPadding
			t.elements = rows * t.dims[1]
		}
		whole := parent + "." + merged[module] + "." + parameter
		if t.n > mostEngineTensors {
			return nil, fmt.Errorf("%s: got %d tensors of a layer, want at most %d", rule.name, t.n, mostEngineTensors)
		}
		for range t.n {
			if i, ok := at[whole]; ok && merged[module] != "" {
				all[i].Elements += t.elements
				continue
			}
			at[whole] = len(all)
			all = append(all, EngineTensor{t.elements, rule.kind})
		}
	}
	return all, nil
}
