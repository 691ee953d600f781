package modelfolder

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/memspec/memspec/engine/internal/python"
)

// An expression is a rule's text: Python's operators over the fields of a config, with int() and
// lists.
type expression struct {
	text  string
	root  python.Expr
	calls map[*python.Call]*expression // what int() is of
}

// compile reads an expression; the rules' own text is trusted to be small.
func compile(text string) (*expression, error) {
	root, err := python.ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	e := &expression{text: text, root: root, calls: map[*python.Call]*expression{}}
	return e, e.findCalls(root)
}

func (e *expression) findCalls(x python.Expr) error {
	var parts []python.Expr
	switch x := x.(type) {
	case *python.Call:
		if name, ok := x.Fn.(*python.Name); !ok || name.Text != "int" && name.Text != "len" {
			return fmt.Errorf("%q: got a call of another function, want int or len", e.text)
		}
		argument, err := compile(e.text[x.Open+1 : x.End-1])
		e.calls[x] = argument
		return err
	case *python.Paren:
		parts = []python.Expr{x.X}
	case *python.Unary:
		parts = []python.Expr{x.X}
	case *python.Binary:
		parts = []python.Expr{x.X, x.Y}
	case *python.Cond:
		parts = []python.Expr{x.Then, x.Test, x.Else}
	case *python.Subscript:
		parts = []python.Expr{x.Index}
	case *python.List:
		parts = x.Elems
	}
	for _, part := range parts {
		if err := e.findCalls(part); err != nil {
			return err
		}
	}
	return nil
}

// value evaluates the expression for a layer; -1 is none.
func (e *expression) value(fields fields, layer int64) (any, error) {
	s := scope{fields, layer, e}
	return s.evaluate(e.root)
}

// whole is the value of an expression that is a number, such as a size.
func (e *expression) whole(fields fields, layer int64) (int64, error) {
	v, err := e.value(fields, layer)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok || n < 0 {
		return 0, fmt.Errorf("%s: got %s, %w", e.text, kindOf(v), errNoValue)
	}
	return n, nil
}

// fields are what names in expressions stand for.
type fields interface {
	field(name string) (any, error)                            // by dotted name
	item(name string, i int64) (value any, ok bool, err error) // of a list that the config leaves out
}

// A scope is what one evaluation knows.
type scope struct {
	fields fields
	layer  int64
	of     *expression
}

// errNoValue is an expression that has no value for this config: a field is null where a number is
// wanted.
var errNoValue = errors.New("no value")

// evaluate returns the value of an expression, by Python's rules.
func (s *scope) evaluate(x python.Expr) (any, error) {
	switch x := x.(type) {
	case *python.Paren:
		return s.evaluate(x.X)
	case *python.Number:
		return number(x.Text)
	case *python.String:
		return x.Value, nil
	case *python.Name:
		return s.name(x.Text)
	case *python.Attr:
		name, err := dotted(x)
		if err != nil {
			return nil, err
		}
		return s.fields.field(name)
	case *python.List:
		list := make([]any, len(x.Elems))
		for i, e := range x.Elems {
			var err error
			if list[i], err = s.evaluate(e); err != nil {
				return nil, err
			}
		}
		return list, nil
	case *python.Subscript:
		return s.subscript(x)
	case *python.Cond:
		test, err := s.evaluate(x.Test)
		if err != nil {
			return nil, err
		}
		if truth(test) {
			return s.evaluate(x.Then)
		}
		return s.evaluate(x.Else)
	case *python.Unary:
		return s.unary(x)
	case *python.Binary:
		return s.binary(x)
	case *python.Call:
		v, err := s.of.calls[x].value(s.fields, s.layer)
		if err != nil {
			return nil, err
		}
		if x.Fn.(*python.Name).Text == "len" {
			if list, ok := v.([]any); ok {
				return int64(len(list)), nil
			}
			return nil, fmt.Errorf("len of %s: %w", kindOf(v), errNoValue)
		}
		return truncated(v)
	}
	return nil, fmt.Errorf("got an expression of a kind that rules have not: %T", x)
}

// truncated is Python's int of a number.
func truncated(v any) (any, error) {
	if n, ok := v.(int64); ok {
		return n, nil
	}
	f, ok := asFloat(v)
	if !ok || math.IsNaN(f) || math.Abs(f) >= 1<<62 {
		return nil, errNoValue
	}
	return int64(f), nil
}

func number(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseFloat(text, 64)
}

func (s *scope) name(text string) (any, error) {
	switch text {
	case "None":
		return nil, nil
	case "True":
		return true, nil
	case "False":
		return false, nil
	case "i":
		return s.layer, nil
	}
	return s.fields.field(text)
}

