package modelfolder

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/memspec/memspec/engine/internal/jsonscan"
)

// rules is the table of architectures, a line a rule, with tabs between the columns. It is made by
// pyshim/tools/configs from the classes of transformers, release rulesOf.
//
//go:embed architectures.txt
var rules string

// RulesOf is the release of transformers whose models the rules describe.
const RulesOf = "5.23.0"

// An architecture is what transformers builds for one model_type.
type architecture struct {
	name, class string
	aliases     map[string]string      // other names of fields in JSON
	defaults    map[string]any         // of fields that JSON leaves out
	derived     map[string]*expression // of fields that are null or left out; nil where no rule is known
	changed     map[string]*expression // of fields that the class changes; the field's own name is what JSON has
	fixed       map[string]any         // fields of which only this value was compared
	flat        string                 // the nested config whose fields stand beside it, where JSON has none
	items       map[string]itemRule    // of lists that are null or left out
	words       map[string][]string    // of lists of words, those that rules were found with
	rotary      bool                   // whether positions are rotary embeddings by default
	tensors     []tensorRule
	cache       []tensorRule
	unknown     string // why no rule of its parameters is known
	cacheless   string // why no rule of its cache is known
}

// itemRule is how long a list is, and its i-th item.
type itemRule struct{ count, item *expression }

// A tensorRule is one or more tensors of a name.
type tensorRule struct {
	name      string
	dims      []*expression
	kind      string      // of a parameter its dtype, "" the model's; of a cache how it grows, and its dtype
	layers    *expression // of its stack; nil outside one
	times     *expression // in each layer; nil is once
	condition *expression // nil is always
}

// known are the names of all architectures, sorted.
var known = sync.OnceValue(func() []string {
	var names []string
	for line := range strings.Lines(rules) {
		if rest, ok := strings.CutPrefix(line, "architecture\t"); ok {
			name, _, _ := strings.Cut(rest, "\t")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
})

// find returns the rules of a model_type, nil where there are none.
func find(modelType string) (*architecture, error) {
	if modelType == "" || strings.ContainsAny(modelType, "\t\n\r") {
		return nil, nil
	}
	text := "\n" + rules
	start := strings.Index(text, "\narchitecture\t"+modelType+"\t")
	if start < 0 {
		return nil, nil
	}
	text = text[start+1:]
	if end := strings.Index(text[1:], "\narchitecture\t"); end >= 0 {
		text = text[:end+2]
	}
	a := &architecture{
		aliases: map[string]string{}, defaults: map[string]any{},
		derived: map[string]*expression{}, changed: map[string]*expression{},
		fixed: map[string]any{}, items: map[string]itemRule{}, words: map[string][]string{},
	}
	for line := range strings.Lines(text) {
		if err := a.add(strings.Split(strings.TrimSuffix(line, "\n"), "\t")); err != nil {
			return nil, fmt.Errorf("the rules of %s: %w", modelType, err)
		}
	}
	return a, nil
}

// add takes one line of the table.
func (a *architecture) add(columns []string) (err error) {
	if columns[0] == "words" {
		a.words[columns[1]] = columns[2:]
		return nil
	}
	for len(columns) < 7 {
		columns = append(columns, "")
	}
	name := columns[1]
	switch columns[0] {
	case "architecture":
		a.name, a.class = name, columns[2]
	case "alias":
		a.aliases[name] = columns[2]
	case "default":
		s := jsonscan.New([]byte(columns[2]))
		a.defaults[name] = s.Value()
		return s.Err()
	case "derived":
		a.derived[name], err = compileSome(columns[2])
	case "changed":
		a.changed[name], err = compileSome(columns[2])
	case "fixed":
		s := jsonscan.New([]byte(columns[2]))
		a.fixed[name] = s.Value()
		return s.Err()
	case "flat":
		a.flat = name
	case "items":
		var rule itemRule
		if rule.count, err = compileSome(columns[2]); err == nil {
			rule.item, err = compileSome(columns[3])
		}
		a.items[name] = rule
	case "tensor":
		err = addRule(&a.tensors, columns)
	case "cache":
		err = addRule(&a.cache, columns)
	case "rotary":
		a.rotary = true
	case "no-tensors":
		a.unknown = name
	case "no-cache":
		a.cacheless = name
	case "", "#":
	default:
		err = fmt.Errorf("got a line of %q, want one of the table", columns[0])
	}
	return err
}

func addRule(to *[]tensorRule, columns []string) (err error) {
	rule := tensorRule{name: columns[1], kind: columns[3]}
	for _, text := range strings.Split(columns[2], "; ") {
		dim, err := compileSome(text)
		if err != nil {
			return err
		}
		if dim != nil {
			rule.dims = append(rule.dims, dim)
		}
	}
	for i, e := range []**expression{&rule.layers, &rule.times, &rule.condition} {
		if *e, err = compileSome(columns[4+i]); err != nil {
			return err
		}
	}
	*to = append(*to, rule)
	return nil
}

func compileSome(text string) (*expression, error) {
	if text == "" {
		return nil, nil
	}
	return compile(text)
}
