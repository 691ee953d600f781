/* Workspaces by rules: what they give around the sizes where the rules change, and of which sizes
   they are known. */
#include "../../../src/memshim/pretend/native/cusolver_rule.h"
#include "unit.h"

int cufftCreate(int *), cufftDestroy(int), cufftXtMakePlanMany(int, int, const number *, const number *, number, number,
	int, const number *, number, number, int, number, size_t *, int);
int cufftSetStream(int, cudaStream_t), cufftSetAutoAllocation(int, int), cufftSetWorkArea(int, void *),
	cufftXtExec(int, void *, void *, int);
typedef uintptr_t word;
#define PLACES_5 word, word, word, word, word
#define PLACES_11 PLACES_5, PLACES_5, word
#define PLACES_7 PLACES_5, word, word
int cusolverDnSgesvd_bufferSize(word, word, word, int *), cusolverDnSsytrf_bufferSize(word, word, word, word, int *),
	cusolverDnSgeqrf_bufferSize(PLACES_5, int *), cusolverDnSgetrf_bufferSize(PLACES_5, int *),
	cusolverDnSpotrf_bufferSize(PLACES_5, int *), cusolverDnSgesvdj_bufferSize(PLACES_11, word, int *),
	cusolverDnSgesvdjBatched_bufferSize(PLACES_11, int *, word, word);
int cusolverDnSsyevd_bufferSize(PLACES_7, int *), cusolverDnCheevd_bufferSize(PLACES_7, int *),
	cusolverDnSsyevj_bufferSize(PLACES_7, int *), cusolverDnCheevj_bufferSize(PLACES_7, int *),
	cusolverDnSorgqr_bufferSize(PLACES_7, int *), cusolverDnCungqr_bufferSize(PLACES_7, int *),
	cusolverDnSormqr_bufferSize(PLACES_11, int *), cusolverDnCunmqr_bufferSize(PLACES_11, int *);
int cusolverDnSgesvdaStridedBatched_bufferSize(PLACES_11, PLACES_5, int *),
	cusolverDnSsyevjBatched_bufferSize(PLACES_7, int *), cusolverDnZheevjBatched_bufferSize(PLACES_7, int *);
int cusolverDnXpotrf_bufferSize(PLACES_7, word, size_t *, size_t *),
	cusolverDnXgeqrf_bufferSize(PLACES_5, PLACES_5, size_t *, size_t *),
	cusolverDnXsyevd_bufferSize(PLACES_11, size_t *, size_t *);
int cusolverDnCreate(void **), cusolverDnDestroy(void *);
int cusolverDnXsyevBatched_bufferSize(PLACES_11, size_t *, size_t *),
	cusolverDnXsytrs_bufferSize(PLACES_11, size_t *, size_t *),
	cusolverDnXgeev_bufferSize(PLACES_11, PLACES_5, word, size_t *, size_t *);

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

/* ---- the libraries' versions: rules are of one release on one card ---- */

static struct {
	int version, error;
} library;
static int library_version(int *v) {
	*v = library.version;
	return library.error;
}
static void *library_function(const char *soname, const char *name) {
	void *f = NULL;
	if ((!strcmp(soname, "libcufft.so.12") && !strcmp(name, "cufftGetVersion")) ||
		(!strcmp(soname, "libcusolver.so.12") && !strcmp(name, "cusolverGetVersion"))) ASSIGN_FUNCTION(f, library_version);
	return f;
}
static void transform_as_recorded(void) {
	number n = 1 << 15;
	size_t bytes;
	int plan;
	SUCCEEDS(cufftCreate(&plan));
	SUCCEEDS(cufftXtMakePlanMany(plan, 1, &n, NULL, 1, 0, COMPLEX_32, NULL, 1, 0, COMPLEX_32, 1, &bytes, COMPLEX_32));
	SUCCEEDS(cufftDestroy(plan));
}
static void factor_as_recorded(void) {
	int elements;
	SUCCEEDS(cusolverDnSgetrf_bufferSize(0, 64, 64, 0, 0, &elements));
}
static void factor_of_another_size(void) {
	int elements;
	SUCCEEDS(cusolverDnSsytrf_bufferSize(0, 65, 0, 0, &elements));
}
/* The kind of the note that a call makes by a release on a card: 0 for none. */
static int note_of(void (*call)(void), int device, int version, int error) {
	SUCCEEDS(cudaSetDevice(device));
	library.version = version, library.error = error;
	unsigned long long unsized = notes_of(UNSIZED), estimated = notes_of(ESTIMATED);
	call();
	return notes_of(UNSIZED) > unsized ? UNSIZED : notes_of(ESTIMATED) > estimated ? ESTIMATED : 0;
}
static void versions(void) {
	enum { T4, H100, CUFFT = 12000, CUSOLVER = 12004 };
	fake_function = library_function;
	CHECK(note_of(transform_as_recorded, H100, CUFFT, 0) == 0);
	CHECK(note_of(transform_as_recorded, H100, CUFFT + 1, 0) == ESTIMATED);
	CHECK(note_of(transform_as_recorded, H100, CUFFT, 1) == ESTIMATED);
	CHECK(note_of(transform_as_recorded, T4, CUFFT, 0) == ESTIMATED);
	CHECK(note_of(factor_as_recorded, H100, CUSOLVER, 0) == 0);
	CHECK(note_of(factor_as_recorded, H100, CUSOLVER + 1, 0) == UNSIZED);
	CHECK(note_of(factor_as_recorded, H100, CUSOLVER, 1) == UNSIZED);
	CHECK(note_of(factor_as_recorded, T4, CUSOLVER, 0) == UNSIZED);
	CHECK(note_of(factor_of_another_size, H100, CUSOLVER, 0) == ESTIMATED);
	fake_function = NULL;
}

