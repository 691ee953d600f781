package aotinductor

import (
	"math"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/program"
)

type termKind uint8

const (
	nameTerm termKind = iota // buf0, std::move, x.sizes
	intTerm
	floatTerm
	textTerm
	callTerm  // text(args)
	listTerm  // {…}, (…, …), […]
	indexTerm // args[0][args[1]]
	signTerm  // text before args[0], or between args[0] and args[1]
)

// term is an expression.
type term struct {
	kind  termKind
	text  string
	n     int64
	f     float64
	args  []*term
	where place
}

// parser reads expressions from tokens.
type parser struct {
	toks []token
	pos  int
	deep int
}

func (p *parser) peek() *token { return &p.toks[min(p.pos, len(p.toks)-1)] }

func (p *parser) is(text string) bool {
	t := p.peek()
	return t.kind == signToken && t.text == text
}

func (p *parser) take(text string) bool {
	if p.is(text) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) want(text string) error {
	if p.take(text) {
		return nil
	}
	return fail(p.peek().where, "got %s, want %s", got(p.peek()), text)
}

func got(t *token) string {
	switch t.kind {
	case endToken:
		return "the end"
	}
	return short(t.text)
}

// short cuts a text that goes into a message, and keeps it on one line.
func short(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return strings.Trim(strconv.Quote(s), `"`)
}

// ranks of operators between two terms, the weakest first. A question mark is none: no size is
// written with one.
var ranks = [...][]string{
	{"||"}, {"&&"}, {"==", "!=", "<", ">", "<=", ">="}, {"|", "&", "^"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"},
}

// term reads an expression.
func (p *parser) term() (*term, error) { return p.rank(0) }

func (p *parser) rank(r int) (*term, error) {
	if r == len(ranks) {
		return p.unary()
	}
	left, err := p.rank(r + 1)
next:
	for err == nil {
		for _, s := range ranks[r] {
			if !p.is(s) {
				continue
			}
			where := p.peek().where
			p.pos++
			var right *term
			if right, err = p.rank(r + 1); err != nil {
				return nil, err
			}
			left = &term{kind: signTerm, text: s, args: []*term{left, right}, where: where}
			continue next
		}
		return left, nil
	}
	return nil, err
}

func (p *parser) unary() (*term, error) {
	if p.deep++; p.deep > maxNested {
		return nil, fail(p.peek().where, "got terms nested deeper than %d", maxNested)
	}
	defer func() { p.deep-- }()
	t := p.peek()
	for _, s := range []string{"-", "&", "*", "!", "+"} {
		if !p.take(s) {
			continue
		}
		if next := p.peek(); s == "-" && next.kind == numberToken &&
			strings.TrimRight(next.text, "L") == "9223372036854775808" {
			// its positive is no int64
			p.pos++
			return &term{kind: intTerm, n: math.MinInt64, where: t.where}, nil
		}
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		if s == "-" && x.kind == intTerm {
			x.n = -x.n
			return x, nil
		}
		if s == "-" && x.kind == floatTerm {
			x.f = -x.f
			return x, nil
		}
		return &term{kind: signTerm, text: s, args: []*term{x}, where: t.where}, nil
	}
	x, err := p.atom()
	for err == nil {
		switch {
		case p.take("["):
			var at *term
			if at, err = p.term(); err != nil {
				return nil, err
			}
			x = &term{kind: indexTerm, args: []*term{x, at}, where: t.where}
			err = p.want("]")
		case p.take(".") || p.take("->"): // of a list: .cbegin(), .data(), .get(): the list itself
			if name := p.peek(); name.kind != nameToken {
				return nil, fail(name.where, "got %s, want a name", got(name))
			}
			p.pos++
			if p.take("(") {
				_, err = p.list(")")
			}
		default:
			return x, nil
		}
	}
	return nil, err
}

// templates are what is followed by types in <…>.
var templates = map[string]bool{"std::array": true, "static_cast": true, "reinterpret_cast": true, "std::vector": true,
	"std::optional":       true,
	"std::numeric_limits": true, "c10::complex": true}

func (p *parser) atom() (*term, error) {
	t := p.peek()
	p.pos++
	switch {
	case t.kind == nameToken:
		return p.named(t)
	case t.kind == numberToken:
		return number(t)
	case t.kind == stringToken:
		x := &term{kind: textTerm, text: t.text, where: t.where}
		for p.peek().kind == stringToken { // side by side: one text
			x.text += p.peek().text
			p.pos++
		}
		return x, nil
	case t.kind == signToken && t.text == "(":
		items, err := p.list(")")
		if err != nil || len(items) == 1 && p.toks[p.pos-2].text != "," {
			return first(items), err
		}
		return &term{kind: listTerm, args: items, where: t.where}, nil
	case t.kind == signToken && (t.text == "{" || t.text == "["):
		items, err := p.list(map[string]string{"{": "}", "[": "]"}[t.text])
		return &term{kind: listTerm, args: items, where: t.where}, err
	}
	return nil, fail(t.where, "got %s, want a name, a number or a list", got(t))
}

func first(items []*term) *term {
	if len(items) == 0 {
		return nil
	}
	return items[0]
}

// named reads a name with its scopes and members, and what it is called with.
func (p *parser) named(t *token) (*term, error) {
	name := t.text
	for {
		join := ""
		switch {
		case p.is("::"):
			join = "::"
		case p.is("."), p.is("->"):
			join = "."
		}
		if join == "" || p.toks[p.pos+1].kind != nameToken {
			break
		}
		name += join + p.toks[p.pos+1].text
		p.pos += 2
	}
	if templates[name] && p.take("<") {
		for open := 1; open > 0; p.pos++ {
			switch {
			case p.peek().kind == endToken:
				return nil, fail(t.where, "got < after %s, want its >", name)
			case p.is("<"):
				open++
			case p.is(">"):
				open--
			case p.is(">>"):
				open -= 2
			}
		}
		if p.is("::") && p.toks[p.pos+1].kind == nameToken {
			name += "::" + p.toks[p.pos+1].text
			p.pos += 2
		}
	}
	switch {
	case p.take("("):
		args, err := p.list(")")
		return &term{kind: callTerm, text: name, args: args, where: t.where}, err
	case p.is("{") && templates[name]:
		p.pos++
		args, err := p.list("}")
		return &term{kind: listTerm, args: args, where: t.where}, err
	}
	return &term{kind: nameTerm, text: name, where: t.where}, nil
}

// list reads terms to the bracket that ends them.
func (p *parser) list(end string) ([]*term, error) {
	items := []*term{}
	for !p.take(end) {
		x, err := p.term()
		if err != nil {
			return nil, err
		}
		items = append(items, x)
		if !p.take(",") && !p.is(end) {
			return nil, fail(p.peek().where, "got %s, want , or %s", got(p.peek()), end)
		}
	}
	return items, nil
}

func number(t *token) (*term, error) {
	text := strings.TrimRight(t.text, "uUlL")
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return &term{kind: intTerm, n: n, where: t.where}, nil
	}
	if !strings.HasPrefix(text, "0x") {
		text = strings.TrimRight(text, "fF")
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fail(t.where, "got %s, want a number", got(t))
	}
	return &term{kind: floatTerm, f: f, where: t.where}, nil
}

