package modelfolder

import (
	_ "embed"
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
func find(modelType string) *architecture {
	if modelType == "" || strings.ContainsAny(modelType, "\t\n\r") {
		return nil
	}
	text := "\n" + rules
	start := strings.Index(text, "\narchitecture\t"+modelType+"\t")
	if start < 0 {
		return nil
	}
	text = text[start+1:]
	if end := strings.Index(text[1:], "\narchitecture\t"); end >= 0 {
		text = text[:end+2]
	}
	return parse(text)
}

// parse takes the lines of one architecture. The table is part of this program: a line that is none
// is a bug of it, and a test reads them all.
func parse(text string) *architecture {
	a := &architecture{
		aliases: map[string]string{}, defaults: map[string]any{},
		derived: map[string]*expression{}, changed: map[string]*expression{},
		fixed: map[string]any{}, items: map[string]itemRule{}, words: map[string][]string{},
	}
	for line := range strings.Lines(text) {
		a.add(strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return a
}

// add takes one line of the table.
func (a *architecture) add(columns []string) {
	if columns[0] == "words" {
		a.words[columns[1]] = columns[2:]
		return
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
		a.defaults[name] = jsonscan.New([]byte(columns[2])).Value()
	case "derived":
		a.derived[name] = mustCompile(columns[2])
	case "changed":
		a.changed[name] = mustCompile(columns[2])
	case "fixed":
		a.fixed[name] = jsonscan.New([]byte(columns[2])).Value()
	case "flat":
		a.flat = name
	case "items":
		a.items[name] = itemRule{count: mustCompile(columns[2]), item: mustCompile(columns[3])}
	case "tensor":
		a.tensors = append(a.tensors, tensorRuleOf(columns))
	case "cache":
		a.cache = append(a.cache, tensorRuleOf(columns))
	case "rotary":
		a.rotary = true
	case "no-tensors":
		a.unknown = name
	case "no-cache":
		a.cacheless = name
	case "", "#":
	default:
		panic("architectures.txt: unknown line of " + columns[0])
	}
}

func tensorRuleOf(columns []string) tensorRule {
	rule := tensorRule{name: columns[1], kind: columns[3], layers: mustCompile(columns[4]),
		times: mustCompile(columns[5]), condition: mustCompile(columns[6])}
	for _, text := range strings.Split(columns[2], "; ") {
		if dim := mustCompile(text); dim != nil {
			rule.dims = append(rule.dims, dim)
		}
	}
	return rule
}

// mustCompile reads an expression of the table; nil where there is none.
func mustCompile(text string) *expression {
	if text == "" {
		return nil
	}
	e, err := compile(text)
	if err != nil {
		panic(err)
	}
	return e
}
