/*
 * Nodes of this cluster (docs/PROTOCOL.md): digests and deltas of libscd, held
 * back until there is news, for whoever has the cluster's token.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "digestd/http/fields.h"
#include "digestd/http/forward.h"
#include "digestd/mesh/peer_digest.h"
#include "digestd/mesh/digest_stream.h"
#include "digestd/peers/digest_body.h"
#include "digestd/peers/digest_request.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/token.h"

/* The frames of a list that are taken. On a stream its owner sees when ages are
 * worth their bytes. */
static const char *peer_kind_digestd_frames(const struct digest_query *query)
{
	static const char *const forms[][2] = {
		{ DIGEST_IM_FRAMES, DIGEST_IM_STREAM ", " DIGEST_IM_FRAMES },
		{ DIGEST_IM_FRAMES ", " DIGEST_IM_AGES,
		  DIGEST_IM_STREAM ", " DIGEST_IM_FRAMES ", " DIGEST_IM_AGES },
		{ DIGEST_IM_FRAMES ", " DIGEST_IM_AGED,
		  DIGEST_IM_STREAM ", " DIGEST_IM_FRAMES ", " DIGEST_IM_AGED },
	};
	const struct peer_digest *base = query->base;
	const bool wants = query->stream ? !base->has_ages
					 : peer_digest_wants_ages(base);

	return forms[base->has_ages ? 2 : wants][query->stream];
}

static int peer_kind_digestd_add_base(const struct digest_query *query,
				      struct fields *out)
{
	struct digest_tag tag = { query->base->instance,
				  query->base->generation,
				  peer_digest_is_list(query->base) };
	static const char deltas[] = DIGEST_IM_CONDITIONAL ", " DIGEST_IM_XOR;
	char etag[DIGEST_ETAG_BYTES + 1], wait[32];

	digest_tag_write(&tag, etag);
	snprintf(wait, sizeof(wait), "wait=%" PRId64, query->wait_s);
	return fields_add(out, "If-None-Match", etag) ||
	       fields_add(out, "A-IM",
			  tag.list ? peer_kind_digestd_frames(query)
				   : deltas) ||
	       fields_add(out, "Prefer", wait);
}

static int peer_kind_digestd_add_hears(const struct digest_query *query,
				       struct fields *out)
{
	char text[17];

	if (!query->stream || !query->hears)
		return 0;
	snprintf(text, sizeof(text), "%016" PRIx64, query->hears);
	return fields_add(out, DIGEST_HEARS, text);
}

static int peer_kind_digestd_query(const struct digest_query *query,
				   struct fields *out)
{
	if (token_add_field(query->token, out) ||
	    (*query->introduction &&
	     fields_add(out, DIGEST_INTRODUCTION, query->introduction)) ||
	    (query->lists &&
	     fields_add(out, "Accept", DIGEST_TYPE_LIST ", " DIGEST_TYPE_ARRAY
							";q=0.5")) ||
	    (query->base && peer_kind_digestd_add_base(query, out)) ||
	    peer_kind_digestd_add_hears(query, out))
		return -ENOMEM;
	return 0;
}

/* Is it a delta from what is held? What a header does not show is left to
 * scd_delta_apply(). */
static int peer_kind_digestd_check_base(const struct digest_expected *e,
					const struct scd_digest_info *info)
{
	const struct peer_digest *base = e->base;

	if (!scd_digest_is_delta(info) || !base)
		return SCD_EBASE;
	if (info->instance != base->instance ||
	    info->base_generation != base->generation ||
	    info->nbits != base->bloom.nbits ||
	    info->nhash != base->bloom.nhash ||
	    info->hashing != base->bloom.hashing)
		return SCD_EBASE;
	return SCD_OK;
}

/* Whether a body is frames of a list. */
static bool peer_kind_digestd_has_frames(const struct digest_expected *e)
{
	return e->delta && e->base && peer_digest_is_list(e->base);
}

/* Frames are sent while they are shorter than a full digest; in a stream there
 * are notes, too. */
static size_t peer_kind_digestd_bound(const struct digest_expected *e)
{
	if (!peer_kind_digestd_has_frames(e))
		return 0;
	return SCD_DIGEST_HEADER_BYTES + (size_t)(e->limits->max_bits / 8) +
	       DIGEST_NOTE_MAX;
}

static int peer_kind_digestd_judge(const struct digest_expected *e,
				   const uint8_t *header, size_t *len)
{
	struct scd_digest_info info;
	int error = scd_digest_judge(header, e->limits, &info);

	if (!error && e->delta)
		error = peer_kind_digestd_check_base(e, &info);
	else if (!error && info.kind == SCD_LIST)
		error = e->slot.table ? SCD_OK : SCD_EMISMATCH;
	else if (!error && info.kind != SCD_FULL)
		error = SCD_EBASE;
	else if (!error && info.hashing != SCD_HASHING_DOUBLE)
		error = SCD_EMISMATCH;
	if (!error)
		*len = SCD_DIGEST_HEADER_BYTES + (size_t)info.payload_bytes;
	return error;
}

/* Whether a body that was judged is a full list. */
static bool peer_kind_digestd_has_list(const struct digest_body *body,
				       const struct scd_limits *limits)
{
	struct scd_digest_info info;

	return !scd_digest_parse(body->bytes, body->len, limits, &info) &&
	       info.kind == SCD_LIST;
}

static int peer_kind_digestd_decode(const struct digest_expected *e,
				    const struct digest_body *body,
				    struct scd_digest_info *info,
				    struct peer_digest **out)
{
	const struct peer_digest_bytes in = { body->bytes, body->len, e->limits,
					      e->delta ? e->base : NULL,
					      e->threads };

	if (peer_kind_digestd_has_frames(e))
		return peer_digest_read_frames(&in, info, out);
	if (!e->delta &&
	    peer_kind_digestd_has_list(body, e->limits))
		return peer_digest_read_list(&in, &e->slot, info, out);
	return peer_digest_read(&in, info, out);
}

const struct peer_kind peer_kind_digestd = {
	.name = "digestd",
	.paths = { [DIGEST_OF_HELD] = &digest_paths_held,
		   [DIGEST_OF_SEEN] = &digest_paths_seen },
	.holds = true,
	.sectors = true,
	.purges = true,
	.header_bytes = SCD_DIGEST_HEADER_BYTES,
	.query = peer_kind_digestd_query,
	.bound = peer_kind_digestd_bound,
	.judge = peer_kind_digestd_judge,
	.decode = peer_kind_digestd_decode,
	.ask = forward_to_peer,
};
