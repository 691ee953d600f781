package platform_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace/profile"
)

func version(t *testing.T, s string) platform.Version {
	t.Helper()
	v, err := platform.ParseVersion(s)
	require.NoError(t, err)
	return v
}

func on(t *testing.T, dev, torch string) *platform.Platform {
	t.Helper()
	d, err := device.Lookup(dev)
	require.NoError(t, err)
	p, err := platform.New(d, version(t, torch))
	require.NoError(t, err)
	return &p
}

func TestVersionIsText(t *testing.T) {
	for _, c := range []struct {
		in   string
		want platform.Version
		text string
	}{
		{"2.10", platform.Version{Major: 2, Minor: 10}, "2.10"},
		{"2.1", platform.Version{Major: 2, Minor: 1}, "2.1"},
		{"2.9.1", platform.Version{Major: 2, Minor: 9, Patch: 1}, "2.9.1"},
		{"2.10.0+cu128", platform.Version{Major: 2, Minor: 10}, "2.10"},
		{"2.15.0a0+git1234", platform.Version{Major: 2, Minor: 15}, "2.15"},
		{"2.15.0.dev20260909+cu130", platform.Version{Major: 2, Minor: 15}, "2.15"},
		{"2.6.0rc1", platform.Version{Major: 2, Minor: 6}, "2.6"},
		{"2.6.0.post1", platform.Version{Major: 2, Minor: 6}, "2.6"},
		{"2.6.0post1", platform.Version{Major: 2, Minor: 6}, "2.6"},
		{"2.123456", platform.Version{Major: 2, Minor: 123456}, "2.123456"},
		{"v2.6", platform.Version{Major: 2, Minor: 6}, "2.6"},
		{"9.10.2.21", platform.Version{Major: 9, Minor: 10, Patch: 2, Build: 21}, "9.10.2.21"},
		{"9.19.0.56", platform.Version{Major: 9, Minor: 19, Build: 56}, "9.19.0.56"},
	} {
		v := version(t, c.in)
		assert.Equal(t, c.want, v, c.in)
		assert.Equal(t, c.text, v.String(), c.in)
		data, err := json.Marshal(v)
		require.NoError(t, err)
		var back platform.Version
		require.NoError(t, json.Unmarshal(data, &back))
		assert.Equal(t, v, back)
	}
	assert.Negative(t, version(t, "9.1.2.3").Compare(version(t, "9.1.3.2")), "the patch comes before the build")
	assert.Negative(t, version(t, "9.1.2.3").Compare(version(t, "9.1.2.4")))
	var v platform.Version
	text, err := v.MarshalText()
	require.NoError(t, err)
	assert.Empty(t, text)
	v = version(t, "2.10")
	require.NoError(t, v.UnmarshalText(nil))
	assert.True(t, v.IsZero(), "no text is no version")
	v = version(t, "2.10")
	require.EqualError(t, v.UnmarshalText([]byte("x")), `got version "x", want one such as 2.10 or 2.10.1`)
	assert.Equal(t, version(t, "2.10"), v)
	assert.Positive(t, version(t, "2.10").Compare(version(t, "2.9")), "2.10 is newer than 2.9")
	assert.Positive(t, version(t, "2.9.1").Compare(version(t, "2.9")))
	assert.Zero(t, version(t, "2.9.0").Compare(version(t, "2.9")))
	for _, bad := range []string{"", "2", "2.", "2..1", "two.ten", "2.10x", "2.10p", "2.10po", "2.1234567", "2.10.1.2.3",
		"-2.1", "2.1234567890", "2 .1"} {
		_, err := platform.ParseVersion(bad)
		require.EqualError(t, err, `got version "`+bad+`", want one such as 2.10 or 2.10.1`, bad)
	}
}

