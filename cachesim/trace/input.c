/*
 * One struct of functions a packing; what is read from the file waits in one
 * buffer, of which the unpacker takes as much as it needs.
 */
#include "config.h"

#include "cachesim/trace/input.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "cachesim/trace/ahead.h"
#include "cachesim/trace/trace_request.h"

enum { RAW_BYTES = 128 * 1024 }; /* zstd likes to be fed whole blocks */

/* xz -9 unpacks with 65 MiB; more is not for a trace [bytes] */
static const uint64_t xz_memory_max = 512 << 20;

enum { MAGIC_BYTES = 6 }; /* of the longest */

struct packing {
	const char *magic;
	size_t magic_len;
	int (*start)(struct trace_input *in);
	ssize_t (*read)(struct trace_input *in, uint8_t *out, size_t cap);
	void (*stop)(struct trace_input *in);
};

struct trace_input {
	int fd;
	const struct packing *packing;
	struct ahead *ahead; /* null: the caller's own thread unpacks */
	bool raw_ended; /* the file has no more */
	bool inside;	/* a member or frame has begun and not ended */
	size_t start, end;
	z_stream z;
	ZSTD_DStream *zstd;
	lzma_stream xz;
	uint8_t raw[RAW_BYTES];
};

/* What one read(2) gives. Its length or TRACE_EIO; notes the end. */
static ssize_t input_read_some(struct trace_input *in, uint8_t *out, size_t cap)
{
	ssize_t n;

	do {
		n = read(in->fd, out, cap);
	} while (n < 0 && errno == EINTR);
	in->raw_ended = n == 0;
	return n < 0 ? TRACE_EIO : n;
}

/* Appends what one read(2) gives. 0 or TRACE_EIO; notes the end. */
static int input_raw_fill(struct trace_input *in)
{
	ssize_t n;

	if (in->start == in->end)
		in->start = in->end = 0;
	if (in->raw_ended || in->end == RAW_BYTES)
		return 0;
	n = input_read_some(in, in->raw + in->end, RAW_BYTES - in->end);
	if (n < 0)
		return (int)n;
	in->end += (size_t)n;
	return 0;
}

/* Makes raw bytes available; at the end of the file there may be none. */
static int input_raw_need(struct trace_input *in)
{
	return in->start < in->end ? 0 : input_raw_fill(in);
}

static int input_plain_start(struct trace_input *in)
{
	(void)in;
	return 0;
}

static ssize_t input_plain_read(struct trace_input *in, uint8_t *out,
				size_t cap)
{
	size_t n = in->end - in->start;

	/* what has been looked at first, then without a copy */
	if (n == 0)
		return in->raw_ended ? 0 : input_read_some(in, out, cap);
	if (n > cap)
		n = cap;
	memcpy(out, in->raw + in->start, n);
	in->start += n;
	return (ssize_t)n;
}

static void input_plain_stop(struct trace_input *in)
{
	(void)in;
}

static int input_gzip_start(struct trace_input *in)
{
	/* 16 + 15: a gzip wrapper, the largest window */
	return inflateInit2(&in->z, 16 + 15) == Z_OK ? 0 : TRACE_ENOMEM;
}

/* One step of inflate. 0 or TRACE_ECODING. */
static int input_gzip_step(struct trace_input *in)
{
	int err;

	if (!in->inside && inflateReset(&in->z) != Z_OK)
		return TRACE_ECODING;
	in->inside = true;
	in->z.next_in = in->raw + in->start;
	in->z.avail_in = (uInt)(in->end - in->start);
	err = inflate(&in->z, Z_NO_FLUSH);
	in->start = in->end - in->z.avail_in;
	if (err == Z_STREAM_END)
		in->inside = false;
	return err == Z_OK || err == Z_STREAM_END || err == Z_BUF_ERROR
		       ? 0
		       : TRACE_ECODING;
}

static ssize_t input_gzip_read(struct trace_input *in, uint8_t *out, size_t cap)
{
	in->z.next_out = out;
	in->z.avail_out = (uInt)cap;
	while (in->z.avail_out == cap) {
		int err = input_raw_need(in);

		if (!err && in->start == in->end)
			return in->inside ? TRACE_ECODING : 0;
		if (!err)
			err = input_gzip_step(in);
		if (err)
			return err;
	}
	return (ssize_t)(cap - in->z.avail_out);
}

static void input_gzip_stop(struct trace_input *in)
{
	inflateEnd(&in->z);
}

static int input_zstd_start(struct trace_input *in)
{
	in->zstd = ZSTD_createDStream();
	return in->zstd ? 0 : TRACE_ENOMEM;
}

