/*
 * Digests on their way in: each is judged at its 96th byte, in whatever pieces
 * it comes, and no more is kept than came or than its header says.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/delta.h"
#include "codec/list.h"
#include "codec/wire/frame.h"
#include "digestd/peers/digest_body.h"
#include "digestd/peers/peer_follower_inside.h"
#include "digestd/peers/peer_kind.h"
#include "tests/codec/sample.h"

enum { NBITS = 1 << 16, NONES = 4000, MAX_CAP = 8192 };

static struct peer_digest held = {.instance = SAMPLE_INSTANCE, .generation = 1};
static struct scd_limits limits;

/* A digest's bytes, or only those of its header. */
struct message {
	uint8_t *bytes;
	size_t len;
};

static struct message full(void)
{
	struct scd_digest_info ids = sample_ids(1, 0);
	struct message m;

	assert_int_equal(scd_digest_encode(&held.bloom, &ids, &m.bytes, &m.len),
			 SCD_OK);
	return m;
}

static struct message delta(void)
{
	struct scd_bloom next = sample_next(&held.bloom, 3, 200);
	struct scd_digest_info ids = sample_ids(2, 1);
	struct message m;

	assert_int_equal(
		scd_delta_encode(&held.bloom, &next, &ids, &m.bytes, &m.len),
		SCD_OK);
	scd_bloom_free(&next);
	return m;
}

/* The same with another header: a field of 8 bytes, its sum right again. */
static struct message forged(struct message m, size_t at, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		m.bytes[at + (size_t)i] = (uint8_t)(value >> 8 * i);
	value = scd__frame_checksum(m.bytes);
	for (int i = 0; i < 8; i++)
		m.bytes[88 + i] = (uint8_t)(value >> 8 * i);
	return m;
}

static struct message bomb(void)
{
	return forged(forged(full(), 80, 4), 8, UINT64_C(1) << 32);
}

static struct message with_more(void)
{
	struct message m = full();

	m.bytes = realloc(m.bytes, m.len + 1);
	assert_non_null(m.bytes);
	m.bytes[m.len++] = 0;
	return m;
}

static struct message of_other_base(void)
{
	return forged(delta(), 32, 78);
}

static struct message of_other_size(void)
{
	return forged(delta(), 8, NBITS + 1);
}

static struct message of_squid(void)
{
	struct message m = full();

	m.bytes[6] = SCD_HASHING_SQUID;
	return forged(m, 16, 1);
}

static struct message list(void)
{
	struct scd_list *l;
	struct message m;

	assert_int_equal(scd_list_new(&l, 20, SAMPLE_INSTANCE), SCD_OK);
	assert_int_equal(scd_list_encode(l, &m.bytes, &m.len), SCD_OK);
	scd_list_free(&l);
	return m;
}

static struct message garbage(void)
{
	struct message m = {calloc(1, 200), 200};

	assert_non_null(m.bytes);
	return m;
}

static const struct {
	const char *label;
	struct message (*make)(void);
	bool is_delta; /* is expected */
	bool has_base;
	int error;
	size_t most; /* bytes kept, on errors */
} rows[] = {
	{"a full digest", full, false, false, SCD_OK, 0},
	{"a full digest again", full, false, true, SCD_OK, 0},
	{"a delta", delta, true, true, SCD_OK, 0},
	{"2^32 bits in a few bytes", bomb, false, true, SCD_ELIMIT, 96},
	{"no digest", garbage, false, true, SCD_EFORMAT, 96},
	{"a byte more", with_more, false, true, SCD_EFORMAT, MAX_CAP},
	{"a full digest for a delta", full, true, true, SCD_EBASE, 96},
	{"a delta for a full digest", delta, false, true, SCD_EBASE, 96},
	{"a delta to nothing", delta, true, false, SCD_EBASE, 96},
	{"of another instance", of_other_base, true, true, SCD_EBASE, 96},
	{"of another size", of_other_size, true, true, SCD_EBASE, 96},
	{"Squid's hashing", of_squid, false, true, SCD_EMISMATCH, 96},
	{"a list for an array", list, false, true, SCD_EMISMATCH, 96},
};

/* Adds a message in pieces; returns the first error. */
static int add_pieces(struct digest_body *b, const struct digest_expected *e,
		      const struct message *m, size_t piece)
{
	int error = 0;

	for (size_t at = 0; at < m->len && !error; at += piece) {
		size_t left = m->len - at;

		error = digest_body_add(b, e, m->bytes + at,
					left < piece ? left : piece);
	}
	return error;
}

