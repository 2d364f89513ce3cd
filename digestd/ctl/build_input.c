/*
 * What digestctl build reads.
 */
#include "digestd/ctl/build_input.h"

#include <inttypes.h>
#include <stdio.h>

#include "codec/error.h"
#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/hex.h"
#include "digestd/ctl/line_reader.h"

enum { KEY_BYTES = 16 };

static uint64_t build_input_word(const uint8_t *at, bool big_endian)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < 8; i++)
		x = x << 8 | at[big_endian ? i : 7 - i];
	return x;
}

/* The key of which a line has the 16 bytes that the hash function gave. */
static bool build_input_take_hex(const struct build_input *in,
				 const struct line *line, struct scd_key *key)
{
	bool md5 = in->how.hashing == SCD_HASHING_SQUID;
	uint8_t bytes[KEY_BYTES];

	if (line->len != 2 * KEY_BYTES ||
	    !hex_bytes(line->at, KEY_BYTES, bytes))
		return false;
	key->lo = build_input_word(bytes, md5);
	key->hi = build_input_word(bytes + 8, md5);
	return true;
}

/* What is wrong with a line, null if nothing is. */
static const char *build_input_take_line(const struct build_input *in,
					 const struct line *line,
					 struct scd_key *key)
{
	int error;

	if (!line->at)
		return "line too long";
	if (in->hex)
		return build_input_take_hex(in, line, key)
			       ? NULL
			       : "not 32 hexadecimal digits";
	error = url_key(&in->how, line->at, line->len, key);
	return error ? scd_strerror(error) : NULL;
}

static bool build_input_has_filter(const struct build_input *in)
{
	return in->bloom || in->counting || in->entries;
}

/* Every one of them, also what seems to be there: it may be removed. */
static void build_input_count_batch(struct build_input *in)
{
	for (size_t i = 0; i < in->nbatch; i++) {
		const struct scd_key *key = &in->batch[i];

		in->nkeys += !scd_bloom_has(scd_counting_bloom(in->counting),
					    key);
		scd_counting_add(in->counting, key);
	}
}

static void build_input_note_batch(struct build_input *in)
{
	for (size_t i = 0; i < in->nbatch && !in->error; i++)
		in->error = digest_entries_add(
			in->entries,
			scd_fingerprint(&in->batch[i], BUILD_INPUT_WIDTH));
}

static void build_input_add_batch(struct build_input *in)
{
	if (in->entries)
		build_input_note_batch(in);
	else if (in->counting)
		build_input_count_batch(in);
	else
		in->nkeys +=
			scd_bloom_add_many(in->bloom, in->batch, in->nbatch);
	in->nbatch = 0;
}

static void build_input_tell_bad(struct build_input *in,
				 const struct line *line, const char *path,
				 const char *reason)
{
	in->bad++;
	progress_clear(&in->progress);
	fprintf(stderr, "digestctl: %s:%" PRIu64 ": %s\n", path, line->number,
		reason);
}

static void build_input_add_line(struct build_input *in,
				 const struct line *line, const char *path)
{
	const char *reason =
		build_input_take_line(in, line, &in->batch[in->nbatch]);

	if (reason)
		build_input_tell_bad(in, line, path, reason);
	else if (++in->nbatch == BUILD_INPUT_BATCH)
		build_input_add_batch(in);
}

static int build_input_add_lines(struct build_input *in, struct line_reader *r)
{
	uint64_t before = in->bytes;
	struct line line;

	while (line_reader_next(r, &line)) {
		if (line.at && !line.len)
			continue;
		in->lines++;
		if (build_input_has_filter(in))
			build_input_add_line(in, &line, r->path);
		if (in->lines % BUILD_INPUT_BATCH == 0)
			progress_tell(&in->progress, before + r->bytes,
				      in->lines);
	}
	if (build_input_has_filter(in))
		build_input_add_batch(in);
	in->bytes = before + r->bytes;
	if (in->error)
		fprintf(stderr, "digestctl: %s: %s\n", r->path,
			scd_strerror(in->error));
	return r->failed || in->error ? CTL_IO : CTL_OK;
}

int build_input_read(struct build_input *in, const char *path)
{
	struct line_reader r;
	int code = line_reader_open(&r, path);

	if (!code)
		code = build_input_add_lines(in, &r);
	line_reader_close(&r);
	return code;
}
