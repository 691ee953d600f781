package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// plainPathError says "PATH: no such file or directory" instead of "open PATH: …".
func plainPathError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && err.Error() == pe.Error() {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}

// nearest is the value most like s, "" where none is close: for "did you mean".
func nearest(s string, values []string) string {
	best, at := len(s)/3+2, ""
	for _, v := range values {
		if d := distance(strings.ToLower(s), strings.ToLower(v)); d < best {
			best, at = d, v
		}
	}
	return at
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal = row[j+1]
			row[j+1] = cost
		}
	}
	return row[len(b)]
}
