package main

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// mutations are all changes of a package that are tried, in the order of its files.
func (s *source) mutations() []*mutation {
	var out []*mutation
	for i := range s.files {
		if !ast.IsGenerated(s.files[i].tree) {
			c := &collector{s: s, file: i, seen: map[string]int{}}
			c.collect()
			out = append(out, c.out...)
		}
	}
	return out
}

// A collector goes through a file and offers every node to the operators.
type collector struct {
	s        *source
	file     int
	function string
	decl     *ast.FuncDecl
	stack    []ast.Node // the node and all around it, outermost first
	seen     map[string]int
	out      []*mutation
}

func (c *collector) collect() {
	for _, d := range c.s.files[c.file].tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				c.function, c.decl = functionName(d), d
				c.walk(d.Body)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && !mentionsIota(d, v) {
					c.function, c.decl = v.Names[0].Name, nil
					for _, x := range v.Values {
						c.walk(x)
					}
				}
			}
		}
	}
}

func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}

// mentionsIota says whether a constant counts: another number there renames all that follow alike.
func mentionsIota(d *ast.GenDecl, v *ast.ValueSpec) bool {
	if d.Tok != token.CONST {
		return false
	}
	found := false
	for _, x := range v.Values {
		ast.Inspect(x, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == "iota" {
				found = true
			}
			return true
		})
	}
	return found
}

func (c *collector) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			c.stack = c.stack[:len(c.stack)-1]
			return true
		}
		c.stack = append(c.stack, n)
		if c.skipped(n) {
			c.stack = c.stack[:len(c.stack)-1]
			return false
		}
		c.expression(n)
		c.statement(n)
		return true
	})
}

// parent is the node n steps above the one at hand, nil above the outermost.
func (c *collector) parent(n int) ast.Node {
	if len(c.stack) <= n {
		return nil
	}
	return c.stack[len(c.stack)-1-n]
}

// skipped says whether nothing under a node is changed: lengths of array types, which the compiler
// compares with the rest, capacities, the bits of a float to be read, which are 64 unless they are
// 32, and the sign of an infinity, which any number above 0 says.
func (c *collector) skipped(n ast.Node) bool {
	switch p := c.parent(1).(type) {
	case *ast.ArrayType:
		return n == p.Len
	case *ast.CallExpr:
		switch c.builtin(p) {
		case "make":
			i := slices.Index(p.Args, asExpr(n))
			_, isMap := c.typeOf(p).(*types.Map)
			_, isChan := c.typeOf(p).(*types.Chan)
			return i == 2 || i == 1 && (isMap || isChan)
		}
		switch c.text(p.Fun) {
		case "strconv.ParseFloat":
			return len(p.Args) == 2 && n == p.Args[1] && c.text(p.Args[1]) == "64"
		case "math.Inf":
			return len(p.Args) == 1 && n == p.Args[0] && c.text(p.Args[0]) == "1"
		}
		return isGrow(p) && n != p.Fun
	}
	return false
}

func asExpr(n ast.Node) ast.Expr {
	x, _ := n.(ast.Expr)
	return x
}

// isGrow says whether a call makes room and does nothing else: Grow of a builder, a buffer or
// package slices.
func isGrow(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Grow"
}

// builtin is the name of the builtin function that is called, "" where it is another.
func (c *collector) builtin(call *ast.CallExpr) string {
	if id, ok := call.Fun.(*ast.Ident); ok {
		if b, ok := c.s.info.Uses[id].(*types.Builtin); ok {
			return b.Name()
		}
	}
	return ""
}

// typeOf is the underlying type of an expression, nil where it has none.
func (c *collector) typeOf(x ast.Expr) types.Type {
	if t := c.s.info.TypeOf(x); t != nil {
		return t.Underlying()
	}
	return nil
}

func (c *collector) is(x ast.Expr, flags types.BasicInfo) bool {
	b, ok := c.typeOf(x).(*types.Basic)
	return ok && b.Info()&flags != 0
}

func (c *collector) offset(p token.Pos) int { return c.s.offset(p) }

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

func (c *collector) text(n ast.Node) string {
	return string(c.s.files[c.file].text[c.offset(n.Pos()):c.offset(n.End())])
}

// add offers a change of node: the bytes from start to end, both inside it, become text.
func (c *collector) add(operator string, node ast.Node, start, end token.Pos, text string) {
	file := &c.s.files[c.file]
	from, a, b, to := c.offset(node.Pos()), c.offset(start), c.offset(end), c.offset(node.End())
	if string(file.text[a:b]) == text {
		return
	}
	m := &mutation{pkg: c.s, file: c.file, path: file.rel, function: c.function, decl: c.decl, operator: operator,
		start: a, end: b, text: text,
		line: 1 + bytes.Count(file.text[:a], []byte("\n"))}
	before, after := string(file.text[from:a]), string(file.text[b:to])
	m.was, m.now = oneLine(before, string(file.text[a:b]), after), oneLine(before, text, after)
	if m.now == "" {
		m.now = "(removed)"
	}
	key := m.id()
	c.seen[key]++
	m.nth = c.seen[key]
	c.out = append(c.out, m)
}

// part offers another text for the node at hand, shown as a part of what it stands in.
func (c *collector) part(operator string, node ast.Expr, text string) {
	var whole ast.Node = node
	if r, ok := c.parent(1).(*ast.ReturnStmt); ok && c.beside(r, node) {
		return
	}
	switch p := c.parent(1).(type) {
	case *ast.BinaryExpr, *ast.IndexExpr, *ast.SliceExpr, *ast.CallExpr, *ast.KeyValueExpr, *ast.AssignStmt,
		*ast.ReturnStmt:
		whole = p
	}
	c.add(operator, whole, node.Pos(), node.End(), text)
}

// replace offers another text for a whole node.
func (c *collector) replace(operator string, node ast.Node, text string) {
	c.add(operator, node, node.Pos(), node.End(), text)
}
