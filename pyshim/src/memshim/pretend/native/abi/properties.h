/* struct cudaDeviceProp of CUDA 12 and 13: 13 dropped clockRate, deviceOverlap,
   kernelExecTimeoutEnabled, computeMode, maxTexture1DLinear, memoryClockRate,
   singleToDoublePrecisionPerfRatio and cooperativeMultiDeviceLaunch. Own names; what both have is
   written down once. */
#pragma once
#include <stddef.h>

#define TO_GRID \
	char name[256], uuid[16], luid[8]; \
	unsigned int luid_mask; \
	size_t memory, shared_per_block; \
	int registers_per_block, warp; \
	size_t pitch; \
	int threads_per_block, block[3], grid[3];
#define FROM_TEXTURES_12 int textures[40];
#define FROM_TEXTURES_13 int textures[39]; /* without maxTexture1DLinear */
#define TO_UNIFIED \
	size_t surface_alignment; \
	int concurrent_kernels, ecc, bus_id, device_id, domain_id, tcc, engines, unified;
#define FROM_BUS \
	int bus_bits, l2, persisting_l2, threads_per_sm, priorities, global_l1, local_l1; \
	size_t shared_per_sm; \
	int registers_per_sm, managed, multi, multi_group, host_atomics;
#define FROM_OPTIN \
	size_t shared_optin; \
	int host_page_tables, managed_from_host, blocks_per_sm, window; \
	size_t shared_reserved; \
	int host_register, sparse, host_register_read_only, semaphores, pools, rdma; \
	unsigned int rdma_options; \
	int rdma_order; \
	unsigned int pool_handles; \
	int deferred, ipc_event, cluster, unified_functions, rest[63];

struct properties_13 {
	TO_GRID size_t constant;
	int major, minor;
	size_t texture_alignment, texture_pitch;
	int sms, integrated, map_host;
	FROM_TEXTURES_13 TO_UNIFIED FROM_BUS int pageable, concurrent_managed, preemption, registered_pointer, cooperative;
	FROM_OPTIN
};
struct properties_12 {
	TO_GRID int clock_khz;
	size_t constant;
	int major, minor;
	size_t texture_alignment, texture_pitch;
	int overlap, sms, timeout, integrated, map_host, compute_mode;
	FROM_TEXTURES_12 TO_UNIFIED int memory_clock_khz;
	FROM_BUS int double_ratio, pageable, concurrent_managed, preemption, registered_pointer, cooperative,
		cooperative_multi;
	FROM_OPTIN
};
