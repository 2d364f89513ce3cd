/*
 * Exchanges. Those that are over are kept, with their memory, for the next
 * requests, so that a hit allocates nothing.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/memory.h"
#include "digestd/server/front.h"

enum {
	SPARE_MAX = 64,
	KEPT_BYTES = 8192,     /* of a header; larger ones are freed */
	EXCHANGE_BYTES = 2048, /* what one takes, with what its handler has of
				  it, beside its headers */
};

void front_exchange_count(struct front_exchange *fx)
{
	size_t bytes = EXCHANGE_BYTES + fx->text_cap + fx->head.cap +
		       fields_memory(&fx->x.fields) +
		       fields_memory(&fx->x.trailers);

	if (bytes == fx->counted) /* mostly: it is an earlier one's */
		return;
	ledger_add(&memory_ledger, LEDGER_connections, bytes);
	ledger_return(&memory_ledger, LEDGER_connections, fx->counted);
	fx->counted = bytes;
}

struct front_exchange *front_exchange_new(struct front_conn *c)
{
	struct front_server *s = front_server(c);
	struct front_exchange *fx = s->spare;

	if (fx) {
		s->spare = fx->next;
		s->nspare--;
		fx->next = NULL;
	} else {
		fx = calloc(1, sizeof(*fx));
		if (!fx)
			return NULL;
		front_exchange_count(fx);
	}
	fx->x.conn = &c->base;
	fx->x.request.client = c->base.address;
	return fx;
}

static void front_exchange_free(struct front_exchange *fx)
{
	fields_free(&fx->x.fields);
	fields_free(&fx->x.trailers);
	reply_head_free(&fx->head);
	free(fx->text);
	ledger_return(&memory_ledger, LEDGER_connections, fx->counted);
	free(fx);
}

static void front_exchange_release_reply(struct front_exchange *fx)
{
	shared_reply_unref(fx->shared);
	if (fx->memory.release)
		fx->memory.release(fx->memory.arg);
	front_stream_free(fx->stream);
}

/* Makes it ready for another request. */
static void front_exchange_clear(struct front_exchange *fx)
{
	struct fields fields = fx->x.fields;

	fields_clear(&fields);
	fields_free(&fx->x.trailers);
	fx->x = (struct exchange){ .fields = fields };
	fx->next = NULL;
	memset((char *)fx + offsetof(struct front_exchange, keeps_old), 0,
	       sizeof(*fx) - offsetof(struct front_exchange, keeps_old));
	front_exchange_count(fx);
}

/* How much of the body has gone, as far as that shows. */
static void front_exchange_account(struct front_exchange *fx)
{
	struct exchange_account *account = &fx->x.account;
	uint64_t left = fx->file_left + fx->h2.left;

	if (fx->stream)
		account->bytes = fx->stream->moved;
	else
		account->bytes -= left < account->bytes ? left : account->bytes;
}

void front_exchange_end(struct front_exchange *fx, enum exchange_end end)
{
	struct front_server *s = (struct front_server *)fx->x.conn->server;

	fx->x.answered = true;
	if (end == EXCHANGE_ABORTED) {
		fx->x.aborted = true;
		if (fx->stream && fx->stream->by_close)
			front_conn_of(&fx->x)->cut = true;
	}
	front_exchange_account(fx);
	if (fx->x.started && s->base.handler->on_done)
		s->base.handler->on_done(s->base.arg, &fx->x, end);
	front_exchange_release_reply(fx);
	if (s->nspare == SPARE_MAX || s->base.stopping ||
	    fx->text_cap > KEPT_BYTES || fx->head.cap > KEPT_BYTES) {
		front_exchange_free(fx);
		return;
	}
	front_exchange_clear(fx);
	fx->next = s->spare;
	s->spare = fx;
	s->nspare++;
}

void front_exchange_free_spare(struct front_server *s)
{
	while (s->spare) {
		struct front_exchange *fx = s->spare;

		s->spare = fx->next;
		front_exchange_free(fx);
	}
	s->nspare = 0;
}
