/* What a GPU's driver refuses: wrong addresses, handles and sizes; and what it allows over several mappings. */
#include "unit.h"

#include <sys/mman.h>

static CUdeviceptr reserve(size_t n) {
	CUdeviceptr p;
	SUCCEEDS(cuMemAddressReserve(&p, n, 0, 0, 0));
	return p;
}
static CUmemGenericAllocationHandle create(size_t n) {
	CUmemGenericAllocationHandle h;
	CUmemAllocationProp prop = { .location.id = 0 };
	SUCCEEDS(cuMemCreate(&h, n, &prop, 0));
	return h;
}
static void *at(CUdeviceptr p) { return (void *)(uintptr_t)p; }

void wrong_addresses(void) {
	size_t before = free_now();
	CUdeviceptr base = reserve(64 * MIB);
	CUmemGenericAllocationHandle h = create(20 * MIB);
	SUCCEEDS(cuMemMap(base, 20 * MIB, 0, h, 0));
	CHECK(cudaFree(at(base)) == cudaErrorInvalidValue && cuMemFree_v2(base) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cudaFreeAsync(at(base), NULL) == cudaErrorInvalidValue);
	CHECK(cuMemAddressFree(base, 64 * MIB) == CUDA_ERROR_INVALID_VALUE); /* mapped still */
	void *block, *second, *pinned;
	SUCCEEDS(cudaMalloc(&block, 4 * MIB));
	SUCCEEDS(cudaHostAlloc(&pinned, 8192, 0));
	CHECK(cuMemUnmap((uintptr_t)block, 4 * MIB) == CUDA_ERROR_INVALID_VALUE); /* not a mapping */
	CHECK(cuMemAddressFree((uintptr_t)block, 4 * MIB) == CUDA_ERROR_INVALID_VALUE);
	char *own = aligned_alloc(4096, 8192);
	memset(own, 5, 8192);
	CHECK(cuMemUnmap((uintptr_t)own, 4096) == CUDA_ERROR_INVALID_VALUE && own[100] == 5);
	CHECK(cuMemUnmap((uintptr_t)pinned, 8192) == CUDA_ERROR_INVALID_VALUE && cudaFree(pinned) == cudaErrorInvalidValue);
	SUCCEEDS(cudaHostRegister(own, 8192, 0));
	CHECK(cudaFreeHost(own) == cudaErrorInvalidValue && cudaHostUnregister(pinned) != cudaSuccess); /* each as it came */
	SUCCEEDS(cudaHostUnregister(own));
	free(own);
	SUCCEEDS(cudaFreeHost(pinned));
	SUCCEEDS(cudaFree(block));
	CHECK(cuMemFree_v2((uintptr_t)block) == CUDA_ERROR_INVALID_VALUE);

	CHECK(cuMemUnmap(base, 10 * MIB) == CUDA_ERROR_INVALID_VALUE &&
		cuMemUnmap(base + 2 * MIB, 18 * MIB) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemUnmap(base, 22 * MIB) == CUDA_ERROR_INVALID_VALUE && cuMemUnmap(base, 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(free_now() == before - 20 * MIB);
	SUCCEEDS(cuMemUnmap(base, 20 * MIB));
	CHECK(cuMemUnmap(base, 20 * MIB) == CUDA_ERROR_INVALID_VALUE);
	int ends[2]; /* what is unmapped cannot be read */
	CHECK(!pipe(ends) && write(ends[1], at(base), 1) == -1);
	CHECK(cuMemSetAccess(base, 20 * MIB, NULL, 0) == CUDA_ERROR_INVALID_VALUE); /* nothing is mapped there */
	SUCCEEDS(cuMemRelease(h));
	CHECK(cuMemAddressFree(base, 62 * MIB) == CUDA_ERROR_INVALID_VALUE &&
		cuMemAddressFree(base + 2 * MIB, 62 * MIB) == CUDA_ERROR_INVALID_VALUE);
	SUCCEEDS(cuMemAddressFree(base, 64 * MIB));
	CHECK(cuMemAddressFree(base, 64 * MIB) == CUDA_ERROR_INVALID_VALUE);
	SUCCEEDS(cudaMalloc(&block, 64 * MIB));
	SUCCEEDS(cudaMalloc(&second, 64 * MIB));
	CHECK(block != second); /* the addresses were given back once */
	SUCCEEDS(cudaFree(block));
	SUCCEEDS(cudaFree(second));
	CHECK(free_now() == before);
}

void wrong_handles(void) {
	size_t before = free_now();
	CUdeviceptr base = reserve(64 * MIB);
	CUmemGenericAllocationHandle h = create(2 * MIB), other = create(2 * MIB), none;
	CUmemAllocationProp prop = { .location.id = 7 };
	CHECK(cuMemCreate(&none, 2 * MIB, &prop, 0) == CUDA_ERROR_INVALID_VALUE);
	prop.location.id = 0;
	CHECK(cuMemCreate(&none, 0, &prop, 0) == CUDA_ERROR_INVALID_VALUE &&
		cuMemCreate(&none, MIB, &prop, 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemMap(base, 2 * MIB, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE &&
		cuMemMap(base, 2 * MIB, 0, 12345, 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemRelease(0) == CUDA_ERROR_INVALID_VALUE && cuMemRelease(12345) == CUDA_ERROR_INVALID_VALUE);
	SUCCEEDS(cuMemMap(base, 2 * MIB, 0, h, 0));
	CHECK(cuMemMap(base, 2 * MIB, 0, other, 0) == CUDA_ERROR_INVALID_VALUE); /* taken */
	SUCCEEDS(cuMemMap(base + 2 * MIB, 2 * MIB, 0, h, 0)); /* twice is allowed */
	SUCCEEDS(cuMemRelease(h));
	CHECK(cuMemRelease(h) == CUDA_ERROR_INVALID_VALUE && cuMemMap(base + 4 * MIB, 2 * MIB, 0, h,
		0) == CUDA_ERROR_INVALID_VALUE);
	SUCCEEDS(cuMemUnmap(base, 2 * MIB));
	CHECK(free_now() == before - 4 * MIB); /* the second mapping has it */
	SUCCEEDS(cuMemUnmap(base + 2 * MIB, 2 * MIB));
	CHECK(free_now() == before - 2 * MIB && cuMemRelease(h) == CUDA_ERROR_INVALID_VALUE);
	SUCCEEDS(cuMemRelease(other));
	SUCCEEDS(cuMemAddressFree(base, 64 * MIB));
	CHECK(free_now() == before);
}

void wrong_sizes(void) {
	CUdeviceptr base = reserve(16 * MIB), none;
	CUmemGenericAllocationHandle h = create(2 * MIB);
	CHECK(cuMemMap(base, 8 * MIB, 0, h, 0) == CUDA_ERROR_INVALID_VALUE &&
		cuMemMap(base, ~(size_t)0, 0, h, 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemMap(base, 0, 0, h, 0) == CUDA_ERROR_INVALID_VALUE &&
		cuMemMap(base, MIB, 0, h, 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemMap(base, 2 * MIB, 2 * MIB, h, 0) == CUDA_ERROR_INVALID_VALUE && cuMemMap(base + 16 * MIB, 2 * MIB, 0, h,
		0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemAddressReserve(&none, 0, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE && cuMemAddressReserve(&none, 2 * MIB, 3, 0,
		0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemAddressReserve(&none, 100, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemAddressReserve(&none, 2 * MIB, 0, 512, 0) == CUDA_ERROR_INVALID_VALUE); /* no page begins there */
	SUCCEEDS(cuMemAddressReserve(&none, 2 * MIB, 0, 4096, 0)); /* where it shall lie is a hint */
	SUCCEEDS(cuMemAddressFree(none, 2 * MIB));
	SUCCEEDS(cuMemAddressReserve(&none, 4096, 1, 0, 0)); /* a page of the host's is enough */
	SUCCEEDS(cuMemAddressFree(none, 4096));
	/* flags that no driver knows */
	CUmemAllocationProp prop = { .location.id = 0 };
	CUmemGenericAllocationHandle other;
	CHECK(cuMemAddressReserve(&none, 2 * MIB, 0, 0, 1) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemCreate(&other, 2 * MIB, &prop, 1) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemMap(base, 2 * MIB, 0, h, 1) == CUDA_ERROR_INVALID_VALUE);
	char *a, *b, own[1024], *variable;
	SUCCEEDS(cudaMalloc((void **)&a, 2 * MIB));
	SUCCEEDS(cudaMalloc((void **)&b, 2 * MIB));
	CHECK(b == a + 2 * MIB);
	SUCCEEDS(cudaMemset(b, 7, 512));
	CHECK(cudaMemset(a, 0, 2 * MIB + 1) == cudaErrorInvalidValue &&
		cudaMemset(a + MIB, 1, 2 * MIB) == cudaErrorInvalidValue && b[0] == 7);
	CHECK(cudaGetLastError() == cudaErrorInvalidValue && cudaMemset(a, 1, ~(size_t)0) == cudaErrorInvalidValue &&
		cudaMemset(own, 1, sizeof own) == cudaErrorInvalidValue);
	memset(own, 9, sizeof own);
	CHECK(cudaMemcpy(a + 2 * MIB - 512, own, sizeof own, 1) == cudaErrorInvalidValue && b[0] == 7);
	CHECK(cudaMemcpy(own, b + 2 * MIB - 512, sizeof own, 2) == cudaErrorInvalidValue && own[0] == 9);
	CHECK(cudaMemcpy(a, b, 2 * MIB + 512, 3) == cudaErrorInvalidValue &&
		cudaMemcpy(a, own, ~(size_t)0, 1) == cudaErrorInvalidValue);
	CHECK(cudaMemcpy(NULL, own, 1, 1) == cudaErrorInvalidValue && cudaMemcpy(a, NULL, 1, 1) == cudaErrorInvalidValue);
	CHECK(cudaMemcpy(own, own, ~(size_t)0, 0) == cudaErrorInvalidValue);
	SUCCEEDS(cudaMemcpy(NULL, NULL, 0, 1));
	SUCCEEDS(cudaMemcpy(a + 2 * MIB - sizeof own, own, sizeof own, 1)); /* to the last byte */
	CHECK(cudaMemcpy2DAsync(b, MIB, own, 8, 8, 3, 1, NULL) == cudaErrorInvalidValue && cudaMemcpy2DAsync(b, 4, own, 8, 8,
		2, 1, NULL) == 12);
	CHECK(cudaMemcpy2DAsync(b, ~(size_t)0 / 2, own, 8, 8, 4, 1, NULL) == cudaErrorInvalidValue);
	SUCCEEDS(cudaMemcpy2DAsync(b, MIB, own, 8, 8, 2, 1, NULL));
	CHECK(cudaMemcpy2DAsync(b, 8, own, 7, 8, 2, 1, NULL) == 12);
	SUCCEEDS(cudaMemcpy2DAsync(b, 8, own, 8, 8, 2, 1, NULL)); /* rows side by side */
	SUCCEEDS(cudaMemcpy2DAsync(NULL, 8, NULL, 8, 0, 2, 1, NULL)); /* nothing */
	SUCCEEDS(cudaMemcpy2DAsync(NULL, 8, NULL, 8, 8, 0, 1, NULL));
	/* four times as much is nothing */
	CHECK(cuMemsetD32Async((uintptr_t)a, 1, (size_t)1 << 62, NULL) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemsetD32Async((uintptr_t)a, 1, MIB / 2 + 1, NULL) == CUDA_ERROR_INVALID_VALUE &&
		cuMemsetD32Async((uintptr_t)a + 2, 1, 1, NULL) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemsetD8Async((uintptr_t)a, 1, 2 * MIB + 1, NULL) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemcpyDtoDAsync_v2((uintptr_t)a, (uintptr_t)b, 2 * MIB + 1, NULL) == CUDA_ERROR_INVALID_VALUE);
	SUCCEEDS(cuMemsetD32Async((uintptr_t)a, 1, MIB / 2, NULL));
	SUCCEEDS(cudaGetSymbolAddress((void **)&variable, "x")); /* a kernel's variable is device memory too */
	SUCCEEDS(cudaMemset(variable, 1, 64));
	CHECK(cudaMemset(variable, 1, MIB) == cudaErrorInvalidValue);
	SUCCEEDS(cudaFree(a));
	SUCCEEDS(cudaFree(b));
	/* what was freed */
	CHECK(cudaMemset(a, 0, 1) == cudaErrorInvalidValue && cudaMemcpy(own, a, 1, 2) == cudaErrorInvalidValue);
	SUCCEEDS(cuMemRelease(h));
	SUCCEEDS(cuMemAddressFree(base, 16 * MIB));
}

/* The process's addresses run out before the card's memory does, as under ulimit -v: that is no
   lack of memory on the card. */
void no_addresses(void) {
	CUdeviceptr p, lowest;
	char *block;
	CHECK(cuMemAddressReserve(&p, ~(size_t)4095, 0, 0, 0) == CUDA_ERROR_NOT_SUPPORTED); /* more than there are */
	SUCCEEDS(cudaMalloc((void **)&block, 64 * MIB));
	SUCCEEDS(cudaMalloc((void **)&block, 64 * MIB)); /* below the first */
	lowest = (CUdeviceptr)(uintptr_t)block;
	p = reserve(2 * MIB);
	reserve(lowest - (p + 2 * MIB) - 32 * MIB);
	size_t before = free_now();
	SUCCEEDS(cudaMalloc((void **)&block, 32 * MIB)); /* the last place that there is */
	CHECK((uintptr_t)block == lowest - 32 * MIB);
	CHECK(cuMemAddressReserve(&p, 2 * MIB, 0, 0, 0) == CUDA_ERROR_NOT_SUPPORTED);
	SUCCEEDS(cudaFree(block));
	CHECK(cuMemAddressReserve(&p, 34 * MIB, 0, 0, 0) == CUDA_ERROR_NOT_SUPPORTED);
	CHECK(reserve(32 * MIB) == lowest - 32 * MIB);
	CHECK(cudaMalloc((void **)&block, MIB) == cudaErrorNotSupported && !block && free_now() == before);
	CHECK(ncclMemAlloc((void **)&block, MIB) == 1 && free_now() == before);
	CHECK(!strcmp(note_last_refused(), NO_ADDRESSES));
	CHECK(cudaMalloc((void **)&block, before + MIB) == cudaErrorMemoryAllocation);
}

/* Expandable segments: a block may lie on several mappings. */
void spanning(void) {
	char *block;
	SUCCEEDS(cudaMalloc((void **)&block, 2 * MIB));
	CUdeviceptr base = reserve(64 * MIB);
	CUmemGenericAllocationHandle h[3];
	CHECK((char *)at(base) + 64 * MIB <= block);
	for (int i = 0; i < 3; i++) h[i] = create(2 * MIB);
	for (int i = 0; i < 2; i++) SUCCEEDS(cuMemMap(base + (CUdeviceptr)i * 2 * MIB, 2 * MIB, 0, h[i], 0));
	SUCCEEDS(cuMemMap(base + 6 * MIB, 2 * MIB, 0, h[2], 0));
	SUCCEEDS(cuMemSetAccess(base, 4 * MIB, NULL, 0));
	SUCCEEDS(cudaMemset(at(base + MIB), 0, 3 * MIB));
	SUCCEEDS(cudaMemcpy(at(base), at(base + 2 * MIB), 2 * MIB, 3));
	SUCCEEDS(cuMemsetD8Async(base + MIB, 1, 2 * MIB, NULL));
	CHECK(cudaMemset(at(base + MIB), 0, 3 * MIB + 1) == cudaErrorInvalidValue); /* there is nothing behind them */
	CHECK(cudaMemset(at(base), 0, 8 * MIB) == cudaErrorInvalidValue && cuMemSetAccess(base, 8 * MIB, NULL,
		0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cudaMemset(block, 0, 3 * MIB) == cudaErrorInvalidValue); /* nor does a block of cudaMalloc's reach into them */
	SUCCEEDS(cuMemUnmap(base, 4 * MIB)); /* both at once */
	CHECK(cudaMemset(at(base), 0, 1) == cudaErrorInvalidValue);
	SUCCEEDS(cuMemUnmap(base + 6 * MIB, 2 * MIB));
	for (int i = 0; i < 3; i++) SUCCEEDS(cuMemRelease(h[i]));
	SUCCEEDS(cuMemAddressFree(base, 64 * MIB));
	SUCCEEDS(cudaFree(block));
	base = reserve(4 * MIB); /* two of which the second is the last of all, and is mapped first */
	for (int i = 2; i--;) {
		h[i] = create(2 * MIB);
		SUCCEEDS(cuMemMap(base + (CUdeviceptr)i * 2 * MIB, 2 * MIB, 0, h[i], 0));
	}
	SUCCEEDS(cudaMemset(at(base + MIB), 0, 2 * MIB));
	CHECK(cudaMemset(at(base + MIB), 0, 3 * MIB + 1) == cudaErrorInvalidValue);
	SUCCEEDS(cuMemUnmap(base, 4 * MIB));
	for (int i = 0; i < 2; i++) SUCCEEDS(cuMemRelease(h[i]));
	SUCCEEDS(cuMemAddressFree(base, 4 * MIB));
}

void managed(void) {
	size_t before = free_now();
	char *p, *device;
	int yes;
	unsigned type;
	struct cudaPointerAttributes found;
	CUdeviceptr other;
	SUCCEEDS(cudaMallocManaged((void **)&p, 3000 * MIB, 1)); /* more than the card has */
	CHECK(free_now() == before);
	p[0] = 3;
	SUCCEEDS(cudaPointerGetAttributes(&found, p + MIB));
	CHECK(found.type == cudaMemoryTypeManaged && found.device == 0 && found.devicePointer == p + MIB &&
		found.hostPointer == p + MIB);
	SUCCEEDS(cuPointerGetAttribute(&yes, CU_POINTER_ATTRIBUTE_IS_MANAGED, (uintptr_t)p));
	SUCCEEDS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)p));
	CHECK(yes == 1 && type == CU_MEMORYTYPE_DEVICE);
	SUCCEEDS(cudaMemPrefetchAsync(p, 3000 * MIB, 0, NULL));
	SUCCEEDS(cudaMemPrefetchAsync(p + MIB, MIB, -1, NULL));
	SUCCEEDS(cudaMemAdvise(p, MIB, 3, 0));
	SUCCEEDS(cuMemAdvise((uintptr_t)p, MIB, 3, 0));
	SUCCEEDS(cuMemPrefetchAsync((uintptr_t)p, MIB, 0, NULL));
	SUCCEEDS(cudaMalloc((void **)&device, MIB));
	CHECK(cudaMemPrefetchAsync(p, 3001 * MIB, 0, NULL) == cudaErrorInvalidValue &&
		cudaMemPrefetchAsync(p, 0, 0, NULL) == cudaErrorInvalidValue);
	CHECK(cudaMemPrefetchAsync(device, MIB, 0, NULL) == cudaErrorInvalidValue &&
		cudaMemAdvise(device, MIB, 3, 0) == cudaErrorInvalidValue);
	SUCCEEDS(cudaMemcpy(device, p, 64, 4));
	CHECK(device[0] == 3);
	unsigned long long reads = memspec_pretend_reads()->count;
	memspec_pretend_track(1, 0);
	memspec_pretend_unknown(device, 64);
	SUCCEEDS(cudaMemcpy(p, device, 64, 4)); /* kernels work on both: no value was read */
	CHECK(memspec_pretend_reads()->count == reads);
	memspec_pretend_track(0, 0);
	CHECK(cudaMemcpy(p + 3000 * MIB - 1, device, 2, 4) == cudaErrorInvalidValue &&
		cudaMemset(p + 3000 * MIB - 1, 0, 2) == cudaErrorInvalidValue);
	SUCCEEDS(cudaMemset(p, 5, 64));
	CHECK(p[63] == 5);
	SUCCEEDS(cudaMemset(p, 0, 60));
	CHECK(p[59] == 0 && p[60] == 5);
	CHECK(cudaMallocManaged((void **)&device, 0, 1) == cudaErrorInvalidValue);
	static const int flags[] = { 0, 3, 4 }; /* for all streams or for the host first, not both */
	for (int i = 0; i < 3; i++) {
		CHECK(cudaMallocManaged((void **)&device, MIB, (unsigned)flags[i]) == cudaErrorInvalidValue);
		CHECK(cuMemAllocManaged(&other, MIB, (unsigned)flags[i]) == CUDA_ERROR_INVALID_VALUE);
	}
	SUCCEEDS(cudaMallocManaged((void **)&device, MIB, 2));
	SUCCEEDS(cudaFree(device));
	CHECK(msync(device, 1, MS_ASYNC)); /* its pages are gone */
	SUCCEEDS(cudaFree(p));
	CHECK(cudaFree(p) == cudaErrorInvalidValue);
	for (unsigned i = 1; i <= 2; i++) {
		SUCCEEDS(cuMemAllocManaged(&other, MIB, i));
		SUCCEEDS(cuMemFree_v2(other));
	}
}
