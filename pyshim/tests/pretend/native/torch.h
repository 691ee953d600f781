/* PyTorch as far as gate.c reads it, for tests: its C++ objects as 2.13 lays them, the functions that
   read a tensor, kernels, and calls of operators. */
#pragma once
#include "unit.h"

enum { NOTHING = 0, TENSOR = 1, INT = 4, LIST_BEFORE = 13, LIST = 14 }; /* c10::IValue::Tag, and a number's */
enum { CPU = 0, CUDA = 1, XLA = 9 };
enum { BYTE = 0, INT64 = 4, HALF = 5, FLOAT = 6, DOUBLE = 7, COMPLEX_HALF = 8, BFLOAT16 = 15 };
enum { FORWARD = 1, HOST, LAYER, SMALL };
enum { SNAPSHOT = 42, OTHER_KEY = 43, OWN_KEY = 77, LIMIT = 1000, BELOW = 0xff0f };

struct ivalue {
	const void *payload;
	uint32_t tag;
};
struct stack {
	struct ivalue *from, *to, *room;
};
struct list {
	void *table;
	uint64_t references;
	struct ivalue *from, *to;
};
typedef void boxed(void *, const void *const *, uint64_t, struct stack *);
struct function {
	uint64_t key;
	void *functor;
	boxed *run;
};
struct rule {
	const void *op;
	uint32_t tensors, lists, written, unread, absent;
	int32_t kind, arguments, first, alone, follows, fills, several;
};
struct seen {
	char *at;
	size_t bytes;
	int64_t elements;
	int32_t device, type;
	bool dense, wants_gradient;
};
void *_ZNR5torch7Library9_fallbackEONS_11CppFunctionE(void *, struct function *);
void *_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE(void *, const char *, struct function *,
	int);
void memspec_pretend_gate_wrap(int), memspec_pretend_gate_learn(const struct rule *), memspec_pretend_gate_probe(int);
uint64_t memspec_pretend_gate_registered(void), memspec_pretend_gate_probed(const void **, uint64_t, struct seen *);
const void *memspec_pretend_gate_current(void);
bool memspec_pretend_gate_ready(void), memspec_pretend_gate_open(uint16_t, uint16_t, uint64_t, int64_t,
	void (*)(const void *, uint64_t));
void memspec_pretend_gate_close(void);

/* ---- a tensor, and PyTorch's functions that read it ---- */

static const char table[64], undefined[8]; /* of TensorImpl; the undefined tensor */
struct tensor { /* c10::TensorImpl: its table, its references, its storage */
	const void *table, *references, *storage;
	int32_t type, device, layout;
	int64_t elements, dims, sizes[66], strides[66];
	void *at;
	bool wants_gradient;
	const char *fails; /* the name of the function that fails of it */
};
static const struct tensor *of(const void *handle) { return *(const struct tensor *const *)handle; }
#define READ(name, kind, member) \
	static int32_t name(const void *handle, kind *out) { \
		const struct tensor *t = of(handle); \
		if (t->fails && !strcmp(t->fails, #name)) return 1; \
		*out = (kind)(uintptr_t)t->member; \
		return 0; \
	}
READ(dtype, int32_t, type)
READ(device_type, int32_t, device)
READ(layout, int32_t, layout)
READ(numel, int64_t, elements)
READ(dim, int64_t, dims)
READ(sizes, const int64_t *, sizes)
READ(strides, const int64_t *, strides)
READ(data_ptr, void *, at)
static bool requires_grad(const struct tensor *t) { return t->wants_gradient; }

static bool gradients = true;
static bool grad_mode(void) { return gradients; }
static int backward = -1; /* the number of the backward that runs; -1 where none does */
static int graph_task(void) { return backward; }
static struct {
	uint16_t key;
	int now, times;
} excluded;
static void exclude(uint16_t key, bool on) {
	excluded.key = key;
	excluded.now = on;
	excluded.times++;
}
static struct {
	void *library;
	const char *name;
	struct function *f;
	int verify;
} made;
static void *impl(void *library, const char *name, struct function *f, int verify) {
	made.library = library, made.name = name, made.f = f, made.verify = verify;
	return library;
}
static void *fallback(void *library, struct function *f) {
	made.library = library, made.f = f;
	return library;
}

static const char *missing = ""; /* a function that this PyTorch does not have */
static bool newer_strings = true;
static void *torch_function(const char *library, const char *name) {
	static const char *const cpu = "libtorch_cpu.so", *const c10 = "libc10.so";
	const struct { const char *library, *name; void *f; } all[] = {
		{ cpu, "aoti_torch_get_dtype", dtype }, { cpu, "aoti_torch_get_device_type", device_type },
		{ cpu, "aoti_torch_get_layout", layout }, { cpu, "aoti_torch_get_numel", numel },
		{ cpu, "aoti_torch_get_dim", dim }, { cpu, "aoti_torch_get_data_ptr", data_ptr },
		{ cpu, "aoti_torch_get_sizes", sizes }, { cpu, "aoti_torch_get_strides", strides },
		{ cpu, "_ZN5torch8autograd25get_current_graph_task_idEv", graph_task },
		{ c10, "_ZNK3c1010TensorImpl13requires_gradEv", requires_grad },
		{ c10, "_ZN3c108GradMode10is_enabledEv", grad_mode },
		{ c10, "_ZN3c104impl29tls_set_dispatch_key_excludedENS_11DispatchKeyEb", exclude },
		{ c10, "_ZTVN3c1010TensorImplE", (void *)(uintptr_t)table },
		{ c10, "_ZN3c1019UndefinedTensorImpl10_singletonE", (void *)(uintptr_t)undefined },
		{ cpu, "_ZNR5torch7Library9_fallbackEONS_11CppFunctionE", fallback },
		{ cpu, "_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE", impl },
		{ cpu, "_ZN5torch7LibraryC1ENS0_4KindENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt8optionalIN3c1011"
			"DispatchKeyEEPKcj", newer_strings ? fallback : NULL } };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i].library, library) && !strcmp(all[i].name, name) && strcmp(missing, name)) return all[i].f;
	return NULL;
}

