/* NCCL: communicators without partners. A collective is over at once, and what other ranks would
   have sent is not known. PyTorch's allocator sees what it sees on real cards; what NCCL takes of
   the device for itself is by formula (communicators.c). */
#include "absent_counts.h"
#include "communicators.h"
#include "exchange.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct ncclComm {
	int rank, ranks;
	int number; /* of communicators.c */
	struct exchange exchange;
	unsigned splits;
	bool met[]; /* for each rank: messages went there, or came from there */
};
enum { AVERAGE_OPERATION = 4, PRE_MULTIPLIED_SUM }; /* ncclNumOps: the first that is not built in */

#ifndef PUBLIC_HEADERS
typedef int ncclDataType_t, ncclRedOp_t, ncclScalarResidence_t;
typedef struct ncclConfig { /* as far as it is read */
	size_t size;
	unsigned magic, version;
	int blocking, cgaClusterSize, minCTAs, maxCTAs;
	const char *netName;
	int splitShare;
} ncclConfig_t;
enum { ncclSuccess = 0, ncclSystemError = 2, ncclInvalidArgument = 4, ncclInvalidUsage = 5, ncclRemoteError = 6 };
#endif

/* The ranks of a communicator: how many, the most on one node, and on how many nodes; 0 where nobody knows. */
struct spread {
	int ranks, local, nodes;
};

static ncclResult_t make(ncclComm_t *out, struct spread s, int rank, uint64_t id, const ncclConfig_t *config,
	bool split) {
	static const size_t read = offsetof(ncclConfig_t, splitShare) + sizeof config->splitShare;
	if (s.ranks < 1 || rank < 0 || rank >= s.ranks) return ncclInvalidArgument;
	struct ncclComm *c = zeroed(sizeof *c + (size_t)s.ranks * sizeof *c->met);
	if (!c) return ncclSystemError;
	bool stated = config && config->size >= read;
	int channels = stated && config->maxCTAs > 0 ? config->maxCTAs : 0;
	bool shared = split && stated && config->splitShare == 1;
	c->rank = rank;
	c->ranks = s.ranks;
	c->number = communicator_made(s.ranks, s.local, s.nodes, channels, shared);
	exchange_open(&c->exchange, id, rank, s.ranks);
	const char *collnet = getenv("NCCL_COLLNET_ENABLE");
	if (collnet && atoi(collnet)) note_unsized("NCCL's own buffers: of CollNet");
	*out = c;
	return ncclSuccess;
}
/* Of a rank that messages go to or come from. */
static void meet(ncclComm_t c, int rank) {
	if (rank == c->rank || c->met[rank]) return;
	c->met[rank] = true;
	communicator_met(c->number);
}
static void meet_all(ncclComm_t c) {
	for (int i = 0; i < c->ranks; i++) meet(c, i);
}

API ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
	memset(id, 0, sizeof *id);
	if (exchange_possible() && getrandom(id, sizeof *id, 0) != (ssize_t)sizeof *id) return ncclSystemError;
	return ncclSuccess;
}
static ncclResult_t join(ncclComm_t *out, int ranks, int rank, int n, const ncclUniqueId *ids,
	const ncclConfig_t *c) {
	return make(out, (struct spread){ .ranks = ranks }, rank, exchange_id(0, ids, (size_t)n * sizeof *ids), c, false);
}
API ncclResult_t ncclCommInitRank(ncclComm_t *out, int ranks, ncclUniqueId id, int rank) {
	return join(out, ranks, rank, 1, &id, NULL);
}
API ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int ranks, ncclUniqueId id, int rank, ncclConfig_t *c) {
	return join(out, ranks, rank, 1, &id, c);
}
API ncclResult_t ncclCommInitRankScalable(ncclComm_t *out, int ranks, int rank, int n, ncclUniqueId *ids,
	ncclConfig_t *c) {
	return join(out, ranks, rank, n, ids, c);
}
API ncclResult_t ncclCommInitAll(ncclComm_t *out, int n, const int *devices UNUSED) {
	ncclResult_t e = ncclSuccess;
	for (int i = 0; i < n && !e; i++) e = make(&out[i], (struct spread){ n, n, 1 }, i, 0, NULL, false);
	return e;
}
/* Which ranks are of a colour is known to all of them together alone; the Python side
   (process_groups.py) knows the list of this rank's colour. PyTorch's key is the rank in that list. */
enum { MOST_SPLITS = 64 };
static struct {
	int colour;
	struct spread spread;
} splits[MOST_SPLITS];
static unsigned next_split;
static __thread struct spread spread_of_any; /* the former group of NCCL chooses its colours itself */

