/*
 * What a short message may cost: of every kind and coding, with headers that
 * claim as much as they can, no message below 1 KiB takes a reader with the
 * default expansion 10 ms of the processor or 1 MB of memory, whether it is
 * accepted or refused.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codec/coder/coder.h"
#include "codec/wire/frame.h"
#include "codec/coder/parts.h"
#include "codec/kind/kind.h"
#include "codec/scd.h"
#include "tests/codec/alloc.h"
#include "tests/codec/list_sample.h"
#include "tests/codec/sample.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum {
	MESSAGE_BYTES = 1023,
	COST_BYTES = 1000000,
	COST_US = 10000,
	CODINGS = 16,        /* as many as a part may name */
	TRIES = 5,           /* the machine may be busy: the best counts */
	BASE_BITS = 1 << 21, /* a base and two arrays of it: 768 KiB */
	BASE_ONES = 400,
};

/* Only what depends on the length is to refuse. */
static const struct scd_limits limits = {
	.max_bits = SCD_DIGEST_MAX_BITS,
	.max_hash = SCD_DIGEST_MAX_HASH,
	.max_fp_ppm = 1000000,
	.max_expansion = SCD_DIGEST_MAX_EXPANSION,
};

struct message {
	uint8_t bytes[MESSAGE_BYTES];
	size_t len;
};

static struct scd_bloom base;
static struct scd_list *base_list;
static unsigned accepted;

static int read_list(const struct message *m)
{
	struct scd_list *list;
	int error = scd_list_decode(m->bytes, m->len, &limits, NULL, &list);

	if (!error)
		scd_list_free(&list);
	return error;
}

static int read_list_delta(const struct message *m)
{
	struct scd_list_change change;
	int error = scd_list_delta_decode(m->bytes, m->len, &limits, base_list,
					  NULL, &change);

	if (!error)
		scd_list_change_free(&change);
	return error;
}

