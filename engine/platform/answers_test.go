package platform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/platform"
)

// marks are the letters of what holds, - for what does not.
func marks(letters string, holds ...bool) string {
	var b strings.Builder
	for i, yes := range holds {
		if yes {
			b.WriteByte(letters[i])
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}

// releases are all of the table, oldest first.
func releases(t *testing.T) []string {
	var out []string
	for v := platform.Oldest(); v.Compare(platform.Newest()) <= 0; v.Minor++ {
		_, known := platform.ReleaseOf(v)
		require.True(t, known, v)
		out = append(out, v.String())
	}
	return out
}

func TestAnswers(t *testing.T) {
	golden.Run(t, "testdata/answers.txtar", func(a *golden.Archive) {
		a.Want("releases", []byte(ofReleases(t)))
		a.Want("devices", []byte(ofDevices(t)))
		a.Want("cudnn", []byte(ofCuDNN(t)))
	})
}

func ofReleases(t *testing.T) string {
	var b strings.Builder
	fmt.Fprintln(&b, "# u math upcasts, s safe softmax, f flash keeps its random state on the device, r fused rms_norm, "+
		"c convolutions beyond int32, l large_segment_size_mb,")
	fmt.Fprintln(&b, "# b a bias that squeezes takes cublasLt, t cublasLt makes the cuBLAS block")
	for _, torch := range releases(t) {
		r := on(t, "t4", torch).Release()
		fmt.Fprintf(&b, "%-5s CUDA %s, cuDNN %s, %s, %d rows for cublasLt\n", torch, r.CUDA, r.CuDNN,
			marks("usfrclbt", r.MathUpcast, r.SafeSoftmax, r.FlashRNGOnGPU, r.FusedRMSNorm, r.BigConvCuDNN, r.LargeSegmentKey,
				r.LtSqueezesBias, r.LtTakesCublas), r.LtMinRows)
	}
	return b.String()
}

func ofDevices(t *testing.T) string {
	var b strings.Builder
	capabilities := []device.Capability{{Major: 7, Minor: 5}, {Major: 8}, {Major: 8, Minor: 9}, {Major: 9},
		{Major: 9, Minor: 1}, {Major: 10}, {Major: 10, Minor: 1}, {Major: 10, Minor: 3},
		{Major: 11}, {Major: 12}, {Major: 12, Minor: 1}, {Major: 13}}
	for _, torch := range releases(t) {
		for _, d := range append([]device.Device{{Name: "none", Kind: device.None}}, named(capabilities)...) {
			p, err := platform.New(d, version(t, torch))
			require.NoError(t, err)
			fmt.Fprintf(&b, "%s on %s: cuBLAS %d %s, Lt %d %s, %s; %v\n", torch, d.Name, p.Cublas().Bytes, p.Cublas().Lifetime,
				p.CublasLt().Bytes, p.CublasLt().Lifetime,
				marks("tm3", p.LtTakesCublas(), p.MathSDPAUpcasts(), p.TF32Conv()), p.SDPAOrder())
		}
	}
	return b.String()
}

func named(cs []device.Capability) []device.Device {
	out := make([]device.Device, len(cs))
	for i, c := range cs {
		out[i] = device.Device{Name: c.String(), ComputeCapability: c}
	}
	return out
}

func ofCuDNN(t *testing.T) string {
	var b strings.Builder
	fmt.Fprintln(&b, "# a asked without a device, i convolutions beyond int32, d depthwise beyond int32, D the same "+
		"channels last, h 3-d convolutions in half,")
	fmt.Fprintln(&b, "# 9 cuDNN attention first on 9.0, 0 on 10.1, 3 on 10.3; then where it refuses to decode: 9.0, "+
		"10.0, 11.0, 12.0; then i, d, D with the v7 interface")
	for _, torch := range []string{"2.5", "2.6", "2.8", "2.9", "2.9.1", "2.10", "2.12", "2.13", "2.14", "2.15"} {
		for _, cudnn := range []string{"8.9.7", "9.2.9", "9.3", "9.7.9", "9.8", "9.9.9", "9.10", "9.10.0.7", "9.10.1",
			"9.14.9", "9.15", "9.15.0.9", "9.15.1", "9.16", "9.18.9", "9.19", "9.24", "9.24.1", "9.24.1.5",
			"9.24.2", "9.25", "9.25.0.4", "9.25.1"} {
			at := func(major, minor int) *platform.Platform {
				p, err := platform.New(device.Device{ComputeCapability: device.Capability{Major: major, Minor: minor}},
					version(t, torch))
				require.NoError(t, err)
				p.CuDNN = version(t, cudnn)
				return &p
			}
			first := func(p *platform.Platform) bool { return p.SDPAOrder()[0] == platform.SDPACuDNN }
			p, old := at(9, 0), at(9, 0)
			old.CuDNNv7 = true
			fmt.Fprintf(&b, "%s with %s: %s %s %s %s\n", torch, cudnn,
				marks("aidDh", p.AnswersDeviceless(), p.ConvBeyondInt32(), p.DepthwiseBeyondInt32(false),
					p.DepthwiseBeyondInt32(true), p.Conv3dHalf()),
				marks("903", first(p), first(at(10, 1)), first(at(10, 3))),
				marks("9012", p.CuDNNAttentionRefusesDecode(), at(10, 0).CuDNNAttentionRefusesDecode(),
					at(11, 0).CuDNNAttentionRefusesDecode(), at(12, 0).CuDNNAttentionRefusesDecode()),
				marks("idD", old.ConvBeyondInt32(), old.DepthwiseBeyondInt32(false), old.DepthwiseBeyondInt32(true)))
		}
	}
	return b.String()
}
