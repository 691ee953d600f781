/* Where allocations lie: as the driver of an H100 put them (engine/allocator/addresses_test.go has the
   whole recording). */
#include "unit.h"

#define MIB ((size_t)1 << 20)

static char *taken(size_t mib) {
	void *p = NULL;
	SUCCEEDS(cudaMalloc(&p, mib * MIB));
	return p;
}

void places(void) {
	SUCCEEDS(cudaSetDevice(1));
	/* the context holds 414 MiB of a chunk of 416, and this is the rest */
	char *local = taken(2) - 414 * MIB;
	static const struct {
		size_t mib, below;
		int freed[6]; /* the numbers of those that are freed before */
	} rows[] = { { 70, 96, { 0 } }, { 64, 160, { 0 } }, { 72, 256, { 0 } }, { 80, 352, { 0 } }, { 10, 272, { 0 } },
		{ 2, 262, { 0 } }, { 20, 184, { 0 } }, { 70, 448, { 0 } }, { 2, 378, { 0 } }, { 46, 512, { 0 } }, { 2, 466, { 0 } },
		{ 2, 464, { 0 } }, { 58, 576, { 0 } }, { 2, 518, { 0 } }, { 28, 608, { 0 } }, { 44, 672, { 0 } }, { 78, 768, { 0 } },
		{ 30, 800, { 0 } }, { 76, 896, { 0 } }, { 52, 960, { 0 } }, { 60, 1024, { 0 } }, { 50, 1088, { 0 } },
		/* a chunk in which something is left keeps its place, and has room again; one without anything is gone */
		{ 66, 448, { 15, 7, 18, 13, 10, 5 } }, { 2, 1038, { 0 } }, { 2, 1036, { 0 } }, { 2, 1034, { 0 } },
		{ 78, 1184, { 0 } }, /* a gap of 96 MiB is too small for a chunk of 96 */
		{ 52, 864, { 0 } },  /* and has room for one of 64 */
		{ 50, 1248, { 0 } }, { 56, 1312, { 0 } }, { 12, 1198, { 0 } }, { 80, 1408, { 0 } }, { 20, 376, { 0 } },
		{ 78, 1504, { 0 } }, { 2, 1426, { 0 } } };
	enum { ROWS = sizeof rows / sizeof *rows };
	char *at[ROWS];
	for (int i = 0; i < ROWS; i++) {
		for (int j = 0; j < 6 && rows[i].freed[j]; j++) SUCCEEDS(cudaFree(at[rows[i].freed[j]]));
		at[i] = taken(rows[i].mib);
		if (at[i] != local - rows[i].below * MIB) fprintf(stderr, "%d: got %td MiB below\n", i,
			(local - at[i]) / (ptrdiff_t)MIB);
		CHECK(at[i] == local - rows[i].below * MIB);
	}
	/* the first kernel frees what the context held; the second one nothing more */
	kernel_ran();
	CHECK(taken(100) == local);
	kernel_ran();
	CHECK(taken(100) == local + 100 * MIB);
	/* what is freed at the end of the highest chunk joins the rest of it */
	char *third = taken(100);
	CHECK(third == local + 200 * MIB);
	SUCCEEDS(cudaFree(third));
	third = taken(200);
	CHECK(third == local + 200 * MIB);
	SUCCEEDS(cudaFree(third));
	/* another card's are its own, and it holds nothing: here one of capability 8.0 */
	gpu_at(0)->major = 8, gpu_at(0)->minor = 0;
	SUCCEEDS(cudaSetDevice(0));
	char *other = taken(20);
	kernel_ran();
	CHECK(taken(10) == other + 20 * MIB);
	CHECK(taken(40) < other);
	/* what is free on both sides of a border between two chunks stays two places */
	taken(24); /* the rest of that chunk */
	char *upper = taken(16), *rest = taken(16), *lower = taken(16), *border = taken(16);
	CHECK(rest == upper + 16 * MIB && lower == upper - 32 * MIB && border == upper - 16 * MIB);
	SUCCEEDS(cudaFree(upper));
	SUCCEEDS(cudaFree(border));
	char *whole = taken(32);
	CHECK(whole + 32 * MIB == lower && taken(16) == border && taken(16) == upper);
	SUCCEEDS(cudaFree(taken(2)));
	SUCCEEDS(cudaSetDevice(1));
	CHECK(taken(214) == third);
}

static CUdeviceptr reserve(size_t mib) {
	CUdeviceptr p;
	SUCCEEDS(cuMemAddressReserve(&p, mib * MIB, 0, 0, 0));
	return p;
}
static void release(CUdeviceptr p, size_t mib) { SUCCEEDS(cuMemAddressFree(p, mib * MIB)); }

/* Addresses that are given back are given out again: parts that lie side by side as one, in
   whatever order they came back, and no more than they are. */
void reservations(void) {
	CUdeviceptr a[5], p;
	CHECK(cuMemAddressReserve(&p, ((size_t)1 << 44) + 2 * MIB, 0, 0, 0) == CUDA_ERROR_NOT_SUPPORTED);
	for (int i = 0; i < 5; i++) a[i] = reserve(2);
	for (int i = 1; i < 5; i++) CHECK(a[i] == a[i - 1] + 2 * MIB);
	static const int orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		for (int j = 0; j < 3; j++) release(a[1 + orders[i][j]], 2);
		CHECK(reserve(6) == a[1]);
		release(a[1], 6);
		CHECK(reserve(2) == a[1] && reserve(2) == a[2] && reserve(2) == a[3]);
	}
	release(a[0], 2);
	release(a[2], 2);
	release(a[4], 2);
	p = reserve(4); /* more than each of them */
	CHECK(p > a[4]);
	CHECK(reserve(2) == a[0] && reserve(2) == a[2] && reserve(2) == a[4]);
	release(p, 4);
	release(a[1], 2);
	CHECK(reserve(4) == p && reserve(2) == a[1]);
}
