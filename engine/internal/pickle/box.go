package pickle

import "unsafe"

// Turning an integer or a tuple into an interface costs an allocation each, which would be half the time of a decoding. The boxes below are
// cut from slabs instead and never written again, so that they are what the runtime would have made.

// boxes are the slabs that values are cut from.
type boxes struct {
	slots  []any
	ints   []int64
	tuples []Tuple
	strs   []string
	lists  []List
}

// slab is the number of boxes made at once.
const slab = 256

// eface is how the runtime lays out an interface without methods; TestBoxes notices should that change.
type eface struct{ typ, data unsafe.Pointer }

// smallInts are the integers that need no box.
var smallInts = func() (t [256]any) {
	for i := range t {
		t[i] = int64(i)
	}
	return t
}()

var (
	intType   = typeWord(int64(0))
	tupleType = typeWord(Tuple(nil))
	strType   = typeWord("")
)

func typeWord(v any) unsafe.Pointer { return (*eface)(unsafe.Pointer(&v)).typ }

func box(typ, data unsafe.Pointer) any {
	e := eface{typ, data}
	return *(*any)(unsafe.Pointer(&e))
}

func (b *boxes) int(v int64) any {
	if uint64(v) < uint64(len(smallInts)) {
		return smallInts[v]
	}
	if len(b.ints) == 0 {
		b.ints = make([]int64, slab)
	}
	p := &b.ints[0]
	b.ints = b.ints[1:]
	*p = v
	return box(intType, unsafe.Pointer(p))
}

func (b *boxes) tuple(v Tuple) any {
	if len(b.tuples) == 0 {
		b.tuples = make([]Tuple, slab)
	}
	p := &b.tuples[0]
	b.tuples = b.tuples[1:]
	*p = v
	return box(tupleType, unsafe.Pointer(p))
}

func (b *boxes) str(v string) any {
	if len(b.strs) == 0 {
		b.strs = make([]string, slab)
	}
	p := &b.strs[0]
	b.strs = b.strs[1:]
	*p = v
	return box(strType, unsafe.Pointer(p))
}

func (b *boxes) list() *List {
	if len(b.lists) == 0 {
		b.lists = make([]List, slab)
	}
	p := &b.lists[0]
	b.lists = b.lists[1:]
	return p
}

// cut returns room for n values.
func (b *boxes) cut(n int) []any {
	if n > slab {
		return make([]any, n)
	}
	if n > len(b.slots) {
		b.slots = make([]any, 4*slab)
	}
	s := b.slots[:n:n]
	b.slots = b.slots[n:]
	return s
}
