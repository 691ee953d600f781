package linalg

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// outType is the dtype of a product: an out_dtype argument where there is one.
func outType(c *ops.Call, t *tensor.Tensor) tensor.DType { return c.DTypeOr("out_dtype", t.DType) }

// product2 checks a pair of matrices.
func product2(c *ops.Call, a, b *tensor.Tensor) error {
	if len(a.Sizes) != 2 || len(b.Sizes) != 2 || a.Sizes[1] != b.Sizes[0] {
		return c.Errorf("got %v and %v, want [n, m] and [m, p]", a.Sizes, b.Sizes)
	}
	return sameKind(c, a, b)
}

// sameKind refuses operands of two dtypes or devices: products promote nothing.
func sameKind(c *ops.Call, a, b *tensor.Tensor) error {
	if a.DType != b.DType && !c.Has("out_dtype") {
		return c.Errorf("got %s and %s, want one dtype", a.DType, b.DType)
	}
	if a.Device != b.Device {
		return c.Errorf("got tensors on %s and %s, want one device", a.Device, b.Device)
	}
	return nil
}

func mm(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("self"), c.T("mat2")
	if err := product2(c, a, b); err != nil {
		return nil, err
	}
	return ops.One(ops.FreshAs(a, outType(c, a), a.Sizes[0], b.Sizes[1]))
}

func product3(c *ops.Call, a, b *tensor.Tensor) error {
	if len(a.Sizes) != 3 || len(b.Sizes) != 3 || a.Sizes[0] != b.Sizes[0] || a.Sizes[2] != b.Sizes[1] {
		return c.Errorf("got %v and %v, want [b, n, m] and [b, m, p]", a.Sizes, b.Sizes)
	}
	return sameKind(c, a, b)
}

func bmm(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("self"), c.T("mat2")
	if err := product3(c, a, b); err != nil {
		return nil, err
	}
	return ops.One(ops.FreshAs(a, outType(c, a), a.Sizes[0], a.Sizes[1], b.Sizes[2]))
}

// fits says whether self can be added to a result of these sizes.
func fits(c *ops.Call, self *tensor.Tensor, sizes []int64) error {
	got, err := c.Broadcast(sizes, self.Sizes)
	if err != nil {
		return err
	}
	if !slices.Equal(got, sizes) {
		return c.Errorf("got self of sizes %v, want them to expand to %v", self.Sizes, sizes)
	}
	return nil
}

func addmm(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("mat1"), c.T("mat2")
	if err := product2(c, a, b); err != nil {
		return nil, err
	}
	m := ops.FreshAs(a, outType(c, a), a.Sizes[0], b.Sizes[1])
	if err := fits(c, c.T("self"), m.Sizes); err != nil {
		return nil, err
	}
	return ops.One(m)
}

func addmmInPlace(c *ops.Call) ([]tensor.Meta, error) {
	return inPlaceOf(c, addmm)
}

func baddbmmInPlace(c *ops.Call) ([]tensor.Meta, error) { return inPlaceOf(c, baddbmm) }

func addbmmInPlace(c *ops.Call) ([]tensor.Meta, error) { return inPlaceOf(c, addbmm) }

func addmvInPlace(c *ops.Call) ([]tensor.Meta, error) { return inPlaceOf(c, addmv) }

// inPlaceOf is self where it already has the shape of the result: an addend that is written does
// not expand.
func inPlaceOf(c *ops.Call, out func(*ops.Call) ([]tensor.Meta, error)) ([]tensor.Meta, error) {
	metas, err := out(c)
	if err != nil {
		return nil, err
	}
	if self := c.T("self"); !slices.Equal(metas[0].Sizes, self.Sizes) {
		return nil, c.Errorf("got self of sizes %v, want %v", self.Sizes, metas[0].Sizes)
	}
	return ops.SelfMeta(c)
}

func baddbmm(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("batch1"), c.T("batch2")
	if err := product3(c, a, b); err != nil {
		return nil, err
	}
	m := ops.FreshAs(a, outType(c, a), a.Sizes[0], a.Sizes[1], b.Sizes[2])
	if err := fits(c, c.T("self"), m.Sizes); err != nil {
		return nil, err
	}
	return ops.One(m)
}

func addbmm(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("batch1"), c.T("batch2")
	if err := product3(c, a, b); err != nil {
		return nil, err
	}
	m := ops.FreshLike(a, a.Sizes[1], b.Sizes[2])
	if err := fits(c, c.T("self"), m.Sizes); err != nil {
		return nil, err
	}
	return ops.One(m)
}

func mv(c *ops.Call) ([]tensor.Meta, error) {
	a, v := c.T("self"), c.T("vec")
	if len(a.Sizes) != 2 || len(v.Sizes) != 1 || a.Sizes[1] != v.Sizes[0] {
		return nil, c.Errorf("got %v and %v, want [n, m] and [m]", a.Sizes, v.Sizes)
	}
	if err := sameKind(c, a, v); err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(a, a.Sizes[0]))
}

