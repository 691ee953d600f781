package device

import "github.com/memspec/memspec/engine/units"

// Figures are what a program may ask of a card beside its memory and its multiprocessors. They
// decide little about memory: the L2 cache is what Triton's tuner fills while it measures, and
// clocks and bus report inductor whether a matrix product is bound by computing.
type Figures struct {
	Driver      string      // the card's name as the driver spells it
	L2          units.Bytes // 0: no public source
	Clock       int         // of the multiprocessors at most, in kHz; 0: no public source
	MemoryClock int         // in kHz; 0: no public source
	MemoryBus   int         // in bits; 0: no public source
	Source      string      // where L2, clocks and bus were read
}

// figures is by the row's name. A log is quoted as in table.go.
var figures = map[string]Figures{
	"k80":       {Driver: "Tesla K80"},
	"p100-16gb": {Driver: "Tesla P100-PCIE-16GB"},
	"v100-16gb": {Driver: "Tesla V100-SXM2-16GB", L2: 6291456, Clock: 1530000, MemoryClock: 877000,
		MemoryBus: 4096, Source: query + "\"Tesla V100-SXM2-16GB\", \"(080) Multiprocessors\", 16144 MBytes, CUDA 12.4"},
	"v100-32gb": {Driver: "Tesla V100-SXM2-32GB", L2: 6291456, Clock: 1530000, MemoryClock: 877000,
		MemoryBus: 4096, Source: query + "\"Tesla V100-SXM2-32GB\", 32511 MBytes (34089926656 bytes)"},
	"t4": {Driver: "Tesla T4", L2: 4194304, Clock: 1590000, MemoryClock: 5001000, MemoryBus: 256,
		Source: query + "\"Tesla T4\", 15110 MBytes (15843721216 bytes), CUDA 11.2"},
	"a10": {Driver: "NVIDIA A10", L2: 6291456, Clock: 1695000, MemoryClock: 6251000, MemoryBus: 384,
		Source: query + "\"NVIDIA A10\", 22599 MBytes (23696375808 bytes), CUDA 12.8"},
	"a10g": {Driver: "NVIDIA A10G"},
	"a16":  {Driver: "NVIDIA A16"},
	"a30":  {Driver: "NVIDIA A30"},
	"a40": {Driver: "NVIDIA A40", L2: 6291456, Clock: 1740000, MemoryClock: 7251000, MemoryBus: 384,
		Source: thamad + "nvsim/A40x10_deviceQuery.py"},
	"a100-pcie-40gb": {Driver: "NVIDIA A100-PCIE-40GB", L2: 41943040, Clock: 1410000, MemoryClock: 1215000,
		MemoryBus: 5120, Source: query + "\"NVIDIA A100-PCIE-40GB\", 40338 MBytes (42297786368 bytes), CUDA 12.3"},
	"a100-sxm-40gb": {Driver: "NVIDIA A100-SXM4-40GB"},
	"a100-pcie-80gb": {Driver: "NVIDIA A100 80GB PCIe", L2: 41943040, Clock: 1410000, MemoryClock: 1512000,
		MemoryBus: 5120, Source: query + "\"NVIDIA A100 80GB PCIe\", 81038 MBytes (84974239744 bytes), CUDA 12.4"},
	"a100-sxm-80gb": {Driver: "NVIDIA A100-SXM4-80GB", L2: 41943040, Clock: 1410000, MemoryClock: 1593000,
		MemoryBus: 5120, Source: query + "\"NVIDIA A100-SXM4-80GB\", 81158 MBytes (85100068864 bytes), CUDA 12.5"},
	"l4":  {Driver: "NVIDIA L4"},
	"l40": {Driver: "NVIDIA L40"},
	"l40s": {Driver: "NVIDIA L40S", L2: 100663296, Clock: 2520000, MemoryClock: 9001000, MemoryBus: 384,
		Source: "deviceQuery in github.com/alvarobartt/cuda-device-query README.md"},
	"h100-pcie-80gb": {Driver: "NVIDIA H100 PCIe", L2: 52428800, Clock: 1755000, MemoryClock: 1593000,
		MemoryBus: 5120, Source: "nvaccelinfo in a public log: \"NVIDIA H100 PCIe\", Clock Rate: 1755 MHz, Memory Clock " +
			"Rate: 1593 MHz, L2 Cache Size: 52428800 bytes"},
	"h100-sxm-80gb": {Driver: "NVIDIA H100 80GB HBM3", L2: 52428800, Clock: 1980000, MemoryClock: 2619000,
		MemoryBus: 5120, Source: thamad + "nvsim/H100SXMx8_deviceQuery.py"},
	"h100-nvl-94gb": {Driver: "NVIDIA H100 NVL"},
	"h200-sxm": {Driver: "NVIDIA H200", L2: 62914560, Source: props + "name='NVIDIA H200', " +
		"L2_cache_size=60MB"},
	"h200-nvl":   {Driver: "NVIDIA H200 NVL"},
	"gh200-96gb": {Driver: "NVIDIA GH200 480GB"},
	"b200": {Driver: "NVIDIA B200", L2: 132120576, Source: props + "name='NVIDIA B200', " +
		"total_memory=182642MB, multi_processor_count=148, L2_cache_size=126MB"},
	"titan-v": {Driver: "NVIDIA TITAN V", L2: 4718592, Clock: 1455000, MemoryClock: 850000, MemoryBus: 3072,
		Source: query + "\"NVIDIA TITAN V\", 12067 MBytes (12653035520 bytes), CUDA 11.7"},
	"titan-rtx":       {Driver: "NVIDIA TITAN RTX"},
	"quadro-rtx-6000": {Driver: "Quadro RTX 6000"},
	"quadro-rtx-8000": {Driver: "Quadro RTX 8000"},
	"rtx-a2000-12gb":  {Driver: "NVIDIA RTX A2000 12GB"},
	"rtx-a4000": {Driver: "NVIDIA RTX A4000", L2: 4194304, Clock: 1560000, MemoryClock: 7001000, MemoryBus: 256,
		Source: query + "\"NVIDIA RTX A4000\", 16376 MBytes (17174683648 bytes), CUDA 12.3"},
	"rtx-a5000": {Driver: "NVIDIA RTX A5000"},
	"rtx-a6000": {Driver: "NVIDIA RTX A6000", L2: 6291456, Clock: 1800000, MemoryClock: 8001000, MemoryBus: 384,
		Source: query + "\"NVIDIA RTX A6000\", 48790 MBytes (51160023040 bytes), CUDA 12.7"},
	"rtx-4000-ada": {Driver: "NVIDIA RTX 4000 Ada Generation"},
	"rtx-6000-ada": {Driver: "NVIDIA RTX 6000 Ada Generation"},
	"rtx-pro-6000": {Driver: "NVIDIA RTX PRO 6000 Blackwell Server Edition"},
	"gtx-1080-ti": {Driver: "NVIDIA GeForce GTX 1080 Ti", L2: 2883584, Clock: 1582000, MemoryClock: 5505000,
		MemoryBus: 352, Source: query + "\"NVIDIA GeForce GTX 1080 Ti\", 11172 MBytes (11714887680 bytes), CUDA 12.1"},
	"rtx-2060": {Driver: "NVIDIA GeForce RTX 2060"},
	"rtx-2080": {Driver: "NVIDIA GeForce RTX 2080"},
	"rtx-2080-ti": {Driver: "NVIDIA GeForce RTX 2080 Ti", L2: 5767168, Clock: 1545000, MemoryClock: 7000000,
		MemoryBus: 352, Source: query + "\"NVIDIA GeForce RTX 2080 Ti\", 11019 MBytes (11554717696 bytes), CUDA 11.5"},
	"rtx-3060": {Driver: "NVIDIA GeForce RTX 3060", L2: 2359296, Clock: 1837000, MemoryClock: 7501000,
		MemoryBus: 192, Source: query + "\"NVIDIA GeForce RTX 3060\", 12288 MBytes (12884377600 bytes), CUDA 12.6"},
	"rtx-3060-ti": {Driver: "NVIDIA GeForce RTX 3060 Ti"},
	"rtx-3070": {Driver: "NVIDIA GeForce RTX 3070", L2: 4194304, Clock: 1725000, MemoryClock: 7001000,
		MemoryBus: 256, Source: query + "\"NVIDIA GeForce RTX 3070\", 8192 MBytes (8589410304 bytes), CUDA 12.7"},
	"rtx-3080": {Driver: "NVIDIA GeForce RTX 3080", L2: 5242880, Clock: 1710000, MemoryClock: 9501000,
		MemoryBus: 320, Source: query + "\"NVIDIA GeForce RTX 3080\", 9987 MBytes (10472390656 bytes), CUDA 12.0"},
	"rtx-3080-ti": {Driver: "NVIDIA GeForce RTX 3080 Ti"},
	"rtx-3090": {Driver: "NVIDIA GeForce RTX 3090", L2: 6291456, Clock: 1740000, MemoryClock: 9751000,
		MemoryBus: 384, Source: query + "\"NVIDIA GeForce RTX 3090\", 24238 MBytes (25414860800 bytes), CUDA 12.1"},
	"rtx-3090-ti":       {Driver: "NVIDIA GeForce RTX 3090 Ti"},
	"rtx-4060":          {Driver: "NVIDIA GeForce RTX 4060"},
	"rtx-4060-ti-16gb":  {Driver: "NVIDIA GeForce RTX 4060 Ti"},
	"rtx-4070":          {Driver: "NVIDIA GeForce RTX 4070"},
	"rtx-4070-ti":       {Driver: "NVIDIA GeForce RTX 4070 Ti"},
	"rtx-4070-ti-super": {Driver: "NVIDIA GeForce RTX 4070 Ti SUPER"},
	"rtx-4080":          {Driver: "NVIDIA GeForce RTX 4080"},
	"rtx-4080-super": {Driver: "NVIDIA GeForce RTX 4080 SUPER", L2: 67108864, Clock: 2550000, MemoryClock: 11501000,
		MemoryBus: 256, Source: query + "\"NVIDIA GeForce RTX 4080 SUPER\", 16072 MBytes (16852844544 bytes)"},
	"rtx-4090": {Driver: "NVIDIA GeForce RTX 4090", L2: 75497472, Clock: 2520000, MemoryClock: 10501000,
		MemoryBus: 384, Source: query + "\"NVIDIA GeForce RTX 4090\", 24081 MBytes (25250627584 bytes), CUDA 13.0"},
	"rtx-5060":         {Driver: "NVIDIA GeForce RTX 5060"},
	"rtx-5060-ti-16gb": {Driver: "NVIDIA GeForce RTX 5060 Ti"},
	"rtx-5070":         {Driver: "NVIDIA GeForce RTX 5070"},
	"rtx-5070-ti":      {Driver: "NVIDIA GeForce RTX 5070 Ti"},
	"rtx-5080":         {Driver: "NVIDIA GeForce RTX 5080"},
	"rtx-5090": {Driver: "NVIDIA GeForce RTX 5090", L2: 100663296, Clock: 2407000, MemoryClock: 14001000,
		MemoryBus: 512, Source: query + "\"NVIDIA GeForce RTX 5090\", 32101 MBytes (33660534784 bytes), CUDA 13.0"},
	"jetson-agx-orin-64gb": {Driver: "Orin", L2: 4194304, Clock: 1300000, MemoryClock: 1300000, MemoryBus: 256,
		Source: query + "\"Orin\", 62841 MBytes (65893089280 bytes), CUDA 12.6"},
	"jetson-orin-nano-8gb": {Driver: "Orin"},
}

// Local is the address space that a context takes for the local variables of kernels, and gives
// back for another place when the first kernel runs. An H100 has 414 MiB there, measured with
// driver 580 (docs/decisions/devices.md): 1,472 bytes for each thread of the 144 multiprocessors of
// the whole chip. Of other chips it is not known, and 0 here.
func (d *Device) Local() units.Bytes {
	if d.ComputeCapability == (Capability{9, 0}) {
		return 144 * 2048 * 1472
	}
	return 0
}
