/* Memory that another process of this machine allocated, by CUDA's IPC handles. */
#include "unit.h"

cudaError_t cudaIpcOpenMemHandle(void **, cudaIpcMemHandle_t, unsigned), cudaIpcCloseMemHandle(void *);
enum { LAZY_PEER_ACCESS = 1, BLOCKS = 2 };

struct theirs { /* what another process writes about its two blocks */
	cudaIpcMemHandle_t handle[BLOCKS];
	void *at[BLOCKS];
};
static const size_t sizes[BLOCKS] = { 4 << 20, 2 << 20 };

static struct theirs of_another_process(int device) {
	struct theirs t = { 0 };
	int ends[2], status;
	CHECK(!pipe(ends));
	pid_t child = fork();
	if (!child) {
		SUCCEEDS(cudaSetDevice(device));
		for (int i = 0; i < BLOCKS; i++) {
			SUCCEEDS(cudaMalloc(&t.at[i], sizes[i]));
			SUCCEEDS(cudaIpcGetMemHandle(&t.handle[i], t.at[i]));
		}
		CHECK(write(ends[1], &t, sizeof t) == sizeof t);
		_exit(0);
	}
	CHECK(read(ends[0], &t, sizeof t) == sizeof t && waitpid(child, &status, 0) == child && !status);
	close(ends[0]);
	close(ends[1]);
	return t;
}

/* A handle is of the whole block of cudaMalloc that an address lies in, and the same each time:
   PyTorch looks handles up by their bytes. */
static void made(void) {
	char *block, *managed;
	cudaIpcMemHandle_t first, second;
	void *p;
	SUCCEEDS(cudaMalloc((void **)&block, MIB));
	SUCCEEDS(cudaMallocManaged((void **)&managed, MIB, 1));
	memset(&first, 1, sizeof first);
	memset(&second, 2, sizeof second);
	SUCCEEDS(cudaIpcGetMemHandle(&first, block));
	SUCCEEDS(cudaIpcGetMemHandle(&second, block + 512));
	CHECK(!memcmp(&first, &second, sizeof first));
	CHECK(cudaIpcGetMemHandle(NULL, block) == cudaErrorInvalidValue);
	CHECK(cudaIpcGetMemHandle(&second, managed) == cudaErrorInvalidValue);
	CHECK(cudaIpcGetMemHandle(&second, &first) == cudaErrorInvalidValue);
	CHECK(cudaIpcOpenMemHandle(&p, first, LAZY_PEER_ACCESS) == cudaErrorDeviceUninitialized); /* this process's own */
	SUCCEEDS(cudaFree(managed));
	SUCCEEDS(cudaFree(block));
}

static bool writable(void *p, size_t n) {
	cudaError_t e = cudaMemset(p, 1, n);
	cudaGetLastError();
	return !e;
}

/* It is all of the block, taken of no card here, of the card that it lies on, and not known. */
static void opened(int device) {
	struct theirs t = of_another_process(device);
	struct cudaPointerAttributes of;
	size_t before = free_now();
	char *p, *again;
	SUCCEEDS(cudaIpcOpenMemHandle((void **)&p, t.handle[0], LAZY_PEER_ACCESS));
	SUCCEEDS(cudaPointerGetAttributes(&of, p + 4 * MIB - 1));
	CHECK(free_now() == before && of.type == cudaMemoryTypeDevice && of.device == device);
	CHECK(memspec_pretend_known(p, 4 * MIB) == -1 && writable(p, 4 * MIB) && !writable(p, 4 * MIB + 1));
	CHECK(cudaFree(p) == cudaErrorInvalidValue);
	/* opened twice it is there once, until it is closed twice */
	SUCCEEDS(cudaMemset(p, 1, 64));
	SUCCEEDS(cudaIpcOpenMemHandle((void **)&again, t.handle[0], LAZY_PEER_ACCESS));
	CHECK(again == p && is_known(p, 64));
	SUCCEEDS(cudaIpcCloseMemHandle(p));
	CHECK(writable(p, 4 * MIB) && cudaIpcCloseMemHandle(p + 1) == cudaErrorInvalidValue);
	SUCCEEDS(cudaIpcCloseMemHandle(p));
	int ends[2]; /* what is closed cannot be read */
	CHECK(!writable(p, 1) && !pipe(ends) && write(ends[1], p, 1) == -1);
	CHECK(cudaIpcCloseMemHandle(p) == cudaErrorInvalidValue);
	SUCCEEDS(cudaIpcOpenMemHandle((void **)&again, t.handle[0], LAZY_PEER_ACCESS));
	CHECK(again == p && memspec_pretend_known(p, 4 * MIB) == -1); /* its addresses were free again */
	SUCCEEDS(cudaIpcCloseMemHandle(p));
}

/* Blocks are one where their process and their address are. */
static void several(void) {
	struct theirs a = of_another_process(0), b = of_another_process(0);
	char *p[3];
	CHECK(a.at[0] == b.at[0] && a.at[0] != a.at[1]);
	SUCCEEDS(cudaIpcOpenMemHandle((void **)&p[0], a.handle[0], LAZY_PEER_ACCESS));
	SUCCEEDS(cudaIpcOpenMemHandle((void **)&p[1], a.handle[1], LAZY_PEER_ACCESS));
	SUCCEEDS(cudaIpcOpenMemHandle((void **)&p[2], b.handle[0], LAZY_PEER_ACCESS));
	CHECK(p[0] != p[1] && p[0] != p[2] && p[1] != p[2] && !writable(p[1], 2 * MIB + 1));
	CHECK(cudaIpcCloseMemHandle(NULL) == cudaErrorInvalidValue);
	SUCCEEDS(cudaIpcCloseMemHandle(p[1])); /* each by itself */
	CHECK(writable(p[0], 4 * MIB) && !writable(p[1], 1) && writable(p[2], 4 * MIB));
	SUCCEEDS(cudaIpcCloseMemHandle(p[0]));
	SUCCEEDS(cudaIpcCloseMemHandle(p[2]));
}

static void refused(void) {
	cudaIpcMemHandle_t good = of_another_process(0).handle[0], bad = good;
	void *p;
	CHECK(cudaIpcOpenMemHandle(NULL, good, LAZY_PEER_ACCESS) == cudaErrorInvalidValue);
	CHECK(cudaIpcOpenMemHandle(&p, good, 0) == cudaErrorInvalidValue);
	CHECK(cudaIpcOpenMemHandle(&p, good, 2) == cudaErrorInvalidValue);
	bad.reserved[0] ^= 1; /* no handle of ours */
	CHECK(cudaIpcOpenMemHandle(&p, bad, LAZY_PEER_ACCESS) == cudaErrorInvalidValue);
	bad = good;
	bad.reserved[12] = 2; /* of a third card */
	CHECK(cudaIpcOpenMemHandle(&p, bad, LAZY_PEER_ACCESS) == cudaErrorInvalidValue);
	bad = good;
	memset(&bad.reserved[24], 0x3f, 8); /* larger than this process's addresses */
	CHECK(cudaIpcOpenMemHandle(&p, bad, LAZY_PEER_ACCESS) == cudaErrorNotSupported);
	CHECK(!strcmp(note_last_refused(), NO_ADDRESSES));
}

void ipc(void) {
	memspec_pretend_track(1, 0);
	made();
	opened(0);
	opened(1);
	several();
	refused();
}
