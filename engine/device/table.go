package device

import (
	"slices"

	"github.com/memspec/memspec/engine/units"
)

// table is every known device, by class.
//
// Compute capabilities are NVIDIA's (developer.nvidia.com/cuda-gpus and /cuda-legacy-gpus). SMs are
// what the row's log prints; where it does not, Source says where they are from, or they are the
// vendor's CUDA cores divided by the cores of one multiprocessor. Memory is what the log in Source
// says: bytes where it prints bytes, else the MiB or GiB it prints. The same card differs by up to
// 2 % with driver, ECC and operating system (Windows reports more than Linux); a measured value
// under `devices:` of memspec.yaml beats a row.
var table = slices.Concat([]Device{
	{Name: "none", Kind: None, ContextKnown: true,
		Source: "built in: CUDA's dispatch, math attention, no library workspace, no context, no limit"},
}, datacenter, workstation, geforce, jetson)

// Kinds of log. A log is named by its repository where that is known, else quoted so that it can be
// searched for.
const (
	props  = "torch.cuda.get_device_properties in a public log: "
	query  = "deviceQuery in a public log: "
	llama  = "ggml_cuda_init (totalGlobalMem) in a public log: "
	yolo   = "Ultralytics banner (total_memory) in a public log: "
	thamad = "deviceQuery in github.com/thamada/nvidia-smi "
)

