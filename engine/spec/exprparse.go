package spec

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/memspec/memspec/engine/units"
)

// Limits on an expression: nobody writes a longer one by hand.
const (
	maxExprBytes = 4096
	maxExprDepth = 64
)

// ParseExpr reads an expression. Sizes with a unit (12MiB) are bytes.
func ParseExpr(s string) (Expr, error) {
	if len(s) > maxExprBytes {
		return Expr{}, &ExprError{Text: s[:40], Msg: fmt.Sprintf("got an expression of %d bytes, want at most %d", len(s), maxExprBytes)}
	}
	text := strings.Trim(s, " \t\n")
	p := exprParser{text: text}
	root, err := p.sum(0)
	if err == nil && p.pos < len(text) {
		err = p.fail(p.pos, "got %s, want an operator or the end", p.got())
	}
	offset := strings.Index(s, text)
	if e, ok := err.(*ExprError); ok {
		e.Offset += offset // of s, not of what was trimmed
		return Expr{}, e
	}
	if root.op == opNum && !root.bytes {
		return Const(root.n), nil
	}
	return Expr{root: root, text: text, offset: offset}, nil
}

// HasUnit says whether a size with a unit is in the expression.
func (e Expr) HasUnit() bool { return e.root != nil && e.root.bytes }

type exprParser struct {
	text string
	pos  int
}

func (p *exprParser) fail(at int, format string, args ...any) error {
	return &ExprError{Text: p.text, Offset: at, Msg: fmt.Sprintf(format, args...)}
}

func (p *exprParser) space() {
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\t' || p.text[p.pos] == '\n') {
		p.pos++
	}
}

// got names what stands at the position, for an error.
func (p *exprParser) got() string {
	if p.pos >= len(p.text) {
		return "the end"
	}
	if w := p.word(); w != "" {
		return fmt.Sprintf("%q", w)
	}
	r := []rune(p.text[p.pos:])
	return fmt.Sprintf("%q", string(r[0]))
}

// word is the name or number at the position, without moving.
func (p *exprParser) word() string {
	end := p.pos
	for end < len(p.text) && (isLetter(p.text[end]) || isDigit(p.text[end])) {
		end++
	}
	return p.text[p.pos:end]
}

func (p *exprParser) accept(op string) bool {
	p.space()
	if !strings.HasPrefix(p.text[p.pos:], op) || op == "/" && strings.HasPrefix(p.text[p.pos:], "//") {
		return false
	}
	p.pos += len(op)
	return true
}

func (p *exprParser) sum(depth int) (*exprNode, error) {
	return p.chain(depth, p.product, []opSpelling{{"+", opAdd}, {"-", opSub}})
}

func (p *exprParser) product(depth int) (*exprNode, error) {
	return p.chain(depth, p.unary, []opSpelling{{"*", opMul}, {"//", opFloorDiv}, {"/", opDiv}, {"%", opMod}})
}

type opSpelling struct {
	text string
	op   exprOp
}

// chain reads operands joined by operators of one rank, leaning left.
func (p *exprParser) chain(depth int, operand func(int) (*exprNode, error), ops []opSpelling) (*exprNode, error) {
	if depth > maxExprDepth {
		return nil, p.fail(p.pos, "got an expression nested deeper than %d", maxExprDepth)
	}
	left, err := operand(depth)
next:
	for err == nil {
		for _, o := range ops {
			p.space()
			at := p.pos
			if !p.accept(o.text) {
				continue
			}
			var right *exprNode
			if right, err = operand(depth); err != nil {
				return nil, err
			}
			if o.op == opMul && left.bytes && right.bytes {
				return nil, p.fail(at, "got a size times a size, want a size times a number")
			}
			n := &exprNode{op: o.op, offset: at, args: []*exprNode{left, right}, bytes: left.bytes || right.bytes}
			if o.op == opDiv || o.op == opFloorDiv {
				n.bytes = left.bytes && !right.bytes // a size through a size is a number
			}
			left = n
			continue next
		}
		return left, nil
	}
	return nil, err
}

func (p *exprParser) unary(depth int) (*exprNode, error) {
	p.space()
	if depth > maxExprDepth {
		return nil, p.fail(p.pos, "got an expression nested deeper than %d", maxExprDepth)
	}
	at := p.pos
	if p.accept("-") {
		x, err := p.unary(depth + 1)
		if err != nil {
			return nil, err
		}
		return &exprNode{op: opNeg, offset: at, args: []*exprNode{x}, bytes: x.bytes}, nil
	}
	return p.atom(depth)
}

