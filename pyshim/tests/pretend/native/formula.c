/* What PyTorch's descriptors of a convolution become where cuDNN is asked for no plan: the numbers
   that the formula gets. */
#include "unit.h"

enum { MOST = 5 };
static const int64_t x_sizes[] = { 2, 3, 5, 7, 11 }, x_strides[] = { 1155, 385, 77, 11, 1 },
	w_sizes[] = { 13, 3, 2, 4, 6 };
static const int64_t w_strides[] = { 144, 48, 24, 6, 1 }, padding[] = { 17, 19, 23 }, stride[] = { 29, 31, 37 },
	dilation[] = { 41, 43, 47 };

static struct {
	int ordinal, direction, dtype, dims, times;
	int64_t numbers[7 * MOST];
	long long bytes;
} asked;
static long long answer(int ordinal, int direction, int dtype, int dims, const int64_t *numbers) {
	asked.ordinal = ordinal, asked.direction = direction, asked.dtype = dtype, asked.dims = dims, asked.times++;
	memcpy(asked.numbers, numbers, (size_t)(7 * dims - 6) * sizeof *numbers);
	return asked.bytes;
}

static void *made(int type) {
	void *d;
	SUCCEEDS(formula_create(type, &d));
	return d;
}
static void set(void *d, int name, const void *value) {
	SUCCEEDS(formula_set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, value));
}
static void set_numbers(void *d, int name, int64_t n, const int64_t *values) {
	SUCCEEDS(formula_set(d, name, 0, n, values));
}
static void *tensor(int dtype, int64_t dims, const int64_t *sizes, const int64_t *strides) {
	void *t = made(0);
	SUCCEEDS(formula_set(t, CUDNN_ATTR_TENSOR_DATA_TYPE, 0, 1, &dtype));
	set_numbers(t, CUDNN_ATTR_TENSOR_DIMENSIONS, dims, sizes);
	set_numbers(t, CUDNN_ATTR_TENSOR_STRIDES, dims, strides);
	return t;
}

/* A convolution as PyTorch builds it, of tensors of so many dimensions; each name is that of one direction. */
struct built {
	void *x, *w, *window, *operation, *graph;
};
static struct built build(int type, int64_t dims, int x, int w, int window) {
	struct built b = { tensor(2, dims, x_sizes, x_strides), tensor(3, dims, w_sizes, w_strides), made(0), made(type),
		made(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) };
	set_numbers(b.window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, dims - 2, padding);
	set_numbers(b.window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, dims - 2, stride);
	set_numbers(b.window, CUDNN_ATTR_CONVOLUTION_DILATIONS, dims - 2, dilation);
	set(b.operation, x, &b.x);
	set(b.operation, w, &b.w);
	set(b.operation, window, &b.window);
	return b;
}
static void end(struct built b) {
	void *all[] = { b.x, b.w, b.window, b.operation, b.graph };
	for (size_t i = 0; i < 5; i++) SUCCEEDS(formula_destroy(all[i]));
}
static void check_numbers(size_t dims) {
	const int64_t *whole[] = { x_sizes, x_strides, w_sizes, w_strides }, *spatial[] = { padding, stride, dilation };
	const int64_t *at = asked.numbers;
	for (size_t i = 0; i < 4; i++, at += dims) CHECK(!memcmp(at, whole[i], dims * sizeof *at));
	for (size_t i = 0; i < 3; i++, at += dims - 2) CHECK(!memcmp(at, spatial[i], (dims - 2) * sizeof *at));
}

/* The plan of one of the two engines that the heuristics name. */
static void *plan_of(void *graph, int which, int64_t *engine_index) {
	void *heuristics = made(0), *configurations[] = { made(0), made(0), made(0) }, *engine = made(0),
		*plan = made(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	int64_t count = -1;
	set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, &graph);
	SUCCEEDS(formula_get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, 0, &count, NULL));
	CHECK(count == 2);
	SUCCEEDS(formula_get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, 3, &count, configurations));
	CHECK(count == 2);
	SUCCEEDS(formula_get(configurations[which], CUDNN_ATTR_ENGINECFG_ENGINE, 0, &count, NULL));
	CHECK(count == 1);
	/* no room: nothing is written */
	SUCCEEDS(formula_get(configurations[which], CUDNN_ATTR_ENGINECFG_ENGINE, 0, NULL, &engine));
	SUCCEEDS(formula_get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 1, NULL, engine_index));
	CHECK(*engine_index == 0);
	SUCCEEDS(formula_get(configurations[which], CUDNN_ATTR_ENGINECFG_ENGINE, 1, &count, &engine));
	SUCCEEDS(formula_get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 1, &count, engine_index));
	set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &configurations[which]);
	for (size_t i = 0; i < 3; i++) SUCCEEDS(formula_destroy(configurations[i]));
	SUCCEEDS(formula_destroy(engine));
	SUCCEEDS(formula_destroy(heuristics));
	return plan;
}

