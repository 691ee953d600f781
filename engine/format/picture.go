package format

import (
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// shared is what the cases of a page have in common: hundreds of them are of a few models.
type shared struct {
	Names []string `json:"names"`
	// operator, module, file:line, category, what autograd saved it for: indices into Names. An
	// operator that begins with a point goes on from its module
	Sites [][5]int `json:"sites"`

	names map[string]int
	sites map[[5]int]int
}

func newShared() *shared {
	return &shared{Names: []string{}, Sites: [][5]int{}, names: map[string]int{}, sites: map[[5]int]int{}}
}

func (s *shared) name(text string) int {
	text = oneLine(text)
	i, ok := s.names[text]
	if !ok {
		i = len(s.Names)
		s.names[text] = i
		s.Names = append(s.Names, text)
	}
	return i
}

func (s *shared) site(op, module, file, category, saver string) int {
	if rest, ok := strings.CutPrefix(op, module+"."); ok && module != "" {
		op = "." + rest
	}
	key := [5]int{s.name(op), s.name(module), s.name(file), s.name(category), s.name(saver)}
	i, ok := s.sites[key]
	if !ok {
		i = len(s.Sites)
		s.sites[key] = i
		s.Sites = append(s.Sites, key)
	}
	return i
}

// A picture is what the page's script draws of a case. It is written as JSON: lists instead of
// objects where there are many. A site is an index into the page's shared ones, -1 where nothing is
// known.
type picture struct {
	Name      string          `json:"name"`
	Start     units.Bytes     `json:"start"`     // allocated before the first event
	Change    []units.Bytes   `json:"change"`    // of allocated, by event
	At        []int           `json:"at"`        // the site where the storage of an event was made
	Reserved  [][2]int64      `json:"reserved"`  // event and bytes, where they change
	Passes    [][3]int        `json:"passes"`    // name, first, last event
	Phases    [][3]int        `json:"phases"`    // the same of the passes that have several
	Modules   [][][3]int      `json:"modules"`   // the same by depth
	Lines     []pictureLine   `json:"lines"`     // budgets, and what the device has
	Peak      [2]int          `json:"peak"`      // events of the allocated and the reserved one, -1 for before the first
	OOM       units.Bytes     `json:"oom"`       // asked for by the last event, and not available; 0 where everything fits
	Holders   [][4]int64      `json:"holders"`   // of the allocated peak: site, bytes, requested, storages
	Moments   []pictureMoment `json:"moments"`   // segments at each
	Reasons   []string        `json:"reasons"`   // why a block is free
	Requested units.Bytes     `json:"requested"` // by the allocation at the reserved peak
}

type pictureLine struct {
	Name  string      `json:"name"`
	Of    string      `json:"of"` // allocated, reserved
	Bytes units.Bytes `json:"bytes"`
}

type pictureMoment struct {
	Name     string           `json:"name"`
	Event    int              `json:"event"`
	Segments []pictureSegment `json:"segments"`
}

type pictureSegment struct {
	Addr   string `json:"addr"`
	Size   int64  `json:"size"`
	Pool   string `json:"pool"`
	Stream int    `json:"stream"`
	// size, requested, site or -1, reason: an index into Reasons of a free one, -1 of one in use
	Blocks [][4]int64 `json:"blocks"`
}

// mostDepth is how many levels of modules a timeline shows.
const mostDepth = 5

func pictureOf(c *Case, paths Paths, all *shared) *picture {
	d := &drawer{c: c, tl: c.Timeline, paths: paths, all: all}
	d.sites = slices.Repeat([]int{-1}, len(d.tl.Trace.Sites))
	d.p = &picture{Name: c.title(), Passes: [][3]int{}, Phases: [][3]int{}, Modules: [][][3]int{}, Lines: limits(c),
		Reasons: []string{}, Holders: [][4]int64{}}
	if d.tl.OOM != nil {
		d.p.OOM = d.tl.OOM.Requested
	}
	d.p.Peak = [2]int{d.tl.Peaks.Allocated.Event, d.tl.Peaks.Reserved.Event}
	d.events()
	d.bands()
	d.holders()
	d.moments()
	return d.p
}

type drawer struct {
	c     *Case
	tl    *allocator.Timeline
	paths Paths
	p     *picture
	all   *shared
	sites []int // by trace.SiteID; -1 where not asked for yet
}

// site is the number of a place.
func (d *drawer) site(s trace.Site) int {
	saver := strings.TrimSpace(s.Saver.Op + " " + d.line(s.Saver.File, s.Saver.Line))
	return d.all.site(s.Op, s.Module, d.line(s.File, s.Line), s.Category.String(), saver)
}

// line is "net.py:3", "" where no file is known.
func (d *drawer) line(file string, line int) string {
	file, _ = d.paths.Source(file)
	if file != "" && line > 0 {
		file += ":" + strconv.Itoa(line)
	}
	return file
}

func (d *drawer) events() {
	pts := points(d.tl)
	_, before := d.tl.At(allocator.Before)
	d.p.Start = before.Allocated
	last, reserved := d.p.Start, units.Bytes(-1)
	d.p.Change, d.p.At, d.p.Reserved = make([]units.Bytes, len(pts)), make([]int, len(pts)), [][2]int64{}
	for i, now := range pts {
		d.p.Change[i] = now.Allocated - last
		last = now.Allocated
		if now.Reserved != reserved {
			reserved = now.Reserved
			d.p.Reserved = append(d.p.Reserved, [2]int64{int64(i), int64(reserved)})
		}
		d.p.At[i] = d.made(&d.tl.Trace.Events[i])
	}
}

// made is where the storage of an event was made, -1 where it was there before; of an event without
// one it is where the event is.
func (d *drawer) made(e *trace.Event) int {
	if e.Storage >= 0 && int(e.Storage) < len(d.tl.Storages) {
		switch at := d.tl.Storages[e.Storage].Alloc; {
		case at == allocator.Before:
			return -1
		case at >= 0 && at < len(d.tl.Trace.Events):
			return d.known(d.tl.Trace.Events[at].Site)
		}
	}
	return d.known(e.Site)
}

func (d *drawer) known(id trace.SiteID) int {
	if id < 0 || int(id) >= len(d.sites) {
		return -1
	}
	if d.sites[id] < 0 {
		d.sites[id] = d.site(d.tl.Trace.Sites[id])
	}
	return d.sites[id]
}

// bands are the passes, their phases, and the modules below them by depth. Operators are reported
// at the cursor.
func (d *drawer) bands() {
	outer := 0 // passes and phases above a module
	for _, b := range bands(d.c, len(d.p.Change)) {
		entry := [3]int{d.all.name(b.Name), b.First, b.Last}
		level := b.Depth - outer
		switch {
		case b.Kind == passBand:
			d.p.Passes, outer = append(d.p.Passes, entry), 1
		case b.Kind == phaseBand:
			d.p.Phases, outer = append(d.p.Phases, entry), 2
		case b.Kind == moduleBand && level < mostDepth:
			for len(d.p.Modules) <= level {
				d.p.Modules = append(d.p.Modules, [][3]int{})
			}
			d.p.Modules[level] = append(d.p.Modules[level], entry)
		}
	}
}

func (d *drawer) holders() {
	at := map[int]int{}
	for _, h := range heldAt(d.tl, d.tl.Peaks.Allocated.Event) {
		s := d.site(h.Site)
		i, ok := at[s]
		if !ok {
			i = len(d.p.Holders)
			at[s] = i
			d.p.Holders = append(d.p.Holders, [4]int64{int64(s)})
		}
		row := &d.p.Holders[i]
		row[1] += int64(h.Size)
		row[2] += int64(h.Requested)
		row[3]++
	}
}

// moments are the segments at the reserved peak, with why what is free did not serve the allocation
// that made it, and at the allocated one.
func (d *drawer) moments() {
	d.p.Moments = []pictureMoment{}
	if event := d.tl.Peaks.Reserved.Event; event >= 0 {
		unused := d.tl.Unused(event)
		d.p.Requested = d.tl.Trace.Events[event].Bytes
		d.moment("the reserved peak", event, unused)
	}
	if event := d.tl.Peaks.Allocated.Event; event >= 0 && event != d.tl.Peaks.Reserved.Event {
		d.moment("the allocated peak", event, nil)
	}
}

func (d *drawer) moment(name string, event int, unused []allocator.FreeBlock) {
	snap, _ := d.tl.At(event)
	why := map[allocator.Addr]string{}
	for _, f := range unused {
		text := f.Reason.String()
		if f.Reason == allocator.Usable {
			text = "left over from what the device gave for this allocation"
		}
		why[f.Addr] = text
	}
	m := pictureMoment{Name: name, Event: event, Segments: []pictureSegment{}}
	for i := range snap.Segments {
		s := &snap.Segments[i]
		seg := pictureSegment{Addr: "0x" + strconv.FormatUint(s.Addr, 16), Size: int64(s.Size), Pool: poolName(s),
			Stream: s.Stream, Blocks: [][4]int64{}}
		for _, b := range s.Blocks {
			row := [4]int64{int64(b.Size), int64(b.Requested), -1, -1}
			if b.State == trace.Inactive {
				row[3] = int64(d.reason(why[allocator.Addr(b.Addr)]))
			} else if b.Storage >= 0 {
				row[2] = int64(d.madeBy(b.Storage))
			}
			seg.Blocks = append(seg.Blocks, row)
		}
		m.Segments = append(m.Segments, seg)
	}
	d.p.Moments = append(d.p.Moments, m)
}

func (d *drawer) madeBy(id tensor.StorageID) int {
	if at := d.tl.Storages[id].Alloc; at >= 0 {
		return d.known(d.tl.Trace.Events[at].Site)
	}
	return -1
}

func (d *drawer) reason(text string) int {
	if text == "" {
		text = "cached"
	}
	for i, have := range d.p.Reasons {
		if have == text {
			return i
		}
	}
	d.p.Reasons = append(d.p.Reasons, text)
	return len(d.p.Reasons) - 1
}

func poolName(s *trace.Segment) string {
	name := "large"
	if s.Small {
		name = "small"
	}
	if s.Expandable {
		name += ", expandable"
	}
	if s.Private != "" {
		name += ", private pool " + oneLine(s.Private)
	}
	return name
}
