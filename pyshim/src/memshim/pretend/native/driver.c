/* The CUDA driver: devices, contexts, errors, and its functions by name. PyTorch asks for some by
   name; Triton, NVRTC's users, cuDNN's engines and every copy of the CUDA runtime that is linked
   statically load libcuda.so.1, which is this library's own name. */
#include "pretend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

API CUresult cuInit(unsigned int flags UNUSED) { return gpu_count() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE; }
API CUresult cuDriverGetVersion(int *version) {
	*version = runtime_version();
	return CUDA_SUCCESS;
}
static const struct {
	CUresult e;
	const char *name, *text;
} errors[] = {
	{ CUDA_SUCCESS, "CUDA_SUCCESS", "no error" },
	{ CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
	"no kernel image is available for execution on the device" },
	{ CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported on a pretend GPU" },
};
static const size_t error_count = sizeof errors / sizeof *errors;

API CUresult cuGetErrorName(CUresult e, const char **text) {
	*text = "CUDA_ERROR";
	for (size_t i = 0; i < error_count; i++)
		if (errors[i].e == e) *text = errors[i].name;
	return CUDA_SUCCESS;
}
API CUresult cuGetErrorString(CUresult e, const char **text) {
	*text = "an error of a pretend GPU";
	for (size_t i = 0; i < error_count; i++)
		if (errors[i].e == e) *text = errors[i].text;
	return CUDA_SUCCESS;
}

/* ---- devices ---- */

API CUresult cuDeviceGetCount(int *n) {
	*n = gpu_count();
	return CUDA_SUCCESS;
}
API CUresult cuDeviceGet(CUdevice *d, int ordinal) {
	if (!gpu_at(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
	*d = ordinal;
	return CUDA_SUCCESS;
}
API CUresult cuDeviceGetName(char *out, int size, CUdevice d) {
	const struct gpu *g = gpu_at(d);
	if (!g) return CUDA_ERROR_INVALID_DEVICE;
	if (size <= 0) return CUDA_ERROR_INVALID_VALUE;
	snprintf(out, (size_t)size, "%s", g->name);
	return CUDA_SUCCESS;
}
API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute a, CUdevice d) {
	const struct gpu *g = gpu_at(d);
	if (!g) return CUDA_ERROR_INVALID_DEVICE;
	*value = gpu_attribute(g, (int)a);
	return CUDA_SUCCESS;
}
API CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice d) {
	const struct gpu *g = gpu_at(d);
	if (!g) return CUDA_ERROR_INVALID_DEVICE;
	*n = g->memory;
	return CUDA_SUCCESS;
}
API CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice d) {
	const struct gpu *g = gpu_at(d);
	if (!g) return CUDA_ERROR_INVALID_DEVICE;
	gpu_uuid(g, out->bytes);
	return CUDA_SUCCESS;
}
/* there the first form's name is a macro for the second's. gorgonia.org/cu asks for the first. */
#ifndef PUBLIC_HEADERS
API CUresult cuDeviceGetUuid(CUuuid *out, CUdevice d) { return cuDeviceGetUuid_v2(out, d); }
#endif

/* ---- contexts: one a device, whose handle is the device's ordinal plus one ---- */

static CUcontext context_of(int ordinal) { return (CUcontext)(uintptr_t)(ordinal + 1); }

