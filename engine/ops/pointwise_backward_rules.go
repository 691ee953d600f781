package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Gradients as a training run dispatches them (tools/autograd/derivatives.yaml, FunctionsManual.cpp).

// likeSelf is a contiguous gradient in the sizes of an argument.
func likeSelf(name string) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) { return one(fresh(c.T(name), c.T(name).Sizes...)) }
}

// inSizes is a contiguous gradient in the sizes an argument lists.
func inSizes(name string) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) { return one(fresh(c.self(), c.Ints(name)...)) }
}

// bothLike is two gradients of one shape (prelu).
func bothLike(c *Call) ([]tensor.Meta, error) {
	m, err := pointwise(c)
	if err != nil {
		return nil, err
	}
	return append(m, m[0].Clone()), nil
}

// denseRows is the gradient of an embedding: a row a weight.
func denseRows(c *Call) ([]tensor.Meta, error) {
	g := c.self()
	return one(fresh(g, c.Int("num_weights"), g.Sizes[len(g.Sizes)-1]))
}

// sortedEmbedding is how many indices a kernel without a sort takes (embedding_backward_cuda_kernel).
const sortedEmbedding = 3072

// denseRowsScratch is what sorting the indices takes.
func denseRowsScratch(c *Call) []Scratch {
	at := c.T("indices")
	if at.Device == "cpu" || at.Numel() <= sortedEmbedding && !c.Bool("scale_grad_by_freq") {
		return nil
	}
	return sortedPlaces(at.Numel(), "aten/src/ATen/native/cuda/Embedding.cu embedding_dense_backward_cuda")
}

// gridGradients are those of input and grid, where asked for.
func gridGradients(c *Call) ([]tensor.Meta, error) {
	mask, _ := c.Arg("output_mask").(*List)
	input, grid := c.T("input"), c.T("grid")
	in := fresh(input, input.Sizes...)
	if mask != nil && len(mask.Items) == 2 && mask.Items[0] == false {
		in = tensor.Meta{DType: tensor.Undefined}
	}
	return []tensor.Meta{in, fresh(grid, grid.Sizes...)}, nil
}

// upsampleGradient keeps the layout the incoming gradient suggests.
func upsampleGradient(c *Call) ([]tensor.Meta, error) {
	return one(freshFormat(c.self(), c.self().SuggestFormat(), c.Ints("input_size")...))
}

// indexSelectGradient adds into zeros.
func indexSelectGradient(c *Call) (any, error) {
	zeros := c.Do("aten::new_zeros", c.self(), c.Arg("self_sizes"))
	return c.Do("aten::index_add", zeros, c.Int("dim"), c.T("index"), c.self()), nil
}

// gatherGradient is the same with scatter_add.
func gatherGradient(c *Call) (any, error) {
	zeros := c.Do("aten::new_zeros", c.T("self"), intList(c.T("self").Sizes...))
	return c.Do("aten::scatter_add", zeros, c.Int("dim"), c.T("index"), c.self()), nil
}

// chosenGradient scatters the gradient of a reduction that chose elements (max, sort, topk).
func chosenGradient(c *Call) (any, error) {
	grad, at, dim, sizes := c.self(), c.T("indices"), c.Int("dim"), c.Ints("sizes")
	if !c.Bool("keepdim") && len(sizes) > 0 {
		grad, at = c.Do("aten::unsqueeze", grad, dim), c.Do("aten::unsqueeze", at, dim)
	}
	zeros := c.Do("aten::new_zeros", grad, intList(sizes...))
	return c.Do("aten::scatter.src", zeros, dim, at, grad), nil
}

// segmentReduce is one row a segment.
func segmentReduce(c *Call) ([]tensor.Meta, error) {
	data := c.T("data")
	if len(data.Sizes) == 0 {
		return nil, c.Errorf("got a 0-dim tensor, want at least one dimension")
	}
	axis, err := c.wrapDim(c.Int("axis"), len(data.Sizes))
	if err != nil {
		return nil, err
	}
	by := c.T("lengths")
	n := int64(0)
	switch {
	case by != nil && axis < len(by.Sizes):
		n = by.Sizes[axis]
	case c.T("offsets") != nil && axis < len(c.T("offsets").Sizes):
		n = c.T("offsets").Sizes[axis] - 1
	default:
		return nil, c.Errorf("got neither lengths nor offsets, want one of them")
	}
	sizes := slices.Clone(data.Sizes)
	sizes[axis] = n
	return one(fresh(data, sizes...))
}

