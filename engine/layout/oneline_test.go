package layout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/layout"
)

// What would end a line, or make a text look other than it is, is replaced; all else stays.
func TestOneLine(t *testing.T) {
	const none = "\uFFFD"
	for _, c := range []struct{ why, in, want string }{
		{"plain text", "a ~b", "a ~b"},
		{"letters of any language, and what is drawn in several", "é 漢 👩‍👧", "é 漢 👩‍👧"},
		{"at the beginning and at the end", "\x07a", none + "a"},
		{"at the end alone", "a\x07", "a" + none},
		{"alone", "\x1f", none},
		{"the end of a line", "a\nb\r\tc", "a" + none + "b" + none + none + "c"},
		{"a control character of the first 128", "a\x1bb\x7f", "a" + none + "b" + none},
		{"one of the next 128", "a\u0085b", "a" + none + "b"},
		{"what turns the direction", "a\u202eb\u2066c", "a" + none + "b" + none + "c"},
		{"a line's and a paragraph's end in Unicode", "a\u2028b\u2029c", "a" + none + "b" + none + "c"},
		{"what is no character", "a\ufffeb\U0001ffffc", "a" + none + "b" + none + "c"},
		{"what is nearly that", "a\ufffcb", "a\ufffcb"},
		{"bytes that are no UTF-8", "a\xffb", "a" + none + "b"},
	} {
		assert.Equal(t, c.want, layout.OneLine(c.in), c.why)
	}
}
