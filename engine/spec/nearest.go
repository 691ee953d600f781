package spec

import (
	"maps"
	"slices"

	"github.com/memspec/memspec/engine/internal/nearest"
)

func sortedKeys(m map[string]int64) []string { return slices.Sorted(maps.Keys(m)) }

// Nearest is the candidate most like a word, "" if none is like it: what a message proposes.
func Nearest(word string, candidates []string) string { return nearest.Word(word, candidates) }
