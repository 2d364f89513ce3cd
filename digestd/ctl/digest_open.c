/*
 * Digests and deltas as the commands read them.
 */
#include "digestd/ctl/digest_open.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/delta.h"
#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/digest_file.h"
#include "digestd/ctl/digest_list.h"
#include "digestd/ctl/digest_squid.h"

const struct scd_limits digest_any_limits = {
	.max_bits = SCD_DIGEST_MAX_BITS,
	.max_hash = SCD_DIGEST_MAX_HASH,
	.max_fp_ppm = 1000000,
};

int digest_wrong(const char *path, int error)
{
	fprintf(stderr, "digestctl: %s: %s\n", path, scd_strerror(error));
	return error == SCD_ENOMEM ? CTL_IO : CTL_NO;
}

int digest_open_header(const char *path, struct digest_open *d)
{
	int error, code;

	*d = (struct digest_open){ .path = path };
	if (!digest_file_read(path, &d->bytes, &d->len))
		return CTL_IO;
	if (digest_squid_maybe(d)) {
		code = digest_squid_open(d);
	} else {
		error = scd_digest_parse(d->bytes, d->len, &digest_any_limits,
					 &d->info);
		code = error ? digest_wrong(path, error) : CTL_OK;
	}
	if (code)
		digest_close(d);
	return code;
}

/* Decodes what a file has beside its header: an SCD_ error. */
static int digest_open_decode(struct digest_open *d)
{
	struct scd_counting *counting;
	int error;

	if (d->is_squid)
		return SCD_OK;
	if (d->info.kind == SCD_LIST)
		return scd_list_decode(d->bytes, d->len, &digest_any_limits,
				       NULL, &d->list);
	if (d->info.kind != SCD_COUNTING)
		return scd_digest_decode(d->bytes, d->len, &digest_any_limits,
					 NULL, &d->bloom);
	error = scd_counting_decode(d->bytes, d->len, &digest_any_limits, NULL,
				    &counting);
	if (error)
		return error;
	error = scd_bloom_copy(scd_counting_bloom(counting), &d->bloom);
	scd_counting_free(&counting);
	return error;
}

int digest_open_full(const char *path, struct digest_open *d)
{
	int error, code = digest_open_header(path, d);

	if (code)
		return code;
	if (scd_digest_is_delta(&d->info)) {
		fprintf(stderr, "digestctl: %s: a delta, not a full digest\n",
			path);
		digest_close(d);
		return CTL_NO;
	}
	error = digest_open_decode(d);
	free(d->bytes);
	d->bytes = NULL;
	return error ? digest_wrong(path, error) : CTL_OK;
}

int digest_open_array(const char *path, struct digest_open *d)
{
	int code = digest_open_full(path, d);

	if (code || !d->list)
		return code;
	fprintf(stderr, "digestctl: %s: a list of fingerprints, not an array\n",
		path);
	digest_close(d);
	return CTL_NO;
}

/* Says in which way a delta does not fit, where a header shows it. */
static int digest_open_wrong_base(const struct digest_open *d,
				  const struct digest_open *delta)
{
	const struct scd_digest_info *is = &d->info, *want = &delta->info;

	fprintf(stderr, "digestctl: %s: ", delta->path);
	if (!scd_digest_is_delta(want))
		fputs("a full digest, not a delta\n", stderr);
	else if (want->instance != is->instance)
		fprintf(stderr,
			"a delta of instance %016" PRIx64 ", not of %016" PRIx64
			"\n",
			want->instance, is->instance);
	else if (want->base_generation != is->generation)
		fprintf(stderr,
			"a delta from generation %" PRIu64 ", not from %" PRIu64
			"\n",
			want->base_generation, is->generation);
	else
		fprintf(stderr, "%s\n", scd_strerror(SCD_EBASE));
	return CTL_NO;
}

static int digest_open_step_list(struct digest_open *d,
				 const struct digest_open *delta)
{
	struct scd_list_change change;
	struct scd_digest_info info;
	int error = scd_list_delta_decode(delta->bytes, delta->len,
					  &digest_any_limits, d->list, &info,
					  &change);

	if (error == SCD_EBASE)
		return digest_open_wrong_base(d, delta);
	if (!error) {
		error = scd_list_change(d->list, &change, info.generation);
		scd_list_change_free(&change);
	}
	return error ? digest_wrong(delta->path, error) : CTL_OK;
}

/* Whether a file has frames: they have no header, and begin with their type,
 * which is no letter. */
static bool digest_open_has_frames(const struct digest_open *delta)
{
	return delta->len > 0 && *delta->bytes < ' ';
}

static int digest_open_step_frames(struct digest_open *d,
				   const struct digest_open *frames)
{
	int error = digest_list_apply_frames(d->list, frames->bytes,
					     frames->len, &digest_any_limits);

	return error ? digest_wrong(frames->path, error) : CTL_OK;
}

static int digest_open_step_array(struct digest_open *d,
				  const struct digest_open *delta)
{
	const struct scd_base base = { .bloom = &d->bloom,
				       .instance = d->info.instance,
				       .generation = d->info.generation };
	struct scd_digest_info info;
	struct scd_bloom next;
	int error = scd_delta_apply(delta->bytes, delta->len,
				    &digest_any_limits, &base, &info, &next);

	if (error == SCD_EBASE)
		return digest_open_wrong_base(d, delta);
	if (error)
		return digest_wrong(delta->path, error);
	scd_bloom_free(&d->bloom);
	d->bloom = next;
	d->info = info;
	return CTL_OK;
}