func TestReleaseOf(t *testing.T) {
	for _, c := range []struct {
		torch, row string
		known      bool
	}{
		{"2.4.1", "2.4", true}, {"2.9.1", "2.9", true}, {"2.10.3", "2.10", true}, {"2.15", "2.15", true},
		{"2.99", "2.15", false}, {"3.0", "2.15", false}, {"1.13", "2.0", false},
	} {
		r, known := platform.ReleaseOf(version(t, c.torch))
		assert.Equal(t, c.row, r.Torch.String(), c.torch)
		assert.Equal(t, c.known, known, c.torch)
		assert.NotEmpty(t, r.Source)
		assert.False(t, r.CuDNN.IsZero())
	}
	assert.Equal(t, "2.15", platform.Newest().String())
	d, err := device.Lookup("t4")
	require.NoError(t, err)
	_, err = platform.New(d, version(t, "1.13.1"))
	require.EqualError(t, err, "got torch 1.13.1, want 2.0 to 2.15, the releases whose rules are known")
	_, err = platform.New(device.Device{}, version(t, "2.16"))
	require.EqualError(t, err, "got torch 2.16, want 2.0 to 2.15, the releases whose rules are known",
		"a later release may allocate otherwise")
	_, err = platform.New(device.Device{}, version(t, "2.15.3"))
	require.NoError(t, err, "a patch of a release goes by its row")
}

// TestDefaults are PyTorch's: torch.backends.cudnn.allow_tf32 is True,
// torch.backends.cuda.matmul.allow_tf32 False.
func TestDefaults(t *testing.T) {
	p := on(t, "a10g", "2.10")
	assert.True(t, p.TF32CuDNN)
	assert.False(t, p.TF32Matmul)
	assert.False(t, p.Benchmark)
	assert.False(t, p.Deterministic)
	assert.Equal(t, "9.10.2.21", p.CuDNN.String())
	require.NoError(t, p.Check())
}

const (
	small = units.Bytes(8519680)  // ":4096:2:16:8"
	big   = units.Bytes(33554432) // ":4096:8"
)

// TestWorkspaces is the table of facts/cuda-memory.md 2.1 and 2.2.
func TestWorkspaces(t *testing.T) {
	mib := units.MiB
	for _, c := range []struct {
		device, torch string
		cublas        platform.Workspace
		lt            platform.Workspace
		takes         bool
		why           string
	}{
		{"a10g", "2.4", platform.Workspace{Bytes: small, Lifetime: platform.Kept},
			platform.Workspace{Bytes: mib, Lifetime: platform.PerCall}, true, ""},
		{"a10g", "2.8", platform.Workspace{Bytes: small, Lifetime: platform.Kept},
			platform.Workspace{Bytes: mib, Lifetime: platform.PerCall}, true, ""},
		{"a10g", "2.9", platform.Workspace{Bytes: small, Lifetime: platform.Kept},
			platform.Workspace{Bytes: mib, Lifetime: platform.Kept}, true, "PR 156495: kept, a block of its own"},
		{"h200", "2.11", platform.Workspace{Bytes: big, Lifetime: platform.Kept},
			platform.Workspace{Bytes: mib, Lifetime: platform.Kept}, true, ""},
		{"b200", "2.11", platform.Workspace{Bytes: small, Lifetime: platform.Kept},
			platform.Workspace{Bytes: mib, Lifetime: platform.Kept}, true, "10.0 came with 2.12"},
		{"b200", "2.12", platform.Workspace{Bytes: big, Lifetime: platform.Kept},
			platform.Workspace{Bytes: big, Lifetime: platform.Shared}, false, ""},
		{"rtx-5090", "2.12", platform.Workspace{Bytes: big, Lifetime: platform.Kept},
			platform.Workspace{Bytes: big, Lifetime: platform.Shared}, false, ""},
		{"rtx-5090", "2.10", platform.Workspace{Bytes: small, Lifetime: platform.Kept},
			platform.Workspace{Bytes: mib, Lifetime: platform.Kept}, true, ""},
		{"a10g", "2.14", platform.Workspace{Bytes: small, Lifetime: platform.Kept},
			platform.Workspace{Bytes: small, Lifetime: platform.Shared}, false, ""},
		{"a10g", "2.15", platform.Workspace{Bytes: small, Lifetime: platform.PerCall},
			platform.Workspace{Bytes: mib, Lifetime: platform.PerCall}, false, "nothing stays"},
		{"h200", "2.15", platform.Workspace{Bytes: big, Lifetime: platform.PerCall},
			platform.Workspace{Bytes: mib, Lifetime: platform.PerCall}, false, ""},
		{"none", "2.10", platform.Workspace{}, platform.Workspace{}, false, "no library workspace"},
	} {
		p := on(t, c.device, c.torch)
		assert.Equal(t, c.cublas, p.Cublas(), "%s %s cublas: %s", c.device, c.torch, c.why)
		assert.Equal(t, c.cublas.Bytes, p.Cublas().Bytes)
		assert.Equal(t, c.lt, p.CublasLt(), "%s %s lt: %s", c.device, c.torch, c.why)
		assert.Equal(t, c.takes, p.LtTakesCublas(), "%s %s", c.device, c.torch)
	}
	thor := on(t, "b200", "2.13")
	thor.Device.ComputeCapability = device.Capability{Major: 11}
	assert.Equal(t, small, thor.Cublas().Bytes, "11.x came with 2.14")
	thor.Torch = version(t, "2.14")
	assert.Equal(t, big, thor.Cublas().Bytes)
}

