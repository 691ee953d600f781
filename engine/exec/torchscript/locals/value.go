package locals

import (
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/pysource"
	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/ops"
)

// evaluation evaluates the expressions of a user's source that leave nothing in an archive. What it
// does not know makes the whole unknown.
type evaluation struct {
	scope *Scope
	text  string // what is evaluated
	bad   bool
	fresh []any // containers it made: held by no one yet
}

// value evaluates text; ok is false where that is not known. A container made for it is not held.
func (s *Scope) value(text string) (v any, ok bool) {
	x := s.reader.expr(text)
	if x == nil {
		return nil, false
	}
	e := &evaluation{scope: s, text: text}
	v = e.eval(x)
	for _, c := range e.fresh {
		s.run.Hold(c)
	}
	for i := len(e.fresh) - 1; i >= 0; i-- { // those that went nowhere go, the outer ones first
		if c := e.fresh[i]; e.bad || c != v {
			s.run.Drop(c)
		} else {
			loosen(c)
		}
	}
	if e.bad {
		return nil, false
	}
	return v, true
}

// loosen takes back a hold of a container, which lives on.
func loosen(c any) {
	switch c := c.(type) {
	case *ops.Tuple:
		c.Refs--
	case *ops.List:
		c.Refs--
	}
}

func (e *evaluation) fail() any {
	e.bad = true
	return nil
}

// eval is what x evaluates to, as Python does it: sides that are not reached need not be known.
func (e *evaluation) eval(x python.Expr) any {
	if e.bad {
		return nil
	}
	switch x := x.(type) {
	case *python.Paren:
		return e.eval(x.X)
	case *python.Name:
		return e.name(x.Text)
	case *python.Number:
		return e.integer(x.Text)
	case *python.String:
		return x.Value
	case *python.Attr:
		return e.attr(e.eval(x.X), x.Name)
	case *python.Subscript:
		v := e.eval(x.X)
		return e.item(v, e.eval(x.Index))
	case *python.Call:
		return e.call(x)
	case *python.Tuple:
		return e.made(&ops.Tuple{}, e.all(x.Elems))
	case *python.List:
		return e.made(&ops.List{}, e.all(x.Elems))
	case *python.Unary:
		switch n, number := x.X.(*python.Number); {
		case x.Op == "not":
			return !e.truth(e.eval(x.X))
		case x.Op == "-" && number:
			return e.integer("-" + n.Text)
		}
	case *python.Binary:
		return e.binary(x)
	case *python.Cond:
		if e.truth(e.eval(x.Test)) {
			return e.eval(x.Then)
		}
		return e.eval(x.Else)
	}
	return e.fail()
}

func (e *evaluation) all(xs []python.Expr) []any {
	var out []any
	for _, x := range xs {
		out = append(out, e.eval(x))
	}
	return out
}

// integer is a decimal number; no other is needed.
func (e *evaluation) integer(text string) any {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return e.fail()
	}
	return n
}

// made fills a container; it holds its members.
func (e *evaluation) made(c any, items []any) any {
	for _, v := range items {
		e.scope.run.Hold(v)
	}
	switch c := c.(type) {
	case *ops.Tuple:
		c.Items = items
	case *ops.List:
		c.Items = items
	}
	e.fresh = append(e.fresh, c)
	return c
}

// binary is what and, or and a comparison evaluate to: with is, one with None.
func (e *evaluation) binary(x *python.Binary) any {
	v := e.eval(x.X)
	switch x.Op {
	case "or", "and":
		if e.bad || e.truth(v) == (x.Op == "or") {
			return v
		}
		return e.eval(x.Y)
	case "==", "!=":
		w := e.eval(x.Y)
		if !alone(x.X) || !alone(x.Y) {
			return e.fail()
		}
		switch v.(type) {
		case nil, bool, int64, string: // what conditions are made of
			return (v == w) == (x.Op == "==")
		}
	case "is", "is not":
		if none, ok := x.Y.(*python.Name); ok && none.Text == "None" && alone(x.X) {
			return (v == nil) == (x.Op == "is")
		}
	}
	return e.fail()
}

// alone says whether x is the whole side of a comparison: not a part of a chain such as a == b ==
// c, nor what binds looser.
func alone(x python.Expr) bool {
	switch x := x.(type) {
	case *python.Binary:
		return false
	case *python.Unary:
		return x.Op != "not"
	}
	return true
}

// truth is a value's truth, for the values that conditions are made of.
func (e *evaluation) truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case string:
		return v != ""
	case *ops.List:
		return len(v.Items) > 0
	case *ops.Tuple:
		return len(v.Items) > 0
	}
	e.fail()
	return false
}

func (e *evaluation) attr(v any, name string) any {
	if a, ok := e.scope.run.Attribute(v, name); ok {
		return a
	}
	return e.fail()
}

func (e *evaluation) item(v, i any) any {
	if e.bad {
		return nil
	}
	if d, ok := v.(*ops.Dict); ok {
		if at := d.Find(i); at >= 0 {
			return d.Values[at]
		}
		return e.fail()
	}
	k, ok := i.(int64)
	n := lenOf(v)
	if !ok || n < 0 {
		return e.fail()
	}
	if k < 0 {
		k += int64(n)
	}
	if k < 0 || k >= int64(n) {
		return e.fail()
	}
	return ops.Members(v)[k]
}

// name is a local's value, or the constant of that name.
func (e *evaluation) name(id string) any {
	switch id {
	case "None":
		return nil
	case "True":
		return true
	case "False":
		return false
	}
	if i, ok := e.scope.find(id); ok && e.scope.set[i] {
		return e.scope.held[i]
	}
	return e.fail()
}

// call is what one of the functions says that ask whether a model is being scripted or traced: it
// is not.
func (e *evaluation) call(c *python.Call) any {
	path := dotted(c.Fn)
	root, _, _ := strings.Cut(path, ".")
	if _, local := e.scope.find(root); local {
		return e.fail()
	}
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "is_scripting", "is_tracing", "is_exporting", "is_compiling", "is_dynamo_compiling",
		"has_torch_function", "has_torch_function_unary", "has_torch_function_variadic":
		return false
	case "annotate": // torch.jit.annotate(T, value)
		if args := pysource.Arguments(e.text[c.Open+1 : c.End-1]); len(args) == 2 {
			if x := e.scope.reader.expr(args[1]); x != nil {
				around := e.text
				e.text = args[1]
				v := e.eval(x)
				e.text = around
				return v
			}
		}
	}
	return e.fail()
}

// dotted is x where that is a name, or attributes of one; "" where it is something else.
func dotted(x python.Expr) string {
	path := ""
	for {
		switch y := x.(type) {
		case *python.Name:
			return y.Text + path
		case *python.Attr:
			path, x = "."+y.Name+path, y.X
		default:
			return ""
		}
	}
}

// lenOf is how many members a tuple or list has, -1 for what is neither.
func lenOf(v any) int {
	switch v := v.(type) {
	case *ops.Tuple:
		return len(v.Items)
	case *ops.List:
		return len(v.Items)
	}
	return -1
}
