/*
 * Exact sizes. Filters of random keys, of a fixed table of shapes, are coded,
 * whole and as deltas; sizes.tsv, which is checked in, has how long each
 * payload is and what its checksum is, on every processor the same. So a
 * commit that moves a size, or a byte, shows it: `make sizes` writes the file
 * anew. Also here: the bounds that are promised, whatever the file says.
 *
 * Key i of a cache is numbers 2 i and 2 i + 1 of splitmix64 from SEED. A base
 * has keys 0..n-1; in the next generation the first ones are gone and as many
 * new ones came. 10^7 keys are for SCD_TEST_LONG.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "codec/bloom.h"
#include "codec/coder/coder.h"
#include "codec/delta.h"
#include "codec/digest.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum {
	SEED = 2026,
	LONG_KEYS = 10000000,
	MAX_ROWS = 1000,
	MAX_LINE = 200,
	KEYS_AT_ONCE = 1024,
};

static const uint64_t all_nkeys[] = {1000, 10000, 100000, 1000000, LONG_KEYS};

static const struct shape {
	unsigned m10; /* bits an object, in tenths */
	unsigned nhash;
} shapes[] = {
	{80, 5},  {80, 6},  {120, 3}, {126, 2}, {140, 2},
	{320, 2}, {320, 3}, {460, 1}, {495, 1}, {40, 6},
};

static const unsigned churns_pm[] = {1, 10, 50, 200};

/* A digest that was made. */
struct row {
	uint64_t nkeys;
	struct shape shape;
	enum scd_digest_kind kind;
	unsigned churn_pm; /* objects replaced, of a thousand; full: 0 */
	uint64_t array_bytes;
	enum scd_coding coding;
	uint64_t bytes; /* of the payload */
	uint64_t hash;
	double entropy; /* of the array or arrays that were coded [bytes] */
};

static struct row rows[MAX_ROWS];
static size_t nrows;

static bool may_update(void)
{
	return getenv("SCD_SIZES_UPDATE");
}

static bool is_long(void)
{
	return rounds_are_long() || may_update();
}

static struct scd_bloom filter(const struct row *r, uint64_t first)
{
	/* a number of splitmix64 is a step of its state */
	uint64_t state = SEED + 2 * first * SCD__SPLITMIX_STEP;
	struct scd_key keys[KEYS_AT_ONCE];
	struct scd_bloom b;

	assert_int_equal(scd_bloom_init(&b, r->nkeys * r->shape.m10 / 10,
					r->shape.nhash),
			 SCD_OK);
	for (uint64_t i = 0; i < r->nkeys; i += KEYS_AT_ONCE) {
		uint64_t left = r->nkeys - i;
		size_t n = left < KEYS_AT_ONCE ? (size_t)left : KEYS_AT_ONCE;

		for (size_t j = 0; j < n; j++) {
			keys[j].lo = random_next(&state);
			keys[j].hi = random_next(&state);
		}
		scd_bloom_add_many(&b, keys, n);
	}
	return b;
}

/* Read off a digest what goes into its row, and add the row. */
static void add_row(struct row row, uint8_t *digest, size_t len)
{
	const struct scd_limits limits = {.max_bits = SCD_DIGEST_MAX_BITS,
					  .max_hash = 32,
					  .max_fp_ppm = 1000000};
	struct scd_digest_info info;

	assert_int_equal(scd_digest_parse(digest, len, &limits, &info), SCD_OK);
	row.array_bytes = scd__array_bytes(info.nbits);
	row.coding = info.coding;
	row.bytes = info.payload_bytes;
	row.hash = XXH64(digest + SCD_DIGEST_HEADER_BYTES,
			 (size_t)info.payload_bytes, 0);
	free(digest);
	assert_true(nrows < MAX_ROWS);
	rows[nrows++] = row;
}

static double entropy(uint64_t nbits, uint64_t nones)
{
	return scd__coder_entropy(&(struct scd__shape){nbits, nones});
}

static void add_full(struct row row, const struct scd_bloom *base)
{
	struct scd_digest_info ids = {.instance = 1, .nkeys = row.nkeys};
	uint8_t *out;
	size_t len;

	row.entropy = entropy(base->nbits, scd_bloom_ones(base));
	assert_int_equal(scd_digest_encode(base, &ids, &out, &len), SCD_OK);
	add_row(row, out, len);
}

static struct scd_digest_info ids_of(const struct row *row)
{
	return (struct scd_digest_info){
		.instance = 1, .generation = 1, .nkeys = row->nkeys};
}

