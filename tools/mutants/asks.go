package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// declared are the functions and methods of a package, by full name, with what they do.
func (s *source) declared() map[string]*ast.FuncDecl {
	if s.functions != nil {
		return s.functions
	}
	s.functions, s.asking = map[string]*ast.FuncDecl{}, map[*ast.FuncDecl]bool{}
	for i := range s.files {
		for _, d := range s.files[i].tree.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				if f, ok := s.info.Defs[d.Name].(*types.Func); ok {
					s.functions[f.FullName()] = d
				}
			}
		}
	}
	return s.functions
}

// reached says whether what the rounds write can be reached by a function that they ask: all but a
// local variable can, and a slice that was made for the loop.
func (r *rounds) reached() bool {
	if r.decl == nil {
		return true
	}
	for name := range r.own {
		if !r.fresh(name) {
			return true
		}
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

// fresh says whether a name is that of a slice which is made in the statements before the loop, and
// that nothing mentions until then.
func (r *rounds) fresh(name string) bool {
	var list []ast.Stmt
	switch p := r.parent(1).(type) {
	case *ast.BlockStmt:
		list = p.List
	case *ast.CaseClause:
		list = p.Body
	}
	for at := slices.Index(list, ast.Stmt(r.loop)) - 1; at >= 0; at-- {
		if v := r.made(list[at], name); v != nil {
			return !r.mentions(r.loop, name, v)
		}
		if r.mentions(list[at], name, nil) {
			return false
		}
	}
	return false
}

// made is the variable of that name that a statement declares for a new slice, nil where it does
// not.
func (r *rounds) made(s ast.Stmt, name string) types.Object {
	a, ok := s.(*ast.AssignStmt)
	if !ok || a.Tok != token.DEFINE || len(a.Lhs) != len(a.Rhs) {
		return nil
	}
	for i, to := range a.Lhs {
		call, ok := a.Rhs[i].(*ast.CallExpr)
		if id, named := to.(*ast.Ident); named && id.Name == name && ok && r.builtin(call) == "make" {
			return r.s.info.Defs[id]
		}
	}
	return nil
}

// mentions says whether something of that name stands in a statement, other than one variable.
func (r *rounds) mentions(s ast.Stmt, name string, but types.Object) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name && (but == nil || r.s.info.ObjectOf(id) != but)
		return !found
	})
	return found
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
func (s *source) onlyAsks(d *ast.FuncDecl) bool {
	if pure, seen := s.asking[d]; seen {
		return pure
	}
	s.asking[d] = true
	own := &rounds{collector: &collector{s: s}, within: d}
	s.asking[d] = own.changesNothing(d.Body)
	return s.asking[d]
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
