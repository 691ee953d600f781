/* What programs ask the driver and the runtime about cards, contexts and errors, and the functions
   that only have to succeed. */
#include "../../../src/memshim/pretend/native/abi/properties.h"
#include "unit.h"

CUresult cuInit(unsigned), cuDriverGetVersion(int *), cuDeviceGetCount(int *), cuDeviceGet(CUdevice *, int),
	cuDeviceGetName(char *, int, CUdevice), cuDeviceGetAttribute(int *, int, CUdevice);
CUresult cuDeviceTotalMem_v2(size_t *, CUdevice), cuDeviceGetUuid(CUuuid *, CUdevice), cuDeviceGetUuid_v2(CUuuid *,
	CUdevice), cuDevicePrimaryCtxRelease_v2(CUdevice);
CUresult cuCtxSetCurrent(CUcontext), cuCtxGetDevice(CUdevice *), cuCtxPushCurrent(CUcontext),
	cuCtxPopCurrent(CUcontext *), cuCtxGetLimit(size_t *, int), cuStreamGetCtx(CUstream, CUcontext *);
CUresult cuStreamIsCapturing(CUstream, int *), cuGetErrorName(CUresult, const char **), cuGetErrorString(CUresult,
	const char **), cuGetExportTable(const void **, const CUuuid *);
CUresult cuLogsRegisterCallback(void *, void *, void **), cuGetProcAddress_v2(const char *, void **, int, uint64_t,
	int *), cuMemGetAddressRange_v2(CUdeviceptr *, size_t *, CUdeviceptr);
cudaError_t cudaDriverGetVersion(int *), cudaInitDevice(int, unsigned, unsigned), cudaDeviceGetPCIBusId(char *, int,
	int), cudaDeviceCanAccessPeer(int *, int, int), cudaDeviceEnablePeerAccess(int, unsigned);
cudaError_t cudaDeviceGetStreamPriorityRange(int *, int *), cudaDeviceGetLimit(size_t *, int),
	cudaGetDeviceProperties(struct properties_13 *, int), cudaGetDeviceProperties_v2(struct properties_12 *, int);
cudaError_t cudaGetDriverEntryPoint(const char *, void **, unsigned long long, int *);

enum { NO_DEVICE = CUDA_ERROR_INVALID_DEVICE };

