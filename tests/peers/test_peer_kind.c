/*
 * Kinds of peers: what each asks with, and by which rules it judges and decodes
 * what comes. Whole bodies of the cluster's own kind are in test_digest_body.c.
 */
#include <stdlib.h>

#include "codec/squid.h"
#include "digestd/http/forward.h"
#include "digestd/mesh/peer_digest.h"
#include "digestd/peers/digest_body.h"
#include "digestd/peers/peer_kind.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

#include "tests/http/message.h"

#define DATE "Sun, 06 Nov 1994 08:49:37 GMT"

enum { NBITS = 4096, NKEYS = 300 };

static struct peer_digest base = { .instance = 10, .generation = 3 };

static struct peer_digest list_base = {
	.instance = 10,
	.generation = 3,
	.slot.table = (struct peer_table *)&list_base, /* any */
};

static const struct {
	const char *kind;
	bool has_base;
	const char *modified;
	const char *introduction;
	const char *fields;
} queries[] = {
	{ "digestd", false, "", "", "Authorization: Bearer t\n" },
	{ "digestd", false, "", "n1 http://:8081",
	  "Authorization: Bearer t\nScd-Member: n1 http://:8081\n" },
	{ "digestd", true, DATE, "",
	  "Authorization: Bearer t\n"
	  "If-None-Match: \"000000000000000a-3\"\n"
	  "A-IM: scd-conditional, scd\nPrefer: wait=30\n" },
	{ "squid", false, DATE, "n1 http://:8081", "" },
	{ "squid", true, "", "", "" },
	{ "squid", true, DATE, "", "If-Modified-Since: " DATE "\n" },
};

/* Of a list, frames; by age, if it has ages; and the ages, when a quarter of
 * its entries has gone, or by a stream when its owner wants to. */
static void test_forms_of_frames(void **state)
{
	static const struct {
		uint64_t nkeys, gone;
		bool has_ages, stream;
		const char *forms;
	} cases[] = {
		{ 4000, 0, false, false, "scd-frames" },
		{ 4000, 999, false, false, "scd-frames" },
		{ 4000, 1000, false, false, "scd-frames, scd-ages" },
		{ 1000, 5000, false, false, "scd-frames" },
		{ 4000, 0, true, false, "scd-frames, scd-aged" },
		{ 4000, 0, true, true, "scd-stream, scd-frames, scd-aged" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(cases); i++) {
		struct peer_digest list = {
			.instance = 10,
			.generation = 3,
			.slot.table = (struct peer_table *)&list,
			.nkeys = cases[i].nkeys,
			.gone = cases[i].gone,
			.has_ages = cases[i].has_ages,
		};
		struct digest_query query = { .token = "t",
					      .introduction = "",
					      .base = &list,
					      .base_modified = "",
					      .stream = cases[i].stream };
		struct fields out;

		fields_init(&out);
		assert_int_equal(peer_kind_find("digestd")->query(&query, &out),
				 0);
		assert_string_equal(fields_get(&out, "A-IM"), cases[i].forms);
		fields_free(&out);
	}
}

static void test_queries(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(queries); i++) {
		struct digest_query query = {
			.token = "t",
			.introduction = queries[i].introduction,
			.base = queries[i].has_base ? &base : NULL,
			.base_modified = queries[i].modified,
			.wait_s = 30,
		};
		char text[MESSAGE_MAX];
		struct fields out;

		fields_init(&out);
		assert_int_equal(peer_kind_find(queries[i].kind)
					 ->query(&query, &out), 0);
		assert_string_equal(message_text(&out, text),
				    queries[i].fields);
		fields_free(&out);
	}
}

/* Of a list, frames are asked for, and the stream of them if it is wanted. */
static void test_queries_of_lists(void **state)
{
	static const char *const forms[] = { "scd-frames",
					     "scd-stream, scd-frames, "
					     "scd-ages" };

	(void)state;
	for (int stream = 0; stream < 2; stream++) {
		const struct digest_query query = {
			.token = "t",
			.introduction = "",
			.base = &list_base,
			.base_modified = "",
			.wait_s = 30,
			.lists = true,
			.stream = stream,
			.hears = 0xab,
		};
		struct fields out;

		fields_init(&out);
		assert_int_equal(peer_kind_digestd.query(&query, &out), 0);
		assert_string_equal(fields_get(&out, "A-IM"), forms[stream]);
		assert_string_equal(fields_get(&out, "If-None-Match"),
				    "\"000000000000000a-3-list\"");
		if (stream)
			assert_string_equal(fields_get(&out, "Scd-Hears"),
					    "00000000000000ab");
		else
			assert_null(fields_get(&out, "Scd-Hears"));
		fields_free(&out);
	}
}

