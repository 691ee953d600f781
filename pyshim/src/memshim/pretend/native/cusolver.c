/* cuSOLVER's dense functions. Each succeeds and computes nothing. How large a workspace one wants
   only the library on a real device knows. For square matrices it was recorded on one H100
   (testdata/measured/h100-solver.csv), and cusolver_rule.c has a formula for most functions. What no
   formula gives is taken as 0, or as the formula says of another shape, and is noted, so that no
   figure passes for a measured one. */
#include "pretend.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cusolver_rule.h"

/* few of the parameters are looked at, and none by its type: each takes one place, as integers and
   pointers do */
#ifndef PUBLIC_HEADERS

enum { SUCCESS = 0, ALLOCATION_FAILED = 2 }; /* cusolverStatus_t */
typedef uintptr_t word;

static int made(void **handle) {
	return handle_make(handle) ? SUCCESS : ALLOCATION_FAILED;
}
static int freed(void *handle) {
	free(handle);
	return SUCCESS;
}
API int cusolverDnCreate(void **handle) { return made(handle); }
API int cusolverDnDestroy(void *handle) { return freed(handle); }
API int cusolverDnCreateParams(void **parameters) { return made(parameters); }
API int cusolverDnDestroyParams(void *parameters) { return freed(parameters); }
API int cusolverDnCreateGesvdjInfo(void **info) { return made(info); }
API int cusolverDnDestroyGesvdjInfo(void *info) { return freed(info); }
API int cusolverDnCreateSyevjInfo(void **info) { return made(info); }
API int cusolverDnDestroySyevjInfo(void *info) { return freed(info); }

/* What computes, or sets how. */
#define DOES(name) \
	API int cusolverDn##name(void) { return SUCCESS; }
#define REAL(name) DOES(S##name) DOES(D##name)
#define COMPLEX(name) DOES(C##name) DOES(Z##name)
#define EACH(name) REAL(name) COMPLEX(name)

DOES(SetStream) DOES(XgesvdjSetMaxSweeps) DOES(XgesvdjSetSortEig) DOES(XgesvdjSetTolerance) DOES(XsyevjSetSortEig)
EACH(geqrf) EACH(gesvd) EACH(gesvdaStridedBatched) EACH(gesvdj) EACH(gesvdjBatched) EACH(getrf) EACH(getrs) EACH(potrf)
EACH(potrfBatched) EACH(potrs)
EACH(potrsBatched) EACH(sytrf)
REAL(orgqr) REAL(ormqr) REAL(syevd) REAL(syevj) REAL(syevjBatched) COMPLEX(ungqr) COMPLEX(unmqr) COMPLEX(heevd)
COMPLEX(heevj) COMPLEX(heevjBatched)
DOES(Xgeev) DOES(Xgeqrf) DOES(Xpotrf) DOES(Xpotrs) DOES(XsyevBatched) DOES(Xsyevd) DOES(Xsytrs)

/* How large a workspace is wanted: elements in an int, or bytes of the device and of the host. */
static int no_elements(word elements) {
	note_unsized("cuSOLVER's workspace: taken as 0");
	*(int *)elements = 0;
	return SUCCESS;
}
static int no_bytes(word of_device, word of_host) {
	note_unsized("cuSOLVER's workspace: taken as 0");
	*(size_t *)of_device = *(size_t *)of_host = 0;
	return SUCCESS;
}

/* The release and the card that were recorded. */
static bool same_library(void) {
	enum { RECORDED = 12004 };
	static int (*version)(int *);
	const struct gpu *g = current_gpu();
	int v = 0;
	if (!version) ASSIGN_FUNCTION(version, real_function("libcusolver.so.12", "cusolverGetVersion"));
	return version && version(&v) == SUCCESS && v == RECORDED && g && g->major == 9;
}

static size_t bytes_of(struct workspace w) {
	if (w.known == BEYOND) note_unsized("cuSOLVER's workspace of shapes that were not recorded: by a rule for others");
	else if (!same_library()) note_unsized("cuSOLVER's workspace: by a rule of cuSOLVER 12.0 on an H100");
	else if (w.known == BETWEEN) note_estimated("workspace-estimate: cuSOLVER's workspace, by a rule of other sizes");
	return w.bytes;
}

/* The parameters before the answer; from the seventh on they lie on the stack. */
#define PLACES_3 word a UNUSED, word b UNUSED, word c UNUSED
#define PLACES_4 PLACES_3, word d UNUSED
#define PLACES_5 PLACES_4, word e UNUSED
#define PLACES_7 PLACES_5, word f UNUSED, word g UNUSED
#define PLACES_8 PLACES_7, word h UNUSED
#define PLACES_10 PLACES_8, word i UNUSED, word j UNUSED
#define PLACES_11 PLACES_10, word k UNUSED
#define PLACES_12 PLACES_11, word l UNUSED
#define PLACES_16 PLACES_12, word m UNUSED, word n UNUSED, word o UNUSED, word p UNUSED
#define PLACES_17 PLACES_16, word q UNUSED

