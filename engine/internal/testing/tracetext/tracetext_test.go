package tracetext_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/tracetext"
)

// TestParse: what a trace prints is read as that trace.
func TestParse(t *testing.T) {
	const text = `heap 0x200000 2MiB small stream=1
block 512 active_allocated requested=500
block 1KiB active_awaiting_free a requested=700
block 2095616 inactive
free_completed a
b = alloc 300 activation aten::mm fc m.py:7
free b
`
	tr, err := tracetext.Parse(strings.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, tr.Validate())
	assert.Equal(t, text, tr.String())
	var at []uint64
	for _, b := range tr.Heap[0].Blocks {
		at = append(at, b.Addr)
	}
	assert.Equal(t, []uint64{0x200000, 0x200200, 0x200600}, at, "blocks lie side by side")
}

// TestParseErrors: an error has the number of its line.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a = alloc 1\n\nwhat b":      `line 3: got "what"`,
		"alloc 512":                  `line 1: got "alloc", want a storage with =`,
		"heap 0x200 512 quick":       `line 1: got "quick", want small or expandable`,
		"a = alloc 1 x.pt m n m.py":  "line 1: got \"x.pt\", want a category",
		"heap 0x200 1\nblock 1 lost": `line 2: got "lost", want a block's state`,
	} {
		_, err := tracetext.Parse(strings.NewReader(text))
		assert.ErrorContains(t, err, want, text)
	}
}
