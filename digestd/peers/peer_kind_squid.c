/*
 * Squids with cache digests: theirs are of another format (codec/squid.h) and
 * of other keys, are rewritten once an hour by default, and come without entity
 * tags, deltas or long polls. A Squid knows no token of ours, and is sent none;
 * who may ask it for objects, its http_access says.
 */

#include "codec/squid.h"
#include "digestd/http/fields.h"
#include "digestd/http/forward.h"
#include "digestd/mesh/peer_digest.h"
#include "digestd/peers/digest_body.h"
#include "digestd/peers/digest_request.h"
#include "digestd/peers/peer_kind.h"

enum { MASK_BYTES_AT = 16 }; /* in the header, big-endian */

static const struct digest_paths squid_paths = {
	.current = "/squid-internal-periodic/store_digest",
};

static int peer_kind_squid_query(const struct digest_query *query,
				 struct fields *out)
{
	if (!query->base || !*query->base_modified)
		return 0;
	return fields_add(out, "If-Modified-Since", query->base_modified);
}

static int peer_kind_squid_judge(const struct digest_expected *e,
				 const uint8_t *header, size_t *len)
{
	const uint8_t *at = header + MASK_BYTES_AT;
	uint32_t mask_bytes = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
			      (uint32_t)at[2] << 8 | at[3];
	size_t whole = SCD_SQUID_HEADER_BYTES + (size_t)mask_bytes;
	struct scd_squid_info info;
	int error;

	if (e->delta)
		return SCD_EBASE;
	if ((uint64_t)mask_bytes * 8 > e->limits->max_bits)
		return SCD_ELIMIT;
	/* it looks at no more than the header is long */
	error = scd_squid_parse(header, whole, &info);
	if (!error)
		*len = whole;
	return error;
}

/* The number of keys is estimated: the one in the header may be wrong. */
static int peer_kind_squid_decode(const struct digest_expected *e,
				  const struct digest_body *body,
				  struct scd_digest_info *info,
				  struct peer_digest **out)
{
	struct scd_bloom bloom;
	int error = scd_squid_decode(body->bytes, body->len, NULL, &bloom);

	(void)e;
	if (error)
		return error;
	*info = (struct scd_digest_info){
		.kind = SCD_FULL,
		.hashing = bloom.hashing,
		.nbits = bloom.nbits,
		.nhash = bloom.nhash,
		.nkeys = (uint64_t)scd_bloom_cardinality(&bloom),
	};
	return peer_digest_take_as(&bloom, info, out);
}

static int peer_kind_squid_ask(const struct fields *request,
			       const struct forward_request *how,
			       const char *token, struct fields *out)
{
	(void)token;
	return forward_to_peer(request, how, NULL, out);
}

const struct peer_kind peer_kind_squid = {
	.name = "squid",
	.paths = { [DIGEST_OF_HELD] = &squid_paths },
	.header_bytes = SCD_SQUID_HEADER_BYTES,
	.query = peer_kind_squid_query,
	.judge = peer_kind_squid_judge,
	.decode = peer_kind_squid_decode,
	.ask = peer_kind_squid_ask,
};
