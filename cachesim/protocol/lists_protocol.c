/*
 * Lists of fingerprints, as nodes exchange them: filters with one hash function
 * of which the ones alone are kept and sent, the first digest whole and then
 * frames. docs/FORMAT.md, "Lists".
 *
 * A row of a view is an object, as with exact directories. Objects of one
 * fingerprint, twins, say yes for each other: a proxy's bit is set in the rows
 * of all of them as long as it has published any. Twins are known beforehand,
 * as all objects of a trace are; they form rings. So a lookup reads one row,
 * whatever the width is, and there is no false hit but those that the
 * fingerprints make.
 *
 * Where digests are coded, frames are by age where that is smaller, as for
 * peers that have ages (docs/FORMAT.md, "Ages"); what these cost once is not
 * counted. Sizes that are computed are of frames by rank.
 *
 * A list of so many entries that libscd would have a wider one (a 32nd of its
 * fingerprints) goes on being asked here as it is.
 *
 * Source of the form: Mitzenmacher, "Compressed Bloom Filters", 2002; see
 * codec/list.h.
 */
#include <string.h>

#include "cachesim/protocol/digest_sizes.h"
#include "cachesim/protocol/flips.h"
#include "cachesim/protocol/rows.h"
#include "codec/list.h"
#include "codec/mix.h"

/* What nodes aim at: that a lookup in all peers' lists is wrong so often. */
#define USUAL_FP_OF_ALL .01

enum {
	AHEAD = 12, /* objects whose hashes or rings are fetched early */
	/* tenths of a byte that an entry takes: in its list; in the table of
	 * all peers, which has grown by itself */
	LIST_TENTHS = 23,
	TABLE_TENTHS = 36,
	LEAST_AGED = 1024, /* entries of a list that begins to keep ages */
};

/* One proxy's list. */
struct list_summary {
	uint64_t nentries, generation; /* as published */
	struct scd_list *coded; /* where digests are coded, and it fits */
};

struct lists {
	struct protocol_state base;
	struct flip_views views;
	unsigned width;
	uint32_t *twin; /* by object: the next of its ring; null: no twins */
	struct masks told; /* of objects with twins: who has published them */
	struct list_summary summary[PROTOCOL_MAX_PROXIES];
	uint32_t *at; /* rows that flip */
	size_t room;
};

static uint64_t lists_fingerprint(const struct lists *l, uint32_t object)
{
	const struct scd_key key =
		scd__key_of_hash(l->base.config.hash[object]);

	return scd_fingerprint(&key, l->width);
}

/* 0: no width does. */
static unsigned lists_width(const struct protocol_config *c)
{
	const struct protocol_digest *d = &c->digest;
	unsigned peers = c->nproxies > 1 ? c->nproxies - 1 : 1;
	double fp = d->fp > 0 ? d->fp : USUAL_FP_OF_ALL / peers;

	if (d->bits > 0 && !(d->fp > 0))
		fp = 1 / d->bits;
	return fp < 1 ? scd_list_width(d->expected, fp) : 0;
}

/* Open addressing: the last object of each fingerprint, + 1. */
struct list_finder {
	uint32_t *last;
	uint64_t mask;
};

static uint64_t lists_slot(const struct lists *l, const struct list_finder *f,
			   uint32_t object)
{
	return scd__mix64(lists_fingerprint(l, object)) & f->mask;
}

/* Puts an object into the ring of those with its fingerprint. Returns whether
 * there are any. */
static bool lists_join_ring(struct lists *l, struct list_finder *f,
			    uint32_t object)
{
	uint64_t fingerprint = lists_fingerprint(l, object);
	uint64_t slot = lists_slot(l, f, object);

	l->twin[object] = object;
	for (; f->last[slot]; slot = (slot + 1) & f->mask) {
		uint32_t other = f->last[slot] - 1;

		if (lists_fingerprint(l, other) != fingerprint)
			continue;
		l->twin[object] = l->twin[other];
		l->twin[other] = object;
		return true;
	}
	f->last[slot] = object + 1;
	return false;
}

