package exec

import (
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/ops"
)

// pyEval evaluates Python expressions that leave nothing in an archive: names, attributes, tuples, lists, constants, and conditions over
// them. All else it refuses.
type pyEval struct {
	m     *machine
	f     *frame
	text  string
	pos   int
	bad   bool
	fresh []any // containers it made: held by no one yet
}

// pyValue evaluates text; ok is false where it holds anything else. A container made for it is not held.
func (m *machine) pyValue(f *frame, text string) (v any, ok bool) {
	e := &pyEval{m: m, f: f, text: text}
	v = e.tuple()
	e.blank()
	ok = !e.bad && e.pos >= len(e.text)
	for i := len(e.fresh) - 1; i >= 0; i-- { // those that went nowhere
		if c := e.fresh[i]; !held(c) && (!ok || c != v) {
			m.hold(c)
			m.drop(c)
		}
	}
	if !ok {
		return nil, false
	}
	return v, true
}

// held says whether anything holds a container.
func held(c any) bool {
	switch c := c.(type) {
	case *ops.Tuple:
		return c.Refs > 0
	case *ops.List:
		return c.Refs > 0
	}
	return false
}

func (e *pyEval) fail() any {
	e.bad = true
	return nil
}

func (e *pyEval) blank() {
	for e.pos < len(e.text) {
		switch e.text[e.pos] {
		case ' ', '\t', '\n', '\r', '\\':
			e.pos++
		case '#':
			e.pos = skipComment(e.text, e.pos)
		default:
			return
		}
	}
}

// take reads s, a bracket or an operator.
func (e *pyEval) take(s string) bool {
	e.blank()
	if strings.HasPrefix(e.text[e.pos:], s) {
		e.pos += len(s)
		return true
	}
	return false
}

// word reads a word.
func (e *pyEval) word(w string) bool {
	e.blank()
	if rest := e.text[e.pos:]; strings.HasPrefix(rest, w) && (len(rest) == len(w) || !identByte(rest[len(w)])) {
		e.pos += len(w)
		return true
	}
	return false
}

// tuple reads expressions apart at commas.
func (e *pyEval) tuple() any {
	v := e.expr()
	if e.bad || !e.take(",") {
		return v
	}
	items := []any{v}
	for e.blank(); !e.bad && e.pos < len(e.text) && e.text[e.pos] != ')'; e.blank() {
		items = append(items, e.expr())
		if !e.take(",") {
			break
		}
	}
	return e.made(&ops.Tuple{}, items)
}

// made fills a container; it holds its members.
func (e *pyEval) made(c any, items []any) any {
	if e.bad {
		return nil
	}
	for _, v := range items {
		e.m.hold(v)
	}
	switch c := c.(type) {
	case *ops.Tuple:
		c.Items = items
	case *ops.List:
		c.Items = items
	}
	e.fresh = append(e.fresh, c)
	return c
}

// expr reads `a if c else b`.
func (e *pyEval) expr() any {
	v := e.or()
	if e.bad || !e.word("if") {
		return v
	}
	c := e.truth(e.or())
	if !e.word("else") {
		return e.fail()
	}
	w := e.expr()
	if c {
		return v
	}
	return w
}

func (e *pyEval) or() any {
	v := e.and()
	for !e.bad && e.word("or") {
		w := e.and()
		if !e.bad && !e.truth(v) {
			v = w
		}
	}
	return v
}

func (e *pyEval) and() any {
	v := e.not()
	for !e.bad && e.word("and") {
		w := e.not()
		if !e.bad && e.truth(v) {
			v = w
		}
	}
	return v
}

func (e *pyEval) not() any {
	if e.word("not") {
		return !e.truth(e.not())
	}
	v := e.postfix()
	if e.word("is") {
		negated := e.word("not")
		if !e.word("None") {
			return e.fail()
		}
		return (v == nil) != negated
	}
	for _, op := range [...]string{"==", "!="} {
		if e.take(op) {
			w := e.postfix()
			switch v.(type) {
			case nil, bool, int64, string:
				return (v == w) == (op == "==")
			}
			return e.fail()
		}
	}
	return v
}

