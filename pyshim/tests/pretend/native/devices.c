/* The cards: how they are described, which of them are visible, and which is the current one. */
#include "unit.h"

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t, nvmlMemory_v2_t *), nvmlDeviceGetName(nvmlDevice_t, char *,
	unsigned);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *, nvmlDevice_t *), nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t,
	void *), nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t, unsigned, void *);
const char *nvmlErrorString(nvmlReturn_t);

CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
	void **, void **), cuInit(unsigned), cuCtxSetCurrent(CUcontext);

/* NVML reports of a card what the runtime does, and by its own error codes. */
static void nvml(nvmlDevice_t card) {
	enum { NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 }; /* nvml.h */
	nvmlDevice_t same;
	nvmlMemory_t memory;
	nvmlMemory_v2_t newer = { .version = 77 };
	size_t room, all;
	SUCCEEDS(cudaMemGetInfo(&room, &all));
	SUCCEEDS(nvmlDeviceGetMemoryInfo(card, &memory));
	SUCCEEDS(nvmlDeviceGetMemoryInfo_v2(card, &newer));
	CHECK(memory.free == room && memory.total == all && memory.used == all - room && room != all);
	CHECK(newer.free == room && newer.total == all && newer.used == all - room && newer.version == 77);
	char name[64];
	SUCCEEDS(nvmlDeviceGetName(card, name, sizeof name));
	CHECK(!strcmp(name, "Tesla T4"));
	/* bus 1 has the first card; there is none on bus 0 */
	SUCCEEDS(nvmlDeviceGetHandleByPciBusId_v2("00000000:01:00.0", &same));
	CHECK(same == card && nvmlDeviceGetHandleByPciBusId_v2("00000000:03:00.0", &same) == NOT_FOUND);
	SUCCEEDS(nvmlDeviceGetHandleByPciBusId_v2("00000000:02:00.0", &same));
	CHECK(same != card && nvmlDeviceGetHandleByPciBusId_v2("00000000:00:00.0", &same) == NOT_FOUND);
	CHECK(nvmlDeviceGetHandleByPciBusId_v2("1", &same) == NOT_FOUND);
	CHECK(nvmlDeviceGetHandleByUUID("GPU-0", &same) == NOT_FOUND && nvmlDeviceGetHandleByIndex_v2(2, &same) == NOT_FOUND);
	unsigned count = 0;
	CHECK(nvmlDeviceGetComputeRunningProcesses_v2(card, &count, NULL) == INSUFFICIENT_SIZE && count == 1);
	CHECK(nvmlDeviceGetNvLinkRemoteDeviceType(card, 0, NULL) == NOT_SUPPORTED);
	CHECK(!strcmp(nvmlErrorString(0), "Success") && !strncmp(nvmlErrorString(NOT_SUPPORTED), "Not Supported", 13));
	CHECK(!strncmp(nvmlErrorString(NOT_FOUND), "an error", 8));
	char fabric[32], wanted[32]; /* no fabric: behind the version a cluster's id, a status, a clique and a state */
	memset(fabric, 7, sizeof fabric);
	memset(wanted, 7, sizeof wanted);
	memset(wanted + 4, 0, 25);
	SUCCEEDS(nvmlDeviceGetGpuFabricInfoV(card, (void *)fabric));
	CHECK(!memcmp(fabric, wanted, sizeof fabric));
}

