/* Streams that capture, what is forbidden while they do, and the graphs that they make. */
#include "unit.h"

cudaError_t cudaEventSynchronize(cudaEvent_t), cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t, unsigned),
	cudaStreamCreateWithPriority(cudaStream_t *, unsigned, int), cudaStreamGetPriority(cudaStream_t, int *),
	cudaStreamCreateWithFlags(cudaStream_t *, unsigned);
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t, int *, unsigned long long *, cudaGraph_t *,
	const cudaGraphNode_t **, const cudaGraphEdgeData **, size_t *);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, int *, unsigned long long *, cudaGraph_t *,
	const cudaGraphNode_t **, const cudaGraphEdgeData **, size_t *);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t, int *, unsigned long long *, cudaGraph_t *,
	const cudaGraphNode_t **, size_t *);
cudaError_t cudaStreamAddCallback(cudaStream_t, cudaStreamCallback_t, void *, unsigned),
	cudaThreadExchangeStreamCaptureMode(int *), cudaEventElapsedTime(float *, cudaEvent_t, cudaEvent_t);
CUresult cuCtxSynchronize(void);

static int destroyed;
static void destroy(void *data) { destroyed += *(int *)data; }
static void called(void *data) { ++*(int *)data; }

static void one_capture(void) {
	cudaStream_t a, b;
	cudaEvent_t e;
	cudaGraph_t g;
	cudaGraphExec_t x;
	int status;
	size_t nodes;
	dim3 one = { 1, 1, 1 };
	SUCCEEDS(cudaStreamCreate(&a));
	SUCCEEDS(cudaStreamCreate(&b));
	SUCCEEDS(cudaEventCreate(&e));
	SUCCEEDS(cudaStreamBeginCapture(a, 0));
	CHECK(cudaStreamBeginCapture(a, 0) == cudaErrorIllegalState);
	SUCCEEDS(cudaLaunchKernel(one_capture, one, one, NULL, 0, a));
	SUCCEEDS(cudaEventRecord(e, a));
	SUCCEEDS(cudaStreamWaitEvent(b, e, 0)); /* b joins */
	SUCCEEDS(cudaStreamIsCapturing(b, &status));
	CHECK(status == cudaStreamCaptureStatusActive);
	SUCCEEDS(cudaLaunchKernel(one_capture, one, one, NULL, 0, b));
	int calls = 0;
	SUCCEEDS(cudaLaunchHostFunc(b, called, &calls));
	SUCCEEDS(cudaStreamEndCapture(a, &g));
	SUCCEEDS(cudaGraphGetNodes(g, NULL, &nodes));
	CHECK(nodes == 3 && calls == 0);
	SUCCEEDS(cudaLaunchHostFunc(b, called, &calls));
	CHECK(calls == 1);
	SUCCEEDS(cudaStreamIsCapturing(b, &status)); /* and leaves with it */
	CHECK(status == cudaStreamCaptureStatusNone);
	SUCCEEDS(cudaStreamWaitEvent(b, e, 0)); /* an event of a capture that ended does not join anything */
	SUCCEEDS(cudaStreamIsCapturing(b, &status));
	CHECK(status == cudaStreamCaptureStatusNone);
	cudaUserObject_t o;
	int one_more = 1;
	SUCCEEDS(cudaUserObjectCreate(&o, &one_more, destroy, 1, 0));
	SUCCEEDS(cudaGraphRetainUserObject(g, o, 1, 1));
	SUCCEEDS(cudaGraphInstantiate(&x, g, 0));
	SUCCEEDS(cudaGraphLaunch(x, a));
	CHECK(destroyed == 0);
	SUCCEEDS(cudaGraphDestroy(g));
	CHECK(destroyed == 1);
	SUCCEEDS(cudaGraphExecDestroy(x));

	SUCCEEDS(cudaStreamBeginCapture(a, 0));
	SUCCEEDS(cudaEventRecord(e, a));
	CHECK(cudaStreamSynchronize(a) == cudaErrorStreamCaptureUnsupported &&
		cudaEventQuery(e) == cudaErrorCapturedEvent);
	SUCCEEDS(cudaStreamQuery(b));
	SUCCEEDS(cudaStreamIsCapturing(a, &status));
	CHECK(status == cudaStreamCaptureStatusInvalidated);
	CHECK(cudaStreamEndCapture(a, &g) == cudaErrorStreamCaptureInvalidated && !g);
	CHECK(cudaStreamEndCapture(a, &g) == cudaErrorIllegalState);
	SUCCEEDS(cudaStreamBeginCapture(a, 0)); /* a stream that ends while it captures */
	SUCCEEDS(cudaEventRecord(e, a));
	SUCCEEDS(cudaStreamDestroy(a));
	SUCCEEDS(cudaEventDestroy(e));
	SUCCEEDS(cudaStreamDestroy(b));
	CHECK(cudaLaunchKernel(one_capture, (dim3){ 0, 1, 1 }, one, NULL, 0, NULL) == cudaErrorInvalidConfiguration);
	CHECK(cudaLaunchKernel(one_capture, one, (dim3){ 1024, 2, 1 }, NULL, 0, NULL) == cudaErrorInvalidConfiguration);
	CHECK(cudaLaunchKernel(one_capture, one, one, NULL, 65537, NULL) == cudaErrorInvalidValue);
}

