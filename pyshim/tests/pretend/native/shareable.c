/* Memory that processes share by file descriptors, multicast objects, and what NCCL allocates. */
#include "unit.h"

#include <fcntl.h>

enum { DESCRIPTOR = 1, FABRIC = 8, INVALID = CUDA_ERROR_INVALID_VALUE };

static CUmemGenericAllocationHandle create(size_t n) {
	CUmemAllocationProp prop = { .location.id = 1 };
	CUmemGenericAllocationHandle h;
	SUCCEEDS(cuMemCreate(&h, n, &prop, 0));
	return h;
}
static int exported(CUmemGenericAllocationHandle h) {
	int file = -1;
	SUCCEEDS(cuMemExportToShareableHandle(&file, h, DESCRIPTOR, 0));
	CHECK(file >= 0);
	return file;
}
static CUmemGenericAllocationHandle imported(int file) {
	CUmemGenericAllocationHandle h;
	SUCCEEDS(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)file, DESCRIPTOR));
	close(file);
	return h;
}
static CUdeviceptr mapped(CUmemGenericAllocationHandle h, size_t n) {
	CUdeviceptr at;
	SUCCEEDS(cuMemAddressReserve(&at, n, 0, 0, 0));
	SUCCEEDS(cuMemMap(at, n, 0, h, 0));
	return at;
}

/* What another process has is taken of no card here, as long as it is mapped and after. */
static void another_process(void) {
	size_t before = free_now();
	CUmemGenericAllocationHandle own = create(4 * MIB), other = imported(exported(own));
	CUdeviceptr at = mapped(own, 4 * MIB), theirs = mapped(other, 4 * MIB);
	CHECK(free_now() == before - 4 * MIB && own != other && at != theirs);
	SUCCEEDS(cudaMemset((void *)(uintptr_t)at, 3, 8));
	SUCCEEDS(cuStreamWriteValue32_v2(NULL, theirs + 4, 7, 0));
	CHECK(((int *)(uintptr_t)theirs)[1] == 7 && !is_known((void *)(uintptr_t)theirs, 8));
	CHECK(is_known((void *)(uintptr_t)at, 8));
	CHECK(cuStreamWriteValue32_v2(NULL, theirs + 4 * MIB, 7, 0) == INVALID); /* behind it */
	SUCCEEDS(cuMemRelease(own));
	SUCCEEDS(cuMemUnmap(at, 4 * MIB));
	CHECK(free_now() == before);
	SUCCEEDS(cuMemUnmap(theirs, 4 * MIB));
	SUCCEEDS(cuMemRelease(other));
	CHECK(free_now() == before && cuMemRelease(other) == INVALID);
}

/* A handle is released as often as it was given. */
static void retained(void) {
	size_t before = free_now();
	CUmemGenericAllocationHandle own = create(2 * MIB), again;
	CUdeviceptr at = mapped(own, 2 * MIB);
	CUmemAllocationProp prop;
	SUCCEEDS(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(at + 5)));
	CHECK(again == own);
	SUCCEEDS(cuMemGetAllocationPropertiesFromHandle(&prop, own));
	CHECK(prop.location.id == 1 && prop.requestedHandleTypes == DESCRIPTOR);
	void *plain;
	SUCCEEDS(cudaMalloc(&plain, 512));
	CHECK(cuMemRetainAllocationHandle(&again, plain) == INVALID && cuMemRetainAllocationHandle(NULL, plain) == INVALID);
	CHECK(cuMemRetainAllocationHandle(NULL, (void *)(uintptr_t)at) == INVALID);
	SUCCEEDS(cudaFree(plain));
	again = own;
	SUCCEEDS(cuMemUnmap(at, 2 * MIB));
	SUCCEEDS(cuMemRelease(own));
	CHECK(free_now() == before - 2 * MIB);
	SUCCEEDS(cuMemRelease(again));
	CHECK(free_now() == before && cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)at) == INVALID);
}

static void wrong_files(void) {
	CUmemGenericAllocationHandle h = create(2 * MIB), none;
	int file, zero = open("/dev/zero", O_RDONLY);
	CHECK(cuMemExportToShareableHandle(&file, 12345, DESCRIPTOR, 0) == INVALID);
	CHECK(cuMemExportToShareableHandle(&file, h, DESCRIPTOR, 1) == INVALID);
	CHECK(cuMemImportFromShareableHandle(&none, (void *)(intptr_t)-1, DESCRIPTOR) == INVALID);
	CHECK(cuMemImportFromShareableHandle(&none, (void *)(intptr_t)zero, DESCRIPTOR) == INVALID);
	CHECK(cuMemExportToShareableHandle(&file, h, FABRIC, 0) == CUDA_ERROR_NOT_SUPPORTED);
	CHECK(cuMemImportFromShareableHandle(&none, NULL, FABRIC) == CUDA_ERROR_NOT_SUPPORTED);
	close(zero);
	SUCCEEDS(cuMemRelease(h));
}

