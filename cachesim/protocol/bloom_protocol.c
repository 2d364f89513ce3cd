/*
 * Bloom filters at the positions that libscd gives keys, coded by it: each
 * proxy counts the objects at each position, as digestd does, and tells the
 * others which bits of the array have changed.
 *
 * A row of a view is a position of the arrays, so that a lookup for all peers
 * is the AND of k rows. Between two publications nothing is done; then the
 * objects that came or went are counted, and the positions that nobody had
 * before, or has any more, are compared with the array published last. That
 * costs k positions a change, however large the filters are. Counters have a
 * byte here, where libscd packs two into one: a third of the instructions.
 *
 * bloom: as in Summary Cache: an update lists the bits that flip, 4 bytes
 * each, or has the whole array, if that is smaller. Peers are queried.
 * Source: Fan et al., "Summary Cache", 2000, sections V-C and V-D.
 *
 * compressed: as digestd does it: an update is a digest as libscd codes it,
 * full or as a delta in the form that is asked for; a full one if that is
 * smaller, or the first. The object is asked for at once. Its length follows
 * from the ones and the bits that flip, which are counted (digest_sizes.h), so
 * that no array is kept; unless the bytes are to be made.
 * Source: Mitzenmacher, "Compressed Bloom Filters", 2002.
 */

#include "cachesim/protocol/digest_sizes.h"
#include "cachesim/protocol/flips.h"
#include "cachesim/protocol/rows.h"
#include "codec/bloom.h"
#include "codec/filter/counting_state.h"
#include "codec/delta.h"
#include "codec/mix.h"
#include "codec/positions.h"

enum {
	USUAL_BITS = 8,
	USUAL_HASH = 4,
	USUAL_COMPRESSED_BITS = 32,
	USUAL_COMPRESSED_HASH = 3,
	FLIP_BYTES = 4,
	TOLD = 0x80,      /* beside a counter: the bit was published as set */
	AHEAD = 12,   /* objects whose hashes are fetched early */
	LOOKUPS = 64, /* of which the positions are remembered */
	NEAR_BYTES = 256 << 10, /* a view so large is in a cache anyway */
};

/* One proxy's filter. */
struct summary {
	uint8_t *count; /* objects, by position, and TOLD */
	/* where digests are coded: as published last, and before that */
	struct scd_bloom told, base;
	uint64_t nkeys, generation;
	uint64_t nones; /* of the array as published last */
	size_t full_len; /* of the last full digest that was made */
};

struct objects {
	const uint32_t *at;
	size_t n;
};

/* An object whose candidates will be asked for soon. */
struct lookup {
	uint64_t object; /* + 1; 0: none */
	uint32_t at[SCD_MAX_HASH];
};

struct bloom {
	struct protocol_state base;
	struct flip_views views;
	uint64_t nbits;
	struct scd__modulus modulus; /* nbits */
	unsigned nhash;
	struct summary summary[PROTOCOL_MAX_PROXIES];
	struct lookup lookups[LOOKUPS];
	bool counts_sizes; /* of digests, which are not coded */
	uint32_t *at; /* positions of what changed, then those that flip */
	size_t room;
};

static int bloom_init_with(struct protocol_state *s, double bits,
			   unsigned nhash)
{
	struct bloom *b = (struct bloom *)s;
	const struct protocol_digest *d = &s->config.digest;
	double nbits = (d->bits > 0 ? d->bits : bits) * (double)d->expected;
	int err = 0;

	if (!(nbits <= UINT32_MAX))
		return SCD_EINVAL;
	if (d->nhash > SCD_MAX_HASH)
		return SCD_EINVAL;
	b->nbits = nbits > 64 ? (uint64_t)nbits : 64;
	b->modulus = scd__modulus_of(b->nbits);
	b->nhash = d->nhash ? d->nhash : nhash;
	b->counts_sizes = !d->coded && (!s->protocol->by_query || d->all_forms);
	for (unsigned i = 0; i < s->config.nproxies && !err; i++) {
		struct summary *p = &b->summary[i];

		p->count = calloc(b->nbits, 1);
		err = p->count ? 0 : SCD_ENOMEM;
		if (!err && d->coded)
			err = scd_bloom_init(&p->told, b->nbits, b->nhash);
		if (!err && d->coded)
			err = scd_bloom_init(&p->base, b->nbits, b->nhash);
	}
	if (!err)
		err = flip_views_init(&b->views, &s->config, b->nbits);
	s->near = !err && b->views.view[0].nwords == 1 &&
		  b->nbits * b->views.view[0].row <= NEAR_BYTES;
	return err;
}

