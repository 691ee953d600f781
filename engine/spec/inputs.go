package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/tensor"
)

// The grammar of an input, in memspec.yaml and after --input:
//
//	input  = [ name "=" ] value
//	value  = tensor | "[" values "]" | "(" values ")" | "{" key ":" value ... "}"
//	       | int | float | "true" | "false" | "null" | 'text' | "text"
//	tensor = dtype "[" sizes "]" [ format ] [ "cpu" ]
//	format = "contiguous" | "channels_last" | "channels_last_3d"
//
// A size is an expression over dims. True, False and None are read as in Python. (x) is x, (x,) a
// tuple of one.

// Limits on the text of an input.
const (
	maxInputBytes = 64 << 10
	maxInputDepth = 32
)

// InputError is something wrong with an input, at a byte offset of its text.
type InputError struct {
	Text   string
	Offset int
	Msg    string
}

func (e *InputError) Error() string { return e.Msg }

// ParseInput reads one input: x=float32[B,3,224,224]. Without a name it is given by position.
func ParseInput(s string) (Input, error) {
	p := inputParser{text: s}
	if len(s) > maxInputBytes {
		return Input{}, p.fail(0, "got an input of %d bytes, want at most %d", len(s), maxInputBytes)
	}
	name := ""
	if before, _, ok := strings.Cut(s, "="); ok && isPath(strings.TrimSpace(before)) {
		name = strings.TrimSpace(before)
		p.pos = len(before) + 1
	}
	v, err := p.whole()
	return Input{Name: name, Value: v}, err
}

// ParseValue reads a value: what stands after the name of an input.
func ParseValue(s string) (Value, error) {
	p := inputParser{text: s}
	if len(s) > maxInputBytes {
		return nil, p.fail(0, "got an input of %d bytes, want at most %d", len(s), maxInputBytes)
	}
	return p.whole()
}

// isPath says whether s is a name, or names joined by points.
func isPath(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !expr.IsName(part) {
			return false
		}
	}
	return true
}

type inputParser struct {
	text string
	pos  int
}

func (p *inputParser) fail(at int, format string, args ...any) error {
	return &InputError{Text: p.text, Offset: at, Msg: fmt.Sprintf(format, args...)}
}

