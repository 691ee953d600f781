/* cuDNN's recurrent layers. Descriptors are the real library's, which need no device. Its sizes of
   workspace and reserve come from a handle of a device only: they are by a formula that was fitted
   to what one H100 asked for with cuDNN 9.19 (testdata/measured/h100-recurrent.csv). What the
   recording does not cover is noted as estimated. Weights lie as the library lays them out: the
   matrices of all layers, then the biases of all layers. */
#include "pretend.h"

#include <stdlib.h>
#include <string.h>

#ifndef PUBLIC_HEADERS /* descriptors are looked at by the library's own functions */

typedef void *handle_t, *descriptor_t;

enum { SINGLE = 0, DOUBLE = 1, HALF = 2 };      /* cudnnDataType_t */
enum { LSTM = 2, GRU = 3 };                     /* cudnnRNNMode_t */
enum { STANDARD = 0 };                          /* cudnnRNNAlgo_t */
enum { BOTH_BIASES = 2, RECURRENT_BIAS = 3 };   /* cudnnRNNBiasMode_t */
enum { RECORDED = 91900 };                      /* cudnnGetVersion */
enum { DROPOUTS = 4096 };

struct layers { /* of an RNN descriptor */
	int algorithm, mode, biases, dtype;
	int64_t input, hidden, projected, count, directions;
	descriptor_t dropout;
};
struct shape { /* of one call */
	int64_t steps, batch;
	bool of_several_lengths;
};

static void *real(const char *name) { return real_function("libcudnn.so.9", name); }

