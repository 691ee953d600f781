/* Types of CUDA's public interface: own declarations, so that the library is built without a
   toolkit. With -DPUBLIC_HEADERS the public headers take their place and every function that is
   defined here is compiled against its public prototype (tests/pretend/test_pretend_native.py). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "constants.h"

#define AS_DEVICE_ATTRIBUTE(name, value) DEVICE_##name = (value),
enum device_attribute { ATTRIBUTE_NUMBERS(AS_DEVICE_ATTRIBUTE) };

#ifdef PUBLIC_HEADERS
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <nvml.h>
#if __has_include(<cudnn.h>) /* of these one major is enough: what is used of them is the same in both */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
#include <nccl.h>
#endif
typedef enum cudaStreamCaptureMode capture_mode;
typedef enum cudaStreamCaptureStatus capture_status;
typedef enum cudaMemcpyKind copy_kind;
typedef enum cudaDeviceAttr runtime_attribute;
typedef enum cudaFuncAttribute function_attribute;
typedef enum cudaFuncCache function_cache;
typedef enum cudaLimit runtime_limit;
typedef enum cudaMemPoolAttr pool_attribute;
typedef enum cudaGraphMemAttributeType graph_memory_attribute;
typedef enum cudaDriverEntryPointQueryResult entry_result;
typedef enum cudaJitOption jit_option;
typedef enum cudaLibraryOption library_option;
typedef CUstreamCaptureStatus driver_capture_status;
#if CUDA_VERSION >= 12090
typedef CUlogsCallback log_callback;
typedef CUlogsCallbackHandle log_handle;
#else
typedef void (*log_callback)(void *data);
typedef void *log_handle;
#endif
typedef nvmlProcessInfo_t process_info;
typedef nvmlGpuFabricInfoV_t fabric_info;
typedef nvmlIntNvLinkDeviceType_t link_device;
typedef nvmlPciInfo_t pci_info;
typedef nvmlGpuP2PCapsIndex_t p2p_index;
typedef nvmlGpuP2PStatus_t p2p_status;
#else

/* Enumerations are passed as int. The runtime's have no own names outside their headers. */
typedef int capture_mode, capture_status, copy_kind, runtime_attribute, function_attribute, function_cache,
	runtime_limit, pool_attribute;
typedef int graph_memory_attribute, entry_result, jit_option, library_option, driver_capture_status, p2p_index,
	p2p_status, link_device;
typedef void process_info, fabric_info, pci_info;
typedef void *log_callback, *log_handle;

#define AS_CONSTANT(name, value) name = (value),
enum { RUNTIME_NUMBERS(AS_CONSTANT) DRIVER_NUMBERS(AS_CONSTANT) CUDNN_NUMBERS(AS_CONSTANT) CUBLAS_NUMBERS(
	AS_CONSTANT) CUPTI_NUMBERS(AS_CONSTANT) };

typedef int cudaError_t, CUresult, cudnnStatus_t, cublasStatus_t, CUptiResult, ncclResult_t, nvmlReturn_t;
typedef int CUdevice_attribute, CUfunction_attribute, CUpointer_attribute, CUfunc_cache, CUlimit, CUjit_option,
	CUjitInputType, CUlibraryOption;
typedef int CUmemAllocationGranularity_flags, CUdriverProcAddressQueryResult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;

typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *cudaStream_t, *CUstream;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUuserObject_st *cudaUserObject_t;
typedef struct cudaGraphEdgeData_st cudaGraphEdgeData;
struct cudaMemAccessDesc;
typedef struct CUmemPoolHandle_st *cudaMemPool_t;
typedef struct cudaIpcMemHandle_st {
	char reserved[64];
} cudaIpcMemHandle_t;
typedef struct CUkern_st *cudaKernel_t, *CUkernel;
typedef struct CUlib_st *cudaLibrary_t, *CUlibrary;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlinkState_st *CUlinkState;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef void (*cudaHostFn_t)(void *data);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *data);

typedef struct uint3 {
	unsigned int x, y, z;
} uint3;

typedef struct dim3 {
	unsigned int x, y, z;
} dim3;

typedef struct cudaLaunchConfig_st {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	void *attrs;
	unsigned int numAttrs;
} cudaLaunchConfig_t;

struct cudaFuncAttributes {
	size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
	int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes,
		preferredShmemCarveout;
	int clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight, requiredClusterDepth;
	int clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed, reserved[16];
};

struct cudaPointerAttributes {
	int type, device;
	void *devicePointer, *hostPointer;
	long reserved[8]; /* since CUDA 13; see runtime_memory.c */
};

typedef struct CUlaunchConfig_st {
	unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
	CUstream hStream;
	void *attrs;
	unsigned int numAttrs;
} CUlaunchConfig;

typedef struct CUmemLocation_st {
	int type, id;
} CUmemLocation;

typedef struct CUmemAllocationProp_st {
	int type, requestedHandleTypes;
	CUmemLocation location;
	void *win32HandleMetaData; /* CUDA 13 has a union of it here */
	struct {
		unsigned char compressionType, gpuDirectRDMACapable;
		unsigned short usage;
		unsigned char reserved[4];
	} allocFlags;
} CUmemAllocationProp;

typedef struct CUmemAccessDesc_st {
	CUmemLocation location;
	int flags;
} CUmemAccessDesc;

typedef int CUmemAllocationHandleType, CUmulticastGranularity_flags;
typedef struct CUmulticastObjectProp_st {
	unsigned int numDevices;
	size_t size;
	unsigned long long handleTypes, flags;
} CUmulticastObjectProp;

typedef struct CUtensorMap_st {
	_Alignas(128) uint64_t opaque[16];
} CUtensorMap;
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef int CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
	CUtensorMapFloatOOBfill;

typedef struct CUuuid_st {
	char bytes[16];
} CUuuid;

typedef struct {
	uint64_t data[8];
} cublasLtMatmulAlgo_t;

typedef struct {
	cublasLtMatmulAlgo_t algo;
	size_t workspaceSize;
	cublasStatus_t state;
	float wavesCount;
	int reserved[4];
} cublasLtMatmulHeuristicResult_t;

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct {
	unsigned long long total, free, used;
} nvmlMemory_t;
typedef struct {
	unsigned int version;
	unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
typedef struct {
	unsigned int pid;
	unsigned long long usedGpuMemory;
	unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_v2_t;

typedef struct ncclComm *ncclComm_t;
typedef struct {
	char internal[128];
} ncclUniqueId;
#endif
