package view

import (
	"math"
	"slices"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Views of parts of a tensor.

func selectInt(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	dim, err := partDim(c)
	if err != nil {
		return nil, err
	}
	i, n := c.Int("index"), self.Sizes[dim]
	if i < -n || i >= n {
		return nil, c.Errorf("got index %d for dimension %d of size %d", i, dim, n)
	}
	if i < 0 {
		i += n
	}
	return ops.One(selectAt(self, dim, i))
}

func selectAt(self *tensor.Tensor, dim int, i int64) tensor.Meta {
	return ops.ViewOf(self, slices.Delete(slices.Clone(self.Sizes), dim, dim+1),
		slices.Delete(slices.Clone(self.Strides), dim, dim+1), self.StorageOffset+i*self.Strides[dim])
}

// part is self's dimension dim from start to end in steps, already clamped.
func part(self *tensor.Tensor, dim int, start, end, step int64) tensor.Meta {
	sizes, strides := slices.Clone(self.Sizes), slices.Clone(self.Strides)
	sizes[dim] = (end - start + step - 1) / step
	strides[dim] *= step
	return ops.ViewOf(self, sizes, strides, self.StorageOffset+start*self.Strides[dim])
}

func slice(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	dim, err := partDim(c)
	if err != nil {
		return nil, err
	}
	step := c.IntOr("step", 1)
	if step < 1 {
		return nil, c.Errorf("got step %d, want at least 1", step)
	}
	n := self.Sizes[dim]
	start, end := clampIndex(c.IntOr("start", 0), n), clampIndex(c.IntOr("end", math.MaxInt64), n)
	if !ops.IsKnown(c.Arg("end")) {
		end = n
	}
	if !ops.IsKnown(c.Arg("start")) || !ops.IsKnown(c.Arg("end")) {
		lower, upper := int64(0), max(end-start, 0)
		// it counts from the start, not from the end
		if u, ok := c.Arg("end").(ops.Unbacked); ok && ops.IsKnown(c.Arg("start")) && u.Min >= 0 {
			lower, upper = max(min(u.Min, n)-start, 0), max(min(u.Max, n)-start, 0)
		}
		end = start + c.SizeBetween((lower+step-1)/step, (upper+step-1)/step)*step
	}
	return ops.One(part(self, dim, start, max(start, end), step))
}

// clampIndex is a slice's bound between 0 and n; negative ones count from the end.
func clampIndex(i, n int64) int64 {
	if i < 0 {
		i += n
	}
	return min(max(i, 0), n)
}

func narrow(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	dim, err := partDim(c)
	if err != nil {
		return nil, err
	}
	start, length, n := c.Int("start"), c.Int("length"), self.Sizes[dim]
	if t := c.T("start"); t != nil {
		v, ok := ops.Item(t, tensor.Int64).(int64)
		if !ok { // where it starts does not matter to memory
			c.M.Note(note.Note{ID: note.IndexAssumed})
		}
		start = v
	}
	if !ops.IsKnown(c.Arg("start")) {
		c.M.Note(note.Note{ID: note.IndexAssumed})
	}
	if u, ok := c.Arg("length").(ops.Unbacked); ok {
		most := max(n-start, 0)
		length = c.SizeBetween(min(max(u.Min, 0), most), min(max(u.Max, 0), most))
	}
	if start < -n || start > n {
		return nil, c.Errorf("got start %d for size %d", start, n)
	}
	if start < 0 {
		start += n
	}
	if length < 0 || start+length > n {
		return nil, c.Errorf("got start %d and length %d for size %d", start, length, n)
	}
	return ops.One(part(self, dim, start, start+length, 1))
}

// pieces cuts dimension dim into parts of these lengths.
func pieces(self *tensor.Tensor, dim int, lengths []int64) []tensor.Meta {
	out := make([]tensor.Meta, len(lengths))
	at := int64(0)
	for i, n := range lengths {
		out[i] = part(self, dim, at, at+n, 1)
		at += n
	}
	return out
}

// partDim is the dimension that is cut; 0-dim tensors have none.
func partDim(c *ops.Call) (int, error) {
	if len(c.Self().Sizes) == 0 {
		return 0, c.Errorf("got a 0-dim tensor, want at least one dimension")
	}
	return c.WrapDim(c.Int("dim"), len(c.Self().Sizes))
}

// maxParts bounds how many views one operator may give.
const maxParts = 1 << 20

func checkParts(c *ops.Call, n int64) error {
	if n > maxParts {
		return c.Errorf("got %d parts, want at most %d", n, maxParts)
	}
	return nil
}

func splitEvery(c *ops.Call, size int64) ([]tensor.Meta, error) {
	self := c.Self()
	dim, err := partDim(c)
	if err != nil {
		return nil, err
	}
	n := self.Sizes[dim]
	if size < 0 || size == 0 && n != 0 {
		return nil, c.Errorf("got split size %d for size %d", size, n)
	}
	if n > 0 {
		if err := checkParts(c, (n-1)/size+1); err != nil {
			return nil, err
		}
	}
	var lengths []int64
	for at := int64(0); at < n; at += size {
		lengths = append(lengths, min(size, n-at))
	}
	if n == 0 {
		lengths = []int64{0}
	}
	return pieces(self, dim, lengths), nil
}

func split(c *ops.Call) ([]tensor.Meta, error) { return splitEvery(c, c.Int("split_size")) }

// splitSizes takes the lengths of its second argument.
func splitSizes(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	dim, err := partDim(c)
	if err != nil {
		return nil, err
	}
	lengths := c.Ints(c.Schema.Args[1].Name)
	sum := int64(0)
	for _, n := range lengths {
		if n < 0 {
			return nil, c.Errorf("got split sizes %v, want none below 0", lengths)
		}
		sum += n
	}
	if sum != self.Sizes[dim] {
		return nil, c.Errorf("got split sizes %v for size %d, want them to add up", lengths, self.Sizes[dim])
	}
	return pieces(self, dim, lengths), nil
}

func chunk(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	dim, err := partDim(c)
	if err != nil {
		return nil, err
	}
	chunks := c.Int("chunks")
	if chunks < 1 {
		return nil, c.Errorf("got %d chunks, want at least 1", chunks)
	}
	if self.Sizes[dim] == 0 {
		if err := checkParts(c, chunks); err != nil {
			return nil, err
		}
		return pieces(self, dim, make([]int64, chunks)), nil
	}
	return splitEvery(c, ops.DivCeil(self.Sizes[dim], chunks))
}

// sections cuts dimension dim into n parts, the first ones longer by one where it does not come out
// even.
func sections(c *ops.Call, dim int, n int64) ([]tensor.Meta, error) {
	if n < 1 {
		return nil, c.Errorf("got %d sections, want at least 1", n)
	}
	if err := checkParts(c, n); err != nil {
		return nil, err
	}
	size := c.Self().Sizes[dim]
	lengths := make([]int64, n)
	for i := range lengths {
		lengths[i] = size / n
		if int64(i) < size%n {
			lengths[i]++
		}
	}
	return pieces(c.Self(), dim, lengths), nil
}

// cuts cuts dimension dim at these places.
func cuts(c *ops.Call, dim int, at []int64) ([]tensor.Meta, error) {
	self := c.Self()
	out := make([]tensor.Meta, 0, len(at)+1)
	start := int64(0)
	for _, end := range append(slices.Clone(at), self.Sizes[dim]) {
		a, b := clampIndex(start, self.Sizes[dim]), clampIndex(end, self.Sizes[dim])
		out = append(out, part(self, dim, a, max(a, b), 1))
		start = end
	}
	return out, nil
}

func tensorSplit(c *ops.Call) ([]tensor.Meta, error) {
	dim, err := partDim(c)
	if err != nil {
		return nil, err
	}
	if t := c.T("tensor_indices_or_sections"); t != nil {
		if t.Data == nil {
			return nil, c.Errorf("got sections that depend on tensor data")
		}
		if len(t.Sizes) == 0 {
			return sections(c, dim, t.Data.Ints[0])
		}
		return cuts(c, dim, t.Data.Ints)
	}
	if c.Schema.ArgIndex("sections") >= 0 {
		return sections(c, dim, c.Int("sections"))
	}
	return cuts(c, dim, c.Ints("indices"))
}

// splitAlong is hsplit (1, of a vector 0), vsplit (0) and dsplit (2).
func splitAlong(dim int) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		n := len(c.Self().Sizes)
		at := dim
		if dim == 1 && n == 1 {
			at = 0
		}
		if n <= at || dim == 0 && n < 2 {
			return nil, c.Errorf("got %d dimensions, want more", n)
		}
		if c.Schema.ArgIndex("sections") < 0 {
			return cuts(c, at, c.Ints("indices"))
		}
		k := c.Int("sections")
		if k < 1 || c.Self().Sizes[at]%k != 0 {
			return nil, c.Errorf("got %d sections of size %d, want it to come out even", k, c.Self().Sizes[at])
		}
		return sections(c, at, k)
	}
}