static void add_xor(struct row row, const struct scd_bloom *base,
		    const struct scd_bloom *next)
{
	struct scd_digest_info ids = ids_of(&row);
	struct scd_bloom flips;
	uint8_t *out;
	size_t len;

	row.kind = SCD_DELTA_XOR;
	assert_int_equal(scd_bloom_copy(base, &flips), SCD_OK);
	assert_int_equal(scd_bloom_xor(&flips, next), SCD_OK);
	row.entropy = entropy(base->nbits, scd_bloom_ones(&flips));
	scd_bloom_free(&flips);
	assert_int_equal(scd_delta_encode(base, next, &ids, &out, &len),
			 SCD_OK);
	add_row(row, out, len);
}

/* Which ones of the base go, and which of its zeros come. */
static void add_conditional(struct row row, const struct scd_bloom *base,
			    const struct scd_bloom *next)
{
	struct scd_digest_info ids = ids_of(&row);
	const uint64_t before = scd_bloom_ones(base);
	const uint64_t after = scd_bloom_ones(next);
	struct scd_bloom both;
	uint8_t *out;
	size_t len;

	row.kind = SCD_DELTA_CONDITIONAL;
	assert_int_equal(scd_bloom_copy(base, &both), SCD_OK);
	assert_int_equal(scd_bloom_intersect(&both, next), SCD_OK);
	row.entropy =
		entropy(before, before - scd_bloom_ones(&both)) +
		entropy(base->nbits - before, after - scd_bloom_ones(&both));
	scd_bloom_free(&both);
	assert_int_equal(
		scd_delta_encode_conditional(base, next, &ids, &out, &len),
		SCD_OK);
	add_row(row, out, len);
}

static void add_rows(uint64_t nkeys, const struct shape *shape)
{
	struct row row = {.nkeys = nkeys, .shape = *shape};
	struct scd_bloom base = filter(&row, 0);

	add_full(row, &base);
	for (size_t i = 0; i < NROWS(churns_pm); i++) {
		struct scd_bloom next =
			filter(&row, row.nkeys * churns_pm[i] / 1000);

		row.churn_pm = churns_pm[i];
		add_xor(row, &base, &next);
		add_conditional(row, &base, &next);
		scd_bloom_free(&next);
	}
	scd_bloom_free(&base);
}

static int make_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(all_nkeys); i++) {
		if (all_nkeys[i] == LONG_KEYS && !is_long())
			continue;
		for (size_t j = 0; j < NROWS(shapes); j++)
			add_rows(all_nkeys[i], &shapes[j]);
	}
	return 0;
}

static const char *kind_name(enum scd_digest_kind kind)
{
	switch (kind) {
	case SCD_FULL:
		return "full";
	case SCD_DELTA_XOR:
		return "xor";
	case SCD_DELTA_CONDITIONAL:
		return "conditional";
	case SCD_COUNTING:
		return "counting";
	case SCD_LIST: /* sizes of lists: test_list, test_list_delta */
	case SCD_LIST_DELTA:
		break;
	}
	return "?";
}

static void print_row(const struct row *r, char line[MAX_LINE])
{
	snprintf(line, MAX_LINE,
		 "%" PRIu64 "\t%u.%u\t%u\t%s\t%u.%u\t%d\t%" PRIu64
		 "\t%016" PRIx64 "\t%.1f\t%.5f\n",
		 r->nkeys, r->shape.m10 / 10, r->shape.m10 % 10, r->shape.nhash,
		 kind_name(r->kind), r->churn_pm / 10, r->churn_pm % 10,
		 (int)r->coding, r->bytes, r->hash,
		 (double)r->bytes - r->entropy, (double)r->bytes / r->entropy);
}

static FILE *open_table(const char *mode)
{
	const char *top = getenv("top_srcdir");
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/codec/sizes.tsv",
		 top ? top : ".");
	f = fopen(path, mode);
	if (!f)
		fail_msg("cannot open %s", path);
	return f;
}

static void write_table(void)
{
	FILE *f = open_table("w");
	char line[MAX_LINE];

	fprintf(f, "# Payloads, bytes; written by `make sizes`, compared by"
		   " test_sizes.\n"
		   "# c: objects replaced [%%]; coding: as in FORMAT.md;"
		   " excess: over the entropy [bytes].\n"
		   "# n\tm/n\tk\tkind\tc\tcoding\tbytes\txxh64\texcess"
		   "\tratio\n");
	for (size_t i = 0; i < nrows; i++) {
		print_row(&rows[i], line);
		fputs(line, f);
	}
	assert_int_equal(fclose(f), 0);
}