static int bloom_init(struct protocol_state *s)
{
	return bloom_init_with(s, USUAL_BITS, USUAL_HASH);
}

static int bloom_init_compressed(struct protocol_state *s)
{
	return bloom_init_with(s, USUAL_COMPRESSED_BITS, USUAL_COMPRESSED_HASH);
}

static void bloom_release(struct protocol_state *s)
{
	struct bloom *b = (struct bloom *)s;

	for (unsigned i = 0; i < s->config.nproxies; i++) {
		free(b->summary[i].count);
		scd_bloom_free(&b->summary[i].told);
		scd_bloom_free(&b->summary[i].base);
	}
	flip_views_free(&b->views);
	free(b->at);
}

/* The positions of a key; always inline, for the sake of a constant nhash. */
__attribute__((always_inline)) static inline void
bloom_positions_of(uint64_t hash, struct scd__modulus m, unsigned nhash,
		   uint32_t *at)
{
	struct scd_key walk = scd__key_of_hash(hash);

#pragma GCC unroll 4
	for (unsigned i = 0; i < nhash; i++)
		at[i] = (uint32_t)scd__modulo(m, scd__next_hash(&walk, i));
}

static inline void bloom_positions(const struct bloom *b, uint32_t object,
				   uint32_t *at)
{
	uint64_t hash = b->base.config.hash[object];

	if (b->nhash == USUAL_HASH)
		bloom_positions_of(hash, b->modulus, USUAL_HASH, at);
	else
		bloom_positions_of(hash, b->modulus, b->nhash, at);
}

/* The positions of an object, remembered for a while. */
static const struct lookup *bloom_look_up(struct bloom *b, uint32_t object)
{
	struct lookup *l = &b->lookups[object % LOOKUPS];

	if (l->object == object + UINT64_C(1))
		return l;
	bloom_positions(b, object, l->at);
	l->object = object + UINT64_C(1);
	return l;
}

static void bloom_prefetch(struct protocol_state *s, unsigned view,
			   uint32_t object)
{
	struct bloom *b = (struct bloom *)s;
	const struct lookup *l = bloom_look_up(b, object);

	for (unsigned i = 0; i < b->nhash; i++)
		masks_prefetch(&b->views.view[view], l->at[i]);
}

/* Who has the bits at all of these positions: a word of it. */
__attribute__((always_inline)) static inline uint64_t
bloom_rows_of(const struct masks *m, const uint32_t *at, unsigned nhash,
	      unsigned word)
{
	uint64_t who = UINT64_MAX;

#pragma GCC unroll 4
	for (unsigned i = 0; i < nhash; i++)
		who &= masks_get(m, at[i], 0, word);
	return who;
}

static uint64_t bloom_candidates(struct protocol_state *s, unsigned view,
				 uint32_t object, unsigned word)
{
	struct bloom *b = (struct bloom *)s;
	const struct masks *m = &b->views.view[view];
	uint32_t here[SCD_MAX_HASH];
	const uint32_t *at = here;

	if (s->near)
		bloom_positions(b, object, here);
	else
		at = bloom_look_up(b, object)->at;
	if (b->nhash == USUAL_HASH)
		return bloom_rows_of(m, at, USUAL_HASH, word);
	return bloom_rows_of(m, at, b->nhash, word);
}

/* The positions of n objects, one after the other. */
__attribute__((always_inline)) static inline void
bloom_positions_of_all(const struct bloom *b, struct objects o, unsigned nhash,
		       uint32_t *at)
{
	const uint64_t *hash = b->base.config.hash;
	struct scd__modulus m = b->modulus;

	for (size_t i = 0; i < o.n && i < AHEAD; i++)
		__builtin_prefetch(&hash[o.at[i]]);
	for (size_t i = 0; i < o.n; i++) {
		if (i + AHEAD < o.n)
			__builtin_prefetch(&hash[o.at[i + AHEAD]]);
		bloom_positions_of(hash[o.at[i]], m, nhash, at + i * nhash);
	}
}

