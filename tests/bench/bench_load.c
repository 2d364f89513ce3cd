/*
 * How fast traces are loaded into memory: the same requests (Zipf 0.9) in
 * several formats, plain and packed, and the generator's. Prints a table:
 * requests a second of processor time, so that other work on the machine does
 * not count: of the thread that loads, and of that and the one that unpacks in
 * sum. The first is what the clock shows with two free cores (if unpacking is
 * no slower), the second what it shows with one.
 *
 * usage: bench_load [REQUESTS [OBJECTS]]
 * The files (60 bytes a request in sum) lie in TMPDIR or /tmp while it runs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include <zstd.h>

#include "cachesim/sim/compact.h"
#include "cachesim/trace/zipf.h"
#include "codec/mix.h"
#include "tests/bench/clock.h"

enum { ROUNDS = 3, PATH_BYTES = 300, RECORD_MAX = 128 };

struct record {
	uint32_t time, size;
	uint64_t key;
};

/* Writes one record as text or bytes. Returns its length. */
typedef size_t writer(const struct record *r, char out[RECORD_MAX]);

static size_t write_csv(const struct record *r, char out[RECORD_MAX])
{
	return (size_t)snprintf(out, RECORD_MAX, "%u,%llu,%u\n", r->time,
				(unsigned long long)r->key, r->size);
}

static size_t write_urls(const struct record *r, char out[RECORD_MAX])
{
	return (size_t)snprintf(out, RECORD_MAX,
				"%u.%03u,10.0.%u.%u,"
				"http://www%llu.example/%llu.html,200,%u\n",
				r->time, (unsigned)(r->key % 1000),
				(unsigned)(r->key % 20), r->time % 250,
				(unsigned long long)(r->key % 997),
				(unsigned long long)r->key, r->size);
}

static size_t write_clf(const struct record *r, char out[RECORD_MAX])
{
	return (size_t)snprintf(out, RECORD_MAX,
				"10.0.%u.%u - - [09/Jul/1995:%02u:%02u:%02u "
				"-0400] \"GET /%llu.html HTTP/1.0\" 200 %u\n",
				(unsigned)(r->key % 20), r->time % 250,
				r->time / 3600 % 24, r->time / 60 % 60,
				r->time % 60, (unsigned long long)r->key,
				r->size);
}

static size_t write_squid(const struct record *r, char out[RECORD_MAX])
{
	return (size_t)snprintf(out, RECORD_MAX,
				"%u.123 310 10.0.%u.%u TCP_MISS/200 %u GET "
				"http://x/%llu.html - DIRECT/x text/html\n",
				r->time, (unsigned)(r->key % 20),
				r->time % 250, r->size,
				(unsigned long long)r->key);
}

static size_t write_oracle(const struct record *r, char out[RECORD_MAX])
{
	memset(out, 0, 24);
	memcpy(out, &r->time, 4);
	memcpy(out + 4, &r->key, 8);
	memcpy(out + 12, &r->size, 4);
	memset(out + 16, 0xff, 8);
	return 24;
}

static size_t write_i64(const struct record *r, char out[RECORD_MAX])
{
	memcpy(out, &r->key, 8);
	return 8;
}

/* clang-format off */
static const struct {
	const char *name, *format;
	writer *write;
	const char *header;
} kinds[] = {
	{ "csv (time,key,size)", "csv", write_csv, "time,obj_id,size\n" },
	{ "csv (with clients and URLs)", "csv", write_urls,
	  "time,client,url,status,size\n" },
	{ "Common Log Format", "clf", write_clf, "" },
	{ "Squid", "squid", write_squid, "" },
	{ "oracleGeneral", "oracleGeneral", write_oracle, "" },
	{ "64-bit keys", "i64le", write_i64, "" },
};
/* clang-format on */

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void write_file(const char *path, size_t kind, uint64_t requests,
		       uint64_t objects)
{
	struct trace_random random;
	struct zipf ranks;
	char out[RECORD_MAX];
	FILE *f = fopen(path, "wb");

	if (!f)
		die(path);
	random_seed(&random, 1);
	if (zipf_law(&ranks, objects, 0.9) || zipf_prepare(&ranks))
		die("ranks");
	fputs(kinds[kind].header, f);
	for (uint64_t i = 0; i < requests; i++) {
		struct record r;

		r.key = zipf_draw(&ranks, &random);
		r.time = 800000000 + (uint32_t)(i / 100);
		r.size = 500 + (uint32_t)(scd__mix64(r.key) % 40000);
		fwrite(out, 1, kinds[kind].write(&r, out), f);
	}
	zipf_free(&ranks);
	if (fclose(f))
		die(path);
}