func (p *inputParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *inputParser) accept(c byte) bool {
	p.space()
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *inputParser) got() string {
	if p.pos >= len(p.text) {
		return "the end"
	}
	if w := p.word(); w != "" {
		return strconv.Quote(w)
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return strconv.Quote(string(r))
}

// word is the name, number or dtype at the position, without moving.
func (p *inputParser) word() string {
	end := p.pos
	for end < len(p.text) {
		c := p.text[end]
		sign := (c == '+' || c == '-') && (end == p.pos || p.text[end-1] == 'e' || p.text[end-1] == 'E') &&
			!isLetter(p.text[p.pos])
		if !isLetter(c) && !isDigit(c) && c != '.' && !sign {
			break
		}
		end++
	}
	return p.text[p.pos:end]
}

func (p *inputParser) whole() (Value, error) {
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(p.text) {
		return nil, p.fail(p.pos, "got %s, want the end%s", p.got(), p.meant())
	}
	return v, nil
}

func (p *inputParser) value(depth int) (Value, error) {
	p.space()
	at := p.pos
	switch {
	case depth > maxInputDepth:
		return nil, p.fail(at, "got values nested deeper than %d", maxInputDepth)
	case p.accept('['):
		vs, _, err := p.values(']', depth)
		return List(vs), err
	case p.accept('('):
		vs, comma, err := p.values(')', depth)
		if err == nil && len(vs) == 1 && !comma {
			return vs[0], nil
		}
		return Tuple(vs), err
	case p.accept('{'):
		return p.dict(depth)
	case p.pos < len(p.text) && (p.text[p.pos] == '\'' || p.text[p.pos] == '"'):
		s, err := p.quoted()
		return Str(s), err
	}
	w := p.word()
	if w == "" {
		return nil, p.fail(at, "got %s, want a value such as float32[8,3,224,224]", p.got())
	}
	p.pos += len(w)
	if p.accept('[') {
		return p.tensor(w, at)
	}
	v, ok := scalar(w)
	if !ok {
		return nil, p.fail(at, "got %q, want a value such as float32[8,3,224,224]%s", w, p.hint(w))
	}
	return v, nil
}

// meant helps where somebody wrote sizes alone, or a colon behind the name.
func (p *inputParser) meant() string {
	text := strings.TrimSpace(p.text)
	if strings.Trim(text, "0123456789, xX") == "" && strings.Contains(text, ",") {
		return fmt.Sprintf(": a tensor is dtype[sizes], such as float32[%s]", strings.ReplaceAll(text, " ", ""))
	}
	return ""
}

// hint helps where somebody meant a tensor or a text.
func (p *inputParser) hint(w string) string {
	if _, err := tensor.ParseDType(w); err == nil {
		return fmt.Sprintf(": a scalar tensor is %s[]", w)
	}
	if rest := p.text[p.pos:]; strings.HasPrefix(rest, ":") && expr.IsName(w) {
		return fmt.Sprintf(": a name stands before =, as in %s=float32[1,3,224,224]", w)
	}
	if isLetter(w[0]) {
		return "; a text stands in quotes"
	}
	return ""
}

// scalar reads a number, a bool or null.
func scalar(w string) (Value, bool) {
	switch w {
	case "true", "True":
		return Bool(true), true
	case "false", "False":
		return Bool(false), true
	case "null", "None", "~":
		return None{}, true
	}
	if i, err := strconv.ParseInt(w, 10, 64); err == nil {
		return Int(i), true
	}
	if !strings.ContainsAny(w, ".eE") || isLetter(w[0]) {
		return nil, false
	}
	f, err := strconv.ParseFloat(w, 64)
	if err != nil || math.IsInf(f, 0) || strings.ContainsAny(w, "xX_pP") {
		return nil, false
	}
	return Float(f), true
}

// values reads up to the closing bracket. comma reports whether one stood before it.
func (p *inputParser) values(closing byte, depth int) (vs []Value, comma bool, err error) {
	vs = []Value{}
	for {
		if p.accept(closing) {
			return vs, comma, nil
		}
		if len(vs) > 0 && !comma {
			return nil, false, p.fail(p.pos, "got %s, want , or %c", p.got(), closing)
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, false, err
		}
		vs = append(vs, v)
		comma = p.accept(',')
	}
}

func (p *inputParser) dict(depth int) (Value, error) {
	d := Dict{}
	comma := true
	for {
		if p.accept('}') {
			return d, nil
		}
		if !comma {
			return nil, p.fail(p.pos, "got %s, want , or }", p.got())
		}
		p.space()
		at := p.pos
		key := p.word()
		var err error
		if p.pos < len(p.text) && (p.text[p.pos] == '\'' || p.text[p.pos] == '"') {
			key, err = p.quoted()
		} else if !expr.IsName(key) {
			err = p.fail(at, "got %s, want a key or }", p.got())
		} else {
			p.pos += len(key)
		}
		if err != nil {
			return nil, err
		}
		for _, it := range d {
			if it.Key == key {
				return nil, p.fail(at, "got key %q twice", key)
			}
		}
		if !p.accept(':') {
			return nil, p.fail(p.pos, "got %s, want : after the key %s", p.got(), key)
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d = append(d, DictItem{key, v})
		comma = p.accept(',')
	}
}

// quoted reads a text in single or double quotes; \ escapes.
func (p *inputParser) quoted() (string, error) {
	at := p.pos
	quote := p.text[at]
	var b strings.Builder
	for i := at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; c {
		case quote:
			p.pos = i + 1
			return b.String(), nil
		case '\\':
			i++
			if i < len(p.text) {
				b.WriteByte(unescape(p.text[i]))
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", p.fail(at, "got a text that does not end, want %c", quote)
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	}
	return c
}

// tensor reads what stands after "dtype[".
func (p *inputParser) tensor(dtype string, at int) (Value, error) {
	d, err := tensor.ParseDType(dtype)
	if err != nil {
		return nil, p.fail(at, "%s", dtypeError(dtype))
	}
	t := Tensor{DType: d, Shape: []Expr{}}
	comma := true
	for !p.accept(']') {
		if !comma {
			return nil, p.fail(p.pos, "got %s, want , or ]", p.got())
		}
		e, err := p.size()
		if err != nil {
			return nil, err
		}
		t.Shape = append(t.Shape, e)
		comma = p.accept(',')
	}
	return p.suffix(t)
}

// suffix reads the words after a tensor's sizes.
func (p *inputParser) suffix(t Tensor) (Value, error) {
	for {
		p.space()
		at := p.pos
		w := p.word()
		switch {
		case w == "":
			return t, nil
		case w == "cpu":
			t.Device = w
		default:
			f, ok := parseFormat(w)
			if !ok {
				return nil, p.fail(at, "got %q, want contiguous, channels_last, channels_last_3d or cpu", w)
			}
			if err := checkFormat(f, len(t.Shape)); err != "" {
				return nil, p.fail(at, "%s", err)
			}
			t.Format = f
		}
		p.pos += len(w)
	}
}

// size reads one size up to a comma or bracket outside parentheses.
func (p *inputParser) size() (Expr, error) {
	end, open := p.pos, 0
scan:
	for ; end < len(p.text); end++ {
		switch p.text[end] {
		case '(':
			open++
		case ')':
			open--
		case ',', ']':
			if open <= 0 {
				break scan
			}
		}
	}
	e, err := ParseExpr(p.text[p.pos:end])
	if err != nil {
		return Expr{}, p.fail(p.pos+exprOffset(err), "%s", err)
	}
	if e.HasUnit() {
		return Expr{}, p.fail(p.pos, "got %s, want a number of elements", strings.TrimSpace(p.text[p.pos:end]))
	}
	e = e.Behind(p.pos)
	p.pos = end
	return e, nil
}

func parseFormat(s string) (tensor.MemoryFormat, bool) {
	switch s {
	case "contiguous", "contiguous_format":
		return tensor.Contiguous, true
	case "channels_last":
		return tensor.ChannelsLast, true
	case "channels_last_3d":
		return tensor.ChannelsLast3d, true
	}
	return 0, false
}

// checkFormat says in words why a memory format does not fit a number of sizes.
func checkFormat(f tensor.MemoryFormat, dims int) string {
	want := map[tensor.MemoryFormat]int{tensor.ChannelsLast: 4, tensor.ChannelsLast3d: 5}[f]
	if want != 0 && dims != want {
		return fmt.Sprintf("got %s with %d sizes, want %d", FormatName(f), dims, want)
	}
	return ""
}

var dtypeNames = []string{"float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8",
	"bool", "complex64",
	"complex128", "half", "float", "double", "long", "int", "short"}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func dtypeError(got string) string {
	if n := Nearest(strings.ToLower(got), dtypeNames); n != "" {
		return fmt.Sprintf("got dtype %q, want one of PyTorch's: did you mean %q?", got, n)
	}
	_, err := tensor.ParseDType(got)
	return err.Error()
}
