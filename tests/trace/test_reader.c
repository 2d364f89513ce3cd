/*
 * Reading files: the same log plain, gzip, zstd and xz gives the same requests;
 * damaged streams, bad and overlong lines are told and do not hide the rest.
 */
#include "tests/unit.h"

#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "cachesim/trace/format.h"
#include "cachesim/trace/reader.h"
#include "tests/codec/random.h"

enum { PATH_MAX_LEN = 64 };

/* Writes bytes to a new temporary file. */
static void write_file(char path[PATH_MAX_LEN], const void *data, size_t len)
{
	int fd;

	strcpy(path, "trace-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

struct told {
	unsigned n;
	uint64_t number;
	int reason;
};

static void tell(void *arg, const struct trace_complaint *c)
{
	struct told *t = arg;

	if (!c->reason)
		return; /* what is assumed, see assumptions_are_said() */
	t->n++;
	t->number = c->number;
	t->reason = c->reason;
}

/* Reads all; the number of requests, *end is what the last call returned. */
static unsigned read_all(const char *path, struct trace_options *opt, int *end)
{
	struct trace_reader *r;
	struct trace_request q;
	unsigned n = 0;

	*end = trace_open(&r, path, opt);
	if (*end)
		return 0;
	while ((*end = trace_next(r, &q)) > 0)
		n++;
	trace_close(&r);
	return n;
}

static void sample_is_read(void **state)
{
	char path[512];
	struct told told = { 0, 0, 0 };
	struct trace_options opt = { .complain = tell, .arg = &told };
	int end;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/trace/data/sample.clf",
		 getenv("top_srcdir") ? getenv("top_srcdir") : ".");
	assert_int_equal(read_all(path, &opt, &end), 200);
	assert_int_equal(end, 0);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.number, 102);
	assert_int_equal(told.reason, TRACE_ETIME);
	opt.strict = true;
	assert_int_equal(read_all(path, &opt, &end), 101);
	assert_int_equal(end, TRACE_ETIME);
}

/* A list of n keys, about 20 bytes each. */
static char *make_keys(size_t n, size_t *len)
{
	char *text = malloc(n * 24);

	*len = 0;
	for (size_t i = 0; i < n; i++)
		*len += (size_t)sprintf(text + *len, "http://host/%07zu\n", i);
	return text;
}

static size_t gzip(const char *in, size_t len, uint8_t *out, size_t cap)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)in,
		       .avail_in = (uInt)len,
		       .next_out = out,
		       .avail_out = (uInt)cap };

	deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return cap - z.avail_out;
}

static size_t zstd(const char *in, size_t len, uint8_t *out, size_t cap)
{
	return ZSTD_compress(out, cap, in, len, 3);
}

static size_t xz(const char *in, size_t len, uint8_t *out, size_t cap)
{
	size_t n = 0;

	assert_int_equal(lzma_easy_buffer_encode(3, LZMA_CHECK_CRC64, NULL,
						 (const uint8_t *)in, len, out,
						 &n, cap),
			 LZMA_OK);
	return n;
}

static void packed_is_read(void **state)
{
	size_t (*const pack[])(const char *, size_t, uint8_t *, size_t) = {
		gzip, zstd, xz
	};
	enum { KEYS = 50000 };
	size_t len, cap;
	char *text = make_keys(KEYS, &len), path[PATH_MAX_LEN];
	uint8_t *packed = malloc(cap = 2 * len + 4096);
	int end;

	(void)state;
	for (size_t i = 0; i < NROWS(pack); i++) {
		size_t n = pack[i](text, len, packed, cap);

		/* two members, one after the other */
		n += pack[i](text, len, packed + n, cap - n);
		write_file(path, packed, n);
		assert_int_equal(read_all(path, NULL, &end), 2 * KEYS);
		assert_int_equal(end, 0);
		unlink(path);

		write_file(path, packed, n - 10);
		read_all(path, NULL, &end);
		assert_int_equal(end, TRACE_ECODING);
		unlink(path);
	}
	free(packed);
	free(text);
}

/*
 * One byte of a packed stream is another: told, or, where the format has no
 * checksum or does not care for the byte, read as something else.
 */
