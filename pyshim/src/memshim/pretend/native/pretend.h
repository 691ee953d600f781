/* What the files of this library share. README.md is the map. */
#pragma once
#include "abi/types.h"

#define API __attribute__((visibility("default")))
#define UNUSED __attribute__((unused))

UNUSED static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }
UNUSED static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* ---- device.c: the cards, as MEMSPEC_PRETEND describes them ---- */

enum { MOST_GPUS = 16 };

struct gpu {
	char name[128];                         /* as the driver spells it */
	int major, minor;                       /* compute capability */
	/* newest architecture that PyTorch's wheel has kernels for and that runs here, such as 86 */
	int kernels;
	int sms, threads_per_sm, blocks_per_sm; /* multiprocessors, and what one of them holds */
	int registers_per_sm;
	size_t shared_per_block, shared_optin, shared_per_sm, shared_reserved; /* shared memory */
	size_t memory, context, l2;
	int clock_khz, memory_clock_khz, bus_bits;
	int multicast; /* 1: its switch sends to all boards at once (NVLink SHARP) */
	/* what changes */
	bool active;                     /* has a context */
	size_t used;                     /* bytes of memory that are taken, the context's among them */
	size_t pool_used, pool_high;     /* of them, those of cudaMallocAsync */
};

int gpu_count(void);                      /* those that CUDA_VISIBLE_DEVICES shows */
struct gpu *gpu_at(int ordinal);          /* null where there is none */
int gpu_physical_count(void);             /* all of them: NVML does not look at CUDA_VISIBLE_DEVICES */
struct gpu *gpu_physical(int index);
int gpu_index(const struct gpu *g);
/* the first under which CUDA_VISIBLE_DEVICES shows it; -1 where it does not */
int gpu_ordinal(const struct gpu *g);
/* by the number of cudaDeviceAttr, which is that of CUdevice_attribute */
int gpu_attribute(const struct gpu *g, int attribute);
int gpu_occupancy(const struct gpu *g, int threads, size_t shared);
void gpu_uuid(const struct gpu *g, char out[16]);
void gpu_uuid_text(const struct gpu *g, char *out, size_t size); /* GPU-… */

int current_device(void); /* of this thread */
struct gpu *current_gpu(void); /* null where there is none */
void set_current_device(int ordinal);
int runtime_version(void); /* of the CUDA runtime in this process, such as 13020 */

/* ---- memory.c: bytes taken, addresses ---- */

void lock_memory(void); /* for what is counted and for the tables; not recursive */
void unlock_memory(void);

void gpu_activate(struct gpu *g); /* a context from now on */
bool memory_take(struct gpu *g, size_t n); /* false: out of memory */
void memory_give(struct gpu *g, size_t n);

/* noted as refused where addresses run out */
#define NO_ADDRESSES "device memory beyond this process's address space (ulimit -v)"
void *address_reserve(size_t n); /* a range of addresses without memory; null where there is none left */
void address_free(void *p, size_t n);
bool address_back(void *p, size_t n); /* bytes behind a reserved range, zero at first */
void address_unback(void *p, size_t n);
bool address_is_device(const void *p);

/* segments.c: where cudaMalloc's allocations lie. `owner` and `i` number a card (gpu_index) */
void segments_below(char *end);
char *segments_lowest(void);
char *segment_place(size_t size, int owner, const char *floor); /* null: nothing is left above the floor */
void segment_give_back(char *at, size_t size);
void segments_of_context(const struct gpu *g, const char *floor);
void segments_kernel_ran(int i); /* once a card */
void kernel_ran(void); /* of every launch: what the first one changes of the current card's addresses */
bool launch_fits(dim3 grid, dim3 block); /* runtime_launch.c: the shape is one that cards have */

cudaError_t device_malloc(void **p, size_t n, int ordinal, bool pooled);
cudaError_t device_free(void *p);
cudaError_t managed_malloc(void **p, size_t n, int ordinal);
void *host_map(size_t n); /* pages of the host's; null where there are none */

/* ---- driver_memory.c: physical memory ---- */

/* What a handle of cuMemCreate stands for. Memory of another process, and what multicasts, is taken of no card here. */
enum physical_kind { OF_THIS_PROCESS, OF_ANOTHER, MULTICASTS };
struct physical {
	unsigned long long handle;
	size_t size, mappings;
	int ordinal;
	unsigned int holders; /* cuMemCreate's, and those of cuMemRetainAllocationHandle: each releases it once */
	enum physical_kind kind;
};
unsigned long long physical_add(struct physical m); /* a handle of it, which one holds; 0 without memory of the host */
bool physical_find(unsigned long long handle, struct physical *out);
#ifndef PUBLIC_HEADERS
CUresult cuMemCreate(CUmemGenericAllocationHandle *h, size_t size, const CUmemAllocationProp *p,
	unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle h);
CUresult cuMemAddressReserve(CUdeviceptr *p, size_t size, size_t alignment, CUdeviceptr wanted,
	unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr p, size_t size);
CUresult cuMemMap(CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle h, unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr p, size_t size);
#endif

/* ---- ranges.c: who owns an address ---- */

/* cudaMalloc, cuMemMap, cudaMallocManaged, cudaIpcOpenMemHandle, a kernel's variable,
   cudaHostAlloc, cudaHostRegister */
enum range_kind { ALLOCATED, MAPPED, MANAGED, OPENED, VARIABLE, PINNED, REGISTERED };

