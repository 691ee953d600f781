package trace

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWords: a word is quoted where a reader of the text would take it apart, take it for something else, or not see it.
func TestWords(t *testing.T) {
	for s, want := range map[string]string{
		"":         `-`,
		"-":        `"-"`,
		"--":       `--`,
		"aten::mm": `aten::mm`,
		"a b":      `"a b"`,
		"a\tb":     `"a\tb"`,
		"a\x00":    `"a\x00"`,
		"!":        `!`, // the first behind a blank
		`a"b`:      `"a\"b"`,
		"#":        `"#"`,
		"a=b":      `"a=b"`,
		"a~":       `a~`, // the last before DEL
		"a\x7f":    `"a\x7f"`,
		"é":        `é`,
		"\u0080":   `"\u0080"`,
		"a\u00a0b": `"a\u00a0b"`, // a blank that cannot be told from others
		"\ufffd":   `"` + "\ufffd" + `"`,
		"é\xff":    `"é\xff"`,
	} {
		p := &printer{}
		p.word(s)
		assert.Equal(t, want, string(p.buf), "%q", s)
	}
}
