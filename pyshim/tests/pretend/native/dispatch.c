/* Which operators pass by Python (gate.c), with functions in the place of PyTorch's (torch.h). Where a
   kernel is by the file of its library: this program's name has the names of PyTorch's. */
#include "torch.h"

/* ---- registering ---- */

static uint64_t library[16]; /* a torch::Library */
static void set_key(size_t at, uint16_t key) {
	memset(library, 0, sizeof library);
	memcpy((char *)library + at, &key, sizeof key);
	((char *)library)[at + 2] = 1; /* std::optional: there is one */
}
static void *fall_back(boxed *run, void *functor) {
	struct function f = { 0, functor, run };
	void *out = _ZNR5torch7Library9_fallbackEONS_11CppFunctionE(library, &f);
	CHECK(out == library && made.library == library && made.f == &f);
	return (void *)(uintptr_t)f.run;
}
static boxed *registered(boxed *run, void *functor) {
	struct function f = { 0, functor, run };
	CHECK(_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE(library, "a name", &f, 7) == library);
	CHECK(made.library == library && made.f == &f && made.verify == 7 && !strcmp(made.name, "a name"));
	return f.run;
}
static bool opens(void) { return memspec_pretend_gate_open(SNAPSHOT, OWN_KEY, BELOW, LIMIT, note); }

/* Of what Python registers one kernel stands before it; all else stays, and is counted. */
static void registers(void) {
	CHECK(!memspec_pretend_gate_ready()); /* no kernel of Python's is known */
	CHECK(registered(python, library) == python && memspec_pretend_gate_registered() == 1);
	memspec_pretend_gate_wrap(1);
	CHECK(registered(NULL, library) == NULL && registered(python, NULL) == python);
	CHECK(!memspec_pretend_gate_ready());
	kernel = registered(python, library);
	CHECK(kernel != python && memspec_pretend_gate_ready());
	CHECK(registered(onward, library) == onward && registered(kernel, library) == kernel);
	CHECK(registered(NULL, library) == NULL);
	CHECK(fall_back(python, library) == (void *)(uintptr_t)kernel);
	memspec_pretend_gate_wrap(0);
	CHECK(registered(python, library) == python && memspec_pretend_gate_registered() == 2);
}

/* PythonTLSSnapshot's kernel is the one of that key, where there is one alone, of PyTorch's own. */
static void opening(void) {
	static const char *const needed[] = { "aoti_torch_get_dtype", "aoti_torch_get_device_type", "aoti_torch_get_numel",
		"aoti_torch_get_dim", "aoti_torch_get_data_ptr", "aoti_torch_get_sizes", "aoti_torch_get_strides",
		"_ZN5torch8autograd25get_current_graph_task_idEv", "_ZNK3c1010TensorImpl13requires_gradEv",
		"_ZN3c108GradMode10is_enabledEv", "_ZN3c104impl29tls_set_dispatch_key_excludedENS_11DispatchKeyEb",
		"_ZTVN3c1010TensorImplE", "_ZN3c1019UndefinedTensorImpl10_singletonE" };
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
		missing = needed[i];
		CHECK(!memspec_pretend_gate_ready());
	}
	missing = "";
	CHECK(memspec_pretend_gate_ready());
	size_t at = newer_strings ? 48 : 24; /* behind a std::string of C++11, and one from before it */
	CHECK(!opens());
	set_key(newer_strings ? 24 : 48, SNAPSHOT);
	fall_back(onward, NULL); /* that is no key, and 1 is none either */
	CHECK(!memspec_pretend_gate_open(1, OWN_KEY, BELOW, LIMIT, note));
	set_key(at, SNAPSHOT);
	((char *)library)[at + 2] = 0;
	fall_back(onward, NULL); /* for no key */
	set_key(at, OTHER_KEY);
	fall_back(onward, NULL);
	set_key(at, SNAPSHOT);
	fall_back(onward, library); /* with a functor it is a function, which is not called so */
	CHECK(!opens());
	for (int i = 0; i < 60; i++) { /* of 64 the key is kept */
		set_key(at, (uint16_t)(100 + i));
		fall_back(onward, NULL);
	}
	set_key(at, SNAPSHOT);
	CHECK(!opens());
	fall_back(onward, NULL);
	CHECK(opens());
	fall_back(onward, NULL);
	CHECK(opens());
}

