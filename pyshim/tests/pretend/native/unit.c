/* The library's own tests, linked with its sources; built with the address and undefined-behaviour
   sanitizers. Each test is a function; a failed check says its line and ends the process. unit NAME
   runs one, with MEMSPEC_PRETEND set by whoever starts it. */
#include "unit.h"

/* ---- functions of libraries that are not here: the linker calls this one for real_function ---- */

void *(*fake_function)(const char *, const char *);
void *__real_real_function(const char *, const char *), *__wrap_real_function(const char *, const char *);
void *__wrap_real_function(const char *library, const char *name) {
	return fake_function ? fake_function(library, name) : __real_real_function(library, name);
}

void *(*fake_symbol)(const char *);
void *__real_dlsym(void *, const char *), *__wrap_dlsym(void *, const char *);
void *__wrap_dlsym(void *library, const char *name) {
	return fake_symbol ? fake_symbol(name) : __real_dlsym(library, name);
}

/* ---- locks: a thread takes none that it holds, and releases none that it does not ---- */

static __thread pthread_mutex_t *held[4];
static pthread_mutex_t **place_of(const pthread_mutex_t *m) {
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		if (held[i] == m) return &held[i];
	return NULL;
}
static void lock_expects(bool right, const char *error) {
	if (right) return;
	fprintf(stderr, "%s\n", error);
	abort(); /* what exit calls may want the lock */
}
int __real_pthread_mutex_lock(pthread_mutex_t *), __wrap_pthread_mutex_lock(pthread_mutex_t *);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m) {
	lock_expects(!place_of(m), "got a lock that this thread holds already");
	lock_expects(place_of(NULL), "got more than four locks of a thread");
	*place_of(NULL) = m;
	return __real_pthread_mutex_lock(m);
}
int __real_pthread_mutex_unlock(pthread_mutex_t *), __wrap_pthread_mutex_unlock(pthread_mutex_t *);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m) {
	lock_expects(place_of(m), "got the release of a lock that this thread does not hold");
	*place_of(m) = NULL;
	return __real_pthread_mutex_unlock(m);
}

/* ---- memory ---- */

static void memory(void) {
	size_t before = free_now();
	void *a, *b, *c, *d;
	SUCCEEDS(cudaMalloc(&a, 20 * MIB));
	SUCCEEDS(cudaMalloc(&b, 2 * MIB));
	SUCCEEDS(cudaMalloc(&c, 1));
	CHECK((char *)b == (char *)a + 20 * MIB && (char *)c == (char *)b + 2 * MIB && (uintptr_t)a % (2 * MIB) == 0);
	CHECK(free_now() == before - 22 * MIB - 512);
	memset(a, 1, 20 * MIB);
	SUCCEEDS(cudaFree(b));
	SUCCEEDS(cudaFree(a)); /* the holes become one */
	SUCCEEDS(cudaMalloc(&d, 22 * MIB));
	CHECK(d == a && ((char *)d)[5] == 0); /* and its pages are zeros again */
	CHECK(cudaFree((char *)d + 512) == cudaErrorInvalidValue && cudaFree(&before) == cudaErrorInvalidValue);
	SUCCEEDS(cudaFree(d));
	CHECK(cudaFree(d) == cudaErrorInvalidValue);
	int ends[2]; /* what was freed cannot be read */
	CHECK(!pipe(ends) && write(ends[1], c, 1) == 1 && write(ends[1], d, 1) == -1);
	SUCCEEDS(cudaMalloc(&a, 20 * MIB));
	SUCCEEDS(cudaMalloc(&b, 2 * MIB));
	SUCCEEDS(cudaFree(a));
	SUCCEEDS(cudaFree(b)); /* a hole joins the one before it too */
	SUCCEEDS(cudaMalloc(&d, 22 * MIB));
	CHECK(d == a);
	SUCCEEDS(cudaFree(d));
	SUCCEEDS(cudaFree(c));
	SUCCEEDS(cudaFree(NULL));
	CHECK(free_now() == before);
	CHECK(cudaMalloc(&a, before + 512) == cudaErrorMemoryAllocation && !a &&
		cudaGetLastError() == cudaErrorMemoryAllocation);
	CHECK(cudaMalloc(&a, ~(size_t)0) == cudaErrorMemoryAllocation);
	SUCCEEDS(cudaMalloc(&a, before)); /* to the last byte */
	CHECK(free_now() == 0 && cudaMalloc(&b, 1) == cudaErrorMemoryAllocation);
	SUCCEEDS(cudaFree(a));
	SUCCEEDS(cudaMalloc(&a, 0));
	CHECK(!a);

	struct cudaPointerAttributes at;
	SUCCEEDS(cudaMalloc(&a, 4 * MIB));
	SUCCEEDS(cudaPointerGetAttributes(&at, (char *)a + MIB));
	CHECK(at.type == cudaMemoryTypeDevice && at.device == 0 && at.devicePointer == (char *)a + MIB && !at.hostPointer);
	SUCCEEDS(cudaPointerGetAttributes(&at, (char *)a + 4 * MIB));
	CHECK(at.type == cudaMemoryTypeUnregistered);
	SUCCEEDS(cudaHostAlloc(&b, 100, 0));
	SUCCEEDS(cudaPointerGetAttributes(&at, (char *)b + 99));
	CHECK(at.type == cudaMemoryTypeHost);
	CHECK(cudaFreeHost(a) == cudaErrorInvalidValue);
	SUCCEEDS(cudaFreeHost(b));
	char own[64];
	SUCCEEDS(cudaHostRegister(own, sizeof own, 0));
	CHECK(cudaHostRegister(own, sizeof own, 0) == 712 && cudaHostUnregister(own + 1) == 713);
	SUCCEEDS(cudaHostUnregister(own));
	SUCCEEDS(cudaFree(a));

	cudaMemPool_t pool;
	uint64_t used, high;
	SUCCEEDS(cudaDeviceGetDefaultMemPool(&pool, 0));
	SUCCEEDS(cudaMallocAsync(&a, 4 * MIB, NULL));
	SUCCEEDS(cudaFreeAsync(a, NULL));
	SUCCEEDS(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	SUCCEEDS(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high));
	CHECK(used == 0 && high == 4 * MIB && cudaFreeAsync(a, NULL) == cudaErrorInvalidValue);
}

