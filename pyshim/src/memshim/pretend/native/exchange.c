/* Ranks that are processes of this machine: what one sends of which the bytes are known arrives at
   the others as sent. Objects, shapes, counts of tokens and small sums are that; gradients are not.
   Each rank appends to a file in the folder of `memshim run`, named by the communicator and the
   rank; the others read it. A rank that waits for one that has ended, that sends nothing for long
   or that does not do the same goes on with what is not known. What one sends that was late arrives
   again from then on. A message of one to one is an error then, after PyTorch's own ten minutes
   where the sender lives. Ranks that run alone, one after the other: the first one's files are what
   later ones read, and they wait for nothing. */
#include "exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef PATIENCE
#define PATIENCE 120 /* seconds for a rank that lives and sends nothing, as while it compiles */
#endif
enum { LOOK = 100 };     /* milliseconds between two looks whether it lives */
enum { MOST_LATE = 24 }; /* messages in a row: then a rank hardly waits */

struct record { /* before each message; the file begins with its writer's process id */
	uint64_t number;
	uint32_t size, known; /* so many bytes follow */
	uint32_t value;       /* enum value */
};
enum { PATH = 4096 };
struct log { /* a file as this rank reads it, or writes it */
	int file; /* -1: not opened yet */
	off_t at;
	bool lost; /* its writer has ended, or does not do the same */
	unsigned late; /* so many messages in a row did not come in time: for each a rank waits half as long as before */
};

static char alone[PATH]; /* the folder of ranks that run alone; "" until it is known */
static bool first;       /* of those */

static const char *folder(void) { return getenv("MEMSPEC_RANK") ? alone : getenv("MEMSPEC_PRETEND_FIGURES"); }

/* This process is a rank alone, and the first of them or not (../absent/__init__.py). */
API void memspec_pretend_alone(const char *in, int is_first) {
	if (strlen(in) >= sizeof alone) return;
	strcpy(alone, in);
	first = is_first;
}

bool exchange_possible(void) {
	const char *in = folder();
	return in && *in;
}

uint64_t exchange_id(uint64_t seed, const void *bytes, size_t n) { /* FNV-1a; 0 of an id that is all zeros */
	uint64_t h = seed ? seed : 0xcbf29ce484222325u;
	bool any = seed;
	for (const unsigned char *p = bytes; n--; p++) {
		h = (h ^ *p) * 0x100000001b3u;
		any |= *p != 0;
	}
	return any ? h : 0;
}

