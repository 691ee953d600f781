/* cuDNN's recurrent layers (cudnn_recurrent.c), with functions in the place of the library's that read
   its descriptors: what an H100 asked for (testdata/measured/h100-recurrent.csv), and where weights lie. */
#include "unit.h"

typedef void *descriptor;
cudnnStatus_t cudnnGetRNNWeightSpaceSize(void *, descriptor, size_t *), cudnnGetRNNWeightParams(void *, descriptor,
	int32_t, size_t, const void *, int32_t, descriptor, void **, descriptor, void **);
cudnnStatus_t cudnnDropoutGetStatesSize(void *, size_t *), cudnnSetDropoutDescriptor(descriptor, void *, float, void *,
	size_t, unsigned long long), cudnnRestoreDropoutDescriptor(descriptor, void *, float, void *, size_t,
	unsigned long long);
cudnnStatus_t cudnnGetRNNTempSpaceSizes(void *, descriptor, int, descriptor, size_t *, size_t *);

enum { STANDARD = 0, PERSIST_STATIC = 1, PERSIST_DYNAMIC = 2 };            /* cudnnRNNAlgo_t */
enum { TANH = 1, LSTM = 2, GRU = 3 };                                      /* cudnnRNNMode_t */
enum { NO_BIAS = 0, INPUT_BIAS = 1, BOTH_BIASES = 2, RECURRENT_BIAS = 3 }; /* cudnnRNNBiasMode_t */
enum { SINGLE = 0, DOUBLE = 1, HALF = 2, BFLOAT16 = 9 };                   /* cudnnDataType_t */
enum { BAD_PARAMETER = 2000 }; /* cudnnStatus_t, of a descriptor that is none */

struct layers {
	int algorithm, mode, biases, both, dtype, input, hidden, projected, count, fails;
	descriptor dropout;
};
static cudnnStatus_t get_layers(descriptor d, int *algorithm, int *mode, int *biases, int *both, int *input_mode,
	int *dtype, int *precision, int *math, int32_t *input, int32_t *hidden, int32_t *projected, int32_t *count,
	descriptor *dropout, uint32_t *flags) {
	const struct layers *l = d;
	*algorithm = l->algorithm, *mode = l->mode, *biases = l->biases, *both = l->both, *dtype = l->dtype;
	*input = l->input, *hidden = l->hidden, *projected = l->projected, *count = l->count, *dropout = l->dropout;
	*input_mode = *precision = *math = 0, *flags = 0;
	return l->fails;
}
struct data {
	int steps, batch, fails;
	const int *lengths; /* null: all of them as long as there are steps */
};
static cudnnStatus_t get_data(descriptor d, int *dtype, int *layout, int *steps, int *batch, int *width, int n,
	int *lengths, void *padding) {
	const struct data *x = d;
	*dtype = *layout = *width = 0, *steps = x->steps, *batch = x->batch, *(double *)padding = 0;
	CHECK(n == 0 || n == x->batch);
	for (int i = 0; i < n; i++) lengths[i] = x->lengths ? x->lengths[i] : x->steps;
	return x->fails;
}
struct described {
	int dtype, dims, sizes[3], strides[3];
};
static cudnnStatus_t set_tensor(descriptor d, int dtype, int dims, const int *sizes, const int *strides) {
	struct described *t = d;
	if (t->dims == -1) return BAD_PARAMETER;
	t->dtype = dtype, t->dims = dims;
	memcpy(t->sizes, sizes, sizeof t->sizes);
	memcpy(t->strides, strides, sizeof t->strides);
	return 0;
}
static size_t version = 91900;
static size_t get_version(void) { return version; }

static bool loaded = true;
static void *cudnn_function(const char *library, const char *name) {
	const struct { const char *name; void *f; } all[] = { { "cudnnGetRNNDescriptor_v8", get_layers },
		{ "cudnnGetRNNDataDescriptor", get_data }, { "cudnnSetTensorNdDescriptor", set_tensor },
		{ "cudnnGetVersion", get_version } };
	for (size_t i = 0; loaded && i < 4; i++)
		if (!strcmp(library, "libcudnn.so.9") && !strcmp(name, all[i].name)) return all[i].f;
	return NULL;
}

static size_t weights_of(struct layers *l) {
	size_t bytes = 0;
	SUCCEEDS(cudnnGetRNNWeightSpaceSize(NULL, l, &bytes));
	return bytes;
}

/* ---- what an H100 asked for ---- */

