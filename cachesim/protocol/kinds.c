/*
 * Digests that cannot be changed, only made anew from all objects: the other
 * kinds of libscd (codec/kind/kind.h). A publication is a whole digest, and its
 * bytes are those that the kind encodes.
 *
 * golomb, blocked: sized for what is in them; 1 % false positives, if nothing
 * else is asked for.
 *
 * squid: Squid's cache digests: 5 bits an object that the cache is expected to
 * hold, or holds, made anew once an hour and fetched by every peer; one peer
 * is asked, with only-if-cached.
 *
 * Each proxy has a sorted list of its objects as published. A lookup asks the
 * digests one by one, and remembers the answer as long as nothing arrives.
 */
#include <stdlib.h>

#include "cachesim/protocol/rows.h"
#include "codec/error.h"
#include "codec/kind/kind.h"
#include "codec/mix.h"

#define USUAL_FP .01

enum {
	SQUID_BITS = 5,
	ANSWERS = 1 << 14, /* remembered; a power of two */
};

/* A publication: a digest. */
struct digest {
	struct protocol_publication base;
	struct scd__summary *summary;
};

/* What digests said of an object. */
struct answer {
	uint32_t object;
	uint16_t view, word;
	uint64_t arrived; /* digests by then, + 1; 0: nothing is remembered */
	uint64_t peers;
};

struct members {
	uint32_t *at; /* ascending */
	size_t n;
};

struct kinds {
	struct protocol_state base;
	const struct scd__kind *kind;
	struct members members[PROTOCOL_MAX_PROXIES];
	struct digest *newest[PROTOCOL_MAX_PROXIES];
	struct digest **view; /* [view * nproxies + proxy] */
	uint64_t arrived;
	struct answer *answer;
};

static int kinds_init(struct protocol_state *s)
{
	struct kinds *k = (struct kinds *)s;
	size_t n = (size_t)s->config.nviews * s->config.nproxies;

	k->kind = scd__kind_find(s->protocol->name);
	k->view = calloc(n, sizeof(struct digest *));
	k->answer = calloc(ANSWERS, sizeof(*k->answer));
	return k->view && k->answer ? 0 : SCD_ENOMEM;
}

static void kinds_drop(struct protocol_state *s, struct digest *d)
{
	if (d)
		protocol_unref(s, &d->base);
}

static void kinds_release(struct protocol_state *s)
{
	struct kinds *k = (struct kinds *)s;
	size_t n = (size_t)s->config.nviews * s->config.nproxies;

	for (size_t i = 0; i < n && k->view; i++)
		kinds_drop(s, k->view[i]);
	for (unsigned i = 0; i < s->config.nproxies; i++) {
		kinds_drop(s, k->newest[i]);
		free(k->members[i].at);
	}
	free(k->view);
	free(k->answer);
}

static uint64_t kinds_ask(const struct kinds *k, unsigned view, uint32_t object,
			  unsigned word)
{
	const struct protocol_config *c = &k->base.config;
	struct scd_key key = scd__key_of_hash(c->hash[object]);
	unsigned first = word * PROTOCOL_WORD;
	uint64_t peers = 0;

	for (unsigned i = 0; i < PROTOCOL_WORD && first + i < c->nproxies;
	     i++) {
		const struct digest *d =
			k->view[view * c->nproxies + first + i];

		if (d && scd__summary_has(d->summary, &key))
			peers |= UINT64_C(1) << i;
	}
	return peers;
}

static uint64_t kinds_candidates(struct protocol_state *s, unsigned view,
				 uint32_t object, unsigned word)
{
	struct kinds *k = (struct kinds *)s;
	struct answer *a = &k->answer[(object + view + word * (ANSWERS / 4)) &
				      (ANSWERS - 1)];

	if (a->arrived != k->arrived + 1 || a->object != object ||
	    a->view != view || a->word != word)
		*a = (struct answer){object, (uint16_t)view, (uint16_t)word,
				     k->arrived + 1,
				     kinds_ask(k, view, object, word)};
	return a->peers;
}

static int kinds_compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint32_t *kinds_sorted(const uint32_t *at, size_t n)
{
	uint32_t *copy = malloc((n + 1) * sizeof(*copy));

	if (!copy)
		return NULL;
	for (size_t i = 0; i < n; i++)
		copy[i] = at[i];
	qsort(copy, n, sizeof(*copy), kinds_compare);
	return copy;
}

/* Merges a sorted list with what was added, without what was removed. */
static size_t kinds_merge(uint32_t *out, const struct members *old,
			  const struct protocol_changes *c)
{
	size_t n = 0, a = 0, r = 0;

	for (size_t i = 0; i < old->n; i++) {
		while (a < c->nadded && c->added[a] < old->at[i])
			out[n++] = c->added[a++];
		if (r < c->nremoved && c->removed[r] == old->at[i])
			r++;
		else
			out[n++] = old->at[i];
	}
	while (a < c->nadded)
		out[n++] = c->added[a++];
	return n;
}

static int kinds_change_members(struct members *m,
				const struct protocol_changes *c)
{
	struct protocol_changes s = *c;
	uint32_t *added = kinds_sorted(c->added, c->nadded);
	uint32_t *removed = kinds_sorted(c->removed, c->nremoved);
	uint32_t *at = malloc((m->n + c->nadded + 1) * sizeof(*at));
	int err = SCD_ENOMEM;

	if (added && removed && at) {
		s.added = added;
		s.removed = removed;
		m->n = kinds_merge(at, m, &s);
		free(m->at);
		m->at = at;
		at = NULL;
		err = 0;
	}
	free(added);
	free(removed);
	free(at);
	return err;
}

