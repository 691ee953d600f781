package modelfolder

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mostDerived is how deep a field may be computed from others that are computed.
const mostDerived = 16

// A config is config.json as its architecture's class reads it.
type config struct {
	json    object
	of      *architecture
	depth   int
	changes map[string]bool // fields whose change is being computed
}

// newConfig returns a config of JSON. Where the architecture's class takes a nested config's fields
// from those beside it, JSON gets the nested one.
func newConfig(json object, of *architecture) *config {
	if _, ok := json[of.flat]; of.flat != "" && !ok {
		nested := maps.Clone(json)
		delete(nested, "model_type")
		json = maps.Clone(json)
		json[of.flat] = nested
	}
	return &config{json: json, of: of, changes: map[string]bool{}}
}

// given is what JSON has for a field, by its own name or by another that the class takes.
func (c *config) given(name string) (any, bool) {
	path := strings.Split(name, ".")
	last := len(path) - 1
	take := func(v any) any {
		if path[last] == "layer_types" {
			return renamed(v)
		}
		return v
	}
	if v, ok := member(c.json, path); ok {
		return take(v), true
	}
	for alias, own := range c.of.aliases {
		if own == name {
			if v, ok := member(c.json, append(path[:last:last], alias)); ok {
				return take(v), true
			}
		}
	}
	return nil, false
}

// newNames are the names that transformers gives to kinds of layers of older configs.
var newNames = map[string]string{
	"mamba":                     "linear_attention",
	"attention":                 "full_attention",
	"deepseek_sparse_attention": "indexed_attention",
	"qwen_sparse_attention":     "indexed_attention",
}

// renamed returns a list of kinds of layers with today's names.
func renamed(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	list = slices.Clone(list)
	for i := range list {
		if word, ok := list[i].(string); ok && newNames[word] != "" {
			list[i] = newNames[word]
		}
	}
	return list
}

// field returns the value of a field: what JSON has, else the class's default, or what the class
// makes of these and of other fields.
func (c *config) field(name string) (any, error) {
	v := c.plain(name)
	if v != nil {
		rule, ok := c.of.changed[name]
		if !ok || c.changes[name] {
			return v, nil
		}
		c.changes[name] = true
		defer delete(c.changes, name)
		return c.computed(name, rule)
	}
	if rule, ok := c.of.items[name]; ok {
		return c.list(name, rule)
	}
	if rule, ok := c.of.derived[name]; ok {
		return c.computed(name, rule)
	}
	return nil, nil
}

// plain is what JSON has for a field, else the class's default.
func (c *config) plain(name string) any {
	if v, ok := c.given(name); ok {
		return v
	}
	return c.of.defaults[name]
}

// errNoRule is a field for which no rule is known.
var errNoRule = errors.New("no rule is known for what the class makes of it")

func (c *config) computed(name string, rule *expression) (any, error) {
	if rule == nil {
		return nil, fmt.Errorf("%s: %w", name, errNoRule)
	}
	return c.deeper(func() (any, error) { return rule.value(c, -1) })
}

// item returns the i-th item of a list that JSON leaves out; false where it does not.
func (c *config) item(name string, i int64) (any, bool, error) {
	rule, ok := c.of.items[name]
	if !ok || c.plain(name) != nil {
		return nil, false, nil
	}
	if rule.item == nil {
		return nil, true, fmt.Errorf("%s: %w", name, errNoRule)
	}
	v, err := c.deeper(func() (any, error) { return rule.item.value(c, i) })
	return v, true, err
}

func (c *config) list(name string, rule itemRule) (any, error) {
	n, err := c.count(rule.count)
	if err != nil {
		return nil, err
	}
	out := make([]any, n)
	for i := range out {
		if out[i], _, err = c.item(name, int64(i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// wordsKnown returns an error where a list, such as that of the kinds of layers, has a word that no
// rule was found with, or is none.
func (c *config) wordsKnown() error {
	for _, name := range slices.Sorted(maps.Keys(c.of.words)) {
		unknown := func(v any) error { return fmt.Errorf("%s has %.40s: %w", name, fmt.Sprint(v), errNoRule) }
		given := c.plain(name)
		list, ok := given.([]any)
		if !ok && given != nil {
			return unknown(given)
		}
		for _, v := range list {
			if word, ok := v.(string); !ok || !slices.Contains(c.of.words[name], word) {
				return unknown(v)
			}
		}
	}
	return nil
}

func (c *config) deeper(value func() (any, error)) (any, error) {
	defer func() { c.depth-- }()
	if c.depth++; c.depth > mostDerived {
		return nil, errors.New("got fields that are computed from each other")
	}
	return value()
}

// mostElements is how many elements one tensor may have.
const mostElements = 1 << 48

// mostLayers is how many layers a stack may have.
const mostLayers = 4096

// count returns the layers of a stack.
func (c *config) count(layers *expression) (int64, error) {
	if layers == nil {
		return 1, nil
	}
	n, err := layers.whole(c, -1)
	if err == nil && n > mostLayers {
		err = fmt.Errorf("%s: got %d layers, want at most %d", layers.text, n, mostLayers)
	}
	return n, err
}

// A tensor is one rule's tensors in this config: of all layers and all times.
type tensor struct {
	rule     *tensorRule
	elements int64   // of one
	dims     []int64 // of one
	n        int64   // how many there are
}

// each calls take with what the rules make of the config, layers with equal sizes together.
func (c *config) each(rules []tensorRule, take func(tensor) error) error {
	if err := c.wordsKnown(); err != nil {
		return err
	}
	for r := range rules {
		rule := &rules[r]
		layers, err := c.count(rule.layers)
		if err != nil {
			return err
		}
		var runs []tensor
		for i := range layers {
			t, err := c.tensor(rule, i)
			if err != nil {
				return fmt.Errorf("%s: %w", rule.name, err)
			}
			if last := len(runs) - 1; last >= 0 && slices.Equal(t.dims, runs[last].dims) {
				runs[last].n += t.n
			} else if t.n > 0 {
				runs = append(runs, t)
			}
		}
		for _, run := range runs {
			if err := take(run); err != nil {
				return err
			}
		}
	}
	return nil
}

// tensor is one rule's tensors in one layer; n is 0 where the condition does not hold.
func (c *config) tensor(rule *tensorRule, layer int64) (tensor, error) {
	if rule.condition != nil {
		holds, err := rule.condition.value(c, layer)
		if errors.Is(err, errNoValue) { // a field that is null decides nothing
			return tensor{}, nil
		}
		if err != nil || !truth(holds) {
			return tensor{}, err
		}
	}
	t := tensor{rule: rule, elements: 1, n: 1}
	var err error
	if rule.times != nil {
		if t.n, err = rule.times.whole(c, layer); err != nil {
			return t, err
		}
	}
	for _, dim := range rule.dims {
		n, err := dim.whole(c, layer)
		if err != nil {
			return t, err
		}
		t.dims = append(t.dims, n)
		if t.elements, err = product(t.elements, n); err != nil {
			return t, err
		}
	}
	if t.elements > mostElements {
		return t, fmt.Errorf("got %d elements, want at most %d", t.elements, int64(mostElements))
	}
	return t, nil
}