/* ---- what a rule says ---- */

static char *p; /* device memory of 1 MiB */

static void goes_to_python(void) {
	const void *op = next_op();
	struct stack stack = { on_stack, on_stack + 1, on_stack + 64 };
	kernel(library, &op, 0xfff, &stack);
	CHECK(python_calls == 1 && to_python.functor == library && to_python.keys == 0xfff && to_python.stack == &stack);
	CHECK(memspec_pretend_gate_current() == op);
}

/* What has no rule, too many arguments or fewer than its rule goes to Python. */
static void rules(void) {
	struct rule r = a_rule(FORWARD, 2);
	CHECK(!passes(r.op, 2) && rule_passes(r));
	CHECK(keys_onward == (0xfff & BELOW));
	for (int n = -1; n <= 2; n++) CHECK(passes(r.op, n) == (n >= -1));
	struct stack stack = { on_stack, on_stack + 1, on_stack + 64 };
	int before = python_calls;
	kernel(NULL, &r.op, 0, &stack);
	CHECK(python_calls == before + 1);
	struct rule again = r;
	again.kind = HOST; /* the first one stays */
	again.arguments = 3;
	CHECK(rule_passes(again));
	CHECK(rule_passes(a_rule(FORWARD, 32)) && !rule_passes(a_rule(FORWARD, 33)));
	rule_count -= 2;
	r = a_rule(FORWARD, 0);
	r.op = NULL;
	memspec_pretend_gate_learn(&r);
	CHECK(!passes(next_op(), 0));
}

/* Kernels of the host's tensors run; with one on the device Python looks. */
static void hosts(void) {
	static float host[6];
	struct tensor here = tensor(FLOAT, CPU, host, 2, 3), there = tensor(FLOAT, CUDA, p, 2, 3);
	struct rule r = a_rule(HOST, 3);
	r.tensors = 1 | 4; /* the first and the third */
	put(0, TENSOR, &here);
	put(1, TENSOR, &there); /* not said to be one: it is not looked at */
	put(2, TENSOR, &here);
	CHECK(rule_passes(r));
	put(2, TENSOR, &there);
	CHECK(!passes(r.op, 3));
	put(2, NOTHING, NULL);
	CHECK(passes(r.op, 3));
	put(2, TENSOR, undefined);
	CHECK(passes(r.op, 3));
	put(2, INT, undefined);
	CHECK(!passes(r.op, 3));
	put(2, INT, &here);
	CHECK(!passes(r.op, 3));
	put(2, NOTHING, NULL);
	r.op = next_op(), r.fills = 1; /* of the host's memory, which initialisers do */
	CHECK(!rule_passes(r));
	r.op = next_op(), r.fills = 0, r.absent = 2;
	CHECK(!rule_passes(r));
	put(1, NOTHING, NULL);
	CHECK(passes(r.op, 3));
	r.op = next_op(), r.absent = 0, r.tensors = 1, r.lists = 2;
	struct ivalue items[] = { { &here, TENSOR }, { NULL, NOTHING }, { &there, TENSOR } };
	struct list of_two = { NULL, 1, items, items + 2 }, of_three = { NULL, 1, items, items + 3 };
	CHECK(rule_passes(r)); /* no list */
	put(1, LIST, &of_two);
	CHECK(passes(r.op, 3));
	put(1, LIST_BEFORE, &of_two);
	CHECK(passes(r.op, 3));
	put(1, LIST, &of_three);
	CHECK(!passes(r.op, 3));
	put(1, LIST_BEFORE + 2, &of_two);
	CHECK(!passes(r.op, 3));
	put(1, LIST_BEFORE - 1, &of_two);
	CHECK(!passes(r.op, 3));
	r.op = next_op(), r.lists = 0, r.written = 1, r.several = 7; /* elements at least */
	CHECK(!rule_passes(r));
	r.op = next_op(), r.several = 6;
	CHECK(rule_passes(r));
}

