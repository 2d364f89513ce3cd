/*
 * What a peer's copy comes to beside its origin's: a row a case.
 */
#include "tests/unit.h"

#include "digestd/node/node_check.h"
#include "tests/http/message.h"

/* Hashes of bodies "one" and "two", whose first bytes alone stand here. */
#define ONE \
	"Repr-Digest: sha-256=:dpLDrTVAu4A8Ags67mbNiIcSMjTqDG5xQ8Ct1z/0Me0=:\n"
#define TWO \
	"Repr-Digest: sha-256=:P8TM/nRYcOLA2Z9x8w/wZWyN7dQcwdfT03aw2+aF4vM=:\n"
#define OLD "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\n"

enum { MADE_S = 1704067200 + 3600 }; /* an hour after that */

static const uint8_t one[NODE_CHECK_HASH] = {
	0x76, 0x92, 0xc3, 0xad, 0x35, 0x40, 0xbb, 0x80,
	0x3c, 0x02, 0x0b, 0x3a, 0xee, 0x66, 0xcd, 0x88,
	0x87, 0x12, 0x32, 0x34, 0xea, 0x0c, 0x6e, 0x71,
	0x43, 0xc0, 0xad, 0xd7, 0x3f, 0xf4, 0x31, 0xed,
};
static const uint8_t two[NODE_CHECK_HASH] = {
	0x3f, 0xc4, 0xcc, 0xfe, 0x74, 0x58, 0x70, 0xe2,
	0xc0, 0xd9, 0x9f, 0x71, 0xf3, 0x0f, 0xf0, 0x65,
	0x6c, 0x8d, 0xed, 0xd4, 0x1c, 0xc1, 0xd7, 0xd3,
	0xd3, 0x76, 0xb0, 0xdb, 0xe6, 0x85, 0xe2, 0xf3,
};

/* clang-format off */
static const struct {
	const char *label;
	const char *copy, *origin; /* fields; the copy's body is "two" */
	unsigned status; /* of the origin */
	const uint8_t *hash; /* of its body */
	enum node_check check;
} rows[] = {
#define ROW(label, copy, origin, status, hash, check) \
	{ label, copy, origin, status, hash, NODE_CHECK_##check },
ROW("the same bytes", "ETag: \"1\"\n", "ETag: \"2\"\n", 200, two, SAME)
ROW("the same tag", "ETag: \"1\"\n", "ETag: \"1\"\n", 200, one, WRONG)
ROW("another tag", "ETag: \"1\"\n", "ETag: \"2\"\n", 200, one, OTHER)
ROW("no tag here", "", "ETag: \"1\"\n", 200, one, OTHER)
ROW("no tag there", "ETag: \"1\"\n", "", 200, one, OTHER)
ROW("a weak tag", "ETag: W/\"1\"\n", "ETag: W/\"1\"\n", 200, one, OTHER)
ROW("another coding", "ETag: \"1\"\nContent-Encoding: gzip\n", "ETag: \"1\"\n", 200, one, OTHER)
ROW("another type", "ETag: \"1\"\nContent-Type: a/b\n", "ETag: \"1\"\nContent-Type: a/c\n", 200, one, OTHER)
ROW("an error", "ETag: \"1\"\n", "ETag: \"1\"\n", 500, one, OTHER)
ROW("nothing said", "", "", 200, one, OTHER)
ROW("both hashes say one", ONE, ONE, 200, one, WRONG)
ROW("each its own", TWO, ONE, 200, one, OTHER)
ROW("the origin's only", "", ONE, 200, one, OTHER)
ROW("the origin's own is wrong", ONE, ONE, 200, two, ORIGIN)
ROW("and the tag says so", "ETag: \"1\"\n", "ETag: \"1\"\n" TWO, 200, one, ORIGIN)
ROW("old", OLD, OLD, 200, one, DOUBT)
ROW("old, and another tag", "ETag: \"1\"\n", "ETag: \"2\"\n" OLD, 200, one, DOUBT)
ROW("old, and the same tag", "ETag: \"1\"\n", "ETag: \"1\"\n" OLD, 200, one, WRONG)
ROW("of now", "", "Last-Modified: Mon, 01 Jan 2024 00:59:30 GMT\n", 200, one, OTHER)
ROW("newer", "", "Last-Modified: Mon, 01 Jan 2024 02:00:00 GMT\n", 200, one, OTHER)
ROW("no date", "", "Last-Modified: yesterday\n", 200, one, OTHER)
#undef ROW
};
/* clang-format on */

static void cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct node_checked copy = { .status = 200 };
		struct node_checked origin = { .status = rows[i].status };
		struct fields theirs, ours;
		enum node_check got;

		message_must(&theirs, rows[i].copy);
		message_must(&ours, rows[i].origin);
		copy.fields = &theirs;
		origin.fields = &ours;
		memcpy(copy.hash, two, sizeof(two));
		memcpy(origin.hash, rows[i].hash, sizeof(two));
		got = node_check(&copy, &origin, MADE_S);
		if (got != rows[i].check)
			fail_msg("%s: %d", rows[i].label, (int)got);
		fields_free(&theirs);
		fields_free(&ours);
	}
}

static void own_hash(void **state)
{
	struct node_checked r = { .status = 200 };
	struct fields f;

	(void)state;
	message_must(&f, ONE);
	r.fields = &f;
	memcpy(r.hash, one, sizeof(one));
	assert_true(node_check_is_right(&r));
	memcpy(r.hash, two, sizeof(two));
	assert_false(node_check_is_right(&r));
	r.status = 206; /* it is of the whole */
	assert_true(node_check_is_right(&r));
	fields_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases),
		cmocka_unit_test(own_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
