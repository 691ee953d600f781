/* The CUDA runtime's kernels: registered, asked about, launched into nothing. */
#include "pretend.h"

#include <stdlib.h>
#include <string.h>

/* ---- what nvcc's host code calls (crt/host_runtime.h, which is not a public interface and is kept
   over releases) ---- */

API void **__cudaRegisterFatBinary(void *fat_binary) { return image_register(fat_binary); }
API void __cudaRegisterFatBinaryEnd(void **module UNUSED) {}
API void __cudaUnregisterFatBinary(void **module) { image_unregister(module); }
API char __cudaInitModule(void **module UNUSED) { return 0; }
API void __cudaRegisterFunction(void **module, const char *host, char *device UNUSED, const char *name UNUSED,
	int limit UNUSED,
	uint3 *thread UNUSED, uint3 *block UNUSED, dim3 *block_size UNUSED, dim3 *grid UNUSED, int *warp UNUSED) {
		image_add_kernel(module, host);
	}
API void __cudaRegisterVar(void **module UNUSED, char *host UNUSED, char *device UNUSED, const char *name UNUSED,
	int is_extern UNUSED,
	size_t size UNUSED, int is_constant UNUSED, int is_global UNUSED) {}
API void __cudaRegisterManagedVar(void **module UNUSED, void **host UNUSED, char *device UNUSED,
	const char *name UNUSED, int is_extern UNUSED,
	size_t size UNUSED, int is_constant UNUSED, int is_global UNUSED) {}

/* kernel<<<grid, block, shared, stream>>> pushes, and its stub pops. */
static __thread struct {
	dim3 grid, block;
	size_t shared;
	struct CUstream_st *stream;
} configuration;

API unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream) {
	configuration.grid = grid;
	configuration.block = block;
	configuration.shared = shared;
	configuration.stream = stream;
	return 0;
}
API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
	*grid = configuration.grid;
	*block = configuration.block;
	*shared = configuration.shared;
	memcpy(stream, &configuration.stream, sizeof configuration.stream);
	return cudaSuccess;
}
API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host) {
	memcpy(kernel, &host, sizeof host);
	return cudaSuccess;
}

/* ---- launches ---- */

bool launch_fits(dim3 grid, dim3 block) {
	uint64_t threads = (uint64_t)block.x * block.y * block.z;
	if (!threads || threads > 1024 || block.z > 64) return false;
	return grid.x && grid.y && grid.z && grid.y <= 65535 && grid.z <= 65535;
}

static cudaError_t launch(const void *f, dim3 grid, dim3 block, size_t shared, cudaStream_t s) {
	const struct gpu *g = current_gpu();
	if (!g) return fail(cudaErrorNoDevice);
	if (!launch_fits(grid, block)) return fail(cudaErrorInvalidConfiguration);
	if (shared > g->shared_optin) return fail(cudaErrorInvalidValue);
	if (!kernel_is_for(f, g)) return fail(cudaErrorNoKernelImageForDevice);
	kernel_ran();
	capture_node(s);
	bytes_after_launch(f);
	return cudaSuccess;
}

API cudaError_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **arguments UNUSED, size_t shared,
	cudaStream_t s) {
	return launch(f, grid, block, shared, s);
}
API cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 grid, dim3 block, void **arguments UNUSED, size_t shared,
	cudaStream_t s) {
	return launch(k, grid, block, shared, s);
}
API cudaError_t cudaLaunchCooperativeKernel(const void *f, dim3 grid, dim3 block, void **arguments UNUSED,
	size_t shared, cudaStream_t s) {
	return launch(f, grid, block, shared, s);
}
API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *f, void **arguments UNUSED) {
	return launch(f, c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream);
}

/* ---- what is asked about a kernel ---- */

/* The architectures decide (CUB chooses its policy, and so its temporaries, by them); registers are
   not read from the kernels. */
API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *f) {
	const struct gpu *g = current_gpu();
	if (!g) return fail(cudaErrorNoDevice);
	if (!kernel_is_for(f, g)) return fail(cudaErrorNoKernelImageForDevice);
	memset(out, 0, sizeof *out);
	out->maxThreadsPerBlock = 1024;
	out->numRegs = 32;
	out->ptxVersion = out->binaryVersion = g->kernels;
	out->maxDynamicSharedSizeBytes = (int)g->shared_per_block;
	return cudaSuccess;
}
API cudaError_t cudaFuncSetAttribute(const void *f UNUSED, function_attribute a, int value) {
	const struct gpu *g = current_gpu();
	if (!g) return fail(cudaErrorNoDevice);
	if (a == cudaFuncAttributeMaxDynamicSharedMemorySize && (value < 0 || (size_t)value > g->shared_optin))
		return fail(cudaErrorInvalidValue);
	return cudaSuccess;
}
API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t k, function_attribute a, int value, int ordinal UNUSED) {
	return cudaFuncSetAttribute(k, a, value);
}
API cudaError_t cudaFuncSetCacheConfig(const void *f UNUSED, function_cache c UNUSED) { return cudaSuccess; }
API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *f UNUSED, int threads,
	size_t shared, unsigned int flags UNUSED) {
	const struct gpu *g = current_gpu();
	if (!g) return fail(cudaErrorNoDevice);
	*n = gpu_occupancy(g, threads, shared);
	return cudaSuccess;
}
API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *f, int threads, size_t shared) {
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, f, threads, shared, 0);
}

API cudaError_t cudaGetSymbolAddress(void **p, const void *symbol UNUSED) {
	*p = kernel_variable(NULL);
	return cudaSuccess;
}

/* ---- libraries of kernels that are loaded at run time ---- */

static cudaError_t token(void *place) { return handle_make(place) ? cudaSuccess : fail(cudaErrorMemoryAllocation); }
API cudaError_t cudaLibraryLoadData(cudaLibrary_t *out, const void *code, jit_option *jit UNUSED,
	void **jit_values UNUSED, unsigned int jit_count UNUSED,
	library_option *options UNUSED, void **values UNUSED, unsigned int count UNUSED) {
	CUresult e = image_load(code);
	return e ? fail((cudaError_t)e) : token(out); /* the numbers of the runtime are the driver's */
}
API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *out, const char *path, jit_option *jit UNUSED,
	void **jit_values UNUSED,
	unsigned int jit_count UNUSED, library_option *options UNUSED, void **values UNUSED, unsigned int count UNUSED) {
	CUresult e = image_load_file(path);
	return e ? fail((cudaError_t)e) : token(out);
}
API cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
	free(library);
	return cudaSuccess;
}
API cudaError_t cudaLibraryGetKernel(cudaKernel_t *out, cudaLibrary_t library, const char *name UNUSED) {
	/* lives as long as its library */
	memcpy(out, &library, sizeof library);
	return cudaSuccess;
}
