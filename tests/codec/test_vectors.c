/*
 * The golden files of tests/vectors: each good one decodes to the array and
 * the fields beside it, and encodes to the same bytes again, if the manifest
 * says that all encoders make the same; each bad one gives the error that the
 * manifest names, and nothing else.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "codec/bloom.h"
#include "codec/filter/counting_state.h"
#include "codec/delta.h"
#include "codec/digest.h"
#include "codec/list.h"
#include "codec/squid.h"
#include "tests/unit.h"

/* One line of the manifest. */
struct vector {
	char file[64];
	char result[16];
	char base[64]; /* "-": a full digest; "counters": a counting one */
	struct scd_limits limits;
	char array[64];    /* whose .bits it decodes to */
	char encoding[16]; /* "same" for all encoders, or "free" */
};

struct blob {
	uint8_t *bytes;
	size_t len;
};

static const struct {
	const char *name;
	int code;
} results[] = {
	{"OK", SCD_OK},
	{"ETRUNC", SCD_ETRUNC},
	{"EFORMAT", SCD_EFORMAT},
	{"EVERSION", SCD_EVERSION},
	{"ELIMIT", SCD_ELIMIT},
	{"EBASE", SCD_EBASE},
	{"ECHECKSUM", SCD_ECHECKSUM},
};

static int code_of(const char *name)
{
	for (size_t i = 0; i < NROWS(results); i++) {
		if (strcmp(results[i].name, name) == 0)
			return results[i].code;
	}
	fail_msg("the manifest names no known result: %s", name);
	return 1;
}

static FILE *open_vector(const char *file, const char *suffix)
{
	const char *top = getenv("top_srcdir");
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/vectors/%s%s", top ? top : ".",
		 file, suffix);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("cannot open %s", path);
	return f;
}

/* A file of at most 256 KiB, in a buffer of just its size. */
static struct blob load(const char *file, const char *suffix)
{
	static uint8_t bytes[262144];
	FILE *f = open_vector(file, suffix);
	struct blob blob;

	blob.len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	assert_true(blob.len < sizeof(bytes));
	blob.bytes = malloc(blob.len ? blob.len : 1);
	assert_non_null(blob.bytes);
	memcpy(blob.bytes, bytes, blob.len);
	return blob;
}

static int apply(const struct blob *in, const struct vector *v,
		 struct scd_digest_info *info, struct scd_bloom *out)
{
	struct blob bits = load(v->base, ".bits");
	struct blob head = load(v->base, ".scd");
	struct scd_digest_info fields;
	struct scd_bloom bloom;
	struct scd_base base = {.bloom = &bloom};
	int error;

	assert_int_equal(scd_digest_parse(head.bytes, head.len, &v->limits,
					  &fields),
			 SCD_OK);
	bloom.bits = bits.bytes;
	bloom.nbits = fields.nbits;
	bloom.nhash = fields.nhash;
	bloom.hashing = fields.hashing;
	base.instance = fields.instance;
	base.generation = fields.generation;
	error = scd_delta_apply(in->bytes, in->len, &v->limits, &base, info,
				out);
	free(bits.bytes);
	free(head.bytes);
	return error;
}

static bool is_counting(const struct vector *v)
{
	return strcmp(v->base, "counters") == 0;
}

/* What a good file decodes to; its bases are good too. Not of counters. */
static int decode(const struct vector *v, struct scd_digest_info *info,
		  struct scd_bloom *out)
{
	struct blob in = load(v->file, ".scd");
	int error;

	if (strcmp(v->base, "-") == 0)
		error = scd_digest_decode(in.bytes, in.len, &v->limits, info,
					  out);
	else
		error = apply(&in, v, info, out);
	free(in.bytes);
	return error;
}

static int decode_counting(const struct vector *v,
			   struct scd_digest_info *info,
			   struct scd_counting **out)
{
	struct blob in = load(v->file, ".scd");
	int error = scd_counting_decode(in.bytes, in.len, &v->limits, info,
					out);