void devices(void) { /* two cards: t4 of 1 GiB with a context of 100 MiB, h100 of 2 GiB */
	int n, d, v;
	SUCCEEDS(cudaGetDeviceCount(&n));
	CHECK(n == 2);
	SUCCEEDS(cudaGetDevice(&d));
	CHECK(d == 0);
	CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice && cudaPeekAtLastError() == cudaErrorInvalidDevice &&
		cudaGetLastError() == cudaErrorInvalidDevice);
	CHECK(cudaGetLastError() == cudaSuccess);
	int active;
	SUCCEEDS(cuDevicePrimaryCtxGetState(1, NULL, &active));
	CHECK(!active);
	SUCCEEDS(cuDevicePrimaryCtxGetState(0, NULL, &active));
	CHECK(!active);
	SUCCEEDS(cudaLaunchKernel(devices, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL)); /* makes a context */
	SUCCEEDS(cuDevicePrimaryCtxGetState(0, NULL, &active));
	CHECK(active);
	SUCCEEDS(cudaSetDevice(1));
	SUCCEEDS(cuDevicePrimaryCtxGetState(1, NULL, &active));
	CHECK(active);
	CHECK(free_now() == 2048 * MIB);
	void *all;
	SUCCEEDS(cudaMalloc(&all, 2048 * MIB)); /* to the last byte */
	CHECK(free_now() == 0);
	SUCCEEDS(cudaFree(all));
	SUCCEEDS(cudaDeviceGetAttribute(&v, DEVICE_MULTIPROCESSOR_COUNT, 1));
	CHECK(v == 132);
	SUCCEEDS(cudaDeviceGetAttribute(&v, DEVICE_CLUSTER_LAUNCH, 0));
	CHECK(v == 0);
	SUCCEEDS(cudaSetDevice(0));
	CHECK(free_now() == 924 * MIB); /* less its context */
	CUcontext a, b, c;
	SUCCEEDS(cuCtxGetCurrent(&a));
	SUCCEEDS(cuDevicePrimaryCtxRetain(&b, 1));
	CHECK(a != b);
	SUCCEEDS(cuCtxPushCurrent_v2(b));
	SUCCEEDS(cudaGetDevice(&d));
	CHECK(d == 1);
	SUCCEEDS(cuCtxPopCurrent_v2(&c));
	CHECK(c == b);
	SUCCEEDS(cudaGetDevice(&d));
	CHECK(d == 0 && cuCtxPopCurrent_v2(&c) == CUDA_ERROR_INVALID_CONTEXT);
	struct gpu *g = gpu_at(0);
	CHECK(gpu_occupancy(g, 256, 0) == 4 && gpu_occupancy(g, 32, 0) == 16 && gpu_occupancy(g, 256, 40000) == 1 &&
		gpu_occupancy(g, 1025, 0) == 0);
	/* 228 KiB, 1 KiB more for each block */
	CHECK(gpu_occupancy(gpu_at(1), 512, 76 * 1024) == 2 && gpu_occupancy(gpu_at(1), 512, 75 * 1024) == 3);
	struct cudaFuncAttributes f;
	SUCCEEDS(cudaFuncGetAttributes(&f, devices));
	CHECK(f.ptxVersion == 75 && f.binaryVersion == 75);
	CHECK(cudaFuncSetAttribute(devices, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536) == 0);
	CHECK(cudaFuncSetAttribute(devices, cudaFuncAttributeMaxDynamicSharedMemorySize, 65537) == cudaErrorInvalidValue);
	CHECK(cudaFuncSetAttribute(devices, cudaFuncAttributeMaxDynamicSharedMemorySize, 0) == 0);
	CHECK(cudaFuncSetAttribute(devices, cudaFuncAttributeMaxDynamicSharedMemorySize, -1) == cudaErrorInvalidValue);
	nvmlDevice_t first, same;
	char uuid[64], other[64];
	SUCCEEDS(nvmlDeviceGetHandleByIndex_v2(0, &first));
	SUCCEEDS(nvmlDeviceGetUUID(first, uuid, sizeof uuid));
	CHECK(strlen(uuid) == 40 && !strncmp(uuid, "GPU-", 4));
	SUCCEEDS(nvmlDeviceGetHandleByUUID(uuid, &same));
	CHECK(same == first && nvmlDeviceGetHandleByUUID("GPU-0", &same) != 0 && nvmlDeviceGetHandleByIndex_v2(2, &same) != 0);
	SUCCEEDS(nvmlDeviceGetUUID(first, other, 8)); /* is cut */
	CHECK(strlen(other) == 7);
	nvmlProcessInfo_v2_t p;
	unsigned count = 0;
	CHECK(nvmlDeviceGetComputeRunningProcesses_v2(first, &count, &p) != 0 && count == 1);
	SUCCEEDS(nvmlDeviceGetComputeRunningProcesses_v2(first, &count, &p));
	CHECK(p.pid == (unsigned)getpid() && p.usedGpuMemory == 100 * MIB);
	nvml(first);
}

