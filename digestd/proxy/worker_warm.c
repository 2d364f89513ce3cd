/*
 * Keeps connections to distant peers open: a handshake costs a round trip, or
 * three with TLS, and a second if a packet of it is lost. To near peers it
 * costs nothing that matters, and there are many of them.
 *
 * Once in a second each peer of the view that is far, and may be asked, gets
 * what it lacks: of those that it had it may have closed some, and one that a
 * request gave up is gone.
 */
#include "digestd/mesh/peerset.h"
#include "digestd/proxy/worker_inside.h"

enum {
	WARM_MS = 1000,
	WARM_CONNECTIONS = 2, /* to each, one of which may be in use */
};

/* Returns whether it is far. */
static bool worker_warm_peer(struct worker *w, const struct peerset_peer *p)
{
	const struct distance *d =
		distance_table_find(&w->peer_distances, p->id);

	if (!p->usable || p->half_open || !distance_is_far(d))
		return false;
	fetcher_warm(w->fetcher, p->url, w->settings->peer_client_tls,
		     (unsigned)distance_connect_ms(d), WARM_CONNECTIONS);
	return true;
}

static void worker_warm_all(void *arg)
{
	struct worker *w = arg;
	bool far = false;

	for (size_t i = 0; w->view && i < peerset_count(w->view); i++)
		far |= worker_warm_peer(w, peerset_at(w->view, i));
	if (far)
		loop_timer_set(w->loop, &w->warm, worker_now_ms(w) + WARM_MS,
			       worker_warm_all, w);
}

void worker_keep_warm(struct worker *w)
{
	if (!w->warm.link)
		loop_timer_set(w->loop, &w->warm, worker_now_ms(w),
			       worker_warm_all, w);
}