static int number_of(const char *name, const char *const *names, const int *numbers) {
	for (int i = 0; names[i]; i++)
		if (!strcmp(names[i], name)) return numbers[i];
	CHECK(!"a known name");
	return 0;
}

/* Each row is that of one of the two kinds of algorithm, for training and backward apart. */
static void as_recorded(FILE *csv) {
	static const char *const kinds[] = { "RNN", "LSTM", "GRU", NULL },
		*const types[] = { "float32", "float64", "float16", "bfloat16", NULL };
	int rows = 0, of[2] = { 0, 0 };
	char line[256], kind[8], type[16];
	CHECK(fgets(line, sizeof line, csv));
	while (fgets(line, sizeof line, csv)) {
		struct layers l = { .biases = BOTH_BIASES, .dropout = &rows };
		struct data x = { 0 };
		int directions;
		float p;
		size_t inference, training, reserve, weights, backward, found[2], kept = 7;
		CHECK(sscanf(line, "%7[^,],%d,%d,%d,%d,%d,%d,%15[^,],%f,%d,%zu,%zu,%zu,%zu,%zu", kind, &x.batch, &x.steps, &l.input,
			&l.hidden, &l.count, &directions, type, &p, &l.projected, &inference, &training, &reserve, &weights,
			&backward) == 15);
		if (l.projected && x.batch == 64) continue; /* of which no formula is known */
		l.mode = number_of(kind, kinds, (int[]){ TANH, LSTM, GRU });
		l.dtype = number_of(type, types, (int[]){ SINGLE, DOUBLE, HALF, BFLOAT16 });
		l.both = directions == 2;
		if (!l.projected) l.projected = l.hidden; /* as PyTorch says of layers without projections */
		SUCCEEDS(cudnnSetDropoutDescriptor(l.dropout, NULL, p, NULL, 0, 0));
		CHECK(weights_of(&l) == weights);
		bool as_one = false, as_backward = false;
		for (int algorithm = STANDARD; algorithm <= PERSIST_STATIC; algorithm++) {
			l.algorithm = algorithm;
			SUCCEEDS(cudnnGetRNNTempSpaceSizes(NULL, &l, 1, &x, &found[1], &kept));
			CHECK(kept == reserve);
			SUCCEEDS(cudnnGetRNNTempSpaceSizes(NULL, &l, 0, &x, &found[0], &kept));
			CHECK(kept == 0);
			if (found[0] == inference && found[1] == training) as_one = true, of[algorithm]++;
			as_backward |= found[1] == backward;
		}
		if (!as_one || !as_backward) fprintf(stderr, "got other sizes of %s", line);
		CHECK(as_one && as_backward);
		rows++;
	}
	CHECK(rows > 700 && of[STANDARD] > 300 && of[PERSIST_STATIC] > 100);
}

/* ---- where weights lie ---- */

/* All matrices of one layer and direction after another, then all biases; each is described. */
static void laid_out(struct layers l) {
	int gates = l.mode == LSTM ? 4 : l.mode == GRU ? 3 : 1, directions = l.both ? 2 : 1;
	bool projects = l.projected && l.projected != l.hidden;
	int item = l.dtype == DOUBLE ? 8 : l.dtype == SINGLE ? 4 : 2, out = l.projected ? l.projected : l.hidden;
	char *base = (char *)4096, *next = base;
	for (int pass = 0; pass < 2; pass++)
		for (int pseudo = 0; pseudo < l.count * directions; pseudo++)
			for (int which = 0; which <= 2 * gates + 1; which++) {
				void *matrix_at = base, *bias_at = base;
				struct described matrix = { 0 }, bias = { 0 };
				SUCCEEDS(cudnnGetRNNWeightParams(NULL, &l, pseudo, 0, base, which, &matrix, &matrix_at, &bias, &bias_at));
				int in = pseudo < directions ? l.input : out * directions, columns = which < gates ? in : out, rows = l.hidden;
				if (which == 2 * gates) rows = l.projected, columns = l.hidden;
				bool there = which < 2 * gates || (which == 2 * gates && projects);
				CHECK(there ? matrix.dtype == l.dtype && matrix.dims == 3 && matrix.sizes[0] == 1 && matrix.sizes[1] == rows &&
					matrix.sizes[2] == columns && matrix.strides[0] == rows * columns && matrix.strides[1] == columns &&
					matrix.strides[2] == 1 : !matrix_at && !matrix.dims);
				bool has_bias = which < 2 * gates && (l.biases == BOTH_BIASES || (l.biases == INPUT_BIAS && which < gates) ||
					(l.biases == RECURRENT_BIAS && which >= gates));
				CHECK(has_bias ? bias.dtype == l.dtype && bias.dims == 3 && bias.sizes[1] == l.hidden && bias.sizes[2] == 1
					: !bias_at && !bias.dims);
				if (pass == 0 && there) {
					CHECK(matrix_at == next);
					next += rows * columns * item;
				}
				if (pass == 1 && has_bias) {
					CHECK(bias_at == next);
					next += l.hidden * item;
				}
			}
	CHECK(weights_of(&l) == (size_t)(next - base));
}

