package pickle

// boxes are the slabs that values are cut from: an allocation for each would cost more than reading
// it.
type boxes struct {
	slots []any
	lists []List
	dicts []Dict
}

// slab is how many are made at once.
const slab = 256

// smallInts are the integers that need no box.
var smallInts = func() (t [256]any) {
	for i := range t {
		t[i] = int64(i)
	}
	return t
}()

func (b *boxes) int(v int64) any {
	if uint64(v) < uint64(len(smallInts)) {
		return smallInts[v]
	}
	return v
}

func (b *boxes) list() *List {
	if len(b.lists) == 0 {
		b.lists = make([]List, slab)
	}
	p := &b.lists[0]
	b.lists = b.lists[1:]
	return p
}

func (b *boxes) dict() *Dict {
	if len(b.dicts) == 0 {
		b.dicts = make([]Dict, slab)
	}
	p := &b.dicts[0]
	b.dicts = b.dicts[1:]
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
