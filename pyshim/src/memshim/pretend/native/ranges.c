/* Who owns an address: an array of ranges in the order of addresses. */
#include "pretend.h"

#include <string.h>

static struct range *ranges;
static size_t range_count, range_room;

bool range_on_host(const struct range *r) { return r->kind == PINNED || r->kind == REGISTERED; }

static size_t first_ending_after(const void *p) {
	size_t low = 0, high = range_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges[middle].at + ranges[middle].size <= (const char *)p) low = middle + 1;
		else high = middle;
	}
	return low;
}

void ranges_add(struct range r) {
	table_need(&ranges, range_count, &range_room, sizeof *ranges);
	size_t i = first_ending_after(r.at);
	memmove(ranges + i + 1, ranges + i, (range_count - i) * sizeof *ranges);
	ranges[i] = r;
	range_count++;
}

void range_add(struct range r) {
	lock_memory();
	ranges_add(r);
	unlock_memory();
}

void ranges_remove(const struct range *first, size_t count) {
	size_t i = (size_t)(first - ranges);
	memmove(ranges + i, ranges + i + count, (range_count - i - count) * sizeof *ranges);
	range_count -= count;
}

bool range_find(const void *p, struct range *out) {
	lock_memory();
	size_t i = first_ending_after(p);
	bool found = i < range_count && ranges[i].at <= (const char *)p;
	if (found) *out = ranges[i];
	unlock_memory();
	return found;
}

bool range_take(const void *p, enum range_kind kind, struct range *out) {
	lock_memory();
	size_t i = first_ending_after(p);
	bool found = i < range_count && ranges[i].at == p && ranges[i].kind == kind;
	if (found) {
		*out = ranges[i];
		ranges_remove(&ranges[i], 1);
	}
	unlock_memory();
	return found;
}

bool range_holds(const void *p, size_t n) {
	lock_memory();
	size_t i = first_ending_after(p);
	bool found = i < range_count && ranges[i].at <= (const char *)p;
	for (const char *at = p; found; i++) {
		size_t here = (size_t)(ranges[i].at + ranges[i].size - at);
		if (n <= here) break;
		at += here;
		n -= here;
		found = ranges[i].kind == MAPPED && i + 1 < range_count && ranges[i + 1].kind == MAPPED && ranges[i + 1].at == at;
	}
	unlock_memory();
	return found;
}

const struct range *ranges_mapped(const void *p, size_t n, size_t *count) {
	size_t first = first_ending_after(p), i = first;
	for (const char *at = p; n; i++) {
		if (i == range_count || ranges[i].at != at || ranges[i].kind != MAPPED || ranges[i].size > n) return NULL;
		at += ranges[i].size;
		n -= ranges[i].size;
	}
	*count = i - first;
	return *count ? &ranges[first] : NULL;
}

bool ranges_overlap(const void *p, size_t n) {
	size_t i = first_ending_after(p);
	return i < range_count && ranges[i].at < (const char *)p + n;
}

void *kernel_variable(size_t *size) {
	static char place[65536];
	struct range r;
	if (size) *size = sizeof place;
	if (!range_find(place, &r)) range_add((struct range){ .at = place, .size = sizeof place, .kind = VARIABLE });
	return place;
}
