/* What becomes of PyTorch's requests to cuDNN's backend: here a library stands in its place that
   keeps what it is given. */
#include "unit.h"

cudnnStatus_t cudnnBackendCreateDescriptor(int, void **), cudnnBackendDestroyDescriptor(void *),
	cudnnBackendFinalize(void *), cudnnBackendGetAttribute(void *, int, int, int64_t, int64_t *, void *),
	cudnnBackendSetAttribute(void *, int, int, int64_t, const void *), cudnnBackendExecute(void *, void *, void *);
cudnnStatus_t cudnnCreate(void **), cudnnDestroy(void *), cudnnSetStream(void *, cudaStream_t),
	cudnnGetStream(void *, cudaStream_t *);
cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *, int, int, void *, void *, void *, void *,
	void *, size_t *);
void memspec_pretend_cudnn_stands_in(const char *);

enum { NOT_READY = CUDNN_STATUS_NOT_INITIALIZED, NOT_SUPPORTED = CUDNN_STATUS_NOT_SUPPORTED, ERROR = 9 };
enum { FORWARD = 10, DATA = 12, POINTWISE = 13, MATMUL = 19, NORM_FORWARD = 27 };
enum { ATTENTION = 41, ATTENTION_BACKWARD = 43 };
enum { T4, H100 };

/* ---- the library ---- */

enum call { NONE, CREATE, SET, FINALIZE, GET, DESTROY };
static struct {
	bool loaded;
	size_t version;
	enum call fails, last;
	int type;          /* of the last descriptor */
	int name, sets;    /* the last attribute that was set, and how many were */
	void *value;       /* its value, where that is a descriptor */
	char json[2048];   /* the last description of a card */
	int64_t json_size;
} cudnn;
static char descriptors[64];
static size_t made;

static cudnnStatus_t did(enum call call) {
	cudnn.last = call;
	return cudnn.fails == call ? ERROR : CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t create(int type, void **d) {
	cudnn.type = type;
	*d = &descriptors[made++];
	return did(CREATE);
}
static cudnnStatus_t set(void *d UNUSED, int name, int type, int64_t n, const void *value) {
	cudnn.name = name, cudnn.sets++;
	if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
		CHECK(n == 1);
		memcpy(&cudnn.value, value, sizeof cudnn.value);
	}
	if (name == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION) {
		CHECK(type == CUDNN_TYPE_CHAR);
		snprintf(cudnn.json, sizeof cudnn.json, "%s", (const char *)value);
		cudnn.json_size = n;
	}
	return did(SET);
}
static cudnnStatus_t finalize(void *d UNUSED) { return did(FINALIZE); }
static cudnnStatus_t get(void *d UNUSED, int name, int type UNUSED, int64_t room UNUSED, int64_t *count,
	void *value UNUSED) {
	*count = name;
	return did(GET);
}
static cudnnStatus_t destroy(void *d UNUSED) { return did(DESTROY); }
static size_t version(void) { return cudnn.version; }

static void *function(const char *library, const char *name) {
	const struct {
		const char *name;
		void *f;
	} all[] = { { "cudnnBackendCreateDescriptor", create }, { "cudnnBackendSetAttribute", set },
		{ "cudnnBackendFinalize", finalize }, { "cudnnBackendGetAttribute", get },
		{ "cudnnBackendDestroyDescriptor", destroy }, { "cudnnGetVersion", version } };
	for (size_t i = 0; cudnn.loaded && i < sizeof all / sizeof *all; i++)
		if (!strcmp(library, "libcudnn.so.9") && !strcmp(name, all[i].name)) return all[i].f;
	return NULL;
}

/* ---- the tests ---- */

static void *d = descriptors;

static void without_the_library(void) {
	void *none;
	int64_t n;
	CHECK(cudnnBackendCreateDescriptor(FORWARD, &none) == NOT_READY && cudnnBackendDestroyDescriptor(d) == NOT_READY);
	CHECK(cudnnBackendFinalize(d) == NOT_READY && cudnnBackendGetAttribute(d, 1, 1, 0, &n, NULL) == NOT_READY);
	CHECK(cudnnBackendSetAttribute(d, 1, 1, 1, &n) == NOT_READY);
}

