package device

import (
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/units"
)

// A contextLog is a message of PyTorch's allocator at the end of a device's memory, as somebody
// published it. It says what one process took in all (NVML's figure), and how much of it is the
// allocator's: allocated, and reserved but unallocated. What is left is the context with all that
// libraries loaded into it: what nvidia-smi shows beside PyTorch's own.
//
// Left out are logs of Windows, whose driver does not record a process's memory, and of programs
// that take device memory past the allocator (NCCL, vLLM, tiny-cuda-nn): theirs is another
// question.
//
// The log of a serving engine prints the context at its start instead, before anything but the
// driver took memory: its unallocated is 0.
type contextLog struct {
	devices     []string // those that the log may be of, by its capacity and what its author says
	inUse       hundredth
	allocated   hundredth
	unallocated float64 // MiB, to a hundredth
	source      string
}

// A laterLog is what a process took outside of PyTorch's allocator after its context was made, as
// kernels and libraries were loaded. It is the upper part of a range: no message of the allocator
// says whether they were loaded when memory ran out.
type laterLog struct {
	capability Capability
	high       units.Bytes
	source     string
}

var laterLogs = []laterLog{
	{Capability{8, 6}, 34 * units.MiB, "xMem's records of language models in training on an RTX 3060 with torch 2.6"},
	{Capability{9, 0}, 275 * units.GiB / 1000, "vLLM 0.19's logs on an H100: 0.24 to 0.27 GiB over its profile run"},
}

// laterOn is what libraries load later on cards of a compute capability; nil where nobody measured
// it.
func laterOn(c Capability) *laterLog {
	for i := range laterLogs {
		if laterLogs[i].capability == c {
			return &laterLogs[i]
		}
	}
	return nil
}

// hundredth is a size in hundredths of a GiB, as the message prints it: it may be half of one more
// or less.
type hundredth int

func (h hundredth) bytes() units.Bytes { return units.Bytes(h) * units.GiB / 100 }

var contextLogs = []contextLog{
	{[]string{"t4"}, 1452, 1406, 330.42, "github.com/FoundationVision/GenerateU/issues/10"},
	{[]string{"t4"}, 1467, 1455, 23.38, "github.com/hpcaitech/Open-Sora/issues/697"},
	{[]string{"l4"}, 2078, 1866, 1.89 * 1024, "github.com/ArcInstitute/evo2/issues/190"},
	{[]string{"rtx-a4000"}, 1551, 1501, 301.92, "github.com/DengKaiCQ/VGGT-Long/issues/6"},
	{[]string{"rtx-3090"}, 1179, 1144, 43.59, "github.com/OpenGVLab/InternVL, quoted as \"GPU 0 has a total capacity of " +
		"23.68 GiB\" in a public README"},
	{[]string{"rtx-3090"}, 2298, 2265, 77.68, "\"23.68 GiB … this process has 22.98 GiB\" in a public log of a training " +
		"run"},
	{[]string{"rtx-3090"}, 1631, 1601, 7.47, "\"23.69 GiB … this process has 16.31 GiB\" in a public crash report of " +
		"torch.cumsum"},
	{[]string{"a100-sxm-40gb", "a100-pcie-40gb"}, 1425, 1287, 912.01, "github.com/TianheWu/CoSeR/issues/10"},
	{[]string{"a100-pcie-80gb"}, 925, 827, 500.38, "github.com/lianqi1008/Control-GIC/issues/6"},
	{[]string{"a100-pcie-80gb"}, 1737, 1434, 2.53 * 1024, "github.com/Kwai-Keye/Keye/issues/11"},
	{[]string{"l40"}, 1113, 1025, 394.50, "github.com/QwenLM/Qwen3-VL/issues/2097"},
	{[]string{"l40s"}, 4429, 4388, 0.57, "github.com/stepfun-ai/Step-Video-T2V/issues/8"},
	{[]string{"rtx-6000-ada"}, 4440, 4394, 41.95, "github.com/DINGYANB/MTVCrafter/issues/21"},
	{[]string{"rtx-4090"}, 1456, 1386, 213.20, "github.com/3DTopia/Phidias-Diffusion/issues/8"},
	{[]string{"rtx-4090"}, 2161, 2116, 11.05, "github.com/Soul-AILab/SoulX-FlashTalk/issues/5"},
	{[]string{"rtx-4090"}, 2269, 2172, 520.54, "github.com/pinokiofactory/flux-webui/issues/11"},
	{[]string{"h100-nvl-94gb"}, 9191, 8610, 5.15 * 1024, "github.com/ali-vilab/VACE/issues/56"},
	{[]string{"h100-sxm-80gb", "h100-pcie-80gb"}, 51, 0, 0, "vLLM 0.19 with torch 2.10 at the start of Qwen3-8B on an " +
		"H100 of 80 GB"},
	{[]string{"h100-sxm-80gb", "h100-pcie-80gb"}, 51, 0, 0, "vLLM 0.19 with torch 2.10 at the start of Qwen3-30B-A3B on " +
		"an H100 of 80 GB"},
	{[]string{"rtx-5090"}, 3134, 3074, 19.41, "github.com/Wan-Video/Wan2.1/issues/465"},
	{[]string{"rtx-5090"}, 2689, 2595, 343.86, "github.com/TrajectoryCrafter/TrajectoryCrafter/issues/20"},
}