static bool lists_join_rings(struct lists *l, struct list_finder *f)
{
	uint32_t n = l->base.config.nobjects;
	bool any = false;

	for (uint32_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			__builtin_prefetch(
				&f->last[lists_slot(l, f, i + AHEAD)], 1);
		any |= lists_join_ring(l, f, i);
	}
	return any;
}

static int lists_find_twins(struct lists *l)
{
	const struct protocol_config *c = &l->base.config;
	struct list_finder f = { .mask = 1 };

	while (f.mask < 2 * (uint64_t)c->nobjects)
		f.mask = f.mask << 1 | 1;
	f.last = calloc(f.mask + 1, sizeof(*f.last));
	l->twin = malloc((c->nobjects + (size_t)1) * sizeof(*l->twin));
	if (!f.last || !l->twin) {
		free(f.last);
		return SCD_ENOMEM;
	}
	if (!lists_join_rings(l, &f)) {
		free(l->twin);
		l->twin = NULL;
	}
	free(f.last);
	return l->twin ? masks_init(&l->told, c->nobjects, 1, c->nproxies) : 0;
}

static int lists_init(struct protocol_state *s)
{
	struct lists *l = (struct lists *)s;
	int err;

	l->width = lists_width(&s->config);
	if (!l->width)
		return SCD_EINVAL;
	err = lists_find_twins(l);
	for (unsigned i = 0; i < s->config.nproxies && !err; i++) {
		if (s->config.digest.coded)
			err = scd_list_new(&l->summary[i].coded, l->width,
					   i + UINT64_C(1));
	}
	return err ? err : flip_views_init(&l->views, &s->config,
					   s->config.nobjects);
}

static void lists_release(struct protocol_state *s)
{
	struct lists *l = (struct lists *)s;

	for (unsigned i = 0; i < s->config.nproxies; i++)
		scd_list_free(&l->summary[i].coded);
	flip_views_free(&l->views);
	masks_free(&l->told);
	free(l->twin);
	free(l->at);
}

static uint64_t lists_candidates(struct protocol_state *s, unsigned view,
				 uint32_t object, unsigned word)
{
	return masks_get(&((struct lists *)s)->views.view[view], object, 0,
			 word);
}

static void lists_prefetch(struct protocol_state *s, unsigned view,
			   uint32_t object)
{
	masks_prefetch(&((struct lists *)s)->views.view[view], object);
}

static int lists_reserve(struct lists *l, size_t n)
{
	uint32_t *at;

	if (n <= l->room)
		return 0;
	at = realloc(l->at, (n + n / 2) * sizeof(*at));
	if (!at)
		return SCD_ENOMEM;
	l->at = at;
	l->room = n + n / 2;
	return 0;
}

/* Whether a proxy has published an object or a twin of it. */
static bool lists_has_told(const struct lists *l, unsigned proxy,
			   uint32_t object)
{
	uint32_t o = object;

	do {
		if (masks_has(&l->told, o, 0, proxy))
			return true;
		o = l->twin[o];
	} while (o != object);
	return false;
}

/* An object with twins came or went; its row flips, and theirs, if it was the
 * first or the last of them. */
static int lists_flip_twins(struct lists *l, unsigned proxy, uint32_t object,
			    size_t *n)
{
	bool before = lists_has_told(l, proxy, object);
	uint32_t o = object;

	masks_flip(&l->told, object, 0, proxy);
	if (lists_has_told(l, proxy, object) == before)
		return 0;
	do {
		if (lists_reserve(l, *n + 1))
			return SCD_ENOMEM;
		l->at[(*n)++] = o;
		o = l->twin[o];
	} while (o != object);
	return 0;
}

