package schema

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is a schema that does not parse.
type Error struct {
	Text string
	Col  int // from 1
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("schema:1:%d: %s in %q", e.Col, e.Msg, e.Text) }

// maxSchema bounds what Parse accepts; PyTorch's longest schema has under 4,000 bytes.
const maxSchema = 1 << 14

// Parse reads one schema.
func Parse(text string) (*Schema, error) {
	p := &parser{s: text}
	if len(text) > maxSchema {
		return nil, &Error{Text: text[:40] + "…", Col: maxSchema, Msg: "got a longer text, want at most 16384 bytes"}
	}
	s := p.schema()
	if p.err != nil {
		return nil, p.err
	}
	return s, nil
}

type parser struct {
	s     string
	i     int
	depth int
	err   *Error
}

func (p *parser) fail(want string) {
	if p.err != nil {
		return
	}
	got := "end"
	if p.i < len(p.s) {
		got = strconv.QuoteRune(rune(p.s[p.i]))
	}
	p.err = &Error{Text: p.s, Col: p.i + 1, Msg: "got " + got + ", want " + want}
	p.i = len(p.s)
}

func (p *parser) space() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t') {
		p.i++
	}
}

func (p *parser) peek() byte {
	p.space()
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *parser) take(b byte) bool {
	if p.peek() == b {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(b byte) {
	if !p.take(b) {
		p.fail(strconv.QuoteRune(rune(b)))
	}
}

func (p *parser) prefix(s string) bool {
	p.space()
	if strings.HasPrefix(p.s[p.i:], s) {
		p.i += len(s)
		return true
	}
	return false
}

func identByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func (p *parser) ident() string {
	j := p.i
	for p.i < len(p.s) && identByte(p.s[p.i]) {
		p.i++
	}
	if p.i == j {
		p.fail("a name")
	}
	return p.s[j:p.i]
}

func (p *parser) schema() *Schema {
	s := &Schema{}
	j := p.i
	for p.i < len(p.s) && (identByte(p.s[p.i]) || p.s[p.i] == ':') {
		p.i++
	}
	s.Name = p.s[j:p.i]
	if s.Name == "" {
		p.fail("an operator's name")
	}
	if p.i < len(p.s) && p.s[p.i] == '.' {
		p.i++
		s.Overload = p.ident()
	}
	p.expect('(')
	kw := false
	for !p.take(')') {
		switch {
		case p.prefix("..."):
			s.VarArgs = true
		case p.take('*'):
			kw = true
		default:
			a := p.arg(true)
			a.KwOnly = kw
			s.Args = append(s.Args, a)
		}
		if !p.take(',') {
			p.expect(')')
			break
		}
	}
	if !p.prefix("->") {
		p.fail(`"->"`)
		return nil
	}
	switch {
	case p.prefix("..."):
		s.VarRets = true
	case p.peek() == '(':
		p.returns(s)
	default:
		s.Returns = []Arg{p.arg(false)}
	}
	p.space()
	if p.i != len(p.s) {
		p.fail("end")
	}
	return s
}

func (p *parser) returns(s *Schema) {
	p.expect('(')
	for !p.take(')') {
		if p.prefix("...") {
			s.VarRets = true
		} else {
			s.Returns = append(s.Returns, p.arg(false))
		}
		if !p.take(',') {
			p.expect(')')
			break
		}
	}
}

func (p *parser) arg(named bool) Arg {
	a := Arg{Type: p.typ()}
	if b := p.peek(); identByte(b) {
		a.Name = p.ident()
	} else if named {
		p.fail("an argument's name")
	}
	if p.peek() == '[' { // int[2] written after the name does not occur, but the grammar has it
		p.fail("',' or ')'")
	}
	if p.take('=') {
		a.HasDefault = true
		a.Default = p.value()
	}
	return a
}

const maxDepth = 32

func (p *parser) typ() *Type {
	if p.depth++; p.depth > maxDepth {
		p.fail("at most 32 nested types")
		return nil
	}
	defer func() { p.depth-- }()
	t := &Type{}
	if p.take('(') {
		t.Kind = Tuple
		for !p.take(')') {
			e := p.typ()
			if identByte(p.peek()) {
				p.ident()
			}
			t.Elems = append(t.Elems, e)
			if !p.take(',') {
				p.expect(')')
				break
			}
		}
	} else {
		p.head(t)
	}
	return p.suffix(t)
}

func (p *parser) head(t *Type) {
	p.space()
	j := p.i
	for p.i < len(p.s) && (identByte(p.s[p.i]) || p.s[p.i] == '.' && !strings.HasPrefix(p.s[p.i:], "...")) {
		p.i++
	}
	name := p.s[j:p.i]
	if name == "" {
		p.fail("a type")
		return
	}
	switch k, ok := kindByName[name]; {
	case ok:
		t.Kind = k
	case name == "Dict" || name == "Future" || name == "Await" || name == "RRef" || name == "Union":
		t.Kind = Dict
		if name != "Dict" {
			t.Kind = Future
		}
		p.expect('(')
		t.Elems = append(t.Elems, p.typ())
		for p.take(',') {
			t.Elems = append(t.Elems, p.typ())
		}
		p.expect(')')
	case name[0] >= 'a' && name[0] <= 'z' && !strings.Contains(name, "."):
		t.Kind, t.Name = Var, name
	default:
		t.Kind, t.Name = Class, name
	}
}

// suffix reads what may follow a type: alias, [], [2], ?.
func (p *parser) suffix(t *Type) *Type {
	for p.err == nil {
		switch {
		case p.i < len(p.s) && p.s[p.i] == '(':
			p.i++
			t.Alias = p.alias()
		case p.i < len(p.s) && p.s[p.i] == '[':
			p.i++
			l := &Type{Kind: List, Elems: []*Type{t}}
			if p.peek() != ']' {
				n, err := strconv.Atoi(p.ident())
				if err != nil {
					p.fail("a length")
				}
				l.Size = n
			}
			p.expect(']')
			t = l
		case p.i < len(p.s) && p.s[p.i] == '?':
			p.i++
			t = &Type{Kind: Optional, Elems: []*Type{t}}
		default:
			return t
		}
	}
	return t
}

func (p *parser) alias() *Alias {
	a := &Alias{}
	j := p.i
	for p.i < len(p.s) && p.s[p.i] != ')' && p.s[p.i] != '!' && p.s[p.i] != '-' {
		p.i++
	}
	a.Set = strings.TrimSpace(p.s[j:p.i])
	a.Write = p.take('!')
	if p.prefix("->") {
		for p.i < len(p.s) && p.s[p.i] != ')' {
			p.i++
		}
	}
	p.expect(')')
	return a
}

func (p *parser) value() any {
	if p.depth++; p.depth > maxDepth {
		p.fail("at most 32 nested values")
		return nil
	}
	defer func() { p.depth-- }()
	switch b := p.peek(); {
	case b == '[':
		p.i++
		list := []any{}
		for !p.take(']') {
			list = append(list, p.value())
			if !p.take(',') {
				p.expect(']')
				break
			}
		}
		return list
	case b == '"' || b == '\'':
		return p.text(b)
	}
	j := p.i
	for p.i < len(p.s) && (identByte(p.s[p.i]) || strings.IndexByte("+-.", p.s[p.i]) >= 0) {
		p.i++
	}
	return p.word(p.s[j:p.i])
}

// text reads a quoted string with its escapes.
func (p *parser) text(quote byte) any {
	var out []byte
	for j := p.i + 1; j < len(p.s); j++ {
		switch c := p.s[j]; {
		case c == quote:
			p.i = j + 1
			return string(out)
		case c == '\\' && j+1 < len(p.s):
			j++
			if e, ok := escapes[p.s[j]]; ok {
				out = append(out, e)
			} else {
				out = append(out, p.s[j])
			}
		default:
			out = append(out, c)
		}
	}
	p.i = len(p.s)
	p.fail("a closing quote")
	return nil
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'f': '\f', 'v': '\v', 'r': '\r'}

func (p *parser) word(w string) any {
	switch w {
	case "None":
		return nil
	case "True":
		return true
	case "False":
		return false
	case "contiguous_format":
		return int64(0)
	case "preserve_format":
		return int64(1)
	case "strided":
		return int64(0)
	case "Mean": // at::Reduction
		return int64(1)
	case "Sum":
		return int64(2)
	case "long":
		return int64(4)
	case "inf", "Inf":
		return inf
	}
	if n, err := strconv.ParseInt(w, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(w, 64); err == nil {
		return f
	}
	p.fail("a default value")
	return nil
}
