package workspace

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// TestAttentionEdges: the letters of the fused backends whose checks pass
// (native/transformers/cuda/sdp_utils.cpp), each check at both of its ends.
func TestAttentionEdges(t *testing.T) {
	const f16, f32 = tensor.Float16, tensor.Float32
	of := func(d tensor.DType, q, k, v []int64) func(*Attention, *platform.Platform) {
		return func(a *Attention, _ *platform.Platform) {
			a.Query, a.Key, a.Value = dense(d, tensor.Contiguous, q...), dense(d, tensor.Contiguous, k...),
				dense(d, tensor.Contiguous, v...)
		}
	}
	all := func(d tensor.DType, sizes ...int64) func(*Attention, *platform.Platform) {
		return of(d, sizes, sizes, sizes)
	}
	and := func(fs ...func(*Attention, *platform.Platform)) func(*Attention, *platform.Platform) {
		return func(a *Attention, p *platform.Platform) {
			for _, f := range fs {
				f(a, p)
			}
		}
	}
	grouped := func(a *Attention, _ *platform.Platform) { a.Grouped = true }
	causal := func(a *Attention, _ *platform.Platform) { a.Causal = true }
	dropout := func(a *Attention, _ *platform.Platform) { a.Dropout = 0.1 }
	masked := func(sizes, strides []int64) func(*Attention, *platform.Platform) {
		return func(a *Attention, _ *platform.Platform) {
			a.Mask = &tensor.Meta{DType: f16, Sizes: sizes, Strides: strides, Device: "cuda"}
		}
	}
	capable := func(major, minor int) func(*Attention, *platform.Platform) {
		return func(_ *Attention, p *platform.Platform) {
			p.Device.ComputeCapability = device.Capability{Major: major, Minor: minor}
		}
	}
	cudnn := func(minor int) func(*Attention, *platform.Platform) {
		return func(_ *Attention, p *platform.Platform) { p.CuDNN = platform.Version{Major: 9, Minor: minor} }
	}
	turned := func(which int) func(*Attention, *platform.Platform) {
		return func(a *Attention, _ *platform.Platform) {
			m := []*tensor.Meta{a.Query, a.Key, a.Value}[which]
			m.Strides = []int64{m.Strides[0], m.Strides[1], 1, m.Sizes[2]}
		}
	}
	for _, tt := range []struct {
		why    string
		torch  string
		change func(*Attention, *platform.Platform)
		want   string
	}{
		{"half on 8.0", "2.15", all(f16, 2, 4, 16, 64), "fec"},
		{"bfloat16 on 8.0", "2.15", all(tensor.BFloat16, 2, 4, 16, 64), "fec"},
		{"float32", "2.15", all(f32, 2, 4, 16, 64), "e"},
		{"double", "2.15", all(tensor.Float64, 2, 4, 16, 64), ""},
		{"float32 in fours", "2.15", all(f32, 2, 4, 16, 60), "e"},
		{"float32 not in fours", "2.15", all(f32, 2, 4, 16, 62), ""},
		{"float32 before 8.0 in any number", "2.15", and(all(f32, 2, 4, 16, 61), capable(7, 5)), "e"},
		{"half on 7.5", "2.15", and(all(f16, 2, 4, 16, 64), capable(7, 5)), "e"},
		{"half on 7.0 not in eights", "2.15", and(all(f16, 2, 4, 16, 60), capable(7, 0)), ""},
		{"half before 7.0 in any number", "2.15", and(all(f16, 2, 4, 16, 61), capable(6, 1)), "e"},
		{"bfloat16 on 7.5", "2.15", and(all(tensor.BFloat16, 2, 4, 16, 64), capable(7, 5)), ""},
		{"5.0 is the oldest", "2.15", and(all(f32, 2, 4, 16, 64), capable(5, 0)), "e"},
		{"3.7 is older", "2.15", and(all(f32, 2, 4, 16, 64), capable(3, 7)), ""},
		{"12.1 is the newest", "2.15", and(all(f16, 2, 4, 16, 64), capable(12, 1)), "fec"},
		{"12.2 is newer", "2.15", and(all(f16, 2, 4, 16, 64), capable(12, 2)), ""},

		{"heads of 128", "2.15", all(f16, 2, 4, 16, 128), "fec"},
		{"heads of 136 are more than cuDNN's 128", "2.15", all(f16, 2, 4, 16, 136), "fe"},
		{"heads of 256 on 9.0", "2.15", and(all(f16, 2, 4, 16, 256), capable(9, 0)), "fec"},
		{"heads of 264 on 9.0", "2.15", and(all(f16, 2, 4, 16, 264), capable(9, 0)), "e"},
		{"heads of 136 on 9.0 before cuDNN 9.10", "2.15", and(all(f16, 2, 4, 16, 136), capable(9, 0), cudnn(9)), "fe"},
		{"heads of 136 on 9.0 from cuDNN 9.10 on", "2.15", and(all(f16, 2, 4, 16, 136), capable(9, 0), cudnn(10)), "fec"},
		{"heads of 136 on 10.0", "2.15", and(all(f16, 2, 4, 16, 136), capable(10, 0)), "fec"},
		{"heads of 136 on 10.0 in 2.11", "2.11", and(all(f16, 2, 4, 16, 136), capable(10, 0)), "fe"},
		{"heads of 136 on 10.3", "2.15", and(all(f16, 2, 4, 16, 136), capable(10, 3)), "fe"},
		{"values of 136", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 136}), "e"},
		{"heads of 257 fit no eights", "2.15", all(f16, 2, 4, 16, 257), ""},
		{"heads of 255 neither, which flash does not mind", "2.15", all(f16, 2, 4, 16, 255), "f"},
		{"values of another size", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 72}),
			"ec"},
		{"values not in eights", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 60}), ""},
		{"keys of another size", "2.15", of(f32, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 72}, []int64{2, 4, 16, 64}), ""},

		{"three dimensions", "2.15", all(f16, 2, 16, 64), ""},
		{"no query", "2.15", of(f16, []int64{2, 4, 0, 64}, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 64}), ""},
		{"no key", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{2, 4, 0, 64}, []int64{2, 4, 0, 64}), ""},
		{"no heads", "2.15", all(f16, 2, 0, 16, 64), ""},
		{"no batch", "2.15", all(f16, 0, 4, 16, 64), "fec"},
		{"keys of another batch", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{3, 4, 16, 64}, []int64{2, 4, 16, 64}), ""},
		{"values of another batch", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 64}, []int64{3, 4, 16, 64}), ""},
		{"the query's rows do not lie dense", "2.15", and(all(f16, 2, 4, 16, 64), turned(0)), ""},
		{"the keys' do not", "2.15", and(all(f16, 2, 4, 16, 64), turned(1)), ""},
		{"the values' do not", "2.15", and(all(f16, 2, 4, 16, 64), turned(2)), ""},

		{"a mask", "2.15", and(all(f16, 2, 4, 16, 64), masked([]int64{16, 16}, []int64{16, 1})), "ec"},
		{"a mask that is one number", "2.15", and(all(f16, 2, 4, 16, 64), masked(nil, nil)), "ec"},
		{"a mask expanded along its rows", "2.15", and(all(f16, 2, 4, 16, 64), masked([]int64{16, 16}, []int64{1, 0})), ""},
		{"causal", "2.15", and(all(f16, 2, 4, 16, 64), causal), "fec"},
		{"causal, lengths apart", "2.15", and(of(f16, []int64{2, 4, 16, 64}, []int64{2, 4, 17, 64}, []int64{2, 4, 17, 64}),
			causal), "ec"},
		{"lengths apart", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{2, 4, 17, 64}, []int64{2, 4, 17, 64}), "fec"},

		{"fewer heads of keys", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{2, 2, 16, 64}, []int64{2, 2, 16, 64}), ""},
		{"fewer heads of values", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 64}, []int64{2, 2, 16, 64}), ""},
		{"fewer heads, grouped", "2.15", and(of(f16, []int64{2, 4, 16, 64}, []int64{2, 2, 16, 64}, []int64{2, 2, 16, 64}),
			grouped), "fec"},
		{"fewer heads, grouped, before efficient attention took them", "2.6",
			and(of(f16, []int64{2, 4, 16, 64}, []int64{2, 2, 16, 64}, []int64{2, 2, 16, 64}), grouped), "fc"},
		{"heads that do not divide", "2.15", and(of(f16, []int64{2, 4, 16, 64}, []int64{2, 3, 16, 64}, []int64{2, 3, 16, 64}),
			grouped), ""},
		{"heads of values that do not divide", "2.15",
			and(of(f16, []int64{2, 4, 16, 64}, []int64{2, 2, 16, 64}, []int64{2, 3, 16, 64}), grouped), ""},
		{"fewer heads of values than of keys", "2.15",
			and(of(f16, []int64{2, 4, 16, 64}, []int64{2, 2, 16, 64}, []int64{2, 1, 16, 64}), grouped), "c"},
		{"one head of keys for all", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{2, 1, 16, 64}, []int64{2, 1, 16, 64}),
			"fec"},
		{"one head of keys for all in 2.11", "2.11", of(f16, []int64{2, 4, 16, 64}, []int64{2, 1, 16, 64},
			[]int64{2, 1, 16, 64}), ""},
		{"one head of keys, two of values", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{2, 1, 16, 64},
			[]int64{2, 2, 16, 64}), ""},

		{"as large a batch as a grid has", "2.15", all(f16, 65535, 1, 1, 64), "fe"},
		{"one more", "2.15", all(f16, 65536, 1, 2, 64), "e"},
		{"a smaller batch of two rows", "2.15", all(f16, 65535, 1, 2, 64), "fec"},
		{"as many heads", "2.15", all(f16, 1, 65535, 2, 64), "fec"},
		{"one head more", "2.15", all(f16, 1, 65536, 2, 64), "e"},
		{"one more in 2.11", "2.11", all(f16, 65536, 1, 2, 64), "fec"},

		{"one key", "2.15", of(f16, []int64{2, 4, 16, 64}, []int64{2, 4, 1, 64}, []int64{2, 4, 1, 64}), "fe"},
		{"one query", "2.15", of(f16, []int64{2, 4, 1, 64}, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 64}), "fec"},
		{"dropout in 2.15", "2.15", and(all(f16, 2, 4, 16, 64), dropout), "fe"},
		{"dropout in 2.11", "2.11", and(all(f16, 2, 4, 16, 64), dropout), "fec"},
		{"dropout in 2.11 of one query", "2.11",
			and(of(f16, []int64{2, 4, 1, 64}, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 64}), dropout), "fe"},
		{"one query on 10.0 with cuDNN 9.20", "2.15",
			and(of(f16, []int64{2, 4, 1, 64}, []int64{2, 4, 16, 64}, []int64{2, 4, 16, 64}), capable(10, 0), cudnn(20)), "fe"},
		{"more on 10.0 with cuDNN 9.20", "2.15", and(all(f16, 2, 4, 16, 64), capable(10, 0), cudnn(20)), "fec"},
		{"deterministic", "2.15", and(all(f16, 2, 4, 16, 64), func(_ *Attention, p *platform.Platform) {
			p.Deterministic = true
		}), "fe"},
	} {
		a, p := &Attention{}, on(t, "a100-sxm-80gb", tt.torch)
		tt.change(a, p)
		got := ""
		for _, b := range []platform.SDPABackend{platform.SDPAFlash, platform.SDPAEfficient, platform.SDPACuDNN} {
			if a.Takes(p, b) {
				got += b.String()[:1]
			}
		}
		assert.Equal(t, tt.want, got, "%s", tt.why)
	}
}