	free(in.bytes);
	return error;
}

static void check_field(json_t *expected, const char *name, uint64_t value)
{
	json_t *field = json_object_get(expected, name);
	uint64_t want = 0;

	if (!field && strcmp(name, "hashing") == 0) {
		assert_int_equal(value, SCD_HASHING_DOUBLE);
		return;
	}
	assert_non_null(field);
	if (json_is_string(field))
		want = strtoull(json_string_value(field), NULL, 16);
	else
		want = (uint64_t)json_integer_value(field);
	if (want != value)
		fail_msg("%s is %" PRIu64 ", expected %" PRIu64, name, value,
			 want);
}

static void check_fields(const char *file, const struct scd_digest_info *info)
{
	FILE *f = open_vector(file, ".json");
	json_t *expected = json_loadf(f, 0, NULL);

	fclose(f);
	assert_non_null(expected);
	check_field(expected, "kind", info->kind);
	check_field(expected, "coding", info->coding);
	check_field(expected, "hashing", info->hashing);
	check_field(expected, "nhash", info->nhash);
	check_field(expected, "nbits", info->nbits);
	check_field(expected, "nkeys", info->nkeys);
	check_field(expected, "nones", info->nones);
	check_field(expected, "instance", info->instance);
	check_field(expected, "generation", info->generation);
	check_field(expected, "base_generation", info->base_generation);
	check_field(expected, "base_checksum", info->base_checksum);
	check_field(expected, "checksum", info->checksum);
	check_field(expected, "ncoded", info->ncoded);
	check_field(expected, "payload_bytes", info->payload_bytes);
	json_decref(expected);
}

typedef int encode_delta(const struct scd_bloom *, const struct scd_bloom *,
			 const struct scd_digest_info *, uint8_t **, size_t *);

static encode_delta *delta_encoder(const struct scd_digest_info *info)
{
	return info->kind == SCD_DELTA_CONDITIONAL
		       ? scd_delta_encode_conditional
		       : scd_delta_encode;
}

/* Encode again what was decoded: the same bytes as the file. */
static void check_encoding(const struct vector *v,
			   const struct scd_digest_info *info,
			   const struct scd_bloom *bloom)
{
	struct blob file = load(v->file, ".scd");
	uint8_t *out = NULL;
	size_t len = 0;

	if (info->kind == SCD_FULL) {
		assert_int_equal(scd_digest_encode(bloom, info, &out, &len),
				 SCD_OK);
	} else {
		struct blob bits = load(v->base, ".bits");
		struct scd_bloom base = *bloom;

		base.bits = bits.bytes;
		assert_int_equal(delta_encoder(info)(&base, bloom, info, &out,
						     &len),
				 SCD_OK);
		free(bits.bytes);
	}
	assert_int_equal(len, file.len);
	assert_memory_equal(out, file.bytes, len);
	free(out);
	free(file.bytes);
}

static void check_bits(const struct vector *v, const struct scd_bloom *bloom)
{
	struct blob bits = load(v->array, ".bits");

	assert_int_equal(scd_bloom_bytes(bloom), bits.len);
	assert_memory_equal(bloom->bits, bits.bytes, bits.len);
	free(bits.bytes);
}

static void check_good(const struct vector *v)
{
	struct scd_digest_info info;
	struct scd_bloom bloom;

	assert_int_equal(decode(v, &info, &bloom), SCD_OK);
	check_bits(v, &bloom);
	check_fields(v->file, &info);
	if (strcmp(v->encoding, "same") == 0)
		check_encoding(v, &info, &bloom);
	scd_bloom_free(&bloom);
}

