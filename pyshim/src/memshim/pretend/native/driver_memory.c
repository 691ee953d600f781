/* The CUDA driver's memory: ranges of addresses that physical memory is mapped into (expandable
   segments), plain allocations, copies. */
#include "pretend.h"

#include <stdlib.h>
#include <string.h>

/* Physical memory: taken at cuMemCreate, given back when it is released and mapped nowhere. Handles
   ascend, so the table is in their order. */
static struct physical *memories;
static size_t memory_count, memory_room;

/* The lock is held in these two. */
static int by_handle(const void *a, const void *b) {
	unsigned long long x = ((const struct physical *)a)->handle, y = ((const struct physical *)b)->handle;
	return (x > y) - (x < y);
}
static struct physical *of_handle(unsigned long long h) {
	struct physical wanted = { .handle = h };
	return memory_count ? bsearch(&wanted, memories, memory_count, sizeof *memories, by_handle) : NULL;
}
static void give_unused(struct physical *m) {
	if (m->holders || m->mappings) return;
	if (m->kind == OF_THIS_PROCESS) {
		struct gpu *g = gpu_at(m->ordinal);
		g->used -= m->size;
		figures_used(g, 0, m->size);
	}
	memory_count--;
	memmove(m, m + 1, (size_t)(memories + memory_count - m) * sizeof *m);
}

#define GRANULARITY ((size_t)2 << 20)

static bool whole_pages(unsigned long long n) { return n % GRANULARITY == 0; }

API CUresult cuMemGetAllocationGranularity(size_t *size, const CUmemAllocationProp *p UNUSED,
	CUmemAllocationGranularity_flags option UNUSED) {
	*size = GRANULARITY;
	return CUDA_SUCCESS;
}

unsigned long long physical_add(struct physical m) {
	static unsigned long long last;
	lock_memory();
	if (!table_grow(&memories, memory_count, &memory_room, sizeof *memories)) return unlock_memory(), 0;
	m.handle = ++last;
	m.holders = 1;
	memories[memory_count++] = m;
	unlock_memory();
	return m.handle;
}

bool physical_find(unsigned long long handle, struct physical *out) {
	lock_memory();
	struct physical *m = of_handle(handle);
	bool found = m && m->holders;
	if (found) *out = *m;
	unlock_memory();
	return found;
}

