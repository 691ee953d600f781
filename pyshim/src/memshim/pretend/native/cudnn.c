/* cuDNN without a device. Since 9.8 the library answers its heuristics and finalises plans for a
   device that is only described (a device-property descriptor filled from JSON): PyTorch's own
   requests are completed with that description, and go to the real library. An older one is not
   asked (cudnn_formula.c). Running a plan does nothing. All that is not here is the real library's
   own: descriptors, which need no handle. */
#include "pretend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PUBLIC_HEADERS
typedef void *cudnnBackendDescriptor_t;
typedef int cudnnBackendDescriptorType_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t;
typedef struct cudnnContext *cudnnHandle_t;
#endif

struct cudnnContext {
	cudaStream_t stream;
	int ordinal;
};

static void *real(const char *name) {
	void *f = real_function("libcudnn.so.9", name);
	if (f || !dlopen("libcudnn.so.9", RTLD_LAZY)) return f;
	return real_function("libcudnn.so.9", name);
}

static cudnnStatus_t (*real_create)(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t *);
static cudnnStatus_t (*real_set)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t,
	int64_t, const void *);
static cudnnStatus_t (*real_finalize)(cudnnBackendDescriptor_t);
static cudnnStatus_t (*real_get)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t,
	int64_t, int64_t *, void *);
static cudnnStatus_t (*real_destroy)(cudnnBackendDescriptor_t);
static size_t (*real_version)(void);

static bool found(void) {
	if (!real_version) {
		ASSIGN_FUNCTION(real_create, real("cudnnBackendCreateDescriptor"));
		ASSIGN_FUNCTION(real_set, real("cudnnBackendSetAttribute"));
		ASSIGN_FUNCTION(real_finalize, real("cudnnBackendFinalize"));
		ASSIGN_FUNCTION(real_get, real("cudnnBackendGetAttribute"));
		ASSIGN_FUNCTION(real_destroy, real("cudnnBackendDestroyDescriptor"));
		ASSIGN_FUNCTION(real_version, real("cudnnGetVersion"));
	}
	return real_create && real_set && real_finalize && real_get && real_destroy && real_version;
}

/* Whether this cuDNN answers nothing without a device. */
static bool by_formula(void) { return real_version() < 90800; }

/* cudnnBackendDescriptorType_t: what PyTorch's graphs are made of. */
enum { CONVOLUTION_FORWARD = 10, CONVOLUTION_DATA = 12, MATMUL = 19, ATTENTION_FORWARD = 41, ATTENTION_BACKWARD = 43 };

/* An H100 took another workspace than its cuDNN, 9.19, says without a device in 201 of 342
   convolutions (testdata/measured/h100-convolutions.csv). Cards before it agree as far as is known; of later
   ones nothing is. */
enum { CHOOSES_OTHERWISE = 9 };
#define DEVICELESS "workspace-stand-in: cuDNN answered without a device; on one it takes other engines for some " \
	"convolutions"

/* What is noted with the first plan: that this cuDNN is not the one of this PyTorch. */
static char stands_in[128];
API void memspec_pretend_cudnn_stands_in(const char *note) { snprintf(stands_in, sizeof stands_in, "%s", note); }

/* The keys are those that the library itself writes. */
static int describe(const struct gpu *g, char *out, size_t size) {
	return snprintf(out, size,
		"{\"warpSize\":32,\"regsPerBlock\":65536,\"maxRegistersPerSM\":%d,\"maxGridSize\":[2147483647,65535,65535],"
		"\"maxBlockSize\":[1024,1024,64],\"maxThreadsPerBlock\":1024,\"maxSharedMemoryPerBlock\":%zu,\"pciDeviceId\":0,"
		"\"isTccDriver\":0,\"supportCoopLaunch\":1,\"cudaDeviceId\":0,\"driverVer\":%d,\"deviceName\":\"%s\","
		"\"deviceVer\":%d,\"multiProcessorCount\":%d,\"maxSharedMemoryPerBlockOptin\":%zu,"
		"\"reservedSharedMemoryPerBlock\":%zu,\"maxCtasPerSM\":%d,\"maxThreadsPerSM\":%d,\"totalGlobalMem\":%zu,"
		"\"smClockRateKHz\":%d,\"memClockRateKHz\":%d,\"l2CacheSize\":%zu}",
		g->registers_per_sm, g->shared_per_block, runtime_version(), g->name, g->major * 100 + g->minor * 10, g->sms,
		g->shared_optin, g->shared_reserved, g->blocks_per_sm, g->threads_per_sm, g->memory, g->clock_khz,
		g->memory_clock_khz, g->l2);
}

/* The description of a card, made once. */
static cudnnBackendDescriptor_t description(int ordinal) {
	static cudnnBackendDescriptor_t made[MOST_GPUS];
	const struct gpu *g = gpu_at(ordinal);
	char text[2048];
	int i = gpu_index(g), length = describe(g, text, sizeof text);
	cudnnBackendDescriptor_t d = __atomic_load_n(&made[i], __ATOMIC_ACQUIRE);
	if (d) return d;
	/* cuDNN 9.10 ends the process in its heuristics for 10.0; 9.15 answers. */
	if (g->major == 10 && real_version() < 91500) return note_refused(CUDNN,
		"cuDNN before 9.15 for compute capability 10.0"), NULL;
	cudnnStatus_t e = real_create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &d);
	if (!e) e = real_set(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, length, text);
	if (!e) e = real_finalize(d);
	if (e) return complain("cuDNN %zu does not take the description of %s: status %d", real_version(), g->name, (int)e),
		NULL;
	__atomic_store_n(&made[i], d, __ATOMIC_RELEASE); /* a second thread may have made one too: each is right */
	return d;
}

