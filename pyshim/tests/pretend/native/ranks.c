/* What two ranks that are processes send each other (exchange.c). Each runs the same functions;
   rank 1 is the child. */
#include "unit.h"

#include <sys/socket.h>
#include <time.h>

enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64 };
enum { SUM, PRODUCT, MOST, LEAST, AVERAGE, PRE_MULTIPLIED };
enum { INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6, LIMIT = 1 << 16 };

static int rank;
static char *p; /* device memory of 4 MiB */

static ncclComm_t joined(char number) {
	ncclComm_t c;
	SUCCEEDS(ncclCommInitRank(&c, 2, (ncclUniqueId){ { number } }, rank));
	return c;
}

static size_t encoded(int type, double value, void *out) {
#define ENCODE(name, kind) \
	case name: return memcpy(out, &(kind){ (kind)value }, sizeof(kind)), sizeof(kind)
	switch (type) {
		ENCODE(INT8, int8_t);
		ENCODE(UINT8, uint8_t);
		ENCODE(INT32, int32_t);
		ENCODE(UINT32, uint32_t);
		ENCODE(INT64, int64_t);
		ENCODE(UINT64, uint64_t);
		ENCODE(FLOAT32, float);
		ENCODE(FLOAT64, double);
	default: return memcpy(out, "\0\0", 2), 2;
	}
}

/* 6 and 3 in every type and operation. Of floats of two bytes the result is not known, nor of a sum
   with a factor that is not looked at. */
static void sums(ncclComm_t c) {
	static const double wanted[] = { 9, 18, 6, 3, 4.5 };
	for (int type = INT8; type <= FLOAT64; type++)
		for (int operation = SUM; operation <= PRE_MULTIPLIED; operation++) {
			char mine[8], result[8];
			size_t n = encoded(type, rank ? 3 : 6, mine);
			SUCCEEDS(cudaMemcpy(p, mine, n, 1));
			p[64 + n] = 77;
			SUCCEEDS(ncclAllReduce(p, p + 64, 1, type, operation, c, NULL));
			CHECK(p[64 + n] == 77);
			bool known = type != FLOAT16 && operation != PRE_MULTIPLIED;
			CHECK(is_known(p + 64, n) == known);
			if (known) CHECK(encoded(type, wanted[operation], result) == n && !memcmp(p + 64, result, n));
		}
}

/* Rank r has the 4 bytes "r0r1": what a rank gets is by who sent it and which part it is. */
static void gatherings(ncclComm_t c) {
	char mine[] = { (char)('a' + rank), '0', (char)('a' + rank), '1' };
	SUCCEEDS(cudaMemcpy(p, mine, 4, 1));
	SUCCEEDS(ncclAllGather(p, p + 64, 4, UINT8, c, NULL));
	CHECK(!memcmp(p + 64, "a0a1b0b1", 8) && is_known(p + 64, 8));
	SUCCEEDS(ncclAlltoAll(p, p + 64, 2, UINT8, c, NULL));
	CHECK(!memcmp(p + 64, rank ? "a1b1" : "a0b0", 4) && is_known(p + 64, 4));
	SUCCEEDS(ncclReduceScatter(p, p + 64, 2, UINT8, MOST, c, NULL));
	CHECK(!memcmp(p + 64, rank ? "b1" : "b0", 2) && is_known(p + 64, 2));
	SUCCEEDS(cudaMemset(p + 64, 0, 8));
	SUCCEEDS(ncclGather(p, p + 64, 4, UINT8, 1, c, NULL));
	CHECK(!memcmp(p + 64, rank ? "a0a1b0b1" : "\0\0\0\0\0\0\0\0", 8));
	SUCCEEDS(ncclReduce(p, p + 64, 4, UINT8, LEAST, 0, c, NULL));
	CHECK(!memcmp(p + 64, "a0a1", 4) && is_known(p + 64, 4));
	SUCCEEDS(ncclBroadcast(p, p + 64, 4, UINT8, 1, c, NULL));
	CHECK(!memcmp(p + 64, "b0b1", 4) && is_known(p + 64, 4));
}

/* What is not known, or chosen, at one rank is that at both; the next is not concerned. */
static void kinds(ncclComm_t c) {
	SUCCEEDS(cudaMemset(p, 1, 8));
	if (rank) memspec_pretend_unknown(p, 1);
	SUCCEEDS(ncclAllReduce(p, p + 64, 8, UINT8, SUM, c, NULL));
	CHECK(!is_known(p + 64, 1));
	SUCCEEDS(ncclAllGather(p, p + 64, 8, UINT8, c, NULL));
	CHECK(is_known(p + 64, 8) && !is_known(p + 72, 8));
	SUCCEEDS(cudaMemset(p, 1, 8));
	memspec_pretend_unknown(p + 5, 3); /* of what rank 1 gets one byte of each is known */
	SUCCEEDS(ncclAlltoAll(p, p + 64, 4, UINT8, c, NULL));
	for (int i = 0; i < 8; i++) CHECK(is_known(p + 64 + i, 1) == (!rank || i % 4 == 0));
	SUCCEEDS(cudaMemset(p, 1, 8));
	if (rank) memspec_pretend_chose(p, 8);
	SUCCEEDS(ncclAllReduce(p, p + 64, 8, UINT8, SUM, c, NULL));
	CHECK(memspec_pretend_chosen(p + 64, 8) == 1 && p[64] == 2);
}