/* What CUDA's guide forbids while a stream captures; each spoils the captures that it touches. */
static bool spoiled(cudaStream_t s) {
	cudaGraph_t g;
	int status = -1;
	SUCCEEDS(cudaStreamIsCapturing(s, &status));
	cudaError_t e = cudaStreamEndCapture(s, &g);
	CHECK(status == (e ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive));
	CHECK(!e || (e == cudaErrorStreamCaptureInvalidated && !g));
	if (!e) SUCCEEDS(cudaGraphDestroy(g));
	return e;
}

static void forbidden(void) {
	cudaStream_t a, b, other;
	cudaEvent_t e, before, never;
	cudaGraph_t g;
	CHECK(cudaStreamBeginCapture(NULL, 0) == cudaErrorStreamCaptureUnsupported);
	CHECK(cudaStreamBeginCapture((cudaStream_t)(uintptr_t)1, 0) == cudaErrorStreamCaptureUnsupported);
	SUCCEEDS(cudaStreamBeginCapture((cudaStream_t)(uintptr_t)2, 0)); /* cudaStreamPerThread */
	CHECK(!spoiled((cudaStream_t)(uintptr_t)2));
	SUCCEEDS(cudaStreamCreate(&a));
	SUCCEEDS(cudaStreamCreate(&b));
	SUCCEEDS(cudaEventCreate(&e));
	SUCCEEDS(cudaEventCreate(&before));
	SUCCEEDS(cudaEventCreate(&never));
	SUCCEEDS(cudaEventRecord(before, b));

	SUCCEEDS(cudaStreamBeginCapture(a, 0)); /* an event that no capture has: only by a flag */
	SUCCEEDS(cudaStreamWaitEvent(a, never, 0));
	SUCCEEDS(cudaStreamWaitEvent(a, before, 1));
	CHECK(cudaStreamWaitEvent(a, before, 0) == cudaErrorStreamCaptureIsolation && spoiled(a));
	SUCCEEDS(cudaStreamWaitEvent(a, before, 0));
	SUCCEEDS(cudaStreamBeginCapture(a, 0)); /* nor one that is recorded outside of the capture */
	SUCCEEDS(cudaEventRecordWithFlags(e, a, 1));
	SUCCEEDS(cudaEventQuery(e));
	CHECK(cudaStreamWaitEvent(a, e, 0) == cudaErrorStreamCaptureIsolation && spoiled(a));

	SUCCEEDS(cudaStreamBeginCapture(a, 0)); /* two captures stay two */
	SUCCEEDS(cudaStreamBeginCapture(b, 0));
	SUCCEEDS(cudaEventRecord(e, a));
	SUCCEEDS(cudaStreamWaitEvent(a, e, 0)); /* an event of the same capture */
	CHECK(cudaStreamWaitEvent(b, e, 0) == cudaErrorStreamCaptureMerge && spoiled(a) && spoiled(b));

	SUCCEEDS(cudaStreamBeginCapture(a, 0)); /* a capture ends where it began */
	SUCCEEDS(cudaEventRecord(e, a));
	SUCCEEDS(cudaStreamWaitEvent(b, e, 0));
	CHECK(cudaStreamEndCapture(b, &g) == cudaErrorStreamCaptureUnmatched && !g && spoiled(a));
	CHECK(cudaStreamEndCapture(b, &g) == cudaErrorIllegalState);

	SUCCEEDS(cudaStreamBeginCapture(a, 0)); /* a captured event */
	SUCCEEDS(cudaEventRecord(e, a));
	CHECK(cudaEventSynchronize(e) == cudaErrorCapturedEvent && spoiled(a));
	SUCCEEDS(cudaEventSynchronize(e));
	SUCCEEDS(cudaStreamBeginCapture(a, 0));
	CHECK(cudaStreamQuery(a) == cudaErrorStreamCaptureUnsupported && spoiled(a));

	SUCCEEDS(cudaDeviceSynchronize()); /* all of a device, by the runtime and by the driver */
	SUCCEEDS(cudaSetDevice(1));
	SUCCEEDS(cudaStreamCreate(&other));
	for (int i = 0; i < 2; i++) {
		SUCCEEDS(cudaSetDevice(0));
		SUCCEEDS(cudaStreamBeginCapture(a, 0));
		SUCCEEDS(cudaStreamBeginCapture(b, 0));
		SUCCEEDS(cudaSetDevice(1));
		SUCCEEDS(cudaStreamBeginCapture(other, 0));
		CHECK((i ? cuCtxSynchronize() : cudaDeviceSynchronize()) == cudaErrorStreamCaptureUnsupported);
		CHECK(spoiled(other) && !spoiled(a));
		SUCCEEDS(cudaDeviceSynchronize());
		SUCCEEDS(cudaSetDevice(0));
		CHECK(cudaDeviceSynchronize() == cudaErrorStreamCaptureUnsupported && spoiled(b));
		SUCCEEDS(cudaDeviceSynchronize());
	}
	SUCCEEDS(cudaStreamBeginCapture(a, 0)); /* a capture whose stream is gone is none */
	SUCCEEDS(cudaStreamDestroy(a));
	SUCCEEDS(cudaDeviceSynchronize());
	SUCCEEDS(cudaStreamDestroy(b));
	SUCCEEDS(cudaStreamDestroy(other));
	SUCCEEDS(cudaEventDestroy(e));
	SUCCEEDS(cudaEventDestroy(before));
	SUCCEEDS(cudaEventDestroy(never));
	CHECK(cudaEventDestroy(NULL) == cudaErrorInvalidResourceHandle);
	for (uintptr_t i = 0; i <= 2; i++) CHECK(cudaStreamDestroy((cudaStream_t)i) == cudaErrorInvalidResourceHandle);
}

