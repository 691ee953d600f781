/* Device memory: what is taken of a card, and which addresses it has.

   A device address is an address of this process that nobody touched: one reservation without
   access, of which allocations open their part. Reading gives zeros and costs nothing, writing
   costs a page; what is freed is closed again, and its pages go back. Segments lie where segments.c
   says, from the upper end down; what is reserved without memory lies from the lower end up. */
#include "pretend.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GRAIN ((size_t)2 << 20)
#define ALLOCATION ((size_t)512) /* cudaMalloc's alignment */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void lock_memory(void) { pthread_mutex_lock(&lock); }
void unlock_memory(void) { pthread_mutex_unlock(&lock); }

/* A forked child (a DataLoader's worker) must not inherit a lock that another thread held. */
static void after_fork(void) {
	figures_forked();
	unlock_memory();
}
__attribute__((constructor)) static void keep_lock_over_fork(void) {
	pthread_atfork(lock_memory, unlock_memory, after_fork);
}

static bool make_arena(void);
static char *arena_top; /* the first address that was never given out */

void gpu_activate(struct gpu *g) {
	lock_memory();
	if (!g->active) {
		g->active = true;
		g->used += g->context;
		figures_used(g, g->context, 0);
		if (make_arena()) segments_of_context(g, arena_top);
	}
	unlock_memory();
}

bool memory_take(struct gpu *g, size_t n) {
	gpu_activate(g);
	lock_memory();
	bool room = n <= g->memory - g->used;
	if (room) {
		g->used += n;
		figures_used(g, n, 0);
	}
	unlock_memory();
	return room;
}

void memory_give(struct gpu *g, size_t n) {
	lock_memory();
	g->used -= n;
	figures_used(g, 0, n);
	unlock_memory();
}

/* For the Python side: what a driver takes of a card beside allocations, as for modules. False
   where there is no such card or no room. */
API bool memspec_pretend_take(int ordinal, size_t n) {
	struct gpu *g = gpu_at(ordinal);
	return g && memory_take(g, n);
}

/* What was taken so is free again. */
API void memspec_pretend_give(int ordinal, size_t n) {
	struct gpu *g = gpu_at(ordinal);
	if (g) memory_give(g, n);
}

/* ---- addresses ---- */

struct hole {
	char *at;
	size_t size;
	struct hole *next; /* ascending addresses */
};

static char *arena, *arena_end;
static struct hole *holes;

/* Much more than any card has: expandable segments reserve 9/8 of the card for each stream and
   pool. Less where the process may not have it. */
static bool make_arena(void) {
	static bool complained;
	if (arena) return true;
	for (size_t size = (size_t)1 << 44; size >= (size_t)1 << 36; size >>= 1) {
		char *p = mmap(NULL, size + GRAIN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED) continue;
		/* Huge pages would cost 2 MiB a touch. A core dump needs none of it. */
		madvise(p, size + GRAIN, MADV_NOHUGEPAGE);
		madvise(p, size + GRAIN, MADV_DONTDUMP);
		arena = arena_top = (char *)round_up((uintptr_t)p, GRAIN);
		arena_end = arena + size;
		segments_below(arena_end);
		return true;
	}
	if (!complained) complain("no address space for device memory: %s; is there a limit on it (ulimit -v)?",
		strerror(errno));
	complained = true;
	return false;
}

static size_t whole(size_t n) { return round_up(n, GRAIN); }

static void *take_hole(size_t n) {
	for (struct hole **h = &holes; *h; h = &(*h)->next) {
		struct hole *x = *h;
		if (x->size < n) continue;
		char *at = x->at;
		x->at += n;
		x->size -= n;
		if (!x->size) {
			*h = x->next;
			free(x);
		}
		return at;
	}
	return NULL;
}

void *address_reserve(size_t n) {
	if (whole(n) < n) return NULL;
	n = whole(n);
	lock_memory();
	void *p = NULL;
	if (make_arena()) {
		p = take_hole(n);
		if (!p && n <= (size_t)(segments_lowest() - arena_top)) {
			p = arena_top;
			arena_top += n;
		}
	}
	unlock_memory();
	return p;
}

void address_free(void *p, size_t n) {
	struct hole *x = malloc(sizeof *x);
	if (!x) return; /* the addresses are lost, the memory is not */
	lock_memory();
	*x = (struct hole){ .at = p, .size = whole(n) };
	struct hole **h = &holes, *before = NULL;
	for (; *h && (*h)->at < x->at; h = &(*h)->next) before = *h;
	x->next = *h;
	*h = x;
	if (x->next && x->at + x->size == x->next->at) {
		struct hole *y = x->next;
		x->size += y->size;
		x->next = y->next;
		free(y);
	}
	if (before && before->at + before->size == x->at) {
		before->size += x->size;
		before->next = x->next;
		free(x);
	}
	unlock_memory();
}

