package python

import (
	"strings"
)

// This file turns bytes into tokens, with Python's newline, indent and dedent.

// token is the kind of a token. Operators and keywords are their own kinds.
type token uint8

const (
	eof token = iota
	newline
	indent
	dedent
	name
	number
	str
	// operators
	lparen
	rparen
	lbrack
	rbrack
	lbrace
	rbrace
	comma
	colon
	dot
	assign
	arrow
	binary // any infix operator without a separate meaning: the text says which
	minus
	plus
	tilde
	star
	// keywords
	kwAnd
	kwAs
	kwAssert
	kwBreak
	kwClass
	kwContinue
	kwDef
	kwDel
	kwElif
	kwElse
	kwFor
	kwIf
	kwImport
	kwIn
	kwIs
	kwNot
	kwOr
	kwPass
	kwRaise
	kwReturn
	kwWhile
	kwWith
	reserved // Python's other keywords: never a name here
)

var tokenNames = [...]string{
	eof: "end of file", newline: "newline", indent: "indent", dedent: "dedent", name: "name", number: "number",
	str:    "string",
	lparen: "(", rparen: ")", lbrack: "[", rbrack: "]", lbrace: "{", rbrace: "}", comma: ",", colon: ":", dot: ".",
	assign: "=", arrow: "->", binary: "operator", minus: "-", plus: "+", tilde: "~", star: "*",
	kwAnd: "and", kwAs: "as", kwAssert: "assert", kwBreak: "break", kwClass: "class", kwContinue: "continue",
	kwDef: "def", kwDel: "del", kwElif: "elif", kwElse: "else", kwFor: "for", kwIf: "if", kwImport: "import",
	kwIn: "in", kwIs: "is", kwNot: "not", kwOr: "or", kwPass: "pass", kwRaise: "raise", kwReturn: "return",
	kwWhile: "while", kwWith: "with", reserved: "keyword",
}

// keyword distinguishes keywords from names.
func keyword(s string) token {
	switch s {
	case "and":
		return kwAnd
	case "as":
		return kwAs
	case "assert":
		return kwAssert
	case "break":
		return kwBreak
	case "class":
		return kwClass
	case "continue":
		return kwContinue
	case "def":
		return kwDef
	case "del":
		return kwDel
	case "elif":
		return kwElif
	case "else":
		return kwElse
	case "for":
		return kwFor
	case "if":
		return kwIf
	case "import":
		return kwImport
	case "in":
		return kwIn
	case "is":
		return kwIs
	case "not":
		return kwNot
	case "or":
		return kwOr
	case "pass":
		return kwPass
	case "raise":
		return kwRaise
	case "return":
		return kwReturn
	case "while":
		return kwWhile
	case "with":
		return kwWith
	case "async", "await", "except", "finally", "from", "global", "lambda", "nonlocal", "try", "yield":
		return reserved
	}
	return name
}

// next reads one token into p.tok, p.start, p.end.
func (p *Parser) next() {
	p.count(1)
	p.prevEnd = p.end
	if p.dedents > 0 {
		p.dedents--
		p.indents = p.indents[:len(p.indents)-1]
		p.tok = dedent
		return
	}
	src, i := p.src, p.off
	if p.bol {
		i = p.lineStart(i)
		if p.tok == indent || p.tok == dedent {
			return
		}
	}
	for {
		for i < len(src) && Class[src[i]] == Space {
			i++
		}
		if i >= len(src) {
			p.atEnd(i)
			return
		}
		c := src[i]
		if c == '\n' && (p.nesting > 0 || p.lenient) {
			i++
			p.line++
			continue
		}
		if c == '#' && p.lenient {
			i = SkipComment(src, i)
			continue
		}
		if c == '\\' && i+1 < len(src) && src[i+1] == '\n' {
			i += 2
			p.line++
			continue
		}
		break
	}
	p.start = Pos(i)
	c := src[i]
	switch {
	case Class[c] == Letter:
		for i++; i < len(src) && Class[src[i]]&(Letter|Digit) != 0; i++ {
		}
		p.tok = name
		if n := i - int(p.start); n >= 2 && n <= 8 && c >= 'a' {
			p.tok = keyword(src[p.start:i])
		}
	case Class[c] == Digit, c == '.' && i+1 < len(src) && Class[src[i+1]] == Digit:
		i = p.number(i)
	case c == '\n':
		i++
		p.tok = newline
		p.bol = true
		p.line++
	case c == '"', c == '\'':
		i = p.str(i)
	default:
		i = p.operator(i)
	}
	p.off, p.end = i, Pos(i)
}