/* What a graph that is launched would write is not known, nor what the driver takes for it. */
static void replayed(void) {
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t x;
	char *p;
	memspec_pretend_track(1, 0);
	SUCCEEDS(cudaMalloc((void **)&p, 64));
	SUCCEEDS(cudaStreamCreate(&s));
	SUCCEEDS(cudaStreamBeginCapture(s, 0));
	SUCCEEDS(cudaStreamEndCapture(s, &g));
	SUCCEEDS(cudaGraphInstantiate(&x, g, 0));
	CHECK(noted("CUDA graphs: what the driver takes for an instantiated graph is outside PyTorch's allocator"));
	SUCCEEDS(cudaMemset(p, 1, 64));
	CHECK(is_known(p, 64));
	SUCCEEDS(cudaGraphLaunch(x, s));
	CHECK(memspec_pretend_known(p, 64) == -1);
	SUCCEEDS(cudaGraphExecDestroy(x));
	SUCCEEDS(cudaGraphDestroy(g));
	SUCCEEDS(cudaStreamDestroy(s));
	SUCCEEDS(cudaFree(p));
	memspec_pretend_track(0, 0);
}

/* Objects that a graph keeps live as long as it does, each as often as it was given. */
static void kept(void) {
	enum { OBJECTS = 20 };
	cudaStream_t s;
	cudaGraph_t g;
	cudaUserObject_t o[OBJECTS];
	int one = 1;
	destroyed = 0;
	SUCCEEDS(cudaStreamCreate(&s));
	SUCCEEDS(cudaStreamBeginCapture(s, 0));
	SUCCEEDS(cudaStreamEndCapture(s, &g));
	for (int i = 0; i < OBJECTS; i++) {
		SUCCEEDS(cudaUserObjectCreate(&o[i], &one, destroy, 3, 0));
		SUCCEEDS(cudaGraphRetainUserObject(g, o[i], 2, 0));
		SUCCEEDS(cudaGraphRetainUserObject(g, o[i], 1, 1)); /* one of the three becomes the graph's */
		SUCCEEDS(cudaUserObjectRelease(o[i], 1));
	}
	SUCCEEDS(cudaGraphDestroy(g));
	CHECK(destroyed == 0);
	for (int i = 0; i < OBJECTS; i++) {
		SUCCEEDS(cudaUserObjectRelease(o[i], 1));
		CHECK(destroyed == i + 1);
	}
	SUCCEEDS(cudaStreamDestroy(s));
}

static void called_back(cudaStream_t s, cudaError_t e, void *data) { *(cudaStream_t *)data = e ? NULL : s; }

