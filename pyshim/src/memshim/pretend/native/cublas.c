/* cuBLAS and cuBLASLt. PyTorch allocates their workspaces itself, by its own sizes, so that their
   functions only have to succeed. */
#include "pretend.h"

#include <stdlib.h>
#include <string.h>

struct cublasContext {
	cudaStream_t stream;
	int math, pointers;
};

#ifndef PUBLIC_HEADERS
typedef int cublasMath_t, cublasPointerMode_t;
typedef struct cublasContext *cublasHandle_t;
#endif

API cublasStatus_t cublasCreate_v2(cublasHandle_t *h) {
	*h = zeroed(sizeof **h);
	return *h ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
API cublasStatus_t cublasDestroy_v2(cublasHandle_t h) {
	free(h);
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s) {
	h->stream = s;
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasGetStream_v2(cublasHandle_t h, cudaStream_t *s) {
	*s = h->stream;
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode) {
	h->math = (int)mode;
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasGetMathMode(cublasHandle_t h, cublasMath_t *mode) {
	*mode = (cublasMath_t)h->math;
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t h, cublasPointerMode_t mode) {
	h->pointers = (int)mode;
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t h, cublasPointerMode_t *mode) {
	*mode = (cublasPointerMode_t)h->pointers;
	return CUBLAS_STATUS_SUCCESS;
}

#ifndef PUBLIC_HEADERS /* what follows looks at few of its parameters, or at none: their types are not written down */

/* ---- cuBLASLt: descriptors that nobody reads; one algorithm that wants no workspace ---- */

static cublasStatus_t token(void **out) {
	return handle_make(out) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
#define DESCRIPTOR(name) \
	API cublasStatus_t cublasLt##name##Create(void **out) { return token(out); } \
	API cublasStatus_t cublasLt##name##Destroy(void *d) { return free(d), CUBLAS_STATUS_SUCCESS; } \
	API cublasStatus_t cublasLt##name##SetAttribute(void) { return CUBLAS_STATUS_SUCCESS; }
DESCRIPTOR(MatmulDesc)
DESCRIPTOR(MatrixLayout)
DESCRIPTOR(MatmulPreference)
API cublasStatus_t cublasLtCreate(void **out) { return token(out); }
API cublasStatus_t cublasLtDestroy(void *h) { return free(h), CUBLAS_STATUS_SUCCESS; }

static void one_algorithm(cublasLtMatmulHeuristicResult_t *out) {
	memset(out, 0, sizeof *out);
	out->wavesCount = 1;
}
API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(void *h UNUSED, void *desc UNUSED, void *a UNUSED, void *b UNUSED,
	void *c UNUSED, void *d UNUSED, void *preference UNUSED,
	int most, cublasLtMatmulHeuristicResult_t *out, int *n) {
	*n = most > 0;
	if (*n) one_algorithm(out);
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasLtMatmulAlgoCheck(void *h UNUSED, void *desc UNUSED, void *a UNUSED, void *b UNUSED,
	void *c UNUSED, void *d UNUSED, const void *algorithm UNUSED,
	cublasLtMatmulHeuristicResult_t *out) {
	one_algorithm(out);
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const void *algorithm UNUSED, int attribute UNUSED, void *out,
	size_t size, size_t *wrote) {
	memset(out, 0, size);
	if (wrote) *wrote = size;
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- functions that write matrices: they succeed ---- */

#define SUCCEEDS(name) API cublasStatus_t name(void) { return CUBLAS_STATUS_SUCCESS; }
#define REAL(f) SUCCEEDS(cublasS##f) SUCCEEDS(cublasD##f)
#define COMPLEX(f) SUCCEEDS(cublasC##f) SUCCEEDS(cublasZ##f)
#define ALL(f) REAL(f) COMPLEX(f)

SUCCEEDS(cublasLtMatmul) SUCCEEDS(cublasLtMatmulAlgoInit) SUCCEEDS(cublasLtMatmulAlgoConfigSetAttribute)
SUCCEEDS(cublasSetWorkspace_v2) SUCCEEDS(cublasSetSmCountTarget) SUCCEEDS(cublasSetAtomicsMode)
SUCCEEDS(cublasSetEmulationStrategy)
SUCCEEDS(cublasSetMatrixAsync) SUCCEEDS(cublasGetMatrixAsync) SUCCEEDS(cublasSetVectorAsync)
SUCCEEDS(cublasGetVectorAsync)
ALL(axpy_v2) ALL(copy_v2) ALL(scal_v2) ALL(swap_v2) ALL(rot_v2) ALL(rotg_v2) REAL(rotm_v2) REAL(rotmg_v2) REAL(dot_v2)
REAL(nrm2_v2) REAL(asum_v2)
COMPLEX(dotc_v2) COMPLEX(dotu_v2) SUCCEEDS(cublasCsrot_v2) SUCCEEDS(cublasZdrot_v2) SUCCEEDS(cublasCsscal_v2)
SUCCEEDS(cublasZdscal_v2)
SUCCEEDS(cublasScnrm2_v2) SUCCEEDS(cublasDznrm2_v2) SUCCEEDS(cublasScasum_v2) SUCCEEDS(cublasDzasum_v2)
SUCCEEDS(cublasDotEx)
SUCCEEDS(cublasIsamax_v2) SUCCEEDS(cublasIdamax_v2) SUCCEEDS(cublasIcamax_v2) SUCCEEDS(cublasIzamax_v2)
SUCCEEDS(cublasIsamin_v2) SUCCEEDS(cublasIdamin_v2) SUCCEEDS(cublasIcamin_v2) SUCCEEDS(cublasIzamin_v2)
ALL(gemv_v2) REAL(ger_v2) COMPLEX(gerc_v2) COMPLEX(geru_v2) ALL(symv_v2) ALL(syr_v2) ALL(syr2_v2) COMPLEX(hemv_v2)
COMPLEX(her_v2) COMPLEX(her2_v2)
ALL(trmv_v2) ALL(trsv_v2) ALL(gemm_v2) ALL(gemmBatched) ALL(gemmStridedBatched) ALL(symm_v2) ALL(syrk_v2) ALL(syr2k_v2)
COMPLEX(hemm_v2)
COMPLEX(herk_v2) COMPLEX(her2k_v2) ALL(trmm_v2) ALL(trsm_v2) ALL(trsmBatched)
SUCCEEDS(cublasGemmEx) SUCCEEDS(cublasSgemmEx) SUCCEEDS(cublasCgemmEx) SUCCEEDS(cublasGemmStridedBatchedEx)
SUCCEEDS(cublasGemmBatchedEx)
ALL(getrfBatched) ALL(getrsBatched)

/* These report on the host whether their parameters were right; they were. */
#define NUMBER(x) uintptr_t x UNUSED
#define GEQRF(name) \
	API cublasStatus_t name(NUMBER(h), NUMBER(m), NUMBER(n), NUMBER(a), NUMBER(lda), NUMBER(tau), int *info) { \
		return *info = 0, CUBLAS_STATUS_SUCCESS; \
	}
#define GELS(name) \
	API cublasStatus_t name(NUMBER(h), NUMBER(t), NUMBER(m), NUMBER(n), NUMBER(k), NUMBER(a), NUMBER(lda), NUMBER(c), \
		NUMBER(ldc), int *info) { \
		return *info = 0, CUBLAS_STATUS_SUCCESS; \
	}
GEQRF(cublasSgeqrfBatched) GEQRF(cublasDgeqrfBatched) GEQRF(cublasCgeqrfBatched) GEQRF(cublasZgeqrfBatched)
GELS(cublasSgelsBatched) GELS(cublasDgelsBatched) GELS(cublasCgelsBatched) GELS(cublasZgelsBatched)
#endif