func unbind(c *ops.Call) ([]tensor.Meta, error) {
	dim, err := partDim(c)
	if err != nil {
		return nil, err
	}
	if err := checkParts(c, c.Self().Sizes[dim]); err != nil {
		return nil, err
	}
	out := make([]tensor.Meta, c.Self().Sizes[dim])
	for i := range out {
		out[i] = selectAt(c.Self(), dim, int64(i))
	}
	return out, nil
}

// diagonalOf is the diagonal of two dimensions, as the last dimension.
func diagonalOf(c *ops.Call, self *tensor.Tensor) (tensor.Meta, error) {
	n := len(self.Sizes)
	a, err := c.WrapDim(c.IntOr("dim1", 0), n)
	if err != nil {
		return tensor.Meta{}, err
	}
	b, err := c.WrapDim(c.IntOr("dim2", 1), n)
	if err != nil {
		return tensor.Meta{}, err
	}
	if a == b {
		return tensor.Meta{}, c.Errorf("got dimension %d twice", a)
	}
	off := c.Int("offset")
	var length int64
	offset := self.StorageOffset
	if off >= 0 {
		length = max(min(self.Sizes[a], self.Sizes[b]-off), 0)
		if length > 0 {
			offset += off * self.Strides[b]
		}
	} else {
		length = max(min(self.Sizes[a]+off, self.Sizes[b]), 0)
		if length > 0 {
			offset -= off * self.Strides[a]
		}
	}
	sizes, strides := make([]int64, 0, n-1), make([]int64, 0, n-1)
	for i := range n {
		if i != a && i != b {
			sizes, strides = append(sizes, self.Sizes[i]), append(strides, self.Strides[i])
		}
	}
	return ops.ViewOf(self, append(sizes, length), append(strides, self.Strides[a]+self.Strides[b]), offset), nil
}

