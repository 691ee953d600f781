package torchexport

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/program"
)

// Since 2.6 sizes are written as sympy.srepr writes them: Add(Mul(Integer(2), Symbol('s77',
// positive=True, integer=True)), Integer(1)). Before it was plain text, "2*s0 + 1". The functions
// are sympy's and torch's own (torch/utils/_sympy/functions.py), of which some take floats on the
// way from one whole number to another.

// parseSize reads either form.
func parseSize(text string) (program.Size, error) {
	if !strings.Contains(text, "(") || !strings.Contains(text, "Symbol(") && !strings.Contains(text, "Integer(") {
		return expr.Parse(text)
	}
	p := srepr{text: text}
	t, err := p.term(0)
	if err == nil && p.pos < len(text) {
		err = p.fail("the end")
	}
	if err != nil {
		return program.Size{}, err
	}
	return expr.Parse(t.divided().text)
}

// maxTerms bounds how deep an expression may be nested.
const maxTerms = 100

// term is an expression in the grammar of package expr, with how tightly it binds.
type term struct {
	text  string
	binds precedence
	over  string // of a factor that divides: what by
}

type precedence uint8

const (
	sum precedence = iota
	product
	atom
)

// at is the term where something that binds so tightly is wanted.
func (t term) at(p precedence) string {
	if t.binds < p {
		return "(" + t.text + ")"
	}
	return t.text
}

type srepr struct {
	text string
	pos  int
}

func (p *srepr) fail(want string) error {
	got := "the end"
	if p.pos < len(p.text) {
		got = strconv.QuoteRune(rune(p.text[p.pos]))
	}
	return fmt.Errorf("size %q: got %s at %d, want %s", short(p.text), got, p.pos, want)
}

// short cuts a text that goes into a message.
func short(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}

