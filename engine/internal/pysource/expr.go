package pysource

import (
	"strconv"
	"strings"
)

// Expr is an expression that ParseExpr reads.
type Expr interface{ expr() }

// The expressions.
type (
	// Const is None (nil), a bool, an int64 or a string.
	Const struct{ Value any }
	// Name is a name.
	Name struct{ ID string }
	// Attr is X.Name.
	Attr struct {
		X    Expr
		Name string
	}
	// Index is X[At].
	Index struct{ X, At Expr }
	// Call is a call of a dotted path; its arguments stay as they stand, for most callers want one of them or none.
	Call struct {
		Path string
		Args []string
	}
	// Tuple is (a, b).
	Tuple struct{ Items []Expr }
	// List is [a, b].
	List struct{ Items []Expr }
	// Not is not X.
	Not struct{ X Expr }
	// Bool is X or Y, or X and Y.
	Bool struct {
		Or   bool
		X, Y Expr
	}
	// Compare is X == Y or X is None, Negated the opposites.
	Compare struct {
		X, Y    Expr
		Is      bool
		Negated bool
	}
	// Cond is Then if Test else Else.
	Cond struct{ Then, Test, Else Expr }
)

func (*Const) expr()   {}
func (*Name) expr()    {}
func (*Attr) expr()    {}
func (*Index) expr()   {}
func (*Call) expr()    {}
func (*Tuple) expr()   {}
func (*List) expr()    {}
func (*Not) expr()     {}
func (*Bool) expr()    {}
func (*Compare) expr() {}
func (*Cond) expr()    {}

// ParseExpr reads the whole of text; ok is false where that holds anything but the expressions above.
func ParseExpr(text string) (x Expr, ok bool) {
	p := &exprParser{text: text}
	x = p.tuple()
	p.blank()
	if p.failed || p.pos < len(p.text) {
		return nil, false
	}
	return x, true
}

// maxSize bounds an expression, and with it the depth of its tree: real ones have a dozen parts.
const maxSize = 1000

type exprParser struct {
	text   string
	pos    int
	depth  int // of brackets and conditions
	size   int // of the tree, about
	failed bool
}

// count notes a part of the tree.
func (p *exprParser) count() {
	if p.size++; p.size > maxSize {
		p.failed = true
	}
}

func (p *exprParser) fail() Expr {
	p.failed = true
	return nil
}

func (p *exprParser) blank() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r', '\\':
			p.pos++
		case '#':
			p.pos = skipComment(p.text, p.pos)
		default:
			return
		}
	}
}

