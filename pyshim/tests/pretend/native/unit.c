/* The library's own tests, linked with its sources; built with the address and undefined-behaviour
   sanitizers. Each test is a function; a failed check says its line and ends the process. unit NAME
   runs one, with MEMSPEC_PRETEND set by whoever starts it. */
#include "unit.h"

/* ---- devices ---- */

static void devices(void) { /* two cards: t4 of 1 GiB with a context of 100 MiB, h100 of 2 GiB */
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
	SUCCEEDS(cudaSetDevice(1));
	SUCCEEDS(cuDevicePrimaryCtxGetState(1, NULL, &active));
	CHECK(active);
	CHECK(free_now() == 2048 * MIB);
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
}

static void visible(void) { /* CUDA_VISIBLE_DEVICES=1,0,5,0 */
	int n, v;
	CHECK(gpu_physical_count() == 2); /* NVML asks first */
	SUCCEEDS(cudaGetDeviceCount(&n));
	CHECK(n == 2); /* what follows the first that is none does not count */
	SUCCEEDS(cudaDeviceGetAttribute(&v, DEVICE_MULTIPROCESSOR_COUNT, 0));
	CHECK(v == 132 && gpu_ordinal(gpu_physical(0)) == 1 && gpu_ordinal(gpu_physical(1)) == 0);
}

static void second(void) { /* CUDA_VISIBLE_DEVICES=1 */
	CHECK(gpu_count() == 1 && gpu_ordinal(gpu_physical(0)) == -1 && gpu_ordinal(gpu_physical(1)) == 0);
	CHECK(!gpu_at(1) && !gpu_at(-1) && !gpu_physical(2) && !gpu_physical(-1));
}

