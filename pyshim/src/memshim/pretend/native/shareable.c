/* Physical memory that processes share by file descriptors, and multicast objects: what PyTorch's
   symmetric memory is made of. A file says which memory it stands for. A process that opens one
   maps addresses that nothing of its card is taken for; no process sees what another one wrote. A
   multicast object has no memory: it sends what is written to each card that is bound to it. */
#include "pretend.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC "memspec"
#define GRANULARITY ((size_t)2 << 20)
enum { DESCRIPTOR = 1 }; /* CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */

struct shared { /* what lies in such a file */
	char magic[sizeof MAGIC];
	int kind, card; /* card: by its place among all of the machine's */
	size_t size;
};

static int file_of(const struct shared *s) { /* -1 without one */
	int fd = memfd_create(MAGIC, MFD_CLOEXEC);
	if (fd >= 0 && pwrite(fd, s, sizeof *s, 0) != (ssize_t)sizeof *s) {
		close(fd);
		fd = -1;
	}
	if (fd < 0) complain("no file for memory that is shared: %s", strerror(errno));
	return fd;
}

API CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle h, CUmemAllocationHandleType type,
	unsigned long long flags) {
	struct physical m;
	if (!out || flags || !physical_find(h, &m)) return CUDA_ERROR_INVALID_VALUE;
	if ((int)type != DESCRIPTOR) {
		note_refused(CUDA_DRIVER, "cuMemExportToShareableHandle of another kind than a file descriptor");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	struct gpu *g = gpu_at(m.ordinal);
	struct shared s = { MAGIC, m.kind == MULTICASTS ? MULTICASTS : OF_ANOTHER, g ? gpu_index(g) : 0, m.size };
	int fd = file_of(&s);
	memcpy(out, &fd, sizeof fd);
	return fd < 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *h, void *handle,
	CUmemAllocationHandleType type) {
	struct shared s;
	if (!h) return CUDA_ERROR_INVALID_VALUE;
	if ((int)type != DESCRIPTOR) {
		note_refused(CUDA_DRIVER, "cuMemImportFromShareableHandle of another kind than a file descriptor");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	bool read = pread((int)(intptr_t)handle, &s, sizeof s, 0) == (ssize_t)sizeof s;
	if (!read || memcmp(s.magic, MAGIC, sizeof MAGIC)) return CUDA_ERROR_INVALID_VALUE;
	struct gpu *g = gpu_physical(s.card);
	int ordinal = g ? gpu_ordinal(g) : -1; /* this process may not see it, and maps its memory all the same */
	if (ordinal < 0) ordinal = current_device();
	*h = physical_add((struct physical){ .size = s.size, .ordinal = ordinal, .kind = (enum physical_kind)s.kind });
	return *h ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *p, CUmemGenericAllocationHandle h) {
	struct physical m;
	if (!p || !physical_find(h, &m)) return CUDA_ERROR_INVALID_VALUE;
	memset(p, 0, sizeof *p);
	p->type = 1; /* CU_MEM_ALLOCATION_TYPE_PINNED */
	p->requestedHandleTypes = DESCRIPTOR;
	p->location.type = 1; /* CU_MEM_LOCATION_TYPE_DEVICE */
	p->location.id = m.ordinal;
	return CUDA_SUCCESS;
}

/* ---- multicast ---- */

static bool multicasts(CUmemGenericAllocationHandle h, struct physical *out) {
	return physical_find(h, out) && out->kind == MULTICASTS;
}
static bool possible(void) {
	const struct gpu *g = current_gpu();
	if (g && g->multicast) return true;
	note_refused(CUDA_DRIVER, "cuMulticastCreate on a device without NVLink SHARP");
	return false;
}

API CUresult cuMulticastGetGranularity(size_t *size, const CUmulticastObjectProp *p,
	CUmulticastGranularity_flags option UNUSED) {
	if (!size || !p) return CUDA_ERROR_INVALID_VALUE;
	*size = GRANULARITY; /* of the least; what is recommended is more on some machines */
	return CUDA_SUCCESS;
}
API CUresult cuMulticastCreate(CUmemGenericAllocationHandle *h, const CUmulticastObjectProp *p) {
	if (!h || !p || !p->numDevices || !p->size || p->size % GRANULARITY) return CUDA_ERROR_INVALID_VALUE;
	if (!possible()) return CUDA_ERROR_NOT_SUPPORTED;
	*h = physical_add((struct physical){ .size = p->size, .ordinal = current_device(), .kind = MULTICASTS });
	return *h ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
API CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle h, CUdevice d) {
	struct physical m;
	return multicasts(h, &m) && gpu_at(d) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
static bool fits(size_t at, size_t n, size_t of) {
	return n && at <= of && n <= of - at && !(at % GRANULARITY) && !(n % GRANULARITY);
}
API CUresult cuMulticastBindMem(CUmemGenericAllocationHandle h, size_t at, CUmemGenericAllocationHandle memory,
	size_t from, size_t n, unsigned long long flags) {
	struct physical to, m;
	bool right = !flags && multicasts(h, &to) && physical_find(memory, &m) && m.kind != MULTICASTS;
	return right && fits(at, n, to.size) && fits(from, n, m.size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle h, size_t at, CUdeviceptr p, size_t n,
	unsigned long long flags) {
	struct physical to;
	bool right = !flags && multicasts(h, &to) && fits(at, n, to.size) && range_holds((void *)(uintptr_t)p, n);
	return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API CUresult cuMulticastUnbind(CUmemGenericAllocationHandle h, CUdevice d, size_t at, size_t n) {
	struct physical m;
	return multicasts(h, &m) && gpu_at(d) && fits(at, n, m.size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* A file that stands for the multicast object of an absent rank (../absent/symmetric.py); -1 without one. */
API int memspec_pretend_multicast(size_t size) {
	struct gpu *g = current_gpu();
	struct shared s = { MAGIC, MULTICASTS, g ? gpu_index(g) : 0, size };
	return file_of(&s);
}

/* ---- signals between cards ---- */

API CUresult cuStreamWriteValue32_v2(CUstream s, CUdeviceptr p, cuuint32_t value, unsigned int flags UNUSED) {
	return (CUresult)device_set((void *)(uintptr_t)p, &value, sizeof value, 1, s);
}
#ifndef PUBLIC_HEADERS /* the first form's name is a macro there. PyTorch before 2.9 asks for it. */
API CUresult cuStreamWriteValue32(CUstream s, CUdeviceptr p, cuuint32_t value, unsigned int flags) {
	return cuStreamWriteValue32_v2(s, p, value, flags);
}
#endif
