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
		{"reserxxx", "", "three letters of eight are more than a third"},
		{"allocatxxx", "allocated", "three of ten are a third"},
		{"allocaxxxx", "", "four of ten are not"},
		{"t", "t4", "a short word may differ in one letter"},
		{"ab", "", "but not in both"},
		{"toto", "", "one of four letters, not two"},
		{"gotal", "total", "nor of five"},
		{"gota", "", "two of total"},
		{"r9", "", "nor in all of a shorter candidate's"},
		{"gpu", "", "nothing is like it"},
		{"x", "", "one letter, and all of it differs"},
		{"", "", "no word"},
		{strings.Repeat("a", 100), "", "longer than any word that is compared"},
	} {
		assert.Equal(t, c.want, nearest.Word(c.word, keys), c.reason)
	}
}

// Of candidates that are equally like the word, the first wins; a better one wins wherever it
// stands.
func TestFirstOfEquals(t *testing.T) {
	assert.Equal(t, "cat", nearest.Word("cot", []string{"cat", "cut"}))
	assert.Equal(t, "cut", nearest.Word("cot", []string{"cut", "cat"}))
	assert.Equal(t, "total", nearest.Word("total", []string{"totals", "total", "tota"}))
	assert.Equal(t, "", nearest.Word("b", []string{"a"}), "one letter of one is all of it")
	assert.Equal(t, "ab", nearest.Word("ba", []string{"ab"}), "one edit of two letters")
}

// Words of up to 64 bytes are compared.
func TestLongWords(t *testing.T) {
	most := strings.Repeat("a", 64)
	assert.Equal(t, 1, nearest.Edits(most, most[1:]+"b"))
	assert.Equal(t, 64, nearest.Edits(most, ""))
	assert.Equal(t, 65, nearest.Edits(most+"a", most))
	assert.Equal(t, 65, nearest.Edits(most, most+"a"))
	assert.Equal(t, 65, nearest.Edits("a", most+"a"))
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
		{"ab", "ba", 1, "the first two are swapped"},
		{"abcd", "abdc", 1, "and the last two"},
		{"abab", "baba", 2, "two pairs"},
		{"ca", "abc", 3, "a swapped pair is not edited again"},
		{"kitten", "sitting", 3, "two changed, one added"},
	} {
		assert.Equal(t, c.want, nearest.Edits(c.a, c.b), c.reason)
		assert.Equal(t, c.want, nearest.Edits(c.b, c.a), "the other way: "+c.reason)
	}
}
