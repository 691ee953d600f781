package spec

import "github.com/memspec/memspec/engine/internal/nearest"

// Nearest is the candidate most like a word, "" if none is like it: what a message proposes.
func Nearest(word string, candidates []string) string { return nearest.Word(word, candidates) }
