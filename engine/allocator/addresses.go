package allocator

import (
	"cmp"
	"slices"

	"github.com/memspec/memspec/engine/units"
)

// Where NVIDIA's driver puts what cudaMalloc gives decides which of several free blocks of one size
// PyTorch takes: the one at the lowest address. The driver takes address space in chunks, whole
// multiples of 32 MiB, each below the one before. An allocation lies at the lowest free place of a
// chunk that has room for it, in steps of 2 MiB; a chunk that is all free is given back, and a new
// one lies at the upper end of the highest gap that has 32 MiB more than it. This was read off 64
// recordings of an H100 (testdata/h100); addresses in snapshots of other cards have the same form.
//
// Not modelled: what the process itself maps between two chunks.

const (
	driverPage  = units.Bytes(2 << 20)
	driverChunk = units.Bytes(32 << 20)
)

// extent is a stretch of addresses.
type extent struct {
	at   uint64
	size units.Bytes
}

func (e extent) end() uint64 { return e.at + uint64(e.size) }

// driverAddresses is the address space of one process on one device.
type driverAddresses struct {
	chunks, free []extent // by rising address; free are the parts of chunks that nothing takes
}

// place returns where a new allocation lies.
func (d *driverAddresses) place(size units.Bytes) uint64 {
	size = size.RoundUp(driverPage)
	for i := range d.free {
		f := &d.free[i]
		if f.size < size {
			continue
		}
		at := f.at
		f.at, f.size = f.at+uint64(size), f.size-size
		if f.size == 0 {
			d.free = slices.Delete(d.free, i, i+1)
		}
		return at
	}
	chunk := extent{size: size.RoundUp(driverChunk)}
	chunk.at = d.gap(chunk.size)
	insert(&d.chunks, chunk)
	if chunk.size > size {
		insert(&d.free, extent{chunk.at + uint64(size), chunk.size - size})
	}
	return chunk.at
}

// gap returns where a new chunk lies: the driver asks for 32 MiB more, to align what it gets.
func (d *driverAddresses) gap(size units.Bytes) uint64 {
	top := uint64(firstAddr)
	if n := len(d.chunks); n > 0 { // those of a recording may lie above
		top = max(top, d.chunks[n-1].end())
	}
	for _, c := range slices.Backward(d.chunks) {
		if top-c.end() >= uint64(size+driverChunk) {
			break
		}
		top = c.at
	}
	return top - uint64(size)
}

// release takes an allocation back.
func (d *driverAddresses) release(at uint64, size units.Bytes) {
	f := extent{at, size.RoundUp(driverPage)}
	i := insert(&d.free, f)
	c := d.chunks[d.chunkOf(at)]
	if i+1 < len(d.free) && d.free[i].end() == d.free[i+1].at && d.free[i+1].at < c.end() {
		d.free[i].size += d.free[i+1].size
		d.free = slices.Delete(d.free, i+1, i+2)
	}
	if i > 0 && d.free[i-1].end() == d.free[i].at && d.free[i-1].at >= c.at {
		d.free[i-1].size += d.free[i].size
		d.free = slices.Delete(d.free, i, i+1)
		i--
	}
	if d.free[i] == c {
		d.free = slices.Delete(d.free, i, i+1)
		j := d.chunkOf(at)
		d.chunks = slices.Delete(d.chunks, j, j+1)
	}
}

// chunkOf returns the number of the chunk that an address is in.
func (d *driverAddresses) chunkOf(at uint64) int {
	return slices.IndexFunc(d.chunks, func(c extent) bool { return c.at <= at && at < c.end() })
}

// hold keeps a stretch for what was there before: a segment of a recording.
func (d *driverAddresses) hold(at uint64, size units.Bytes) {
	if d.chunkOf(at) < 0 {
		insert(&d.chunks, extent{at, size.RoundUp(driverPage)})
	}
}

// insert keeps a list in the order of addresses, and returns where the stretch is.
func insert(list *[]extent, e extent) int {
	i, _ := slices.BinarySearchFunc(*list, e.at, func(x extent, at uint64) int { return cmp.Compare(x.at, at) })
	*list = slices.Insert(*list, i, e)
	return i
}
