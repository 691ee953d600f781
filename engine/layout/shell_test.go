package layout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/layout"
)

func TestShellQuote(t *testing.T) {
	for word, want := range map[string]string{"it's": `'it'\''s'`, "": `''`, "a b": `'a b'`, "dir/m.pt": "dir/m.pt",
		"$HOME": `'$HOME'`} {
		assert.Equal(t, want, layout.ShellQuote(word))
	}
}

func TestShellCommandLeavesItsWordsAlone(t *testing.T) {
	words := []string{"memspec", "it's"}
	assert.Equal(t, `memspec 'it'\''s'`, layout.ShellCommand(words))
	assert.Equal(t, []string{"memspec", "it's"}, words)
}