static void bloom_all_positions(const struct bloom *b, struct objects o,
				uint32_t *at)
{
	if (b->nhash == USUAL_HASH)
		bloom_positions_of_all(b, o, USUAL_HASH, at);
	else
		bloom_positions_of_all(b, o, b->nhash, at);
}

static void bloom_flip_all(struct scd_bloom *b, const uint32_t *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b->bits[at[i] >> 3] ^= (uint8_t)(1u << (at[i] & 7));
}

/*
 * Counts objects that went, or came, at n positions. Moves those that nobody
 * has any more, or had before, to the front; none is there twice. Returns how
 * many. Without branches: in a filter that is half full nobody can tell
 * whether a counter is 0 or 1.
 */
static size_t bloom_count_down(uint8_t *count, uint32_t *at, size_t n)
{
	size_t last = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t place = at[i];
		unsigned all = count[place], c = all & COUNTER_MAX;

		count[place] = (uint8_t)(all - (c - 1 < COUNTER_MAX - 1));
		at[last] = place;
		last += c == 1;
	}
	return last;
}

static size_t bloom_count_up(uint8_t *count, uint32_t *at, size_t n)
{
	size_t first = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t place = at[i];
		unsigned all = count[place], c = all & COUNTER_MAX;

		count[place] = (uint8_t)(all + (c < COUNTER_MAX));
		at[first] = place;
		first += c == 0;
	}
	return first;
}

/* Copies those of n positions whose bits differ, each once; what was published
 * is what is there now, then. Returns how many. */
static size_t bloom_keep_flips(uint8_t *count, const uint32_t *at, size_t n,
			       uint32_t *out)
{
	size_t kept = 0;

	/* without branches, as many do not differ */
	for (size_t i = 0; i < n; i++) {
		uint32_t place = at[i];
		unsigned c = count[place];
		bool differs = (c >= TOLD) != ((c & COUNTER_MAX) > 0);

		count[place] = (uint8_t)(c ^ (differs ? TOLD : 0));
		out[kept] = place;
		kept += differs;
	}
	return kept;
}

static int bloom_reserve(struct bloom *b, size_t n)
{
	uint32_t *at;

	if (n <= b->room)
		return 0;
	at = realloc(b->at, (n + n / 2) * sizeof(*at));
	if (!at)
		return SCD_ENOMEM;
	b->at = at;
	b->room = n + n / 2;
	return 0;
}

/* How many bits of an array flip, each way. */
struct bloom_flips {
	size_t cleared, set;
};

/* Brings a filter up to date; leaves the positions that flip in b->at, those
 * that are cleared first. */
static struct bloom_flips bloom_change(struct bloom *b, struct summary *p,
				       const struct protocol_changes *c)
{
	size_t nold = c->nremoved * b->nhash, nnew = c->nadded * b->nhash;
	uint32_t *old = b->at, *new = b->at + nold;

	bloom_all_positions(b, (struct objects){c->removed, c->nremoved}, old);
	bloom_all_positions(b, (struct objects){c->added, c->nadded}, new);
	nold = bloom_count_down(p->count, old, nold);
	nnew = bloom_count_up(p->count, new, nnew);
	nold = bloom_keep_flips(p->count, old, nold, old);
	nnew = bloom_keep_flips(p->count, new, nnew, old + nold);
	return (struct bloom_flips){ nold, nnew };
}

static uint64_t bloom_array_bytes(const struct bloom *b)
{
	return (b->nbits + 7) / 8;
}

/* What libscd would make of a publication. */
static void bloom_compute_sizes(const struct bloom *b, const struct summary *p,
				struct bloom_flips flips,
				struct protocol_publication *out)
{
	const struct digest_flips f = { b->nbits, p->nones, flips.cleared,
					flips.set };
	uint64_t nones = p->nones - flips.cleared + flips.set;

