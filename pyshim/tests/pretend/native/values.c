/* What lies in device memory, and of which bytes it is known. */
#include "unit.h"

#include <link.h>

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

/* What is said of no bytes, or of the host's, changes nothing. */
static void said_of_nothing(char *device, char *host) {
	SUCCEEDS(cudaMemset(device, 1, 16));
	bytes_unknown(device + 32, 16);
	memspec_pretend_wrote(device + 40, 0, KNOWN);
	memspec_pretend_chose(device + 40, 0);
	memspec_pretend_zero(device + 40, 0);
	CHECK(memspec_pretend_known(device + 32, 16) == -1 && memspec_pretend_chosen(device + 32, 16) == -1);
	bytes_fresh(device + 8, 0);
	memspec_pretend_wrote(device + 8, 0, UNKNOWN);
	CHECK(is_known(device, 16) && device[8] == 1);
	memspec_pretend_wrote(host, 8, KNOWN);
	memspec_pretend_chose(host, 8);
	memspec_pretend_zero(host, 8);
	CHECK(memspec_pretend_known(host, 8) == -1 && memspec_pretend_chosen(host, 8) == -1);
}

/* Answers are used up: the next read is one of what lies there. */
static void used_answers(char *device) {
	unsigned long long *reads = &memspec_pretend_reads()->count, before = *reads;
	int64_t eight = 0;
	SUCCEEDS(cudaMemset(device, 2, 8));
	bytes_unknown(device, 8);
	memspec_pretend_answer(7);
	SUCCEEDS(cudaMemcpy(&eight, device, 8, 2));
	CHECK(eight == 7 && *reads == before);
	SUCCEEDS(cudaMemcpy(&eight, device, 8, 2));
	CHECK(eight == 0x0202020202020202 && *reads == before + 1 && memspec_pretend_answers_end() == 1);
}

/* Outside of every operator a read of what is not known is noted; into memory that kernels may use
   it is none. */
static void reads_outside(char *device) {
	unsigned long long *reads = &memspec_pretend_reads()->count;
	char four[4], *pinned, *shared;
	memspec_pretend_track(0, 0);
	SUCCEEDS(cudaMemcpy(four, device, 4, 2));
	memspec_pretend_track(1, 0);
	*memspec_pretend_operators() = 1;
	SUCCEEDS(cudaMemcpy(four, device, 4, 2));
	*memspec_pretend_operators() = 0;
	CHECK(*reads == 2 && !noted("cudaMemcpy"));
	SUCCEEDS(cudaHostAlloc((void **)&pinned, 4, 0));
	SUCCEEDS(cudaMemcpy(pinned, device, 4, 2));
	CHECK(*reads == 3 && noted("cudaMemcpy"));
	SUCCEEDS(cudaMallocManaged((void **)&shared, 4, 1));
	SUCCEEDS(cudaMemcpy(shared, device, 4, 2));
	CHECK(*reads == 3);
	SUCCEEDS(cudaFree(shared));
	SUCCEEDS(cudaFreeHost(pinned));
}

void marks(void) {
	char *device, *from, host[8];
	SUCCEEDS(cudaMalloc((void **)&device, 4 * MIB));
	reads_outside(device);
	said_of_nothing(device, host);
	used_answers(device);
	CHECK(is_known(device + 8, 8));
	memspec_pretend_track(1, 0); /* again: all before is forgotten */
	CHECK(memspec_pretend_known(device + 8, 8) == -1);
	/* a copy or a fill of 1 MiB is made, and what it gives is known; a longer one is neither */
	from = calloc(1, MIB + 1);
	from[MIB - 1] = 5;
	for (size_t n = MIB; n <= MIB + 1; n++) {
		SUCCEEDS(cudaMemcpy(device, from, n, 1));
		CHECK(is_known(device, n) == (n == MIB) && device[MIB - 1] == 5);
		SUCCEEDS(cudaMemset(device + 2 * MIB, 5, n));
		CHECK(is_known(device + 2 * MIB, n) == (n == MIB) && device[3 * MIB - 1] == 5);
	}
	free(from);
	CHECK(device[MIB] == 0 && device[3 * MIB] == 0);
	CHECK(!memspec_pretend_untouched(device + MIB - 1, 1) && memspec_pretend_untouched(device + MIB, MIB));
	SUCCEEDS(cudaMemset(device, 0, 2 * MIB));
	CHECK(device[MIB - 1] == 0 && is_known(device, 2 * MIB) && memspec_pretend_untouched(device, 2 * MIB));
	/* a block that is taken back keeps what lies there; one that is handed out does not */
	SUCCEEDS(cudaMemset(device, 3, 8));
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(device, -512, 0, 0, 1);
	CHECK(device[0] == 3 && is_known(device, 8));
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(device, 1, 512, 2 * MIB, 1);
	CHECK(device[0] == 0 && !is_known(device, 1) && device[1] == 3 && is_known(device + 1, 7));
	SUCCEEDS(cudaFree(device));
}

/* ---- kernels of PyTorch's own library ---- */

int __wrap_dl_iterate_phdr(int (*)(struct dl_phdr_info *, size_t, void *), void *);
int __wrap_dl_iterate_phdr(int (*f)(struct dl_phdr_info *, size_t, void *), void *data) {
	static const ElfW(Phdr) parts[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0, .p_memsz = 0x1000 },
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x1000, .p_memsz = 0x200 },
		{ .p_type = PT_NOTE, .p_flags = PF_X, .p_vaddr = 0x3000, .p_memsz = 0x200 },
		{ .p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x5000, .p_memsz = 0x200 } }; /* the last is none of the library */
	static const char *const names[] = { "", "/torch/lib/libtorch_cpu.so", "/torch/lib/libtorch_cuda.so",
		"/lib/libc.so.6" };
	int e = 0;
	for (size_t i = 0; i < 4 && !e; i++) {
		struct dl_phdr_info l = { .dlpi_addr = 0x10000 * (i + 1), .dlpi_name = names[i], .dlpi_phdr = parts,
			.dlpi_phnum = 3 };
		e = f(&l, sizeof l, data);
	}
	return e;
}

/* Whether this is known after a kernel at an address ran outside of every operator that is seen. */
static bool known_after(uintptr_t kernel) {
	char *device;
	SUCCEEDS(cudaMalloc((void **)&device, 64));
	SUCCEEDS(cudaMemset(device, 1, 64));
	bytes_after_launch((const void *)kernel);
	bool known = is_known(device, 64);
	SUCCEEDS(cudaFree(device));
	return known;
}

/* Kernels of libtorch_cuda.so are those of operators, whose results are fresh; any other one may write anywhere. */
void own_code(void) {
	memspec_pretend_track(1, 0);
	CHECK(!known_after(0) && !known_after(0x11000) && !known_after(0x30fff) && !known_after(0x33000));
	CHECK(known_after(0x31000) && known_after(0x311ff) && !known_after(0x31200) && !known_after(0x35000));
	*memspec_pretend_operators() = -1; /* inside of one whose writes are not reported */
	CHECK(!known_after(0x31000));
	*memspec_pretend_operators() = 1;
	CHECK(known_after(0x31000) && known_after(0x11000));
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
		int all = 0;
		for (int i = from; i < to; i++) all += model[i];
		CHECK(memspec_pretend_known(p + from, (size_t)(to - from)) == (all == to - from ? 1 : all ? 0 : -1));
	}
	SUCCEEDS(cudaFree(p));
	CHECK(!is_known(p, 1)); /* what is freed is not known */
	memspec_pretend_track(0, 0);
}