/* A layer runs where its first argument is on the device and not known; what it writes there is not known. */
static void layers(void) {
	static float host[6];
	struct tensor here = tensor(FLOAT, CPU, host, 2, 3), in = tensor(FLOAT, CUDA, p, 2, 3),
		out = tensor(FLOAT, CUDA, p + 512, 2, 3);
	struct rule r = a_rule(LAYER, 3);
	r.tensors = 1 | 2 | 4, r.written = 2 | 4, r.follows = 1;
	put(0, TENSOR, &in);
	put(1, TENSOR, &out);
	put(2, TENSOR, &here);
	bytes_unknown(p, 24);
	SUCCEEDS(cudaMemset(p + 512, 1, 25));
	CHECK(rule_passes(r) && memspec_pretend_known(p + 512, 24) == -1 && is_known(p + 536, 1));
	SUCCEEDS(cudaMemset(p, 1, 24));
	SUCCEEDS(cudaMemset(p + 512, 1, 24));
	CHECK(!passes(r.op, 3) && is_known(p + 512, 24)); /* that is known: Python computes it */
	bytes_unknown(p + 20, 1);
	CHECK(passes(r.op, 3)); /* known in part, dense */
	in.strides[0] = 4, in.strides[1] = 1; /* with a gap, which need not be known */
	CHECK(!passes(r.op, 3));
	in = tensor(FLOAT, CUDA, p, 2, 3);
	SUCCEEDS(cudaMemset(p, 1, 24));
	struct rule unfollowed = r;
	unfollowed.op = next_op(), unfollowed.follows = 0;
	CHECK(rule_passes(unfollowed)); /* nobody computes it */
	put(0, TENSOR, &here);
	CHECK(!passes(r.op, 3));
	/* of addmm the second is the one that counts */
	r.op = next_op(), r.first = 1, r.written = 0;
	bytes_unknown(p + 512, 24);
	CHECK(rule_passes(r));
	SUCCEEDS(cudaMemset(p + 512, 1, 24));
	CHECK(!passes(r.op, 3));
	/* of a list its first */
	struct ivalue items[] = { { &in, TENSOR }, { &out, TENSOR }, { &here, TENSOR } };
	struct list both = { NULL, 1, items, items + 2 }, second = { NULL, 1, items + 1, items + 3 };
	r.op = next_op(), r.tensors = 4, r.lists = 2;
	put(1, LIST, &both);
	bytes_unknown(p, 24);
	CHECK(rule_passes(r));
	put(1, LIST, &second);
	CHECK(!passes(r.op, 3));
}

