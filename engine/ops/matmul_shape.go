package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

// outType is the dtype of a product: an out_dtype argument where there is one.
func (c *Call) outType(t *tensor.Tensor) tensor.DType { return c.DTypeOr("out_dtype", t.DType) }

// product2 checks a pair of matrices.
func (c *Call) product2(a, b *tensor.Tensor) error {
	if len(a.Sizes) != 2 || len(b.Sizes) != 2 || a.Sizes[1] != b.Sizes[0] {
		return c.Errorf("got %v and %v, want [n, m] and [m, p]", a.Sizes, b.Sizes)
	}
	return c.sameKind(a, b)
}

// sameKind refuses operands of two dtypes or devices: products promote nothing.
func (c *Call) sameKind(a, b *tensor.Tensor) error {
	if a.DType != b.DType && !c.Has("out_dtype") {
		return c.Errorf("got %s and %s, want one dtype", a.DType, b.DType)
	}
	if a.Device != b.Device {
		return c.Errorf("got tensors on %s and %s, want one device", a.Device, b.Device)
	}
	return nil
}

func mm(c *Call) ([]tensor.Meta, error) {
	a, b := c.T("self"), c.T("mat2")
	if err := c.product2(a, b); err != nil {
		return nil, err
	}
	return one(freshAs(a, c.outType(a), a.Sizes[0], b.Sizes[1]))
}

func (c *Call) product3(a, b *tensor.Tensor) error {
	if len(a.Sizes) != 3 || len(b.Sizes) != 3 || a.Sizes[0] != b.Sizes[0] || a.Sizes[2] != b.Sizes[1] {
		return c.Errorf("got %v and %v, want [b, n, m] and [b, m, p]", a.Sizes, b.Sizes)
	}
	return c.sameKind(a, b)
}

func bmm(c *Call) ([]tensor.Meta, error) {
	a, b := c.T("self"), c.T("mat2")
	if err := c.product3(a, b); err != nil {
		return nil, err
	}
	return one(freshAs(a, c.outType(a), a.Sizes[0], a.Sizes[1], b.Sizes[2]))
}

// fits says whether self can be added to a result of these sizes.
func (c *Call) fits(self *tensor.Tensor, sizes []int64) error {
	got, err := c.broadcast(sizes, self.Sizes)
	if err != nil {
		return err
	}
	if !slices.Equal(got, sizes) {
		return c.Errorf("got self of sizes %v, want them to expand to %v", self.Sizes, sizes)
	}
	return nil
}

func addmm(c *Call) ([]tensor.Meta, error) {
	a, b := c.T("mat1"), c.T("mat2")
	if err := c.product2(a, b); err != nil {
		return nil, err
	}
	m := freshAs(a, c.outType(a), a.Sizes[0], b.Sizes[1])
	if err := c.fits(c.T("self"), m.Sizes); err != nil {
		return nil, err
	}
	return one(m)
}

func addmmInPlace(c *Call) ([]tensor.Meta, error) {
	return c.inPlaceOf(addmm)
}

func baddbmmInPlace(c *Call) ([]tensor.Meta, error) { return c.inPlaceOf(baddbmm) }
func addbmmInPlace(c *Call) ([]tensor.Meta, error)  { return c.inPlaceOf(addbmm) }
func addmvInPlace(c *Call) ([]tensor.Meta, error)   { return c.inPlaceOf(addmv) }

// inPlaceOf is self where it already has the shape of the result: an addend that is written does not expand.
func (c *Call) inPlaceOf(out func(*Call) ([]tensor.Meta, error)) ([]tensor.Meta, error) {
	metas, err := out(c)
	if err != nil {
		return nil, err
	}
	if self := c.T("self"); !slices.Equal(metas[0].Sizes, self.Sizes) {
		return nil, c.Errorf("got self of sizes %v, want %v", self.Sizes, metas[0].Sizes)
	}
	return selfMeta(c)
}

func baddbmm(c *Call) ([]tensor.Meta, error) {
	a, b := c.T("batch1"), c.T("batch2")
	if err := c.product3(a, b); err != nil {
		return nil, err
	}
	m := freshAs(a, c.outType(a), a.Sizes[0], a.Sizes[1], b.Sizes[2])
	if err := c.fits(c.T("self"), m.Sizes); err != nil {
		return nil, err
	}
	return one(m)
}

