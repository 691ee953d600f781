/* cuSOLVER's dense functions. Each succeeds and computes nothing. How large a workspace one wants
   only the library on a real device knows: it is taken as 0, and that is noted, so that no figure
   passes for a measured one. */
#include "pretend.h"

#include <stdint.h>
#include <stdlib.h>

/* few of the parameters are looked at, and none by its type: each takes one place, as integers and
   pointers do */
#ifndef PUBLIC_HEADERS

enum { SUCCESS = 0, ALLOCATION_FAILED = 2 }; /* cusolverStatus_t */
typedef uintptr_t word;

static int made(void **handle) {
	*handle = malloc(1);
	return *handle ? SUCCESS : ALLOCATION_FAILED;
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
#define REAL_ELEMENTS(name, places) ELEMENTS(S##name, places) ELEMENTS(D##name, places)
#define COMPLEX_ELEMENTS(name, places) ELEMENTS(C##name, places) ELEMENTS(Z##name, places)
#define EACH_ELEMENTS(name, places) REAL_ELEMENTS(name, places) COMPLEX_ELEMENTS(name, places)

EACH_ELEMENTS(gesvd, 3) EACH_ELEMENTS(sytrf, 4) EACH_ELEMENTS(geqrf, 5) EACH_ELEMENTS(getrf, 5) EACH_ELEMENTS(potrf, 5)
EACH_ELEMENTS(gesvdjBatched, 11) EACH_ELEMENTS(gesvdj, 12) EACH_ELEMENTS(gesvdaStridedBatched, 16)
REAL_ELEMENTS(syevd, 7) REAL_ELEMENTS(syevj, 7) REAL_ELEMENTS(syevjBatched, 7) REAL_ELEMENTS(orgqr, 7)
REAL_ELEMENTS(ormqr, 11)
COMPLEX_ELEMENTS(heevd, 7) COMPLEX_ELEMENTS(heevj, 7) COMPLEX_ELEMENTS(heevjBatched, 7) COMPLEX_ELEMENTS(ungqr, 7)
COMPLEX_ELEMENTS(unmqr, 11)
BYTES(Xpotrf, 8) BYTES(Xgeqrf, 10) BYTES(Xsyevd, 11) BYTES(XsyevBatched, 11) BYTES(Xsytrs, 11) BYTES(Xgeev, 17)
#endif
