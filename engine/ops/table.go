package ops

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/memspec/memspec/engine/schema"
)

// Bound is a rule with its parsed schema and what its alias annotations say.
type Bound struct {
	Rule    *Rule
	Schema  *schema.Schema
	Results []Result

	WritesContainer bool // an argument is a list or dict that the operator changes
}

// Result is what the schema says of one return.
type Result struct {
	Mode Mode
	Arg  int  // the argument a View looks at, or that is written InPlace
	List bool // a list of tensors
}

// Mode is how a returned tensor comes by its storage.
type Mode uint8

// The modes.
const (
	Fresh Mode = iota
	View
	InPlace
)

// results derives the modes from the alias annotations.
func results(s *schema.Schema) []Result {
	out := make([]Result, len(s.Returns))
	for i := range s.Returns {
		t := s.Returns[i].Type
		r := &out[i]
		for t.Kind == schema.List || t.Kind == schema.Optional {
			r.List = r.List || t.Kind == schema.List
			if t.Alias != nil {
				break
			}
			t = t.Elems[0]
		}
		if t.Alias == nil {
			continue
		}
		for j := range s.Args {
			if a := aliasOf(s.Args[j].Type); a != nil && shareSet(a.Set, t.Alias.Set) {
				r.Arg = j
				r.Mode = View
				if t.Alias.Write {
					r.Mode = InPlace
				}
				break
			}
		}
	}
	return out
}

func writesContainer(s *schema.Schema) bool {
	return slices.ContainsFunc(s.Args, func(a schema.Arg) bool {
		return (a.Type.Kind == schema.List || a.Type.Kind == schema.Dict) && a.Type.Alias != nil && a.Type.Alias.Write
	})
}

func aliasOf(t *schema.Type) *schema.Alias {
	for t.Alias == nil && (t.Kind == schema.List || t.Kind == schema.Optional) {
		t = t.Elems[0]
	}
	return t.Alias
}

// shareSet says whether the sets of an argument and a return meet: "b|a" is in both.
func shareSet(arg, ret string) bool {
	return arg != "*" && slices.Contains(strings.Split(ret, "|"), arg)
}

// row is one overload of a rule. Its schema is parsed at its first look-up: parsing all would cost
// more than a whole check.
type row struct {
	rule  *Rule
	of    string // the overload's part of rule.For
	key   string // "aten::add.Tensor"
	next  *row   // overload of the same name
	bound atomic.Pointer[Bound]
}

// overloads yields what each overload of a rule has for $1 and $2, "" for the only one.
func (r *Rule) overloads(yield func(of string) bool) {
	for of, rest := "", r.For; ; {
		of, rest, _ = strings.Cut(rest, " ")
		if !yield(of) || rest == "" {
			return
		}
	}
}

// fill is a text of a rule in one of its overloads.
func fill(text, of string) string {
	if of == "" {
		return text
	}
	first, second, _ := strings.Cut(of, ":")
	return strings.ReplaceAll(strings.ReplaceAll(text, "$1", first), "$2", second)
}

// Keys lists the keys of a rule's overloads.
func (r *Rule) Keys() (keys []string) {
	for of := range r.overloads {
		keys = append(keys, fill(schema.KeyOf(r.Schema), of))
	}
	return keys
}

func (r *row) get() (*Bound, error) {
	if b := r.bound.Load(); b != nil {
		return b, nil
	}
	rule := r.rule
	if r.of != "" {
		one := *rule
		one.Schema, one.For = fill(rule.Schema, r.of), ""
		rule = &one
	}
	s, err := schema.Parse(rule.Schema)
	if err != nil {
		return nil, err
	}
	r.bound.CompareAndSwap(nil, &Bound{Rule: rule, Schema: s, Results: results(s), WritesContainer: writesContainer(s)})
	return r.bound.Load(), nil
}

// Table holds rules by name. Overloads of one name keep the order of their rows, which is the order
// Resolve tries them.
type Table struct {
	rows  []row
	first map[string]*row // by name
}

// NewTable indexes the rows of groups; it refuses two rows of one key and a row with none or
// several of Out, Body and Host.
func NewTable(groups ...[]Rule) (*Table, error) {
	n := 0
	for _, g := range groups {
		for i := range g {
			n += 1 + strings.Count(g[i].For, " ")
		}
	}
	t := &Table{rows: make([]row, 0, n), first: make(map[string]*row, n)} // rows stay where they are
	var errs []error
	for _, g := range groups {
		for i := range g {
			rule := &g[i]
			if kinds := count(rule.Out != nil, rule.Body != nil, rule.Host != nil); kinds != 1 {
				errs = append(errs, fmt.Errorf("ops: %s: got %d of Out, Body and Host, want one",
					schema.KeyOf(rule.Schema), kinds))
			}
			key := schema.KeyOf(rule.Schema)
			for of := range rule.overloads {
				t.rows = append(t.rows, row{rule: rule, of: of, key: fill(key, of)})
				errs = append(errs, t.link(&t.rows[len(t.rows)-1]))
			}
		}
	}
	return t, errors.Join(errs...)
}

// link makes a row found by its name, behind those of that name; it refuses a second one of its
// key.
func (t *Table) link(r *row) error {
	name := schema.NameOf(r.key)
	last := t.first[name]
	if last == nil {
		t.first[name] = r
		return nil
	}
	for ; ; last = last.next {
		if last.key == r.key {
			return fmt.Errorf("ops: got two rules for %s, want one", r.key)
		}
		if last.next == nil {
			last.next = r
			return nil
		}
	}
}

func count(bs ...bool) (n int) {
	for _, b := range bs {
		if b {
			n++
		}
	}
	return n
}

// Lookup finds the overload of a key such as "aten::add.Tensor".
func (t *Table) Lookup(key string) (*Bound, bool) {
	name, _, _ := strings.Cut(key, ".")
	for r := t.first[name]; r != nil; r = r.next {
		if r.key == key {
			b, err := r.get()
			return b, err == nil
		}
	}
	return nil, false
}

// Has says whether any overload of name has a rule.
func (t *Table) Has(name string) bool { return t.first[name] != nil }

// Keys lists every key, sorted.
func (t *Table) Keys() []string {
	ks := make([]string, len(t.rows))
	for i := range t.rows {
		ks[i] = t.rows[i].key
	}
	slices.Sort(ks)
	return ks
}

// Overloads lists the keys of a name's overloads in the order in which Resolve tries them.
func (t *Table) Overloads(name string) (keys []string) {
	for r := t.first[name]; r != nil; r = r.next {
		keys = append(keys, r.key)
	}
	return keys
}

// Check parses every schema and reports every fault of the table.
func (t *Table) Check() error {
	var errs []error
	for i := range t.rows {
		if _, err := t.rows[i].get(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
