/*
 * What a request for a digest asks for: targets, entity tags, the forms of
 * delta, and the time to wait; as a peer sends them, and as it should not.
 */
#include <string.h>

#include "digestd/peers/digest_request.h"
#include "tests/unit.h"

#define TAG "\"00000000000000ab-7\""

static struct digest_request read_target(const char *target,
					 const struct digest_paths *paths)
{
	struct digest_request r;
	struct fields none;

	fields_init(&none);
	digest_request_read(&r, paths,
			    (struct field_part){ target, strlen(target) },
			    &none);
	fields_free(&none);
	return r;
}

static const struct {
	const char *target;
	enum digest_resource resource;
	uint64_t instance, from, to;
} targets[] = {
	{ "/scd/v1/digest", DIGEST_CURRENT, 0, 0, 0 },
	{ "/scd/v1/delta/00000000000000ab-7", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/delta/00000000000000ab/7-9", DIGEST_DELTA, 0xab, 7, 9 },
	{ "/scd/v1/delta/fedcba9876543210/0-1234567890123456789",
	  DIGEST_DELTA, 0xfedcba9876543210, 0, 1234567890123456789 },
	{ "/scd/v1/digest/", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/digest?a", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/diges", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/seen", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/delta/00000000000000ab/7", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/delta/00000000000000ab/7-", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/delta/00000000000000ab/-9", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/delta/00000000000000ab/7-9/", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/delta/00000000000000ab/7-x", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/delta/00000000000000AB/7-9", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/delta/0000000000000ab/7-9", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/delta/0000000000000000ab/7-9", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/delta/00000000000000ab/12345678901234567890-1",
	  DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/delta/", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/sector/0-1", DIGEST_SECTOR, 0, 0, 0 },
	{ "/scd/v1/sector/1023-1024", DIGEST_SECTOR, 0, 0, 0 },
	{ "/scd/v1/sector/1-1", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/sector/0-0", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/sector/0-1025", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/sector/4294967296-4294967297", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/sector/0-1-list", DIGEST_NONE, 0, 0, 0 },
	{ "/scd/v1/sector/", DIGEST_NONE, 0, 0, 0 },
	{ "/", DIGEST_NONE, 0, 0, 0 },
	{ "", DIGEST_NONE, 0, 0, 0 },
};

/* What is written is what is read. */
static void test_sectors(void **state)
{
	const struct sector sector = { 17, 64 };
	char path[DIGEST_SECTOR_PATH_BYTES];
	struct digest_request r;

	(void)state;
	digest_sector_path_write(&digest_paths_held, &sector, path);
	assert_string_equal(path, "/scd/v1/sector/17-64");
	r = read_target(path, &digest_paths_held);
	assert_int_equal(r.sector.number, 17);
	assert_int_equal(r.sector.count, 64);
	assert_int_equal(read_target(path, &digest_paths_seen).resource,
			 DIGEST_NONE);
}

static void test_targets(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(targets); i++) {
		struct digest_request r = read_target(targets[i].target,
						      &digest_paths_held);

		if (r.resource != targets[i].resource)
			fail_msg("\"%s\": %d", targets[i].target, r.resource);
		if (r.resource != DIGEST_DELTA)
			continue;
		assert_int_equal(r.instance, targets[i].instance);
		assert_int_equal(r.from, targets[i].from);
		assert_int_equal(r.to, targets[i].to);
	}
	assert_int_equal(read_target("/scd/v1/seen", &digest_paths_seen)
				 .resource, DIGEST_CURRENT);
	assert_int_equal(read_target("/scd/v1/digest", &digest_paths_seen)
				 .resource, DIGEST_NONE);
}

