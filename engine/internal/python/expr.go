package python

import (
	"strings"
	"unicode/utf8"
)

// This file reads expressions, from the loosest binding operator to the tightest.

// enter counts one level of nesting; the caller takes it back.
func (p *Parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.failf(p.start, "got more than %d levels of nesting, want less", maxDepth)
	}
}

// exprOrTuple = expression { "," expression } [ "," ].
func (p *Parser) exprOrTuple() Expr {
	at := p.start
	x := p.expr()
	if p.tok != comma {
		return x
	}
	return p.tuple(at, x, false)
}

// tuple reads what follows the first member of a tuple without parentheses: one of expressions, or
// a subscript's, whose members may be slices.
func (p *Parser) tuple(at Pos, first Expr, subscript bool) Expr {
	items := []Expr{first}
	trailing := false
	for p.tok == comma {
		p.next()
		if subscript {
			trailing = p.tok == rbrack
		} else {
			trailing = p.tok == newline || p.tok == colon
		}
		switch {
		case trailing:
		case subscript:
			items = append(items, p.oneIndex())
		default:
			items = append(items, p.expr())
		}
	}
	return &Tuple{Span: Span{at, p.prevEnd}, Elems: items, Trailing: trailing}
}

// expression = or [ "if" or "else" expression ].
func (p *Parser) expr() Expr {
	p.enter()
	x := p.infix(0)
	if p.tok == kwIf {
		p.next()
		test := p.infix(0)
		p.want(kwElse)
		y := p.expr()
		x = &Cond{Span: Span{x.Bounds().Start, p.prevEnd}, Then: x, Test: test, Else: y}
	}
	p.depth--
	return x
}

// Binding powers of the infix operators, from Python's table; "not" stands between "and" and the
// comparisons.
const (
	bindOr = 1 + iota
	bindAnd
	bindNot
	bindCompare
	bindBitOr
	bindXor
	bindBitAnd
	bindShift
	bindSum
	bindProduct
	bindUnary
	bindPower
)

// infixOp is the operator at the current token with its binding power, 0 where there is none.
func (p *Parser) infixOp() (string, int) {
	switch p.tok {
	case kwOr:
		return "or", bindOr
	case kwAnd:
		return "and", bindAnd
	case kwIn:
		return "in", bindCompare
	case kwIs:
		return "is", bindCompare
	case kwNot:
		return "not in", bindCompare
	case plus:
		return "+", bindSum
	case minus:
		return "-", bindSum
	case star:
		return "*", bindProduct
	case binary:
		switch op := p.src[p.start:p.end]; op {
		case "|":
			return op, bindBitOr
		case "^":
			return op, bindXor
		case "&":
			return op, bindBitAnd
		case "<<", ">>":
			return op, bindShift
		case "/", "//", "%", "@":
			return op, bindProduct
		case "**":
			return op, bindPower
		default:
			return op, bindCompare
		}
	}
	return "", 0
}

// infix reads operators that bind tighter than low. Chains like a < b < c are read as (a < b) < c:
// PyTorch writes none.
func (p *Parser) infix(low int) Expr {
	x := p.unary()
	chain := 0
	for p.tok >= minus || p.tok == binary {
		op, bind := p.infixOp()
		if bind <= low {
			break
		}
		p.next()
		switch {
		case op == "not in":
			p.want(kwIn)
		case op == "is" && p.tok == kwNot:
			p.next()
			op = "is not"
		}
		if chain++; chain > maxDepth {
			p.failf(p.start, "got more than %d operators in a row, want less", maxDepth)
		}
		if bind == bindPower {
			bind-- // binds to the right
		}
		p.enter()
		y := p.infix(bind)
		p.depth--
		x = &Binary{Span: Span{x.Bounds().Start, p.prevEnd}, Op: op, X: x, Y: y}
	}
	return x
}