/* Many allocations and frees by lot, against the plainest account of them. */
static void lot(void) {
	enum { MOST = 64 };
	struct { char *at; size_t size; } held[MOST] = { 0 };
	size_t all = free_now(), taken = 0;
	srand(7);
	for (int step = 0; step < 20000; step++) {
		int i = rand() % MOST;
		if (held[i].at) {
			SUCCEEDS(cudaFree(held[i].at));
			taken -= held[i].size;
			held[i].at = NULL;
		} else {
			size_t size = (size_t)(1 + rand() % 4000) * 4096;
			void *p;
			cudaError_t e = cudaMalloc(&p, size);
			CHECK((e == cudaSuccess) == (taken + size <= all));
			cudaGetLastError();
			if (e) continue;
			held[i].at = p;
			held[i].size = size;
			taken += size;
			for (int j = 0; j < MOST; j++) CHECK(j == i || !held[j].at || held[j].at + held[j].size <= (char *)p ||
				(char *)p + size <= held[j].at);
		}
		CHECK(free_now() == all - taken);
	}
	for (int i = 0; i < MOST; i++)
		if (held[i].at) SUCCEEDS(cudaFree(held[i].at));
	void *p;
	SUCCEEDS(cudaMalloc(&p, all));
	SUCCEEDS(cudaFree(p));
}

static void expandable(void) {
	size_t before = free_now();
	CUdeviceptr base;
	CUmemGenericAllocationHandle h[3];
	CUmemAllocationProp prop = { .location.id = 0 };
	SUCCEEDS(cuMemAddressReserve(&base, 4096 * MIB, 0, 0, 0)); /* more than the card has */
	for (int i = 0; i < 3; i++) {
		SUCCEEDS(cuMemCreate(&h[i], 20 * MIB, &prop, 0));
		SUCCEEDS(cuMemMap(base + (CUdeviceptr)i * 20 * MIB, 20 * MIB, 0, h[i], 0));
	}
	CHECK(free_now() == before - 60 * MIB);
	memset((void *)(uintptr_t)base, 3, 60 * MIB);
	SUCCEEDS(cuMemRelease(h[1]));
	CHECK(free_now() == before - 60 * MIB); /* it is mapped still */
	SUCCEEDS(cuMemUnmap(base + 20 * MIB, 20 * MIB));
	CHECK(free_now() == before - 40 * MIB);
	unsigned type;
	SUCCEEDS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base + 40 * MIB));
	CHECK(type == CU_MEMORYTYPE_DEVICE && cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		base + 20 * MIB) == CUDA_ERROR_INVALID_VALUE);
	SUCCEEDS(cuMemUnmap(base, 20 * MIB));
	SUCCEEDS(cuMemUnmap(base + 40 * MIB, 20 * MIB));
	CHECK(free_now() == before - 40 * MIB); /* unmapped, not released */
	SUCCEEDS(cuMemRelease(h[0]));
	SUCCEEDS(cuMemRelease(h[2]));
	CHECK(free_now() == before);
	CHECK(cuMemCreate(&h[0], before + 2 * MIB, &prop, 0) == CUDA_ERROR_OUT_OF_MEMORY);
	SUCCEEDS(cuMemAddressFree(base, 4096 * MIB));
}