/* A plan runs in its stream; what is no plan has none. */
static void plans(void) {
	int first, second, again;
	cudaStream_t s;
	cudaGraph_t g;
	size_t nodes = 0;
	SUCCEEDS(cufftCreate(&first));
	SUCCEEDS(cufftCreate(&second));
	CHECK(first > 0 && second > 0 && first != second);
	SUCCEEDS(cufftDestroy(first));
	CHECK(cufftDestroy(first) == 1 && cufftSetStream(first, NULL) == 1 && cufftSetAutoAllocation(first, 0) == 1);
	CHECK(cufftSetWorkArea(first, NULL) == 1 && cufftXtExec(first, NULL, NULL, 1) == 1);
	SUCCEEDS(cufftCreate(&again));
	CHECK(again == first);
	SUCCEEDS(cudaStreamCreate(&s));
	SUCCEEDS(cufftSetStream(again, s));
	SUCCEEDS(cufftSetAutoAllocation(again, 0));
	SUCCEEDS(cufftSetWorkArea(again, NULL));
	SUCCEEDS(cudaStreamBeginCapture(s, 0));
	SUCCEEDS(cufftXtExec(again, NULL, NULL, 1));
	SUCCEEDS(cufftXtExec(second, NULL, NULL, 1)); /* in the default stream */
	SUCCEEDS(cudaStreamEndCapture(s, &g));
	SUCCEEDS(cudaGraphGetNodes(g, NULL, &nodes));
	CHECK(nodes == 1);
	SUCCEEDS(cudaGraphDestroy(g));
	SUCCEEDS(cudaStreamDestroy(s));
	SUCCEEDS(cufftDestroy(again));
	SUCCEEDS(cufftDestroy(second));
}

/* There are as many as PyTorch keeps of 16 cards, 4096 of each, but for the number 0. */
static void all_plans(void) {
	enum { ALL = 1 << 16, ALLOCATION_FAILED = 2 };
	int plan;
	for (int i = 1; i < ALL; i++) {
		SUCCEEDS(cufftCreate(&plan));
		CHECK(plan == i);
	}
	CHECK(cufftCreate(&plan) == ALLOCATION_FAILED && cufftDestroy(ALL) == 1 && cufftDestroy(0) == 1 &&
		cufftDestroy(-1) == 1);
	SUCCEEDS(cufftDestroy(7));
	SUCCEEDS(cufftDestroy(9));
	SUCCEEDS(cufftCreate(&plan));
	CHECK(plan == 7);
	for (int i = 1; i < ALL; i++) CHECK(cufftDestroy(i) == (i == 9));
}

void transforms(void) {
	plans();
	all_plans();
	versions();
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
	bool known;
	CHECK(!transform(2, 1 << 15, 2, 1, COMPLEX_32, COMPLEX_32, 1, &known) && !known); /* of one dimension alone */
	int plan;
	number one = 1;
	size_t bytes;
	SUCCEEDS(cufftCreate(&plan));
	SUCCEEDS(cufftDestroy(plan));
	CHECK(cufftXtMakePlanMany(plan, 1, &one, NULL, 1, 0, 4, NULL, 1, 0, 4, 1, &bytes, 4) == 1);
	CHECK(cufftXtMakePlanMany(0, 1, &one, NULL, 1, 0, 4, NULL, 1, 0, 4, 1, &bytes, 4) == 1);
	CHECK(cufftXtMakePlanMany(1 << 16, 1, &one, NULL, 1, 0, 4, NULL, 1, 0, 4, 1, &bytes, 4) == 1);
}