func (p *exprParser) atom(depth int) (*exprNode, error) {
	p.space()
	at := p.pos
	if p.accept("(") {
		x, err := p.sum(depth + 1)
		if err != nil {
			return nil, err
		}
		return x, p.expect(")")
	}
	w := p.word()
	switch {
	case w == "":
		return nil, p.fail(at, "got %s, want a number, a dim or (", p.got())
	case isDigit(w[0]):
		return p.number()
	case w == "min" || w == "max":
		p.pos += len(w)
		return p.call(w, at, depth)
	}
	p.pos += len(w)
	return &exprNode{op: opDim, name: w, offset: at}, nil
}

func (p *exprParser) expect(s string) error {
	if !p.accept(s) {
		return p.fail(p.pos, "got %s, want %s", p.got(), s)
	}
	return nil
}

func (p *exprParser) call(name string, at, depth int) (*exprNode, error) {
	n := &exprNode{op: opMin, offset: at}
	if name == "max" {
		n.op = opMax
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	for {
		x, err := p.sum(depth + 1)
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, x)
		n.bytes = n.bytes || x.bytes
		if !p.accept(",") {
			return n, p.expect(")")
		}
	}
}

var unitSizes = []struct {
	name string
	size units.Bytes
}{{"KiB", units.KiB}, {"MiB", units.MiB}, {"GiB", units.GiB}, {"TiB", units.TiB}, {"B", 1}}

// number reads 12, 12MiB, 1.5GiB and 12 MiB. A B that stands apart is a dim, so "12 B" is not a size.
func (p *exprParser) number() (*exprNode, error) {
	at := p.pos
	digits := p.digits()
	if p.pos < len(p.text) && p.text[p.pos] == '.' {
		p.pos++
		frac := p.digits()
		if frac == "" {
			return nil, p.fail(at, "got %q, want a digit after the point", p.text[at:p.pos])
		}
		digits += "." + frac
	}
	unitAt := p.pos
	unit := p.word()
	if unit == "" {
		p.space()
		if w := p.word(); w != "" && w != "B" && isUnit(w) {
			unitAt, unit = p.pos, w
		} else {
			p.pos = unitAt
		}
	}
	scale := units.Bytes(1)
	if unit != "" {
		if scale = unitSize(unit); scale == 0 {
			return nil, p.fail(unitAt, "got unit %q, want B, KiB, MiB, GiB or TiB%s", unit, meantUnit(unit))
		}
		p.pos = unitAt + len(unit)
	}
	return p.scaled(at, digits, scale, unit)
}

func (p *exprParser) digits() string {
	from := p.pos
	for p.pos < len(p.text) && isDigit(p.text[p.pos]) {
		p.pos++
	}
	return p.text[from:p.pos]
}

func (p *exprParser) scaled(at int, digits string, scale units.Bytes, unit string) (*exprNode, error) {
	if len(digits) > 40 {
		return nil, p.fail(at, "got a number of %d digits, want one that fits int64", len(digits))
	}
	r, ok := new(big.Rat).SetString(digits)
	if !ok {
		return nil, p.fail(at, "got %q, want a number", digits)
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(scale)))
	if unit == "" && !r.IsInt() {
		return nil, p.fail(at, "got %s, want a whole number or a unit", digits)
	}
	n := new(big.Int).Quo(r.Num(), r.Denom()) // part of a byte is dropped
	if !n.IsInt64() {
		return nil, p.fail(at, "got %s%s, want a number that fits int64", digits, unit)
	}
	return &exprNode{op: opNum, n: n.Int64(), offset: at, bytes: unit != ""}, nil
}

func isUnit(s string) bool { return unitSize(s) != 0 }

func unitSize(s string) units.Bytes {
	for _, u := range unitSizes {
		if u.name == s {
			return u.size
		}
	}
	return 0
}

// meantUnit suggests the binary unit for a decimal or misspelt one.
func meantUnit(s string) string {
	u := strings.ToUpper(s)
	for _, m := range unitSizes {
		if w := strings.ToUpper(m.name); w == u || w[:1]+"B" == u && len(w) == 3 || w[:1] == u || w[:len(w)-1] == u {
			return fmt.Sprintf(": did you mean %s?", m.name)
		}
	}
	return ""
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// isName says whether s can be a dim's or an argument's name.
func isName(s string) bool {
	if s == "" || isDigit(s[0]) {
		return false
	}
	for i := range len(s) {
		if !isLetter(s[i]) && !isDigit(s[i]) {
			return false
		}
	}
	return true
}
