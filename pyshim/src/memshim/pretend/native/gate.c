/* Operators that the Python side has nothing to do for go on to CUDA's kernel from here. PyTorch
   hands every operator to a kernel of ours in Python (../values); to make Python's objects of its
   arguments and to take them apart again costs more than the operator. Most of a training step's
   operators read what nobody knows and give what nobody knows: here that is seen without Python.
   What each operator wants is in its rule, which the Python side gives (../values/gate.py); one
   without a rule goes to Python.

   C++'s objects are read as they lie: a stack of IValues, the head of a CppFunction.
   ../values/gate.py compares what is read here with what Python says of the same arguments, and
   opens the gate only where all agree. Tensors are read by PyTorch's own C functions. */
#include "pretend.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum tag { NOTHING = 0, TENSOR = 1, LIST_BEFORE = 13, LIST = 14 }; /* c10::IValue::Tag; before it had UInt */
enum { CPU = 0, CUDA = 1 };                                       /* c10::DeviceType */
enum { MOST_ARGUMENTS = 32, MOST_RULES = 4096, MOST_FALLBACKS = 64, MOST_DIMS = 64 };

struct ivalue { /* c10::IValue */
	void *payload;
	uint32_t tag;
};
struct stack { /* std::vector<c10::IValue> */
	struct ivalue *from, *to, *room;
};
struct list { /* c10::detail::ListImpl */
	void *table;
	uint64_t references;
	struct ivalue *from, *to;
};
typedef void boxed(void *functor, const void *const *op, uint64_t keys, struct stack *stack);
struct function { /* torch::CppFunction: std::optional<DispatchKey>, KernelFunction, which begins with a BoxedKernel */
	uint64_t key;
	void *functor;
	boxed *run;
};

enum kind {
	FORWARD = 1, /* nothing is done beside it */
	HOST,        /* as FORWARD where no argument is on the device */
	LAYER,       /* computed at most where the first argument is known */
	SMALL        /* computed where all is known or chosen, and of few unknown elements outside of training */
};
struct rule { /* as ../values/gate.py has it; the sets have a bit for each argument of the schema */
	const void *op;
	uint32_t tensors, lists, written;
	uint32_t unread; /* what was there before does not matter */
	uint32_t absent; /* has to be None */
	/* first: the argument that says of a layer whether it is known, and of others the type of the
	   result */
	int32_t kind, arguments, first;
	int32_t alone;                  /* what it calls inside does not come here */
	/* a layer that is computed where it is known; others that are computed of unknown values */
	int32_t follows;
	int32_t fills;                  /* of the host's memory, which initialisers do: Python looks */
	int32_t several;                /* elements at least, of what is written */
};
static struct rule rules[2 * MOST_RULES];
static int rule_count;

static struct {
	boxed *onward, *python;
	uint64_t below;
	uint16_t key;
	int64_t unknown_limit;
	void (*note)(const void *op, uint64_t bytes);
	const char *plain, *undefined; /* the table of a TensorImpl's functions; the one undefined tensor */
} gate;
static struct {
	int32_t (*type)(const void *, int32_t *), (*device)(const void *, int32_t *), (*layout)(const void *, int32_t *);
	int32_t (*elements)(const void *, int64_t *), (*dims)(const void *, int64_t *), (*address)(const void *, void **);
	int32_t (*sizes)(const void *, int64_t **), (*strides)(const void *, int64_t **);
	bool (*wants_gradient)(const void *), (*gradients)(void);
	int (*backward)(void);
	void (*exclude)(uint16_t, bool);
} torch;

/* ---- kernels as they are registered ---- */

static struct {
	uint16_t key;
	boxed *run;
} fallbacks[MOST_FALLBACKS]; /* of PyTorch's own, by their dispatch key */
static int fallback_count;
static uint64_t registered;
static __thread bool wrapping;
static boxed pass_or_call;

/* The key of a torch::Library, whose std::optional<std::string> before it is larger with the newer of C++'s strings. */
static uint16_t key_of(const char *library) {
	static const char newer[] =
		"_ZN5torch7LibraryC1ENS0_4KindENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt8optionalIN3c1011DispatchKeyEEPKcj";
	static int at;
	if (!at) at = real_function("libtorch_cpu.so", newer) ? 48 : 24;
	uint16_t key = 0;
	if (library[at + 2] == 1) memcpy(&key, library + at, sizeof key);
	return key;
}

