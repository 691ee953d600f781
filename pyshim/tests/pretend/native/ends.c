/* What a process took stays readable, whatever ends it: MEMSPEC_PRETEND_FIGURES names the folder,
   and whoever starts this reads it. */
#include "unit.h"

#include <signal.h>

static void take(size_t n) {
	void *p;
	SUCCEEDS(cudaMalloc(&p, n));
}

static void leave_at_once(void) {
	void *p;
	SUCCEEDS(cudaMalloc(&p, 20 * MIB));
	SUCCEEDS(cudaFree(p));
	take(4 * MIB);
	SUCCEEDS(cudaMallocManaged(&p, 6 * MIB, 1));
	SUCCEEDS(cudaFree(p));
	_exit(3);
}
static void leave(void) {
	SUCCEEDS(cudaSetDevice(1));
	take(5 * MIB);
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(NULL, 1, 3 * MIB, 4 * MIB, 0x101); /* of cuda:1 */
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(NULL, 1, 2 * MIB, 4 * MIB, 0x101);
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(NULL, 1, 9 * MIB, 9 * MIB, 0x100); /* of the host */
	exit(4);
}
static void be_killed(void) {
	take(6 * MIB);
	raise(SIGKILL);
}
static void have_a_child(void) {
	take(7 * MIB);
	pid_t child = fork();
	if (!child) {
		take(8 * MIB);
		_exit(0);
	}
	pid_t other = vfork(); /* a child in its parent's memory, as subprocess has it: its end is not its parent's */
	if (!other) _exit(9);
	waitpid(child, NULL, 0);
	waitpid(other, NULL, 0);
	exit(0);
}

void ends(void) {
	void (*all[])(void) = { leave_at_once, leave, be_killed, have_a_child };
	CHECK(!memspec_pretend_note(0, &(int){ 0 }, &(const char *){ 0 }, &(unsigned long long){ 0 }));
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		pid_t child = fork();
		if (!child) all[i]();
		waitpid(child, NULL, 0);
	}
}
