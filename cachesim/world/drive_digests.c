/*
 * Published digests, handed over within the process: who is to decode a digest
 * or a delta of one of these nodes gets the array that it was made of, which is
 * what decoding comes to; and who is to decode a frame for a list, the change
 * that it was made of. Of the body only the header is read; nobody changes it
 * on its way here. What was not published lately is decoded.
 */
#include "cachesim/world/drive_digests.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/world/nodes.h"
#include "cachesim/world/world.h"
#include "codec/digest.h"
#include "codec/list.h"
#include "digestd/mesh/peer_digest.h"

enum { KEPT = 8 * NODES_MAX }; /* each node has some on their way */

static const uint64_t drive_digests_most = 256 << 20; /* bytes kept */

/* A frame that was published. */
struct drive_frame {
	struct scd_digest_info base; /* of the list that it is for */
	struct scd_list_change change;
	uint64_t generation;
	uint8_t *bytes;
	size_t len;
};

/* A digest that was published. */
struct drive_digest {
	struct scd_digest_info info; /* of all of it */
	struct peer_digest *digest;  /* it is a user of this */
};

static struct {
	struct drive_digest kept[KEPT]; /* a ring */
	size_t next, n;
	uint64_t bytes;
} drive_digests;

static struct {
	struct drive_frame kept[KEPT]; /* a ring */
	size_t next, n;
	uint64_t bytes;
} drive_frames;

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
int __real_scd_list_frame_encode(const struct scd_list *base,
				 const struct scd_list_change *change,
				 uint64_t generation, uint8_t **out,
				 size_t *out_len);
int __wrap_scd_list_frame_encode(const struct scd_list *base,
				 const struct scd_list_change *change,
				 uint64_t generation, uint8_t **out,
				 size_t *out_len);
int __real_scd_list_frame_decode(const uint8_t *in, size_t len,
				 const struct scd_limits *limits,
				 const struct scd_list *base, size_t *used,
				 uint64_t *generation,
				 struct scd_list_change *change);
int __wrap_scd_list_frame_decode(const uint8_t *in, size_t len,
				 const struct scd_limits *limits,
				 const struct scd_list *base, size_t *used,
				 uint64_t *generation,
				 struct scd_list_change *change);

static void drive_digests_drop_oldest(void)
{
	size_t oldest = drive_digests.next - drive_digests.n;
	struct drive_digest *d = &drive_digests.kept[oldest % KEPT];

	drive_digests.bytes -= scd_bloom_bytes(&d->digest->bloom);
	drive_digests.n--;
	peer_digest_unref(d->digest);
}

static uint64_t drive_frames_bytes(const struct drive_frame *f)
{
	return f->len + (f->change.nremoved + f->change.nadded) *
				sizeof(*f->change.added);
}

static void drive_frames_drop_oldest(void)
{
	size_t oldest = drive_frames.next - drive_frames.n;
	struct drive_frame *f = &drive_frames.kept[oldest % KEPT];

	drive_frames.bytes -= drive_frames_bytes(f);
	drive_frames.n--;
	scd_list_change_free(&f->change);
	free(f->bytes);
}

void drive_digests_stop(void)
{
	while (drive_digests.n)
		drive_digests_drop_oldest();
	while (drive_frames.n)
		drive_frames_drop_oldest();
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

/* Frames */

static void *drive_frames_copy(const void *from, size_t bytes)
{
	void *copy = malloc(bytes ? bytes : 1);

	if (!copy)
		world_fail("out of memory");
	if (bytes)
		memcpy(copy, from, bytes);
	return copy;
}

static void drive_frames_copy_change(const struct scd_list_change *from,
				     struct scd_list_change *copy)
{
	*copy = *from;
	copy->removed = drive_frames_copy(
		from->removed, from->nremoved * sizeof(*from->removed));
	copy->added = drive_frames_copy(from->added,
					from->nadded * sizeof(*from->added));
}

static void drive_frames_keep(const struct drive_frame *frame)
{
	struct drive_frame *f;

	if (drive_frames.n == KEPT)
		drive_frames_drop_oldest();
	f = &drive_frames.kept[drive_frames.next % KEPT];
	*f = *frame;
	f->bytes = drive_frames_copy(frame->bytes, frame->len);
	drive_frames_copy_change(&frame->change, &f->change);
	drive_frames.next++;
	drive_frames.n++;
	drive_frames.bytes += drive_frames_bytes(f);
	while (drive_frames.bytes > drive_digests_most)
		drive_frames_drop_oldest();
}

int __wrap_scd_list_frame_encode(const struct scd_list *base,
				 const struct scd_list_change *change,
				 uint64_t generation, uint8_t **out,
				 size_t *out_len)
{
	struct drive_frame frame = { .change = *change,
				     .generation = generation };
	int error = __real_scd_list_frame_encode(base, change, generation, out,
						 out_len);

	if (!error && nodes_are_there()) {
		scd_list_info(base, &frame.base);
		frame.bytes = *out;
		frame.len = *out_len;
		drive_frames_keep(&frame);
	}
	return error;
}

/* The one that bytes for a list begin with; null: it was not kept. */
static const struct drive_frame *
drive_frames_find(const struct scd_list *base, const uint8_t *in, size_t len)
{
	struct scd_digest_info info;

	scd_list_info(base, &info);
	for (size_t i = 1; i <= drive_frames.n; i++) {
		const struct drive_frame *f =
			&drive_frames.kept[(drive_frames.next - i) % KEPT];

		if (drive_digests_are_same(&f->base, &info) && f->len <= len &&
		    !memcmp(f->bytes, in, f->len))
			return f;
	}
	return NULL;
}

int __wrap_scd_list_frame_decode(const uint8_t *in, size_t len,
				 const struct scd_limits *limits,
				 const struct scd_list *base, size_t *used,
				 uint64_t *generation,
				 struct scd_list_change *change)
{
	const struct drive_frame *f = drive_frames_find(base, in, len);

	if (!f)
		return __real_scd_list_frame_decode(in, len, limits, base, used,
						    generation, change);
	drive_frames_copy_change(&f->change, change);
	*generation = f->generation;
	*used = f->len;
	return SCD_OK;
}
