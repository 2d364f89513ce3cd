/*
 * What became of the bytes of digests that came lately. It is the same only for
 * the same bytes, which are compared, and the same base, which nodes share, and
 * under the same limits, which all nodes have: others are decoded.
 */
#include "cachesim/world/drive_digests.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/world/nodes.h"
#include "cachesim/world/world.h"
#include "digestd/mesh/peer_digest.h"

enum { KEPT = 8 * NODES_MAX }; /* each node has some on their way */

static const uint64_t drive_digests_most = 256 << 20; /* bytes kept */

struct drive_digest {
	uint8_t *bytes; /* null: none */
	size_t len;
	struct peer_digest *base, *digest; /* it is a user of both */
	struct scd_digest_info info;
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

/* What one takes, its base being another one's. */
static uint64_t drive_digests_size(const struct drive_digest *d)
{
	return d->len + d->digest->bloom.nbits / 8;
}

static void drive_digests_drop_oldest(void)
{
	size_t oldest = drive_digests.next - drive_digests.n;
	struct drive_digest *d = &drive_digests.kept[oldest % KEPT];

	drive_digests.bytes -= drive_digests_size(d);
	drive_digests.n--;
	free(d->bytes);
	peer_digest_unref(d->base);
	peer_digest_unref(d->digest);
}

void drive_digests_stop(void)
{
	while (drive_digests.n)
		drive_digests_drop_oldest();
}

static const struct drive_digest *
drive_digests_find(const struct peer_digest_bytes *in)
{
	for (size_t i = 1; i <= drive_digests.n; i++) {
		const struct drive_digest *d =
			&drive_digests.kept[(drive_digests.next - i) % KEPT];

		if (d->len == in->len && d->base == in->base &&
		    !memcmp(d->bytes, in->at, in->len))
			return d;
	}
	return NULL;
}

static void drive_digests_keep(const struct peer_digest_bytes *in,
			       const struct scd_digest_info *info,
			       struct peer_digest *digest)
{
	struct drive_digest *d;

	if (drive_digests.n == KEPT)
		drive_digests_drop_oldest();
	d = &drive_digests.kept[drive_digests.next++ % KEPT];
	*d = (struct drive_digest){
		.bytes = malloc(in->len),
		.len = in->len,
		.base = in->base ? peer_digest_ref(in->base) : NULL,
		.digest = peer_digest_ref(digest),
		.info = *info,
	};
	if (!d->bytes)
		world_fail("out of memory");
	memcpy(d->bytes, in->at, in->len);
	drive_digests.n++;
	drive_digests.bytes += drive_digests_size(d);
	while (drive_digests.bytes > drive_digests_most)
		drive_digests_drop_oldest();
}

int __wrap_peer_digest_read(const struct peer_digest_bytes *in,
			    struct scd_digest_info *info,
			    struct peer_digest **out)
{
	const struct drive_digest *known = drive_digests_find(in);
	int error;

	if (known) {
		*info = known->info;
		*out = peer_digest_ref(known->digest);
		return 0;
	}
	error = __real_peer_digest_read(in, info, out);
	if (!error)
		drive_digests_keep(in, info, *out);
	return error;
}
