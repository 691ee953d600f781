// Package platform is what a run happens on and with: the device, the releases of torch and cuDNN,
// flags, allocator settings and the workspace profile. A rule that depends on a release asks here
// and nowhere else; the answers come from one table (releases.go).
package platform

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// Platform is one setting to run in. New fills in PyTorch's defaults; its zero value is not usable.
type Platform struct {
	Device        device.Device
	Torch         Version
	CuDNN         Version // its own field: another wheel of the same torch may carry another
	TF32Matmul    bool    // torch.backends.cuda.matmul.allow_tf32
	TF32CuDNN     bool    // torch.backends.cudnn.allow_tf32
	Benchmark     bool    // torch.backends.cudnn.benchmark
	Deterministic bool    // torch.use_deterministic_algorithms or cudnn.deterministic
	Autocast      string  // dtype of torch.autocast("cuda"), empty for none
	// TORCH_CUDNN_V8_API_DISABLED=1: the older interface; every release since 2.0 has the newer as its
	// default
	CuDNNv7         bool
	AllocConf       string       // PYTORCH_CUDA_ALLOC_CONF
	Attention       SDPABackends // torch.nn.attention.sdpa_kernel, empty for none
	CublasWorkspace string       // CUBLAS_WORKSPACE_CONFIG, empty for the default
	MemoryFraction  float64      // set_per_process_memory_fraction, 0 for none
	NCCL            *units.Bytes // what NCCL takes of the device, where it is stated; nil where it is not
	Workspace       *profile.Profile
}

// New is a platform with PyTorch's defaults: TF32 for convolutions, not for matmul, the cuDNN that
// the torch wheel pins.
func New(d device.Device, torch Version) (Platform, error) {
	if err := CheckTorch(torch); err != nil {
		return Platform{}, err
	}
	return Platform{Device: d, Torch: torch, CuDNN: DefaultCuDNN(torch), TF32CuDNN: true}, nil
}

// CheckTorch refuses a release whose rules are not known: an older or newer one may allocate
// otherwise.
func CheckTorch(torch Version) error {
	if torch.Release().Compare(Oldest()) < 0 || torch.Release().Compare(Newest()) > 0 {
		return fmt.Errorf("got torch %s, want %s to %s, the releases whose rules are known", torch, Oldest(), Newest())
	}
	return nil
}

// DefaultCuDNN is the cuDNN that the default wheel of a torch release pins, zero where it is not
// known.
func DefaultCuDNN(torch Version) Version {
	r, _ := ReleaseOf(torch)
	return r.CuDNN
}

// Release is the row of releases.go that p.Torch goes by.
func (p *Platform) Release() Release {
	r, _ := ReleaseOf(p.Torch)
	return r
}

// IsNone says whether the device is `none`.
func (p *Platform) IsNone() bool { return p.Device.Kind == device.None }

// Limit is how much the process may reserve: the device's memory times the memory fraction; 0 is no
// limit.
func (p *Platform) Limit() units.Bytes {
	if p.MemoryFraction > 0 && p.MemoryFraction < 1 {
		return units.Bytes(float64(p.Device.Memory) * p.MemoryFraction)
	}
	return p.Device.Memory
}

// Workspace is a block that a library keeps or takes. Bytes 0 is no block at all.
type Workspace struct {
	Bytes    units.Bytes
	Lifetime Lifetime
}

// The default configurations of getChosenWorkspaceSize: ":4096:2:16:8" and ":4096:8".
const (
	defaultCublasWorkspace = 2*4096*units.KiB + 8*16*units.KiB
	bigCublasWorkspace     = 8 * 4096 * units.KiB
)

// deterministicCublas is what CUBLAS_WORKSPACE_CONFIG is set to where nothing is said and
// algorithms are to be deterministic: without a setting cuBLAS refuses to be, and this is the first
// that PyTorch's documentation names (torch.use_deterministic_algorithms).
const deterministicCublas = ":4096:8"

// CublasConfig is CUBLAS_WORKSPACE_CONFIG as a run has it; empty for PyTorch's default.
func (p *Platform) CublasConfig() string {
	if p.CublasWorkspace == "" && p.Deterministic {
		return deterministicCublas
	}
	return p.CublasWorkspace
}

// Cublas is the workspace of a gemm, batched gemm, gemv or dot.
func (p *Platform) Cublas() Workspace {
	r := p.Release()
	w := Workspace{Lifetime: r.Cublas}
	switch {
	case p.IsNone():
		return Workspace{}
	case p.CublasConfig() != "":
		w.Bytes, _ = ParseCublasWorkspace(p.CublasConfig()) // checked by Check
	case r.Big.has(p.Device.ComputeCapability):
		w.Bytes = bigCublasWorkspace
	default:
		w.Bytes = defaultCublasWorkspace
	}
	return w
}

// CublasLt is the workspace of a cublasLt matmul. Where its Lifetime is Shared it has no own block
// and lies in the cuBLAS block; LtTakesCublas reports whether a call creates that block in any
// case.
func (p *Platform) CublasLt() Workspace {
	if p.IsNone() {
		return Workspace{}
	}
	r := p.Release()
	if r.Lt == Shared {
		return Workspace{Bytes: p.Cublas().Bytes, Lifetime: Shared}
	}
	w := Workspace{Bytes: r.LtBytes, Lifetime: r.Lt}
	if r.Lt == Kept && r.Torch.AtLeast(2, 11) {
		w.Bytes = min(w.Bytes, p.Cublas().Bytes) // 2.11 clamps it to the cuBLAS size
	}
	return w
}

