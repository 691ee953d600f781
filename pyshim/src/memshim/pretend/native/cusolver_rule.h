/* How large a workspace cuSOLVER wants, by a rule of cuSOLVER 12.0.4 on one H100. */
#pragma once

#include <stddef.h>

typedef long long number;

struct element {
	size_t bytes;
	size_t least_of_sytrf;
};
extern const struct element FLOAT, DOUBLE, COMPLEX_FLOAT, COMPLEX_DOUBLE;
const struct element *element_of(int type); /* a cudaDataType */

struct workspace {
	size_t bytes;
	/* as recorded; by the same formula, of a size that was not; of a shape that no formula was compared with */
	enum { AS_RECORDED, BETWEEN, BEYOND } known;
};
/* Of matrices of m rows and n columns, or of n by n. */
struct workspace of_gesvd(const struct element *t, number m, number n);
struct workspace of_gesvdj(const struct element *t, number m, number n);
struct workspace of_gesvdj_batched(const struct element *t, number m, number n, number batch);
struct workspace of_geqrf(const struct element *t, number m, number n);
struct workspace of_getrf(number m, number n);
struct workspace of_potrf(number n);
struct workspace of_sytrf(const struct element *t, number n);
struct workspace of_syevd(const struct element *t, number n);
struct workspace of_syevj(const struct element *t, number n);
struct workspace of_orgqr(const struct element *t, number m, number n, number k);
/* Of Q, of k reflectors, times a matrix of m rows and n columns. */
struct workspace of_ormqr(const struct element *t, int side, number m, number n, number k);