static cudnnStatus_t read_layers(descriptor_t d, struct layers *l) {
	static cudnnStatus_t (*get)(descriptor_t, int *, int *, int *, int *, int *, int *, int *, int *, int32_t *, int32_t *,
		int32_t *, int32_t *, descriptor_t *, uint32_t *);
	if (!get) ASSIGN_FUNCTION(get, real("cudnnGetRNNDescriptor_v8"));
	if (!get) return CUDNN_STATUS_NOT_SUPPORTED;
	int both, input_mode, precision, math;
	int32_t input, hidden, projected, count;
	uint32_t flags;
	cudnnStatus_t e = get(d, &l->algorithm, &l->mode, &l->biases, &both, &input_mode, &l->dtype, &precision, &math, &input,
		&hidden, &projected, &count, &l->dropout, &flags);
	if (e) return e;
	l->input = input;
	l->hidden = hidden;
	l->projected = projected;
	l->count = count;
	l->directions = both ? 2 : 1;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t read_shape(descriptor_t x, struct shape *s) {
	static cudnnStatus_t (*get)(descriptor_t, int *, int *, int *, int *, int *, int, int *, void *);
	if (!get) ASSIGN_FUNCTION(get, real("cudnnGetRNNDataDescriptor"));
	if (!get) return CUDNN_STATUS_NOT_SUPPORTED;
	int dtype, layout, steps, batch, width;
	double padding;
	cudnnStatus_t e = get(x, &dtype, &layout, &steps, &batch, &width, 0, NULL, &padding);
	if (e) return e;
	*s = (struct shape){ steps, batch, false };
	int *lengths = calloc((size_t)batch, sizeof *lengths);
	if (!lengths) return CUDNN_STATUS_ALLOC_FAILED;
	e = get(x, &dtype, &layout, &steps, &batch, &width, batch, lengths, &padding);
	for (int i = 0; i < batch; i++) s->of_several_lengths |= lengths[i] != steps;
	free(lengths);
	return e;
}

/* ---- weights ---- */

static int64_t item(const struct layers *l) { return l->dtype == DOUBLE ? 8 : l->dtype == SINGLE ? 4 : 2; }
static int64_t gates(const struct layers *l) { return l->mode == LSTM ? 4 : l->mode == GRU ? 3 : 1; }
static int64_t out_width(const struct layers *l) { return l->projected ? l->projected : l->hidden; }
static int64_t in_width(const struct layers *l, int64_t layer) {
	return layer ? out_width(l) * l->directions : l->input;
}
/* LSTM with projections: PyTorch's projected size is smaller than the hidden one. */
static bool projects(const struct layers *l) { return l->projected && l->projected != l->hidden; }

/* The matrices of one layer and direction, elements. */
static int64_t matrices(const struct layers *l, int64_t layer) {
	int64_t in = in_width(l, layer), out = projects(l) ? l->projected : l->hidden;
	return gates(l) * l->hidden * (in + out) + (projects(l) ? l->projected * l->hidden : 0);
}
static int64_t all_matrices(const struct layers *l) {
	int64_t n = 0;
	for (int64_t i = 0; i < l->count; i++) n += l->directions * matrices(l, i);
	return n;
}
static int64_t bias_kinds(const struct layers *l) { return l->biases == 0 ? 0 : l->biases == BOTH_BIASES ? 2 : 1; }
static int64_t all_biases(const struct layers *l) {
	return l->count * l->directions * bias_kinds(l) * gates(l) * l->hidden;
}

API cudnnStatus_t cudnnGetRNNWeightSpaceSize(handle_t h UNUSED, descriptor_t d, size_t *bytes) {
	struct layers l;
	cudnnStatus_t e = read_layers(d, &l);
	if (!e) *bytes = (size_t)((all_matrices(&l) + all_biases(&l)) * item(&l));
	return e;
}

static cudnnStatus_t describe(descriptor_t d, const struct layers *l, int64_t rows, int64_t columns) {
	static cudnnStatus_t (*set)(descriptor_t, int, int, const int *, const int *);
	if (!set) ASSIGN_FUNCTION(set, real("cudnnSetTensorNdDescriptor"));
	if (!set) return CUDNN_STATUS_NOT_SUPPORTED;
	int sizes[] = { 1, (int)rows, (int)columns }, strides[] = { (int)(rows * columns), (int)columns, 1 };
	return set(d, l->dtype, 3, sizes, strides);
}

/* Where matrix number `which` of a layer and direction lies, and its bias; either pair may be null. */
API cudnnStatus_t cudnnGetRNNWeightParams(handle_t h UNUSED, descriptor_t d, int32_t pseudo, size_t size UNUSED,
	const void *weights, int32_t which, descriptor_t matrix, void **matrix_at, descriptor_t bias, void **bias_at) {
	struct layers l;
	cudnnStatus_t e = read_layers(d, &l);
	if (e) return e;
	int64_t g = gates(&l), in = in_width(&l, pseudo / l.directions), out = out_width(&l), before = 0;
	if (matrix_at) *matrix_at = NULL;
	if (bias_at) *bias_at = NULL;
	if (!weights || which > 2 * g || (which == 2 * g && !projects(&l))) return CUDNN_STATUS_SUCCESS;
	for (int64_t i = 0; i < pseudo; i++) before += matrices(&l, i / l.directions);
	before += which < g ? which * l.hidden * in : g * l.hidden * in + (which - g) * l.hidden * out;
	if (matrix_at) *matrix_at = (char *)(uintptr_t)weights + before * item(&l);
	bool projection = which == 2 * g; /* has no bias */
	int64_t rows = projection ? l.projected : l.hidden, columns = projection ? l.hidden : which < g ? in : out;
	if (matrix) e = describe(matrix, &l, rows, columns);
	int64_t kinds = bias_kinds(&l), first = l.biases == RECURRENT_BIAS ? g : 0;
	if (e || which < first || which >= first + kinds * g) return e;
	before = all_matrices(&l) + (pseudo * kinds * g + which - first) * l.hidden;
	if (bias_at) *bias_at = (char *)(uintptr_t)weights + before * item(&l);
	return bias ? describe(bias, &l, l.hidden, 1) : e;
}

/* ---- dropout: its random states, one for each thread that the card holds ---- */

static struct {
	descriptor_t of;
	float probability;
} dropouts[DROPOUTS];
static int dropout_count;

static void keep_probability(descriptor_t d, float p) {
	lock_memory();
	int i = 0;
	while (i < dropout_count && dropouts[i].of != d) i++;
	if (i < DROPOUTS) {
		dropouts[i].of = d;
		dropouts[i].probability = p;
		if (i == dropout_count) dropout_count++;
	}
	unlock_memory();
}
static float probability_of(descriptor_t d) {
	float p = 0;
	lock_memory();
	for (int i = 0; i < dropout_count; i++)
		if (dropouts[i].of == d) p = dropouts[i].probability;
	unlock_memory();
	return p;
}
enum { RANDOM_STATE = 24 }; /* bytes: 6,488,064 on an H100, which holds 132 × 2048 threads */

API cudnnStatus_t cudnnDropoutGetStatesSize(handle_t h UNUSED, size_t *bytes) {
	const struct gpu *g = current_gpu();
	if (!g) return CUDNN_STATUS_NOT_INITIALIZED;
	*bytes = (size_t)g->sms * (size_t)g->threads_per_sm * RANDOM_STATE;
	return CUDNN_STATUS_SUCCESS;
}
API cudnnStatus_t cudnnSetDropoutDescriptor(descriptor_t d, handle_t h UNUSED, float p, void *states UNUSED,
	size_t size UNUSED, unsigned long long seed UNUSED) {
	keep_probability(d, p);
	return CUDNN_STATUS_SUCCESS;
}
API cudnnStatus_t cudnnRestoreDropoutDescriptor(descriptor_t d, handle_t h UNUSED, float p, void *states UNUSED,
	size_t size UNUSED, unsigned long long seed UNUSED) {
	keep_probability(d, p);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- workspace and reserve, bytes: sums of pieces, each rounded up to 32 ---- */

#define PIECE(elements) (((elements) * es + 31) / 32 * 32)

static int64_t shared_pieces(const struct layers *l, const struct shape *s) {
	int64_t es = item(l);
	/* 8 MiB for each layer and direction; lengths and offsets of the sequences; all matrices */
	return (l->count * l->directions << 23) + 256 + (8 * s->batch + 31) / 32 * 32 + PIECE(all_matrices(l));
}

static int64_t forward_pieces(const struct layers *l, const struct shape *s, bool persistent) {
	int64_t es = item(l), g = gates(l), both = l->directions, x = s->steps * s->batch * l->hidden;
	int64_t y = l->count * s->batch * l->hidden, out = out_width(l), lstm = l->mode == LSTM;
	int64_t n = shared_pieces(l, s) + PIECE(s->steps * s->batch * l->input) + PIECE(g * both * x) + PIECE(both * x);
	n += persistent ? PIECE(2 * y) + PIECE(4 * g * x) : PIECE(g * both * y);
	n += 2 * PIECE(both * l->count * s->batch * out);
	if (lstm) n += PIECE(2 * both * y) + 2 * PIECE(both * y);
	if (both == 2) n += PIECE(4 * x) + PIECE(4 * y);
	if (projects(l)) n += PIECE(both * s->steps * s->batch * out);
	return n;
}

static int64_t backward_pieces(const struct layers *l, const struct shape *s, bool persistent) {
	int64_t es = item(l), both = l->directions, tb = s->steps * s->batch, x = tb * l->hidden;
	int64_t y = l->count * s->batch * l->hidden, lstm = l->mode == LSTM;
	int64_t wider = l->input > l->hidden ? l->input : l->hidden;
	int64_t reserved_gates = lstm ? 4 : l->mode == GRU ? 6 : 1;
	int64_t n = shared_pieces(l, s) + 2 * PIECE(tb * l->input) + PIECE(both * both * tb * wider);
	if (l->count == 1) n += 3 * PIECE(both * x);
	else if (both == 2 || persistent) n += PIECE(2 * both * x) + 2 * PIECE(both * x);
	else { /* of one of them a few steps at a time */
		int64_t at_once = s->batch > 16 ? 4 : s->batch > 8 ? 8 : 16;
		int64_t kept = (at_once > 8 ? at_once : 8) + at_once * l->count;
		n += 2 * PIECE(x) + PIECE((kept < s->steps ? kept : s->steps) * s->batch * l->hidden);
	}
	n += 4 * PIECE(both * y) + (both == 2 || persistent ? PIECE(2 * both * y) : PIECE(y));
	if (both == 2) n += PIECE(2 * y);
	if (lstm) n += PIECE(2 * both * y) + 4 * PIECE(both * y);
	if (persistent) n += PIECE(8 * x) + PIECE(reserved_gates * x);
	return n;
}

static int64_t reserve_pieces(const struct layers *l, const struct shape *s, bool drops) {
	int64_t es = item(l), x = s->steps * s->batch * l->hidden, all = l->count * l->directions;
	int64_t reserved_gates = l->mode == LSTM ? 4 : l->mode == GRU ? 6 : 1, between = (l->count - 1) * l->directions * x;
	int64_t n = 256 + PIECE(reserved_gates * all * x) + PIECE(between);
	if (l->mode == LSTM) n += PIECE(all * x);
	if (projects(l)) n += PIECE(all * x) + PIECE(all * s->steps * s->batch * l->projected);
	if (drops) n += 2 * (((between + 7) / 8 + 31) / 32 * 32);
	return n;
}

/* Whether the recording covers such a call. */
static bool recorded(const struct layers *l, const struct shape *s, bool drops, bool training) {
	static size_t (*version)(void);
	const struct gpu *g = current_gpu();
	if (!version) ASSIGN_FUNCTION(version, real("cudnnGetVersion"));
	if (!version || version() != RECORDED || !g || g->major != 9 || s->of_several_lengths) return false;
	if (drops && (l->count != 2 || l->directions != 2)) return false;
	return !projects(l) || (!training && l->count == 2 && l->directions == 1);
}

API cudnnStatus_t cudnnGetRNNTempSpaceSizes(handle_t h UNUSED, descriptor_t d, int training, descriptor_t x,
	size_t *workspace, size_t *reserve) {
	struct layers l;
	struct shape s;
	cudnnStatus_t e = read_layers(d, &l);
	if (!e) e = read_shape(x, &s);
	if (e) return e;
	bool drops = training && l.count > 1 && probability_of(l.dropout) > 0;
	bool persistent = l.algorithm != STANDARD && (l.dtype == SINGLE || l.dtype == HALF);
	int64_t most = forward_pieces(&l, &s, persistent), back = 0;
	if (training && !projects(&l)) back = backward_pieces(&l, &s, persistent); /* of projections it is not known */
	*workspace = (size_t)(back > most ? back : most);
	if (reserve) *reserve = training ? (size_t)reserve_pieces(&l, &s, drops) : 0;
	if (!recorded(&l, &s, drops, training))
		note_estimated("workspace-estimate: cuDNN's recurrent layers, by a formula of cuDNN 9.19 on an H100");
	return CUDNN_STATUS_SUCCESS;
}

#define RUNS(name) API cudnnStatus_t name(void) { return CUDNN_STATUS_SUCCESS; }
RUNS(cudnnRNNForward) RUNS(cudnnRNNBackwardData_v8) RUNS(cudnnRNNBackwardWeights_v8)
#endif
