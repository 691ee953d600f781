package nn

import (
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// nms keeps at most all boxes.
func nms(c *ops.Call) ([]tensor.Meta, error) {
	boxes, scores := c.T("dets"), c.T("scores")
	if len(boxes.Sizes) != 2 || boxes.Sizes[1] != 4 || len(scores.Sizes) != 1 || boxes.Sizes[0] != scores.Sizes[0] {
		return nil, c.Errorf("got boxes %v and scores %v, want [n, 4] and [n]", boxes.Sizes, scores.Sizes)
	}
	n := boxes.Sizes[0]
	return ops.One(ops.FreshAs(boxes, tensor.Int64, c.SizeBetween(min(n, 1), n)))
}

func nmsWorkspace(c *ops.Call) []workspace.Request {
	return workspace.NMS(&c.T("dets").Meta, &c.T("scores").Meta)
}

// regions are pooled regions; argmax says whether their places are kept, byPosition that channels
// are spread over the bins.
func regions(argmax, byPosition bool) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		x, rois := c.T("input"), c.T("rois")
		h, w := c.Int("pooled_height"), c.Int("pooled_width")
		if len(x.Sizes) != 4 || len(rois.Sizes) != 2 || rois.Sizes[1] != 5 || h <= 0 || w <= 0 {
			return nil, c.Errorf("got input %v, rois %v and output %d×%d, want [batch, channels, height, width] and [n, 5]",
				x.Sizes, rois.Sizes, h, w)
		}
		ch := x.Sizes[1]
		if byPosition {
			if ch%(h*w) != 0 {
				return nil, c.Errorf("got %d channels for %d×%d bins, want a multiple", ch, h, w)
			}
			ch /= h * w
		}
		out := []tensor.Meta{ops.FreshLike(x, rois.Sizes[0], ch, h, w)}
		if argmax {
			out = append(out, ops.FreshAs(x, tensor.Int32, rois.Sizes[0], ch, h, w))
		}
		return out, nil
	}
}

// contiguousInputs are copies of operands that are not contiguous, made after the result.
func contiguousInputs(c *ops.Call) []workspace.Request {
	return workspace.Contiguous("torchvision/csrc/ops/cuda contiguous()", c.OperandMetas()...)
}

// deformed are the sizes of a deformable convolution's result.
func deformed(c *ops.Call) ([]int64, error) {
	x, w := c.T("input"), c.T("weight")
	if len(x.Sizes) != 4 || len(w.Sizes) != 4 {
		return nil, c.Errorf("got input %v and weight %v, want 4 dimensions", x.Sizes, w.Sizes)
	}
	out := []int64{x.Sizes[0], w.Sizes[0]}
	for i, s := range []string{"h", "w"} {
		stride := c.Int("stride_" + s)
		if stride <= 0 {
			return nil, c.Errorf("got stride %d, want at least 1", stride)
		}
		d := ops.DivFloor(x.Sizes[i+2]+2*c.Int("pad_"+s)-(c.Int("dilation_"+s)*(w.Sizes[i+2]-1)+1), stride) + 1
		if d <= 0 {
			return nil, c.Errorf("got input %v, too small for weight %v", x.Sizes, w.Sizes)
		}
		out = append(out, d)
	}
	return out, nil
}

func deformConv(c *ops.Call) ([]tensor.Meta, error) {
	sizes, err := deformed(c)
	if err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(c.T("input"), sizes...))
}

func deformWorkspace(c *ops.Call) []workspace.Request {
	sizes, err := deformed(c)
	if err != nil {
		return nil
	}
	return workspace.DeformConv2d(c.Platform(), &c.T("input").Meta, &c.T("weight").Meta, sizes)
}

func boxIOU(c *ops.Call) ([]tensor.Meta, error) {
	a, b := c.T("boxes1"), c.T("boxes2")
	if len(a.Sizes) != 2 || len(b.Sizes) != 2 {
		return nil, c.Errorf("got %v and %v, want 2 dimensions", a.Sizes, b.Sizes)
	}
	return ops.One(ops.FreshAs(a, tensor.Float32, a.Sizes[0], b.Sizes[0]))
}

// cudaVersion is CUDA's version as one number: 12080 for 12.8.
func cudaVersion(c *ops.Call) (any, error) {
	major, minor, _ := strings.Cut(c.Platform().Release().CUDA, ".")
	a, err := strconv.ParseInt(major, 10, 64)
	if err != nil {
		return int64(-1), nil
	}
	b, err := strconv.ParseInt(minor, 10, 64)
	if err != nil {
		return int64(-1), nil
	}
	return 1000*a + 10*b, nil
}