/* Reads a message as a node does with whatever it is. */
static int read_message(const struct message *m)
{
	const struct scd_base held = {.bloom = &base,
				      .instance = SAMPLE_INSTANCE,
				      .generation = 1};
	const struct scd_delta delta = {m->bytes, m->len};
	struct scd_counting *counting;
	struct scd_digest_info info;
	struct scd_bloom out;
	uint8_t *composed;
	size_t len;
	int error = scd_digest_parse(m->bytes, m->len, &limits, &info);

	if (error)
		return error;
	if (info.kind == SCD_COUNTING) {
		error = scd_counting_decode(m->bytes, m->len, &limits, NULL,
					    &counting);
		if (!error)
			scd_counting_free(&counting);
		return error;
	}
	if (info.kind == SCD_LIST)
		return read_list(m);
	if (info.kind == SCD_LIST_DELTA)
		return read_list_delta(m);
	if (info.kind == SCD_FULL)
		error = scd_digest_decode(m->bytes, m->len, &limits, NULL,
					  &out);
	else
		error = scd_delta_apply(m->bytes, m->len, &limits, &held, NULL,
					&out);
	if (!error)
		scd_bloom_free(&out);
	if (!scd_delta_compose(&delta, &delta, &limits, &composed, &len))
		free(composed);
	return error;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The most that was asked for at a time is no more than the sum. */
static void check_cost(const char *label, int (*read)(const void *message),
		       const void *message)
{
	const double most_us = COST_US * rounds_slowness();
	double best = 1e12;
	size_t bytes = 0;

	for (int i = 0; i < TRIES && best >= most_us; i++) {
		const double start = now_us();
		double took;

		alloc_bytes();
		accepted += read(message) == SCD_OK;
		took = now_us() - start;
		bytes = alloc_bytes();
		best = took < best ? took : best;
	}
	if (bytes > COST_BYTES)
		fail_msg("%s: %zu bytes of memory", label, bytes);
	if (best >= most_us)
		fail_msg("%s: %.1f ms", label, best / 1000);
}

static int read_any(const void *message)
{
	return read_message(message);
}

static void check_message(const struct scd_digest_info *info,
			  const struct message *m)
{
	char label[128];

	snprintf(label, sizeof(label),
		 "kind %d, coding %d, %" PRIu64 " bits, %" PRIu64
		 " ones, %zu bytes",
		 info->kind, info->coding, info->nbits, info->ncoded, m->len);
	check_cost(label, read_any, m);
}

/* Puts a header before a payload; false: it does not fit. */
static bool make_message(struct scd_digest_info info, const uint8_t *payload,
			 size_t len, struct message *m)
{
	struct scd__writer w;
	uint8_t *out;

	if (SCD_DIGEST_HEADER_BYTES + len > sizeof(m->bytes))
		return false;
	assert_int_equal(scd__frame_begin(len, &w), SCD_OK);
	scd__write_bytes(&w, payload, len);
	scd__frame_finish(&info, &w, &out, &m->len);
	memcpy(m->bytes, out, m->len);
	free(out);
	return true;
}

static struct scd_digest_info header(enum scd_digest_kind kind, uint64_t nbits,
				     uint64_t nones)
{
	struct scd_digest_info info = {
		.kind = kind,
		.nhash = kind == SCD_FULL || kind == SCD_COUNTING ? 32
								  : base.nhash,
		.nbits = nbits,
		.nones = nones,
		.ncoded = nones,
		.instance = SAMPLE_INSTANCE,
		.generation = 2,
		.checksum = 1,
	};

	if (scd_digest_is_delta(&info)) {
		info.base_generation = 1;
		info.base_checksum = scd_digest_checksum(&base);
	}
	return info;
}

/* Parts: one that says all, and others without ones. */
static size_t put_parts(enum scd_digest_kind kind, unsigned coding,
			const uint8_t *body, size_t len, uint8_t *out)
{
	struct scd__writer w = scd__writer(out, 2 * MESSAGE_BYTES);

	scd__write_u8(&w, kind == SCD_COUNTING ? (uint8_t)coding
					       : (uint8_t)(coding << 4));
	scd__write_u8(&w, kind == SCD_COUNTING && len < 128 ? (uint8_t)len : 0);
	scd__write_bytes(&w, body, len);
	return (size_t)(w.at - out);
}

/* A payload of each coding that goes on for as long as it can. */
static void check_claims(enum scd_digest_kind kind, uint64_t nbits,
			 uint64_t nones)
{
	static const size_t lens[] = {0, 1, 4, 8, 100, 900};
	static uint8_t body[MESSAGE_BYTES], payload[2 * MESSAGE_BYTES];
	const bool parts =
		kind == SCD_COUNTING || kind == SCD_DELTA_CONDITIONAL;
	struct scd_digest_info info = header(kind, nbits, nones);

	if (kind == SCD_DELTA_CONDITIONAL)
		info.nones += BASE_ONES;
	for (unsigned coding = 0; coding < CODINGS; coding++) {
		for (size_t i = 0; i < NROWS(lens); i++) {
			size_t len = lens[i];
			struct message m;

			memset(body, 0, len);
			if (len)
				body[len - 1] = 1; /* no zero at the end */
			memcpy(payload, body, len);
			if (parts)
				len = put_parts(kind, coding, body, len,
						payload);
			info.coding = parts ? SCD_CODING_PARTS : coding;
			if (make_message(info, payload, len, &m))
				check_message(&info, &m);
		}
	}
}

/* Headers and payloads that were never an array's. */
static void claims_cost_little(void **state)
{
	static const uint64_t sizes[] = {
		8,
		1 << 16,
		1 << 18,
		(1 << 18) + 800,
		1 << 19,
		BASE_BITS,
		(1 << 22) - 8,
		1 << 22,
		1 << 23,
		1 << 26,
		UINT64_C(1) << 32,
		UINT64_C(1) << 36,
		UINT64_C(1) << 40,
	};

	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		const uint64_t m = sizes[i];
		const uint64_t nones[] = {0,      1,     10,    90, 300,
					  m / 32, m / 2, m - 1, m};

		for (size_t j = 0; j < NROWS(nones); j++) {
			if (nones[j] > m)
				continue;
			for (int kind = SCD_FULL; kind <= SCD_COUNTING; kind++)
				check_claims((enum scd_digest_kind)kind, m,
					     nones[j]);
		}
	}
}

/* An array with a few ones, in a coding of choice; true: it is short. */
static bool code_few(unsigned coding, uint64_t nbits, unsigned nones,
		     struct message *m)
{
	const struct scd__coding *c = scd__coding_find(coding);
	const struct scd__shape shape = {nbits, nones};
	struct scd_bloom few = sample_bloom(3, nbits, 0);
	struct scd_digest_info info = header(SCD_FULL, nbits, nones);
	uint8_t *room = malloc(scd_bloom_bytes(&few));
	struct scd__writer w = scd__writer(room, scd_bloom_bytes(&few));
	bool made;

