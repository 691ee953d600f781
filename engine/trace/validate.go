package trace

import (
	"errors"
	"fmt"
)

// maxViolations is how many are reported.
const maxViolations = 20

// Validate reports every contradiction: frees without an allocation, storages allocated twice,
// negative sizes, sites that do not exist, a heap whose blocks do not fill their segments.
func (t *Trace) Validate() error {
	v := validator{t: t, state: make([]storageState, max(t.Storages(), 0))}
	for i := range t.Heap {
		v.segment(&t.Heap[i])
	}
	for i := range t.Events {
		v.event(i, &t.Events[i])
	}
	for i, n := range t.Notes {
		v.check(n.Site >= NoSite && int(n.Site) < len(t.Sites), "note %d: got site %d of %d", i, n.Site, len(t.Sites))
		v.check(n.ID != "", "note %d: got no id", i)
	}
	if v.count > maxViolations {
		v.errs = append(v.errs, fmt.Errorf("and %d more", v.count-maxViolations))
	}
	return errors.Join(v.errs...)
}

type storageState uint8

const (
	unborn storageState = iota
	allocated
	awaiting
	freed
)

var storageStateNames = [...]string{"unborn", "allocated", "awaiting", "freed"}

type validator struct {
	t     *Trace
	state []storageState
	errs  []error
	count int
}

func (v *validator) check(ok bool, format string, args ...any) {
	if ok {
		return
	}
	if v.count++; v.count <= maxViolations {
		v.errs = append(v.errs, fmt.Errorf(format, args...))
	}
}

func (v *validator) segment(s *Segment) {
	at := s.Addr
	for i := range s.Blocks {
		b := &s.Blocks[i]
		v.check(b.Addr == at && b.Size > 0, "heap: block %#x: got %d bytes, want one at %#x", b.Addr, b.Size, at)
		at = b.Addr + uint64(b.Size)
		if b.Storage < 0 {
			v.check(b.Storage == NoStorage, "heap: block %#x: got storage %d", b.Addr, b.Storage)
			continue
		}
		v.check(v.state[b.Storage] == unborn, "heap: block %#x: got storage %s in two blocks", b.Addr,
			storageName(b.Storage))
		v.check(b.State != Inactive, "heap: block %#x: got storage %s in an inactive block", b.Addr,
			storageName(b.Storage))
		v.state[b.Storage] = allocated
		if b.State == ActiveAwaitingFree {
			v.state[b.Storage] = awaiting
		}
	}
	v.check(at == s.Addr+uint64(s.Size), "heap: segment %#x: got blocks up to %#x, want %#x", s.Addr, at,
		s.Addr+uint64(s.Size))
}

func (v *validator) event(i int, e *Event) {
	v.check(e.Bytes >= 0, "event %d: got %d bytes", i, e.Bytes)
	v.check(e.Pass >= 0 && e.Pass <= len(v.t.Passes), "event %d: got pass %d of %d", i, e.Pass, len(v.t.Passes))
	v.check(e.Site >= NoSite && int(e.Site) < len(v.t.Sites), "event %d: got site %d of %d", i, e.Site, len(v.t.Sites))
	v.check(int(e.Action) < len(actionNames), "event %d: got action %d", i, e.Action)
	var from []storageState
	to := allocated
	switch e.Action {
	case Alloc:
		from = []storageState{unborn}
	case FreeRequested:
		from, to = []storageState{allocated}, awaiting
	case FreeCompleted:
		from, to = []storageState{awaiting}, freed
	default:
		return
	}
	if e.Storage < 0 {
		v.check(false, "event %d: %s: got storage %d", i, e.Action, e.Storage)
		return
	}
	have := &v.state[e.Storage]
	v.check(*have == from[0], "event %d: %s: got storage %s %s, want it %s", i, e.Action, storageName(e.Storage),
		storageStateNames[*have], storageStateNames[from[0]])
	*have = to
}