func diagonal(c *ops.Call) ([]tensor.Meta, error) {
	m, err := diagonalOf(c, c.Self())
	if err != nil {
		return nil, err
	}
	return ops.One(m)
}

func unfold(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	n := len(self.Sizes)
	dim, err := c.WrapDim(c.Int("dimension"), n)
	if err != nil {
		return nil, err
	}
	size, step := c.Int("size"), c.Int("step")
	length, stride := int64(1), int64(1)
	if n > 0 {
		length, stride = self.Sizes[dim], self.Strides[dim]
	}
	if size < 0 || size > length || step < 1 {
		return nil, c.Errorf("got size %d and step %d for size %d", size, step, length)
	}
	sizes, strides := append(slices.Clone(self.Sizes), size), append(slices.Clone(self.Strides), stride)
	if n > 0 {
		sizes[dim] = (length-size)/step + 1
		strides[dim] = stride * step
	}
	return ops.One(ops.ViewOf(self, sizes, strides, self.StorageOffset))
}

func asStrided(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	sizes, strides := c.Ints("size"), c.Ints("stride")
	if len(sizes) != len(strides) {
		return nil, c.Errorf("got %d sizes and %d strides", len(sizes), len(strides))
	}
	m := ops.ViewOf(self, sizes, strides, c.IntOr("storage_offset", self.StorageOffset))
	if m.StorageOffset < 0 {
		return nil, c.Errorf("got storage_offset %d, want at least 0", m.StorageOffset)
	}
	if err := m.Check(); err != nil || m.StorageBytes() > self.Storage.NBytes {
		return nil, c.Errorf("got sizes %v and strides %v, want them to stay within %d bytes", sizes, strides,
			self.Storage.NBytes)
	}
	return ops.One(m)
}

