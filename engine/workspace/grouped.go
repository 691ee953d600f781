package workspace

import (
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// GroupedMatMul is a product of matrices for each group of rows, columns or batch
// (aten::_grouped_mm).
type GroupedMatMul struct {
	A      *tensor.Meta
	Groups int64
	Batch  bool // the groups are a batch, and not known by offsets
	Result tensor.DType
}

// Requests are what CUTLASS's grouped kernel takes for bfloat16 on 9.0 and 10.0: addresses, strides
// and sizes of the groups, and a part for each multiprocessor (native/cuda/GroupMM.cu). Elsewhere
// the groups are a batched product, or one product after the other (native/GroupedMMUtils.h). On
// 10.0 the part depends on the kernel, which PyTorch chooses by the sizes of the products.
func (g GroupedMatMul) Requests(p *platform.Platform) []Request {
	const source = "native/cuda/GroupMM.cu"
	c := p.Device.ComputeCapability
	if g.A.DType != tensor.BFloat16 || g.Result != tensor.BFloat16 || c.Minor != 0 || c.Major != 9 && c.Major != 10 {
		if g.Batch {
			return CuBLAS(p)
		}
		turns := InTurn(CuBLAS(p), g.Groups)
		for i := range turns {
			if r := &turns[i]; r.Bytes > 0 {
				r.Upper, r.Note = r.Bytes, note.WorkspaceEstimate
				r.Source = "native/GroupedMMUtils.h: a product a group; one without rows takes nothing, and which have some the " +
					"data decides"
			}
		}
		return turns
	}
	addresses := divCeil(8*g.Groups, 16) * 16
	arguments := Request{Bytes: units.Bytes(3*addresses + (3*8+3*4)*g.Groups), Source: source}
	sms := units.Bytes(p.Device.SMs)
	work := Request{Bytes: 512 * sms, Source: source}
	switch {
	case c.Major == 10:
		work = Request{Bytes: 5376 * sms, Upper: 5888 * sms, Source: source, Note: note.WorkspaceEstimate}
	case !p.Release().Torch.AtLeast(2, 11):
		work.Bytes = 640 * sms
	}
	return []Request{arguments, work}
}
