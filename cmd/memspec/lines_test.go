package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/units"
)

func TestLinesThatAreNotShownAreSummed(t *testing.T) {
	lines := []*heldLine{
		{location: untraced, mem: 4 * units.MiB, blocks: []units.Bytes{units.MiB, 3 * units.MiB}},
		{location: "net.py:7", ops: []string{"a", "b", "c", "d", "e"}, mem: 3 * units.MiB, blocks: []units.Bytes{2 * units.MiB, units.MiB}},
		{location: "net.py:8", mem: units.MiB, blocks: []units.Bytes{units.MiB}},
		{location: "net.py:9", mem: 512, blocks: []units.Bytes{512}},
	}
	var b strings.Builder
	require.NoError(t, writeLines(&b, lines, 2))
	assert.Equal(t, `      Mem  Cumulative Mem   Median  Count  Location
  4.0 MiB         4.0 MiB                  untraced
  3.0 MiB         7.0 MiB  1.5 MiB      2  net.py:7 (a, b, c, 2 more)
  … 2 more, 1.0 MiB (-v)
`, b.String())
	b.Reset()
	require.NoError(t, writeLines(&b, lines, 0))
	assert.NotContains(t, b.String(), "-v")
	assert.Equal(t, 5, strings.Count(b.String(), "\n"))
}

func TestMedianOfBlocks(t *testing.T) {
	for _, c := range []struct {
		blocks []units.Bytes
		want   units.Bytes
	}{{[]units.Bytes{5}, 5}, {[]units.Bytes{9, 1, 2}, 2}, {[]units.Bytes{4, 1, 2, 100}, 3}} {
		l := heldLine{blocks: c.blocks}
		assert.Equal(t, c.want, l.median())
	}
}
