/*
 * The module of Varnish, called as Varnish calls it: whom it takes as a peer,
 * which backend it gives for a candidate, and what it says where there is none.
 * What it calls of Varnish is played here.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit.h"

#include <cache/cache.h>
#include <vcc_scd_if.h>
#include <vcl.h>

#include "codec/shared_table.h"
#include "tests/modules/table_file.h"
#include "tests/os/still_clock.h"

#define URL "http://www.example.com/1"

enum { NBACKENDS = 3 };

static struct director backends[NBACKENDS], otherwise;
static int users[NBACKENDS]; /* of each backend */
static struct ws workspace;
static bool no_workspace;
static struct vrt_ctx ctx;
static char failure[200];
static struct vmod_scd_table *table;

VCL_VOID VRT_fail(VRT_CTX, const char *format, ...)
{
	va_list args;

	(void)ctx;
	va_start(args, format);
	vsnprintf(failure, sizeof(failure), format, args);
	va_end(args);
}

void VRT_Assign_Backend(VCL_BACKEND *place, VCL_BACKEND backend)
{
	if (*place)
		users[*place - backends]--;
	*place = backend;
	if (backend)
		users[backend - backends]++;
}

void *WS_Copy(struct ws *ws, const void *text, int len)
{
	static char copy[200];

	assert_ptr_equal(ws, &workspace);
	assert_int_equal(len, -1);
	if (no_workspace)
		return NULL;
	snprintf(copy, sizeof(copy), "%s", (const char *)text);
	return copy;
}

void VAS_Fail(const char *function, const char *file, int line,
	      const char *condition, enum vas_e kind)
{
	(void)kind;
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, function, condition);
	abort();
}

/* Whether the last call said what is wrong; it is forgotten. */
static bool failed(void)
{
	bool is = *failure;

	*failure = '\0';
	return is;
}

static int set_up(void **state)
{
	(void)state;
	table_file_begin();
	ctx = (struct vrt_ctx){ .magic = VRT_CTX_MAGIC,
				.method = VCL_MET_INIT,
				.ws = &workspace };
	no_workspace = false;
	vmod_table__init(&ctx, &table, "peers", table_file_path);
	return failed() ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	vmod_table__fini(&table);
	assert_null(table);
	vmod_table__fini(&table);
	for (unsigned i = 0; i < NBACKENDS; i++)
		assert_int_equal(users[i], 0);
	table_file_end();
	return 0;
}

/* A table where "a" is the best peer for the URL, then "b", then "c". */
static void put_table(void)
{
	static const char *const names[] = { "a", "b", "c" };

	table_file_put();
	for (unsigned i = 0; i < 3; i++) {
		table_file_name(i, names[i], 1000 << 2 * i);
		table_file_add(i, URL);
	}
}

static void a_table_needs_a_path(void **state)
{
	struct vmod_scd_table *other;

	(void)state;
	vmod_table__init(&ctx, &other, "none", NULL);
	assert_true(failed());
	vmod_table__fini(&other);
	assert_null(other);
}

static void peers_are_added_once_and_at_the_start(void **state)
{
	static const struct {
		const char *label, *name;
		const struct director *backend;
		unsigned method;
		bool fails;
	} rows[] = {
		{ "one", "a", &backends[0], VCL_MET_INIT, false },
		{ "another", "b", &backends[1], VCL_MET_INIT, false },
		{ "again", "a", &backends[2], VCL_MET_INIT, true },
		{ "no name", NULL, &backends[2], VCL_MET_INIT, true },
		{ "no backend", "c", NULL, VCL_MET_INIT, true },
		{ "too late", "c", &backends[2], VCL_MET_RECV, true },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		ctx.method = rows[i].method;
		vmod_table_add_peer(&ctx, table, rows[i].name, rows[i].backend);
		if (failed() != rows[i].fails)
			fail_msg("%s", rows[i].label);
	}
	assert_int_equal(users[0], 1);
	assert_int_equal(users[1], 1);
	assert_int_equal(users[2], 0);
}

/* The candidates of a URL are those that were added, in the order of the
 * table. */
static void candidates_have_backends(void **state)
{
	static const struct {
		const char *url;
		VCL_INT candidate;
		const struct director *wanted;
	} rows[] = {
		{ URL, 0, &backends[2] },
		{ URL, 1, &backends[1] },
		{ URL, 2, &otherwise },
		{ URL, -1, &otherwise },
		{ "http://www.example.com/2", 0, &otherwise },
		{ "/1", 0, &otherwise },
		{ NULL, 0, &otherwise },
	};

	(void)state;
	vmod_table_add_peer(&ctx, table, "c", &backends[1]);
	vmod_table_add_peer(&ctx, table, "a", &backends[2]);
	assert_false(failed());
	put_table();
	for (size_t i = 0; i < NROWS(rows); i++) {
		if (vmod_table_backend(&ctx, table, rows[i].url,
				       rows[i].candidate,
				       &otherwise) != rows[i].wanted)
			fail_msg("row %zu", i);
	}
}

static void candidates_have_names(void **state)
{
	(void)state;
	put_table();
	assert_string_equal(vmod_table_peer(&ctx, table, URL, 0), "a");
	assert_string_equal(vmod_table_peer(&ctx, table, URL, 2), "c");
	assert_string_equal(vmod_table_peer(&ctx, table, URL, 3), "");
	assert_string_equal(vmod_table_peer(&ctx, table, URL, -1), "");
	assert_string_equal(vmod_table_peer(&ctx, table, NULL, 0), "");
	assert_false(failed());
	no_workspace = true;
	assert_null(vmod_table_peer(&ctx, table, URL, 0));
	assert_true(failed());
}

static void a_table_lives_while_it_is_written(void **state)
{
	(void)state;
	assert_false(vmod_table_live(&ctx, table));
	put_table();
	still_clock_ms += 200;
	assert_true(vmod_table_live(&ctx, table));
	still_clock_ms += SCD_SHARED_TABLE_SILENT_MS + 1;
	assert_false(vmod_table_live(&ctx, table));
	assert_string_equal(vmod_table_peer(&ctx, table, URL, 0), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_table_needs_a_path),
		TEST(peers_are_added_once_and_at_the_start),
		TEST(candidates_have_backends),
		TEST(candidates_have_names),
		TEST(a_table_lives_while_it_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
