/* NCCL: communicators without partners. A collective is over at once, and what other ranks would have sent is not known. PyTorch's allocator sees
   what it sees on real cards; what NCCL takes of the device for itself is not known, and noted. */
#include "pretend.h"

#include <stdlib.h>
#include <string.h>

struct ncclComm {
	int rank, ranks;
};
enum { PRE_MULTIPLIED_SUM = 5 }; /* ncclNumOps: the first that is not built in */

#ifndef PUBLIC_HEADERS
typedef int ncclDataType_t, ncclRedOp_t, ncclScalarResidence_t;
typedef struct ncclConfig ncclConfig_t;
enum { ncclSuccess = 0, ncclSystemError = 2, ncclInvalidArgument = 4 };
#endif

static ncclResult_t make(ncclComm_t *out, int ranks, int rank) {
	if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
	*out = calloc(1, sizeof **out);
	if (!*out) return ncclSystemError;
	**out = (struct ncclComm){ rank, ranks };
	note_unsized("NCCL's own buffers");
	return ncclSuccess;
}

API ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
	memset(id, 0, sizeof *id);
	return ncclSuccess;
}
API ncclResult_t ncclCommInitRank(ncclComm_t *out, int ranks, ncclUniqueId id UNUSED, int rank) { return make(out, ranks, rank); }
API ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int ranks, ncclUniqueId id UNUSED, int rank, ncclConfig_t *config UNUSED) { return make(out, ranks, rank); }
API ncclResult_t ncclCommInitRankScalable(ncclComm_t *out, int ranks, int rank, int n UNUSED, ncclUniqueId *ids UNUSED, ncclConfig_t *config UNUSED) { return make(out, ranks, rank); }
API ncclResult_t ncclCommInitAll(ncclComm_t *out, int n, const int *devices UNUSED) {
	ncclResult_t e = ncclSuccess;
	for (int i = 0; i < n && !e; i++) e = make(&out[i], n, i);
	return e;
}
/* Which ranks are of a colour is known to all of them together alone; the Python side (process_groups.py) knows the list of this rank's colour.
   PyTorch's key is the rank in that list. */
enum { MOST_SPLITS = 64 };
static struct {
	int colour, ranks;
} splits[MOST_SPLITS];
static unsigned next_split;
static __thread int ranks_of_any; /* the former group of NCCL chooses its colours itself */

API void memspec_pretend_split(int colour, int ranks) { /* a colour below 0 is any of this thread, 0 ranks end that */
	if (colour < 0) {
		ranks_of_any = ranks;
		return;
	}
	lock_memory();
	splits[next_split % MOST_SPLITS].colour = colour;
	splits[next_split++ % MOST_SPLITS].ranks = ranks;
	unlock_memory();
}
static int split_ranks(int colour) { /* 0 where nobody said */
	int ranks = 0;
	lock_memory();
	for (unsigned i = 1; i <= MOST_SPLITS && i <= next_split && !ranks; i++)
		if (splits[(next_split - i) % MOST_SPLITS].colour == colour) ranks = splits[(next_split - i) % MOST_SPLITS].ranks;
	unlock_memory();
	return ranks ? ranks : ranks_of_any;
}
API ncclResult_t ncclCommSplit(ncclComm_t c, int colour, int key, ncclComm_t *out, ncclConfig_t *config UNUSED) {
	*out = NULL;
	if (colour < 0) return ncclSuccess; /* NCCL_SPLIT_NOCOLOR */
	int ranks = split_ranks(colour);
	return ranks ? make(out, ranks, key) : make(out, c->ranks, c->rank);
}
API ncclResult_t ncclCommFinalize(ncclComm_t c UNUSED) { return ncclSuccess; }
API ncclResult_t ncclCommDestroy(ncclComm_t c) {
	free(c);
	return ncclSuccess;
}
API ncclResult_t ncclCommAbort(ncclComm_t c) { return ncclCommDestroy(c); }
API ncclResult_t ncclCommGetAsyncError(ncclComm_t c UNUSED, ncclResult_t *e) {
	*e = ncclSuccess;
	return ncclSuccess;
}
API ncclResult_t ncclCommCount(const ncclComm_t c, int *n) {
	*n = c->ranks;
	return ncclSuccess;
}
API ncclResult_t ncclCommUserRank(const ncclComm_t c, int *rank) {
	*rank = c->rank;
	return ncclSuccess;
}
API ncclResult_t ncclCommRegister(const ncclComm_t c UNUSED, void *p UNUSED, size_t n UNUSED, void **handle) {
	static char token;
	*handle = &token;
	return ncclSuccess;
}
API ncclResult_t ncclCommDeregister(const ncclComm_t c UNUSED, void *handle UNUSED) { return ncclSuccess; }
API ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar UNUSED, ncclDataType_t type UNUSED, ncclScalarResidence_t where UNUSED, ncclComm_t c UNUSED) {
	*op = (ncclRedOp_t)PRE_MULTIPLIED_SUM;
	return ncclSuccess;
}
API ncclResult_t ncclRedOpDestroy(ncclRedOp_t op UNUSED, ncclComm_t c UNUSED) { return ncclSuccess; }

