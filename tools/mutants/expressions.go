package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// What becomes of an operator. A comparison is moved by one and turned round; the others are
// exchanged.
var (
	comparisons = map[token.Token][]token.Token{
		token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ},
		token.GEQ: {token.GTR, token.LSS},
		token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	}
	arithmetic = map[token.Token]token.Token{
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.QUO,
		token.SHL: token.SHR, token.SHR: token.SHL, token.AND: token.OR, token.OR: token.AND, token.XOR: token.AND,
		token.AND_NOT: token.AND,
	}
	assignments = map[token.Token]token.Token{
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN,
		token.QUO_ASSIGN: token.MUL_ASSIGN,
		token.REM_ASSIGN: token.QUO_ASSIGN, token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
		token.AND_ASSIGN: token.OR_ASSIGN,
		token.OR_ASSIGN:  token.AND_ASSIGN, token.XOR_ASSIGN: token.AND_ASSIGN, token.AND_NOT_ASSIGN: token.AND_ASSIGN,
	}
)

func (c *collector) expression(n ast.Node) {
	x, ok := n.(ast.Expr)
	if !ok {
		return
	}
	switch x := x.(type) {
	case *ast.BinaryExpr:
		c.binary(x)
	case *ast.BasicLit:
		c.literal(x)
	case *ast.UnaryExpr:
		if x.Op == token.SUB && !c.constant(x) {
			c.replace("arithmetic", x, c.text(x.X))
		}
	case *ast.Ident:
		if (x.Name == "true" || x.Name == "false") && c.s.info.Uses[x] == types.Universe.Lookup(x.Name) {
			c.part("constant", x, map[string]string{"true": "false", "false": "true"}[x.Name])
		}
	case *ast.CallExpr:
		c.call(x)
	}
	if c.asked(x) {
		c.negate(x)
	}
}

func (c *collector) constant(x ast.Expr) bool { return c.s.info.Types[x].Value != nil }

func (c *collector) binary(x *ast.BinaryExpr) {
	operator := func(name string, to token.Token) {
		c.add(name, x, x.OpPos, x.OpPos+token.Pos(len(x.Op.String())), to.String())
	}
	for _, to := range comparisons[x.Op] {
		operator("comparison", to)
	}
	switch x.Op {
	case token.LAND, token.LOR:
		operator("condition", map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}[x.Op])
		c.replace("condition", x, c.text(x.X))
		c.replace("condition", x, c.text(x.Y))
	default:
		if to, ok := arithmetic[x.Op]; ok && c.is(x, types.IsNumeric) {
			operator("arithmetic", to)
		}
	}
}

// literal offers the numbers beside a number.
func (c *collector) literal(x *ast.BasicLit) {
	switch x.Kind {
	case token.INT:
		n, err := strconv.ParseInt(x.Value, 0, 64)
		if err != nil {
			return
		}
		c.part("constant", x, strconv.FormatInt(n+1, 10))
		if n > 0 {
			c.part("constant", x, strconv.FormatInt(n-1, 10))
		}
	case token.FLOAT:
		if c.absorbs(x) {
			return
		}
		c.part("constant", x, "("+x.Value+" + 1)")
	}
}

// call offers two neighbouring arguments of one type in the other order, an append that appends
// nothing, and the other of min and max.
func (c *collector) call(x *ast.CallExpr) {
	switch name := c.builtin(x); name {
	case "append":
		if len(x.Args) > 1 {
			c.replace("append", x, c.text(x.Args[0]))
		}
		return
	case "min", "max":
		c.add("arithmetic", x, x.Fun.Pos(), x.Fun.End(), map[string]string{"min": "max", "max": "min"}[name])
		return
	}
	if c.builtin(x) == "make" || c.symmetric(x) {
		return
	}
	for i := 1; i < len(x.Args); i++ {
		a, b := x.Args[i-1], x.Args[i]
		if c.isFormat(a) { // go vet sees that one
			continue
		}
		if ta, tb := c.s.info.TypeOf(a), c.s.info.TypeOf(b); ta != nil && tb != nil &&
			types.Identical(types.Default(ta), types.Default(tb)) {
			if (!x.Ellipsis.IsValid() || i < len(x.Args)-1) && !c.transposes(x, i) {
				c.add("arguments", x, a.Pos(), b.End(), c.text(b)+", "+c.text(a))
			}
		}
	}
}

// symmetric says whether a function gives the same when its first two arguments are swapped: one of
// the standard library, and PromoteTypes, of which TestPromoteTypes compares every pair of dtypes
// in both orders.
func (c *collector) symmetric(x *ast.CallExpr) bool {
	switch c.text(x.Fun) {
	case "bits.Mul64", "bits.Add64", "strings.EqualFold", "strings.ContainsAny", "bytes.Equal", "slices.Equal", "math.Max",
		"math.Min", "PromoteTypes", "ops.PromoteTypes":
		return true
	}
	return false
}

// transposes says whether arguments i-1 and i are the two dimensions that change places, in a
// function or an operator.
func (c *collector) transposes(x *ast.CallExpr, i int) bool {
	switch c.text(x.Fun) {
	case "Transposed", "TransposedMeta", "ops.Transposed", "ops.TransposedMeta":
		return i == 2
	}
	return i == 3 && c.text(x.Args[0]) == `"aten::transpose.int"`
}

// isFormat says whether an argument is a text with verbs in it.
func (c *collector) isFormat(x ast.Expr) bool {
	v := c.s.info.Types[x].Value
	return v != nil && v.Kind() == constant.String && strings.Contains(constant.StringVal(v), "%")
}

// asked says whether the expression at hand is a question whose answer decides: a condition, a part
// of one, or a result.
func (c *collector) asked(x ast.Expr) bool {
	switch p := c.parent(1).(type) {
	case *ast.IfStmt:
		return x == p.Cond
	case *ast.ForStmt:
		return x == p.Cond
	case *ast.BinaryExpr:
		return p.Op == token.LAND || p.Op == token.LOR
	case *ast.CaseClause:
		return c.is(x, types.IsBoolean) && c.questions(p)
	case *ast.ReturnStmt:
		return c.is(x, types.IsBoolean)
	}
	return false
}

// questions says whether a case belongs to a switch without a tag.
func (c *collector) questions(p *ast.CaseClause) bool {
	for i := len(c.stack) - 1; i >= 0; i-- {
		if s, ok := c.stack[i].(*ast.SwitchStmt); ok {
			return s.Tag == nil
		}
	}
	return false
}

// negate turns a question round that is no comparison and no combination: these are changed where
// they stand.
func (c *collector) negate(x ast.Expr) {
	switch y := x.(type) {
	case *ast.BinaryExpr, *ast.ParenExpr:
		return
	case *ast.Ident:
		if y.Name == "true" || y.Name == "false" {
			return
		}
	case *ast.UnaryExpr:
		if y.Op == token.NOT {
			c.replace("condition", x, c.text(y.X))
			return
		}
	}
	c.replace("condition", x, "!"+c.text(x))
}
