/* The CUDA runtime's memory: allocations, pinned host memory, copies. */
#include "pretend.h"

#include <string.h>
#include <sys/mman.h>

API cudaError_t cudaMalloc(void **p, size_t n) { return fail(device_malloc(p, n, current_device(), false)); }
API cudaError_t cudaMallocManaged(void **p, size_t n, unsigned int flags) { /* for all streams, or for the host first */
	return fail(flags == 1 || flags == 2 ? managed_malloc(p, n, current_device()) : cudaErrorInvalidValue);
}
API cudaError_t cudaFree(void *p) { return fail(device_free(p)); }

API cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
	struct gpu *g = current_gpu();
	if (!g) return fail(cudaErrorNoDevice);
	gpu_activate(g);
	lock_memory();
	*total = g->memory;
	*free_bytes = g->memory - g->used;
	unlock_memory();
	return cudaSuccess;
}

/* ---- cudaMallocAsync: one pool a device, whose handle is the device's ordinal plus one ---- */

static struct gpu *gpu_of_pool(cudaMemPool_t pool) { return gpu_at((int)(uintptr_t)pool - 1); }

API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int ordinal) {
	if (!gpu_at(ordinal)) return fail(cudaErrorInvalidDevice);
	*pool = (cudaMemPool_t)(uintptr_t)(ordinal + 1);
	return cudaSuccess;
}
API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int ordinal) {
	return cudaDeviceGetDefaultMemPool(pool, ordinal);
}

API cudaError_t cudaMallocFromPoolAsync(void **p, size_t n, cudaMemPool_t pool, cudaStream_t s) {
	struct gpu *g = gpu_of_pool(pool);
	if (!g) return fail(cudaErrorInvalidValue);
	cudaError_t e = device_malloc(p, n, gpu_ordinal(g), true);
	if (e) return fail(e);
	note_unsized("cudaMallocAsync: what its pool reserves beyond what is used");
	capture_node(s);
	return cudaSuccess;
}
API cudaError_t cudaMallocAsync(void **p, size_t n, cudaStream_t s) {
	return cudaMallocFromPoolAsync(p, n, (cudaMemPool_t)(uintptr_t)(current_device() + 1), s);
}
API cudaError_t cudaFreeAsync(void *p, cudaStream_t s) {
	struct range r;
	if (!range_find(p, &r) || r.kind != ALLOCATED) return fail(cudaErrorInvalidValue);
	cudaError_t e = device_free(p);
	if (e) return fail(e);
	capture_node(s);
	return cudaSuccess;
}
API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, pool_attribute a, void *value) {
	const struct gpu *g = gpu_of_pool(pool);
	if (!g) return fail(cudaErrorInvalidValue);
	uint64_t n = 0;
	lock_memory();
	if (a == cudaMemPoolAttrReservedMemCurrent || a == cudaMemPoolAttrUsedMemCurrent) n = g->pool_used;
	if (a == cudaMemPoolAttrReservedMemHigh || a == cudaMemPoolAttrUsedMemHigh) n = g->pool_high;
	unlock_memory();
	/* the first three are int */
	memcpy(value, &n, (int)a < cudaMemPoolAttrReservedMemCurrent - 1 ? sizeof(int) : sizeof n);
	return cudaSuccess;
}
API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, pool_attribute a, void *value UNUSED) {
	struct gpu *g = gpu_of_pool(pool);
	if (!g) return fail(cudaErrorInvalidValue);
	lock_memory();
	if (a == cudaMemPoolAttrReservedMemHigh || a == cudaMemPoolAttrUsedMemHigh) g->pool_high = g->pool_used;
	unlock_memory();
	return cudaSuccess;
}
API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool UNUSED, const struct cudaMemAccessDesc *list UNUSED,
	size_t n UNUSED) { return cudaSuccess; }
API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool UNUSED, size_t keep UNUSED) { return cudaSuccess; }
API cudaError_t cudaDeviceGetGraphMemAttribute(int ordinal UNUSED, graph_memory_attribute a UNUSED, void *value) {
	memset(value, 0, sizeof(uint64_t));
	return cudaSuccess;
}
API cudaError_t cudaDeviceSetGraphMemAttribute(int ordinal UNUSED, graph_memory_attribute a UNUSED, void *value UNUSED)
	{ return cudaSuccess; }

/* ---- pinned host memory is host memory, and counted ---- */

static void note_pinned(size_t taken, size_t given) {
	lock_memory();
	figures_pinned(taken, given);
	unlock_memory();
}

