package aotinductor

import (
	"fmt"
	"strings"
)

// Inductor writes its wrapper one plain statement a line or a few: calls, lists in braces,
// arithmetic. Nothing is executed, and no macro or template is followed.

type tokenKind uint8

const (
	endToken tokenKind = iota
	nameToken
	numberToken
	stringToken
	signToken
	noteToken // a comment that says what the next kernel was made of
)

type token struct {
	kind  tokenKind
	text  string // a string's without its quotes
	where place
}

// place is where a word begins; columns are bytes, from 1.
type place struct{ line, col int32 }

// placeOf is where a byte of a text is.
func placeOf(text string, at int) place {
	before := text[:at]
	return place{int32(1 + strings.Count(before, "\n")), int32(at - strings.LastIndexByte(before, '\n'))}
}

// Bounds of a text. The wrapper of the largest published model (a mixture of experts of 60 layers)
// has 6 MB and 900,000 tokens.
const (
	maxText   = 256 << 20
	maxTokens = 16 << 20
	maxNested = 100
)

// SyntaxError is a place in a wrapper that is not read. It is reported as line:col: and what was
// found there.
type SyntaxError struct {
	where place
	msg   string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.where.line, e.where.col, e.msg)
}

func fail(where place, format string, args ...any) error {
	return &SyntaxError{where, fmt.Sprintf(format, args...)}
}

type lexer struct {
	text  string
	pos   int
	line  int32
	begin int // of the line, in text
	out   []token
}

// lex takes a text apart; it ends with an endToken.
func lex(text string, from place) ([]token, error) {
	x := &lexer{text: text, line: from.line, begin: int(1 - from.col), out: make([]token, 0, len(text)/5)}
	for x.pos < len(x.text) {
		if err := x.next(); err != nil {
			return nil, err
		}
		if len(x.out) > maxTokens {
			return nil, fail(x.here(), "got more than %d words, want fewer", maxTokens)
		}
	}
	x.add(endToken, "")
	return x.out, nil
}

func (x *lexer) here() place { return place{x.line, int32(x.pos - x.begin + 1)} }

func (x *lexer) add(kind tokenKind, text string) {
	x.out = append(x.out, token{kind, text, x.here()})
}

func (x *lexer) next() error {
	c, rest := x.text[x.pos], x.text[x.pos:]
	switch {
	case c == '\n':
		x.line++
		x.pos++
		x.begin = x.pos
	case c == ' ' || c == '\t' || c == '\r' || c == '\\':
		x.pos++
	case strings.HasPrefix(rest, "//"):
		x.comment()
	case strings.HasPrefix(rest, "/*"):
		return x.skipTo("*/")
	case strings.HasPrefix(rest, `R"`):
		return x.raw()
	case c == '"' || c == '\'':
		return x.quoted(c)
	case letter(c):
		end := x.pos
		for end < len(x.text) && (letter(x.text[end]) || digit(x.text[end])) {
			end++
		}
		x.add(nameToken, x.text[x.pos:end])
		x.pos = end
	case digit(c) || c == '.' && len(rest) > 1 && digit(rest[1]):
		x.number()
	default:
		x.sign(rest)
	}
	return nil
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// comment keeps those that say what a kernel was made of, and its handle.
func (x *lexer) comment() {
	end := strings.IndexByte(x.text[x.pos:], '\n')
	if end < 0 {
		end = len(x.text) - x.pos
	}
	text := x.text[x.pos : x.pos+end]
	if strings.Contains(text, "Original ATen: [") || strings.Contains(text, handles) {
		x.add(noteToken, text)
	}
	x.pos += end
}

// pass goes over n bytes, counting lines.
func (x *lexer) pass(n int) {
	text := x.text[x.pos : x.pos+n]
	if last := strings.LastIndexByte(text, '\n'); last >= 0 {
		x.line += int32(strings.Count(text, "\n"))
		x.begin = x.pos + last + 1
	}
	x.pos += n
}

// skipTo passes over a comment, which two signs begin, to what ends it.
func (x *lexer) skipTo(end string) error {
	n := strings.Index(x.text[x.pos+2:], end)
	if n < 0 {
		return fail(x.here(), "got the end, want %s", end)
	}
	x.pass(2 + n + len(end))
	return nil
}

// raw reads R"(…)", and with a word before the bracket.
func (x *lexer) raw() error {
	rest := x.text[x.pos:]
	open := strings.IndexByte(rest, '(')
	if open < 0 || open > 20 {
		return fail(x.here(), `got R", want R"(`)
	}
	end := ")" + rest[2:open] + `"`
	n := strings.Index(rest, end)
	if n < 0 {
		return fail(x.here(), "got a text without an end")
	}
	x.add(stringToken, rest[open+1:n])
	x.pass(n + len(end))
	return nil
}

func (x *lexer) quoted(quote byte) error {
	for i := x.pos + 1; i < len(x.text) && x.text[i] != '\n'; i++ {
		switch x.text[i] {
		case '\\':
			i++
		case quote:
			x.add(stringToken, x.text[x.pos+1:i])
			x.pos = i + 1
			return nil
		}
	}
	return fail(x.here(), "got a text without an end")
}

// number reads 12, 12L, 0x1f, 1.5e-3f.
func (x *lexer) number() {
	end := x.pos
	for end < len(x.text) {
		c := x.text[end]
		exponent := (c == '+' || c == '-') && (x.text[end-1] == 'e' || x.text[end-1] == 'E') &&
			!strings.HasPrefix(x.text[x.pos:], "0x")
		if !letter(c) && !digit(c) && c != '.' && !exponent {
			break
		}
		end++
	}
	x.add(numberToken, x.text[x.pos:end])
	x.pos = end
}

var signs = []string{"::", "->", "==", "!=", "<=", ">=", "&&", "||", "**", "<<", ">>", "+=", "-="}

func (x *lexer) sign(rest string) {
	text := rest[:1]
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			text = s
			break
		}
	}
	x.add(signToken, text)
	x.pos += len(text)
}
