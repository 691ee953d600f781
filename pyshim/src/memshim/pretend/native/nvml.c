/* NVML: what PyTorch and its neighbours ask of it. It shows every card, whatever
   CUDA_VISIBLE_DEVICES says. libnvidia-ml.so.1 is an empty library of that name that needs this
   one. */
#include "pretend.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef PUBLIC_HEADERS
#undef nvmlInit
#undef nvmlDeviceGetCount
#undef nvmlDeviceGetHandleByIndex
#undef nvmlDeviceGetComputeRunningProcesses
#else
enum { NVML_SUCCESS = 0, NVML_ERROR_NOT_SUPPORTED = 3, NVML_ERROR_NOT_FOUND = 6, NVML_ERROR_INSUFFICIENT_SIZE = 7 };
#endif

API nvmlReturn_t nvmlInit_v2(void) { return NVML_SUCCESS; }
API nvmlReturn_t nvmlInit(void) { return NVML_SUCCESS; }
API nvmlReturn_t nvmlInitWithFlags(unsigned int flags UNUSED) { return NVML_SUCCESS; }
API nvmlReturn_t nvmlShutdown(void) { return NVML_SUCCESS; }
API const char *nvmlErrorString(nvmlReturn_t e) { return e == NVML_SUCCESS ? "Success" : e == NVML_ERROR_NOT_SUPPORTED
	? "Not Supported on a pretend GPU" : "an error of a pretend GPU"; }
API nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) {
	*version = runtime_version();
	return NVML_SUCCESS;
}
API nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned int size) {
	snprintf(out, size, "999.99"); /* no driver has it */
	return NVML_SUCCESS;
}
API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *n) {
	*n = (unsigned)gpu_physical_count();
	return NVML_SUCCESS;
}
API nvmlReturn_t nvmlDeviceGetCount(unsigned int *n) { return nvmlDeviceGetCount_v2(n); }

/* A handle is the card itself. */
static struct gpu *gpu_of(nvmlDevice_t d) { return (struct gpu *)(void *)d; }

API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int i, nvmlDevice_t *d) {
	struct gpu *g = gpu_physical((int)i);
	*d = (nvmlDevice_t)(void *)g;
	return g ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}
API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int i, nvmlDevice_t *d) {
	return nvmlDeviceGetHandleByIndex_v2(i, d);
}
API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *d) {
	unsigned int domain, bus;
	if (sscanf(id, "%x:%x:", &domain, &bus) != 2) return NVML_ERROR_NOT_FOUND;
	return nvmlDeviceGetHandleByIndex_v2(bus - 1, d);
}

API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *out, unsigned int size) {
	gpu_uuid_text(gpu_of(d), out, size);
	return NVML_SUCCESS;
}
API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *d) {
	for (int i = 0; i < gpu_physical_count(); i++) {
		char own[64];
		gpu_uuid_text(gpu_physical(i), own, sizeof own);
		if (!strcmp(own, uuid)) return nvmlDeviceGetHandleByIndex_v2((unsigned)i, d);
	}
	return NVML_ERROR_NOT_FOUND;
}
API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *out, unsigned int size) {
	snprintf(out, size, "%s", gpu_of(d)->name);
	return NVML_SUCCESS;
}
API nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t d, unsigned int *i) {
	*i = (unsigned)gpu_index(gpu_of(d));
	return NVML_SUCCESS;
}
API nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *major, int *minor) {
	*major = gpu_of(d)->major;
	*minor = gpu_of(d)->minor;
	return NVML_SUCCESS;
}
API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *out) {
	const struct gpu *g = gpu_of(d);
	*out = (nvmlMemory_t){ .total = g->memory, .free = g->memory - g->used, .used = g->used };
	return NVML_SUCCESS;
}
API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *out) {
	const struct gpu *g = gpu_of(d);
	*out = (nvmlMemory_v2_t){ .version = out->version, .total = g->memory, .free = g->memory - g->used, .used = g->used };
	return NVML_SUCCESS;
}

/* One process, this one. The first form of the call has a shorter record. */
static nvmlReturn_t processes(nvmlDevice_t d, unsigned int *n, void *out, size_t size) {
	const struct gpu *g = gpu_of(d);
	unsigned int room = *n;
	nvmlProcessInfo_v2_t p = { .pid = (unsigned)getpid(), .usedGpuMemory = g->used, .gpuInstanceId = ~0u,
		.computeInstanceId = ~0u };
	*n = g->active;
	if (!g->active) return NVML_SUCCESS;
	if (!room) return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(out, &p, size);
	return NVML_SUCCESS;
}
API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t d, unsigned int *n, void *out) {
	return processes(d, n, out, offsetof(nvmlProcessInfo_v2_t, gpuInstanceId));
}
API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t d, unsigned int *n, nvmlProcessInfo_v2_t *out) {
	return processes(d, n, out, sizeof *out);
}
API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned int *n, process_info *out) {
	return processes(d, n, out, sizeof(nvmlProcessInfo_v2_t));
}

/* Links between cards and fabrics of them: there are none. PyTorch 2.13 with expandable segments
   wants the call to succeed: behind the version stand the cluster's id (16 bytes), a status and a
   clique (4 each), and the state, of which 0 is NVML_GPU_FABRIC_STATE_NOT_SUPPORTED. */
API nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t d UNUSED, fabric_info *out) {
	memset((char *)out + sizeof(unsigned), 0, 16 + 4 + 4 + 1);
	return NVML_SUCCESS;
}
API nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t d UNUSED, unsigned int link UNUSED,
	link_device *out UNUSED) { return NVML_ERROR_NOT_SUPPORTED; }
API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t d UNUSED, unsigned int link UNUSED,
	pci_info *out UNUSED) { return NVML_ERROR_NOT_SUPPORTED; }
API nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a UNUSED, nvmlDevice_t b UNUSED, p2p_index i UNUSED,
	p2p_status *out UNUSED) { return NVML_ERROR_NOT_SUPPORTED; }
