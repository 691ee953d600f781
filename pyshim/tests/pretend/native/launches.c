/* What is asked about kernels, how they are found and launched, and the functions of cuBLAS and
   cuFFT that only have to succeed. */
#include "unit.h"

CUresult cuModuleLoadData(CUmodule *, const void *), cuModuleLoadDataEx(CUmodule *, const void *, unsigned, void *,
	void **), cuModuleUnload(CUmodule), cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *), cuFuncGetModule(CUmodule *, CUfunction),
	cuKernelGetFunction(CUfunction *, CUkernel), cuLibraryGetKernel(CUkernel *, CUlibrary, const char *);
CUresult cuLinkCreate(unsigned, void *, void **, CUlinkState *), cuLinkComplete(CUlinkState, void **, size_t *),
	cuLinkDestroy(CUlinkState);
CUresult cuFuncGetAttribute(int *, int, CUfunction), cuFuncSetAttribute(CUfunction, int, int),
	cuKernelGetAttribute(int *, int, CUkernel, CUdevice), cuKernelSetAttribute(int, int, CUkernel, CUdevice);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, CUfunction, int, size_t),
	cuOccupancyMaxActiveClusters(int *, CUfunction, const CUlaunchConfig *),
	cuOccupancyMaxPotentialClusterSize(int *, CUfunction, const CUlaunchConfig *), cuTensorMapEncodeTiled(void *);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, cudaStream_t);
cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *), __cudaGetKernel(cudaKernel_t *, const void *),
	__cudaLaunchKernel(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t),
	cudaLaunchKernelExC(const cudaLaunchConfig_t *, const void *, void **);
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, int, int, int),
	cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
cudaError_t cudaLibraryLoadData(cudaLibrary_t *, const void *, void *, void **, unsigned, void *, void **, unsigned),
	cudaLibraryUnload(cudaLibrary_t), cudaLibraryGetKernel(cudaKernel_t *, cudaLibrary_t, const char *);
int cublasCreate_v2(void **), cublasDestroy_v2(void *), cublasSetStream_v2(void *, cudaStream_t),
	cublasGetStream_v2(void *, cudaStream_t *), cublasSetMathMode(void *, int), cublasGetMathMode(void *, int *),
	cublasSetPointerMode_v2(void *, int), cublasGetPointerMode_v2(void *, int *);
int cublasLtCreate(void **), cublasLtDestroy(void *), cublasLtMatmulDescCreate(void **),
	cublasLtMatmulDescDestroy(void *);
int cublasLtMatmulAlgoGetHeuristic(void *, void *, void *, void *, void *, void *, void *, int,
	cublasLtMatmulHeuristicResult_t *, int *);
int cublasLtMatmulAlgoCheck(void *, void *, void *, void *, void *, void *, const void *,
	cublasLtMatmulHeuristicResult_t *), cublasLtMatmulAlgoConfigGetAttribute(const void *, int, void *, size_t, size_t *);
int cublasSgeqrfBatched(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, int *),
	cublasZgelsBatched(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
	int *);
int cufftCreate(int *), cufftDestroy(int), cufftSetStream(int, cudaStream_t), cufftSetAutoAllocation(int, int),
	cufftSetWorkArea(int, void *), cufftXtExec(int, void *, void *, int);

static const dim3 one = { 1, 1, 1 };

static size_t captured(cudaStream_t s) {
	cudaGraph_t g;
	size_t n = 0;
	SUCCEEDS(cudaStreamEndCapture(s, &g));
	SUCCEEDS(cudaGraphGetNodes(g, NULL, &n));
	SUCCEEDS(cudaGraphDestroy(g));
	return n;
}

