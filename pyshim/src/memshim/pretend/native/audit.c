/* Python's audit events. A hook that is written in Python is called for each of them, thousands in
   a training step (id(), the code of a frame), a microsecond each. Here those that nobody wants end
   at once. */
#include "pretend.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int (*hook_function)(const char *event, void *arguments, void *data);
typedef int (*add_function)(hook_function hook, void *data);
typedef void *(*call_function)(void *callable, const char *format, ...);

static call_function call;
static void (*give_back)(void *object);
static int (*finalizing)(void); /* Python has run what was registered for its end: its modules go */

struct hook {
	void *act;    /* what is called with an event and its arguments */
	char names[]; /* " open os.rename " */
};

static bool wanted(const struct hook *h, const char *event) {
	size_t n = strlen(event);
	for (const char *at = h->names; n && (at = strstr(at, event)); at += n)
		if (at[-1] == ' ' && at[n] == ' ') return true;
	return false;
}

static int hear(const char *event, void *arguments, void *data) {
	struct hook *h = data;
	if (!arguments || !wanted(h, event) || finalizing()) return 0;
	void *result = call(h->act, "sO", event, arguments);
	if (!result) return -1; /* its error becomes the event's */
	give_back(result);
	return 0;
}

/* names: with a space before, between and behind them. act stays. False: this is no Python that can
   be heard. Call it with Python's lock held. */
API bool memspec_pretend_hear(const char *names, void *act) {
	void *self = dlopen(NULL, RTLD_NOW);
	if (!self) return false;
	add_function add = NULL;
	*(void **)&add = dlsym(self, "PySys_AddAuditHook");
	*(void **)&call = dlsym(self, "PyObject_CallFunction");
	*(void **)&give_back = dlsym(self, "Py_DecRef");
	*(void **)&finalizing = dlsym(self, "Py_IsFinalizing");
	if (!finalizing) *(void **)&finalizing = dlsym(self, "_Py_IsFinalizing"); /* before 3.13 */
	struct hook *h = malloc(sizeof *h + strlen(names) + 1);
	if (!add || !call || !give_back || !finalizing || !h) {
		free(h);
		return false;
	}
	h->act = act;
	strcpy(h->names, names);
	bool heard = !add(hear, h);
	if (!heard) free(h);
	return heard;
}