// The functions that sizes are written with: sympy's as C++ (torch/utils/_sympy/printers.py,
// c10/util/generic_math.h).
var sizeFunctions = map[string]string{
	"c10::div_floor_integer": "//", "c10::div_floor": "//", "c10::div_mod": "%", "c10::div_mod_integer": "%",
	"std::max": "max", "std::min": "min",
}

// size is a term as a whole number over the program's symbols, alias being the names that stand for
// others.
func (t *term) size(alias map[string]*term) (program.Size, error) {
	if t.kind == intTerm {
		return expr.Const(t.n), nil
	}
	text, err := t.sizeText(alias, 0)
	if err != nil {
		return program.Size{}, err
	}
	e, err := expr.Parse(text)
	if err != nil {
		return e, fail(t.where, "size %s: %v", short(text), err)
	}
	return e, nil
}

func (t *term) sizeText(alias map[string]*term, deep int) (string, error) {
	if deep > maxNested {
		return "", fail(t.where, "got a size nested deeper than %d", maxNested)
	}
	inner := make([]string, len(t.args))
	for i, a := range t.args {
		if t.kind == callTerm && a.kind == listTerm && len(t.args) == 1 { // std::max({a, b})
			list := &term{kind: callTerm, text: t.text, args: a.args, where: t.where}
			return list.sizeText(alias, deep+1)
		}
		var err error
		if inner[i], err = a.sizeText(alias, deep+1); err != nil {
			return "", err
		}
	}
	function := sizeFunctions[t.text]
	switch {
	case t.kind == intTerm && t.n < 0 && t.n > math.MinInt64:
		return "(-" + strconv.FormatInt(-t.n, 10) + ")", nil
	case t.kind == intTerm:
		return strconv.FormatInt(t.n, 10), nil
	case t.kind == nameTerm && alias[t.text] != nil:
		return alias[t.text].sizeText(alias, deep+1)
	case t.kind == nameTerm && expr.IsName(t.text):
		return t.text, nil
	case t.kind == callTerm && t.text == "static_cast" && len(t.args) == 1:
		return inner[0], nil
	case t.kind == callTerm && len(t.args) == 2 && (function == "//" || function == "%"):
		return "(" + inner[0] + " " + function + " " + inner[1] + ")", nil
	case t.kind == callTerm && len(t.args) > 0 && (function == "max" || function == "min"):
		return function + "(" + strings.Join(inner, ", ") + ")", nil
	case t.kind == signTerm && len(t.args) == 1 && t.text == "-":
		return "(-" + inner[0] + ")", nil
	case t.kind == signTerm && len(t.args) == 2 && strings.Contains("+-*//%", t.text):
		return "(" + inner[0] + " " + t.text + " " + inner[1] + ")", nil
	}
	return "", fail(t.where, "got %s in a size, want whole numbers, symbols, + - * // %% min and max", t)
}

func (t *term) String() string {
	switch t.kind {
	case intTerm:
		return strconv.FormatInt(t.n, 10)
	case floatTerm:
		return strconv.FormatFloat(t.f, 'g', -1, 64)
	case callTerm:
		return short(t.text) + "(…)"
	case listTerm:
		return "a list"
	case indexTerm:
		return t.args[0].String() + "[…]"
	}
	return short(t.text)
}

// addressed is what a term is the address of: &x; nil of another.
func (t *term) addressed() *term {
	if t.kind == signTerm && t.text == "&" && len(t.args) == 1 {
		return t.args[0]
	}
	return nil
}

// unbounded is a float that has no digits: std::numeric_limits<double>::quiet_NaN().
func (t *term) unbounded() (f float64, ok bool) {
	switch {
	case t.kind == signTerm && t.text == "-" && len(t.args) == 1:
		f, ok = t.args[0].unbounded()
		return -f, ok
	case t.kind == callTerm && t.text == "std::numeric_limits::infinity":
		return math.Inf(1), true
	case t.kind == callTerm && t.text == "std::numeric_limits::quiet_NaN":
		return math.NaN(), true
	}
	return 0, false
}

// memoryFormats are c10::MemoryFormat's numbers, each one more.
var memoryFormats = map[string]int64{
	"contiguous_format": 1, "preserve_format": 2, "channels_last": 3, "channels_last_3d": 4,
}