static void one(void) { /* a card that is described in full, each number another */
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

static void none(void) { /* no MEMSPEC_PRETEND, a wrong one, or nothing visible */
	int n = -1;
	void *p;
	CHECK(cudaGetDeviceCount(&n) == cudaErrorNoDevice && n == 0);
	CHECK(cudaSetDevice(0) == cudaErrorNoDevice && cudaMalloc(&p, 1) == cudaErrorNoDevice && !p);
	CHECK(cudaLaunchKernel(none, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL) == cudaErrorNoDevice);
}

/* ---- memory ---- */

static void memory(void) {
	size_t before = free_now();
	void *a, *b, *c, *d;
	SUCCEEDS(cudaMalloc(&a, 20 * MIB));
	SUCCEEDS(cudaMalloc(&b, 2 * MIB));
	SUCCEEDS(cudaMalloc(&c, 1));
	CHECK((char *)b == (char *)a + 20 * MIB && (char *)c == (char *)b + 2 * MIB && (uintptr_t)a % (2 * MIB) == 0);
	CHECK(free_now() == before - 22 * MIB - 512);
	memset(a, 1, 20 * MIB);
	SUCCEEDS(cudaFree(b));
	SUCCEEDS(cudaFree(a)); /* the holes become one */
	SUCCEEDS(cudaMalloc(&d, 22 * MIB));
	CHECK(d == a && ((char *)d)[5] == 0); /* and its pages are zeros again */
	CHECK(cudaFree((char *)d + 512) == cudaErrorInvalidValue && cudaFree(&before) == cudaErrorInvalidValue);
	SUCCEEDS(cudaFree(d));
	CHECK(cudaFree(d) == cudaErrorInvalidValue);
	SUCCEEDS(cudaMalloc(&a, 20 * MIB));
	SUCCEEDS(cudaMalloc(&b, 2 * MIB));
	SUCCEEDS(cudaFree(a));
	SUCCEEDS(cudaFree(b)); /* a hole joins the one before it too */
	SUCCEEDS(cudaMalloc(&d, 22 * MIB));
	CHECK(d == a);
	SUCCEEDS(cudaFree(d));
	SUCCEEDS(cudaFree(c));
	SUCCEEDS(cudaFree(NULL));
	CHECK(free_now() == before);
	CHECK(cudaMalloc(&a, before + 512) == cudaErrorMemoryAllocation && !a &&
		cudaGetLastError() == cudaErrorMemoryAllocation);
	CHECK(cudaMalloc(&a, ~(size_t)0) == cudaErrorMemoryAllocation);
	SUCCEEDS(cudaMalloc(&a, before)); /* to the last byte */
	CHECK(free_now() == 0 && cudaMalloc(&b, 1) == cudaErrorMemoryAllocation);
	SUCCEEDS(cudaFree(a));
	SUCCEEDS(cudaMalloc(&a, 0));
	CHECK(!a);

	struct cudaPointerAttributes at;
	SUCCEEDS(cudaMalloc(&a, 4 * MIB));
	SUCCEEDS(cudaPointerGetAttributes(&at, (char *)a + MIB));
	CHECK(at.type == cudaMemoryTypeDevice && at.device == 0 && at.devicePointer == (char *)a + MIB && !at.hostPointer);
	SUCCEEDS(cudaPointerGetAttributes(&at, (char *)a + 4 * MIB));
	CHECK(at.type == cudaMemoryTypeUnregistered);
	SUCCEEDS(cudaHostAlloc(&b, 100, 0));
	SUCCEEDS(cudaPointerGetAttributes(&at, (char *)b + 99));
	CHECK(at.type == cudaMemoryTypeHost);
	CHECK(cudaFreeHost(a) == cudaErrorInvalidValue);
	SUCCEEDS(cudaFreeHost(b));
	char own[64];
	SUCCEEDS(cudaHostRegister(own, sizeof own, 0));
	CHECK(cudaHostRegister(own, sizeof own, 0) == 712 && cudaHostUnregister(own + 1) == 713);
	SUCCEEDS(cudaHostUnregister(own));
	SUCCEEDS(cudaFree(a));

	cudaMemPool_t pool;
	uint64_t used, high;
	SUCCEEDS(cudaDeviceGetDefaultMemPool(&pool, 0));
	SUCCEEDS(cudaMallocAsync(&a, 4 * MIB, NULL));
	SUCCEEDS(cudaFreeAsync(a, NULL));
	SUCCEEDS(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	SUCCEEDS(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high));
	CHECK(used == 0 && high == 4 * MIB && cudaFreeAsync(a, NULL) == cudaErrorInvalidValue);
}

/* Many allocations and frees by lot, against the plainest account of them. */
static void lot(void) {
	enum { MOST = 64 };
	struct { char *at; size_t size; } held[MOST] = { 0 };
	size_t all = free_now(), taken = 0;
	srand(7);
	for (int step = 0; step < 20000; step++) {
		int i = rand() % MOST;
		if (held[i].at) {
			SUCCEEDS(cudaFree(held[i].at));
			taken -= held[i].size;
			held[i].at = NULL;
		} else {
			size_t size = (size_t)(1 + rand() % 4000) * 4096;
			void *p;
			cudaError_t e = cudaMalloc(&p, size);
			CHECK((e == cudaSuccess) == (taken + size <= all));
			cudaGetLastError();
			if (e) continue;
			held[i].at = p;
			held[i].size = size;
			taken += size;
			for (int j = 0; j < MOST; j++) CHECK(j == i || !held[j].at || held[j].at + held[j].size <= (char *)p ||
				(char *)p + size <= held[j].at);
		}
		CHECK(free_now() == all - taken);
	}
	for (int i = 0; i < MOST; i++)
		if (held[i].at) SUCCEEDS(cudaFree(held[i].at));
	void *p;
	SUCCEEDS(cudaMalloc(&p, all));
	SUCCEEDS(cudaFree(p));
}

static void expandable(void) {
	size_t before = free_now();
	CUdeviceptr base;
	CUmemGenericAllocationHandle h[3];
	CUmemAllocationProp prop = { .location.id = 0 };
	SUCCEEDS(cuMemAddressReserve(&base, 4096 * MIB, 0, 0, 0)); /* more than the card has */
	for (int i = 0; i < 3; i++) {
		SUCCEEDS(cuMemCreate(&h[i], 20 * MIB, &prop, 0));
		SUCCEEDS(cuMemMap(base + (CUdeviceptr)i * 20 * MIB, 20 * MIB, 0, h[i], 0));
	}
	CHECK(free_now() == before - 60 * MIB);
	memset((void *)(uintptr_t)base, 3, 60 * MIB);
	SUCCEEDS(cuMemRelease(h[1]));
	CHECK(free_now() == before - 60 * MIB); /* it is mapped still */
	SUCCEEDS(cuMemUnmap(base + 20 * MIB, 20 * MIB));
	CHECK(free_now() == before - 40 * MIB);
	unsigned type;
	SUCCEEDS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base + 40 * MIB));
	CHECK(type == CU_MEMORYTYPE_DEVICE && cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		base + 20 * MIB) == CUDA_ERROR_INVALID_VALUE);
	SUCCEEDS(cuMemUnmap(base, 20 * MIB));
	SUCCEEDS(cuMemUnmap(base + 40 * MIB, 20 * MIB));
	CHECK(free_now() == before - 40 * MIB); /* unmapped, not released */
	SUCCEEDS(cuMemRelease(h[0]));
	SUCCEEDS(cuMemRelease(h[2]));
	CHECK(free_now() == before);
	CHECK(cuMemCreate(&h[0], before + 2 * MIB, &prop, 0) == CUDA_ERROR_OUT_OF_MEMORY);
	SUCCEEDS(cuMemAddressFree(base, 4096 * MIB));
}

