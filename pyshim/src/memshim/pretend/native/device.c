/* The cards: read from MEMSPEC_PRETEND, shown through CUDA_VISIBLE_DEVICES, asked for their attributes. */
#include "pretend.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gpu gpus[MOST_GPUS];
static int count;
static int visible[MOST_GPUS], visible_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread int current;

/* ---- the description: one line a card, key=value;key=value ---- */

static bool read_number(const char *text, unsigned long long most, unsigned long long *out) {
	char *end;
	if (!isdigit((unsigned char)*text)) return false;
	*out = strtoull(text, &end, 10);
	return !*end && *out <= most;
}

static bool set_number(struct gpu *g, const char *key, unsigned long long n) {
	struct { const char *key; int *field; } small[] = {
		{ "major", &g->major }, { "minor", &g->minor }, { "kernels", &g->kernels }, { "sms", &g->sms },
		{ "threads_per_sm", &g->threads_per_sm }, { "blocks_per_sm", &g->blocks_per_sm },
		{ "registers_per_sm", &g->registers_per_sm },
		{ "clock_khz", &g->clock_khz }, { "memory_clock_khz", &g->memory_clock_khz }, { "bus_bits", &g->bus_bits },
		{ "multicast", &g->multicast },
	};
	struct { const char *key; size_t *field; } large[] = {
		{ "shared_per_block", &g->shared_per_block }, { "shared_optin", &g->shared_optin },
		{ "shared_per_sm", &g->shared_per_sm },
		{ "shared_reserved", &g->shared_reserved }, { "memory", &g->memory }, { "context", &g->context }, { "l2", &g->l2 },
	};
	for (size_t i = 0; i < sizeof small / sizeof *small; i++)
		if (!strcmp(key, small[i].key)) return n <= INT32_MAX && (*small[i].field = (int)n, true);
	for (size_t i = 0; i < sizeof large / sizeof *large; i++)
		if (!strcmp(key, large[i].key)) return *large[i].field = (size_t)n, true;
	return false;
}

static bool read_gpu(struct gpu *g, char *line) {
	char *rest = NULL;
	for (char *pair = strtok_r(line, ";", &rest); pair; pair = strtok_r(NULL, ";", &rest)) {
		char *value = strchr(pair, '=');
		unsigned long long n;
		if (!value) return complain("MEMSPEC_PRETEND: got %s, want key=value", pair), false;
		*value++ = 0;
		if (!strcmp(pair, "name")) snprintf(g->name, sizeof g->name, "%s", value);
		else if (!read_number(value, 1ull << 50, &n) || !set_number(g, pair, n))
			return complain("MEMSPEC_PRETEND: got %s=%s, want a known key and a number", pair, value), false;
	}
	if (!g->major || !g->sms || !g->memory || !g->threads_per_sm || g->context > g->memory)
		return complain("MEMSPEC_PRETEND: got a device without major, sms, threads_per_sm or memory (more than its context)"),
			false;
	return true;
}

void gpu_uuid(const struct gpu *g, char out[16]) {
	memcpy(out, "memspec-pretend", 16);
	out[15] = (char)('0' + gpu_index(g));
}

void gpu_uuid_text(const struct gpu *g, char *out, size_t size) {
	char u[16];
	size_t at = (size_t)snprintf(out, size, "GPU-");
	gpu_uuid(g, u);
	for (int i = 0; i < 16 && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			(unsigned)(unsigned char)u[i]);
}

/* The device of an index or of the beginning of a UUID; -1 for none. */
static int named(const char *word) {
	unsigned long long n;
	if (read_number(word, MOST_GPUS, &n)) return (int)n < count ? (int)n : -1;
	for (int i = 0; i < count && !strncmp(word, "GPU-", 4); i++) {
		char uuid[64];
		gpu_uuid_text(&gpus[i], uuid, sizeof uuid);
		if (!strncmp(uuid, word, strlen(word))) return i;
	}
	return -1;
}

/* As CUDA reads it: indices or the beginnings of UUIDs up to the first that names no device. */
static void read_visible(const char *text) {
	if (!text) {
		for (visible_count = 0; visible_count < count; visible_count++) visible[visible_count] = visible_count;
		return;
	}
	char *copy = strdup(text), *rest = NULL;
	for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; word && visible_count < MOST_GPUS;
		word = strtok_r(NULL, ",", &rest)) {
		while (isspace((unsigned char)*word)) word++;
		int n = named(word);
		if (n < 0) {
			complain("CUDA_VISIBLE_DEVICES=%s: got %s, but the pretend devices are 0 to %d", text, word, count - 1);
			break;
		}
		visible[visible_count++] = n;
	}
	free(copy);
}

static void read_environment(void) {
	const char *text = getenv("MEMSPEC_PRETEND");
	char *copy = text ? strdup(text) : NULL, *rest = NULL;
	for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
		if (count == MOST_GPUS) {
			complain("MEMSPEC_PRETEND: got more than %d devices", MOST_GPUS);
			count = 0;
			break;
		}
		gpus[count] = (struct gpu){ .registers_per_sm = 65536, .shared_per_block = 49152 };
		if (!read_gpu(&gpus[count], line)) {
			count = 0;
			break;
		}
		count++;
	}
	free(copy);
	read_visible(getenv("CUDA_VISIBLE_DEVICES"));
}

