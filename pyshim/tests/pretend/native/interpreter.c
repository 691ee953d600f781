/* What the library does with Python's own functions (audit.c, stacks.c); here others stand in their
   place, with objects that count their references. */
#include "unit.h"

bool memspec_pretend_hear(const char *names, void *act);
void *memspec_pretend_stack_finder(void *make);

static const char *missing; /* the function that this Python does not have */
struct entry {
	const char *name;
	void *f;
};
static void *found(const struct entry *all, size_t n, const char *name) {
	if (missing && !strcmp(name, missing)) return NULL;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, all[i].name)) return all[i].f;
	return NULL;
}

/* ---- audit events ---- */

static struct {
	int (*hook)(const char *, void *, void *);
	void *data;
	int refused, ends, calls, given_back;
	bool fails;
	const char *event;
	void *arguments;
} audit;
static int act, result;

static int add_hook(int (*hook)(const char *, void *, void *), void *data) {
	if (audit.refused) return -1;
	audit.hook = hook, audit.data = data;
	return 0;
}
static void *call_function(void *callable, const char *format, const char *event, void *arguments) {
	CHECK(callable == &act && !strcmp(format, "sO"));
	audit.calls++, audit.event = event, audit.arguments = arguments;
	return audit.fails ? NULL : &result;
}
static void give_back(void *object) { audit.given_back += object == &result; }
static int finalizing(void) { return audit.ends; }

static const char *ends_by = "Py_IsFinalizing";
static void *of_audit(const char *name) {
	const struct entry all[] = { { "PySys_AddAuditHook", add_hook }, { "PyObject_CallFunction", call_function },
		{ "Py_DecRef", give_back }, { ends_by, finalizing } };
	return found(all, 4, name);
}

/* Whether an event is passed on, with what it has. */
static bool passed_on(const char *event) {
	int before = audit.calls, arguments;
	CHECK(audit.hook(event, &arguments, audit.data) == 0);
	bool called = audit.calls == before + 1;
	CHECK(audit.calls <= before + 1 && audit.given_back == audit.calls);
	CHECK(!called || (audit.event == event && audit.arguments == &arguments));
	return called;
}

void audit_events(void) {
	static const char *const functions[] = { "PySys_AddAuditHook", "PyObject_CallFunction", "Py_DecRef",
		"Py_IsFinalizing" };
	static const char names[] = " os.open open os.rename ";
	fake_symbol = of_audit;
	for (int i = 0; i < 4; i++) {
		missing = functions[i];
		CHECK(!memspec_pretend_hear(names, &act));
	}
	missing = NULL;
	audit.refused = 1;
	CHECK(!memspec_pretend_hear(names, &act));
	audit.refused = 0;
	ends_by = "_Py_IsFinalizing"; /* before Python 3.13 */
	CHECK(memspec_pretend_hear(names, &act));
	CHECK(passed_on("open") && passed_on("os.open") && passed_on("os.rename"));
	CHECK(!passed_on("rename") && !passed_on("os.renam") && !passed_on("os") && !passed_on("") && !passed_on("close"));
	int before = audit.calls;
	CHECK(audit.hook("open", NULL, audit.data) == 0 && audit.calls == before);
	audit.ends = 1; /* Python's modules go */
	CHECK(!passed_on("open"));
	audit.ends = 0, audit.fails = true; /* its error becomes the event's */
	CHECK(audit.hook("open", &before, audit.data) == -1 && audit.given_back == before);
}

/* ---- texts of stacks ---- */

enum { MOST_FRAMES = 256, MOST_STACKS = 4096 };
struct object {
	long references;
};
static struct frame {
	struct object object; /* the first */
	struct frame *back;
	struct object *code;
	int instruction;
} frames[MOST_FRAMES + 2];
static struct object codes[2], make, function, texts[3 * MOST_STACKS];
static struct frame *innermost;
static int made, instruction_of_first;
static bool fails;
static void *(*run)(void *, void *);

