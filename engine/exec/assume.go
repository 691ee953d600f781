package exec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What assume: in memspec.yaml states of tensor data: a size, or how often a loop runs, by the user's file and line.

// assumed is what the case states of the current place.
func (m *machine) assumed() (int64, bool) {
	if m.site < 0 {
		return 0, false
	}
	place := placeOf(m.tr.Sites[m.site])
	if m.asked == nil {
		m.asked = map[string]bool{}
	}
	m.asked[place] = true
	n, ok := m.o.Assume[place]
	return n, ok
}

// unasked refuses an assumption on a place where nothing depends on tensor data: a line that moved would pass unnoticed.
func unasked(assume map[string]int64, asked map[string]bool) error {
	for _, place := range slices.Sorted(maps.Keys(assume)) {
		if asked[place] {
			continue
		}
		if len(asked) == 0 {
			return fmt.Errorf("assume: got the place %s, want none: no size and no loop depends on tensor data", place)
		}
		return fmt.Errorf("assume: got the place %s, want one where a size or a loop depends on tensor data: %s", place,
			strings.Join(slices.Sorted(maps.Keys(asked)), ", "))
	}
	return nil
}