int gpu_count(void) {
	pthread_once(&once, read_environment);
	return visible_count;
}

int gpu_physical_count(void) {
	pthread_once(&once, read_environment);
	return count;
}

struct gpu *gpu_at(int ordinal) { return ordinal >= 0 && ordinal < gpu_count() ? &gpus[visible[ordinal]] : NULL; }
struct gpu *gpu_physical(int index) { return index >= 0 && index < gpu_physical_count() ? &gpus[index] : NULL; }
int gpu_index(const struct gpu *g) { return (int)(g - gpus); }
int gpu_ordinal(const struct gpu *g) {
	for (int i = 0; i < gpu_count(); i++)
		if (visible[i] == gpu_index(g)) return i;
	return -1;
}

int current_device(void) { return current; }
struct gpu *current_gpu(void) { return gpu_at(current); }
void set_current_device(int ordinal) { current = ordinal; }

/* ---- attributes ---- */

/* Where the number is neither the card's nor its capability's, it is the same on all cards that
   PyTorch 2.6 and newer run on (CUDA C++ Programming Guide, "Technical Specifications per Compute
   Capability"), or says what this library can do. */
int gpu_attribute(const struct gpu *g, int attribute) {
	switch (attribute) {
	case DEVICE_COMPUTE_CAPABILITY_MAJOR: return g->major;
	case DEVICE_COMPUTE_CAPABILITY_MINOR: return g->minor;
	case DEVICE_MULTIPROCESSOR_COUNT: return g->sms;
	case DEVICE_MAX_THREADS_PER_MULTIPROCESSOR: return g->threads_per_sm;
	case DEVICE_MAX_BLOCKS_PER_MULTIPROCESSOR: return g->blocks_per_sm;
	case DEVICE_MAX_REGISTERS_PER_MULTIPROCESSOR: return g->registers_per_sm;
	case DEVICE_MAX_SHARED_MEMORY_PER_BLOCK: return (int)g->shared_per_block;
	case DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return (int)g->shared_optin;
	case DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return (int)g->shared_per_sm;
	case DEVICE_RESERVED_SHARED_MEMORY_PER_BLOCK: return (int)g->shared_reserved;
	case DEVICE_L2_CACHE_SIZE: return (int)g->l2;
	case DEVICE_CLOCK_RATE: return g->clock_khz;
	case DEVICE_MEMORY_CLOCK_RATE: return g->memory_clock_khz;
	case DEVICE_GLOBAL_MEMORY_BUS_WIDTH: return g->bus_bits;
	case DEVICE_PCI_BUS_ID: return gpu_index(g) + 1;
	case DEVICE_CLUSTER_LAUNCH: return g->major >= 9;
	case DEVICE_MULTICAST_SUPPORTED: return g->multicast;
	case DEVICE_MAX_THREADS_PER_BLOCK:
	case DEVICE_MAX_BLOCK_DIM_X:
	case DEVICE_MAX_BLOCK_DIM_Y: return 1024;
	case DEVICE_MAX_BLOCK_DIM_Z: return 64;
	case DEVICE_MAX_GRID_DIM_X:
	case DEVICE_MAX_PITCH: return 2147483647;
	case DEVICE_MAX_GRID_DIM_Y:
	case DEVICE_MAX_GRID_DIM_Z: return 65535;
	case DEVICE_TOTAL_CONSTANT_MEMORY:
	case DEVICE_MAX_REGISTERS_PER_BLOCK: return 65536;
	case DEVICE_WARP_SIZE: return 32;
	case DEVICE_TEXTURE_ALIGNMENT: return 512;
	case DEVICE_ASYNC_ENGINE_COUNT: return 2;
	case DEVICE_GPU_OVERLAP:
	case DEVICE_CAN_MAP_HOST_MEMORY:
	case DEVICE_CONCURRENT_KERNELS:
	case DEVICE_UNIFIED_ADDRESSING:
	case DEVICE_STREAM_PRIORITIES_SUPPORTED:
	case DEVICE_GLOBAL_L1_CACHE_SUPPORTED:
	case DEVICE_LOCAL_L1_CACHE_SUPPORTED:
	case DEVICE_MANAGED_MEMORY:
	case DEVICE_CONCURRENT_MANAGED_ACCESS:
	case DEVICE_COMPUTE_PREEMPTION_SUPPORTED:
	case DEVICE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
	case DEVICE_COOPERATIVE_LAUNCH:
	case DEVICE_HOST_REGISTER_SUPPORTED:
	case DEVICE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
	case DEVICE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
	case DEVICE_MEMORY_POOLS_SUPPORTED:
	case DEVICE_MEMPOOL_SUPPORTED_HANDLE_TYPES: return 1;
	default: return 0; /* a feature that is not there */
	}
}

/* Blocks of a kernel on one multiprocessor by threads, shared memory and the limit on blocks.
   Registers are not known: kernels are not read. */
int gpu_occupancy(const struct gpu *g, int threads, size_t shared) {
	if (threads <= 0 || threads > 1024) return 0;
	size_t of_threads = (size_t)g->threads_per_sm / round_up((size_t)threads, 32);
	size_t need = shared + g->shared_reserved, most = smaller(of_threads, (size_t)g->blocks_per_sm);
	return (int)(need ? smaller(most, g->shared_per_sm / need) : most);
}