static void asked(void) {
	cudaStream_t s, got = NULL;
	cudaGraph_t g;
	const cudaGraphNode_t *after = (void *)&s;
	const cudaGraphEdgeData *edges = (void *)&s;
	unsigned long long id, next;
	size_t n = 5;
	int status, priority = 1, mode = 2;
	float ms = 0;
	SUCCEEDS(cudaStreamCreateWithPriority(&s, 0, -3));
	SUCCEEDS(cudaStreamGetPriority(s, &priority));
	CHECK(priority == -3);
	for (uintptr_t i = 0; i <= 2; i++) {
		SUCCEEDS(cudaStreamGetPriority((cudaStream_t)i, &priority));
		CHECK(priority == 0);
	}
	SUCCEEDS(cudaStreamGetCaptureInfo_v3(s, &status, &id, &g, &after, &edges, &n));
	CHECK(status == cudaStreamCaptureStatusNone && id == 0 && !g && !after && !edges && n == 0);
	SUCCEEDS(cudaStreamBeginCapture(s, 0));
	SUCCEEDS(cudaStreamGetCaptureInfo_v3(s, &status, NULL, NULL, NULL, NULL, NULL));
	SUCCEEDS(cudaStreamGetCaptureInfo_v2(s, &status, &id, &g, NULL, NULL));
	CHECK(status == cudaStreamCaptureStatusActive && id && g);
	SUCCEEDS(cudaStreamEndCapture(s, &g));
	SUCCEEDS(cudaGraphDestroy(g));
	SUCCEEDS(cudaStreamBeginCapture(s, 0));
	g = NULL, after = (void *)&s, edges = (void *)&s, n = 5;
	SUCCEEDS(cudaStreamGetCaptureInfo(s, &status, &next, &g, &after, &edges, &n));
	CHECK(next == id + 1 && g && !after && !edges && n == 0); /* another capture, of the form of CUDA 13 */
	SUCCEEDS(cudaStreamEndCapture(s, &g));
	cudaGraphNode_t nodes[2] = { (cudaGraphNode_t)s, (cudaGraphNode_t)s };
	n = 1;
	SUCCEEDS(cudaGraphGetNodes(g, nodes, &n));
	CHECK(!nodes[0] && nodes[1]);
	SUCCEEDS(cudaGraphDestroy(g));
	SUCCEEDS(cudaStreamAddCallback(s, called_back, &got, 0));
	CHECK(got == s);
	SUCCEEDS(cudaThreadExchangeStreamCaptureMode(&mode));
	CHECK(mode == 0); /* cudaStreamCaptureModeGlobal */
	SUCCEEDS(cudaThreadExchangeStreamCaptureMode(&mode));
	CHECK(mode == 2);
	SUCCEEDS(cudaEventElapsedTime(&ms, NULL, NULL));
	CHECK(ms == 10);
	SUCCEEDS(cudaStreamDestroy(s));
}

/* A stream is on a card that has a context, and has the default priority where none is given. */
static void created(void) {
	cudaStream_t s;
	unsigned flags;
	int active = -1, priority = 1;
	SUCCEEDS(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(active == 0);
	SUCCEEDS(cudaStreamCreate(&s));
	SUCCEEDS(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(active == 1);
	SUCCEEDS(cudaStreamGetPriority(s, &priority));
	CHECK(priority == 0);
	SUCCEEDS(cudaStreamDestroy(s));
	SUCCEEDS(cudaStreamCreateWithFlags(&s, 1));
	SUCCEEDS(cudaStreamGetPriority(s, &priority));
	CHECK(priority == 0);
	SUCCEEDS(cudaStreamDestroy(s));
}

/* Before CUDA 13 the call has three parameters: what lies in the places of others is left alone. */
static cudaError_t version_12(int *version) { return *version = 12080, 0; }
static void *runtime_12(const char *library, const char *name) {
	void *f = NULL;
	if (!strcmp(library, "libcudart.so.12") && !strcmp(name, "cudaRuntimeGetVersion")) ASSIGN_FUNCTION(f, version_12);
	return f;
}
static void before_13(void) {
	cudaStream_t s;
	cudaGraph_t g, untouched = (cudaGraph_t)(void *)&s;
	unsigned long long id = 0;
	size_t n = 5;
	int status;
	fake_function = runtime_12;
	SUCCEEDS(cudaStreamCreate(&s));
	SUCCEEDS(cudaStreamBeginCapture(s, 0));
	g = untouched;
	SUCCEEDS(cudaStreamGetCaptureInfo(s, &status, &id, &g, NULL, NULL, &n));
	CHECK(status == cudaStreamCaptureStatusActive && id && g == untouched && n == 5);
	SUCCEEDS(cudaStreamEndCapture(s, &g));
	SUCCEEDS(cudaGraphDestroy(g));
	SUCCEEDS(cudaStreamDestroy(s));
}

void captures(void) {
	created();
	one_capture();
	forbidden();
	replayed();
	kept();
	asked();
	before_13();
}
