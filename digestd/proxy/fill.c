/*
 * The life of a fill.
 */
#include "digestd/proxy/fill.h"

#include <assert.h>
#include <stdlib.h>

#include "digestd/mesh/peerset.h"

enum { FILL_BYTES = 8192 }; /* with its request and a small body */

/* Of a question that becomes its own. */
static struct fill *fill_make(struct worker *w, struct question *q,
			      const struct fields *fields)
{
	struct fill *f = calloc(1, sizeof(*f));

	if (!f || fields_copy(fields, &f->in)) {
		question_unref(&q);
		free(f);
		return NULL;
	}
	f->worker = w;
	f->q = q;
	fields_init(&f->out);
	fields_init(&f->response);
	fields_init(&f->withheld);
	fields_init(&f->trailers);
	fields_init(&f->selecting);
	/* as they came, and as they are sent */
	f->counted = FILL_BYTES + 2 * fields_memory(&f->in);
	ledger_add(&memory_ledger, LEDGER_requests, f->counted);
	f->next = w->fills;
	f->link = &w->fills;
	if (f->next)
		f->next->link = &f->next;
	w->fills = f;
	return f;
}

struct fill *fill_new(struct worker *w, struct question *q,
		      const struct fields *fields)
{
	return fill_make(w, question_ref(q), fields);
}

struct fill *fill_new_beside(struct worker *w, const struct question *q,
			     const struct fields *fields)
{
	struct question *get = question_get(q);
	struct fill *f = get ? fill_make(w, get, fields) : NULL;

	if (!f)
		return NULL;
	fields_remove(&f->in, "Range");
	fields_remove(&f->in, "If-Range");
	return f;
}

int fill_keep_trailers(struct fill *f, const struct fields *trailers)
{
	fill_drop_trailers(f);
	if (fields_copy(trailers, &f->trailers))
		return -1;
	ledger_add(&memory_ledger, LEDGER_requests,
		   fields_memory(&f->trailers));
	return 0;
}

void fill_drop_trailers(struct fill *f)
{
	ledger_return(&memory_ledger, LEDGER_requests,
		      fields_memory(&f->trailers));
	fields_free(&f->trailers);
}

static void fill_free(struct fill *f)
{
	assert(!f->client && !f->passes_to);
	fill_hedge_forget(f);
	fill_copy_end(f);
	fill_check_free(f);
	fill_stop_fetch(f);
	fill_origin_release(f);
	fill_tunnel_end(f);
	fill_end_collapse(f);
	fill_cut_free(f);
	fill_release(f);
	ledger_return(&memory_ledger, LEDGER_requests, f->counted);
	*f->link = f->next;
	if (f->next)
		f->next->link = f->link;
	if (!f->stored || f->stored->sliced) /* else they are its */
		buffer_free(&f->body);
	cached_unref(&f->head);
	cached_unref(&f->stored);
	cached_unref(&f->stale);
	cached_unref(&f->refreshed);
	fields_free(&f->in);
	fields_free(&f->out);
	fields_free(&f->response);
	fields_free(&f->withheld);
	fill_drop_trailers(f);
	fields_free(&f->selecting);
	peerset_unref(f->view);
	question_unref(&f->q);
	free(f);
}

void fill_free_if_over(struct fill *f)
{
	if (!f->client && !f->passes_to && f->node.state == NODE_LANDED &&
	    !f->busy)
		fill_free(f);
}

void fill_end_all(struct worker *w)
{
	while (w->fills)
		fill_free(w->fills);
}
