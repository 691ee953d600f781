package allocator

import (
	"fmt"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// A snapshot of a real GPU is the truth the simulation answers to. Its events are taken twice
// through the same blocks: once simulated, where the rules choose the place of every allocation,
// and once recorded, where the device's own choice is followed. What a trace cannot know is
// followed in both: where the device put a new segment, and when segments went back to it.

// DeviceReplay says how far simulation and recording agree on one device.
type DeviceReplay struct {
	Device        int          `json:"device"`
	Events        int          `json:"events"`
	Allocs        int          `json:"allocs"`
	AddressMatch  int          `json:"address_match"` // allocations put where the device put them
	FirstMismatch *Mismatch    `json:"first_mismatch"`
	Skipped       int          `json:"skipped"` // events that the recording itself contradicts, or of an unknown kind
	Peaks         DevicePeaks  `json:"peaks"`
	Recording     *trace.Trace `json:"-"` // the events, and the heap they began with
	Settings      Settings     `json:"-"` // that both were made under
}

// DevicePeaks are the peaks of both.
type DevicePeaks struct {
	Simulated PeakSizes `json:"simulated"`
	Recorded  PeakSizes `json:"recorded"` // rebuilt from the recorded events
}

// PeakSizes are the largest values, each for itself.
type PeakSizes struct {
	Requested units.Bytes `json:"requested"`
	Allocated units.Bytes `json:"allocated"`
	Active    units.Bytes `json:"active"`
	Reserved  units.Bytes `json:"reserved"`
}

// Mismatch is the first allocation that the simulation put elsewhere.
type Mismatch struct {
	Event     int         `json:"event"`
	Bytes     units.Bytes `json:"bytes"`
	Recorded  string      `json:"recorded"` // addresses in hexadecimal: JSON numbers cannot hold them
	Simulated string      `json:"simulated"`
}

// Agrees says whether every allocation has its recorded address and the peaks are the same.
func (d *DeviceReplay) Agrees() bool {
	return d.AddressMatch == d.Allocs && d.Peaks.Simulated == d.Peaks.Recorded
}

// ReplaySnapshot replays every device of a memory snapshot that recorded an allocation or a free.
func ReplaySnapshot(data []byte) ([]DeviceReplay, error) {
	recs, err := trace.ReadSnapshot(data)
	if err != nil {
		return nil, err
	}
	out := []DeviceReplay{}
	for _, rec := range recs {
		if rec.Moves() == 0 {
			continue
		}
		d, err := ReplayRecording(rec)
		if err != nil {
			return nil, fmt.Errorf("device %d: %w", rec.Device, err)
		}
		out = append(out, *d)
	}
	return out, nil
}

// settingsOf are the settings a recording was made under. Garbage collection is left to the
// recorded frees.
func settingsOf(c trace.Conf) (Settings, error) {
	s, err := ParseSettings(c.Text, platform.Version{})
	if err != nil {
		return s, err
	}
	s.Backend = "native" // another one records nothing
	s.Expandable = s.Expandable || c.Expandable
	if c.MaxSplitSize > 0 {
		s.MaxSplitSize = c.MaxSplitSize
	}
	if len(c.Roundup) == len(s.RoundupDivisions) {
		copy(s.RoundupDivisions[:], c.Roundup)
	}
	s.GCThreshold, s.MemoryFraction = 0, 1
	return s, nil
}

// Rewind rebuilds what a recording's device held before its first event, under the settings that it
// was made with, and says how many events contradict that.
func Rewind(rec *trace.Recording) (conflicts int, err error) {
	set, err := settingsOf(rec.Settings)
	if err != nil {
		return 0, err
	}
	return rec.Rewind(trace.Geometry{Round: set.round, Unsplit: smallSize, MaxSplit: set.MaxSplitSize,
		Page: set.LargeSegment}), nil
}

// ReplayRecording replays the recording of one device. It rewinds the recording.
func ReplayRecording(rec *trace.Recording) (*DeviceReplay, error) {
	conflicts, err := Rewind(rec)
	if err != nil {
		return nil, err
	}
	return playAll(rec, conflicts)
}

// ReplayFromStart replays a recording that began with what its trace's Heap says: with nothing,
// where that is empty.
func ReplayFromStart(rec *trace.Recording) (*DeviceReplay, error) { return playAll(rec, 0) }

func playAll(rec *trace.Recording, conflicts int) (*DeviceReplay, error) {
	p, err := newPlayback(rec, conflicts)
	if err != nil {
		return nil, err
	}
	p.raise()
	for i := range rec.Trace.Events {
		if err := p.event(i, &rec.Trace.Events[i]); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		p.raise()
	}
	return p.d, nil
}

// newPlayback puts both accounts where a rewound recording begins.
func newPlayback(rec *trace.Recording, conflicts int) (*playback, error) {
	set, err := settingsOf(rec.Settings)
	if err != nil {
		return nil, err
	}
	tr := rec.Trace
	p := &playback{guide: &guide{}, addrs: make([]Addr, tr.Storages())}
	p.d = &DeviceReplay{Device: rec.Device, Events: len(tr.Events), Skipped: rec.Skipped + conflicts, Recording: tr,
		Settings: set}
	if p.simulated, err = newCaching(Config{Settings: set, Heap: tr.Heap, SegmentAddr: p.guide.segment}); err != nil {
		return nil, err
	}
	p.recorded, _ = newCaching(Config{Settings: set, Heap: tr.Heap})
	for i := range tr.Heap {
		for _, b := range tr.Heap[i].Blocks {
			if b.Storage >= 0 {
				p.addrs[b.Storage] = Addr(b.Addr)
			}
		}
	}
	return p, nil
}

func (p *playback) raise() {
	p.d.Peaks.Simulated.raise(p.simulated.stats)
	p.d.Peaks.Recorded.raise(p.recorded.stats)
}

func (p *PeakSizes) raise(s Stats) {
	p.Requested = max(p.Requested, s.Requested)
	p.Allocated = max(p.Allocated, s.Allocated)
	p.Active = max(p.Active, s.Active)
	p.Reserved = max(p.Reserved, s.Reserved)
}

// guide holds the recorded places of new segments until the simulation asks for them.
type guide struct {
	segments []trace.Event
	mapped   Addr // the first mapping since the last allocation
	invented uint64
}

// segment returns the recorded address of a segment of this size. Where the recording has none, the
// simulation has gone its own way.
func (g *guide) segment(size units.Bytes) Addr {
	for i, e := range g.segments {
		if e.Bytes == size {
			g.segments = append(g.segments[:i], g.segments[i+1:]...)
			return Addr(e.Addr)
		}
	}
	if g.mapped != 0 {
		return g.mapped
	}
	g.invented += uint64(size.RoundUp(roundLarge))
	return Addr(1<<50 + g.invented)
}

// playback takes events through both accounts.
type playback struct {
	d                   *DeviceReplay
	guide               *guide
	simulated, recorded *caching
	addrs               []Addr // where the simulation put a storage
}

func (p *playback) event(i int, e *trace.Event) error {
	switch e.Action {
	case trace.SegmentAlloc:
		p.guide.segments = append(p.guide.segments, *e)
		p.recorded.segmentAt(e)
	case trace.SegmentMap:
		if p.guide.mapped == 0 {
			p.guide.mapped = Addr(e.Addr)
		}
		p.skip(p.recorded.mapAt(e))
	case trace.SegmentFree:
		p.skip(p.recorded.releaseAt(e))
		p.simulated.releaseAt(e)
	case trace.SegmentUnmap:
		p.skip(p.recorded.unmapAt(e))
		p.simulated.unmapAt(e)
	case trace.Alloc:
		return p.alloc(i, e)
	case trace.FreeRequested:
		p.simulated.FreeRequested(p.addrs[e.Storage])
		p.recorded.FreeRequested(Addr(e.Addr))
	case trace.FreeCompleted:
		p.simulated.FreeCompleted(p.addrs[e.Storage])
		p.recorded.FreeCompleted(Addr(e.Addr))
	}
	return nil
}

func (p *playback) skip(followed bool) {
	if !followed {
		p.d.Skipped++
	}
}

func (p *playback) alloc(i int, e *trace.Event) error {
	addr, err := p.simulated.Malloc(e.Bytes, e.Stream)
	if err != nil {
		return err
	}
	p.addrs[e.Storage] = addr
	p.skip(p.recorded.handAt(e))
	p.d.Allocs++
	if uint64(addr) == e.Addr && len(p.guide.segments) == 0 {
		p.d.AddressMatch++
	} else if p.d.FirstMismatch == nil {
		p.d.FirstMismatch = &Mismatch{i, e.Bytes, fmt.Sprintf("%#x", e.Addr), fmt.Sprintf("%#x", uint64(addr))}
	}
	p.guide.segments, p.guide.mapped = p.guide.segments[:0], 0
	return nil
}
