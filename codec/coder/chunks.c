/*
 * Chunks, and the tasks that they make: each has as many chunks as it takes for
 * SCD_MAX_TASKS of them to have all. Nothing is allocated.
 *
 * Where a chunk's code begins is known when all codes before it have been made.
 * So tasks write theirs into rooms, one beside the other and each large enough
 * for what it should take, and those are moved together in order. What does not
 * fit into its room (an array with a pattern) may still fit if others take
 * less, so that is tried by one thread: which bytes result does not depend on
 * threads.
 */
#include "codec/coder/chunks.h"

#include <string.h>

#include "codec/coder/bits.h"
#include "codec/coder/tasks.h"
#include "codec/error.h"

enum {
	COUNT_BYTES = 1 << 20, /* of a task, in an array of twice that */
};

/* Bytes in pieces, such as chunks, of a size but for the last. */
struct cut {
	size_t len, piece;
	size_t npieces;
	size_t each; /* pieces of a task */
	unsigned ntasks;
};

static struct cut chunks_cut(size_t len, size_t piece, unsigned max_tasks)
{
	struct cut cut = {.len = len, .piece = piece};

	cut.npieces = len / piece + (len % piece != 0);
	cut.each = (cut.npieces + max_tasks - 1) / max_tasks;
	cut.ntasks = (unsigned)((cut.npieces + cut.each - 1) / cut.each);
	return cut;
}

/* Where a task's pieces end: the first that it does not have. */
static size_t chunks_task_end(const struct cut *cut, unsigned task)
{
	const size_t end = (task + (size_t)1) * cut->each;

	return end < cut->npieces ? end : cut->npieces;
}

/* The first byte of a piece; of the one after the last: the end. */
static size_t chunks_at(const struct cut *cut, size_t piece)
{
	return piece < cut->npieces ? piece * cut->piece : cut->len;
}

struct counting {
	struct cut cut;
	const uint8_t *bytes;
	uint64_t ones[SCD_MAX_TASKS];
};

static int chunks_count_task(void *arg, unsigned i, bool is_next)
{
	struct counting *c = arg;
	const size_t at = chunks_at(&c->cut, i * c->cut.each);
	const size_t end = chunks_at(&c->cut, chunks_task_end(&c->cut, i));

	(void)is_next;
	c->ones[i] = scd__count_ones(c->bytes + at, end - at);
	return SCD_OK;
}

int scd__chunks_count_ones(const uint8_t *bytes, size_t len,
			   const struct scd_threads *threads, uint64_t *ones)
{
	const size_t piece = len < 2 * COUNT_BYTES ? len : COUNT_BYTES;
	struct counting c = {
		.cut = chunks_cut(len, piece, SCD_MAX_TASKS),
		.bytes = bytes,
	};
	struct scd__tasks tasks = {
		.task = chunks_count_task,
		.arg = &c,
		.ntasks = c.cut.ntasks,
	};
	int error = scd__tasks_run(&tasks, threads);

	if (error)
		return error;
	*ones = 0;
	for (unsigned i = 0; i < c.cut.ntasks; i++)
		*ones += c.ones[i];
	return SCD_OK;
}

/* An array that is encoded. The first task is the checksum, if there is one. */
struct encoding {
	const struct scd__chunk_coder *coder;
	struct cut cut;
	const uint8_t *bits;
	struct scd__checksum *sum; /* null: none */
	uint8_t *sizes;
	struct scd__writer *out; /* what is in order, and room */
	uint8_t *rooms;
	size_t room; /* of a chunk */
	size_t lens[SCD_MAX_TASKS]; /* in the rooms */
};

/* Append the codes of some chunks, and tell their sizes. */
static int chunks_append(const struct encoding *e, size_t from, size_t to,
			 struct scd__writer *out)
{
	for (size_t i = from; i < to && !out->error; i++) {
		const uint8_t *start = out->at;
		const size_t at = chunks_at(&e->cut, i);
		struct scd__writer size = scd__writer(e->sizes + 4 * i, 4);

		out->error = e->coder->encode(e->coder->model, e->bits + at,
					      chunks_at(&e->cut, i + 1) - at,
					      out);
		scd__write_u32(&size, (uint32_t)(out->at - start));
	}
	return out->error;
}

static int chunks_encode_task(void *arg, unsigned i, bool is_next)
{
	struct encoding *e = arg;
	struct scd__writer room;
	size_t from, to, at, left;

	(void)is_next;
	if (e->sum && i-- == 0) {
		scd__checksum_reach(e->sum, e->bits + e->cut.len);
		return SCD_OK;
	}
	from = i * e->cut.each;
	to = chunks_task_end(&e->cut, i);
	at = from * e->room;
	left = (size_t)(e->out->end - e->rooms) - at;
	room = scd__writer(e->rooms + at, (to - from) * e->room < left
						  ? (to - from) * e->room
						  : left);
	chunks_append(e, from, to, &room);
	e->lens[i] = scd__writer_len(&room);
	return room.error;
}

static void chunks_encode_follow(void *arg, unsigned i)
{
	struct encoding *e = arg;

	if (e->sum && i-- == 0)
		return;
	memmove(e->out->at, e->rooms + i * e->cut.each * e->room, e->lens[i]);
	e->out->at += e->lens[i];
}

