/*
 * The steps that ask others: peers, one after the other within a budget, then
 * the origin; and what a peer's answer is worth.
 */
#include <stdio.h>
#include <string.h>

#include "digestd/http/answer.h"
#include "digestd/http/conditional.h"
#include "digestd/http/decimal.h"
#include "digestd/http/forward.h"
#include "digestd/http/targeted.h"
#include "digestd/node/node_answer.h"
#include "digestd/os/address.h"
#include "digestd/proxy/request.h"

enum {
	LOW_RATE = 1, /* [bytes/s]: a fetch that stands still */
};

void request_stop_fetch(struct request *r)
{
	fetch_cancel(&r->fetch);
	loop_timer_clear(r->worker->loop, &r->patience);
}

void request_tell(const struct request *r, enum peer_outcome kind,
		  unsigned rtt_ms)
{
	const struct worker_hooks *hooks = &r->worker->hooks;
	struct worker_outcome outcome = {
		.kind = kind,
		.peer = r->peer->id,
		.rtt_ms = rtt_ms,
		.body_bytes = r->body.len,
	};

	if (hooks->on_outcome)
		hooks->on_outcome(hooks->arg, &outcome);
}

void request_learn(struct request *r, enum peer_outcome kind,
		   unsigned rtt_ms)
{
	struct worker_counters *counters = &r->worker->counters;

	switch (kind) {
	case OUTCOME_HIT:
		worker_add(&counters->remote_hits, 1);
		break;
	case OUTCOME_FALSE_HIT:
		worker_add(&counters->false_hits, 1);
		break;
	case OUTCOME_STALE:
		worker_add(&counters->stale_hits, 1);
		break;
	case OUTCOME_VARIANT:
		worker_add(&counters->variant_misses, 1);
		break;
	case OUTCOME_FAILED:
		worker_add(&counters->peer_errors, 1);
		break;
	}
	request_tell(r, kind, rtt_ms);
}

unsigned request_elapsed_ms(const struct request *r)
{
	int64_t ms = request_now_ms(r) - r->asked_ms;

	return ms > 0 ? (unsigned)ms : 1;
}

enum peer_outcome request_judge(struct request *r)
{
	struct node_answer answer = {
		.status = r->status,
		.fields = &r->response,
		.freshness = &r->freshness,
		.request = &r->in,
		.cc = &r->cc,
		.now_s = request_now_s(r),
	};
	struct answer read;

	if (r->status != 504) {
		request_read_answer(r, r->status, &r->response, &read);
		answer.answer = &read;
		answer.right_variant = request_right_variant(r);
		answer.invalidated = request_is_invalidated(r);
	}
	return node_answer_of_peer(&answer);
}

/* Asking */

/* Notes when, and keeps the client's fields: it may leave before the answer. */
static int request_fetch_begin_asking(struct request *r, enum source source)
{
	r->source = source;
	r->fill.client = r->node.state != NODE_CLOSED;
	r->fill.get = !strcmp(r->method, "GET");
	r->fill.unsafe = r->unsafe;
	r->fill.max_bytes = r->settings->max_object_bytes;
	r->fwd_status = 0;
	r->kept = false;
	request_count_asking(r);
	r->asked_s = request_now_s(r);
	r->asked_ms = request_now_ms(r);
	r->purges = cache_purges(r->worker->cache);
	fields_free(&r->out);
	if (fields_count(&r->in) || !r->fill.client)
		return 0;
	fields_free(&r->in);
	return fields_copy(exchange_request(r->x)->fields, &r->in);
}

/* The host of the target, for Host, in a buffer of its own. */
static int request_fetch_copy_host(const struct request *r, char *host,
				   size_t cap)
{
	if (r->target.host_len >= cap)
		return -1;
	memcpy(host, r->target.host, r->target.host_len);
	host[r->target.host_len] = '\0';
	return 0;
}