static void wrap(struct function *f) {
	Dl_info of;
	if (!wrapping || !f->functor || !f->run || f->run == pass_or_call) return;
	if (!gate.python && dladdr((void *)(uintptr_t)f->run, &of) && of.dli_fname &&
		strstr(of.dli_fname, "/libtorch_python.so")) gate.python = f->run;
	if (f->run == gate.python) f->run = pass_or_call;
}

/* torch::Library &torch::Library::_fallback(CppFunction &&) & */
API void *_ZNR5torch7Library9_fallbackEONS_11CppFunctionE(void *library, struct function *f) {
	static void *(*real)(void *, struct function *);
	if (!real) ASSIGN_FUNCTION(real, real_function("libtorch_cpu.so", "_ZNR5torch7Library9_fallbackEONS_11CppFunctionE"));
	wrap(f);
	if (!f->functor && fallback_count < MOST_FALLBACKS) {
		fallbacks[fallback_count].key = key_of(library);
		fallbacks[fallback_count++].run = f->run;
	}
	return real(library, f);
}

/* torch::Library &torch::Library::_impl(const char *, CppFunction &&, _RegisterOrVerify) & */
API void *_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE(void *library, const char *name,
	struct function *f, int verify) {
	static void *(*real)(void *, const char *, struct function *, int);
	if (!real) ASSIGN_FUNCTION(real, real_function("libtorch_cpu.so",
		"_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE"));
	wrap(f);
	if (!wrapping) __atomic_fetch_add(&registered, 1, __ATOMIC_RELAXED);
	return real(library, name, f, verify);
}

API void memspec_pretend_gate_wrap(int on) { wrapping = on; }

/* How many kernels were registered that are not ours: by C++, as an extension is loaded, or by Python. */
API uint64_t memspec_pretend_gate_registered(void) { return __atomic_load_n(&registered, __ATOMIC_RELAXED); }

/* ---- tensors ---- */

struct tensor {
	char *at;
	size_t bytes; /* from its first to its last */
	int64_t elements;
	int32_t device, type;
	bool dense, wants_gradient;
};

/* False: of a kind that is not followed. v holds a tensor, and its payload is an at::Tensor. */
static bool look(const struct ivalue *v, struct tensor *t) {
	const char *const *impl = v->payload;
	int32_t layout = 0;
	int64_t dims, *sizes, *strides, last = 0, full = 1;
	if (impl[0] != gate.plain || !impl[2]) return false; /* a TensorImpl with a storage */
	if (torch.device(v, &t->device) || (torch.layout && torch.layout(v, &layout)) || layout || torch.type(v, &t->type) ||
		torch.elements(v, &t->elements)) return false;
	if ((t->device != CPU && t->device != CUDA) || torch.dims(v, &dims) || dims > MOST_DIMS || torch.sizes(v, &sizes) ||
		torch.strides(v, &strides)) return false;
	/* bytes, by c10::ScalarType */
	static const unsigned char item[] = { 1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 0, 0, 0, 2 };
	size_t width = (uint32_t)t->type < sizeof item ? item[t->type] : 0;
	if (!width) return false;
	t->dense = true;
	for (int64_t d = dims - 1; d >= 0; d--) {
		if (sizes[d] != 1 && strides[d] != full) t->dense = false;
		full *= sizes[d];
		last += (sizes[d] - 1) * strides[d];
	}
	t->dense |= !t->elements;
	t->bytes = t->elements ? (size_t)(last + 1) * width : 0;
	t->wants_gradient = torch.wants_gradient(impl);
	void *at = NULL;
	if (torch.address(v, &at) || (!at && t->elements)) return false;
	t->at = at;
	return true;
}

/* half, float, double, bfloat16 */
static bool is_float(int32_t type) { return (type >= 5 && type <= 7) || type == 15; }

/* ---- what a rule says of arguments ---- */

struct seen {
	bool device, unknown, wants_gradient;           /* of any */
	bool first_device, first_known, first_float;
	int64_t largest;
	struct tensor *written;
	size_t written_count, room;
};

static bool keep_written(struct seen *s, const struct tensor *t) {
	if (!table_grow(&s->written, s->written_count, &s->room, sizeof *s->written)) return false;
	s->written[s->written_count++] = *t;
	return true;
}

