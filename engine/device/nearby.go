package device

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/nearest"
)

// nearby are the names that a name may have meant: those that it begins ("a100"), else the one most like it, if any is within a third of
// its length in edits.
func nearby(name string) []string {
	var out []string
	for i := range table {
		if name != "" && strings.HasPrefix(table[i].Name, name+"-") {
			out = append(out, table[i].Name)
		}
	}
	if len(out) > 0 {
		return out
	}
	bestDist := len(name)/3 + 1
	for i := range table {
		for _, n := range append([]string{table[i].Name}, table[i].Aliases...) {
			if d := nearest.Edits(name, n); d < bestDist {
				out, bestDist = []string{table[i].Name}, d
			}
		}
	}
	return out
}
