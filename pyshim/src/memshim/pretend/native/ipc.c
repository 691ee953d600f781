/* Memory that another process of this machine allocated, by CUDA's IPC handles: a handle is opened
   at addresses that nothing of the card is taken for, as the process that made it has taken it.
   What lies there is not known: no process sees what another one wrote. */
#include "pretend.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC "memspec"

/* What lies in a cudaIpcMemHandle_t. */
struct exported {
	char magic[sizeof MAGIC];
	pid_t process;
	int card; /* by its place among all of the machine's: processes may see others */
	char *at;
	size_t size;
};
_Static_assert(sizeof(struct exported) <= sizeof(cudaIpcMemHandle_t), "a handle has room for it");

struct opened {
	struct exported what;
	void *at;
	unsigned int count; /* opened so often, and not closed */
	struct opened *next;
};
static struct opened *opened;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p) {
	struct range r;
	if (!handle || !range_find(p, &r) || r.kind != ALLOCATED) return fail(cudaErrorInvalidValue);
	struct exported e = { MAGIC, getpid(), gpu_index(gpu_at(r.owner)), r.at, r.size };
	memset(handle, 0, sizeof *handle);
	memcpy(handle, &e, sizeof e);
	return cudaSuccess;
}

/* With the lock held: the opened handle, mapped now where it was not; null where there is no room. */
static struct opened *open_once(const struct exported *e, int ordinal) {
	struct opened *o = opened;
	while (o && (o->what.process != e->process || o->what.at != e->at)) o = o->next;
	if (o) return o;
	o = zeroed(sizeof *o);
	if (!o) return NULL;
	o->what = *e;
	o->at = address_reserve(e->size);
	if (!o->at || !address_back(o->at, e->size)) {
		if (o->at) address_free(o->at, e->size);
		note_refused(CUDA_RUNTIME, NO_ADDRESSES);
		free(o);
		return NULL;
	}
	range_add((struct range){ .at = o->at, .size = e->size, .kind = OPENED, .owner = ordinal });
	o->next = opened;
	opened = o;
	return o;
}

API cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned int flags) {
	enum { LAZY_PEER_ACCESS = 1 }; /* cudaIpcMemLazyEnablePeerAccess, which the documentation wants */
	struct exported e;
	memcpy(&e, &handle, sizeof e);
	if (!p || flags != LAZY_PEER_ACCESS || memcmp(e.magic, MAGIC, sizeof MAGIC)) return fail(cudaErrorInvalidValue);
	if (e.process == getpid()) return fail(cudaErrorDeviceUninitialized);
	const struct gpu *g = gpu_physical(e.card);
	if (!g || gpu_ordinal(g) < 0) return fail(cudaErrorInvalidValue);
	pthread_mutex_lock(&lock);
	struct opened *o = open_once(&e, gpu_ordinal(g));
	if (o) {
		o->count++;
		*p = o->at;
	}
	pthread_mutex_unlock(&lock);
	return o ? cudaSuccess : fail(cudaErrorNotSupported);
}

API cudaError_t cudaIpcCloseMemHandle(void *p) {
	struct range r;
	pthread_mutex_lock(&lock);
	struct opened **o = &opened;
	while (*o && (*o)->at != p) o = &(*o)->next;
	struct opened *found = *o;
	bool last = found && !--found->count;
	if (last) *o = found->next;
	pthread_mutex_unlock(&lock);
	if (!found) return fail(cudaErrorInvalidValue);
	if (!last) return cudaSuccess;
	range_take(p, OPENED, &r);
	address_unback(p, r.size);
	address_free(p, r.size);
	free(found);
	return cudaSuccess;
}