/* A colour below 0 is any of this thread, 0 ranks end that. */
API void memspec_pretend_split(int colour, int ranks, int local, int nodes) {
	struct spread s = { ranks, local, nodes };
	if (colour < 0) {
		spread_of_any = s;
		return;
	}
	lock_memory();
	splits[next_split % MOST_SPLITS].colour = colour;
	splits[next_split++ % MOST_SPLITS].spread = s;
	unlock_memory();
}
static struct spread split_spread(int colour) { /* 0 ranks where nobody said */
	struct spread s = { 0 };
	lock_memory();
	for (unsigned i = 1; i <= MOST_SPLITS && !s.ranks; i++) {
		unsigned at = (next_split - i) % MOST_SPLITS;
		if (splits[at].colour == colour) s = splits[at].spread;
	}
	unlock_memory();
	return s.ranks ? s : spread_of_any;
}
API ncclResult_t ncclCommSplit(ncclComm_t c, int colour, int key, ncclComm_t *out, ncclConfig_t *config) {
	*out = NULL;
	unsigned which[] = { (unsigned)colour, c->splits++ }; /* all ranks split, those of no colour too */
	if (colour < 0) return ncclSuccess;                   /* NCCL_SPLIT_NOCOLOR */
	struct spread s = split_spread(colour);
	if (!s.ranks) {
		note_refused(NCCL, "ncclCommSplit into a colour of unknown size");
		return ncclInvalidUsage;
	}
	return make(out, s, key, c->exchange.id ? exchange_id(c->exchange.id, which, sizeof which) : 0, config, true);
}
API ncclResult_t ncclCommFinalize(ncclComm_t c UNUSED) { return ncclSuccess; }
API ncclResult_t ncclCommDestroy(ncclComm_t c) {
	if (!c) return ncclSuccess;
	exchange_close(&c->exchange);
	communicator_ended(c->number);
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
API ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar UNUSED, ncclDataType_t type UNUSED,
	ncclScalarResidence_t where UNUSED, ncclComm_t c UNUSED) {
	*op = (ncclRedOp_t)PRE_MULTIPLIED_SUM;
	return ncclSuccess;
}
API ncclResult_t ncclRedOpDestroy(ncclRedOp_t op UNUSED, ncclComm_t c UNUSED) { return ncclSuccess; }

/* ---- what the Python side knows of the next messages of others: pickled objects (absent/objects.py) ---- */

enum { MOST_MESSAGES = 64 };
struct message {
	char *bytes;
	/* part: of a rank, where a gathering is a broadcast of each; this rank's does not come */
	size_t size, part, own, taken;
};
static __thread struct {
	struct message messages[MOST_MESSAGES];
	int count, next;
} expected;