static void one(int direction, int64_t dims, int x, int w, int window) {
	struct built b = build(direction, dims, x, w, window);
	int64_t bytes = -1, index = -1, count = -1;
	SUCCEEDS(formula_finalize(b.operation));
	SUCCEEDS(formula_set(b.graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b.operation));
	SUCCEEDS(formula_finalize(b.graph));
	asked.times = 0, asked.bytes = 4096;
	void *with = plan_of(b.graph, 0, &index);
	CHECK(index == 0);
	SUCCEEDS(formula_finalize(with));
	CHECK(asked.times == 1 && asked.ordinal == 1 && asked.direction == direction && asked.dtype == 2 &&
		asked.dims == dims);
	check_numbers((size_t)dims);
	SUCCEEDS(formula_get(with, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 0, &count, &bytes));
	CHECK(count == 1 && bytes == -1);
	SUCCEEDS(formula_get(with, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1, &count, &bytes));
	CHECK(bytes == 4096);
	void *without = plan_of(b.graph, 1, &index);
	CHECK(index == 1);
	SUCCEEDS(formula_finalize(without));
	SUCCEEDS(formula_get(without, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1, &count, &bytes));
	CHECK(bytes == 0 && asked.times == 1);
	SUCCEEDS(formula_get(without, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, 1, &count, &bytes)); /* has no elements */
	CHECK(count == 0 && bytes == 0);
	SUCCEEDS(formula_destroy(with));
	SUCCEEDS(formula_destroy(without));
	end(b);
}

static void too_large_or_small(int64_t dims, const int64_t *sizes) {
	struct built b = build(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 4,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
	set_numbers(b.x, CUDNN_ATTR_TENSOR_DIMENSIONS, dims, sizes);
	set(b.operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, &b.x);
	CHECK(formula_finalize(b.operation) == CUDNN_STATUS_NOT_SUPPORTED);
	end(b);
}

void formulas(void) {
	SUCCEEDS(cudaSetDevice(1));
	memspec_pretend_convolutions(answer);
	for (int64_t dims = 3; dims <= MOST; dims++) {
		one(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, dims, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
			CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
		one(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, dims, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
		one(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, dims,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
	}
	static const int64_t six[6] = { 1, 1, 1, 1, 1, 1 };
	too_large_or_small(6, six);
	too_large_or_small(-1, six);
	too_large_or_small(2, six);

	/* A graph is the convolution among its operations, whichever of them that is; without one it is refused. */
	struct built b = build(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 4,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
	void *other = made(0), *both[] = { b.operation, other };
	SUCCEEDS(formula_set(b.graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other));
	CHECK(formula_finalize(b.graph) == CUDNN_STATUS_NOT_SUPPORTED);
	SUCCEEDS(formula_finalize(b.operation));
	SUCCEEDS(formula_set(b.graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 2, both));
	SUCCEEDS(formula_finalize(b.graph));
	/* What is no operand of a convolution is not taken for one, nor what is no descriptor. */
	set(b.operation, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, &other);
	SUCCEEDS(formula_set(b.operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_CHAR, 1, both));
	SUCCEEDS(formula_set(b.operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 2, both));
	SUCCEEDS(formula_set(b.graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b.operation));
	int64_t index;
	void *plan = plan_of(b.graph, 0, &index);
	asked.bytes = 0; /* none is an answer too */
	SUCCEEDS(formula_finalize(plan));
	check_numbers(4);
	asked.bytes = -1;
	CHECK(formula_finalize(plan) == CUDNN_STATUS_NOT_SUPPORTED);
	memspec_pretend_convolutions(NULL);
	CHECK(formula_finalize(plan) == CUDNN_STATUS_NOT_SUPPORTED);
	SUCCEEDS(formula_destroy(plan));
	SUCCEEDS(formula_destroy(other));
	end(b);
	void *neither = made(0); /* is as it is */
	SUCCEEDS(formula_finalize(neither));
	SUCCEEDS(formula_destroy(neither));
	void *of_nothing = made(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR); /* a plan that was given no engine */
	CHECK(formula_finalize(of_nothing) == CUDNN_STATUS_NOT_SUPPORTED);
	SUCCEEDS(formula_destroy(of_nothing));
}