// hashTensor reduces to 64-bit hashes.
func hashTensor(c *Call) ([]tensor.Meta, error) {
	dims, err := c.dims("dim", len(c.self().Sizes))
	if err != nil {
		return nil, err
	}
	return one(freshAs(c.self(), tensor.Uint64, reduced(c.self().Sizes, dims, c.Bool("keepdim"))...))
}

// padSequence fills a new tensor and copies each sequence into it.
func padSequence(c *Call) (any, error) {
	ts, err := c.given("sequences")
	if err != nil {
		return nil, err
	}
	longest := int64(0)
	for _, t := range ts {
		if len(t.Sizes) == 0 {
			return nil, c.Errorf("got a 0-dim sequence, want at least one dimension")
		}
		if !slices.Equal(t.Sizes[1:], ts[0].Sizes[1:]) {
			return nil, c.Errorf("got sequences of sizes %v and %v, want them to differ in length only", ts[0].Sizes, t.Sizes)
		}
		longest = max(longest, t.Sizes[0])
	}
	sizes := append([]int64{longest, int64(len(ts))}, ts[0].Sizes[1:]...)
	if c.Bool("batch_first") {
		sizes[0], sizes[1] = sizes[1], sizes[0]
	}
	return c.Do("aten::full", intList(sizes...), c.Float("padding_value"), Kw{"dtype": int64(ts[0].DType), "device": Device(ts[0].Device)}), nil
}

// flattenDense is one vector of all elements.
func flattenDense(c *Call) (any, error) {
	ts, err := c.given("tensors")
	if err != nil {
		return nil, err
	}
	flat := make([]*tensor.Tensor, len(ts))
	for i, t := range ts {
		flat[i] = c.Do("aten::reshape", t, intList(-1))
	}
	return c.Do("aten::cat", tensorList(flat...)), nil
}

// shapeTensor holds the sizes, on the host.
func shapeTensor(c *Call) ([]tensor.Meta, error) {
	return one(newMeta(tensor.Int64, "cpu", []int64{int64(len(c.self().Sizes))}))
}

func shapeValue(c *Call) *tensor.Data { return &tensor.Data{Ints: slices.Clone(c.self().Sizes)} }

// fromInts is _list_to_tensor.
func fromInts(c *Call) (any, error) { return c.Do("aten::tensor", c.Args[0]), nil }

// maskedIndex is index without its checks; the mask fills in later.
func maskedIndex(c *Call) ([]tensor.Meta, error) {
	for _, t := range c.Tensors("indices") {
		if t != nil {
			return index(c)
		}
	}
	return cloned(c)
}

// dimRange is a range as long as a dimension.
func dimRange(c *Call) (any, error) {
	like := c.self()
	d, err := c.wrapDim(c.Int("dim"), len(like.Sizes))
	if err != nil {
		return nil, err
	}
	return c.Do("aten::arange", like.Sizes[d], Kw{"dtype": int64(tensor.Int64), "device": Device(like.Device)}), nil
}

// noGrad is an initialiser that TorchScript runs without gradients.
func noGrad(key string) func(*Call) (any, error) {
	return func(c *Call) (any, error) { return c.Do(key, c.Args...), nil }
}

// unflattenDense shows each part of a vector in another tensor's shape.
func unflattenDense(c *Call) (any, error) {
	flat := c.self()
	at := int64(0)
	var items []any
	for _, t := range c.Tensors("tensors") {
		n := t.Numel()
		p := c.Do("aten::narrow", flat, int64(0), at, n)
		items = append(items, c.Do("aten::view", p, intList(t.Sizes...)))
		at += n
	}
	if c.Err() != nil {
		return nil, nil
	}
	return c.List(schema.Tensor, items...), nil
}

// logSigmoidGradient takes its shape from the gradient and self; the buffer is of the host.
func logSigmoidGradient(c *Call) ([]tensor.Meta, error) {
	return c.elementwise(c.self().DType, []*tensor.Tensor{c.T("grad_output"), c.T("self")})
}

// toDense is a strided tensor itself, cast where a dtype is given.
func toDense(c *Call) (any, error) {
	return c.Do("aten::to.dtype", c.self(), int64(c.DTypeOr("dtype", c.self().DType))), nil
}