func addbmm(c *Call) ([]tensor.Meta, error) {
	a, b := c.T("batch1"), c.T("batch2")
	if err := c.product3(a, b); err != nil {
		return nil, err
	}
	m := fresh(a, a.Sizes[1], b.Sizes[2])
	if err := c.fits(c.T("self"), m.Sizes); err != nil {
		return nil, err
	}
	return one(m)
}

func mv(c *Call) ([]tensor.Meta, error) {
	a, v := c.T("self"), c.T("vec")
	if len(a.Sizes) != 2 || len(v.Sizes) != 1 || a.Sizes[1] != v.Sizes[0] {
		return nil, c.Errorf("got %v and %v, want [n, m] and [m]", a.Sizes, v.Sizes)
	}
	if err := c.sameKind(a, v); err != nil {
		return nil, err
	}
	return one(fresh(a, a.Sizes[0]))
}

func addmv(c *Call) ([]tensor.Meta, error) {
	a, v := c.T("mat"), c.T("vec")
	if len(a.Sizes) != 2 || len(v.Sizes) != 1 || a.Sizes[1] != v.Sizes[0] {
		return nil, c.Errorf("got %v and %v, want [n, m] and [m]", a.Sizes, v.Sizes)
	}
	if err := c.fits(c.T("self"), []int64{a.Sizes[0]}); err != nil {
		return nil, err
	}
	return one(fresh(a, a.Sizes[0]))
}

func addr(c *Call) ([]tensor.Meta, error) {
	a, b := c.T("vec1"), c.T("vec2")
	if len(a.Sizes) != 1 || len(b.Sizes) != 1 {
		return nil, c.Errorf("got %v and %v, want two vectors", a.Sizes, b.Sizes)
	}
	m := freshAs(a, c.tensorType(), a.Sizes[0], b.Sizes[0])
	if err := c.fits(c.T("self"), m.Sizes); err != nil {
		return nil, err
	}
	return one(m)
}

func dot(c *Call) ([]tensor.Meta, error) {
	ts := c.operands()
	a, b := ts[0], ts[1]
	if len(a.Sizes) != 1 || len(b.Sizes) != 1 || a.Sizes[0] != b.Sizes[0] {
		return nil, c.Errorf("got %v and %v, want two vectors of one length", a.Sizes, b.Sizes)
	}
	if err := c.sameKind(a, b); err != nil {
		return nil, err
	}
	return one(fresh(a))
}

func intMM(c *Call) ([]tensor.Meta, error) {
	a, b := c.T("self"), c.T("mat2")
	if err := c.product2(a, b); err != nil {
		return nil, err
	}
	return one(freshAs(a, tensor.Int32, a.Sizes[0], b.Sizes[1]))
}

func scaledMM(c *Call) ([]tensor.Meta, error) {
	a, b := c.T("self"), c.T("mat2")
	if len(a.Sizes) != 2 || len(b.Sizes) != 2 || a.Sizes[1] != b.Sizes[0] {
		return nil, c.Errorf("got %v and %v, want [n, m] and [m, p]", a.Sizes, b.Sizes)
	}
	return one(freshAs(a, c.DTypeOr("out_dtype", a.DType), a.Sizes[0], b.Sizes[1]))
}

// trilinear sums the product of three tensors, each given dimensions of size 1 first, over sumdim.
func trilinear(c *Call) ([]tensor.Meta, error) {
	var shapes [][]int64
	for i, name := range []string{"i1", "i2", "i3"} {
		sizes := slices.Clone(c.T(name).Sizes)
		at := c.Ints([]string{"expand1", "expand2", "expand3"}[i])
		slices.Sort(at)
		for _, d := range at {
			if d < 0 || int(d) > len(sizes) {
				return nil, c.Errorf("got dim %d, want at most %d", d, len(sizes))
			}
			sizes = slices.Insert(sizes, int(d), 1)
		}
		shapes = append(shapes, sizes)
	}
	full, err := c.broadcast(shapes...)
	if err != nil {
		return nil, err
	}
	sum, err := c.dims("sumdim", len(full))
	if err != nil {
		return nil, err
	}
	return one(fresh(c.T("i1"), reduced(full, sum, false)...))
}

// addrInPlace gives self the product's shape.
func addrInPlace(c *Call) ([]tensor.Meta, error) {
	self := c.T("self")
	ms, err := addr(c)
	if err != nil {
		return nil, err
	}
	if slices.Equal(ms[0].Sizes, self.Sizes) {
		return one(self.Meta)
	}
	return one(freshAs(self, self.DType, ms[0].Sizes...))
}