static void damage_is_told(void **state)
{
	static const struct {
		size_t (*pack)(const char *, size_t, uint8_t *, size_t);
		unsigned told; /* of ROUNDS, at least */
	} cases[] = { { gzip, 95 }, { zstd, 15 }, { xz, 100 } };
	enum { KEYS = 5000, ROUNDS = 100 };
	size_t len, cap;
	char *text = make_keys(KEYS, &len), path[PATH_MAX_LEN];
	uint8_t *packed = malloc(cap = len + 4096);
	uint64_t seed = 3;

	(void)state;
	for (size_t i = 0; i < NROWS(cases); i++) {
		size_t n = cases[i].pack(text, len, packed, cap);
		unsigned told = 0;

		for (int round = 0; round < ROUNDS; round++) {
			/* behind the magic, which would make it a text */
			size_t at = 6 + (size_t)random_below(&seed, n - 6);
			uint8_t bit = (uint8_t)(1 << random_below(&seed, 8));
			int end;

			packed[at] ^= bit;
			write_file(path, packed, n);
			read_all(path, NULL, &end);
			packed[at] ^= bit;
			unlink(path);
			if (end != 0 && end != TRACE_EUNKNOWN)
				assert_int_equal(end, TRACE_ECODING);
			told += end == TRACE_ECODING;
		}
		if (told < cases[i].told)
			fail_msg("case %zu: %u", i, told);
	}
	free(packed);
	free(text);
}

static void long_lines_are_skipped(void **state)
{
	static const size_t lengths[] = { 65536, 65537, 131072, 400000 };
	char path[PATH_MAX_LEN];
	int end;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct told told = { 0, 0, 0 };
		struct trace_options opt = { .complain = tell, .arg = &told };
		size_t n = lengths[i];
		char *text = malloc(n + 16);

		memcpy(text, "first\n", 6);
		memset(text + 6, 'x', n);
		memcpy(text + 6 + n, "\nlast", 5);
		write_file(path, text, n + 11);
		assert_int_equal(read_all(path, &opt, &end), i ? 2 : 3);
		assert_int_equal(told.n, i ? 1 : 0);
		if (i) {
			assert_int_equal(told.number, 2);
			assert_int_equal(told.reason, TRACE_ELONG);
		}
		unlink(path);
		free(text);
	}
}

/* Keeps what is said last, with its line. */
static void keep_text(void *arg, const struct trace_complaint *c)
{
	snprintf(arg, TRACE_NOTE_MAX + 32, "%u: %s", (unsigned)c->number,
		 c->text ? c->text : trace_strerror(c->reason));
}

/* What is not sure is said or refused, and never read as something else. */
static void assumptions_are_said(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text, *columns;
		unsigned n;
		int end;
		const char *said; /* some of it; "": nothing */
	} cases[] = {
		{ "time,url,size\n1,a,5\n", NULL, 1, 0, "" },
		{ "\xef\xbb\xbftime,url,size\r\n1,a,5\r\n", NULL, 1, 0, "" },
		{ "\xef\xbb\xbf" "a\n", NULL, 1, 0, "0: taken for keys" },
		{ "ts,client_ip,Request_URL,sz\n1,c,a,5\n", NULL, 1, 0, "" },
		{ "url,agent,bytes\na,m,5\n", NULL, 1, 0,
		  "1: columns that are not used: \"agent\"" },
		{ "url,size,bytes\na,1,5\n", NULL, 1, 0,
		  "1: columns that are not used: \"bytes\"" },
		{ "when,what\n1,a\n", NULL, 0, TRACE_EHEADER,
		  "the first line has \"when\", \"what\"; known names are "
		  "time, " },
		{ "#c\ntime,sz\n1,5\n", NULL, 0, TRACE_EHEADER,
		  "2: no column is known as the URL; the first line has "
		  "\"time\", \"sz\"" },
		{ "when,what\n1,a\n", "url=what", 1, 0, "" },
		{ "when,what\n1,a\n", "url=what,size=sz", 0, TRACE_EHEADER,
		  "1: no column is named \"sz\"" },
		{ "1,a\n2,b\n", NULL, 2, 0,
		  "1: no header; the columns are taken to be time,url" },
		{ "1,c,a,5,x\n", NULL, 1, 0,
		  "time,client,url,size and 1 more, which are not used" },
		{ "a,5\nb,6\n", NULL, 0, TRACE_EHEADER, "1: no header, and" },
		{ "time url size\n1 a 5\n", NULL, 1, 0, "" },
		{ "1 a 5\n2 b 6\n", NULL, 2, 0, "to be time,url,size" },
		{ "1  a 5\n2 b  6\n", NULL, 0, TRACE_EBLANKS, "" },
		{ "a b\nc\n", NULL, 0, TRACE_EBLANKS, "" },
		{ "1 a\n2 b\n", "delimiter=space,time,url", 2, 0, "" },
	};
	/* clang-format on */
	char path[PATH_MAX_LEN], said[TRACE_NOTE_MAX + 32];
	int end;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trace_options opt = { .columns = cases[i].columns,
					     .complain = keep_text,
					     .arg = said };
		unsigned n;

		said[0] = '\0';
		write_file(path, cases[i].text, strlen(cases[i].text));
		n = read_all(path, &opt, &end);
		unlink(path);
		if (n != cases[i].n || end != cases[i].end ||
		    !strstr(said, cases[i].said) ||
		    (!*cases[i].said && *said))
			fail_msg("case %zu: %u, %d, %s", i, n, end, said);
	}
}

