// Package expr reads and evaluates whole numbers written as expressions over names: budgets and
// shapes in memspec.yaml, sizes over the symbols of a program. It is + - * / // % ( ) min max, and
// sizes such as 12MiB; division is exact, // and % are Python's. Every intermediate result must fit
// an int64.
package expr

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/nearest"
)

// Expr is a whole number: a literal, a name, or an expression over them. The zero value is 0.
type Expr struct {
	root   *node // nil: the constant n
	n      int64
	text   string
	offset int // of text in what it was read from
}

// Const is a plain number.
func Const(n int64) Expr { return Expr{n: n} }

// String is the expression as written.
func (e Expr) String() string {
	if e.root == nil {
		return strconv.FormatInt(e.n, 10)
	}
	return e.text
}

// Offset is where the expression begins in what it was read from, in bytes.
func (e Expr) Offset() int { return e.offset }

// Behind is the expression as read from a text with so many bytes before it.
func (e Expr) Behind(bytes int) Expr {
	if e.root != nil {
		e.offset += bytes
	}
	return e
}

// Constant is the value of an expression that is a plain number.
func (e Expr) Constant() (int64, bool) { return e.n, e.root == nil }

// Error is something wrong with an expression, at a byte offset of its text.
type Error struct {
	Text   string
	Offset int
	Msg    string
}

func (e *Error) Error() string { return e.Msg }

// Errorf is an error of the whole expression.
func (e Expr) Errorf(format string, args ...any) error {
	return &Error{Text: e.String(), Msg: fmt.Sprintf(format, args...)}
}

// UnboundError is a name, a dim as users call it, that has no value.
type UnboundError struct {
	Dim    string
	Have   []string // sorted
	Text   string   // the expression
	Offset int
}

func (e *UnboundError) Error() string {
	switch {
	case e.Meant() != "":
		return fmt.Sprintf("got dim %q without a value: did you mean %q?", e.Dim, e.Meant())
	case len(e.Have) == 0:
		return fmt.Sprintf("got dim %q without a value", e.Dim)
	}
	return fmt.Sprintf("got dim %q without a value, want one of %s", e.Dim, strings.Join(e.Have, ", "))
}

// Meant is the name among those with a value that is most like the one without, "" if none is like
// it.
func (e *UnboundError) Meant() string { return nearest.Word(e.Dim, e.Have) }

// Eval gives the value with dims bound.
func (e Expr) Eval(dims map[string]int64) (int64, error) {
	if e.root == nil {
		return e.n, nil
	}
	v := evaluator{text: e.text, dims: dims}
	return v.eval(e.root)
}

// Names are the dims an expression needs, in the order of their first use.
func (e Expr) Names() []string {
	var out []string
	var walk func(*node)
	walk = func(n *node) {
		if n == nil {
			return
		}
		if n.op == opDim && !slices.Contains(out, n.name) {
			out = append(out, n.name)
		}
		for _, a := range n.args {
			walk(a)
		}
	}
	walk(e.root)
	return out
}

type opcode uint8

const (
	opNum opcode = iota
	opDim
	opAdd
	opSub
	opMul
	opDiv      // exact
	opFloorDiv // rounds down, as Python's
	opMod      // has the divisor's sign, as Python's
	opNeg
	opMin
	opMax
)

type node struct {
	op     opcode
	n      int64
	name   string
	offset int // in bytes
	args   []*node
	bytes  bool // a size with a unit is in it
}

type evaluator struct {
	text string
	dims map[string]int64
}

func (v *evaluator) fail(n *node, format string, args ...any) error {
	return &Error{Text: v.text, Offset: n.offset, Msg: fmt.Sprintf(format, args...)}
}

func (v *evaluator) eval(n *node) (int64, error) {
	switch n.op {
	case opNum:
		return n.n, nil
	case opDim:
		x, ok := v.dims[n.name]
		if !ok {
			return 0, &UnboundError{Dim: n.name, Have: slices.Sorted(maps.Keys(v.dims)), Text: v.text, Offset: n.offset}
		}
		return x, nil
	}
	args := make([]int64, len(n.args))
	for i, a := range n.args {
		x, err := v.eval(a)
		if err != nil {
			return 0, err
		}
		args[i] = x
	}
	switch n.op {
	case opMin:
		return slices.Min(args), nil
	case opMax:
		return slices.Max(args), nil
	}
	return v.arith(n, args)
}

// arith computes in big integers, so that an overflow is seen and not wrapped.
func (v *evaluator) arith(n *node, args []int64) (int64, error) {
	a, r := big.NewInt(args[0]), new(big.Int)
	if n.op == opNeg {
		r.Neg(a)
		return v.fit(n, r)
	}
	b := big.NewInt(args[1])
	switch n.op {
	case opAdd:
		r.Add(a, b)
	case opSub:
		r.Sub(a, b)
	case opMul:
		r.Mul(a, b)
	default:
		if args[1] == 0 {
			return 0, v.fail(n, "got a division by zero")
		}
		m := new(big.Int)
		r.DivMod(a, b, m) // Euclidean; the remainder is never negative
		if m.Sign() != 0 && b.Sign() == -1 {
			r.Sub(r, big.NewInt(1))
			m.Add(m, b)
		}
		if n.op == opMod {
			r = m
		} else if n.op == opDiv && m.Sign() != 0 {
			return 0, v.fail(n, "got %d / %d, want a whole number; // rounds down", args[0], args[1])
		}
	}
	return v.fit(n, r)
}

func (v *evaluator) fit(n *node, r *big.Int) (int64, error) {
	if !r.IsInt64() {
		return 0, v.fail(n, "got %s, want a number that fits int64", r)
	}
	return r.Int64(), nil
}