/* Small ones run of unknown floats where nobody reads their numbers: results that are large, or of training. */
static void small_ones(void) {
	static char host[8];
	struct tensor a = tensor(FLOAT, CUDA, p, 2, 3), b = tensor(FLOAT, CUDA, p + 512, 2, 3),
		here = tensor(FLOAT, CPU, host, 1, 2);
	struct rule r = a_rule(SMALL, 2);
	r.tensors = 1 | 2;
	put(0, TENSOR, &a);
	put(1, TENSOR, &b);
	bytes_unknown(p, 1024);
	CHECK(rule_passes(r)); /* what is not followed */
	static const struct { int type; bool floats; } types[] = { { 0, false }, { 1, false }, { 2, false }, { 3, false },
		{ 4, false }, { 5, true }, { 6, true }, { 7, true }, { 8, false }, { 9, false }, { 10, false }, { 11, false },
		{ 15, true } };
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		a.type = types[i].type;
		CHECK(passes(r.op, 2) == types[i].floats);
	}
	a.type = FLOAT;
	put(0, TENSOR, &here); /* its first is the host's */
	CHECK(!passes(r.op, 2));
	put(0, TENSOR, &a);
	memspec_pretend_chose(p, 24);
	CHECK(passes(r.op, 2)); /* one of them is not known */
	memspec_pretend_chose(p + 512, 24);
	CHECK(!passes(r.op, 2)); /* all are */
	bytes_unknown(p + 532, 4);
	CHECK(passes(r.op, 2)); /* in part */
	b.strides[0] = 4;
	CHECK(!passes(r.op, 2)); /* with a gap */
	b.strides[0] = 3;
	bytes_unknown(p, 24);
	memspec_pretend_chose(p + 512, 24);
	struct rule unread = r;
	unread.op = next_op(), unread.unread = 1; /* what was in the first does not matter */
	CHECK(!rule_passes(unread) && passes(r.op, 2));
	bytes_unknown(p + 512, 24);
	CHECK(passes(unread.op, 2));
	r.op = next_op(), r.follows = 1;
	CHECK(!rule_passes(r)); /* small, without gradients */
	b.elements = LIMIT;
	CHECK(!passes(r.op, 2));
	b.elements = LIMIT + 1;
	CHECK(passes(r.op, 2));
	b.elements = 6;
	b.wants_gradient = true;
	CHECK(passes(r.op, 2));
	gradients = false;
	CHECK(!passes(r.op, 2));
	backward = 0;
	CHECK(passes(r.op, 2));
	gradients = true, backward = -1, b.wants_gradient = false;
	CHECK(!passes(r.op, 2));
	backward = 0;
	CHECK(passes(r.op, 2));
	backward = -1;
}

/* ---- what is around a kernel ---- */

static int operators_within, excluded_within;
static void look_around(void) {
	operators_within = *memspec_pretend_operators();
	excluded_within = excluded.now;
}
static void read_unknown(void) {
	char four[4];
	SUCCEEDS(cudaMemcpy(four, p, 4, 2));
}

/* Inside of a kernel that passes writes are reported, and reads of what is not known are its own. */
static void around(void) {
	static float host[6];
	struct tensor here = tensor(FLOAT, CPU, host, 2, 3), there = tensor(FLOAT, CUDA, p, 2, 3);
	unsigned long long *reads = &memspec_pretend_reads()->count, before = *reads;
	bytes_unknown(p, 24);
	put(0, TENSOR, &there);
	const void *op = learnt(a_rule(LAYER, 1));
	while_onward = look_around;
	for (int outside = -1; outside <= 0; outside++) {
		*memspec_pretend_operators() = outside;
		put(0, TENSOR, &there);
		CHECK(passes(op, 1) && operators_within == 1 && *memspec_pretend_operators() == outside);
	}
	const void *of_host = learnt(a_rule(HOST, 1));
	put(0, TENSOR, &here);
	operators_within = 5;
	CHECK(passes(of_host, 1) && operators_within == 0 && !excluded_within && noted_read.times == 0);
	while_onward = read_unknown;
	CHECK(passes(of_host, 1) && *reads == before + 1 && noted_read.times == 0); /* it calls others, which say so */
	put(0, TENSOR, &there);
	CHECK(passes(op, 1) && *reads == before + 1);
	CHECK(noted_read.times == 1 && noted_read.op == op && noted_read.bytes == 4);
	/* what it calls inside does not come here, if the rule says so */
	struct rule alone = a_rule(FORWARD, 1);
	alone.alone = 1;
	learnt(alone);
	while_onward = look_around;
	struct stack stack = { on_stack, on_stack + 4, on_stack + 64 };
	kernel(NULL, &alone.op, 0, &stack);
	CHECK(excluded_within == 1 && excluded.now == 0 && excluded.times == 2 && excluded.key == OWN_KEY);
	while_onward = NULL;
}

/* ---- tensors as they are read ---- */