#define ELEMENTS(name, places) \
	API int cusolverDn##name##_bufferSize(PLACES_##places, word elements) { return no_elements(elements); }
#define BYTES(name, places) \
	API int cusolverDn##name##_bufferSize(PLACES_##places, word of_device, word of_host) { \
		return no_bytes(of_device, of_host); \
	}
/* By the rule, for elements of a type; of the parameters that are 32-bit numbers the upper half of their
   place says nothing. */
#define SIZED(name, places, type, rule) \
	API int cusolverDn##name##_bufferSize(PLACES_##places, word elements) { \
		const struct element *t UNUSED = &type; \
		*(int *)elements = (int)(bytes_of(rule) / t->bytes); \
		return SUCCESS; \
	}
#define SIZED_BYTES(name, places, type, rule) \
	API int cusolverDn##name##_bufferSize(PLACES_##places, word of_device, word of_host) { \
		const struct element *t UNUSED = element_of((int)type); \
		*(size_t *)of_device = bytes_of(rule); \
		*(size_t *)of_host = 0; \
		return SUCCESS; \
	}
/* The number of matrices comes after the answer. */
#define SIZED_BATCH(name, type) \
	API int cusolverDn##name##_bufferSize(PLACES_11, word elements, word l UNUSED, word batch) { \
		*(int *)elements = (int)(bytes_of(of_gesvdj_batched(&type, (int)c, (int)d, (int)batch)) / type.bytes); \
		return SUCCESS; \
	}
#define REAL_ELEMENTS(name, places) ELEMENTS(S##name, places) ELEMENTS(D##name, places)
#define COMPLEX_ELEMENTS(name, places) ELEMENTS(C##name, places) ELEMENTS(Z##name, places)
#define EACH_ELEMENTS(name, places) REAL_ELEMENTS(name, places) COMPLEX_ELEMENTS(name, places)
#define REAL_SIZED(name, places, rule) SIZED(S##name, places, FLOAT, rule) SIZED(D##name, places, DOUBLE, rule)
#define COMPLEX_SIZED(name, places, rule) \
	SIZED(C##name, places, COMPLEX_FLOAT, rule) SIZED(Z##name, places, COMPLEX_DOUBLE, rule)
#define EACH_SIZED(name, places, rule) REAL_SIZED(name, places, rule) COMPLEX_SIZED(name, places, rule)

EACH_SIZED(gesvd, 3, of_gesvd(t, (int)b, (int)c)) EACH_SIZED(sytrf, 4, of_sytrf(t, (int)b))
EACH_SIZED(geqrf, 5, of_geqrf(t, (int)b, (int)c)) EACH_SIZED(getrf, 5, of_getrf((int)b, (int)c))
EACH_SIZED(potrf, 5, of_potrf((int)c)) EACH_SIZED(gesvdj, 12, of_gesvdj(t, (int)d, (int)e))
EACH_ELEMENTS(gesvdaStridedBatched, 16)
SIZED_BATCH(SgesvdjBatched, FLOAT) SIZED_BATCH(DgesvdjBatched, DOUBLE) SIZED_BATCH(CgesvdjBatched, COMPLEX_FLOAT)
SIZED_BATCH(ZgesvdjBatched, COMPLEX_DOUBLE)
REAL_SIZED(syevd, 7, of_syevd(t, (int)d)) COMPLEX_SIZED(heevd, 7, of_syevd(t, (int)d))
REAL_SIZED(syevj, 7, of_syevj(t, (int)d)) COMPLEX_SIZED(heevj, 7, of_syevj(t, (int)d))
REAL_ELEMENTS(syevjBatched, 7) COMPLEX_ELEMENTS(heevjBatched, 7)
REAL_SIZED(orgqr, 7, of_orgqr(t, (int)b, (int)c, (int)d)) COMPLEX_SIZED(ungqr, 7, of_orgqr(t, (int)b, (int)c, (int)d))
REAL_SIZED(ormqr, 11, of_ormqr(t, (int)b, (int)d, (int)e, (int)f))
COMPLEX_SIZED(unmqr, 11, of_ormqr(t, (int)b, (int)d, (int)e, (int)f))
SIZED_BYTES(Xpotrf, 8, e, of_potrf((number)d)) SIZED_BYTES(Xgeqrf, 10, e, of_geqrf(t, (number)c, (number)d))
SIZED_BYTES(Xsyevd, 11, f, of_syevd(t, (number)e))
BYTES(XsyevBatched, 11) BYTES(Xsytrs, 11) BYTES(Xgeev, 17)
#endif