static void test_queries_without_memory(void **state)
{
	const struct digest_query query = { "t", "n1 http://:8081", &base,
					    DATE, 30, true, true, 0xab };

	(void)state;
	for (size_t i = 0; peer_kind_names[i]; i++) {
		const struct peer_kind *kind =
			peer_kind_find(peer_kind_names[i]);
		unsigned n = 0;
		struct fields out;
		bool failed;

		do {
			fields_init(&out);
			alloc_fail_at(++n);
			failed = kind->query(&query, &out) != 0;
			alloc_fail_at(0);
			fields_free(&out);
		} while (failed);
		assert_true(n > 1);
	}
}

/* A Squid is given no token, and none is asked to ask others. */
static void test_objects(void **state)
{
	static const struct {
		const char *kind, *fields;
	} rows[] = {
		{ "digestd", "A: 1\nCache-Control: only-if-cached\n"
			     "Proxy-Authorization: Bearer t\n"
			     "Host: h\nVia: 1.1 me\nCDN-Loop: me\n" },
		{ "squid", "A: 1\nCache-Control: only-if-cached\n"
			   "Host: h\nVia: 1.1 me\nCDN-Loop: me\n" },
	};
	const struct forward_request how = { "me", "h", 1, false, NULL };
	struct fields in;

	(void)state;
	message_must(&in, "A: 1\nIf-None-Match: *");
	for (size_t i = 0; i < NROWS(rows); i++) {
		char text[MESSAGE_MAX];
		struct fields out;

		assert_int_equal(peer_kind_find(rows[i].kind)
					 ->ask(&in, &how, "t", &out), 0);
		assert_string_equal(message_text(&out, text), rows[i].fields);
		fields_free(&out);
	}
	fields_free(&in);
}

static void test_registry(void **state)
{
	(void)state;
	assert_ptr_equal(peer_kind_find("digestd"), &peer_kind_digestd);
	assert_ptr_equal(peer_kind_find("squid"), &peer_kind_squid);
	assert_null(peer_kind_find(""));
	assert_null(peer_kind_find("Squid"));
	for (size_t i = 0; peer_kind_names[i]; i++) {
		const struct peer_kind *kind =
			peer_kind_find(peer_kind_names[i]);

		assert_string_equal(kind->name, peer_kind_names[i]);
		assert_non_null(kind->paths[DIGEST_OF_HELD]);
	}
}

/* Squid's digests */

static uint8_t *squid_digest(size_t *len)
{
	struct scd_squid_info info = { .capacity = 0 };
	struct scd_bloom bloom;
	uint8_t *bytes;

	assert_int_equal(scd_bloom_init(&bloom, NBITS, SCD_SQUID_HASH), SCD_OK);
	bloom.hashing = SCD_HASHING_SQUID;
	for (unsigned i = 0; i < NKEYS; i++) {
		char uri[32];
		struct scd_key key;
		int n = snprintf(uri, sizeof(uri), "http://h/%u", i);

		assert_int_equal(scd_squid_key("GET", uri, (size_t)n, &key), 0);
		scd_bloom_add(&bloom, &key);
	}
	assert_int_equal(scd_squid_encode(&bloom, &info, &bytes, len), SCD_OK);
	scd_bloom_free(&bloom);
	return bytes;
}