/* A launch in each of its forms is one. */
static void forms(cudaStream_t s) {
	dim3 grid = { 2, 3, 4 }, block = { 5, 6, 7 };
	size_t shared = 0;
	cudaStream_t stream = NULL;
	cudaKernel_t k;
	CHECK(__cudaPushCallConfiguration(grid, block, 8, s) == 0);
	memset(&grid, 0, sizeof grid), memset(&block, 0, sizeof block);
	SUCCEEDS(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
	CHECK(grid.x == 2 && grid.y == 3 && grid.z == 4 && block.x == 5 && block.y == 6 && block.z == 7);
	CHECK(shared == 8 && stream == s);
	SUCCEEDS(__cudaGetKernel(&k, forms));
	CHECK((void *)k == (void *)forms);
	cudaLaunchConfig_t c = { .gridDim = one, .blockDim = one, .stream = s };
	SUCCEEDS(cudaStreamBeginCapture(s, 0));
	SUCCEEDS(__cudaLaunchKernel(k, one, one, NULL, 0, s));
	SUCCEEDS(cudaLaunchCooperativeKernel(forms, one, one, NULL, 0, s));
	SUCCEEDS(cudaLaunchKernelExC(&c, forms, NULL));
	c.dynamicSmemBytes = 65537;
	CHECK(cudaLaunchKernelExC(&c, forms, NULL) == cudaErrorInvalidValue && captured(s) == 3);
}

static void about_kernels(void) {
	struct cudaFuncAttributes f;
	int n;
	memset(&f, 0xa5, sizeof f);
	SUCCEEDS(cudaFuncGetAttributes(&f, forms));
	CHECK(f.maxThreadsPerBlock == 1024 && f.numRegs == 32 && f.maxDynamicSharedSizeBytes == 49152);
	CHECK(f.sharedSizeBytes == 0 && f.localSizeBytes == 0 && f.ptxVersion == 75);
	enum { SHARED = cudaFuncAttributeMaxDynamicSharedMemorySize, CARVEOUT = 9 };
	for (int i = 0; i < 3; i++) {
		static const int values[] = { 65536, 65537, -1 };
		int wanted = i ? 1 : 0; /* too much, by the number of both interfaces */
		CHECK((int)cudaFuncSetAttribute(forms, SHARED, values[i]) == wanted);
		CHECK((int)cudaKernelSetAttributeForDevice(NULL, SHARED, values[i], 0) == wanted);
		CHECK((int)cuFuncSetAttribute(NULL, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, values[i]) == wanted);
		CHECK((int)cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, values[i], NULL, 0) == wanted);
		SUCCEEDS(cudaFuncSetAttribute(forms, CARVEOUT, values[i]));
		SUCCEEDS(cuFuncSetAttribute(NULL, CARVEOUT, values[i]));
	}
	static const int rows[][2] = { { CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024 }, { CU_FUNC_ATTRIBUTE_NUM_REGS, 32 },
		{ CU_FUNC_ATTRIBUTE_PTX_VERSION, 75 }, { CU_FUNC_ATTRIBUTE_BINARY_VERSION, 75 }, { 3, 0 } };
	for (int i = 0; i < 5; i++) {
		n = -1;
		SUCCEEDS(cuFuncGetAttribute(&n, rows[i][0], NULL));
		CHECK(n == rows[i][1]);
		n = -1;
		SUCCEEDS(cuKernelGetAttribute(&n, rows[i][0], NULL, 0));
		CHECK(n == rows[i][1]);
	}
	SUCCEEDS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, NULL, 64, 8193));
	CHECK(n == 7);
	SUCCEEDS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, forms, 64, 8193));
	CHECK(n == 7);
	SUCCEEDS(cuOccupancyMaxActiveClusters(&n, NULL, NULL));
	CHECK(n == 1);
	n = 0;
	SUCCEEDS(cuOccupancyMaxPotentialClusterSize(&n, NULL, NULL));
	CHECK(n == 1);
	char map[129];
	memset(map, 7, sizeof map);
	SUCCEEDS(cuTensorMapEncodeTiled(map));
	for (int i = 0; i < 128; i++) CHECK(!map[i]);
	CHECK(map[128] == 7);
}