/* Entity tags: what is written is read, and no prefix of it. */
static void test_tags(void **state)
{
	static const struct digest_tag tags[] = {
		{ 0, 0, false }, { 0xab, 7, false }, { 0xab, 7, true },
		{ UINT64_MAX, 9999999999999999999u, false },
		{ UINT64_MAX, 9999999999999999999u, true },
	};
	struct digest_tag got;
	char text[DIGEST_ETAG_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < NROWS(tags); i++) {
		digest_tag_write(&tags[i], text);
		assert_true(digest_tag_read(text, strlen(text), &got));
		assert_int_equal(got.instance, tags[i].instance);
		assert_int_equal(got.generation, tags[i].generation);
		assert_int_equal(got.list, tags[i].list);
		for (size_t len = 0; len < strlen(text); len++)
			assert_false(digest_tag_read(text, len, &got));
	}
	digest_tag_write(&tags[1], text);
	assert_string_equal(text, TAG);
	assert_false(digest_tag_read("W/" TAG, strlen("W/" TAG), &got));
	assert_false(digest_tag_read(TAG "x", strlen(TAG "x"), &got));
	assert_false(digest_tag_read("\"x\"", 3, &got));
}

/* Fields, and what they ask for. */
static const struct {
	const char *label, *name, *value;
	unsigned ntags;
	bool xor, conditional;
	int64_t wait_s;
} rows[] = {
	{ "no fields", "X-Other", "1", 0, false, false, 0 },
	{ "a tag", "If-None-Match", TAG, 1, false, false, 0 },
	{ "tags", "If-None-Match", TAG ", \"00000000000000ab-8\"", 2, false,
	  false, 0 },
	{ "foreign tags are left out", "If-None-Match",
	  "\"a\", W/" TAG ", " TAG ", *", 1, false, false, 0 },
	{ "more tags than are kept", "If-None-Match",
	  TAG "," TAG "," TAG "," TAG "," TAG "," TAG "," TAG "," TAG "," TAG,
	  DIGEST_ASK_BASES, false, false, 0 },
	{ "a form", "A-IM", "scd", 0, true, false, 0 },
	{ "both forms", "A-IM", "scd, scd-conditional", 0, true, true, 0 },
	{ "the newer one", "A-IM", "vcdiff, scd-conditional;q=0.5", 0, false,
	  true, 0 },
	{ "one is refused", "A-IM", "scd;q=0, scd-conditional; q=0", 0, false,
	  false, 0 },
	{ "others", "A-IM", "gzip, scdx", 0, false, false, 0 },
	{ "to wait", "Prefer", "wait=30", 0, false, false, 30 },
	{ "among others", "Prefer", "respond-async, wait=5; x=y", 0, false,
	  false, 5 },
	{ "the first counts", "Prefer", "wait=1, wait=9", 0, false, false, 1 },
	{ "no number", "Prefer", "wait=long", 0, false, false, 0 },
	{ "a negative one", "Prefer", "wait=-1", 0, false, false, 0 },
	{ "none at all", "Prefer", "wait", 0, false, false, 0 },
};

/* Frames of lists, and the stream of them. */
static void test_lists(void **state)
{
	static const struct {
		const char *forms;
		bool frames, stream;
	} lists[] = {
		{ "scd", false, false },
		{ "scd-frames", true, false },
		{ "scd-stream, scd-frames", true, true },
		{ "scd-stream;q=0, scd-frames", true, false },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(lists); i++) {
		struct digest_request r;
		struct fields f;

		fields_init(&f);
		assert_int_equal(fields_add(&f, "A-IM", lists[i].forms), 0);
		digest_request_read(&r, &digest_paths_held,
				    (struct field_part){ "/", 1 }, &f);
		assert_int_equal(r.ask.takes_frames, lists[i].frames);
		assert_int_equal(r.ask.takes_stream, lists[i].stream);
		fields_free(&f);
	}
}

