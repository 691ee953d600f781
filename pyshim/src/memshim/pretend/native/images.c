/* Which cards an image of kernels is for. Its kernels are not read; the headers around them say for
   which architectures they are. An image that has nothing for a card fails as the driver says. Of
   one in another form nothing is said. */
#include "pretend.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- forms: fatbinary_section.h describes the wrapper; the container and its entries are as nvcc
   11 to 13 write them ---- */

#define WRAPPER_MAGIC 0x466243b1u
#define CONTAINER_MAGIC 0xba55ed50u
enum { PTX = 1, CUBIN = 2, ELF_CUDA = 190, ELF_NEWER = 8 };
enum { ONLY = 1 << 20, FAMILY = 1 << 21 }; /* flags: sm_90a runs on 9.0 alone, sm_100f on 10.x from 10.0 on */

struct wrapper {
	uint32_t magic, version;
	const void *container;
	const void *name;
};
struct container {
	uint32_t magic;
	uint16_t version, header;
	uint64_t size; /* of all entries */
};
struct entry {
	uint16_t kind, version;
	uint32_t header;
	uint64_t size; /* without its header; compressed or not */
	uint32_t compressed, options;
	uint16_t minor, major;
	uint32_t architecture, name, name_length;
	uint64_t flags;
};

struct found {
	bool read, fits;
	char built[160]; /* for what, as text */
};

static bool runs(unsigned kind, unsigned built, uint64_t flags, const struct gpu *g) {
	unsigned here = (unsigned)(10 * g->major + g->minor);
	if (flags & ONLY) return built == here;
	bool same_major = built / 10 == here / 10;
	return built <= here && (same_major || (kind == PTX && !(flags & FAMILY)));
}

static void add_entry(struct found *f, unsigned kind, unsigned built, uint64_t flags, const struct gpu *g) {
	char name[32];
	snprintf(name, sizeof name, "%s%u%s", kind == PTX ? "compute_" : "sm_", built, flags & ONLY ? "a" : flags & FAMILY
		? "f" : "");
	if (!strstr(f->built, name)) {
		size_t used = strlen(f->built);
		snprintf(f->built + used, sizeof f->built - used, "%s%s", used ? ", " : "", name);
	}
	f->fits = f->fits || runs(kind, built, flags, g);
}

static struct found of_container(const char *image, const struct gpu *g) {
	struct found f = { .read = false };
	struct container c;
	memcpy(&c, image, sizeof c);
	if (c.version != 1 || c.header < sizeof c || c.size > (uint64_t)1 << 40) return f;
	uint64_t left = c.size;
	for (const char *at = image + c.header; left;) {
		struct entry e;
		if (left < sizeof e) return f;
		memcpy(&e, at, sizeof e);
		if (e.header < sizeof e || e.header > left || e.size > left - e.header) return f;
		if ((e.kind != PTX && e.kind != CUBIN) || e.architecture < 10 || e.architecture > 999) return f;
		add_entry(&f, e.kind, e.architecture, e.flags, g);
		at += e.header + e.size;
		left -= e.header + e.size;
	}
	f.read = f.built[0] != 0;
	return f;
}

static struct found of_elf(const char *image, const struct gpu *g) {
	struct found f = { .read = false };
	uint16_t machine;
	uint32_t flags;
	memcpy(&machine, image + 18, sizeof machine);
	memcpy(&flags, image + 48, sizeof flags);
	if (image[4] != 2 || machine != ELF_CUDA) return f; /* 64 bits */
	unsigned built = (image[8] >= ELF_NEWER ? flags >> 8 : flags) & 0xff;
	if (built < 10) return f;
	f.read = true;
	add_entry(&f, CUBIN, built, 0, g);
	return f;
}

static struct found of_image(const char *image, const struct gpu *g) {
	uint32_t magic;
	memcpy(&magic, image, sizeof magic);
	if (magic == WRAPPER_MAGIC) {
		struct wrapper w;
		memcpy(&w, image, sizeof w);
		if (!w.container) return (struct found){ .read = false };
		image = w.container;
		memcpy(&magic, image, sizeof magic);
	}
	if (magic == CONTAINER_MAGIC) return of_container(image, g);
	return !memcmp(image, "\177ELF", 4) ? of_elf(image, g) : (struct found){ .read = false };
}