static void limits(ncclComm_t c) {
	SUCCEEDS(cudaMemset(p, 1, LIMIT + 1));
	SUCCEEDS(ncclAllReduce(p, p + MIB, LIMIT, UINT8, SUM, c, NULL));
	CHECK(is_known(p + MIB, LIMIT) && p[MIB] == 2 && p[MIB + LIMIT - 1] == 2);
	SUCCEEDS(ncclAllReduce(p, p + MIB, LIMIT + 1, UINT8, SUM, c, NULL));
	CHECK(!is_known(p + MIB, 1));
	SUCCEEDS(cudaMemset(p, 1 + rank, MIB)); /* bytes alone may be an object */
	SUCCEEDS(ncclAllGather(p, p + MIB, LIMIT + 1, UINT8, c, NULL));
	CHECK(is_known(p + MIB, 2 * (LIMIT + 1)) && p[MIB + LIMIT] == 1 && p[MIB + LIMIT + 1] == 2);
	memspec_pretend_unknown(p + 100 + rank, LIMIT); /* shorter objects, as long as the longest */
	SUCCEEDS(ncclAllGather(p, p + MIB, LIMIT + 1, UINT8, c, NULL));
	CHECK(is_known(p + MIB, 100) && p[MIB + 99] == 1 && !is_known(p + MIB + 100, 1));
	CHECK(is_known(p + MIB + LIMIT + 1, 101) && p[MIB + LIMIT + 101] == 2 && !is_known(p + MIB + LIMIT + 102, 1));
	SUCCEEDS(cudaMemset(p, 1 + rank, MIB));
	SUCCEEDS(ncclAllGather(p, p + MIB, LIMIT / 4 + 1, FLOAT32, c, NULL));
	CHECK(!is_known(p + MIB, 1));
	SUCCEEDS(ncclBroadcast(p, p + MIB, MIB, UINT8, 0, c, NULL));
	CHECK(is_known(p + MIB, MIB) && p[MIB] == 1);
	SUCCEEDS(ncclBroadcast(p, p + MIB, MIB + 1, UINT8, 0, c, NULL));
	CHECK(rank == 0 || !is_known(p + MIB, 1));
	SUCCEEDS(rank ? ncclSend(p, LIMIT + 1, UINT8, 0, c, NULL) : ncclRecv(p + MIB, LIMIT + 1, UINT8, 1, c, NULL));
	CHECK(rank || (is_known(p + MIB, LIMIT + 1) && p[MIB + LIMIT] == 2));
}

/* In a group a rank sends everything before it waits for anything, however many messages there are. */
static void groups(ncclComm_t c) {
	enum { MESSAGES = 200 };
	for (int i = 0; i < MESSAGES; i++) SUCCEEDS(cudaMemset(p + i, i + rank, 1));
	SUCCEEDS(ncclGroupStart());
	for (int i = 0; i < MESSAGES; i++) SUCCEEDS(ncclRecv(p + 1024 + i, 1, UINT8, 1 - rank, c, NULL));
	for (int i = 0; i < MESSAGES; i++) SUCCEEDS(ncclSend(p + i, 1, UINT8, 1 - rank, c, NULL));
	SUCCEEDS(ncclGroupEnd());
	for (int i = 0; i < MESSAGES; i++) CHECK(p[1024 + i] == (char)(i + 1 - rank) && is_known(p + 1024 + i, 1));
}

static void splits(ncclComm_t c) {
	ncclComm_t part;
	int n;
	memspec_pretend_split(5, 2, 2, 1);
	SUCCEEDS(ncclCommSplit(c, 5, rank, &part, NULL));
	SUCCEEDS(ncclCommCount(part, &n));
	SUCCEEDS(cudaMemset(p, 1, 1));
	SUCCEEDS(ncclAllReduce(p, p + 64, 1, UINT8, SUM, part, NULL));
	CHECK(n == 2 && p[64] == 2 && is_known(p + 64, 1));
	SUCCEEDS(ncclCommDestroy(part));
	memspec_pretend_split(6 + rank, 1, 1, 1);
	SUCCEEDS(ncclCommSplit(c, 6 + rank, 0, &part, NULL));
	SUCCEEDS(ncclCommCount(part, &n));
	SUCCEEDS(ncclAllReduce(p, p + 64, 1, UINT8, SUM, part, NULL));
	CHECK(n == 1 && p[64] == 1 && is_known(p + 64, 1));
	SUCCEEDS(ncclCommDestroy(part));
	SUCCEEDS(ncclCommSplit(c, -1, 0, &part, NULL));
	CHECK(!part && ncclCommSplit(c, 99, 0, &part, NULL) == INVALID_USAGE && !part); /* of how many nobody said */
}

