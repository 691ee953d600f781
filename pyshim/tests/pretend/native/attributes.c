/* Every attribute of a card that is answered: the card's own numbers, its capability's, and those
   that all cards share. */
#include "unit.h"

static void is(int attribute, int t4, int h100) {
	int v[2] = { -1, -1 };
	for (int i = 0; i < 2; i++) SUCCEEDS(cudaDeviceGetAttribute(&v[i], attribute, i));
	if (v[0] != t4 || v[1] != h100) fprintf(stderr, "attribute %d: got %d and %d, want %d and %d\n", attribute, v[0], v[1],
		t4, h100);
	CHECK(v[0] == t4 && v[1] == h100);
}

void attributes(void) {
	is(DEVICE_COMPUTE_CAPABILITY_MAJOR, 7, 9);
	is(DEVICE_COMPUTE_CAPABILITY_MINOR, 5, 0);
	is(DEVICE_MULTIPROCESSOR_COUNT, 40, 132);
	is(DEVICE_MAX_THREADS_PER_MULTIPROCESSOR, 1024, 2048);
	is(DEVICE_MAX_BLOCKS_PER_MULTIPROCESSOR, 16, 32);
	is(DEVICE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536, 65536);
	is(DEVICE_MAX_SHARED_MEMORY_PER_BLOCK, 49152, 49152);
	is(DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 65536, 232448);
	is(DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 65536, 233472);
	is(DEVICE_RESERVED_SHARED_MEMORY_PER_BLOCK, 0, 1024);
	is(DEVICE_L2_CACHE_SIZE, 0, 0); /* not described */
	is(DEVICE_CLOCK_RATE, 0, 0);
	is(DEVICE_MEMORY_CLOCK_RATE, 0, 0);
	is(DEVICE_GLOBAL_MEMORY_BUS_WIDTH, 0, 0);
	is(DEVICE_PCI_BUS_ID, 1, 2);
	is(DEVICE_CLUSTER_LAUNCH, 0, 1);
	is(DEVICE_MAX_THREADS_PER_BLOCK, 1024, 1024);
	is(DEVICE_MAX_BLOCK_DIM_X, 1024, 1024);
	is(DEVICE_MAX_BLOCK_DIM_Y, 1024, 1024);
	is(DEVICE_MAX_BLOCK_DIM_Z, 64, 64);
	is(DEVICE_MAX_GRID_DIM_X, 2147483647, 2147483647);
	is(DEVICE_MAX_PITCH, 2147483647, 2147483647);
	is(DEVICE_MAX_GRID_DIM_Y, 65535, 65535);
	is(DEVICE_MAX_GRID_DIM_Z, 65535, 65535);
	is(DEVICE_TOTAL_CONSTANT_MEMORY, 65536, 65536);
	is(DEVICE_MAX_REGISTERS_PER_BLOCK, 65536, 65536);
	is(DEVICE_WARP_SIZE, 32, 32);
	is(DEVICE_TEXTURE_ALIGNMENT, 512, 512);
	is(DEVICE_ASYNC_ENGINE_COUNT, 2, 2);
	static const int there[] = { DEVICE_GPU_OVERLAP, DEVICE_CAN_MAP_HOST_MEMORY, DEVICE_CONCURRENT_KERNELS,
		DEVICE_UNIFIED_ADDRESSING,
		DEVICE_STREAM_PRIORITIES_SUPPORTED, DEVICE_GLOBAL_L1_CACHE_SUPPORTED, DEVICE_LOCAL_L1_CACHE_SUPPORTED,
		DEVICE_MANAGED_MEMORY,
		DEVICE_CONCURRENT_MANAGED_ACCESS, DEVICE_COMPUTE_PREEMPTION_SUPPORTED, DEVICE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
		DEVICE_COOPERATIVE_LAUNCH,
		DEVICE_HOST_REGISTER_SUPPORTED, DEVICE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
		DEVICE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
		DEVICE_MEMORY_POOLS_SUPPORTED, DEVICE_MEMPOOL_SUPPORTED_HANDLE_TYPES };
	for (size_t i = 0; i < sizeof there / sizeof *there; i++) is(there[i], 1, 1);
	is(100000, 0, 0); /* a feature that is not there */
	int v;
	CHECK(cudaDeviceGetAttribute(&v, DEVICE_WARP_SIZE, 2) == cudaErrorInvalidDevice &&
		cudaDeviceGetAttribute(&v, DEVICE_WARP_SIZE, -1) == cudaErrorInvalidDevice);

	/* Blocks on one multiprocessor: whole warps, at most those that its threads, its blocks and its
	   shared memory allow. */
	static const struct {
		int card, threads;
		size_t shared;
		int blocks;
	} occupancies[] = {
		{ 0, 0, 0, 0 }, { 0, -1, 0, 0 }, { 0, 1, 0, 16 }, { 0, 1024, 0, 1 }, { 0, 1025, 0, 0 }, { 0, 64, 0, 16 },
		{ 0, 65, 0, 10 }, { 0, 96, 0, 10 },
		{ 0, 97, 0, 8 }, { 0, 64, 65536, 1 }, { 0, 64, 65537, 0 }, { 0, 64, 8192, 8 }, { 0, 64, 8193, 7 },
		{ 0, 64, 4096, 16 },
		{ 1, 64, 0, 32 }, { 1, 1024, 0, 2 }, { 1, 1025, 0, 0 }, { 1, 64, 232448, 1 }, { 1, 64, 232449, 0 }, { 1, 64, 1, 32 },
	};
	for (size_t i = 0; i < sizeof occupancies / sizeof *occupancies; i++) {
		int got = gpu_occupancy(gpu_at(occupancies[i].card), occupancies[i].threads, occupancies[i].shared);
		if (got != occupancies[i].blocks) fprintf(stderr, "row %zu: got %d\n", i, got);
		CHECK(got == occupancies[i].blocks);
	}
}
