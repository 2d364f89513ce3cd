/*
 * Published digests, handed over within the process: who is to decode a digest
 * or a delta of one of these nodes gets the array that it was made of, which is
 * what decoding comes to. Of the body only the header is read; nobody changes
 * it on its way here. What was not published lately is decoded.
 */
#include "cachesim/world/drive_digests.h"

#include "cachesim/world/nodes.h"
#include "cachesim/world/world.h"
#include "codec/digest.h"
#include "digestd/mesh/peer_digest.h"

enum { KEPT = 8 * NODES_MAX }; /* each node has some on their way */

static const uint64_t drive_digests_most = 256 << 20; /* bytes kept */

/* One that was published. */
struct drive_digest {
	struct scd_digest_info info; /* of all of it */
	struct peer_digest *digest;  /* it is a user of this */
};

static struct {
	struct drive_digest kept[KEPT]; /* a ring */
	size_t next, n;
	uint64_t bytes;
} drive_digests;

int __real_peer_digest_read(const struct peer_digest_bytes *in,
			    struct scd_digest_info *info,
			    struct peer_digest **out);
int __wrap_peer_digest_read(const struct peer_digest_bytes *in,
			    struct scd_digest_info *info,
			    struct peer_digest **out);
int __real_scd_digest_encode(const struct scd_bloom *bloom,
			     const struct scd_digest_info *ids, uint8_t **out,
			     size_t *out_len);
int __wrap_scd_digest_encode(const struct scd_bloom *bloom,
			     const struct scd_digest_info *ids, uint8_t **out,
			     size_t *out_len);

static void drive_digests_drop_oldest(void)
{
	size_t oldest = drive_digests.next - drive_digests.n;
	struct drive_digest *d = &drive_digests.kept[oldest % KEPT];

	drive_digests.bytes -= scd_bloom_bytes(&d->digest->bloom);
	drive_digests.n--;
	peer_digest_unref(d->digest);
}

void drive_digests_stop(void)
{
	while (drive_digests.n)
		drive_digests_drop_oldest();
}

static void drive_digests_keep(const struct scd_bloom *bloom,
			       const struct scd_digest_info *info)
{
	struct drive_digest *d;
	struct scd_bloom copy;

	if (drive_digests.n == KEPT)
		drive_digests_drop_oldest();
	d = &drive_digests.kept[drive_digests.next % KEPT];
	d->info = *info;
	if (scd_bloom_copy(bloom, &copy) ||
	    peer_digest_take_as(&copy, info, &d->digest))
		world_fail("out of memory");
	drive_digests.next++;
	drive_digests.n++;
	drive_digests.bytes += scd_bloom_bytes(bloom);
	while (drive_digests.bytes > drive_digests_most)
		drive_digests_drop_oldest();
}

/* Whether the body whose header says `a` comes to the digest of `b`. */
static bool drive_digests_are_same(const struct scd_digest_info *a,
				   const struct scd_digest_info *b)
{
	return a->instance == b->instance && a->generation == b->generation &&
	       a->checksum == b->checksum && a->nbits == b->nbits &&
	       a->nhash == b->nhash && a->hashing == b->hashing;
}

static struct peer_digest *
drive_digests_find(const struct scd_digest_info *info)
{
	for (size_t i = 1; i <= drive_digests.n; i++) {
		const struct drive_digest *d =
			&drive_digests.kept[(drive_digests.next - i) % KEPT];

		if (drive_digests_are_same(info, &d->info))
			return d->digest;
	}
	return NULL;
}

int __wrap_scd_digest_encode(const struct scd_bloom *bloom,
			     const struct scd_digest_info *ids, uint8_t **out,
			     size_t *out_len)
{
	struct scd_digest_info info;
	int error = __real_scd_digest_encode(bloom, ids, out, out_len);

	if (!error && nodes_are_there() &&
	    !scd_digest_parse(*out, *out_len, NULL, &info))
		drive_digests_keep(bloom, &info);
	return error;
}

/* Whether a delta is for what the reader has; a full digest needs nothing. */
static bool drive_digests_fits(const struct scd_digest_info *info,
			       const struct peer_digest *base)
{
	if (!scd_digest_is_delta(info) || !base)
		return !scd_digest_is_delta(info) && !base;
	return info->instance == base->instance &&
	       info->base_generation == base->generation;
}

int __wrap_peer_digest_read(const struct peer_digest_bytes *in,
			    struct scd_digest_info *info,
			    struct peer_digest **out)
{
	struct peer_digest *known = NULL;

	if (!scd_digest_parse(in->at, in->len, in->limits, info) &&
	    drive_digests_fits(info, in->base))
		known = drive_digests_find(info);
	if (!known)
		return __real_peer_digest_read(in, info, out);
	*out = peer_digest_ref(known);
	return 0;
}
