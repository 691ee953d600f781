/* Formulas of cuSOLVER's workspaces. Those of square matrices of 14 sizes, up to 1,024 (600 but for
   float), were recorded on one H100 (testdata/measured/h100-solver.csv), and those of some calls with
   four columns or two right-hand sides. Blocks are of 32, 64 or 128 columns, and parts of a workspace
   begin at multiples of 32 elements, which the formulas show. */
#include "cusolver_rule.h"

#include <stdbool.h>

const struct element FLOAT = { 4, 96 << 10 }, DOUBLE = { 8, 104 << 10 }, COMPLEX_FLOAT = { 8, 104 << 10 },
	COMPLEX_DOUBLE = { 16, 172 << 10 };

const struct element *element_of(int type) {
	enum { REAL_32 = 0, REAL_64 = 1, COMPLEX_32 = 4 }; /* cudaDataType */
	return type == REAL_32 ? &FLOAT : type == REAL_64 ? &DOUBLE : type == COMPLEX_32 ? &COMPLEX_FLOAT : &COMPLEX_DOUBLE;
}

enum { FEW = 4, RIGHT_HAND_SIDES = 2, PANEL = 65536, WARP = 32 };

static number larger(number a, number b) { return a > b ? a : b; }
static number smaller(number a, number b) { return a < b ? a : b; }
static number up(number n, number to) { return (n + to - 1) / to * to; }
static number blocks(number n) { return up(n, WARP) / WARP; }

static bool recorded(number n, number item) {
	static const number sizes[] = { 1, 4, 8, 16, 32, 33, 64, 100, 128, 200, 256, 512, 600, 1024 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i] == n) return n < 1024 || item == 4;
	return false;
}

static struct workspace of(number bytes, bool shape, bool size) {
	return (struct workspace){ (size_t)bytes, !shape ? BEYOND : size ? AS_RECORDED : BETWEEN };
}

struct workspace of_potrf(number n) { return of(128 + up(4 * blocks(n) * blocks(n), 32), true, recorded(n, 4)); }

struct workspace of_getrf(number m, number n) {
	number wide = WARP;
	while (wide < smaller(n, 512)) wide *= 2;
	return of(256 + up(8 * n, 256) + 8 * wide, m == n, recorded(n, 4));
}

struct workspace of_sytrf(const struct element *t, number n) {
	return of(larger(64 * (n + 1) * (number)t->bytes, (number)t->least_of_sytrf + 128), true,
		recorded(n, (number)t->bytes));
}

static number elements_of_geqrf(number n) { return 524288 + 1024 * larger(n, 256); }

struct workspace of_geqrf(const struct element *t, number m, number n) {
	number item = (number)t->bytes;
	return of(elements_of_geqrf(n) * item + 128, m == n || (m > n && n == FEW), recorded(m, item));
}

/* The first k columns of Q. */
struct workspace of_orgqr(const struct element *t, number m, number n, number k) {
	number item = (number)t->bytes, rows = larger(m, 128);
	/* of 65 to 127 columns what 128 want, which is more */
	number elements = k <= 64 ? PANEL / 2 + up(m * k, 32) + 256 : 384 * rows + 128 * 128 + 256;
	return of(elements * item, n == k && (m == k || (m > k && k == FEW)) && (k <= 64 || k >= 128), recorded(m, item));
}

static number elements_of_ormqr(number m, number columns, number times) {
	return PANEL + 256 * m + times * columns + up(2 * m * m, 32) + 256 + (m > WARP ? up(columns, 32) : 0);
}

struct workspace of_ormqr(const struct element *t, int side, number m, number n, number k) {
	enum { LEFT = 0 }; /* cublasSideMode_t */
	number item = (number)t->bytes;
	bool shape = side == LEFT && m == k && (n == m || n == RIGHT_HAND_SIDES);
	return of(elements_of_ormqr(m, n, 512) * item, shape, recorded(m, item));
}

struct workspace of_gesvd(const struct element *t, number m, number n) {
	number item = (number)t->bytes;
	return of((elements_of_ormqr(n, n, 0) + up(n * n, 32) + 3 * up(n, 32)) * item, m == n, recorded(n, item));
}

/* One-sided Jacobi on pairs of blocks; of tall matrices, or wide ones, on the triangle of a factorisation. */
struct workspace of_gesvdj(const struct element *t, number m, number n) {
	number item = (number)t->bytes, few = smaller(m, n), many = larger(m, n), b = blocks(few);
	number square = up(2 * few * few + 2048 * b + 1024 + few + 4 * b * b + 16, 32) * item;
	if (many <= larger(few, WARP)) return of(square, m == n && n > WARP, recorded(n, item));
	number long_one = (elements_of_geqrf(few) + up(m * n, 32) + 64) * item;
	return of(few <= WARP ? long_one : long_one + square, few == FEW, recorded(many, item));
}

/* PyTorch calls this for matrices up to 32 by 32. */
struct workspace of_gesvdj_batched(const struct element *t, number m, number n, number batch) {
	number item = (number)t->bytes;
	return of(992 * item, m == n && batch == 1, recorded(n, item));
}

struct workspace of_syevj(const struct element *t, number n) {
	number item = (number)t->bytes, b = blocks(n);
	return of((n * n + 4 * b * b + 1024 + 1024 * b + n + b) * item, item == 4 && n >= 32 && n <= 512, recorded(n, item));
}

/* Up to 600 what was recorded is at most 48 elements less; of 1,024 it is 9 % more. */
struct workspace of_syevd(const struct element *t, number n) {
	number item = (number)t->bytes;
	return of((PANEL + 768 * n + 3 * n * n + 83) * item + 128, n <= 600, false);
}
