/* The stack of Python's frames as a text that was made before. A training step has hundreds of
   stacks, the same in each step; to walk one in Python takes longer than the operator that it is
   of. Here a stack is found by its frames' code and instructions. */
#include "pretend.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 256, MOST_STACKS = 4096, PLACES = 4 * MOST_STACKS, NO_ARGUMENTS = 0x4 }; /* METH_NOARGS */

struct place {
	void *code;
	intptr_t instruction;
};
struct stack {
	uint64_t hash;
	size_t count;
	struct place *places;
	void *text;
};
static struct stack *stacks; /* by hash, each in the first free place from there; Python's lock is held */
static size_t stack_count;
static void *make_text;

static struct {
	void *(*frame)(void), *(*back)(void *), *(*code)(void *), *(*call)(void *), *(*function)(void *, void *, void *);
	int (*instruction)(void *);
	void (*keep)(void *), (*release)(void *);
} python;

static void forget_all(void) {
	for (size_t i = 0; i < PLACES; i++) {
		for (size_t k = 0; k < stacks[i].count; k++) python.release(stacks[i].places[k].code);
		if (stacks[i].text) python.release(stacks[i].text);
		free(stacks[i].places);
		stacks[i] = (struct stack){ 0 };
	}
	stack_count = 0;
}

/* The stack's own place, or the free one where it belongs. */
static struct stack *find(uint64_t hash, const struct place *places, size_t count) {
	for (size_t i = (size_t)hash % PLACES;; i = (i + 1) % PLACES) {
		struct stack *s = &stacks[i];
		if (!s->text || (s->hash == hash && s->count == count && !memcmp(s->places, places, count * sizeof *places)))
			return s;
	}
}

static void keep_text(uint64_t hash, const struct place *places, size_t count, void *text) {
	if (stack_count == MOST_STACKS) forget_all();
	struct stack *s = find(hash, places, count);
	struct place *own = s->text ? NULL : malloc(count * sizeof *own);
	if (!own) return;
	memcpy(own, places, count * sizeof *own);
	for (size_t k = 0; k < count; k++) python.keep(own[k].code); /* its address stays its own */
	python.keep(text);
	*s = (struct stack){ hash, count, own, text };
	stack_count++;
}

/* A function of Python's: the text of its caller's caller and the frames around that. */
static void *text_of_stack(void *self UNUSED, void *none UNUSED) {
	struct place places[MOST_FRAMES];
	size_t count = 0;
	uint64_t hash = 1469598103934665603u;
	void *own = python.frame(), *frame = own ? python.back(own) : NULL;
	for (; frame && count < MOST_FRAMES; count++) {
		places[count] = (struct place){ python.code(frame), python.instruction(frame) };
		python.release(places[count].code); /* its frame has it, which lies on the stack */
		hash = (hash ^ (uintptr_t)places[count].code) * 1099511628211u;
		hash = (hash ^ (uint64_t)places[count].instruction) * 1099511628211u;
		hash ^= hash >> 29;
		void *back = python.back(frame);
		python.release(frame);
		frame = back;
	}
	if (frame || !count) { /* deeper than is kept */
		if (frame) python.release(frame);
		return python.call(make_text);
	}
	struct stack *s = find(hash, places, count);
	if (s->text) {
		python.keep(s->text);
		return s->text;
	}
	void *text = python.call(make_text);
	if (text) keep_text(hash, places, count, text);
	return text;
}

/* make: called without arguments for the text of a stack that is not known, which it returns. It
   stays. The result is a function that Python calls in its place; null where this Python has no
   such frames (before 3.11). Call it once, with Python's lock held. */
API void *memspec_pretend_stack_finder(void *make) {
	static const struct {
		const char *name;
		void *(*run)(void *, void *);
		int flags;
		const char *text;
	} method = { "stack", text_of_stack, NO_ARGUMENTS, NULL }; /* PyMethodDef */
	void *self = dlopen(NULL, RTLD_NOW);
	ASSIGN_FUNCTION(python.frame, dlsym(self, "PyEval_GetFrame"));
	ASSIGN_FUNCTION(python.back, dlsym(self, "PyFrame_GetBack"));
	ASSIGN_FUNCTION(python.code, dlsym(self, "PyFrame_GetCode"));
	ASSIGN_FUNCTION(python.instruction, dlsym(self, "PyFrame_GetLasti"));
	ASSIGN_FUNCTION(python.call, dlsym(self, "PyObject_CallNoArgs"));
	ASSIGN_FUNCTION(python.function, dlsym(self, "PyCFunction_NewEx"));
	ASSIGN_FUNCTION(python.keep, dlsym(self, "Py_IncRef"));
	ASSIGN_FUNCTION(python.release, dlsym(self, "Py_DecRef"));
	if (!python.frame || !python.back || !python.code || !python.instruction || !python.call || !python.function ||
		!python.keep || !python.release) return NULL;
	stacks = calloc(PLACES, sizeof *stacks);
	void *found = stacks ? python.function((void *)(uintptr_t)&method, NULL, NULL) : NULL;
	if (found) {
		make_text = make;
		python.keep(make);
	}
	return found;
}
