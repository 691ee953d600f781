/* What ranks that are processes of this machine send to each other, and the first that runs alone
   to later ones (exchange.c). */
#pragma once

#include "pretend.h"

/* Bytes of a rank in one operation; what larger ones send is not known to the others. Pickled objects are larger. */
enum { MOST_EXCHANGED = 1 << 16, MOST_OBJECT = 1 << 20 };

struct exchange { /* of one communicator */
	uint64_t id; /* the same in each rank's process; 0: no other rank is a process, or nobody knows which */
	int rank, ranks;
	bool alone, first; /* this rank is the one process, and the first such one */
	bool unsent; /* a message to this rank alone did not come, and will not */
	uint64_t number; /* of the operation of all ranks that comes next */
	struct log *logs; /* one a rank, and one each for what it sends to this one alone */
};

bool exchange_possible(void); /* other ranks may be processes that memshim run watches, or run alone before or after */
uint64_t exchange_id(uint64_t seed, const void *bytes, size_t n);
void exchange_open(struct exchange *x, uint64_t id, int rank, int ranks);
void exchange_close(struct exchange *x);
/* Says what this rank has in operation `number`, for all ranks (to < 0) or for one. */
void exchange_send(struct exchange *x, int to, uint64_t number, const void *from, size_t n);
/* What another rank has there, after waiting for it: whether it is known, and in *known how many of
   the n bytes, from the first on. */
enum value exchange_receive(struct exchange *x, int from, bool to_me, uint64_t number, void *to, size_t n,
	size_t *known);
/* How many of n bytes are known, from the first on: of an object as long as the longest of all, those that are its. */
size_t exchange_known(const void *p, size_t n);
/* Adds up, or compares, n elements: `sum` has the result. False for a type or an operation that this cannot do. */
bool exchange_reduce(void *sum, const void *more, size_t n, int type, int operation);
/* After all ranks' were added: divides for an average. */
void exchange_average(void *sum, size_t n, int type, int ranks);
