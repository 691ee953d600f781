/* What lies in device memory. Kernels write nothing; what lies there was written by the host:
   copies, fills, and the Python side, which computes small results on the CPU (values.py). For each
   byte it is kept whether somebody wrote it, and whether it is what a GPU would have there
   ("known"): a kernel's result is not known, and neither is what a copy of it gives.

   A read of bytes that are not known (the result of .item(), a size that nonzero asks for) is
   counted, and may be answered beforehand. */
#include "pretend.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

/* Copies of more bytes are not made: they would cost host memory. */
static size_t copy_limit = (size_t)1 << 20;
static bool tracking; /* somebody says which bytes operators write; else nothing is known */

/* ---- sets of bytes: disjoint spans in the order of addresses ---- */

struct span {
	char *from, *to;
};
struct span_set {
	struct span *spans;
	size_t count, room;
};
static struct span_set written, known, chosen; /* chosen: known, or following from values that the Python side chose */

static size_t first_to_after(const struct span_set *s, const char *p) { /* the first span that ends after p */
	size_t low = 0, high = s->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->spans[middle].to <= p) low = middle + 1;
		else high = middle;
	}
	return low;
}

static bool make_room(struct span_set *s) {
	return table_grow(&s->spans, s->count, &s->room, sizeof *s->spans); /* a call adds one at most */
}

static void replace(struct span_set *s, size_t from, size_t to, const struct span *with, size_t n) {
	memmove(s->spans + from + n, s->spans + to, (s->count - to) * sizeof *s->spans);
	if (n) memcpy(s->spans + from, with, n * sizeof *with);
	s->count = s->count - (to - from) + n;
}

static bool add(struct span_set *s, char *from, char *to) {
	if (!make_room(s)) return false;
	size_t i = first_to_after(s, from), j = i;
	if (i && s->spans[i - 1].to == from) i--;
	struct span all = { from, to };
	while (j < s->count && s->spans[j].from <= to) j++;
	if (i < j) {
		if (s->spans[i].from < from) all.from = s->spans[i].from;
		if (s->spans[j - 1].to > to) all.to = s->spans[j - 1].to;
	}
	replace(s, i, j, &all, 1);
	return true;
}

static void cut(struct span_set *s, char *from, char *to) {
	if (!make_room(s)) {
		/* forgetting too much is safe for what is known; what is written is only ever cut after it was
		   zeroed */
		s->count = 0;
		return;
	}
	size_t i = first_to_after(s, from), j = i, n = 0;
	struct span rest[2];
	while (j < s->count && s->spans[j].from < to) j++;
	if (i == j) return;
	if (s->spans[i].from < from) rest[n++] = (struct span){ s->spans[i].from, from };
	if (s->spans[j - 1].to > to) rest[n++] = (struct span){ to, s->spans[j - 1].to };
	replace(s, i, j, rest, n);
}

static bool has(const struct span_set *s, const char *from, const char *to) {
	size_t i = first_to_after(s, from);
	return i < s->count && s->spans[i].from <= from && s->spans[i].to >= to;
}

static bool touches(const struct span_set *s, const char *from, const char *to) {
	size_t i = first_to_after(s, from);
	return i < s->count && s->spans[i].from < to;
}

/* ---- reads of what is not known ---- */

static __thread struct reads reads;
static __thread struct {
	uint64_t *bits;
	size_t count, next, room;
} answers;
/* 1: inside of an operator whose writes are reported; -1: of one whose are not; 0: of none, or of
   one that passes by */
static __thread int operators;

/* Each answer is of one number; a pair of them is read as one. */
static bool answer(void *dst, size_t n) {
	size_t numbers = n == 16 ? 2 : 1;
	if (answers.count - answers.next < numbers || (n != 1 && n != 2 && n != 4 && n != 8 && n != 16)) return false;
	memcpy(dst, &answers.bits[answers.next], n); /* little-endian: the low bytes */
	answers.next += numbers;
	return true;
}

