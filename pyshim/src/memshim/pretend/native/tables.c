/* Tables that grow, memory of zeros, and handles that stand for nothing. */
#include "pretend.h"

#include <stdlib.h>
#include <string.h>

bool table_grow(void *table, size_t count, size_t *room, size_t item) {
	if (count < *room) return true;
	void *items;
	memcpy(&items, table, sizeof items);
	size_t more = 2 * *room + 16;
	items = realloc(items, more * item);
	if (!items) return false;
	memcpy(table, &items, sizeof items);
	*room = more;
	return true;
}

void table_need(void *table, size_t count, size_t *room, size_t item) {
	if (table_grow(table, count, room, item)) return;
	complain("no host memory for the table of device addresses");
	abort();
}

void *zeroed(size_t n) { return calloc(1, n); }

bool handle_make(void *place) {
	void *handle = malloc(1);
	if (handle) memcpy(place, &handle, sizeof handle);
	return handle;
}
