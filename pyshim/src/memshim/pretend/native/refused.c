/* Calls that are not replaced: each fails, and says its name. What they need (a workspace of
   cuSPARSE) only the library on a real device knows, so that a guess would pass as a measurement. For
   cuSPARSE it is enough that nobody gets a handle. */
#include "pretend.h"

#ifndef PUBLIC_HEADERS /* none looks at its parameters: their types are not written down */

#define REFUSES(library, name, status) \
	API int name(void) { \
		note_refused(library, #name); \
		return status; \
	}

#define CUDA(name) REFUSES(CUDA_RUNTIME, name, (int)fail(cudaErrorNotSupported))
CUDA(cudaIpcGetEventHandle) CUDA(cudaIpcOpenEventHandle)
CUDA(cudaGraphAddNode) CUDA(cudaGraphAddEmptyNode) CUDA(cudaGraphConditionalHandleCreate)
CUDA(cudaGraphNodeGetDependencies)
CUDA(cudaGraphNodeGetType) CUDA(cudaGraphDebugDotPrint)
CUDA(cudaLibraryGetGlobal) CUDA(cudaLibraryGetManaged) CUDA(cudaLibraryGetUnifiedFunction)
CUDA(cudaLibraryGetKernelCount)
CUDA(cudaMallocPitch) CUDA(cudaMalloc3D) CUDA(cudaMallocArray) CUDA(cudaMemPoolCreate) CUDA(cudaDeviceReset)

#define DRIVER(name) REFUSES(CUDA_DRIVER, name, CUDA_ERROR_NOT_SUPPORTED)
DRIVER(cuGreenCtxCreate) DRIVER(cuGreenCtxDestroy) DRIVER(cuGreenCtxStreamCreate) DRIVER(cuCtxFromGreenCtx)
DRIVER(cuDeviceGetDevResource)
DRIVER(cuDevSmResourceSplitByCount) DRIVER(cuDevResourceGenerateDesc) DRIVER(cuCtxCreate_v4) DRIVER(cuCtxDestroy_v2)
DRIVER(cuTensorMapEncodeIm2col) DRIVER(cuStreamCreate) DRIVER(cuEventCreate)

#define SOLVER(name) REFUSES(CUSOLVER, name, 9) /* CUSOLVER_STATUS_NOT_SUPPORTED */
SOLVER(cusolverSpCreate)

#define SPARSE(name) REFUSES(CUSPARSE, name, 10) /* CUSPARSE_STATUS_NOT_SUPPORTED */
SPARSE(cusparseCreate)

#define SPARSELT(name) REFUSES(CUSPARSELT, name, 10)
SPARSELT(cusparseLtInit)

#define FFT(name) REFUSES(CUFFT, name, 16) /* CUFFT_NOT_SUPPORTED */
FFT(cufftMakePlanMany) FFT(cufftMakePlanMany64) FFT(cufftPlan1d) FFT(cufftPlan2d) FFT(cufftPlan3d) FFT(cufftPlanMany)

#define DNN(name) REFUSES(CUDNN, name, CUDNN_STATUS_NOT_SUPPORTED)
DNN(cudnnCTCLoss) DNN(cudnnCTCLoss_v8) DNN(cudnnGetCTCLossWorkspaceSize) DNN(cudnnGetCTCLossWorkspaceSize_v8)
DNN(cudnnConvolutionForward) DNN(cudnnConvolutionBackwardData) DNN(cudnnConvolutionBackwardFilter)
DNN(cudnnConvolutionBiasActivationForward)
DNN(cudnnFindConvolutionForwardAlgorithmEx) DNN(cudnnFindConvolutionBackwardDataAlgorithmEx)
DNN(cudnnFindConvolutionBackwardFilterAlgorithmEx)
DNN(cudnnGetConvolutionForwardAlgorithm_v7) DNN(cudnnGetConvolutionBackwardDataAlgorithm_v7)
DNN(cudnnGetConvolutionBackwardFilterAlgorithm_v7)
DNN(cudnnGetConvolutionForwardWorkspaceSize) DNN(cudnnGetConvolutionBackwardDataWorkspaceSize)
DNN(cudnnGetConvolutionBackwardFilterWorkspaceSize)

#define COLLECTIVE(name) REFUSES(NCCL, name, 5) /* ncclInvalidUsage */
COLLECTIVE(ncclWinGetUserPtr)
COLLECTIVE(ncclCommShrink) COLLECTIVE(ncclCommGrow) COLLECTIVE(ncclCommRevoke) COLLECTIVE(ncclCommSuspend)
COLLECTIVE(ncclCommResume)
COLLECTIVE(ncclCommMemStats) COLLECTIVE(ncclCommGetUniqueId) COLLECTIVE(ncclDevCommCreate)
COLLECTIVE(ncclDevCommDestroy) COLLECTIVE(ncclGroupSimulateEnd)
COLLECTIVE(ncclGetLsaMultimemDevicePointer) COLLECTIVE(ncclGetPeerDevicePointer) COLLECTIVE(ncclPutSignal)
COLLECTIVE(ncclSignal) COLLECTIVE(ncclWaitSignal)

#define JPEG(name) REFUSES(NVJPEG, name, 9) /* NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED */
JPEG(nvjpegCreateEx) JPEG(nvjpegCreateSimple)

#define SHMEM(name) REFUSES(NVSHMEM, name, 1)
SHMEM(nvshmem_init) SHMEM(nvshmemid_hostlib_init_attr) SHMEM(nvshmemx_cumodule_init)

/* CUfileError_t is two ints, which come back in one register: CU_FILE_DRIVER_NOT_INITIALIZED and no
   error of the driver's. */
#define FILES(name) \
	API long long name(void) { \
		note_refused(CUFILE, #name); \
		return 5001; \
	}
FILES(cuFileHandleRegister) FILES(cuFileBufRegister) FILES(cuFileDriverOpen)
#endif
