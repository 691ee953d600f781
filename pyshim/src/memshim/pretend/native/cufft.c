/* cuFFT's plans. The library loads its kernels by a private table of the driver before it says how
   large a workspace a plan wants, so it is not asked. Lengths that are powers of two were recorded
   on one H100 (testdata/measured/h100-fft.csv), and a rule gives each of these rows. Of other
   lengths the size is not known: the rule's is taken, and that is noted. Transforms compute
   nothing. */
#include "pretend.h"

#include <string.h>

#ifndef PUBLIC_HEADERS /* few of the parameters are looked at */

enum { SUCCESS = 0, INVALID_PLAN = 1, ALLOCATION_FAILED = 2 }; /* cufftResult */
enum { REAL_32 = 0, REAL_64 = 1, COMPLEX_32 = 4, COMPLEX_64 = 5 }; /* cudaDataType */
enum { PLANS = 1 << 16, RECORDED = 12000 };
typedef long long number;

static struct plan {
	bool made;
	cudaStream_t stream;
} plans[PLANS];
static int free_from = 1; /* those before it are made; 0 is none */

static struct plan *plan_of(int p) { return (unsigned)p < PLANS && plans[p].made ? &plans[p] : NULL; }

API int cufftCreate(int *out) {
	lock_memory();
	while (free_from < PLANS && plans[free_from].made) free_from++;
	int i = free_from;
	bool room_left = i < PLANS;
	if (room_left) plans[i] = (struct plan){ .made = true };
	unlock_memory();
	*out = i;
	return room_left ? SUCCESS : ALLOCATION_FAILED;
}
API int cufftDestroy(int p) {
	lock_memory();
	struct plan *plan = plan_of(p);
	if (plan) {
		plan->made = false;
		free_from = p < free_from ? p : free_from;
	}
	unlock_memory();
	return plan ? SUCCESS : INVALID_PLAN;
}
API int cufftSetStream(int p, cudaStream_t s) {
	struct plan *plan = plan_of(p);
	if (plan) plan->stream = s;
	return plan ? SUCCESS : INVALID_PLAN;
}
API int cufftSetAutoAllocation(int p, int on UNUSED) { return plan_of(p) ? SUCCESS : INVALID_PLAN; }
API int cufftSetWorkArea(int p, void *area UNUSED) { return plan_of(p) ? SUCCESS : INVALID_PLAN; }
API int cufftXtExec(int p, void *in UNUSED, void *out UNUSED, int direction UNUSED) {
	struct plan *plan = plan_of(p);
	if (plan) capture_node(plan->stream);
	return plan ? SUCCESS : INVALID_PLAN;
}

/* ---- the workspace ---- */

/* Up to these lengths one kernel does a transform in its own memory. */
enum { COMPLEX_AT_ONCE = 16384, REAL_AT_ONCE_32 = 16384, REAL_AT_ONCE_64 = 4096 };

static number rule(int rank, number n, number batch, bool real, bool wide) {
	number item = wide ? 16 : 8;
	if (rank > 1 || n <= (!real ? COMPLEX_AT_ONCE : wide ? REAL_AT_ONCE_64 : REAL_AT_ONCE_32)) return 0;
	if (!real) return n * batch * item;
	return (n <= COMPLEX_AT_ONCE ? n / 2 : n / 2 + 1) * batch * item;
}

static bool power_of_two(number n) { return n > 0 && !(n & (n - 1)); }

/* Whether the recording has a transform of this kind: of powers of two, as long as those there. */
static bool recorded(int rank, const number *n, number stride_in, number stride_out) {
	enum { LONGEST = 1 << 22, LONGEST_OF_SEVERAL = 2048 };
	if (rank == 1) return power_of_two(*n) && *n <= LONGEST && stride_in == 1 && stride_out == 1;
	for (int i = 0; i < rank; i++)
		if (!power_of_two(n[i]) || n[i] > LONGEST_OF_SEVERAL) return false;
	return true;
}

static bool same_library(void) {
	static int (*version)(int *);
	const struct gpu *g = current_gpu();
	int v = 0;
	if (!version) ASSIGN_FUNCTION(version, real_function("libcufft.so.12", "cufftGetVersion"));
	return version && version(&v) == SUCCESS && v == RECORDED && g && g->major == 9;
}

API int cufftXtMakePlanMany(int p, int rank, const number *n, const number *embed_in UNUSED, number stride_in,
	number distance_in UNUSED, int type_in, const number *embed_out UNUSED, number stride_out,
	number distance_out UNUSED, int type_out, number batch, size_t *bytes, int execution UNUSED) {
	if (!plan_of(p)) return INVALID_PLAN;
	bool real = type_in == REAL_32 || type_in == REAL_64 || type_out == REAL_32 || type_out == REAL_64;
	bool wide = type_in == REAL_64 || type_in == COMPLEX_64, half = !real && type_in != COMPLEX_32 && !wide;
	*bytes = (size_t)rule(rank, n[0], batch, real, wide);
	if (half || !recorded(rank, n, stride_in, stride_out)) {
		note_unsized("cuFFT's workspace of lengths that are no powers of two or not recorded: by a rule for others");
	} else if (!same_library()) {
		note_estimated("workspace-estimate: cuFFT's workspace, by a rule of cuFFT 12.0 on an H100");
	}
	return SUCCESS;
}
#endif