/* ---- what the Python side knows of the next messages of others: pickled objects (absent/objects.py) ---- */

enum { MOST_MESSAGES = 64 };
static __thread struct {
	struct {
		char *bytes;
		size_t size, part, taken; /* part: of each rank, where a gathering comes as a broadcast of each rank; its own does not come */
	} messages[MOST_MESSAGES];
	int count, next;
} expected;

API void memspec_pretend_expect(const void *bytes, size_t size, size_t part) {
	if (expected.count == MOST_MESSAGES) return;
	char *copy = malloc(size ? size : 1);
	if (!copy) return;
	memcpy(copy, bytes, size);
	expected.messages[expected.count].bytes = copy;
	expected.messages[expected.count].size = size;
	expected.messages[expected.count].part = part;
	expected.messages[expected.count++].taken = 0;
}
API void memspec_pretend_expect_end(void) {
	while (expected.count) free(expected.messages[--expected.count].bytes);
	expected.next = 0;
}
static bool arrived(void *to, size_t n) { /* the next expected bytes, where that many are expected */
	for (; expected.next < expected.count; expected.next++) {
		size_t size = expected.messages[expected.next].size, part = expected.messages[expected.next].part, taken = expected.messages[expected.next].taken;
		if (!taken && n == size) {
			bytes_copy(to, expected.messages[expected.next++].bytes, n);
			return true;
		}
		if (n == part && taken + 2 * part <= size) {
			bytes_copy(to, expected.messages[expected.next].bytes + taken, n);
			expected.messages[expected.next].taken += part;
			return true;
		}
	}
	return false;
}

/* ---- collectives ---- */

static size_t width(ncclDataType_t type) {
	static const unsigned char widths[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 }; /* ncclInt8 .. ncclFloat8e5m2 */
	return (size_t)type < sizeof widths ? widths[type] : 8;
}
/* What a rank receives is what it would if every rank held what this one holds: right where there is one rank, else plausible and not known. */
static ncclResult_t receive(const void *from, void *to, size_t n, size_t times, ncclComm_t c, cudaStream_t s) {
	capture_node(s);
	if (expected.count && arrived(to, n * times)) return ncclSuccess;
	for (size_t i = 0; i < times; i++) {
		char *part = (char *)to + i * n;
		if (part != from) bytes_copy(part, from, n);
	}
	if (c->ranks > 1) bytes_unknown(to, n * times);
	return ncclSuccess;
}
static ncclResult_t reduce(const void *from, void *to, size_t n, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c, cudaStream_t s) {
	ncclResult_t e = receive(from, to, n * width(type), 1, c, s);
	if ((int)op >= PRE_MULTIPLIED_SUM) bytes_unknown(to, n * width(type));
	return e;
}