static struct tensor tensor(int type, int device, void *at, int64_t rows, int64_t columns) {
	return (struct tensor){ .table = table + 2 * sizeof(void *), .storage = table, .type = type, .device = device,
		.at = at, .elements = rows * columns, .dims = 2, .sizes = { rows, columns }, .strides = { columns, 1 } };
}

/* ---- kernels, and calls of operators ---- */

static int onward_calls, python_calls;
static uint64_t keys_onward;
static void (*while_onward)(void);
static void onward(void *functor, const void *const *op, uint64_t keys, struct stack *stack) {
	CHECK(!functor && *op && stack->to >= stack->from);
	onward_calls++;
	keys_onward = keys;
	if (while_onward) while_onward();
}
static struct {
	void *functor;
	uint64_t keys;
	struct stack *stack;
} to_python;
static void python(void *functor, const void *const *op, uint64_t keys, struct stack *stack) {
	CHECK(*op == memspec_pretend_gate_current());
	python_calls++;
	to_python.functor = functor, to_python.keys = keys, to_python.stack = stack;
}
static struct {
	const void *op;
	uint64_t bytes;
	int times;
} noted_read;
static void note(const void *op, uint64_t bytes) {
	noted_read.op = op, noted_read.bytes = bytes, noted_read.times++;
}

static boxed *kernel; /* what stands for every operator */
static struct ivalue on_stack[64];
enum { OPERATORS = 8192 };
static char operators[OPERATORS][16] __attribute__((aligned(16)));
static const void *next_op(void) {
	static int next;
	return operators[next++];
}
/* Whether the kernel runs of these arguments, which lie above three others: else Python does. */
static bool passes(const void *op, int n) {
	struct stack stack = { on_stack, on_stack + 3 + n, on_stack + 64 };
	int before = onward_calls, python_before = python_calls, times = excluded.times;
	kernel(NULL, &op, 0xfff, &stack);
	CHECK(onward_calls - before + python_calls - python_before == 1 && excluded.times == times);
	return onward_calls > before;
}
static void put(int i, uint32_t tag, const void *payload) { on_stack[3 + i] = (struct ivalue){ payload, tag }; }
/* A rule for an operator of so many arguments. */
static struct rule a_rule(int kind, int arguments) {
	return (struct rule){ .op = next_op(), .kind = kind, .arguments = arguments, .tensors = 1 };
}
static int rule_count;
static const void *learnt(struct rule r) {
	memspec_pretend_gate_learn(&r);
	rule_count++;
	return r.op;
}
static bool rule_passes(struct rule r) { return passes(learnt(r), r.arguments); }