static void keep(struct object *o) { o->references++; }
static void release(struct object *o) { CHECK(o->references-- > 0); }
static void *current_frame(void) { return innermost; } /* which the caller does not own */
static void *back(struct frame *f) {
	if (f->back) keep(&f->back->object);
	return f->back;
}
static void *code(struct frame *f) { return keep(f->code), f->code; }
static int instruction(struct frame *f) { return f->instruction; }
static void *call(struct object *o) {
	CHECK(o == &make);
	if (fails) return NULL;
	texts[made].references = 1;
	return &texts[made++];
}
static void *new_function(void *method, void *self, void *module) {
	struct {
		const char *name;
		void *(*run)(void *, void *);
		int flags;
	} m;
	memcpy(&m, method, sizeof m);
	CHECK(!self && !module && !strcmp(m.name, "stack") && m.flags == 4); /* METH_NOARGS */
	run = m.run;
	return &function;
}
static void *of_frames(const char *name) {
	const struct entry all[] = { { "PyEval_GetFrame", current_frame }, { "PyFrame_GetBack", back },
		{ "PyFrame_GetCode", code }, { "PyFrame_GetLasti", instruction }, { "PyObject_CallNoArgs", call },
		{ "PyCFunction_NewEx", new_function }, { "Py_IncRef", keep }, { "Py_DecRef", release } };
	return found(all, 8, name);
}

/* The text of so many frames around the one that asks; its caller owns it. */
static struct object *text(int depth) {
	for (int i = 0; i <= depth; i++) {
		frames[i] = (struct frame){ { 1 }, i < depth ? &frames[i + 1] : NULL, &codes[i % 2], 10 * i };
	}
	frames[1].instruction = instruction_of_first;
	innermost = frames;
	struct object *t = run(NULL, NULL);
	for (int i = 0; i <= depth; i++) CHECK(frames[i].object.references == 1);
	return t;
}

void stack_texts(void) {
	static const char *const functions[] = { "PyEval_GetFrame", "PyFrame_GetBack", "PyFrame_GetCode",
		"PyFrame_GetLasti", "PyObject_CallNoArgs", "PyCFunction_NewEx", "Py_IncRef", "Py_DecRef" };
	fake_symbol = of_frames;
	for (int i = 0; i < 8; i++) {
		missing = functions[i];
		CHECK(!memspec_pretend_stack_finder(&make));
	}
	missing = NULL;
	CHECK(memspec_pretend_stack_finder(&make) == &function && make.references == 1);
	/* a stack is asked for once; the table has a reference to its text and to each frame's code */
	struct object *first = text(3);
	CHECK(made == 1 && first == &texts[0] && first->references == 2);
	CHECK(codes[1].references == 2 && codes[0].references == 1);
	CHECK(text(3) == first && made == 1 && first->references == 3);
	/* another one has another depth, instruction or code */
	CHECK(text(2) == &texts[1] && text(4) == &texts[2]);
	instruction_of_first = 7;
	CHECK(text(3) == &texts[3] && text(3) == &texts[3] && made == 4);
	instruction_of_first = 0;
	CHECK(text(3) == first);
	/* of none, or of more than are kept, each time */
	CHECK(text(0) == &texts[4] && text(0) == &texts[5] && texts[5].references == 1);
	CHECK(text(MOST_FRAMES) == &texts[6] && text(MOST_FRAMES) == &texts[6]);
	CHECK(text(MOST_FRAMES + 1) == &texts[7] && text(MOST_FRAMES + 1) == &texts[8] && texts[8].references == 1);
	innermost = NULL;
	CHECK(run(NULL, NULL) == &texts[9]);
	fails = true; /* Python's error: nothing is kept */
	CHECK(!text(5));
	fails = false;
	CHECK(text(5) == &texts[10]);
	/* the table is emptied where it is full: of 4096, the six from before among them */
	for (int i = 0; i < MOST_STACKS - 6; i++) {
		instruction_of_first = 1000 + i;
		CHECK(text(1) == &texts[11 + i]);
	}
	int all = made;
	CHECK(text(1) == &texts[all - 1] && texts[11].references == 2);
	instruction_of_first = 0;
	CHECK(text(3) == first && made == all);
	instruction_of_first = 1; /* one more */
	CHECK(text(1) == &texts[all] && texts[11].references == 1 && codes[0].references == 0 && codes[1].references == 1);
	instruction_of_first = 0;
	CHECK(text(3) == &texts[all + 1]);
}