func viewAsReal(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	if !self.DType.Complex() {
		return nil, c.Errorf("got %s, want a complex dtype", self.DType)
	}
	m := ops.ViewOf(self, append(slices.Clone(self.Sizes), 2), append(slices.Clone(self.Strides), 1),
		2*self.StorageOffset)
	for i := range self.Strides {
		m.Strides[i] *= 2
	}
	m.DType = self.DType.ToReal()
	return ops.One(m)
}

func viewAsComplex(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	last := len(self.Sizes) - 1
	if last < 0 || self.Sizes[last] != 2 || self.Strides[last] != 1 || self.DType == tensor.BFloat16 ||
		!self.DType.Floating() {
		return nil, c.Errorf("got %s of sizes %v and strides %v, want floats with a last dimension of size 2 and stride 1",
			self.DType, self.Sizes, self.Strides)
	}
	m := ops.ViewOf(self, slices.Clone(self.Sizes[:last]), slices.Clone(self.Strides[:last]), self.StorageOffset/2)
	for i := range m.Strides {
		m.Strides[i] /= 2
	}
	m.DType = self.DType.ToComplex()
	return ops.One(m)
}

// component is the real (0) or imaginary (1) part as a view; a real tensor is its own real part.
func component(i int64) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		self := c.Self()
		if !self.DType.Complex() {
			if i == 0 {
				return ops.One(self.Meta)
			}
			return nil, c.Errorf("got %s, want a complex dtype", self.DType)
		}
		m := ops.ViewOf(self, slices.Clone(self.Sizes), slices.Clone(self.Strides), 2*self.StorageOffset+i)
		for j := range m.Strides {
			m.Strides[j] *= 2
		}
		m.DType = self.DType.ToReal()
		return ops.One(m)
	}
}

// copied is what out gives, as contiguous fresh tensors.
func copied(out func(*ops.Call) ([]tensor.Meta, error)) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		ms, err := out(c)
		for i := range ms {
			ms[i] = ops.NewMeta(ms[i].DType, ms[i].Device, ms[i].Sizes)
		}
		return ms, err
	}
}

// viewOfCopy is a view of a contiguous copy, where self itself may have none.
func viewOfCopy(c *ops.Call) ([]tensor.Meta, error) {
	rows, of := *c.Self(), *c
	rows.Meta = ops.NewMeta(rows.DType, rows.Device, rows.Sizes)
	of.Args = append([]any{&rows}, c.Args[1:]...)
	return copied(viewed(sizeArg))(&of)
}

// resized is self in another shape; exec grows the storage where it must.
func resized(shape func(*ops.Call) []int64) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		self := c.Self()
		sizes := shape(c)
		if slices.Equal(sizes, self.Sizes) && !c.Has("memory_format") {
			return ops.One(self.Meta)
		}
		f := tensor.MemoryFormat(c.IntOr("memory_format", int64(tensor.Contiguous)))
		if f == tensor.Preserve {
			t := c.T("the_template")
			if t == nil {
				return nil, c.Errorf("got the memory format preserve_format, want one that needs no other tensor")
			}
			f = t.SuggestFormat()
		}
		return ops.One(ops.ViewOf(self, sizes, tensor.FormatStrides(sizes, f), self.StorageOffset))
	}
}

func sizeInts(c *ops.Call) []int64 { return c.Ints("size") }

func templateSizes(c *ops.Call) []int64 { return c.T("the_template").Sizes }
