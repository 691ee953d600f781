/* What the tests of the library share: checks, and the calls that they make. */
#pragma once
#include "pretend.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: got false: %s\n", __FILE__, __LINE__, #x); \
			exit(1); \
		} \
	} while (0)
#define SUCCEEDS(call) CHECK((int)(call) == 0)

/* What the tests call; the runtime's own header declares them with other parameter types. */
cudaError_t cudaGetDeviceCount(int *), cudaSetDevice(int), cudaGetDevice(int *), cudaMalloc(void **, size_t),
	cudaFree(void *), cudaGetLastError(void), cudaPeekAtLastError(void);
cudaError_t cudaHostAlloc(void **, size_t, unsigned), cudaFreeHost(void *), cudaHostRegister(void *, size_t, unsigned),
	cudaHostUnregister(void *);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *, const void *), cudaMemcpy(void *, const void *,
	size_t, int), cudaMemset(void *, int, size_t);
cudaError_t cudaMemcpyAsync(void *, const void *, size_t, int, cudaStream_t), cudaMemsetAsync(void *, int, size_t,
	cudaStream_t);
cudaError_t cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, cudaStream_t);
cudaError_t cudaStreamCreate(cudaStream_t *), cudaStreamDestroy(cudaStream_t), cudaStreamBeginCapture(cudaStream_t,
	int), cudaStreamEndCapture(cudaStream_t, cudaGraph_t *);
cudaError_t cudaStreamIsCapturing(cudaStream_t, int *), cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned),
	cudaStreamQuery(cudaStream_t);
cudaError_t cudaEventCreate(cudaEvent_t *), cudaEventRecord(cudaEvent_t, cudaStream_t), cudaEventDestroy(cudaEvent_t),
	cudaEventQuery(cudaEvent_t);
cudaError_t cudaGraphGetNodes(cudaGraph_t, void *, size_t *), cudaGraphDestroy(cudaGraph_t),
	cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t), cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaUserObjectCreate(cudaUserObject_t *, void *, cudaHostFn_t, unsigned, unsigned),
	cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t, unsigned, unsigned), cudaUserObjectRelease(cudaUserObject_t,
	unsigned);
cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t),
	cudaFuncSetAttribute(const void *, int, int);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *, const void *), cudaIpcGetEventHandle(void),
	cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void *);
cudaError_t cudaMallocAsync(void **, size_t, cudaStream_t), cudaFreeAsync(void *, cudaStream_t),
	cudaMemPoolGetAttribute(cudaMemPool_t, int, void *);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *, int), cudaDeviceGetAttribute(int *, int, int);
const char *cudaGetErrorString(cudaError_t);
CUresult cuCtxGetCurrent(CUcontext *), cuCtxPushCurrent_v2(CUcontext), cuCtxPopCurrent_v2(CUcontext *),
	cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned *, int *), cuPointerGetAttribute(void *, int, CUdeviceptr);
CUresult cuMemExportToShareableHandle(void *, CUmemGenericAllocationHandle, int, unsigned long long);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *, void *, int),
	cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *, void *);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *, CUmemGenericAllocationHandle),
	cuStreamWriteValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned);
CUresult cuMulticastGetGranularity(size_t *, const CUmulticastObjectProp *, int),
	cuMulticastCreate(CUmemGenericAllocationHandle *, const CUmulticastObjectProp *);
CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle, CUdevice), cuMulticastUnbind(CUmemGenericAllocationHandle,
	CUdevice, size_t, size_t);
CUresult cuMulticastBindMem(CUmemGenericAllocationHandle, size_t, CUmemGenericAllocationHandle, size_t, size_t,
	unsigned long long);
CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle, size_t, CUdeviceptr, size_t, unsigned long long);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned, nvmlDevice_t *), nvmlDeviceGetMemoryInfo(nvmlDevice_t,
	nvmlMemory_t *), nvmlDeviceGetUUID(nvmlDevice_t, char *, unsigned);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *, nvmlDevice_t *),
	nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t, unsigned *, nvmlProcessInfo_v2_t *);
CUresult cuGreenCtxDestroy(void), cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t),
	cuMemFree_v2(CUdeviceptr), cuMemAllocManaged(CUdeviceptr *, size_t, unsigned);
