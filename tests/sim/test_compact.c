/*
 * The compact format: what is written is what is mapped; a file that was made
 * by hand from the description; damage of every byte of the header, cut files,
 * and indices beyond their columns.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdio.h>
#include <xxhash.h>

#include "cachesim/sim/compact.h"
#include "tests/codec/alloc.h"
#include "tests/sim/file.h"

enum { HEADER = 128 };

static const char path[] = "trace-test-compact";

static void load(struct sim_trace *t, const char *text)
{
	struct test_file f = test_file(text, strlen(text));

	assert_int_equal(sim_trace_load(t, f.path, NULL, NULL), 0);
	unlink(f.path);
}

static void same_column(const void *a, const void *b, size_t bytes)
{
	assert_int_equal(!a, !b);
	if (a && bytes)
		assert_memory_equal(a, b, bytes);
}

static void same_trace(const struct sim_trace *a, const struct sim_trace *b)
{
	assert_int_equal(a->nrequests, b->nrequests);
	assert_int_equal(a->nobjects, b->nobjects);
	assert_int_equal(a->nclients, b->nclients);
	assert_int_equal(a->nchanges, b->nchanges);
	assert_memory_equal(&a->totals, &b->totals, sizeof(a->totals));
	same_column(a->object, b->object, a->nrequests * 4);
	same_column(a->time, b->time, a->nrequests * 4);
	same_column(a->client, b->client, a->nrequests * 4);
	same_column(a->size, b->size, a->nobjects * 4);
	same_column(a->hash, b->hash, a->nobjects * 8);
	same_column(a->client_hash, b->client_hash, a->nclients * 8);
	same_column(a->address, b->address, a->nclients * 16);
	if (a->nchanges) {
		same_column(a->change, b->change, a->nchanges * 8);
		same_column(a->change_size, b->change_size, a->nchanges * 4);
	}
	assert_int_equal(a->npasses, b->npasses);
	if (a->npasses) {
		same_column(a->pass, b->pass, a->npasses * 8);
		same_column(a->pass_size, b->pass_size, a->npasses * 4);
		same_column(a->pass_client, b->pass_client, a->npasses * 4);
	}
}

static const char full[] = "time,client,url,size\n"
			   "100,10.0.0.1,a,50\n"
			   "101,10.0.0.2,b,7\n"
			   "102,::1,a,51\n"
			   "junk\n"
			   "103,10.0.0.2,c,9\n";

static void round_trips(void **state)
{
	static const char *const texts[] = {
		full,
		"a\nb\na\n",
		"time,client,url\n1,x,a\n1,y,a\n",
		"time,url\n1,a\n5,a\n",
		"client,method,url\nx,GET,a\ny,POST,a\nx,GET,a\nz,PUT,b\n",
		"method,url\nHEAD,a\nGET,a\nPOST,a\n",
	};

	(void)state;
	for (size_t i = 0; i < NROWS(texts); i++) {
		struct sim_trace t, m;

		load(&t, texts[i]);
		assert_int_equal(sim_compact_write(&t, path), 0);
		assert_true(sim_compact_is(path));
		for (int checksum = 0; checksum < 2; checksum++) {
			assert_int_equal(sim_compact_map(&m, path, checksum),
					 0);
			same_trace(&t, &m);
			sim_trace_free(&m);
		}
		assert_int_equal(sim_trace_load(&m, path, NULL, NULL), 0);
		assert_non_null(m.map);
		same_trace(&t, &m);
		sim_trace_free(&m);
		sim_trace_free(&t);
	}
	unlink(path);
}

static void nothing_round_trips(void **state)
{
	struct sim_trace t, m;

	(void)state;
	load(&t, "");
	assert_int_equal(sim_compact_write(&t, path), 0);
	assert_int_equal(sim_compact_map(&m, path, true), 0);
	assert_int_equal(m.nrequests, 0);
	sim_trace_free(&m);
	sim_trace_free(&t);
	unlink(path);
}

/* A whole file; the caller frees it. */
static uint8_t *read_whole(size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *at;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*len = (size_t)ftell(f);
	rewind(f);
	at = malloc(*len);
	assert_int_equal(fread(at, 1, *len, f), *len);
	fclose(f);
	return at;
}

static int map_bytes(const uint8_t *at, size_t len, bool checksum)
{
	struct test_file f = test_file(at, len);
	struct sim_trace t;
	int err = sim_compact_map(&t, f.path, checksum);

	unlink(f.path);
	if (err)
		assert_null(t.map);
	sim_trace_free(&t);
	return err;
}

/* The sums of a file that was changed on purpose. */
static void seal(uint8_t *at, size_t len)
{
	uint64_t sum = XXH3_64bits(at + HEADER, len - HEADER);

	memcpy(at + 72, &sum, 8);
	sum = XXH3_64bits(at, 120);
	memcpy(at + 120, &sum, 8);
}

