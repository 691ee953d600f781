/* Kernels for other cards: images in each form in which a program hands them over, and the kernels
   that nvcc's host code registers. */
#include "unit.h"

CUresult cuModuleLoadData(CUmodule *, const void *), cuModuleLoad(CUmodule *, const char *),
	cuModuleLoadFatBinary(CUmodule *, const void *);
CUresult cuModuleUnload(CUmodule), cuLibraryLoadData(CUlibrary *, const void *, void *, void **, unsigned, void *,
	void **, unsigned), cuLibraryUnload(CUlibrary);
CUresult cuLibraryLoadFromFile(CUlibrary *, const char *, void *, void **, unsigned, void *, void **, unsigned),
	cuGetErrorName(CUresult, const char **), cuGetErrorString(CUresult, const char **);
void **__cudaRegisterFatBinary(void *), __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, dim3 *, dim3 *, int *);

enum { PTX = 1, CUBIN = 2, ONLY = 1 << 20, FAMILY = 1 << 21 };
struct built {
	uint16_t kind;
	uint32_t architecture;
	uint64_t flags;
};

/* A container as nvcc writes it: each entry has 64 bytes of header, then its compressed code. */
static size_t container(char *out, const struct built *entries, size_t n) {
	const size_t header = 64, code = 24;
	uint64_t size = n * (header + code);
	memcpy(out, (uint32_t[]){ 0xba55ed50 }, 4);
	memcpy(out + 4, (uint16_t[]){ 1, 16 }, 4);
	memcpy(out + 8, &size, 8);
	char *at = out + 16;
	for (size_t i = 0; i < n; i++, at += header + code) {
		memset(at, 0xa5, header + code);
		memcpy(at, (uint16_t[]){ entries[i].kind, 0x101 }, 4);
		memcpy(at + 4, (uint32_t[]){ (uint32_t)header }, 4);
		memcpy(at + 8, (uint64_t[]){ code }, 8);
		memcpy(at + 28, &entries[i].architecture, 4);
		memcpy(at + 40, (uint64_t[]){ 0x8011 | entries[i].flags }, 8);
	}
	return 16 + size;
}

static CUresult load(const void *image) {
	CUmodule m = NULL;
	CUresult e = cuModuleLoadData(&m, image);
	if (!e) cuModuleUnload(m);
	return e;
}

static CUresult loads(int device, struct built first, struct built second) {
	static char image[512];
	container(image, (struct built[]){ first, second }, second.kind ? 2 : 1);
	SUCCEEDS(cudaSetDevice(device));
	return load(image);
}

enum { T4, H100, NO = CUDA_ERROR_NO_BINARY_FOR_GPU };

