/* Prints sizes, offsets and numbers: once by this library's own declarations, once
   (-DPUBLIC_HEADERS) by CUDA's public headers. The two texts have to be the same. -DMAJOR=12 or 13
   says which CUDA's. */
#include <stdio.h>

#include "abi/properties.h"
#include "abi/types.h"

#define SIZE(type) printf("sizeof(" #type ") %zu\n", sizeof(type));
#define FIELD(type, field) printf(#type "." #field " %zu\n", offsetof(type, field));

#if MAJOR == 12
#define OWN struct properties_12
#else
#define OWN struct properties_13
#endif
#ifdef PUBLIC_HEADERS
#define PROPERTY(public_name, own) printf("cudaDeviceProp." #public_name " %zu\n", offsetof(struct cudaDeviceProp, \
	public_name));
#define NUMBER(name, value) printf(#name " %d\n", (int)name);
#define ATTRIBUTE(name, value) printf(#name " %d\n", (int)CU_DEVICE_ATTRIBUTE_##name);
#else
#define PROPERTY(public_name, own) printf("cudaDeviceProp." #public_name " %zu\n", offsetof(OWN, own));
#define NUMBER(name, value) printf(#name " %d\n", value);
#define ATTRIBUTE(name, value) printf(#name " %d\n", value);
#endif

