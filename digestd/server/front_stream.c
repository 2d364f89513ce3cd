/*
 * The bodies of streamed replies, which are read from a source when there is
 * room for them.
 */
#include <stdlib.h>

#include "digestd/os/memory.h"
#include "digestd/server/front.h"

struct front_stream *front_stream_new(const struct reply_stream *reply,
				      size_t block_bytes)
{
	struct front_stream *stream = malloc(sizeof(*stream) + block_bytes);

	if (!stream)
		return NULL;
	ledger_add(&memory_ledger, LEDGER_replies, block_bytes);
	*stream = (struct front_stream){
		.source = *reply->source,
		.left = reply->body_len,
		.ended = !reply->body_len,
		.block_bytes = block_bytes,
	};
	return stream;
}

void front_stream_free(struct front_stream *stream)
{
	if (!stream)
		return;
	if (stream->source.release)
		stream->source.release(stream->source.arg);
	ledger_return(&memory_ledger, LEDGER_replies,
		      stream->block_bytes + stream->trailer.cap);
	reply_head_free(&stream->trailer);
	free(stream);
}

size_t front_stream_read(struct front_stream *stream, char *to, size_t cap)
{
	ssize_t n;

	if (stream->left >= 0 && (uint64_t)stream->left < cap)
		cap = (size_t)stream->left;
	n = stream->source.read(stream->source.arg, to, cap);
	if (n > 0) {
		stream->moved += (uint64_t)n;
		if (stream->left > 0)
			stream->left -= n;
		stream->ended = !stream->left;
		return (size_t)n;
	}
	if (n == BODY_WAIT) {
		stream->waits = true;
		return 0;
	}
	stream->ended = true;
	stream->failed = n != BODY_END || stream->left > 0;
	return 0;
}

const struct fields *front_stream_trailers(const struct front_stream *stream)
{
	const struct fields *fields = NULL;

	if (stream->trailers && stream->source.trailers)
		fields = stream->source.trailers(stream->source.arg);
	return fields && fields_count(fields) ? fields : NULL;
}

void front_stream_break_off(struct front_stream *stream)
{
	stream->ended = true;
	stream->failed = true;
}
