package exec

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCheckAsked: each assumption must be about a line that a size or a loop asks for.
func TestCheckAsked(t *testing.T) {
	asked := func(lines ...string) map[string]bool {
		out := map[string]bool{}
		for _, l := range lines {
			out[l] = true
		}
		return out
	}
	for _, tt := range []struct {
		why    string
		assume map[string]int64
		asked  map[string]bool
		want   string
	}{
		{"none, and nothing asks", nil, nil, ""},
		{"none", nil, asked("a:1"), ""},
		{"each", map[string]int64{"a:1": 3, "b:2": 4}, asked("b:2", "a:1", "c:3"), ""},
		{"nothing asks", map[string]int64{"a:1": 3}, nil, "assume: got the place a:1, want none: no size and no loop " +
			"depends on tensor data"},
		{"the second is of another line", map[string]int64{"a:1": 3, "b:2": 4}, asked("c:3", "a:1"),
			"assume: got the place b:2, want one where a size or a loop depends on tensor data: a:1, c:3"},
		{"of two the first is reported", map[string]int64{"b:2": 4, "a:1": 3}, asked("c:3"),
			"assume: got the place a:1, want one where a size or a loop depends on tensor data: c:3"},
	} {
		got := ""
		if err := checkAsked(tt.assume, tt.asked); err != nil {
			got = err.Error()
		}
		assert.Equal(t, tt.want, got, tt.why)
	}
}
