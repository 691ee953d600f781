/* What this process takes of each card, kept where its parent can read it at any time, whatever
   ends the process: a file of a few KiB in the folder that MEMSPEC_PRETEND_FIGURES names, mapped
   and shared. program/process_reports.py reads it; both know its layout. */
#include "pretend.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct figure { /* of one card; bytes */
	char name[128];
	int64_t ordinal;
	uint64_t memory, context;
	uint64_t used, used_most; /* the context's among them */
	uint64_t allocated_most, reserved_most; /* by PyTorch's caching allocator */
	uint64_t managed, managed_most;
};

enum end { NOT_ENDED, EXITED, EXITED_AT_ONCE }; /* exit and return from main; _exit, which os._exit calls */

struct figures {
	char mark[8];
	int64_t pid;
	int32_t end, status;
	uint64_t pinned, pinned_most; /* the host's memory that is page-locked, bytes */
	char command[240]; /* its words, each with a null byte behind it */
	struct figure gpus[MOST_GPUS];
};

static struct figures own; /* where no file is */
static struct figures *shared = &own;
static char file[32]; /* its name in the folder; empty where there is none */
static bool tried;

static void note_end(int status, enum end end) {
	if (shared->pid != getpid()) return; /* after vfork a child runs in its parent's memory */
	shared->status = status;
	__atomic_store_n(&shared->end, end, __ATOMIC_RELEASE);
}
static void on_end(int status, void *unused UNUSED) { note_end(status, EXITED); }

/* _exit runs nothing that was registered. References to it come here where this library is preloaded. */
API void _exit(int status) {
	note_end(status, EXITED_AT_ONCE);
	for (;;) syscall(SYS_exit_group, status);
}
API void _Exit(int status) { _exit(status); }

static void read_command(char *into, size_t size) {
	int f = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t words UNUSED = read(f, into, size - 1); /* none where it cannot be read */
	close(f);
}

/* With the lock held. Room is made before anything is written: a page that a full disk has no room
   for ends the process. */
static void open_file(void) {
	static bool registered;
	const char *folder = getenv("MEMSPEC_PRETEND_FIGURES");
	if (tried || !folder || !*folder) return;
	tried = true;
	char path[4096], name[sizeof file];
	int f = -1, number = 0;
	do { /* a process that calls exec keeps its id */
		snprintf(name, sizeof name, "%ld.%d.figures", (long)getpid(), number++);
		if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return;
		f = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	} while (f < 0 && errno == EEXIST && number < 1000);
	if (f < 0 && errno == ENOENT) return; /* this process outlived the command that began it */
	int error = f < 0 ? errno : posix_fallocate(f, 0, sizeof own);
	struct figures *m = error ? MAP_FAILED : mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	if (!error && m == MAP_FAILED) error = errno;
	if (f >= 0) close(f);
	if (error) {
		complain("%s: %s; what this process takes is lost if it ends by a signal or by _exit", path, strerror(error));
		if (f >= 0) unlink(path);
		return;
	}
	own.pid = getpid();
	read_command(own.command, sizeof own.command);
	*m = own;
	memcpy(m->mark, "memspec1", sizeof m->mark);
	memcpy(file, name, sizeof file);
	shared = m;
	if (!registered) registered = !on_exit(on_end, NULL);
}

void figures_forked(void) { /* the lock is held; the parent's file stays mapped, a page that nobody writes to */
	memset(&own, 0, sizeof own);
	shared = &own;
	tried = false;
	*file = 0;
}

static struct figure *of(const struct gpu *g) {
	open_file();
	struct figure *f = &shared->gpus[gpu_index(g)];
	if (!f->memory) {
		memcpy(f->name, g->name, sizeof f->name);
		f->ordinal = gpu_ordinal(g);
		f->context = g->context;
		f->memory = g->memory;
	}
	return f;
}

/* A forked child gives back what its parent took: it is not below nothing. */
static void count(uint64_t *now, uint64_t *most, size_t taken, size_t given) {
	*now = *now + taken > given ? *now + taken - given : 0;
	if (*now > *most) *most = *now;
}

void figures_used(const struct gpu *g, size_t taken, size_t given) {
	struct figure *f = of(g);
	count(&f->used, &f->used_most, taken, given);
}

void figures_managed(int ordinal, size_t taken, size_t given) {
	const struct gpu *g = gpu_at(ordinal);
	if (!g) return;
	struct figure *f = of(g);
	count(&f->managed, &f->managed_most, taken, given);
}

void figures_pinned(size_t taken, size_t given) {
	if (taken) open_file(); /* a forked child that frees what its parent pinned leaves no file */
	count(&shared->pinned, &shared->pinned_most, taken, given);
}

static void keep_most(uint64_t *most, uint64_t n) {
	uint64_t before = __atomic_load_n(most, __ATOMIC_RELAXED);
	while (before < n && !__atomic_compare_exchange_n(most, &before, n, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

void figures_pytorch(int ordinal, size_t allocated, size_t reserved) {
	const struct gpu *g = gpu_at(ordinal);
	if (!g) return;
	struct figure *f = &shared->gpus[gpu_index(g)];
	keep_most(&f->allocated_most, allocated);
	keep_most(&f->reserved_most, reserved);
}

/* For the Python side: the peak of this process's page-locked memory of the host, bytes. */
API uint64_t memspec_pretend_pinned(void) {
	lock_memory();
	uint64_t most = shared->pinned_most;
	unlock_memory();
	return most;
}

/* For the Python side: the name of this process's file, which is made now where it is not there;
   null where none is wanted. */
API const char *memspec_pretend_figures(void) {
	lock_memory();
	open_file();
	unlock_memory();
	return *file ? file : NULL;
}
