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

/* More of a body is not waited for: whoever sends so much in time, answers. */
enum { PROBE_BYTES = 262144 };

static void request_probe_end(struct request *probe,
			      enum peer_outcome kind)
{
	request_tell(probe, kind, probe->rtt_ms);
	request_stop_fetch(probe);
	request_settle(probe);
}

static void request_probe_on_headers(void *arg, struct fetch *f,
				     unsigned status,
				     const struct fields *fields,
				     int64_t body_len)
{
	struct request *probe = arg;
	enum peer_outcome kind = OUTCOME_FAILED;

	(void)f;
	if (!request_take_response(probe, status, fields, body_len))
		kind = request_judge(probe);
	probe->storing = false;
	probe->rtt_ms = request_elapsed_ms(probe);
	if (kind != OUTCOME_HIT)
		request_probe_end(probe, kind);
}

static bool request_probe_on_body(void *arg, struct fetch *f, const void *data,
				  size_t len)
{
	struct request *probe = arg;

	(void)f;
	(void)data;
	probe->received += len;
	if (probe->received > PROBE_BYTES)
		request_probe_end(probe, OUTCOME_HIT);
	return true;
}

static void request_probe_on_done(void *arg, struct fetch *f,
				  const struct fetch_done *done)
{
	struct request *probe = arg;

	(void)f;
	probe->fetch = NULL;
	if (done->result != FETCH_COMPLETE)
		probe->rtt_ms = 0;
	request_probe_end(probe, done->result == FETCH_COMPLETE
					 ? OUTCOME_HIT
					 : OUTCOME_FAILED);
}

static const struct fetch_callbacks callbacks = {
	.on_headers = request_probe_on_headers,
	.on_body = request_probe_on_body,
	.on_done = request_probe_on_done,
};

static void request_probe_too_slow(void *arg)
{
	struct request *probe = arg;

	probe->rtt_ms = 0;
	request_probe_end(probe, OUTCOME_FAILED);
}

void request_probe(const struct request *r, uint32_t peer, unsigned timeout_ms)
{
	struct request *probe = request_beside(r);
	struct loop *loop = r->worker->loop;

	if (!probe)
		return; /* another request will */
	probe->cc = r->cc;
	probe->view = peerset_ref(r->view);
	probe->peer = peerset_at(probe->view, peer);
	if (request_fetch_peer(probe, timeout_ms, &callbacks)) {
		request_settle(probe);
		return;
	}
	worker_add(&r->worker->counters.peer_probes, 1);
	loop_timer_set(loop, &probe->patience,
		       loop_now_ms(loop) + probe->settings->peer_budget_ms,
		       request_probe_too_slow, probe);
}
