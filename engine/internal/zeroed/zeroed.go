// Package zeroed makes lists longer whose memory is used again.
package zeroed

const shortestList = 256

// Extend makes a list longer by n zeroed values. It may move: who holds a part of the old one keeps
// that part.
func Extend[T any](list []T, n int) []T {
	if cap(list)-len(list) < n {
		list = append(make([]T, 0, max(2*cap(list), len(list)+n, shortestList)), list...)
	}
	from := len(list)
	list = list[:from+n]
	clear(list[from:])
	return list
}
