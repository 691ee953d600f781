/* Threads that share everything: built with the thread sanitizer, which reports what two of them
   touch without a lock. */
#include "unit.h"

cudnnStatus_t cudnnSetDropoutDescriptor(void *, void *, float, void *, size_t, unsigned long long);

enum { THREADS = 4, ROUNDS = 200, INT8 = 0, INT32 = 2, SUM = 0 };
static char *common; /* one block of device memory, 8 KiB of it for each thread */
static cudaStream_t streams[2];
static cudaUserObject_t object;
static void destroyed(void *data) { (void)data; }
static cudaEvent_t event;
static ncclComm_t world;
static pthread_barrier_t start;

static void memory_of(int me, void *host) {
	void *p, *managed, *pinned;
	char *own = common + 8192 * me;
	size_t all;
	SUCCEEDS(cudaMalloc(&p, 64 << 10));
	SUCCEEDS(cudaMemcpy(p, host, 64, 1));
	SUCCEEDS(cudaMemcpy(own, p, 64, 3));
	SUCCEEDS(cudaMemset(own + 1024, 3, 512));
	memspec_pretend_wrote(own, 64, KNOWN);
	memspec_pretend_chose(own, 8);
	memspec_pretend_unknown(own + 8, 8);
	memspec_pretend_zero(own + 16, 8);
	CHECK(memspec_pretend_known(common, 64) >= -1 && memspec_pretend_chosen(common, 64) >= -1);
	memspec_pretend_untouched(common, 4096);
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(p, 512, 512, 64 << 10, 1);
	SUCCEEDS(cudaFree(p));
	SUCCEEDS(cudnnSetDropoutDescriptor(own, NULL, 0.5f, NULL, 0, 0));
	SUCCEEDS(cudaMallocAsync(&p, 4096, NULL));
	SUCCEEDS(cudaFreeAsync(p, NULL));
	SUCCEEDS(cudaMallocManaged(&managed, 4096, 1));
	SUCCEEDS(cudaFree(managed));
	SUCCEEDS(cudaHostAlloc(&pinned, 4096, 0));
	SUCCEEDS(cudaFreeHost(pinned));
	SUCCEEDS(cudaHostRegister(host, 64, 0));
	SUCCEEDS(cudaHostUnregister(host));
	CHECK(free_now() > 0);
	cudaMemPool_t pool;
	SUCCEEDS(cudaDeviceGetDefaultMemPool(&pool, 0));
	SUCCEEDS(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &all));
	SUCCEEDS(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &all));
}

static void mappings(void) {
	CUdeviceptr base;
	CUmemGenericAllocationHandle h;
	CUmemAllocationProp prop = { .location.id = 0 };
	unsigned type;
	SUCCEEDS(cuMemAddressReserve(&base, 8 * MIB, 0, 0, 0));
	SUCCEEDS(cuMemCreate(&h, 2 * MIB, &prop, 0));
	SUCCEEDS(cuMemMap(base, 2 * MIB, 0, h, 0));
	SUCCEEDS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base));
	CUmemGenericAllocationHandle again;
	SUCCEEDS(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)base));
	SUCCEEDS(cuMemRelease(again));
	SUCCEEDS(cuMemSetAccess(base, 2 * MIB, NULL, 0));
	SUCCEEDS(cuMemUnmap(base, 2 * MIB));
	SUCCEEDS(cuMemRelease(h));
	SUCCEEDS(cuMemAddressFree(base, 8 * MIB));
}