static struct scd__kind_goal kinds_goal_of(const struct protocol_state *s,
					   size_t n)
{
	const struct protocol_digest *d = &s->config.digest;
	struct scd__kind_goal g = {.nkeys = n ? n : 1};

	if (d->fp > 0)
		g.fp = d->fp;
	else if (d->bits > 0)
		g.bits = d->bits;
	else if (s->protocol->period_s)
		g.bits = SQUID_BITS;
	else
		g.fp = USUAL_FP;
	if (s->protocol->period_s && d->expected > g.nkeys)
		g.nkeys = d->expected;
	return g;
}

/* A sealed summary of a proxy's objects. */
static int kinds_summarize(const struct kinds *k, const struct members *m,
			   struct scd__summary **out)
{
	struct scd__kind_goal goal = kinds_goal_of(&k->base, m->n);
	int err = scd__summary_new(k->kind, &goal, out);

	for (size_t i = 0; i < m->n && !err; i++) {
		struct scd_key key =
			scd__key_of_hash(k->base.config.hash[m->at[i]]);

		err = scd__summary_add(*out, &key);
	}
	return err ? err : scd__summary_seal(*out);
}

static int kinds_measure(struct digest *d)
{
	uint8_t *bytes;
	size_t len;
	int err = scd__summary_encode(d->summary, &bytes, &len);

	if (err)
		return err;
	free(bytes);
	d->base.full = true;
	d->base.wire = d->base.whole = len;
	d->base.coded[PROTOCOL_FULL] = len;
	d->base.raw[0] = scd__summary_memory(d->summary);
	return 0;
}

static void kinds_discard(struct protocol_state *s,
			  struct protocol_publication *p)
{
	struct digest *d = (struct digest *)p;

	(void)s;
	scd__summary_free(&d->summary);
	free(d);
}

static int kinds_publish(struct protocol_state *s, unsigned proxy,
			 const struct protocol_changes *c,
			 struct protocol_publication **out)
{
	struct kinds *k = (struct kinds *)s;
	struct members *m = &k->members[proxy];
	struct digest *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return SCD_ENOMEM;
	d->base.proxy = proxy;
	d->base.users = 1;
	d->base.changes = c->nadded + c->nremoved;
	err = kinds_change_members(m, c);
	if (!err)
		err = kinds_summarize(k, m, &d->summary);
	if (!err)
		err = kinds_measure(d);
	if (err) {
		kinds_discard(s, &d->base);
		return err;
	}
	kinds_drop(s, k->newest[proxy]);
	k->newest[proxy] = d;
	d->base.users++;
	*out = &d->base;
	return 0;
}

static int kinds_deliver(struct protocol_state *s, unsigned view,
			 struct protocol_publication *p)
{
	struct kinds *k = (struct kinds *)s;
	size_t at = (size_t)view * s->config.nproxies + p->proxy;

	kinds_drop(s, k->view[at]);
	k->view[at] = (struct digest *)p;
	p->users++;
	k->arrived++;
	return 0;
}

static int kinds_pack(const struct protocol_publication *p, uint8_t **out,
		      size_t *len)
{
	return scd__summary_encode(((const struct digest *)p)->summary, out,
				   len);
}

static int kinds_unpack(struct protocol_state *s,
			const struct protocol_publication *head,
			const uint8_t *in, size_t len,
			struct protocol_publication **out)
{
	struct kinds *k = (struct kinds *)s;
	struct digest *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return SCD_ENOMEM;
	d->base = *head;
	d->base.users = 1;
	err = scd__summary_decode(k->kind, in, len, SIZE_MAX, &d->summary);
	if (err) {
		free(d);
		return err;
	}
	kinds_drop(s, k->newest[head->proxy]);
	k->newest[head->proxy] = d;
	d->base.users++;
	*out = &d->base;
	return 0;
}

static void kinds_memory(const struct protocol_state *s, unsigned proxy,
			 uint64_t *peers, uint64_t *own)
{
	const struct kinds *k = (const struct kinds *)s;

	*peers = *own = 0;
	for (unsigned i = 0; i < s->config.nproxies; i++) {
		if (k->newest[i])
			*(i == proxy ? own : peers) +=
				scd__summary_memory(k->newest[i]->summary);
	}
}

#define KIND                                                                   \
	.way = PROTOCOL_SUMMARY, .sizes = {.fetch = 600, .update = 600},       \
	.size = sizeof(struct kinds), .init = kinds_init,                      \
	.release = kinds_release, .candidates = kinds_candidates,              \
	.publish = kinds_publish, .deliver = kinds_deliver,                    \
	.pack = kinds_pack, .unpack = kinds_unpack, .discard = kinds_discard,  \
	.memory = kinds_memory

const struct protocol protocol_golomb = {
	.name = "golomb",
	.about = "Golomb-coded sets, made anew each time",
	KIND,
};

const struct protocol protocol_blocked = {
	.name = "blocked",
	.about = "blocked Bloom filters, made anew each time",
	KIND,
};

const struct protocol protocol_squid = {
	.name = "squid",
	.about = "Squid's cache digests, made anew once an hour",
	.period_s = 3600,
	KIND,
};
