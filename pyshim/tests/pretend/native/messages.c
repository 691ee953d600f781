/* What ranks write into files for each other, and read (exchange.c): two or three ranks in one
   process, of which one has sent before another reads, so that nobody waits. */
#include "../../../src/memshim/pretend/native/exchange.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64 };
enum { SUM, PRODUCT, MOST, LEAST, AVERAGE, PRE_MULTIPLIED };
void memspec_pretend_alone(const char *, int), memspec_pretend_expect(const void *, size_t, size_t, int),
	memspec_pretend_expect_end(void);
ncclResult_t ncclGetUniqueId(ncclUniqueId *), ncclCommInitRankConfig(ncclComm_t *, int, ncclUniqueId, int, void *),
	ncclCommInitAll(ncclComm_t *, int, const int *);

static const char *folder;
static int entries(const char *of) {
	int n = 0;
	DIR *d = opendir(of);
	while (readdir(d)) n++;
	closedir(d);
	return n;
}
static const char *sent_file(unsigned long long id, int from, int to) {
	static char path[4096];
	snprintf(path, sizeof path, "%s/%016llx.%d.%d.sent", folder, id, from, to);
	return path;
}
static bool is_there(const char *path) { return !access(path, F_OK); }

static struct exchange opened(uint64_t id, int rank, int ranks) {
	struct exchange x;
	exchange_open(&x, id, rank, ranks);
	return x;
}
static void send_number(struct exchange *x, int to, uint64_t number, int64_t value) {
	exchange_send(x, to, number, &value, sizeof value);
}
/* What arrives of 8 bytes; -1: it is not known. */
static int64_t got(struct exchange *x, int from, bool to_me, uint64_t number) {
	int64_t value = 0;
	size_t known = 77;
	enum value its = exchange_receive(x, from, to_me, number, &value, sizeof value, &known);
	CHECK((its == UNKNOWN) == !known && (!known || known == 8));
	return known ? value : -1;
}

/* A communicator's number is FNV-1a of its id, the same in all ranks; an id of zeros is none. */
static void numbers(void) {
	CHECK(exchange_id(0, "a", 1) == 0xaf63dc4c8601ec8c && exchange_id(0, "foobar", 6) == 0x85944171f73967e8);
	CHECK(exchange_id(0, "\0\0", 2) == 0 && exchange_id(0, "\0\1", 2) != 0);
	CHECK(exchange_id(5, "\0", 1) == 5 * 0x100000001b3u);
}

static void arithmetic(void) {
	int32_t whole[] = { 6, -7, 9 };
	const int32_t more[] = { 3, 2, 9 };
	CHECK(exchange_reduce(whole, more, 2, INT32, SUM) && whole[0] == 9 && whole[1] == -5 && whole[2] == 9);
	CHECK(exchange_reduce(whole, more, 3, INT32, PRODUCT) && whole[0] == 27 && whole[1] == -10 && whole[2] == 81);
	CHECK(exchange_reduce(whole, more, 2, INT32, MOST) && whole[0] == 27 && whole[1] == 2);
	CHECK(exchange_reduce(whole, more, 2, INT32, LEAST) && whole[0] == 3 && whole[1] == 2);
	CHECK(exchange_reduce(whole, more, 1, INT32, AVERAGE) && whole[0] == 6);
	CHECK(!exchange_reduce(whole, more, 1, INT32, PRE_MULTIPLIED) && !exchange_reduce(whole, more, 1, FLOAT16, SUM));
	CHECK(!exchange_reduce(whole, more, 1, FLOAT64 + 1, SUM) && whole[0] == 6);
	double real[] = { 3, 5, 7 };
	exchange_average(real, 2, FLOAT64, 2);
	CHECK(real[0] == 1.5 && real[1] == 2.5 && real[2] == 7);
	whole[0] = 7, whole[1] = -7;
	exchange_average(whole, 2, INT32, 2);
	CHECK(whole[0] == 3 && whole[1] == -3);
	exchange_average(whole, 2, FLOAT16, 2);
	CHECK(whole[0] == 3);
}

