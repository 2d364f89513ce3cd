/*
 * What a fill takes of the process's memory, by its ledger; how much that is,
 * node/node_memory.h decides.
 *
 * A body that is to be stored is collected: all that it will take is taken
 * before the first byte, so that what has begun can be finished. Where there is
 * no room it is passed through with a window, and the slowest of both ends sets
 * the pace. What neither collects nor passes costs a fixed sum, which small
 * bodies are part of: see fill.c.
 */
#include "digestd/proxy/fill.h"

_Static_assert((int)FETCH_TUNNEL_BYTES == (int)NODE_TUNNEL_BYTES,
	       "what comes at once");

bool fill_hold(struct fill *f, uint64_t bytes)
{
	const struct node_memory memory = worker_memory();
	struct fill_memory *m = &f->memory;

	if (m->passes)
		return bytes <= NODE_SMALL_BODY;
	return node_memory_collect(&memory, &m->body, bytes);
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
	const struct node_memory memory = worker_memory();
	struct fill_memory *m = &f->memory;

	if (m->passes)
		return m->window;
	fill_release(f);
	m->passes = true;
	m->window = f->tunnel ? node_memory_tunnel(&memory, &m->body) :
				node_memory_stream(&memory, &m->body,
						   f->q->settings->window_bytes,
						   f->body.len);
	return m->window;
}

void fill_trim(struct fill *f)
{
	struct fill_memory *m = &f->memory;
	uint64_t surplus;

	if (!m->passes)
		return;
	surplus = node_memory_surplus(&m->body, m->window, f->body.len);
	if (!surplus)
		return;
	buffer_fit(&f->body, m->window + NODE_PIECE_BYTES);
	ledger_return(&memory_ledger, LEDGER_streams, surplus);
	m->body.bytes -= surplus;
}

bool fill_is_awaited(struct fill *f)
{
	return !collapses_end_alone(f->worker->shared.collapses, &f->collapse);
}

bool fill_is_wanted(struct fill *f)
{
	const struct node_memory memory = worker_memory();

	return node_fill_goes_on_alone(&f->node,
				       node_memory_is_short(&memory)) ||
	       fill_is_awaited(f);
}
