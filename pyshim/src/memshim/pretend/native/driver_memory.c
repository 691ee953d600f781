/* The CUDA driver's memory: ranges of addresses that physical memory is mapped into (expandable segments), plain allocations, copies. */
#include "pretend.h"

#include <stdlib.h>
#include <string.h>

/* Physical memory: taken at cuMemCreate, given back when it is released and mapped nowhere. */
struct physical {
	size_t size;
	int ordinal;
	unsigned references;
};
struct mapping {
	char *at;
	size_t size;
	struct physical *memory;
};
static struct mapping *mappings;
static size_t mapping_count, mapping_room;

static void drop(struct physical *m) { /* the lock is held */
	if (--m->references) return;
	struct gpu *g = gpu_at(m->ordinal);
	if (g) g->used -= m->size;
	free(m);
}

static struct physical *of_handle(CUmemGenericAllocationHandle h) { return (struct physical *)(uintptr_t)h; }

API CUresult cuMemGetAllocationGranularity(size_t *size, const CUmemAllocationProp *p UNUSED, CUmemAllocationGranularity_flags option UNUSED) {
	*size = (size_t)2 << 20;
	return CUDA_SUCCESS;
}

API CUresult cuMemCreate(CUmemGenericAllocationHandle *h, size_t size, const CUmemAllocationProp *p, unsigned long long flags UNUSED) {
	struct gpu *g = gpu_at(p->location.id);
	if (!g || !size) return CUDA_ERROR_INVALID_VALUE;
	if (size > g->memory || !memory_take(g, size)) return CUDA_ERROR_OUT_OF_MEMORY;
	struct physical *m = malloc(sizeof *m);
	if (!m) return memory_give(g, size), CUDA_ERROR_OUT_OF_MEMORY;
	*m = (struct physical){ size, p->location.id, 1 };
	*h = (uintptr_t)m;
	return CUDA_SUCCESS;
}

API CUresult cuMemRelease(CUmemGenericAllocationHandle h) {
	lock_memory();
	drop(of_handle(h));
	unlock_memory();
	return CUDA_SUCCESS;
}

API CUresult cuMemAddressReserve(CUdeviceptr *p, size_t size, size_t alignment UNUSED, CUdeviceptr wanted UNUSED, unsigned long long flags UNUSED) {
	*p = (uintptr_t)address_reserve(size);
	log_line("%zu bytes of addresses reserved at %#llx", size, *p);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
API CUresult cuMemAddressFree(CUdeviceptr p, size_t size) {
	address_free((void *)(uintptr_t)p, size);
	return CUDA_SUCCESS;
}

API CUresult cuMemMap(CUdeviceptr p, size_t size, size_t offset UNUSED, CUmemGenericAllocationHandle h, unsigned long long flags UNUSED) {
	struct physical *m = of_handle(h);
	char *at = (char *)(uintptr_t)p;
	if (!address_is_device(at) || !address_back(at, size)) return CUDA_ERROR_OUT_OF_MEMORY;
	lock_memory();
	if (mapping_count == mapping_room) {
		size_t room = mapping_room ? 2 * mapping_room : 256;
		struct mapping *more = realloc(mappings, room * sizeof *more);
		if (!more) return unlock_memory(), CUDA_ERROR_OUT_OF_MEMORY;
		mappings = more;
		mapping_room = room;
	}
	mappings[mapping_count++] = (struct mapping){ at, size, m };
	m->references++;
	unlock_memory();
	range_add(at, size, m->ordinal);
	return CUDA_SUCCESS;
}

API CUresult cuMemUnmap(CUdeviceptr p, size_t size) {
	char *at = (char *)(uintptr_t)p;
	range_remove(at, size);
	address_unback(at, size);
	lock_memory();
	for (size_t i = 0; i < mapping_count;) {
		if (mappings[i].at >= at && mappings[i].at < at + size) {
			drop(mappings[i].memory);
			mappings[i] = mappings[--mapping_count];
		} else i++;
	}
	unlock_memory();
	return CUDA_SUCCESS;
}

API CUresult cuMemSetAccess(CUdeviceptr p UNUSED, size_t size UNUSED, const CUmemAccessDesc *list UNUSED, size_t n UNUSED) { return CUDA_SUCCESS; }

API CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t size) {
	void *at;
	CUresult e = (CUresult)device_malloc(&at, size, current_device()); /* the numbers of both interfaces agree */
	*p = (uintptr_t)at;
	return e;
}
API CUresult cuMemFree_v2(CUdeviceptr p) { return (CUresult)device_free((void *)(uintptr_t)p); }
API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) { return (CUresult)cudaMemGetInfo(free_bytes, total); }

API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr p) {
	struct range r;
	if (!range_find((void *)(uintptr_t)p, &r) || r.owner < 0) return CUDA_ERROR_NOT_FOUND;
	if (base) *base = (uintptr_t)r.at;
	if (size) *size = r.size;
	return CUDA_SUCCESS;
}

API CUresult cuPointerGetAttribute(void *out, CUpointer_attribute a, CUdeviceptr p) {
	struct range r;
	if (!range_find((void *)(uintptr_t)p, &r)) return CUDA_ERROR_INVALID_VALUE;
	int ordinal = r.owner < 0 ? 0 : r.owner;
	CUdeviceptr address = p, start = (uintptr_t)r.at;
	unsigned int type = r.owner < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	void *context = (void *)(uintptr_t)(ordinal + 1);
	switch ((int)a) {
	case CU_POINTER_ATTRIBUTE_CONTEXT: memcpy(out, &context, sizeof context); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: memcpy(out, &type, sizeof type); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (r.owner >= 0) return CUDA_ERROR_INVALID_VALUE;
		memcpy(out, &address, sizeof address);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: memcpy(out, &address, sizeof address); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: memcpy(out, &start, sizeof start); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE: memcpy(out, &r.size, sizeof r.size); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED: memset(out, 0, sizeof(int)); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED: memset(out, 1, 1); return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: memcpy(out, &ordinal, sizeof ordinal); return CUDA_SUCCESS;
	default: note_absent("cuPointerGetAttribute of another attribute"); return CUDA_ERROR_NOT_SUPPORTED;
	}
}

/* ---- copies and fills ---- */

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s) { return (CUresult)cudaMemcpyAsync((void *)(uintptr_t)to, from, n, 0, s); }
API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s) { return (CUresult)cudaMemcpyAsync(to, (void *)(uintptr_t)from, n, 0, s); }
API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
	return (CUresult)cudaMemcpyAsync((void *)(uintptr_t)to, (void *)(uintptr_t)from, n, 0, s);
}
API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n) { return cuMemcpyHtoDAsync_v2(to, from, n, NULL); }
API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n) { return cuMemcpyDtoHAsync_v2(to, from, n, NULL); }
API CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char value, size_t n, CUstream s) { return (CUresult)cudaMemsetAsync((void *)(uintptr_t)p, value, n, s); }
API CUresult cuMemsetD32Async(CUdeviceptr p, unsigned int value, size_t n, CUstream s) {
	if (stream_capturing(s)) bytes_unknown((void *)(uintptr_t)p, 4 * n);
	else bytes_set((void *)(uintptr_t)p, &value, sizeof value, n);
	return CUDA_SUCCESS;
}