// lineStart measures the indentation of the next line that holds anything and sets p.tok to indent
// or dedent where it changes.
func (p *Parser) lineStart(i int) int {
	src := p.src
	p.tok = eof // neither indent nor dedent
	for {
		bol := i
		for i < len(src) && Class[src[i]] == Space {
			i++
		}
		if i < len(src) && src[i] == '\n' {
			i++
			p.line++
			continue
		}
		p.bol = false
		width := int32(i - bol)
		if i >= len(src) {
			width = p.floor
		}
		p.off, p.start, p.end = i, Pos(i), Pos(i)
		switch top := p.indents[len(p.indents)-1]; {
		case width > top:
			if len(p.indents) >= maxDepth {
				p.failf(Pos(i), "got more than %d levels of indentation, want less", maxDepth)
			}
			p.indents = append(p.indents, width)
			p.tok = indent
		case width < top:
			n := 0
			for k := len(p.indents) - 1; k > 0 && p.indents[k] > width; k-- {
				n++
			}
			if p.indents[len(p.indents)-1-n] != width {
				p.failf(Pos(i), "got an indentation of %d, want that of a line above", width)
			}
			if n > 0 {
				p.dedents = n - 1
				p.indents = p.indents[:len(p.indents)-1]
				p.tok = dedent
			}
		}
		return i
	}
}

// atEnd closes an unfinished line, then the blocks, then the file.
func (p *Parser) atEnd(i int) {
	p.off, p.start, p.end = i, Pos(i), Pos(i)
	switch {
	case p.nesting > 0:
		p.failf(p.prevEnd, "got end of file, want ) or ] or }")
	case p.tok != newline && p.tok != dedent && p.tok != eof && p.tok != indent:
		p.tok = newline
		p.bol = true
	default:
		p.tok = eof
	}
}

// number scans an integer, a float or an imaginary number: digits, ".", an exponent, "j". Values
// are read where they are used.
func (p *Parser) number(i int) int {
	src := p.src
	p.tok = number
	if src[i] == '0' && i+1 < len(src) && strings.IndexByte("xXoObB", src[i+1]) >= 0 {
		i += 2
		for i < len(src) && Class[src[i]]&(Letter|Digit) != 0 {
			i++
		}
		return i
	}
	for i < len(src) && Class[src[i]] == Digit {
		i++
	}
	if i < len(src) && src[i] == '.' {
		for i++; i < len(src) && Class[src[i]] == Digit; i++ {
		}
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		k := i + 1
		if k < len(src) && (src[k] == '+' || src[k] == '-') {
			k++
		}
		if k >= len(src) || Class[src[k]] != Digit {
			p.failf(Pos(i), "got an exponent without digits, want a number")
		}
		for i = k; i < len(src) && Class[src[i]] == Digit; i++ {
		}
	}
	if i < len(src) && src[i]|0x20 == 'j' {
		i++
	}
	if i < len(src) && Class[src[i]] == Letter {
		p.failf(Pos(i), "got %q inside a number, want an operator or space", src[i:i+1])
	}
	return i
}

// str scans a string literal; p.escaped says whether it holds escapes.
func (p *Parser) str(i int) int {
	src, quote := p.src, p.src[i]
	p.tok, p.escaped = str, false
	for i++; i < len(src); i++ {
		switch src[i] {
		case quote:
			return i + 1
		case '\\':
			p.escaped = true
			i++
		case '\n':
			p.failf(Pos(i), "got newline in a string, want %c", quote)
		}
	}
	p.failf(Pos(len(src)), "got end of file in a string, want %c", quote)
	return 0
}

// operator scans everything made of punctuation.
func (p *Parser) operator(i int) int {
	src := p.src
	n := 1
	two := ""
	if i+1 < len(src) {
		two = src[i : i+2]
	}
	p.tok = binary
	switch src[i] {
	case '(':
		p.tok = lparen
		p.nesting++
	case '[':
		p.tok = lbrack
		p.nesting++
	case '{':
		p.tok = lbrace
		p.nesting++
	case ')':
		p.tok = rparen
		p.nesting = max(p.nesting-1, 0)
	case ']':
		p.tok = rbrack
		p.nesting = max(p.nesting-1, 0)
	case '}':
		p.tok = rbrace
		p.nesting = max(p.nesting-1, 0)
	case ',':
		p.tok = comma
	case ':':
		p.tok = colon
	case '.':
		p.tok = dot
	case '~':
		p.tok = tilde
	case '+':
		p.tok = plus
	case '-':
		p.tok = minus
		if two == "->" {
			p.tok, n = arrow, 2
		}
	case '=':
		p.tok = assign
		if two == "==" {
			p.tok, n = binary, 2
		}
	case '*':
		p.tok = star
		if two == "**" {
			p.tok, n = binary, 2
		}
	case '/', '<', '>':
		if two == "//" || two == "<<" || two == ">>" || two == "<=" || two == ">=" {
			n = 2
		}
	case '!':
		if two != "!=" {
			p.failf(Pos(i), `got "!", want "!="`)
		}
		n = 2
	case '%', '&', '|', '^', '@':
	default:
		p.failf(Pos(i), "got %q, want a token", src[i:i+1])
	}
	return i + n
}

// got names the current token in messages.
func (p *Parser) got() string {
	switch p.tok {
	case eof, newline, indent, dedent:
		return tokenNames[p.tok]
	}
	text := p.src[p.start:p.end]
	if len(text) > 40 {
		text = text[:40] + "…"
	}
	if p.tok == str {
		return "string " + text
	}
	return `"` + text + `"`
}
