package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/internal/cli"
)

// TestFewestInWords: the first line says how many GPUs it takes, that none of them are enough, or
// that this is unknown.
func TestFewestInWords(t *testing.T) {
	for _, c := range []struct {
		found fitWorldJSON
		want  string
		exit  int
	}{
		{fitWorldJSON{Fewest: 8, last: 16}, "m: the fewest GPUs on which it fits: 8", cli.ExitOK},
		{fitWorldJSON{Before: &nextJSON{}, last: 16}, "m: it does not fit even on 16 GPUs", cli.ExitBroken},
		{fitWorldJSON{Before: &nextJSON{Unsure: true}, last: 16}, "m: whether it fits on 16 GPUs is unknown",
			cli.ExitUnsure},
	} {
		var b strings.Builder
		require.NoError(t, c.found.write(&b, "m", &cli.Subject{}))
		first, _, _ := strings.Cut(b.String(), "\n")
		assert.Equal(t, c.want, first)
		assert.Equal(t, c.exit, c.found.exit(), c.want)
	}
}