var datacenter = []Device{
	{Name: "k80", Aliases: []string{"tesla-k80"}, ComputeCapability: Capability{3, 7}, SMs: 13, Memory: 11996954624,
		MemoryFrom: Runtime,
		Source:     query + "\"11441 MBytes (11996954624 bytes)\", (13) Multiprocessors; one of the card's two GPUs"},
	{Name: "p100-16gb", Aliases: []string{"p100", "tesla-p100", "tesla-p100-pcie-16gb", "tesla-p100-sxm2-16gb"},
		ComputeCapability: Capability{6, 0}, SMs: 56,
		Memory: 16280 * units.MiB, MemoryFrom: Runtime,
		Source: props + "name='Tesla P100-PCIE-16GB', total_memory=16280MB, multi_processor_count=56"},
	{Name: "v100-16gb", Aliases: []string{"tesla-v100-sxm2-16gb", "tesla-v100-pcie-16gb", "v100-sxm-16gb",
		"v100-pcie-16gb"}, ComputeCapability: Capability{7, 0}, SMs: 80,
		Memory: 16160 * units.MiB, MemoryFrom: Runtime,
		Source: props + "name='Tesla V100-SXM2-16GB', total_memory=16160MB, multi_processor_count=80"},
	{Name: "v100-32gb", Aliases: []string{"tesla-v100-sxm2-32gb", "tesla-v100-pcie-32gb", "v100-sxm-32gb",
		"v100-pcie-32gb"}, ComputeCapability: Capability{7, 0}, SMs: 80,
		Memory: 34072559616, MemoryFrom: Runtime,
		Source: query + "\"32494 MBytes (34072559616 bytes)\", (80) Multiprocessors, CUDA 12.9"},
	{Name: "t4", Aliases: []string{"tesla-t4"}, ComputeCapability: Capability{7, 5}, SMs: 40, Memory: 14909 * units.MiB,
		MemoryFrom: Runtime,
		Context:    141426688, ContextKnown: true,
		Source: "\"GPU 0 has a total capacity of 14.56 GiB\" in github.com/Zheng-Chong/CatVTON/issues/133; SMs: " +
			"deviceQuery at chiemon.github.io/2024/12/25 " +
			"(older drivers: 15843721216 B); context: highwaterlabs/torch-preflight tests/calibration/measured_cuda.json " +
			"@774b8396, torch 2.11.0+cu128, " +
			"driver used less reserved after cuDNN was loaded (110100480 B before any library, 137363456 B after cuBLAS)"},
	{Name: "a10", ComputeCapability: Capability{8, 6}, SMs: 72, Memory: 23609475072, MemoryFrom: Runtime,
		Source: "\"21.99 GBytes (23609475072 bytes)\" in github.com/aalanwyr/face2cuda step2cuda/README.md; SMs: 9216 " +
			"cores / 128"},
	{Name: "a10g", ComputeCapability: Capability{8, 6}, SMs: 80, Memory: 22587 * units.MiB, MemoryFrom: Runtime,
		Source: props + "name='NVIDIA A10G', total_memory=22587MB, multi_processor_count=80, " +
			"uuid=599b5aa1-19c9-7f38-d64c-14ad5ed501af (torchcodec's generated examples)"},
	{Name: "a16", ComputeCapability: Capability{8, 6}, SMs: 10, Memory: 16 * units.GiB,
		Source: "nominal: one of the card's four GPUs; no log found; SMs: 1280 cores / 128"},
	{Name: "a30", ComputeCapability: Capability{8, 0}, SMs: 56, Memory: 24164 * units.MiB, MemoryFrom: Runtime,
		Source: yolo + "\"torch-2.8.0+cu128 CUDA:0 (NVIDIA A30, 24164MiB)\"; github.com/google/RB-Modulation/issues/5 has " +
			"23.53 GiB; SMs: 3584 cores / 64"},
	{Name: "a40", ComputeCapability: Capability{8, 6}, SMs: 84, Memory: 47608692736, MemoryFrom: Runtime,
		Source: thamad + "nvsim/A40x10_deviceQuery.py: 45403 MBytes (47608692736 bytes)"},
	{Name: "a100-pcie-40gb", ComputeCapability: Capability{8, 0}, SMs: 108, Memory: 42297786368, MemoryFrom: Runtime,
		Source: query + "\"NVIDIA A100-PCIE-40GB\", \"40338 MBytes (42297786368 bytes)\", (108) Multiprocessors, CUDA 12.3"},
	{Name: "a100-sxm-40gb", Aliases: []string{"a100-sxm4-40gb"}, ComputeCapability: Capability{8, 0}, SMs: 108,
		Memory: 42298834944, MemoryFrom: Runtime,
		Source: "deviceQuery in github.com/bottlerocket-os/bottlerocket/pull/3873: 40339 MBytes (42298834944 bytes), (108) " +
			"Multiprocessors"},
	{Name: "a100-pcie-80gb", Aliases: []string{"a100-80gb-pcie"}, ComputeCapability: Capability{8, 0}, SMs: 108,
		Memory: 80998 * units.MiB, MemoryFrom: Runtime,
		Source: "\"A100 80G … Total amount of global memory|10.75 GB|79.10 GB|44.55 GB\", (108) Multiprocessors, in a " +
			"public table of deviceQuery results"},
	{Name: "a100-sxm-80gb", Aliases: []string{"a100-sxm4-80gb"}, ComputeCapability: Capability{8, 0}, SMs: 108,
		Memory: 85100068864, MemoryFrom: Runtime,
		Source: thamad + "nvsim/A100SXMx4_deviceQuery.py: 81158 MBytes (85100068864 bytes), (108) Multiprocessors"},
	{Name: "l4", ComputeCapability: Capability{8, 9}, SMs: 58, Memory: 23570219008, MemoryFrom: Runtime,
		Source: thamad + "gls/L4_deviceQuery.py: 22478 MBytes (23570219008 bytes), (058) Multiprocessors"},
	{Name: "l40", ComputeCapability: Capability{8, 9}, SMs: 142, Memory: 45465 * units.MiB, MemoryFrom: Runtime,
		Source: "\"GPU 0 has a total capacity of 44.40 GiB\" in github.com/QwenLM/Qwen3-VL/issues/2097; SMs: 18176 cores / " +
			"128"},
	{Name: "l40s", ComputeCapability: Capability{8, 9}, SMs: 142, Memory: 47576711168, MemoryFrom: Runtime,
		Source: "deviceQuery in github.com/alvarobartt/cuda-device-query README.md: 45373 MBytes (47576711168 bytes), " +
			"(142) Multiprocessors"},
	{Name: "h100-pcie-80gb", Aliases: []string{"h100-pcie"}, ComputeCapability: Capability{9, 0}, SMs: 114,
		Memory: 81008 * units.MiB, MemoryFrom: Runtime,
		Source: props + "name='NVIDIA H100 PCIe', total_memory=81008MB, multi_processor_count=114"},
	{Name: "h100-sxm-80gb", Aliases: []string{"h100-sxm", "h100-80gb-hbm3", "h100-sxm5-80gb"},
		ComputeCapability: Capability{9, 0}, SMs: 132, Memory: 85045477376, MemoryFrom: Runtime,
		Source: thamad + "nvsim/H100SXMx8_deviceQuery.py: 81106 MBytes (85045477376 bytes), (132) Multiprocessors"},
	{Name: "h100-nvl-94gb", Aliases: []string{"h100-nvl"}, ComputeCapability: Capability{9, 0}, SMs: 132,
		Memory: 99861594112, MemoryFrom: Runtime,
		Source: thamad + "gls/H100NVLx2_deviceQuery.py: 95235 MBytes (99861594112 bytes), (132) Multiprocessors"},
	{Name: "h200-sxm", Aliases: []string{"h200", "h200-sxm-141gb"}, ComputeCapability: Capability{9, 0}, SMs: 132,
		Memory: 143156 * units.MiB, MemoryFrom: Runtime,
		Source: props + "name='NVIDIA H200', total_memory=143156MB, multi_processor_count=132, " +
			"uuid=91a535d7-4157-249a-65e5-73883afa626e"},
	{Name: "h200-nvl", Aliases: []string{"h200-nvl-141gb"}, ComputeCapability: Capability{9, 0}, SMs: 132,
		Memory: 141_000_000_000,
		Source: "nominal: 141 GB; no log found; SMs: as h200-sxm"},
	{Name: "gh200-96gb", Aliases: []string{"gh200", "gh200-480gb"}, ComputeCapability: Capability{9, 0}, SMs: 132,
		Memory: 102005473280, MemoryFrom: Runtime,
		Source: query + "\"NVIDIA GH200 480GB\", \"97280 MBytes (102005473280 bytes)\"; github.com/mredenti/PowerCapping " +
			"configuration/OpenCL_benchmark.md has the same"},
	{Name: "b200", ComputeCapability: Capability{10, 0}, SMs: 148, Memory: 182631 * units.MiB, MemoryFrom: Runtime,
		Source: props + "name='NVIDIA B200', total_memory=182631MB, multi_processor_count=148, " +
			"uuid=33570550-e7fb-db02-e674-05f9a99629ab"},
}

