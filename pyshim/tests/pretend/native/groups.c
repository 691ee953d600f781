/* What is kept of NCCL's communicators, by which their memory is reckoned, and what absent ranks send as counts. */
#include "unit.h"

enum { UINT8 = 1, INT32 = 2, INT64 = 4, RING = 1, GATHERS = 2, SUMS = 4 };
struct known {
	int device, ranks, local, nodes, channels, shared, operations, met, made, ended;
};
static struct known known(int i) {
	struct known k;
	CHECK(memspec_pretend_communicator(i, (int *)&k));
	return k;
}

void kept_groups(void) {
	struct {
		size_t size;
		unsigned magic, version;
		int blocking, cluster, least, most;
		const char *net;
		int share;
	} config = { .size = sizeof config, .most = 4, .share = 1 };
	char *p;
	ncclComm_t world, part;
	SUCCEEDS(cudaSetDevice(0));
	SUCCEEDS(cudaMalloc((void **)&p, 4096));
	SUCCEEDS(ncclCommInitRank(&world, 4, (ncclUniqueId){ { 0 } }, 1));
	SUCCEEDS(ncclAllGather(p, p + 64, 16, UINT8, world, NULL));
	SUCCEEDS(ncclSend(p, 1, UINT8, 2, world, NULL));
	SUCCEEDS(ncclRecv(p, 1, UINT8, 2, world, NULL));
	SUCCEEDS(ncclRecv(p, 1, UINT8, 1, world, NULL)); /* itself is no peer */
	memspec_pretend_split(5, 2, 1, 2);
	SUCCEEDS(ncclCommSplit(world, 5, 0, &part, &config));
	SUCCEEDS(ncclBroadcast(p, p, 1, UINT8, 0, part, NULL));
	SUCCEEDS(ncclAllReduce(p, p, 1, UINT8, 0, part, NULL));
	SUCCEEDS(ncclAlltoAll(p, p + 64, 1, UINT8, part, NULL));
	SUCCEEDS(ncclReduceScatter(p, p + 64, 1, UINT8, 0, part, NULL));
	SUCCEEDS(ncclCommDestroy(part));
	struct known first = known(0), second = known(1);
	CHECK(first.ranks == 4 && first.local == 0 && !first.shared && !first.channels);
	CHECK(first.operations == GATHERS && first.met == 1 && first.made == 1 && !first.ended);
	CHECK(second.ranks == 2 && second.local == 1 && second.nodes == 2 && second.shared && second.channels == 4);
	CHECK(second.operations == (RING | GATHERS | SUMS) && second.met == 1 && second.made == 2 && second.ended == 3);
	CHECK(!memspec_pretend_communicator(2, (int *)&first) && !memspec_pretend_communicator(-1, (int *)&first));
	SUCCEEDS(ncclCommDestroy(world));
}

/* Numbers of tokens for two experts of each of three ranks, of which this is the second. */
static char *at;
static ncclComm_t of_three;
static void send_counts(bool grouped, int type, size_t wide) {
	if (!grouped) {
		SUCCEEDS(ncclAlltoAll(at, at + 512, 2, type, of_three, NULL));
		return;
	}
	SUCCEEDS(ncclGroupStart());
	for (size_t i = 0; i < 3; i++) {
		SUCCEEDS(ncclSend(at + 2 * i * wide, 2, type, (int)i, of_three, NULL));
		SUCCEEDS(ncclRecv(at + 512 + 2 * i * wide, 2, type, (int)i, of_three, NULL));
	}
	SUCCEEDS(ncclGroupEnd());
}
static bool arrived(const int *wanted, size_t wide) {
	for (size_t i = 0; i < 6; i++) {
		int64_t n = 0;
		memcpy(&n, at + 512 + i * wide, wide); /* little endian, not below 0 */
		if (n != wanted[i]) return false;
	}
	return memspec_pretend_chosen(at + 512, 6 * wide) == 1;
}
void absent_counts(void) {
	static const int64_t sent[] = { 5, 1, 3, 4, 2, 6 };
	static const struct {
		int mode, got[6];
	} wanted[] = {
		{ 0, { 3, 4, 3, 4, 3, 4 } },  /* as this rank sends to itself */
		{ 1, { 0, 0, 3, 4, 0, 0 } },  /* nothing from others */
		{ 2, { 20, 1, 3, 4, 20, 1 } }, /* all 21 of each other, one for every expert */
		{ 3, { 3, 4, 3, 4, 3, 4 } },
	};
	SUCCEEDS(cudaSetDevice(0));
	SUCCEEDS(cudaMalloc((void **)&at, 4096));
	memspec_pretend_track(1, 0);
	SUCCEEDS(ncclCommInitRank(&of_three, 3, (ncclUniqueId){ { 0 } }, 1));
	for (int i = 0; i < 16; i++) {
		bool grouped = i & 1;
		int type = i & 2 ? INT32 : INT64;
		size_t wide = type == INT32 ? 4 : 8;
		memspec_pretend_values(wanted[i / 4].mode);
		for (size_t n = 0; n < 6; n++) SUCCEEDS(cudaMemcpy(at + n * wide, &sent[n], wide, 1));
		memspec_pretend_chose(at, 6 * wide);
		send_counts(grouped, type, wide);
		CHECK(arrived(wanted[i / 4].got, wide));
	}
	for (int grouped = 0; grouped < 2; grouped++) { /* what no router chose counts nothing: of others it is not known */
		SUCCEEDS(cudaMemset(at, 1, 64));
		send_counts(grouped, INT64, 8);
		CHECK(memspec_pretend_chosen(at + 512, 16) != 1);
	}
	SUCCEEDS(ncclCommDestroy(of_three));
}
