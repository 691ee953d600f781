package modelfolder

import (
	"fmt"
	"regexp"
	"strings"
)

// A method is how quantization_config says that weights are saved.
type method struct {
	name        string
	known       bool // a formula is known
	bits, group int64
	block       []int64 // of fp8 with a scale for each block; nil is one scale
	double      bool    // bitsandbytes: the scales are quantised too
	keep        []string
}

// quantization reads quantization_config; nil where there is none.
func quantization(json object) (*method, error) {
	var q object
	for _, path := range [][]string{{"quantization_config"}, {"text_config", "quantization_config"}} {
		v, _ := member(json, path)
		if v == nil {
			continue
		}
		var ok bool
		if q, ok = v.(object); !ok {
			return nil, fmt.Errorf("quantization_config: got %s, want an object", kindOf(v))
		}
		break
	}
	if q == nil {
		return nil, nil
	}
	m := &method{name: "unnamed"}
	eight, _ := q["load_in_8bit"].(bool)
	if name, ok := q["quant_method"].(string); ok {
		m.name = name
	} else if four, _ := q["load_in_4bit"].(bool); four || eight {
		m.name = "bitsandbytes" // as its older configs have it
	}
	whole := func(name string, otherwise int64) int64 {
		if n, ok := q[name].(int64); ok && n > 0 && n <= 1<<20 {
			return n
		}
		return otherwise
	}
	for _, name := range []string{"modules_to_not_convert", "ignored_layers", "llm_int8_skip_modules"} {
		list, _ := q[name].([]any)
		for _, item := range list {
			if text, ok := item.(string); ok {
				m.keep = append(m.keep, layerNumber.ReplaceAllString(text, ".*$1"))
			}
		}
	}
	switch m.name {
	case "fp8":
		m.known, m.bits = true, 8
		if list, ok := q["weight_block_size"].([]any); ok && len(list) == 2 {
			a, _ := list[0].(int64)
			b, _ := list[1].(int64)
			if m.known = a > 0 && b > 0; m.known {
				m.block = []int64{a, b}
			}
		}
	case "gptq", "awq":
		m.bits, m.group = whole("bits", 4), whole("group_size", 128)
		m.known = m.bits == 4 || m.bits == 8
		if v, ok := q["group_size"].(int64); ok && v < 0 {
			m.group = 0 // one group for all inputs
		}
	case "bitsandbytes":
		m.double, _ = q["bnb_4bit_use_double_quant"].(bool)
		m.known, m.bits = true, 4
		if eight {
			m.bits = 8
		}
	case "mxfp4":
		m.known, m.bits = true, 4
	}
	return m, nil
}

var layerNumber = regexp.MustCompile(`\.\d+(\.|$)`)

// notLinear are modules whose weights have two sizes and are not quantised.
var notLinear = map[string]bool{"gate": true, "router": true, "shared_expert_gate": true, "lm_head": true, "wte": true,
	"wpe": true}

// stored returns what a rule's tensor is saved as, elements by dtype; nil where it is not
// quantised.
func (m *method) stored(t *tensor) map[string]int64 {
	name := strings.TrimSuffix(t.rule.name, ".weight")
	module := name[strings.LastIndexByte(name, '.')+1:]
	experts := len(t.dims) == 3 && strings.Contains(name, ".experts.")
	linear := len(t.dims) == 2 && name != t.rule.name && t.rule.layers != nil
	if m.name == "mxfp4" && !experts || !experts && !linear || notLinear[module] || strings.Contains(module, "norm") ||
		strings.Contains(name, "embed") {
		return nil
	}
	for _, keep := range m.keep {
		if keep == name || strings.HasPrefix(name, keep+".") || strings.HasSuffix(name, "."+keep) {
			return nil
		}
	}
	times, out, in := int64(1), t.dims[len(t.dims)-2], t.dims[len(t.dims)-1]
	if experts {
		times = t.dims[0]
	}
	all := times * out * in
	switch m.name {
	case "fp8":
		scales := times
		if m.block != nil {
			scales = times * parts(out, m.block[0]) * parts(in, m.block[1])
		}
		return map[string]int64{"float8_e4m3fn": all, "float32": scales}
	case "mxfp4":
		return map[string]int64{"uint8": all/2 + all/32}
	case "bitsandbytes":
		if m.bits == 8 {
			return map[string]int64{"int8": all, "float32": times * out}
		}
		blocks := parts(all, 64)
		if m.double {
			return map[string]int64{"uint8": all/2 + blocks, "float32": parts(blocks, 256)}
		}
		return map[string]int64{"uint8": all / 2, "float32": blocks}
	}
	groups := int64(1)
	if m.group > 0 {
		groups = parts(in, m.group)
	}
	packed := all * m.bits / 32
	saved := map[string]int64{"int32": packed + times*groups*out*m.bits/32, "float16": times * groups * out}
	if m.name == "gptq" {
		saved["int32"] += times * in // g_idx
	}
	return saved
}

// parts is how many pieces of a size cover n.
func parts(n, size int64) int64 { return (n + size - 1) / size }
