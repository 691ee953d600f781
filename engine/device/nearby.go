package device

// nearby is the row or alias most like a name, if any is like it: within a third of its length in edits.
func nearby(name string) string {
	best, bestDist := "", len(name)/3+1
	for i := range table {
		for _, n := range append([]string{table[i].Name}, table[i].Aliases...) {
			if d := edits(name, n); d < bestDist {
				best, bestDist = table[i].Name, d
			}
		}
	}
	return best
}

// edits is the Levenshtein distance in bytes.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