func TestCublasWorkspaceDeterministic(t *testing.T) {
	p := on(t, "a10g", "2.15")
	p.Deterministic = true
	assert.Equal(t, 32*units.MiB, p.Cublas().Bytes, "cuBLAS refuses without a setting, and measured runs take :4096:8")
	assert.Equal(t, ":4096:8", p.CublasConfig())
	p.CublasWorkspace = ":16:8"
	assert.Equal(t, 128*units.KiB, p.Cublas().Bytes, "a setting decides")
	assert.Equal(t, ":16:8", p.CublasConfig())
	assert.Empty(t, on(t, "a10g", "2.15").CublasConfig())
	assert.Zero(t, func() units.Bytes {
		p := on(t, "none", "2.15")
		p.Deterministic = true
		return p.Cublas().Bytes
	}(), "the device none has no library")
}

func TestCuDNNv7(t *testing.T) {
	p := on(t, "a10g", "2.15")
	assert.True(t, p.ConvBeyondInt32())
	p.CuDNNv7 = true
	assert.False(t, p.ConvBeyondInt32(), "only the v8 interface takes more than INT_MAX elements a sample")
}

func TestCublasWorkspaceConfig(t *testing.T) {
	for _, c := range []struct {
		config string
		want   units.Bytes
	}{
		{":4096:2:16:8", small}, {":4096:8", big}, {":16:8", 128 * units.KiB}, {":0:0", 0}, {":1:1", units.KiB},
		{":2147483647:1", 2147483647 * units.KiB}, {":1:2147483647", 2147483647 * units.KiB},
	} {
		got, err := platform.ParseCublasWorkspace(c.config)
		require.NoError(t, err, c.config)
		assert.Equal(t, c.want, got, c.config)
		p := on(t, "h200", "2.10")
		p.CublasWorkspace = c.config
		require.NoError(t, p.Check())
		assert.Equal(t, c.want, p.Cublas().Bytes, "the setting beats the device's default")
	}
	for _, bad := range []string{"4096:8", ":4096", ":4096:", ":a:b", ":-1:8", ":4096:8:16", ":99999999999:1",
		":2147483648:1", ":1:2147483648", "", ":", ":4096:8a", ":4096:0x8", "x:4096:8",
		":4096:8:2147483647:4194304:2147483647:4194304",
		":2147483647:2147483647:2147483647:2147483647:2147483647:2147483647"} {
		_, err := platform.ParseCublasWorkspace(bad)
		require.EqualError(t, err, `got cuBLAS workspace "`+bad+`", want :SIZE_KIB:COUNT, such as :4096:8`, bad)
		p := on(t, "t4", "2.10")
		p.CublasWorkspace = bad
		assert.Equal(t, bad != "", p.Check() != nil, "no setting is the default")
	}
	lt := on(t, "t4", "2.11")
	lt.CublasWorkspace = ":16:8"
	assert.Equal(t, 128*units.KiB, lt.CublasLt().Bytes, "2.11 clamps the Lt workspace to the cuBLAS size")
	lt.Torch = version(t, "2.12")
	assert.Equal(t, platform.Workspace{Bytes: 128 * units.KiB, Lifetime: platform.Shared}, lt.CublasLt(),
		"2.12 has it lie in the cuBLAS block")
	lt.Torch = version(t, "2.15")
	assert.Equal(t, platform.Workspace{Bytes: units.MiB, Lifetime: platform.PerCall}, lt.CublasLt(),
		"2.15 asks anew each call")
	lt.Torch = version(t, "2.10")
	assert.Equal(t, units.MiB, lt.CublasLt().Bytes, "2.10 does not")
}

