// Package faults makes operators fail, one call at a time: what runs operators must hand an error
// on wherever it arises, and must not pass over an operator without a rule. It runs in tests only.
package faults

import (
	"errors"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// Err is what a call fails with.
var Err = errors.New("put in by a test")

// Table is a table of rules of which one call fails. It is not safe for concurrent use.
type Table struct {
	*ops.Table
	calls int // of rules since Fail
	aside int // calls under way that only ask: for known values, copies, workspace
	at    int
	err   error
	tree  *Node // of calls under way, see Watch
}

// Node is a call of a rule with those that it makes.
type Node struct {
	Key   string
	Parts []*Node
}

// Watch collects the calls of rules from now on, which are the parts of what it returns.
func (t *Table) Watch() *Node {
	t.tree = &Node{}
	return t.tree
}

// New makes a table with the rules of another, in the same order.
func New(of *ops.Table) (*Table, error) {
	t := &Table{}
	var names []string
	for _, key := range of.Keys() {
		name, _, _ := strings.Cut(key, ".")
		names = append(names, name)
	}
	var rules []ops.Rule
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		for _, key := range of.Overloads(name) {
			b, _ := of.Lookup(key)
			rules = append(rules, t.rule(key, *b.Rule))
		}
	}
	var err error
	t.Table, err = ops.NewTable(rules)
	return t, err
}

// Fail makes the nth call of a rule from now on fail with err, the first being 1; none with 0.
func (t *Table) Fail(n int, err error) { t.calls, t.at, t.err = 0, n, err }

// Calls is how many rules were called since Fail.
func (t *Table) Calls() int { return t.calls }

func (t *Table) rule(key string, r ops.Rule) ops.Rule {
	out, body, host := r.Out, r.Body, r.Host
	if out != nil {
		r.Out = func(c *ops.Call) ([]tensor.Meta, error) {
			if err := t.call(); err != nil {
				return nil, err
			}
			defer t.enter(key)()
			return out(c)
		}
	}
	if body != nil {
		r.Body = func(c *ops.Call) (any, error) {
			if err := t.call(); err != nil {
				return nil, err
			}
			defer t.enter(key)()
			return body(c)
		}
	}
	if host != nil {
		r.Host = func(c *ops.Call) (any, error) {
			if err := t.call(); err != nil {
				return nil, err
			}
			defer t.enter(key)()
			return host(c)
		}
	}
	if value := r.Value; value != nil {
		r.Value = func(c *ops.Call) *tensor.Data { return asked(t, value, c) }
	}
	if ints := r.Ints; ints != nil {
		r.Ints = func(c *ops.Call) []int64 { return asked(t, ints, c) }
	}
	if copies := r.Copies; copies != nil {
		r.Copies = func(c *ops.Call) bool { return asked(t, copies, c) }
	}
	if takes := r.Workspace; takes != nil {
		r.Workspace = func(c *ops.Call) []workspace.Request { return asked(t, takes, c) }
	}
	return r
}

// asked asks a rule something, for which it may look at its results again.
func asked[T any](t *Table, question func(*ops.Call) T, c *ops.Call) T {
	t.aside++
	defer func() { t.aside-- }()
	return question(c)
}

// enter adds a call to the tree; what is returned ends it.
func (t *Table) enter(key string) (leave func()) {
	above := t.tree
	if above == nil || t.aside > 0 {
		return func() {}
	}
	t.tree = &Node{Key: key}
	above.Parts = append(above.Parts, t.tree)
	return func() { t.tree = above }
}

func (t *Table) call() error {
	if t.aside > 0 {
		return nil
	}
	if t.calls++; t.calls == t.at {
		return t.err
	}
	return nil
}
