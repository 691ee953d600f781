package layout

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOneLine: what ends a line, has no width, turns the direction of writing or is no character is
// shown as such; what stands beside it stays.
func TestOneLine(t *testing.T) {
	const gone = "\x00\n\r\t\x1b\x7f\u0085\u009f\u061c\u200b\u200e\u202a\u202e\u2028\u2029\u2066\u2069" +
		"\ufffe\uffff\U0001fffe\U0010ffff"
	for _, r := range gone {
		assert.Equal(t, "a\uFFFDb", OneLine("a"+string(r)+"b"), "%U", r)
	}
	assert.Equal(t, "a\uFFFDb", OneLine("a\xffb"))
	for _, r := range " !~é\u00a0\u061b\u200a\u200c\u200d\u2027\u202f\u2065\u206a\ufffd\ufffcא\U0001fffd😀" {
		assert.Equal(t, "a"+string(r)+"b", OneLine("a"+string(r)+"b"), "%U", r)
	}
}

// TestWordsOfACellThatStayWhole: paths of files, and short words without a place to break them.
func TestWordsOfACellThatStayWhole(t *testing.T) {
	for cell, want := range map[string]int{
		"": 0, "a": 1, "twelve_chars": 0, "twelveletter": 12, "thirteenchars": 0, "train.py": 8, "train.py:1234": 13,
		"train.pyc:12": 0, "a/much/longer/path:12": 21, "a.b": 0, "layers.0": 0, "key:a/b": 0, "key:x.py": 0,
		"activations ×2": 11, "x yy é": 2,
	} {
		assert.Equal(t, want, wholeWord(cell), cell)
	}
}

// TestWrap: a text breaks at the blanks that fit the most, by the width of the first line and of
// the others; the blanks at a break go, others stay.
func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text        string
		first, rest int
		want        string // lines
	}{
		{"", 3, 3, ""}, {"abc", 3, 3, "abc"}, {"abcd", 3, 3, "abcd"}, {"a b", 3, 3, "a b"}, {"a b", 2, 3, "a|b"},
		{"a b c", 3, 3, "a b|c"}, {"a b c", 3, 1, "a b|c"}, {"ab c d", 2, 3, "ab|c d"}, {"ab c d", 4, 1, "ab c|d"},
		{"a  b c", 4, 9, "a  b|c"}, {"a  b c", 3, 9, "a|b c"}, {" a b", 3, 9, " a|b"}, {"a bcdef g", 3, 4, "a|bcdef|g"},
		{"a b ", 3, 3, "a b|"}, {"abcd e", 2, 6, "abcd|e"}, {"é é é", 3, 3, "é é|é"}, {"5 MiB 6 MiB", 6, 6, "5 MiB|6 MiB"},
		{"a b", 0, 1, "a|b"},
	} {
		assert.Equal(t, tt.want, strings.Join(wrap(tt.text, tt.first, tt.rest), "|"), "%q at %d, %d", tt.text, tt.first,
			tt.rest)
	}
}

// TestContinued: a command goes on in the next line where a word does not fit before the backslash.
func TestContinued(t *testing.T) {
	const command = "run  'a b' c\\ d 'it'\\''s' --option"
	for width, want := range map[int]string{
		34: command,
		33: `run 'a b' c\ d 'it'\''s' \|  --option`,
		26: `run 'a b' c\ d 'it'\''s' \|  --option`,
		25: `run 'a b' c\ d \|  'it'\''s' --option`,
		22: `run 'a b' c\ d \|  'it'\''s' --option`,
		21: `run 'a b' c\ d \|  'it'\''s' \|  --option`,
		16: `run 'a b' c\ d \|  'it'\''s' \|  --option`,
		15: `run 'a b' \|  c\ d \|  'it'\''s' \|  --option`,
		1:  `run \|  'a b' \|  c\ d \|  'it'\''s' \|  --option`,
	} {
		p := &Printer{columns: width + 2}
		assert.Equal(t, want, strings.Join(p.continued(2, command), "|"), width)
	}
}

// TestWrapCell: a word that is too long for its column breaks behind the last mark in its second
// half, else anywhere.
func TestWrapCell(t *testing.T) {
	for _, tt := range []struct {
		cell  string
		width int
		want  string
	}{
		{"abcd", 4, "abcd"}, {"abcde", 4, "abcd|e"}, {"ab.cde", 4, "ab.|cde"}, {"a.bcde", 4, "a.bc|de"}, {"abc.de", 4, "abc.|de"},
		{"abcd.e", 5, "abcd.|e"}, {"ab.cdef", 5, "ab.|cdef"}, {"a.bcdef", 5, "a.bcd|ef"}, {"a.b.c.d", 4, "a.b.|c.d"},
		{"a/b:c_d-e,f", 6, "a/b:c_|d-e,f"}, {"ab cdefgh", 3, "ab|cde|fgh"}, {"abc", 0, "abc"}, {"ééé", 2, "éé|é"},
		{"abc", 1, "a|b|c"},
	} {
		assert.Equal(t, tt.want, strings.Join(wrapCell(tt.cell, tt.width), "|"), "%q at %d", tt.cell, tt.width)
	}
}

// TestNumbersWithTheirUnits: letters of either case, digits and _ end a unit of bytes.
func TestNumbersWithTheirUnits(t *testing.T) {
	for text, want := range map[string]bool{
		"B": true, "KiB": true, "MiB": true, "GiB": true, "TiB": true, "B,": true, "B)": true, "MiB of": true, "B@": true,
		"B[": true, "B`": true, "B{": true, "Ba": false, "Bz": false, "BA": false, "BZ": false, "B_": false, "B0": false,
		"B9": false, "PiB": false, "kiB": false, "MB": false, "Mi": false, "K": false, "": false, "b": false, "B/": true,
		"B:": true,
	} {
		assert.Equal(t, want, beginsWithUnit(text), text)
	}
}