static void captures_of(int me) {
	cudaStream_t own;
	cudaEvent_t mine;
	cudaGraph_t graph;
	cudaGraphExec_t ready;
	int status;
	dim3 one = { 1, 1, 1 };
	SUCCEEDS(cudaStreamCreate(&own));
	SUCCEEDS(cudaEventCreate(&mine));
	SUCCEEDS(cudaStreamBeginCapture(own, 0));
	SUCCEEDS(cudaLaunchKernel(captures_of, one, one, NULL, 0, own));
	SUCCEEDS(cudaEventRecord(mine, own));
	SUCCEEDS(cudaStreamWaitEvent(own, mine, 0));
	SUCCEEDS(cudaEventRecord(event, own)); /* one event of all */
	SUCCEEDS(cudaStreamIsCapturing(own, &status));
	if (cudaStreamEndCapture(own, &graph) == cudaSuccess) {
		/* not where another thread has asked for the event meanwhile */
		SUCCEEDS(cudaGraphInstantiate(&ready, graph, 0));
		SUCCEEDS(cudaGraphRetainUserObject(graph, object, 1, 0)); /* which the graph gives back */
		SUCCEEDS(cudaGraphLaunch(ready, own));
		SUCCEEDS(cudaGraphExecDestroy(ready));
		SUCCEEDS(cudaGraphDestroy(graph));
	}
	SUCCEEDS(cudaEventDestroy(mine));
	SUCCEEDS(cudaStreamDestroy(own));
	cudaStreamIsCapturing(streams[me % 2], &status); /* of which the threads disagree */
	if (cudaStreamBeginCapture(streams[me % 2], 0) == cudaSuccess) {
		cudaLaunchKernel(captures_of, one, one, NULL, 0, streams[me % 2]);
		if (cudaStreamEndCapture(streams[me % 2], &graph) == cudaSuccess) SUCCEEDS(cudaGraphDestroy(graph));
	}
	cudaStreamQuery(streams[(me + 1) % 2]);
	cudaEventQuery(event);
	cudaStreamWaitEvent(streams[me % 2], event, 0);
	cudaGetLastError();
}

static void groups_of(int me, int round) {
	ncclComm_t own, part;
	char *at = common + 8192 * me + 4096;
	int kept[10];
	SUCCEEDS(ncclCommInitRank(&own, 2, (ncclUniqueId){ { 0 } }, 0));
	memspec_pretend_split(100 * me + round, 2, 1, 1);
	SUCCEEDS(ncclCommSplit(own, 100 * me + round, 0, &part, NULL));
	SUCCEEDS(ncclAllReduce(at, at, 8, INT8, SUM, part, NULL));
	SUCCEEDS(ncclAlltoAll(at, at + 2048, 1, INT32, part, NULL));
	SUCCEEDS(ncclAllGather(at, at + 2048, 1, INT32, world, NULL));
	CHECK(memspec_pretend_communicator(0, kept));
	SUCCEEDS(ncclCommDestroy(part));
	SUCCEEDS(ncclCommDestroy(own));
}

static void *everything(void *number) {
	int me = (int)(intptr_t)number;
	char host[64] = { 1 };
	pthread_barrier_wait(&start);
	for (int i = 0; i < ROUNDS; i++) {
		char name[32];
		int kind;
		const char *noted;
		unsigned long long times;
		memory_of(me, host);
		mappings();
		captures_of(me);
		groups_of(me, i);
		snprintf(name, sizeof name, "call %d", i);
		note_absent(name);
		CHECK(memspec_pretend_note(0, &kind, &noted, &times));
		memspec_pretend_convolutions(NULL);
		cudaIpcMemHandle_t handle;
		SUCCEEDS(cudaIpcGetMemHandle(&handle, common));
	}
	return number;
}

void races(void) {
	pthread_t t[THREADS];
	SUCCEEDS(cudaMalloc((void **)&common, 64 << 10));
	for (int i = 0; i < 2; i++) SUCCEEDS(cudaStreamCreate(&streams[i]));
	SUCCEEDS(cudaEventCreate(&event));
	SUCCEEDS(cudaUserObjectCreate(&object, NULL, destroyed, 1, 0));
	SUCCEEDS(ncclCommInitRank(&world, 2, (ncclUniqueId){ { 0 } }, 0));
	note_absent("the first");
	memspec_pretend_track(1, 0);
	SUCCEEDS(pthread_barrier_init(&start, NULL, THREADS));
	for (int i = 0; i < THREADS; i++) SUCCEEDS(pthread_create(&t[i], NULL, everything, (void *)(intptr_t)i));
	for (int i = 0; i < THREADS; i++) SUCCEEDS(pthread_join(t[i], NULL));
	SUCCEEDS(cudaUserObjectRelease(object, 1));
}
