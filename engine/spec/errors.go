package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one thing wrong with a memspec.yaml.
type Error struct {
	Pos Pos
	Msg string
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Msg }

// Errors are all of them, by position.
type Errors []*Error

// maxShown bounds the text of many errors; the value has them all.
const maxShown = 50

func (es Errors) Error() string {
	lines := make([]string, 0, min(len(es), maxShown)+1)
	for i, e := range es {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("… and %d more", len(es)-maxShown))
			break
		}
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

// sorted orders errors by position and drops those said twice.
func (es Errors) sorted() Errors {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return slices.CompactFunc(es, func(a, b *Error) bool { return *a == *b })
}
