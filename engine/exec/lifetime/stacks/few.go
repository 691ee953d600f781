package stacks

import "slices"

// maxFew is how many entries are looked through one by one: most functions have fewer lines and
// names.
const maxFew = 8

// few is a map that costs little while it has few entries. The zero few is ready.
type few[K comparable, V any] struct {
	keys   [maxFew]K
	values [maxFew]V
	n      int
	all    map[K]V // nil while there are few
}

func (f *few[K, V]) get(k K) (v V, ok bool) {
	if f.all != nil {
		v, ok = f.all[k]
		return v, ok
	}
	if i := slices.Index(f.keys[:f.n], k); i >= 0 {
		return f.values[i], true
	}
	return v, false
}

func (f *few[K, V]) set(k K, v V) {
	if f.all != nil {
		f.all[k] = v
		return
	}
	i := slices.Index(f.keys[:f.n], k)
	switch {
	case i >= 0:
	case f.n < maxFew:
		i = f.n
		f.n++
		f.keys[i] = k
	default:
		f.all = make(map[K]V, 4*maxFew)
		for i := range f.keys {
			f.all[f.keys[i]] = f.values[i]
		}
		f.all[k] = v
		return
	}
	f.values[i] = v
}
