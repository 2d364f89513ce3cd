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
#include "digestd/peers/digest_body.h"
#include "digestd/peers/digest_request.h"
#include "digestd/peers/peer_kind.h"

static int peer_kind_digestd_add_base(const struct digest_query *query,
				      struct fields *out)
{
	struct digest_tag tag = { query->base->instance,
				  query->base->generation };
	char etag[DIGEST_ETAG_BYTES + 1], wait[32];

	digest_tag_write(&tag, etag);
	snprintf(wait, sizeof(wait), "wait=%" PRId64, query->wait_s);
	return fields_add(out, "If-None-Match", etag) ||
	       fields_add(out, "A-IM",
			  DIGEST_IM_CONDITIONAL ", " DIGEST_IM_XOR) ||
	       fields_add(out, "Prefer", wait);
}

static int peer_kind_digestd_query(const struct digest_query *query,
				   struct fields *out)
{
	char bearer[64];

	snprintf(bearer, sizeof(bearer), "Bearer %s", query->token);
	if (fields_add(out, "Authorization", bearer) ||
	    (*query->introduction &&
	     fields_add(out, DIGEST_INTRODUCTION, query->introduction)) ||
	    (query->base && peer_kind_digestd_add_base(query, out)))
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

static int peer_kind_digestd_judge(const struct digest_expected *e,
				   const uint8_t *header, size_t *len)
{
	struct scd_digest_info info;
	int error = scd_digest_judge(header, e->limits, &info);

	if (!error && e->delta)
		error = peer_kind_digestd_check_base(e, &info);
	else if (!error && info.kind != SCD_FULL)
		error = SCD_EBASE;
	else if (!error && info.hashing != SCD_HASHING_DOUBLE)
		error = SCD_EMISMATCH;
	if (!error)
		*len = SCD_DIGEST_HEADER_BYTES + (size_t)info.payload_bytes;
	return error;
}

static int peer_kind_digestd_decode(const struct digest_expected *e,
				    const struct digest_body *body,
				    struct scd_digest_info *info,
				    struct peer_digest **out)
{
	const struct peer_digest_bytes in = { body->bytes, body->len, e->limits,
					      e->delta ? e->base : NULL };

	return peer_digest_read(&in, info, out);
}

const struct peer_kind peer_kind_digestd = {
	.name = "digestd",
	.paths = { [DIGEST_OF_HELD] = &digest_paths_held,
		   [DIGEST_OF_SEEN] = &digest_paths_seen },
	.holds = true,
	.purges = true,
	.header_bytes = SCD_DIGEST_HEADER_BYTES,
	.query = peer_kind_digestd_query,
	.judge = peer_kind_digestd_judge,
	.decode = peer_kind_digestd_decode,
	.ask = forward_to_peer,
};