struct range {
	char *at;
	size_t size;
	enum range_kind kind;
	int owner;                 /* a device's ordinal: of host memory, the one that was current */
	unsigned long long handle; /* of a mapping: its physical memory */
	size_t pooled;             /* of cudaMallocAsync: the bytes that were asked for; else 0 */
};
bool range_on_host(const struct range *r);
void range_add(struct range r);
bool range_find(const void *p, struct range *out);
/* removes the range of that kind that begins at p */
bool range_take(const void *p, enum range_kind kind, struct range *out);
bool range_holds(const void *p, size_t n); /* all of it is in one range, or in mappings that lie side by side */
void *kernel_variable(size_t *size);       /* the place of every variable of a kernel's module: nobody reads it */
/* With the lock held: the mappings that make up exactly these addresses, and how many they are;
   null where they do not. */
const struct range *ranges_mapped(const void *p, size_t n, size_t *count);
bool ranges_overlap(const void *p, size_t n);
void ranges_add(struct range r);
void ranges_remove(const struct range *first, size_t count);

/* ---- figures.c: what this process takes, where its parent reads it ---- */

void figures_used(const struct gpu *g, size_t taken, size_t given); /* with the lock held */
void figures_managed(int ordinal, size_t taken, size_t given);      /* with the lock held */
void figures_pinned(size_t taken, size_t given);                    /* with the lock held */
void figures_pytorch(int ordinal, size_t allocated, size_t reserved);
void figures_forked(void); /* in a forked child, which has taken nothing yet */

/* ---- bytes.c: what lies in device memory, and whether it is known; runtime_memory.c: checked copies and fills ---- */

/* checked; a stream that captures copies nothing */
cudaError_t device_copy(void *dst, const void *src, size_t n, cudaStream_t s);
cudaError_t device_set(void *p, const void *pattern, size_t width, size_t count, cudaStream_t s);
void bytes_copy(void *dst, const void *src, size_t n);
void bytes_set(void *dst, const void *pattern, size_t width, size_t count); /* count times the pattern of width bytes */
void bytes_fresh(void *p, size_t n);      /* a block that is given out anew holds zeros that nobody wrote */
void bytes_unknown(const void *p, size_t n);
void bytes_chosen(void *p, size_t n); /* what lies there is chosen as it is */
enum value { UNKNOWN, KNOWN, CHOSEN }; /* as ../values/memory.py has them */
enum value bytes_value(const void *p, size_t n); /* of all of them */
/* a kernel ran outside every operator: what it wrote is not known */
void bytes_after_launch(const void *function);
bool code_is_pytorchs(const void *function);              /* whether it lies in libtorch_cuda.so */
struct reads {
	/* of unknown bytes by this thread, without those that were answered; the size of the last */
	unsigned long long count, bytes;
};
struct reads *memspec_pretend_reads(void);
int *memspec_pretend_operators(void);                 /* of this thread; bytes.c says what it means */
int memspec_pretend_known(const void *p, size_t n);   /* 1: all of it; 0: some; -1: none */
int memspec_pretend_chosen(const void *p, size_t n);

/* ---- images.c: which cards kernels are for ---- */

/* an error where it has nothing for the current card; its form is what cuModuleLoadData takes */
CUresult image_load(const void *image);
CUresult image_load_file(const char *path);
void **image_register(const void *data); /* of nvcc's host code; the handle */
void image_add_kernel(void **handle, const void *host);
void image_unregister(void **handle);
bool kernel_is_for(const void *host, const struct gpu *g); /* true where it is not known */

/* ---- tables.c ---- */

/* Makes room for one more item of a table, whose pointer lies at `table`. False without memory of the host. */
bool table_grow(void *table, size_t count, size_t *room, size_t item);
void table_need(void *table, size_t count, size_t *room, size_t item); /* ends the process without it */
void *zeroed(size_t n); /* memory of the host's that holds zeros; null where there is none */
bool handle_make(void *place); /* writes a handle that is no other's there; free ends it */

/* ---- notes.c: what was asked for and is not replaced ---- */

enum library { CUDA_RUNTIME, CUDA_DRIVER, CUBLAS, CUDNN, CUFFT, CUSOLVER, CUSPARSE, CUSPARSELT, NCCL, NVML, CUFILE,
	NVJPEG, NVSHMEM };

void note_refused(enum library library, const char *call); /* reported on stderr once a name */
/* asked for, and the program may go on without it: not known */
void note_absent(const char *call);
void note_unsized(const char *what);                       /* replaced, though its size is not known */
/* replaced, and its size is not the real library's own answer: a note's id and why */
void note_estimated(const char *what);
void note_unfollowed(const char *call);                    /* read what is not known, outside of every operator */
const char *note_last_refused(void);                       /* of this thread, or null */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2))); /* with MEMSPEC_PRETEND_LOG */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2))); /* always */

/* The address of a function of a library that is loaded already; null where there is none. The
   result goes into a function pointer by memcpy: ISO C knows no other way. */
void *real_function(const char *soname, const char *name);
#define ASSIGN_FUNCTION(pointer, address) memcpy(&(pointer), &(void *){ (address) }, sizeof(pointer))

/* ---- cudnn_formula.c: what cudnn.c answers with in the place of a cuDNN before 9.8; each returns
   a cudnnStatus_t ---- */

int formula_create(int type, void **out);
int formula_destroy(void *d);
int formula_set(void *d, int name, int type, int64_t n, const void *value);
int formula_finalize(void *d);
int formula_get(const void *d, int name, int64_t room, int64_t *count, void *value);

/* ---- streams.c ---- */

cudaError_t fail(cudaError_t e); /* keeps e for cudaGetLastError */
void capture_node(cudaStream_t s); /* counts a node where the stream is capturing */
bool stream_capturing(cudaStream_t s);

/* ---- driver.c ---- */

void *driver_function(const char *name); /* of this library, in its newest form; null where there is none */

#ifndef PUBLIC_HEADERS
/* Functions of the runtime that the driver's are made of. */
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaDeviceSynchronize(void);
#endif