static void test_bodies(void **state)
{
	static const size_t pieces[] = {1, 50, 96, 97, 1000, 100000};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		for (size_t j = 0; j < NROWS(pieces); j++) {
			struct message m = rows[i].make();
			struct digest_expected e = {
				.kind = &peer_kind_digestd,
				.limits = &limits,
				.delta = rows[i].is_delta,
				.base = rows[i].has_base ? &held : NULL,
			};
			struct digest_body b = {0};
			int error = add_pieces(&b, &e, &m, pieces[j]);

			if (error != rows[i].error)
				fail_msg("%s: %s", rows[i].label,
					 scd_strerror(error));
			if (error && b.len > rows[i].most)
				fail_msg("%s: %zu bytes", rows[i].label, b.len);
			if (!error && (b.len != m.len || b.most != m.len ||
				       memcmp(b.bytes, m.bytes, m.len) != 0))
				fail_msg("%s: other bytes", rows[i].label);
			digest_body_free(&b);
			free(m.bytes);
		}
	}
}

/* A header that promises much takes no memory before it keeps its word. */
static void test_promises(void **state)
{
	struct message m = forged(full(), 8, UINT64_C(1) << 31);
	struct digest_expected e = {.kind = &peer_kind_digestd,
				    .limits = &limits};
	struct digest_body b = {0};

	(void)state;
	m = forged(m, 80, UINT64_C(1) << 28);
	m.bytes[5] = SCD_CODING_STORED;
	m = forged(m, 80, UINT64_C(1) << 28);
	assert_int_equal(digest_body_add(&b, &e, m.bytes, 200), SCD_OK);
	assert_int_equal(b.most, 96 + (1 << 28));
	assert_true(b.cap <= MAX_CAP);
	digest_body_free(&b);
	assert_null(b.bytes);
	free(m.bytes);
}

/* What is taken of the front, and what stays, in any proportion. */
static void test_split(void **state)
{
	struct message m = full();
	const struct digest_expected e = {.kind = &peer_kind_digestd,
					  .limits = &limits};

	(void)state;
	for (size_t n = 0; n <= m.len; n += n < m.len - 3 ? 97 : 1) {
		struct digest_body b = {0}, front = {0};
		size_t most;

		assert_int_equal(digest_body_add(&b, &e, m.bytes, m.len), 0);
		most = b.most;
		assert_int_equal(digest_body_split(&b, n, &front), 0);
		assert_int_equal(front.len, n);
		assert_int_equal(b.len, m.len - n);
		assert_int_equal(b.most, most);
		assert_int_equal(front.most, most);
		assert_memory_equal(front.bytes, m.bytes, n);
		if (b.len)
			assert_memory_equal(b.bytes, m.bytes + n, b.len);
		digest_body_free(&b);
		digest_body_free(&front);
	}
	free(m.bytes);
}

/* What the log says of a body that does not match: the header tells. */
static void test_mismatches_have_reasons(void **state)
{
	static const struct {
		struct message (*make)(void);
		const char *reason;
	} mismatches[] = {
		{of_squid, "it has Squid's hashing, which is not looked up "
			   "here"},
		{list, "it is a list, and an array was asked for"},
	};

	(void)state;
	for (size_t i = 0; i < NROWS(mismatches); i++) {
		struct message m = mismatches[i].make();
		struct peer p = {
			.update.body = {
				.bytes = m.bytes,
				.len = SCD_DIGEST_HEADER_BYTES,
			},
		};

		assert_string_equal(peer_follower_reason(&p, SCD_EMISMATCH),
				    mismatches[i].reason);
		p.update.foreign = true;
		assert_non_null(strstr(peer_follower_reason(&p, SCD_EMISMATCH),
				       "another cluster key"));
		free(m.bytes);
	}
}

static int make_held(void **state)
{
	(void)state;
	scd_limits_init(&limits);
	held.bloom = sample_bloom(1, NBITS, NONES);
	return 0;
}

static int free_held(void **state)
{
	(void)state;
	scd_bloom_free(&held.bloom);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_promises),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_mismatches_have_reasons),
	};
	return cmocka_run_group_tests(tests, make_held, free_held);
}
