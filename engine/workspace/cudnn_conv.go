package workspace

import (
	"fmt"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// CuDNN is the workspace that cuDNN asks for: its own answer where the profile has it, else a rule
// by the class of call. A profile answers for the v8 interface, for operands that lie as the
// allocator's blocks do, and not for a fused call (with bias and activation), which is another
// question.
func (v *Convolution) CuDNN(p *platform.Platform, out []int64, fused bool) []Request {
	n := convBytes{int64(v.Input.NBytes()), int64(v.Weight.NBytes()), tensor.Numel(out) * v.Input.DType.ItemSize()}
	likely := v.byRule(p, n, out)
	r := Request{
		Bytes: units.Bytes(likely), Upper: units.Bytes(max(likely, v.upperByRule(p, n, out))),
		Note:   note.WorkspaceEstimate,
		Source: "a cuDNN convolution's workspace is by formula: no workspace profile has it",
	}
	by, call := p.Answerer(), v.Call(p, out)
	var a profile.Answer
	ok := false
	switch {
	case p.CuDNNv7:
		r.Source = "a cuDNN convolution's workspace is by formula: the v7 interface answers only with a device"
	case fused:
		r.Source = "the workspace of a fused cuDNN convolution is by formula: it cannot be queried"
	case v.misaligned():
		r.Source = "the workspace of a cuDNN convolution on a view that is aligned to less than 16 bytes is by formula: it " +
			"cannot be queried"
	default:
		r.Asked = &Asked{Call: call}
		if a, ok = p.Workspace.Lookup(by, call); ok {
			upper := max(r.Upper, a.Bytes)
			r = Request{Bytes: a.Bytes, Source: fmt.Sprintf("%s, engine %d", answererText(by), a.Engine),
				Asked: &Asked{call, by, a.Engine}}
			if !p.ChoosesAlike() {
				r.Note, r.Upper = note.WorkspaceStandIn, upper
				r.Source += ", without a device: on one it takes other engines for some convolutions"
			}
		} else if !p.AnswersDeviceless() {
			var other profile.Answerer
			if a, other, ok = p.Workspace.StandIn(by, call); ok {
				r = Request{
					Bytes: a.Bytes, Upper: max(r.Upper, a.Bytes), Note: note.WorkspaceStandIn,
					Asked: &Asked{call, other, a.Engine},
					Source: fmt.Sprintf("%s answered in the place of %s, which does not answer without a device",
						answererText(other), by.Version),
				}
			}
		}
	}
	if !p.Benchmark {
		return []Request{r}
	}
	if ok {
		return benchmark(r, call, max(a.Most, a.Bytes), r.Upper)
	}
	all := n.in + n.weight + n.out
	return benchmark(r, call, units.Bytes(all*3/2+16), units.Bytes(all*4+16))
}

// misaligned says that an operand which is not copied starts at less than 16 bytes' alignment:
// other plans then come first. From 16 to 256 bytes alignment changes nothing.
func (v *Convolution) misaligned() bool {
	f := v.Format()
	for _, m := range v.operands() {
		if m.IsFormat(f) && m.StorageOffset*m.DType.ItemSize()%16 != 0 {
			return true
		}
	}
	return false
}

func answererText(by profile.Answerer) string {
	return "cuDNN " + by.Version + " for " + by.Class
}

// benchmark is a call with torch.backends.cudnn.benchmark: all plans are timed once, with the
// largest workspace of them; then the cache is emptied and the fastest is run, which only a device
// knows (Conv_v8.cpp generate_and_filter_plans, get_plans_from_find). Nobody having answered, the
// largest is by formula: over 72 convolutions of torchvision models it is 1.5 times input, weight
// and output (the median of most classes of call), and up to 4 times in nine of ten.
func benchmark(r Request, call *profile.Call, most, upper units.Bytes) []Request {
	trial := r
	trial.Trial = "cudnn " + call.Key()
	trial.Bytes, trial.Upper = most, max(upper, most)
	run := Request{
		Bytes: r.Bytes, Upper: trial.Upper, Note: note.WorkspaceBenchmark, Asked: r.Asked,
		Source: "with cudnn.benchmark the fastest plan runs, which only a device can choose; used instead: " + r.Source,
	}
	return []Request{trial, run}
}

// Call is the convolution as cuDNN sees it. A transposed one is the gradient of one whose input its
// result takes the place of.
func (v *Convolution) Call(p *platform.Platform, out []int64) *profile.Call {
	f := v.Format()
	k := &profile.Call{
		Op: "conv", Direction: "forward", DType: v.Input.DType.String(), Groups: v.Groups,
		Deterministic: p.Deterministic,
		AllowTF32:     p.TF32CuDNN, Benchmark: p.Benchmark,
		Input: v.Input.Sizes, Weight: v.Weight.Sizes, Padding: v.Padding, Stride: v.Stride, Dilation: v.Dilation,
	}
	switch {
	case v.Grad != nil:
		k.Direction = "wgrad"
	case v.Transposed:
		k.Direction, k.Input = "dgrad", out
	}
	k.InputStrides, k.WeightStrides = tensor.FormatStrides(k.Input, f), tensor.FormatStrides(k.Weight, f)
	return k
}