static struct rule probe_rule;
static uint64_t probed(struct seen *out) {
	const void *op;
	memspec_pretend_gate_probe(1);
	CHECK(!passes(probe_rule.op, probe_rule.arguments)); /* goes to Python, and the next one is not probed */
	CHECK(passes(probe_rule.op, probe_rule.arguments));
	uint64_t n = memspec_pretend_gate_probed(&op, 0, out);
	CHECK(op == probe_rule.op);
	return n;
}
static void is_not_followed(const struct tensor *t) {
	struct seen s;
	put(0, TENSOR, t);
	CHECK(probed(&s) == 0);
}

static void tensors(void) {
	struct tensor plain = tensor(FLOAT, CPU, p, 2, 3), t = plain;
	struct seen s;
	probe_rule = a_rule(FORWARD, 1);
	probe_rule.several = 100;
	learnt(probe_rule);
	static const size_t items[] = { 1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 0, 0, 0, 2, 0 }; /* c10::ScalarType */
	for (int type = 0; type < 17; type++) {
		t.type = type;
		put(0, TENSOR, &t);
		CHECK(probed(&s) == (items[type] != 0));
		if (items[type]) CHECK(s.bytes == 6 * items[type] && s.type == type);
	}
	t = plain;
	put(0, TENSOR, &t);
	CHECK(probed(&s) == 1 && s.at == p && s.elements == 6 && s.device == CPU && s.dense && !s.wants_gradient);
	t.wants_gradient = true, t.device = CUDA;
	CHECK(probed(&s) == 1 && s.wants_gradient && s.device == CUDA);
	t.strides[0] = 5; /* to its last element */
	CHECK(probed(&s) == 1 && !s.dense && s.bytes == 8 * 4);
	t.strides[0] = 1, t.strides[1] = 2; /* transposed */
	CHECK(probed(&s) == 1 && !s.dense && s.bytes == 6 * 4);
	t = tensor(FLOAT, CPU, p, 1, 3);
	t.strides[0] = 100; /* of one row it does not matter */
	CHECK(probed(&s) == 1 && s.dense && s.bytes == 3 * 4);
	t = tensor(FLOAT, CPU, NULL, 0, 3);
	t.strides[0] = 100;
	CHECK(probed(&s) == 1 && s.dense && s.bytes == 0 && !s.at); /* of no elements */
	t = plain, t.elements = 1, t.dims = 0;
	CHECK(probed(&s) == 1 && s.dense && s.bytes == 4);
	t.dims = 64;
	for (int i = 0; i < 66; i++) t.sizes[i] = 1, t.strides[i] = 1;
	CHECK(probed(&s) == 1);
	t.dims = 65;
	is_not_followed(&t);
	t = plain, t.at = NULL;
	is_not_followed(&t);
	t = plain, t.storage = NULL;
	is_not_followed(&t);
	t = plain, t.table = table; /* of a class that is made from it */
	is_not_followed(&t);
	t = plain, t.device = XLA;
	is_not_followed(&t);
	t = plain, t.layout = 1;
	is_not_followed(&t);
	t = plain;
	static const char *const fail[] = { "dtype", "device_type", "layout", "numel", "dim", "sizes", "strides",
		"data_ptr" };
	for (size_t i = 0; i < sizeof fail / sizeof *fail; i++) {
		t.fails = fail[i];
		is_not_followed(&t);
	}
	missing = "aoti_torch_get_layout"; /* before 2.9 */
	CHECK(memspec_pretend_gate_ready());
	t = plain, t.layout = 1;
	put(0, TENSOR, &t);
	CHECK(probed(&s) == 1);
	missing = "";
	CHECK(memspec_pretend_gate_ready());
}