/* A guess that gets better; exact at the end, but for what was read ahead. */
static void requests_are_guessed(void **state)
{
	enum { KEYS = 200000 };
	size_t len;
	char *text = make_keys(KEYS, &len), path[PATH_MAX_LEN];
	struct trace_reader *r;
	struct trace_request q;

	(void)state;
	write_file(path, text, len);
	assert_int_equal(trace_open(&r, path, NULL), 0);
	for (int i = 0; i < KEYS; i++) {
		uint64_t guess = trace_expected(r);

		assert_int_equal(trace_next(r, &q), 1);
		if (i % 1000 == 0 && i > KEYS / 2)
			assert_in_range(guess, KEYS * 8 / 10, KEYS * 12 / 10);
	}
	assert_int_equal(trace_next(r, &q), 0);
	assert_int_equal(trace_expected(r), KEYS);
	trace_close(&r);
	unlink(path);
	free(text);
}

/* No more than are wanted, one by one or many at once, of any source. */
static void as_many_as_wanted(void **state)
{
	static const uint64_t wanted[] = { 1, 255, 256, 257, 299, 300, 301 };
	static const char *const formats[] = { "keys", "clf", NULL };
	char path[PATH_MAX_LEN], *text = malloc(64 * 300);
	size_t len = 0;

	(void)state;
	for (int i = 0; i < 300; i++)
		len += (size_t)sprintf(text + len,
				       "h - - [09/Jul/1995:00:00:01 -0400] "
				       "\"GET /%d\" 200 1\n",
				       i);
	write_file(path, text, len);
	for (size_t k = 0; k < 3 * NROWS(wanted); k++) {
		struct trace_options opt = { .format = formats[k % 3],
					     .requests = wanted[k / 3] };
		const char *name = opt.format ? path : "gen:dec,requests=300";
		uint64_t want = opt.requests < 300 ? opt.requests : 300, n = 0;
		struct trace_row rows[100];
		struct trace_reader *r;
		int end;

		assert_int_equal(read_all(name, &opt, &end), want);
		assert_int_equal(end, 0);
		assert_int_equal(trace_open(&r, name, &opt), 0);
		while ((end = trace_rows(r, rows, 100)) > 0)
			n += (uint64_t)end;
		assert_int_equal(end, 0);
		assert_int_equal(n, want);
		assert_int_equal(trace_expected(r), want);
		trace_close(&r);
	}
	unlink(path);
	free(text);
}

static void blocks_may_be_cut(void **state)
{
	struct told told = { 0, 0, 0 };
	struct trace_options opt = { .format = "i32le",
				     .complain = tell,
				     .arg = &told };
	char path[PATH_MAX_LEN];
	int end;

	(void)state;
	write_file(path, "aaaabbbbcc", 10);
	assert_int_equal(read_all(path, &opt, &end), 2);
	assert_int_equal(told.reason, TRACE_ECUT);
	unlink(path);
}

static void opening_fails_with_a_reason(void **state)
{
	struct trace_options opt = { .format = "punchcards" };
	char path[PATH_MAX_LEN];
	int end;

	(void)state;
	read_all("/nonexistent/trace", NULL, &end);
	assert_int_equal(end, TRACE_EIO);
	write_file(path, "\1\2\3", 3);
	read_all(path, NULL, &end);
	assert_int_equal(end, TRACE_EUNKNOWN);
	read_all(path, &opt, &end);
	assert_int_equal(end, TRACE_EUNKNOWN);
	opt.format = "binary"; /* of what layout? */
	read_all(path, &opt, &end);
	assert_int_equal(end, TRACE_EOPTION);
	unlink(path);
	write_file(path, "", 0);
	assert_int_equal(read_all(path, NULL, &end), 0);
	assert_int_equal(end, 0);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_is_read),
		cmocka_unit_test(packed_is_read),
		cmocka_unit_test(damage_is_told),
		cmocka_unit_test(long_lines_are_skipped),
		cmocka_unit_test(assumptions_are_said),
		cmocka_unit_test(requests_are_guessed),
		cmocka_unit_test(as_many_as_wanted),
		cmocka_unit_test(blocks_may_be_cut),
		cmocka_unit_test(opening_fails_with_a_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
