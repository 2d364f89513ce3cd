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
	REQUEST_SMALL_BODY = NODE_SMALL_BODY, /* is part of that */
	REQUEST_PIECE = 65536, /* comes at once, and may wait beside a window */
	REQUEST_WINDOW_MIN = 16384,
};

bool request_hold(struct request *r, uint64_t bytes)
{
	struct request_memory *m = &r->memory;

	if (bytes <= REQUEST_SMALL_BODY)
		return true;
	if (!m->passes && ledger_hold(&memory_ledger, LEDGER_promised, &m->body,
				      bytes, memory_reserve()))
		return true;
	return false;
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

bool request_goes_on(struct request *r)
{
	/* nobody else is short of memory */
	if (ledger_left(&memory_ledger) >= memory_reserve() &&
	    node_fill_is_worth_finishing(&r->fill))
		return true;
	return !flights_land_alone(r->worker->flights, &r->lead);
}
