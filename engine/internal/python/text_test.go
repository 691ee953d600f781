package python

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestScanTop: places outside of brackets, strings and comments are asked, and none behind the text.
func TestScanTop(t *testing.T) {
	for _, c := range []struct {
		text, asked string
	}{
		{"ab", "ab"}, {"a(b)c", "a(c"}, {"a[b{c}]d", "a[d"}, {`a"b"c`, "ac"}, {"a'b'c", "ac"}, {"a#b\nc", "a\nc"}, {"", ""},
	} {
		var asked []byte
		assert.Equal(t, -1, ScanTop(c.text, func(i int) bool {
			asked = append(asked, c.text[i])
			return false
		}), c.text)
		assert.Equal(t, c.asked, string(asked), c.text)
	}
	assert.Equal(t, 4, ScanTop("a(b)b", func(i int) bool { return "a(b)b"[i] == 'b' }))
}
