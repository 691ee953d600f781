package python

import (
	"strings"
	"unicode/utf8"
)

// This file has what is known of Python source without its tokens, for text that is not read as a
// whole.

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

// IsName says whether s is a name, or a keyword.
func IsName(s string) bool {
	return s != "" && FirstWord(s) == s && Class[s[0]] == Letter
}

// SkipComment is the end of the line that holds i.
func SkipComment(text string, i int) int {
	for i < len(text) && text[i] != '\n' {
		i++
	}
	return i
}

// SkipString is the place after the string that starts at i.
func SkipString(text string, i int) int {
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

// ScanTop calls f with each place of s outside of brackets, strings and comments, until it says
// true; -1 where it never does.
func ScanTop(s string, f func(i int) bool) int {
	depth := 0
	for i := 0; i < len(s); {
		switch b := s[i]; {
		case b == '\'' || b == '"':
			i = SkipString(s, i)
			continue
		case b == '#':
			i = SkipComment(s, i)
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

// Closing is the place of the bracket that closes the one at i, len(s) where none does.
func Closing(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '\'', '"':
			i = SkipString(s, i)
			continue
		case '#':
			i = SkipComment(s, i)
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
