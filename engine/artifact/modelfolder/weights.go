package modelfolder

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/units"
)

// Weights are a model's parameters and the buffers that are saved with them.
type Weights struct {
	Known    bool
	Files    int              // of safetensors, whose headers were read; 0 where config.json alone says what there is
	Stored   units.Bytes      // as they are saved; of config.json alone in the model's dtype
	Elements map[string]int64 // by dtype; "" is the model's own, of config.json alone
	Method   string           // of quantization_config; "" where there is none
	Rotary   int64            // elements of the tables of rotary embeddings that an engine keeps; no file has them
	Yarn     bool             // those tables are scaled by YaRN
	Latent   bool             // attention keeps one latent of all heads (MLA)
	Engine   []EngineTensor   // what vLLM makes of the parameters, in its order; nil where no rule is known
}

// Bytes returns what an engine holds that runs in a dtype: numbers with a fraction in that dtype,
// unless they are quantised, and all others as they are saved.
func (w *Weights) Bytes(dtype string) units.Bytes {
	size, _ := ItemSize(dtype)
	var sum units.Bytes
	for name, n := range w.Elements {
		item := size
		if own, ok := ItemSize(name); ok && (w.Method != "" || !floating(name) || w.Files == 0) {
			item = own
		}
		sum = sum.Add(item.Mul(n))
	}
	return sum
}

// Parameters returns the number of elements.
func (w *Weights) Parameters() int64 {
	var sum units.Bytes
	for _, n := range w.Elements {
		sum = sum.Add(units.Bytes(n))
	}
	return int64(sum)
}

func floating(dtype string) bool { return strings.HasPrefix(dtype, "float") || dtype == "bfloat16" }

// torchNames are PyTorch's names of safetensors' dtypes.
var torchNames = map[string]string{
	"BOOL": "bool", "U8": "uint8", "I8": "int8", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "uint8",
	"I16": "int16", "F16": "float16", "BF16": "bfloat16", "I32": "int32", "F32": "float32", "I64": "int64",
	"F64": "float64",
}

// readWeights takes the weights from the headers, else from the architecture's rules.
func (m *Model) readWeights(c *config, headers map[string]Tensor) error {
	m.Weights.Elements = map[string]int64{}
	rank, _ := c.field("kv_lora_rank")
	n, _ := rank.(int64)
	m.Weights.Latent = n > 0
	method, err := quantization(c.json)
	if err != nil {
		return err
	}
	if method != nil {
		m.Weights.Method = method.name
	}
	if headers == nil {
		return m.countWeights(c, method)
	}
	m.Weights.Known = true
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		t := headers[name]
		torch, ok := torchNames[t.DType]
		if !ok {
			m.unknownf("weights: no size is known for the dtype %s of %.60s", t.DType, name)
			m.Weights.Known = false
			return nil
		}
		m.Weights.Elements[torch] = int64(units.Bytes(m.Weights.Elements[torch]).Add(units.Bytes(t.Sizes)))
		m.Weights.Stored = m.Weights.Stored.Add(t.Bytes)
	}
	m.readRotary(c)
	if method == nil && m.compareWithRules(c, m.Weights.Parameters()) {
		m.Weights.Engine, _ = c.engineTensors()
	}
	return nil
}

// countWeights applies the architecture's rules.
func (m *Model) countWeights(c *config, method *method) error {
	if c.of.unknown != "" {
		if c.of.class != "" {
			m.unknownf("weights of %s: no rule is known (%s), and the folder has no safetensors files", m.Type, c.of.unknown)
		}
		return nil
	}
	elements, err := c.elements(method)
	if err != nil {
		m.unknownf("weights: %v", err)
		return nil
	}
	if method != nil && !method.known {
		m.unknownf("weights: no rule for the quantization method %.40q without safetensors files", method.name)
		return nil
	}
	m.Weights.Known, m.Weights.Elements = true, elements
	m.Weights.Stored = m.Weights.Bytes(m.DType)
	m.readRotary(c)
	m.notef("weights are counted from config.json by the rules of transformers %s; the folder has no safetensors files",
		RulesOf)
	if n := c.encoderParameters(); n > 0 {
		item, _ := ItemSize(cmp.Or(m.DType, "bfloat16"))
		m.notef("of the weights %v are of the encoder, and of what joins it to the text", item.Mul(n))
	} else if field := encoderField(c.json); field != "" {
		m.unknownf("weights: the rules of %s leave out the encoder of %s, and the folder has no safetensors files", m.Type,
			field)
		m.Weights.Known = false
	}
	if method == nil {
		m.Weights.Engine, _ = c.engineTensors()
	} else {
		m.notef("weights that %s quantises are by formula: scales and zeros beside them in the method's usual form",
			method.name)
	}
	return nil
}

// encoderField returns the field of a config that describes an encoder; "" for none.
func encoderField(json object) string {
	for _, field := range []string{"vision_config", "audio_config"} {
		if of, ok := json[field].(object); ok && len(of) > 0 {
			return field
		}
	}
	return ""
}

