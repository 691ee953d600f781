/* How many tokens absent ranks would send: an all-to-all of a few integers that follow from what
   routers chose. Each rank chooses as this one does; modes least and most give the ends of what
   others may send here. */
#include "absent_counts.h"

#include <string.h>

enum { BALANCED, LEAST, MOST }; /* ../values/modes.py; in every other mode as in balanced */
enum { MOST_COUNTS = 4096 };
static int mode;

API void memspec_pretend_values(int chosen) { mode = chosen; }

static int64_t element(const char *at, size_t wide) {
	int64_t large;
	int32_t small;
	if (wide == sizeof small) return memcpy(&small, at, sizeof small), small;
	return memcpy(&large, at, sizeof large), large;
}
static void set_element(char *at, size_t wide, int64_t value) {
	int32_t small = (int32_t)value;
	memcpy(at, wide == sizeof small ? (void *)&small : (void *)&value, wide);
}

bool counts_add(struct counts *c, const void *from, size_t size, size_t wide) {
	if ((wide != 4 && wide != 8) || !size || size > MOST_COUNTS * wide || bytes_value(from, size) != CHOSEN) return false;
	for (size_t i = 0; i < size; i += wide) c->total += element((const char *)from + i, wide);
	return true;
}

void counts_of_other(const struct counts *c, const void *own, void *to, size_t size, size_t wide) {
	char counts[MOST_COUNTS * 8];
	int64_t n = (int64_t)(size / wide), first = c->total >= n ? c->total - (n - 1) : c->total;
	for (int64_t i = 0; i < n; i++) {
		int64_t value = element((const char *)own + (size_t)i * wide, wide);
		if (mode == LEAST) value = 0;
		if (mode == MOST) value = !i ? first : c->total >= n;
		set_element(counts + (size_t)i * wide, wide, value);
	}
	bytes_copy(to, counts, size);
	bytes_chosen(to, size);
}