int request_fetch_peer(struct request *r, unsigned timeout_ms)
{
	const struct worker_settings *set = r->settings;
	char host[300];
	struct forward_request how = {
		set->node, host, r->x ? exchange_request(r->x)->minor : 1
	};
	struct fetch_limits limits = {
		.connect_ms = set->peer_connect_ms < timeout_ms ?
			set->peer_connect_ms : timeout_ms,
		.first_byte_ms = timeout_ms,
		.low_rate = LOW_RATE,
		.low_rate_s = set->origin_low_rate_s,
		.max_header_bytes = set->max_header_bytes,
	};
	struct fetch_request request = {
		.method = r->method,
		.url = r->peer->url,
		.target = r->target.uri,
		.fields = &r->out,
		.limits = &limits,
		.tls = set->peer_client_tls,
	};

	if (request_fetch_begin_asking(r, SOURCE_PEER) ||
	    request_fetch_copy_host(r, host, sizeof(host)) ||
	    forward_to_peer(&r->in, &how, set->token, &r->out) ||
	    fetch_start(r->worker->fetcher, &request, &request_fill_callbacks,
			r, &r->fetch))
		return -1;
	node_fill_ask(&r->fill, NODE_ASK_PEER, r->asked_ms);
	return 0;
}

static bool request_fetch_may_ask_peers(const struct request *r)
{
	return r->worker->view && r->cacheable && !r->stale &&
	       node_answer_may_be_at_peers(request_fields(r), &r->cc);
}

/* Returns whether one is being asked. */
static bool request_fetch_ask_peers(struct request *r)
{
	const struct worker_settings *set = r->settings;
	struct route_policy policy = { set->peer_budget_ms,
				       set->peer_first_byte_ms,
				       set->peer_tries };
	struct route_step next;

	if (!request_fetch_may_ask_peers(r))
		return false;
	if (!r->view) {
		r->view = peerset_ref(r->worker->view);
		route_init(&r->route, r->view, &r->key, &policy,
			   request_now_ms(r));
		worker_add(&r->worker->counters.lookups, 1);
	}
	while ((next = route_next(&r->route, &policy, request_now_ms(r)))
		       .probe)
		request_probe(r, next.peer, (unsigned)next.timeout_ms);
	r->peer = next.origin ? NULL : peerset_at(r->view, next.peer);
	if (next.origin)
		return false;
	worker_add(&r->worker->counters.peer_queries, 1);
	if (request_fetch_peer(r, (unsigned)next.timeout_ms)) {
		r->peer = NULL;
		return false; /* no memory: the origin's turn */
	}
	return true;
}

/* Asks about what is stored, if that has a validator: r->validating. The
 * client's range stays, under its condition: the origin looks at it when it
 * does not confirm. */
static int request_fetch_ask_about_stale(struct request *r)
{
	const char *if_range = fields_get(&r->out, "If-Range");
	struct fields stored;
	int err = 0;

	if (cached_fields(r->stale, &stored))
		return -1;
	r->validating = conditional_has_validator(&stored);
	if (r->validating)
		err = conditional_validate(&stored, &r->out);
	fields_free(&stored);
	if (err || !r->validating || !if_range ||
	    !fields_get(&r->out, "Range"))
		return err;
	return fields_add(&r->out, "If-Range", if_range);
}

/* What is sent to an origin when the answer may be stored: no conditions but
 * our own, so that it is whole. */
static int request_fetch_own_conditions(struct request *r)
{
	static const char *const names[] = {
		"If-Match", "If-None-Match", "If-Modified-Since",
		"If-Unmodified-Since",
	};
	int err = 0;

	r->validating = false;
	if (!r->cacheable)
		return 0;
	if (r->stale)
		err = request_fetch_ask_about_stale(r);
	if (err || r->validating)
		return err;
	if (strcmp(r->method, "GET") != 0 || fields_get(&r->in, "range"))
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		fields_remove(&r->out, names[i]);
	return 0;
}

