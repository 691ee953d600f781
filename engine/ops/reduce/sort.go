package reduce

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

func sorted(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("self")
	if _, err := c.WrapDim(c.Int("dim"), len(x.Sizes)); err != nil {
		return nil, err
	}
	return ops.WithIndices(ops.EmptyLike(x, x.DType, tensor.Preserve)), nil
}

func sortWorkspace(c *ops.Call) []workspace.Request {
	return alongDim(c, func(x *tensor.Meta, dim int) []workspace.Request { return workspace.Sort(c.Platform(), x, dim) })
}

// alongDim is what a kernel takes that goes along the call's dim.
func alongDim(c *ops.Call, of func(x *tensor.Meta, dim int) []workspace.Request) []workspace.Request {
	x := c.T("self")
	d, err := c.WrapDim(c.Int("dim"), len(x.Sizes))
	if err != nil {
		return nil
	}
	return of(&x.Meta, d)
}

func argsort(key string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		if c.Has("stable") {
			return c.DoGet(1, key, c.T("self"), c.Arg("stable"), c.Arg("dim"), c.Arg("descending")), nil
		}
		return c.DoGet(1, key, c.Args...), nil
	}
}

func msort(c *ops.Call) (any, error) {
	return c.DoGet(0, "aten::sort", c.T("self"), int64(0), false), nil
}

func topk(c *ops.Call) ([]tensor.Meta, error) {
	x, k := c.T("self"), c.Int("k")
	d, err := c.WrapDim(c.Int("dim"), len(x.Sizes))
	if err != nil {
		return nil, err
	}
	sizes := slices.Clone(x.Sizes)
	if len(sizes) == 0 {
		if k < 0 || k > 1 {
			return nil, c.Errorf("got k %d, want 0 or 1", k)
		}
		return ops.WithIndices(ops.FreshLike(x)), nil
	}
	if k < 0 || k > sizes[d] {
		return nil, c.Errorf("got k %d, want one in [0, %d]", k, sizes[d])
	}
	sizes[d] = k
	return ops.WithIndices(ops.FreshLike(x, sizes...)), nil
}

func topkWorkspace(c *ops.Call) []workspace.Request {
	return alongDim(c, func(x *tensor.Meta, dim int) []workspace.Request {
		return workspace.TopK(c.Platform(), x, dim, c.Int("k"))
	})
}

// contiguousWorkspace is a contiguous copy of self.
func contiguousWorkspace(c *ops.Call) []workspace.Request {
	return workspace.Contiguous("native/cuda self.contiguous()", &c.Self().Meta)
}

// contiguousBefore is the same before the results.
func contiguousBefore(c *ops.Call) []workspace.Request {
	return workspace.Before(contiguousWorkspace(c)...)
}

func kthValue(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("self")
	d, err := c.WrapDim(c.Int("dim"), len(x.Sizes))
	if err != nil {
		return nil, err
	}
	most := int64(1)
	if len(x.Sizes) > 0 {
		most = x.Sizes[d]
	}
	if k := c.Int("k"); k < 1 || k > most {
		return nil, c.Errorf("got k %d, want one in [1, %d]", k, most)
	}
	if len(x.Sizes) == 0 {
		return ops.WithIndices(ops.FreshLike(x)), nil
	}
	return ops.WithIndices(ops.FreshLike(x, ops.ReducedSizes(x.Sizes, []int{d}, c.Bool("keepdim"))...)), nil
}

// search gives places in a sorted sequence, in the shape of the argument of that name.
func search(name string) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		d := tensor.Int64
		if c.Bool("out_int32") {
			d = tensor.Int32
		}
		seq := c.T("sorted_sequence")
		if seq == nil {
			seq = c.T("boundaries")
		}
		if name == "" {
			return ops.One(ops.FreshAs(seq, d))
		}
		x := c.T(name)
		return ops.One(ops.FreshAs(x, d, x.Sizes...))
	}
}

