package pysource

import (
	"strings"
	"unicode/utf8"
)

// Character classes. Bytes above 0x7f count as letters: Python allows them in names.
const (
	Letter = 1 << iota
	Digit
	Space // within a line
)

// Class reports the class of each byte of Python source.
var Class = func() (t [256]uint8) {
	for c := range 256 {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c >= utf8.RuneSelf:
			t[c] = Letter
		case c >= '0' && c <= '9':
			t[c] = Digit
		case c == ' ', c == '\t', c == '\r', c == '\f':
			t[c] = Space
		}
	}
	return t
}()

// InName says whether b may stand in a name.
func InName(b byte) bool { return Class[b]&(Letter|Digit) != 0 }

// FirstWord is the word that s begins with.
func FirstWord(s string) string {
	i := 0
	for i < len(s) && InName(s[i]) {
		i++
	}
	return s[:i]
}

func isName(s string) bool {
	return s != "" && FirstWord(s) == s && Class[s[0]] == Letter
}

// Names lists the names in s in order, keywords with them; attributes and the names of keyword arguments are none.
func Names(s string) []string { return appendNames(nil, s) }

// appendNames appends them to out.
func appendNames(out []string, s string) []string {
	depth := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"':
			i = skipString(s, i)
			continue
		case c == '#':
			i = skipComment(s, i)
			continue
		case InName(c):
			j := i
			for j < len(s) && InName(s[j]) {
				j++
			}
			attribute := i > 0 && s[i-1] == '.'
			keyword := depth > 0 && j+1 < len(s) && s[j] == '=' && s[j+1] != '='
			if !attribute && !keyword && Class[c] == Letter {
				out = append(out, s[i:j])
			}
			i = j
			continue
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		}
		i++
	}
	return out
}

// logical is a logical line: its text and how far it is indented.
type logical struct{ start, end, indent int }

// logicalLines joins physical lines inside brackets and strings, and drops comments and blank lines.
func logicalLines(text string) []logical {
	var out []logical
	i := 0
	for i < len(text) {
		indent := 0
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			if text[i] == '\t' {
				indent += 8 - indent%8
			} else {
				indent++
			}
			i++
		}
		if i >= len(text) {
			break
		}
		if text[i] == '\n' || text[i] == '\r' || text[i] == '\f' {
			i++
			continue
		}
		if text[i] == '#' {
			i = skipComment(text, i)
			continue
		}
		l := logical{start: i, end: i, indent: indent}
		l.end, i = logicalLine(text, i)
		if l.end > l.start {
			out = append(out, l)
		}
	}
	return out
}

// logicalLine is the end of the line that starts at i, comments left out, and the place behind its newline.
func logicalLine(text string, i int) (end, next int) {
	end = i
	depth := 0
	for i < len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			i = skipString(text, i)
			end = i
			continue
		case c == '#':
			i = skipComment(text, i)
			continue
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i += 2
			continue
		case c == '\n' && depth <= 0:
			return end, i + 1
		}
		if c := text[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			end = i + 1
		}
		i++
	}
	return end, i
}

func skipComment(text string, i int) int {
	for i < len(text) && text[i] != '\n' {
		i++
	}
	return i
}

// skipString is the place after the string that starts at i.
func skipString(text string, i int) int {
	q := text[i]
	if i+2 < len(text) && text[i+1] == q && text[i+2] == q {
		end := strings.Index(text[i+3:], text[i:i+3])
		if end < 0 {
			return len(text)
		}
		return i + 3 + end + 3
	}
	for i++; i < len(text) && text[i] != q && text[i] != '\n'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(text))
}

// ScanTop calls f with each place of s outside of brackets, strings and comments, until it says true; -1 where it never does.
func ScanTop(s string, f func(i int) bool) int {
	depth := 0
	for i := 0; i < len(s); {
		switch b := s[i]; {
		case b == '\'' || b == '"':
			i = skipString(s, i)
			continue
		case b == '#':
			i = skipComment(s, i)
			continue
		case depth == 0 && f(i):
			return i
		case b == '(' || b == '[' || b == '{':
			depth++
		case b == ')' || b == ']' || b == '}':
			depth--
		}
		i++
	}
	return -1
}

// topLevel is the place of the first c outside of brackets and strings, -1 where there is none.
func topLevel(s string, c byte) int {
	return ScanTop(s, func(i int) bool { return s[i] == c })
}

// topLevelWord is the place of a word outside of brackets and strings, -1 where there is none.
func topLevelWord(s, word string) int {
	return ScanTop(s, func(i int) bool {
		return strings.HasPrefix(s[i:], word) && (i == 0 || !InName(s[i-1])) && (i+len(word) == len(s) || !InName(s[i+len(word)]))
	})
}

// topAssign is the place of the first top-level `=` that is an assignment's.
func topAssign(s string) int {
	return ScanTop(s, func(i int) bool {
		if s[i] != '=' || i+1 < len(s) && s[i+1] == '=' {
			return false
		}
		if i == 0 {
			return true
		}
		switch s[i-1] {
		case '!', ':', '=':
			return false
		case '<', '>':
			return i > 1 && s[i-2] == s[i-1] // <<= and >>=
		}
		return true
	})
}

// closing is the place of the bracket that closes the one at i, len(s) where none does.
func closing(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '\'', '"':
			i = skipString(s, i)
			continue
		case '#':
			i = skipComment(s, i)
			continue
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
		i++
	}
	return len(s)
}

// splitTop splits at top-level commas.
func splitTop(s string) []string {
	var out []string
	for {
		i := topLevel(s, ',')
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = s[i+1:]
	}
}