/* As docs/TRACE-FORMAT.md has it: two requests of one object, no times. */
static void as_documented(void **state)
{
	uint8_t file[HEADER + 3 * 64] = "\x89SCDT\r\n\x1a";
	static const uint32_t version = 1, objects = 1, size = 42, object = 0;
	static const uint64_t requests = 2, hash = 0x1122334455667788,
			      bytes = 84;
	struct sim_trace t;
	struct test_file f;

	(void)state;
	memcpy(file + 8, &version, 4);
	memcpy(file + 16, &requests, 8);
	memcpy(file + 32, &objects, 4);
	memcpy(file + 40, &bytes, 8);
	memcpy(file + HEADER, &object, 4);
	memcpy(file + HEADER + 64, &size, 4);
	memcpy(file + HEADER + 128, &hash, 8);
	seal(file, HEADER + 3 * 64);
	f = test_file(file, HEADER + 3 * 64);
	assert_int_equal(sim_compact_map(&t, f.path, true), 0);
	assert_int_equal(t.nrequests, 2);
	assert_int_equal(t.object[1], 0);
	assert_int_equal(t.size[0], 42);
	assert_int_equal(t.hash[0], hash);
	assert_int_equal(t.totals.bytes, 84);
	assert_null(t.time);
	assert_null(t.client);
	sim_trace_free(&t);
	unlink(f.path);
}

static void damage_is_found(void **state)
{
	struct sim_trace t;
	uint8_t *file;
	size_t len;

	(void)state;
	load(&t, full);
	assert_int_equal(sim_compact_write(&t, path), 0);
	sim_trace_free(&t);
	file = read_whole(&len);
	for (size_t i = 0; i < len; i++) {
		int err;

		file[i] ^= 0x10;
		err = map_bytes(file, len, true);
		if (err != (i < 12 ? TRACE_EUNKNOWN : TRACE_ECOMPACT))
			fail_msg("byte %zu: %d", i, err);
		/* without the checksum only what is an index matters */
		err = map_bytes(file, len, false);
		if (i >= 12 && i < HEADER && !(i >= 72 && i < 80))
			assert_int_equal(err, TRACE_ECOMPACT);
		file[i] ^= 0x10;
	}
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(map_bytes(file, cut, false), TRACE_ECOMPACT);
	assert_int_equal(map_bytes(file, len, true), 0);
	free(file);
	unlink(path);
}

/* clang-format off */
static const struct {
	const char *what;
	size_t at;
	uint32_t value;
} lies[] = {
	{ "an object beyond the objects", HEADER + 4, 3 },
	{ "a client beyond the clients", HEADER + 128 + 8, 3 },
	{ "an object of 0 bytes", HEADER + 192 + 4, 0 },
	{ "a change to 0 bytes", HEADER + 512, 0 },
	{ "a change beyond the requests", HEADER + 448, 4 },
	{ "more objects than requests", 32, 5 },
	{ "more clients than requests", 36, 5 },
	{ "more changes than requests", 24, 5 },
	{ "more requests than there are", 20, 1 },
	{ "requests whose bytes overflow", 20, 0x40000000 },
	{ "an unknown column", 12, 15 },
	{ "addresses without clients", 12, 5 },
	{ "clients without a column", 12, 0 },
	{ "uncacheable requests without columns", 80, 1 },
	{ "reserved bytes", 88, 1 },
};
/* clang-format on */

/* With sums that hold, as somebody would write it who means harm. */
static void lies_are_found(void **state)
{
	struct sim_trace t;
	uint8_t *file;
	size_t len;

	(void)state;
	load(&t, full);
	assert_int_equal(sim_compact_write(&t, path), 0);
	sim_trace_free(&t);
	file = read_whole(&len);
	assert_int_equal(len, HEADER + 9 * 64);
	for (size_t i = 0; i < NROWS(lies); i++) {
		uint32_t was;

		memcpy(&was, file + lies[i].at, 4);
		assert_int_not_equal(was, lies[i].value);
		memcpy(file + lies[i].at, &lies[i].value, 4);
		seal(file, len);
		if (map_bytes(file, len, true) != TRACE_ECOMPACT)
			fail_msg("%s", lies[i].what);
		memcpy(file + lies[i].at, &was, 4);
	}
	free(file);
	unlink(path);
}

static void files_that_are_none(void **state)
{
	struct sim_trace t;
	struct test_file f = test_file("abc\n", 4);

	(void)state;
	assert_false(sim_compact_is(f.path));
	assert_false(sim_compact_is("no/such/file"));
	assert_false(sim_compact_is("."));
	assert_int_equal(sim_compact_map(&t, f.path, false), TRACE_ECOMPACT);
	assert_int_equal(sim_compact_map(&t, "no/such/file", false),
			 TRACE_EIO);
	assert_int_equal(errno, ENOENT);
	unlink(f.path);
	load(&t, "a\n");
	assert_int_equal(sim_compact_write(&t, "no/such/file"), TRACE_EIO);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(sim_compact_write(&t, "."), TRACE_EIO);
	alloc_fail_at(1);
	assert_int_equal(sim_compact_write(&t, path), TRACE_ENOMEM);
	alloc_fail_at(0);
	assert_int_not_equal(access(path, F_OK), 0);
	sim_trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(nothing_round_trips),
		cmocka_unit_test(as_documented),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(lies_are_found),
		cmocka_unit_test(files_that_are_none),
	};

	return cmocka_run_group_tests_name("compact", tests, NULL, NULL);
}