// ends are the least and the most that the context may have been.
func (l *contextLog) ends() (low, high units.Bytes) {
	const rounding = units.GiB / 100 // half a hundredth of each of two figures
	if l.allocated == 0 {            // and of one
		return l.inUse.bytes() - rounding/2, l.inUse.bytes() + rounding/2
	}
	unallocated := units.Bytes(l.unallocated * float64(units.MiB))
	if l.unallocated >= 1024 { // printed in GiB, to a hundredth
		low -= units.GiB / 200
		high += units.GiB / 200
	}
	rest := l.inUse.bytes() - l.allocated.bytes() - unallocated
	return low + rest - rounding, high + rest + rounding
}

// ContextRange is what a CUDA context takes, as far as logs show, with what libraries load into it
// later where that was measured. One process may load what another does not, so a single log is no
// range: a card has its own that logs where there are several, else that of all cards of its
// compute capability where there are three logs and not of one card only, else that of all logs.
type ContextRange struct {
	Low, High units.Bytes
	Source    string
}

// contextOf is the range of a row whose context nobody measured.
func contextOf(d *Device) *ContextRange {
	r := loggedContext(d)
	if later := laterOn(d.ComputeCapability); later != nil {
		r.High += later.high
		r.Source += fmt.Sprintf("; up to %s of it for what libraries load later (%s)", later.high, later.source)
	}
	return r
}

// loggedContext is the range that logs of contexts report.
func loggedContext(d *Device) *ContextRange {
	own := within(func(l *contextLog) bool { return slices.Contains(l.devices, d.Name) })
	if own.logs > 1 {
		return own.of("the card")
	}
	like := within(func(l *contextLog) bool {
		return slices.ContainsFunc(l.devices, func(name string) bool { return capabilityOf(name) == d.ComputeCapability })
	})
	if like.logs > 2 && len(like.cards) > 1 {
		return like.of("cards of " + d.ComputeCapability.String())
	}
	all := within(func(*contextLog) bool { return true })
	return all.of("other cards")
}

// spread is what some of the logs report together.
type spread struct {
	low, high units.Bytes
	logs      int
	cards     map[string]bool // the first that each log may be of
	first     string          // source
}

func within(is func(*contextLog) bool) spread {
	s := spread{cards: map[string]bool{}}
	for i := range contextLogs {
		l := &contextLogs[i]
		if !is(l) {
			continue
		}
		low, high := l.ends()
		if s.logs == 0 {
			s.low, s.high, s.first = low, high, l.source
		}
		s.low, s.high = min(s.low, low), max(s.high, high)
		s.logs++
		s.cards[l.devices[0]] = true
	}
	return s
}

func (s *spread) of(what string) *ContextRange {
	return &ContextRange{s.low, s.high, fmt.Sprintf("%d public logs of %s, such as %s", s.logs, what, s.first)}
}

// capabilityOf is that of a row of the table, which logs name.
func capabilityOf(name string) Capability {
	i := slices.IndexFunc(table, func(d Device) bool { return d.Name == name })
	return table[i].ComputeCapability
}
