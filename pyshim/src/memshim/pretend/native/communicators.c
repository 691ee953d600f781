/* The communicators of NCCL that this process made: their memory is not taken off the card, since
   the topology decides it; ../communicators.py has the formula. */
#include "communicators.h"

enum { MOST_COMMUNICATORS = 4096 };

struct communicator { /* int, one beside the other: Python reads them as an array */
	/* made, ended: moments; 0 for not yet */
	int device, ranks, local, nodes, channels, shared, operations, met, made, ended;
};
static struct communicator communicators[MOST_COMMUNICATORS];
static int count, moment;

int communicator_made(int ranks, int local, int nodes, int channels, bool shared) {
	lock_memory();
	int number = count < MOST_COMMUNICATORS ? count++ : -1;
	if (number >= 0)
		communicators[number] = (struct communicator){ .device = current_device(), .ranks = ranks, .local = local,
			.nodes = nodes,
			.channels = channels, .shared = shared, .made = ++moment };
	unlock_memory();
	if (number < 0) note_unsized("NCCL's own buffers: more than 4096 communicators");
	return number;
}
void communicator_ended(int number) {
	if (number < 0) return;
	lock_memory();
	communicators[number].ended = ++moment;
	unlock_memory();
}
void communicator_used(int number, unsigned operations) {
	if (number < 0) return;
	lock_memory();
	communicators[number].operations |= (int)operations;
	unlock_memory();
}
void communicator_met(int number) {
	if (number < 0) return;
	lock_memory();
	communicators[number].met++;
	unlock_memory();
}

/* For the Python side: the i-th communicator, in the order in which they were made. False: there are no more. */
API bool memspec_pretend_communicator(int i, int *out) {
	lock_memory();
	bool there = i >= 0 && i < count;
	if (there) *(struct communicator *)out = communicators[i];
	unlock_memory();
	return there;
}
