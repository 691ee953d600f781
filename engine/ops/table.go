package ops

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

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

// row is a rule whose schema is parsed at its first look-up: parsing all would cost more than a whole check.
type row struct {
	rule  *Rule
	once  sync.Once
	bound *Bound
	err   error
}

func (r *row) get() (*Bound, error) {
	r.once.Do(func() {
		s, err := schema.Parse(r.rule.Schema)
		if err != nil {
			r.err = err
			return
		}
		r.bound = &Bound{Rule: r.rule, Schema: s, Results: results(s), WritesContainer: writesContainer(s)}
	})
	return r.bound, r.err
}

// Table holds rules by name. Overloads of one name keep the order of their rows, which is the order Resolve tries them.
type Table struct {
	byKey  map[string]*row
	byName map[string][]*row
}

// NewTable indexes the rows of groups; it refuses two rows of one key and a row with none or several of Out, Body and Host.
func NewTable(groups ...[]Rule) (*Table, error) {
	n := 0
	for _, g := range groups {
		n += len(g)
	}
	t := &Table{byKey: make(map[string]*row, n), byName: make(map[string][]*row, n)}
	rows := make([]row, n)
	var errs []error
	i := 0
	for _, g := range groups {
		for j := range g {
			r := &rows[i]
			i++
			r.rule = &g[j]
			key := schema.KeyOf(r.rule.Schema)
			if t.byKey[key] != nil {
				errs = append(errs, fmt.Errorf("ops: got two rules for %s, want one", key))
			}
			if kinds := count(r.rule.Out != nil, r.rule.Body != nil, r.rule.Host != nil); kinds != 1 {
				errs = append(errs, fmt.Errorf("ops: %s: got %d of Out, Body and Host, want one", key, kinds))
			}
			t.byKey[key] = r
			name := schema.NameOf(r.rule.Schema)
			t.byName[name] = append(t.byName[name], r)
		}
	}
	return t, errors.Join(errs...)
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
	r := t.byKey[key]
	if r == nil {
		return nil, false
	}
	b, err := r.get()
	return b, err == nil
}

// Has says whether any overload of name has a rule.
func (t *Table) Has(name string) bool { return len(t.byName[name]) > 0 }

// Keys lists every key, sorted.
func (t *Table) Keys() []string {
	ks := make([]string, 0, len(t.byKey))
	for k := range t.byKey {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	return ks
}

// Check parses every schema and reports every fault of the table.
func (t *Table) Check() error {
	var errs []error
	for _, k := range t.Keys() {
		if _, err := t.byKey[k].get(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
