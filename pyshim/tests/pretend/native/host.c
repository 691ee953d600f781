/* Memory of the host's that a program pins, what the runtime says of an address, and the pool of
   cudaMallocAsync. */
#include "unit.h"

#include <sys/mman.h>

uint64_t memspec_pretend_pinned(void);
bool memspec_pretend_take(int, size_t);
void memspec_pretend_give(int, size_t);
cudaError_t cudaMallocHost(void **, size_t), cudaDeviceGetMemPool(cudaMemPool_t *, int),
	cudaMallocFromPoolAsync(void **, size_t, cudaMemPool_t, cudaStream_t);
cudaError_t cudaDeviceGetGraphMemAttribute(int, int, void *), cudaHostGetDevicePointer(void **, void *, unsigned);

/* What is pinned is counted: of what is given back nothing stays. */
void pinned(void) {
	char *a, *b, own[4096];
	SUCCEEDS(cudaHostAlloc((void **)&a, 8192, 0));
	CHECK(memspec_pretend_pinned() == 8192);
	memset(a, 3, 8192);
	SUCCEEDS(cudaFreeHost(a));
	CHECK(msync(a, 1, MS_ASYNC)); /* its pages are gone */
	SUCCEEDS(cudaHostRegister(own, sizeof own, 0));
	SUCCEEDS(cudaMallocHost((void **)&b, 4096));
	CHECK(memspec_pretend_pinned() == 8192);
	SUCCEEDS(cudaHostUnregister(own));
	SUCCEEDS(cudaHostAlloc((void **)&a, 8192, 0));
	CHECK(memspec_pretend_pinned() == 12288);
	SUCCEEDS(cudaFreeHost(a));
	SUCCEEDS(cudaFreeHost(b));
	SUCCEEDS(cudaFreeHost(NULL));
	SUCCEEDS(cudaHostAlloc((void **)&a, 0, 0));
	CHECK(!a && memspec_pretend_pinned() == 12288);
	enum { ALREADY = 712, NOT_REGISTERED = 713 };
	CHECK(cudaHostRegister(NULL, 4096, 0) == cudaErrorInvalidValue);
	CHECK(cudaHostRegister(own, 0, 0) == cudaErrorInvalidValue);
	SUCCEEDS(cudaHostRegister(own, sizeof own, 0));
	CHECK(cudaHostRegister(own + 1, 1, 0) == ALREADY);
	SUCCEEDS(cudaHostGetDevicePointer((void **)&a, own, 0));
	CHECK(a == own);
	SUCCEEDS(cudaHostUnregister(own));
	CHECK(cudaHostUnregister(own) == NOT_REGISTERED);
}

static struct cudaPointerAttributes about(const void *p) {
	struct cudaPointerAttributes found;
	memset(&found, 0xa5, sizeof found);
	SUCCEEDS(cudaPointerGetAttributes(&found, p));
	for (int i = 0; i < 8; i++) CHECK(!found.reserved[i]); /* without a runtime, as CUDA 13's */
	return found;
}

void addresses(void) {
	char *device, *host, *registered = malloc(64);
	SUCCEEDS(cudaSetDevice(1));
	SUCCEEDS(cudaMalloc((void **)&device, 512));
	SUCCEEDS(cudaHostAlloc((void **)&host, 4096, 0));
	SUCCEEDS(cudaHostRegister(registered, 64, 0));
	SUCCEEDS(cudaSetDevice(0));
	struct cudaPointerAttributes found = about(device + 100);
	CHECK(found.type == cudaMemoryTypeDevice && found.device == 1);
	CHECK(found.devicePointer == device + 100 && !found.hostPointer);
	char *both[] = { host, registered };
	for (int i = 0; i < 2; i++) { /* pinned while the second card was the current one */
		int ordinal = -1;
		void *context;
		CUcontext second;
		found = about(both[i] + 5);
		CHECK(found.type == cudaMemoryTypeHost && found.device == 1);
		CHECK(found.devicePointer == both[i] + 5 && found.hostPointer == both[i] + 5);
		SUCCEEDS(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (uintptr_t)both[i]));
		SUCCEEDS(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, (uintptr_t)both[i]));
		SUCCEEDS(cuDevicePrimaryCtxRetain(&second, 1));
		CHECK(ordinal == 1 && context == (void *)second);
	}
	SUCCEEDS(cudaHostUnregister(registered));
	found = about(registered);
	CHECK(found.type == cudaMemoryTypeUnregistered && found.device == -2);
	CHECK(!found.devicePointer && found.hostPointer == registered);
	free(registered);
	SUCCEEDS(cudaFreeHost(host));
	SUCCEEDS(cudaFree(device));
}