/* A delta that begins with a header. */
static int digest_open_step(struct digest_open *d, struct digest_open *delta)
{
	int error = scd_digest_parse(delta->bytes, delta->len,
				     &digest_any_limits, &delta->info);

	if (error)
		return digest_wrong(delta->path, error);
	return d->list ? digest_open_step_list(d, delta)
		       : digest_open_step_array(d, delta);
}

int digest_step(struct digest_open *d, const char *path)
{
	struct digest_open delta = { .path = path };
	int code;

	if (!digest_file_read(path, &delta.bytes, &delta.len))
		return CTL_IO;
	code = d->list && digest_open_has_frames(&delta)
		       ? digest_open_step_frames(d, &delta)
		       : digest_open_step(d, &delta);
	if (d->list)
		scd_list_info(d->list, &d->info);
	digest_close(&delta);
	return code;
}

/* Writes what was encoded, if it was, and releases it. */
static int digest_open_write_bytes(const char *output, int error,
				   uint8_t *bytes, size_t len)
{
	bool written;

	if (error)
		return digest_wrong(output, error);
	written = digest_file_write(output, bytes, len);
	free(bytes);
	return written ? CTL_OK : CTL_IO;
}

int digest_write_full(struct digest_open *d, const char *output)
{
	uint8_t *bytes = NULL;
	int error = d->list ? scd_list_encode(d->list, &bytes, &d->len)
			    : scd_digest_encode(&d->bloom, &d->info, &bytes,
						&d->len);

	return digest_open_write_bytes(output, error, bytes, d->len);
}

int digest_write_counting(struct digest_open *d, const struct scd_counting *c,
			  const char *output)
{
	uint8_t *bytes = NULL;
	int error = scd_counting_encode(c, &d->info, &bytes, &d->len);

	return digest_open_write_bytes(output, error, bytes, d->len);
}

const char *digest_hashing_text(enum scd_hashing hashing)
{
	switch (hashing) {
	case SCD_HASHING_DOUBLE:
		return "";
	case SCD_HASHING_SQUID:
		return " of Squid's";
	case SCD_HASHING_PREFIX:
		return ", the key's first bits";
	}
	return " of another kind";
}

static void digest_open_print_shape(const struct digest_open *d)
{
	const struct scd_bloom *b = &d->bloom;

	if (d->list)
		fprintf(stderr, "a list of fingerprints of %u bits",
			scd_list_width_of(d->list));
	else
		fprintf(stderr, "%" PRIu64 " bits, %u hash functions%s",
			b->nbits, b->nhash, digest_hashing_text(b->hashing));
}

static bool digest_open_is_like(const struct digest_open *a,
				const struct digest_open *b)
{
	if (!a->list || !b->list)
		return !a->list && !b->list &&
		       scd_bloom_same_shape(&a->bloom, &b->bloom);
	return scd_list_width_of(a->list) == scd_list_width_of(b->list);
}

double digest_fill(const struct digest_open *d)
{
	struct scd_digest_info info;

	if (!d->list)
		return scd_bloom_fill(&d->bloom);
	scd_list_info(d->list, &info);
	return (double)info.nones / (double)info.nbits;
}

bool digest_same_shape(const struct digest_open *a, const struct digest_open *b)
{
	if (digest_open_is_like(a, b))
		return true;
	fprintf(stderr, "digestctl: %s: %s: ", b->path,
		scd_strerror(SCD_EMISMATCH));
	digest_open_print_shape(b);
	fprintf(stderr, "; %s has ", a->path);
	digest_open_print_shape(a);
	fputs("\n", stderr);
	return false;
}

int digest_fold(struct digest_open *d, const struct digest_open *to)
{
	struct scd_bloom folded;
	int error = SCD_EINVAL;

	if (scd_bloom_same_shape(&d->bloom, &to->bloom))
		return CTL_OK;
	if (d->bloom.nhash == to->bloom.nhash &&
	    d->bloom.hashing == to->bloom.hashing)
		error = scd_bloom_fold(&d->bloom, to->bloom.nbits, &folded);
	if (error == SCD_EINVAL) {
		digest_same_shape(to, d);
		return CTL_NO;
	}
	if (error)
		return digest_wrong(d->path, error);
	scd_bloom_free(&d->bloom);
	d->bloom = folded;
	return CTL_OK;
}

void digest_tell_folded(const char *command, uint64_t from, uint64_t to)
{
	if (from > to)
		fprintf(stderr,
			"digestctl: %s: sizes differ: arrays of up to %" PRIu64
			" bits folded to %" PRIu64 ", the smallest\n",
			command, from, to);
}

bool digest_one_stdin(const char *first, char **paths)
{
	int found = first && !strcmp(first, "-");

	for (; *paths; paths++)
		found += !strcmp(*paths, "-");
	if (found > 1)
		fputs("digestctl: -: standard input can be read once only\n",
		      stderr);
	return found <= 1;
}

void digest_close(struct digest_open *d)
{
	free(d->bytes);
	scd_bloom_free(&d->bloom);
	scd_list_free(&d->list);
	*d = (struct digest_open){ 0 };
}