	for (uint64_t i = 0; i < nones; i++)
		few.bits[i * (nbits / nones) / 8] = 1;
	info.coding = coding;
	info.checksum = scd_digest_checksum(&few);
	made = c && c->encode(&shape, few.bits, &w, NULL) == SCD_OK &&
	       make_message(info, room, scd__writer_len(&w), m);
	free(room);
	scd_bloom_free(&few);
	return made;
}

/* Real arrays, nearly empty, as large as they may be and larger. */
static void sparse_arrays_cost_little(void **state)
{
	static const uint64_t sizes[] = {1 << 18, 1 << 20, 1 << 22, 1 << 24};
	unsigned made = 0;

	(void)state;
	accepted = 0;
	for (unsigned coding = 0; coding < CODINGS; coding++) {
		for (size_t i = 0; i < NROWS(sizes); i++) {
			struct message m;
			struct scd_digest_info info;

			if (!code_few(coding, sizes[i], 16, &m))
				continue;
			info = header(SCD_FULL, sizes[i], 16);
			info.coding = coding;
			made++;
			check_message(&info, &m);
		}
	}
	assert_true(made >= 8);
	assert_true(accepted >= 4);
	assert_true(accepted < made);
}

/* Counters as honest as the arrays above. */
static void few_counters_cost_little(void **state)
{
	static const uint64_t sizes[] = {1 << 12, 1 << 17, 1 << 19, 1 << 22};

	(void)state;
	for (size_t i = 0; i < NROWS(sizes); i++) {
		const struct scd_digest_info ids = {.instance = 1};
		struct scd_counting *c;
		struct message m;
		uint8_t *out;

		assert_int_equal(scd_counting_new(&c, sizes[i], 4), SCD_OK);
		for (uint64_t j = 0; j < 60; j++) {
			const struct scd_key key = {j * 9973, j / 4 * 7919};

			scd_counting_add(c, &key);
		}
		assert_int_equal(scd_counting_encode(c, &ids, &out, &m.len),
				 SCD_OK);
		assert_true(m.len <= MESSAGE_BYTES);
		memcpy(m.bytes, out, m.len);
		free(out);
		scd_counting_free(&c);
		accepted = 0;
		check_cost("counters", read_any, &m);
		assert_int_equal(accepted > 0, sizes[i] <= 1 << 19);
	}
}

/* All counters full, and nearly no bytes: each plane is a bit for each. */
static void full_counters_cost_little(void **state)
{
	(void)state;
	for (uint64_t nbits = 1 << 12; nbits <= 1 << 22; nbits *= 2) {
		struct scd_digest_info info =
			header(SCD_COUNTING, nbits, nbits);
		uint8_t payload[256];
		struct scd__writer w = scd__writer(payload, sizeof(payload));
		struct message m;

		for (unsigned plane = 1; plane <= 15; plane++) {
			scd__write_u8(&w, SCD_CODING_RANGE);
			if (plane > 1)
				scd__write_varint(&w, nbits);
			scd__write_u8(&w, 0);
		}
		info.coding = SCD_CODING_PARTS;
		assert_true(make_message(info, payload,
					 (size_t)(w.at - payload), &m));
		check_message(&info, &m);
	}
}

/* A payload of a list that goes on for as long as it can. */
static void check_list_claim(struct scd_digest_info info)
{
	static const size_t lens[] = {0, 1, 4, 8, 100, 900};
	static uint8_t payload[MESSAGE_BYTES];

	for (size_t i = 0; i < NROWS(lens); i++) {
		struct message m;

		memset(payload, i % 2 ? 0 : 0xff, lens[i]);
		if (lens[i])
			payload[lens[i] - 1] = payload[3] = 1;
		if (make_message(info, payload, lens[i], &m))
			check_message(&info, &m);
	}
}

/* Lists and deltas of lists that name more than there can be. */
static void lists_cost_little(void **state)
{
	static const unsigned widths[] = {5, 10, 20, 30, 40};
	static const uint64_t counts[] = {
		0, 1, 32, 1000, 14400, 65536, 100000, UINT64_C(1) << 35};
	struct scd_digest_info info, held;

	(void)state;
	base_list = list_sample(20, 30000, 1);
	scd_list_info(base_list, &held);
	for (size_t i = 0; i < NROWS(widths) * NROWS(counts); i++) {
		info = held;
		info.nbits = UINT64_C(1) << widths[i / NROWS(counts)];
		info.nones = info.ncoded = counts[i % NROWS(counts)];
		check_list_claim(info);
		info = held;
		info.kind = SCD_LIST_DELTA;
		info.base_generation = held.generation;
		info.generation++;
		info.base_checksum = held.checksum;
		info.ncoded = counts[i % NROWS(counts)];
		info.nones = i % 2 ? held.nones - info.ncoded
				   : held.nones + info.ncoded;
		check_list_claim(info);
	}
	scd_list_free(&base_list);
}