// take reads s, a bracket or an operator.
func (p *exprParser) take(s string) bool {
	p.blank()
	if strings.HasPrefix(p.text[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

// word reads a keyword.
func (p *exprParser) word(w string) bool {
	p.blank()
	if rest := p.text[p.pos:]; strings.HasPrefix(rest, w) && (len(rest) == len(w) || !InName(rest[len(w)])) {
		p.pos += len(w)
		return true
	}
	return false
}

// tuple reads expressions apart at commas.
func (p *exprParser) tuple() Expr {
	x := p.expr()
	if p.failed || !p.take(",") {
		return x
	}
	items := []Expr{x}
	for p.blank(); !p.failed && p.pos < len(p.text) && p.text[p.pos] != ')'; p.blank() {
		items = append(items, p.expr())
		if !p.take(",") {
			break
		}
	}
	return &Tuple{items}
}

// expr reads `a if c else b`.
func (p *exprParser) expr() Expr {
	if p.depth++; p.depth > maxNesting {
		return p.fail()
	}
	defer func() { p.depth-- }()
	x := p.or()
	if p.failed || !p.word("if") {
		return x
	}
	test := p.or()
	if p.failed || !p.word("else") {
		return p.fail()
	}
	return &Cond{x, test, p.expr()}
}

func (p *exprParser) or() Expr {
	x := p.and()
	for !p.failed && p.word("or") {
		x = &Bool{true, x, p.and()}
	}
	return x
}

func (p *exprParser) and() Expr {
	x := p.not()
	for !p.failed && p.word("and") {
		x = &Bool{false, x, p.not()}
	}
	return x
}

func (p *exprParser) not() Expr {
	negations := 0
	for !p.failed && p.word("not") {
		p.count()
		negations++
	}
	x := p.compare()
	for ; negations > 0; negations-- {
		x = &Not{x}
	}
	return x
}

func (p *exprParser) compare() Expr {
	x := p.postfix()
	switch {
	case p.failed:
	case p.word("is"):
		negated := p.word("not")
		if !p.word("None") {
			return p.fail()
		}
		return &Compare{X: x, Y: &Const{}, Is: true, Negated: negated}
	case p.take("=="):
		return &Compare{X: x, Y: p.postfix()}
	case p.take("!="):
		return &Compare{X: x, Y: p.postfix(), Negated: true}
	}
	return x
}

// postfix reads an atom with its attributes and subscripts.
func (p *exprParser) postfix() Expr {
	x := p.atom()
	for !p.failed {
		p.count()
		switch {
		case p.take("."):
			p.blank()
			name := FirstWord(p.text[p.pos:])
			if name == "" {
				return p.fail()
			}
			p.pos += len(name)
			x = &Attr{x, name}
		case p.take("["):
			at := p.tuple()
			if !p.take("]") {
				return p.fail()
			}
			x = &Index{x, at}
		case p.take("("):
			open := p.pos - 1
			path, end := dotted(x), closing(p.text, open)
			if path == "" || end >= len(p.text) {
				return p.fail()
			}
			x, p.pos = &Call{Path: path, Args: arguments(p.text[open+1 : end])}, end+1
		default:
			return x
		}
	}
	return x
}

// dotted is x where that is a name, or attributes of one; "" where it is something else.
func dotted(x Expr) string {
	path := ""
	for {
		switch y := x.(type) {
		case *Name:
			return y.ID + path
		case *Attr:
			path, x = "."+y.Name+path, y.X
		default:
			return ""
		}
	}
}

// arguments are what stands between a call's parentheses, apart at commas.
func arguments(s string) []string {
	parts := splitTop(s)
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	if parts[len(parts)-1] == "" { // nothing, or behind a last comma
		parts = parts[:len(parts)-1]
	}
	return parts
}

func (p *exprParser) atom() Expr {
	p.blank()
	if p.pos >= len(p.text) {
		return p.fail()
	}
	switch c := p.text[p.pos]; {
	case c == '(':
		p.pos++
		if p.take(")") {
			return &Tuple{}
		}
		x := p.tuple()
		if !p.take(")") {
			return p.fail()
		}
		return x
	case c == '[':
		p.pos++
		var items []Expr
		for !p.take("]") {
			items = append(items, p.expr())
			if !p.take(",") && (p.failed || p.pos >= len(p.text) || p.text[p.pos] != ']') {
				return p.fail()
			}
		}
		return &List{items}
	case c == '-' || Class[c] == Digit:
		return p.integer()
	case c == '\'' || c == '"':
		end := skipString(p.text, p.pos)
		s := p.text[p.pos:end]
		p.pos = end
		if len(s) < 2 || s[len(s)-1] != c || strings.ContainsRune(s, '\\') || strings.HasPrefix(s[1:], s[:1]) && len(s) > 2 {
			return p.fail() // escapes, three quotes, no end
		}
		return &Const{s[1 : len(s)-1]}
	}
	name := FirstWord(p.text[p.pos:])
	p.pos += len(name)
	switch name {
	case "":
		return p.fail()
	case "None":
		return &Const{}
	case "True":
		return &Const{true}
	case "False":
		return &Const{false}
	}
	return &Name{name}
}

func (p *exprParser) integer() Expr {
	end := p.pos + 1
	for end < len(p.text) && InName(p.text[end]) {
		end++
	}
	n, err := strconv.ParseInt(p.text[p.pos:end], 10, 64)
	if err != nil || end < len(p.text) && p.text[end] == '.' {
		return p.fail()
	}
	p.pos = end
	return &Const{n}
}
