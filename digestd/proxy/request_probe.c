/*
 * Probes: how a peer that failed comes back. It is asked for what a client
 * wants, by a request of its own without an exchange, while the client's goes
 * on to other peers and the origin: no client waits for a half-open peer. The
 * answer is judged as for a client, read, and forgotten.
 *
 * It costs the peer one answer more, once in PEERSET_PROBE_MS while it is
 * half open, and as the first outcome ends that, mostly one in all.
 */
#include "digestd/proxy/request.h"

void request_probe(const struct request *r, uint32_t peer, unsigned timeout_ms)
{
	struct request *probe = request_beside(r);

	if (!probe)
		return; /* another request will */
	probe->cc = r->cc;
	probe->view = peerset_ref(r->view);
	probe->peer = peerset_at(probe->view, peer);
	probe->fill.purpose = NODE_FOR_PROBE;
	if (request_fetch_peer(probe, timeout_ms)) {
		request_settle(probe);
		return;
	}
	worker_add(&r->worker->counters.peer_probes, 1);
}