var workstation = []Device{
	{Name: "titan-v", ComputeCapability: Capability{7, 0}, SMs: 80, Memory: 12288 * units.MiB, MemoryFrom: SMI,
		Source: "nvidia-smi in github.com/hershey890/cs259 README.md: 12288MiB; SMs: 5120 cores / 64"},
	{Name: "titan-rtx", ComputeCapability: Capability{7, 5}, SMs: 72, Memory: 24212 * units.MiB, MemoryFrom: Runtime,
		Source: yolo + "\"torch-1.13.1+cu117 CUDA:0 (NVIDIA TITAN RTX, 24212MiB)\"; SMs: 4608 cores / 64"},
	{Name: "quadro-rtx-6000", ComputeCapability: Capability{7, 5}, SMs: 72, Memory: 24576 * units.MiB, MemoryFrom: SMI,
		Source: "nvidia-smi in a public log: \"Quadro RTX 6000, 24576 MiB\"; SMs: 4608 cores / 64"},
	{Name: "quadro-rtx-8000", ComputeCapability: Capability{7, 5}, SMs: 72, Memory: 48601 * units.MiB, MemoryFrom: Runtime,
		Source: props + "name='Quadro RTX 8000', total_memory=48601MB, multi_processor_count=72"},
	{Name: "rtx-a2000-12gb", Aliases: []string{"a2000-12gb"}, ComputeCapability: Capability{8, 6}, SMs: 26,
		Memory: 12017 * units.MiB, MemoryFrom: Runtime,
		Source: yolo + "\"torch-2.1.0+cu118 CUDA:0 (NVIDIA RTX A2000 12GB, 12017MiB)\"; SMs: 3328 cores / 128"},
	{Name: "rtx-a4000", Aliases: []string{"a4000"}, ComputeCapability: Capability{8, 6}, SMs: 48,
		Memory: 15984 * units.MiB, MemoryFrom: Runtime,
		Source: "\"GPU 0 has a total capacity of 15.61 GiB\" in github.com/DengKaiCQ/VGGT-Long/issues/6; SMs: deviceQuery " +
			"in a public log, (048) Multiprocessors"},
	{Name: "rtx-a5000", Aliases: []string{"a5000"}, ComputeCapability: Capability{8, 6}, SMs: 64,
		Memory: 24114 * units.MiB, MemoryFrom: Runtime,
		Source: props + "name='NVIDIA RTX A5000', total_memory=24114MB, multi_processor_count=64, " +
			"uuid=764beb20-aff9-1954-c3b7-be474af54a47"},
	{Name: "rtx-a6000", Aliases: []string{"a6000"}, ComputeCapability: Capability{8, 6}, SMs: 84,
		Memory: 48670 * units.MiB, MemoryFrom: Runtime,
		Source: "\"CUDA:0 (NVIDIA RTX A6000, 48670MiB)\" in github.com/ultralytics/ultralytics/issues/19084; SMs: " +
			"total_memory=48676MB, multi_processor_count=84 in a public log"},
	{Name: "rtx-4000-ada", Aliases: []string{"rtx-4000-ada-generation"}, ComputeCapability: Capability{8, 9}, SMs: 48,
		Memory: 21125267456, MemoryFrom: Runtime,
		Source: thamad + "nvsim/RTX4000Ada_deviceQuery.py: 20147 MBytes (21125267456 bytes), (048) Multiprocessors"},
	{Name: "rtx-6000-ada", Aliases: []string{"rtx-6000-ada-generation"}, ComputeCapability: Capability{8, 9}, SMs: 142,
		Memory: 51002867712, MemoryFrom: Runtime,
		Source: thamad + "gls/RTX6000Ada_x8_deviceQuery.py: 48640 MBytes (51002867712 bytes), (142) Multiprocessors"},
	{Name: "rtx-pro-6000", Aliases: []string{"rtx-pro-6000-blackwell", "rtx-pro-6000-blackwell-server-edition",
		"rtx-pro-6000-blackwell-workstation-edition"},
		ComputeCapability: Capability{12, 0}, SMs: 188, Memory: 97250 * units.MiB, MemoryFrom: Runtime,
		Source: props + "name='NVIDIA RTX PRO 6000 Blackwell Server Edition', total_memory=97250MB, " +
			"multi_processor_count=188 (the workstation card: 97247 MiB)"},
}

