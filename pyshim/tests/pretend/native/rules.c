/* Workspaces by rules: what they give around the sizes where the rules change, and of which sizes
   they are known. */
#include "../../../src/memshim/pretend/native/cusolver_rule.h"
#include "unit.h"

int cufftCreate(int *), cufftDestroy(int), cufftXtMakePlanMany(int, int, const number *, const number *, number, number,
	int, const number *, number, number, int, number, size_t *, int);

enum { REAL_32 = 0, REAL_64 = 1, COMPLEX_16 = 6, COMPLEX_32 = 4, COMPLEX_64 = 5 }; /* cudaDataType */
enum { UNSIZED = 2, ESTIMATED = 4 };                                            /* notes.c */

static unsigned long long notes_of(int wanted) {
	unsigned long long all = 0, count;
	const char *name;
	int kind;
	for (int i = 0; memspec_pretend_note(i, &kind, &name, &count); i++)
		if (kind == wanted) all += count;
	return all;
}

/* The workspace of a plan; known says whether its kind was recorded, on another card. */
static size_t transform(int rank, number first, number second, number stride, int in, int out, number batch,
	bool *known) {
	number sizes[] = { first, second };
	size_t bytes = 1;
	int plan;
	SUCCEEDS(cufftCreate(&plan));
	unsigned long long unsized = notes_of(UNSIZED), estimated = notes_of(ESTIMATED);
	SUCCEEDS(cufftXtMakePlanMany(plan, rank, sizes, NULL, stride, 0, in, NULL, 1, 0, out, batch, &bytes, in));
	*known = notes_of(UNSIZED) == unsized;
	CHECK(notes_of(UNSIZED) - unsized + notes_of(ESTIMATED) - estimated == 1);
	SUCCEEDS(cufftDestroy(plan));
	return bytes;
}

static size_t line(number n, int in, int out, number batch) {
	bool known;
	return transform(1, n, 1, 1, in, out, batch, &known);
}
static bool known_line(number n, number stride, int type) {
	bool known;
	transform(1, n, 1, stride, type, type, 1, &known);
	return known;
}
static bool known_plane(number first, number second) {
	bool known;
	CHECK(!transform(2, first, second, 1, COMPLEX_32, COMPLEX_32, 1, &known));
	return known;
}

void transforms(void) {
	/* in its own memory up to a length, then what the result takes, or half of it */
	CHECK(line(16384, COMPLEX_32, COMPLEX_32, 3) == 0 && line(16385, COMPLEX_32, COMPLEX_32, 3) == 3 * 8 * 16385);
	CHECK(line(16385, COMPLEX_64, COMPLEX_64, 3) == 3 * 16 * 16385);
	CHECK(line(16384, REAL_32, COMPLEX_32, 3) == 0 && line(16385, REAL_32, COMPLEX_32, 3) == 3 * 8 * 8193);
	CHECK(line(16386, COMPLEX_32, REAL_32, 3) == 3 * 8 * 8194);
	CHECK(line(4096, REAL_64, COMPLEX_64, 3) == 0 && line(4097, REAL_64, COMPLEX_64, 3) == 3 * 16 * 2048);
	CHECK(line(16384, COMPLEX_64, REAL_64, 3) == 3 * 16 * 8192 && line(16385, REAL_64, COMPLEX_64, 3) == 3 * 16 * 8193);
	CHECK(known_line(1, 1, COMPLEX_32) && known_line(2, 1, COMPLEX_32) && known_line(1 << 22, 1, COMPLEX_32));
	CHECK(!known_line(3, 1, COMPLEX_32) && !known_line(1 << 23, 1, COMPLEX_32) && !known_line(2, 2, COMPLEX_32));
	CHECK(!known_line(0, 1, COMPLEX_32) && !known_line(2, 1, COMPLEX_16));
	CHECK(known_plane(2048, 1) && known_plane(1, 2048));
	CHECK(!known_plane(4096, 1) && !known_plane(1, 4096) && !known_plane(2047, 1) && !known_plane(1, 2047));
	int plan;
	number one = 1;
	size_t bytes;
	SUCCEEDS(cufftCreate(&plan));
	SUCCEEDS(cufftDestroy(plan));
	CHECK(cufftXtMakePlanMany(plan, 1, &one, NULL, 1, 0, 4, NULL, 1, 0, 4, 1, &bytes, 4) == 1);
	CHECK(cufftXtMakePlanMany(0, 1, &one, NULL, 1, 0, 4, NULL, 1, 0, 4, 1, &bytes, 4) == 1);
	CHECK(cufftXtMakePlanMany(1 << 16, 1, &one, NULL, 1, 0, 4, NULL, 1, 0, 4, 1, &bytes, 4) == 1);
}

void solvers(void) {
	/* of the sizes that were recorded, the largest in float32 alone */
	static const number sizes[] = { 1, 4, 8, 16, 32, 33, 64, 100, 128, 200, 256, 512, 600 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		CHECK(of_potrf(sizes[i]).known == AS_RECORDED && of_sytrf(&COMPLEX_DOUBLE, sizes[i]).known == AS_RECORDED);
	}
	CHECK(of_potrf(1024).known == AS_RECORDED && of_sytrf(&FLOAT, 1024).known == AS_RECORDED);
	CHECK(of_sytrf(&DOUBLE, 1024).known == BETWEEN && of_sytrf(&COMPLEX_FLOAT, 1024).known == BETWEEN);
	static const number others[] = { 0, 2, 3, 5, 7, 9, 15, 17, 31, 34, 63, 65, 99, 101, 127, 129, 199, 201, 255, 257, 511,
		513, 599, 601, 1023, 1025 };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) CHECK(of_potrf(others[i]).known == BETWEEN);
	CHECK(of_getrf(64, 64).known == AS_RECORDED && of_getrf(128, 64).known == BEYOND);
	CHECK(of_geqrf(&FLOAT, 64, 4).known == AS_RECORDED && of_geqrf(&FLOAT, 64, 5).known == BEYOND);
	CHECK(of_geqrf(&FLOAT, 2, 4).known == BEYOND);
	CHECK(of_gesvdj(&FLOAT, 33, 33).known == AS_RECORDED && of_gesvdj(&FLOAT, 34, 34).known == BETWEEN);
	CHECK(of_gesvdj(&FLOAT, 32, 32).known == BEYOND && of_gesvdj(&FLOAT, 33, 32).known == BEYOND);
	CHECK(of_gesvdj(&FLOAT, 20, 16).known == BEYOND && of_gesvdj(&FLOAT, 16, 20).known == BEYOND);
	CHECK(of_gesvdj(&FLOAT, 64, 4).known == AS_RECORDED && of_gesvdj(&FLOAT, 4, 64).known == AS_RECORDED);
	CHECK(of_gesvdj(&FLOAT, 65, 4).known == BETWEEN && of_gesvdj(&FLOAT, 64, 5).known == BEYOND);
	CHECK(of_gesvdj(&FLOAT, 65, 64).bytes > of_gesvdj(&FLOAT, 64, 64).bytes);
}