/* Appends the rows that flip as objects come or go; *n of them there are. */
static int lists_flip_rows(struct lists *l, unsigned proxy,
			   const uint32_t *objects, size_t nobjects, size_t *n)
{
	int err = lists_reserve(l, *n + nobjects);

	if (!l->twin && !err) {
		if (nobjects)
			memcpy(l->at + *n, objects, nobjects * sizeof(*l->at));
		*n += nobjects;
		return 0;
	}
	for (size_t i = 0; i < nobjects && !err; i++) {
		uint32_t o = objects[i];

		if (i + AHEAD < nobjects)
			__builtin_prefetch(&l->twin[objects[i + AHEAD]]);
		if (l->twin[o] != o)
			err = lists_flip_twins(l, proxy, o, n);
		else
			err = lists_reserve(l, *n + 1);
		if (!err && l->twin[o] == o)
			l->at[(*n)++] = o;
	}
	return err;
}

/* Whether a full digest is of use beside a frame of so many bytes. */
static bool lists_need_full(const struct lists *l, const struct list_summary *p,
			    uint64_t frame)
{
	const struct protocol_config *c = &l->base.config;

	return p->generation == 1 || c->digest.form == PROTOCOL_FULL ||
	       c->digest.all_forms || c->nviews > 1 ||
	       digest_size_of_list(l->width, p->nentries) <= frame;
}

static void lists_compute_sizes(const struct lists *l,
				const struct list_summary *p,
				const struct protocol_changes *c,
				struct protocol_publication *out)
{
	const struct digest_change change = {
		.width = l->width,
		.n = p->nentries + c->nremoved - c->nadded,
		.nremoved = c->nremoved,
		.nadded = c->nadded,
		.generation = p->generation,
	};

	uint64_t frame = p->generation > 1 ? digest_size_of_frame(&change) : 0;

	out->coded[PROTOCOL_CONDITIONAL] = frame;
	if (lists_need_full(l, p, frame))
		out->coded[PROTOCOL_FULL] =
			digest_size_of_list(l->width, p->nentries);
}

static int lists_fingerprints(const struct lists *l, const uint32_t *objects,
			      size_t n, uint64_t **out)
{
	*out = malloc((n + 1) * sizeof(**out));
	if (!*out)
		return SCD_ENOMEM;
	for (size_t i = 0; i < n; i++)
		(*out)[i] = lists_fingerprint(l, objects[i]);
	return 0;
}

/* A change as libscd takes it, to be released with scd_list_change_free(). */
static int lists_sort_change(const struct lists *l,
			     const struct protocol_changes *c,
			     struct scd_list_change *out)
{
	int err;

	*out = (struct scd_list_change){ .nremoved = c->nremoved,
					 .nadded = c->nadded };
	err = lists_fingerprints(l, c->removed, c->nremoved, &out->removed);
	if (!err)
		err = lists_fingerprints(l, c->added, c->nadded, &out->added);
	return err ? err : scd_list_change_sort(out);
}

/* The bytes of a frame, by rank or by age. */
static int lists_code_frame(const struct list_summary *p,
			    const struct scd_list_change *change, size_t *len)
{
	uint8_t *bytes = NULL;
	size_t aged = 0;
	int err = scd_list_frame_encode(p->coded, change, p->generation, &bytes,
					len);

	free(bytes);
	bytes = NULL;
	if (!err && scd_list_has_ages(p->coded))
		err = scd_list_aged_frame_encode(p->coded, change,
						 p->generation, &bytes, &aged);
	free(bytes);
	if (aged && aged < *len)
		*len = aged;
	return err;
}

/* Codes a publication's frame and digest, and changes the list. */
static int lists_code_change(const struct lists *l, struct list_summary *p,
			     const struct scd_list_change *change,
			     struct protocol_publication *out)
{
	uint8_t *bytes = NULL;
	size_t len = 0;
	int err = 0;

	if (p->generation > 1)
		err = lists_code_frame(p, change, &len);
	out->coded[PROTOCOL_CONDITIONAL] = len;
	if (!err)
		err = scd_list_change(p->coded, change, p->generation);
	if (!err && p->nentries >= LEAST_AGED)
		err = scd_list_keep_ages(p->coded);
	if (err || !lists_need_full(l, p, len))
		return err;
	err = scd_list_encode(p->coded, &bytes, &len);
	free(bytes);
	out->coded[PROTOCOL_FULL] = len;
	return err;
}

