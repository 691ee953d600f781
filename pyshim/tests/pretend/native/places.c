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
	struct { size_t mib, below; } rows[] = { { 70, 96 }, { 64, 160 }, { 72, 256 }, { 80, 352 }, { 10, 272 }, { 2, 262 },
		{ 20, 184 }, { 70, 448 }, { 2, 378 } };
	char *at[9];
	for (int i = 0; i < 9; i++) {
		at[i] = taken(rows[i].mib);
		if (at[i] != local - rows[i].below * MIB) fprintf(stderr, "%d: got %td MiB below\n", i,
			(local - at[i]) / (ptrdiff_t)MIB);
		CHECK(at[i] == local - rows[i].below * MIB);
	}
	/* what is left keeps a chunk, which has room again; a chunk without anything is gone */
	SUCCEEDS(cudaFree(at[7]));
	SUCCEEDS(cudaFree(at[1]));
	CHECK(taken(66) == at[7]);
	CHECK(taken(50) == at[7] - 64 * MIB);
	/* the first kernel frees what the context held; the second one nothing more */
	kernel_ran();
	CHECK(taken(100) == local);
	kernel_ran();
	CHECK(taken(100) == local + 100 * MIB);
	/* another card's are its own, and it holds nothing */
	SUCCEEDS(cudaSetDevice(0));
	char *other = taken(20);
	kernel_ran();
	CHECK(taken(10) == other + 20 * MIB);
	SUCCEEDS(cudaSetDevice(1));
	CHECK(taken(100) == local + 200 * MIB);
}
