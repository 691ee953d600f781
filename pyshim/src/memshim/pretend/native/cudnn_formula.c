/* Convolutions where cuDNN does not answer without a device (before 9.8): descriptors of ours in
   the place of the library's, and for each convolution two engines: one with the workspace that the
   Python side has by formula (../convolutions.py), and, where there is no memory for that, one
   without, as cuDNN has for every convolution. A graph without a convolution is refused. */
#include "pretend.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIMS = 5 };

/* What a tensor, a convolution, an operation and what is made of these say. */
struct tensor {
	int64_t dims, dtype, sizes[MOST_DIMS], strides[MOST_DIMS];
};
struct window {
	int64_t dims, dilation[MOST_DIMS], stride[MOST_DIMS], padding[MOST_DIMS];
};
struct call {
	int direction; /* the descriptor's type; 0: no convolution */
	bool without;  /* by the engine that takes no workspace */
	struct tensor x, w;
	struct window window;
};
struct formula {
	int type;
	struct tensor tensor;
	struct call call;
	int64_t bytes;
};

/* What Python answers: the bytes of a call on a device, negative where it cannot say. The numbers
   are x's sizes and strides and w's, of `dims` each, then padding, stride and dilation, of dims -
   2. */
typedef long long (*formula_callback)(int ordinal, int direction, int dtype, int dims, const int64_t *numbers);
static formula_callback callback; /* read and set as a whole */

/* Null: nobody answers any more. */
API void memspec_pretend_convolutions(formula_callback f) { __atomic_store_n(&callback, f, __ATOMIC_RELEASE); }

static long long ask(const struct call *c) {
	int64_t numbers[7 * MOST_DIMS];
	size_t n = 0, dims = (size_t)c->x.dims;
	const int64_t *whole[] = { c->x.sizes, c->x.strides, c->w.sizes, c->w.strides }, *spatial[] = { c->window.padding,
		c->window.stride, c->window.dilation };
	for (size_t i = 0; i < 4; i++, n += dims) memcpy(numbers + n, whole[i], dims * sizeof *numbers);
	for (size_t i = 0; i < 3; i++, n += dims - 2) memcpy(numbers + n, spatial[i], (dims - 2) * sizeof *numbers);
	formula_callback f = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);
	return f ? f(current_device(), c->direction, (int)c->x.dtype, (int)dims, numbers) : -1;
}

int formula_create(int type, void **out) {
	struct formula *d = zeroed(sizeof *d);
	if (!d) return CUDNN_STATUS_ALLOC_FAILED;
	d->type = type;
	*out = d;
	return CUDNN_STATUS_SUCCESS;
}

int formula_destroy(void *d) {
	free(d);
	return CUDNN_STATUS_SUCCESS;
}

static void copy_numbers(int64_t *out, int64_t n, const void *value) {
	if (n >= 0 && n <= MOST_DIMS) memcpy(out, value, (size_t)n * sizeof *out);
}

static struct formula *descriptor_in(const void *value) {
	struct formula *d;
	memcpy(&d, value, sizeof d);
	return d;
}

/* Of an operation: which tensor is x (cuDNN's name for the gradient of the input is dx) and which w. */
static void set_operand(struct call *c, int name, const struct formula *d) {
	switch (name) {
	case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC: c->window = d->call.window; break;
	case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X: c->x = d->tensor; break;
	case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW: c->w = d->tensor; break;
	default: break;
	}
}

int formula_set(void *descriptor, int name, int type, int64_t n, const void *value) {
	struct formula *d = descriptor;
	switch (name) {
	case CUDNN_ATTR_TENSOR_DATA_TYPE: {
		int dtype;
		memcpy(&dtype, value, sizeof dtype);
		d->tensor.dtype = dtype;
		break;
	}
	case CUDNN_ATTR_TENSOR_DIMENSIONS:
		d->tensor.dims = n;
		copy_numbers(d->tensor.sizes, n, value);
		break;
	case CUDNN_ATTR_TENSOR_STRIDES: copy_numbers(d->tensor.strides, n, value); break;
	case CUDNN_ATTR_CONVOLUTION_DILATIONS: copy_numbers(d->call.window.dilation, n, value); break;
	case CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES: copy_numbers(d->call.window.stride, n, value); break;
	case CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS: copy_numbers(d->call.window.padding, n, value); break;
	case CUDNN_ATTR_OPERATIONGRAPH_OPS:
		for (int64_t i = 0; i < n; i++) {
			const struct formula *op = descriptor_in((const char *)value + (size_t)i * sizeof op);
			if (op->call.direction) d->call = op->call;
		}
		break;
	case CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
	case CUDNN_ATTR_ENGINE_OPERATION_GRAPH:
	case CUDNN_ATTR_ENGINECFG_ENGINE:
	case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG: d->call = descriptor_in(value)->call; break;
	default:
		if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && n == 1) set_operand(&d->call, name, descriptor_in(value));
	}
	return CUDNN_STATUS_SUCCESS;
}

int formula_finalize(void *descriptor) {
	struct formula *d = descriptor;
	switch (d->type) {
	case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
	case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
	case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
		d->call.direction = d->type;
		return d->call.x.dims >= 3 && d->call.x.dims <= MOST_DIMS ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
	case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
		if (d->call.direction) return CUDNN_STATUS_SUCCESS;
		note_refused(CUDNN, "a graph without a convolution before 9.8");
		return CUDNN_STATUS_NOT_SUPPORTED;
	case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
		d->bytes = !d->call.direction ? -1 : d->call.without ? 0 : ask(&d->call);
		if (d->bytes >= 0) return note_estimated("workspace-estimate: the workspace of cuDNN's convolutions is by formula"),
			CUDNN_STATUS_SUCCESS;
		note_refused(CUDNN, "a convolution before 9.8, whose workspace nobody has by formula");
		return CUDNN_STATUS_NOT_SUPPORTED;
	default: return CUDNN_STATUS_SUCCESS;
	}
}

/* Engines without notes and knobs; anything else that is asked for has no elements. */
int formula_get(const void *descriptor, int name, int64_t room, int64_t *count, void *value) {
	const struct formula *d = descriptor;
	int64_t number = 0, found = 0;
	switch (name) {
	case CUDNN_ATTR_ENGINEHEUR_RESULTS:
		found = 2;
		for (int64_t i = 0; i < found && i < room && value; i++) {
			struct formula *configuration = descriptor_in((char *)value + (size_t)i * sizeof configuration);
			configuration->call = d->call;
			configuration->call.without = i > 0;
		}
		break;
	case CUDNN_ATTR_ENGINECFG_ENGINE:
		found = 1;
		if (room > 0 && value) descriptor_in(value)->call = d->call;
		break;
	case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
	case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
		found = 1;
		number = name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE ? d->bytes : d->call.without;
		if (room > 0 && value) memcpy(value, &number, sizeof number);
		break;
	default: break;
	}
	if (count) *count = found;
	return CUDNN_STATUS_SUCCESS;
}
