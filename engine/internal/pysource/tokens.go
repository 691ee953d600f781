package pysource

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/python"
)

// Names lists the names in s in order, keywords with them; attributes and the names of keyword
// arguments are none.
func Names(s string) []string { return appendNames(nil, s) }

// appendNames appends them to out.
func appendNames(out []string, s string) []string {
	depth := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"':
			i = python.SkipString(s, i)
			continue
		case c == '#':
			i = python.SkipComment(s, i)
			continue
		case python.InName(c):
			j := i
			for j < len(s) && python.InName(s[j]) {
				j++
			}
			attribute := i > 0 && s[i-1] == '.'
			keyword := depth > 0 && j+1 < len(s) && s[j] == '=' && s[j+1] != '='
			if !attribute && !keyword && python.Class[c] == python.Letter {
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

// logicalLines joins physical lines inside brackets and strings, and drops comments and blank
// lines.
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
			i = python.SkipComment(text, i)
			continue
		}
		l := logical{start: i, end: i, indent: indent}
		l.end, i = logicalLine(text, i)
		out = append(out, l)
	}
	return out
}

// logicalLine is the end of the line that starts at i, comments left out, and the place behind its
// newline.
func logicalLine(text string, i int) (end, next int) {
	end = i
	depth := 0
	for i < len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			i = python.SkipString(text, i)
			end = i
			continue
		case c == '#':
			i = python.SkipComment(text, i)
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

// topLevel is the place of the first c outside of brackets and strings, -1 where there is none.
func topLevel(s string, c byte) int {
	return python.ScanTop(s, func(i int) bool { return s[i] == c })
}

// topLevelWord is the place of a word outside of brackets and strings, -1 where there is none.
func topLevelWord(s, word string) int {
	return python.ScanTop(s, func(i int) bool {
		return strings.HasPrefix(s[i:], word) && (i == 0 || !python.InName(s[i-1])) &&
			(i+len(word) == len(s) || !python.InName(s[i+len(word)]))
	})
}

// topAssign is the place of the first top-level `=` that is an assignment's.
func topAssign(s string) int {
	return python.ScanTop(s, func(i int) bool {
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

// Arguments are what stands between a call's parentheses, apart at commas.
func Arguments(s string) []string {
	parts := splitTop(s)
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	if parts[len(parts)-1] == "" { // nothing, or behind a last comma
		parts = parts[:len(parts)-1]
	}
	return parts
}
