/* Where the driver puts what cudaMalloc gives. PyTorch takes the free block at the lowest address of
   those of one size, so that this decides how its cache breaks up.

   A process takes address space for a card in chunks, whole multiples of 32 MiB, each below the one
   before. An allocation lies at the lowest free place of a chunk that has room, in steps of 2 MiB. A
   chunk that is all free is given back; a new one lies at the upper end of the highest gap that has
   32 MiB more than it, which the driver asks for to align what it gets. A context holds a place for
   the local variables of kernels, and gives it back for another when the first kernel runs. Read off
   recordings of an H100 (engine/allocator/testdata/h100); engine/allocator/addresses.go does
   the same. All is called with the memory locked. */
#include "pretend.h"

#include <string.h>

#define CHUNK ((size_t)32 << 20)

struct stretch {
	char *at;
	size_t size;
	int owner;
};

struct list {
	struct stretch *items; /* by rising address */
	size_t count, room;
};

static struct list chunks, holes; /* holes: parts of chunks that nothing takes */
static char *ceiling;             /* where the first chunk ends */
static char *local_at[MOST_GPUS];
static size_t local_size[MOST_GPUS];

static size_t list_add(struct list *l, struct stretch x) {
	table_need(&l->items, l->count, &l->room, sizeof *l->items);
	size_t i = l->count++;
	for (; i && l->items[i - 1].at > x.at; i--) l->items[i] = l->items[i - 1];
	l->items[i] = x;
	return i;
}

static void list_remove(struct list *l, size_t i) {
	memmove(l->items + i, l->items + i + 1, (--l->count - i) * sizeof *l->items);
}

void segments_below(char *end) { ceiling = (char *)((uintptr_t)end / CHUNK * CHUNK); }

char *segments_lowest(void) { return chunks.count ? chunks.items[0].at : ceiling; }

/* The highest place for a chunk, null where it would lie below `floor`. */
static char *place_of_chunk(size_t size, const char *floor) {
	char *top = ceiling;
	for (size_t i = chunks.count; i; i--) {
		const struct stretch *c = &chunks.items[i - 1];
		if ((size_t)(top - (c->at + c->size)) >= size + CHUNK) break;
		top = c->at;
	}
	return size <= (size_t)(top - floor) ? top - size : NULL;
}

static char *take_hole(size_t size, int owner) {
	for (size_t i = 0; i < holes.count; i++) {
		struct stretch *h = &holes.items[i];
		if (h->owner != owner || h->size < size) continue;
		char *at = h->at;
		h->at += size;
		h->size -= size;
		if (!h->size) list_remove(&holes, i);
		return at;
	}
	return NULL;
}

char *segment_place(size_t size, int owner, const char *floor) {
	char *at = take_hole(size, owner);
	if (at) return at;
	struct stretch chunk = { NULL, round_up(size, CHUNK), owner };
	chunk.at = place_of_chunk(chunk.size, floor);
	if (!chunk.at) return NULL;
	list_add(&chunks, chunk);
	list_add(&holes, chunk);
	return take_hole(size, owner);
}

void segment_give_back(char *at, size_t size) {
	size_t c = 0;
	while (chunks.items[c].at + chunks.items[c].size <= at) c++;
	const struct stretch chunk = chunks.items[c];
	size_t i = list_add(&holes, (struct stretch){ at, size, chunk.owner });
	struct stretch *h = holes.items;
	if (i + 1 < holes.count && h[i].at + h[i].size == h[i + 1].at && h[i + 1].at < chunk.at + chunk.size) {
		h[i].size += h[i + 1].size;
		list_remove(&holes, i + 1);
	}
	if (i && h[i - 1].at + h[i - 1].size == h[i].at && h[i - 1].at >= chunk.at) {
		h[i - 1].size += h[i].size;
		list_remove(&holes, i--);
	}
	if (h[i].size == chunk.size) {
		list_remove(&holes, i);
		list_remove(&chunks, c);
	}
}

/* 414 MiB on an H100, with driver 580: 1,472 bytes for each thread of the 144 multiprocessors of the
   whole chip. Of other chips it is not known. */
static size_t local_of(const struct gpu *g) {
	return g->major == 9 && g->minor == 0 ? (size_t)144 * 2048 * 1472 : 0;
}

void segments_of_context(const struct gpu *g, const char *floor) {
	int i = gpu_index(g);
	size_t size = local_of(g);
	char *at = size ? segment_place(size, i, floor) : NULL;
	if (!at) return;
	local_at[i] = at;
	local_size[i] = size;
}

void segments_kernel_ran(int i) {
	if (local_size[i]) segment_give_back(local_at[i], local_size[i]);
}