/* Tensors and lists of an operator are kept in their order, 32 of them; of one without a rule none. */
static void probes(void) {
	struct tensor many[34];
	struct ivalue items[34];
	for (int i = 0; i < 34; i++) {
		many[i] = tensor(FLOAT, CPU, p + 64 * i, 1, 1 + i);
		items[i] = (struct ivalue){ &many[i], TENSOR };
	}
	struct list l = { NULL, 1, items, items + 2 };
	struct seen s = { 0 };
	probe_rule = a_rule(FORWARD, 3);
	probe_rule.tensors = 1 | 4, probe_rule.lists = 2;
	learnt(probe_rule);
	put(0, TENSOR, &many[7]);
	put(1, LIST, &l);
	put(2, TENSOR, &many[8]);
	CHECK(probed(&s) == 4 && s.elements == 8);
	static const int wanted[] = { 8, 1, 2, 9 };
	const void *op;
	for (uint64_t i = 0; i < 4; i++) CHECK(memspec_pretend_gate_probed(&op, i, &s) == 4 && s.elements == wanted[i]);
	s.elements = 77;
	CHECK(memspec_pretend_gate_probed(&op, 4, &s) == 4 && s.elements == 77);
	l.to = items + 34;
	CHECK(probed(&s) == 32);
	struct stack stack = { on_stack, on_stack + 2, on_stack + 64 }; /* fewer than its arguments */
	memspec_pretend_gate_probe(1);
	kernel(NULL, &probe_rule.op, 0, &stack);
	CHECK(memspec_pretend_gate_probed(&op, 0, &s) == 0);
	stack = (struct stack){ on_stack + 3, on_stack + 6, on_stack + 64 };
	memspec_pretend_gate_probe(1);
	kernel(NULL, &probe_rule.op, 0, &stack);
	CHECK(memspec_pretend_gate_probed(&op, 0, &s) == 32);
	memspec_pretend_gate_close(); /* all go to Python, and are probed still */
	int before = python_calls;
	l.to = items + 2;
	const void *without = next_op();
	memspec_pretend_gate_probe(1);
	kernel(NULL, &without, 0, &stack); /* has no rule */
	kernel(NULL, &probe_rule.op, 0, &stack);
	CHECK(memspec_pretend_gate_probed(&op, 0, &s) == 4 && python_calls == before + 2);
	kernel(NULL, &probe_rule.op, 0, &stack);
	CHECK(python_calls == before + 3);
	CHECK(opens());
}

/* There is room for 4096 rules; what comes after them goes to Python. */
static void many_rules(void) {
	while (rule_count < 4096) CHECK(rule_passes(a_rule(FORWARD, 0)));
	CHECK(!rule_passes(a_rule(FORWARD, 0)));
}

static void in_child(void (*f)(void)) {
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) f(), exit(0);
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}
static void two_kernels(void) { /* which of them it is, is not known */
	memspec_pretend_gate_close();
	set_key(48, SNAPSHOT);
	fall_back(onward, NULL);
	CHECK(opens());
	fall_back(onward, NULL);
	CHECK(!opens());
}
static void older_strings(void) {
	newer_strings = false;
	opening();
}

void dispatch(void) {
	fake_function = torch_function;
	registers();
	in_child(two_kernels);
	in_child(older_strings);
	opening();
	SUCCEEDS(cudaMalloc((void **)&p, MIB));
	memspec_pretend_track(1, 0);
	goes_to_python();
	rules();
	hosts();
	layers();
	small_ones();
	around();
	tensors();
	probes();
	many_rules();
}

/* The same kernels, where they lie in other libraries: Python's is none of PyTorch's, or the next one is not. */
void elsewhere(void) {
	fake_function = torch_function;
	memspec_pretend_gate_wrap(1);
	CHECK(registered(python, library) == python && !memspec_pretend_gate_ready());
}
void onward_elsewhere(void) {
	fake_function = torch_function;
	memspec_pretend_gate_wrap(1);
	CHECK(registered(python, library) != python && memspec_pretend_gate_ready());
	set_key(48, SNAPSHOT);
	fall_back(onward, NULL);
	CHECK(!opens());
}