static bool see_one(const struct rule *r, int i, bool first, const struct ivalue *v, struct seen *s) {
	struct tensor t;
	if (v->tag == NOTHING || (v->tag == TENSOR && v->payload == (const void *)gate.undefined)) return true;
	if (v->tag != TENSOR || !look(v, &t)) return false;
	uint32_t bit = 1u << i;
	if (t.elements > s->largest) s->largest = t.elements;
	s->wants_gradient |= t.wants_gradient;
	if (t.device == CUDA) {
		s->device = true;
		/* 1: all of it; 0: some, so that it has to be looked at in parts where it does not lie dense; -1: nothing */
		if (!(r->unread & bit) && r->kind == SMALL) {
			int chosen = memspec_pretend_chosen(t.at, t.bytes);
			s->unknown |= chosen < 0 || (!chosen && t.dense);
		}
	}
	if (first && i == r->first) {
		int known = r->kind == LAYER && r->follows && t.device == CUDA ? memspec_pretend_known(t.at, t.bytes) : -1;
		s->first_known = known > 0 || (!known && !t.dense);
		s->first_device = t.device == CUDA;
		s->first_float = is_float(t.type);
	}
	if (r->written & bit) {
		if (t.elements < r->several) return false;
		return keep_written(s, &t);
	}
	return true;
}

/* False: Python has to look. */
static bool see(const struct rule *r, const struct ivalue *arguments, struct seen *s) {
	for (int i = 0; i < r->arguments; i++) {
		const struct ivalue *v = &arguments[i];
		uint32_t bit = 1u << i;
		if (r->absent & bit && v->tag != NOTHING) return false;
		if (r->tensors & bit && !see_one(r, i, true, v, s)) return false;
		if (!(r->lists & bit) || v->tag == NOTHING) continue;
		if (v->tag != LIST && v->tag != LIST_BEFORE) return false;
		const struct list *l = v->payload;
		for (const struct ivalue *each = l->from; each < l->to; each++)
			if (!see_one(r, i, each == l->from, each, s)) return false;
	}
	return true;
}

/* As Operator.layer and Operator.default of ../values/operators.py, where these do nothing but run
   the kernel and forget what it writes. */
static bool passes(const struct rule *r, const struct ivalue *arguments, struct seen *s) {
	if (r->kind == FORWARD) return true;
	if (!see(r, arguments, s)) return false;
	if (!s->device) return !r->fills;
	if (r->kind == HOST || !s->first_device) return false;
	if (r->kind == LAYER) return !s->first_known;
	if (!s->unknown || !s->first_float) return false;
	if (!r->follows || s->largest > gate.unknown_limit) return true;
	bool trained = (s->wants_gradient && torch.gradients()) || torch.backward() != -1;
	return trained;
}

static __thread const void *current; /* the operator that last went to Python */
API const void *memspec_pretend_gate_current(void) { return current; }

static size_t place_of(const void *op) {
	size_t i = (size_t)((uintptr_t)op >> 4) % (2 * MOST_RULES);
	for (const void *there; (there = __atomic_load_n(&rules[i].op, __ATOMIC_ACQUIRE)) && there != op;) i = (i + 1)
		% (2 * MOST_RULES);
	return i;
}

/* Of an operator for the first time; Python's lock is held. */
API void memspec_pretend_gate_learn(const struct rule *r) {
	if (!r->op || rule_count == MOST_RULES || r->arguments > MOST_ARGUMENTS) return;
	struct rule *own = &rules[place_of(r->op)];
	if (own->op) return;
	const void *op = r->op;
	*own = *r;
	own->op = NULL;
	rule_count++;
	__atomic_store_n(&own->op, op, __ATOMIC_RELEASE);
}

/* ---- the kernel of every operator ---- */

static __thread bool probing;
static __thread struct {
	const void *op;
	uint64_t count;
	struct tensor tensors[MOST_ARGUMENTS];
} probed;

static void probe(const void *op, const struct rule *r, const struct stack *stack) {
	probing = false;
	struct seen s = { 0 };
	struct rule all = *r;
	all.written = r->tensors | r->lists;
	all.several = 0;
	probed.op = op;
	probed.count = 0;
	if (stack->to - stack->from >= r->arguments && see(&all, stack->to - r->arguments, &s))
		for (; probed.count < s.written_count && probed.count < MOST_ARGUMENTS; probed.count++)
			probed.tensors[probed.count] = s.written[probed.count];
	free(s.written);
}

struct running {
	struct seen seen;
	int operators;
	bool excluded;
};
static void end_run(struct running *r) {
	*memspec_pretend_operators() = r->operators;
	if (r->excluded) torch.exclude(gate.key, false);
	free(r->seen.written);
}

