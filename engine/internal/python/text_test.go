package python

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestScanTop: places outside of brackets, strings and comments are asked, and none behind the
// text.
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

func TestWords(t *testing.T) {
	for _, c := range []struct {
		text, first string
		name        bool
	}{
		{"", "", false}, {"a", "a", true}, {"_b2", "_b2", true}, {"é_", "é_", true}, {"2b", "2b", false}, {"a.b", "a", false},
		{"a b", "a", false}, {".a", "", false}, {"\x80", "\x80", true}, {"\x7f", "", false}, {"a\x80b", "a\x80b", true},
	} {
		assert.Equal(t, c.first, FirstWord(c.text), c.text)
		assert.Equal(t, c.name, IsName(c.text), c.text)
	}
}

func TestSkipString(t *testing.T) {
	for text, want := range map[string]int{
		`'a'b`: 3, `"a'"b`: 4, `'a\'b'c`: 6, `''a`: 2, `'a`: 2, `'a\`: 3, "'a\nb'": 3, `'`: 1, `''`: 2,
		`'''a'b''c'''d`: 12, `"""a"""`: 7, `'''a`: 4, `'''`: 3, `'''a''`: 6, `"""'''"""x`: 9, `''''''a`: 6, `"""""""`: 6,
	} {
		assert.Equal(t, want, SkipString(text, 0), text)
	}
	assert.Equal(t, 5, SkipString(`x = ''`, 4)-1)
	assert.Equal(t, 12, SkipString(`x = '''a''' `, 4)+1)
}
