/*
 * Digests of sectors over HTTP: what is asked of their maker, and what each of
 * its answers is sent as; each allocation failing.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "digestd/mesh/sector.h"
#include "digestd/mesh/sector_digest.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/digest_request.h"
#include "tests/codec/alloc.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

#define TARGET "/scd/v1/sector/1-3"
#define TAG(generation) "\"00000000000000ab-" #generation "-list\""

enum { INSTANCE = 0xab, GENERATION = 9, MAX_WAIT_S = 1 };

static struct loop *loop;
static struct generations *generations;
static struct digest_api *api;

/* The maker: what it is asked, and what it says. */
static struct {
	unsigned calls;
	struct sector sector;
	uint64_t asked_from;
	int error;
	uint64_t from; /* of the frame; 0: it is a full one */
	const char *bytes; /* null: there is nothing new */
} maker;

static int make(void *arg, const struct sector *s, uint64_t from,
		struct sector_digest *out)
{
	char *bytes;

	assert_ptr_equal(arg, &maker);
	maker.calls++;
	maker.sector = *s;
	maker.asked_from = from;
	if (maker.error)
		return maker.error;
	*out = (struct sector_digest){ .instance = INSTANCE,
				       .generation = GENERATION,
				       .from = maker.from };
	if (!maker.bytes)
		return 0;
	bytes = strdup(maker.bytes);
	if (bytes)
		out->blob = blob_take((uint8_t *)bytes, strlen(bytes));
	return out->blob ? 0 : SCD_ENOMEM;
}

static void publish(void)
{
	struct catalog_snapshot snapshot = { .generation = GENERATION };
	struct publication *p;

	assert_int_equal(scd_bloom_init(&snapshot.bloom, 1 << 10, 3), 0);
	assert_int_equal(generations_publish(generations, &snapshot, &p), 0);
	digest_api_publish(api, p);
}

static int set_up(void **state)
{
	(void)state;
	memset(&maker, 0, sizeof(maker));
	maker.bytes = "a list";
	if (loop_new(&loop) || generations_new(&generations, INSTANCE, 4) ||
	    digest_api_new(&api, MAX_WAIT_S, &digest_paths_held))
		return -1;
	digest_api_make_sectors(api, make, &maker);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	digest_api_free(&api);
	generations_free(&generations);
	loop_free(&loop);
	return 0;
}

static void ask(struct exchange *x, const char *tags, const char *forms)
{
	exchange_fake_make(x, loop, "GET", TARGET);
	if ((tags && fields_add(&x->fields, "If-None-Match", tags)) ||
	    (forms && fields_add(&x->fields, "A-IM", forms)))
		fail();
	digest_api_handler.on_request(api, x);
	assert_int_equal(x->answers, 1);
}

static void done(struct exchange *x)
{
	digest_api_handler.on_done(api, x, EXCHANGE_DONE);
	exchange_fake_free(x);
}

static struct digest_api_counters counters(void)
{
	struct digest_api_counters n;

	digest_api_count(api, &n);
	return n;
}

/* Before there is a digest, and where there are no lists. */
static void test_none(void **state)
{
	struct exchange x;

	(void)state;
	ask(&x, NULL, NULL);
	assert_int_equal(x.status, 503);
	done(&x);
	assert_int_equal(maker.calls, 0);
	publish();
	maker.error = SCD_EINVAL;
	ask(&x, NULL, NULL);
	assert_int_equal(x.status, 404);
	done(&x);
	maker.error = SCD_ENOMEM;
	ask(&x, NULL, NULL);
	assert_int_equal(x.status, 503);
	done(&x);
	assert_int_equal(maker.calls, 2);
	digest_api_make_sectors(api, NULL, NULL);
	ask(&x, NULL, NULL);
	assert_int_equal(x.status, 404);
	done(&x);
	assert_int_equal(maker.calls, 2);
}

/* From which generation a frame may lead: a list's, of this instance, if who
 * asks takes frames. */