API struct reads *memspec_pretend_reads(void) { return &reads; }
API int *memspec_pretend_operators(void) { return &operators; }
API void memspec_pretend_answer(uint64_t bits) {
	if (!table_grow(&answers.bits, answers.count, &answers.room, sizeof *answers.bits)) return;
	answers.bits[answers.count++] = bits;
}
API int memspec_pretend_answers_end(void) { /* how many were used */
	size_t used = answers.next;
	answers.count = answers.next = 0;
	return (int)used;
}

/* Whether a function lies in PyTorch's own library of kernels. Operators launch these; of those
   that do not pass the Python side the results are fresh blocks, which nobody knows. */
static int note_code(struct dl_phdr_info *library, size_t size UNUSED, void *into) {
	const char *file = strrchr(library->dlpi_name, '/');
	if (!file || strcmp(file, "/libtorch_cuda.so")) return 0;
	struct span *code = into;
	for (int i = 0; i < library->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &library->dlpi_phdr[i];
		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
		uintptr_t at = library->dlpi_addr + part->p_vaddr;
		memcpy(&code->from, &at, sizeof at);
		code->to = code->from + part->p_memsz;
	}
	return 1;
}
bool code_is_pytorchs(const void *function) {
	static __thread struct span code; /* of each thread: no lock */
	if (!function) return false;
	if (!code.to) dl_iterate_phdr(note_code, &code);
	return (const char *)function >= code.from && (const char *)function < code.to;
}

/* ---- what the Python side reports ---- */

API void memspec_pretend_track(int on, size_t limit) {
	lock_memory();
	tracking = on;
	if (limit) copy_limit = limit;
	known.count = chosen.count = 0;
	unlock_memory();
}

static int covered(const struct span_set *s, const char *p, size_t n) { /* 1: all of it; 0: some; -1: none */
	lock_memory();
	int which = 1;
	if (n && !has(s, p, p + n)) which = touches(s, p, p + n) ? 0 : -1;
	unlock_memory();
	return which;
}

API int memspec_pretend_known(const void *p, size_t n) { return covered(&known, p, n); }
API int memspec_pretend_chosen(const void *p, size_t n) { return covered(&chosen, p, n); }

API int memspec_pretend_untouched(const void *p, size_t n) { /* nobody wrote there: zeros */
	lock_memory();
	bool yes = !touches(&written, p, (const char *)p + n);
	unlock_memory();
	return yes;
}

static void mark(char *from, char *to, enum value value) { /* the lock is held */
	if (value == KNOWN && tracking) add(&known, from, to);
	else cut(&known, from, to);
	if (value != UNKNOWN && tracking) add(&chosen, from, to);
	else cut(&chosen, from, to);
}

API void memspec_pretend_wrote(void *p, size_t n, int value) {
	if (!n || !address_is_device(p)) return;
	lock_memory();
	bool kept = add(&written, p, (char *)p + n);
	mark(p, (char *)p + n, kept ? (enum value)value : UNKNOWN);
	unlock_memory();
}

void bytes_chosen(void *p, size_t n) {
	if (!n || !address_is_device(p)) return;
	lock_memory();
	mark(p, (char *)p + n, CHOSEN);
	unlock_memory();
}

API void memspec_pretend_chose(void *p, size_t n) { bytes_chosen(p, n); }

void bytes_unknown(const void *p, size_t n) {
	lock_memory();
	mark((char *)(uintptr_t)p, (char *)(uintptr_t)p + n, UNKNOWN);
	unlock_memory();
}

API void memspec_pretend_unknown(const void *p, size_t n) { bytes_unknown(p, n); }

void bytes_after_launch(const void *function) {
	/* of an operator it is reported what it writes, where it is not fresh */
	if (operators > 0 || !tracking || (!operators && code_is_pytorchs(function))) return;
	lock_memory();
	known.count = chosen.count = 0;
	unlock_memory();
}

/* ---- copies and fills ---- */

/* Zeros, without touching what is zero already: large results are read into pages that nobody touched. */
static void zero(char *p, size_t n) {
	static const char zeros[PAGE];
	while (n) {
		size_t part = n < PAGE ? n : PAGE;
		if (memcmp(p, zeros, part)) memset(p, 0, part);
		p += part;
		n -= part;
	}
}

