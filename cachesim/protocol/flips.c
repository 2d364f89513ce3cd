/*
 * Publications that flip rows of views.
 */
#include "cachesim/protocol/flips.h"

#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

enum { AHEAD = 12 }; /* rows fetched before they are flipped */

int flip_views_init(struct flip_views *v, const struct protocol_config *c,
		    uint64_t nrows)
{
	int err = 0;

	for (unsigned i = 0; i < c->nviews && !err; i++)
		err = masks_init(&v->view[i], nrows, 1, c->nproxies);
	return err;
}

void flip_views_free(struct flip_views *v)
{
	for (unsigned i = 0; i < PROTOCOL_MAX_PROXIES; i++)
		masks_free(&v->view[i]);
}

struct flips *flips_new(unsigned proxy, const uint32_t *at, size_t n)
{
	struct flips *f = malloc(sizeof(*f) + n * sizeof(f->at[0]));

	if (!f)
		return NULL;
	memset(f, 0, sizeof(*f));
	f->base.proxy = proxy;
	f->base.users = 1;
	f->base.changes = n;
	f->n = n;
	if (at && n)
		memcpy(f->at, at, n * sizeof(f->at[0]));
	return f;
}

void flips_deliver(struct masks *view, const struct protocol_publication *p)
{
	const struct flips *f = (const struct flips *)p;
	uint8_t *first = masks_place(view, 0, 0) + (p->proxy >> 3);
	uint8_t bit = (uint8_t)(1u << (p->proxy & 7));
	size_t row = view->row, n = f->n;

	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			__builtin_prefetch(first + f->at[i + AHEAD] * row, 1);
		first[f->at[i] * row] ^= bit;
	}
}

int flips_pack(const struct protocol_publication *p, uint8_t **out,
	       size_t *len)
{
	const struct flips *f = (const struct flips *)p;

	*len = f->n * sizeof(f->at[0]);
	*out = malloc(*len + 1);
	if (!*out)
		return SCD_ENOMEM;
	memcpy(*out, f->at, *len);
	return 0;
}

int flips_unpack(struct protocol_state *s,
		 const struct protocol_publication *head, const uint8_t *in,
		 size_t len, struct protocol_publication **out)
{
	struct flips *f = flips_new(head->proxy, NULL, len / sizeof(f->at[0]));

	(void)s;
	if (!f)
		return SCD_ENOMEM;
	f->base = *head;
	f->base.users = 1;
	memcpy(f->at, in, len);
	*out = &f->base;
	return 0;
}

void flips_discard(struct protocol_state *s, struct protocol_publication *p)
{
	(void)s;
	free(p);
}