static const struct {
	const char *label;
	size_t at;     /* a byte that is another one */
	uint8_t value;
	bool delta;
	uint64_t max_bits;
	int error;
} judged[] = {
	{ "as Squid sends it", 0, 0, false, NBITS, SCD_OK },
	{ "as a delta", 0, 0, true, NBITS, SCD_EBASE },
	{ "above the limit", 0, 0, false, NBITS - 1, SCD_ELIMIT },
	{ "2^31 bytes", 16, 0x80, false, UINT64_MAX, SCD_EFORMAT },
	{ "another size", 18, 1, false, NBITS, SCD_EFORMAT },
	{ "of version 2", 1, 2, false, NBITS, SCD_EVERSION },
	{ "for version 6", 3, 6, false, NBITS, SCD_EVERSION },
	{ "of 3 hash functions", 21, 3, false, NBITS, SCD_EVERSION },
};

static void test_squid_headers(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(judged); i++) {
		struct scd_limits limits = { .max_bits = judged[i].max_bits };
		struct digest_expected e = { .kind = &peer_kind_squid,
					     .limits = &limits,
					     .delta = judged[i].delta };
		size_t len, whole = 0;
		uint8_t *bytes = squid_digest(&len);
		/* so that reading beyond it is seen */
		uint8_t *header = malloc(SCD_SQUID_HEADER_BYTES);
		int error;

		assert_non_null(header);
		if (judged[i].at)
			bytes[judged[i].at] = judged[i].value;
		memcpy(header, bytes, SCD_SQUID_HEADER_BYTES);
		error = peer_kind_squid.judge(&e, header, &whole);
		if (error != judged[i].error || (!error && whole != len))
			fail_msg("%s: %s, %zu bytes", judged[i].label,
				 scd_strerror(error), whole);
		free(header);
		free(bytes);
	}
}

/* In pieces of any size; and then each key is in it. */
static void test_squid_bodies(void **state)
{
	static const size_t pieces[] = { 1, 127, 128, 129, 100000 };
	struct scd_limits limits = { .max_bits = NBITS };
	const struct digest_expected e = { .kind = &peer_kind_squid,
					   .limits = &limits };

	(void)state;
	for (size_t j = 0; j < NROWS(pieces); j++) {
		struct digest_body b = { 0 };
		struct scd_digest_info info;
		struct peer_digest *digest;
		size_t len;
		uint8_t *bytes = squid_digest(&len);

		for (size_t at = 0; at < len; at += pieces[j])
			assert_int_equal(
				digest_body_add(&b, &e, bytes + at,
						len - at < pieces[j] ?
							len - at : pieces[j]),
				SCD_OK);
		assert_int_equal(b.most, len);
		assert_int_equal(digest_body_add(&b, &e, "x", 1), SCD_EFORMAT);
		assert_int_equal(peer_kind_squid.decode(&e, &b, &info, &digest),
				 SCD_OK);
		assert_int_equal(info.nbits, NBITS);
		assert_in_range(info.nkeys, NKEYS * 9 / 10, NKEYS * 11 / 10);
		for (unsigned i = 0; i < NKEYS; i++) {
			char uri[32];
			struct scd_key key;
			int n = snprintf(uri, sizeof(uri), "http://h/%u", i);

			(void)scd_squid_key("GET", uri, (size_t)n, &key);
			assert_true(scd_bloom_has(&digest->bloom, &key));
		}
		peer_digest_unref(digest);
		digest_body_free(&b);
		free(bytes);
	}
}

/* Fuller than Squid itself would read, and cut. */
static void test_squid_refused(void **state)
{
	struct scd_limits limits = { .max_bits = NBITS };
	const struct digest_expected e = { .kind = &peer_kind_squid,
					   .limits = &limits };
	struct digest_body b = { 0 };
	struct scd_digest_info info;
	struct peer_digest *digest;

	(void)state;
	b.bytes = squid_digest(&b.len);
	b.len--;
	assert_int_equal(peer_kind_squid.decode(&e, &b, &info, &digest),
			 SCD_ETRUNC);
	b.len++;
	memset(b.bytes + SCD_SQUID_HEADER_BYTES, 255, NBITS / 8);
	assert_int_equal(peer_kind_squid.decode(&e, &b, &info, &digest),
			 SCD_ELIMIT);
	free(b.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registry),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_queries_of_lists),
		cmocka_unit_test(test_forms_of_frames),
		cmocka_unit_test(test_queries_without_memory),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_squid_headers),
		cmocka_unit_test(test_squid_bodies),
		cmocka_unit_test(test_squid_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