/* ---- bytes ---- */

static void values(void) {
	int32_t host[4] = { 1, 2, 3, 4 }, back[4];
	int32_t *device, *other;
	SUCCEEDS(cudaMalloc((void **)&device, 4 * MIB));
	SUCCEEDS(cudaMalloc((void **)&other, 4 * MIB));
	unsigned long long *reads = &memspec_pretend_reads()->count;
	SUCCEEDS(cudaMemcpy(device, host, sizeof host, 1));
	SUCCEEDS(cudaMemcpy(back, device, sizeof back, 2));
	CHECK(!memcmp(host, back, sizeof host) && *reads == 1); /* nobody says what kernels write: nothing is known */

	memspec_pretend_track(1, 0);
	SUCCEEDS(cudaMemcpy(device, host, sizeof host, 1));
	SUCCEEDS(cudaMemcpy(back, device, sizeof back, 2));
	CHECK(*reads == 1 && is_known(device, 16) && !is_known(device, 17));
	SUCCEEDS(cudaMemcpy(other, device, 16, 3)); /* what a copy gives is as known as what it is of */
	CHECK(is_known(other, 16) && other[3] == 4);
	memspec_pretend_unknown(device + 1, 4);
	CHECK(is_known(device, 4) && !is_known(device, 8) && is_known(device + 2, 8));
	SUCCEEDS(cudaMemcpy(other, device, 16, 3));
	CHECK(memspec_pretend_known(device, 8) == 0 && memspec_pretend_known(other, 16) == -1); /* in part, none of it */
	CHECK(!memspec_pretend_untouched(other + 1, 4) && memspec_pretend_untouched(other + 4, 16));
	SUCCEEDS(cudaMemcpy(back, device, 8, 2));
	CHECK(*reads == 2 && memspec_pretend_reads()->bytes == 8);

	memspec_pretend_answer(7);
	memspec_pretend_answer(1);
	SUCCEEDS(cudaMemcpy(back, device + 2, 4, 2)); /* known: not a question */
	CHECK(back[0] == 3);
	SUCCEEDS(cudaMemcpy(back, device + 1, 4, 2));
	CHECK(back[0] == 7 && *reads == 2); /* answered: not counted */
	CHECK(memspec_pretend_answers_end() == 1);
	SUCCEEDS(cudaMemcpy(back, device + 1, 4, 2));
	CHECK(back[0] == 2); /* the other answer is gone */
	for (size_t n = 1; n <= 16; n++) { /* what is no number of a program's is not answered */
		bool number = n == 1 || n == 2 || n == 4 || n == 8;
		memspec_pretend_answer(0x0706050403020109);
		SUCCEEDS(cudaMemcpy(back, device + 1, n, 2));
		CHECK(memspec_pretend_answers_end() == number && (((char *)back)[0] == 9) == number);
	}
	for (int i = 0; i < 40; i++) memspec_pretend_answer(i); /* a pair of numbers is read as one */
	for (int i = 0; i < 40; i += 2) {
		SUCCEEDS(cudaMemcpy(back, device + 1, 16, 2));
		CHECK(((uint64_t *)back)[0] == (uint64_t)i && ((uint64_t *)back)[1] == (uint64_t)i + 1);
	}
	CHECK(memspec_pretend_answers_end() == 40);

	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(device, 512, 0, 0, 0); /* the block is handed out anew */
	CHECK(device[0] == 0 && device[3] == 0 && !is_known(device, 4));
	char pages[20 * 4096 + 100];
	memset(pages, 9, sizeof pages);
	SUCCEEDS(cudaMemcpy((char *)device + 50, pages, sizeof pages, 1));
	bytes_fresh(device, MIB); /* whole pages go back to the system; what is left of the first and of the last is cleared */
	for (size_t i = 0; i < sizeof pages + 200; i++) CHECK(((char *)device)[i] == 0);
	SUCCEEDS(cudaMemset(device, 0, 4 * MIB)); /* zeros are known, at no cost */
	CHECK(is_known(device, 4 * MIB));
	SUCCEEDS(cudaMemset(device, 1, 4 * MIB)); /* too large to be written */
	CHECK(!is_known(device, 4) && device[0] == 0);
	SUCCEEDS(cudaMemset(device, 1, 64));
	CHECK(device[15] == 0x01010101 && is_known(device, 64));

	/* of no operator: it may have written anywhere */
	cudaLaunchKernel(values, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL);
	CHECK(!is_known(device, 4) && device[15] == 0x01010101);
	SUCCEEDS(cudaMemset(device, 1, 64));
	++*memspec_pretend_operators();
	cudaLaunchKernel(values, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL);
	CHECK(is_known(device, 64));
	*memspec_pretend_operators() = -1; /* of an operator that is made of others */
	cudaLaunchKernel(values, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL);
	CHECK(!is_known(device, 4));
	*memspec_pretend_operators() = 0;

	size_t large = 2 * MIB;
	char *many = malloc(large);
	memset(many, 9, large);
	SUCCEEDS(cudaMemcpy(other, many, large, 1)); /* not made: other's bytes stay, and are not known */
	CHECK(other[3] == 4 && !is_known(other, 4));
	SUCCEEDS(cudaMemcpy(many, other, large, 2));
	CHECK(many[0] == 0 && many[large - 1] == 0);
	free(many);
	int32_t wide[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	SUCCEEDS(cudaMemcpy2DAsync(device, 16, wide, 8, 8, 4, 1, NULL));
	CHECK(device[0] == 1 && device[1] == 2 && device[4] == 3 && device[13] == 8);
	SUCCEEDS(cudaFree(device));
	SUCCEEDS(cudaFree(other));
	memspec_pretend_track(0, 0);
}

/* The sets of spans by lot, against a byte a byte. */
static void spans(void) {
	enum { SIZE = 4096 };
	static bool model[SIZE];
	char *p;
	SUCCEEDS(cudaMalloc((void **)&p, SIZE));
	memspec_pretend_track(1, 0);
	srand(11);
	for (int step = 0; step < 30000; step++) {
		int from = rand() % SIZE, to = from + 1 + rand() % 64;
		if (to > SIZE) to = SIZE;
		bool add = rand() % 2;
		if (add) memspec_pretend_wrote(p + from, (size_t)(to - from), 1);
		else memspec_pretend_unknown(p + from, (size_t)(to - from));
		for (int i = from; i < to; i++) model[i] = add;
		from = rand() % SIZE;
		to = from + 1 + rand() % 16;
		if (to > SIZE) to = SIZE;
		bool all = true;
		for (int i = from; i < to; i++) all = all && model[i];
		CHECK(all == (is_known(p + from, (size_t)(to - from)) != 0));
	}
	SUCCEEDS(cudaFree(p));
	CHECK(!is_known(p, 1)); /* what is freed is not known */
	memspec_pretend_track(0, 0);
}

/* ---- streams ---- */

static int destroyed;
static void destroy(void *data) { destroyed += *(int *)data; }
static void called(void *data) { ++*(int *)data; }

static void captures(void) {
	cudaStream_t a, b;
	cudaEvent_t e;
	cudaGraph_t g;
	cudaGraphExec_t x;
	int status;
	size_t nodes;
	dim3 one = { 1, 1, 1 };
	SUCCEEDS(cudaStreamCreate(&a));
	SUCCEEDS(cudaStreamCreate(&b));
	SUCCEEDS(cudaEventCreate(&e));
	SUCCEEDS(cudaStreamBeginCapture(a, 0));
	CHECK(cudaStreamBeginCapture(a, 0) == cudaErrorIllegalState);
	SUCCEEDS(cudaLaunchKernel(captures, one, one, NULL, 0, a));
	SUCCEEDS(cudaEventRecord(e, a));
	SUCCEEDS(cudaStreamWaitEvent(b, e, 0)); /* b joins */
	SUCCEEDS(cudaStreamIsCapturing(b, &status));
	CHECK(status == cudaStreamCaptureStatusActive);
	SUCCEEDS(cudaLaunchKernel(captures, one, one, NULL, 0, b));
	int calls = 0;
	SUCCEEDS(cudaLaunchHostFunc(b, called, &calls));
	SUCCEEDS(cudaStreamEndCapture(a, &g));
	SUCCEEDS(cudaGraphGetNodes(g, NULL, &nodes));
	CHECK(nodes == 3 && calls == 0);
	SUCCEEDS(cudaLaunchHostFunc(b, called, &calls));
	CHECK(calls == 1);
	SUCCEEDS(cudaStreamIsCapturing(b, &status)); /* and leaves with it */
	CHECK(status == cudaStreamCaptureStatusNone);
	SUCCEEDS(cudaStreamWaitEvent(b, e, 0)); /* an event of a capture that ended does not join anything */
	SUCCEEDS(cudaStreamIsCapturing(b, &status));
	CHECK(status == cudaStreamCaptureStatusNone);
	cudaUserObject_t o;
	int one_more = 1;
	SUCCEEDS(cudaUserObjectCreate(&o, &one_more, destroy, 1, 0));
	SUCCEEDS(cudaGraphRetainUserObject(g, o, 1, 1));
	SUCCEEDS(cudaGraphInstantiate(&x, g, 0));
	SUCCEEDS(cudaGraphLaunch(x, a));
	CHECK(destroyed == 0);
	SUCCEEDS(cudaGraphDestroy(g));
	CHECK(destroyed == 1);
	SUCCEEDS(cudaGraphExecDestroy(x));

	SUCCEEDS(cudaStreamBeginCapture(a, 0));
	SUCCEEDS(cudaEventRecord(e, a));
	CHECK(cudaStreamSynchronize(a) == cudaErrorStreamCaptureUnsupported &&
		cudaEventQuery(e) == cudaErrorStreamCaptureUnsupported);
	SUCCEEDS(cudaStreamQuery(b));
	SUCCEEDS(cudaStreamIsCapturing(a, &status));
	CHECK(status == cudaStreamCaptureStatusInvalidated);
	CHECK(cudaStreamEndCapture(a, &g) == cudaErrorStreamCaptureInvalidated && !g);
	CHECK(cudaStreamEndCapture(a, &g) == cudaErrorIllegalState);
	SUCCEEDS(cudaStreamBeginCapture(a, 0)); /* a stream that ends while it captures */
	SUCCEEDS(cudaEventRecord(e, a));
	SUCCEEDS(cudaStreamDestroy(a));
	SUCCEEDS(cudaEventDestroy(e));
	SUCCEEDS(cudaStreamDestroy(b));
	CHECK(cudaLaunchKernel(captures, (dim3){ 0, 1, 1 }, one, NULL, 0, NULL) == cudaErrorInvalidConfiguration);
	CHECK(cudaLaunchKernel(captures, one, (dim3){ 1024, 2, 1 }, NULL, 0, NULL) == cudaErrorInvalidConfiguration);
	CHECK(cudaLaunchKernel(captures, one, one, NULL, 65537, NULL) == cudaErrorInvalidValue);
}

static void refusals(void) {
	int kind;
	const char *name;
	unsigned long long count;
	CHECK(!memspec_pretend_note(0, &kind, &name, &count) && !memspec_pretend_note(-1, &kind, &name, &count));
	CHECK(cudaIpcGetEventHandle() == cudaErrorNotSupported && cudaIpcGetEventHandle() == cudaErrorNotSupported);
	CHECK(memspec_pretend_note(0, &kind, &name, &count) && kind == 0 && !strcmp(name, "cudaIpcGetEventHandle") &&
		count == 2);
	CHECK(!strcmp(cudaGetErrorString(cudaErrorNotSupported),
		"cudaIpcGetEventHandle is not stood in for on memspec's pretend GPU"));
	note_unsized("what is not known");
	CHECK(memspec_pretend_note(1, &kind, &name, &count) && kind == 2 && count == 1 &&
		!memspec_pretend_note(2, &kind, &name, &count));
	for (int i = 0; i < 1000; i++) { /* as many as a runtime asks for: what is refused after them is reported too */
		char wanted[32];
		snprintf(wanted, sizeof wanted, "cuCall%d", i);
		note_absent(wanted);
	}
	CHECK(cuGreenCtxDestroy() != 0);
	CHECK(memspec_pretend_note(1002, &kind, &name, &count) && kind == 0 && !strcmp(name, "cuGreenCtxDestroy"));
}

/* ---- NCCL ---- */

static void collectives(void) {
	char *p, bytes[16] = "0123456789abcdef";
	SUCCEEDS(cudaMalloc((void **)&p, 256));
	memspec_pretend_track(1, 0);
	for (int ranks = 1; ranks <= 2; ranks++) {
		ncclComm_t c;
		SUCCEEDS(ncclCommInitRank(&c, ranks, (ncclUniqueId){ { 0 } }, ranks - 1));
		SUCCEEDS(cudaMemcpy(p, bytes, 16, 1));
		SUCCEEDS(ncclAllGather(p, p + 64, 16, 0, c, NULL));
		CHECK(!memcmp(p + 64, bytes, 16) && is_known(p + 64, 16) == (ranks == 1)); /* of others nothing is known */
		/* they have the same, it is taken */
		CHECK(ranks == 1 || !memcmp(p + 80, bytes, 16));
		SUCCEEDS(ncclReduceScatter(p, p + 128, (size_t)(16 / ranks), 0, 0, c, NULL));
		CHECK(!memcmp(p + 128, bytes + (ranks == 1 ? 0 : 8), (size_t)(16 / ranks)) && is_known(p + 128, 1) == (ranks == 1));
		SUCCEEDS(ncclAllReduce(p, p, 16, 0, 5, c, NULL));
		CHECK(!is_known(p, 1)); /* multiplied by what is not looked at */
		SUCCEEDS(cudaMemcpy(p, bytes, 16, 1));
		SUCCEEDS(ncclBroadcast(p, p, 16, 0, ranks - 1, c, NULL));
		CHECK(is_known(p, 16)); /* it is the root */
		SUCCEEDS(ncclBroadcast(p, p, 16, 0, 0, c, NULL));
		CHECK(is_known(p, 16) == (ranks == 1));
		SUCCEEDS(cudaMemcpy(p, bytes, 16, 1));
		SUCCEEDS(ncclGroupStart());
		for (int root = 0; root < ranks; root++) SUCCEEDS(ncclBroadcast(root == ranks - 1 ? p : p + 160, p + 160 + 16 * root,
			16, 0, root, c, NULL));
		SUCCEEDS(ncclGroupEnd());
		CHECK(!memcmp(p + 160, bytes, 16) && is_known(p + 160, 16) == (ranks == 1)); /* a gather by broadcasts */
		SUCCEEDS(ncclCommDestroy(c));
	}
	ncclComm_t c;
	CHECK(ncclCommInitRank(&c, 2, (ncclUniqueId){ { 0 } }, 2) == 4 && ncclCommInitRank(&c, 0, (ncclUniqueId){
		{ 0 } }, 0) == 4);
	SUCCEEDS(cudaFree(p));
}

/* ---- threads and forks ---- */

static void *allocate(void *arg) {
	for (int i = 0; i < 2000; i++) {
		void *p;
		SUCCEEDS(cudaMalloc(&p, MIB));
		SUCCEEDS(cudaMemcpy(p, &i, sizeof i, 1));
		SUCCEEDS(cudaFree(p));
	}
	return arg;
}
static bool ended;
static void *note(void *arg) { /* notes have a lock too, which this thread holds most of the time */
	while (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) note_absent("the last");
	return arg;
}
static void threads(void) {
	size_t before = free_now();
	pthread_t t[4], notes;
	for (int i = 0; i < 2000; i++) {
		char name[32];
		snprintf(name, sizeof name, "call %d", i);
		note_absent(name);
	}
	SUCCEEDS(pthread_create(&notes, NULL, note, NULL));
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		if (!child) {
			alarm(20);
			note_absent("the last");
			_exit(0);
		}
		int status;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	__atomic_store_n(&ended, true, __ATOMIC_RELAXED);
	SUCCEEDS(pthread_join(notes, NULL));
	for (int i = 0; i < 4; i++) SUCCEEDS(pthread_create(&t[i], NULL, allocate, NULL));
	for (int i = 0; i < 20; i++) { /* a child can go on, whatever the others hold */
		pid_t child = fork();
		if (!child) {
			allocate(NULL);
			_exit(0);
		}
		int status;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	for (int i = 0; i < 4; i++) SUCCEEDS(pthread_join(t[i], NULL));
	CHECK(free_now() == before);
}

int main(int argc, char **argv) {
	struct { const char *name; void (*run)(void); } all[] = { { "devices", devices }, { "visible", visible }, { "second", second }, { "one", one },
		{ "none", none }, { "memory", memory }, { "lot", lot },
		{ "expandable", expandable }, { "values", values }, { "spans", spans }, { "captures", captures },
		{ "refusals", refusals }, { "collectives", collectives }, { "threads", threads },
		{ "wrong_addresses", wrong_addresses }, { "wrong_handles", wrong_handles }, { "wrong_sizes", wrong_sizes },
		{ "spanning", spanning }, { "managed", managed }, { "no_addresses", no_addresses }, { "ends", ends },
		{ "ranks", ranks }, { "kept_groups", kept_groups }, { "absent_counts", absent_counts }, { "formulas", formulas },
		{ "attributes", attributes }, { "places", places },
		{ "nodes", nodes }, { "races", races }, { "collected", collected },
		{ "architectures", architectures }, { "image_forms", image_forms }, { "registered_kernels", registered_kernels },
		{ "shareable", shareable }, { "transforms", transforms }, { "solvers", solvers },
		{ "pinned", pinned }, { "addresses", addresses }, { "pools", pools },
		{ "calls", calls }, { "driver_addresses", driver_addresses }, { "logged", logged } };
	for (size_t i = 0; argc == 2 && i < sizeof all / sizeof *all; i++)
		if (!strcmp(argv[1], all[i].name)) return alarm(60), all[i].run(), puts("ok"), 0; /* without end is an error */
	fprintf(stderr, "unit: got %s, want the name of a test\n", argc == 2 ? argv[1] : "nothing");
	return 2;
}
