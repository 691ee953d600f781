package format

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// snapshot writes a run as torch.cuda.memory._dump_snapshot would have: a pickle that PyTorch's
// memory_viz, its web page and memspec replay read. The events have the predicted order, sizes and
// addresses, and the segments are those at the end. Frames are the operator at the model's own
// line, then the modules around it, innermost first as PyTorch has them.
type snapshot struct {
	w io.Writer
	o Options
}

func newSnapshot(w io.Writer, o Options) Writer { return &snapshot{w: w, o: o} }

func (s *snapshot) Case(c *Case) error {
	if c.Timeline == nil {
		return nil
	}
	r := &recorder{tl: c.Timeline, paths: s.o.Paths}
	if c.Report != nil {
		r.artifact = s.o.Paths.Named(c.Report.Artifact)
	}
	r.record()
	end, _ := c.Timeline.At(len(c.Timeline.Trace.Events) - 1)
	conf := ""
	if c.Report != nil {
		conf = c.Report.AllocConf
	}
	data, err := pickle.Encode(dict(
		"segments", r.segments(end),
		"device_traces", list(list(r.events...)),
		"allocator_settings", dict("PYTORCH_CUDA_ALLOC_CONF", conf),
	))
	if err != nil {
		return err
	}
	_, err = s.w.Write(data)
	return err
}

func (s *snapshot) End(*Summary) error { return nil }

func dict(pairs ...any) *pickle.Dict {
	d := &pickle.Dict{}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.Keys = append(d.Keys, pairs[i])
		d.Values = append(d.Values, pairs[i+1])
	}
	return d
}

func list(items ...any) *pickle.List { return &pickle.List{Items: items} }

// recorder makes the entries of device_traces.
type recorder struct {
	tl            *allocator.Timeline
	paths         Paths
	artifact      string // where what no line made comes from
	events        []any
	have          []trace.Segment // as they were after the last event that changed them
	hasCategories bool            // that there are categories
}

func (r *recorder) record() {
	begin, last := r.tl.At(allocator.Before)
	r.have = begin.Segments
	twoStep := slices.ContainsFunc(r.tl.Trace.Events, func(e trace.Event) bool { return e.Action == trace.FreeCompleted })
	r.tl.Walk(func(i int, a allocator.Allocator) bool {
		e := &r.tl.Trace.Events[i]
		now := a.Stats()
		if now.DeviceAllocs != last.DeviceAllocs || now.DeviceFrees != last.DeviceFrees {
			next := a.Snapshot().Segments
			r.changed(r.have, next, e.Site)
			r.have = next
		}
		last = now
		r.event(i, e, twoStep)
		return true
	})
}

// event adds what PyTorch records of an event: nothing of a request for no bytes, of a mark or of
// emptying the cache as such.
func (r *recorder) event(i int, e *trace.Event, twoStep bool) {
	if oom := r.tl.OOM; oom != nil && oom.Event == i {
		free := oom.Limit - oom.Stats.Reserved
		r.add(dict("action", "oom", "device_free", int64(max(free, 0)), "size", int64(e.Bytes), "stream", e.Stream, "frames",
			r.frames(e.Site)))
		return
	}
	switch e.Action {
	case trace.Alloc, trace.FreeRequested, trace.FreeCompleted:
		st := &r.tl.Storages[e.Storage]
		if st.Addr == 0 {
			return
		}
		if e.Action == trace.Alloc {
			r.add(r.entry("alloc", uint64(st.Addr), e.Bytes, e))
			return
		}
		r.add(r.entry(e.Action.String(), uint64(st.Addr), st.Requested, e))
		if e.Action == trace.FreeRequested && !twoStep {
			r.add(r.entry(trace.FreeCompleted.String(), uint64(st.Addr), st.Requested, e))
		}
	}
}

func (r *recorder) add(e *pickle.Dict) { r.events = append(r.events, e) }

func (r *recorder) entry(action string, addr uint64, size units.Bytes, e *trace.Event) *pickle.Dict {
	d := dict("action", action, "addr", addr, "size", int64(size), "stream", e.Stream)
	if action == "alloc" {
		s := r.tl.Trace.Site(e.Site)
		d.Keys = append(d.Keys, "frames", "category")
		d.Values = append(d.Values, r.frames(e.Site), s.Category.String())
		return d
	}
	d.Keys = append(d.Keys, "frames")
	d.Values = append(d.Values, list())
	return d
}

// frames are a site's, the innermost first.
func (r *recorder) frames(id trace.SiteID) *pickle.List {
	s := r.tl.Trace.Site(id)
	if s == (trace.Site{}) {
		return list()
	}
	frame := func(file string, line int, name string) *pickle.Dict {
		return dict("filename", file, "line", line, "name", name)
	}
	name, file := oneLine(s.Op), r.artifact
	if name == "" {
		name = s.Category.String()
	}
	if s.File != "" {
		file, _ = r.paths.Source(s.File)
	}
	out := list(frame(oneLine(file), s.Line, name))
	modules := modulePaths(s.Module)
	for i := len(modules) - 1; i >= 0; i-- {
		out.Items = append(out.Items, frame("module", 0, modules[i]))
	}
	return out
}