API CUresult cuDevicePrimaryCtxGetState(CUdevice d, unsigned int *flags, int *active) {
	const struct gpu *g = gpu_at(d);
	if (!g) return CUDA_ERROR_INVALID_DEVICE;
	if (flags) *flags = 0;
	*active = g->active;
	return CUDA_SUCCESS;
}
API CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
	struct gpu *g = gpu_at(d);
	if (!g) return CUDA_ERROR_INVALID_DEVICE;
	gpu_activate(g);
	*c = context_of(d);
	return CUDA_SUCCESS;
}
API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) { return gpu_at(d) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; }
API CUresult cuCtxGetCurrent(CUcontext *c) {
	const struct gpu *g = current_gpu();
	*c = g && g->active ? context_of(current_device()) : NULL;
	return CUDA_SUCCESS;
}
API CUresult cuCtxSetCurrent(CUcontext c) {
	int ordinal = (int)(uintptr_t)c - 1;
	if (!c) return CUDA_SUCCESS; /* the runtime's current device stays */
	struct gpu *g = gpu_at(ordinal);
	if (!g) return CUDA_ERROR_INVALID_CONTEXT;
	gpu_activate(g);
	set_current_device(ordinal);
	return CUDA_SUCCESS;
}
static __thread CUcontext below[16]; /* those under the current one */
static __thread int depth;
API CUresult cuCtxPushCurrent_v2(CUcontext c) {
	if (depth == sizeof below / sizeof *below) return CUDA_ERROR_INVALID_VALUE;
	cuCtxGetCurrent(&below[depth++]);
	return cuCtxSetCurrent(c);
}
API CUresult cuCtxPopCurrent_v2(CUcontext *c) {
	if (!depth) return CUDA_ERROR_INVALID_CONTEXT;
	if (c) cuCtxGetCurrent(c);
	return cuCtxSetCurrent(below[--depth]);
}
#ifndef PUBLIC_HEADERS /* there the first form's name is a macro for the second's. cuDNN's engines ask for the first. */
API CUresult cuCtxPushCurrent(CUcontext c) { return cuCtxPushCurrent_v2(c); }
API CUresult cuCtxPopCurrent(CUcontext *c) { return cuCtxPopCurrent_v2(c); }
#endif
API CUresult cuCtxGetDevice(CUdevice *d) {
	if (!current_gpu()) return CUDA_ERROR_INVALID_CONTEXT;
	*d = current_device();
	return CUDA_SUCCESS;
}
API CUresult cuCtxSynchronize(void) { return (CUresult)cudaDeviceSynchronize(); }
API CUresult cuCtxGetLimit(size_t *value, CUlimit limit UNUSED) {
	*value = 0;
	return CUDA_SUCCESS;
}
API CUresult cuCtxSetLimit(CUlimit limit UNUSED, size_t value UNUSED) { return CUDA_SUCCESS; }

/* The driver's log has no entries. */
API CUresult cuLogsRegisterCallback(log_callback f UNUSED, void *data UNUSED, log_handle *out) {
	if (out) *out = NULL;
	return CUDA_SUCCESS;
}
API CUresult cuLogsUnregisterCallback(log_handle h UNUSED) { return CUDA_SUCCESS; }

/* ---- streams ---- */

API CUresult cuStreamSynchronize(CUstream s) { return (CUresult)cudaStreamSynchronize(s); }
API CUresult cuStreamIsCapturing(CUstream s, driver_capture_status *status) {
	*status = stream_capturing(s) ? 1 : 0; /* CU_STREAM_CAPTURE_STATUS_ACTIVE */
	return CUDA_SUCCESS;
}
API CUresult cuStreamGetCtx(CUstream s UNUSED, CUcontext *c) { return cuCtxGetCurrent(c); }

/* ---- by name ---- */

/* A name without a version means the newest form of the function: _v3 before _v2 before none. All
   that this library has are exported. */
void *driver_function(const char *name) {
	static void *self;
	if (!self) {
		Dl_info here;
		if (dladdr(&self, &here)) self = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	}
	static const char *const forms[] = { "_v3", "_v2", "" };
	char symbol[128];
	void *f = NULL;
	for (size_t i = 0; self && !f && i < sizeof forms / sizeof *forms; i++) {
		snprintf(symbol, sizeof symbol, "%s%s", name, forms[i]);
		f = dlsym(self, symbol);
	}
	if (!f) note_absent(name);
	return f;
}

API CUresult cuGetProcAddress_v2(const char *name, void **f, int version UNUSED, uint64_t flags UNUSED,
	CUdriverProcAddressQueryResult *result) {
	*f = driver_function(name);
	if (result) *result = *f ? 0 : 1; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
	return *f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* Tables of functions that are no public interface: a CUDA runtime that is linked statically into a
   library wants them before it does anything. */
API CUresult cuGetExportTable(const void **table UNUSED, const CUuuid *id UNUSED) {
	note_absent("cuGetExportTable");
	return CUDA_ERROR_NOT_SUPPORTED;
}