API cudaError_t cudaHostAlloc(void **p, size_t n, unsigned int flags UNUSED) {
	if (!gpu_count()) return fail(cudaErrorNoDevice);
	*p = NULL;
	if (!n) return cudaSuccess;
	void *at = host_map(n);
	if (!at) return fail(cudaErrorMemoryAllocation);
	range_add((struct range){ .at = at, .size = n, .kind = PINNED, .owner = current_device() });
	note_pinned(n, 0);
	*p = at;
	return cudaSuccess;
}
API cudaError_t cudaMallocHost(void **p, size_t n) { return cudaHostAlloc(p, n, 0); }
API cudaError_t cudaFreeHost(void *p) {
	struct range r;
	if (!p) return cudaSuccess;
	if (!range_take(p, PINNED, &r)) return fail(cudaErrorInvalidValue);
	munmap(p, r.size);
	note_pinned(0, r.size);
	return cudaSuccess;
}
API cudaError_t cudaHostRegister(void *p, size_t n, unsigned int flags UNUSED) {
	enum { ALREADY_REGISTERED = 712 }; /* cudaErrorHostMemoryAlreadyRegistered */
	struct range r;
	if (!p || !n) return fail(cudaErrorInvalidValue);
	if (range_find(p, &r)) return fail(ALREADY_REGISTERED);
	range_add((struct range){ .at = p, .size = n, .kind = REGISTERED, .owner = current_device() });
	note_pinned(n, 0);
	return cudaSuccess;
}
API cudaError_t cudaHostUnregister(void *p) {
	enum { NOT_REGISTERED = 713 }; /* cudaErrorHostMemoryNotRegistered */
	struct range r;
	if (!range_take(p, REGISTERED, &r)) return fail(NOT_REGISTERED);
	note_pinned(0, r.size);
	return cudaSuccess;
}
API cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags UNUSED) {
	*device = host;
	return cudaSuccess;
}

API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *p) {
	/* CUDA 13 added eight words that are reserved; CUDA 12's callers have no room for them. */
	memset(out, 0, runtime_version() < 13000 ? offsetof(struct cudaPointerAttributes, hostPointer) +
		sizeof out->hostPointer : sizeof *out);
	struct range r;
	bool found = range_find(p, &r), host = found && range_on_host(&r), managed = found && r.kind == MANAGED;
	out->type = !found ? cudaMemoryTypeUnregistered : host ? cudaMemoryTypeHost : managed ? cudaMemoryTypeManaged
		: cudaMemoryTypeDevice;
	out->device = found ? r.owner : -2; /* cudaInvalidDeviceId */
	if (found) out->devicePointer = (void *)(uintptr_t)p;
	if (!found || host || managed) out->hostPointer = (void *)(uintptr_t)p;
	return cudaSuccess;
}

/* ---- copies and fills; while a stream captures nothing is copied ---- */

/* Of the host's own memory nobody knows how far it reaches. */
static bool reaches(const void *p, size_t n) {
	struct range r;
	if (!n) return true;
	uintptr_t end;
	if (__builtin_add_overflow((uintptr_t)p, n, &end)) return false;
	return address_is_device(p) || (range_find(p, &r) && !range_on_host(&r)) ? range_holds(p, n) : p != NULL;
}

static void do_copy(void *dst, const void *src, size_t n, cudaStream_t s) {
	if (stream_capturing(s)) {
		capture_node(s);
		if (address_is_device(dst)) bytes_unknown(dst, n);
	} else bytes_copy(dst, src, n);
}
cudaError_t device_copy(void *dst, const void *src, size_t n, cudaStream_t s) {
	if (!reaches(dst, n) || !reaches(src, n)) return cudaErrorInvalidValue;
	do_copy(dst, src, n, s);
	return cudaSuccess;
}
cudaError_t device_set(void *p, const void *pattern, size_t width, size_t count, cudaStream_t s) {
	size_t n;
	if (__builtin_mul_overflow(width, count, &n) || (uintptr_t)p % width || (n && !range_holds(p, n)))
		return cudaErrorInvalidValue;
	if (stream_capturing(s)) {
		capture_node(s);
		bytes_unknown(p, n);
	} else bytes_set(p, pattern, width, count);
	return cudaSuccess;
}

API cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, copy_kind kind UNUSED, cudaStream_t s) {
	return fail(device_copy(dst, src, n, s));
}
API cudaError_t cudaMemcpy(void *dst, const void *src, size_t n, copy_kind kind UNUSED) {
	return fail(device_copy(dst, src, n, NULL));
}
API cudaError_t cudaMemcpyPeerAsync(void *dst, int to UNUSED, const void *src, int from UNUSED, size_t n,
	cudaStream_t s) {
	return fail(device_copy(dst, src, n, s));
}
API cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
	size_t height, copy_kind kind UNUSED,
	cudaStream_t s) {
	enum { INVALID_PITCH = 12 }; /* cudaErrorInvalidPitchValue */
	if (!width || !height) return cudaSuccess;
	if (width > dst_pitch || width > src_pitch) return fail(INVALID_PITCH);
	size_t to, from;
	if (__builtin_mul_overflow(dst_pitch, height - 1, &to) || __builtin_add_overflow(to, width, &to) ||
		__builtin_mul_overflow(src_pitch, height - 1, &from) ||
		__builtin_add_overflow(from, width, &from) || !reaches(dst, to) || !reaches(src, from))
		return fail(cudaErrorInvalidValue);
	for (size_t i = 0; i < height; i++) do_copy((char *)dst + i * dst_pitch, (const char *)src + i * src_pitch, width, s);
	return cudaSuccess;
}
API cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t s) {
	const unsigned char byte = (unsigned char)value;
	return fail(device_set(p, &byte, sizeof byte, n, s));
}
API cudaError_t cudaMemset(void *p, int value, size_t n) { return cudaMemsetAsync(p, value, n, NULL); }
/* Symbols are read by kernels alone. */
API cudaError_t cudaMemcpyToSymbol(const void *symbol UNUSED, const void *src UNUSED, size_t n UNUSED,
	size_t offset UNUSED, copy_kind kind UNUSED) {
	return cudaSuccess;
}
