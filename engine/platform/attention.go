package platform

import (
	"fmt"
	"slices"
	"strings"
)

// SDPABackend is one way to compute scaled_dot_product_attention.
type SDPABackend uint8

// The backends, in PyTorch's words (sdp::SDPBackend).
const (
	SDPAMath SDPABackend = iota
	SDPAFlash
	SDPAEfficient
	SDPACuDNN
)

func (b SDPABackend) String() string { return [...]string{"math", "flash", "efficient", "cudnn"}[b] }

// SDPABackends is a set of backends, those that a run may choose from; empty for all.
type SDPABackends uint8

// sdpaNames are the backends' names in torch.nn.attention.SDPBackend, in lower case.
var sdpaNames = [...]string{"math", "flash_attention", "efficient_attention", "cudnn_attention"}

// SDPANames are the names that ParseSDPABackends reads.
func SDPANames() []string { return slices.Clone(sdpaNames[:]) }

// ParseSDPABackends reads names of torch.nn.attention.SDPBackend in lower case.
func ParseSDPABackends(names ...string) (SDPABackends, error) {
	var out SDPABackends
	for _, name := range names {
		i := slices.Index(sdpaNames[:], name)
		if i < 0 {
			return 0, fmt.Errorf("got the backend %q, want one of %s", name, strings.Join(sdpaNames[:], ", "))
		}
		out |= 1 << i
	}
	return out, nil
}

// Names are the names of the set's members in torch's order; none where it stands for all.
func (s SDPABackends) Names() []string {
	var out []string
	for i, name := range sdpaNames {
		if s>>i&1 != 0 {
			out = append(out, name)
		}
	}
	return out
}

// SDPAAllows says whether a run may choose a backend.
func (p *Platform) SDPAAllows(b SDPABackend) bool { return p.Attention == 0 || p.Attention>>b&1 != 0 }

// SDPAOrder is the order of trying those that a run may choose from; the first whose checks pass is
// taken, and math always passes. Where cuDNN is not preferred it stands behind math, and is reached
// where that may not be chosen.
func (p *Platform) SDPAOrder() []SDPABackend {
	order := p.allSDPA()
	if p.Attention == 0 {
		return order
	}
	if !slices.Contains(order, SDPACuDNN) && !p.IsNone() {
		order = append(order, SDPACuDNN)
	}
	return slices.DeleteFunc(order, func(b SDPABackend) bool { return !p.SDPAAllows(b) })
}

func (p *Platform) allSDPA() []SDPABackend {
	if p.IsNone() {
		return []SDPABackend{SDPAMath}
	}
	if p.prefersCuDNNAttention() {
		return []SDPABackend{SDPACuDNN, SDPAFlash, SDPAEfficient, SDPAMath}
	}
	return []SDPABackend{SDPAFlash, SDPAEfficient, SDPAMath}
}

// prefersCuDNNAttention is select_sdp_backend's test of device and runtime cuDNN.
func (p *Platform) prefersCuDNNAttention() bool {
	c := p.Device.ComputeCapability
	runtime := p.CuDNN
	// cudnnGetVersion has three parts
	runtime.Build = 0
	if runtime.Compare(Version{Major: 9, Minor: 15}) <= 0 || c.Major != 9 && c.Major != 10 { // > 91500
		return false
	}
	switch p.Release().SDPA {
	case sdpaPreferMinor03:
		return c.Minor == 0 || c.Minor == 3
	case sdpaPreferMajor:
		return true
	}
	return false
}

// CuDNNAttentionRefusesDecode says that cuDNN's attention refuses a query of length 1: torch 2.14
// and later on compute capability 10.x and 11.x, with cuDNN 9.19 to 9.25.0 other than 9.24.1.
func (p *Platform) CuDNNAttentionRefusesDecode() bool {
	v, c := p.CuDNN, p.Device.ComputeCapability
	v.Build = 0
	return p.Torch.AtLeast(2, 14) && (c.Major == 10 || c.Major == 11) &&
		v.AtLeast(9, 19) && v.Compare(Version{Major: 9, Minor: 25}) <= 0 && v != Version{Major: 9, Minor: 24, Patch: 1}
}