static void weights(void) {
	static const int modes[] = { TANH, LSTM, GRU }, types[] = { SINGLE, DOUBLE, HALF, BFLOAT16 };
	for (int i = 0; i < 3 * 4 * 4; i++) {
		struct layers l = { .mode = modes[i % 3], .dtype = types[i / 3 % 4], .biases = i / 12, .input = 5, .hidden = 7,
			.count = 3, .both = i % 2 };
		laid_out(l);
		l.projected = 7;
		laid_out(l);
	}
	for (int both = 0; both < 2; both++)
		laid_out((struct layers){ .mode = LSTM, .biases = BOTH_BIASES, .input = 5, .hidden = 7, .projected = 3, .count = 3,
			.both = both });
	/* either is asked for alone, and nothing where there are no weights */
	struct layers l = { .mode = LSTM, .biases = BOTH_BIASES, .input = 5, .hidden = 7, .count = 1 };
	void *at = &l;
	SUCCEEDS(cudnnGetRNNWeightParams(NULL, &l, 0, 0, &l, 1, NULL, NULL, NULL, NULL));
	SUCCEEDS(cudnnGetRNNWeightParams(NULL, &l, 0, 0, NULL, 1, NULL, &at, NULL, NULL));
	CHECK(!at);
	struct described refused = { .dims = -1 }, bias = { 0 };
	CHECK(cudnnGetRNNWeightParams(NULL, &l, 0, 0, &l, 1, &refused, NULL, &bias, NULL) == BAD_PARAMETER && !bias.dims);
	CHECK(cudnnGetRNNWeightParams(NULL, &l, 0, 0, &l, 1, NULL, NULL, &refused, NULL) == BAD_PARAMETER);
	l.fails = BAD_PARAMETER;
	size_t bytes;
	CHECK(cudnnGetRNNWeightSpaceSize(NULL, &l, &bytes) == BAD_PARAMETER);
	CHECK(cudnnGetRNNWeightParams(NULL, &l, 0, 0, &l, 1, NULL, &at, NULL, NULL) == BAD_PARAMETER);
}

/* ---- dropout, and what the recording does not cover ---- */

static unsigned long long estimates(void) {
	unsigned long long all = 0, count;
	const char *name;
	int kind;
	for (int i = 0; memspec_pretend_note(i, &kind, &name, &count); i++)
		if (kind == 4 && !strncmp(name, "workspace-estimate", 18)) all += count;
	return all;
}
struct sizes {
	size_t workspace, reserve;
	bool estimated;
};
static struct sizes sizes(struct layers l, struct data x, int training) {
	struct sizes s;
	unsigned long long before = estimates();
	SUCCEEDS(cudnnGetRNNTempSpaceSizes(NULL, &l, training, &x, &s.workspace, &s.reserve));
	s.estimated = estimates() > before;
	return s;
}