func TestLtMinRows(t *testing.T) {
	assert.EqualValues(t, 2, on(t, "a10g", "2.10").LtMinRows(), "one row takes plain cuBLAS")
	assert.EqualValues(t, 1, on(t, "a10g", "2.8").LtMinRows())
	assert.EqualValues(t, 1, on(t, "a10g", "2.11").LtMinRows())
}

// TestFirstReleases: the releases of which each behaviour was first seen, on pretend GPUs with that
// one and the one before.
func TestFirstReleases(t *testing.T) {
	for _, c := range []struct {
		why   string
		has   func(platform.Release) bool
		first int // minor release of 2
	}{
		{"memory-efficient attention keeps two blocks of 512 B", func(r platform.Release) bool {
			return r.EfficientRNGOnGPU
		}, 14},
		{"memory-efficient attention of grouped queries", func(r platform.Release) bool { return r.EfficientGQA }, 14},
		{"_native_multi_head_attention of heads of 12", func(r platform.Release) bool { return r.FusedMHAAnyHead }, 15},
	} {
		for minor := platform.Oldest().Minor; minor <= platform.Newest().Minor; minor++ {
			r, known := platform.ReleaseOf(platform.Version{Major: 2, Minor: minor})
			require.True(t, known)
			assert.Equal(t, minor >= c.first, c.has(r), "%s: torch %s", c.why, r.Torch)
		}
	}
}

func TestSDPAOrder(t *testing.T) {
	fused := []platform.SDPABackend{platform.SDPAFlash, platform.SDPAEfficient, platform.SDPAMath}
	cudnn := append([]platform.SDPABackend{platform.SDPACuDNN}, fused...)
	math := []platform.SDPABackend{platform.SDPAMath}
	for _, c := range []struct {
		device, torch, cudnn string
		want                 []platform.SDPABackend
		why                  string
	}{
		{"h200", "2.10", "", fused, "the wheel's cuDNN 9.10.2 is too old"},
		{"h200", "2.10", "9.15.1", cudnn, "another wheel of the same release"},
		{"h200", "2.10", "9.15.0.43", fused, "91500 itself is not enough"},
		{"h200", "2.9", "9.20", fused, "compiled to never in 2.9"},
		{"h200", "2.11", "", cudnn, ""},
		{"b200", "2.11", "", cudnn, ""},
		{"a10g", "2.15", "", fused, "majors 9 and 10 only"},
		{"rtx-5090", "2.15", "", fused, ""},
		{"none", "2.15", "", math, ""},
	} {
		p := on(t, c.device, c.torch)
		if c.cudnn != "" {
			p.CuDNN = version(t, c.cudnn)
		}
		assert.Equal(t, c.want, p.SDPAOrder(), "%s %s %s: %s", c.device, c.torch, c.cudnn, c.why)
	}
	odd := on(t, "b200", "2.12")
	odd.Device.ComputeCapability.Minor = 1
	assert.Equal(t, fused, odd.SDPAOrder(), "minor 0 or 3 until 2.12")
	odd.Torch = version(t, "2.13")
	assert.Equal(t, cudnn, odd.SDPAOrder(), "any minor from 2.13 on")
}

