package format

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

// Plot draws a case's timeline as text, as wide as w is: allocated as bars, reserved and limits as
// lines, the phases below. A column is a stretch of events, of which it shows the highest. Limits
// far above the run are reported below the picture.
func Plot(w io.Writer, c *Case) error {
	if c.Timeline == nil || len(c.Timeline.Trace.Events) == 0 {
		return nil
	}
	pts := points(c.Timeline)
	p := &plot{columns: max(20, layout.Columns(w)-plotLabels-3)}
	p.gather(pts)
	if p.top == 0 {
		return nil
	}
	var above []string
	for _, l := range limits(c) {
		if l.Bytes > p.top*5/2 {
			above = append(above, l.Name+" "+l.Bytes.String())
			continue
		}
		p.limits = append(p.limits, l)
	}
	for _, l := range p.limits {
		p.top = max(p.top, l.Bytes)
	}
	var b strings.Builder
	p.draw(&b)
	p.phases(&b, bands(c, len(pts)), len(pts))
	b.WriteString(strings.Repeat(" ", plotLabels+3) + "█ allocated  ─ reserved")
	if len(p.limits) > 0 {
		b.WriteString("  ╌ limit")
	}
	b.WriteByte('\n')
	if len(above) > 0 {
		fmt.Fprintf(&b, "%s above the picture: %s\n", strings.Repeat(" ", plotLabels+2), strings.Join(above, ", "))
	}
	if c.Limit > 0 {
		fmt.Fprintf(&b, "%s device: its memory less what the CUDA context takes\n", strings.Repeat(" ", plotLabels+2))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// The size of a plot, with the labels to its left.
const (
	plotRows   = 12
	plotLabels = 22
)

type plot struct {
	columns             int
	allocated, reserved []units.Bytes // the highest of each column
	top                 units.Bytes
	limits              []pictureLine
}

func (p *plot) gather(pts []point) {
	p.allocated, p.reserved = make([]units.Bytes, p.columns), make([]units.Bytes, p.columns)
	for x := range p.columns {
		first := x * len(pts) / p.columns
		for _, now := range pts[first:max(first+1, (x+1)*len(pts)/p.columns)] {
			p.allocated[x] = max(p.allocated[x], now.Allocated)
			p.reserved[x] = max(p.reserved[x], now.Reserved)
		}
		p.top = max(p.top, p.reserved[x])
	}
}

// row is the row of a size, the lowest first.
func (p *plot) row(b units.Bytes) int {
	return min(plotRows-1, int(float64(b)/float64(p.top)*plotRows))
}

// eighths are the bars that fill a part of a cell.
var eighths = []rune(" ▁▂▃▄▅▆▇█")

func (p *plot) cell(x, row int) rune {
	from := float64(p.top) * float64(row) / plotRows
	step := float64(p.top) / plotRows
	fill := int((float64(p.allocated[x]) - from) / step * 8)
	switch {
	case fill >= 8:
		return '█'
	case p.allocated[x] > 0 && p.row(p.allocated[x]) == row:
		return eighths[max(1, fill)]
	case p.reserved[x] > 0 && p.row(p.reserved[x]) == row:
		return '─'
	}
	for _, l := range p.limits {
		if p.row(l.Bytes) == row {
			return '╌'
		}
	}
	return ' '
}

func (p *plot) draw(b *strings.Builder) {
	labels := p.labels()
	for row := plotRows - 1; row >= 0; row-- {
		label := labels[row]
		edge := "│"
		if label != "" {
			edge = "┤"
		}
		var cells strings.Builder
		for x := range p.columns {
			cells.WriteRune(p.cell(x, row))
		}
		fmt.Fprintf(b, "  %*s%s%s\n", plotLabels, label, edge, strings.TrimRight(cells.String(), " "))
	}
}

// labels name the rows of the limits and of the peaks; of two in one row the larger goes to the
// free row above it.
func (p *plot) labels() [plotRows]string {
	var out [plotRows]string
	marks := append([]pictureLine{{Name: "reserved", Bytes: slices.Max(p.reserved)},
		{Name: "allocated", Bytes: slices.Max(p.allocated)}}, p.limits...)
	slices.SortStableFunc(marks, func(x, y pictureLine) int { return int(min(1, max(-1, x.Bytes-y.Bytes))) })
	next := 0
	for i, m := range marks {
		row := max(next, p.row(m.Bytes))
		row = min(row, plotRows-len(marks)+i) // leave room for those above
		if of, budget := strings.CutPrefix(m.Name, "budget "); budget {
			out[row] = of + " ≤ " + m.Bytes.String()
		} else {
			out[row] = m.Name + " " + m.Bytes.String()
		}
		next = row + 1
	}
	return out
}

// phases writes where each pass begins, and below it where the phases of passes that have several
// begin; a name that does not fit is left out.
func (p *plot) phases(b *strings.Builder, all []band, events int) {
	line := []rune(strings.Repeat("─", p.columns))
	names := map[bandKind][]rune{passBand: []rune(strings.Repeat(" ", p.columns))}
	free := map[bandKind]int{}
	for _, s := range all {
		if s.Kind > phaseBand {
			continue
		}
		if names[s.Kind] == nil {
			names[s.Kind] = []rune(strings.Repeat(" ", p.columns))
		}
		x, end := s.First*p.columns/events, (s.Last+1)*p.columns/events
		if x > 0 {
			line[min(x, p.columns-1)] = '┴'
		}
		if n := utf8.RuneCountInString(s.Name); x >= free[s.Kind] && x+n <= max(end, x+1) && x+n <= p.columns {
			copy(names[s.Kind][x:], []rune(s.Name))
			free[s.Kind] = x + n + 1
		}
	}
	fmt.Fprintf(b, "  %*s└%s\n", plotLabels, "0 B", string(line))
	for kind := passBand; kind <= phaseBand && names[kind] != nil; kind++ {
		fmt.Fprintf(b, "  %*s %s\n", plotLabels, "", strings.TrimRight(string(names[kind]), " "))
	}
}

// limits are a case's budgets on what a timeline shows, and what the device has.
func limits(c *Case) []pictureLine {
	out := []pictureLine{}
	for _, f := range c.Figures {
		if f.Limit != nil && f.Moment == "" && (f.Metric == report.Allocated || f.Metric == report.Reserved) {
			out = append(out, pictureLine{"budget " + string(f.Metric), string(f.Metric), *f.Limit})
		}
	}
	if c.Limit > 0 {
		out = append(out, pictureLine{"device", "reserved", c.Limit})
	}
	return out
}