func (p *srepr) take(s string) bool {
	if strings.HasPrefix(p.text[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

// word reads letters, digits, dots, signs and underscores.
func (p *srepr) word() string {
	from := p.pos
	for p.pos < len(p.text) && strings.IndexByte("(),'= ", p.text[p.pos]) < 0 {
		p.pos++
	}
	return p.text[from:p.pos]
}

// term reads Name(…).
func (p *srepr) term(depth int) (term, error) {
	if depth > maxTerms {
		return term{}, fmt.Errorf("size %q: got more than %d terms in one another", short(p.text), maxTerms)
	}
	name := p.word()
	if name == "" || !p.take("(") {
		return term{}, p.fail("a term")
	}
	switch name {
	case "Symbol", "Dummy":
		return p.symbol()
	case "Integer":
		return p.integer()
	case "Float":
		return p.float()
	}
	var args []term
	for first := true; !p.take(")"); first = false {
		if !first && !p.take(", ") {
			return term{}, p.fail("a comma")
		}
		if c := p.text[p.pos:]; c != "" && (c[0] == '-' || c[0] >= '0' && c[0] <= '9') { // Rational's
			args = append(args, whole(p.word()))
			continue
		}
		a, err := p.term(depth + 1)
		if err != nil {
			return term{}, err
		}
		args = append(args, a)
	}
	return p.apply(name, args)
}

func whole(digits string) term {
	if strings.HasPrefix(digits, "-") {
		return term{text: digits, binds: sum}
	}
	return term{text: digits, binds: atom}
}

func (p *srepr) integer() (term, error) {
	digits := p.word()
	if _, err := strconv.ParseInt(digits, 10, 64); err != nil || !p.take(")") {
		return term{}, p.fail("a whole number")
	}
	return whole(digits), nil
}

// float reads a factor such as Float('2.0', precision=53), which must be whole.
func (p *srepr) float() (term, error) {
	if !p.take("'") {
		return term{}, p.fail("a number")
	}
	f, err := strconv.ParseFloat(p.word(), 64)
	if err != nil || f != float64(int64(f)) {
		return term{}, p.fail("a whole number")
	}
	return whole(strconv.FormatInt(int64(f), 10)), p.rest()
}

func (p *srepr) symbol() (term, error) {
	if !p.take("'") {
		return term{}, p.fail("a symbol's name")
	}
	name := p.word()
	if !expr.IsName(name) {
		return term{}, p.fail("a symbol's name")
	}
	return term{text: name, binds: atom}, p.rest()
}

// rest reads what stands behind a quoted word: its quote, and assumptions such as positive=True.
func (p *srepr) rest() error {
	if !p.take("'") {
		return p.fail("a quote")
	}
	for p.take(", ") {
		if p.word(); !p.take("=") || p.word() == "" {
			return p.fail("an assumption")
		}
	}
	if !p.take(")") {
		return p.fail("a parenthesis")
	}
	return nil
}

// apply is a function of sympy's or torch's.
func (p *srepr) apply(name string, args []term) (term, error) {
	switch {
	case name == "Add" && len(args) > 0:
		return addition(args), nil
	case name == "Mul" && len(args) > 0:
		return multiplication(args), nil
	case name == "Pow" && len(args) == 2:
		return p.power(args[0], args[1])
	case name == "Rational" && len(args) == 2:
		return term{text: args[0].at(product), binds: product, over: args[1].at(atom)}, nil
	case (name == "FloorDiv" || name == "CleanDiv") && len(args) == 2:
		return term{text: args[0].at(product) + "//" + args[1].at(atom), binds: product}, nil
	case (name == "Mod" || name == "PythonMod") && len(args) == 2:
		return term{text: args[0].at(product) + "%" + args[1].at(atom), binds: product}, nil
	case name == "ModularIndexing" && len(args) == 3:
		return term{text: args[0].at(product) + "//" + args[1].at(atom) + "%" + args[2].at(atom), binds: product}, nil
	case (name == "Max" || name == "Min") && len(args) > 1:
		parts := make([]string, len(args))
		for i, a := range args {
			parts[i] = a.text
		}
		return term{text: strings.ToLower(name) + "(" + strings.Join(parts, ", ") + ")", binds: atom}, nil
	case (name == "IntTrueDiv" || name == "FloatTrueDiv") && len(args) == 2:
		return term{text: args[0].at(product), binds: product, over: args[1].at(atom)}, nil
	case (name == "ToFloat" || name == "Identity") && len(args) == 1:
		return args[0], nil
	case (name == "TruncToInt" || name == "FloorToInt" || name == "RoundToInt") && len(args) == 1 &&
		(name != "RoundToInt" || args[0].over == ""):
		if a := args[0]; a.over != "" { // sizes are not negative: to cut is to round down
			return term{text: a.text + "//" + a.over, binds: product}, nil
		}
		return args[0], nil
	case name == "CeilToInt" && len(args) == 1:
		if a := args[0]; a.over != "" {
			return term{text: "-(-(" + a.text + ")//" + a.over + ")", binds: sum}, nil
		}
		return args[0], nil
	}
	return term{}, fmt.Errorf("size %q: got %s of %d arguments, want a function of sizes that is known", short(p.text),
		name, len(args))
}

func addition(args []term) term {
	text := ""
	for i, a := range args {
		a = a.divided()
		switch {
		case i == 0:
			text = a.text
		case strings.HasPrefix(a.text, "-"):
			text += " - " + strings.TrimPrefix(a.text, "-")
		default:
			text += " + " + a.text
		}
	}
	return term{text: text, binds: sum}
}

// divided is a term as a number by itself: a division that must come out even.
func (t term) divided() term {
	if t.over == "" {
		return t
	}
	return term{text: t.text + "/" + t.over, binds: product}
}

// multiplication puts the factors that divide last: the division of the whole product is the one
// that comes out even.
func multiplication(args []term) term {
	var by []string
	text, sign := "", ""
	for _, a := range args {
		if a.over != "" {
			by = append(by, a.over)
		}
		if digits, negative := strings.CutPrefix(a.text, "-"); negative && text == "" && sign == "" &&
			strings.Trim(digits, "0123456789") == "" {
			sign = "-"
			if digits == "1" && a.over == "" {
				continue
			}
			a.text, a.binds = digits, atom
		}
		switch factor := a.at(product); {
		case factor == "1" && a.over != "":
			continue
		case text == "":
			text = factor
		default:
			text += "*" + factor
		}
	}
	if text == "" {
		text = "1"
	}
	t := term{text: sign + text, binds: product}
	if sign != "" {
		t.binds = sum
	}
	if len(by) > 0 {
		t.over = strings.Join(by, "*")
		if len(by) > 1 {
			t.over = "(" + t.over + ")"
		}
	}
	return t
}

// maxPower bounds a power, which is written out.
const maxPower = 8

func (p *srepr) power(base, exponent term) (term, error) {
	n, err := strconv.Atoi(exponent.text)
	if err != nil || n == 0 || n > maxPower || n < -maxPower {
		return term{}, fmt.Errorf("size %q: got the power %s, want one of 1 to %d", short(p.text), exponent.text,
			maxPower)
	}
	if base.over != "" {
		return term{}, fmt.Errorf("size %q: got the power of a quotient", short(p.text))
	}
	text := strings.Repeat(base.at(atom)+"*", max(n, -n)-1) + base.at(atom)
	if n < 0 {
		if n < -1 {
			text = "(" + text + ")"
		}
		return term{text: "1", binds: atom, over: text}, nil
	}
	return term{text: text, binds: product}, nil
}