static void check_good_counting(const struct vector *v)
{
	struct blob file = load(v->file, ".scd");
	struct blob counters = load(v->array, ".counters");
	struct scd_digest_info info;
	struct scd_counting *c;
	uint8_t *again;
	size_t len;

	assert_int_equal(decode_counting(v, &info, &c), SCD_OK);
	check_bits(v, &c->bloom);
	assert_int_equal(scd__counter_bytes(c), counters.len);
	assert_memory_equal(c->counters, counters.bytes, counters.len);
	check_fields(v->file, &info);
	assert_int_equal(scd_counting_encode(c, &info, &again, &len), SCD_OK);
	if (strcmp(v->encoding, "same") == 0) {
		assert_int_equal(len, file.len);
		assert_memory_equal(again, file.bytes, len);
	}
	free(again);
	scd_counting_free(&c);
	free(counters.bytes);
	free(file.bytes);
}

static void check_bad(const struct vector *v)
{
	struct scd_digest_info info = {.nbits = 77};
	struct scd_bloom bloom = {.nbits = 77};
	struct scd_counting *c = NULL;
	int error = is_counting(v) ? decode_counting(v, &info, &c)
				   : decode(v, &info, &bloom);

	if (error != code_of(v->result))
		fail_msg("%s: %s, expected %s", v->file, scd_strerror(error),
			 v->result);
	if (info.nbits != 77 || bloom.nbits != 77 || c)
		fail_msg("%s: refused, but something was written", v->file);
}

static void check_vector(const struct vector *v)
{
	if (strcmp(v->result, "OK") != 0)
		check_bad(v);
	else if (is_counting(v))
		check_good_counting(v);
	else
		check_good(v);
}

static void all_vectors(void **state)
{
	FILE *manifest = open_vector("manifest.txt", "");
	char line[256];
	int checked = 0;

	(void)state;
	while (fgets(line, sizeof(line), manifest)) {
		struct vector v;

		if (line[0] == '#')
			continue;
		assert_int_equal(
			sscanf(line,
			       "%63s %15s %63s %" SCNu64
			       " %u %u %u %63s %15s",
			       v.file, v.result, v.base, &v.limits.max_bits,
			       &v.limits.max_hash, &v.limits.max_fp_ppm,
			       &v.limits.max_expansion, v.array, v.encoding),
			9);
		check_vector(&v);
		checked++;
	}
	fclose(manifest);
	assert_true(checked > 250);
}

/* What decodes is the mask; what this library would write is the same file. */
static void check_squid(const struct blob *file)
{
	struct scd_squid_info info;
	struct scd_bloom bloom;
	uint8_t *again;
	size_t len;

	assert_int_equal(scd_squid_decode(file->bytes, file->len, &info,
					  &bloom),
			 SCD_OK);
	assert_memory_equal(file->bytes + SCD_SQUID_HEADER_BYTES, bloom.bits,
			    file->len - SCD_SQUID_HEADER_BYTES);
	assert_int_equal(scd_squid_encode(&bloom, &info, &again, &len),
			 SCD_OK);
	if (info.version == SCD_SQUID_VERSION &&
	    file->bytes[SCD_SQUID_HEADER_BYTES - 1] == 0) {
		assert_int_equal(len, file->len);
		assert_memory_equal(again, file->bytes, len);
	}
	free(again);
	scd_bloom_free(&bloom);
}

static void all_of_squid(void **state)
{
	FILE *manifest = open_vector("squid.txt", "");
	char line[128], name[64], path[80], result[16];
	int checked = 0;

	(void)state;
	while (fgets(line, sizeof(line), manifest)) {
		struct scd_squid_info info;
		struct blob file;
		struct scd_bloom bloom;

		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%63s %15s", name, result), 2);
		snprintf(path, sizeof(path), "squid/%s", name);
		file = load(path, ".cd");
		if (strcmp(result, "OK") == 0)
			check_squid(&file);
		else if (scd_squid_decode(file.bytes, file.len, &info,
					  &bloom) != code_of(result))
			fail_msg("%s is not %s", name, result);
		free(file.bytes);
		checked++;
	}
	fclose(manifest);
	assert_true(checked > 25);
}