API ncclResult_t ncclAllReduce(const void *from, void *to, size_t n, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c, cudaStream_t s) { return reduce(from, to, n, type, op, c, s); }
API ncclResult_t ncclReduce(const void *from, void *to, size_t n, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t c, cudaStream_t s) {
	return c->rank == root ? reduce(from, to, n, type, op, c, s) : ncclSuccess;
}

/* PyTorch also gathers by a group of broadcasts, one of each rank: what this rank sends is then what the others send, too. */
enum { MOST_RECEIVED = 64 };
static __thread struct {
	int depth, received;
	const void *sent;
	size_t size;
	struct {
		void *to;
		size_t size;
	} parts[MOST_RECEIVED];
} group;

API ncclResult_t ncclGroupStart(void) {
	if (!group.depth++) group.sent = NULL, group.received = 0;
	return ncclSuccess;
}
API ncclResult_t ncclGroupEnd(void) {
	if (--group.depth || !group.sent) return ncclSuccess;
	for (int i = 0; i < group.received; i++) {
		if (group.parts[i].size != group.size) continue;
		bytes_copy(group.parts[i].to, group.sent, group.size);
		bytes_unknown(group.parts[i].to, group.size);
	}
	return ncclSuccess;
}
API ncclResult_t ncclBroadcast(const void *from, void *to, size_t n, ncclDataType_t type, int root, ncclComm_t c, cudaStream_t s) {
	size_t size = n * width(type);
	if (c->rank == root) {
		capture_node(s);
		if (from != to) bytes_copy(to, from, size);
		group.sent = to;
		group.size = size;
		return ncclSuccess;
	}
	if (expected.count && arrived(to, size)) return ncclSuccess;
	if (group.depth && group.received < MOST_RECEIVED) {
		group.parts[group.received].to = to;
		group.parts[group.received++].size = size;
	}
	return receive(to, to, size, 1, c, s);
}
API ncclResult_t ncclBcast(void *p, size_t n, ncclDataType_t type, int root, ncclComm_t c, cudaStream_t s) { return ncclBroadcast(p, p, n, type, root, c, s); }
API ncclResult_t ncclReduceScatter(const void *from, void *to, size_t n, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c, cudaStream_t s) {
	return reduce((const char *)from + (size_t)c->rank * n * width(type), to, n, type, op, c, s);
}
API ncclResult_t ncclAllGather(const void *from, void *to, size_t n, ncclDataType_t type, ncclComm_t c, cudaStream_t s) { return receive(from, to, n * width(type), (size_t)c->ranks, c, s); }
API ncclResult_t ncclAlltoAll(const void *from, void *to, size_t n, ncclDataType_t type, ncclComm_t c, cudaStream_t s) {
	return receive((const char *)from + (size_t)c->rank * n * width(type), to, n * width(type), (size_t)c->ranks, c, s);
}
API ncclResult_t ncclGather(const void *from, void *to, size_t n, ncclDataType_t type, int root, ncclComm_t c, cudaStream_t s) {
	return c->rank == root ? receive(from, to, n * width(type), (size_t)c->ranks, c, s) : ncclSuccess;
}
API ncclResult_t ncclSend(const void *from UNUSED, size_t n UNUSED, ncclDataType_t type UNUSED, int to UNUSED, ncclComm_t c UNUSED, cudaStream_t s) {
	capture_node(s);
	return ncclSuccess;
}
API ncclResult_t ncclRecv(void *to, size_t n, ncclDataType_t type, int from UNUSED, ncclComm_t c UNUSED, cudaStream_t s) {
	capture_node(s);
	if (!expected.count || !arrived(to, n * width(type))) bytes_unknown(to, n * width(type));
	return ncclSuccess;
}