/* All chunks at once, as far as there is a room for each. */
static int chunks_encode_at_once(struct encoding *e,
				 const struct scd_threads *threads)
{
	const size_t last = (e->cut.ntasks - 1) * e->cut.each * e->room;
	struct scd__tasks tasks = {
		.task = chunks_encode_task,
		.follow = chunks_encode_follow,
		.arg = e,
		.ntasks = e->cut.ntasks + (e->sum != NULL),
	};

	if (last >= scd__writer_left(e->out))
		return SCD_ESPACE;
	return scd__tasks_run(&tasks, threads);
}

int scd__chunks_encode(const struct scd__chunk_coder *coder, unsigned log,
		       const struct scd__shape *shape, const uint8_t *bits,
		       struct scd__writer *out,
		       const struct scd__coder_work *work)
{
	struct scd__writer whole;
	struct encoding e = {
		.coder = coder,
		.cut = chunks_cut((size_t)scd__array_bytes(shape->nbits),
				  (size_t)1 << log, SCD_MAX_TASKS - 1),
		.bits = bits,
		.sum = work ? work->sum : NULL,
		.out = out,
		.room = coder->room ? coder->room : (size_t)1 << log,
	};
	int error = SCD_ESPACE;

	scd__write_u8(out, (uint8_t)log);
	e.sizes = out->at;
	scd__write_zeros(out, 4 * e.cut.npieces);
	if (out->error)
		return out->error;
	e.rooms = out->at;
	whole = *out;
	if (work && work->threads && e.cut.ntasks > 1)
		error = chunks_encode_at_once(&e, work->threads);
	if (error != SCD_ESPACE) {
		out->error = error;
		return error;
	}
	*out = whole;
	return chunks_append(&e, 0, e.cut.npieces, out);
}

/* An array that is decoded. */
struct decoding {
	const struct scd__chunk_coder *coder;
	struct cut cut;
	const struct scd__shape *shape;
	uint8_t *bits;
	struct scd__checksum *sum; /* null: none */
	const uint8_t *sizes;
	const uint8_t *codes[SCD_MAX_TASKS]; /* where each task's begin */
};

static size_t chunks_size(const struct decoding *d, size_t i)
{
	return (size_t)scd__load_bits(d->sizes + 4 * i, 4);
}

static int chunks_decode_task(void *arg, unsigned task, bool is_next)
{
	struct decoding *d = arg;
	const uint8_t *code = d->codes[task];
	const size_t end = chunks_task_end(&d->cut, task);

	for (size_t i = task * d->cut.each; i < end; i++) {
		const size_t at = chunks_at(&d->cut, i);
		const uint64_t left = d->shape->nbits - 8 * (uint64_t)at;
		struct scd__chunk c = {
			.in = scd__reader(code, chunks_size(d, i)),
			.bytes = d->bits + at,
			.len = chunks_at(&d->cut, i + 1) - at,
			.sum = is_next ? d->sum : NULL,
		};

		c.nbits = left < 8 * (uint64_t)c.len ? left
						     : 8 * (uint64_t)c.len;
		if (d->coder->decode(d->coder->model, &c))
			return SCD_EFORMAT;
		if (c.nbits % 8 && c.bytes[c.len - 1] >> c.nbits % 8)
			return SCD_EFORMAT;
		if (c.sum)
			scd__checksum_reach(c.sum, c.bytes + c.len);
		code += chunks_size(d, i);
	}
	return SCD_OK;
}

static void chunks_decode_follow(void *arg, unsigned task)
{
	const struct decoding *d = arg;
	const size_t end = chunks_task_end(&d->cut, task);

	if (d->sum)
		scd__checksum_reach(d->sum, d->bits + chunks_at(&d->cut, end));
}

/* Find where each task's codes begin; together they are all that is left. */
static int chunks_find_codes(struct decoding *d, struct scd__reader *in)
{
	d->sizes = scd__read_bytes(in, 4 * d->cut.npieces);
	for (size_t i = 0; i < d->cut.npieces && !in->error; i++) {
		if (i % d->cut.each == 0)
			d->codes[i / d->cut.each] = in->at;
		scd__read_bytes(in, chunks_size(d, i));
	}
	return in->error || scd__reader_left(in) > 0 ? SCD_EFORMAT : SCD_OK;
}

int scd__chunks_decode(const struct scd__chunk_coder *coder,
		       const struct scd__shape *shape, struct scd__reader *in,
		       uint8_t *bits, const struct scd__coder_work *work)
{
	const unsigned log = scd__read_u8(in);
	struct decoding d = {
		.coder = coder,
		.shape = shape,
		.bits = bits,
		.sum = work ? work->sum : NULL,
	};
	struct scd__tasks tasks = {
		.task = chunks_decode_task,
		.follow = chunks_decode_follow,
		.arg = &d,
	};

	if (log < coder->min_log || log > coder->max_log)
		return SCD_EFORMAT;
	d.cut = chunks_cut((size_t)scd__array_bytes(shape->nbits),
			   (size_t)1 << log, SCD_MAX_TASKS);
	tasks.ntasks = d.cut.ntasks;
	if (chunks_find_codes(&d, in))
		return SCD_EFORMAT;
	return scd__tasks_run(&tasks, work ? work->threads : NULL);
}