// changed says what the device gave and took back: what went before what came, as the allocator
// does it.
func (r *recorder) changed(before, after []trace.Segment, site trace.SiteID) {
	for _, g := range gone(before, after) {
		r.segment("segment_free", "segment_unmap", g, site)
	}
	for _, n := range gone(after, before) {
		r.segment("segment_alloc", "segment_map", n, site)
	}
}

func (r *recorder) segment(whole, mapped string, s trace.Segment, site trace.SiteID) {
	action := whole
	if s.Expandable {
		action = mapped
	}
	d := dict("action", action, "addr", s.Addr, "size", int64(s.Size), "stream", s.Stream, "frames", r.frames(site))
	if !r.hasCategories { // the viewer draws nothing where some events have a category and none is unknown
		r.hasCategories = true
		d.Keys = append(d.Keys, "category")
		d.Values = append(d.Values, "unknown")
	}
	r.add(d)
}

// gone are the segments of a that b has not, by address and size; of expandable ones the mapped
// ranges. Where a segment was another may begin in the same step.
func gone(a, b []trace.Segment) []trace.Segment {
	var out []trace.Segment
	for _, s := range a {
		if !s.Expandable {
			if !slices.ContainsFunc(b, func(o trace.Segment) bool { return o.Addr == s.Addr && o.Size == s.Size }) {
				out = append(out, trace.Segment{Addr: s.Addr, Size: s.Size, Stream: s.Stream})
			}
			continue
		}
		rest := []trace.Segment{{Addr: s.Addr, Size: s.Size, Stream: s.Stream, Expandable: s.Expandable}}
		for _, o := range b {
			var left []trace.Segment
			for _, p := range rest {
				left = append(left, without(p, o)...)
			}
			rest = left
		}
		out = append(out, rest...)
	}
	return out
}

// without is the range of a outside b: none, one or two pieces.
func without(a, b trace.Segment) []trace.Segment {
	aEnd, bEnd := a.Addr+uint64(a.Size), b.Addr+uint64(b.Size)
	if bEnd <= a.Addr || aEnd <= b.Addr {
		return []trace.Segment{a}
	}
	var out []trace.Segment
	if a.Addr < b.Addr {
		piece := a
		piece.Size = units.Bytes(b.Addr - a.Addr)
		out = append(out, piece)
	}
	if bEnd < aEnd {
		piece := a
		piece.Addr, piece.Size = bEnd, units.Bytes(aEnd-bEnd)
		out = append(out, piece)
	}
	return out
}

func (r *recorder) segments(s allocator.Snapshot) *pickle.List {
	out := list()
	for i := range s.Segments {
		out.Items = append(out.Items, r.finalSegment(&s.Segments[i]))
	}
	return out
}

func (r *recorder) finalSegment(s *trace.Segment) *pickle.Dict {
	var allocated, active, requested units.Bytes
	blocks := list()
	for _, b := range s.Blocks {
		state := "inactive"
		switch b.State {
		case trace.ActiveAllocated:
			state = "active_allocated"
			allocated += b.Size
		case trace.ActiveAwaitingFree:
			state = "active_pending_free"
		}
		if b.State != trace.Inactive {
			active += b.Size
			requested += b.Requested
		}
		blocks.Items = append(blocks.Items, dict("address", b.Addr, "size", int64(b.Size), "requested_size",
			int64(b.Requested), "state", state, "frames", r.blockFrames(b.Storage)))
	}
	kind := "large"
	if s.Small {
		kind = "small"
	}
	return dict("device", 0, "address", s.Addr, "total_size", int64(s.Size), "allocated_size", int64(allocated),
		"active_size", int64(active),
		"requested_size", int64(requested), "stream", s.Stream, "segment_type", kind, "segment_pool_id", poolID(s.Private),
		"is_expandable", s.Expandable,
		"frames", list(), "blocks", blocks)
}

func (r *recorder) blockFrames(id tensor.StorageID) *pickle.List {
	if id < 0 {
		return list()
	}
	if at := r.tl.Storages[id].Alloc; at >= 0 {
		return r.frames(r.tl.Trace.Events[at].Site)
	}
	return list()
}

// poolID is the pair of numbers that a private pool's name was made of; (0, 0) is the default
// pools.
func poolID(private string) pickle.Tuple {
	a, b, _ := strings.Cut(private, ".")
	first, _ := strconv.ParseInt(a, 10, 64)
	second, _ := strconv.ParseInt(b, 10, 64)
	return pickle.Tuple{first, second}
}