static void multicast(void) {
	size_t before = free_now(), least = 0;
	CUmulticastObjectProp prop = { .numDevices = 2, .size = 4 * MIB, .handleTypes = DESCRIPTOR };
	CUmemGenericAllocationHandle h, own = create(4 * MIB), other;
	SUCCEEDS(cuMulticastGetGranularity(&least, &prop, 0));
	SUCCEEDS(cuMulticastCreate(&h, &prop));
	other = imported(exported(h));
	SUCCEEDS(cuMulticastAddDevice(other, 1));
	SUCCEEDS(cuMulticastBindMem(other, 0, own, 0, 4 * MIB, 0));
	CUdeviceptr at = mapped(other, 4 * MIB), mine = mapped(own, 4 * MIB);
	SUCCEEDS(cuMulticastBindAddr(h, 2 * MIB, mine, 2 * MIB, 0));
	CHECK(free_now() == before - 4 * MIB && least == 2 * MIB);
	CHECK(cuMulticastBindMem(other, 2 * MIB, own, 0, 4 * MIB, 0) == INVALID);
	CHECK(cuMulticastBindMem(other, 0, own, 2 * MIB, 4 * MIB, 0) == INVALID);
	CHECK(cuMulticastBindMem(own, 0, own, 0, 4 * MIB, 0) == INVALID);
	CHECK(cuMulticastBindMem(h, 0, other, 0, 4 * MIB, 0) == INVALID);
	CHECK(cuMulticastAddDevice(own, 1) == INVALID && cuMulticastAddDevice(h, 2) == INVALID);
	CHECK(cuMulticastUnbind(own, 1, 0, 2 * MIB) == INVALID);
	CHECK(cuMulticastBindAddr(h, 0, mine + 2 * MIB, 4 * MIB, 0) == INVALID); /* not all of it is mapped */
	SUCCEEDS(cuMulticastUnbind(other, 1, 0, 4 * MIB));
	prop.size = MIB;
	CHECK(cuMulticastCreate(&h, &prop) == INVALID);
	prop.size = 2 * MIB;
	SUCCEEDS(cudaSetDevice(0)); /* a card without it */
	CHECK(cuMulticastCreate(&h, &prop) == CUDA_ERROR_NOT_SUPPORTED);
	SUCCEEDS(cudaSetDevice(1));
	SUCCEEDS(cuMemUnmap(mine, 4 * MIB));
	SUCCEEDS(cuMemUnmap(at, 4 * MIB));
	SUCCEEDS(cuMemRelease(other));
	SUCCEEDS(cuMemRelease(own));
	CHECK(free_now() == before);
}

/* Whole pages; without virtual memory, what cudaMalloc takes. */
static void of_nccl(void) {
	size_t before = free_now();
	char *a, *b;
	void *window;
	ncclComm_t c;
	SUCCEEDS(ncclMemAlloc((void **)&a, 2 * MIB + 1));
	CHECK(free_now() == before - 4 * MIB);
	SUCCEEDS(ncclCommInitRank(&c, 2, (ncclUniqueId){ { 0 } }, 0));
	SUCCEEDS(ncclCommWindowRegister(c, a, 4 * MIB, &window, 0));
	CHECK(ncclCommWindowRegister(c, a, 4 * MIB + 1, &window, 0) == 4);
	CHECK(ncclCommWindowRegister(NULL, a, MIB, &window, 0) == 4 && ncclCommWindowRegister(c, a, MIB, NULL, 0) == 4);
	CHECK(ncclCommWindowRegister(c, a, 0, &window, 0) == 4);
	SUCCEEDS(ncclCommWindowDeregister(c, window));
	CHECK(ncclCommWindowDeregister(NULL, window) == 4 && ncclCommWindowDeregister(c, NULL) == 4);
	CHECK(noted("NCCL's own buffers: of windows"));
	CHECK(ncclMemFree(a + 512) == 4 && ncclMemAlloc(NULL, MIB) == 4);
	SUCCEEDS(ncclMemFree(NULL));
	SUCCEEDS(ncclMemFree(a));
	CHECK(free_now() == before && ncclMemFree(a) == 4);
	CUdeviceptr larger; /* what is mapped into a part of a reservation is not NCCL's */
	CUmemGenericAllocationHandle own = create(2 * MIB);
	SUCCEEDS(cuMemAddressReserve(&larger, 4 * MIB, 0, 0, 0));
	SUCCEEDS(cuMemMap(larger, 2 * MIB, 0, own, 0));
	CHECK(ncclMemFree((void *)(uintptr_t)larger) == 1);
	SUCCEEDS(cuMemRelease(own));
	SUCCEEDS(cuMemAddressFree(larger, 4 * MIB));
	CHECK(free_now() == before);
	SUCCEEDS(ncclMemAlloc((void **)&b, 0)); /* nothing */
	CHECK(!b);
	setenv("NCCL_CUMEM_ENABLE", "0", 1);
	SUCCEEDS(ncclMemAlloc((void **)&b, 513));
	CHECK(free_now() == before - 1024);
	SUCCEEDS(ncclMemFree(b));
	CHECK(free_now() == before && ncclMemAlloc((void **)&b, (size_t)1 << 40));
	unsetenv("NCCL_CUMEM_ENABLE");
	CHECK(ncclMemAlloc((void **)&b, (size_t)1 << 40) == 1 && free_now() == before);
	SUCCEEDS(ncclCommDestroy(c));
}

void shareable(void) {
	SUCCEEDS(cudaSetDevice(1));
	memspec_pretend_track(1, 0);
	another_process();
	retained();
	wrong_files();
	multicast();
	of_nccl();
}
