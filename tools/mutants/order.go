package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// rounds says of a loop over a slice whether its rounds may come in any order, so that going
// through it from the end changes nothing. It is so where a round only asks, and what it does is
// the same for any order: a sum, a largest, whether any or all are, a mark that is the same in each
// round, the member of the round's own number, or an end with always the same answer. It asks the
// language, the standard library, and functions of the repository that change nothing. Two names
// are taken for two things.
type rounds struct {
	*collector
	loop    *ast.RangeStmt
	sums    map[string]token.Token // what is added up, by how
	marks   map[string]string      // what is set, by to what
	own     map[string]bool        // slices of which each round sets its own member
	point   map[types.Object]bool  // variables of a round that point to its own member
	effects int                    // of sums and own members
	answers []string               // what rounds return
	ends    []string               // blocks that end the loop
	ending  bool                   // such a block is at hand
	loose   bool                   // a mark is set outside of these blocks
	calls   bool                   // a function of the repository is asked, which may look at whatever it reaches
	within  *ast.FuncDecl          // the function whose own variables are meant, nil for those of the loop
}

// anyOrder says whether the rounds of a loop may come in any order.
func (c *collector) anyOrder(loop *ast.RangeStmt) bool {
	r := &rounds{collector: c, loop: loop, sums: map[string]token.Token{}, marks: map[string]string{},
		own: map[string]bool{}, point: map[types.Object]bool{}}
	if loop.Tok != token.DEFINE || !r.block(loop.Body.List, true) {
		return false
	}
	if len(r.answers) > 0 && (r.effects > 0 || len(r.marks) > 0 || len(r.ends) > 0) ||
		len(r.ends) > 0 && (r.effects > 0 || r.loose) {
		return false
	}
	return !r.reads() && !(r.calls && r.reached())
}

// block says whether statements do what may come in any order; here says whether a break among them
// ends the loop.
func (r *rounds) block(list []ast.Stmt, here bool) bool {
	if here && len(list) > 0 && isBreak(list[len(list)-1]) {
		return r.end(list)
	}
	return !slices.ContainsFunc(list, func(s ast.Stmt) bool { return !r.does(s, here) })
}

func isBreak(s ast.Stmt) bool {
	b, ok := s.(*ast.BranchStmt)
	return ok && b.Tok == token.BREAK && b.Label == nil
}

// end takes a block that ends the loop: it may set marks, and all such blocks set the same.
func (r *rounds) end(list []ast.Stmt) bool {
	var text strings.Builder
	r.ending = true
	defer func() { r.ending = false }()
	for _, s := range list[:len(list)-1] {
		if a, ok := s.(*ast.AssignStmt); !ok || a.Tok != token.ASSIGN || !r.assigns(a) {
			return false
		}
		text.WriteString(r.text(s) + "\n")
	}
	r.ends = append(r.ends, text.String())
	return text.String() == r.ends[0]
}

func (r *rounds) does(s ast.Stmt, here bool) bool {
	switch s := s.(type) {
	case nil:
		return true
	case *ast.BlockStmt:
		return s == nil || r.block(s.List, here)
	case *ast.IfStmt:
		return r.does(s.Init, here) && r.asks(s.Cond) && r.does(s.Body, here) && r.does(s.Else, here)
	case *ast.SwitchStmt:
		return r.does(s.Init, false) && r.asks(s.Tag) && r.does(s.Body, false)
	case *ast.TypeSwitchStmt:
		return r.does(s.Init, false) && r.asks(switched(s)) && r.does(s.Body, false)
	case *ast.CaseClause:
		return !slices.ContainsFunc(s.List, func(x ast.Expr) bool { return !r.asks(x) }) && r.block(s.Body, false)
	case *ast.ForStmt:
		return r.does(s.Init, false) && r.asks(s.Cond) && r.does(s.Post, false) && r.does(s.Body, false)
	case *ast.RangeStmt:
		return (s.Tok == token.DEFINE || s.Key == nil) && r.asks(s.X) && r.does(s.Body, false)
	case *ast.BranchStmt:
		return s.Label == nil && (s.Tok == token.BREAK && !here || s.Tok == token.CONTINUE)
	case *ast.ExprStmt:
		return r.deletes(s.X)
	case *ast.ReturnStmt:
		return r.answer(s)
	case *ast.IncDecStmt:
		return r.sum(s.X, token.ADD_ASSIGN)
	case *ast.AssignStmt:
		return r.assigns(s)
	case *ast.DeclStmt:
		return !strings.Contains(r.text(s), "=")
	}
	return false
}

// switched is what a type switch asks the type of.
func switched(s *ast.TypeSwitchStmt) ast.Expr {
	if a, ok := s.Assign.(*ast.AssignStmt); ok {
		return a.Rhs[0]
	}
	return s.Assign.(*ast.ExprStmt).X
}