static void *segment_reserve(size_t n, int owner) {
	lock_memory();
	void *p = make_arena() ? segment_place(whole(n), owner, arena_top) : NULL;
	unlock_memory();
	return p;
}

static void segment_free(void *p, size_t n) {
	lock_memory();
	segment_give_back(p, whole(n));
	unlock_memory();
}

void kernel_ran(void) {
	static bool before[MOST_GPUS];
	struct gpu *g = current_gpu();
	if (__atomic_exchange_n(&before[gpu_index(g)], true, __ATOMIC_RELAXED)) return;
	gpu_activate(g);
	lock_memory();
	segments_kernel_ran(gpu_index(g));
	unlock_memory();
}

bool address_back(void *p, size_t n) {
	if (!mprotect(p, whole(n), PROT_READ | PROT_WRITE)) return true;
	complain("the kernel refuses %zu bytes of address space for device memory: %s", n, strerror(errno));
	return false;
}

void address_unback(void *p, size_t n) {
	bytes_unknown(p, n);
	madvise(p, whole(n), MADV_DONTNEED);
	mprotect(p, whole(n), PROT_NONE);
}

bool address_is_device(const void *p) { return arena && (const char *)p >= arena && (const char *)p < arena_end; }

/* ---- cudaMalloc ---- */

static void pool_changed(struct gpu *g, size_t taken, size_t given) {
	lock_memory();
	g->pool_used += taken - given;
	if (g->pool_used > g->pool_high) g->pool_high = g->pool_used;
	unlock_memory();
}

cudaError_t device_malloc(void **p, size_t n, int ordinal, bool pooled) {
	struct gpu *g = gpu_at(ordinal);
	*p = NULL;
	if (!g) return cudaErrorNoDevice;
	if (!n) return cudaSuccess;
	if (n > g->memory) return cudaErrorMemoryAllocation;
	size_t asked = pooled ? n : 0;
	n = round_up(n, ALLOCATION);
	if (!memory_take(g, n)) return cudaErrorMemoryAllocation;
	void *at = segment_reserve(n, gpu_index(g));
	if (!at || !address_back(at, n)) {
		if (at) segment_free(at, n);
		memory_give(g, n);
		note_refused(CUDA_RUNTIME, NO_ADDRESSES);
		return cudaErrorNotSupported; /* the card has the memory: it is not the one that ran out */
	}
	range_add((struct range){ .at = at, .size = n, .kind = ALLOCATED, .owner = ordinal, .pooled = asked });
	pool_changed(g, asked, 0);
	log_line("device %d: %zu bytes at %p", ordinal, n, at);
	*p = at;
	return cudaSuccess;
}

cudaError_t device_free(void *p) {
	struct range r;
	if (!p) return cudaSuccess;
	if (range_take(p, MANAGED, &r)) {
		munmap(p, r.size);
		lock_memory();
		figures_managed(r.owner, 0, r.size);
		unlock_memory();
		return cudaSuccess;
	}
	if (!range_take(p, ALLOCATED, &r)) return cudaErrorInvalidValue;
	address_unback(p, r.size);
	segment_free(p, r.size);
	memory_give(gpu_at(r.owner), r.size);
	pool_changed(gpu_at(r.owner), 0, r.pooled);
	log_line("device %d: %p freed", r.owner, p);
	return cudaSuccess;
}

/* ---- cudaMallocManaged: its pages move between host and card as they are used, so that it is
   taken of neither. Here it is the host's ---- */

void *host_map(size_t n) {
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

cudaError_t managed_malloc(void **p, size_t n, int ordinal) {
	struct gpu *g = gpu_at(ordinal);
	*p = NULL;
	if (!g) return cudaErrorNoDevice;
	if (!n) return cudaErrorInvalidValue;
	gpu_activate(g);
	void *at = host_map(n);
	if (!at) return cudaErrorMemoryAllocation;
	range_add((struct range){ .at = at, .size = n, .kind = MANAGED, .owner = ordinal });
	lock_memory();
	figures_managed(ordinal, n, 0);
	unlock_memory();
	log_line("device %d: %zu bytes of managed memory at %p", ordinal, n, at);
	*p = at;
	return cudaSuccess;
}