static const struct {
	const char *tags, *forms;
	uint64_t from;
} bases[] = {
	{ NULL, NULL, 0 },
	{ NULL, "scd-frames", 0 },
	{ TAG(7), NULL, 0 },
	{ TAG(7), "scd", 0 },
	{ TAG(7), "scd-frames", 7 },
	{ "\"00000000000000ac-7-list\"", "scd-frames", 0 },
	{ "\"00000000000000ab-7\"", "scd-frames", 0 },
	{ "\"00000000000000ac-7-list\", " TAG(8), "scd-frames", 8 },
};

static void test_bases(void **state)
{
	(void)state;
	publish();
	for (size_t i = 0; i < NROWS(bases); i++) {
		struct exchange x;

		ask(&x, bases[i].tags, bases[i].forms);
		assert_int_equal(x.status, 200);
		assert_int_equal(maker.sector.number, 1);
		assert_int_equal(maker.sector.count, 3);
		if (maker.asked_from != bases[i].from)
			fail_msg("row %zu: %d", i, (int)maker.asked_from);
		done(&x);
	}
}

static void test_full(void **state)
{
	struct digest_api_counters n;
	struct exchange x;

	(void)state;
	publish();
	ask(&x, NULL, NULL);
	assert_int_equal(x.status, 200);
	assert_int_equal(x.body_len, 6);
	assert_memory_equal(x.body, "a list", 6);
	assert_string_equal(fields_get(&x.reply, "ETag"), TAG(9));
	assert_string_equal(fields_get(&x.reply, "Content-Type"),
			    "application/scd-list");
	assert_null(fields_get(&x.reply, "IM"));
	done(&x);
	n = counters();
	assert_int_equal(n.full_sent, 1);
	assert_int_equal(n.full_sent_bytes, 6);
	assert_int_equal(n.delta_sent, 0);
}

static void test_frame(void **state)
{
	struct digest_api_counters n;
	struct exchange x;

	(void)state;
	publish();
	maker.from = 7;
	maker.bytes = "frame";
	ask(&x, TAG(7), "scd-frames");
	assert_int_equal(x.status, 226);
	assert_memory_equal(x.body, "frame", 5);
	assert_string_equal(fields_get(&x.reply, "ETag"), TAG(9));
	assert_string_equal(fields_get(&x.reply, "IM"), "scd-frames");
	assert_string_equal(fields_get(&x.reply, "Delta-Base"), TAG(7));
	done(&x);
	n = counters();
	assert_int_equal(n.delta_sent, 1);
	assert_int_equal(n.delta_sent_bytes, 5);
	assert_int_equal(n.full_sent, 0);
}

static void test_nothing_new(void **state)
{
	struct exchange x;

	(void)state;
	publish();
	maker.from = GENERATION;
	maker.bytes = NULL;
	ask(&x, TAG(9), "scd-frames");
	assert_int_equal(x.status, 304);
	assert_int_equal(x.body_len, 0);
	assert_string_equal(fields_get(&x.reply, "ETag"), TAG(9));
	assert_null(fields_get(&x.reply, "Content-Type"));
	assert_null(fields_get(&x.reply, "IM"));
	done(&x);
	assert_int_equal(counters().not_modified, 1);
}

/* The connection ends, or the maker's 503 is sent; nothing leaks. */
static void test_every_allocation(void **state)
{
	bool failed = true;

	(void)state;
	publish();
	maker.from = 7;
	for (unsigned n = 1; failed; n++) {
		struct exchange x;

		exchange_fake_make(&x, loop, "GET", TARGET);
		alloc_fail_at(n);
		digest_api_handler.on_request(api, &x);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(x.answers, 1);
		if (x.status != 226)
			assert_true(failed && (x.aborted || x.status == 503));
		done(&x);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_none),
		TEST(test_bases),
		TEST(test_full),
		TEST(test_frame),
		TEST(test_nothing_new),
		TEST(test_every_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
