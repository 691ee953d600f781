package pysource

import (
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/python"
)

// Expr is an expression that ParseExpr reads.
type Expr interface{ expr() }

// The expressions.
type (
	// Const is None (nil), a bool, an int64 or a string.
	Const struct{ Value any }
	// Name is a name.
	Name struct{ ID string }
	// Attr is X.Name.
	Attr struct {
		X    Expr
		Name string
	}
	// Index is X[At].
	Index struct{ X, At Expr }
	// Call is a call of a dotted path; its arguments stay as they stand, for most callers want one of them or none.
	Call struct {
		Path string
		Args []string
	}
	// Tuple is (a, b).
	Tuple struct{ Items []Expr }
	// List is [a, b].
	List struct{ Items []Expr }
	// Not is not X.
	Not struct{ X Expr }
	// Bool is X or Y, or X and Y.
	Bool struct {
		Or   bool
		X, Y Expr
	}
	// Compare is X == Y or X is None, Negated the opposites.
	Compare struct {
		X, Y    Expr
		Is      bool
		Negated bool
	}
	// Cond is Then if Test else Else.
	Cond struct{ Then, Test, Else Expr }
)

func (*Const) expr()   {}
func (*Name) expr()    {}
func (*Attr) expr()    {}
func (*Index) expr()   {}
func (*Call) expr()    {}
func (*Tuple) expr()   {}
func (*List) expr()    {}
func (*Not) expr()     {}
func (*Bool) expr()    {}
func (*Compare) expr() {}
func (*Cond) expr()    {}

// ParseExpr reads the whole of text; ok is false where that holds anything but the expressions above.
func ParseExpr(text string) (x Expr, ok bool) {
	parsed, err := python.ParseExpr(text)
	if err != nil {
		return nil, false
	}
	r := &exprReader{text: text}
	x = r.read(parsed, 1)
	return x, !r.failed
}

// exprReader takes what Python's expressions are apart from those that are kept here.
type exprReader struct {
	text   string
	failed bool
}

func (r *exprReader) fail() Expr {
	r.failed = true
	return nil
}

// read reads an expression within so many brackets and conditions.
func (r *exprReader) read(x python.Expr, depth int) Expr {
	if depth > maxNesting || r.failed {
		return r.fail()
	}
	switch x := x.(type) {
	case *python.Paren:
		return r.read(x.X, depth+1)
	case *python.Name:
		return named(x.Text)
	case *python.Number:
		return r.integer(x.Span)
	case *python.String:
		if text := r.text[x.Start:x.End]; strings.ContainsRune(text, '\\') || len(text) != len(x.Value)+2 {
			return r.fail() // escapes, several strings
		}
		return &Const{x.Value}
	case *python.Attr:
		return &Attr{r.read(x.X, depth), x.Name}
	case *python.Subscript:
		return &Index{r.read(x.X, depth), r.read(x.Index, depth+1)}
	case *python.Call:
		if path := dotted(r.read(x.Fn, depth)); path != "" {
			return &Call{Path: path, Args: arguments(r.text[x.Open+1 : x.End-1])}
		}
	case *python.Tuple:
		return &Tuple{r.all(x.Elems, depth+1)}
	case *python.List:
		return &List{r.all(x.Elems, depth+1)}
	case *python.Unary:
		switch _, number := x.X.(*python.Number); {
		case x.Op == "not":
			return &Not{r.read(x.X, depth)}
		case x.Op == "-" && number:
			return r.integer(x.Span)
		}
	case *python.Binary:
		return r.binary(x, depth)
	case *python.Cond:
		return &Cond{r.read(x.Then, depth), r.read(x.Test, depth), r.read(x.Else, depth+1)}
	}
	return r.fail()
}

func (r *exprReader) all(xs []python.Expr, depth int) []Expr {
	var out []Expr
	for _, x := range xs {
		out = append(out, r.read(x, depth))
	}
	return out
}

// binary reads and, or, and a comparison that is no part of a chain: with is, of None alone.
func (r *exprReader) binary(x *python.Binary, depth int) Expr {
	left, right := r.read(x.X, depth), r.read(x.Y, depth)
	switch x.Op {
	case "or", "and":
		return &Bool{x.Op == "or", left, right}
	case "==", "!=":
		if !operand(x.X) || !operand(x.Y) {
			return r.fail()
		}
		return &Compare{X: left, Y: right, Negated: x.Op == "!="}
	case "is", "is not":
		if none, ok := x.Y.(*python.Name); !operand(x.X) || !ok || none.Text != "None" {
			return r.fail()
		}
		return &Compare{X: left, Y: &Const{}, Is: true, Negated: x.Op == "is not"}
	}
	return r.fail()
}

// operand says whether x is one of a comparison by itself: what binds looser has brackets.
func operand(x python.Expr) bool {
	switch x := x.(type) {
	case *python.Binary:
		return false
	case *python.Unary:
		return x.Op != "not"
	}
	return true
}

// named is a name, or the constant of that name.
func named(text string) Expr {
	switch text {
	case "None":
		return &Const{}
	case "True":
		return &Const{true}
	case "False":
		return &Const{false}
	}
	return &Name{text}
}

// integer reads a decimal integer with its sign.
func (r *exprReader) integer(at python.Span) Expr {
	n, err := strconv.ParseInt(r.text[at.Start:at.End], 10, 64)
	if err != nil {
		return r.fail()
	}
	return &Const{n}
}

// dotted is x where that is a name, or attributes of one; "" where it is something else.
func dotted(x Expr) string {
	path := ""
	for {
		switch y := x.(type) {
		case *Name:
			return y.ID + path
		case *Attr:
			path, x = "."+y.Name+path, y.X
		default:
			return ""
		}
	}
}

// arguments are what stands between a call's parentheses, apart at commas.
func arguments(s string) []string {
	parts := splitTop(s)
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	if parts[len(parts)-1] == "" { // nothing, or behind a last comma
		parts = parts[:len(parts)-1]
	}
	return parts
}
