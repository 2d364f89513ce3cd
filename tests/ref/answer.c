/*
 * The C library as a process, for the second decoder to be compared with
 * (test_agree.py). It reads questions from standard input until that ends and
 * answers each on standard output.
 *
 *     question: u8 what; u32 length, bytes of base; u32 length, bytes of input
 *     answer:   u32 length, bytes: the name of an error, or "OK" and a result
 *
 * Numbers are those of this machine. base is a full digest where one is asked
 * for, of a list with ages those behind it; else it is empty.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/bloom.h"
#include "codec/filter/counting_state.h"
#include "codec/delta.h"
#include "codec/list.h"

struct blob {
	uint8_t *bytes;
	size_t len;
};

/* Those of test_agree.py: a damaged size must not take it minutes. */
static const struct scd_limits limits = {
	.max_bits = 1 << 21,
	.max_hash = 32,
	.max_fp_ppm = 50000,
	.max_expansion = SCD_DIGEST_MAX_EXPANSION,
};

/* The last resort: test_agree.py sees a process that has ended. */
static void must(int holds)
{
	if (!holds)
		exit(1);
}

static struct blob read_blob(void)
{
	struct blob blob = {0};
	uint32_t len;

	must(fread(&len, sizeof(len), 1, stdin) == 1);
	blob.len = len;
	blob.bytes = malloc(blob.len + 1);
	must(blob.bytes != NULL);
	must(fread(blob.bytes, 1, blob.len, stdin) == blob.len);
	return blob;
}

static const char *error_name(int error)
{
	switch ((enum scd_error)error) {
	case SCD_ETRUNC:
		return "ETRUNC";
	case SCD_EFORMAT:
		return "EFORMAT";
	case SCD_EVERSION:
		return "EVERSION";
	case SCD_ELIMIT:
		return "ELIMIT";
	case SCD_ECHECKSUM:
		return "ECHECKSUM";
	case SCD_EBASE:
		return "EBASE";
	case SCD_OK:
	case SCD_ENOMEM:
	case SCD_EINVAL:
	case SCD_ESPACE:
	case SCD_EMISMATCH:
	case SCD_EGOAL:
	case SCD_EURI:
		break;
	}
	return scd_strerror(error);
}

static void answer(int error, const uint8_t *bytes, size_t len)
{
	const char *word = error ? error_name(error) : "OK";
	uint32_t total = (uint32_t)(strlen(word) + (error ? 0 : len));

	must(fwrite(&total, sizeof(total), 1, stdout) == 1);
	must(fputs(word, stdout) >= 0);
	if (!error && len)
		must(fwrite(bytes, 1, len, stdout) == len);
	must(fflush(stdout) == 0);
}

static void answer_array(int error, struct scd_bloom *bloom)
{
	if (error) {
		answer(error, NULL, 0);
		return;
	}
	answer(SCD_OK, bloom->bits, scd_bloom_bytes(bloom));
	scd_bloom_free(bloom);
}

static void answer_digest(int error, uint8_t *bytes, size_t len)
{
	answer(error, bytes, len);
	if (!error)
		free(bytes);
}

static void decode_full(const struct blob *in)
{
	struct scd_bloom bloom;

	answer_array(scd_digest_decode(in->bytes, in->len, &limits, NULL,
				       &bloom),
		     &bloom);
}

static void decode_counting(const struct blob *in)
{
	struct scd_counting *c;
	int error = scd_counting_decode(in->bytes, in->len, &limits, NULL, &c);

	if (error) {
		answer(error, NULL, 0);
		return;
	}
	answer(SCD_OK, c->counters, scd__counter_bytes(c));
	scd_counting_free(&c);
}

/* Decode, and encode again. */
static void encode_full(const struct blob *in)
{
	struct scd_digest_info info;
	struct scd_bloom bloom;
	uint8_t *out = NULL;
	size_t len = 0;
	int error;

	must(!scd_digest_decode(in->bytes, in->len, &limits, &info,
				&bloom));
	error = scd_digest_encode(&bloom, &info, &out, &len);
	answer_digest(error, out, len);
	scd_bloom_free(&bloom);
}

