package program

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/tensor"
)

// This file checks what the package comment promises. A decoder calls CheckTables before it returns
// a program; each function is checked when it is lowered; Check does all of it at once.

// Check lowers every function and returns all violations of the program's invariants at once, or
// nil.
func Check(p *Program) error {
	c := &checker{seen: map[*Func]bool{}, symbols: p.symbols()}
	c.tables(p)
	for _, class := range p.Classes {
		for _, f := range class.Methods {
			c.function(f)
		}
	}
	for _, f := range p.Funcs {
		c.function(f)
	}
	if p.Entry != nil {
		c.function(p.Entry)
	}
	return errors.Join(c.errs...)
}

// CheckTables checks everything but the functions' bodies. What it finds is in one line, as an
// artifact's errors are.
func CheckTables(p *Program) error {
	c := &checker{}
	c.tables(p)
	return c.unsound()
}

func (c *checker) tables(p *Program) {
	c.program(p)
	for _, class := range p.Classes {
		c.class(class)
	}
}

// checkGraph checks a function that was lowered, but not those that it calls.
func checkGraph(f *Func, g *Graph) error {
	c := &checker{at: f.Name}
	c.body(f, g)
	return c.unsound()
}

// unsound is what was found: an artifact that no rule of its decoder refused, or a bug of the
// decoder.
func (c *checker) unsound() error {
	if len(c.errs) == 0 {
		return nil
	}
	parts := make([]string, len(c.errs))
	for i, err := range c.errs {
		parts[i] = err.Error()
	}
	return errors.New("not a sound program: " + strings.Join(parts, "; "))
}

func (p *Program) symbols() map[string]bool {
	names := make(map[string]bool, len(p.Symbols))
	for _, s := range p.Symbols {
		names[s.Name] = true
	}
	return names
}

// maxViolations bounds a report: a broken decoder breaks everything.
const maxViolations = 20

type checker struct {
	errs    []error
	seen    map[*Func]bool  // functions that were checked; nil where those that are called are not to be
	symbols map[string]bool // nil where they are not looked at
	what    string          // is being looked at: module, state, symbol; "" of a class or function
	at      string          // its name
	// of the function being looked at
	graph   *Graph
	defined []bool // by value: in scope now
	made    []bool // by value: ever
}

