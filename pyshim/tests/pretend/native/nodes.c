/* What a stream that captures does with each call: it counts a node, does nothing, and what the
   call would have written is not known. */
#include "unit.h"

CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
	void **, void **), cuLaunchKernelEx(const CUlaunchConfig *, CUfunction, void **, void **);
CUresult cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
	CUstream, void **);

enum { INT8, SUM = 0 };
static cudaStream_t stream;
static char *at;

static void capture(void) { SUCCEEDS(cudaStreamBeginCapture(stream, 0)); }
static size_t captured(void) {
	cudaGraph_t g;
	size_t nodes = 0;
	SUCCEEDS(cudaStreamEndCapture(stream, &g));
	SUCCEEDS(cudaGraphGetNodes(g, NULL, &nodes));
	SUCCEEDS(cudaGraphDestroy(g));
	return nodes;
}

/* Bytes 0 to 15 are known before; whether they and their values are as they were. */
static void known(void) {
	SUCCEEDS(cudaMemset(at, 7, 64));
	CHECK(bytes_value(at, 16) == KNOWN);
}
static bool unchanged(void) {
	for (int i = 0; i < 16; i++)
		if (at[i] != 7) return false;
	return true;
}

void nodes(void) {
	dim3 one = { 1, 1, 1 };
	void *more;
	ncclComm_t two;
	memspec_pretend_track(1, 0);
	SUCCEEDS(cudaStreamCreate(&stream));
	SUCCEEDS(cudaMalloc((void **)&at, 4096));
	SUCCEEDS(ncclCommInitRank(&two, 2, (ncclUniqueId){ { 0 } }, 0));

	known(), capture();
	SUCCEEDS(cudaMemsetAsync(at, 1, 16, stream));
	CHECK(captured() == 1 && unchanged() && bytes_value(at, 16) == UNKNOWN && bytes_value(at + 16, 48) == KNOWN);
	known(), capture();
	SUCCEEDS(cudaMemcpyAsync(at, at + 512, 16, 3, stream));
	CHECK(captured() == 1 && unchanged() && bytes_value(at, 16) == UNKNOWN && bytes_value(at + 16, 48) == KNOWN);
	known(), capture();
	SUCCEEDS(cudaMemcpy2DAsync(at, 32, at + 512, 32, 8, 2, 3, stream));
	CHECK(captured() == 2 && bytes_value(at, 8) == UNKNOWN && bytes_value(at + 32, 8) == UNKNOWN &&
		bytes_value(at + 8, 24) == KNOWN);
	known(), capture();
	SUCCEEDS(cuMemsetD32Async((CUdeviceptr)at, 1, 4, (CUstream)stream));
	CHECK(captured() == 1 && unchanged() && bytes_value(at, 16) == UNKNOWN && bytes_value(at + 16, 48) == KNOWN);
	capture();
	SUCCEEDS(cudaMallocAsync(&more, 512, stream));
	SUCCEEDS(cudaFreeAsync(more, stream));
	CHECK(captured() == 2);
	capture();
	SUCCEEDS(cudaLaunchKernel(nodes, one, one, NULL, 0, stream));
	/* is none */
	CHECK(cudaLaunchKernel(nodes, one, (dim3){ 1025, 1, 1 }, NULL, 0, stream) == cudaErrorInvalidConfiguration);
	CHECK(captured() == 1);
	capture();
	SUCCEEDS(ncclAllReduce(at, at + 512, 16, INT8, SUM, two, stream));
	SUCCEEDS(ncclAllGather(at, at + 512, 16, INT8, two, stream));
	SUCCEEDS(ncclReduceScatter(at, at + 512, 16, INT8, SUM, two, stream));
	SUCCEEDS(ncclBroadcast(at, at, 16, INT8, 0, two, stream));
	SUCCEEDS(ncclBroadcast(at, at, 16, INT8, 1, two, stream));
	SUCCEEDS(ncclSend(at, 16, INT8, 1, two, stream));
	SUCCEEDS(ncclRecv(at, 16, INT8, 1, two, stream));
	CHECK(captured() == 7);

	/* Without a capture each is done at once. */
	known();
	SUCCEEDS(cudaMemsetAsync(at, 1, 16, stream));
	CHECK(bytes_value(at, 16) == KNOWN && at[0] == 1 && at[15] == 1 && at[16] == 7);
	SUCCEEDS(cudaMemcpyAsync(at, at + 16, 16, 3, stream));
	CHECK(bytes_value(at, 16) == KNOWN && unchanged());

	/* A grid and a block that cards have not. */
	static const struct {
		dim3 grid, block;
		bool fits;
	} shapes[] = {
		{ { 1, 1, 1 }, { 1024, 1, 1 }, true }, { { 1, 1, 1 }, { 32, 32, 2 }, false }, { { 1, 1, 1 }, { 1, 1, 64 }, true },
		{ { 1, 1, 1 }, { 1, 1, 65 }, false },
		{ { 70000, 65535, 65535 }, { 1, 1, 1 }, true }, { { 1, 65536, 1 }, { 1, 1, 1 }, false },
		{ { 1, 1, 65536 }, { 1, 1, 1 }, false },
		{ { 0, 1, 1 }, { 1, 1, 1 }, false }, { { 1, 0, 1 }, { 1, 1, 1 }, false }, { { 1, 1, 0 }, { 1, 1, 1 }, false },
		{ { 1, 1, 1 }, { 0, 1, 1 }, false },
		{ { 1, 1, 1 }, { 1, 0, 1 }, false }, { { 1, 1, 1 }, { 1, 1, 0 }, false },
	};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		cudaError_t e = cudaLaunchKernel(nodes, shapes[i].grid, shapes[i].block, NULL, 0, stream);
		CHECK(e == (shapes[i].fits ? cudaSuccess : cudaErrorInvalidConfiguration));
	}
	CHECK(cudaLaunchKernel(nodes, one, one, NULL, 65536, stream) == cudaSuccess); /* T4's shared memory */
	CHECK(cudaLaunchKernel(nodes, one, one, NULL, 65537, stream) == cudaErrorInvalidValue);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) { /* the driver's say so in another way */
		dim3 g = shapes[i].grid, b = shapes[i].block;
		int wanted = shapes[i].fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
		CUlaunchConfig c = { g.x, g.y, g.z, b.x, b.y, b.z, 0, (CUstream)stream, NULL, 0 };
		CHECK(cuLaunchKernel(NULL, g.x, g.y, g.z, b.x, b.y, b.z, 0, (CUstream)stream, NULL, NULL) == wanted);
		CHECK(cuLaunchCooperativeKernel(NULL, g.x, g.y, g.z, b.x, b.y, b.z, 0, (CUstream)stream, NULL) == wanted);
		CHECK(cuLaunchKernelEx(&c, NULL, NULL, NULL) == wanted);
	}
	SUCCEEDS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 65536, NULL, NULL, NULL));
	CHECK(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 65537, NULL, NULL, NULL) == CUDA_ERROR_INVALID_VALUE);
	capture();
	SUCCEEDS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, (CUstream)stream, NULL, NULL));
	CHECK(captured() == 1);
	known();
	SUCCEEDS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, (CUstream)stream, NULL, NULL));
	CHECK(bytes_value(at, 16) == UNKNOWN); /* it may have written anywhere */

	SUCCEEDS(ncclCommDestroy(two));
	SUCCEEDS(cudaFree(at));
	SUCCEEDS(cudaStreamDestroy(stream));
}
