/* The CUDA driver's modules, kernels and launches: for Triton, jiterator, and cuDNN's engines that
   are compiled at run time. */
#include "pretend.h"

#include <stdlib.h>
#include <string.h>

static CUresult token(void *place) { return handle_make(place) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY; }

/* A function is its module, and so is a kernel its library: there is nothing to distinguish them by. */
API CUresult cuModuleLoadData(CUmodule *m, const void *image) {
	CUresult e = image_load(image);
	return e ? e : token(m);
}
API CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned int n UNUSED, CUjit_option *options UNUSED,
	void **values UNUSED) {
	return cuModuleLoadData(m, image);
}
API CUresult cuModuleLoadFatBinary(CUmodule *m, const void *image) { return cuModuleLoadData(m, image); }
API CUresult cuModuleLoad(CUmodule *m, const char *path) {
	CUresult e = image_load_file(path);
	return e ? e : token(m);
}
API CUresult cuModuleUnload(CUmodule m) {
	free(m);
	return CUDA_SUCCESS;
}
API CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name UNUSED) {
	memcpy(f, &m, sizeof m);
	return CUDA_SUCCESS;
}
API CUresult cuModuleGetGlobal_v2(CUdeviceptr *p, size_t *size, CUmodule m UNUSED, const char *name UNUSED) {
	*p = (uintptr_t)kernel_variable(size);
	return CUDA_SUCCESS;
}
API CUresult cuLibraryLoadData(CUlibrary *l, const void *code, CUjit_option *jit UNUSED, void **jit_values UNUSED,
	unsigned int jit_count UNUSED,
	CUlibraryOption *options UNUSED, void **values UNUSED, unsigned int count UNUSED) {
	CUresult e = image_load(code);
	return e ? e : token(l);
}
API CUresult cuLibraryLoadFromFile(CUlibrary *l, const char *path, CUjit_option *jit UNUSED, void **jit_values UNUSED,
	unsigned int jit_count UNUSED,
	CUlibraryOption *options UNUSED, void **values UNUSED, unsigned int count UNUSED) {
	CUresult e = image_load_file(path);
	return e ? e : token(l);
}
API CUresult cuLibraryUnload(CUlibrary l) {
	free(l);
	return CUDA_SUCCESS;
}
API CUresult cuLibraryGetKernel(CUkernel *k, CUlibrary l, const char *name UNUSED) {
	memcpy(k, &l, sizeof l);
	return CUDA_SUCCESS;
}
API CUresult cuKernelGetFunction(CUfunction *f, CUkernel k) {
	memcpy(f, &k, sizeof k);
	return CUDA_SUCCESS;
}
API CUresult cuFuncGetModule(CUmodule *m, CUfunction f) {
	memcpy(m, &f, sizeof f);
	return CUDA_SUCCESS;
}

/* Linking makes an image that nobody reads. */
API CUresult cuLinkCreate_v2(unsigned int n UNUSED, CUjit_option *options UNUSED, void **values UNUSED, CUlinkState *l)
	{ return token(l); }
API CUresult cuLinkAddData_v2(CUlinkState l UNUSED, CUjitInputType type UNUSED, void *data UNUSED, size_t size UNUSED,
	const char *name UNUSED, unsigned int n UNUSED,
	CUjit_option *options UNUSED, void **values UNUSED) { return CUDA_SUCCESS; }
#ifndef PUBLIC_HEADERS /* as in driver.c */
API CUresult cuLinkCreate(unsigned int n UNUSED, CUjit_option *options UNUSED, void **values UNUSED, CUlinkState *l) {
	return token(l);
}
API CUresult cuLinkAddData(CUlinkState l UNUSED, CUjitInputType type UNUSED, void *data UNUSED, size_t size UNUSED,
	const char *name UNUSED, unsigned int n UNUSED,
	CUjit_option *options UNUSED, void **values UNUSED) { return CUDA_SUCCESS; }
#endif
API CUresult cuLinkComplete(CUlinkState l UNUSED, void **image, size_t *size) {
	static char empty[16];
	*image = empty;
	*size = sizeof empty;
	return CUDA_SUCCESS;
}
API CUresult cuLinkDestroy(CUlinkState l) {
	free(l);
	return CUDA_SUCCESS;
}