/* Before 9.8 the library is not asked, from then on it is asked everything. */
static void asked_from_9_8_on(void) {
	void *own, *real;
	int64_t n = 0;
	cudnn.version = 90799;
	SUCCEEDS(cudnnBackendCreateDescriptor(POINTWISE, &own));
	SUCCEEDS(cudnnBackendSetAttribute(own, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_CHAR, 0, &n));
	SUCCEEDS(cudnnBackendFinalize(own));
	SUCCEEDS(cudnnBackendGetAttribute(own, CUDNN_ATTR_TENSOR_DIMENSIONS, 0, 0, &n, NULL));
	SUCCEEDS(cudnnBackendDestroyDescriptor(own));
	CHECK(cudnn.last == NONE);
	cudnn.version = 90800;
	SUCCEEDS(cudnnBackendCreateDescriptor(POINTWISE, &real));
	CHECK(cudnn.last == CREATE && cudnn.type == POINTWISE && real == &descriptors[made - 1]);
	SUCCEEDS(cudnnBackendSetAttribute(real, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_CHAR, 0, &n));
	CHECK(cudnn.last == SET && cudnn.name == CUDNN_ATTR_TENSOR_DIMENSIONS && cudnn.sets == 1);
	SUCCEEDS(cudnnBackendFinalize(real));
	CHECK(cudnn.last == FINALIZE);
	SUCCEEDS(cudnnBackendGetAttribute(real, 77, 0, 0, &n, NULL));
	CHECK(cudnn.last == GET && n == 77);
	SUCCEEDS(cudnnBackendDestroyDescriptor(real));
	CHECK(cudnn.last == DESTROY);
}

static cudnnStatus_t heuristics_on(int device) {
	SUCCEEDS(cudaSetDevice(device));
	cudnn.sets = 0;
	return cudnnBackendSetAttribute(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d);
}