// What a case names of the backends of attention is tried in PyTorch's order, cuDNN's last of all
// where it is not preferred.
func TestSDPAOfNamedBackends(t *testing.T) {
	for _, c := range []struct{ device, names, want string }{
		{"a10g", "", "flash efficient math"}, {"h200", "", "cudnn flash efficient math"}, {"none", "", "math"},
		{"a10g", "math flash_attention", "flash math"}, {"a10g", "flash_attention math", "flash math"},
		{"a10g", "efficient_attention", "efficient"}, {"a10g", "math", "math"},
		{"a10g", "cudnn_attention", "cudnn"}, {"a10g", "cudnn_attention math", "math cudnn"},
		{"h200", "math cudnn_attention", "cudnn math"},
		{"a10g", "math flash_attention efficient_attention cudnn_attention", "flash efficient math cudnn"},
		{"none", "cudnn_attention math", "math"}, {"none", "flash_attention", ""},
	} {
		p := on(t, c.device, "2.15")
		var err error
		p.Attention, err = platform.ParseSDPABackends(strings.Fields(c.names)...)
		require.NoError(t, err)
		var order []string
		for _, b := range p.SDPAOrder() {
			order = append(order, b.String())
			assert.True(t, p.SDPAAllows(b))
		}
		assert.Equal(t, c.want, strings.Join(order, " "), "%s on %s", c.names, c.device)
		var allowed []string
		for b, name := range platform.SDPANames() {
			if p.SDPAAllows(platform.SDPABackend(b)) {
				allowed = append(allowed, name)
			}
		}
		if c.names == "" {
			assert.Equal(t, platform.SDPANames(), allowed, "all of them")
			assert.Empty(t, p.Attention.Names())
		} else {
			assert.Equal(t, allowed, p.Attention.Names())
			assert.ElementsMatch(t, strings.Fields(c.names), allowed)
		}
	}
	assert.Equal(t, []string{"math", "flash_attention", "efficient_attention", "cudnn_attention"}, platform.SDPANames())
	_, err := platform.ParseSDPABackends("math", "flash", "cudnn")
	assert.EqualError(t, err, `got the backend "flash", want one of math, flash_attention, efficient_attention, `+
		"cudnn_attention")
}

func TestVersionQuestions(t *testing.T) {
	p := on(t, "b200", "2.14")
	assert.True(t, p.CuDNNAttentionRefusesDecode(), "2.14 ships 9.24.0")
	p.CuDNN = version(t, "9.24.1.1")
	assert.False(t, p.CuDNNAttentionRefusesDecode())
	assert.False(t, on(t, "b200", "2.15").CuDNNAttentionRefusesDecode(), "9.26")
	assert.False(t, on(t, "h200", "2.14").CuDNNAttentionRefusesDecode())

	assert.False(t, on(t, "a10g", "2.4").MathSDPAUpcasts())
	assert.True(t, on(t, "a10g", "2.6").MathSDPAUpcasts())
	assert.True(t, on(t, "a10g", "2.10").TF32Conv())
	assert.False(t, on(t, "t4", "2.10").TF32Conv(), "no TF32 before 8.0")

	assert.False(t, on(t, "a10g", "2.9").Conv3dHalf())
	fixed := on(t, "a10g", "2.9.1")
	assert.False(t, fixed.Conv3dHalf(), "its wheel ships 9.10.2")
	fixed.CuDNN = version(t, "9.15.0.1")
	assert.True(t, fixed.Conv3dHalf())
	assert.True(t, on(t, "a10g", "2.10").Conv3dHalf())

	assert.False(t, on(t, "a10g", "2.4").ConvBeyondInt32())
	assert.True(t, on(t, "a10g", "2.10").ConvBeyondInt32())
	assert.Equal(t, "9.1.0.70", on(t, "a10g", "2.6").CuDNN.String())
	assert.False(t, on(t, "a10g", "2.6").ConvBeyondInt32(), "its cuDNN 9.1 is older than 9.3")
}