API CUresult cuMemCreate(CUmemGenericAllocationHandle *h, size_t size, const CUmemAllocationProp *p,
	unsigned long long flags) {
	struct gpu *g = gpu_at(p->location.id);
	if (!g || flags || !size || !whole_pages(size)) return CUDA_ERROR_INVALID_VALUE;
	if (!memory_take(g, size)) return CUDA_ERROR_OUT_OF_MEMORY;
	*h = physical_add((struct physical){ .size = size, .ordinal = p->location.id });
	if (!*h) memory_give(g, size);
	return *h ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemRelease(CUmemGenericAllocationHandle h) {
	lock_memory();
	struct physical *m = of_handle(h);
	bool there = m && m->holders;
	if (there) {
		m->holders--;
		give_unused(m);
	}
	unlock_memory();
	return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *h, void *p) {
	struct range r;
	if (!h || !range_find(p, &r)) return CUDA_ERROR_INVALID_VALUE;
	lock_memory();
	struct physical *m = of_handle(r.handle);
	if (m) m->holders++;
	unlock_memory();
	*h = r.handle;
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Addresses that were reserved: few, one for each stream and pool of expandable segments. */
struct reservation {
	char *at;
	size_t size;
};
static struct reservation *reservations;
static size_t reservation_count, reservation_room;

static struct reservation *reservation_of(const char *p, size_t n) { /* the lock is held */
	for (size_t i = 0; i < reservation_count; i++) {
		struct reservation *r = &reservations[i];
		if (p >= r->at && n <= r->size && (size_t)(p - r->at) <= r->size - n) return r;
	}
	return NULL;
}

API CUresult cuMemAddressReserve(CUdeviceptr *p, size_t size, size_t alignment, CUdeviceptr wanted,
	unsigned long long flags) {
	if (!size || (size | wanted) % 4096 || flags || (alignment & (alignment - 1))) return CUDA_ERROR_INVALID_VALUE;
	char *at = address_reserve(size);
	lock_memory();
	if (at) table_need(&reservations, reservation_count, &reservation_room, sizeof *reservations);
	if (at) reservations[reservation_count++] = (struct reservation){ at, size };
	unlock_memory();
	*p = (uintptr_t)at;
	log_line("%zu bytes of addresses reserved at %#llx", size, *p);
	if (!at) note_refused(CUDA_DRIVER, NO_ADDRESSES);
	return at ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}
API CUresult cuMemAddressFree(CUdeviceptr p, size_t size) {
	char *at = (char *)(uintptr_t)p;
	lock_memory();
	struct reservation *r = reservation_of(at, size);
	bool there = r && r->at == at && r->size == size && !ranges_overlap(at, size);
	if (there) *r = reservations[--reservation_count];
	unlock_memory();
	if (there) address_free(at, size);
	return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemMap(CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle h,
	unsigned long long flags) {
	char *at = (char *)(uintptr_t)p;
	CUresult e = CUDA_ERROR_INVALID_VALUE;
	lock_memory();
	struct physical *m = of_handle(h);
	if (m && m->holders && !flags && size && size <= m->size && !offset && whole_pages(size) && whole_pages(p) &&
		reservation_of(at, size) && !ranges_overlap(at, size)) {
		e = CUDA_ERROR_NOT_SUPPORTED;
		if (address_back(at, size)) {
			ranges_add((struct range){ .at = at, .size = size, .kind = MAPPED, .owner = m->ordinal, .handle = h });
			m->mappings++;
			e = CUDA_SUCCESS;
		}
	}
	unlock_memory();
	if (e == CUDA_ERROR_NOT_SUPPORTED) note_refused(CUDA_DRIVER, NO_ADDRESSES);
	return e;
}

API CUresult cuMemUnmap(CUdeviceptr p, size_t size) {
	char *at = (char *)(uintptr_t)p;
	size_t count = 0;
	lock_memory();
	const struct range *first = ranges_mapped(at, size, &count);
	unlock_memory();
	if (!first) return CUDA_ERROR_INVALID_VALUE;
	address_unback(at, size);
	lock_memory();
	first = ranges_mapped(at, size, &count);
	for (size_t i = 0; first && i < count; i++) {
		struct physical *m = of_handle(first[i].handle);
		m->mappings--;
		give_unused(m);
	}
	if (first) ranges_remove(first, count);
	unlock_memory();
	return CUDA_SUCCESS;
}

API CUresult cuMemSetAccess(CUdeviceptr p, size_t size, const CUmemAccessDesc *list UNUSED, size_t n UNUSED) {
	size_t count;
	lock_memory();
	bool mapped = ranges_mapped((void *)(uintptr_t)p, size, &count);
	unlock_memory();
	return mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- managed memory: where it lies is nobody's concern here, so that advice about it changes nothing ---- */

API CUresult cuMemAllocManaged(CUdeviceptr *p, size_t size, unsigned int flags) {
	void *at = NULL;
	CUresult e = flags == 1 || flags == 2 ? (CUresult)managed_malloc(&at, size, current_device())
		: CUDA_ERROR_INVALID_VALUE;
	*p = (uintptr_t)at;
	return e;
}
/* CUDA 13 has a location where 12 has a device, and flags before the stream. None is looked at:
   what is checked comes before them. */
#ifndef PUBLIC_HEADERS
static CUresult advised(CUdeviceptr p, size_t n) {
	struct range r;
	bool managed = n && range_find((void *)(uintptr_t)p, &r) && r.kind == MANAGED && range_holds((void *)(uintptr_t)p, n);
	return managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API CUresult cuMemPrefetchAsync(CUdeviceptr p, size_t n) { return advised(p, n); }
API CUresult cuMemPrefetchAsync_v2(CUdeviceptr p, size_t n) { return advised(p, n); }
API CUresult cuMemAdvise(CUdeviceptr p, size_t n) { return advised(p, n); }
API CUresult cuMemAdvise_v2(CUdeviceptr p, size_t n) { return advised(p, n); }
API cudaError_t cudaMemPrefetchAsync(const void *p, size_t n) { return fail((cudaError_t)advised((uintptr_t)p, n)); }
API cudaError_t cudaMemPrefetchAsync_v2(const void *p, size_t n) { return fail((cudaError_t)advised((uintptr_t)p, n)); }
API cudaError_t cudaMemAdvise(const void *p, size_t n) { return fail((cudaError_t)advised((uintptr_t)p, n)); }
API cudaError_t cudaMemAdvise_v2(const void *p, size_t n) { return fail((cudaError_t)advised((uintptr_t)p, n)); }
#endif

/* ---- plain allocations, and what an address is ---- */

API CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t size) {
	void *at;
	CUresult e = (CUresult)device_malloc(&at, size, current_device(), false); /* the numbers of both interfaces agree */
	*p = (uintptr_t)at;
	return e;
}
API CUresult cuMemFree_v2(CUdeviceptr p) { return (CUresult)device_free((void *)(uintptr_t)p); }
API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) { return (CUresult)cudaMemGetInfo(free_bytes, total); }

API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr p) {
	struct range r;
	if (!range_find((void *)(uintptr_t)p, &r) || range_on_host(&r)) return CUDA_ERROR_NOT_FOUND;
	if (base) *base = (uintptr_t)r.at;
	if (size) *size = r.size;
	return CUDA_SUCCESS;
}

API CUresult cuPointerGetAttribute(void *out, CUpointer_attribute a, CUdeviceptr p) {
	struct range r;
	if (!range_find((void *)(uintptr_t)p, &r)) return CUDA_ERROR_INVALID_VALUE;
	bool host = range_on_host(&r);
	int ordinal = r.owner, managed = r.kind == MANAGED;
	CUdeviceptr address = p, start = (uintptr_t)r.at;
	unsigned int type = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	void *context = (void *)(uintptr_t)(ordinal + 1);
	switch ((int)a) {
	case CU_POINTER_ATTRIBUTE_CONTEXT: memcpy(out, &context, sizeof context); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: memcpy(out, &type, sizeof type); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!host && !managed) return CUDA_ERROR_INVALID_VALUE;
		memcpy(out, &address, sizeof address);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: memcpy(out, &address, sizeof address); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: memcpy(out, &start, sizeof start); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE: memcpy(out, &r.size, sizeof r.size); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED: memcpy(out, &managed, sizeof managed); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED: memset(out, 1, 1); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: memcpy(out, &ordinal, sizeof ordinal); return CUDA_SUCCESS;
	default: note_absent("cuPointerGetAttribute of another attribute"); return CUDA_ERROR_NOT_SUPPORTED;
	}
}

/* ---- copies and fills ---- */

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s) {
	return (CUresult)device_copy((void *)(uintptr_t)to, from, n, s);
}
API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s) {
	return (CUresult)device_copy(to, (void *)(uintptr_t)from, n, s);
}
API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
	return (CUresult)device_copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n, s);
}
API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n) {
	return cuMemcpyHtoDAsync_v2(to, from, n, NULL);
}
API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n) { return cuMemcpyDtoHAsync_v2(to, from, n, NULL); }
API CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char value, size_t n, CUstream s) {
	return (CUresult)device_set((void *)(uintptr_t)p, &value, sizeof value, n, s);
}
API CUresult cuMemsetD32Async(CUdeviceptr p, unsigned int value, size_t n, CUstream s) {
	return (CUresult)device_set((void *)(uintptr_t)p, &value, sizeof value, n, s);
}