/* Devices by ordinals; of others each call says that there are none. */
static void of_driver(void) {
	int n = 0, value;
	char name[64];
	CUdevice d = -1;
	CUuuid uuid[2];
	size_t bytes;
	SUCCEEDS(cuInit(0));
	SUCCEEDS(cuDeviceGetCount(&n));
	SUCCEEDS(cuDeviceGet(&d, 1));
	CHECK(n == 2 && d == 1 && cuDeviceGet(&d, 2) == NO_DEVICE && cuDeviceGet(&d, -1) == NO_DEVICE);
	SUCCEEDS(cuDeviceGetName(name, sizeof name, 1));
	CHECK(!strcmp(name, "NVIDIA H100 80GB HBM3"));
	memset(name, 'x', sizeof name);
	SUCCEEDS(cuDeviceGetName(name, 1, 0));
	CHECK(!name[0] && name[1] == 'x');
	SUCCEEDS(cuDeviceGetName(name, 6, 0));
	CHECK(!strcmp(name, "Tesla") && cuDeviceGetName(name, 0, 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuDeviceGetName(name, 6, 2) == NO_DEVICE);
	SUCCEEDS(cuDeviceGetAttribute(&value, DEVICE_MULTIPROCESSOR_COUNT, 1));
	CHECK(value == 132 && cuDeviceGetAttribute(&value, DEVICE_MULTIPROCESSOR_COUNT, 2) == NO_DEVICE);
	SUCCEEDS(cuDeviceTotalMem_v2(&bytes, 1));
	CHECK(bytes == 2048 * MIB && cuDeviceTotalMem_v2(&bytes, 2) == NO_DEVICE);
	SUCCEEDS(cuDeviceGetUuid(&uuid[0], 0));
	SUCCEEDS(cuDeviceGetUuid_v2(&uuid[1], 1));
	CHECK(!memcmp(uuid[0].bytes, "memspec-pretend0", 16) && !memcmp(uuid[1].bytes, "memspec-pretend1", 16));
	CHECK(cuDeviceGetUuid_v2(&uuid[0], 2) == NO_DEVICE);
}

static void contexts(void) {
	CUcontext first, second, c;
	CUdevice d;
	unsigned flags = 5;
	int active;
	SUCCEEDS(cuCtxGetCurrent(&c));
	CHECK(!c); /* none before one is used */
	SUCCEEDS(cuDevicePrimaryCtxRetain(&first, 0));
	SUCCEEDS(cuDevicePrimaryCtxRetain(&second, 1));
	CHECK(cuDevicePrimaryCtxRetain(&c, 2) == NO_DEVICE);
	SUCCEEDS(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(active == 1 && flags == 0 && cuDevicePrimaryCtxGetState(2, &flags, &active) == NO_DEVICE);
	SUCCEEDS(cuDevicePrimaryCtxRelease_v2(1));
	CHECK(cuDevicePrimaryCtxRelease_v2(2) == NO_DEVICE);
	SUCCEEDS(cuCtxSetCurrent(second));
	SUCCEEDS(cuCtxGetDevice(&d));
	CHECK(d == 1);
	SUCCEEDS(cuStreamGetCtx(NULL, &c));
	CHECK(c == second && cuCtxSetCurrent((CUcontext)(uintptr_t)3) == CUDA_ERROR_INVALID_CONTEXT);
	SUCCEEDS(cuCtxSetCurrent(first));
	for (int i = 0; i < 16; i++) SUCCEEDS(cuCtxPushCurrent(i % 2 ? first : second));
	CHECK(cuCtxPushCurrent(first) == CUDA_ERROR_INVALID_VALUE);
	for (int i = 16; i--;) {
		SUCCEEDS(cuCtxPopCurrent(i % 3 ? &c : NULL));
		CHECK(i % 3 == 0 || c == (i % 2 ? first : second));
	}
	SUCCEEDS(cuCtxGetCurrent(&c));
	CHECK(c == first && cuCtxPopCurrent(&c) == CUDA_ERROR_INVALID_CONTEXT);
}

static void errors(void) {
	static const struct {
		int e;
		const char *name, *text;
	} rows[] = { { 0, "CUDA_SUCCESS", "no error" }, { 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
		{ 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device" },
		{ 801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported on a pretend GPU" },
		{ 1, "CUDA_ERROR", "an error of a pretend GPU" } };
	const char *text;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		SUCCEEDS(cuGetErrorName(rows[i].e, &text));
		CHECK(!strcmp(text, rows[i].name));
		SUCCEEDS(cuGetErrorString(rows[i].e, &text));
		CHECK(!strcmp(text, rows[i].text));
	}
	CHECK(!strcmp(cudaGetErrorString(cudaErrorNotSupported), "an error of a pretend GPU")); /* no call was refused */
	int last = cudaGetLastError();
	CHECK(!last);
}

static void by_name(void) {
	void *f = &f;
	int result = -1;
	const void *table;
	CHECK(cuGetProcAddress_v2("cuNoSuchCall", &f, 12000, 0, &result) == CUDA_ERROR_NOT_FOUND && !f && result == 1);
	CHECK(cuGetProcAddress_v2("cuNoSuchCall", &f, 12000, 0, NULL) == CUDA_ERROR_NOT_FOUND && noted("cuNoSuchCall"));
	f = &f;
	SUCCEEDS(cudaGetDriverEntryPoint("cuNoSuchCall", &f, 0, &result));
	CHECK(!f && result == cudaDriverEntryPointSymbolNotFound);
	CHECK(cuGetExportTable(&table, NULL) == CUDA_ERROR_NOT_SUPPORTED && noted("cuGetExportTable"));
}

static void of_runtime(void) {
	int n, least = 1, greatest = 1, versions[3];
	char id[16];
	size_t limit = 1;
	SUCCEEDS(cudaRuntimeGetVersion(&versions[0]));
	SUCCEEDS(cudaDriverGetVersion(&versions[1]));
	SUCCEEDS(cuDriverGetVersion(&versions[2]));
	for (int i = 0; i < 3; i++) CHECK(versions[i] == 13000); /* no runtime is loaded here */
	SUCCEEDS(cudaInitDevice(1, 0, 0));
	CHECK(cudaInitDevice(2, 0, 0) == cudaErrorInvalidDevice);
	SUCCEEDS(cudaDeviceGetPCIBusId(id, sizeof id, 1));
	CHECK(!strcmp(id, "0000:02:00.0") && cudaDeviceGetPCIBusId(id, sizeof id, 2) == cudaErrorInvalidDevice);
	SUCCEEDS(cudaDeviceGetPCIBusId(id, 1, 1));
	CHECK(!id[0] && cudaDeviceGetPCIBusId(id, 0, 1) == cudaErrorInvalidValue);
	SUCCEEDS(cudaDeviceCanAccessPeer(&n, 0, 1));
	CHECK(n == 1);
	SUCCEEDS(cudaDeviceCanAccessPeer(&n, 1, 1));
	CHECK(n == 0 && cudaDeviceCanAccessPeer(&n, 0, 2) == cudaErrorInvalidDevice);
	CHECK(cudaDeviceCanAccessPeer(&n, 2, 0) == cudaErrorInvalidDevice);
	SUCCEEDS(cudaDeviceEnablePeerAccess(1, 0));
	CHECK(cudaDeviceEnablePeerAccess(2, 0) == cudaErrorInvalidDevice);
	SUCCEEDS(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	CHECK(least == 0 && greatest == -5); /* every card since Volta */
	SUCCEEDS(cudaDeviceGetLimit(&limit, 0));
	CHECK(limit == 0);
	limit = 1;
	SUCCEEDS(cuCtxGetLimit(&limit, 0));
	CHECK(limit == 0);
}

#define CHECK_PROPERTIES(p) \
	CHECK(!strcmp(p.name, "NVIDIA H100 80GB HBM3") && !memcmp(p.uuid, "memspec-pretend1", 16)); \
	CHECK(p.memory == 2048 * MIB && p.shared_per_block == 49152 && p.registers_per_block == 65536 && p.warp == 32); \
	CHECK(p.pitch == 2147483647 && p.threads_per_block == 1024 && p.constant == 65536 && p.major == 9 && !p.minor); \
	CHECK(p.block[0] == 1024 && p.block[1] == 1024 && p.block[2] == 64); \
	CHECK(p.grid[0] == 2147483647 && p.grid[1] == 65535 && p.grid[2] == 65535); \
	CHECK(p.texture_alignment == 512 && p.surface_alignment == 512 && p.texture_pitch == 32 && p.sms == 132); \
	CHECK(p.map_host == 1 && p.concurrent_kernels == 1 && p.unified == 1 && p.priorities == 1 && p.global_l1 == 1); \
	CHECK(p.local_l1 == 1 && p.managed == 1 && p.concurrent_managed == 1 && p.preemption == 1 && p.pools == 1); \
	CHECK(p.registered_pointer == 1 && p.cooperative == 1 && p.host_register == 1 && p.pool_handles == 1); \
	CHECK(p.bus_id == 2 && p.engines == 2 && p.bus_bits == 0 && p.l2 == 0 && p.threads_per_sm == 2048); \
	CHECK(p.shared_per_sm == 233472 && p.registers_per_sm == 65536 && p.shared_optin == 232448); \
	CHECK(p.blocks_per_sm == 32 && p.shared_reserved == 1024 && p.cluster == 1 && !p.integrated && !p.ecc)

static void properties(void) {
	struct properties_13 new;
	struct properties_12 old;
	SUCCEEDS(cudaGetDeviceProperties(&new, 1));
	CHECK_PROPERTIES(new);
	SUCCEEDS(cudaGetDeviceProperties_v2(&old, 1));
	CHECK_PROPERTIES(old);
	CHECK(old.overlap == 1 && old.clock_khz == 0 && old.memory_clock_khz == 0);
	SUCCEEDS(cudaGetDeviceProperties(&new, 0));
	CHECK(new.cluster == 0 && new.major == 7);
	CHECK(cudaGetDeviceProperties(&new, 2) == cudaErrorInvalidDevice);
	CHECK(cudaGetDeviceProperties_v2(&old, 2) == cudaErrorInvalidDevice);
}

void calls(void) {
	contexts();
	of_driver();
	errors();
	by_name();
	of_runtime();
	properties();
}

/* What an address is to the driver. */
void driver_addresses(void) {
	CUdeviceptr device, managed, base = 0, got;
	char *host;
	size_t size = 0;
	unsigned char two[2] = { 0, 7 };
	int yes, *none = NULL;
	CUcontext first, context;
	SUCCEEDS(cuDevicePrimaryCtxRetain(&first, 0));
	SUCCEEDS(cudaMalloc((void **)&host, 1024));
	device = (uintptr_t)host;
	SUCCEEDS(cuMemAllocManaged(&managed, 4096, 1));
	SUCCEEDS(cudaHostAlloc((void **)&host, 4096, 0));
	SUCCEEDS(cuMemGetAddressRange_v2(&base, &size, device + 1000));
	CHECK(base == device && size == 1024);
	SUCCEEDS(cuMemGetAddressRange_v2(NULL, NULL, device));
	CHECK(cuMemGetAddressRange_v2(&base, &size, (uintptr_t)host) == CUDA_ERROR_NOT_FOUND);
	CHECK(cuMemGetAddressRange_v2(&base, &size, (uintptr_t)&none) == CUDA_ERROR_NOT_FOUND);
	const CUdeviceptr all[] = { device + 8, managed + 8, (uintptr_t)host + 8 };
	for (int i = 0; i < 3; i++) {
		bool on_card = i == 0, is_managed = i == 1;
		SUCCEEDS(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, all[i]));
		CHECK(context == first);
		got = 0;
		int e = cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_HOST_POINTER, all[i]);
		CHECK(on_card ? e == CUDA_ERROR_INVALID_VALUE && !got : !e && got == all[i]);
		SUCCEEDS(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, all[i]));
		CHECK(got == all[i]);
		SUCCEEDS(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, all[i]));
		CHECK(got == all[i] - 8);
		SUCCEEDS(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_BUFFER_ID, all[i]));
		SUCCEEDS(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, all[i]));
		CHECK(size == (on_card ? 1024 : 4096));
		SUCCEEDS(cuPointerGetAttribute(&yes, CU_POINTER_ATTRIBUTE_IS_MANAGED, all[i]));
		CHECK(yes == is_managed);
		SUCCEEDS(cuPointerGetAttribute(two, CU_POINTER_ATTRIBUTE_MAPPED, all[i]));
		CHECK(two[0] == 1 && two[1] == 7); /* one byte */
		two[0] = 0;
	}
	CHECK(cuPointerGetAttribute(&yes, 99, device) == CUDA_ERROR_NOT_SUPPORTED);
	CHECK(noted("cuPointerGetAttribute of another attribute"));
	CHECK(cuPointerGetAttribute(&yes, CU_POINTER_ATTRIBUTE_MAPPED, (uintptr_t)&none) == CUDA_ERROR_INVALID_VALUE);
}

/* What MEMSPEC_PRETEND_LOG prints, each note once. */
void logged(void) {
	void *p;
	CUdeviceptr at;
	SUCCEEDS(cudaMalloc(&p, 1000));
	SUCCEEDS(cudaFree(p));
	SUCCEEDS(cudaMallocManaged(&p, 4096, 1));
	SUCCEEDS(cuMemAddressReserve(&at, 2 * MIB, 0, 0, 0));
	for (int i = 0; i < 2; i++) {
		note_absent("cuNoSuchCall");
		note_unsized("a size");
		note_estimated("a formula");
		note_unfollowed("cudaMemcpy");
	}
}