// unary = ( "-" | "+" | "~" ) unary | "not" comparison | postfix.
func (p *Parser) unary() Expr {
	switch p.tok {
	case minus, plus, tilde, kwNot:
	default:
		return p.postfix()
	}
	p.enter()
	u := &Unary{Span: Span{Start: p.start}, Op: tokenNames[p.tok]}
	bind := bindUnary
	if p.tok == kwNot {
		bind = bindNot
	}
	p.next()
	u.X = p.infix(bind)
	u.End = p.prevEnd
	p.depth--
	return u
}

// postfix = primary { "." name | "(" arguments ")" | "[" index "]" }.
func (p *Parser) postfix() Expr {
	at := p.start
	x := p.primary()
	for chain := 0; ; chain++ {
		if chain > maxDepth {
			p.failf(p.start, "got more than %d steps in an expression, want less", maxDepth)
		}
		switch p.tok {
		case dot:
			if _, ok := x.(*Number); ok {
				p.failf(p.start, "got an attribute of a number, want operator")
			}
			p.next()
			name := p.ident()
			x = &Attr{Span: Span{at, p.prevEnd}, X: x, Name: name}
		case lparen:
			x = p.call(at, x)
		case lbrack:
			p.next()
			index := p.index()
			p.want(rbrack)
			x = &Subscript{Span: Span{at, p.prevEnd}, X: x, Index: index}
		default:
			return x
		}
	}
}

// call = "(" [ argument { "," argument } [ "," ] ] ")"; argument = [ name "=" ] expression.
func (p *Parser) call(at Pos, fn Expr) Expr {
	c := &Call{Fn: fn, Open: p.start}
	if p.lenient {
		p.skipArguments()
		c.Span = Span{at, p.prevEnd}
		return c
	}
	p.next()
	var items []Arg
	for p.tok != rparen {
		from := p.start
		a := Arg{Value: p.expr()}
		if p.tok == assign {
			n, ok := a.Value.(*Name)
			if !ok {
				p.failf(from, "got %q before =, want name", p.file.Text(a.Value.Bounds()))
			}
			p.next()
			a = Arg{Name: n.Text, Value: p.expr()}
		}
		items = append(items, a)
		c.Trailing = false
		if p.tok != comma {
			break
		}
		c.Trailing = true
		p.next()
	}
	c.Args = items
	p.want(rparen)
	c.Span = Span{at, p.prevEnd}
	return c
}

// skipArguments reads a call's brackets without looking at what stands between them.
func (p *Parser) skipArguments() {
	end := Closing(p.src, int(p.start))
	if end >= len(p.src) {
		p.failf(p.start, "got a call without an end, want )")
	}
	p.nesting--
	p.off, p.end = end+1, Pos(end+1)
	p.next()
}

// index = expression | slice | index { "," index }.
func (p *Parser) index() Expr {
	at := p.start
	x := p.oneIndex()
	if p.tok != comma {
		return x
	}
	return p.tuple(at, x, true)
}

// oneIndex = expression | [ expression ] ":" [ expression ] [ ":" [ expression ] ].
func (p *Parser) oneIndex() Expr {
	at := p.start
	var parts [3]Expr
	n := 0
	for {
		if p.tok != colon && p.tok != comma && p.tok != rbrack {
			parts[n] = p.expr()
		}
		if p.tok != colon || n == 2 {
			break
		}
		n++
		p.next()
	}
	if n == 0 {
		if parts[0] == nil {
			p.failf(p.start, "got %s, want expression", p.got())
		}
		return parts[0]
	}
	return &Slice{Span: Span{at, p.prevEnd}, Lo: parts[0], Hi: parts[1], Step: parts[2]}
}

func (p *Parser) primary() Expr {
	switch p.tok {
	case name:
		x := &Name{Span: Span{p.start, p.end}, Text: p.src[p.start:p.end]}
		p.next()
		return x
	case number:
		x := &Number{Span: Span{p.start, p.end}, Text: p.src[p.start:p.end]}
		p.next()
		return x
	case str:
		return p.stringLit()
	case lparen:
		return p.paren()
	case lbrack:
		at := p.start
		p.next()
		elems, trailing := p.elems(rbrack)
		p.want(rbrack)
		return &List{Span: Span{at, p.prevEnd}, Elems: elems, Trailing: trailing}
	case lbrace:
		return p.dict()
	}
	p.failf(p.start, "got %s, want expression", p.got())
	return nil
}