static void wrong_ranks(ncclComm_t c) {
	for (int other = -1; other <= 2; other += 3) {
		CHECK(ncclSend(p, 1, UINT8, other, c, NULL) == INVALID_ARGUMENT);
		CHECK(ncclRecv(p, 1, UINT8, other, c, NULL) == INVALID_ARGUMENT);
		CHECK(ncclBroadcast(p, p, 1, UINT8, other, c, NULL) == INVALID_ARGUMENT);
		CHECK(ncclReduce(p, p, 1, UINT8, SUM, other, c, NULL) == INVALID_ARGUMENT);
		CHECK(ncclGather(p, p, 1, UINT8, other, c, NULL) == INVALID_ARGUMENT);
	}
}

/* Rank 1 is one operation ahead. What it sends there looks like a message, and is not taken for one. */
static void out_of_step(ncclComm_t c) {
	struct { uint64_t number; uint32_t size; int32_t value; int64_t bytes; } message = { 1, 8, KNOWN, 77 };
	SUCCEEDS(cudaMemcpy(p, &message, sizeof message, 1));
	if (rank) SUCCEEDS(ncclBroadcast(p + 64, p + 64, sizeof message, UINT8, 0, c, NULL));
	SUCCEEDS(ncclGather(p, p + 64, sizeof message, UINT8, 0, c, NULL));
	if (rank) return;
	CHECK(!is_known(p + 64 + sizeof message, 1));
	SUCCEEDS(ncclAllReduce(p, p + 64, 1, INT64, SUM, c, NULL));
	CHECK(!is_known(p + 64, 8));
}

/* Rank 1 comes when rank 0 waits no more; what it sends after that arrives. */
static void late(ncclComm_t c, const int *ends) {
	char byte = 0;
	SUCCEEDS(cudaMemset(p, 1 + rank, 1));
	if (rank) CHECK(read(ends[1], &byte, 1) == 1);
	SUCCEEDS(ncclAllGather(p, p + 64, 1, UINT8, c, NULL));
	CHECK(is_known(p + 64, 2) == rank);
	if (rank) {
		SUCCEEDS(ncclGather(p, p + 64, 1, UINT8, 0, c, NULL));
		CHECK(write(ends[1], &byte, 1) == 1);
		return;
	}
	CHECK(write(ends[0], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
	SUCCEEDS(ncclGather(p, p + 64, 1, UINT8, 0, c, NULL));
	CHECK(is_known(p + 64, 2) && p[65] == 2);
}

/* For a rank that lives and sends nothing another waits, as long as it does with PATIENCE; for one
   that has ended it does not. A message of one to one that does not come is an error. */
static void alone(ncclComm_t silent, ncclComm_t ended, int end, pid_t child) {
	SUCCEEDS(cudaMemset(p, 1, 1));
	SUCCEEDS(ncclAllReduce(p, p + 64, 1, UINT8, SUM, ended, NULL));
	CHECK(p[64] == 2 && is_known(p + 64, 1));
	if (rank) {
		char byte;
		CHECK(read(end, &byte, 1) == 0);
		_exit(0);
	}
	SUCCEEDS(ncclAllReduce(p, p + 64, 1, UINT8, SUM, silent, NULL));
	CHECK(!is_known(p + 64, 1));
	CHECK(ncclRecv(p + 64, 1, UINT8, 1, silent, NULL) == REMOTE_ERROR);
	close(end);
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	time_t start = time(NULL);
	SUCCEEDS(ncclAllReduce(p, p + 64, 1, UINT8, SUM, ended, NULL));
	CHECK(!is_known(p + 64, 1));
	CHECK(ncclRecv(p + 64, 1, UINT8, 1, ended, NULL) == REMOTE_ERROR && time(NULL) - start < 2);
}

void ranks(void) {
	int ends[2], both[2];
	CHECK(!pipe(ends) && !socketpair(AF_UNIX, SOCK_STREAM, 0, both));
	pid_t child = fork();
	rank = !child;
	close(ends[rank]);
	memspec_pretend_track(1, 0);
	SUCCEEDS(cudaMalloc((void **)&p, 4 * MIB));
	ncclComm_t c = joined(1), apart = joined(2), silent = joined(3), ended = joined(4), slow = joined(5);
	sums(c);
	gatherings(c);
	kinds(c);
	limits(c);
	groups(c);
	splits(c);
	wrong_ranks(c);
	out_of_step(apart);
	late(slow, both);
	alone(silent, ended, ends[!rank], child);
	ncclComm_t all[] = { c, apart, silent, ended, slow };
	for (int i = 0; i < 5; i++) SUCCEEDS(ncclCommDestroy(all[i]));
}
