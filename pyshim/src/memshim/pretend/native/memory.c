/* Device memory: what is taken of a card, which addresses it has, who owns an address.

   A device address is an address of this process that nobody touched: one reservation without access, of which allocations open their part.
   Reading gives zeros and costs nothing, writing costs a page; what is freed is closed again, and its pages go back. Segments lie at
   multiples of 2 MiB, the lowest free address first. */
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
__attribute__((constructor)) static void keep_lock_over_fork(void) { pthread_atfork(lock_memory, unlock_memory, unlock_memory); }

bool memory_take(struct gpu *g, size_t n) {
	gpu_activate(g);
	lock_memory();
	bool room = n <= g->memory - g->used;
	if (room) {
		g->used += n;
		if (g->used > g->reserved_high) g->reserved_high = g->used;
	}
	unlock_memory();
	return room;
}

void memory_give(struct gpu *g, size_t n) {
	lock_memory();
	g->used -= n;
	unlock_memory();
}

/* ---- addresses ---- */

struct hole {
	char *at;
	size_t size;
	struct hole *next; /* ascending addresses */
};

static char *arena, *arena_end, *arena_top; /* top: the first address that was never given out */
static struct hole *holes;

/* Much more than any card has: expandable segments reserve 9/8 of the card for each stream and pool. Less where the process may not have it. */
static bool make_arena(void) {
	static bool complained;
	for (size_t size = (size_t)1 << 44; size >= (size_t)1 << 36; size >>= 1) {
		char *p = mmap(NULL, size + GRAIN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED) continue;
		/* Huge pages would cost 2 MiB a touch. A core dump needs none of it. */
		madvise(p, size + GRAIN, MADV_NOHUGEPAGE);
		madvise(p, size + GRAIN, MADV_DONTDUMP);
		arena = arena_top = (char *)(((uintptr_t)p + GRAIN - 1) / GRAIN * GRAIN);
		arena_end = arena + size;
		return true;
	}
	if (!complained) complain("no address space for device memory: %s; is there a limit on it (ulimit -v)?", strerror(errno));
	complained = true;
	return false;
}

static size_t whole(size_t n) { return (n + GRAIN - 1) / GRAIN * GRAIN; }

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
	if (n > (size_t)1 << 46) return NULL;
	n = whole(n);
	lock_memory();
	void *p = NULL;
	if (arena || make_arena()) {
		p = take_hole(n);
		if (!p && n <= (size_t)(arena_end - arena_top)) {
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

/* ---- owners: an array in the order of addresses ---- */

static struct range *ranges;
static size_t range_count, range_room;

static size_t first_ending_after(const void *p) {
	size_t low = 0, high = range_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges[middle].at + ranges[middle].size <= (const char *)p) low = middle + 1;
		else high = middle;
	}
	return low;
}

void range_add(void *p, size_t n, int owner) {
	lock_memory();
	if (range_count == range_room) {
		size_t room = range_room ? 2 * range_room : 256;
		struct range *more = realloc(ranges, room * sizeof *more);
		if (!more) {
			unlock_memory();
			complain("no host memory for the table of allocations");
			abort();
		}
		ranges = more;
		range_room = room;
	}
	size_t i = first_ending_after(p);
	memmove(ranges + i + 1, ranges + i, (range_count - i) * sizeof *ranges);
	ranges[i] = (struct range){ p, n, owner };
	range_count++;
	unlock_memory();
}

void range_remove(void *p, size_t n) {
	lock_memory();
	size_t i = first_ending_after(p), j = i;
	while (j < range_count && ranges[j].at < (char *)p + n) j++;
	memmove(ranges + i, ranges + j, (range_count - j) * sizeof *ranges);
	range_count -= j - i;
	unlock_memory();
}

bool range_find(const void *p, struct range *out) {
	lock_memory();
	size_t i = first_ending_after(p);
	bool found = i < range_count && ranges[i].at <= (const char *)p;
	if (found) *out = ranges[i];
	unlock_memory();
	return found;
}

/* ---- cudaMalloc ---- */

cudaError_t device_malloc(void **p, size_t n, int ordinal) {
	struct gpu *g = gpu_at(ordinal);
	*p = NULL;
	if (!g) return cudaErrorNoDevice;
	if (!n) return cudaSuccess;
	if (n > g->memory) return cudaErrorMemoryAllocation;
	n = (n + ALLOCATION - 1) / ALLOCATION * ALLOCATION;
	if (!memory_take(g, n)) return cudaErrorMemoryAllocation;
	void *at = address_reserve(n);
	if (!at || !address_back(at, n)) {
		if (at) address_free(at, n);
		memory_give(g, n);
		return cudaErrorMemoryAllocation;
	}
	range_add(at, n, ordinal);
	log_line("device %d: %zu bytes at %p", ordinal, n, at);
	*p = at;
	return cudaSuccess;
}

cudaError_t device_free(void *p) {
	struct range r;
	if (!p) return cudaSuccess;
	if (!range_find(p, &r) || r.at != p || r.owner < 0) return cudaErrorInvalidValue;
	range_remove(p, r.size);
	address_unback(p, r.size);
	address_free(p, r.size);
	memory_give(gpu_at(r.owner), r.size);
	log_line("device %d: %p freed", r.owner, p);
	return cudaSuccess;
}
