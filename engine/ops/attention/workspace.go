package attention

import (
	"fmt"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// The workspace of cuDNN's attention (native/cudnn/MHA.cpp). Its kernels are compiled at run time, and without a driver cuDNN tells nobody what
// they take: a scratch profile does not ask for them. Asked with a driver library that has no device (testdata/scratch/attention.json), cuDNN
// 9.19.0 to 9.26.0 answered alike: to queries of more than one row always the same, on 9.0 as on 10.0; to one row on 9.0 by the rule below.

// attentionAsked says that the release and the device were asked.
func attentionAsked(p *platform.Platform) bool {
	v, c := p.CuDNN, p.Device.ComputeCapability
	return v.AtLeast(9, 19) && v.Compare(platform.Version{Major: 9, Minor: 27}) < 0 && c.Minor == 0 && (c.Major == 9 || c.Major == 10)
}

func cudnnAttentionScratch(c *ops.Call) []ops.Scratch {
	q, k, v, err := fourDimensional(c)
	if err != nil {
		return nil
	}
	return []ops.Scratch{attentionWorkspace(c.Platform(), q, k, v, c.Float("dropout_p") > 0)}
}

func attentionWorkspace(p *platform.Platform, q, k, v *tensor.Tensor, dropout bool) ops.Scratch {
	s := ops.Scratch{Source: fmt.Sprintf("cuDNN 9.19 to 9.26 for %s, asked with a driver that has no device", platform.DeviceClass(p.Device))}
	hopper := p.Device.ComputeCapability.Major == 9
	switch {
	case q.Sizes[2] == 1 && hopper:
		s.Bytes = splitAttention(q, k, v, attentionSplits(q, k, p.Device.SMs))
	case hopper:
		s.Bytes = 256
	}
	if !attentionAsked(p) || q.Sizes[2] == 1 && !hopper || dropout {
		s.Note, s.Source = note.ScratchEstimate, "the workspace of cuDNN's attention is by rule: cuDNN tells it to nobody without a driver"
		s.Upper = max(s.Bytes, 512)
		if q.Sizes[2] == 1 {
			s.Upper = max(s.Bytes, splitAttention(q, k, v, mostSplits))
		}
	}
	return s
}

const mostSplits = 64

// attentionSplits is into how many parts the keys of a single query are split on 9.0, so that two blocks of threads run on each multiprocessor:
// a power of two of at least 4, each part of 128 keys or more. Without a split it is 0.
func attentionSplits(q, k *tensor.Tensor, sms int) int64 {
	keys, work := k.Sizes[2], max(q.Sizes[0]*k.Sizes[1], 1)
	n := int64(1)
	for most := min(2*int64(sms)/work, keys/128, mostSplits); 2*n <= most; {
		n *= 2
	}
	if keys <= 512 || n < 4 {
		return 0
	}
	return n
}

// splitAttention is the parts' results, their greatest scores and sums, and a counter.
func splitAttention(q, k, v *tensor.Tensor, parts int64) units.Bytes {
	if parts == 0 {
		return 0
	}
	rows := q.Sizes[0] * q.Sizes[1] * parts
	return units.Bytes(ops.DivCeil(4*rows*v.Sizes[3], 128)*128 + 2*ops.DivCeil(4*rows, 128)*128 + 128)
}

// cudnnAttentionBackwardScratch was not asked for: at the most the gradient of the query once more in float32.
func cudnnAttentionBackwardScratch(c *ops.Call) []ops.Scratch {
	q := c.T("query")
	if !ops.OnCUDA(q) {
		return nil
	}
	return []ops.Scratch{{
		Upper: max(units.Bytes(4*q.Numel()), units.MiB), Note: note.ScratchEstimate,
		Source: "the workspace of cuDNN's attention backward is not known: taken as none",
	}}
}
