/*
 * What a fill takes of the process's memory, by its ledger.
 *
 * A body that is to be stored is collected: all that it will take is taken
 * before the first byte, so that what has begun can be finished. Where there is
 * no room it is passed through with a window, and the slowest of both ends sets
 * the pace. What neither collects nor passes costs a fixed sum, which small
 * bodies are part of: see fill.c.
 */
#include "digestd/proxy/fill.h"

enum {
	FILL_PIECE = 65536, /* comes at once, and may wait beside a window */
	FILL_WINDOW_MIN = 16384,
};

bool fill_hold(struct fill *f, uint64_t bytes)
{
	struct fill_memory *m = &f->memory;

	if (bytes <= NODE_SMALL_BODY)
		return true;
	if (!m->passes && ledger_hold(&memory_ledger, LEDGER_promised, &m->body,
				      bytes, memory_reserve()))
		return true;
	return false;
}

/* What has come is there, and not only promised. */
void fill_held(struct fill *f)
{
	struct fill_memory *m = &f->memory;
	uint64_t come =
		f->body.len < m->body.bytes ? f->body.len : m->body.bytes;

	if (m->passes || come <= m->come)
		return;
	ledger_move(&memory_ledger, LEDGER_promised, LEDGER_collected,
		    come - m->come);
	m->come = come;
}

void fill_release(struct fill *f)
{
	struct fill_memory *m = &f->memory;

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

size_t fill_window(struct fill *f)
{
	struct fill_memory *m = &f->memory;
	size_t whole = f->q->settings->window_bytes;

	if (m->passes)
		return m->window;
	fill_release(f);
	m->passes = true;
	m->window = whole;
	/* beside what waits here, a piece may come and another be held */
	if (f->body.len <= whole &&
	    ledger_hold(&memory_ledger, LEDGER_streams, &m->body,
			whole + 2 * FILL_PIECE, memory_reserve() / 4 * 3))
		return whole;
	if (whole > FILL_WINDOW_MIN)
		m->window = FILL_WINDOW_MIN;
	/* all that was collected, when it began to pass in its middle */
	m->body.bytes = m->window + 2 * FILL_PIECE + f->body.len;
	ledger_add(&memory_ledger, LEDGER_streams, m->body.bytes);
	return m->window;
}

void fill_trim(struct fill *f)
{
	struct fill_memory *m = &f->memory;
	uint64_t need = m->window + 2 * FILL_PIECE;

	if (!m->passes || m->body.bytes <= need || f->body.len > m->window)
		return;
	buffer_fit(&f->body, m->window + FILL_PIECE);
	ledger_return(&memory_ledger, LEDGER_streams, m->body.bytes - need);
	m->body.bytes = need;
}

bool fill_goes_on(struct fill *f)
{
	/* nobody else is short of memory */
	if (ledger_left(&memory_ledger) >= memory_reserve() &&
	    node_fill_is_worth_finishing(&f->node))
		return true;
	return !collapses_end_alone(f->worker->shared.collapses, &f->collapse);
}