/* A library that takes no description of the card, or ends the process with it, is not asked. */
static void not_described(void) {
	static const enum call calls[] = { CREATE, FINALIZE };
	for (int i = 0; i < 2; i++) {
		cudnn.fails = calls[i];
		CHECK(heuristics_on(T4) == NOT_SUPPORTED && cudnn.name != CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
	}
	cudnn.fails = SET; /* of the graph itself: the library's own error */
	CHECK(heuristics_on(T4) == ERROR && cudnn.sets == 1);
	cudnn.fails = NONE;
	gpu_at(T4)->major = 10;
	cudnn.version = 91499;
	CHECK(heuristics_on(T4) == NOT_SUPPORTED);
	cudnn.version = 91500;
	SUCCEEDS(heuristics_on(T4));
	gpu_at(T4)->major = 7;
	CHECK(strstr(cudnn.json, "\"deviceVer\":1050,"));
}

/* The heuristics get the description of the current card, which is made once. */
static void described_card(void) {
	static const char h100[] =
		"{\"warpSize\":32,\"regsPerBlock\":65536,\"maxRegistersPerSM\":65536,\"maxGridSize\":[2147483647,65535,65535],"
		"\"maxBlockSize\":[1024,1024,64],\"maxThreadsPerBlock\":1024,\"maxSharedMemoryPerBlock\":49152,\"pciDeviceId\":0,"
		"\"isTccDriver\":0,\"supportCoopLaunch\":1,\"cudaDeviceId\":0,\"driverVer\":13000,"
		"\"deviceName\":\"NVIDIA H100 80GB HBM3\",\"deviceVer\":900,\"multiProcessorCount\":132,"
		"\"maxSharedMemoryPerBlockOptin\":232448,\"reservedSharedMemoryPerBlock\":1024,\"maxCtasPerSM\":32,"
		"\"maxThreadsPerSM\":2048,\"totalGlobalMem\":2147483648,\"smClockRateKHz\":0,\"memClockRateKHz\":0,"
		"\"l2CacheSize\":0}";
	SUCCEEDS(heuristics_on(H100));
	CHECK(cudnn.sets == 3 && cudnn.name == CUDNN_ATTR_ENGINEHEUR_DEVICEPROP && cudnn.value == &descriptors[made - 1]);
	CHECK(!strcmp(cudnn.json, h100) && cudnn.json_size == (int64_t)strlen(h100));
	void *of_h100 = cudnn.value;
	SUCCEEDS(heuristics_on(T4));
	CHECK(cudnn.sets == 2 && cudnn.value != of_h100);
	SUCCEEDS(heuristics_on(H100));
	CHECK(cudnn.sets == 2 && cudnn.value == of_h100);
}

static const char *const deviceless =
	"workspace-stand-in: cuDNN answered without a device; on one it takes other engines for some convolutions";
static bool noted_for(int operation, int device) {
	void *of;
	unsigned long long before = 0, after = 0, count;
	const char *name;
	int kind;
	for (int i = 0; memspec_pretend_note(i, &kind, &name, &count); i++) before += strcmp(name, deviceless) ? 0 : count;
	SUCCEEDS(cudnnBackendCreateDescriptor(operation, &of));
	SUCCEEDS(heuristics_on(device));
	for (int i = 0; memspec_pretend_note(i, &kind, &name, &count); i++) after += strcmp(name, deviceless) ? 0 : count;
	return after > before;
}

/* On an H100 cuDNN takes other engines for some convolutions than it says without one. */
static void other_engines(void) {
	for (int type = FORWARD; type <= DATA; type++) {
		CHECK(noted_for(type, H100) && !noted_for(type, T4));
		CHECK(noted_for(POINTWISE, H100)); /* that is part of the same graph */
		CHECK(!noted_for(type == FORWARD ? MATMUL : type == DATA ? ATTENTION : ATTENTION_BACKWARD, H100));
	}
	CHECK(!noted_for(FORWARD - 1, H100) && !noted_for(POINTWISE, H100) && !noted_for(NORM_FORWARD, H100));
}

/* A plan is for the card of its handle; in its graph a handle is not needed. */
static void handles(void) {
	void *h, *plan = d;
	cudaStream_t s, got = NULL;
	cudaGraph_t g;
	size_t nodes = 0;
	SUCCEEDS(heuristics_on(T4));
	void *of_t4 = cudnn.value;
	SUCCEEDS(cudnnCreate(&h));
	SUCCEEDS(cudaSetDevice(H100));
	cudnn.sets = 0;
	SUCCEEDS(cudnnBackendSetAttribute(d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_HANDLE, 1, &h));
	CHECK(cudnn.sets == 0);
	SUCCEEDS(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &h));
	CHECK(cudnn.sets == 1 && cudnn.name == CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP && cudnn.value == of_t4);
	CHECK(!noted("another cuDNN"));
	memspec_pretend_cudnn_stands_in("another cuDNN");
	SUCCEEDS(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &h));
	CHECK(noted("another cuDNN") && !noted_for(FORWARD, H100)); /* which says more */
	SUCCEEDS(cudaStreamCreate(&s));
	SUCCEEDS(cudnnSetStream(h, s));
	SUCCEEDS(cudnnGetStream(h, &got));
	CHECK(got == s);
	SUCCEEDS(cudaStreamBeginCapture(s, 0));
	SUCCEEDS(cudnnBackendExecute(h, plan, NULL));
	SUCCEEDS(cudaStreamEndCapture(s, &g));
	SUCCEEDS(cudaGraphGetNodes(g, NULL, &nodes));
	CHECK(nodes == 1);
	SUCCEEDS(cudaGraphDestroy(g));
	SUCCEEDS(cudaStreamDestroy(s));
	SUCCEEDS(cudnnDestroy(h));
}

/* Batch norm takes nothing, as was recorded; of channels last (the persistent mode) it is not known. */
static void batch_norm(void) {
	static const char unknown[] = "cuDNN's workspace and reserve of batch norm in training, channels last: taken as 0";
	size_t n = 7;
	SUCCEEDS(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(NULL, 1, 0, NULL, NULL, NULL, NULL, NULL, &n));
	CHECK(n == 0 && !noted(unknown));
	n = 7;
	SUCCEEDS(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(NULL, 2, 0, NULL, NULL, NULL, NULL, NULL, &n));
	CHECK(n == 0 && noted(unknown));
}

void cudnn_plans(void) {
	fake_function = function;
	without_the_library();
	cudnn.loaded = true;
	asked_from_9_8_on();
	not_described();
	described_card();
	other_engines();
	handles();
	batch_norm();
}
