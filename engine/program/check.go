package program

import (
	"errors"
	"fmt"
	"slices"
)

// This file checks what the package comment promises.

// Check lowers every function and returns all violations of the program's invariants at once, or nil.
func Check(p *Program) error {
	c := &checker{seen: map[*Func]bool{}}
	c.program(p)
	for _, class := range p.Classes {
		c.class(class)
		for _, f := range class.Methods {
			c.function(f)
		}
	}
	for _, f := range p.Funcs {
		c.function(f)
	}
	return errors.Join(c.errs...)
}

// maxViolations bounds a report: a broken decoder breaks everything.
const maxViolations = 100

type checker struct {
	errs []error
	seen map[*Func]bool
	at   string // what is being looked at
	// of the function being looked at
	graph   *Graph
	defined []bool // by value: in scope now
	made    []bool // by value: ever
}

func (c *checker) errorf(format string, args ...any) {
	if len(c.errs) < maxViolations {
		c.errs = append(c.errs, fmt.Errorf("%s: %s", c.at, fmt.Sprintf(format, args...)))
	}
}

func (c *checker) program(p *Program) {
	c.at = "program"
	if p.Format == "" {
		c.errorf("got no format")
	}
	if p.Root == nil {
		c.errorf("got no root")
	} else if p.Entry != nil && p.Entry.Class != p.Root.Class {
		c.errorf("got entry %s, want a method of %s", p.Entry.Name, p.Root.Class.Name)
	}
	if !slices.IsSortedFunc(p.Classes, func(a, b *Class) int { return compare(a.Name, b.Name) }) {
		c.errorf("got classes out of order")
	}
	if !slices.IsSortedFunc(p.Funcs, func(a, b *Func) int { return compare(a.Name, b.Name) }) {
		c.errorf("got functions out of order")
	}
	names := map[string]bool{}
	for i, m := range p.Modules {
		c.at = fmt.Sprintf("module %q", m.FQN)
		if names[m.FQN] {
			c.errorf("got a second of that name")
		}
		names[m.FQN] = true
		switch {
		case m.Object == nil:
			c.errorf("got no object")
		case m.Object.FQN != m.FQN:
			c.errorf("got an object named %q", m.Object.FQN)
		case m.Object.Class.Kind != ModuleClass:
			c.errorf("got an object of %s, want a module's class", m.Object.Class.Name)
		}
		if m.Parent != nil && !slices.Contains(p.Modules[:i], m.Parent) {
			c.errorf("got a parent that comes later")
		}
		if m.Object != nil {
			c.object(m.Object)
		}
	}
	bytes := map[int]int64{}
	for _, s := range p.States {
		c.at = fmt.Sprintf("state %q", s.Name)
		c.state(s, bytes)
	}
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
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

// literal refuses values of Go types that are no literals. It looks one level deep: containers are checked where they are used.
func (c *checker) literal(v any) {
	switch v := v.(type) {
	case nil, bool, int64, float64, complex128, string, Device, *State, *Object, *DictLit, EnumLit, *Opaque:
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
	c.at = class.Name
	names := map[string]bool{}
	for i, a := range class.Attrs {
		if names[a.Name] {
			c.errorf("got a second attribute %s", a.Name)
		}
		names[a.Name] = true
		if at, ok := class.AttrIndex(a.Name); !ok || at != i {
			c.errorf("got attribute %s at place %d, want %d: sealed too early?", a.Name, at, i)
		}
		c.literal(a.Default)
	}
	for _, list := range [][]string{class.Parameters, class.Buffers} {
		for _, name := range list {
			if !names[name] {
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
	c.at = f.Name
	g, err := f.Graph()
	if err != nil {
		c.errorf("%v", err)
		return
	}
	graph, defined, made := c.graph, c.defined, c.made
	c.graph, c.defined, c.made = g, make([]bool, g.NumValues), make([]bool, g.NumValues)
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
	c.at = f.Name
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

func (c *checker) args(where string, args []Arg) {
	for i, a := range args {
		switch {
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
	c.args("block", b.Outs)
	for _, n := range b.Nodes {
		c.forget(n.Outs)
	}
	c.forget(b.Params)
}

func (c *checker) node(n *Node) {
	where := fmt.Sprintf("line %d: %s", n.Line, n.Op)
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
		if len(n.Types) < s.types {
			c.errorf("%s: got %d types, want %d", where, len(n.Types), s.types)
		}
	} else if len(n.Blocks) > 0 {
		c.errorf("%s: got %d blocks, want none", where, len(n.Blocks))
	}
	for _, b := range n.Blocks {
		c.block(b)
	}
	switch n.Op {
	case "prim::If":
		for i, b := range n.Blocks {
			if len(b.Params) != 0 || len(b.Outs) != len(n.Outs) {
				c.errorf("%s: block %d: got %d parameters and %d results, want 0 and %d", where, i, len(b.Params), len(b.Outs), len(n.Outs))
			}
		}
	case "prim::Loop":
		carried := len(n.Args) - 2
		if len(n.Blocks) == 1 && (len(n.Blocks[0].Params) != carried+1 || len(n.Blocks[0].Outs) != carried+1 || len(n.Outs) != carried) {
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

// callee checks a call's arguments against the parameters.
func (c *checker) callee(where string, n *Node) {
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
	at := c.at
	c.function(f)
	c.at = at
}

func span(from, to int) string {
	switch {
	case to < 0:
		return fmt.Sprintf("at least %d", from)
	case from == to:
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d to %d", from, to)
}

// shape is what a node kind must have.
type shape struct {
	minArgs, maxArgs int // -1 is no limit
	maxOuts          int // -1 is no limit
	blocks           int
	types            int
	text, callee     bool
}

// shapes are the node kinds of the package comment.
var shapes = map[string]shape{
	"prim::GetAttr":         {minArgs: 1, maxArgs: 1, maxOuts: 1, text: true},
	"prim::SetAttr":         {minArgs: 2, maxArgs: 2, text: true},
	"prim::CallMethod":      {minArgs: 1, maxArgs: -1, maxOuts: 1, text: true},
	"prim::CallFunction":    {maxArgs: -1, maxOuts: 1, callee: true},
	"prim::fork":            {maxArgs: -1, maxOuts: 1, callee: true},
	"prim::CreateObject":    {maxArgs: -1, maxOuts: 1, text: true},
	"prim::TupleConstruct":  {maxArgs: -1, maxOuts: 1},
	"prim::ListConstruct":   {maxArgs: -1, maxOuts: 1},
	"prim::DictConstruct":   {maxArgs: -1, maxOuts: 1},
	"prim::TupleUnpack":     {minArgs: 1, maxArgs: 1, maxOuts: -1},
	"prim::ListUnpack":      {minArgs: 1, maxArgs: 1, maxOuts: -1},
	"prim::If":              {minArgs: 1, maxArgs: 1, maxOuts: -1, blocks: 2},
	"prim::Loop":            {minArgs: 2, maxArgs: -1, maxOuts: -1, blocks: 1},
	"prim::Return":          {minArgs: 1, maxArgs: 1},
	"prim::RaiseException":  {minArgs: 1, maxArgs: 1},
	"prim::Enter":           {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"prim::Exit":            {minArgs: 1, maxArgs: 1},
	"prim::Uninitialized":   {maxOuts: 1},
	"prim::unchecked_cast":  {minArgs: 1, maxArgs: 1, maxOuts: 1, types: 1},
	"prim::isinstance":      {minArgs: 1, maxArgs: 1, maxOuts: 1, types: 1},
	"prim::tolist":          {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"prim::EnumValue":       {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"prim::EnumName":        {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"aten::IntImplicit":     {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"aten::FloatImplicit":   {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"aten::ComplexImplicit": {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"aten::ScalarImplicit":  {minArgs: 1, maxArgs: 1, maxOuts: 1},
}
