package aotinductor

import (
	"slices"
	"strings"
)

// statement is one of a C++ function: what is before = and after it, or a block with its condition.
type statement struct {
	left  []token // of an assignment or declaration; names and [ ] alone
	right *term
	block []statement
	cond  *term       // of a block; nil of a plain one: what it is known by
	test  *term       // the whole of it, where that is a term
	other []statement // of an if: what runs else
	again bool        // a loop
	note  string
	where place
}

// skipped are words before a declaration that change nothing here.
var skipped = map[string]bool{"static": true, "constexpr": true, "const": true, "inline": true, "maybe_unused": true}

// statements reads the statements of a block up to its brace.
func (p *parser) statements() ([]statement, error) {
	if p.deep++; p.deep > maxNested {
		return nil, fail(p.peek().where, "got blocks nested deeper than %d", maxNested)
	}
	defer func() { p.deep-- }()
	var out []statement
	for !p.take("}") {
		s, err := p.statement()
		if err != nil {
			return nil, err
		}
		if s != nil {
			out = append(out, *s)
		}
	}
	return out, nil
}

func (p *parser) statement() (*statement, error) {
	if p.deep++; p.deep > maxNested {
		return nil, fail(p.peek().where, "got statements nested deeper than %d", maxNested)
	}
	defer func() { p.deep-- }()
	t := p.peek()
	s := &statement{where: t.where}
	switch {
	case t.kind == endToken:
		return nil, fail(t.where, "got the end, want }")
	case t.kind == noteToken:
		p.pos++
		s.note = t.text
		return s, nil
	case p.take(";"):
		return nil, nil
	case p.take("{"):
		var err error
		s.block, err = p.statements()
		return s, err
	case t.kind == nameToken && (t.text == "if" || t.text == "while" || t.text == "for" || t.text == "switch" ||
		t.text == "do" || t.text == "try"):
		return p.control(s)
	case t.kind == nameToken && t.text == "else":
		return nil, fail(t.where, "got else, want it behind an if")
	}
	if err := p.left(s); err != nil {
		return nil, err
	}
	x, err := p.term()
	if err != nil {
		return nil, err
	}
	s.right = x
	return s, p.want(";")
}

// control reads an if; what else chooses or repeats is left to the reader of the statement, without
// its content.
func (p *parser) control(s *statement) (*statement, error) {
	word := p.peek().text
	p.pos++
	if word != "if" && word != "while" {
		return nil, fail(s.where, "got %s, want if or while: other control flow in compiled code is not read", word)
	}
	s.again = word == "while"
	if err := p.want("("); err != nil {
		return nil, err
	}
	var err error
	begin := p.pos
	if s.cond, err = p.condition(); err != nil {
		return nil, err
	}
	s.test = p.whole(begin, p.pos-1)
	if s.block, err = p.branch(); err != nil {
		return nil, err
	}
	if t := p.peek(); !s.again && t.kind == nameToken && t.text == "else" {
		p.pos++
		if s.other, err = p.branch(); s.other == nil {
			s.other = []statement{}
		}
	}
	return s, err
}

// branch reads the block, or the statement, behind a condition.
func (p *parser) branch() ([]statement, error) {
	if p.take("{") {
		return p.statements()
	}
	one, err := p.statement()
	if one == nil {
		return nil, err
	}
	return []statement{*one}, err
}

// whole is the term that the tokens between two places are; nil where they are none.
func (p *parser) whole(begin, end int) *term {
	inner := &parser{toks: append(slices.Clone(p.toks[begin:end]), token{}), deep: p.deep}
	x, err := inner.term()
	if err != nil || inner.peek().kind != endToken {
		return nil
	}
	return x
}

// condition reads to the bracket that ends it: its first call or name is what it is known by.
func (p *parser) condition() (*term, error) {
	first := &term{kind: nameTerm, where: p.peek().where}
	for open := 1; open > 0; p.pos++ {
		switch t := p.peek(); {
		case t.kind == endToken:
			return nil, fail(t.where, "got the end, want )")
		case p.is("("):
			open++
		case p.is(")"):
			open--
		case t.kind == nameToken && first.text == "":
			first.text = t.text
		}
	}
	return first, nil
}

// left reads what stands before = or, of a declaration without one, the type: "static constexpr
// int64_t x[] =", "auto x =", "RAIIAtenTensorHandle" before x(…).
func (p *parser) left(s *statement) error {
	for p.take("[") { // [[maybe_unused]]
		for !p.take("]") {
			if p.peek().kind == endToken {
				return fail(s.where, "got the end, want ]")
			}
			p.pos++
		}
		p.take("]")
	}
	begin := p.pos
	for depth := 0; ; p.pos++ {
		t := p.peek()
		switch {
		case t.kind == endToken:
			return fail(s.where, "got the end, want ;")
		case t.kind == signToken && strings.Contains("([{", t.text):
			depth++
		case t.kind == signToken && strings.Contains(")]}", t.text):
			depth--
		}
		if depth > 0 || t.kind != signToken || t.text != "=" && t.text != ";" {
			continue
		}
		if t.text == "=" {
			s.left = declared(p.toks[begin:p.pos])
			p.pos++
			return nil
		}
		break
	}
	// no =: a call, or a declaration, whose type goes before the name
	p.pos = begin
	for p.toks[p.pos].kind == nameToken && (p.toks[p.pos+1].kind == nameToken || p.toks[p.pos+1].text == "*" &&
		p.toks[p.pos].text != "return") {
		if !skipped[p.toks[p.pos].text] {
			s.left = append(s.left, p.toks[p.pos])
		}
		p.pos++
		for p.take("*") {
		}
	}
	return nil
}

// declared are the words of a declaration that matter: its type, its name, and [ of an array.
func declared(toks []token) []token {
	var out []token
	for _, t := range toks {
		if t.kind == nameToken && !skipped[t.text] || t.kind == numberToken || t.kind == signToken &&
			(t.text == "[" || t.text == "]") {
			out = append(out, t)
		}
	}
	return out
}
