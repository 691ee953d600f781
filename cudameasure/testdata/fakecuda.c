// A stub libcuda.so.1: one or two devices with fixed numbers, and errors to be switched on by the
// variable FAKECUDA: (empty) one device two two devices none a driver without a device (cuInit
// gives 100) old CUDA 10.2 hang cuInit never returns mismatch kernel module and library differ
// (cuInit gives 803) broken cuDeviceTotalMem gives 999 The memory in use is 100 MiB of the first
// device and 200 of the second, and 7 more each time that it is asked. Every other function of the
// driver comes from the stub that cudaprobe/build.sh makes of cuda.h, and gives 801 (not
// supported).
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *mode) {
	const char *m = getenv("FAKECUDA");
	return m != NULL && strcmp(m, mode) == 0;
}

int cuInit(unsigned int flags) {
	(void)flags;
	if (is("hang"))
		for (;;)
			pause();
	return is("none") ? 100 : is("mismatch") ? 803 : 0;
}

int cuDriverGetVersion(int *version) {
	*version = is("old") ? 10020 : 12040;
	return 0;
}

int cuDeviceGetCount(int *count) {
	*count = is("two") ? 2 : 1;
	return 0;
}

int cuDeviceGet(int *device, int ordinal) {
	*device = ordinal;
	return 0;
}

int cuDeviceGetName(char *name, int size, int device) {
	strncpy(name, device ? "Stand-in B" : "Stand-in A", (size_t)size);
	return 0;
}

#ifndef NO_UUID
int cuDeviceGetUuid(unsigned char *uuid, int device) {
	for (int i = 0; i < 16; i++)
		uuid[i] = (unsigned char)(16 * i + device);
	return 0;
}
#endif

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
	if (is("broken"))
		return 999;
	*bytes = (size_t)(device ? 22478 : 14918) << 20;
	return 0;
}

// 75 and 76 are CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
int cuDeviceGetAttribute(int *value, int attribute, int device) {
	switch (attribute) {
	case 75:
		*value = device ? 8 : 7;
		return 0;
	case 76:
		*value = device ? 9 : 5;
		return 0;
	}
	return 1;
}

static long current = -1;

int cuDevicePrimaryCtxRetain(void **context, int device) {
	*context = (void *)(long)(device + 1);
	return 0;
}

int cuCtxSetCurrent(void *context) {
	current = (long)context - 1;
	return 0;
}

int cuMemGetInfo_v2(size_t *bytes_free, size_t *bytes_total) {
	static size_t asked[2];
	if (current < 0)
		return 201;
	cuDeviceTotalMem_v2(bytes_total, (int)current);
	*bytes_free = *bytes_total - ((size_t)((current ? 200 : 100) + 7 * asked[current]++) << 20);
	return 0;
}
