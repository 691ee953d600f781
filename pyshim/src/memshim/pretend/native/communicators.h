/* What is known of each of NCCL's communicators that decides what it takes of the device (communicators.c). */
#pragma once

#include "pretend.h"

enum { /* what a communicator was used for: each needs other connections */
	RING = 1,    /* broadcast, reduce: along a ring */
	GATHERS = 2, /* all-gather, reduce-scatter */
	SUMS = 4,    /* all-reduce */
};

/* A new one of the current device: its number, or -1 where there are too many. channels: the most
   that its configuration allows, 0 where that states none. local: the most of its ranks on one
   node, and on how many nodes they are; 0 where nobody knows. shared: it has its parent's
   connections. */
int communicator_made(int ranks, int local, int nodes, int channels, bool shared);
void communicator_ended(int number);
void communicator_used(int number, unsigned operations);
void communicator_met(int number); /* one more rank that messages go to or come from */