/* What no formula gives is taken as 0, and noted. */
static void no_formula(void) {
	int elements[3] = { 7, 7, 7 };
	size_t device[3] = { 7, 7, 7 }, host[3] = { 7, 7, 7 };
	unsigned long long before = notes_of(UNSIZED);
#define FIVE 0, 0, 0, 0, 0
	SUCCEEDS(cusolverDnSgesvdaStridedBatched_bufferSize(FIVE, FIVE, FIVE, 0, &elements[0]));
	SUCCEEDS(cusolverDnZheevjBatched_bufferSize(FIVE, 0, 0, &elements[1]));
	SUCCEEDS(cusolverDnSsyevjBatched_bufferSize(FIVE, 0, 0, &elements[2]));
	SUCCEEDS(cusolverDnXsyevBatched_bufferSize(FIVE, FIVE, 0, &device[0], &host[0]));
	SUCCEEDS(cusolverDnXsytrs_bufferSize(FIVE, FIVE, 0, &device[1], &host[1]));
	SUCCEEDS(cusolverDnXgeev_bufferSize(FIVE, FIVE, FIVE, 0, 0, &device[2], &host[2]));
	for (int i = 0; i < 3; i++) CHECK(elements[i] == 0 && device[i] == 0 && host[i] == 0);
	CHECK(notes_of(UNSIZED) == before + 6);
}

/* Each function reads its sizes from the places that they have in its prototype. */
static void places_of_sizes(void) {
	enum { REAL = 4, COMPLEX = 8, M = 50, N = 40, K = 30 };
	int n;
	size_t device, host;
#define SIZED(call, width, formula) \
	SUCCEEDS(call); \
	CHECK(n > 0 && (size_t)n == (formula).bytes / (width))
#define SIZED_BYTES(call, formula) \
	device = host = 7; \
	SUCCEEDS(call); \
	CHECK(device == (formula).bytes && !host)
	SIZED(cusolverDnSgesvd_bufferSize(0, M, N, &n), REAL, of_gesvd(&FLOAT, M, N));
	SIZED(cusolverDnSsytrf_bufferSize(0, N, 0, 0, &n), REAL, of_sytrf(&FLOAT, N));
	SIZED(cusolverDnSgeqrf_bufferSize(0, M, N, 0, 0, &n), REAL, of_geqrf(&FLOAT, M, N));
	SIZED(cusolverDnSgetrf_bufferSize(0, M, N, 0, 0, &n), REAL, of_getrf(M, N));
	SIZED(cusolverDnSpotrf_bufferSize(0, 0, N, 0, 0, &n), REAL, of_potrf(N));
	SIZED(cusolverDnSgesvdj_bufferSize(0, 0, 0, M, N, FIVE, 0, 0, &n), REAL, of_gesvdj(&FLOAT, M, N));
	SIZED(cusolverDnSgesvdjBatched_bufferSize(0, 0, K, 20, FIVE, 0, 0, &n, 0, 3), REAL,
		of_gesvdj_batched(&FLOAT, K, 20, 3));
	SIZED(cusolverDnSsyevd_bufferSize(0, 0, 0, N, 0, 0, 0, &n), REAL, of_syevd(&FLOAT, N));
	SIZED(cusolverDnCheevd_bufferSize(0, 0, 0, N, 0, 0, 0, &n), COMPLEX, of_syevd(&COMPLEX_FLOAT, N));
	SIZED(cusolverDnSsyevj_bufferSize(0, 0, 0, N, 0, 0, 0, &n), REAL, of_syevj(&FLOAT, N));
	SIZED(cusolverDnCheevj_bufferSize(0, 0, 0, N, 0, 0, 0, &n), COMPLEX, of_syevj(&COMPLEX_FLOAT, N));
	SIZED(cusolverDnSorgqr_bufferSize(0, M, N, K, 0, 0, 0, &n), REAL, of_orgqr(&FLOAT, M, N, K));
	SIZED(cusolverDnCungqr_bufferSize(0, M, N, K, 0, 0, 0, &n), COMPLEX, of_orgqr(&COMPLEX_FLOAT, M, N, K));
	SIZED(cusolverDnSormqr_bufferSize(0, 1, 0, M, N, K, FIVE, &n), REAL, of_ormqr(&FLOAT, 1, M, N, K));
	SIZED(cusolverDnCunmqr_bufferSize(0, 1, 0, M, N, K, FIVE, &n), COMPLEX, of_ormqr(&COMPLEX_FLOAT, 1, M, N, K));
	SIZED_BYTES(cusolverDnXpotrf_bufferSize(0, 0, 0, N, COMPLEX_32, 0, 0, 0, &device, &host), of_potrf(N));
	SIZED_BYTES(cusolverDnXgeqrf_bufferSize(0, 0, M, N, REAL_64, FIVE, &device, &host), of_geqrf(&DOUBLE, M, N));
	SIZED_BYTES(cusolverDnXsyevd_bufferSize(0, 0, 0, 0, N, REAL_64, FIVE, &device, &host), of_syevd(&DOUBLE, N));
	void *handle = NULL;
	SUCCEEDS(cusolverDnCreate(&handle));
	CHECK(handle);
	SUCCEEDS(cusolverDnDestroy(handle));
}