static void refusals(void) {
	int kind;
	const char *name;
	unsigned long long count;
	CHECK(!memspec_pretend_note(0, &kind, &name, &count) && !memspec_pretend_note(-1, &kind, &name, &count));
	CHECK(cudaIpcGetEventHandle() == cudaErrorNotSupported && cudaIpcGetEventHandle() == cudaErrorNotSupported);
	CHECK(memspec_pretend_note(0, &kind, &name, &count) && kind == 0 && !strcmp(name, "cudaIpcGetEventHandle") &&
		count == 2);
	CHECK(!strcmp(cudaGetErrorString(cudaErrorNotSupported),
		"cudaIpcGetEventHandle is not stood in for on memspec's pretend GPU"));
	note_unsized("what is not known");
	CHECK(memspec_pretend_note(1, &kind, &name, &count) && kind == 2 && count == 1 &&
		!memspec_pretend_note(2, &kind, &name, &count));
	for (int i = 0; i < 1000; i++) { /* as many as a runtime asks for: what is refused after them is reported too */
		char wanted[32];
		snprintf(wanted, sizeof wanted, "cuCall%d", i);
		note_absent(wanted);
	}
	CHECK(cuGreenCtxDestroy() != 0);
	CHECK(memspec_pretend_note(1002, &kind, &name, &count) && kind == 0 && !strcmp(name, "cuGreenCtxDestroy"));
}

/* ---- NCCL ---- */

static void collectives(void) {
	char *p, bytes[16] = "0123456789abcdef";
	SUCCEEDS(cudaMalloc((void **)&p, 256));
	memspec_pretend_track(1, 0);
	for (int ranks = 1; ranks <= 2; ranks++) {
		ncclComm_t c;
		SUCCEEDS(ncclCommInitRank(&c, ranks, (ncclUniqueId){ { 0 } }, ranks - 1));
		SUCCEEDS(cudaMemcpy(p, bytes, 16, 1));
		SUCCEEDS(ncclAllGather(p, p + 64, 16, 0, c, NULL));
		CHECK(!memcmp(p + 64, bytes, 16) && is_known(p + 64, 16) == (ranks == 1)); /* of others nothing is known */
		/* they have the same, it is taken */
		CHECK(ranks == 1 || !memcmp(p + 80, bytes, 16));
		SUCCEEDS(ncclReduceScatter(p, p + 128, (size_t)(16 / ranks), 0, 0, c, NULL));
		CHECK(!memcmp(p + 128, bytes + (ranks == 1 ? 0 : 8), (size_t)(16 / ranks)) && is_known(p + 128, 1) == (ranks == 1));
		p[144] = 77;
		SUCCEEDS(ncclAllReduce(p, p + 128, 16, 0, 0, c, NULL));
		CHECK(!memcmp(p + 128, bytes, 16) && p[144] == 77);
		SUCCEEDS(ncclAllReduce(p, p, 16, 0, 5, c, NULL));
		CHECK(!is_known(p, 1)); /* multiplied by what is not looked at */
		SUCCEEDS(cudaMemcpy(p, bytes, 16, 1));
		SUCCEEDS(ncclBroadcast(p, p, 16, 0, ranks - 1, c, NULL));
		CHECK(is_known(p, 16)); /* it is the root */
		SUCCEEDS(ncclBroadcast(p, p, 16, 0, 0, c, NULL));
		CHECK(is_known(p, 16) == (ranks == 1));
		SUCCEEDS(cudaMemcpy(p, bytes, 16, 1));
		SUCCEEDS(ncclGroupStart());
		for (int root = 0; root < ranks; root++) SUCCEEDS(ncclBroadcast(root == ranks - 1 ? p : p + 160, p + 160 + 16 * root,
			16, 0, root, c, NULL));
		SUCCEEDS(ncclGroupEnd());
		CHECK(!memcmp(p + 160, bytes, 16) && is_known(p + 160, 16) == (ranks == 1)); /* a gather by broadcasts */
		SUCCEEDS(ncclCommDestroy(c));
	}
	ncclComm_t c;
	CHECK(ncclCommInitRank(&c, 2, (ncclUniqueId){ { 0 } }, 2) == 4 && ncclCommInitRank(&c, 0, (ncclUniqueId){
		{ 0 } }, 0) == 4);
	SUCCEEDS(cudaFree(p));
}

