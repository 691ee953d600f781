/* What absent ranks would send as numbers of tokens (absent_counts.c). */
#pragma once

#include "pretend.h"

struct counts {
	int64_t total; /* of all that this rank sends, to itself too: each other sends as many in all */
};
/* Adds what this rank sends to one rank. False: these are no such numbers. wide: bytes of an integer. */
bool counts_add(struct counts *c, const void *from, size_t size, size_t wide);
/* What another rank sends here, where this one sends `own` to itself. */
void counts_of_other(const struct counts *c, const void *own, void *to, size_t size, size_t wide);