// truth is a value's truth, for the values that conditions are made of.
func (e *pyEval) truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case string:
		return v != ""
	case *ops.List:
		return len(v.Items) > 0
	case *ops.Tuple:
		return len(v.Items) > 0
	}
	e.fail()
	return false
}

// postfix reads an atom with its attributes and subscripts.
func (e *pyEval) postfix() any {
	v := e.atom()
	for !e.bad {
		switch {
		case e.take("."):
			name := firstWord(e.text[e.pos:])
			e.pos += len(name)
			o, ok := v.(*Object)
			if !ok {
				return e.fail()
			}
			if v, ok = e.m.getAttr(o, name); !ok {
				return e.fail()
			}
		case e.take("["):
			i := e.expr()
			if !e.take("]") {
				return e.fail()
			}
			v = e.item(v, i)
		default:
			return v
		}
	}
	return v
}

func (e *pyEval) item(v, i any) any {
	if d, ok := v.(*ops.Dict); ok {
		if at := d.Find(i); at >= 0 {
			return d.Values[at]
		}
		return e.fail()
	}
	k, ok := i.(int64)
	n := lenOf(v)
	if !ok || n < 0 {
		return e.fail()
	}
	if k < 0 {
		k += int64(n)
	}
	if k < 0 || k >= int64(n) {
		return e.fail()
	}
	return e.m.itemsOf(v, n)[k]
}

func (e *pyEval) atom() any {
	e.blank()
	if e.pos >= len(e.text) {
		return e.fail()
	}
	switch c := e.text[e.pos]; {
	case c == '(':
		e.pos++
		if e.take(")") {
			return e.made(&ops.Tuple{}, nil)
		}
		v := e.tuple()
		if !e.take(")") {
			return e.fail()
		}
		return v
	case c == '[':
		e.pos++
		var items []any
		for !e.take("]") {
			items = append(items, e.expr())
			if !e.take(",") && (e.bad || e.pos >= len(e.text) || e.text[e.pos] != ']') {
				return e.fail()
			}
		}
		return e.made(&ops.List{}, items)
	case c == '-' || c >= '0' && c <= '9':
		end := e.pos + 1
		for end < len(e.text) && identByte(e.text[end]) {
			end++
		}
		n, err := strconv.ParseInt(e.text[e.pos:end], 10, 64)
		if err != nil || end < len(e.text) && e.text[end] == '.' {
			return e.fail()
		}
		e.pos = end
		return n
	case c == '\'' || c == '"':
		end := skipString(e.text, e.pos)
		s := e.text[e.pos:end]
		e.pos = end
		if len(s) < 2 || strings.ContainsRune(s, '\\') || strings.HasPrefix(s[1:], s[:1]) && len(s) > 2 {
			return e.fail()
		}
		return s[1 : len(s)-1]
	}
	return e.name()
}

// name reads a local's value, a constant, or one of the calls that are known to say whether a model is being scripted or traced: it is not.
func (e *pyEval) name() any {
	name := firstWord(e.text[e.pos:])
	e.pos += len(name)
	switch name {
	case "":
		return e.fail()
	case "None":
		return nil
	case "True":
		return true
	case "False":
		return false
	}
	n, l := e.f.code.names, e.f.locals
	if i, ok := n.find(name); ok {
		if !l.set[i] {
			return e.fail()
		}
		return l.held[i]
	}
	rest := e.text[e.pos:]
	end := strings.IndexByte(rest, '(')
	if end < 0 {
		return e.fail()
	}
	path := name + rest[:end]
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "is_scripting", "is_tracing", "is_exporting", "is_compiling", "is_dynamo_compiling", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic":
		e.pos += closing(rest, end) + 1
		return false
	case "annotate": // torch.jit.annotate(T, value)
		stop := closing(rest, end)
		if stop >= len(rest) {
			return e.fail()
		}
		comma := topLevel(rest[end+1:stop], ',')
		if comma < 0 {
			return e.fail()
		}
		e.pos += end + 1 + comma + 1
		v := e.expr()
		e.take(",")
		if !e.take(")") {
			return e.fail()
		}
		return v
	}
	return e.fail()
}