/* Handles that stand for nothing: each another, and what is found in one leads back to it. */
static void handles(void) {
	CUmodule a, b, back;
	CUfunction f;
	CUdeviceptr variable;
	CUkernel k;
	CUlinkState link;
	cudaLibrary_t library;
	cudaKernel_t kernel;
	void *image = NULL;
	size_t size = 0;
	SUCCEEDS(cuModuleLoadData(&a, NULL));
	SUCCEEDS(cuModuleLoadDataEx(&b, NULL, 0, NULL, NULL));
	CHECK(a && b && a != b);
	SUCCEEDS(cuModuleGetFunction(&f, b, "f"));
	SUCCEEDS(cuFuncGetModule(&back, f));
	CHECK(back == b);
	SUCCEEDS(cuModuleGetGlobal_v2(&variable, &size, a, "x"));
	CHECK(size == 65536 && range_holds((void *)(uintptr_t)variable, size));
	SUCCEEDS(cuLibraryGetKernel(&k, (CUlibrary)a, "f"));
	SUCCEEDS(cuKernelGetFunction(&f, k));
	CHECK((void *)f == (void *)a);
	SUCCEEDS(cuModuleUnload(a));
	SUCCEEDS(cuModuleUnload(b));
	SUCCEEDS(cudaLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
	SUCCEEDS(cudaLibraryGetKernel(&kernel, library, "f"));
	CHECK((void *)kernel == (void *)library);
	SUCCEEDS(cudaLibraryUnload(library));
	SUCCEEDS(cuLinkCreate(0, NULL, NULL, &link));
	SUCCEEDS(cuLinkComplete(link, &image, &size));
	CHECK(image && size);
	SUCCEEDS(cuLinkDestroy(link));
}

static void of_cublas(cudaStream_t s) {
	void *h, *light, *description;
	cudaStream_t stream = s;
	int n;
	SUCCEEDS(cublasCreate_v2(&h));
	SUCCEEDS(cublasGetStream_v2(h, &stream));
	CHECK(!stream);
	SUCCEEDS(cublasSetStream_v2(h, s));
	SUCCEEDS(cublasSetMathMode(h, 3));
	SUCCEEDS(cublasSetPointerMode_v2(h, 1));
	SUCCEEDS(cublasGetStream_v2(h, &stream));
	CHECK(stream == s);
	SUCCEEDS(cublasGetMathMode(h, &n));
	CHECK(n == 3);
	SUCCEEDS(cublasGetPointerMode_v2(h, &n));
	CHECK(n == 1);
	SUCCEEDS(cublasDestroy_v2(h));
	SUCCEEDS(cublasLtCreate(&light));
	SUCCEEDS(cublasLtMatmulDescCreate(&description));
	CHECK(light && description && light != description);
	cublasLtMatmulHeuristicResult_t found, zero;
	memset(&found, 0xa5, sizeof found), memset(&zero, 0, sizeof zero);
	zero.wavesCount = 1;
	SUCCEEDS(cublasLtMatmulAlgoGetHeuristic(light, description, NULL, NULL, NULL, NULL, NULL, 0, &found, &n));
	CHECK(n == 0 && memcmp(&found, &zero, sizeof zero));
	SUCCEEDS(cublasLtMatmulAlgoGetHeuristic(light, description, NULL, NULL, NULL, NULL, NULL, 3, &found, &n));
	CHECK(n == 1 && !memcmp(&found, &zero, sizeof zero));
	memset(&found, 0xa5, sizeof found);
	SUCCEEDS(cublasLtMatmulAlgoCheck(light, description, NULL, NULL, NULL, NULL, NULL, &found));
	CHECK(!memcmp(&found, &zero, sizeof zero));
	size_t wrote = 0;
	char bytes[5] = { 1, 1, 1, 1, 1 };
	SUCCEEDS(cublasLtMatmulAlgoConfigGetAttribute(NULL, 0, bytes, 4, &wrote));
	CHECK(wrote == 4 && !bytes[0] && !bytes[3] && bytes[4] == 1);
	SUCCEEDS(cublasLtMatmulAlgoConfigGetAttribute(NULL, 0, bytes, 4, NULL));
	SUCCEEDS(cublasLtMatmulDescDestroy(description));
	SUCCEEDS(cublasLtDestroy(light));
	n = 1;
	SUCCEEDS(cublasSgeqrfBatched(0, 0, 0, 0, 0, 0, &n));
	CHECK(n == 0);
	n = 1;
	SUCCEEDS(cublasZgelsBatched(0, 0, 0, 0, 0, 0, 0, 0, 0, &n));
	CHECK(n == 0);
}

static void of_cufft(cudaStream_t s) {
	enum { INVALID_PLAN = 1 };
	int a, b, again;
	SUCCEEDS(cufftCreate(&a));
	SUCCEEDS(cufftCreate(&b));
	CHECK(a > 0 && b > 0 && a != b);
	SUCCEEDS(cufftSetStream(b, s));
	SUCCEEDS(cudaStreamBeginCapture(s, 0));
	SUCCEEDS(cufftXtExec(a, NULL, NULL, 0)); /* in the default stream */
	SUCCEEDS(cufftXtExec(b, NULL, NULL, 0));
	CHECK(captured(s) == 1);
	SUCCEEDS(cufftSetAutoAllocation(b, 0));
	SUCCEEDS(cufftSetWorkArea(b, NULL));
	SUCCEEDS(cufftDestroy(b));
	CHECK(cufftDestroy(b) == INVALID_PLAN && cufftXtExec(b, NULL, NULL, 0) == INVALID_PLAN);
	CHECK(cufftSetStream(b, s) == INVALID_PLAN && cufftSetAutoAllocation(b, 0) == INVALID_PLAN);
	CHECK(cufftSetWorkArea(b, NULL) == INVALID_PLAN);
	CHECK(cufftDestroy(0) == INVALID_PLAN && cufftDestroy(-1) == INVALID_PLAN);
	SUCCEEDS(cufftCreate(&again)); /* a number that is free, without what was set of it */
	CHECK(again == b);
	SUCCEEDS(cudaStreamBeginCapture(s, 0));
	SUCCEEDS(cufftXtExec(again, NULL, NULL, 0));
	CHECK(captured(s) == 0);
	SUCCEEDS(cufftDestroy(again));
	SUCCEEDS(cufftDestroy(a));
}

void launches(void) {
	cudaStream_t s;
	SUCCEEDS(cudaStreamCreate(&s));
	forms(s);
	about_kernels();
	handles();
	of_cublas(s);
	of_cufft(s);
	SUCCEEDS(cudaStreamDestroy(s));
}
