package device

import "strings"

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
			if d := edits(name, n); d < bestDist {
				out, bestDist = []string{table[i].Name}, d
			}
		}
	}
	return out
}

// edits is how many letters to add, drop, change or swap with their neighbour (optimal string alignment, in bytes).
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	var rows [65][65]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		rows[i][0] = i
		for j := 1; j <= len(b); j++ {
			d := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				d++
			}
			d = min(d, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