	out->coded[PROTOCOL_FULL] = digest_size_of_array(b->nbits, nones);
	out->coded[PROTOCOL_XOR] =
		digest_size_of_array(b->nbits, flips.cleared + flips.set);
	out->coded[PROTOCOL_CONDITIONAL] = digest_size_of_conditional(&f);
}

/* A publication of what flips in a proxy's filter. */
static int bloom_step(struct bloom *b, unsigned proxy,
		      const struct protocol_changes *c, struct flips **out)
{
	struct summary *p = &b->summary[proxy];
	struct bloom_flips n;
	int err = bloom_reserve(b, (c->nadded + c->nremoved) * b->nhash);

	if (err)
		return err;
	n = bloom_change(b, p, c);
	p->nkeys += c->nadded - c->nremoved;
	p->generation++;
	*out = flips_new(proxy, b->at, n.cleared + n.set);
	if (!*out)
		return SCD_ENOMEM;
	(*out)->base.raw[0] = bloom_array_bytes(b);
	(*out)->base.raw[1] = (*out)->n * FLIP_BYTES;
	if (b->counts_sizes)
		bloom_compute_sizes(b, p, n, &(*out)->base);
	p->nones += n.set - n.cleared;
	return 0;
}

typedef int encoder(const struct scd_bloom *base, const struct scd_bloom *next,
		    const struct scd_digest_info *ids, uint8_t **out,
		    size_t *out_len);

static int bloom_encode_full(const struct scd_bloom *base,
			     const struct scd_bloom *next,
			     const struct scd_digest_info *ids, uint8_t **out,
			     size_t *out_len)
{
	(void)base;
	return scd_digest_encode(next, ids, out, out_len);
}

static encoder *const encoders[PROTOCOL_FORMS] = {
	[PROTOCOL_FULL] = bloom_encode_full,
	[PROTOCOL_XOR] = scd_delta_encode,
	[PROTOCOL_CONDITIONAL] = scd_delta_encode_conditional,
};

/* Codes a publication in one form. */
static int bloom_code(struct summary *p, struct protocol_publication *out,
		      enum protocol_form form)
{
	const struct scd_digest_info ids = {
		.instance = out->proxy + UINT64_C(1),
		.generation = p->generation,
		.base_generation = form ? p->generation - 1 : 0,
		.nkeys = p->nkeys,
	};
	uint8_t *bytes;
	size_t len;
	int err = encoders[form](&p->base, &p->told, &ids, &bytes, &len);

	if (err)
		return err;
	free(bytes);
	out->coded[form] = len;
	if (form == PROTOCOL_FULL)
		p->full_len = len;
	return 0;
}

static int bloom_code_forms(const struct bloom *b, struct summary *p,
			    struct protocol_publication *out)
{
	const struct protocol_config *c = &b->base.config;
	bool all = c->digest.all_forms;
	bool full = all || c->nviews > 1 || p->generation == 1;
	enum protocol_form form = c->digest.form;
	int err = 0;

	for (unsigned i = PROTOCOL_XOR; i < PROTOCOL_FORMS && !err; i++) {
		if (all || (i == form && p->generation > 1))
			err = bloom_code(p, out, i);
	}
	if (!err && (full || out->coded[form] >= p->full_len ||
		     form == PROTOCOL_FULL))
		err = bloom_code(p, out, PROTOCOL_FULL);
	return err;
}

/* Of computed sizes those of forms that would be coded; so the counters of
 * forms have the same publications either way. */
static void bloom_drop_forms(const struct bloom *b, const struct summary *p,
			     struct protocol_publication *out)
{
	const struct protocol_config *c = &b->base.config;
	enum protocol_form form = c->digest.form;
	bool first = p->generation == 1;

	if (c->digest.all_forms)
		return;
	for (unsigned i = PROTOCOL_XOR; i < PROTOCOL_FORMS; i++) {
		if (i != form || first)
			out->coded[i] = 0;
	}
	if (c->nviews == 1 && !first && form != PROTOCOL_FULL &&
	    out->coded[form] < out->coded[PROTOCOL_FULL])
		out->coded[PROTOCOL_FULL] = 0;
}