/* Of what libscd refuses as too long a list, sizes are computed. */
static int lists_code(struct lists *l, struct list_summary *p,
		      const struct protocol_changes *c,
		      struct protocol_publication *out)
{
	struct scd_list_change change;
	int err = lists_sort_change(l, c, &change);

	if (!err)
		err = lists_code_change(l, p, &change, out);
	scd_list_change_free(&change);
	if (err != SCD_ELIMIT)
		return err;
	scd_list_free(&p->coded);
	lists_compute_sizes(l, p, c, out);
	return 0;
}

static void lists_choose_form(const struct protocol_config *c,
			      struct protocol_publication *out)
{
	uint64_t frame = out->coded[PROTOCOL_CONDITIONAL];

	out->whole = out->coded[PROTOCOL_FULL];
	out->full = c->digest.form == PROTOCOL_FULL || !frame ||
		    (out->whole && out->whole <= frame);
	out->wire = out->full ? out->whole : frame;
}

/* The bytes of a publication, after which the list is another. */
static int lists_measure(struct lists *l, const struct protocol_changes *c,
			 struct protocol_publication *out)
{
	struct list_summary *p = &l->summary[out->proxy];
	int err = 0;

	p->nentries += c->nadded - c->nremoved;
	p->generation++;
	if (p->coded)
		err = lists_code(l, p, c, out);
	else
		lists_compute_sizes(l, p, c, out);
	out->changes = c->nadded + c->nremoved;
	out->raw[0] = (p->nentries * l->width + 7) / 8;
	out->raw[1] = (out->changes * l->width + 7) / 8;
	lists_choose_form(&l->base.config, out);
	return err;
}

static int lists_publish(struct protocol_state *s, unsigned proxy,
			 const struct protocol_changes *c,
			 struct protocol_publication **out)
{
	struct lists *l = (struct lists *)s;
	struct flips *f;
	size_t n = 0;
	int err = lists_flip_rows(l, proxy, c->removed, c->nremoved, &n);

	if (!err)
		err = lists_flip_rows(l, proxy, c->added, c->nadded, &n);
	if (err)
		return err;
	f = flips_new(proxy, l->at, n);
	if (!f)
		return SCD_ENOMEM;
	err = lists_measure(l, c, &f->base);
	if (err) {
		flips_discard(s, &f->base);
		return err;
	}
	*out = &f->base;
	return 0;
}

static int lists_deliver(struct protocol_state *s, unsigned view,
			 struct protocol_publication *p)
{
	flips_deliver(&((struct lists *)s)->views.view[view], p);
	return 0;
}

static int lists_unpack(struct protocol_state *s,
			const struct protocol_publication *head,
			const uint8_t *in, size_t len,
			struct protocol_publication **out)
{
	struct lists *l = (struct lists *)s;

	l->summary[head->proxy].nentries = head->raw[0] * 8 / l->width;
	return flips_unpack(s, head, in, len, out);
}

static void lists_memory(const struct protocol_state *s, unsigned proxy,
			 uint64_t *peers, uint64_t *own)
{
	const struct lists *l = (const struct lists *)s;
	uint64_t all = 0, mine = l->summary[proxy].nentries;

	for (unsigned i = 0; i < s->config.nproxies; i++)
		all += l->summary[i].nentries;
	*peers = (all - mine) * (LIST_TENTHS + TABLE_TENTHS) / 10;
	*own = mine * LIST_TENTHS / 10;
}

const struct protocol protocol_lists = {
	.name = "lists",
	.about = "lists of fingerprints as digestd sends them",
	.way = PROTOCOL_SUMMARY,
	.sizes = {.fetch = 600, .update = 600},
	.size = sizeof(struct lists),
	.init = lists_init,
	.release = lists_release,
	.candidates = lists_candidates,
	.prefetch = lists_prefetch,
	.publish = lists_publish,
	.deliver = lists_deliver,
	.pack = flips_pack,
	.unpack = lists_unpack,
	.discard = flips_discard,
	.memory = lists_memory,
};