static uint64_t pool_has(cudaMemPool_t pool, int attribute) {
	uint64_t n = ~(uint64_t)0;
	SUCCEEDS(cudaMemPoolGetAttribute(pool, attribute, &n));
	return n;
}

/* What the Python side takes of a card beside allocations. */
static void beside(void) {
	size_t before = free_now();
	CHECK(memspec_pretend_take(0, 3 * MIB) && free_now() == before - 3 * MIB);
	CHECK(!memspec_pretend_take(0, before - 3 * MIB + 1) && free_now() == before - 3 * MIB);
	CHECK(memspec_pretend_take(0, before - 3 * MIB) && free_now() == 0);
	memspec_pretend_give(0, before);
	memspec_pretend_give(2, MIB);
	CHECK(free_now() == before && !memspec_pretend_take(2, 0) && !memspec_pretend_take(-1, 0));
}

void pools(void) {
	beside();
	enum { REUSE_DEPENDENCIES = 3, THRESHOLD = 4, NO_POOL = 99 };
	cudaMemPool_t pool, same;
	void *a, *b, *managed, *plain;
	uint64_t zero = 0, n = 5;
	SUCCEEDS(cudaDeviceGetDefaultMemPool(&pool, 0));
	SUCCEEDS(cudaDeviceGetMemPool(&same, 0));
	CHECK(same == pool && cudaDeviceGetDefaultMemPool(&same, 2) == cudaErrorInvalidDevice);
	SUCCEEDS(cudaMallocAsync(&a, 100, NULL));
	SUCCEEDS(cudaMallocFromPoolAsync(&b, MIB, pool, NULL));
	CHECK(noted("cudaMallocAsync: what its pool reserves beyond what is used"));
	static const int current[] = { cudaMemPoolAttrReservedMemCurrent, cudaMemPoolAttrUsedMemCurrent },
		high[] = { cudaMemPoolAttrReservedMemHigh, cudaMemPoolAttrUsedMemHigh };
	for (int i = 0; i < 2; i++) CHECK(pool_has(pool, current[i]) == MIB + 100 && pool_has(pool, high[i]) == MIB + 100);
	SUCCEEDS(cudaFreeAsync(b, NULL));
	SUCCEEDS(cudaMemPoolSetAttribute(pool, THRESHOLD, &zero));
	for (int i = 0; i < 2; i++) CHECK(pool_has(pool, current[i]) == 100 && pool_has(pool, high[i]) == MIB + 100);
	for (int i = 0; i < 2; i++) { /* the peak begins anew */
		SUCCEEDS(cudaMallocAsync(&b, 1024, NULL));
		SUCCEEDS(cudaFreeAsync(b, NULL));
		SUCCEEDS(cudaMemPoolSetAttribute(pool, high[i], &zero));
		CHECK(pool_has(pool, high[i]) == 100);
	}
	SUCCEEDS(cudaMalloc(&plain, 4096)); /* of no pool */
	CHECK(pool_has(pool, current[0]) == 100);
	SUCCEEDS(cudaFreeAsync(plain, NULL));
	CHECK(pool_has(pool, current[0]) == 100);
	SUCCEEDS(cudaFree(a)); /* gives back what it has of the pool, too */
	SUCCEEDS(cudaMallocAsync(&a, 0, NULL));
	CHECK(!a && pool_has(pool, current[0]) == 0 && pool_has(pool, THRESHOLD) == 0);
	SUCCEEDS(cudaMemPoolGetAttribute(pool, REUSE_DEPENDENCIES, &n)); /* an int */
	CHECK(n == 0);
	n = ~(uint64_t)0;
	SUCCEEDS(cudaMemPoolGetAttribute(pool, REUSE_DEPENDENCIES, &n));
	CHECK(n == (uint64_t)0xffffffff << 32);
	SUCCEEDS(cudaDeviceGetGraphMemAttribute(0, 0, &n));
	CHECK(n == 0);
	same = (cudaMemPool_t)NO_POOL;
	CHECK(cudaMemPoolGetAttribute(same, THRESHOLD, &n) == cudaErrorInvalidValue);
	CHECK(cudaMemPoolSetAttribute(same, THRESHOLD, &n) == cudaErrorInvalidValue);
	CHECK(cudaMallocFromPoolAsync(&a, 1, same, NULL) == cudaErrorInvalidValue);
	SUCCEEDS(cudaMallocManaged(&managed, MIB, 1));
	CHECK(cudaFreeAsync(managed, NULL) == cudaErrorInvalidValue);
	SUCCEEDS(cudaFree(managed));
}
