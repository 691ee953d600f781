// Package nearest finds what a misspelt word may have meant: "did you mean".
package nearest

// Word is the candidate most like a word, "" if none is like it: at most a third of its letters
// differ. The first of equals wins.
func Word(word string, candidates []string) string {
	best, bestDist := "", max(len(word)/3, 1)+1
	for _, c := range candidates {
		if d := Edits(word, c); d < bestDist && d < max(len(word), len(c)) {
			best, bestDist = c, d
		}
	}
	return best
}

// maxWord is the longest word that is compared.
const maxWord = 64

// Edits is how many letters to add, drop, change or swap with their neighbour (optimal string
// alignment, in bytes). Words of more than 64 bytes have nothing in common.
func Edits(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return max(len(a), len(b))
	}
	var rows [maxWord + 1][maxWord + 1]int
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
