package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct {
		in, want, reason string
		actions          bool
	}{
		{in: "a\tb\nc ×2 …\n", want: "a\tb\nc ×2 …\n", reason: "lines, columns and letters of any language stay"},
		{in: "a\x1b[31mb", want: "a\uFFFD[31mb", reason: "an escape sequence is no more than its letters"},
		{in: "a\rb\x00\x7f", want: "a\uFFFDb\uFFFD\uFFFD", reason: "what hides or ends a line otherwise"},
		{in: "a\u009b31m", want: "a\uFFFD31m", reason: "the one-letter form of an escape"},
		{in: "a\u200bb", want: "a\uFFFDb", reason: "a blank of no width"},
		{in: "a\u202eb\u2066\u061c\u200f", want: "a\uFFFDb\uFFFD\uFFFD\uFFFD", reason: "marks of direction"},
		{in: "a\u2028b\u2029", want: "a\uFFFDb\uFFFD", reason: "other ends of lines"},
		{in: "x ##[error]y", want: "x ##[error]y", reason: "the runner's form of a command, elsewhere"},
		{in: "x ##[error]y", want: "x ##\u200b[error]y", reason: "the runner takes it for a command", actions: true},
	} {
		var b strings.Builder
		n, err := Printable{w: &b, raw: &b, columns: 80, Failed: new(error), actions: c.actions}.Write([]byte(c.in))
		require.NoError(t, err, c.reason)
		assert.Equal(t, len(c.in), n, c.reason)
		assert.Equal(t, c.want, b.String(), c.reason)
	}
}