/* What is sent of it. */
static void bloom_choose_form(const struct protocol_config *c,
			      const struct summary *p,
			      struct protocol_publication *out)
{
	uint64_t full = out->coded[PROTOCOL_FULL];

	out->whole = full;
	out->wire = out->coded[c->digest.form];
	if (c->digest.form == PROTOCOL_FULL || p->generation == 1 ||
	    (full && full <= out->wire)) {
		out->wire = full;
		out->full = true;
	}
}

static int bloom_code_all(struct bloom *b, struct flips *f)
{
	struct summary *p = &b->summary[f->base.proxy];
	int err;

	if (!b->base.config.digest.coded) {
		bloom_drop_forms(b, p, &f->base);
		return 0;
	}
	bloom_flip_all(&p->told, f->at, f->n);
	err = bloom_code_forms(b, p, &f->base);
	bloom_flip_all(&p->base, f->at, f->n);
	return err;
}

static int bloom_publish(struct protocol_state *s, unsigned proxy,
			 const struct protocol_changes *c,
			 struct protocol_publication **out)
{
	struct bloom *b = (struct bloom *)s;
	struct flips *f;
	int err = bloom_step(b, proxy, c, &f);

	if (err)
		return err;
	if (s->config.digest.all_forms)
		err = bloom_code_all(b, f);
	if (err) {
		flips_discard(s, &f->base);
		return err;
	}
	f->base.whole = f->base.raw[0];
	f->base.full = f->base.raw[0] <= f->base.raw[1];
	f->base.wire = f->base.raw[!f->base.full];
	*out = &f->base;
	return 0;
}

static int bloom_publish_compressed(struct protocol_state *s, unsigned proxy,
				    const struct protocol_changes *c,
				    struct protocol_publication **out)
{
	struct bloom *b = (struct bloom *)s;
	struct flips *f;
	int err = bloom_step(b, proxy, c, &f);

	if (err)
		return err;
	err = bloom_code_all(b, f);
	if (err) {
		flips_discard(s, &f->base);
		return err;
	}
	bloom_choose_form(&s->config, &b->summary[proxy], &f->base);
	*out = &f->base;
	return 0;
}

static int bloom_deliver(struct protocol_state *s, unsigned view,
			 struct protocol_publication *p)
{
	flips_deliver(&((struct bloom *)s)->views.view[view], p);
	return 0;
}

static void bloom_memory(const struct protocol_state *s, unsigned proxy,
			 uint64_t *peers, uint64_t *own)
{
	const struct bloom *b = (const struct bloom *)s;
	uint64_t array = bloom_array_bytes(b);

	(void)proxy;
	*peers = array * (s->config.nproxies - 1);
	*own = array + (b->nbits + 1) / 2; /* with counters of 4 bits */
}

const struct protocol protocol_bloom = {
	.name = "bloom",
	.about = "Bloom filters as in Summary Cache",
	.way = PROTOCOL_SUMMARY,
	.by_query = true,
	.sizes = {.query = 70, .reply = 70, .fetch = 600, .update = 32},
	.size = sizeof(struct bloom),
	.init = bloom_init,
	.release = bloom_release,
	.candidates = bloom_candidates,
	.prefetch = bloom_prefetch,
	.publish = bloom_publish,
	.deliver = bloom_deliver,
	.pack = flips_pack,
	.unpack = flips_unpack,
	.discard = flips_discard,
	.memory = bloom_memory,
};

const struct protocol protocol_compressed = {
	.name = "compressed",
	.about = "compressed Bloom filters as digestd sends them",
	.way = PROTOCOL_SUMMARY,
	.sizes = {.fetch = 600, .update = 600},
	.size = sizeof(struct bloom),
	.init = bloom_init_compressed,
	.release = bloom_release,
	.candidates = bloom_candidates,
	.prefetch = bloom_prefetch,
	.publish = bloom_publish_compressed,
	.deliver = bloom_deliver,
	.pack = flips_pack,
	.unpack = flips_unpack,
	.discard = flips_discard,
	.memory = bloom_memory,
};
