package layout

import (
	"io"
	"strings"
)

// A Table is rows of cells. Columns of numbers stand to the right; where a row is wider than the
// page, the widest columns of text give way, and their cells continue on the next line. A path
// stays whole: a row with a longer one is wider than the page.
type Table struct {
	Right []bool // by column
	rows  [][]string
}

// NewTable makes a table with a column for each letter: l for text, r for numbers.
func NewTable(kinds string) *Table {
	t := &Table{Right: make([]bool, len(kinds))}
	for i := range kinds {
		t.Right[i] = kinds[i] == 'r'
	}
	return t
}

// Add adds a row; it has as many cells as the table has columns.
func (t *Table) Add(cells ...string) {
	for i := range cells {
		cells[i] = OneLine(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// gap stands between columns.
const gap = 2

// leastCell is the width that a column of text keeps.
const leastCell = 10

// Table writes a table, that far in.
func (p *Printer) Table(indent int, t *Table) {
	if p.Err != nil {
		return
	}
	width := t.widths(p.columns - indent)
	var b strings.Builder
	for _, row := range t.rows {
		t.row(&b, strings.Repeat(" ", indent), row, width)
	}
	_, p.Err = io.WriteString(p.w, b.String())
}

// widths are the columns' widths within so many columns of the page, as far as columns of text can
// give way.
func (t *Table) widths(page int) []int {
	width, least := make([]int, len(t.Right)), make([]int, len(t.Right))
	total := -gap
	for i := range width {
		least[i] = leastCell
		for _, row := range t.rows {
			width[i] = max(width[i], columns(row[i]))
			least[i] = max(least[i], wholeWord(row[i]))
		}
		total += width[i] + gap
	}
	for total > page {
		widest := -1
		for i, w := range width {
			if !t.Right[i] && w > least[i] && (widest < 0 || w >= width[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		width[widest]--
		total--
	}
	return width
}

// wholeWord is the width of the longest word of a cell that stays whole: a path of a file, so that
// people can click and copy it, and a short word.
func wholeWord(cell string) (most int) {
	const shortWord = 12
	for word := range strings.FieldsSeq(cell) {
		name, _, _ := strings.Cut(word, ":")
		isPath := strings.Contains(name, "/") || strings.HasSuffix(name, ".py")
		if n := columns(word); isPath || n <= shortWord && !strings.ContainsAny(word, breaks) {
			most = max(most, n)
		}
	}
	return most
}

// breaks are the letters behind which a word that is too long goes on in the next line.
const breaks = "./:_-,"

func (t *Table) row(b *strings.Builder, indent string, row []string, width []int) {
	lines := make([][]string, len(row)) // of each cell
	most := 1
	for i, cell := range row {
		lines[i] = wrapCell(cell, width[i])
		most = max(most, len(lines[i]))
	}
	var line strings.Builder
	for n := range most {
		line.Reset()
		line.WriteString(indent)
		for i := range row {
			text := ""
			if n < len(lines[i]) {
				text = lines[i][n]
			}
			if i > 0 {
				line.WriteString(strings.Repeat(" ", gap))
			}
			pad := strings.Repeat(" ", max(0, width[i]-columns(text)))
			if t.Right[i] {
				text = pad + text
			} else {
				text += pad
			}
			line.WriteString(text)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// wrapCell breaks a cell at blanks, and a word that is too long behind a point, a colon or the
// like, else anywhere.
func wrapCell(cell string, width int) []string {
	if width <= 0 || columns(cell) <= width {
		return []string{cell}
	}
	var out []string
	for _, line := range wrap(cell, width, width) {
		for columns(line) > width {
			letters := []rune(line)
			cut := width
			for i := width; i > width/2; i-- {
				if strings.ContainsRune(breaks, letters[i-1]) {
					cut = i
					break
				}
			}
			out = append(out, string(letters[:cut]))
			line = string(letters[cut:])
		}
		out = append(out, line)
	}
	return out
}