/* An operation's message is the one of its number, of that size; what is before it is passed over. */
static void in_order(void) {
	struct exchange a = opened(0x11, 0, 3), b = opened(0x11, 1, 3), c = opened(0x11, 2, 3);
	struct stat s;
	CHECK(a.id == 0x11 && a.rank == 0 && a.ranks == 3 && !a.alone && !a.first && !stat(sent_file(0x11, 1, -1), &s));
	CHECK((s.st_mode & 0777) == 0600 && s.st_size == 8);
	for (uint64_t i = 0; i < 4; i++) send_number(&b, -1, i, 10 + (int64_t)i);
	CHECK(got(&a, 1, false, 0) == 10 && got(&a, 1, false, 3) == 13 && got(&c, 1, false, 2) == 12);
	/* of one to one it is the next one, whatever its number; each pair has its own */
	send_number(&b, 0, 0, 20);
	send_number(&b, 2, 0, 22);
	send_number(&c, 0, 5, 30);
	send_number(&b, 0, 0, 21);
	CHECK(got(&a, 1, true, 0) == 20 && got(&c, 1, true, 0) == 22 && got(&a, 2, true, 0) == 30);
	CHECK(got(&a, 1, true, 9) == 21 && !a.unsent);
	/* another size, or what is not known: nothing arrives, and the next one does */
	int32_t small = 1;
	char *device;
	SUCCEEDS(cudaMalloc((void **)&device, 64));
	SUCCEEDS(cudaMemset(device, 7, 8));
	exchange_send(&b, -1, 4, &small, sizeof small);
	exchange_send(&b, -1, 5, device + 16, 8);
	bytes_unknown(device + 16, 8);
	exchange_send(&b, -1, 6, device, 16);
	send_number(&b, -1, 7, 17);
	CHECK(got(&a, 1, false, 4) == -1 && got(&a, 1, false, 5) == -1 && got(&a, 1, false, 6) == -1);
	CHECK(got(&a, 1, false, 7) == 17);
	/* of an object what is known from its begin on */
	char sixteen[16] = { 0 };
	size_t known;
	CHECK(exchange_known(device, 16) == 8 && exchange_known(device, 8) == 8 && exchange_known(device, 0) == 0);
	CHECK(exchange_known(device + 16, 8) == 0 && exchange_known(device + 7, 5) == 1);
	CHECK(exchange_receive(&c, 1, false, 6, sixteen, 16, &known) == KNOWN && known == 8);
	CHECK(!memcmp(sixteen, "\7\7\7\7\7\7\7\7\0\0\0\0\0\0\0", 16));
	memspec_pretend_chose(device, 8);
	exchange_send(&b, -1, 8, device, 8);
	CHECK(exchange_receive(&c, 1, false, 8, sixteen, 8, &known) == CHOSEN && known == 8);
	/* one that is ahead does not do the same: nothing of it is taken from then on */
	send_number(&b, -1, 10, 20);
	send_number(&b, -1, 11, 21);
	CHECK(got(&c, 1, false, 9) == -1 && got(&c, 1, false, 10) == -1 && got(&c, 1, false, 11) == -1);
	exchange_close(&a);
	exchange_close(&b);
	exchange_close(&c);
	CHECK(!a.id && !b.id);
	send_number(&b, -1, 12, 1);
	CHECK(got(&a, 1, false, 12) == -1);
	SUCCEEDS(cudaFree(device));
}

/* A program may have closed its standard input: then a file of a rank has that number. */
static void fill_zero(void) {
	int null = open("/dev/null", O_RDONLY);
	if (null) CHECK(!dup2(null, 0) && !close(null));
}
static bool zero_is_open(void) { return fcntl(0, F_GETFD) != -1; }
static void number_zero(void) {
	close(0);
	struct exchange a = opened(0x15, 0, 2), b = opened(0x15, 1, 2); /* for all */
	send_number(&a, -1, 0, 50);
	CHECK(zero_is_open() && got(&b, 0, false, 0) == 50);
	exchange_close(&a);
	CHECK(!zero_is_open());
	exchange_close(&b);
	fill_zero();
	a = opened(0x16, 0, 2), b = opened(0x16, 1, 2);
	close(0);
	for (int i = 0; i < 2; i++) send_number(&b, 0, 0, 51 + i); /* for one */
	CHECK(zero_is_open() && got(&a, 1, true, 0) == 51 && got(&a, 1, true, 0) == 52);
	exchange_close(&b);
	CHECK(!zero_is_open());
	exchange_close(&a);
	fill_zero();
	a = opened(0x17, 0, 2), b = opened(0x17, 1, 2);
	for (int i = 0; i < 2; i++) send_number(&b, 0, 0, 53 + i);
	close(0); /* that is read */
	CHECK(got(&a, 1, true, 0) == 53 && zero_is_open() && got(&a, 1, true, 0) == 54);
	exchange_close(&a);
	CHECK(!zero_is_open());
	exchange_close(&b);
	fill_zero();
}

