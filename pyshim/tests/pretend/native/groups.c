/* What is kept of NCCL's communicators, by which their memory is reckoned. */
#include "unit.h"

enum { UINT8 = 1, RING = 1, GATHERS = 2, SUMS = 4 };
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
	SUCCEEDS(ncclCommDestroy(part));
	struct known first = known(0), second = known(1);
	CHECK(first.ranks == 4 && first.local == 0 && !first.shared && !first.channels);
	CHECK(first.operations == GATHERS && first.met == 1 && first.made == 1 && !first.ended);
	CHECK(second.ranks == 2 && second.local == 1 && second.nodes == 2 && second.shared && second.channels == 4);
	CHECK(second.operations == (RING | SUMS) && second.met == 1 && second.made == 2 && second.ended == 3);
	CHECK(!memspec_pretend_communicator(2, (int *)&first) && !memspec_pretend_communicator(-1, (int *)&first));
	SUCCEEDS(ncclCommDestroy(world));
}