static bool is_managed(const void *p) {
	struct range r;
	return range_find(p, &r) && r.kind == MANAGED;
}

enum value bytes_value(const void *p, size_t n) {
	return !address_is_device(p) || memspec_pretend_known(p, n) == 1 ? KNOWN : memspec_pretend_chosen(p, n) == 1 ? CHOSEN
		: UNKNOWN;
}

void bytes_copy(void *dst, const void *src, size_t n) {
	if (!n) return;
	bool from_device = address_is_device(src), to_device = address_is_device(dst);
	enum value value = bytes_value(src, n);
	if (from_device && !to_device && value != KNOWN && !is_managed(dst)) {
		/* into managed memory it is no read: kernels work there too */
		if (answer(dst, n)) return; /* who answers has noted it */
		reads.count++;
		reads.bytes = n;
		if (tracking && !operators) note_unfollowed("cudaMemcpy");
	}
	if (n <= copy_limit) memmove(dst, src, n);
	else if (!to_device) zero(dst, n);
	if (!to_device) return;
	if (n <= copy_limit) memspec_pretend_wrote(dst, n, value);
	else bytes_unknown(dst, n); /* what was there stays */
}

/* Zeros again where somebody wrote; whole pages go back to the system. The lock is held. */
static void clear(char *from, char *to) {
	for (size_t i = first_to_after(&written, from); i < written.count && written.spans[i].from < to; i++) {
		char *a = written.spans[i].from > from ? written.spans[i].from : from, *b = written.spans[i].to < to
			? written.spans[i].to : to;
		if (b - a >= 16 * PAGE) {
			char *first = (char *)round_up((uintptr_t)a, PAGE), *last = (char *)((uintptr_t)b / PAGE * PAGE);
			memset(a, 0, (size_t)(first - a));
			madvise(first, (size_t)(last - first), MADV_DONTNEED);
			memset(last, 0, (size_t)(b - last));
		} else memset(a, 0, (size_t)(b - a));
	}
	cut(&written, from, to);
	mark(from, to, UNKNOWN);
}

void bytes_fresh(void *p, size_t n) {
	if (!n || !address_is_device(p)) return;
	lock_memory();
	clear(p, (char *)p + n);
	unlock_memory();
}

/* Zeros are known at no cost: nothing is written for them. */
API void memspec_pretend_zero(void *p, size_t n) {
	if (!n || !address_is_device(p)) return;
	lock_memory();
	clear(p, (char *)p + n);
	mark(p, (char *)p + n, KNOWN);
	unlock_memory();
}

void bytes_set(void *dst, const void *pattern, size_t width, size_t count) {
	static const char zeros[8];
	size_t n = width * count;
	if (!n) return;
	if (!memcmp(pattern, zeros, width)) {
		if (address_is_device(dst)) memspec_pretend_zero(dst, n);
		else zero(dst, n);
	}
	else if (n <= copy_limit) {
		for (size_t i = 0; i < count; i++) memcpy((char *)dst + i * width, pattern, width);
		memspec_pretend_wrote(dst, n, true);
	} else bytes_unknown(dst, n);
}

/* PyTorch says of every block that its caching allocator hands out (n > 0) or takes back through
   this function of libc10.so: void c10::reportMemoryUsageToProfiler(void *, int64_t, size_t,
   size_t, c10::Device). A block that is used again must not show what lay there before: a kernel
   would have written over it. */
API void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *p, int64_t n, size_t allocated, size_t reserved,
	uint16_t device) {
	static __thread void (*real)(void *, int64_t, size_t, size_t, uint16_t); /* of each thread: no lock */
	if (!real) ASSIGN_FUNCTION(real, real_function("libc10.so", "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"));
	if (n > 0) {
		bytes_fresh(p, (size_t)n);
		/* c10::Device: its type, CUDA, and its index */
		if ((device & 0xff) == 1) figures_pytorch(device >> 8, allocated, reserved);
	}
	if (real) real(p, n, allocated, reserved, device);
}