// dotted is the name that an attribute of nested configs has.
func dotted(x python.Expr) (string, error) {
	switch x := x.(type) {
	case *python.Name:
		return x.Text, nil
	case *python.Attr:
		name, err := dotted(x.X)
		return name + "." + x.Name, err
	}
	return "", fmt.Errorf("got an attribute of %T, want one of a config", x)
}

func (s *scope) subscript(x *python.Subscript) (any, error) {
	name, err := dotted(x.X)
	if err != nil {
		return nil, err
	}
	index, err := s.evaluate(x.Index)
	if err != nil {
		return nil, err
	}
	i, ok := index.(int64)
	if !ok {
		return nil, errNoValue
	}
	if item, ok, err := s.fields.item(name, i); ok || err != nil {
		return item, err
	}
	value, err := s.fields.field(name)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok || i < 0 {
		return nil, errNoValue
	}
	if i >= int64(len(list)) {
		return nil, fmt.Errorf("%s: got %d items, want one for layer %d", name, len(list), i)
	}
	return list[i], nil
}

func (s *scope) unary(x *python.Unary) (any, error) {
	v, err := s.evaluate(x.X)
	if err != nil {
		return nil, err
	}
	switch n := v.(type) {
	case int64:
		if x.Op == "-" {
			return -n, nil
		}
	case float64:
		if x.Op == "-" {
			return -n, nil
		}
	}
	if x.Op == "not" {
		return !truth(v), nil
	}
	return nil, errNoValue
}

func (s *scope) binary(x *python.Binary) (any, error) {
	a, err := s.evaluate(x.X)
	if err != nil {
		return nil, err
	}
	switch {
	case x.Op == "and" && !truth(a), x.Op == "or" && truth(a):
		return a, nil
	}
	b, err := s.evaluate(x.Y)
	if err != nil {
		return nil, err
	}
	switch x.Op {
	case "and", "or":
		return b, nil
	case "is":
		return a == nil && b == nil, nil
	case "is not":
		return a != nil || b != nil, nil
	case "==":
		return equal(a, b), nil
	case "!=":
		return !equal(a, b), nil
	case "in", "not in":
		list, ok := b.([]any)
		if !ok {
			return nil, errNoValue
		}
		found := false
		for _, item := range list {
			found = found || equal(item, a)
		}
		return found == (x.Op == "in"), nil
	}
	return arithmetic(x.Op, a, b)
}

func arithmetic(op string, a, b any) (any, error) {
	m, whole := a.(int64)
	n, both := b.(int64)
	f, left := asFloat(a)
	g, right := asFloat(b)
	if !left || !right {
		return nil, errNoValue
	}
	switch op {
	case "<":
		return f < g, nil
	case "<=":
		return f <= g, nil
	case ">":
		return f > g, nil
	case ">=":
		return f >= g, nil
	case "/":
		if g == 0 {
			return nil, errNoValue
		}
		return f / g, nil
	}
	if whole && both {
		return wholeArithmetic(op, m, n)
	}
	switch op {
	case "+":
		return f + g, nil
	case "-":
		return f - g, nil
	case "*":
		return f * g, nil
	case "**":
		return math.Pow(f, g), nil
	}
	return nil, errNoValue
}

func wholeArithmetic(op string, m, n int64) (any, error) {
	switch op {
	case "+":
		if sum := m + n; (sum > m) == (n > 0) {
			return sum, nil
		}
		return nil, errTooLarge
	case "-":
		if d := m - n; (d < m) == (n > 0) {
			return d, nil
		}
		return nil, errTooLarge
	case "*":
		return product(m, n)
	case "//", "%":
		if n == 0 {
			return nil, errNoValue
		}
		q, r := m/n, m%n
		if r != 0 && (r < 0) != (n < 0) {
			q, r = q-1, r+n
		}
		if op == "//" {
			return q, nil
		}
		return r, nil
	case "**":
		if n < 0 || n > 62 {
			return nil, errNoValue
		}
		out := int64(1)
		for ; n > 0; n-- {
			var err error
			if out, err = product(out, m); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("got the operator %s, which rules have not", op)
}

var errTooLarge = errors.New("got a size that does not fit 63 bits")

// product returns m times n; sizes that do not fit are an error.
func product(m, n int64) (int64, error) {
	a, b := uint64(max(m, -m)), uint64(max(n, -n))
	hi, lo := bits.Mul64(a, b)
	if hi != 0 || lo > math.MaxInt64 {
		return 0, errTooLarge
	}
	if (m < 0) != (n < 0) {
		return -int64(lo), nil
	}
	return int64(lo), nil
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func equal(a, b any) bool {
	f, ok := asFloat(a)
	g, both := asFloat(b)
	if ok && both {
		return f == g
	}
	s, ok := a.(string)
	t, both := b.(string)
	return ok && both && s == t || a == nil && b == nil
}

// truth says whether a value counts as true in a condition.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case object:
		return len(v) > 0
	}
	f, _ := asFloat(v)
	return f != 0
}
