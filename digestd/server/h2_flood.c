/*
 * What a client may send that brings no request nearer to its end: frames that
 * only ask for an answer, that change nothing, or that take back what was asked
 * for before anybody could answer (CVE-2023-44487). Each costs some of the
 * client's credit; replies that it lets end bring it back, and so does time.
 * Who has none left is told so (ENHANCE_YOUR_CALM), and closed.
 *
 * A browser that drops a page of a hundred pictures has spent a third of it.
 */
#include "digestd/server/h2.h"

enum {
	CREDIT_MAX = 1200,
	CREDIT_PER_S = 120,
};

static void h2_flood_add(struct h2_conn *h2, int64_t gain)
{
	h2->credit += gain;
	if (h2->credit > CREDIT_MAX)
		h2->credit = CREDIT_MAX;
}

void h2_flood_begin(struct front_conn *c)
{
	c->h2->credit = CREDIT_MAX;
	c->h2->credit_ms = loop_now_ms(c->base.server->loop);
}

void h2_flood_earn(struct front_conn *c, unsigned gain)
{
	h2_flood_add(c->h2, gain);
}

/* The clock is asked for only when there is little left. */
bool h2_flood_spend(struct front_conn *c, unsigned cost)
{
	struct h2_conn *h2 = c->h2;
	int64_t now_ms, gain;

	h2->credit -= cost;
	if (h2->credit > 0)
		return true;
	now_ms = loop_now_ms(c->base.server->loop);
	gain = (now_ms - h2->credit_ms) * CREDIT_PER_S / 1000;
	h2->credit_ms = now_ms;
	h2_flood_add(h2, gain);
	return h2->credit > 0;
}
