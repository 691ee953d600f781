package locals

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/pysource"
	"github.com/memspec/memspec/engine/ops"
)

// evaluation evaluates the expressions of a user's source that leave nothing in an archive. What it
// does not know makes the whole unknown.
type evaluation struct {
	scope *Scope
	bad   bool
	fresh []any // containers it made: held by no one yet
}

// value evaluates text; ok is false where that is not known. A container made for it is not held.
func (s *Scope) value(text string) (v any, ok bool) {
	x := s.reader.expr(text)
	if x == nil {
		return nil, false
	}
	e := &evaluation{scope: s}
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

func (e *evaluation) eval(x pysource.Expr) any {
	if e.bad {
		return nil
	}
	switch x := x.(type) {
	case *pysource.Const:
		return x.Value
	case *pysource.Name:
		return e.name(x.ID)
	case *pysource.Attr:
		return e.attr(e.eval(x.X), x.Name)
	case *pysource.Index:
		v := e.eval(x.X)
		return e.item(v, e.eval(x.At))
	case *pysource.Call:
		return e.call(x)
	case *pysource.Tuple:
		return e.made(&ops.Tuple{}, e.all(x.Items))
	case *pysource.List:
		return e.made(&ops.List{}, e.all(x.Items))
	case *pysource.Not:
		return !e.truth(e.eval(x.X))
	case *pysource.Bool:
		v := e.eval(x.X)
		if e.bad || e.truth(v) == x.Or {
			return v
		}
		return e.eval(x.Y)
	case *pysource.Compare:
		v := e.eval(x.X)
		return e.compare(x, v, e.eval(x.Y))
	case *pysource.Cond:
		if e.truth(e.eval(x.Test)) {
			return e.eval(x.Then)
		}
		return e.eval(x.Else)
	}
	return e.fail()
}

func (e *evaluation) all(xs []pysource.Expr) []any {
	var out []any
	for _, x := range xs {
		out = append(out, e.eval(x))
	}
	return out
}

// made fills a container; it holds its members.
func (e *evaluation) made(c any, items []any) any {
	if e.bad {
		return nil
	}
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

// compare is what == and != say of the values that conditions are made of.
func (e *evaluation) compare(x *pysource.Compare, v, w any) any {
	if x.Is {
		return (v == nil) != x.Negated
	}
	switch v.(type) {
	case nil, bool, int64, string:
		return (v == w) != x.Negated
	}
	return e.fail()
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
	if e.bad {
		return nil
	}
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

// name is a local's value.
func (e *evaluation) name(id string) any {
	if i, ok := e.scope.find(id); ok && e.scope.set[i] {
		return e.scope.held[i]
	}
	return e.fail()
}

// call is what one of the functions says that ask whether a model is being scripted or traced: it is not.
func (e *evaluation) call(c *pysource.Call) any {
	root, _, _ := strings.Cut(c.Path, ".")
	if _, local := e.scope.find(root); local {
		return e.fail()
	}
	switch c.Path[strings.LastIndexByte(c.Path, '.')+1:] {
	case "is_scripting", "is_tracing", "is_exporting", "is_compiling", "is_dynamo_compiling", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic":
		return false
	case "annotate": // torch.jit.annotate(T, value)
		if len(c.Args) == 2 {
			if x := e.scope.reader.expr(c.Args[1]); x != nil {
				return e.eval(x)
			}
		}
	}
	return e.fail()
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
