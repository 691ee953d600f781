package ops

import "github.com/memspec/memspec/engine/tensor"

var softmaxRules = []Rule{
	{Schema: "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Body: softmax("aten::_softmax")},
	{Schema: "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Body: softmax("aten::_log_softmax")},
	{Schema: "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Body: softmax("aten::_softmax")},
	{Schema: "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", Body: softmax("aten::_log_softmax")},
	{Schema: "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Out: softmaxOut, Grad: "self: result"},
	{Schema: "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Out: softmaxOut, Grad: "self: result"},
	{Schema: "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Out: safeSoftmax},
}

// softmax converts the input first where a dtype is given, but for float16 to float32, which the kernel does
// (aten/src/ATen/native/SoftMax.cpp).
func softmax(key string) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		self := c.T("self")
		if self.DType == tensor.Float16 && c.DTypeOr("dtype", tensor.Undefined) == tensor.Float32 && self.Device != "cpu" {
			return c.Do(key, self, c.Int("dim"), true), c.Err()
		}
		x := self
		if c.Has("dtype") {
			x = c.Do("aten::to.dtype", self, c.Int("dtype"))
		}
		return c.Do(key, x, c.Int("dim"), false), c.Err()
	}
}

func softmaxOut(c *Call) ([]tensor.Meta, error) {
	self := c.T("self")
	if _, err := c.wrapDim(c.Int("dim"), len(self.Sizes)); err != nil {
		return nil, err
	}
	d := self.DType
	if c.Bool("half_to_float") {
		d = tensor.Float32
	}
	if d.Integral(true) {
		return nil, c.Errorf("got %s, want a floating type", d)
	}
	return one(freshAs(self, d, self.Sizes...))
}

// safeSoftmax gives 0 where a whole row is masked; the dispatcher sees one operator. What its CUDA implementation makes inside (the bool
// mask of the scores and its rows, aten/src/ATen/native/transformers/attention.cpp) is scratch.
func safeSoftmax(c *Call) ([]tensor.Meta, error) {
	self := c.T("self")
	if _, err := c.wrapDim(c.Int("dim"), len(self.Sizes)); err != nil {
		return nil, err
	}
	return one(freshAs(self, c.DTypeOr("dtype", self.DType), self.Sizes...))
}