func histc(c *ops.Call) ([]tensor.Meta, error) {
	x, n := c.T("self"), c.Int("bins")
	if n <= 0 {
		return nil, c.Errorf("got %d bins, want at least 1", n)
	}
	if c.Float("min") > c.Float("max") {
		return nil, c.Errorf("got a range from %v to %v, want max no less than min", c.Arg("min"), c.Arg("max"))
	}
	return ops.One(ops.FreshLike(x, n))
}

// histcWorkspace is the smallest and the largest element, where no range is given, and a contiguous
// input between them (native/cuda/SummaryOps.cu _histc_cuda).
func histcWorkspace(c *ops.Call) []workspace.Request {
	x := c.T("self")
	if c.Float("min") != c.Float("max") || !ops.OnCUDA(x) {
		return nil
	}
	const source = "native/cuda/SummaryOps.cu _histc_cuda"
	one := ops.FreshAs(x, x.DType)
	reduced := workspace.GivenBack(reduceWorkspace(workspace.AccInput)(c))
	var out []workspace.Request
	for range 2 {
		out = append(append(out, workspace.CopyOf(&one, source)), reduced...)
	}
	out = append(out, workspace.GivenBack(workspace.Contiguous(source, &x.Meta))...)
	return append(out, workspace.DropOldest(2)...)
}

func histogram(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("self")
	n := c.Int("bins")
	if t := c.T("bins"); t != nil {
		n = t.Numel() - 1
	}
	if n <= 0 {
		return nil, c.Errorf("got %d bins, want at least 1", n)
	}
	return []tensor.Meta{ops.FreshLike(x, n), ops.FreshLike(x, n+1)}, nil
}

// bincount has as many bins as the largest element says; nothing bounds it but minlength where the
// elements are not known.
func bincount(c *ops.Call) ([]tensor.Meta, error) {
	x, w := c.T("self"), c.T("weights")
	if len(x.Sizes) != 1 || !x.DType.Integral(false) {
		return nil, c.Errorf("got %s %v, want a vector of integers", x.DType, x.Sizes)
	}
	n := c.Int("minlength")
	if x.Data != nil && len(x.Data.Ints) > 0 {
		n = max(n, slices.Max(x.Data.Ints)+1)
	} else {
		n = c.SizeBetween(n, max(n, x.Numel()))
	}
	d := tensor.Int64
	if w != nil {
		d = tensor.Float64
		if w.DType == tensor.Float32 {
			d = w.DType
		}
	}
	return ops.One(ops.FreshAs(x, d, n))
}

// unique has at most as many results as elements, or as entries of dim.
func unique(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("self")
	all := x.Numel()
	values := []int64{0}
	at := 0
	inverse := slices.Clone(x.Sizes)
	if c.Has("dim") {
		d, err := c.WrapDim(c.Int("dim"), len(x.Sizes))
		if err != nil {
			return nil, err
		}
		at, values = d, slices.Clone(x.Sizes)
		if len(x.Sizes) > 0 {
			all = x.Sizes[d]
		}
		inverse = []int64{all}
	}
	n := c.SizeBetween(min(all, 1), all)
	if len(values) > 0 {
		values[at] = n
	}
	optional := func(on bool, sizes []int64) tensor.Meta {
		if !on {
			sizes = []int64{0}
		}
		return ops.FreshAs(x, tensor.Int64, sizes...)
	}
	// along a dimension, consecutive ones come with both on the host, asked for or not
	both := c.Has("dim") && strings.Contains(c.Schema.Name, "consecutive") && x.Device == "cpu"
	out := []tensor.Meta{ops.FreshLike(x, values...), optional(both || c.Bool("return_inverse"), inverse)}
	if len(c.Schema.Returns) == 3 {
		out = append(out, optional(both || c.Bool("return_counts"), []int64{n}))
	}
	return out, nil
}