/* The file again, packed by zstd at its usual level. */
static void pack(const char *path, const char *packed)
{
	static uint8_t in[1 << 20], out[1 << 21];
	FILE *from = fopen(path, "rb"), *to = fopen(packed, "wb");
	ZSTD_CCtx *z = ZSTD_createCCtx();
	size_t n, left;

	if (!from || !to || !z)
		die(packed);
	do {
		n = fread(in, 1, sizeof(in), from);
		ZSTD_inBuffer ib = { in, n, 0 };
		ZSTD_EndDirective how = n ? ZSTD_e_continue : ZSTD_e_end;

		do {
			ZSTD_outBuffer ob = { out, sizeof(out), 0 };

			left = ZSTD_compressStream2(z, &ob, &ib, how);
			fwrite(out, 1, ob.pos, to);
		} while (ib.pos < ib.size || (!n && left));
	} while (n);
	ZSTD_freeCCtx(z);
	fclose(from);
	if (fclose(to))
		die(packed);
}

static double cpu_now_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Loads it some times; the best of each time counts. */
static void measure(const char *name, const char *path, const char *format)
{
	struct trace_options opt = { .format = format };
	double thread_s = 0, all_s = 0;
	uint64_t n = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double thread = clock_used_s(), all = cpu_now_s(), s;
		struct sim_trace t;
		int err = sim_trace_load(&t, path, &opt, NULL);

		if (err) {
			fprintf(stderr, "%s: %s\n", path, trace_strerror(err));
			exit(1);
		}
		clock_best(&thread_s, thread);
		s = cpu_now_s() - all;
		if (i == 0 || s < all_s)
			all_s = s;
		n = t.nrequests;
		sim_trace_free(&t);
	}
	printf("%-40s %8.1f %8.1f\n", name, (double)n / thread_s / 1e6,
	       (double)n / all_s / 1e6);
	fflush(stdout);
}

static void measure_compact(const char *path, const char *compact)
{
	struct trace_options opt = { .format = "oracleGeneral" };
	struct sim_trace t;

	if (sim_trace_load(&t, path, &opt, NULL) ||
	    sim_compact_write(&t, compact))
		die(compact);
	sim_trace_free(&t);
	measure("compact", compact, NULL);
}

/* Makes all requests and keeps none. */
static void measure_making(const char *name, const char *path)
{
	static struct trace_row rows[256];
	double thread_s = 0;
	uint64_t n = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double begin = clock_used_s();
		struct trace_reader *r;
		int got;

		if (trace_open(&r, path, NULL))
			die(path);
		for (n = 0; (got = trace_rows(r, rows, 256)) > 0;)
			n += (uint64_t)got;
		trace_close(&r);
		clock_best(&thread_s, begin);
	}
	printf("%-40s %8.1f %8.1f\n", name, (double)n / thread_s / 1e6,
	       (double)n / thread_s / 1e6);
}

static void run_generator(uint64_t requests, uint64_t objects)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "gen:dec,requests=%llu",
		 (unsigned long long)requests);
	measure_making("generated, not kept (dec)", path);
	measure("generated (dec)", path, NULL);
	snprintf(path, sizeof(path), "gen:zipf,requests=%llu,objects=%llu",
		 (unsigned long long)requests, (unsigned long long)objects);
	measure_making("generated, not kept (zipf)", path);
	measure("generated (zipf)", path, NULL);
}

static void run(const char *folder, uint64_t requests, uint64_t objects)
{
	char path[PATH_BYTES], packed[PATH_BYTES], name[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/trace", folder);
	snprintf(packed, sizeof(packed), "%s/trace.zst", folder);
	printf("%-40s %8s %8s\n", "10^6 requests a second", "loading",
	       "in all");
	for (size_t k = 0; k < KINDS; k++) {
		write_file(path, k, requests, objects);
		measure(kinds[k].name, path, kinds[k].format);
		pack(path, packed);
		snprintf(name, sizeof(name), "%s, zst", kinds[k].name);
		measure(name, packed, kinds[k].format);
		if (!strcmp(kinds[k].format, "oracleGeneral"))
			measure_compact(path, packed);
	}
	unlink(path);
	unlink(packed);
	run_generator(requests, objects);
}

int main(int argc, char **argv)
{
	uint64_t requests = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	uint64_t objects = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	const char *tmp = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	char folder[PATH_BYTES / 2];

	snprintf(folder, sizeof(folder), "%s/bench-load-XXXXXX", tmp);
	if (!requests || !objects || !mkdtemp(folder))
		die("bench_load");
	run(folder, requests, objects);
	rmdir(folder);
	return 0;
}
