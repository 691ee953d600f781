package pysource

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestLogicalLines: a line goes on within brackets and strings and behind a backslash; comments and
// blank lines are none.
func TestLogicalLines(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"a = 1\nb = 2\n", []string{"a = 1", "b = 2"}},
		{"a = 1 + \\\n  2\nb\n", []string{"a = 1 + \\\n  2", "b"}},
		{"a = (1,\n  2)\nb\n", []string{"a = (1,\n  2)", "b"}},
		{"a = \"x # y\"  # z\n\n  # none\n  b\n", []string{"a = \"x # y\"", "b"}},
		{"a = \\", []string{"a = \\"}},
		{"a", []string{"a"}},
		{"", nil},
	} {
		var got []string
		for _, l := range logicalLines(tt.text) {
			got = append(got, tt.text[l.start:l.end])
		}
		assert.Equal(t, tt.want, got, "%q", tt.text)
	}
}