int main(void) {
	PROPERTY(name, name) PROPERTY(uuid, uuid) PROPERTY(luid, luid) PROPERTY(totalGlobalMem, memory)
		PROPERTY(sharedMemPerBlock, shared_per_block)
	PROPERTY(regsPerBlock, registers_per_block) PROPERTY(warpSize, warp) PROPERTY(memPitch, pitch)
		PROPERTY(maxThreadsPerBlock, threads_per_block)
	PROPERTY(maxThreadsDim, block) PROPERTY(maxGridSize, grid) PROPERTY(totalConstMem, constant) PROPERTY(major, major)
		PROPERTY(minor, minor)
	PROPERTY(textureAlignment, texture_alignment) PROPERTY(texturePitchAlignment, texture_pitch)
		PROPERTY(multiProcessorCount, sms)
	PROPERTY(integrated, integrated) PROPERTY(canMapHostMemory, map_host) PROPERTY(maxTexture1D, textures)
		PROPERTY(surfaceAlignment, surface_alignment)
	PROPERTY(concurrentKernels, concurrent_kernels) PROPERTY(ECCEnabled, ecc) PROPERTY(pciBusID, bus_id)
		PROPERTY(pciDeviceID, device_id)
	PROPERTY(pciDomainID, domain_id) PROPERTY(tccDriver, tcc) PROPERTY(asyncEngineCount, engines)
		PROPERTY(unifiedAddressing, unified)
	PROPERTY(memoryBusWidth, bus_bits) PROPERTY(l2CacheSize, l2) PROPERTY(persistingL2CacheMaxSize, persisting_l2)
	PROPERTY(maxThreadsPerMultiProcessor, threads_per_sm) PROPERTY(streamPrioritiesSupported, priorities)
		PROPERTY(globalL1CacheSupported, global_l1)
	PROPERTY(localL1CacheSupported, local_l1) PROPERTY(sharedMemPerMultiprocessor, shared_per_sm)
		PROPERTY(regsPerMultiprocessor, registers_per_sm)
	PROPERTY(managedMemory, managed) PROPERTY(isMultiGpuBoard, multi) PROPERTY(hostNativeAtomicSupported, host_atomics)
	PROPERTY(pageableMemoryAccess, pageable) PROPERTY(concurrentManagedAccess, concurrent_managed)
		PROPERTY(computePreemptionSupported, preemption)
	PROPERTY(canUseHostPointerForRegisteredMem, registered_pointer) PROPERTY(cooperativeLaunch, cooperative)
		PROPERTY(sharedMemPerBlockOptin, shared_optin)
	PROPERTY(maxBlocksPerMultiProcessor, blocks_per_sm) PROPERTY(accessPolicyMaxWindowSize, window)
		PROPERTY(reservedSharedMemPerBlock, shared_reserved)
	PROPERTY(hostRegisterSupported, host_register) PROPERTY(memoryPoolsSupported, pools) PROPERTY(gpuDirectRDMASupported,
		rdma)
	PROPERTY(memoryPoolSupportedHandleTypes, pool_handles) PROPERTY(ipcEventSupported, ipc_event) PROPERTY(clusterLaunch,
		cluster)
	PROPERTY(unifiedFunctionPointers, unified_functions)
#if MAJOR == 12
	PROPERTY(clockRate, clock_khz) PROPERTY(memoryClockRate, memory_clock_khz) PROPERTY(deviceOverlap, overlap)
	PROPERTY(kernelExecTimeoutEnabled, timeout) PROPERTY(computeMode, compute_mode)
		PROPERTY(singleToDoublePrecisionPerfRatio, double_ratio)
	PROPERTY(cooperativeMultiDeviceLaunch, cooperative_multi)
#endif
#ifdef PUBLIC_HEADERS
	printf("sizeof(cudaDeviceProp) %zu\n", sizeof(struct cudaDeviceProp));
	printf("cudaPointerAttributes as written %zu\n", sizeof(struct cudaPointerAttributes));
#else
	printf("sizeof(cudaDeviceProp) %zu\n", sizeof(OWN));
	printf("cudaPointerAttributes as written %zu\n", MAJOR == 12 ? offsetof(struct cudaPointerAttributes, reserved)
		: sizeof(struct cudaPointerAttributes));
#endif
	FIELD(struct cudaPointerAttributes, type) FIELD(struct cudaPointerAttributes, device)
		FIELD(struct cudaPointerAttributes, devicePointer)
	FIELD(struct cudaPointerAttributes, hostPointer)
	SIZE(struct cudaFuncAttributes) FIELD(struct cudaFuncAttributes, maxThreadsPerBlock) FIELD(struct cudaFuncAttributes,
		numRegs)
	FIELD(struct cudaFuncAttributes, ptxVersion) FIELD(struct cudaFuncAttributes, binaryVersion)
		FIELD(struct cudaFuncAttributes, maxDynamicSharedSizeBytes)
	SIZE(cudaIpcMemHandle_t) SIZE(dim3) FIELD(cudaLaunchConfig_t, gridDim) FIELD(cudaLaunchConfig_t, blockDim)
		FIELD(cudaLaunchConfig_t, dynamicSmemBytes) FIELD(cudaLaunchConfig_t, stream)
	FIELD(CUlaunchConfig, sharedMemBytes) FIELD(CUlaunchConfig, hStream) FIELD(CUlaunchConfig, attrs) SIZE(CUlaunchConfig)
	FIELD(CUmemAllocationProp, location) FIELD(CUmemLocation, id) SIZE(CUuuid) SIZE(CUtensorMap) SIZE(CUdeviceptr)
		SIZE(CUmemGenericAllocationHandle)
	SIZE(nvmlMemory_t) FIELD(nvmlMemory_t, free) FIELD(nvmlMemory_t, used) SIZE(nvmlMemory_v2_t) FIELD(nvmlMemory_v2_t,
		used) SIZE(nvmlProcessInfo_v2_t) FIELD(nvmlProcessInfo_v2_t, usedGpuMemory)
	FIELD(nvmlProcessInfo_v2_t, gpuInstanceId)
	RUNTIME_NUMBERS(NUMBER) DRIVER_NUMBERS(NUMBER) CUPTI_NUMBERS(NUMBER) ATTRIBUTE_NUMBERS(ATTRIBUTE)
#if MAJOR == 13 /* cuDNN, cuBLASLt and NCCL: one major is enough */
	CUDNN_NUMBERS(NUMBER) CUBLAS_NUMBERS(NUMBER)
	SIZE(cublasLtMatmulHeuristicResult_t) FIELD(cublasLtMatmulHeuristicResult_t, workspaceSize)
		FIELD(cublasLtMatmulHeuristicResult_t, state)
	FIELD(cublasLtMatmulHeuristicResult_t, wavesCount) SIZE(ncclUniqueId)
#endif
	return 0;
}
