package workspace

import (
	"fmt"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// The workspace of cuDNN's attention (native/cudnn/MHA.cpp). Its kernels are compiled at run time,
// and without a driver cuDNN reports nobody what they take: a profile does not ask for them. Asked
// with a driver library that has no device (testdata/workspace/attention.json), cuDNN 9.19.0 to
// 9.26.0 answered alike: to queries of more than one row always the same, on 9.0 as on 10.0; to one
// row on 9.0 by the rule below.

// CuDNN is what cuDNN's kernel takes.
func (a *Attention) CuDNN(p *platform.Platform) Request {
	q, hopper := a.Query, p.Device.ComputeCapability.Major == 9
	r := Request{Source: fmt.Sprintf("cuDNN 9.19 to 9.26 for %s, asked with a driver that has no device",
		platform.DeviceClass(p.Device))}
	switch {
	case q.Sizes[2] == 1 && hopper:
		r.Bytes = a.splitBytes(a.splits(p.Device.SMs))
	case hopper:
		r.Bytes = 256
	}
	if !attentionAsked(p) || q.Sizes[2] == 1 && !hopper || a.Dropout > 0 {
		r.Note, r.Source = note.WorkspaceEstimate,
			"the workspace of cuDNN's attention is by formula: cuDNN answers only with a driver"
		r.Upper = max(r.Bytes, 512)
		if q.Sizes[2] == 1 {
			r.Upper = max(r.Bytes, a.splitBytes(mostSplits))
		}
	}
	return r
}

// attentionAsked says that the release and the device were asked.
func attentionAsked(p *platform.Platform) bool {
	v, c := p.CuDNN, p.Device.ComputeCapability
	return v.AtLeast(9, 19) && v.Compare(platform.Version{Major: 9, Minor: 27}) < 0 && c.Minor == 0 &&
		(c.Major == 9 || c.Major == 10)
}

const mostSplits = 64

// splits is into how many parts the keys of a single query are split on 9.0, so that two blocks of
// threads run on each multiprocessor: a power of two of at least 4, each part of 128 keys or more.
// Without a split it is 0.
func (a *Attention) splits(sms int) int64 {
	keys, work := a.Key.Sizes[2], max(a.Query.Sizes[0]*a.Key.Sizes[1], 1)
	n := int64(1)
	for most := min(2*int64(sms)/work, keys/128, mostSplits); 2*n <= most; {
		n *= 2
	}
	if keys <= 512 || n < 4 {
		return 0
	}
	return n
}

// splitBytes is the parts' results, their greatest scores and sums, and a counter.
func (a *Attention) splitBytes(parts int64) units.Bytes {
	if parts == 0 {
		return 0
	}
	rows := a.Query.Sizes[0] * a.Query.Sizes[1] * parts
	return units.Bytes(divCeil(4*rows*a.Value.Sizes[3], 128)*128 + 2*divCeil(4*rows, 128)*128 + 128)
}

// CuDNNAttentionBackward was not asked for: at the most the gradient of the query once more in
// float32.
func CuDNNAttentionBackward(q *tensor.Meta) []Request {
	if !OnDevice(q) {
		return nil
	}
	return []Request{{
		Upper: max(units.Bytes(4*q.Numel()), units.MiB), Note: note.WorkspaceEstimate,
		Source: "the workspace of cuDNN's attention backward is not known: taken as none",
	}}
}