void visible(void) { /* CUDA_VISIBLE_DEVICES=1,0,5,0 */
	int n, v;
	CHECK(gpu_physical_count() == 2); /* NVML asks first */
	SUCCEEDS(cudaGetDeviceCount(&n));
	CHECK(n == 2); /* what follows the first that is none does not count */
	SUCCEEDS(cudaDeviceGetAttribute(&v, DEVICE_MULTIPROCESSOR_COUNT, 0));
	CHECK(v == 132 && gpu_ordinal(gpu_physical(0)) == 1 && gpu_ordinal(gpu_physical(1)) == 0);
}

void second(void) { /* CUDA_VISIBLE_DEVICES=1 */
	CHECK(gpu_count() == 1 && gpu_ordinal(gpu_physical(0)) == -1 && gpu_ordinal(gpu_physical(1)) == 0);
	CHECK(!gpu_at(1) && !gpu_at(-1) && !gpu_physical(2) && !gpu_physical(-1));
}

void described(void) { /* a card that is described in full, each number another */
	const struct gpu *g = gpu_at(0);
	CHECK(gpu_count() == 1 && !strcmp(g->name, "a card"));
	const int small[] = { g->major, g->minor, g->kernels, g->sms, g->threads_per_sm, g->blocks_per_sm, g->registers_per_sm,
		g->clock_khz, g->memory_clock_khz, g->bus_bits, g->multicast };
	const size_t large[] = { g->shared_per_block, g->shared_optin, g->shared_per_sm, g->shared_reserved, g->context,
		g->l2 };
	for (int i = 0; i < 11; i++) CHECK(small[i] == 2147483637 + i);
	for (size_t i = 0; i < 6; i++) CHECK(large[i] == ((size_t)1 << 50) - i);
	CHECK(g->memory == (size_t)1 << 50); /* all of it may be the context's */
}

void none(void) { /* no MEMSPEC_PRETEND, a wrong one, or nothing visible */
	int n = -1;
	void *p;
	CHECK(cudaGetDeviceCount(&n) == cudaErrorNoDevice && n == 0);
	CHECK(cudaSetDevice(0) == cudaErrorNoDevice && cudaMalloc(&p, 1) == cudaErrorNoDevice && !p);
	CHECK(cudaLaunchKernel(none, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL) == cudaErrorNoDevice);
	CHECK(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == CUDA_ERROR_NOT_INITIALIZED);
	CHECK(cuInit(0) == CUDA_ERROR_NO_DEVICE && cudaGetDevice(&n) == cudaErrorNoDevice);
	cudaStream_t stream;
	CHECK(cudaStreamCreate(&stream) == cudaErrorNoDevice && cudaHostAlloc(&p, 1, 0) == cudaErrorNoDevice);
	size_t room, all;
	CHECK(cudaMemGetInfo(&room, &all) == cudaErrorNoDevice && cudaMallocManaged(&p, 1, 1) == cudaErrorNoDevice);
	struct cudaFuncAttributes f;
	CHECK(cudaFuncGetAttributes(&f, none) == cudaErrorNoDevice && cudaFuncSetAttribute(none, 8, 0) == cudaErrorNoDevice);
	CUcontext c;
	SUCCEEDS(cuCtxGetCurrent(&c));
	CHECK(!c && cuCtxSetCurrent((CUcontext)(uintptr_t)1) == CUDA_ERROR_INVALID_CONTEXT);
	CHECK(cudaGetLastError() == cudaErrorNoDevice);
}