void solvers(void) {
	no_formula();
	places_of_sizes();
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
	CHECK(of_getrf(1024, 1024).known == AS_RECORDED && of_getrf(64, 64).known == AS_RECORDED);
	CHECK(of_getrf(128, 64).known == BEYOND);
	CHECK(of_geqrf(&FLOAT, 64, 4).known == AS_RECORDED && of_geqrf(&FLOAT, 64, 5).known == BEYOND);
	CHECK(of_geqrf(&FLOAT, 2, 4).known == BEYOND);
	CHECK(of_gesvdj(&FLOAT, 33, 33).known == AS_RECORDED && of_gesvdj(&FLOAT, 34, 34).known == BETWEEN);
	CHECK(of_gesvdj(&FLOAT, 32, 32).known == BEYOND && of_gesvdj(&FLOAT, 33, 32).known == BEYOND);
	CHECK(of_gesvdj(&FLOAT, 20, 16).known == BEYOND && of_gesvdj(&FLOAT, 16, 20).known == BEYOND);
	CHECK(of_gesvdj(&FLOAT, 64, 4).known == AS_RECORDED && of_gesvdj(&FLOAT, 4, 64).known == AS_RECORDED);
	CHECK(of_gesvdj(&FLOAT, 65, 4).known == BETWEEN && of_gesvdj(&FLOAT, 64, 5).known == BEYOND);
	CHECK(of_gesvdj(&FLOAT, 65, 64).bytes > of_gesvdj(&FLOAT, 64, 64).bytes);
}

/* ---- what an H100 asked for (testdata/measured/h100-solver.csv) ---- */

/* Whether one of the allocations of a row is of so many bytes, or of up to `less` fewer. */
static bool asked(const char *events, struct workspace w, size_t less) {
	for (const char *at = strchr(events, '+'); at; at = strchr(at + 1, '+')) {
		size_t bytes = strtoull(at + 1, NULL, 10);
		if (bytes <= w.bytes && w.bytes - bytes <= less) return true;
	}
	return false;
}
/* By formulas what PyTorch's call of that name asked for, of n by n and of four columns or two right-hand sides. */
static bool as_asked(const char *call, const struct element *t, number n, const char *events) {
#define ASKED(workspace) asked(events, workspace, 0)
	bool between = n > 64 && n < 128; /* reflectors that no formula gives */
	if (!strcmp(call, "cholesky")) return ASKED(of_potrf(n));
	if (!strcmp(call, "lu_factor")) return ASKED(of_getrf(n, n));
	if (!strcmp(call, "ldl")) return ASKED(of_sytrf(t, n));
	if (!strcmp(call, "gesvd")) return ASKED(of_gesvd(t, n, n));
	if (!strncmp(call, "svd", 3)) return ASKED(n > 32 ? of_gesvdj(t, n, n) : of_gesvdj_batched(t, n, n, 1));
	if (!strcmp(call, "qr")) return ASKED(of_geqrf(t, n, n)) && (between || ASKED(of_orgqr(t, n, n, n)));
	if (!strcmp(call, "householder")) return between || ASKED(of_orgqr(t, n, n, n));
	if (!strcmp(call, "ormqr")) return ASKED(of_ormqr(t, 0, n, n, n));
	if (!strcmp(call, "lstsq")) return ASKED(of_geqrf(t, n, n)) && ASKED(of_ormqr(t, 0, n, 2, n));
	if (!strcmp(call, "lowrank"))
		return n <= 4 || (ASKED(of_geqrf(t, n, 4)) && ASKED(of_orgqr(t, n, 4, 4)) && (n <= 32 || ASKED(of_gesvdj(t, n, 4))));
	CHECK(!strncmp(call, "eig", 3));
	if (t == &FLOAT && n >= 32 && n <= 512) return ASKED(of_syevj(t, n));
	return n > 600 || asked(events, of_syevd(t, n), 48 * t->bytes);
}