// deletes takes delete of a map, of which nothing else is changed.
func (r *rounds) deletes(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	return ok && r.builtin(call) == "delete" && r.asks(call.Args[1]) && r.marked(call.Args[0], "delete")
}

// answer takes a return that is the same in every round.
func (r *rounds) answer(s *ast.ReturnStmt) bool {
	for _, x := range s.Results {
		if !r.same(x) {
			return false
		}
	}
	text := r.text(s)
	r.answers = append(r.answers, text)
	return text == r.answers[0]
}

// same says whether an expression has one value in all rounds: it asks of nothing that belongs to a
// round. What rounds write it may not ask of: see reads.
func (r *rounds) same(x ast.Expr) bool {
	own := false
	ast.Inspect(x, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		own = own || ok && r.inside(id)
		return !own
	})
	return !own && r.asks(x)
}

// inside says whether a variable belongs to a round.
func (r *rounds) inside(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	if !ok {
		return false
	}
	o := r.s.info.ObjectOf(id)
	var whole ast.Node = r.loop
	if r.within != nil {
		whole = r.within
	}
	return id.Name == "_" || o != nil && whole.Pos() <= o.Pos() && o.Pos() < whole.End()
}

func (r *rounds) assigns(s *ast.AssignStmt) bool {
	if r.points(s) {
		return true
	}
	if slices.ContainsFunc(s.Rhs, func(x ast.Expr) bool { return !r.asks(x) }) {
		return false
	}
	for i, to := range s.Lhs {
		if r.inside(to) {
			continue
		}
		switch {
		case len(s.Lhs) != len(s.Rhs):
			return false
		case s.Tok != token.ASSIGN:
			if !r.sum(to, s.Tok) {
				return false
			}
		case r.member(to):
		case !r.largest(to, s.Rhs[i]) && !r.whether(to, s.Rhs[i]) && !r.mark(to, s.Rhs[i]):
			return false
		}
	}
	return true
}

// sum takes an addition, or a product, of whole numbers, always by one operator.
func (r *rounds) sum(to ast.Expr, by token.Token) bool {
	if r.inside(to) {
		return true
	}
	if by == token.SUB_ASSIGN {
		by = token.ADD_ASSIGN
	}
	if !r.is(to, types.IsInteger) || by == token.QUO_ASSIGN || by == token.SHL_ASSIGN || by == token.SHR_ASSIGN ||
		by == token.REM_ASSIGN || by == token.AND_NOT_ASSIGN {
		return false
	}
	return r.collects(to, by)
}

// collects says whether what is gathered in a variable, which no index chooses, is always gathered
// alike.
func (r *rounds) collects(to ast.Expr, by token.Token) bool {
	text := r.text(to)
	was, seen := r.sums[text]
	r.sums[text] = by
	r.effects++
	return !strings.Contains(text, "[") && (!seen || was == by)
}

// largest takes x = max(x, …) and x = min(x, …).
func (r *rounds) largest(to, x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 || r.text(call.Args[0]) != r.text(to) {
		return false
	}
	switch r.builtin(call) {
	case "max":
		return r.collects(to, token.GTR)
	case "min":
		return r.collects(to, token.LSS)
	}
	return false
}

// whether takes x = x || … and x = x && ….
func (r *rounds) whether(to, x ast.Expr) bool {
	b, ok := x.(*ast.BinaryExpr)
	return ok && (b.Op == token.LOR || b.Op == token.LAND) && r.text(b.X) == r.text(to) && r.collects(to, b.Op)
}

// mark takes what is the same in every round, set in a variable or somewhere in a map or a slice.
func (r *rounds) mark(to, x ast.Expr) bool {
	at, indexed := to.(*ast.IndexExpr)
	if indexed {
		if !r.asks(at.Index) || r.ending && !r.same(at.Index) {
			return false
		}
		to = at.X
	}
	return r.same(x) && r.marked(to, r.text(x))
}

// marked notes that a variable, or something in it, is set to a value, always to the same.
func (r *rounds) marked(name ast.Expr, value string) bool {
	text := r.text(name)
	was, seen := r.marks[text]
	r.marks[text] = value
	r.loose = r.loose || !r.ending
	return !strings.Contains(text, "[") && (!seen || was == value)
}

// points takes p := &slice[key], a pointer to the round's own member.
func (r *rounds) points(s *ast.AssignStmt) bool {
	if s.Tok != token.DEFINE || len(s.Lhs) != 1 {
		return false
	}
	to, named := s.Lhs[0].(*ast.Ident)
	of, ok := s.Rhs[0].(*ast.UnaryExpr)
	if !named || !ok || of.Op != token.AND || !r.ownIndex(of.X) {
		return false
	}
	r.point[r.s.info.ObjectOf(to)] = true
	return true
}