struct summary {
	const struct scd__kind *kind;
	uint8_t *bytes;
	size_t len;
};

static int read_summary(const void *message)
{
	const struct summary *m = message;
	struct scd__summary *s;
	int error =
		scd__summary_decode(m->kind, m->bytes, m->len, SIZE_MAX, &s);

	if (!error)
		scd__summary_free(&s);
	return error;
}

/* Summaries of every kind that were made for many keys and have few. */
static void summaries_cost_little(void **state)
{
	static const struct scd__kind_goal goal = {
		.nkeys = 4000000, .fp = 1e-6, .memory_bits = 64};
	const struct scd__kind *kind;

	(void)state;
	for (size_t i = 0; (kind = scd__kind_at(i)); i++) {
		struct summary m = {.kind = kind};
		struct scd__summary *s;

		assert_int_equal(scd__summary_new(kind, &goal, &s), SCD_OK);
		for (uint64_t j = 0; j < 10; j++) {
			const struct scd_key key = {j, j * 77};

			assert_int_equal(scd__summary_add(s, &key), SCD_OK);
		}
		assert_int_equal(scd__summary_seal(s), SCD_OK);
		assert_int_equal(scd__summary_encode(s, &m.bytes, &m.len),
				 SCD_OK);
		scd__summary_free(&s);
		if (m.len <= MESSAGE_BYTES)
			check_cost(kind->name, read_summary, &m);
		free(m.bytes);
	}
}

/* A longer message may claim more: just so much, and no more. */
static void claims_grow_with_the_length(void **state)
{
	static const struct {
		const char *label;
		uint64_t array_bytes;
		uint64_t len;
		unsigned expansion;
		int error;
	} rows[] = {
		{"free", 1 << 19, 96, 512, SCD_OK},
		{"a byte more", (1 << 19) + 1, 96, 512, SCD_ELIMIT},
		{"just long enough", 512 * 2000, 2000, 512, SCD_OK},
		{"a byte too short", 512 * 2000 + 1, 2000, 512, SCD_ELIMIT},
		{"1 KiB is as free", 512 * 1024, 1024, 512, SCD_OK},
		{"another limit", 100 * 6000, 6000, 100, SCD_OK},
		{"above that", 100 * 6000 + 1, 6000, 100, SCD_ELIMIT},
		{"no limit", UINT64_C(1) << 30, 96, 0, SCD_OK},
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct scd_limits some = limits;
		struct scd_digest_info info, out;
		struct scd__writer w;
		uint8_t *bytes;
		size_t len = (size_t)rows[i].len - SCD_DIGEST_HEADER_BYTES;

		info = header(SCD_FULL, rows[i].array_bytes * 8, len ? 1 : 0);
		info.coding = len ? SCD_CODING_SPARSE : SCD_CODING_EMPTY;
		assert_int_equal(scd__frame_begin(len, &w), SCD_OK);
		scd__write_zeros(&w, len);
		scd__frame_finish(&info, &w, &bytes, &len);
		some.max_expansion = rows[i].expansion;
		if (scd_digest_judge(bytes, &some, &out) != rows[i].error)
			fail_msg("%s", rows[i].label);
		free(bytes);
	}
}

static int make_base(void **state)
{
	(void)state;
	base = sample_bloom(1, BASE_BITS, 0);
	for (uint64_t i = 0; i < BASE_ONES; i++)
		base.bits[i * 601] = 1;
	return 0;
}

static int free_base(void **state)
{
	(void)state;
	scd_bloom_free(&base);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_cost_little),
		cmocka_unit_test(sparse_arrays_cost_little),
		cmocka_unit_test(few_counters_cost_little),
		cmocka_unit_test(full_counters_cost_little),
		cmocka_unit_test(lists_cost_little),
		cmocka_unit_test(summaries_cost_little),
		cmocka_unit_test(claims_grow_with_the_length),
	};
	return cmocka_run_group_tests(tests, make_base, free_base);
}
