/*
 * Probes: how a peer that failed comes back. It is asked for what a client
 * wants, by a fill without a client, while the client's goes on to other peers
 * and the origin: no client waits for a half-open peer. The
 * answer is judged as for a client, read, and forgotten.
 *
 * It costs the peer one answer more, once in PEERSET_PROBE_MS while it is
 * half open, and as the first outcome ends that, mostly one in all.
 */
#include "digestd/proxy/fill.h"

void fill_probe(const struct fill *f, uint32_t peer, unsigned timeout_ms)
{
	struct fill *probe = fill_new_beside(f->worker, f->q, &f->in);

	if (!probe)
		return; /* another request will */
	probe->view = peerset_ref(f->view);
	probe->peer = peerset_at(probe->view, peer);
	probe->node.purpose = NODE_FOR_PROBE;
	if (fill_ask_peer(probe, timeout_ms)) {
		fill_free_if_over(probe);
		return;
	}
	worker_add(&f->worker->counters.peer_probes, 1);
}