static void encode_counting(const struct blob *in)
{
	struct scd_digest_info info;
	struct scd_counting *c;
	uint8_t *out = NULL;
	size_t len = 0;
	int error;

	must(!scd_counting_decode(in->bytes, in->len, &limits, &info, &c));
	error = scd_counting_encode(c, &info, &out, &len);
	answer_digest(error, out, len);
	scd_counting_free(&c);
}

static void apply(const struct blob *base, const struct blob *in)
{
	struct scd_digest_info info;
	struct scd_bloom bloom, next;
	struct scd_base held = {.bloom = &bloom};

	must(!scd_digest_decode(base->bytes, base->len, &limits, &info,
				&bloom));
	held.instance = info.instance;
	held.generation = info.generation;
	answer_array(scd_delta_apply(in->bytes, in->len, &limits, &held, NULL,
				     &next),
		     &next);
	scd_bloom_free(&bloom);
}

/* The delta between two full digests. */
static void encode_delta(const struct blob *base, const struct blob *in,
			 int conditional)
{
	struct scd_digest_info from, to;
	struct scd_bloom bloom, next;
	uint8_t *out = NULL;
	size_t len = 0;
	int error;

	must(!scd_digest_decode(base->bytes, base->len, &limits, &from,
				&bloom));
	must(!scd_digest_decode(in->bytes, in->len, &limits, &to,
				&next));
	to.base_generation = from.generation;
	if (conditional)
		error = scd_delta_encode_conditional(&bloom, &next, &to, &out,
						     &len);
	else
		error = scd_delta_encode(&bloom, &next, &to, &out, &len);
	answer_digest(error, out, len);
	scd_bloom_free(&bloom);
	scd_bloom_free(&next);
}

/* What a list has: numbers of this machine. */
static void answer_entries(int error, const struct scd_list *list)
{
	struct scd_digest_info info;
	uint64_t *entries;

	if (error) {
		answer(error, NULL, 0);
		return;
	}
	scd_list_info(list, &info);
	entries = malloc((size_t)(info.nones + 1) * sizeof(*entries));
	must(entries != NULL);
	must(scd_list_entries(list, 0, (size_t)info.nones, entries) ==
	     info.nones);
	answer(SCD_OK, (const uint8_t *)entries,
	       (size_t)info.nones * sizeof(*entries));
	free(entries);
}

static struct scd_list *list_of(const struct blob *in)
{
	struct scd_list *list;

	must(!scd_list_decode(in->bytes, in->len, &limits, NULL, &list));
	return list;
}

static void decode_list(const struct blob *in)
{
	struct scd_list *list = NULL;
	int error = scd_list_decode(in->bytes, in->len, &limits, NULL, &list);

	answer_entries(error, list);
	scd_list_free(&list);
}

static void encode_list(const struct blob *in)
{
	struct scd_list *list = list_of(in);
	uint8_t *out = NULL;
	size_t len = 0;
	int error = scd_list_encode(list, &out, &len);

	answer_digest(error, out, len);
	scd_list_free(&list);
}

static void apply_to_list(const struct blob *base, const struct blob *in)
{
	struct scd_list *list = list_of(base);
	struct scd_list_change change = {0};
	struct scd_digest_info info;
	int error = scd_list_delta_decode(in->bytes, in->len, &limits, list,
					  &info, &change);

	if (!error)
		must(!scd_list_change(list, &change, info.generation));
	answer_entries(error, list);
	scd_list_change_free(&change);
	scd_list_free(&list);
}

static void apply_frame(const struct blob *base, const struct blob *in)
{
	struct scd_list *list = list_of(base);
	struct scd_list_change change = {0};
	uint64_t generation;
	size_t used;
	int error = scd_list_frame_decode(in->bytes, in->len, &limits, list,
					  &used, &generation, &change);

	if (!error)
		must(!scd_list_change(list, &change, generation));
	answer_entries(error, list);
	scd_list_change_free(&change);
	scd_list_free(&list);
}

/* The list of a digest, which its ages follow. */
static struct scd_list *aged_list_of(const struct blob *in)
{
	struct scd_digest_info info;
	struct scd_list *list;
	struct blob digest = *in;
	size_t used;