static void coverage(void) {
	static const int same[] = { 4, 4 }, others[] = { 4, 3 }, first[] = { 3, 4 };
	float p;
	struct layers plain = { .mode = LSTM, .biases = BOTH_BIASES, .input = 8, .hidden = 8, .count = 2, .both = 1,
		.dropout = &p }, l = plain;
	struct data x = { .steps = 4, .batch = 2, .lengths = same }, several = { .steps = 4, .batch = 2, .lengths = others },
		shorter = { .steps = 4, .batch = 2, .lengths = first };
	SUCCEEDS(cudnnSetDropoutDescriptor(&p, NULL, 0.5f, NULL, 0, 0));
	CHECK(!sizes(l, x, 1).estimated && !sizes(l, x, 0).estimated);
	CHECK(sizes(l, several, 0).estimated && sizes(l, shorter, 0).estimated);
	static const int types[] = { SINGLE, DOUBLE, HALF, BFLOAT16 }; /* of which persistent kernels are for two */
	for (int i = 0; i < 4; i++) {
		size_t by[3];
		for (l.dtype = types[i], l.algorithm = STANDARD; l.algorithm <= PERSIST_DYNAMIC; l.algorithm++)
			by[l.algorithm] = sizes(l, x, 1).workspace;
		CHECK(by[PERSIST_STATIC] == by[PERSIST_DYNAMIC] && (by[STANDARD] == by[PERSIST_STATIC]) == i % 2);
	}
	l = plain;
	version++;
	CHECK(sizes(l, x, 0).estimated);
	version--;
	SUCCEEDS(cudaSetDevice(0)); /* a T4 */
	CHECK(sizes(l, x, 0).estimated);
	SUCCEEDS(cudaSetDevice(1));
	/* dropout between two layers of two directions, and not of one layer */
	l.count = 3;
	CHECK(sizes(l, x, 1).estimated && !sizes(l, x, 0).estimated);
	l.count = 2, l.both = 0;
	CHECK(sizes(l, x, 1).estimated);
	l.count = 1;
	CHECK(!sizes(l, x, 1).estimated);
	/* projections in inference, of two layers of one direction */
	l.projected = 4, l.count = 2;
	CHECK(sizes(l, x, 1).estimated && !sizes(l, x, 0).estimated);
	l.both = 1;
	CHECK(sizes(l, x, 0).estimated);
	l.both = 0, l.count = 3;
	CHECK(sizes(l, x, 0).estimated);
	/* the probability that was set last counts; 4096 descriptors are kept */
	struct sizes dropped = sizes(plain, x, 1);
	SUCCEEDS(cudnnRestoreDropoutDescriptor(&p, NULL, 0, NULL, 0, 0));
	struct sizes kept = sizes(plain, x, 1);
	/* one bit an element between the two, in bytes, each of two pieces of 32 */
	CHECK(dropped.reserve == kept.reserve + 2 * 32 && dropped.workspace == kept.workspace);
	static char many[4200];
	for (int i = 0; i < 4200; i++) SUCCEEDS(cudnnSetDropoutDescriptor(&many[i], NULL, 1, NULL, 0, 0));
	int dropping = 0;
	for (int i = 0; i < 4200; i++) {
		l = plain, l.dropout = &many[i];
		dropping += sizes(l, x, 1).reserve == dropped.reserve;
	}
	CHECK(dropping == 4096 - 2); /* of the recording's rows it is one, and one here */
	l = plain, l.fails = BAD_PARAMETER;
	size_t workspace;
	CHECK(cudnnGetRNNTempSpaceSizes(NULL, &l, 1, &x, &workspace, NULL) == BAD_PARAMETER);
	x.fails = BAD_PARAMETER;
	CHECK(cudnnGetRNNTempSpaceSizes(NULL, &plain, 1, &x, &workspace, NULL) == BAD_PARAMETER);
	x.fails = 0;
	SUCCEEDS(cudnnGetRNNTempSpaceSizes(NULL, &plain, 1, &x, &workspace, NULL));
	CHECK(workspace == kept.workspace);
	/* 24 bytes for each thread that the card holds */
	SUCCEEDS(cudnnDropoutGetStatesSize(NULL, &workspace));
	CHECK(workspace == 132 * 2048 * 24);
}

/* MEASURED: the folder of the recordings. */
void recurrent(void) {
	struct layers l = { .count = 1 };
	struct data x = { 0 };
	size_t bytes;
	void *at;
	fake_function = cudnn_function;
	SUCCEEDS(cudaSetDevice(1)); /* an H100 */
	loaded = false;
	CHECK(cudnnGetRNNWeightSpaceSize(NULL, &l, &bytes) == CUDNN_STATUS_NOT_SUPPORTED);
	CHECK(cudnnGetRNNTempSpaceSizes(NULL, &l, 0, &x, &bytes, NULL) == CUDNN_STATUS_NOT_SUPPORTED);
	CHECK(cudnnGetRNNWeightParams(NULL, &l, 0, 0, &l, 0, NULL, &at, NULL, NULL) == CUDNN_STATUS_NOT_SUPPORTED);
	loaded = true;
	char path[4096];
	snprintf(path, sizeof path, "%s/h100-recurrent.csv", getenv("MEASURED"));
	FILE *csv = fopen(path, "r");
	CHECK(csv);
	as_recorded(csv);
	fclose(csv);
	weights();
	coverage();
}