/* A file of entries, which has to be what the list has. */
static void check_entries(const char *file, const struct scd_list *list)
{
	struct blob expected = load(file, ".entries");
	struct scd_digest_info info;
	uint64_t entry;

	scd_list_info(list, &info);
	assert_int_equal(expected.len, 8 * info.nones);
	for (size_t i = 0; i < expected.len; i++) {
		assert_int_equal(scd_list_entries(list, i / 8, 1, &entry), 1);
		assert_int_equal(expected.bytes[i],
				 (uint8_t)(entry >> 8 * (i % 8)));
	}
	free(expected.bytes);
}

/* A list that is in a file, as it is. */
static struct scd_list *list_in(const char *file)
{
	struct blob in = load(file, ".scd");
	struct scd_list *list = NULL;

	assert_int_equal(scd_list_decode(in.bytes, in.len, NULL, NULL, &list),
			 SCD_OK);
	free(in.bytes);
	return list;
}

static void check_same_file(const struct blob *file, uint8_t *out, size_t len)
{
	assert_int_equal(len, file->len);
	assert_memory_equal(out, file->bytes, len);
	free(out);
}

static int read_list(const char *file, const struct scd_limits *limits)
{
	struct blob in = load(file, ".scd");
	struct scd_list *list = NULL;
	int error = scd_list_decode(in.bytes, in.len, limits, NULL, &list);
	uint8_t *out;
	size_t len;

	if (!error) {
		check_entries(file, list);
		assert_int_equal(scd_list_encode(list, &out, &len), SCD_OK);
		check_same_file(&in, out, len);
	}
	scd_list_free(&list);
	free(in.bytes);
	return error;
}

static int read_list_delta(const char *file, const char *base,
			   const struct scd_limits *limits)
{
	struct blob in = load(file, ".scd");
	struct scd_list *list = list_in(base);
	struct scd_list_change change = {0};
	struct scd_digest_info info = {0}, after;
	int error = scd_list_delta_decode(in.bytes, in.len, limits, list,
					  &info, &change);
	uint8_t *out;
	size_t len;

	if (!error) {
		assert_int_equal(scd_list_delta_encode(list, &change,
						       info.generation, &out,
						       &len),
				 SCD_OK);
		check_same_file(&in, out, len);
		assert_int_equal(scd_list_change(list, &change,
						 info.generation),
				 SCD_OK);
		check_entries(file, list);
		scd_list_info(list, &after);
		assert_true(after.checksum == info.checksum);
	}
	scd_list_change_free(&change);
	scd_list_free(&list);
	free(in.bytes);
	return error;
}

static int read_frame(const char *file, const char *base,
		      const struct scd_limits *limits)
{
	struct blob in = load(file, ".frame");
	struct scd_list *list = list_in(base);
	struct scd_list_change change = {0};
	uint64_t generation = 0;
	size_t len, used = 0;
	int error = scd_list_frame_decode(in.bytes, in.len, limits, list, &used,
					  &generation, &change);
	uint8_t *out;

	if (!error) {
		assert_int_equal(used, in.len);
		assert_int_equal(scd_list_frame_encode(list, &change,
						       generation, &out, &len),
				 SCD_OK);
		check_same_file(&in, out, len);
		assert_int_equal(scd_list_change(list, &change, generation),
				 SCD_OK);
		check_entries(file, list);
	} else {
		assert_true(!used && !generation && !change.removed);
	}
	scd_list_change_free(&change);
	scd_list_free(&list);
	free(in.bytes);
	return error;
}

/* The list of a base, with the ages that a file has. SCD_OK, or why not. */
static int read_ages(const char *file, const char *base,
		     struct scd_list **list)
{
	struct blob in = load(file, ".ages");
	size_t used = 0, len;
	uint8_t *out;
	int error;

