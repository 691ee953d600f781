package spec

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestQuoted: a text as Python writes it, whatever it holds.
func TestQuoted(t *testing.T) {
	for text, want := range map[Str]string{
		"": `''`, "a b": `'a b'`, `it's`: `'it\'s'`, `a\b`: `'a\\b'`, "a\nb": `'a\nb'`, "a\tb": `'a\tb'`, "a\rb": `'a\rb'`,
		`\'`: `'\\\''`, `"`: `'"'`,
	} {
		assert.Equal(t, want, text.String())
	}
}
