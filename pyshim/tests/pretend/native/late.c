/* Preloaded by test_pretend_ending.py: a thread of autograd's that has informed the program that a
   backward pass is over waits, so that it is the last to release the pass; where it then asks for
   the interpreter it gets on when that is ending, or after two seconds. So it goes on a busy
   machine now and then. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static __thread int over; /* the pass, as its future says */

int pthread_cond_broadcast(pthread_cond_t *c) {
	static int (*real)(pthread_cond_t *);
	char name[16] = "";
	if (!real) real = (int (*)(pthread_cond_t *))dlsym(RTLD_NEXT, "pthread_cond_broadcast");
	pthread_getname_np(pthread_self(), name, sizeof name);
	over = !strncmp(name, "pt_autograd_", 12);
	return real(c);
}

int pthread_cond_signal(pthread_cond_t *c) { /* the program waits for the one that comes after the broadcast */
	static int (*real)(pthread_cond_t *);
	static __thread int waited;
	if (!real) real = (int (*)(pthread_cond_t *))dlsym(RTLD_NEXT, "pthread_cond_signal");
	int e = real(c);
	if (over && !waited++) nanosleep(&(struct timespec){0, 300000000}, NULL);
	return e;
}

void PyEval_AcquireThread(void *thread) {
	static void (*real)(void *);
	static int (*ending)(void);
	if (!real) real = (void (*)(void *))dlsym(RTLD_NEXT, "PyEval_AcquireThread");
	if (over) {
		over = 0;
		if (!ending) ending = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
		if (!ending) ending = (int (*)(void))dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"); /* before Python 3.13 */
		for (int i = 0; i < 400 && !ending(); i++) nanosleep(&(struct timespec){0, 5000000}, NULL);
		fputs("late\n", stderr);
	}
	real(thread);
}
