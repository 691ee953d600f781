package expr

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/memspec/memspec/engine/units"
)

// Limits on an expression: nobody writes a longer one by hand.
const (
	maxBytes = 4096
	maxDepth = 64
)

// Parse reads an expression. Sizes with a unit (12MiB) are bytes.
func Parse(s string) (Expr, error) {
	if len(s) > maxBytes {
		return Expr{}, &Error{Text: s[:40], Msg: fmt.Sprintf("got an expression of %d bytes, want at most %d", len(s),
			maxBytes)}
	}
	text := strings.Trim(s, " \t\n")
	p := parser{text: text}
	root, err := p.sum(0)
	if err == nil && p.pos < len(text) {
		err = p.fail(p.pos, "got %s, want an operator or the end", p.got())
	}
	offset := strings.Index(s, text)
	if e, ok := err.(*Error); ok {
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

type parser struct {
	text string
	pos  int
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &Error{Text: p.text, Offset: at, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\t' || p.text[p.pos] == '\n') {
		p.pos++
	}
}

// got names what stands at the position, for an error.
func (p *parser) got() string {
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
func (p *parser) word() string {
	end := p.pos
	for end < len(p.text) && (isLetter(p.text[end]) || isDigit(p.text[end])) {
		end++
	}
	return p.text[p.pos:end]
}

func (p *parser) accept(op string) bool {
	p.space()
	if !strings.HasPrefix(p.text[p.pos:], op) || op == "/" && strings.HasPrefix(p.text[p.pos:], "//") {
		return false
	}
	p.pos += len(op)
	return true
}

func (p *parser) sum(depth int) (*node, error) {
	return p.chain(depth, p.product, []opSpelling{{"+", opAdd}, {"-", opSub}})
}

func (p *parser) product(depth int) (*node, error) {
	return p.chain(depth, p.unary, []opSpelling{{"*", opMul}, {"//", opFloorDiv}, {"/", opDiv}, {"%", opMod}})
}

type opSpelling struct {
	text string
	op   opcode
}

// chain reads operands joined by operators of one rank, leaning left.
func (p *parser) chain(depth int, operand func(int) (*node, error), ops []opSpelling) (*node, error) {
	if depth > maxDepth {
		return nil, p.fail(p.pos, "got an expression nested deeper than %d", maxDepth)
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
			var right *node
			if right, err = operand(depth); err != nil {
				return nil, err
			}
			if o.op == opMul && left.bytes && right.bytes {
				return nil, p.fail(at, "got a size times a size, want a size times a number")
			}
			n := &node{op: o.op, offset: at, args: []*node{left, right}, bytes: left.bytes || right.bytes}
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

func (p *parser) unary(depth int) (*node, error) {
	p.space()
	if depth > maxDepth {
		return nil, p.fail(p.pos, "got an expression nested deeper than %d", maxDepth)
	}
	at := p.pos
	if p.accept("-") {
		x, err := p.unary(depth + 1)
		if err != nil {
			return nil, err
		}
		return &node{op: opNeg, offset: at, args: []*node{x}, bytes: x.bytes}, nil
	}
	return p.atom(depth)
}

func (p *parser) atom(depth int) (*node, error) {
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
	return &node{op: opDim, name: w, offset: at}, nil
}

func (p *parser) expect(s string) error {
	if !p.accept(s) {
		return p.fail(p.pos, "got %s, want %s", p.got(), s)
	}
	return nil
}

func (p *parser) call(name string, at, depth int) (*node, error) {
	n := &node{op: opMin, offset: at}
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

// number reads 12, 12MiB, 1.5GiB and 12 MiB. A B that stands apart is a dim, so "12 B" is not a
// size.
func (p *parser) number() (*node, error) {
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
		if w := p.word(); w != "" && w != "B" && (isUnit(w) || decimalUnit(w)) {
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

func (p *parser) digits() string {
	from := p.pos
	for p.pos < len(p.text) && isDigit(p.text[p.pos]) {
		p.pos++
	}
	return p.text[from:p.pos]
}

func (p *parser) scaled(at int, digits string, scale units.Bytes, unit string) (*node, error) {
	if len(digits) > 40 {
		return nil, p.fail(at, "got a number of %d digits, want one that fits int64", len(digits))
	}
	r, _ := new(big.Rat).SetString(digits) // digits with at most one point
	r.Mul(r, new(big.Rat).SetInt64(int64(scale)))
	if unit == "" && !r.IsInt() {
		return nil, p.fail(at, "got %s, want a whole number or a unit", digits)
	}
	n := new(big.Int).Quo(r.Num(), r.Denom()) // part of a byte is dropped
	if !n.IsInt64() {
		return nil, p.fail(at, "got %s%s, want a number that fits int64", digits, unit)
	}
	return &node{op: opNum, n: n.Int64(), offset: at, bytes: unit != ""}, nil
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

// decimalUnit knows a unit of thousands, which is read to be refused by name.
func decimalUnit(s string) bool {
	switch strings.ToUpper(s) {
	case "KB", "MB", "GB", "TB":
		return true
	}
	return false
}

// meantUnit suggests the binary unit for a decimal or misspelt one, and a plain number for what
// looks like part of one.
func meantUnit(s string) string {
	u := strings.ToUpper(s)
	if strings.Trim(s, "0123456789_") == "" || u[0] == 'E' && strings.Trim(u[1:], "0123456789") == "" && len(u) > 1 {
		return ": a number is written in digits alone, such as 1000000000"
	}
	for _, m := range unitSizes {
		if w := strings.ToUpper(m.name); w == u || w[:1]+"B" == u && len(w) == 3 || w[:1] == u || w[:len(w)-1] == u {
			return fmt.Sprintf(": did you mean %s?", m.name)
		}
	}
	return ""
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// IsName says whether s can stand for a number: letters, digits and underscores, no digit first.
func IsName(s string) bool {
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
