package nearest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/nearest"
)

func TestWord(t *testing.T) {
	keys := []string{"allocated", "reserved", "total", "t4", "a10g"}
	for _, c := range []struct{ word, want, reason string }{
		{"allocted", "allocated", "a letter is missing"},
		{"alloctaed", "allocated", "two neighbours are swapped: one edit"},
		{"reservd", "reserved", "a letter is missing"},
		{"totals", "total", "a letter too many"},
		{"gpu", "", "nothing is like it"},
		{"x", "", "one letter, and all of it differs"},
		{"", "", "no word"},
		{strings.Repeat("a", 100), "", "longer than any word that is compared"},
	} {
		assert.Equal(t, c.want, nearest.Word(c.word, keys), c.reason)
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b   string
		want   int
		reason string
	}{
		{"", "", 0, "nothing to do"},
		{"", "abc", 3, "three to add"},
		{"abc", "abc", 0, "the same"},
		{"abc", "acb", 1, "neighbours are swapped"},
		{"ca", "abc", 3, "a swapped pair is not edited again"},
		{"kitten", "sitting", 3, "two changed, one added"},
	} {
		assert.Equal(t, c.want, nearest.Edits(c.a, c.b), c.reason)
		assert.Equal(t, c.want, nearest.Edits(c.b, c.a), "the other way: "+c.reason)
	}
}