// member takes a write to the member of the round's own number.
func (r *rounds) member(to ast.Expr) bool {
	for {
		x, ok := to.(*ast.SelectorExpr)
		if !ok {
			return r.ownIndex(to)
		}
		if _, isPointer := r.typeOf(x.X).(*types.Pointer); isPointer {
			id, ok := x.X.(*ast.Ident)
			return ok && r.point[r.s.info.ObjectOf(id)]
		}
		to = x.X
	}
}

// ownIndex takes the member of a slice that has the round's own number.
func (r *rounds) ownIndex(x ast.Expr) bool {
	at, ok := x.(*ast.IndexExpr)
	if !ok || !r.isKey(at.Index) || strings.ContainsAny(r.text(at.X), "[(") {
		return false
	}
	if _, isSlice := r.typeOf(at.X).(*types.Slice); !isSlice {
		return false
	}
	r.own[r.text(at.X)] = true
	r.effects++
	return true
}

func (r *rounds) isKey(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	key, named := r.loop.Key.(*ast.Ident)
	return ok && named && r.s.info.ObjectOf(id) == r.s.info.ObjectOf(key)
}

// asks says whether an expression changes nothing: it calls conversions, questions of the language
// and of the standard library.
func (r *rounds) asks(x ast.Expr) bool {
	if x == nil {
		return true
	}
	only := true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			only = false
		case *ast.UnaryExpr:
			only = only && n.Op != token.ARROW && n.Op != token.AND
		case *ast.CallExpr:
			only = only && r.question(n)
		}
		return only
	})
	return only
}

// asking are packages of the standard library whose functions change nothing that they are given;
// of slices and maps some do.
var asking = []string{"strings", "unicode", "unicode/utf8", "math", "math/bits", "cmp", "strconv", "path", "errors"}

func (r *rounds) question(call *ast.CallExpr) bool {
	if r.s.info.Types[call.Fun].IsType() {
		return true
	}
	switch r.builtin(call) {
	case "len", "cap", "min", "max":
		return true
	}
	f := r.called(call)
	if f == nil || f.Pkg() == nil {
		return false
	}
	of := r.s
	if f.Pkg().Path() != of.path {
		of = of.others[f.Pkg().Path()]
	}
	if of != nil {
		r.calls = true
		d := of.declared()[f.Origin().FullName()]
		return d != nil && of.onlyAsks(d)
	}
	if f.Signature().Recv() != nil {
		return false
	}
	switch f.Pkg().Path() {
	case "fmt": // what it prints of a type with methods it asks those
		return strings.HasPrefix(f.Name(), "Sprint") && !slices.ContainsFunc(call.Args, func(x ast.Expr) bool {
			_, plain := r.s.info.TypeOf(x).(*types.Basic)
			return !plain
		})
	case "slices":
		return slices.Contains([]string{"Contains", "Index", "Equal", "Max", "Min"}, f.Name())
	}
	return slices.Contains(asking, f.Pkg().Path()) && f.Name() != "As"
}

// reads says whether a round looks at what another did: at a sum or a mark, or at another round's
// member.
func (r *rounds) reads() bool {
	found := false
	var parents []ast.Node
	ast.Inspect(r.loop.Body, func(n ast.Node) bool {
		if n == nil {
			parents = parents[:len(parents)-1]
			return true
		}
		parents = append(parents, n)
		x, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if r.own[r.text(x)] {
			at, ok := parents[len(parents)-2].(*ast.IndexExpr)
			found = found || !ok || at.X != x || !r.isKey(at.Index)
		}
		_, summed := r.sums[r.text(x)]
		_, marked := r.marks[r.text(x)]
		if summed || marked {
			found = found || !r.written(x, parents)
		}
		return true
	})
	return found
}

// written says whether an expression stands where it is written to: on the left of an assignment,
// as what is indexed there, as what a largest or a truth is gathered from, or as a delete's map.
func (r *rounds) written(x ast.Expr, parents []ast.Node) bool {
	for i := len(parents) - 2; i >= 0 && i >= len(parents)-4; i-- {
		switch p := parents[i].(type) {
		case *ast.IncDecStmt:
			return p.X == x
		case *ast.AssignStmt:
			return slices.ContainsFunc(p.Lhs, func(to ast.Expr) bool {
				at, ok := to.(*ast.IndexExpr)
				return to == x || ok && at.X == x
			}) || r.text(p.Lhs[0]) == r.text(x) && gathered(p.Rhs[0]) == x
		case *ast.ExprStmt:
			call, ok := p.X.(*ast.CallExpr)
			return ok && call.Args[0] == x
		}
	}
	return false
}

// gathered is what x is in max(x, …), min(x, …), x || … and x && ….
func gathered(from ast.Expr) ast.Expr {
	switch from := from.(type) {
	case *ast.BinaryExpr:
		return from.X
	case *ast.CallExpr:
		return from.Args[0]
	}
	return nil
}