/* ---- threads and forks ---- */

static void *allocate(void *arg) {
	for (int i = 0; i < 2000; i++) {
		void *p;
		SUCCEEDS(cudaMalloc(&p, MIB));
		SUCCEEDS(cudaMemcpy(p, &i, sizeof i, 1));
		SUCCEEDS(cudaFree(p));
	}
	return arg;
}
static bool ended;
static void *note(void *arg) { /* notes have a lock too, which this thread holds most of the time */
	while (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) note_absent("the last");
	return arg;
}
static void threads(void) {
	size_t before = free_now();
	pthread_t t[4], notes;
	for (int i = 0; i < 2000; i++) {
		char name[32];
		snprintf(name, sizeof name, "call %d", i);
		note_absent(name);
	}
	SUCCEEDS(pthread_create(&notes, NULL, note, NULL));
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		if (!child) {
			alarm(20);
			note_absent("the last");
			_exit(0);
		}
		int status;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	__atomic_store_n(&ended, true, __ATOMIC_RELAXED);
	SUCCEEDS(pthread_join(notes, NULL));
	for (int i = 0; i < 4; i++) SUCCEEDS(pthread_create(&t[i], NULL, allocate, NULL));
	for (int i = 0; i < 20; i++) { /* a child can go on, whatever the others hold */
		pid_t child = fork();
		if (!child) {
			allocate(NULL);
			_exit(0);
		}
		int status;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	for (int i = 0; i < 4; i++) SUCCEEDS(pthread_join(t[i], NULL));
	CHECK(free_now() == before);
}

int main(int argc, char **argv) {
	struct { const char *name; void (*run)(void); } all[] = { { "devices", devices }, { "visible", visible },
		{ "second", second }, { "described", described }, { "none", none }, { "memory", memory }, { "lot", lot },
		{ "expandable", expandable }, { "values", values }, { "spans", spans }, { "captures", captures },
		{ "refusals", refusals }, { "collectives", collectives }, { "threads", threads },
		{ "wrong_addresses", wrong_addresses }, { "wrong_handles", wrong_handles }, { "wrong_sizes", wrong_sizes },
		{ "spanning", spanning }, { "managed", managed }, { "no_addresses", no_addresses }, { "ends", ends },
		{ "ranks", ranks }, { "kept_groups", kept_groups }, { "absent_counts", absent_counts }, { "formulas", formulas },
		{ "attributes", attributes }, { "places", places },
		{ "nodes", nodes }, { "races", races }, { "collected", collected },
		{ "architectures", architectures }, { "image_forms", image_forms }, { "registered_kernels", registered_kernels },
		{ "shareable", shareable }, { "transforms", transforms }, { "solvers", solvers },
		{ "pinned", pinned }, { "addresses", addresses }, { "pools", pools },
		{ "calls", calls }, { "driver_addresses", driver_addresses }, { "logged", logged },
		{ "reservations", reservations }, { "ipc", ipc }, { "cudnn_plans", cudnn_plans },
		{ "audit_events", audit_events }, { "stack_texts", stack_texts },
		{ "launches", launches }, { "dispatch", dispatch },
		{ "marks", marks }, { "own_code", own_code }, { "messages", messages },
		{ "communicators", communicators }, { "recurrent", recurrent },
		{ "recorded_solvers", recorded_solvers },
		{ "elsewhere", elsewhere }, { "onward_elsewhere", onward_elsewhere } };
	for (size_t i = 0; argc == 2 && i < sizeof all / sizeof *all; i++)
		if (!strcmp(argv[1], all[i].name)) return alarm(120), all[i].run(), puts("ok"), 0; /* without end is an error */
	fprintf(stderr, "unit: got %s, want the name of a test\n", argc == 2 ? argv[1] : "nothing");
	return 2;
}