void architectures(void) {
	static const struct {
		struct built first, second;
		int on_t4, on_h100;
	} rows[] = {
		{ { CUBIN, 75, 0 }, { 0, 0, 0 }, 0, NO },
		{ { CUBIN, 70, 0 }, { 0, 0, 0 }, 0, NO }, /* of the same major and not newer */
		{ { CUBIN, 80, 0 }, { 0, 0, 0 }, NO, NO },
		{ { CUBIN, 80, 0 }, { PTX, 80, 0 }, NO, 0 }, /* the driver compiles it for what is newer */
		{ { PTX, 75, 0 }, { 0, 0, 0 }, 0, 0 },
		{ { CUBIN, 80, 0 }, { CUBIN, 90, 0 }, NO, 0 },
		{ { CUBIN, 90, ONLY }, { 0, 0, 0 }, NO, 0 },
		{ { PTX, 75, ONLY }, { 0, 0, 0 }, 0, NO },
		{ { PTX, 75, FAMILY }, { 0, 0, 0 }, 0, NO },
		{ { CUBIN, 70, FAMILY }, { 0, 0, 0 }, 0, NO },
		{ { CUBIN, 100, 0 }, { PTX, 120, 0 }, NO, NO },
		{ { CUBIN, 90, 0 }, { 8, 90, 0 }, 0, 0 }, /* another kind of code: it is not known */
		{ { CUBIN, 9, 0 }, { 0, 0, 0 }, 0, 0 }, /* no architecture is below 1.0, or has four digits */
		{ { CUBIN, 10, 0 }, { 0, 0, 0 }, NO, NO },
		{ { CUBIN, 999, 0 }, { 0, 0, 0 }, NO, NO },
		{ { CUBIN, 1000, 0 }, { 0, 0, 0 }, 0, 0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if ((int)loads(T4, rows[i].first, rows[i].second) != rows[i].on_t4 ||
			(int)loads(H100, rows[i].first, rows[i].second) != rows[i].on_h100) {
			fprintf(stderr, "row %zu\n", i);
			exit(1);
		}
	}
	const char *name, *text;
	SUCCEEDS(cuGetErrorName(NO, &name));
	CHECK(!strcmp(name, "CUDA_ERROR_NO_BINARY_FOR_GPU"));
	SUCCEEDS(cuGetErrorString(NO, &text));
	CHECK(!strcmp(text, "no kernel image is available for execution on the device"));
}

static void file_with(const char *path, const void *bytes, size_t n) {
	FILE *f = fopen(path, "wb");
	CHECK(f && fwrite(bytes, 1, n, f) == n && !fclose(f));
}

/* A container of one entry, whose header says that it and its code have so many bytes. */
static void entry_of(char *image, uint32_t header, uint64_t code) {
	container(image, &(struct built){ CUBIN, 90, 0 }, 1);
	memcpy(image + 16 + 4, &header, 4);
	memcpy(image + 16 + 8, &code, 8);
}

void image_forms(void) {
	char image[512], elf[65] = "\177ELF\2\1\1", path[] = "/tmp/memspec-image-XXXXXX";
	SUCCEEDS(cudaSetDevice(T4));
	size_t size = container(image, &(struct built){ CUBIN, 90, 0 }, 1);
	struct {
		uint32_t magic, version;
		const void *data, *name;
	} wrapper = { 0x466243b1, 1, image, NULL };
	CUmodule m = NULL;
	CUlibrary l = NULL;
	CHECK(load(image) == NO && load(&wrapper) == NO && cuModuleLoadFatBinary(&m, image) == NO);
	CHECK(cuLibraryLoadData(&l, image, NULL, NULL, 0, NULL, NULL, 0) == NO);
	close(mkstemp(path));
	file_with(path, image, size);
	CHECK(cuModuleLoad(&m, path) == NO && cuLibraryLoadFromFile(&l, path, NULL, NULL, 0, NULL, NULL, 0) == NO);
	file_with(path, image, size - 1); /* cut short: it is not looked into */
	SUCCEEDS(cuModuleLoad(&m, path));
	SUCCEEDS(cuModuleUnload(m));
	file_with(path, &wrapper, sizeof wrapper); /* an address in a file is nobody's */
	SUCCEEDS(cuLibraryLoadFromFile(&l, path, NULL, NULL, 0, NULL, NULL, 0));
	SUCCEEDS(cuLibraryUnload(l));
	unlink(path);
	CHECK(cuModuleLoad(&m, path) == CUDA_ERROR_FILE_NOT_FOUND);

	memcpy(elf + 18, (uint16_t[]){ 190 }, 2);
	memcpy(elf + 48, (uint32_t[]){ 0x00500550 }, 4); /* CUDA 12's form of sm_80 */
	CHECK(load(elf) == NO);
	memcpy(elf + 48, (uint32_t[]){ 0x004b054b }, 4);
	SUCCEEDS(load(elf));
	elf[8] = 8;
	memcpy(elf + 48, (uint32_t[]){ 0x06005004 }, 4); /* CUDA 13's */
	CHECK(load(elf) == NO);
	memcpy(elf + 48, (uint32_t[]){ 0x06004b04 }, 4);
	SUCCEEDS(load(elf));
	memcpy(elf + 48, (uint32_t[]){ 0x06000904 }, 4); /* no architecture is below 1.0 */
	SUCCEEDS(load(elf));
	memcpy(elf + 48, (uint32_t[]){ 0x06000a04 }, 4);
	CHECK(load(elf) == NO);
	memcpy(elf + 48, (uint32_t[]){ 0x06005004 }, 4);
	for (size_t n = 64; n <= 65; n++) { /* of a file, only what has more than a header */
		file_with(path, elf, n);
		CHECK(cuModuleLoad(&m, path) == (n == 64 ? 0 : NO));
		unlink(path);
	}
	SUCCEEDS(cuModuleUnload(m));
	memcpy(elf + 18, (uint16_t[]){ 62 }, 2); /* no cubin */
	SUCCEEDS(load(elf));

	SUCCEEDS(load(".version 8.0\n.target sm_90\n")); /* PTX by itself is not looked into */
	memcpy(image + 4, (uint16_t[]){ 2 }, 2);
	SUCCEEDS(load(image)); /* another version of the container */
	container(image, &(struct built){ CUBIN, 90, 0 }, 1);
	memcpy(image + 16 + 4, (uint32_t[]){ 8 }, 4);
	SUCCEEDS(load(image)); /* headers that are too short, */
	memcpy(image + 16 + 4, (uint32_t[]){ 4096 }, 4);
	SUCCEEDS(load(image)); /* that reach beyond the container, */
	container(image, &(struct built){ CUBIN, 90, 0 }, 1);
	memcpy(image + 16 + 8, (uint64_t[]){ ~(uint64_t)0 }, 8);
	SUCCEEDS(load(image)); /* and code that does */
	entry_of(image, 8, 80);
	SUCCEEDS(load(image));
	entry_of(image, 48, 40); /* the shortest header, */
	CHECK(load(image) == NO);
	entry_of(image, 88, 0); /* the longest, */
	CHECK(load(image) == NO);
	entry_of(image, 48, 0);
	memcpy(image + 8, (uint64_t[]){ 48 }, 8); /* and the shortest container */
	CHECK(load(image) == NO);
	container(image, NULL, 0);
	SUCCEEDS(load(image));
}

static cudaError_t launch(const void *kernel) {
	cudaError_t e = cudaLaunchKernel(kernel, (dim3){ 1, 1, 1 }, (dim3){ 32, 1, 1 }, NULL, 0, NULL);
	CHECK(cudaGetLastError() == e);
	return e;
}

void registered_kernels(void) {
	static char hopper[512], both[512];
	static const char kernels[4];
	struct cudaFuncAttributes attributes;
	container(hopper, &(struct built){ CUBIN, 90, 0 }, 1);
	container(both, (struct built[]){ { CUBIN, 75, 0 }, { CUBIN, 90, 0 } }, 2);
	struct {
		uint32_t magic, version;
		const void *data, *name;
	} of_hopper = { 0x466243b1, 1, hopper, NULL }, of_both = { 0x466243b1, 1, both, NULL };
	void **first = __cudaRegisterFatBinary(&of_hopper), **second = __cudaRegisterFatBinary(&of_both);
	__cudaRegisterFunction(first, &kernels[2], NULL, "c", 0, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(second, &kernels[1], NULL, "b", 0, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(first, &kernels[0], NULL, "a", 0, NULL, NULL, NULL, NULL, NULL);
	SUCCEEDS(cudaSetDevice(T4));
	SUCCEEDS(launch(&kernels[1]));
	CHECK(launch(&kernels[0]) == cudaErrorNoKernelImageForDevice &&
		launch(&kernels[2]) == cudaErrorNoKernelImageForDevice);
	CHECK(cudaFuncGetAttributes(&attributes, &kernels[2]) == cudaErrorNoKernelImageForDevice &&
		cudaGetLastError() == cudaErrorNoKernelImageForDevice);
	SUCCEEDS(launch(&kernels[3])); /* nobody registered it */
	SUCCEEDS(cudaSetDevice(H100));
	SUCCEEDS(launch(&kernels[0]));
	SUCCEEDS(launch(&kernels[1]));
	SUCCEEDS(cudaSetDevice(T4));
	CHECK(launch(&kernels[0]) == cudaErrorNoKernelImageForDevice);
	void **third = __cudaRegisterFatBinary(&of_hopper);
	__cudaRegisterFunction(third, &kernels[3], NULL, "d", 0, NULL, NULL, NULL, NULL, NULL);
	CHECK(launch(&kernels[3]) == cudaErrorNoKernelImageForDevice);
	__cudaUnregisterFatBinary(third);
	SUCCEEDS(launch(&kernels[3]));
	CHECK(launch(&kernels[0]) == cudaErrorNoKernelImageForDevice); /* of another image */
	__cudaUnregisterFatBinary(first);
	SUCCEEDS(launch(&kernels[0])); /* its library is gone: what lies there is another's */
	SUCCEEDS(launch(&kernels[1]));
	__cudaUnregisterFatBinary(second);
}
