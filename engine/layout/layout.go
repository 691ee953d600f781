// Package layout puts text for people into columns: lines wrapped at the width of where they go,
// names and tables aligned.
//
// How wide that is, the writer says: one with a method Columns() int is as wide as that, any other
// has 80. Lines break at blanks; a word that is longer than a line stays whole on its own, for a
// path that is broken cannot be copied. In a table's cell, which is for reading, it is broken. A
// text never brings line ends or control its own characters into a line.
//
// Letters count as one column each: those of East Asian scripts that take two may end beyond the
// width.
package layout

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultColumns is the width where nobody says another.
const DefaultColumns = 80

// least is the width below which wrapping would leave nothing to read.
const least = 40

// Columns is how wide w is.
func Columns(w io.Writer) int {
	if wide, ok := w.(interface{ Columns() int }); ok {
		return max(wide.Columns(), least)
	}
	return DefaultColumns
}

// Wide is w with a width: what is written to it is laid out to so many columns.
func Wide(w io.Writer, columns int) io.Writer { return wide{w, columns} }

type wide struct {
	io.Writer
	columns int
}

func (w wide) Columns() int { return w.columns }

// A Printer writes lines and keeps the first error.
type Printer struct {
	Err     error
	w       io.Writer
	columns int
}

// To returns the printer of a writer.
func To(w io.Writer) *Printer { return &Printer{w: w, columns: Columns(w)} }

// NameColumns is how wide the names of items are, with their indent: `  predicted  `.
const NameColumns = 13

// Line writes a line; what does not fit continues two columns further in than it began.
func (p *Printer) Line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.Err == nil && text == "" {
		_, p.Err = io.WriteString(p.w, "\n")
		return
	}
	words := strings.TrimLeft(text, " ")
	indent := len(text) - len(words)
	p.Indented(indent, indent+2, words)
}

// Item writes " name text"; what does not fit continues below the text. A name of "" continues the
// item above.
func (p *Printer) Item(name, format string, args ...any) {
	head := fmt.Sprintf("  %-9s  ", name)
	text := wrap(OneLine(fmt.Sprintf(format, args...)), p.columns-len(head), p.columns-NameColumns)
	p.lines(head, strings.Repeat(" ", NameColumns), text)
}

// Indented writes a text with its first line that far in, and the others as far as rest says.
func (p *Printer) Indented(first, rest int, text string) {
	p.lines(strings.Repeat(" ", first), strings.Repeat(" ", rest), wrap(OneLine(text), p.columns-first, p.columns-rest))
}

func (p *Printer) lines(head, rest string, lines []string) {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			head = rest
		}
		b.WriteString(strings.TrimRight(head+line, " ") + "\n")
	}
	if p.Err == nil {
		_, p.Err = io.WriteString(p.w, b.String())
	}
}

// Command writes an item that is a shell's command. Where it does not fit, it is continued as the
// shell reads it: with a backslash, between words.
func (p *Printer) Command(name, command string) {
	p.lines(fmt.Sprintf("  %-9s  ", name), strings.Repeat(" ", NameColumns), p.continued(NameColumns, command))
}

// Shell is Command for one that stands alone, that far in.
func (p *Printer) Shell(indent int, command string) {
	p.lines(strings.Repeat(" ", indent), strings.Repeat(" ", indent), p.continued(indent, command))
}

func (p *Printer) continued(indent int, command string) []string {
	command = OneLine(command)
	if indent+columns(command) <= p.columns {
		return []string{command}
	}
	var lines []string
	line := ""
	for _, word := range shellWords(command) {
		if line != "" && indent+columns(line)+1+columns(word)+2 > p.columns {
			lines = append(lines, line+` \`)
			line = "  " + word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// shellWords are the words of a command, their quotes kept.
func shellWords(command string) []string {
	var words []string
	quoted, escaped := false, false
	begin := 0
	for i := range len(command) {
		switch c := command[i]; {
		case escaped:
			escaped = false
		case c == '\\' && !quoted:
			escaped = true
		case c == '\'':
			quoted = !quoted
		case c == ' ' && !quoted:
			if i > begin {
				words = append(words, command[begin:i])
			}
			begin = i + 1
		}
	}
	if begin < len(command) {
		words = append(words, command[begin:])
	}
	return words
}

// wrap breaks a text at blanks into lines of at most so many columns, the first and the others.
// There is always a line. Two blanks in a row stay two.
func wrap(text string, first, rest int) []string {
	if columns(text) <= first {
		return []string{text}
	}
	var lines []string
	line, room := "", first
	for len(text) > 0 {
		blanks := len(text) - len(strings.TrimLeft(text, " "))
		word := firstWord(text[blanks:])
		if line != "" && columns(line)+blanks+columns(word) > room {
			lines = append(lines, strings.TrimRight(line, " "))
			line, room = word, rest
		} else {
			line += text[:blanks] + word
		}
		text = text[blanks+len(word):]
	}
	return append(lines, line)
}

// firstWord is what a text has up to its first blank; a number and its unit of bytes stay together.
func firstWord(text string) string {
	for i := range len(text) {
		if text[i] == ' ' && !(i > 0 && isDigit(text[i-1]) && beginsWithUnit(text[i+1:])) {
			return text[:i]
		}
	}
	return text
}

func beginsWithUnit(text string) bool {
	if len(text) > 1 && strings.IndexByte("KMGT", text[0]) >= 0 && text[1] == 'i' {
		text = text[2:]
	}
	behind, ok := strings.CutPrefix(text, "B")
	return ok && (behind == "" || !isDigit(behind[0]) && !isLetter(behind[0]))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }

// columns is how many columns a text takes.
func columns(s string) int { return utf8.RuneCountInString(s) }

// OneLine keeps a text on one line and as it looks: line ends, control characters, blanks of no
// width, those that turn the direction of writing and those that are none (U+FFFE and the like) are
// replaced.
func OneLine(s string) string {
	plain := true
	for i := range len(s) {
		plain = plain && s[i] >= ' ' && s[i] <= '~'
	}
	if plain {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '\u2028' || r == '\u2029' ||
			r&0xfffe == 0xfffe {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}
