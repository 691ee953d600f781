// Package jsonscan reads JSON from front to back, value by value, without making anything of what
// is skipped: for documents of many megabytes of which a reader knows the form and wants a part. It
// takes a fifth of encoding/json's time on a graph of torch.export (BenchmarkScan).
//
// It reads what encoding/json reads. Beyond that it lets pass the infinities that Python writes,
// and control characters and invalid UTF-8 in strings, which stay as they are. Texts may be parts
// of the document, which must not change while they are in use.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unsafe"
)

// maxDepth is how deep values may be nested, as in encoding/json less.
const maxDepth = 1000

// Scanner reads one document. After an error every method returns a zero value at once, and Err
// has it.
type Scanner struct {
	data  []byte
	pos   int
	depth int
	err   error
}

// Error is a document that is no JSON, or not of the form that its reader wants.
type Error struct {
	Offset int
	Msg    string
}

func (e *Error) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Msg) }

// New reads data.
func New(data []byte) *Scanner { return &Scanner{data: data} }

// Err is the first error.
func (s *Scanner) Err() error { return s.err }

// Offset is where the scanner stands.
func (s *Scanner) Offset() int { return s.pos }

// Fail ends the reading with an error at the current place.
func (s *Scanner) Fail(format string, args ...any) { s.failAt(s.pos, format, args...) }

func (s *Scanner) failAt(pos int, format string, args ...any) {
	if s.err == nil {
		s.err = &Error{pos, fmt.Sprintf(format, args...)}
		s.pos = len(s.data)
	}
}

// End wants the document's end.
func (s *Scanner) End() {
	if s.next(); s.err == nil && s.pos < len(s.data) {
		s.Fail("got %s, want the end", s.got())
	}
}

// next is the byte that the next token begins with, 0 at the end.
func (s *Scanner) next() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// got names what stands at the current place.
func (s *Scanner) got() string {
	switch c := s.next(); {
	case s.pos >= len(s.data):
		return "the end"
	case c == '"':
		return "a string"
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == 't' || c == 'f':
		return "a bool"
	case c == 'n':
		return "null"
	case c == '-' || c >= '0' && c <= '9':
		return "a number"
	default:
		return strconv.QuoteRune(rune(c))
	}
}

// want takes the byte c.
func (s *Scanner) want(c byte, what string) bool {
	if s.next() != c || s.pos >= len(s.data) {
		s.Fail("got %s, want %s", s.got(), what)
		return false
	}
	s.pos++
	return true
}

func (s *Scanner) enter() bool {
	if s.depth++; s.depth > maxDepth {
		s.Fail("got values nested more than %d deep", maxDepth)
	}
	return s.err == nil
}

// Object calls member for each member, which must read its value.
func (s *Scanner) Object(member func(key string)) {
	if !s.want('{', "an object") || !s.enter() {
		return
	}
	for first := true; s.err == nil; first = false {
		if s.next() == '}' && first {
			s.pos++
			break
		}
		key := s.String()
		if !s.want(':', "a colon") {
			return
		}
		member(key)
		if s.last('}') {
			break
		}
	}
	s.depth--
}

// Array calls item for each item, which must read it.
func (s *Scanner) Array(item func()) {
	if !s.want('[', "an array") || !s.enter() {
		return
	}
	for first := true; s.err == nil; first = false {
		if s.next() == ']' && first {
			s.pos++
			break
		}
		item()
		if s.last(']') {
			break
		}
	}
	s.depth--
}

// last takes what stands behind a member or item: the end, or a comma.
func (s *Scanner) last(end byte) bool {
	if s.err != nil {
		return true
	}
	switch c := s.next(); c {
	case end:
		s.pos++
		return true
	case ',':
		s.pos++
		return false
	}
	s.Fail("got %s, want a comma or %q", s.got(), rune(end))
	return true
}

// Raw is a string as it stands between its quotes, escapes and all.
func (s *Scanner) Raw() []byte {
	if !s.want('"', "a string") {
		return nil
	}
	from := s.pos
	for {
		n := bytes.IndexByte(s.data[s.pos:], '"')
		if n < 0 {
			break
		}
		end := s.pos + n
		s.pos = end + 1
		slashes := 0
		for end-slashes > from && s.data[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return s.data[from:end]
		}
	}
	s.failAt(len(s.data), "got the end, want the end of a string")
	return nil
}

// String is a string.
func (s *Scanner) String() string {
	at := s.pos
	raw := s.Raw()
	text, err := Unescape(raw)
	if err != nil {
		s.failAt(at, "%v", err)
	}
	return text
}