// LtTakesCublas says that a cublasLt call makes the kept cuBLAS block, before its own, if it is not
// there yet.
func (p *Platform) LtTakesCublas() bool { return !p.IsNone() && p.Release().LtTakesCublas }

// LtMinRows is how many rows mat1 must have for addmm to take cublasLt.
func (p *Platform) LtMinRows() int64 { return p.Release().LtMinRows }

// ParseCublasWorkspace reads CUBLAS_WORKSPACE_CONFIG, ":SIZE_KiB:COUNT" repeated, as PyTorch does.
func ParseCublasWorkspace(s string) (units.Bytes, error) {
	bad := fmt.Errorf("got cuBLAS workspace %q, want :SIZE_KIB:COUNT, such as :4096:8", s)
	parts := strings.Split(s, ":")
	if len(parts) < 3 || len(parts)%2 == 0 || parts[0] != "" { // an even number of parts behind a colon
		return 0, bad
	}
	var sum units.Bytes
	for i := 1; i < len(parts); i += 2 {
		size, err1 := strconv.ParseUint(parts[i], 10, 31)
		count, err2 := strconv.ParseUint(parts[i+1], 10, 31)
		if err1 != nil || err2 != nil {
			return 0, bad
		}
		sum = sum.Add(units.KiB.Mul(int64(size)).Mul(int64(count)))
	}
	if sum == units.Max { // more than there are bytes
		return 0, bad
	}
	return sum, nil
}

// MathSDPAUpcasts says that math attention computes half and bfloat16 in float32 copies
// (allow_fp16_bf16_reduction_math_sdp is off).
func (p *Platform) MathSDPAUpcasts() bool { return p.Release().MathUpcast }

// TF32Conv says that a float32 convolution may run on tensor cores.
func (p *Platform) TF32Conv() bool {
	return p.TF32CuDNN && p.Device.ComputeCapability.AtLeast(8, 0)
}

// ConvBeyondInt32 says that cuDNN takes convolutions of more than INT_MAX elements a sample.
func (p *Platform) ConvBeyondInt32() bool {
	return p.Release().BigConvCuDNN && p.CuDNN.AtLeast(9, 3) && !p.CuDNNv7
}

// DepthwiseBeyondInt32 says that cuDNN takes depthwise convolutions whose input or weight has more
// than INT_MAX elements (ConvParams:: use_cudnn_depthwise of 2.9 and later; when it began is not
// settled). Channels last it is kept from cuDNN 9.10.1 and newer, from 2.10 on only up to 9.14.
func (p *Platform) DepthwiseBeyondInt32(channelsLast bool) bool {
	v := p.CuDNN
	v.Build = 0
	if channelsLast && v.Compare(Version{Major: 9, Minor: 10}) > 0 && (!p.Torch.AtLeast(2, 10) || !v.AtLeast(9, 15)) {
		return false
	}
	return p.Torch.AtLeast(2, 9) && v.AtLeast(9, 3) && !p.CuDNNv7
}

// Conv3dHalf says that cuDNN takes 3-d convolutions in half and bfloat16: 2.9.0 never, 2.9.1 only
// from cuDNN 9.15 on, others always.
func (p *Platform) Conv3dHalf() bool {
	if p.Torch.Release() != (Version{Major: 2, Minor: 9}) {
		return true
	}
	return p.Torch.Patch >= 1 && p.CuDNN.AtLeast(9, 15)
}

// Answerer is whom a workspace profile must have asked for this platform's convolutions.
func (p *Platform) Answerer() profile.Answerer {
	return profile.Answerer{Library: "cudnn", Version: fmt.Sprintf("%d.%d.%d", p.CuDNN.Major, p.CuDNN.Minor,
		p.CuDNN.Patch), Class: DeviceClass(p.Device)}
}

// AnswersDeviceless says that the platform's cuDNN can be asked about a device that is only
// described: 9.8 and later can.
func (p *Platform) AnswersDeviceless() bool { return p.CuDNN.AtLeast(9, 8) }

// ChoosesAlike says that cuDNN asked without a device answers as with one. On an H100, cuDNN 9.19
// took another workspace in 201 of 342 convolutions: other engines for kernels of 1×1, and
// elsewhere 131 bytes less or another split (testdata/measured/h100-convolutions.csv). Later
// classes are not known.
func (p *Platform) ChoosesAlike() bool { return p.Device.ComputeCapability.Major < 9 }

// DeviceClass names the devices that cuDNN's heuristics treat alike: those of one SM version, save
// 7.5, which has two families by their multiprocessors (8 to 56, as T4; 68 and more, as RTX 2080
// Ti).
func DeviceClass(d device.Device) string {
	sm := fmt.Sprintf("sm%d", d.ComputeCapability.SM())
	if sm != "sm75" {
		return sm
	}
	if d.SMs >= 60 {
		return sm + "-large"
	}
	return sm + "-small"
}

// Check says what is wrong with the settings, if anything is.
func (p *Platform) Check() error {
	if p.CublasWorkspace != "" {
		if _, err := ParseCublasWorkspace(p.CublasWorkspace); err != nil {
			return err
		}
	}
	if p.MemoryFraction < 0 || p.MemoryFraction > 1 || math.IsNaN(p.MemoryFraction) {
		return fmt.Errorf("got memory fraction %v, want 0 to 1", p.MemoryFraction)
	}
	return nil
}