static ssize_t input_zstd_read(struct trace_input *in, uint8_t *out, size_t cap)
{
	ZSTD_outBuffer to = { out, cap, 0 };

	while (to.pos == 0) {
		int err = input_raw_need(in);
		ZSTD_inBuffer from = { in->raw, in->end, in->start };
		size_t left;

		if (err)
			return err;
		/* a frame may hold output back: flush it before giving up */
		left = ZSTD_decompressStream(in->zstd, &to, &from);
		if (ZSTD_isError(left))
			return TRACE_ECODING;
		if (from.pos == in->start && to.pos == 0 && in->raw_ended)
			return in->inside ? TRACE_ECODING : 0;
		if (from.pos != in->start || to.pos != 0)
			in->inside = left != 0;
		in->start = from.pos;
	}
	return (ssize_t)to.pos;
}

static void input_zstd_stop(struct trace_input *in)
{
	ZSTD_freeDStream(in->zstd);
}

static int input_xz_start(struct trace_input *in)
{
	/* several streams, and padding between them, are one */
	return lzma_stream_decoder(&in->xz, xz_memory_max,
				   LZMA_CONCATENATED) == LZMA_OK
		       ? 0
		       : TRACE_ENOMEM;
}

static ssize_t input_xz_read(struct trace_input *in, uint8_t *out, size_t cap)
{
	lzma_ret ret = LZMA_OK;

	in->xz.next_out = out;
	in->xz.avail_out = cap;
	while (ret == LZMA_OK && in->xz.avail_out == cap) {
		int err = input_raw_need(in);

		if (err)
			return err;
		in->xz.next_in = in->raw + in->start;
		in->xz.avail_in = in->end - in->start;
		ret = lzma_code(&in->xz,
				in->raw_ended ? LZMA_FINISH : LZMA_RUN);
		in->start = in->end - in->xz.avail_in;
	}
	if (ret == LZMA_MEM_ERROR)
		return TRACE_ENOMEM;
	/* after the end of the stream it goes on saying so */
	if (ret != LZMA_OK && ret != LZMA_STREAM_END)
		return TRACE_ECODING;
	return (ssize_t)(cap - in->xz.avail_out);
}

static void input_xz_stop(struct trace_input *in)
{
	lzma_end(&in->xz);
}

/* clang-format off */
static const struct packing packings[] = {
	{ "\x1f\x8b",         2, input_gzip_start,  input_gzip_read,  input_gzip_stop },
	{ "\x28\xb5\x2f\xfd", 4, input_zstd_start,  input_zstd_read,  input_zstd_stop },
	{ "\xfd" "7zXZ\0",     6, input_xz_start,    input_xz_read,    input_xz_stop },
	{ "",                 0, input_plain_start, input_plain_read, input_plain_stop },
};
/* clang-format on */

/* The packing whose magic the raw bytes begin with; the last one always. */
static const struct packing *input_packing_of(const struct trace_input *in)
{
	const struct packing *p = packings;

	while (in->end < p->magic_len ||
	       memcmp(in->raw, p->magic, p->magic_len))
		p++;
	return p;
}

static ssize_t input_unpack(void *arg, uint8_t *out, size_t cap)
{
	struct trace_input *in = arg;

	return in->packing->read(in, out, cap);
}

static int input_start(struct trace_input *in)
{
	int err = 0;

	/* a pipe may give its first bytes one by one */
	while (!err && in->end < MAGIC_BYTES && !in->raw_ended)
		err = input_raw_fill(in);
	if (err)
		return err;
	const struct packing *p = input_packing_of(in);

	err = p->start(in);
	if (err)
		return err;
	in->packing = p;
	/* without a thread it only takes longer */
	if (p->magic_len)
		ahead_start(&in->ahead, input_unpack, in);
	return 0;
}

int trace_input_open(struct trace_input **out, const char *path)
{
	struct trace_input *in = calloc(1, sizeof(*in));
	int err;

	*out = NULL;
	if (!in)
		return TRACE_ENOMEM;
	in->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				   : STDIN_FILENO;
	err = in->fd < 0 ? TRACE_EIO : input_start(in);
	if (err)
		trace_input_free(&in);
	*out = in;
	return err;
}

ssize_t trace_input_read(struct trace_input *in, uint8_t *out, size_t cap)
{
	if (cap == 0)
		return 0;
	return in->ahead ? ahead_read(in->ahead, out, cap)
			 : in->packing->read(in, out, cap);
}

double trace_input_share(const struct trace_input *in)
{
	off_t at = lseek(in->fd, 0, SEEK_CUR);
	struct stat st;

	if (at < 0 || fstat(in->fd, &st) || st.st_size <= 0)
		return 0;
	return at < st.st_size ? (double)at / (double)st.st_size : 1;
}

void trace_input_free(struct trace_input **in)
{
	int saved = errno;

	if (!*in)
		return;
	ahead_stop(&(*in)->ahead);
	if ((*in)->packing)
		(*in)->packing->stop(*in);
	if ((*in)->fd > STDIN_FILENO)
		close((*in)->fd);
	free(*in);
	*in = NULL;
	errno = saved;
}