static void shapes(void) {
	CHECK(element_of(0) == &FLOAT && element_of(1) == &DOUBLE && element_of(4) == &COMPLEX_FLOAT);
	CHECK(element_of(5) == &COMPLEX_DOUBLE);
	static const struct {
		number m, n, k;
		int known;
	} reflectors[] = { { 64, 64, 64, AS_RECORDED }, { 64, 63, 64, BEYOND }, { 128, 128, 128, AS_RECORDED },
		{ 100, 100, 100, BEYOND }, { 65, 65, 65, BEYOND }, { 127, 127, 127, BEYOND }, { 129, 129, 129, BETWEEN },
		{ 64, 4, 4, AS_RECORDED }, { 4, 4, 4, AS_RECORDED }, { 64, 5, 5, BEYOND }, { 2, 4, 4, BEYOND },
		{ 33, 33, 33, AS_RECORDED }, { 34, 34, 34, BETWEEN } };
	for (size_t i = 0; i < sizeof reflectors / sizeof *reflectors; i++)
		CHECK((int)of_orgqr(&FLOAT, reflectors[i].m, reflectors[i].n, reflectors[i].k).known == reflectors[i].known);
	CHECK(of_orgqr(&FLOAT, 127, 127, 127).bytes == of_orgqr(&FLOAT, 128, 128, 128).bytes);
	CHECK(of_ormqr(&FLOAT, 0, 64, 64, 64).known == AS_RECORDED && of_ormqr(&FLOAT, 0, 64, 2, 64).known == AS_RECORDED);
	CHECK(of_ormqr(&FLOAT, 0, 64, 3, 64).known == BEYOND && of_ormqr(&FLOAT, 1, 64, 64, 64).known == BEYOND);
	CHECK(of_ormqr(&FLOAT, 0, 64, 64, 63).known == BEYOND && of_ormqr(&FLOAT, 0, 65, 65, 65).known == BETWEEN);
	CHECK(of_gesvd(&FLOAT, 64, 64).known == AS_RECORDED && of_gesvd(&FLOAT, 65, 64).known == BEYOND);
	CHECK(of_gesvd(&FLOAT, 65, 65).known == BETWEEN);
	CHECK(of_gesvdj_batched(&FLOAT, 16, 16, 1).known == AS_RECORDED);
	CHECK(of_gesvdj_batched(&FLOAT, 15, 15, 1).known == BETWEEN);
	CHECK(of_gesvdj_batched(&FLOAT, 16, 16, 2).known == BEYOND && of_gesvdj_batched(&FLOAT, 16, 15, 1).known == BEYOND);
	CHECK(of_syevj(&FLOAT, 31).known == BEYOND && of_syevj(&FLOAT, 32).known == AS_RECORDED);
	CHECK(of_syevj(&FLOAT, 34).known == BETWEEN && of_syevj(&FLOAT, 512).known == AS_RECORDED);
	CHECK(of_syevj(&FLOAT, 513).known == BEYOND && of_syevj(&DOUBLE, 64).known == BEYOND);
	CHECK(of_syevd(&FLOAT, 600).known == BETWEEN && of_syevd(&FLOAT, 601).known == BEYOND);
}

/* MEASURED: the folder of the recordings. */
void recorded_solvers(void) {
	char line[4096], call[16], type[16];
	snprintf(line, sizeof line, "%s/h100-solver.csv", getenv("MEASURED"));
	FILE *csv = fopen(line, "r");
	int rows = 0;
	CHECK(csv && fgets(line, sizeof line, csv));
	for (; fgets(line, sizeof line, csv); rows++) {
		number n;
		int head;
		CHECK(sscanf(line, "%15[^,],%15[^,],%lld,%n", call, type, &n, &head) == 3);
		const struct element *t = !strcmp(type, "float32") ? &FLOAT : !strcmp(type, "float64") ? &DOUBLE
			: !strcmp(type, "complex64") ? &COMPLEX_FLOAT : &COMPLEX_DOUBLE;
		bool same = as_asked(call, t, n, line + head);
		if (!same) fprintf(stderr, "got another size of %s of %lld, %s\n", call, n, type);
		CHECK(same);
	}
	CHECK(rows == 687);
	fclose(csv);
	shapes();
}