// encoderParameters returns how many parameters a model of text and images has beside those of the
// text; 0 where there are none, or the architecture's names do not set them apart.
func (c *config) encoderParameters() (n int64) {
	text := 0
	err := c.each(c.of.tensors, func(t tensor) error {
		if strings.Contains(t.rule.name, "language_model.") {
			text++
		} else if !strings.HasPrefix(t.rule.name, "lm_head.") {
			n += t.elements * t.n
		}
		return nil
	})
	if err != nil || text == 0 {
		return 0
	}
	return n
}

// elements counts by dtype what the rules make of a config; "" is the model's own dtype.
func (c *config) elements(method *method) (map[string]int64, error) {
	out := map[string]int64{}
	add := func(dtype string, n, times int64) error {
		all, err := product(n, times)
		if err == nil {
			out[dtype] = int64(units.Bytes(out[dtype]).Add(units.Bytes(all)))
		}
		return err
	}
	err := c.each(c.of.tensors, func(t tensor) error {
		if method != nil && method.known {
			if stored := method.stored(&t); stored != nil {
				for dtype, n := range stored {
					if err := add(dtype, n, t.n); err != nil {
						return err
					}
				}
				return nil
			}
		}
		return add(t.rule.kind, t.elements, t.n)
	})
	return out, err
}

// compareWithRules notes where files hold more or fewer elements than the architecture builds, and
// returns whether they hold as many.
func (m *Model) compareWithRules(c *config, stored int64) bool {
	if c.of.unknown != "" {
		return false
	}
	elements, err := c.elements(nil)
	if err != nil {
		return false
	}
	built := (&Weights{Elements: elements}).Parameters()
	switch {
	case stored > built:
		m.notef("the files hold %d elements more than transformers builds for %s: tied or further layers that an engine "+
			"may not load", stored-built, m.Type)
	case stored < built:
		m.notef("the files hold %d elements fewer than transformers builds for %s", built-stored, m.Type)
	}
	return stored == built
}

// readRotary counts the tables of cosines and sines that an engine keeps for each kind of rotary
// embedding: a row for each position, as long as the part of a head that is rotated.
func (m *Model) readRotary(c *config) {
	prefix := ""
	if _, ok := c.json["text_config"].(object); ok {
		prefix = "text_config."
	}
	whole := func(name string) int64 {
		v, _ := c.field(prefix + name)
		n, _ := v.(int64)
		return n
	}
	rope, _ := c.field(prefix + "rope_parameters")
	if rope == nil {
		rope, _ = c.field(prefix + "rope_scaling")
	}
	theta, _ := c.field(prefix + "rope_theta")
	if rope == nil && theta == nil && !c.of.rotary {
		return
	}
	positions := whole("max_position_embeddings")
	size := whole("qk_rope_head_dim")
	if size == 0 {
		if size = whole("head_dim"); size == 0 && whole("num_attention_heads") > 0 {
			size = whole("hidden_size") / whole("num_attention_heads")
		}
		size = partOf(size, c, prefix, rope)
	}
	sets := ropeSets(rope)
	var elements int64
	for _, set := range sets {
		n, ok := ropePositions(set, positions)
		m.Weights.Yarn = m.Weights.Yarn || ropeKind(set) == "yarn"
		if !ok {
			m.notef("the table of rotary embeddings of this rope_type is not counted: %s", cmp.Or(ropeKind(set), "default"))
			continue
		}
		rows, err := product(n, size)
		if err != nil {
			return
		}
		elements = int64(units.Bytes(elements).Add(units.Bytes(rows)))
	}
	m.Weights.Rotary = elements
}

// partOf is how much of a head is rotated.
func partOf(size int64, c *config, prefix string, rope any) int64 {
	share, _ := c.field(prefix + "partial_rotary_factor")
	if set, ok := rope.(object); ok && set["partial_rotary_factor"] != nil {
		share = set["partial_rotary_factor"]
	}
	if f, ok := asFloat(share); ok && f > 0 && f < 1 {
		return int64(float64(size) * f)
	}
	return size
}

// ropeSets are the settings of each kind of rotary embedding: one, or one for each kind of layer.
func ropeSets(rope any) []object {
	set, _ := rope.(object)
	var nested []object
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if inner, ok := set[name].(object); ok {
			nested = append(nested, inner)
		}
	}
	if len(nested) > 0 {
		return nested
	}
	return []object{set}
}

func ropeKind(set object) string {
	kind, _ := set["rope_type"].(string)
	if kind == "" {
		kind, _ = set["type"].(string)
	}
	return kind
}

// ropePositions returns the rows of a table; false where no rule is known.
func ropePositions(set object, positions int64) (int64, bool) {
	kind := ropeKind(set)
	switch kind {
	case "", "default", "llama3", "mrope", "proportional":
		return positions, positions > 0
	case "yarn", "linear":
		factor, ok := asFloat(set["factor"])
		if original, given := set["original_max_position_embeddings"].(int64); given && kind == "yarn" {
			positions = original
		}
		n := float64(positions) * factor
		return int64(n), ok && n >= 1 && n < 1<<40
	}
	return 0, false
}