func addmv(c *ops.Call) ([]tensor.Meta, error) {
	a, v := c.T("mat"), c.T("vec")
	if len(a.Sizes) != 2 || len(v.Sizes) != 1 || a.Sizes[1] != v.Sizes[0] {
		return nil, c.Errorf("got %v and %v, want [n, m] and [m]", a.Sizes, v.Sizes)
	}
	if err := sameKind(c, a, v); err != nil {
		return nil, err
	}
	if err := fits(c, c.T("self"), []int64{a.Sizes[0]}); err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(a, a.Sizes[0]))
}

func addr(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("vec1"), c.T("vec2")
	if len(a.Sizes) != 1 || len(b.Sizes) != 1 {
		return nil, c.Errorf("got %v and %v, want two vectors", a.Sizes, b.Sizes)
	}
	m := ops.FreshAs(a, c.TensorType(), a.Sizes[0], b.Sizes[0])
	if err := fits(c, c.T("self"), m.Sizes); err != nil {
		return nil, err
	}
	return ops.One(m)
}

func dot(c *ops.Call) ([]tensor.Meta, error) {
	ts := c.Operands()
	a, b := ts[0], ts[1]
	if len(a.Sizes) != 1 || len(b.Sizes) != 1 || a.Sizes[0] != b.Sizes[0] {
		return nil, c.Errorf("got %v and %v, want two vectors of one length", a.Sizes, b.Sizes)
	}
	if err := sameKind(c, a, b); err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(a))
}

func intMM(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("self"), c.T("mat2")
	if err := product2(c, a, b); err != nil {
		return nil, err
	}
	return ops.One(ops.FreshAs(a, tensor.Int32, a.Sizes[0], b.Sizes[1]))
}

// int4MM is a product with a matrix of 4-bit numbers, packed in tiles of 8 columns and 16 rows as
// _convert_weight_to_int4pack does: [columns/8, rows/(16 tiles), 32, tiles/2].
func int4MM(c *ops.Call) ([]tensor.Meta, error) {
	a, w, scales := c.T("self"), c.T("mat2"), c.T("qScaleAndZeros")
	group := c.Int("qGroupSize")
	if len(a.Sizes) != 2 || len(w.Sizes) != 4 || w.Sizes[2] != 32 || w.Sizes[1]*w.Sizes[3]*2*16 != a.Sizes[1] {
		return nil, c.Errorf("got %v and a packed matrix %v, want a matrix and [columns/8, rows/(16 tiles), 32, tiles/2] "+
			"of its columns", a.Sizes, w.Sizes)
	}
	columns := 8 * w.Sizes[0]
	if group <= 0 || !slices.Equal(scales.Sizes, []int64{a.Sizes[1] / group, columns, 2}) {
		return nil, c.Errorf("got scales %v for groups of %d, want [rows/group, columns, 2] of %d rows and %d columns",
			scales.Sizes, group, a.Sizes[1], columns)
	}
	if a.DType != tensor.BFloat16 || w.DType != tensor.Int32 || scales.DType != tensor.BFloat16 {
		return nil, c.Errorf("got %s, %s and %s, want bfloat16, int32 and bfloat16", a.DType, w.DType, scales.DType)
	}
	if ops.OnCUDA(a) && !c.Platform().Device.ComputeCapability.AtLeast(8, 0) {
		return nil, c.Errorf("got a device before compute capability 8.0: PyTorch refuses to run it")
	}
	return ops.One(ops.FreshAs(a, a.DType, a.Sizes[0], columns))
}

func scaledMM(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("self"), c.T("mat2")
	if len(a.Sizes) != 2 || len(b.Sizes) != 2 || a.Sizes[1] != b.Sizes[0] {
		return nil, c.Errorf("got %v and %v, want [n, m] and [m, p]", a.Sizes, b.Sizes)
	}
	return ops.One(ops.FreshAs(a, c.DTypeOr("out_dtype", a.DType), a.Sizes[0], b.Sizes[1]))
}

// trilinear sums the product of three tensors, each given dimensions of size 1 first, over sumdim.
func trilinear(c *ops.Call) ([]tensor.Meta, error) {
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
	full, err := c.Broadcast(shapes...)
	if err != nil {
		return nil, err
	}
	sum, err := c.Dims("sumdim", len(full))
	if err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(c.T("i1"), ops.ReducedSizes(full, sum, false)...))
}

// addrInPlace gives self the product's shape.
func addrInPlace(c *ops.Call) ([]tensor.Meta, error) {
	self := c.T("self")
	ms, err := addr(c)
	if err != nil {
		return nil, err
	}
	if slices.Equal(ms[0].Sizes, self.Sizes) {
		return ops.One(self.Meta)
	}
	return ops.One(ops.FreshAs(self, self.DType, ms[0].Sizes...))
}
