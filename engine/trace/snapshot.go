package trace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Recording is what a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot) says of one
// device.
type Recording struct {
	Device   int
	Trace    *Trace    // its events; Heap is what Rewind makes of Final
	Final    []Segment // what the allocator held when the snapshot was taken, by address
	Settings Conf
	Skipped  int // entries with an action that is no event: annotate, and what later releases add
}

// Moves is how many allocations and frees were recorded.
func (r *Recording) Moves() int {
	n := 0
	for i := range r.Trace.Events {
		switch r.Trace.Events[i].Action {
		case Alloc, FreeRequested, FreeCompleted:
			n++
		}
	}
	return n
}

// Conf is what a snapshot says of the allocator's settings. Snapshots of torch 2.0 and older record
// nothing.
type Conf struct {
	Text         string      // PYTORCH_CUDA_ALLOC_CONF
	MaxSplitSize units.Bytes // 0 is no limit
	Expandable   bool
	Roundup      []int64 // roundup_power2_divisions by interval, from 1 MiB up
}

// ReadSnapshot reads the devices of a snapshot that have segments or events, by number.
func ReadSnapshot(data []byte) ([]*Recording, error) {
	v, err := pickle.Decode(data, pickle.Options{})
	if err != nil {
		return nil, fmt.Errorf("memory snapshot: %w", err)
	}
	top, ok := v.(*pickle.Dict)
	if !ok {
		return nil, errors.New("memory snapshot: got no dict, want segments and device_traces")
	}
	segments, ok := items(top.Lookup("segments"))
	if !ok {
		return nil, errors.New("memory snapshot: got no segments")
	}
	traces, _ := items(top.Lookup("device_traces"))
	s := snapshotReader{conf: readConf(top.Lookup("allocator_settings"))}
	for i, seg := range segments {
		if err := s.segment(seg); err != nil {
			return nil, fmt.Errorf("memory snapshot: segment %d: %w", i, err)
		}
	}
	for device, t := range traces {
		entries, ok := items(t)
		if !ok {
			return nil, fmt.Errorf("memory snapshot: device %d: got no list of events", device)
		}
		if len(entries) == 0 {
			continue
		}
		if device > maxDevice {
			return nil, fmt.Errorf("memory snapshot: got device %d, want at most %d", device, maxDevice)
		}
		if err := s.events(s.device(device), entries); err != nil {
			return nil, fmt.Errorf("memory snapshot: device %d: %w", device, err)
		}
	}
	var out []*Recording
	for _, r := range s.devices {
		if r != nil {
			out = append(out, r)
		}
	}
	return out, nil
}

const maxDevice = 1023

type snapshotReader struct {
	conf    Conf
	devices []*Recording // by number, nil where nothing is known
}

func (s *snapshotReader) device(n int) *Recording {
	for len(s.devices) <= n {
		s.devices = append(s.devices, nil)
	}
	if s.devices[n] == nil {
		s.devices[n] = &Recording{Device: n, Trace: &Trace{Origin: fmt.Sprintf("snapshot, device %d", n),
			Passes: []Pass{{"recorded"}}}, Settings: s.conf}
	}
	return s.devices[n]
}

func readConf(v any) Conf {
	d, ok := v.(*pickle.Dict)
	if !ok {
		return Conf{}
	}
	c := Conf{}
	c.Text, _ = d.Lookup("PYTORCH_CUDA_ALLOC_CONF").(string)
	c.Expandable, _ = d.Lookup("expandable_segments").(bool)
	if n, ok := d.Lookup("max_split_size").(int64); ok && n > 0 {
		c.MaxSplitSize = units.Bytes(n)
	}
	if table, ok := d.Lookup("roundup_power2_divisions").(*pickle.Dict); ok {
		for mb := 1; ; mb *= 2 {
			n, ok := table.Lookup(strconv.Itoa(mb)).(int64)
			if !ok {
				break
			}
			c.Roundup = append(c.Roundup, n)
		}
	}
	return c
}

// segment reads one of snapshot["segments"].
func (s *snapshotReader) segment(v any) error {
	d, ok := v.(*pickle.Dict)
	if !ok {
		return errors.New("got no dict")
	}
	f := fields{d: d}
	device := f.int("device")
	seg := Segment{Addr: f.addr("address"), Size: f.bytes("total_size"), Stream: int(f.int("stream"))}
	seg.Small = d.Lookup("segment_type") == "small"
	seg.Expandable, _ = d.Lookup("is_expandable").(bool)
	if id, ok := d.Lookup("segment_pool_id").(pickle.Tuple); ok && len(id) == 2 &&
		(id[0] != int64(0) || id[1] != int64(0)) {
		seg.Private = fmt.Sprintf("%v.%v", id[0], id[1])
	}
	if f.err == nil && (device < 0 || device > maxDevice) {
		f.err = fmt.Errorf("got device %d, want 0 to %d", device, maxDevice)
	}
	blocks, ok := items(d.Lookup("blocks"))
	if f.err == nil && !ok {
		f.err = errors.New("got no blocks")
	}
	if f.err != nil {
		return f.err
	}
	at := seg.Addr
	for i, v := range blocks {
		bd, ok := v.(*pickle.Dict)
		if !ok {
			return fmt.Errorf("block %d: got no dict", i)
		}
		g := fields{d: bd}
		b := Block{Addr: at, Size: g.bytes("size"), Storage: NoStorage} // old dumps have no address
		state, _ := bd.Lookup("state").(string)
		switch state {
		case "active_allocated":
			b.State = ActiveAllocated
		// the string in the library, and the one in its documentation
		case "active_pending_free", "active_awaiting_free":
			b.State = ActiveAwaitingFree
		case "inactive":
		default:
			return fmt.Errorf("block %d: got state %q", i, state)
		}
		if n, ok := bd.Lookup("requested_size").(int64); ok && b.State != Inactive && n >= 0 {
			b.Requested = units.Bytes(n)
		}
		if g.err != nil {
			return fmt.Errorf("block %d: %w", i, g.err)
		}
		at += uint64(b.Size)
		seg.Blocks = append(seg.Blocks, b)
	}
	if at != seg.Addr+uint64(seg.Size) {
		return fmt.Errorf("got blocks of %d bytes, want %d", at-seg.Addr, seg.Size)
	}
	r := s.device(int(device))
	r.Final = append(r.Final, seg)
	return nil
}