/* ---- what is asked about a kernel ---- */

API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction f UNUSED) {
	const struct gpu *g = current_gpu();
	if (!g) return CUDA_ERROR_NOT_INITIALIZED;
	switch ((int)a) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = g->kernels; break;
	default: *value = 0;
	}
	return CUDA_SUCCESS;
}
API CUresult cuFuncSetAttribute(CUfunction f UNUSED, CUfunction_attribute a, int value) {
	const struct gpu *g = current_gpu();
	if (!g) return CUDA_ERROR_NOT_INITIALIZED;
	bool too_much = (int)a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
		(value < 0 || (size_t)value > g->shared_optin);
	return too_much ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
API CUresult cuFuncSetCacheConfig(CUfunction f UNUSED, CUfunc_cache c UNUSED) { return CUDA_SUCCESS; }
API CUresult cuKernelGetAttribute(int *value, CUfunction_attribute a, CUkernel k UNUSED, CUdevice d UNUSED) {
	return cuFuncGetAttribute(value, a, NULL);
}
API CUresult cuKernelSetAttribute(CUfunction_attribute a, int value, CUkernel k UNUSED, CUdevice d UNUSED) {
	return cuFuncSetAttribute(NULL, a, value);
}
API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f UNUSED, int threads, size_t shared) {
	const struct gpu *g = current_gpu();
	if (!g) return CUDA_ERROR_NOT_INITIALIZED;
	*n = gpu_occupancy(g, threads, shared);
	return CUDA_SUCCESS;
}
API CUresult cuOccupancyMaxActiveClusters(int *n, CUfunction f UNUSED, const CUlaunchConfig *c UNUSED) {
	*n = 1;
	return CUDA_SUCCESS;
}
API CUresult cuOccupancyMaxPotentialClusterSize(int *n, CUfunction f UNUSED, const CUlaunchConfig *c UNUSED) {
	*n = 1;
	return CUDA_SUCCESS;
}

/* A descriptor of a tensor for the tensor memory accelerator: 128 bytes that kernels alone read. */
API CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type UNUSED, cuuint32_t rank UNUSED,
	void *p UNUSED, const cuuint64_t *sizes UNUSED,
	const cuuint64_t *strides UNUSED, const cuuint32_t *box UNUSED, const cuuint32_t *steps UNUSED,
	CUtensorMapInterleave interleave UNUSED,
	CUtensorMapSwizzle swizzle UNUSED, CUtensorMapL2promotion promotion UNUSED, CUtensorMapFloatOOBfill fill UNUSED) {
	memset(map, 0, sizeof *map);
	return CUDA_SUCCESS;
}

/* ---- launches ---- */

static CUresult launch(dim3 grid, dim3 block, size_t shared, CUstream s) {
	const struct gpu *g = current_gpu();
	if (!g) return CUDA_ERROR_NOT_INITIALIZED;
	if (!launch_fits(grid, block) || shared > g->shared_optin) return CUDA_ERROR_INVALID_VALUE;
	kernel_ran();
	capture_node(s);
	bytes_after_launch(NULL);
	return CUDA_SUCCESS;
}
API CUresult cuLaunchKernel(CUfunction f UNUSED, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
	unsigned int by, unsigned int bz, unsigned int shared, CUstream s, void **arguments UNUSED, void **extra UNUSED) {
	return launch((dim3){ gx, gy, gz }, (dim3){ bx, by, bz }, shared, s);
}
API CUresult cuLaunchCooperativeKernel(CUfunction f UNUSED, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream s, void **arguments UNUSED) {
	return launch((dim3){ gx, gy, gz }, (dim3){ bx, by, bz }, shared, s);
}
API CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f UNUSED, void **arguments UNUSED,
	void **extra UNUSED) {
	return launch((dim3){ c->gridDimX, c->gridDimY, c->gridDimZ }, (dim3){ c->blockDimX, c->blockDimY, c->blockDimZ },
		c->sharedMemBytes, c->hStream);
}