/* The operation that this thread described last is a convolution. */
static __thread bool convolves;

API cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *d) {
	if (!found()) return CUDNN_STATUS_NOT_INITIALIZED;
	if ((int)type >= CONVOLUTION_FORWARD && (int)type <= CONVOLUTION_DATA) convolves = true;
	if ((int)type == MATMUL || (int)type == ATTENTION_FORWARD || (int)type == ATTENTION_BACKWARD) convolves = false;
	return by_formula() ? formula_create((int)type, (void **)d) : real_create(type, d);
}
API cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) {
	if (!found()) return CUDNN_STATUS_NOT_INITIALIZED;
	return by_formula() ? formula_destroy((void *)d) : real_destroy(d);
}
API cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d) {
	if (!found()) return CUDNN_STATUS_NOT_INITIALIZED;
	return by_formula() ? formula_finalize((void *)d) : real_finalize(d);
}
API cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, int64_t room,
	int64_t *count, void *value) {
	if (!found()) return CUDNN_STATUS_NOT_INITIALIZED;
	return by_formula() ? formula_get((void *)d, (int)name, room, count, value) : real_get(d, name, type, room, count,
		value);
}
API cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, int64_t n,
	const void *value) {
	if (!found()) return CUDNN_STATUS_NOT_INITIALIZED;
	if (by_formula()) return formula_set((void *)d, (int)name, (int)type, n, value);
	if (type == CUDNN_TYPE_HANDLE) {
		if (name != CUDNN_ATTR_EXECUTION_PLAN_HANDLE) return CUDNN_STATUS_SUCCESS; /* an operation graph needs none */
		cudnnHandle_t h;
		memcpy(&h, value, sizeof h);
		cudnnBackendDescriptor_t described = description(h->ordinal);
		if (!described) return CUDNN_STATUS_NOT_SUPPORTED;
		if (*stands_in) note_estimated(stands_in);
		return real_set(d, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &described);
	}
	cudnnStatus_t e = real_set(d, name, type, n, value);
	if (e || name != CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH) return e;
	cudnnBackendDescriptor_t described = description(current_device());
	if (!described) return CUDNN_STATUS_NOT_SUPPORTED;
	if (convolves && !*stands_in && current_gpu()->major >= CHOOSES_OTHERWISE) note_estimated(DEVICELESS);
	return real_set(d, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &described);
}
API cudnnStatus_t cudnnBackendExecute(cudnnHandle_t h, cudnnBackendDescriptor_t plan UNUSED,
	cudnnBackendDescriptor_t pack UNUSED) {
	kernel_ran();
	capture_node(h->stream);
	return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnCreate(cudnnHandle_t *h) {
	*h = zeroed(sizeof **h);
	if (!*h) return CUDNN_STATUS_ALLOC_FAILED;
	(*h)->ordinal = current_device();
	return CUDNN_STATUS_SUCCESS;
}
API cudnnStatus_t cudnnDestroy(cudnnHandle_t h) {
	free(h);
	return CUDNN_STATUS_SUCCESS;
}
API cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t s) {
	h->stream = s;
	return CUDNN_STATUS_SUCCESS;
}
API cudnnStatus_t cudnnGetStream(cudnnHandle_t h, cudaStream_t *s) {
	*s = h->stream;
	return CUDNN_STATUS_SUCCESS;
}

#ifndef PUBLIC_HEADERS /* few of the parameters are looked at */

/* ---- functions that take a handle and no workspace ---- */

#define SUCCEEDS(name) API cudnnStatus_t name(void) { return CUDNN_STATUS_SUCCESS; }
SUCCEEDS(cudnnBatchNormalizationForwardTrainingEx) SUCCEEDS(cudnnBatchNormalizationForwardInference)
SUCCEEDS(cudnnBatchNormalizationBackwardEx)
SUCCEEDS(cudnnPoolingForward) SUCCEEDS(cudnnSpatialTfGridGeneratorForward) SUCCEEDS(cudnnSpatialTfGridGeneratorBackward)
SUCCEEDS(cudnnSpatialTfSamplerForward) SUCCEEDS(cudnnSpatialTfSamplerBackward)

/* ---- batch norm: the library reports its sizes only to a handle. In the spatial mode, which
   PyTorch takes for contiguous tensors, they are 0: two training steps of resnet50 recorded on a T4
   agree to the byte (pretend/truth). The persistent mode, for channels last, is not known. ---- */

#define PERSISTENT 2 /* CUDNN_BATCHNORM_SPATIAL_PERSISTENT */
static cudnnStatus_t batch_norm_size(int mode, size_t *n) {
	if (mode == PERSISTENT)
		note_unsized("cuDNN's workspace and reserve of batch norm in training, channels last: taken as 0");
	*n = 0;
	return CUDNN_STATUS_SUCCESS;
}
#define ANY(x) const void *x UNUSED
API cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(ANY(h), int mode, int fused UNUSED, ANY(x),
	ANY(z), ANY(y), ANY(scale), ANY(activation), size_t *n) {
	return batch_norm_size(mode, n);
}
API cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(ANY(h), int mode, int fused UNUSED,
	ANY(activation), ANY(x), size_t *n) {
	return batch_norm_size(mode, n);
}
API cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(ANY(h), int mode, int fused UNUSED, ANY(x), ANY(y),
	ANY(dy), ANY(dz), ANY(dx), ANY(scale), ANY(activation),
	size_t *n) {
	return batch_norm_size(mode, n);
}
#endif
