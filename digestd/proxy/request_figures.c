/*
 * What a request adds to its worker's figures when it is over.
 *
 * Times are those of the loop's clock, which stands still within a turn. A
 * request that was answered in the turn in which it came, as most hits are, has
 * taken no time by that; a look at a better clock would cost 1.5 % of a hit. So
 * one in REQUEST_FIGURES_TIMED of these is timed, and stands for those behind
 * it.
 */
#include "digestd/proxy/request.h"

enum { REQUEST_FIGURES_TIMED = 16 };

/* How long a request took that has come in this turn. */
static int64_t request_figures_turn_us(struct worker *w)
{
	if (!w->untimed--) {
		w->untimed = REQUEST_FIGURES_TIMED - 1;
		w->timed_us = loop_clock_us() - loop_now_us(w->loop);
	}
	return w->timed_us;
}

void request_figures_note(const struct request *r)
{
	struct worker *w = r->worker;
	struct exchange_account account;
	int64_t took_us, first_us;

	if (r->node.from_peer)
		return;
	exchange_account(r->x, &account);
	took_us = loop_now_us(w->loop) - r->came_us;
	first_us = account.replied_us - r->came_us;
	if (!took_us)
		took_us = first_us = request_figures_turn_us(w);
	histogram_add(&w->figures.duration[r->source], took_us);
	if (account.status)
		histogram_add(&w->figures.first_byte[r->source], first_us);
	request_figures_count(w, account.status);
}

void request_figures_count(struct worker *w, unsigned status)
{
	unsigned class = status / 100;

	worker_add(&w->figures.responses[class < FIGURES_CLASSES ? class : 0],
		   1);
}
