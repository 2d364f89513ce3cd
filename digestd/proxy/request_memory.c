/*
 * What a request takes of the process's memory, by its ledger.
 *
 * A body that is to be stored is collected: all that it will take is taken
 * before the first byte, so that what has begun can be finished. Where there is
 * no room it is passed through with a window, and the slowest of both ends sets
 * the pace. A request that neither collects nor passes costs a fixed sum, which
 * small bodies are part of.
 */
#include "digestd/proxy/request.h"

enum {
	REQUEST_BYTES = 8192, /* of one that asks others, with its fields */
	REQUEST_SMALL_BODY = 4096, /* is part of that */
	REQUEST_PIECE = 65536, /* comes at once, and may wait beside a window */
	REQUEST_WINDOW_MIN = 16384,
	/* what is fetched to its end when its client has left: */
	REQUEST_ALONE_BYTES = 1 << 20,
	REQUEST_ALONE_UNKNOWN = 262144, /* so far, of an unknown length */
};

bool request_hold(struct request *r, uint64_t bytes)
{
	struct request_memory *m = &r->memory;

	if (bytes <= REQUEST_SMALL_BODY)
		return true;
	if (!m->passes && ledger_hold(&memory_ledger, LEDGER_promised, &m->body,
				      bytes, memory_reserve()))
		return true;
	worker_add(&r->worker->counters.memory_passed, r->storing);
	return false;
}

bool request_hold_whole(struct request *r)
{
	uint64_t len = r->body_len < 0 ? 0 : (uint64_t)r->body_len;

	return request_hold(r, r->storing ? len : 2 * len);
}

void request_pass(struct request *r)
{
	r->storing = false;
	cached_unref(&r->head);
}

/* What has come is there, and not only promised. */
void request_held(struct request *r)
{
	struct request_memory *m = &r->memory;
	uint64_t come = r->body.len < m->body.bytes ? r->body.len :
						      m->body.bytes;

	if (m->passes || come <= m->come)
		return;
	ledger_move(&memory_ledger, LEDGER_promised, LEDGER_collected,
		    come - m->come);
	m->come = come;
}

void request_release(struct request *r)
{
	struct request_memory *m = &r->memory;

	if (m->passes) {
		ledger_release(&memory_ledger, LEDGER_streams, &m->body);
	} else if (m->body.bytes) {
		ledger_move(&memory_ledger, LEDGER_collected, LEDGER_promised,
			    m->come);
		ledger_release(&memory_ledger, LEDGER_promised, &m->body);
	}
	m->come = 0;
	m->passes = false;
}

bool request_refuse_body(struct request *r)
{
	bool small = r->body_len >= 0 && r->body_len <= REQUEST_SMALL_BODY;

	if (!r->x || r->storing || r->unsafe || small)
		return false;
	/* what is left then is for connections, and for what is under way */
	if (ledger_left(&memory_ledger) < memory_reserve() / 4) {
		worker_add(&r->worker->counters.memory_refused, 1);
		reply_busy(r);
		return true;
	}
	request_window(r); /* counts before the next one looks */
	return false;
}

size_t request_window(struct request *r)
{
	struct request_memory *m = &r->memory;
	size_t whole = r->settings->window_bytes;

	if (m->passes)
		return m->window;
	request_release(r);
	m->passes = true;
	m->window = whole;
	/* beside what waits here, a piece may come and another be held */
	if (r->body.len <= whole &&
	    ledger_hold(&memory_ledger, LEDGER_streams, &m->body,
			whole + 2 * REQUEST_PIECE, memory_reserve() / 4 * 3))
		return whole;
	if (whole > REQUEST_WINDOW_MIN)
		m->window = REQUEST_WINDOW_MIN;
	/* all that was collected, when it began to pass in its middle */
	m->body.bytes = m->window + 2 * REQUEST_PIECE + r->body.len;
	ledger_add(&memory_ledger, LEDGER_streams, m->body.bytes);
	return m->window;
}

void request_trim(struct request *r)
{
	struct request_memory *m = &r->memory;
	uint64_t need = m->window + 2 * REQUEST_PIECE;

	if (!m->passes || m->body.bytes <= need || r->body.len > m->window)
		return;
	buffer_fit(&r->body, m->window + REQUEST_PIECE);
	ledger_return(&memory_ledger, LEDGER_streams, m->body.bytes - need);
	m->body.bytes = need;
}

void request_count_asking(struct request *r)
{
	if (!r->memory.asks)
		ledger_add(&memory_ledger, LEDGER_requests, REQUEST_BYTES);
	r->memory.asks = true;
}

size_t request_upload_window(struct request *r, size_t most)
{
	struct ledger_account *upload = &r->memory.upload;

	if (!upload->bytes &&
	    !ledger_hold(&memory_ledger, LEDGER_uploads, upload, most,
			 memory_reserve() / 2)) {
		upload->bytes = REQUEST_SMALL_BODY;
		ledger_add(&memory_ledger, LEDGER_uploads, upload->bytes);
	}
	return most < upload->bytes ? most : (size_t)upload->bytes;
}

void request_return_memory(struct request *r)
{
	request_release(r);
	ledger_release(&memory_ledger, LEDGER_uploads, &r->memory.upload);
	if (r->memory.asks)
		ledger_return(&memory_ledger, LEDGER_requests, REQUEST_BYTES);
	r->memory.asks = false;
}

/* Small, or nearly done, and nobody else is short of memory. */
static bool request_is_worth_finishing(const struct request *r)
{
	uint64_t len = r->body_len < 0 ? 0 : (uint64_t)r->body_len;

	if (ledger_left(&memory_ledger) < memory_reserve())
		return false;
	if (r->body_len < 0)
		return r->received <= REQUEST_ALONE_UNKNOWN;
	return len <= REQUEST_ALONE_BYTES || len - r->received <= len / 4;
}

bool request_goes_on(struct request *r)
{
	return request_is_worth_finishing(r) ||
	       !flights_land_alone(r->worker->flights, &r->lead);
}

void request_give_up(struct request *r)
{
	worker_add(&r->worker->counters.memory_given_up, 1);
	request_stop_fetch(r);
	r->storing = false;
	request_land(r);
}
