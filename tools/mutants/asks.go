package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// declared are the functions and methods of a package, with what they do.
func (s *source) declared() map[*types.Func]*ast.FuncDecl {
	if s.functions != nil {
		return s.functions
	}
	s.functions, s.asking = map[*types.Func]*ast.FuncDecl{}, map[*ast.FuncDecl]bool{}
	for i := range s.files {
		for _, d := range s.files[i].tree.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				if f, ok := s.info.Defs[d.Name].(*types.Func); ok {
					s.functions[f] = d
				}
			}
		}
	}
	return s.functions
}

// reached says whether what the rounds write can be reached by a function that they ask: all but a
// local variable can.
func (r *rounds) reached() bool {
	if r.decl == nil || len(r.own) > 0 {
		return true
	}
	local := func(name string) bool {
		found := false
		ast.Inspect(r.decl, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				v, isVar := r.s.info.ObjectOf(id).(*types.Var)
				found = found || isVar && r.decl.Pos() <= v.Pos() && v.Pos() < r.decl.End() && !v.IsField()
			}
			return !found
		})
		return found
	}
	for name := range r.sums {
		if strings.Contains(name, ".") || !local(name) {
			return true
		}
	}
	for name := range r.marks {
		if strings.Contains(name, ".") || !local(name) {
			return true
		}
	}
	return false
}

// called is the function or method that a call names, nil where it is a value.
func (r *rounds) called(call *ast.CallExpr) *types.Func {
	name, ok := call.Fun.(*ast.Ident)
	if sel, isSel := call.Fun.(*ast.SelectorExpr); isSel {
		name, ok = sel.Sel, true
	}
	if !ok {
		return nil
	}
	f, _ := r.s.info.Uses[name].(*types.Func)
	return f
}

// onlyAsks says whether a function of the package changes nothing but its own variables, and calls
// none that does; one that calls itself asks no more than it asks else.
func (r *rounds) onlyAsks(d *ast.FuncDecl) bool {
	if pure, seen := r.s.asking[d]; seen {
		return pure
	}
	r.s.asking[d] = true
	own := &rounds{collector: r.collector, loop: r.loop, within: d}
	r.s.asking[d] = own.changesNothing(d.Body)
	return r.s.asking[d]
}

// changesNothing says whether all that a function's body writes are its own variables.
func (r *rounds) changesNothing(body *ast.BlockStmt) bool {
	only := true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				only = only && r.inside(to)
			}
		case *ast.RangeStmt:
			only = only && (n.Tok != token.ASSIGN) && !r.iterates(n)
		case *ast.IncDecStmt:
			only = only && r.inside(n.X)
		case *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.SelectStmt:
			only = false
		case *ast.ExprStmt:
			only = only && r.asks(n.X)
		case ast.Expr:
			only = only && r.asks(n)
			return false // all below it was asked
		}
		return only
	})
	return only
}

// iterates says whether a loop goes through a function.
func (r *rounds) iterates(loop *ast.RangeStmt) bool {
	_, is := r.typeOf(loop.X).(*types.Signature)
	return is
}