/* The next line that is no comment; "" at the end. */
static void read_line(FILE *f, char line[MAX_LINE])
{
	do {
		if (!fgets(line, MAX_LINE, f))
			*line = '\0';
	} while (*line == '#');
}

static void sizes_are_those_of_the_table(void **state)
{
	char expected[MAX_LINE], line[MAX_LINE];
	unsigned moved = 0;
	FILE *f;

	(void)state;
	if (may_update())
		write_table();
	f = open_table("r");
	for (size_t i = 0; i < nrows; i++) {
		print_row(&rows[i], line);
		read_line(f, expected);
		if (!strcmp(line, expected))
			continue;
		print_message("# table: %s# found: %s", expected, line);
		moved++;
	}
	read_line(f, expected);
	fclose(f);
	if (moved)
		fail_msg("%u lines differ; if that is meant: make sizes",
			 moved);
	assert_true(!*expected || !is_long());
}

/*
 * What is promised of a payload / the entropy. 0: of any. The widest bound is
 * of deltas of which one bit in 23 is set, just too many for gaps.
 */
static const struct promise {
	uint64_t nkeys;
	struct shape shape;
	enum scd_digest_kind kind;
	unsigned churn_pm;
	double ratio;
} promises[] = {
	/* clang-format off */
	{ 1000000, { 140, 2 }, SCD_FULL, 0, 1.001 },
	{ LONG_KEYS, { 140, 2 }, SCD_FULL, 0, 1.0007 },
	{ 1000000, { 0 }, SCD_DELTA_XOR, 1, 1.002 },
	{ 1000000, { 0 }, SCD_DELTA_XOR, 10, 1.002 },
	{ 1000000, { 0 }, SCD_DELTA_XOR, 50, 1.003 },
	{ 1000000, { 0 }, SCD_DELTA_XOR, 200, 1.002 },
	{ LONG_KEYS, { 0 }, SCD_DELTA_XOR, 0, 1.0015 },
	{ 1000000, { 0 }, SCD_DELTA_CONDITIONAL, 0, 1.003 },
	{ LONG_KEYS, { 0 }, SCD_DELTA_CONDITIONAL, 0, 1.0015 },
	/* clang-format on */
};

static bool is_meant(const struct promise *p, const struct row *r)
{
	return p->kind == r->kind && p->nkeys == r->nkeys &&
	       (!p->churn_pm || p->churn_pm == r->churn_pm) &&
	       (!p->shape.nhash || (p->shape.m10 == r->shape.m10 &&
				    p->shape.nhash == r->shape.nhash));
}

/* The most that is promised for a payload [bytes]. */
static double bound(const struct row *r)
{
	/* A conditional delta has two arrays, and says where one ends. */
	const double small = r->kind == SCD_DELTA_CONDITIONAL ? 12 : 8;
	double most = (double)r->array_bytes;

	for (size_t i = 0; i < NROWS(promises); i++) {
		if (is_meant(&promises[i], r))
			most = fmin(most, promises[i].ratio * r->entropy);
	}
	return r->bytes < 4096 ? fmin(most, r->entropy + small) : most;
}

static void promises_are_kept(void **state)
{
	char line[MAX_LINE];
	unsigned broken = 0;

	(void)state;
	for (size_t i = 0; i < nrows; i++) {
		if ((double)rows[i].bytes <= bound(&rows[i]))
			continue;
		print_row(&rows[i], line);
		print_message("# more than %.1f: %s", bound(&rows[i]), line);
		broken++;
	}
	assert_int_equal(broken, 0);
}

static void conditional_is_never_much_larger(void **state)
{
	(void)state;
	for (size_t i = 1; i < nrows; i++) {
		if (rows[i].kind != SCD_DELTA_CONDITIONAL)
			continue;
		assert_int_equal(rows[i - 1].kind, SCD_DELTA_XOR);
		/* Two parts may need more lanes than one array. */
		assert_true(rows[i].bytes <=
			    rows[i - 1].bytes + rows[i - 1].bytes / 500 + 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_those_of_the_table),
		cmocka_unit_test(promises_are_kept),
		cmocka_unit_test(conditional_is_never_much_larger),
	};

	return cmocka_run_group_tests(tests, make_rows, NULL);
}
