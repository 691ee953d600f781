package reduce

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// histogramddRules are histograms over several dimensions (native/Histogram.cpp), which run on the
// host alone.
var histogramddRules = []ops.Rule{
	{Schema: "aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]", Out: binEdges},
	{Schema: "aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor", Out: histogramdd},
	{Schema: "aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor", Out: histogramddTensors},
	{Schema: "aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)", Body: histogramddOf},
	{Schema: "aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)", Body: histogramddEven},
	{Schema: "aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)", Body: histogramddGiven},
}

// coordinates says that self is points of as many coordinates as there are numbers of bins.
func coordinates(c *ops.Call, bins int) error {
	x := c.Self()
	if len(x.Sizes) < 2 || x.Sizes[len(x.Sizes)-1] != int64(bins) {
		return c.Errorf("got self %v and %d numbers of bins, want as many as self's last dimension has coordinates",
			x.Sizes, bins)
	}
	if w := c.T("weight"); w != nil && (w.DType != x.DType || !slices.Equal(w.Sizes, x.Sizes[:len(x.Sizes)-1])) {
		return c.Errorf("got weight %v of %s, want one number of %s for each point of %v", w.Sizes, w.DType, x.DType,
			x.Sizes)
	}
	return nil
}

func binEdges(c *ops.Call) ([]tensor.Meta, error) {
	bins := c.Ints("bins")
	if err := coordinates(c, len(bins)); err != nil {
		return nil, err
	}
	var out []tensor.Meta
	for _, n := range bins {
		if n <= 0 {
			return nil, c.Errorf("got %d bins, want at least 1", n)
		}
		out = append(out, ops.FreshLike(c.Self(), n+1))
	}
	return out, nil
}

func histogramdd(c *ops.Call) ([]tensor.Meta, error) {
	bins := c.Ints("bins")
	if err := coordinates(c, len(bins)); err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(c.Self(), slices.Clone(bins)...))
}

func histogramddTensors(c *ops.Call) ([]tensor.Meta, error) {
	edges := c.Tensors("bins")
	if err := coordinates(c, len(edges)); err != nil {
		return nil, err
	}
	var sizes []int64
	for _, e := range edges {
		if e == nil || len(e.Sizes) != 1 || e.Sizes[0] < 2 || e.DType != c.Self().DType {
			return nil, c.Errorf("got edges of bins that are no vector of at least 2 numbers of %s", c.Self().DType)
		}
		sizes = append(sizes, e.Sizes[0]-1)
	}
	return ops.One(ops.FreshLike(c.Self(), sizes...))
}

func histogramddOf(c *ops.Call) (any, error) {
	kw := ops.Kw{"range": c.Arg("range"), "weight": c.Arg("weight"), "density": c.Arg("density")}
	edges := c.DoAny("aten::_histogramdd_bin_edges", c.Self(), c.Arg("bins"), kw)
	return c.Tuple(c.Do("aten::_histogramdd_from_bin_cts", c.Self(), c.Arg("bins"), kw), edges), nil
}

// histogramddEven has as many bins for each coordinate.
func histogramddEven(c *ops.Call) (any, error) {
	x := c.Self()
	if len(x.Sizes) < 2 {
		return nil, c.Errorf("got self %v, want points of coordinates", x.Sizes)
	}
	bins := slices.Repeat([]int64{c.Int("bins")}, int(x.Sizes[len(x.Sizes)-1]))
	return c.DoAny("aten::histogramdd", x, ops.IntList(bins...), c.Arg("range"), c.Arg("weight"), c.Arg("density")), nil
}

// histogramddGiven gives the edges back.
func histogramddGiven(c *ops.Call) (any, error) {
	hist := c.Do("aten::_histogramdd_from_bin_tensors", c.Self(), c.Arg("bins"),
		ops.Kw{"weight": c.Arg("weight"), "density": c.Arg("density")})
	return c.Tuple(hist, c.Arg("bins")), nil
}
