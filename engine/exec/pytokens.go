package exec

import "strings"

// The words and brackets of Python text.

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

// scanTop calls f with each place of s outside of brackets, strings and comments, until it says true; -1 where it never does.
func scanTop(s string, f func(i int) bool) int {
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
	return scanTop(s, func(i int) bool { return s[i] == c })
}

// topLevelWord is the place of a word outside of brackets and strings, -1 where there is none.
func topLevelWord(s, word string) int {
	return scanTop(s, func(i int) bool {
		return strings.HasPrefix(s[i:], word) && (i == 0 || !identByte(s[i-1])) && (i+len(word) == len(s) || !identByte(s[i+len(word)]))
	})
}

// topAssign is the place of the first top-level `=` that is an assignment's.
func topAssign(s string) int {
	return scanTop(s, func(i int) bool {
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

func identByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

func firstWord(s string) string {
	i := 0
	for i < len(s) && identByte(s[i]) {
		i++
	}
	return s[:i]
}

func isName(s string) bool {
	return s != "" && firstWord(s) == s && (s[0] < '0' || s[0] > '9')
}

// identifiers lists the names in s in order; attributes and the names of keyword arguments are none.
func identifiers(s string) []string {
	var out []string
	depth := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"':
			i = skipString(s, i)
			continue
		case c == '#':
			i = skipComment(s, i)
			continue
		case identByte(c):
			j := i
			for j < len(s) && identByte(s[j]) {
				j++
			}
			attribute := i > 0 && s[i-1] == '.'
			keyword := depth > 0 && j+1 < len(s) && s[j] == '=' && s[j+1] != '='
			if !attribute && !keyword && (c < '0' || c > '9') {
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
