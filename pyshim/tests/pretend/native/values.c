/* What lies in device memory, and of which bytes it is known. */
#include "unit.h"

void values(void) {
	int32_t host[4] = { 1, 2, 3, 4 }, back[4];
	int32_t *device, *other;
	SUCCEEDS(cudaMalloc((void **)&device, 4 * MIB));
	SUCCEEDS(cudaMalloc((void **)&other, 4 * MIB));
	unsigned long long *reads = &memspec_pretend_reads()->count;
	SUCCEEDS(cudaMemcpy(device, host, sizeof host, 1));
	SUCCEEDS(cudaMemcpy(back, device, sizeof back, 2));
	CHECK(!memcmp(host, back, sizeof host) && *reads == 1); /* nobody says what kernels write: nothing is known */

	memspec_pretend_track(1, 0);
	SUCCEEDS(cudaMemcpy(device, host, sizeof host, 1));
	SUCCEEDS(cudaMemcpy(back, device, sizeof back, 2));
	CHECK(*reads == 1 && is_known(device, 16) && !is_known(device, 17));
	SUCCEEDS(cudaMemcpy(other, device, 16, 3)); /* what a copy gives is as known as what it is of */
	CHECK(is_known(other, 16) && other[3] == 4);
	memspec_pretend_unknown(device + 1, 4);
	CHECK(is_known(device, 4) && !is_known(device, 8) && is_known(device + 2, 8));
	SUCCEEDS(cudaMemcpy(other, device, 16, 3));
	CHECK(memspec_pretend_known(device, 8) == 0 && memspec_pretend_known(other, 16) == -1); /* in part, none of it */
	CHECK(!memspec_pretend_untouched(other + 1, 4) && memspec_pretend_untouched(other + 4, 16));
	SUCCEEDS(cudaMemcpy(back, device, 8, 2));
	CHECK(*reads == 2 && memspec_pretend_reads()->bytes == 8);

	memspec_pretend_answer(7);
	memspec_pretend_answer(1);
	SUCCEEDS(cudaMemcpy(back, device + 2, 4, 2)); /* known: not a question */
	CHECK(back[0] == 3);
	SUCCEEDS(cudaMemcpy(back, device + 1, 4, 2));
	CHECK(back[0] == 7 && *reads == 2); /* answered: not counted */
	CHECK(memspec_pretend_answers_end() == 1);
	SUCCEEDS(cudaMemcpy(back, device + 1, 4, 2));
	CHECK(back[0] == 2); /* the other answer is gone */
	for (size_t n = 1; n <= 16; n++) { /* what is no number of a program's is not answered */
		bool number = n == 1 || n == 2 || n == 4 || n == 8;
		memspec_pretend_answer(0x0706050403020109);
		SUCCEEDS(cudaMemcpy(back, device + 1, n, 2));
		CHECK(memspec_pretend_answers_end() == number && (((char *)back)[0] == 9) == number);
	}
	for (int i = 0; i < 40; i++) memspec_pretend_answer(i); /* a pair of numbers is read as one */
	for (int i = 0; i < 40; i += 2) {
		SUCCEEDS(cudaMemcpy(back, device + 1, 16, 2));
		CHECK(((uint64_t *)back)[0] == (uint64_t)i && ((uint64_t *)back)[1] == (uint64_t)i + 1);
	}
	CHECK(memspec_pretend_answers_end() == 40);

	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(device, 512, 0, 0, 0); /* the block is handed out anew */
	CHECK(device[0] == 0 && device[3] == 0 && !is_known(device, 4));
	char pages[20 * 4096 + 100];
	memset(pages, 9, sizeof pages);
	SUCCEEDS(cudaMemcpy((char *)device + 50, pages, sizeof pages, 1));
	bytes_fresh(device, MIB); /* whole pages go back to the system; what is left of the first and of the last is cleared */
	for (size_t i = 0; i < sizeof pages + 200; i++) CHECK(((char *)device)[i] == 0);
	SUCCEEDS(cudaMemset(device, 0, 4 * MIB)); /* zeros are known, at no cost */
	CHECK(is_known(device, 4 * MIB));
	SUCCEEDS(cudaMemset(device, 1, 4 * MIB)); /* too large to be written */
	CHECK(!is_known(device, 4) && device[0] == 0);
	SUCCEEDS(cudaMemset(device, 1, 64));
	CHECK(device[15] == 0x01010101 && is_known(device, 64));

	/* of no operator: it may have written anywhere */
	cudaLaunchKernel(values, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL);
	CHECK(!is_known(device, 4) && device[15] == 0x01010101);
	SUCCEEDS(cudaMemset(device, 1, 64));
	++*memspec_pretend_operators();
	cudaLaunchKernel(values, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL);
	CHECK(is_known(device, 64));
	*memspec_pretend_operators() = -1; /* of an operator that is made of others */
	cudaLaunchKernel(values, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL);
	CHECK(!is_known(device, 4));
	*memspec_pretend_operators() = 0;

	size_t large = 2 * MIB;
	char *many = malloc(large);
	memset(many, 9, large);
	SUCCEEDS(cudaMemcpy(other, many, large, 1)); /* not made: other's bytes stay, and are not known */
	CHECK(other[3] == 4 && !is_known(other, 4));
	SUCCEEDS(cudaMemcpy(many, other, large, 2));
	CHECK(many[0] == 0 && many[large - 1] == 0);
	free(many);
	int32_t wide[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	SUCCEEDS(cudaMemcpy2DAsync(device, 16, wide, 8, 8, 4, 1, NULL));
	CHECK(device[0] == 1 && device[1] == 2 && device[4] == 3 && device[13] == 8);
	SUCCEEDS(cudaFree(device));
	SUCCEEDS(cudaFree(other));
	memspec_pretend_track(0, 0);
}

/* The sets of spans by lot, against a byte a byte. */
void spans(void) {
	enum { SIZE = 4096 };
	static bool model[SIZE];
	char *p;
	SUCCEEDS(cudaMalloc((void **)&p, SIZE));
	memspec_pretend_track(1, 0);
	srand(11);
	for (int step = 0; step < 30000; step++) {
		int from = rand() % SIZE, to = from + 1 + rand() % 64;
		if (to > SIZE) to = SIZE;
		bool add = rand() % 2;
		if (add) memspec_pretend_wrote(p + from, (size_t)(to - from), 1);
		else memspec_pretend_unknown(p + from, (size_t)(to - from));
		for (int i = from; i < to; i++) model[i] = add;
		from = rand() % SIZE;
		to = from + 1 + rand() % 16;
		if (to > SIZE) to = SIZE;
		bool all = true;
		for (int i = from; i < to; i++) all = all && model[i];
		CHECK(all == (is_known(p + from, (size_t)(to - from)) != 0));
	}
	SUCCEEDS(cudaFree(p));
	CHECK(!is_known(p, 1)); /* what is freed is not known */
	memspec_pretend_track(0, 0);
}