/* Of one rank nothing is written, nor where no folder is known or an id of zeros. */
static void not_opened(void) {
	struct exchange one = opened(0x21, 0, 1), zeros = opened(0, 0, 2);
	CHECK(!one.id && !zeros.id && !is_there(sent_file(0x21, 0, -1)) && !is_there(sent_file(0, 0, -1)));
	exchange_close(&one);
	exchange_close(&zeros);
	unsetenv("MEMSPEC_PRETEND_FIGURES");
	struct exchange nowhere = opened(0x22, 0, 2);
	CHECK(!exchange_possible() && !nowhere.id && got(&nowhere, 1, false, 0) == -1);
	setenv("MEMSPEC_PRETEND_FIGURES", "", 1);
	CHECK(!exchange_possible());
	setenv("MEMSPEC_PRETEND_FIGURES", "/no/such/folder", 1);
	struct exchange gone = opened(0x23, 0, 2);
	CHECK(exchange_possible() && gone.id);
	send_number(&gone, -1, 0, 1);
	send_number(&gone, 1, 0, 1);
	exchange_close(&gone);
	setenv("MEMSPEC_PRETEND_FIGURES", folder, 1);
	CHECK(exchange_possible());
}

/* Ranks that run one after the other: the first writes and reads nothing, later ones read and write nothing. */
static void one_after_the_other(void) {
	char *device;
	SUCCEEDS(cudaMalloc((void **)&device, 8));
	SUCCEEDS(cudaMemset(device, 7, 8));
	setenv("MEMSPEC_RANK", "0", 1);
	CHECK(!exchange_possible()); /* until the folder is known */
	memspec_pretend_alone(folder, 1);
	CHECK(exchange_possible());
	struct exchange first = opened(0x31, 0, 3);
	CHECK(first.alone && first.first);
	send_number(&first, -1, 0, 40);
	send_number(&first, 1, 0, 41);
	memspec_pretend_chose(device, 8); /* another rank may choose others */
	exchange_send(&first, -1, 1, device, 8);
	send_number(&first, -1, 2, 42);
	CHECK(got(&first, 0, false, 0) == -1);
	exchange_close(&first);
	memspec_pretend_alone(folder, 0);
	struct exchange later = opened(0x31, 1, 3);
	CHECK(later.alone && !later.first && !is_there(sent_file(0x31, 1, -1)));
	send_number(&later, -1, 0, 50);
	send_number(&later, 0, 0, 51);
	CHECK(!is_there(sent_file(0x31, 1, -1)) && !is_there(sent_file(0x31, 1, 0)));
	CHECK(got(&later, 0, false, 0) == 40 && got(&later, 0, false, 1) == -1 && got(&later, 0, false, 2) == 42);
	CHECK(got(&later, 0, true, 0) == 41 && got(&later, 2, false, 0) == -1 && got(&later, 0, false, 3) == -1);
	exchange_close(&later);
	/* a folder of a longer name than files may have is none */
	char name[4097];
	memset(name, 'x', sizeof name);
	name[0] = '/', name[4096] = 0;
	memspec_pretend_alone(name, 1);
	later = opened(0x32, 1, 2);
	CHECK(!later.first && later.id);
	exchange_close(&later);
	name[4095] = 0;
	memspec_pretend_alone(name, 1);
	first = opened(0x32, 0, 2);
	CHECK(first.first);
	send_number(&first, -1, 0, 1);
	exchange_close(&first);
	memspec_pretend_alone(folder, 1);
	unsetenv("MEMSPEC_RANK");
	struct exchange a = opened(0x33, 0, 2), b = opened(0x33, 1, 2); /* processes of one time are none of these */
	CHECK(!a.alone && !a.first);
	send_number(&b, -1, 0, 60);
	CHECK(got(&a, 1, false, 0) == 60);
	exchange_close(&a);
	exchange_close(&b);
	SUCCEEDS(cudaFree(device));
}

/* A disk that is full takes part of a message: it is the last one. */
static void full_disk(void) {
	struct rlimit before, least;
	setenv("MEMSPEC_RANK", "0", 1);
	struct exchange first = opened(0x41, 0, 2);
	send_number(&first, -1, 0, 70);
	signal(SIGXFSZ, SIG_IGN);
	CHECK(!getrlimit(RLIMIT_FSIZE, &before));
	least = before;
	least.rlim_cur = 8 + 2 * 32 - 4; /* the process's id, and two messages but for 4 bytes */
	CHECK(!setrlimit(RLIMIT_FSIZE, &least));
	send_number(&first, -1, 1, 71);
	CHECK(!setrlimit(RLIMIT_FSIZE, &before));
	send_number(&first, -1, 2, 72);
	exchange_close(&first);
	struct stat s;
	CHECK(!stat(sent_file(0x41, 0, -1), &s) && s.st_size == 68);
	memspec_pretend_alone(folder, 0);
	struct exchange later = opened(0x41, 1, 2);
	CHECK(got(&later, 0, false, 0) == 70 && got(&later, 0, false, 1) == -1 && got(&later, 0, false, 2) == -1);
	exchange_close(&later);
	unsetenv("MEMSPEC_RANK");
}

