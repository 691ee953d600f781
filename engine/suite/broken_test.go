package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/report"
)

// TestBrokenMetric holds what is said first of each metric that broke.
func TestBrokenMetric(t *testing.T) {
	var ms Models
	r := ms.Judge(t.Context(), oneCase(t,
		`device: t4, inputs: ["float32[B,3,32,32]"], dims: {B: 1}, budget: {total: 1MiB}`))
	require.NoError(t, r.Err)
	f := r.worst()
	require.NotNil(t, f)
	f.Predicted = 3 << 20
	context, nccl := report.Context{}, report.NCCL{}
	context.Low, context.High = 100<<20, 100<<20
	wide := context
	wide.High = 150 << 20
	nccl.Low, nccl.High = 1<<20, 1<<20
	wideNCCL := nccl
	wideNCCL.High = 2 << 20
	for _, tt := range []struct {
		why     string
		metric  report.Metric
		context *report.Context
		nccl    *report.NCCL
		want    string
	}{
		{"a context", report.Total, &context, nil, "  total      100.0 MiB of the context and 2.0 MiB reserved"},
		{"a range", report.Total, &wide, nil, "  total      100.0 MiB to 150.0 MiB of the context and 2.0 MiB reserved"},
		{"NCCL", report.Total, &context, &nccl, "  total      100.0 MiB of the " +
			"context, 1.0 MiB of NCCL and 2.0 MiB reserved"},
		{"ranges", report.Total, &wide, &wideNCCL, "  total      100.0 MiB to 150.0 MiB of " +
			"the context, 1.0 MiB to 2.0 MiB of NCCL"},
		{"no context", report.Total, nil, nil, "  segments   1 when the peak is reached"},
		{"reserved", report.Reserved, &context, nil, "  segments   1 when the peak is reached"},
		{"weights", report.Weights, &context, nil, "  weights, the largest first:"},
		{"allocated", report.Allocated, &context, nil, "  peak at    "},
		{"pinned", report.HostPinned, &context, nil, "  host pinned  3.0 MiB (3145728 B), each block a power of two; who " +
			"pinned it is"},
		{"a first call", report.FirstCall, &context, nil, "  first call  3.0 MiB (3145728 B); who holds the peak of the " +
			"later calls:"},
	} {
		f.Metric, r.Report.Context, r.Report.NCCL, r.Report.FirstCall = tt.metric, tt.context, tt.nccl, nil
		if tt.metric == report.FirstCall {
			r.Report.FirstCall = &report.Sizes{}
		}
		var out strings.Builder
		require.NoError(t, r.writeBroken(&out, 0), tt.why)
		first, rest, _ := strings.Cut(out.String(), "\n")
		assert.Equal(t, tt.want, first[:min(len(first), len(tt.want))], tt.why)
		assert.Equal(t, tt.metric != report.HostPinned && tt.metric != report.Weights,
			strings.Contains(first+rest, "peak at"), "%s: the account of the peak", tt.why)
	}
}