func TestLimit(t *testing.T) {
	p := on(t, "t4", "2.10")
	assert.Equal(t, p.Device.Memory, p.Limit())
	p.MemoryFraction = 0.5
	assert.Equal(t, p.Device.Memory/2, p.Limit())
	p.MemoryFraction = 1
	assert.Equal(t, p.Device.Memory, p.Limit(), "1 is no limit of its own")
	require.NoError(t, p.Check())
	p.MemoryFraction = 1.5
	assert.Equal(t, p.Device.Memory, p.Limit())
	require.EqualError(t, p.Check(), "got memory fraction 1.5, want 0 to 1")
	p.MemoryFraction = -0.5
	require.EqualError(t, p.Check(), "got memory fraction -0.5, want 0 to 1")
	p.MemoryFraction = math.NaN()
	require.EqualError(t, p.Check(), "got memory fraction NaN, want 0 to 1")
	p.MemoryFraction = 0
	require.NoError(t, p.Check())
	none := on(t, "none", "2.10")
	assert.Zero(t, none.Limit())
	assert.True(t, none.IsNone())
	assert.True(t, none.IsNone())
}

func TestAnswerer(t *testing.T) {
	assert.Equal(t, profile.Answerer{Library: "cudnn", Version: "9.10.2", Class: "sm89"},
		on(t, "rtx-4090", "2.10").Answerer())
	assert.Equal(t, "sm75-small", on(t, "t4", "2.10").Answerer().Class)
	assert.Equal(t, "sm75-large", on(t, "rtx-2080-ti", "2.10").Answerer().Class)
	p := on(t, "rtx-2080-ti", "2.10")
	p.Device.SMs = 60
	assert.Equal(t, "sm75-large", p.Answerer().Class, "no card has between 57 and 67")
	p.Device.SMs = 59
	assert.Equal(t, "sm75-small", p.Answerer().Class)
	p.TF32CuDNN = false
	p.Device.ComputeCapability.Major = 8
	assert.False(t, p.TF32Conv(), "it can be switched off")
	assert.Equal(t, "sm120", on(t, "rtx-5090", "2.15").Answerer().Class)
	assert.Equal(t, "9.26.0", on(t, "rtx-5090", "2.15").Answerer().Version)
}

func FuzzParseVersion(f *testing.F) {
	for _, s := range []string{"2.10", "9.10.2.21", "2.15.0a0", "v2.6", "..", "2.10+", "1e9.2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := platform.ParseVersion(s)
		if err != nil {
			return
		}
		back, err := platform.ParseVersion(v.String())
		if err != nil || back != v {
			t.Fatalf("%q read as %v, which reads as %v, %v", s, v, back, err)
		}
	})
}

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		version, printed string
		want             bool
	}{
		{"2.15", "2.15.0+cu130", true}, {"2.15", "2.15.1", true}, {"2.15.1", "2.15.1+cpu", true}, {"2.15", "2.15", true},
		{"2.15.1", "2.15.0+cu130", false}, {"2.1", "2.15.0", false}, {"2.15", "2.1.0", false},
	} {
		v, err := platform.ParseVersion(tt.version)
		require.NoError(t, err)
		assert.Equal(t, tt.want, v.Covers(tt.printed), "%s and %s", tt.version, tt.printed)
	}
}

// TestChoosesAlike: from Hopper on, cuDNN answers otherwise with a device than without one.
func TestChoosesAlike(t *testing.T) {
	for name, want := range map[string]bool{"t4": true, "rtx-4090": true, "h100-sxm-80gb": false, "rtx-5090": false} {
		assert.Equal(t, want, on(t, name, "2.15").ChoosesAlike(), name)
	}
}