var geforce = []Device{
	{Name: "gtx-1080-ti", Aliases: []string{"geforce-gtx-1080-ti"}, ComputeCapability: Capability{6, 1}, SMs: 28,
		Memory: 11720130560, MemoryFrom: Runtime,
		Source: query + "\"GeForce GTX 1080 Ti\", \"11177 MBytes (11720130560 bytes)\", (28) Multiprocessors, CUDA 10.2"},
	{Name: "rtx-2060", Aliases: []string{"geforce-rtx-2060"}, ComputeCapability: Capability{7, 5}, SMs: 30,
		Memory: 6144 * units.MiB, MemoryFrom: Runtime,
		Source: "OpenCL device in github.com/MikeLim7/hashcat " +
			"Hashcat6-nVidia-GeForce-RTX-2060.md: 5120/6144 MB, 30MCU, Windows"},
	{Name: "rtx-2080", Aliases: []string{"geforce-rtx-2080"}, ComputeCapability: Capability{7, 5}, SMs: 46,
		Memory: 8353546240, MemoryFrom: Runtime,
		Source: "cudaGetDeviceProperties in a public log: \"NVIDIA GeForce RTX 2080 Multi-Processor Count: 46\", \"Total " +
			"Global Memory: 8353546240 bytes\""},
	{Name: "rtx-2080-ti", Aliases: []string{"geforce-rtx-2080-ti"}, ComputeCapability: Capability{7, 5}, SMs: 68,
		Memory: 11546394624, MemoryFrom: Runtime,
		Source: query + "\"11012 MBytes (11546394624 bytes)\", (068) Multiprocessors"},
	{Name: "rtx-3060", Aliases: []string{"geforce-rtx-3060", "rtx-3060-12gb"}, ComputeCapability: Capability{8, 6},
		SMs: 28, Memory: 12587106304, MemoryFrom: Runtime,
		Source: query + "\"NVIDIA GeForce RTX 3060\", \"12004 MBytes (12587106304 bytes)\", (028) Multiprocessors, CUDA " +
			"12.4"},
	{Name: "rtx-3060-ti", Aliases: []string{"geforce-rtx-3060-ti"}, ComputeCapability: Capability{8, 6}, SMs: 38,
		Memory: 7971 * units.MiB, MemoryFrom: Runtime,
		Source: "\"5883 / 7971MB\" in github.com/brichard19/BitCrack/issues/394, Ubuntu 20.04; SMs: 4864 cores / 128"},
	{Name: "rtx-3070", Aliases: []string{"geforce-rtx-3070"}, ComputeCapability: Capability{8, 6}, SMs: 46,
		Memory: 8361213952, MemoryFrom: Runtime,
		Source: query + "\"NVIDIA GeForce RTX 3070\", \"7974 MBytes (8361213952 bytes)\", (046) Multiprocessors, CUDA 11.7"},
	{Name: "rtx-3080", Aliases: []string{"geforce-rtx-3080", "rtx-3080-10gb"}, ComputeCapability: Capability{8, 6},
		SMs: 68, Memory: 10014 * units.MiB, MemoryFrom: Runtime,
		Source: "CUDA device in github.com/hashcat/hashcat/issues/3418: 9038/10014 MB, 68MCU, Linux"},
	{Name: "rtx-3080-ti", Aliases: []string{"geforce-rtx-3080-ti"}, ComputeCapability: Capability{8, 6}, SMs: 80,
		Memory: 12053 * units.MiB, MemoryFrom: Runtime,
		Source: "CUDA device in a public hashcat log: \"NVIDIA GeForce RTX 3080 Ti, 11782/12053 MB, 80MCU\""},
	{Name: "rtx-3090", Aliases: []string{"geforce-rtx-3090"}, ComputeCapability: Capability{8, 6}, SMs: 82,
		Memory: 25286672384, MemoryFrom: Runtime,
		Source: "github.com/Jumperkables/cuda-benchmarking 00_deviceQuery/README.md: Global Memory 25286672384 bytes, 82 " +
			"SMs (older drivers: 24259 MiB)"},
	{Name: "rtx-3090-ti", Aliases: []string{"geforce-rtx-3090-ti"}, ComputeCapability: Capability{8, 6}, SMs: 84,
		Memory: 24233 * units.MiB, MemoryFrom: Runtime,
		Source: "CUDA device in github.com/hashcat/hashcat/pull/3265: 23351/24233 MB, 84MCU, CUDA 11.6"},
	{Name: "rtx-4060", Aliases: []string{"geforce-rtx-4060"}, ComputeCapability: Capability{8, 9}, SMs: 24,
		Memory: 7905 * units.MiB, MemoryFrom: Runtime,
		Source: "\"GPU 0 has a total capacity of 7.72 GiB\" in github.com/longxiang-ai/TSGS/issues/6; SMs: 3072 cores / 128"},
	{Name: "rtx-4060-ti-16gb", Aliases: []string{"geforce-rtx-4060-ti-16gb"}, ComputeCapability: Capability{8, 9}, SMs: 34,
		Memory: 16857038848, MemoryFrom: Runtime,
		Source: thamad + "package/RTX4060Ti_deviceQuery.py: 16076 MBytes (16857038848 bytes), (34) Multiprocessors"},
	{Name: "rtx-4070", Aliases: []string{"geforce-rtx-4070"}, ComputeCapability: Capability{8, 9}, SMs: 46,
		Memory: 11903 * units.MiB, MemoryFrom: Runtime,
		Source: llama + "\"NVIDIA GeForce RTX 4070, compute capability 8.9, VMM: yes, VRAM: 11903 MiB\" (torch 2.5.1: " +
			"12002 MiB); SMs: 5888 cores / 128"},
	{Name: "rtx-4070-ti", Aliases: []string{"geforce-rtx-4070-ti"}, ComputeCapability: Capability{8, 9}, SMs: 60,
		Memory: 12 * units.GiB,
		Source: "nominal; SMs: github.com/SCRE4MIE/CUDA multiple_matrix/readme.md"},
	{Name: "rtx-4070-ti-super", Aliases: []string{"geforce-rtx-4070-ti-super"}, ComputeCapability: Capability{8, 9},
		SMs: 66, Memory: 16375 * units.MiB, MemoryFrom: Runtime,
		Source: llama + "\"NVIDIA GeForce RTX 4070 Ti SUPER, compute capability 8.9, VMM: yes, VRAM: 16375 MiB\", probably " +
			"Windows; SMs: 8448 cores / 128"},
	{Name: "rtx-4080", Aliases: []string{"geforce-rtx-4080"}, ComputeCapability: Capability{8, 9}, SMs: 76,
		Memory: 16375 * units.MiB, MemoryFrom: Runtime,
		Source: llama + "\"NVIDIA GeForce RTX 4080, compute capability 8.9, VMM: yes, VRAM: 16375 MiB\", Windows; SMs: " +
			"9728 cores / 128"},
	{Name: "rtx-4080-super", Aliases: []string{"geforce-rtx-4080-super"}, ComputeCapability: Capability{8, 9}, SMs: 80,
		Memory: 16852844544, MemoryFrom: Runtime,
		Source: query + "\"NVIDIA GeForce RTX 4080 SUPER\", \"16072 MBytes (16852844544 bytes)\", (080) Multiprocessors"},
	{Name: "rtx-4090", Aliases: []string{"geforce-rtx-4090"}, ComputeCapability: Capability{8, 9}, SMs: 128,
		Memory: 25386352640, MemoryFrom: Runtime,
		Source: thamad + "gls/RTX4090_deviceQuery.py: 24210 MBytes (25386352640 bytes), (128) Multiprocessors"},
	{Name: "rtx-5060", Aliases: []string{"geforce-rtx-5060"}, ComputeCapability: Capability{12, 0}, SMs: 30,
		Memory: 8546484224, MemoryFrom: Runtime,
		Source: query + "\"NVIDIA GeForce RTX 5060\", \"8151 MBytes (8546484224 bytes)\", Windows; SMs: 3840 cores / 128"},
	{Name: "rtx-5060-ti-16gb", Aliases: []string{"geforce-rtx-5060-ti-16gb"}, ComputeCapability: Capability{12, 0},
		SMs: 36, Memory: 16617897984, MemoryFrom: Runtime,
		Source: "github.com/Jumperkables/cuda-benchmarking 00_deviceQuery/README.md: " +
			"Global Memory 16617897984 bytes, 36 SMs"},
	{Name: "rtx-5070", Aliases: []string{"geforce-rtx-5070"}, ComputeCapability: Capability{12, 0}, SMs: 48,
		Memory: 12226 * units.MiB, MemoryFrom: Runtime,
		Source: llama + "\"NVIDIA GeForce RTX 5070, compute capability 12.0, VMM: yes, VRAM: 12226 MiB\"; SMs: 6144 cores " +
			"/ 128"},
	{Name: "rtx-5070-ti", Aliases: []string{"geforce-rtx-5070-ti"}, ComputeCapability: Capability{12, 0}, SMs: 70,
		Memory: 15842 * units.MiB, MemoryFrom: Runtime,
		Source: llama + "\"NVIDIA GeForce RTX 5070 Ti, compute capability 12.0, VMM: yes, VRAM: 15842 MiB\"; SMs: 8960 " +
			"cores / 128"},
	{Name: "rtx-5080", Aliases: []string{"geforce-rtx-5080"}, ComputeCapability: Capability{12, 0}, SMs: 84,
		Memory: 15840 * units.MiB, MemoryFrom: Runtime,
		Source: yolo + "\"CUDA:0 (NVIDIA GeForce RTX 5080, 15840MiB)\"; SMs: 10752 cores / 128"},
	{Name: "rtx-5090", Aliases: []string{"geforce-rtx-5090"}, ComputeCapability: Capability{12, 0}, SMs: 170,
		Memory: 32120 * units.MiB, MemoryFrom: Runtime,
		Source: "\"CUDA:0 (NVIDIA GeForce RTX 5090, 32120MiB)\" in github.com/ultralytics/ultralytics/pull/19833; SMs: " +
			"\"31615/32120 MB, 170MCU\" in a public hashcat log"},
}

var jetson = []Device{
	{Name: "jetson-agx-orin-64gb", Aliases: []string{"agx-orin-64gb", "jetson-agx-orin"},
		ComputeCapability: Capability{8, 7}, SMs: 16, Memory: 65893089280, MemoryFrom: Runtime,
		Source: query + "\"Orin\", \"62841 MBytes (65893089280 bytes)\", (016) Multiprocessors, CUDA 12.6; memory shared " +
			"with the host"},
	{Name: "jetson-orin-nano-8gb", Aliases: []string{"orin-nano-8gb", "jetson-orin-nano"},
		ComputeCapability: Capability{8, 7}, SMs: 8, Memory: 7987728384, MemoryFrom: Runtime,
		Source: query + "\"Orin\", \"7618 MBytes (7987728384 bytes)\", CUDA 12.6; SMs: 1024 cores / 128 (a power mode may " +
			"switch some off); memory shared with the host"},
}
