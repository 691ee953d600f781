/* What is kept of NCCL's communicators, by which their memory is reckoned, and what absent ranks send as counts. */
#include "unit.h"

ncclResult_t ncclCommInitAll(ncclComm_t *, int, const int *), ncclGetUniqueId(ncclUniqueId *),
	ncclCommUserRank(ncclComm_t, int *);
void memspec_pretend_expect(const void *, size_t, size_t, int), memspec_pretend_expect_end(void);

enum { UINT8 = 1, INT32 = 2, INT64 = 4, RING = 1, GATHERS = 2, SUMS = 4, INVALID_USAGE = 5 };
typedef struct { /* nccl.h, ncclConfig_t */
	size_t size;
	unsigned magic, version;
	int blocking, cluster, least, most;
	const char *net;
	int share;
} ncclConfig;
ncclResult_t ncclCommInitRankConfig(ncclComm_t *, int, ncclUniqueId, int, ncclConfig *);
struct known {
	int device, ranks, local, nodes, channels, shared, operations, met, made, ended;
};
static struct known known(int i) {
	struct known k;
	CHECK(memspec_pretend_communicator(i, (int *)&k));
	return k;
}

void kept_groups(void) {
	ncclConfig config = { .size = sizeof config, .most = 4, .share = 1 };
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

/* What a config says counts where it is as long as NCCL's that has all of it; ranks that are met count once each. */
static ncclConfig config(size_t size, int most, int share) {
	return (ncclConfig){ .size = size, .most = most, .share = share };
}
static struct known made(int ranks, int rank, ncclConfig c) {
	ncclComm_t comm;
	int i = 0, one[10];
	while (memspec_pretend_communicator(i, one)) i++;
	SUCCEEDS(ncclCommInitRankConfig(&comm, ranks, (ncclUniqueId){ { 0 } }, rank, &c));
	for (int peer = 0; peer < ranks; peer++) {
		SUCCEEDS(ncclSend(NULL, 0, UINT8, peer, comm, NULL));
		SUCCEEDS(ncclRecv(NULL, 0, UINT8, peer, comm, NULL));
	}
	SUCCEEDS(ncclCommDestroy(comm));
	return known(i);
}
/* What is kept of a communicator of three of which one rank did one thing. */
enum call { ALL_TO_ALL, GATHER_TO_FIRST, REDUCE, SEND_TO_FIRST, RECEIVE_FROM_FIRST };
static struct known after(enum call call, int rank) {
	char *p;
	ncclComm_t comm;
	int i = 0, one[10];
	while (memspec_pretend_communicator(i, one)) i++;
	SUCCEEDS(cudaMalloc((void **)&p, 4096));
	SUCCEEDS(ncclCommInitRank(&comm, 3, (ncclUniqueId){ { 0 } }, rank));
	if (call == ALL_TO_ALL) SUCCEEDS(ncclAlltoAll(p, p + 64, 1, UINT8, comm, NULL));
	if (call == GATHER_TO_FIRST) SUCCEEDS(ncclGather(p, p + 64, 1, UINT8, 0, comm, NULL));
	if (call == REDUCE) SUCCEEDS(ncclReduce(p, p + 64, 1, UINT8, 0, 0, comm, NULL));
	if (call == SEND_TO_FIRST) SUCCEEDS(ncclSend(p, 1, UINT8, 0, comm, NULL));
	if (call == RECEIVE_FROM_FIRST) SUCCEEDS(ncclRecv(p, 1, UINT8, 0, comm, NULL));
	SUCCEEDS(ncclCommDestroy(comm));
	SUCCEEDS(cudaFree(p));
	return known(i);
}
static void made_with_config(void) {
	size_t whole = offsetof(ncclConfig, share) + sizeof(int);
	struct known k = made(4, 1, config(whole, 1, 1));
	CHECK(k.channels == 1 && !k.shared && k.met == 3); /* only a split shares */
	CHECK(!made(2, 0, config(whole - 1, 1, 1)).channels && !made(2, 0, config(whole, 0, 0)).channels);
	CHECK(!made(2, 0, config(whole, -1, 0)).channels && made(2, 0, config(whole + 8, 9, 0)).channels == 9);
	for (int rank = 0; rank < 3; rank++) {
		CHECK(after(ALL_TO_ALL, rank).met == 2 && after(GATHER_TO_FIRST, rank).met == (rank ? 1 : 2));
		CHECK(after(REDUCE, rank).met == 0 && after(REDUCE, rank).operations == RING);
		CHECK(after(SEND_TO_FIRST, rank).met == (rank > 0) && after(RECEIVE_FROM_FIRST, rank).met == (rank > 0));
	}
	ncclComm_t c;
	CHECK(ncclCommInitRank(&c, 2, (ncclUniqueId){ { 0 } }, -1) == 4);
	setenv("NCCL_COLLNET_ENABLE", "0", 1);
	made(2, 0, config(whole, 1, 1));
	CHECK(!noted("NCCL's own buffers: of CollNet"));
	setenv("NCCL_COLLNET_ENABLE", "1", 1);
	made(2, 0, config(whole, 1, 1));
	CHECK(noted("NCCL's own buffers: of CollNet"));
	unsetenv("NCCL_COLLNET_ENABLE");
}

/* A number of each type has the bytes that nccl.h says. */
static void widths(void) {
	static const size_t wanted[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };
	char *p;
	ncclComm_t one;
	SUCCEEDS(cudaMalloc((void **)&p, 4096));
	SUCCEEDS(ncclCommInitRank(&one, 1, (ncclUniqueId){ { 0 } }, 0));
	for (int type = 0; type < 12; type++) {
		size_t n = 2 * wanted[type];
		SUCCEEDS(cudaMemset(p, 5, 64));
		SUCCEEDS(cudaMemset(p + 64, 0, 64));
		SUCCEEDS(ncclAllGather(p, p + 64, 2, type, one, NULL));
		CHECK(p[64 + n - 1] == 5 && p[64 + n] == 0);
	}
	SUCCEEDS(ncclCommDestroy(one));
	SUCCEEDS(cudaFree(p));
}

/* A captured operation is a node of its graph, on every rank: PyTorch warns of graphs without nodes. */
static size_t captured(int operation, char *p, ncclComm_t c, cudaStream_t s) {
	cudaGraph_t g;
	size_t nodes = 0;
	SUCCEEDS(cudaStreamBeginCapture(s, 0));
	switch (operation) {
	case 0: SUCCEEDS(ncclAllReduce(p, p, 8, UINT8, 0, c, s)); break;
	case 1: SUCCEEDS(ncclReduce(p, p, 8, UINT8, 0, 0, c, s)); break;
	case 2: SUCCEEDS(ncclReduceScatter(p, p + 64, 4, UINT8, 0, c, s)); break;
	case 3: SUCCEEDS(ncclBroadcast(p, p, 8, UINT8, 0, c, s)); break;
	case 4: SUCCEEDS(ncclAllGather(p, p + 64, 8, UINT8, c, s)); break;
	case 5: SUCCEEDS(ncclGather(p, p + 64, 8, UINT8, 0, c, s)); break;
	case 6: SUCCEEDS(ncclAlltoAll(p, p + 64, 4, UINT8, c, s)); break;
	case 7: SUCCEEDS(ncclSend(p, 8, UINT8, 0, c, s)); break;
	default: SUCCEEDS(ncclRecv(p, 8, UINT8, 0, c, s));
	}
	SUCCEEDS(cudaStreamEndCapture(s, &g));
	SUCCEEDS(cudaGraphGetNodes(g, NULL, &nodes));
	SUCCEEDS(cudaGraphDestroy(g));
	return nodes;
}
static void in_graphs(void) {
	char *p;
	cudaStream_t s;
	SUCCEEDS(cudaMalloc((void **)&p, 4096));
	SUCCEEDS(cudaStreamCreate(&s));
	for (int rank = 0; rank < 2; rank++) {
		ncclComm_t c;
		SUCCEEDS(ncclCommInitRank(&c, 2, (ncclUniqueId){ { 0 } }, rank));
		for (int operation = 0; operation < 9; operation++) CHECK(captured(operation, p, c, s) == 1);
		SUCCEEDS(ncclCommDestroy(c));
	}
	SUCCEEDS(cudaStreamDestroy(s));
	SUCCEEDS(cudaFree(p));
}

/* One process may be all ranks of a node. */
static void all_of_a_node(void) {
	ncclComm_t all[4] = { NULL };
	int first = 0, n, one[10];
	while (memspec_pretend_communicator(first, one)) first++;
	SUCCEEDS(ncclCommInitAll(all, 3, NULL));
	for (int i = 0; i < 3; i++) {
		struct known k = known(first + i);
		CHECK(k.ranks == 3 && k.local == 3 && k.nodes == 1 && !k.channels && !k.shared);
		SUCCEEDS(ncclCommCount(all[i], &n));
		CHECK(n == 3);
		SUCCEEDS(ncclCommUserRank(all[i], &n));
		CHECK(n == i);
		SUCCEEDS(ncclCommDestroy(all[i]));
	}
	CHECK(!all[3]);
	SUCCEEDS(ncclCommDestroy(NULL));
	ncclUniqueId id; /* of ranks that are no processes here */
	memset(&id, 1, sizeof id);
	SUCCEEDS(ncclGetUniqueId(&id));
	for (size_t i = 0; i < sizeof id; i++) CHECK(((char *)&id)[i] == 0);
}

static int ranks_of_split(ncclComm_t c, int colour) { /* 0: nobody knows them */
	ncclComm_t part;
	int n = 0, e = ncclCommSplit(c, colour, 0, &part, NULL);
	CHECK(e == 0 || (e == INVALID_USAGE && !part));
	if (!e && part) SUCCEEDS(ncclCommCount(part, &n));
	if (part) SUCCEEDS(ncclCommDestroy(part));
	return n;
}
/* How many ranks a colour has, is known of the last 64 colours that were named, by the last naming;
   of others it is what was said of any. */
static void colours(void) {
	ncclComm_t c;
	SUCCEEDS(ncclCommInitRank(&c, 8, (ncclUniqueId){ { 0 } }, 0));
	CHECK(!noted("ncclCommSplit into a colour of unknown size"));
	CHECK(!ranks_of_split(c, 0) && noted("ncclCommSplit into a colour of unknown size"));
	memspec_pretend_split(0, 2, 2, 1);
	memspec_pretend_split(1, 3, 3, 1);
	CHECK(ranks_of_split(c, 0) == 2 && ranks_of_split(c, 1) == 3 && !ranks_of_split(c, 2));
	memspec_pretend_split(0, 4, 4, 1);
	CHECK(ranks_of_split(c, 0) == 4 && !ranks_of_split(c, -1));
	memspec_pretend_split(-1, 5, 5, 1);
	CHECK(ranks_of_split(c, 2) == 5 && ranks_of_split(c, 1) == 3 && !ranks_of_split(c, -1));
	memspec_pretend_split(-1, 0, 0, 0);
	CHECK(!ranks_of_split(c, 2));
	for (int i = 0; i < 64; i++) memspec_pretend_split(100 + i, 6, 6, 1);
	CHECK(ranks_of_split(c, 100) == 6 && ranks_of_split(c, 163) == 6 && !ranks_of_split(c, 1));
	memspec_pretend_split(164, 7, 7, 1);
	CHECK(!ranks_of_split(c, 100) && ranks_of_split(c, 101) == 6 && ranks_of_split(c, 164) == 7);
	SUCCEEDS(ncclCommDestroy(c));
}

static char *into;
static ncclComm_t second_of_three;
static bool came(const char *bytes, size_t n) {
	bool same = !memcmp(into, bytes, n) && is_known(into, n);
	SUCCEEDS(cudaMemset(into, 0, 64));
	return same;
}
static void gather_one(size_t n) { SUCCEEDS(ncclAllGather(into + 256, into, n, UINT8, second_of_three, NULL)); }
static void broadcast_from(int root, size_t n) {
	SUCCEEDS(ncclBroadcast(root == 1 ? into + 256 : into, into, n, UINT8, root, second_of_three, NULL));
}

/* Objects that absent ranks would send, which the Python side pickles: the next operation of that many bytes. */
static void expected_objects(void) {
	SUCCEEDS(cudaMalloc((void **)&into, 4096));
	memspec_pretend_track(1, 0);
	SUCCEEDS(ncclCommInitRank(&second_of_three, 3, (ncclUniqueId){ { 0 } }, 1));
	SUCCEEDS(cudaMemset(into + 256, 'x', 64));
	/* of 12 bytes from all, of which this rank's part does not come */
	memspec_pretend_expect("aaaabbbbcccc", 12, 4, 1);
	memspec_pretend_expect("dddd", 4, 4, 1);
	memspec_pretend_expect("", 0, 0, 1);
	memspec_pretend_expect("ee", 2, 7, 1);
	broadcast_from(0, 4);
	CHECK(came("aaaa", 4));
	broadcast_from(1, 4);
	CHECK(came("xxxx", 4));
	broadcast_from(2, 4);
	CHECK(came("cccc", 4));
	broadcast_from(2, 4);
	CHECK(came("dddd", 4)); /* of that object nothing is left: the next */
	broadcast_from(0, 2);
	CHECK(came("ee", 2));
	broadcast_from(0, 2);
	CHECK(!is_known(into, 2)); /* nothing is expected */
	memspec_pretend_expect_end();
	/* gathered as one, as the first; what comes before it is passed over */
	memspec_pretend_expect("nope", 4, 1, 0);
	memspec_pretend_expect("aaabbbccc", 9, 3, 0);
	gather_one(3);
	CHECK(came("aaabbbccc", 9));
	gather_one(3);
	CHECK(!is_known(into, 9) && !memcmp(into, "xxxxxxxxx\0", 10));
	memspec_pretend_expect_end();
	/* a message of one, and the part of the last rank */
	memspec_pretend_expect("12345678", 8, 4, 1);
	SUCCEEDS(ncclRecv(into, 8, UINT8, 0, second_of_three, NULL));
	CHECK(came("12345678", 8));
	memspec_pretend_expect_end();
	memspec_pretend_expect("12345678", 8, 4, 2);
	broadcast_from(0, 4);
	CHECK(came("1234", 4));
	broadcast_from(0, 4);
	CHECK(came("5678", 4));
	broadcast_from(0, 4);
	CHECK(!is_known(into, 4));
	memspec_pretend_expect_end();
	/* of 64, no more; after the end they begin anew */
	for (char i = 0; i < 65; i++) memspec_pretend_expect((char[]){ i, 1 }, 2, 2, 1);
	for (char i = 0; i < 64; i++) {
		broadcast_from(0, 2);
		CHECK(came((char[]){ i, 1 }, 2));
	}
	broadcast_from(0, 2);
	CHECK(!is_known(into, 2));
	memspec_pretend_expect_end();
	memspec_pretend_expect("zz", 2, 2, 1);
	broadcast_from(0, 2);
	CHECK(came("zz", 2));
	memspec_pretend_expect_end();
	SUCCEEDS(ncclCommDestroy(second_of_three));
	SUCCEEDS(cudaFree(into));
}

/* A group of broadcasts, one of each rank, is a gathering: what this rank sends is what the others
   do, where they send as much. */
static void gathered_by_broadcasts(void) {
	char *p;
	ncclComm_t c;
	SUCCEEDS(cudaMalloc((void **)&p, 8192));
	SUCCEEDS(ncclCommInitRank(&c, 80, (ncclUniqueId){ { 0 } }, 0));
	SUCCEEDS(cudaMemset(p, 7, 8));
	SUCCEEDS(cudaMemset(p + 4096, 1, 1024));
	SUCCEEDS(ncclGroupStart());
	for (int root = 0; root < 3; root++) SUCCEEDS(ncclBroadcast(p, p + 4096 + 8 * root, 8, UINT8, root, c, NULL));
	SUCCEEDS(ncclBroadcast(p, p + 4096 + 32, 4, UINT8, 3, c, NULL));
	SUCCEEDS(ncclGroupEnd());
	for (int i = 0; i < 24; i++) CHECK(p[4096 + i] == 7 && is_known(p + 4096 + i, 1) == (i < 8));
	CHECK(p[4096 + 24] == 1 && is_known(p + 4096 + 24, 8) && p[4096 + 32] == 1 && !is_known(p + 4096 + 32, 1));
	/* a later group has its own, also where nobody sends; of 64 of them what they receive is kept */
	SUCCEEDS(cudaMemset(p + 4096, 1, 1024));
	SUCCEEDS(ncclGroupStart());
	SUCCEEDS(ncclBroadcast(p, p + 4096, 8, UINT8, 1, c, NULL));
	SUCCEEDS(ncclGroupEnd());
	CHECK(p[4096] == 1 && p[4096 + 8] == 1);
	SUCCEEDS(ncclBroadcast(p, p + 4096 + 16, 8, UINT8, 1, c, NULL)); /* of no group */
	SUCCEEDS(ncclGroupStart());
	SUCCEEDS(ncclGroupStart());
	for (int root = 0; root <= 65; root++) SUCCEEDS(ncclBroadcast(p, p + 4096 + 8 * root, 8, UINT8, root, c, NULL));
	SUCCEEDS(ncclGroupEnd());
	CHECK(p[4096 + 8] == 1); /* the outer one has not ended */
	SUCCEEDS(ncclGroupEnd());
	for (int root = 0; root <= 65; root++) CHECK(p[4096 + 8 * root] == (root <= 64 ? 7 : 1));
	SUCCEEDS(cudaMemset(p + 4096, 1, 1024));
	SUCCEEDS(ncclGroupStart());
	for (int root = 0; root < 2; root++) SUCCEEDS(ncclBroadcast(p, p + 4096 + 8 * root, 8, UINT8, root, c, NULL));
	SUCCEEDS(ncclGroupEnd());
	CHECK(p[4096 + 8] == 7 && p[4096 + 16] == 1);
	SUCCEEDS(ncclCommDestroy(c));
	SUCCEEDS(cudaFree(p));
}

void communicators(void) {
	made_with_config();
	widths();
	in_graphs();
	all_of_a_node();
	colours();
	expected_objects();
	gathered_by_broadcasts();
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
/* In a group of messages that is no all-to-all of such numbers, of others nothing is chosen. */
enum odd { PLAIN, ANOTHER_TYPE, ANOTHER_SIZE, NOT_TO_SELF, FEWER_RECEIVED, ANOTHER_RECEIVED, FIRST_RECEIVED,
	SENT_TWICE };
static bool counted(enum odd odd) {
	SUCCEEDS(cudaMemset(at, 0, 64));
	memspec_pretend_chose(at, 64);
	SUCCEEDS(cudaMemset(at + 512, 0, 64));
	bytes_unknown(at + 512, 64);
	SUCCEEDS(ncclGroupStart());
	for (size_t i = 0; i < 3; i++) {
		bool last = i == 2;
		int type = last && odd == ANOTHER_TYPE ? INT32 : INT64;
		size_t n = last && odd == ANOTHER_TYPE ? 4 : last && odd == ANOTHER_SIZE ? 1 : 2;
		if (i != 1 || odd != NOT_TO_SELF) SUCCEEDS(ncclSend(at + 16 * i, n, type, (int)i, of_three, NULL));
		if (last && odd == SENT_TWICE) SUCCEEDS(ncclSend(at + 16 * i, n, type, (int)i, of_three, NULL));
		n = (last && odd == ANOTHER_RECEIVED) || (!i && odd == FIRST_RECEIVED) ? 1 : 2;
		if (!last || odd != FEWER_RECEIVED) SUCCEEDS(ncclRecv(at + 512 + 16 * i, n, INT64, (int)i, of_three, NULL));
	}
	SUCCEEDS(ncclGroupEnd());
	return memspec_pretend_chosen(at + 512, 16) == 1 || memspec_pretend_chosen(at + 544, 16) == 1;
}
static void not_counted(void) {
	ncclComm_t of_two;
	memspec_pretend_values(1); /* others send nothing */
	CHECK(counted(PLAIN));
	for (enum odd odd = ANOTHER_TYPE; odd <= SENT_TWICE; odd++) CHECK(!counted(odd));
	for (int type = 0; type < 12; type++) { /* ncclDataType_t: 32 and 64 bits, signed and not */
		SUCCEEDS(cudaMemset(at, 0, 128));
		memspec_pretend_chose(at, 128);
		SUCCEEDS(ncclAlltoAll(at, at + 512, 2, type, of_three, NULL));
		CHECK((memspec_pretend_chosen(at + 512, 1) == 1) == (type >= 2 && type <= 5));
	}
	SUCCEEDS(cudaMemset(at, 3, 16));
	memspec_pretend_chose(at, 16);
	SUCCEEDS(cudaMemset(at + 512, 9, 24));
	SUCCEEDS(ncclCommInitRank(&of_two, 2, (ncclUniqueId){ { 0 } }, 0));
	SUCCEEDS(ncclAlltoAll(at, at + 512, 1, INT64, of_two, NULL));
	CHECK(at[512] == 3 && at[520] == 0 && at[528] == 9 && memspec_pretend_chosen(at + 512, 16) == 1);
	SUCCEEDS(ncclCommDestroy(of_two));
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
	static const struct {
		int64_t sent[6];
		int got[6];
	} few[] = {
		{ { 1, 0, 1, 0, 0, 0 }, { 1, 1, 1, 0, 1, 1 } }, /* as many as experts: one for each */
		{ { 0, 1, 0, 0, 0, 0 }, { 1, 0, 0, 0, 1, 0 } }, /* fewer: all for the first */
	};
	memspec_pretend_values(2);
	for (int i = 0; i < 4; i++) {
		size_t wide = i & 1 ? 4 : 8;
		for (size_t n = 0; n < 6; n++) SUCCEEDS(cudaMemcpy(at + n * wide, &few[i / 2].sent[n], wide, 1));
		memspec_pretend_chose(at, 6 * wide);
		send_counts(true, wide == 4 ? INT32 : INT64, wide);
		CHECK(arrived(few[i / 2].got, wide));
	}
	not_counted();
	for (int grouped = 0; grouped < 2; grouped++) { /* what no router chose counts nothing: of others it is not known */
		SUCCEEDS(cudaMemset(at, 1, 64));
		send_counts(grouped, INT64, 8);
		CHECK(memspec_pretend_chosen(at + 512, 16) != 1);
	}
	SUCCEEDS(ncclCommDestroy(of_three));
}
