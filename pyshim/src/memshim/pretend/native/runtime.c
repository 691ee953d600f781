/* The CUDA runtime's devices, properties and errors. */
#include "abi/properties.h"
#include "pretend.h"

#include <stdio.h>
#include <string.h>

/* The real libraries answer what needs no driver: their version and the texts of errors. */
static void *real_runtime(const char *name) {
	void *f = real_function("libcudart.so.13", name);
	return f ? f : real_function("libcudart.so.12", name);
}

API cudaError_t cudaRuntimeGetVersion(int *version) {
	static cudaError_t (*real)(int *);
	if (!real) ASSIGN_FUNCTION(real, real_runtime("cudaRuntimeGetVersion"));
	if (real) return real(version);
	*version = 13000; /* a program without the runtime asks nobody else */
	return cudaSuccess;
}

int runtime_version(void) {
	int version = 0;
	cudaRuntimeGetVersion(&version);
	return version;
}

/* The driver is as new as the runtime. */
API cudaError_t cudaDriverGetVersion(int *version) { return cudaRuntimeGetVersion(version); }

API const char *cudaGetErrorString(cudaError_t e) {
	static const char *(*real)(cudaError_t);
	static __thread char text[256];
	const char *call = note_last_refused();
	if (!real) ASSIGN_FUNCTION(real, real_runtime("cudaGetErrorString"));
	if (e == cudaErrorNotSupported && call) {
		snprintf(text, sizeof text, "%s is not stood in for on memspec's pretend GPU", call);
		return text;
	}
	return real ? real(e) : "an error of a pretend GPU";
}

/* ---- devices ---- */

API cudaError_t cudaGetDeviceCount(int *n) {
	*n = gpu_count();
	return *n ? cudaSuccess : fail(cudaErrorNoDevice);
}
API cudaError_t cudaGetDevice(int *ordinal) {
	*ordinal = current_device();
	return gpu_count() ? cudaSuccess : fail(cudaErrorNoDevice);
}
API cudaError_t cudaSetDevice(int ordinal) {
	struct gpu *g = gpu_at(ordinal);
	if (!g) return fail(gpu_count() ? cudaErrorInvalidDevice : cudaErrorNoDevice);
	gpu_activate(g);
	set_current_device(ordinal);
	return cudaSuccess;
}
API cudaError_t cudaInitDevice(int ordinal, unsigned int device_flags UNUSED, unsigned int flags UNUSED) {
	struct gpu *g = gpu_at(ordinal);
	if (!g) return fail(cudaErrorInvalidDevice);
	gpu_activate(g);
	return cudaSuccess;
}
API cudaError_t cudaDeviceGetAttribute(int *value, runtime_attribute a, int ordinal) {
	const struct gpu *g = gpu_at(ordinal);
	if (!g) return fail(cudaErrorInvalidDevice);
	*value = gpu_attribute(g, (int)a);
	return cudaSuccess;
}
API cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int ordinal) {
	const struct gpu *g = gpu_at(ordinal);
	if (!g) return fail(cudaErrorInvalidDevice);
	if (size <= 0) return fail(cudaErrorInvalidValue);
	snprintf(out, (size_t)size, "0000:%02X:00.0", (unsigned)gpu_attribute(g, DEVICE_PCI_BUS_ID));
	return cudaSuccess;
}
API cudaError_t cudaDeviceCanAccessPeer(int *yes, int ordinal, int peer) {
	if (!gpu_at(ordinal) || !gpu_at(peer)) return fail(cudaErrorInvalidDevice);
	*yes = ordinal != peer;
	return cudaSuccess;
}
API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags UNUSED) {
	return gpu_at(peer) ? cudaSuccess : fail(cudaErrorInvalidDevice);
}
API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
	*least = 0;
	*greatest = -5;
	return cudaSuccess;
}
API cudaError_t cudaDeviceSetLimit(runtime_limit limit UNUSED, size_t value UNUSED) { return cudaSuccess; }
API cudaError_t cudaDeviceGetLimit(size_t *value, runtime_limit limit UNUSED) {
	*value = 0;
	return cudaSuccess;
}
API cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
API cudaError_t cudaProfilerStop(void) { return cudaSuccess; }

