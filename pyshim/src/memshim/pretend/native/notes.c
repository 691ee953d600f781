/* What was asked for and is not replaced: reported on stderr, kept for the Python side. And how
   real libraries are found. */
#include "pretend.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const library_names[] = {
	[CUDA_RUNTIME] = "the CUDA runtime", [CUDA_DRIVER] = "the CUDA driver", [CUBLAS] = "cuBLAS", [CUDNN] = "cuDNN",
		[CUFFT] = "cuFFT",
	[CUSOLVER] = "cuSOLVER", [CUSPARSE] = "cuSPARSE", [CUSPARSELT] = "cuSPARSELt", [NCCL] = "NCCL", [NVML] = "NVML",
	[CUFILE] = "cuFile",
	[NVJPEG] = "nvJPEG", [NVSHMEM] = "NVSHMEM",
};

enum kind { REFUSED, ABSENT, UNSIZED, UNFOLLOWED, ESTIMATED };
struct note {
	enum kind kind;
	const char *name;
	unsigned long long count;
};
/* a CUDA runtime that is linked into something asks for each of the driver's 600 functions by its
   name */
static struct note *notes;
static int note_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread const char *last_refused;

/* A forked child must not inherit a lock that another thread held. */
static void hold(void) { pthread_mutex_lock(&lock); }
static void release(void) { pthread_mutex_unlock(&lock); }
__attribute__((constructor)) static void keep_lock_over_fork(void) { pthread_atfork(hold, release, release); }

static bool keep(enum kind kind, const char *name) { /* whether it is the first of its name */
	pthread_mutex_lock(&lock);
	int i = 0;
	while (i < note_count && (notes[i].kind != kind || strcmp(notes[i].name, name))) i++;
	bool first = i == note_count;
	if (first) {
		struct note *more = realloc(notes, ((size_t)note_count + 1) * sizeof *more);
		char *own = more ? strdup(name) : NULL;
		if (more) notes = more;
		if (own) notes[note_count++] = (struct note){ kind, own, 0 };
	}
	if (i < note_count) notes[i].count++;
	pthread_mutex_unlock(&lock);
	return first;
}

void note_refused(enum library library, const char *call) {
	last_refused = call;
	if (keep(REFUSED, call)) complain("%s of %s is not stood in for on a pretend GPU: it fails", call,
		library_names[library]);
}

void note_absent(const char *call) {
	if (keep(ABSENT, call)) log_line("%s is not there", call);
}

void note_unsized(const char *what) {
	if (keep(UNSIZED, what)) log_line("unsized: %s", what);
}

void note_estimated(const char *what) {
	if (keep(ESTIMATED, what)) log_line("estimated: %s", what);
}

void note_unfollowed(const char *call) { keep(UNFOLLOWED, call); }

const char *note_last_refused(void) { return last_refused; }

/* The i-th note, in the order in which they came first: kind 0 refused, 1 absent, 2 unsized, 3
   unfollowed, 4 estimated. False: there are no more. */
API bool memspec_pretend_note(int i, int *kind, const char **name, unsigned long long *count) {
	pthread_mutex_lock(&lock);
	bool there = i >= 0 && i < note_count;
	if (there) {
		*kind = notes[i].kind;
		*name = notes[i].name;
		*count = notes[i].count;
	}
	pthread_mutex_unlock(&lock);
	return there;
}

static void print(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
static void print(const char *format, va_list arguments) {
	char line[512];
	vsnprintf(line, sizeof line, format, arguments);
	fprintf(stderr, "memspec: %s\n", line);
}

void complain(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	print(format, arguments);
	va_end(arguments);
}

void log_line(const char *format, ...) {
	static int wanted = -1;
	if (wanted < 0) wanted = getenv("MEMSPEC_PRETEND_LOG") != NULL;
	if (!wanted) return;
	va_list arguments;
	va_start(arguments, format);
	print(format, arguments);
	va_end(arguments);
}

void *real_function(const char *soname, const char *name) {
	void *library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
	if (!library) return NULL;
	void *f = dlsym(library, name);
	dlclose(library); /* it stays: somebody else holds it */
	return f;
}