// elems reads expressions between commas up to a closing bracket.
func (p *Parser) elems(end token) (list []Expr, trailing bool) {
	var items []Expr
	for p.tok != end {
		items = append(items, p.expr())
		trailing = false
		if p.tok != comma {
			break
		}
		trailing = true
		p.next()
	}
	return items, trailing
}

// paren = "(" expression ")" | "(" [ expression "," { expression "," } [ expression ] ] ")".
func (p *Parser) paren() Expr {
	at := p.start
	p.next()
	if p.tok != rparen {
		x := p.expr()
		if p.tok == rparen {
			p.next()
			return &Paren{Span: Span{at, p.prevEnd}, X: x}
		}
		items := []Expr{x}
		p.want(comma)
		rest, trailing := p.elems(rparen)
		items = append(items, rest...)
		p.want(rparen)
		return &Tuple{Span: Span{at, p.prevEnd}, Elems: items, Parens: true, Trailing: trailing || len(rest) == 0}
	}
	p.next()
	return &Tuple{Span: Span{at, p.prevEnd}, Parens: true}
}

// dict = "{" [ expression ":" expression { "," expression ":" expression } [ "," ] ] "}".
func (p *Parser) dict() Expr {
	at := p.start
	p.next()
	d := &Dict{}
	for p.tok != rbrace {
		d.Keys = append(d.Keys, p.expr())
		p.want(colon)
		d.Values = append(d.Values, p.expr())
		if p.tok != comma {
			break
		}
		p.next()
	}
	p.want(rbrace)
	d.Span = Span{at, p.prevEnd}
	return d
}

// stringLit = string { string }.
func (p *Parser) stringLit() Expr {
	at := p.start
	value := p.stringValue()
	p.next()
	for p.tok == str {
		value += p.stringValue()
		p.next()
	}
	return &String{Span: Span{at, p.prevEnd}, Value: value}
}

// stringValue resolves the escapes of the current literal. PyTorch writes octal for every byte that
// is not printable (c10::printQuotedString), so a value is bytes and need not be UTF-8.
func (p *Parser) stringValue() string {
	text := p.src[p.start+1 : p.end-1]
	if !p.escaped {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case '\n':
		case '\\', '\'', '"':
			b.WriteByte(c)
		case 'a':
			b.WriteByte('\a')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'v':
			b.WriteByte('\v')
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v := 0
			k := i
			for ; k < len(text) && k < i+3 && text[k] >= '0' && text[k] <= '7'; k++ {
				v = v*8 + int(text[k]-'0')
			}
			b.WriteByte(byte(v))
			i = k - 1
		case 'x':
			b.WriteByte(byte(p.hex(text, i+1, 2)))
			i += 2
		case 'u':
			b.WriteRune(rune(p.hex(text, i+1, 4)))
			i += 4
		case 'U':
			r := p.hex(text, i+1, 8)
			if r > utf8.MaxRune {
				p.failf(p.start+Pos(i), "got an escape beyond the last character, want at most \\U0010ffff")
			}
			b.WriteRune(rune(r))
			i += 8
		default: // Python keeps the backslash of an escape it does not know
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (p *Parser) hex(text string, i, n int) uint32 {
	v := uint32(0)
	for k := i; k < i+n; k++ {
		d := byte(0xff)
		if k < len(text) {
			switch c := text[k] | 0x20; {
			case Class[text[k]] == Digit:
				d = text[k] - '0'
			case c >= 'a' && c <= 'f':
				d = c - 'a' + 10
			}
		}
		if d == 0xff {
			p.failf(p.start+Pos(i), "got an escape with less than %d hexadecimal digits, want %d", n, n)
		}
		v = v<<4 | uint32(d)
	}
	return v
}