/* ---- cudaDeviceProp: each major's is asked for by a separate name ---- */

#define FILL(p, g) \
	snprintf(p.name, sizeof p.name, "%s", g->name); \
	gpu_uuid(g, p.uuid); \
	p.memory = g->memory; \
	p.shared_per_block = g->shared_per_block; \
	p.registers_per_block = gpu_attribute(g, DEVICE_MAX_REGISTERS_PER_BLOCK); \
	p.warp = gpu_attribute(g, DEVICE_WARP_SIZE); \
	p.pitch = (size_t)gpu_attribute(g, DEVICE_MAX_PITCH); \
	p.threads_per_block = gpu_attribute(g, DEVICE_MAX_THREADS_PER_BLOCK); \
	for (int i = 0; i < 3; i++) { \
		p.block[i] = gpu_attribute(g, DEVICE_MAX_BLOCK_DIM_X + i); \
		p.grid[i] = gpu_attribute(g, DEVICE_MAX_GRID_DIM_X + i); \
	} \
	p.constant = (size_t)gpu_attribute(g, DEVICE_TOTAL_CONSTANT_MEMORY); \
	p.major = g->major; \
	p.minor = g->minor; \
	p.texture_alignment = p.surface_alignment = (size_t)gpu_attribute(g, DEVICE_TEXTURE_ALIGNMENT); \
	p.texture_pitch = 32; \
	p.sms = g->sms; \
	p.map_host = p.concurrent_kernels = p.unified = p.priorities = p.global_l1 = p.local_l1 = p.managed = 1; \
	p.concurrent_managed = p.preemption = p.registered_pointer = p.cooperative = p.host_register = p.pools = 1; \
	p.bus_id = gpu_attribute(g, DEVICE_PCI_BUS_ID); \
	p.engines = gpu_attribute(g, DEVICE_ASYNC_ENGINE_COUNT); \
	p.bus_bits = g->bus_bits; \
	p.l2 = (int)g->l2; \
	p.threads_per_sm = g->threads_per_sm; \
	p.shared_per_sm = g->shared_per_sm; \
	p.registers_per_sm = g->registers_per_sm; \
	p.shared_optin = g->shared_optin; \
	p.blocks_per_sm = g->blocks_per_sm; \
	p.shared_reserved = g->shared_reserved; \
	p.pool_handles = 1; \
	p.cluster = gpu_attribute(g, DEVICE_CLUSTER_LAUNCH);

/* there the older name is a macro for the newer one; tests/pretend/native/abi.c compares the
   layouts */
#ifndef PUBLIC_HEADERS
API cudaError_t cudaGetDeviceProperties(struct properties_13 *out, int ordinal) {
	const struct gpu *g = gpu_at(ordinal);
	if (!g) return fail(cudaErrorInvalidDevice);
	struct properties_13 p = { 0 };
	FILL(p, g)
	*out = p;
	return cudaSuccess;
}

API cudaError_t cudaGetDeviceProperties_v2(struct properties_12 *out, int ordinal) {
	const struct gpu *g = gpu_at(ordinal);
	if (!g) return fail(cudaErrorInvalidDevice);
	struct properties_12 p = { 0 };
	FILL(p, g)
	p.clock_khz = g->clock_khz;
	p.memory_clock_khz = g->memory_clock_khz;
	p.overlap = 1;
	*out = p;
	return cudaSuccess;
}
#endif

/* ---- the driver's functions, by name ---- */

/* PyTorch asks for them one by one and names those that it does not find. */
API cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **f, unsigned int version UNUSED,
	unsigned long long flags UNUSED,
	entry_result *result) {
	*f = driver_function(name);
	if (result) *result = *f ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
	return cudaSuccess; /* as the library: a name that is not found is reported by the result */
}
API cudaError_t cudaGetDriverEntryPoint(const char *name, void **f, unsigned long long flags, entry_result *result) {
	return cudaGetDriverEntryPointByVersion(name, f, 0, flags, result);
}