	*list = list_in(base);
	error = scd_list_ages_decode(in.bytes, in.len, *list, &used);
	if (!error) {
		assert_int_equal(used, in.len);
		assert_int_equal(scd_list_ages_encode(*list, &out, &len),
				 SCD_OK);
		check_same_file(&in, out, len);
	} else {
		assert_false(scd_list_has_ages(*list));
	}
	free(in.bytes);
	return error;
}

/* The first frame of some, which is what an encoder makes of its change. */
static int follow_frame(const struct blob *in, struct scd_list *list,
			size_t *used)
{
	struct scd_list_change change = {0};
	struct blob frame;
	uint64_t generation;
	size_t len;
	uint8_t *out;
	int error = scd_list_frame_decode(in->bytes, in->len, NULL, list, used,
					  &generation, &change);

	if (error)
		return error;
	assert_int_equal((in->bytes[0] > 2 ? scd_list_aged_frame_encode
					   : scd_list_frame_encode)(
				 list, &change, generation, &out, &len),
			 SCD_OK);
	frame = (struct blob){in->bytes, *used};
	check_same_file(&frame, out, len);
	assert_int_equal(scd_list_change(list, &change, generation), SCD_OK);
	scd_list_change_free(&change);
	return SCD_OK;
}

/* Ages are those of the rules after all frames of a file. */
static int read_aged_frames(const char *file, const char *base)
{
	struct blob in = load(file, ".frame"), rest = in, after;
	struct scd_list *list;
	size_t used = 0, len;
	uint8_t *out;
	int error = read_ages(base, base, &list);

	while (!error && rest.len > 0) {
		error = follow_frame(&rest, list, &used);
		rest.bytes += used;
		rest.len -= used;
	}
	if (!error) {
		check_entries(file, list);
		after = load(file, ".after");
		assert_int_equal(scd_list_ages_encode(list, &out, &len),
				 SCD_OK);
		check_same_file(&after, out, len);
		free(after.bytes);
	}
	scd_list_free(&list);
	free(in.bytes);
	return error;
}

static void all_of_ages(void **state)
{
	FILE *manifest = open_vector("ages.txt", "");
	char line[128], what[8], name[64], result[16], base[40];
	char file[72], base_file[48];
	int checked = 0;

	(void)state;
	while (fgets(line, sizeof(line), manifest)) {
		struct scd_list *list = NULL;
		int error;

		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%7s %63s %15s %39s", what, name,
					result, base),
				 4);
		snprintf(file, sizeof(file), "ages/%s", name);
		snprintf(base_file, sizeof(base_file), "ages/%s", base);
		if (strcmp(what, "ages") == 0)
			error = read_ages(file, base_file, &list);
		else
			error = read_aged_frames(file, base_file);
		if (error != code_of(result))
			fail_msg("%s: %s, expected %s", file,
				 scd_strerror(error), result);
		scd_list_free(&list);
		checked++;
	}
	fclose(manifest);
	assert_true(checked > 30);
}

static void all_of_lists(void **state)
{
	FILE *manifest = open_vector("list.txt", "");
	char line[128], name[64], result[16], base[40], file[72], base_file[48];
	int checked = 0;

	(void)state;
	while (fgets(line, sizeof(line), manifest)) {
		struct scd_limits limits;
		int error;

		scd_limits_init(&limits);
		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%63s %15s %39s %" SCNu64, name,
					result, base, &limits.max_bits),
				 4);
		snprintf(file, sizeof(file), "list/%s", name);
		snprintf(base_file, sizeof(base_file), "list/%s", base);
		if (strcmp(base, "-") == 0)
			error = read_list(file, &limits);
		else if (strstr(name, "frame"))
			error = read_frame(file, base_file, &limits);
		else
			error = read_list_delta(file, base_file, &limits);
		if (error != code_of(result))
			fail_msg("%s: %s, expected %s", file,
				 scd_strerror(error), result);
		checked++;
	}
	fclose(manifest);
	assert_true(checked > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_vectors),
		cmocka_unit_test(all_of_squid),
		cmocka_unit_test(all_of_lists),
		cmocka_unit_test(all_of_ages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