static void test_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct digest_request r;
		struct fields f;

		fields_init(&f);
		assert_int_equal(fields_add(&f, rows[i].name, rows[i].value),
				 0);
		digest_request_read(&r, &digest_paths_held,
				    (struct field_part){ "/", 1 }, &f);
		if (r.ask.ntags != rows[i].ntags ||
		    r.ask.takes.xor != rows[i].xor ||
		    r.ask.takes.conditional != rows[i].conditional ||
		    r.ask.wait_s != rows[i].wait_s)
			fail_msg("%s: %u tags, %d, %d, %lld s", rows[i].label,
				 r.ask.ntags, r.ask.takes.xor,
				 r.ask.takes.conditional,
				 (long long)r.ask.wait_s);
		for (unsigned t = 0; t < r.ask.ntags; t++)
			assert_int_equal(r.ask.tags[t].instance, 0xab);
		fields_free(&f);
	}
}

/* Of lists, which frames are taken. */
static void test_frames(void **state)
{
	static const struct {
		const char *forms;
		bool frames, aged, ages;
	} cases[] = {
		{ "scd-frames", true, false, false },
		{ "scd-frames, scd-aged", true, true, false },
		{ "scd-frames, scd-ages", true, false, true },
		{ "scd, scd-aged;q=0", false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(cases); i++) {
		struct digest_request r;
		struct fields f;

		fields_init(&f);
		assert_int_equal(fields_add(&f, "A-IM", cases[i].forms), 0);
		digest_request_read(&r, &digest_paths_held,
				    (struct field_part){ "/", 1 }, &f);
		if (r.ask.takes_frames != cases[i].frames ||
		    r.ask.takes_aged != cases[i].aged ||
		    r.ask.takes_ages != cases[i].ages)
			fail_msg("%s", cases[i].forms);
		fields_free(&f);
	}
}

/* What a node says of itself; what is no dictionary says nothing. */
static void test_node(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text; /* null: there is no field */
		struct digest_node node;
	} nodes[] = {
		{ NULL, { false, false, false } },
		{ "leases", { true, true, false } },
		{ "leases=?0", { true, false, false } },
		{ "leases=?0, drains", { true, false, true } },
		{ "leases, drains", { true, true, true } },
		{ "drains", { false, false, true } },
		{ "drains, more=3;x, leases=?1", { true, true, true } },
		{ "leases=1", { true, false, false } },
		{ "leases, drains,", { false, false, false } },
		{ "drains=?2", { false, false, false } },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(nodes); i++) {
		struct digest_node node = { true, true, true };
		char text[DIGEST_NODE_BYTES];
		struct fields f;

		fields_init(&f);
		if (nodes[i].text)
			assert_int_equal(
				fields_add(&f, DIGEST_NODE, nodes[i].text), 0);
		digest_node_read(&f, &node);
		fields_free(&f);
		if (memcmp(&node, &nodes[i].node, sizeof(node)) != 0)
			fail_msg("row %zu", i);
		if (i < 1 || i > 5)
			continue;
		digest_node_write(&node, text);
		assert_string_equal(text, nodes[i].text);
	}
}

/* Whom a node suspects: what is no instance is left out, and of too many the
 * last ones. */
static void test_suspects(void **state)
{
	uint64_t suspects[DIGEST_SUSPECTS_MAX];
	struct fields f;

	(void)state;
	fields_init(&f);
	assert_int_equal(digest_suspects_read(&f, suspects), 0);
	assert_int_equal(fields_add(&f, DIGEST_SUSPECTS,
				    "0123456789abcdef, x, 0123456789ABCDEF, "
				    "0123456789abcde, 00000000000000001, "
				    "fedcba9876543210"), 0);
	assert_int_equal(digest_suspects_read(&f, suspects), 2);
	assert_true(suspects[0] == 0x0123456789abcdef);
	assert_true(suspects[1] == 0xfedcba9876543210);
	for (int i = 0; i < DIGEST_SUSPECTS_MAX; i++)
		assert_int_equal(fields_add(&f, DIGEST_SUSPECTS,
					    "1111111111111111"), 0);
	assert_int_equal(digest_suspects_read(&f, suspects),
			 DIGEST_SUSPECTS_MAX);
	fields_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_sectors),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_node),
		cmocka_unit_test(test_suspects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