CUresult cuMemsetD32Async(CUdeviceptr, unsigned, size_t, CUstream), cuMemsetD8Async(CUdeviceptr, unsigned char, size_t,
	CUstream), cuMemAdvise(CUdeviceptr, size_t, int, CUdevice);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, size_t, CUstream), cuMemPrefetchAsync(CUdeviceptr, size_t,
	CUdevice, CUstream);
cudaError_t cudaMallocManaged(void **, size_t, unsigned), cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t),
	cudaMemAdvise(const void *, size_t, int, int);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, int, void *), cudaIpcGetMemHandle(cudaIpcMemHandle_t *, void *);
cudaError_t cudaGetSymbolAddress(void **, const void *);
const char *memspec_pretend_figures(void);
ncclResult_t ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int), ncclCommDestroy(ncclComm_t), ncclGroupStart(void),
	ncclGroupEnd(void), ncclAllGather(const void *, void *, size_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclReduceScatter(const void *, void *, size_t, int, int, ncclComm_t, cudaStream_t),
	ncclAllReduce(const void *, void *, size_t, int, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclBroadcast(const void *, void *, size_t, int, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclAlltoAll(const void *, void *, size_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclGather(const void *, void *, size_t, int, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclReduce(const void *, void *, size_t, int, int, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclSend(const void *, size_t, int, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclRecv(void *, size_t, int, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclCommSplit(ncclComm_t, int, int, ncclComm_t *, void *), ncclCommCount(ncclComm_t, int *);
ncclResult_t ncclMemAlloc(void **, size_t), ncclMemFree(void *), ncclCommWindowRegister(ncclComm_t, void *, size_t,
	void **, int), ncclCommWindowDeregister(ncclComm_t, void *);
bool memspec_pretend_communicator(int, int *);
void memspec_pretend_convolutions(long long (*)(int, int, int, int, const int64_t *));
void memspec_pretend_values(int), memspec_pretend_split(int, int, int, int), memspec_pretend_chose(void *, size_t);
int memspec_pretend_chosen(const void *, size_t);
void memspec_pretend_answer(uint64_t), memspec_pretend_track(int, size_t), memspec_pretend_wrote(void *, size_t, int),
	memspec_pretend_unknown(const void *, size_t);
void memspec_pretend_zero(void *, size_t);
int memspec_pretend_answers_end(void), memspec_pretend_known(const void *, size_t),
	memspec_pretend_untouched(const void *, size_t);
bool memspec_pretend_note(int, int *, const char **, unsigned long long *);
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *, int64_t, size_t, size_t, uint16_t);

static const size_t MIB UNUSED = 1 << 20;

UNUSED static bool is_known(const void *p, size_t n) { return memspec_pretend_known(p, n) == 1; }

/* Whether a note has this text. */
UNUSED static bool noted(const char *text) {
	int kind;
	const char *name;
	unsigned long long count;
	for (int i = 0; memspec_pretend_note(i, &kind, &name, &count); i++)
		if (!strcmp(name, text)) return true;
	return false;
}

UNUSED static size_t free_now(void) {
	size_t f, t;
	SUCCEEDS(cudaMemGetInfo(&f, &t));
	return f;
}

#define TEST __attribute__((weak)) void /* a program may be linked with few of them */
/* devices.c, values.c, captures.c */
TEST devices(void), visible(void), none(void), second(void), described(void), values(void), spans(void);
TEST marks(void), own_code(void);
TEST captures(void);
/* misuse.c, ends.c, ranks.c, groups.c, kernels.c, shareable.c */
TEST wrong_addresses(void), wrong_handles(void), wrong_sizes(void), spanning(void), managed(void), no_addresses(void),
	ends(void);
TEST ranks(void), kept_groups(void), absent_counts(void), formulas(void), attributes(void), places(void);
TEST nodes(void), races(void),
	collected(void);
TEST ipc(void), cudnn_plans(void), audit_events(void), stack_texts(void);
TEST architectures(void), image_forms(void), registered_kernels(void), shareable(void);
TEST transforms(void), solvers(void), recorded_solvers(void); /* rules.c */
TEST pinned(void), addresses(void), pools(void); /* host.c */
TEST calls(void), driver_addresses(void), logged(void); /* calls.c */
TEST reservations(void); /* places.c */
TEST launches(void), messages(void), communicators(void), recurrent(void);
TEST dispatch(void), elsewhere(void), onward_elsewhere(void); /* dispatch.c */

extern void *(*fake_function)(const char *library, const char *name); /* what tests have in real_function's place */
extern void *(*fake_symbol)(const char *name);                        /* and in dlsym's */