// Unescape reads the escapes of a raw string; a text without any is raw's own bytes.
func Unescape(raw []byte) (string, error) {
	for _, c := range raw {
		if c != '\\' {
			continue
		}
		var text string
		quoted := make([]byte, 0, len(raw)+2)
		quoted = append(append(append(quoted, '"'), raw...), '"')
		if err := json.Unmarshal(quoted, &text); err != nil {
			return "", fmt.Errorf("got a string with an escape that is none")
		}
		return text, nil
	}
	return unsafe.String(unsafe.SliceData(raw), len(raw)), nil
}

// Null takes a null, and says whether there was one.
func (s *Scanner) Null() bool { return s.next() == 'n' && s.word("null") }

func (s *Scanner) word(w string) bool {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		s.Fail("got a word that is neither true, false nor null")
		return false
	}
	s.pos += len(w)
	return true
}

// Bool is a bool.
func (s *Scanner) Bool() bool {
	switch s.next() {
	case 't':
		return s.word("true")
	case 'f':
		s.word("false")
		return false
	}
	s.Fail("got %s, want a bool", s.got())
	return false
}

// number is the text of a number in JSON's grammar.
func (s *Scanner) number() (text string, whole bool) {
	s.next()
	from, whole := s.pos, true
	take := func(c byte) bool {
		if s.pos < len(s.data) && s.data[s.pos] == c {
			s.pos++
			return true
		}
		return false
	}
	digits := func() int {
		at := s.pos
		for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
			s.pos++
		}
		return s.pos - at
	}
	take('-')
	ok := take('0') || digits() > 0
	if ok && take('.') {
		whole = false
		ok = digits() > 0
	}
	if ok && (take('e') || take('E')) {
		whole = false
		if !take('+') {
			take('-')
		}
		ok = digits() > 0
	}
	if !ok {
		s.pos = from
		s.Fail("got %s, want a number", s.got())
		return "", false
	}
	return unsafe.String(&s.data[from], s.pos-from), whole
}

// Int is a whole number.
func (s *Scanner) Int() int64 {
	at := s.pos
	text, whole := s.number()
	if s.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !whole {
		s.failAt(at, "got %s, want a whole number that fits int64", text)
	}
	return n
}

// Float is a number; Python writes infinities and what is no number as words of its own, in strings
// or bare.
func (s *Scanner) Float() float64 {
	switch s.next() {
	case '"':
		at := s.pos
		switch text := s.String(); text {
		case "Infinity", "inf":
			return math.Inf(1)
		case "-Infinity", "-inf":
			return math.Inf(-1)
		case "NaN", "nan":
			return math.NaN()
		default:
			s.failAt(at, "got the string %q, want a number", text)
			return 0
		}
	case 'I':
		s.word("Infinity")
		return math.Inf(1)
	case 'N':
		s.word("NaN")
		return math.NaN()
	case '-':
		if s.pos+1 < len(s.data) && s.data[s.pos+1] == 'I' {
			s.word("-Infinity")
			return math.Inf(-1)
		}
	}
	at := s.pos
	text, _ := s.number()
	if s.err != nil {
		return 0
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		s.failAt(at, "got %s, want a number that fits float64", text)
	}
	return f
}

// Value is any value: nil, bool, int64, float64, string, []any or map[string]any. A whole number
// that does not fit int64 is a float64.
func (s *Scanner) Value() any {
	switch s.next() {
	case '{':
		out := map[string]any{}
		s.Object(func(key string) { out[key] = s.Value() })
		return out
	case '[':
		out := []any{}
		s.Array(func() { out = append(out, s.Value()) })
		return out
	case '"':
		return s.String()
	case 't', 'f':
		return s.Bool()
	case 'n':
		s.Null()
		return nil
	}
	from := s.pos
	f := s.Float()
	if s.err == nil {
		if n, err := strconv.ParseInt(string(s.data[from:s.pos]), 10, 64); err == nil {
			return n
		}
	}
	return f
}

// Skip passes over a value.
func (s *Scanner) Skip() {
	switch c := s.next(); c {
	case '{':
		s.Object(s.skipMember)
	case '[':
		s.Array(s.Skip)
	case '"':
		s.Raw()
	case 't', 'f':
		s.Bool()
	case 'n':
		s.Null()
	default:
		s.Float()
	}
}

func (s *Scanner) skipMember(string) { s.Skip() }

// IsObject says whether the next value is an object, and leaves it there.
func (s *Scanner) IsObject() bool { return s.next() == '{' }