/* Who asks, which is nobody where a response is renewed in the background, and
 * by which scheme. */
static int request_fetch_tell_client(struct request *r, const char *host)
{
	const struct worker_settings *set = r->settings;
	char address[ADDRESS_TEXT_BYTES];
	struct forwarded_by by = { NULL, host, target_is_https(&r->target) };

	if (r->x && address_text(exchange_request(r->x)->client, address))
		by.address = address;
	return forwarded_add(r->forward ? set->told_forward : set->told, &by,
			     &r->out);
}

/* One hop less for OPTIONS, which alone of what is forwarded counts them. */
static int request_fetch_count_forward(struct request *r)
{
	const char *value = fields_get(&r->out, "Max-Forwards");
	struct field_part digits = { value, value ? strlen(value) : 0 };
	int64_t left = value ? field_seconds(digits) : 0;
	char text[DECIMAL_BYTES];

	if (left <= 0 || strcmp(r->method, "OPTIONS") != 0)
		return 0;
	decimal_write(left - 1, text);
	return fields_set(&r->out, "Max-Forwards", text);
}

static int request_fetch_from_origin(struct request *r)
{
	const struct worker_settings *set = r->settings;
	const struct server_request *in = r->x ? exchange_request(r->x) : NULL;
	char host[300], url[320];
	struct forward_request how = { set->node, host, in ? in->minor : 1 };
	struct fetch_limits limits = {
		.connect_ms = set->origin_connect_ms,
		.first_byte_ms = set->origin_first_byte_ms,
		.low_rate = LOW_RATE,
		.low_rate_s = set->origin_low_rate_s,
		.max_header_bytes = set->max_header_bytes,
	};
	struct fetch_upload upload = { in ? in->body_len : 0,
				       request_read_upload };
	struct fetch_request request = {
		.method = r->method,
		.url = r->forward ? url : r->upstream,
		.target = r->asterisk ? "*" : r->target.path,
		.fields = &r->out,
		.limits = &limits,
		.upload = in && in->has_body ? &upload : NULL,
		.tls = set->origin_tls,
	};

	if (request_fetch_copy_host(r, host, sizeof(host)))
		return -1;
	if (r->forward)
		snprintf(url, sizeof(url), "http://%s", host);
	if (forward_to_origin(&r->in, &how, &r->out) ||
	    request_fetch_tell_client(r, host) ||
	    request_fetch_own_conditions(r) || request_fetch_count_forward(r) ||
	    (request_acts_for_origin(r) &&
	     targeted_announce(&r->out, set->node)))
		return -1;
	return fetch_start(r->forward && !set->forward_private ?
				   r->worker->public : r->worker->fetcher,
			   &request, &request_fill_callbacks, r, &r->fetch);
}

int request_fetch_again(struct request *r)
{
	uint64_t purges = r->purges;
	int err = request_fetch_begin_asking(r, SOURCE_ORIGIN);

	r->purges = purges; /* what has come so far is older */
	worker_add(&r->worker->counters.origin_fetches, 1);
	return err ? err : request_fetch_from_origin(r);
}

static int request_fetch_origin(struct request *r)
{
	worker_add(&r->worker->counters.origin_fetches, 1);
	if (request_fetch_begin_asking(r, SOURCE_ORIGIN) ||
	    request_fetch_from_origin(r))
		return -1;
	node_fill_ask(&r->fill, NODE_ASK_ORIGIN, r->asked_ms);
	return 0;
}

void request_ask(struct request *r)
{
	if (!r->past_peers && request_fetch_ask_peers(r))
		return;
	r->past_peers = true;
	if (!request_fetch_origin(r))
		return;
	request_event(r, NODE_BROKE);
	reply_error(r, 503, "memory");
}

void request_renew(struct request *r)
{
	r->fill.purpose = NODE_FOR_RENEWAL;
	/* without memory it ends here */
	(void)request_fetch_origin(r);
}
