package suite

import (
	"cmp"
	"io"
	"slices"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// writeBroken writes the part of the account that the broken metric is about: weights by parameter,
// reserved memory by where it grew and what of it is free, a total by its two parts. The holders of
// the allocated peak stand for the others.
func (r *Result) writeBroken(w io.Writer, rows int) error {
	p := layout.To(w)
	f := r.worst()
	if f == nil || r.Run == nil {
		return report.WriteAccount(w, r.Report, rows)
	}
	switch f.Metric {
	case report.Weights:
		r.writeParameters(p, rows)
		return p.Err
	case report.HostPinned:
		p.Item("host pinned", "%s, each block a power of two; who pinned it is not recorded", report.Both(f.Predicted))
		return p.Err
	case report.FirstCall:
		if r.Report.FirstCall != nil {
			p.Item("first call", "%s; who holds the peak of the later calls:", report.Both(f.Predicted))
		}
	case report.Total:
		if c := r.Report.Context; c != nil {
			cost := c.Low.String()
			if c.Low != c.High {
				cost += " to " + c.High.String()
			}
			if n := r.Report.NCCL; n != nil {
				cost += " of the context, " + n.Low.String()
				if n.Low != n.High {
					cost += " to " + n.High.String()
				}
				p.Item("total", "%s of NCCL and %s reserved", cost, r.Report.Peak.Reserved)
			} else {
				p.Item("total", "%s of the context and %s reserved", cost, r.Report.Peak.Reserved)
			}
		}
		fallthrough
	case report.Reserved:
		r.writeSegments(p)
	}
	if p.Err != nil {
		return p.Err
	}
	return report.WriteAccount(w, r.Report, rows)
}

// writeParameters writes the largest parameters and buffers, and how much they are together.
func (r *Result) writeParameters(p *layout.Printer, rows int) {
	kept := slices.DeleteFunc(slices.Clone(r.Report.Holders), func(h report.Holder) bool {
		return h.Category != "parameter" && h.Category != "buffer" && h.Category != "constant"
	})
	slices.SortStableFunc(kept, func(a, b report.Holder) int { return cmp.Compare(b.Flat, a.Flat) })
	p.Line("  weights, the largest first:")
	t := layout.NewTable("rrll")
	t.Add("flat", "cum", "name", "what")
	var sum units.Bytes
	for i, h := range kept {
		if rows > 0 && i == rows {
			break
		}
		sum += h.Flat
		t.Add(h.Flat.String(), sum.String(), h.Op, h.Category)
	}
	p.Table(4, t)
	if more := len(kept) - rows; rows > 0 && more > 0 {
		p.Line("    … %d more (-v)", more)
	}
}

// mostGrowths is how many of the moments at which reserved memory grew are reported: the last ones.
const mostGrowths = 3

// writeSegments writes what the reserved memory is made of at its peak, and where it grew last.
func (r *Result) writeSegments(p *layout.Printer) {
	tl := r.Run.Timeline
	type growth struct {
		event    int
		by, then units.Bytes
	}
	var grew []growth
	var last units.Bytes
	peak := tl.Peaks.Reserved.Event
	tl.Each(func(event int, s allocator.Stats) bool {
		if s.Reserved > last {
			grew = append(grew, growth{event, s.Reserved - last, s.Reserved})
		}
		last = s.Reserved
		return event < peak
	})
	at, _ := tl.At(peak)
	var used, largest units.Bytes
	for _, s := range at.Segments {
		for _, b := range s.Blocks {
			if b.State == trace.Inactive {
				largest = max(largest, b.Size)
			} else {
				used += b.Size
			}
		}
	}
	p.Item("segments", "%d when the peak is reached, %s of them in use, the largest free block %s", len(at.Segments),
		used, largest)
	for i := range min(len(grew), mostGrowths) {
		g := grew[len(grew)-1-i]
		name := "grew"
		if i > 0 {
			name = ""
		}
		p.Item(name, "by %s to %s at %s", g.by, g.then, report.MomentOf(tl.Trace, g.event))
	}
}
