package format

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
)

// perfetto writes the JSON trace format of chrome://tracing, which Perfetto reads too: for each
// case a process with two counters, allocated and reserved, and one thread of nested slices, phases
// over modules over operators. A prediction knows no time: an event's number stands for its
// microseconds.
type perfetto struct {
	w    *bufio.Writer
	o    Options
	next int   // process
	err  error // the first
}

func newPerfetto(w io.Writer, o Options) Writer { return &perfetto{w: bufio.NewWriter(w), o: o} }

type perfettoEvent struct {
	Phase string         `json:"ph"`
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	TS    int            `json:"ts"`
	Dur   *int           `json:"dur,omitempty"`
	Args  map[string]any `json:"args,omitempty"` // encoded by key
}

func (p *perfetto) event(e perfettoEvent) {
	if p.err != nil {
		return
	}
	text, err := json.Marshal(e)
	if err != nil {
		p.err = err
		return
	}
	_, p.err = p.w.Write(append([]byte(",\n"), text...))
}

func (p *perfetto) begin() {
	if p.next == 0 && p.err == nil {
		_, p.err = p.w.WriteString(`{"displayTimeUnit":"ms","traceEvents":[` + "\n" +
			`{"ph":"M","name":"memspec","pid":0,"tid":0,"ts":0,"args":{"version":` + strconv.Quote(oneLine(p.o.Version)) + `}}`)
	}
	p.next++
}

func (p *perfetto) Case(c *Case) error {
	p.begin()
	if c.Timeline == nil {
		return p.err
	}
	pid := p.next
	pts := points(c.Timeline)
	p.event(perfettoEvent{Phase: "M", Name: "process_name", PID: pid, Args: map[string]any{"name": c.title()}})
	p.event(perfettoEvent{Phase: "M", Name: "process_sort_index", PID: pid, Args: map[string]any{"sort_index": pid}})
	p.event(perfettoEvent{Phase: "M", Name: "thread_name", PID: pid, TID: 1,
		Args: map[string]any{"name": "phases, modules, operators"}})
	for i, now := range pts {
		p.event(perfettoEvent{Phase: "C", Name: "GPU memory (B)", PID: pid, TS: i,
			Args: map[string]any{"allocated": now.Allocated, "reserved": now.Reserved}})
	}
	for _, b := range bands(c, len(pts)) {
		dur := b.Last - b.First + 1
		p.event(perfettoEvent{Phase: "X", Name: b.Name, Cat: "run", PID: pid, TID: 1, TS: b.First, Dur: &dur})
	}
	if event := c.Timeline.Peaks.Allocated.Event; event >= 0 {
		p.event(perfettoEvent{Phase: "i", Name: "allocated peak", Cat: "peak", PID: pid, TID: 1, TS: event})
	}
	if event := c.Timeline.Peaks.Reserved.Event; event >= 0 {
		p.event(perfettoEvent{Phase: "i", Name: "reserved peak", Cat: "peak", PID: pid, TID: 1, TS: event})
	}
	return p.err
}

func (p *perfetto) End(*Summary) error {
	if p.next == 0 {
		p.begin()
	}
	if p.err == nil {
		_, p.err = p.w.WriteString("\n]}\n")
	}
	if p.err == nil {
		p.err = p.w.Flush()
	}
	return p.err
}
