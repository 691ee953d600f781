package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

type timelineJSON struct {
	Schema int         `json:"schema"`
	Points []pointJSON `json:"points"`
}

// pointJSON is what the allocator holds after an event.
type pointJSON struct {
	Event     int         `json:"event"`
	Action    string      `json:"action"`
	Size      units.Bytes `json:"size"`
	Pass      int         `json:"pass"`
	Op        string      `json:"op"`
	Module    string      `json:"module"`
	Requested units.Bytes `json:"requested"`
	Allocated units.Bytes `json:"allocated"`
	Active    units.Bytes `json:"active"`
	Reserved  units.Bytes `json:"reserved"`
}

// writeTimeline writes what the allocator holds after every event.
func writeTimeline(w io.Writer, tl *allocator.Timeline, format string) error {
	tr := tl.Trace
	out := timelineJSON{Schema: 1, Points: []pointJSON{}}
	tl.Each(func(i int, s allocator.Stats) bool {
		e := &tr.Events[i]
		site := tr.Site(e.Site)
		out.Points = append(out.Points, pointJSON{Event: i, Action: e.Action.String(), Size: e.Bytes, Pass: e.Pass,
			Op: site.Op, Module: site.Module, Requested: s.Requested, Allocated: s.Allocated, Active: s.Active,
			Reserved: s.Reserved})
		return true
	})
	if format == "json" {
		return report.EncodeJSON(w, out)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "event\tpass\taction\tbytes\tallocated\treserved\tfrom")
	for _, p := range out.Points {
		mark := ""
		switch p.Event {
		case tl.Peaks.Allocated.Event:
			mark = "  <- allocated peak"
		case tl.Peaks.Reserved.Event:
			mark = "  <- reserved peak"
		}
		fmt.Fprintf(t, "%d\t%d\t%s\t%d\t%d\t%d\t%s%s\n", p.Event, p.Pass, p.Action, p.Size, p.Allocated, p.Reserved,
			report.Site{Op: p.Op, Module: p.Module}, mark)
	}
	return t.Flush()
}
