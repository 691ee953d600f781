package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

func (c *collector) statement(n ast.Node) {
	switch n := n.(type) {
	case *ast.ExprStmt:
		c.removeCall(n)
	case *ast.AssignStmt:
		c.assignment(n)
	case *ast.IncDecStmt:
		to := map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok]
		c.add("arithmetic", n, n.TokPos, n.TokPos+2, to)
		c.remove(n)
	case *ast.DeferStmt, *ast.SendStmt:
		c.remove(n)
	case *ast.BranchStmt:
		c.branch(n)
	case *ast.ReturnStmt:
		c.results(n)
	case *ast.RangeStmt:
		c.ranges(n)
	}
}

// remove offers a program without a statement.
func (c *collector) remove(n ast.Node) { c.replace("statement", n, "") }

func (c *collector) removeCall(n *ast.ExprStmt) {
	call, ok := n.X.(*ast.CallExpr)
	if !ok || isGrow(call) {
		return
	}
	if c.builtin(call) == "panic" && strings.Contains(c.text(call), "internal error") {
		// says of itself that nothing gets there
		return
	}
	c.remove(n)
}

func (c *collector) assignment(n *ast.AssignStmt) {
	if to, ok := assignments[n.Tok]; ok && c.is(n.Lhs[0], types.IsNumeric) {
		c.add("arithmetic", n, n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), to.String())
	}
	if n.Tok == token.DEFINE {
		return
	}
	if id, ok := n.Lhs[0].(*ast.Ident); ok && id.Name == "_" && len(n.Lhs) == 1 {
		return
	}
	if len(n.Rhs) == 1 {
		if call, ok := n.Rhs[0].(*ast.CallExpr); ok && (c.builtin(call) == "append" || isGrow(call)) {
			return // an append is dropped where it stands
		}
	}
	c.remove(n)
}

// branch offers break for continue and continue for break, where both belong to the same loop.
func (c *collector) branch(n *ast.BranchStmt) {
	switch n.Tok {
	case token.BREAK:
		if n.Label != nil || c.breaksLoop() {
			c.add("branch", n, n.TokPos, n.TokPos+token.Pos(len("break")), "continue")
		}
	case token.CONTINUE:
		c.add("branch", n, n.TokPos, n.TokPos+token.Pos(len("continue")), "break")
	}
}

// breaksLoop says whether what a break leaves is a loop.
func (c *collector) breaksLoop() bool {
	for i := len(c.stack) - 2; i >= 0; i-- {
		switch c.stack[i].(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return true
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.FuncLit:
			return false
		}
	}
	return false
}

// results offers other results: no error, nothing, one more, no text.
func (c *collector) results(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		if _, inBlock := c.parent(1).(*ast.BlockStmt); inBlock {
			c.remove(n)
		}
		return
	}
	for _, x := range n.Results {
		if c.beside(n, x) {
			continue
		}
		t := c.s.info.TypeOf(x)
		if t == nil {
			continue
		}
		switch t := t.Underlying().(type) {
		case *types.Basic:
			switch _, literal := x.(*ast.BasicLit); {
			case t.Info()&types.IsNumeric != 0 && !literal && !c.absorbs(x):
				c.add("return", n, x.Pos(), x.End(), "("+c.text(x)+") + 1")
			case t.Info()&types.IsString != 0 && c.text(x) != `""`:
				c.add("return", n, x.Pos(), x.End(), `""`)
			}
		case *types.Pointer, *types.Slice, *types.Map, *types.Signature, *types.Interface:
			c.add("return", n, x.Pos(), x.End(), "nil")
		}
	}
}

// absorbs says whether one more than a number is the same number: a float that is so large,
// infinite or none.
func (c *collector) absorbs(x ast.Expr) bool {
	if v := c.s.info.Types[x].Value; v != nil && c.is(x, types.IsFloat) {
		is, _ := constant.Float64Val(v)
		more, _ := constant.Float64Val(constant.BinaryOp(v, token.ADD, constant.MakeInt64(1)))
		return is == more
	}
	if call, ok := x.(*ast.CallExpr); ok {
		text := c.text(call.Fun)
		return text == "math.Inf" || text == "math.NaN"
	}
	return false
}

// beside says whether a result means nothing, because an error or a false that comes last says so.
func (c *collector) beside(n *ast.ReturnStmt, x ast.Expr) bool {
	last := n.Results[len(n.Results)-1]
	if x == last {
		return false
	}
	if id, ok := last.(*ast.Ident); ok && (id.Name == "nil" || id.Name == "true") {
		return false
	}
	if id, ok := last.(*ast.Ident); ok && id.Name == "false" {
		return true
	}
	t := c.s.info.TypeOf(last)
	return t != nil && types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// ranges offers the members of a slice from its end, and one round less of a count.
func (c *collector) ranges(n *ast.RangeStmt) {
	head := span{n.Pos(), n.X.End()}
	switch t := c.typeOf(n.X).(type) {
	case *types.Slice:
		if n.Key != nil && !c.anyOrder(n) {
			c.add("order", head, n.X.Pos(), n.X.End(), "mutantBackward("+c.text(n.X)+")")
		}
	case *types.Basic:
		if t.Info()&types.IsInteger != 0 {
			c.add("constant", head, n.X.Pos(), n.X.End(), c.text(n.X)+" - 1")
		}
	}
}

// span is a stretch of a file that is no own node.
type span struct{ pos, end token.Pos }

func (s span) Pos() token.Pos { return s.pos }
func (s span) End() token.Pos { return s.end }
