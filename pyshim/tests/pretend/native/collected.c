/* What collectives make of the bytes that ranks have: how many of each type, sums and averages of
   each type, and how many are known. */
#include "exchange.h"
#include "unit.h"

enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16, FLOAT8_E4M3, FLOAT8_E5M2,
	NO_TYPE };
enum { SUM, PRODUCT, MOST, LEAST, AVERAGE, PRE_MULTIPLIED };

/* Writes the element of a type that is n; its width. */
union element {
	int8_t int8_t;
	uint8_t uint8_t;
	int32_t int32_t;
	uint32_t uint32_t;
	int64_t int64_t;
	uint64_t uint64_t;
	float float_;
	double double_;
};
static size_t put(int type, double n, void *at) {
	union element e = { 0 };
	size_t wide = 0;
	switch (type) {
	case INT8: e.int8_t = (int8_t)n, wide = 1; break;
	case UINT8: e.uint8_t = (uint8_t)n, wide = 1; break;
	case INT32: e.int32_t = (int32_t)n, wide = 4; break;
	case UINT32: e.uint32_t = (uint32_t)n, wide = 4; break;
	case INT64: e.int64_t = (int64_t)n, wide = 8; break;
	case UINT64: e.uint64_t = (uint64_t)n, wide = 8; break;
	case FLOAT32: e.float_ = (float)n, wide = 4; break;
	case FLOAT64: e.double_ = n, wide = 8; break;
	}
	memcpy(at, &e, wide);
	return wide;
}

static void sums(void) {
	static const struct {
		int operation;
		double a, b, want, average; /* average: of two ranks */
	} rows[] = {
		{ SUM, 5, 3, 8, 4 }, { PRODUCT, 5, 3, 15, 7.5 }, { MOST, 5, 3, 5, 2.5 }, { MOST, 3, 5, 5, 2.5 },
		{ LEAST, 5, 3, 3, 1.5 }, { LEAST, 3, 5, 3, 1.5 },
		{ AVERAGE, 5, 3, 8, 4 },
	};
	static const int types[] = { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT32, FLOAT64 };
	char sum[24], more[24], want[24];
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			bool whole = types[t] != FLOAT32 && types[t] != FLOAT64;
			size_t wide = 0;
			memset(sum, 0, sizeof sum);
			memset(want, 0, sizeof want);
			for (size_t j = 0; j < 2; j++) { /* two elements; what lies behind them stays */
				wide = put(types[t], rows[i].a + (double)j, sum + j * wide);
				put(types[t], rows[i].b + (double)j, more + j * wide);
			}
			double second = rows[i].operation == PRODUCT ? 24 : rows[i].want + (rows[i].operation == SUM ||
				rows[i].operation == AVERAGE ? 2 : 1);
			put(types[t], rows[i].want, want), put(types[t], second, want + wide);
			CHECK(exchange_reduce(sum, more, 2, types[t], rows[i].operation) && !memcmp(sum, want, sizeof sum));
			exchange_average(sum, 1, types[t], 2);
			put(types[t], whole ? (double)(int)rows[i].average : rows[i].average, want);
			CHECK(!memcmp(sum, want, sizeof sum));
		}
	for (int type = FLOAT16; type <= NO_TYPE; type++) /* what a CPU has no arithmetic for */
		if (type != FLOAT32 && type != FLOAT64) {
			memset(sum, 1, sizeof sum);
			memcpy(want, sum, sizeof sum);
			CHECK(!exchange_reduce(sum, more, 1, type, SUM));
			exchange_average(sum, 1, type, 2);
			CHECK(!memcmp(sum, want, sizeof sum));
		}
	CHECK(!exchange_reduce(sum, more, 1, INT32, PRE_MULTIPLIED));
}

/* An operation of n elements of each type covers so many bytes, and no more. */
static void widths(char *at) {
	/* nccl.h's order; of a type that is not there 8, the most */
	static const size_t wide[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1, 8 };
	ncclComm_t two;
	SUCCEEDS(ncclCommInitRank(&two, 2, (ncclUniqueId){ { 0 } }, 0));
	for (int type = 0; type <= NO_TYPE; type++) {
		size_t each = 3 * wide[type];
		char *to = at + 1024;
		for (int which = 0; which < 5; which++) {
			size_t covered = which == 1 ? 2 * each : each;
			SUCCEEDS(cudaMemset(at, 7, 4096));
			switch (which) {
			case 0: SUCCEEDS(ncclAllReduce(at, to, 3, type, SUM, two, NULL)); break;
			case 1: SUCCEEDS(ncclAllGather(at, to, 3, type, two, NULL)); break;
			case 2: SUCCEEDS(ncclReduceScatter(at, to, 3, type, SUM, two, NULL)); break;
			case 3: SUCCEEDS(ncclBroadcast(to, to, 3, type, 1, two, NULL)); break;
			case 4: SUCCEEDS(ncclRecv(to, 3, type, 1, two, NULL)); break;
			}
			CHECK(bytes_value(to, 1) == UNKNOWN && bytes_value(to + covered - 1, 1) == UNKNOWN);
			CHECK(bytes_value(to + covered, 64) == KNOWN && bytes_value(at, 1024) == KNOWN);
		}
	}
	/* a root that is none */
	CHECK(ncclReduce(at, at, 1, INT8, SUM, 2, two, NULL) != 0 && ncclReduce(at, at, 1, INT8, SUM, -1, two, NULL) != 0);
	CHECK(ncclBroadcast(at, at, 1, INT8, 2, two, NULL) != 0 && ncclGather(at, at, 1, INT8, 2, two, NULL) != 0);
	CHECK(ncclSend(at, 1, INT8, 2, two, NULL) != 0 && ncclRecv(at, 1, INT8, 2, two, NULL) != 0);
	SUCCEEDS(cudaMemset(at, 7, 64));
	SUCCEEDS(ncclReduce(at, at + 32, 4, INT8, SUM, 1, two, NULL)); /* to another rank: nothing arrives here */
	CHECK(bytes_value(at, 64) == KNOWN);
	SUCCEEDS(ncclReduce(at, at + 32, 4, INT8, SUM, 0, two, NULL));
	CHECK(bytes_value(at + 32, 1) == UNKNOWN && bytes_value(at + 36, 28) == KNOWN);
	SUCCEEDS(ncclCommDestroy(two));
}

void collected(void) {
	char *at;
	sums();
	SUCCEEDS(cudaSetDevice(0));
	SUCCEEDS(cudaMalloc((void **)&at, 4096));
	memspec_pretend_track(1, 0);
	widths(at);
	for (size_t n = 0; n <= 9; n++) { /* bytes that are known, from the first on */
		SUCCEEDS(cudaMemset(at, 7, 16));
		memspec_pretend_unknown(at + n, 16 - n);
		CHECK(exchange_known(at, 9) == n && exchange_known(at, 0) == 0);
	}
	SUCCEEDS(cudaFree(at));
}