// events reads one of snapshot["device_traces"].
func (s *snapshotReader) events(r *Recording, entries []any) error {
	t := r.Trace
	t.Events = make([]Event, 0, len(entries))
	live := map[uint64]tensor.StorageID{}
	next := tensor.StorageID(0)
	places := siteCache{t: t, sites: map[Site]SiteID{}, frames: map[*pickle.Dict]SiteID{}}
	for i, v := range entries {
		d, ok := v.(*pickle.Dict)
		if !ok {
			return fmt.Errorf("event %d: got no dict", i)
		}
		f := fields{d: d}
		name, _ := d.Lookup("action").(string)
		action, ok := ParseAction(name)
		if !ok || action == Mark || action == EmptyCache {
			r.Skipped++
			continue
		}
		e := Event{Action: action, Storage: NoStorage, Stream: int(f.int("stream")), Pass: 1}
		if action != Snapshot {
			e.Bytes = f.bytes("size")
		}
		if action != OOM && action != Snapshot {
			e.Addr = f.addr("addr")
		}
		if f.err != nil {
			return fmt.Errorf("event %d: %s: %w", i, name, f.err)
		}
		e.Site = places.of(d.Lookup("frames"))
		switch action {
		case Alloc:
			e.Storage = next
			live[e.Addr] = next
			next++
		case FreeRequested, FreeCompleted:
			id, ok := live[e.Addr]
			if !ok { // it was there before
				id = next
				live[e.Addr] = id
				next++
			}
			if e.Storage = id; action == FreeCompleted {
				delete(live, e.Addr)
			}
		}
		t.Events = append(t.Events, e)
	}
	return nil
}

// fields reads numbers from a dict and keeps the first error.
type fields struct {
	d   *pickle.Dict
	err error
}

func (f *fields) int(key string) int64 {
	switch n := f.d.Lookup(key).(type) {
	case int64:
		return n
	case uint64:
		return int64(n)
	}
	if f.err == nil {
		f.err = fmt.Errorf("got no integer %s", key)
	}
	return 0
}

// addr reads an address: far enough from the end of 64 bits that sizes can be added to it.
func (f *fields) addr(key string) uint64 {
	a := uint64(f.int(key))
	if f.err == nil && a > 1<<63 {
		f.err = fmt.Errorf("%s: got %#x, want an address", key, a)
	}
	return a
}

func (f *fields) bytes(key string) units.Bytes {
	n := f.int(key)
	if f.err == nil && (n < 0 || n > 1<<60) {
		f.err = fmt.Errorf("%s: got %d bytes", key, n)
	}
	return units.Bytes(n)
}

func items(v any) ([]any, bool) {
	switch v := v.(type) {
	case *pickle.List:
		return v.Items, true
	case pickle.Tuple:
		return v, true
	}
	return nil, false
}

// UserFrame finds the line of a stack where one can act: the innermost frame of Python outside
// PyTorch's own files, else the innermost of Python. file records the files of the n frames, the
// innermost first. The second result is the innermost of Python; both are -1 where there is none.
func UserFrame(n int, file func(i int) string) (user, inner int) {
	inner = -1
	for i := range n {
		f := file(i)
		if !strings.HasSuffix(f, ".py") {
			continue
		}
		if inner < 0 {
			inner = i
		}
		if !strings.Contains(f, "/torch/") && !strings.HasPrefix(f, "torch/") {
			return i, inner
		}
	}
	return inner, inner
}

// siteCache turns stacks into sites.
type siteCache struct {
	t      *Trace
	sites  map[Site]SiteID
	frames map[*pickle.Dict]SiteID
}

// of takes the innermost Python frame outside PyTorch, which is the user's; failing that, the
// innermost Python frame. The operator is what the innermost frame calls itself.
func (c *siteCache) of(v any) SiteID {
	frames, _ := items(v)
	at, first := UserFrame(len(frames), func(i int) string {
		file := ""
		if d, ok := frames[i].(*pickle.Dict); ok {
			file, _ = d.Lookup("filename").(string)
		}
		return file
	})
	if at < 0 {
		return NoSite
	}
	user, inner := frames[at].(*pickle.Dict), frames[first].(*pickle.Dict)
	if id, ok := c.frames[user]; ok && user == inner {
		return id
	}
	s := Site{Phase: Forward}
	s.File, _ = user.Lookup("filename").(string)
	line, _ := user.Lookup("line").(int64)
	s.Line = int(line)
	s.Op, _ = inner.Lookup("name").(string)
	id, ok := c.sites[s]
	if !ok {
		id = SiteID(len(c.t.Sites))
		c.t.Sites = append(c.t.Sites, s)
		c.sites[s] = id
	}
	if user == inner {
		c.frames[user] = id
	}
	return id
}
