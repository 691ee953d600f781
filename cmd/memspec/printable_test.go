package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ in, want, reason string }{
		{"a\tb\nc ×2 …\n", "a\tb\nc ×2 …\n", "lines, columns and letters of any language stay"},
		{"a\x1b[31mb", "a\uFFFD[31mb", "an escape sequence is no more than its letters"},
		{"a\rb\x00\x7f", "a\uFFFDb\uFFFD\uFFFD", "what hides or ends a line otherwise"},
		{"a\u009b31m", "a\uFFFD31m", "the one-letter form of an escape"},
	} {
		var b strings.Builder
		n, err := printable{&b, &b, 80, new(error)}.Write([]byte(c.in))
		require.NoError(t, err, c.reason)
		assert.Equal(t, len(c.in), n, c.reason)
		assert.Equal(t, c.want, b.String(), c.reason)
	}
}