static bool run_onward(const struct rule *r, boxed *onward, const void *const *op, uint64_t keys, struct stack *stack) {
	/* also where C++ throws */
	struct running run __attribute__((cleanup(end_run))) = { .operators = *memspec_pretend_operators() };
	struct reads *reads = memspec_pretend_reads();
	unsigned long long before = reads->count;
	if (stack->to - stack->from < r->arguments || !passes(r, stack->to - r->arguments, &run.seen)) return false;
	if (r->alone) torch.exclude(gate.key, run.excluded = true);
	if (run.seen.device) *memspec_pretend_operators() = 1;
	onward(NULL, op, keys & gate.below, stack);
	if (run.seen.device && reads->count != before) {
		reads->count = before;
		gate.note(*op, reads->bytes);
	}
	for (size_t i = 0; i < run.seen.written_count; i++)
		if (run.seen.written[i].device == CUDA) bytes_unknown(run.seen.written[i].at, run.seen.written[i].bytes);
	return true;
}

static void pass_or_call(void *functor, const void *const *op, uint64_t keys, struct stack *stack) {
	boxed *onward = gate.onward;
	const struct rule *r = onward || probing ? &rules[place_of(*op)] : NULL;
	if (r && r->op) {
		if (probing) probe(*op, r, stack);
		else if (onward && run_onward(r, onward, op, keys, stack)) return;
	}
	current = *op;
	gate.python(functor, op, keys, stack);
}

/* ---- opening it ---- */

/* Of the next operator with a rule it is kept what is read of its arguments, and it goes to Python. */
API void memspec_pretend_gate_probe(int on) { probing = on; }
API uint64_t memspec_pretend_gate_probed(const void **op, uint64_t i, struct tensor *into) {
	*op = probed.op;
	if (i < probed.count) *into = probed.tensors[i];
	return probed.count;
}

static bool find_functions(void) {
#define OF(library, member, name) ASSIGN_FUNCTION(torch.member, real_function(library, name))
	OF("libtorch_cpu.so", type, "aoti_torch_get_dtype");
	OF("libtorch_cpu.so", device, "aoti_torch_get_device_type");
	/* from 2.9 on; tensors of other layouts have other tables of functions */
	OF("libtorch_cpu.so", layout, "aoti_torch_get_layout");
	OF("libtorch_cpu.so", elements, "aoti_torch_get_numel");
	OF("libtorch_cpu.so", dims, "aoti_torch_get_dim");
	OF("libtorch_cpu.so", address, "aoti_torch_get_data_ptr");
	OF("libtorch_cpu.so", sizes, "aoti_torch_get_sizes");
	OF("libtorch_cpu.so", strides, "aoti_torch_get_strides");
	OF("libtorch_cpu.so", backward, "_ZN5torch8autograd25get_current_graph_task_idEv");
	OF("libc10.so", wants_gradient, "_ZNK3c1010TensorImpl13requires_gradEv");
	OF("libc10.so", gradients, "_ZN3c108GradMode10is_enabledEv");
	OF("libc10.so", exclude, "_ZN3c104impl29tls_set_dispatch_key_excludedENS_11DispatchKeyEb");
	return torch.type && torch.device && torch.elements && torch.dims && torch.address && torch.sizes && torch.strides &&
		torch.backward &&
	       torch.wants_gradient && torch.gradients && torch.exclude;
}

/* Before probing: what is needed to read arguments. False: this PyTorch has it not. */
API bool memspec_pretend_gate_ready(void) {
	gate.plain = (const char *)real_function("libc10.so", "_ZTVN3c1010TensorImplE");
	gate.undefined = (const char *)real_function("libc10.so", "_ZN3c1019UndefinedTensorImpl10_singletonE");
	if (gate.plain) gate.plain += 2 * sizeof(void *);
	return gate.plain && gate.undefined && find_functions() && gate.python;
}

/* snapshot: the number of PythonTLSSnapshot, whose kernel calls the next one by the keys that it is
   given. note: called with what an operator read that is not known. False: it stays closed. */
API bool memspec_pretend_gate_open(uint16_t snapshot, uint16_t key, uint64_t below, int64_t unknown_limit,
	void (*note)(const void *, uint64_t)) {
	gate.key = key;
	gate.below = below;
	gate.unknown_limit = unknown_limit;
	gate.note = note;
	boxed *found = NULL;
	for (int i = 0; i < fallback_count; i++) {
		if (fallbacks[i].key != snapshot) continue;
		if (found) return false;
		found = fallbacks[i].run;
	}
	Dl_info of;
	if (!found || !dladdr((void *)(uintptr_t)found, &of) || !of.dli_fname || !strstr(of.dli_fname, "/libtorch_cpu.so"))
		return false;
	gate.onward = found;
	return true;
}

/* Everything goes to Python again. */
API void memspec_pretend_gate_close(void) { gate.onward = NULL; }
