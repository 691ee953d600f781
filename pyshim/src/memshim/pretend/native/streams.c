/* Streams, events, captures and graphs of the CUDA runtime. Everything is done at once, so a stream
   has no queue; what is kept is which capture it belongs to. A capture passes from stream to stream
   through events: a stream that waits for an event of a capturing stream joins its capture, and all
   leave it when it ends. */
#include "pretend.h"

#include <stdlib.h>
#include <string.h>

struct capture {
	unsigned long long id;
	const struct CUstream_st *origin; /* where it began, and ends */
	int device;
	struct capture *next; /* of those under way */
	bool active, invalid;
	unsigned holders; /* streams, events, and the graph that it makes */
	size_t nodes;
};
struct CUstream_st {
	int priority;
	struct capture *capture;
};
struct CUevent_st {
	struct capture *capture;
	bool recorded; /* in a stream that did not capture */
};
struct CUgraph_st {
	size_t nodes, kept_count, kept_room;
	struct kept {
		struct CUuserObject_st *object;
		unsigned references;
	} *kept;
};
struct CUgraphExec_st {
	size_t nodes;
};
struct CUuserObject_st {
	void *data;
	cudaHostFn_t destroy;
	unsigned references;
};

static __thread cudaError_t last_error;
/* stands for the handles 0, 1 and 2: the legacy and the per-thread default stream */
static struct CUstream_st null_stream;

cudaError_t fail(cudaError_t e) {
	if (e) last_error = e;
	return e;
}

API cudaError_t cudaGetLastError(void) {
	cudaError_t e = last_error;
	last_error = cudaSuccess;
	return e;
}
API cudaError_t cudaPeekAtLastError(void) { return last_error; }

static bool is_default(cudaStream_t s) { return (uintptr_t)s <= 2; }
static struct CUstream_st *stream_of(cudaStream_t s) { return is_default(s) ? &null_stream : s; }

/* ---- captures; the lock is held by their users ---- */

static struct capture *under_way;

static void finish(struct capture *c) {
	struct capture **place = &under_way;
	while (*place && *place != c) place = &(*place)->next;
	if (*place) *place = c->next;
	c->active = false;
}
static void hold(struct capture **place, struct capture *c) {
	if (c) c->holders++;
	if (*place && !--(*place)->holders) {
		finish(*place);
		free(*place);
	}
	__atomic_store_n(place, c, __ATOMIC_RELAXED);
}
/* Whether no capture is there, as nearly always: asked without the lock. */
static bool idle(struct capture **place) { return !__atomic_load_n(place, __ATOMIC_RELAXED); }

/* The capture under way. One that ended is released. */
static struct capture *current(struct capture **place) {
	if (*place && !(*place)->active) hold(place, NULL);
	return *place;
}

bool stream_capturing(cudaStream_t s) {
	lock_memory();
	bool yes = current(&stream_of(s)->capture) != NULL;
	unlock_memory();
	return yes;
}

void capture_node(cudaStream_t s) {
	struct CUstream_st *stream = stream_of(s);
	if (idle(&stream->capture)) return;
	lock_memory();
	struct capture *c = current(&stream->capture);
	if (c) c->nodes++;
	unlock_memory();
}

/* Waiting for what is captured is an error, and spoils the capture. */
static cudaError_t wait_for(struct capture **place, cudaError_t error) {
	if (idle(place)) return cudaSuccess;
	lock_memory();
	struct capture *c = current(place);
	if (c) c->invalid = true;
	unlock_memory();
	return c ? fail(error) : cudaSuccess;
}
/* So is waiting for all of a device, while a stream of it captures. */
API cudaError_t cudaDeviceSynchronize(void) {
	bool captures = false;
	lock_memory();
	for (struct capture *c = under_way; c; c = c->next)
		if (c->device == current_device()) c->invalid = captures = true;
	unlock_memory();
	return captures ? fail(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

static cudaError_t begin(cudaStream_t s, struct CUgraph_st *into) {
	static unsigned long long captures;
	struct CUstream_st *stream = stream_of(s);
	if ((uintptr_t)s <= 1) return fail(cudaErrorStreamCaptureUnsupported); /* the legacy stream */
	struct capture *c = zeroed(sizeof *c);
	if (!c) return fail(cudaErrorMemoryAllocation);
	lock_memory();
	cudaError_t e = current(&stream->capture) ? cudaErrorIllegalState : cudaSuccess;
	if (!e) {
		*c = (struct capture){ .id = ++captures, .origin = stream, .device = current_device(), .next = under_way,
			.active = true, .nodes = into ? into->nodes : 0 };
		under_way = c;
		hold(&stream->capture, c);
	} else free(c);
	unlock_memory();
	return fail(e);
}

API cudaError_t cudaStreamBeginCapture(cudaStream_t s, capture_mode mode UNUSED) { return begin(s, NULL); }
API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t s, cudaGraph_t graph, const cudaGraphNode_t *after UNUSED,
	const cudaGraphEdgeData *edges UNUSED, size_t n UNUSED, capture_mode mode UNUSED) { return begin(s, graph); }

API cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph) {
	struct CUstream_st *stream = stream_of(s);
	*graph = NULL;
	struct CUgraph_st *made = zeroed(sizeof *made);
	if (!made) return fail(cudaErrorMemoryAllocation);
	lock_memory();
	struct capture *c = current(&stream->capture);
	cudaError_t e = !c ? cudaErrorIllegalState : c->origin != stream ? cudaErrorStreamCaptureUnmatched : c->invalid
		? cudaErrorStreamCaptureInvalidated : cudaSuccess;
	if (e == cudaErrorStreamCaptureUnmatched) c->invalid = true;
	else if (c) {
		made->nodes = c->nodes;
		finish(c); /* the stream releases it when it is next used */
	}
	unlock_memory();
	if (e) free(made);
	else *graph = made;
	return fail(e);
}