static int open_log(const struct exchange *x, int from, int to, int flags) {
	char path[PATH];
	int n = snprintf(path, sizeof path, "%s/%016llx.%d.%d.sent", folder(), (unsigned long long)x->id, from, to);
	if ((size_t)n >= sizeof path) return -1;
	return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* A message that does not fit on the disk is the last: what follows part of one could not be read. */
static void append(struct log *log, const void *head, size_t n, const void *more, size_t m) {
	struct iovec parts[] = { { (void *)(uintptr_t)head, n }, { (void *)(uintptr_t)more, m } };
	errno = 0;
	if (writev(log->file, parts, m ? 2 : 1) == (ssize_t)(n + m)) return;
	complain("what a rank sends is lost from here on: %s", strerror(errno ? errno : ENOSPC));
	log->lost = true;
}

/* Opens what this rank writes: with its process id, by which others see whether it has ended. */
static void begin(struct exchange *x, struct log *log, int to) {
	log->file = open_log(x, x->rank, to, O_WRONLY | O_CREAT | O_APPEND);
	log->lost = log->file < 0;
	int64_t pid = getpid();
	if (!log->lost) append(log, &pid, sizeof pid, NULL, 0);
}

void exchange_open(struct exchange *x, uint64_t id, int rank, int ranks) {
	bool is_alone = getenv("MEMSPEC_RANK");
	*x = (struct exchange){ .rank = rank, .ranks = ranks, .alone = is_alone, .first = is_alone && first };
	if (exchange_possible() && ranks > 1) x->id = id;
	if (!x->id) return;
	x->logs = calloc(3 * (size_t)ranks, sizeof *x->logs);
	if (!x->logs) x->id = 0;
	for (int i = 0; x->logs && i < 3 * ranks; i++) x->logs[i].file = -1;
	if (x->id && (x->first || !x->alone)) begin(x, &x->logs[rank], -1);
}
void exchange_close(struct exchange *x) {
	for (int i = 0; x->logs && i < 3 * x->ranks; i++)
		if (x->logs[i].file >= 0) close(x->logs[i].file);
	free(x->logs);
	x->logs = NULL;
	x->id = 0;
}

void exchange_send(struct exchange *x, int to, uint64_t number, const void *from, size_t n) {
	if (!x->id || (x->alone && !x->first)) return;
	struct log *log = &x->logs[to < 0 ? x->rank : x->ranks + to];
	if (log->lost) return;
	if (log->file < 0) begin(x, log, to);
	if (log->lost) return;
	size_t known = exchange_known(from, n);
	enum value value = known ? bytes_value(from, known) : UNKNOWN;
	if (x->alone && value == CHOSEN) known = 0, value = UNKNOWN; /* a later rank may have other values */
	struct record r = { number, (uint32_t)n, (uint32_t)known, value };
	append(log, &r, sizeof r, from, known);
}

size_t exchange_known(const void *p, size_t n) {
	if (!n || bytes_value(p, 1) == UNKNOWN) return 0;
	size_t least = 1, most = n;
	while (least < most) {
		size_t middle = most - (most - least) / 2;
		if (bytes_value(p, middle) == UNKNOWN) most = middle - 1;
		else least = middle;
	}
	return least;
}

/* Opens what another rank writes, if it is there. */
static void look_for(const struct exchange *x, struct log *log, int from, int to) {
	if (log->file >= 0) return;
	log->file = open_log(x, from, to, O_RDONLY);
	log->at = sizeof(int64_t);
}

/* Whether a rank that has joined has ended: also one that never sent anything. */
static bool ended(struct exchange *x, int rank) {
	struct log *log = &x->logs[rank];
	look_for(x, log, rank, -1);
	int64_t pid;
	bool joined = pread(log->file, &pid, sizeof pid, 0) == sizeof pid;
	return joined && kill((pid_t)pid, 0) && errno == ESRCH;
}

/* Waits until n bytes lie at the log's place. to < 0: of an operation of all ranks. False and not
   lost: they are late. */
static bool arrived(struct exchange *x, struct log *log, int from, int to, void *into, size_t n) {
	struct timespec pause = { 0, 20000 };
	long waited = 0; /* microseconds */
	long patience = (to < 0 ? PATIENCE : 5 * PATIENCE) * 1000000L >> log->late;
	for (bool last = false;; last = ended(x, from)) {
		look_for(x, log, from, to);
		if (pread(log->file, into, n, log->at) == (ssize_t)n) {
			log->at += (off_t)n;
			log->late = 0;
			return true;
		}
		if (x->alone) break;
		if (last) {
			x->unsent = to >= 0;
			if (x->unsent)
				complain("rank %d of %d has ended, and rank %d waits for a message from it", from, x->ranks, x->rank);
			break;
		}
		if (waited > patience) {
			x->unsent = to >= 0;
			if (!log->late)
				complain("rank %d of %d has sent nothing for %ld s: %s rank %d %s", from, x->ranks, patience / 1000000,
					x->unsent ? "the receive of" : "what it would send,", x->rank, x->unsent ? "fails" : "does not know");
			if (x->unsent) break;
			if (log->late < MOST_LATE) log->late++;
			return false;
		}
		for (long until = waited + LOOK * 1000L; waited < until;) {
			nanosleep(&pause, NULL);
			waited += pause.tv_nsec / 1000;
			if (pause.tv_nsec < 2000000) pause.tv_nsec += pause.tv_nsec / 4;
			char byte;
			if (log->file < 0 || pread(log->file, &byte, 1, log->at) == 1) break;
		}
	}
	log->lost = true;
	return false;
}

enum value exchange_receive(struct exchange *x, int from, bool to_me, uint64_t number, void *to, size_t n,
	size_t *known) {
	*known = 0;
	if (!x->id || x->first) return UNKNOWN;
	struct log *log = &x->logs[to_me ? 2 * x->ranks + from : from];
	int target = to_me ? x->rank : -1;
	struct record r;
	while (!log->lost && arrived(x, log, from, target, &r, sizeof r)) {
		if (!to_me && r.number > number) {
			log->lost = true; /* the ranks do not do the same: no later message is the one that is meant */
			break;
		}
		bool meant = to_me || r.number == number;
		if (meant && r.known && r.known <= n && r.size == n) {
			if (!arrived(x, log, from, target, to, r.known)) {
				log->lost = true; /* in the middle of a message */
				break;
			}
			*known = r.known;
			return (enum value)r.value;
		}
		log->at += r.known;
		if (meant) return UNKNOWN;
	}
	return UNKNOWN;
}

/* ---- sums ---- */

enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64 }; /* nccl.h, ncclDataType_t */
enum { SUM, PRODUCT, MOST, LEAST, AVERAGE };                                    /* nccl.h, ncclRedOp_t */

#define COMBINE(type) \
	for (size_t i = 0; i < n; i++) { \
		type a, b; \
		memcpy(&a, (char *)sum + i * sizeof a, sizeof a); \
		memcpy(&b, (const char *)more + i * sizeof b, sizeof b); \
		if (operation == PRODUCT) a = (type)(a * b); \
		else if (operation == MOST) a = a > b ? a : b; \
		else if (operation == LEAST) a = a < b ? a : b; \
		else a = (type)(a + b); \
		memcpy((char *)sum + i * sizeof a, &a, sizeof a); \
	}

bool exchange_reduce(void *sum, const void *more, size_t n, int type, int operation) {
	if (operation > AVERAGE) return false;
	switch (type) {
	case INT8: COMBINE(int8_t) return true;
	case UINT8: COMBINE(uint8_t) return true;
	case INT32: COMBINE(int32_t) return true;
	case UINT32: COMBINE(uint32_t) return true;
	case INT64: COMBINE(int64_t) return true;
	case UINT64: COMBINE(uint64_t) return true;
	case FLOAT32: COMBINE(float) return true;
	case FLOAT64: COMBINE(double) return true;
	default: return false; /* floats of 2 bytes and of 1 */
	}
}

#define DIVIDE(type) \
	for (size_t i = 0; i < n; i++) { \
		type a; \
		memcpy(&a, (char *)sum + i * sizeof a, sizeof a); \
		a = (type)(a / (type)ranks); \
		memcpy((char *)sum + i * sizeof a, &a, sizeof a); \
	}

void exchange_average(void *sum, size_t n, int type, int ranks) {
	switch (type) {
	case INT8: DIVIDE(int8_t) break;
	case UINT8: DIVIDE(uint8_t) break;
	case INT32: DIVIDE(int32_t) break;
	case UINT32: DIVIDE(uint32_t) break;
	case INT64: DIVIDE(int64_t) break;
	case UINT64: DIVIDE(uint64_t) break;
	case FLOAT32: DIVIDE(float) break;
	case FLOAT64: DIVIDE(double) break;
	default: break;
	}
}