	must(in->len >= SCD_DIGEST_HEADER_BYTES);
	must(!scd_digest_judge(in->bytes, &limits, &info));
	digest.len = SCD_DIGEST_HEADER_BYTES + (size_t)info.payload_bytes;
	list = list_of(&digest);
	must(!scd_list_ages_decode(in->bytes + digest.len,
				   in->len - digest.len, list, &used));
	return list;
}

/* The ages after a frame. */
static void apply_aged_frame(const struct blob *base, const struct blob *in)
{
	struct scd_list *list = aged_list_of(base);
	struct scd_list_change change = {0};
	uint64_t generation;
	uint8_t *out = NULL;
	size_t used, len = 0;
	int error = scd_list_frame_decode(in->bytes, in->len, &limits, list,
					  &used, &generation, &change);

	if (!error) {
		must(!scd_list_change(list, &change, generation));
		must(!scd_list_ages_encode(list, &out, &len));
	}
	answer_digest(error, out, len);
	scd_list_change_free(&change);
	scd_list_free(&list);
}

/* Ages for a list. */
static void decode_ages(const struct blob *base, const struct blob *in)
{
	struct scd_list *list = list_of(base);
	size_t used;

	answer(scd_list_ages_decode(in->bytes, in->len, list, &used), NULL, 0);
	scd_list_free(&list);
}

static uint64_t *entries_of(const struct scd_list *list, size_t *n)
{
	struct scd_digest_info info;
	uint64_t *entries;

	scd_list_info(list, &info);
	*n = (size_t)info.nones;
	entries = malloc((*n + 1) * sizeof(*entries));
	must(entries != NULL);
	must(scd_list_entries(list, 0, *n, entries) == *n);
	return entries;
}

typedef int encode_change(const struct scd_list *,
			  const struct scd_list_change *, uint64_t, uint8_t **,
			  size_t *);

/* The delta between two lists: all go and all come, but what cancels. */
static void encode_list_delta(const struct blob *base, const struct blob *in,
			      encode_change *encode)
{
	struct scd_list *from = encode == scd_list_aged_frame_encode
					? aged_list_of(base)
					: list_of(base);
	struct scd_list *to = list_of(in);
	struct scd_list_change change = {0};
	struct scd_digest_info info;
	uint8_t *out = NULL;
	size_t len = 0;
	int error;

	change.removed = entries_of(from, &change.nremoved);
	change.added = entries_of(to, &change.nadded);
	must(!scd_list_change_sort(&change));
	scd_list_info(to, &info);
	error = encode(from, &change, info.generation, &out, &len);
	answer_digest(error, out, len);
	scd_list_change_free(&change);
	scd_list_free(&from);
	scd_list_free(&to);
}

static void answer_question(int what, const struct blob *base,
			    const struct blob *in)
{
	switch (what) {
	case 'F':
		decode_full(in);
		break;
	case 'A':
		apply(base, in);
		break;
	case 'C':
		decode_counting(in);
		break;
	case 'L':
		decode_list(in);
		break;
	case 'D':
		apply_to_list(base, in);
		break;
	case 'l':
		encode_list(in);
		break;
	case 'd':
		encode_list_delta(base, in, scd_list_delta_encode);
		break;
	case 'R':
		apply_frame(base, in);
		break;
	case 'r':
		encode_list_delta(base, in, scd_list_frame_encode);
		break;
	case 'G':
		apply_aged_frame(base, in);
		break;
	case 'g':
		encode_list_delta(base, in, scd_list_aged_frame_encode);
		break;
	case 'E':
		decode_ages(base, in);
		break;
	case 'f':
		encode_full(in);
		break;
	case 'x':
		encode_delta(base, in, 0);
		break;
	case 'c':
		encode_delta(base, in, 1);
		break;
	case 'n':
		encode_counting(in);
		break;
	default:
		must(0);
	}
}

int main(void)
{
	int what;

	while ((what = getchar()) != EOF) {
		struct blob base = read_blob(), in = read_blob();

		answer_question(what, &base, &in);
		free(base.bytes);
		free(in.bytes);
	}
	return 0;
}