API cudaError_t cudaStreamIsCapturing(cudaStream_t s, capture_status *status) {
	struct CUstream_st *stream = stream_of(s);
	*status = cudaStreamCaptureStatusNone;
	if (idle(&stream->capture)) return cudaSuccess;
	lock_memory();
	struct capture *c = current(&stream->capture);
	if (c) *status = c->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
	unlock_memory();
	return cudaSuccess;
}

API cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t s, capture_status *status, unsigned long long *id,
	cudaGraph_t *graph,
	const cudaGraphNode_t **after, const cudaGraphEdgeData **edges, size_t *n) {
	static struct CUgraph_st unfinished; /* there is no graph before the capture ends; nobody looks into it */
	cudaStreamIsCapturing(s, status);
	lock_memory();
	struct capture *c = current(&stream_of(s)->capture);
	if (id) *id = c ? c->id : 0;
	if (graph) *graph = c ? &unfinished : NULL;
	unlock_memory();
	if (after) *after = NULL;
	if (edges) *edges = NULL;
	if (n) *n = 0;
	return cudaSuccess;
}

API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t s, capture_status *status, unsigned long long *id,
	cudaGraph_t *graph,
	const cudaGraphNode_t **after, size_t *n) {
	return cudaStreamGetCaptureInfo_v3(s, status, id, graph, after, NULL, n);
}

#if !defined PUBLIC_HEADERS || CUDART_VERSION >= 13000
/* Without a suffix it has seven parameters since CUDA 13, and three before. */
API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t s, capture_status *status, unsigned long long *id,
	cudaGraph_t *graph,
	const cudaGraphNode_t **after, const cudaGraphEdgeData **edges, size_t *n) {
	if (runtime_version() < 13000) return cudaStreamGetCaptureInfo_v3(s, status, id, NULL, NULL, NULL, NULL);
	return cudaStreamGetCaptureInfo_v3(s, status, id, graph, after, edges, n);
}
API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t s UNUSED, cudaGraphNode_t *after UNUSED,
	const cudaGraphEdgeData *edges UNUSED,
	size_t n UNUSED, unsigned int flags UNUSED) { return cudaSuccess; }
#endif

API cudaError_t cudaThreadExchangeStreamCaptureMode(capture_mode *mode) {
	static __thread capture_mode of_thread;
	capture_mode before = of_thread;
	of_thread = *mode;
	*mode = before;
	return cudaSuccess;
}

/* ---- streams ---- */

API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned int flags UNUSED, int priority) {
	struct gpu *g = current_gpu();
	if (!g) return fail(cudaErrorNoDevice);
	gpu_activate(g);
	*s = zeroed(sizeof **s);
	if (!*s) return fail(cudaErrorMemoryAllocation);
	(*s)->priority = priority;
	return cudaSuccess;
}
API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned int flags) {
	return cudaStreamCreateWithPriority(s, flags, 0);
}
API cudaError_t cudaStreamCreate(cudaStream_t *s) { return cudaStreamCreateWithPriority(s, 0, 0); }

API cudaError_t cudaStreamDestroy(cudaStream_t s) {
	if (is_default(s)) return fail(cudaErrorInvalidResourceHandle);
	lock_memory();
	hold(&s->capture, NULL);
	unlock_memory();
	free(s);
	return cudaSuccess;
}
API cudaError_t cudaStreamGetPriority(cudaStream_t s, int *priority) {
	*priority = stream_of(s)->priority;
	return cudaSuccess;
}
API cudaError_t cudaStreamQuery(cudaStream_t s) {
	return wait_for(&stream_of(s)->capture, cudaErrorStreamCaptureUnsupported);
}
API cudaError_t cudaStreamSynchronize(cudaStream_t s) { return cudaStreamQuery(s); }
API cudaError_t cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t f, void *data, unsigned int flags UNUSED) {
	f(s, cudaSuccess, data);
	return cudaSuccess;
}
API cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void *data) {
	if (stream_capturing(s)) capture_node(s); /* it runs when the graph does, and graphs do nothing */
	else f(data);
	return cudaSuccess;
}