/* A rank that has ended sends no more: for it nobody waits, and a message from it alone is missed. */
static void ended(void) {
	struct exchange a = opened(0x51, 0, 2);
	pid_t child = fork();
	if (!child) {
		struct exchange b = opened(0x51, 1, 2);
		send_number(&b, -1, 0, 80);
		_exit(0);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(got(&a, 1, false, 0) == 80 && got(&a, 1, false, 1) == -1 && !a.unsent);
	CHECK(got(&a, 1, true, 0) == -1 && a.unsent);
	exchange_close(&a);
}

/* Of 64 KiB a rank that knows nothing asks what others know; of more it does not wait for them, nor
   where the Python side has what they send. */
static void gathered(ncclComm_t a, ncclComm_t b) {
	enum { LIMIT = 1 << 16 };
	char *of_a, *of_b, *all;
	SUCCEEDS(cudaMalloc((void **)&of_a, LIMIT + 1));
	SUCCEEDS(cudaMalloc((void **)&of_b, LIMIT));
	SUCCEEDS(cudaMalloc((void **)&all, 2 * LIMIT + 3));
	SUCCEEDS(cudaMemset(of_b, 2, LIMIT));
	SUCCEEDS(ncclGather(of_b, NULL, LIMIT, UINT8, 0, b, NULL));
	SUCCEEDS(ncclGather(of_a, all, LIMIT, UINT8, 0, a, NULL));
	CHECK(memspec_pretend_known(all, LIMIT) == -1 && is_known(all + LIMIT, LIMIT) && all[2 * LIMIT - 1] == 2);
	SUCCEEDS(ncclAllGather(of_a, all, LIMIT + 1, UINT8, a, NULL));
	CHECK(memspec_pretend_known(all, 2 * LIMIT) == -1);
	memspec_pretend_expect("abcdefgh", 8, 4, 0);
	SUCCEEDS(ncclAllGather(of_a, all, 4, UINT8, a, NULL));
	CHECK(is_known(all, 8) && !memcmp(all, "abcdefgh", 8));
	memspec_pretend_expect_end();
	SUCCEEDS(cudaFree(of_a));
	SUCCEEDS(cudaFree(of_b));
	SUCCEEDS(cudaFree(all));
}

/* NCCL's communicators of one id are ranks of each other, however they are made; each id is new. */
static void of_one_id(void) {
	ncclUniqueId id, other;
	ncclComm_t a, b, part, all[2];
	char *p;
	SUCCEEDS(cudaMalloc((void **)&p, 64));
	SUCCEEDS(ncclGetUniqueId(&id));
	SUCCEEDS(ncclGetUniqueId(&other));
	CHECK(memcmp(&id, &other, sizeof id));
	SUCCEEDS(ncclCommInitRank(&a, 2, id, 0));
	SUCCEEDS(ncclCommInitRankConfig(&b, 2, id, 1, NULL));
	SUCCEEDS(cudaMemset(p, 1, 16));
	SUCCEEDS(cudaMemset(p + 32, 2, 16));
	bytes_unknown(p + 40, 8); /* of an object only the begin is known, and so it is where it arrives */
	SUCCEEDS(ncclBroadcast(p + 32, p + 32, 16, UINT8, 1, b, NULL));
	SUCCEEDS(ncclBroadcast(p, p, 16, UINT8, 1, a, NULL));
	CHECK(is_known(p, 8) && p[7] == 2 && memspec_pretend_known(p + 8, 8) == -1);
	gathered(a, b);
	SUCCEEDS(ncclCommDestroy(a));
	SUCCEEDS(ncclCommDestroy(b));
	memset(&id, 0, sizeof id); /* ranks of which nobody knows, and their parts */
	SUCCEEDS(ncclCommInitRank(&a, 2, id, 0));
	memspec_pretend_split(7, 2, 2, 1);
	SUCCEEDS(ncclCommSplit(a, 7, 0, &part, NULL));
	SUCCEEDS(ncclCommInitAll(all, 2, NULL));
	CHECK(!is_there(sent_file(0, 0, -1)) && !is_there(sent_file(1, 0, -1)));
	SUCCEEDS(ncclCommDestroy(part));
	for (int i = 0; i < 2; i++) SUCCEEDS(ncclCommDestroy(all[i]));
	SUCCEEDS(ncclCommDestroy(a));
	SUCCEEDS(cudaFree(p));
}

void messages(void) {
	folder = getenv("MEMSPEC_PRETEND_FIGURES");
	void *p;
	SUCCEEDS(cudaMalloc(&p, 1)); /* opens the file of figures */
	memspec_pretend_track(1, 0);
	int files = entries("/proc/self/fd");
	numbers();
	arithmetic();
	in_order();
	number_zero();
	not_opened();
	one_after_the_other();
	full_disk();
	ended();
	of_one_id();
	CHECK(entries("/proc/self/fd") == files);
}