func (c *checker) errorf(format string, args ...any) {
	if len(c.errs) < maxViolations {
		at := c.at
		if c.what != "" {
			at = c.what + " " + strconv.Quote(c.at)
		}
		c.errs = append(c.errs, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
	}
}

func (c *checker) look(what, at string) { c.what, c.at = what, at }

func (c *checker) program(p *Program) {
	c.look("", "program")
	if p.Format == "" {
		c.errorf("got no format")
	}
	if p.Root != nil && p.Entry != nil && p.Entry.Class != p.Root.Class {
		c.errorf("got entry %s, want a method of %s", p.Entry.Name, p.Root.Class.Name)
	}
	for i, s := range p.Symbols {
		c.look("symbol", s.Name)
		switch {
		case !expr.IsName(s.Name):
			c.errorf("got %q, want a name", s.Name)
		case i > 0 && p.Symbols[i-1].Name >= s.Name:
			c.errorf("got it after %s, want names in order, each once", p.Symbols[i-1].Name)
		case s.Min < 0 || s.Max < s.Min:
			c.errorf("got a range of %d to %d", s.Min, s.Max)
		}
	}
	c.look("", "program")
	if !slices.IsSortedFunc(p.Classes, func(a, b *Class) int { return strings.Compare(a.Name, b.Name) }) {
		c.errorf("got classes out of order")
	}
	if !slices.IsSortedFunc(p.Funcs, func(a, b *Func) int { return strings.Compare(a.Name, b.Name) }) {
		c.errorf("got functions out of order")
	}
	names := make(map[string]bool, len(p.Modules))
	for _, m := range p.Modules {
		c.look("module", m.FQN)
		if names[m.FQN] {
			c.errorf("got a second of that name")
		}
		switch {
		case m.Object == nil:
			if p.Root != nil {
				c.errorf("got no object")
			}
		case m.Object.FQN != m.FQN:
			c.errorf("got an object named %q", m.Object.FQN)
		case m.Object.Class.Kind != ModuleClass:
			c.errorf("got an object of %s, want a module's class", m.Object.Class.Name)
		}
		if m.Parent != nil && !names[m.Parent.FQN] {
			c.errorf("got a parent that comes later")
		}
		names[m.FQN] = true
		if m.Object != nil {
			c.object(m.Object)
		}
	}
	bytes := make(map[int]int64, len(p.States))
	for _, s := range p.States {
		c.look("state", s.Name)
		c.state(s, bytes)
	}
}

func (c *checker) state(s *State, bytes map[int]int64) {
	if s.Name == "" {
		c.errorf("got no name")
	}
	if err := s.Meta.Check(); err != nil {
		c.errorf("%v", err)
	} else if need := int64(s.Meta.StorageBytes()); need > s.NBytes {
		c.errorf("got a storage of %d bytes, want at least %d", s.NBytes, need)
	}
	if n, ok := bytes[s.Storage]; ok && n != s.NBytes {
		c.errorf("got a storage of %d bytes that another tensor says has %d", s.NBytes, n)
	}
	bytes[s.Storage] = s.NBytes
	if s.Data != nil {
		if n := int64(len(s.Data.Ints) + len(s.Data.Floats)); n != s.Meta.Numel() {
			c.errorf("got %d values of a tensor of %d elements", n, s.Meta.Numel())
		}
	}
}

func (c *checker) object(o *Object) {
	if len(o.Attrs) != len(o.Class.Attrs) {
		c.errorf("got %d attributes, want the %d of %s", len(o.Attrs), len(o.Class.Attrs), o.Class.Name)
	}
	for _, v := range o.Attrs {
		c.literal(v)
	}
}

// literal refuses values of Go types that are no literals. It looks one level deep: containers are
// checked where they are used.
func (c *checker) literal(v any) {
	switch v := v.(type) {
	case nil, bool, int64, float64, complex128, string, Size, Device, *State, *Object, *DictLit, EnumLit, *Opaque:
	case *ListLit:
		c.literals(v.Items)
	case *TupleLit:
		c.literals(v.Items)
	default:
		c.errorf("got a literal of Go type %T", v)
	}
}

func (c *checker) literals(items []any) {
	for _, v := range items {
		switch v.(type) {
		case *ListLit, *TupleLit:
		default:
			c.literal(v)
		}
	}
}

func (c *checker) class(class *Class) {
	c.look("", class.Name)
	for i := range class.Attrs {
		a := &class.Attrs[i]
		switch at, ok := class.AttrIndex(a.Name); {
		case ok && at > i && at < len(class.Attrs) && class.Attrs[at].Name == a.Name:
			c.errorf("got a second attribute %s", a.Name)
		case !ok || at != i:
			c.errorf("got attribute %s at place %d, want %d: sealed too early?", a.Name, at, i)
		}
		c.literal(a.Default)
	}
	for _, list := range [2][]string{class.Parameters, class.Buffers} {
		for _, name := range list {
			if _, ok := class.AttrIndex(name); !ok {
				c.errorf("got parameter or buffer %s, which is no attribute", name)
			}
		}
	}
	for _, m := range class.Methods {
		if m.Class != class {
			c.errorf("got method %s of another class", m.Method)
		}
		if class.Method(m.Method) == nil {
			c.errorf("got method %s, which look-up does not find", m.Method)
		}
	}
}

func (c *checker) function(f *Func) {
	if c.seen[f] {
		return
	}
	c.seen[f] = true
	c.look("", f.Name)
	g, err := f.Graph()
	if err != nil {
		c.errorf("%v", err)
		return
	}
	for i := range f.Params {
		if m := f.Params[i].Meta; m != nil {
			c.meta("parameter "+f.Params[i].Name, m)
		}
	}
	c.body(f, g)
	c.look("", f.Name)
}

func (c *checker) body(f *Func, g *Graph) {
	graph, defined, made := c.graph, c.defined, c.made
	room := make([]bool, 2*g.NumValues)
	c.graph, c.defined, c.made = g, room[:g.NumValues], room[g.NumValues:]
	if len(g.Params) != len(f.Params) {
		c.errorf("got %d parameter values, want %d", len(g.Params), len(f.Params))
	}
	for _, v := range g.Params {
		c.define(v)
	}
	switch {
	case g.Body == nil:
		c.errorf("got no body")
	default:
		if len(g.Body.Params) > 0 || len(g.Body.Outs) > 0 {
			c.errorf("got a body with parameters or results, want a Return")
		}
		if n := len(g.Body.Nodes); n == 0 || g.Body.Nodes[n-1].Op != "prim::Return" {
			c.errorf("got a body that does not end in prim::Return")
		}
		c.block(g.Body)
	}
	c.graph, c.defined, c.made = graph, defined, made
}

// define makes a value known; values are assigned once.
func (c *checker) define(v *Value) {
	switch {
	case v == nil:
		c.errorf("got a nil value")
	case v.ID < 0 || v.ID >= len(c.made):
		c.errorf("got value %d, want less than %d", v.ID, len(c.made))
	case c.made[v.ID]:
		c.errorf("got value %s assigned twice", valueName(v))
	default:
		c.made[v.ID], c.defined[v.ID] = true, true
	}
}

// forget ends a value's scope.
func (c *checker) forget(vs []*Value) {
	for _, v := range vs {
		if v != nil && v.ID >= 0 && v.ID < len(c.defined) {
			c.defined[v.ID] = false
		}
	}
}

// place names where in a function something is; it is put into words where it is needed.
type place interface{ String() string }

type (
	nodePlace  Node
	blockPlace struct{}
)

func (n *nodePlace) String() string { return fmt.Sprintf("line %d: %s", n.Where.Line, n.Op) }
func (blockPlace) String() string   { return "block" }

func (c *checker) args(where place, args []Arg) {
	for i := range args {
		a := &args[i]
		switch {
		case a.Items != nil:
			if a.Value != nil || a.Const != nil {
				c.errorf("%s: argument %d is both a list and something else", where, i)
			}
			c.args(where, a.Items)
		case a.Value == nil:
			c.literal(a.Const)
		case a.Const != nil:
			c.errorf("%s: argument %d is both a value and a literal", where, i)
		case a.Value.ID < 0 || a.Value.ID >= len(c.defined):
			c.errorf("%s: got value %d, want less than %d", where, a.Value.ID, len(c.defined))
		case !c.defined[a.Value.ID]:
			c.errorf("%s: got %s before it is defined", where, valueName(a.Value))
		}
	}
}

func (c *checker) block(b *Block) {
	for _, v := range b.Params {
		c.define(v)
	}
	for _, n := range b.Nodes {
		c.node(n)
	}
	c.args(blockPlace{}, b.Outs)
	for _, n := range b.Nodes {
		c.forget(n.Outs)
	}
	c.forget(b.Params)
}

func (c *checker) node(n *Node) {
	where := (*nodePlace)(n)
	c.args(where, n.Args)
	if s, ok := shapes[n.Op]; ok {
		if len(n.Args) < s.minArgs || s.maxArgs >= 0 && len(n.Args) > s.maxArgs {
			c.errorf("%s: got %d arguments, want %s", where, len(n.Args), span(s.minArgs, s.maxArgs))
		}
		if len(n.Outs) > s.maxOuts && s.maxOuts >= 0 {
			c.errorf("%s: got %d results, want at most %d", where, len(n.Outs), s.maxOuts)
		}
		if len(n.Blocks) != s.blocks {
			c.errorf("%s: got %d blocks, want %d", where, len(n.Blocks), s.blocks)
		}
		if s.text && n.Text == "" {
			c.errorf("%s: got no text", where)
		}
		if s.callee {
			c.callee(where, n)
		}
		if s.recorded && (len(n.Recorded()) != 1 || n.Recorded()[0] == nil) {
			c.errorf("%s: got no recorded tensor", where)
		}
		if len(n.Types) < s.types {
			c.errorf("%s: got %d types, want %d", where, len(n.Types), s.types)
		}
	} else if len(n.Blocks) > 0 && !strings.HasPrefix(n.Op, HigherOrder) {
		c.errorf("%s: got %d blocks, want none", where, len(n.Blocks))
	}
	c.recorded(where, n)
	for _, b := range n.Blocks {
		c.block(b)
	}
	switch n.Op {
	case "prim::If":
		for i, b := range n.Blocks {
			if len(b.Params) != 0 || len(b.Outs) != len(n.Outs) {
				c.errorf("%s: block %d: got %d parameters and %d results, want 0 and %d", where, i, len(b.Params),
					len(b.Outs), len(n.Outs))
			}
		}
	case "prim::Loop":
		carried := len(n.Args) - 2
		if len(n.Blocks) == 1 && (len(n.Blocks[0].Params) != carried+1 || len(n.Blocks[0].Outs) != carried+1 ||
			len(n.Outs) != carried) {
			c.errorf("%s: got %d parameters, %d results of the block and %d of the loop, want %d, %d and %d", where,
				len(n.Blocks[0].Params), len(n.Blocks[0].Outs), len(n.Outs), carried+1, carried+1, carried)
		}
	case "prim::DictConstruct":
		if len(n.Args)%2 != 0 {
			c.errorf("%s: got %d arguments, want an even number", where, len(n.Args))
		}
	}
	for _, v := range n.Outs {
		c.define(v)
	}
}

// recorded checks what a node says of its overload and of what it gave.
func (c *checker) recorded(where place, n *Node) {
	if rest, ok := strings.CutPrefix(n.Key(), n.Op); n.Key() != "" && (!ok || rest != "" && rest[0] != '.') {
		c.errorf("%s: got the overload %s, want one of the operator", where, n.Key())
	}
	for i, m := range n.Recorded() {
		if m == nil {
			continue
		}
		if n.Op == BufferView && m.DType == tensor.Undefined {
			same := *m
			same.DType = tensor.Uint8 // any
			m = &same
		}
		c.meta(fmt.Sprintf("%s: result %d", where, i), m)
	}
}

// meta checks a recorded tensor: as many strides as sizes, of symbols that there are.
func (c *checker) meta(where string, m *TensorMeta) {
	if !m.DType.Valid() {
		c.errorf("%s: got no dtype", where)
	}
	if len(m.Sizes) != len(m.Strides) {
		c.errorf("%s: got %d sizes and %d strides", where, len(m.Sizes), len(m.Strides))
	}
	if c.symbols == nil {
		return
	}
	for _, all := range [][]Size{m.Sizes, m.Strides, {m.Offset}} {
		for _, s := range all {
			for _, name := range s.Names() {
				if !c.symbols[name] {
					c.errorf("%s: got the size %s, which is no symbol of the program", where, name)
				}
			}
		}
	}
}

// callee checks a call's arguments against the parameters.
func (c *checker) callee(where place, n *Node) {
	f := n.Callee
	if f == nil {
		c.errorf("%s: got no function", where)
		return
	}
	if len(n.Args) > len(f.Params) {
		c.errorf("%s: got %d arguments of %s, want at most %d", where, len(n.Args), f.Name, len(f.Params))
	}
	for i, p := range f.Params {
		named := slices.ContainsFunc(n.Args, func(a Arg) bool { return a.Name == p.Name })
		if i >= len(n.Args) && !p.HasDef && !named {
			c.errorf("%s: got no argument %s of %s", where, p.Name, f.Name)
		}
	}
	if c.seen != nil {
		at := c.at
		c.function(f)
		c.look("", at)
	}
}