/* ---- events ---- */

API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned int flags UNUSED) {
	*e = zeroed(sizeof **e);
	return *e ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}
API cudaError_t cudaEventCreate(cudaEvent_t *e) { return cudaEventCreateWithFlags(e, 0); }
API cudaError_t cudaEventDestroy(cudaEvent_t e) {
	if (!e) return fail(cudaErrorInvalidResourceHandle);
	lock_memory();
	hold(&e->capture, NULL);
	unlock_memory();
	free(e);
	return cudaSuccess;
}
API cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned int flags) {
	enum { EXTERNAL = 1 }; /* cudaEventRecordExternal: recorded when the graph runs */
	lock_memory();
	struct capture *c = flags & EXTERNAL ? NULL : current(&stream_of(s)->capture);
	hold(&e->capture, c);
	e->recorded = !c;
	unlock_memory();
	return cudaSuccess;
}
API cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) { return cudaEventRecordWithFlags(e, s, 0); }
API cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned int flags) {
	enum { EXTERNAL = 1 }; /* cudaEventWaitExternal: of what is not captured */
	struct CUstream_st *stream = stream_of(s);
	lock_memory();
	struct capture *c = current(&e->capture), *own = current(&stream->capture);
	bool merges = c && own && c != own, leaves = !c && own && e->recorded && !(flags & EXTERNAL);
	if (merges) c->invalid = true;
	if (merges || leaves) own->invalid = true;
	else if (c) hold(&stream->capture, c);
	unlock_memory();
	return fail(merges ? cudaErrorStreamCaptureMerge : leaves ? cudaErrorStreamCaptureIsolation : cudaSuccess);
}
API cudaError_t cudaEventQuery(cudaEvent_t e) { return wait_for(&e->capture, cudaErrorCapturedEvent); }
API cudaError_t cudaEventSynchronize(cudaEvent_t e) { return cudaEventQuery(e); }

/* Time is invented. Long enough that what repeats until it has measured for 100 ms (Triton's
   do_bench) does not repeat for ever. */
API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from UNUSED, cudaEvent_t to UNUSED) {
	*ms = 10;
	return cudaSuccess;
}
API cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t from, cudaEvent_t to) {
	return cudaEventElapsedTime(ms, from, to);
}

/* ---- graphs: replaying one does nothing, and leaves what it would have written unknown ---- */

API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *x, cudaGraph_t graph, unsigned long long flags UNUSED) {
	*x = zeroed(sizeof **x);
	if (!*x) return fail(cudaErrorMemoryAllocation);
	(*x)->nodes = graph->nodes;
	note_unsized("CUDA graphs: what the driver takes for an instantiated graph is outside PyTorch's allocator");
	return cudaSuccess;
}
#if !defined PUBLIC_HEADERS || CUDART_VERSION >= 12000
API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *x, cudaGraph_t graph, unsigned long long flags) {
	return cudaGraphInstantiateWithFlags(x, graph, flags);
}
#endif
API cudaError_t cudaGraphLaunch(cudaGraphExec_t x UNUSED, cudaStream_t s UNUSED) {
	bytes_after_launch(NULL);
	return cudaSuccess;
}
API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x) {
	free(x);
	return cudaSuccess;
}

API cudaError_t cudaUserObjectCreate(cudaUserObject_t *o, void *data, cudaHostFn_t destroy, unsigned int references,
	unsigned int flags UNUSED) {
	*o = zeroed(sizeof **o);
	if (!*o) return fail(cudaErrorMemoryAllocation);
	**o = (struct CUuserObject_st){ data, destroy, references };
	return cudaSuccess;
}
API cudaError_t cudaUserObjectRelease(cudaUserObject_t o, unsigned int n) {
	lock_memory();
	bool last = o->references <= n;
	if (!last) o->references -= n;
	unlock_memory();
	if (last) {
		o->destroy(o->data);
		free(o);
	}
	return cudaSuccess;
}
API cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t o, unsigned int n, unsigned int flags) {
	enum { MOVE = 1 }; /* cudaGraphUserObjectMove: the caller's references become the graph's */
	if (!table_grow(&graph->kept, graph->kept_count, &graph->kept_room, sizeof *graph->kept))
		return fail(cudaErrorMemoryAllocation);
	graph->kept[graph->kept_count++] = (struct kept){ o, n };
	lock_memory();
	if (!(flags & MOVE)) o->references += n;
	unlock_memory();
	return cudaSuccess;
}
API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
	for (size_t i = 0; i < graph->kept_count; i++) cudaUserObjectRelease(graph->kept[i].object, graph->kept[i].references);
	free(graph->kept);
	free(graph);
	return cudaSuccess;
}
API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n) {
	if (nodes) memset(nodes, 0, *n * sizeof *nodes); /* how many there are is known, not what they are */
	else *n = graph->nodes;
	return cudaSuccess;
}
