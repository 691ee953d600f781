/* Memory that NCCL allocates for programs, and windows of it: ncclMemAlloc takes physical memory in
   whole pages, beside PyTorch's allocator or for a pool of it. A window is a name for memory that
   each rank has; what NCCL keeps for it is not known. */
#include "pretend.h"

#include <stdlib.h>

#define PAGE ((size_t)2 << 20) /* cuMemGetAllocationGranularity */

#ifndef PUBLIC_HEADERS
typedef void *ncclWindow_t;
enum { ncclSuccess = 0, ncclUnhandledCudaError = 1, ncclInvalidArgument = 4 };
#endif

static bool virtual(void) { /* NCCL_CUMEM_ENABLE: without it memory is cudaMalloc's */
	const char *said = getenv("NCCL_CUMEM_ENABLE");
	return !said || *said != '0';
}

API ncclResult_t ncclMemAlloc(void **p, size_t size) {
	if (!p) return ncclInvalidArgument;
	if (!virtual() || !size)
		return device_malloc(p, size, current_device(), false) ? ncclUnhandledCudaError : ncclSuccess;
	CUmemAllocationProp prop = { .location.id = current_device() };
	CUmemGenericAllocationHandle h;
	CUdeviceptr at;
	size_t n = round_up(size, PAGE);
	if (cuMemCreate(&h, n, &prop, 0)) return ncclUnhandledCudaError;
	bool reserved = !cuMemAddressReserve(&at, n, PAGE, 0, 0), mapped = reserved && !cuMemMap(at, n, 0, h, 0);
	cuMemRelease(h); /* the mapping keeps it */
	if (mapped) *p = (void *)(uintptr_t)at;
	else if (reserved) cuMemAddressFree(at, n);
	return mapped ? ncclSuccess : ncclUnhandledCudaError;
}

API ncclResult_t ncclMemFree(void *p) {
	struct range r;
	if (!p) return ncclSuccess;
	if (!range_find(p, &r) || r.at != p) return ncclInvalidArgument;
	if (r.kind != MAPPED) return device_free(p) ? ncclUnhandledCudaError : ncclSuccess;
	bool gone = !cuMemUnmap((uintptr_t)p, r.size) && !cuMemAddressFree((uintptr_t)p, r.size);
	return gone ? ncclSuccess : ncclUnhandledCudaError;
}

API ncclResult_t ncclCommWindowRegister(ncclComm_t c, void *p, size_t size, ncclWindow_t *window, int flags UNUSED) {
	if (!c || !window || !size || !range_holds(p, size)) return ncclInvalidArgument;
	note_unsized("NCCL's own buffers: of windows");
	*window = (ncclWindow_t)p;
	return ncclSuccess;
}
API ncclResult_t ncclCommWindowDeregister(ncclComm_t c, ncclWindow_t window) {
	return c && window ? ncclSuccess : ncclInvalidArgument;
}