static bool fits(const void *image, const struct gpu *g) {
	static char last[256]; /* a library has an image of each of its files */
	struct found f = of_image(image, g);
	if (!f.read || f.fits) return true;
	Dl_info where;
	const char *file = dladdr(image, &where) && where.dli_fname ? where.dli_fname : "", *name = strrchr(file, '/');
	name = name ? name + 1 : *file ? file : "an image";
	lock_memory();
	bool again = *file && !strncmp(last, file, sizeof last - 1);
	snprintf(last, sizeof last, "%s", file);
	unlock_memory();
	if (!again) complain("the kernels of %s are for %s, not for a %s (sm_%d%d): their launch fails", name, f.built,
		g->name, g->major, g->minor);
	return false;
}

CUresult image_load(const void *image) {
	const struct gpu *g = current_gpu();
	return !image || !g || fits(image, g) ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult image_load_file(const char *path) {
	FILE *f = path ? fopen(path, "rb") : NULL;
	if (!f) return CUDA_ERROR_FILE_NOT_FOUND;
	CUresult result = CUDA_SUCCESS;
	long size = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
	char *image = size > 64 ? calloc(1, (size_t)size) : NULL;
	if (image && !fseek(f, 0, SEEK_SET) && fread(image, 1, (size_t)size, f) == (size_t)size) {
		struct container c;
		memcpy(&c, image, sizeof c);
		bool whole = c.magic == CONTAINER_MAGIC ? c.size <= (size_t)size - sizeof c : c.magic != WRAPPER_MAGIC;
		if (whole) result = image_load(image);
	}
	free(image);
	fclose(f);
	return result;
}

/* ---- what nvcc's host code registers: each kernel's image, looked at when the kernel is launched ---- */

struct image {
	void *first; /* the handle is this place's address */
	const void *data;
	size_t kernels;
	const struct gpu *checked; /* for which card fits is the answer */
	bool fits;
};
struct kernel {
	const void *host;
	struct image *of;
};
static struct kernel *kernels;
static size_t count, room;
static bool sorted;

void **image_register(const void *data) {
	struct image *i = zeroed(sizeof *i);
	static void *none;
	if (!i) return &none;
	i->data = data;
	return &i->first;
}

void image_add_kernel(void **handle, const void *host) {
	struct image *i = (struct image *)(void *)handle;
	if (!i || code_is_pytorchs(host)) return; /* a card that PyTorch has no kernels for is refused before: support.py */
	lock_memory();
	if (table_grow(&kernels, count, &room, sizeof *kernels)) {
		kernels[count++] = (struct kernel){ host, i };
		i->kernels++;
		sorted = false;
	}
	unlock_memory();
}

void image_unregister(void **handle) {
	struct image *i = (struct image *)(void *)handle;
	if (!i) return;
	lock_memory();
	size_t kept = 0;
	for (size_t k = 0; i->kernels && k < count; k++)
		if (kernels[k].of != i) kernels[kept++] = kernels[k];
	if (i->kernels) count = kept;
	unlock_memory();
	free(i);
}

static int by_address(const void *a, const void *b) {
	const char *x = ((const struct kernel *)a)->host, *y = ((const struct kernel *)b)->host;
	return (x > y) - (x < y);
}

bool kernel_is_for(const void *host, const struct gpu *g) {
	if (!host || code_is_pytorchs(host)) return true;
	lock_memory();
	if (!sorted && count) qsort(kernels, count, sizeof *kernels, by_address);
	sorted = true;
	struct kernel wanted = { .host = host }, *k = count ? bsearch(&wanted, kernels, count, sizeof *kernels, by_address)
		: NULL;
	struct image *i = k ? k->of : NULL;
	bool checked = !i || i->checked == g, yes = !i || i->fits;
	unlock_memory();
	if (checked) return yes;
	yes = fits(i->data, g);
	lock_memory();
	i->checked = g;
	i->fits = yes;
	unlock_memory();
	return yes;
}