API void memspec_pretend_expect(const void *bytes, size_t size, size_t part, int rank) {
	if (expected.count == MOST_MESSAGES) return;
	char *copy = malloc(size ? size : 1);
	if (!copy) return;
	memcpy(copy, bytes, size);
	expected.messages[expected.count++] = (struct message){ copy, size, part, part * (size_t)rank, 0 };
}
API void memspec_pretend_expect_end(void) {
	while (expected.count) free(expected.messages[--expected.count].bytes);
	expected.next = 0;
}
static bool arrived(void *to, size_t n) { /* the next expected bytes, where that many are expected */
	for (; expected.next < expected.count; expected.next++) {
		struct message *m = &expected.messages[expected.next];
		if (!m->taken && n == m->size) {
			bytes_copy(to, m->bytes, n);
			expected.next++;
			return true;
		}
		if (n != m->part || n == m->size) continue;
		if (m->taken == m->own) m->taken += n;
		if (m->taken + n <= m->size) {
			bytes_copy(to, m->bytes + m->taken, n);
			m->taken += n;
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
/* Whether ranks say what they have in an operation of so many bytes of each; of PyTorch's objects,
   which are numbers of a byte, more. */
static bool exchanged(const ncclComm_t c, size_t n, ncclDataType_t type, cudaStream_t s) {
	size_t most = !c->exchange.alone && width(type) == 1 ? MOST_OBJECT : MOST_EXCHANGED;
	return c->exchange.id && n && n <= most && !stream_capturing(s);
}
/* The same, where each is a process. */
static bool exchanged_by_all(const ncclComm_t c, size_t n, ncclDataType_t type, cudaStream_t s) {
	return !c->exchange.alone && exchanged(c, n, type, s);
}
static bool has(const ncclComm_t c, int rank) { return rank >= 0 && rank < c->ranks; }
static void put(void *to, const void *bytes, size_t n, enum value value) {
	bytes_copy(to, bytes, n);
	if (value == CHOSEN) bytes_chosen(to, n);
}

/* Bytes of an element that may count something; 0 of any other. */
static size_t counting(ncclDataType_t type) { return (size_t)type >= 2 && (size_t)type <= 5 ? width(type) : 0; }

/* What others send now is what this rank does, or the program would not go on: such are checks that
   all ranks have the same (absent/agreement.py). */
static __thread bool agreed;
API void memspec_pretend_agreed(int on) { agreed = on; }
static void not_known(void *p, size_t n) {
	if (!agreed) bytes_unknown(p, n);
}

/* What a rank receives is what it would if every rank held what this one holds: right where there
   is one rank, else plausible and not known. */
static ncclResult_t receive(const void *from, void *to, size_t n, size_t times, ncclComm_t c, cudaStream_t s) {
	capture_node(s);
	if (arrived(to, n * times)) return ncclSuccess;
	for (size_t i = 0; i < times; i++) {
		char *part = (char *)to + i * n;
		if (part != from) bytes_copy(part, from, n);
	}
	if (c->ranks > 1) not_known(to, n * times);
	return ncclSuccess;
}
/* Puts what another rank sent, where it is known: so many bytes. A thread's stack may be too small to hold them. */
static size_t put_sent(ncclComm_t c, int from, bool to_me, uint64_t number, void *to, size_t n) {
	char *bytes = malloc(n);
	size_t known = 0;
	enum value value = bytes ? exchange_receive(&c->exchange, from, to_me, number, bytes, n, &known) : UNKNOWN;
	if (known) {
		bytes_unknown(to, n);
		put(to, bytes, known, value);
	}
	free(bytes);
	return known;
}
/* A part of what each rank sends: of `part` bytes from `at` on. */
static ncclResult_t gather(const void *from, void *to, size_t n, size_t at, size_t part, ncclComm_t c, cudaStream_t s) {
	char *own = malloc(2 * n), *theirs = own + n;
	if (!own) return ncclSystemError;
	uint64_t number = c->exchange.number++;
	memcpy(own, from, n); /* `to` may lie over it */
	exchange_send(&c->exchange, -1, number, from, n);
	size_t mine = exchange_known(from, n);
	enum value value = mine ? bytes_value(from, mine) : UNKNOWN;
	/* of numbers of a byte that are no object, nobody knows any */
	bool skipped = expected.count || (n > MOST_EXCHANGED && !mine);
	receive(own + at, to, part, (size_t)c->ranks, c, s);
	for (int i = 0; i < c->ranks && !skipped; i++) {
		size_t known = mine;
		enum value its = i == c->rank ? value : exchange_receive(&c->exchange, i, false, number, theirs, n, &known);
		if (known <= at) continue;
		size_t of_part = known - at < part ? known - at : part;
		put((char *)to + (size_t)i * part, (i == c->rank ? own : theirs) + at, of_part, its);
	}
	free(own);
	return ncclSuccess;
}
/* The sum of what all ranks have, or of a part of it: known where each is. */
static ncclResult_t reduce(const void *from, void *to, size_t n, size_t at, size_t part, ncclDataType_t type,
	ncclRedOp_t op, bool to_me, ncclComm_t c, cudaStream_t s) {
	size_t wide = width(type);
	if (n * wide > MOST_EXCHANGED || !exchanged(c, n * wide, type, s)) {
		if (!to_me) return capture_node(s), ncclSuccess;
		ncclResult_t e = receive((const char *)from + at * wide, to, part * wide, 1, c, s);
		if ((int)op >= PRE_MULTIPLIED_SUM) bytes_unknown(to, part * wide);
		return e;
	}
	char sum[MOST_EXCHANGED], more[MOST_EXCHANGED];
	uint64_t number = c->exchange.number++;
	exchange_send(&c->exchange, -1, number, from, n * wide);
	enum value value = bytes_value(from, n * wide);
	memcpy(sum, from, n * wide);
	if (to_me) receive((const char *)from + at * wide, to, part * wide, 1, c, s);
	for (int i = 0; to_me && i < c->ranks && value != UNKNOWN; i++) {
		if (i == c->rank) continue;
		size_t known;
		enum value its = exchange_receive(&c->exchange, i, false, number, more, n * wide, &known);
		if (known < n * wide || !exchange_reduce(sum, more, n, (int)type, (int)op)) value = UNKNOWN;
		else if (its == CHOSEN) value = CHOSEN;
	}
	if (!to_me || value == UNKNOWN) return ncclSuccess;
	if ((int)op == AVERAGE_OPERATION) exchange_average(sum, n, (int)type, c->ranks);
	put(to, sum + at * wide, part * wide, value);
	return ncclSuccess;
}

API ncclResult_t ncclAllReduce(const void *from, void *to, size_t n, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
	cudaStream_t s) {
	communicator_used(c->number, SUMS);
	return reduce(from, to, n, 0, n, type, op, true, c, s);
}
API ncclResult_t ncclReduce(const void *from, void *to, size_t n, ncclDataType_t type, ncclRedOp_t op, int root,
	ncclComm_t c, cudaStream_t s) {
	if (!has(c, root)) return ncclInvalidArgument;
	communicator_used(c->number, RING);
	return reduce(from, to, n, 0, n, type, op, c->rank == root, c, s);
}

/* PyTorch also gathers by a group of broadcasts, one of each rank: what this rank sends is then
   what the others send, too. */
enum { MOST_RECEIVED = 64 };
struct awaited {
	void *to;
	size_t size;
	int from;
	ncclDataType_t type;
	ncclComm_t c;
	cudaStream_t stream;
};
static __thread struct {
	int depth, received;
	size_t awaited, room; /* of awaits */
	const void *sent, *own;             /* own: to this rank itself */
	size_t size, own_size;
	int sends;                          /* to ranks, of as many numbers each; -1 where they are others */
	size_t sends_size, wide;
	struct counts counts;
	struct awaited *awaits;
	struct {
		void *to;
		size_t size;
	} parts[MOST_RECEIVED];
} group;

API ncclResult_t ncclGroupStart(void) {
	if (!group.depth++) {
		group.sent = group.own = NULL;
		group.received = group.sends = 0;
		group.awaited = 0;
		group.counts.total = 0;
	}
	return ncclSuccess;
}
/* Keeps what is sent to one rank of a group, as far as it may be how many tokens. */
static void count_send(const void *from, size_t size, ncclDataType_t type) {
	if (group.sends < 0) return;
	bool alike = !group.sends || (size == group.sends_size && counting(type) == group.wide);
	group.sends_size = size;
	group.wide = counting(type);
	if (!alike || !counts_add(&group.counts, from, size, group.wide)) group.sends = -1;
	else group.sends++;
}
/* Where a group was such numbers from every rank to every rank, those of the others. */
static void receive_counts(void) {
	ncclComm_t c = group.awaited ? group.awaits[0].c : NULL;
	if (!c || !group.own || group.sends != c->ranks || group.awaited != (size_t)c->ranks) return;
	if (c->exchange.id && !c->exchange.alone) return;
	for (size_t i = 0; i < group.awaited; i++)
		if (group.awaits[i].size != group.sends_size) return;
	for (size_t i = 0; i < group.awaited; i++) {
		const struct awaited *m = &group.awaits[i];
		if (m->from != c->rank) counts_of_other(&group.counts, group.own, m->to, m->size, group.wide);
	}
}
/* A message of one rank to this one. Where it is not known, others send as much, and the same, as
   this one to itself. */
static ncclResult_t await(const struct awaited *m) {
	if (group.own && group.own_size == m->size) {
		bytes_copy(m->to, group.own, m->size);
		if (m->from == m->c->rank) return ncclSuccess;
		bytes_unknown(m->to, m->size);
	}
	if (!exchanged_by_all(m->c, m->size, m->type, m->stream)) return ncclSuccess;
	put_sent(m->c, m->from, true, 0, m->to, m->size);
	return m->c->exchange.unsent ? ncclRemoteError : ncclSuccess;
}
/* The same, in a group after all that this rank sends in it, for which the other may wait. */
static ncclResult_t await_later(const struct awaited *m) {
	if (!table_grow(&group.awaits, group.awaited, &group.room, sizeof *group.awaits)) return ncclSystemError;
	group.awaits[group.awaited++] = *m;
	return ncclSuccess;
}
API ncclResult_t ncclGroupEnd(void) {
	if (--group.depth) return ncclSuccess;
	ncclResult_t result = ncclSuccess;
	for (size_t i = 0; i < group.awaited && !result; i++) result = await(&group.awaits[i]);
	receive_counts();
	free(group.awaits);
	group.awaits = NULL;
	group.awaited = group.room = 0;
	for (int i = 0; group.sent && i < group.received; i++) {
		if (group.parts[i].size != group.size) continue;
		bytes_copy(group.parts[i].to, group.sent, group.size);
		not_known(group.parts[i].to, group.size);
	}
	return result;
}
API ncclResult_t ncclBroadcast(const void *from, void *to, size_t n, ncclDataType_t type, int root, ncclComm_t c,
	cudaStream_t s) {
	if (!has(c, root)) return ncclInvalidArgument;
	communicator_used(c->number, RING);
	size_t size = n * width(type);
	bool process = exchanged(c, size, type, s);
	uint64_t number = process ? c->exchange.number++ : 0;
	if (c->rank == root) {
		capture_node(s);
		if (process) exchange_send(&c->exchange, -1, number, from, size);
		if (from != to) bytes_copy(to, from, size);
		group.sent = to;
		group.size = size;
		return ncclSuccess;
	}
	if (arrived(to, size)) return ncclSuccess;
	if (process && put_sent(c, root, false, number, to, size)) return ncclSuccess;
	if (group.depth && group.received < MOST_RECEIVED) {
		group.parts[group.received].to = to;
		group.parts[group.received++].size = size;
	}
	return receive(to, to, size, 1, c, s);
}
API ncclResult_t ncclBcast(void *p, size_t n, ncclDataType_t type, int root, ncclComm_t c, cudaStream_t s) {
	return ncclBroadcast(p, p, n, type, root, c, s);
}
API ncclResult_t ncclReduceScatter(const void *from, void *to, size_t n, ncclDataType_t type, ncclRedOp_t op,
	ncclComm_t c, cudaStream_t s) {
	communicator_used(c->number, GATHERS);
	return reduce(from, to, n * (size_t)c->ranks, (size_t)c->rank * n, n, type, op, true, c, s);
}
static ncclResult_t gather_all(const void *from, void *to, size_t size, ncclDataType_t type, ncclComm_t c,
	cudaStream_t s) {
	if (exchanged(c, size, type, s)) return gather(from, to, size, 0, size, c, s);
	return receive(from, to, size, (size_t)c->ranks, c, s);
}
API ncclResult_t ncclAllGather(const void *from, void *to, size_t n, ncclDataType_t type, ncclComm_t c,
	cudaStream_t s) {
	communicator_used(c->number, GATHERS);
	return gather_all(from, to, n * width(type), type, c, s);
}
API ncclResult_t ncclAlltoAll(const void *from, void *to, size_t n, ncclDataType_t type, ncclComm_t c, cudaStream_t s) {
	meet_all(c);
	size_t part = n * width(type), all = part * (size_t)c->ranks, at = (size_t)c->rank * part;
	if (exchanged_by_all(c, all, type, s)) return gather(from, to, all, at, part, c, s);
	struct counts counts = { 0 };
	bool counted = c->ranks > 1 && !expected.count && counts_add(&counts, from, all, counting(type));
	enum value own = bytes_value((const char *)from + at, part);
	ncclResult_t e = receive((const char *)from + at, to, part, (size_t)c->ranks, c, s);
	for (int i = 0; counted && i < c->ranks; i++) {
		char *other = (char *)to + (size_t)i * part, *mine = (char *)to + at;
		if (i != c->rank) counts_of_other(&counts, mine, other, part, counting(type));
		else put(mine, mine, part, own);
	}
	return e;
}
API ncclResult_t ncclGather(const void *from, void *to, size_t n, ncclDataType_t type, int root, ncclComm_t c,
	cudaStream_t s) {
	if (!has(c, root)) return ncclInvalidArgument;
	size_t size = n * width(type);
	if (c->rank == root) meet_all(c);
	else meet(c, root);
	if (c->rank == root) return gather_all(from, to, size, type, c, s);
	capture_node(s);
	if (exchanged(c, size, type, s)) exchange_send(&c->exchange, -1, c->exchange.number++, from, size);
	return ncclSuccess;
}
API ncclResult_t ncclSend(const void *from, size_t n, ncclDataType_t type, int to, ncclComm_t c, cudaStream_t s) {
	if (!has(c, to)) return ncclInvalidArgument;
	meet(c, to);
	capture_node(s);
	size_t size = n * width(type);
	if (group.depth) count_send(from, size, type);
	if (to == c->rank) group.own = from, group.own_size = size;
	else if (exchanged_by_all(c, size, type, s)) exchange_send(&c->exchange, to, 0, from, size);
	return ncclSuccess;
}
API ncclResult_t ncclRecv(void *to, size_t n, ncclDataType_t type, int from, ncclComm_t c, cudaStream_t s) {
	if (!has(c, from)) return ncclInvalidArgument;
	meet(c, from);
	capture_node(s);
	size_t size = n * width(type);
	if (arrived(to, size)) return ncclSuccess;
	bytes_unknown(to, size);
	struct awaited m = { to, size, from, type, c, s };
	return group.depth ? await_later(&m) : await(&m);
}
