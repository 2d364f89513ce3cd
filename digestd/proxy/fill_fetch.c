/*
 * The steps that ask others: peers, one after the other within a budget, then
 * the origin; and what a peer's answer is worth.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "codec/squid.h"
#include "digestd/http/decimal.h"
#include "digestd/http/forward.h"
#include "digestd/http/response_facts.h"
#include "digestd/http/via.h"
#include "digestd/mesh/leases.h"
#include "digestd/node/node_answer.h"
#include "digestd/node/node_door.h"
#include "digestd/os/address.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

enum {
	LOW_RATE = 1, /* [bytes/s]: a fetch that stands still */
};

void fill_stop_fetch(struct fill *f)
{
	fetch_cancel(&f->fetch);
	fill_origin_end(f);
	loop_timer_clear(f->worker->loop, &f->timer);
}

void fill_report_outcome(const struct fill *f, enum peer_outcome kind,
			 unsigned rtt_ms)
{
	const struct worker_hooks *hooks = &f->worker->hooks;
	struct worker_outcome outcome = {
		.kind = kind,
		.peer = f->peer->id,
		.hash = f->q->key.lo,
		.rtt_ms = rtt_ms,
		.body_bytes = f->body.len,
	};

	if (hooks->on_outcome)
		hooks->on_outcome(hooks->arg, &outcome);
}

void fill_record_outcome(struct fill *f, enum peer_outcome kind,
			 unsigned rtt_ms)
{
	struct worker_counters *counters = &f->worker->counters;

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
	case OUTCOME_DOUBT: /* counted where they are found out */
	case OUTCOME_WRONG:
		break;
	}
	fill_report_outcome(f, kind, rtt_ms);
}

unsigned fill_elapsed_ms(const struct fill *f)
{
	int64_t ms = worker_now_ms(f->worker) - f->asked_ms;

	if (f->fetch)
		ms -= fetch_connect_ms(f->fetch);
	return ms > 0 ? (unsigned)ms : 1;
}

enum peer_outcome fill_judge(struct fill *f)
{
	struct node_answer answer = {
		.status = f->status,
		.fields = &f->response,
		.freshness = &f->freshness,
		.request = &f->in,
		.cc = &f->q->cc,
		.known = f->stale ? &f->stale->freshness : NULL,
		.now_s = worker_now_s(f->worker),
	};
	bool met = fill_need_is_met(f);
	struct response_facts read;

	fill_holder_judge(f, &answer);
	if (f->status != 504) {
		question_read_response(f->q, f->status, &f->response, &read);
		answer.facts = &read;
		answer.right_variant = fill_right_variant(f);
		answer.invalidated = fill_is_invalidated(f, met);
	}
	return node_answer_of_peer(&answer);
}

enum peer_outcome fill_judge_part(struct fill *f)
{
	const struct node_ask ask = question_ask(f->q, &f->in);
	enum peer_outcome verdict;

	if (f->aligned || f->stale || !f->client ||
	    !node_ask_may_pass_on_part(&ask))
		return OUTCOME_VARIANT;
	f->status = 200; /* of which it is a part */
	fill_take_freshness(f);
	verdict = fill_judge(f);
	f->status = 206;
	return verdict;
}

/* Asking */

/* The client's request; null: there is none. */
static const struct server_request *fill_fetch_client(const struct fill *f)
{
	const struct request *client = f->hedged ? f->hedged->client
						 : f->client;

	return client ? exchange_request(client->x) : NULL;
}

/* Notes when, and for whom. */
static void fill_fetch_begin_asking(struct fill *f, enum source source)
{
	f->source = source;
	f->node.client = f->client || f->passes_to;
	f->node.get = f->q->get;
	f->node.unsafe = f->q->unsafe;
	f->node.max_bytes = question_max_bytes(f->q, f->q->policy);
	f->fwd_status = 0;
	f->kept = false;
	f->validating = false;
	f->asked_s = worker_now_s(f->worker);
	f->asked_ms = worker_now_ms(f->worker);
	if (source == SOURCE_PEER || f->for_peer || !f->q->origins)
		fill_figures_begin(f);
	f->purges = cache_purges(f->worker->shared.cache);
	f->unheard = source == SOURCE_PEER &&
		     !cache_has_heard_all(f->worker->shared.cache);
	if (f->unheard)
		fill_end_collapse(f); /* nobody joins it */
	fields_free(&f->out);
}

/* The host of the target, for Host, in a buffer of its own. */
static void fill_fetch_copy_host(const struct fill *f,
				 char host[NODE_DOOR_HOST_MAX + 1])
{
	const struct target *t = &f->q->target;

	assert(t->host_len <= NODE_DOOR_HOST_MAX);
	memcpy(host, t->host, t->host_len);
	host[t->host_len] = '\0';
}

/* How the request came. */
static struct forward_request fill_fetch_route(const struct fill *f)
{
	const struct server_request *in = fill_fetch_client(f);

	return (struct forward_request){
		.node = f->q->settings->node,
		.minor = in ? in->minor : 1,
		.http2 = in && in->http2,
		.marks = &f->q->settings->marks,
	};
}

int fill_ask_peer(struct fill *f, unsigned timeout_ms)
{
	const struct worker_settings *set = f->q->settings;
	char host[NODE_DOOR_HOST_MAX + 1];
	struct forward_request how = fill_fetch_route(f);
	struct fetch_limits limits = {
		.connect_ms = fill_distance_connect_ms(f, timeout_ms),
		.first_byte_ms = timeout_ms,
		.low_rate = LOW_RATE,
		.low_rate_s = set->origin_low_rate_s,
		.max_header_bytes = set->max_header_bytes,
	};
	struct fetch_request request = {
		.method = f->q->method,
		.url = f->peer->url,
		.target = f->q->target.uri,
		.fields = &f->out,
		.limits = &limits,
		.tls = set->peer_client_tls,
	};

	how.host = host;
	fill_fetch_begin_asking(f, SOURCE_PEER);
	f->node.pace_ms = fill_distance_pace_ms(f, timeout_ms);
	/* it may come as slowly as from the origin */
	if (fill_lease_waits(f))
		f->node.pace_ms += set->lease_wait_ms;
	fill_fetch_copy_host(f, host);
	if (f->peer->kind->ask(&f->in, &how, set->tokens.at[0], &f->out) ||
	    fill_cut_ask(f) ||
	    fill_lease_add_wish(f) || fill_holder_add_wish(f) ||
	    (f->peer->kind->purges && fill_add_need(f)) ||
	    fetch_start(f->worker->fetcher, &request, &fill_callbacks, f,
			&f->fetch))
		return -1;
	node_fill_ask(&f->node, NODE_ASK_PEER, f->asked_ms);
	fill_hedge_watch(f, timeout_ms);
	return 0;
}

static bool fill_fetch_may_ask_peers(const struct fill *f)
{
	struct node_ask ask = question_ask(f->q, &f->in);

	if (f->as_it_is)
		ask.slice_bytes = 0;
	ask.for_slices = node_fill_is_for_slices(&f->node);
	ask.unheard = !cache_has_heard_all(f->worker->shared.cache);
	/* what may not be kept yet, the cache beside this node would keep */
	if (ask.unheard && f->q->settings->sidecar)
		return false;
	return f->worker->view &&
	       cache_has_caught_up(f->worker->shared.cache) &&
	       node_ask_may_be_at_peers(&ask, f->stale);
}

/* Finds the peers that may have it. */
static void fill_fetch_begin_route(struct fill *f,
				   const struct route_policy *policy)
{
	struct peerset_keys keys = { .own = &f->q->key };
	struct scd_key squid;

	f->view = peerset_ref(f->worker->view);
	if (peerset_has_squid(f->view) &&
	    !scd_squid_key("GET", f->q->target.uri, f->q->target.uri_len,
			   &squid))
		keys.squid = &squid;
	route_init(&f->route, f->view, &keys, policy,
		   worker_now_ms(f->worker));
	worker_add(&f->worker->counters.lookups, 1);
	worker_add(&f->worker->counters.peers_too_far,
		   route_too_far(&f->route));
}

/* Passes over those that are only probed, or not asked now. */
static struct route_step fill_fetch_next(struct fill *f,
					 const struct route_policy *policy)
{
	for (;;) {
		const struct route_step next = route_next(
			&f->route, policy, worker_now_ms(f->worker));

		if (next.origin)
			return next;
		if (next.probe)
			fill_probe(f, next.peer, (unsigned)next.timeout_ms);
		else if (fill_hedge_may_ask(f, peerset_at(f->view, next.peer)))
			return next;
	}
}

/* Returns whether one is being asked. */
static bool fill_fetch_ask_peers(struct fill *f)
{
	struct route_policy policy;
	struct route_step next;

	if (!fill_fetch_may_ask_peers(f) ||
	    f->lease.state != NODE_LEASE_BEGIN)
		return false;
	policy = fill_distance_policy(f);
	if (!f->view)
		fill_fetch_begin_route(f, &policy);
	next = fill_fetch_next(f, &policy);
	f->peer = next.origin ? NULL : peerset_at(f->view, next.peer);
	if (next.origin)
		return false;
	worker_add(&f->worker->counters.peer_queries, 1);
	if (fill_ask_peer(f, (unsigned)next.timeout_ms)) {
		f->peer = NULL;
		return false; /* no memory: the origin's turn */
	}
	return true;
}

/* Whether the client's conditions are the origin's affair: the client is a
 * cache that asks about what it holds, and nothing else comes of the answer. */
static bool fill_fetch_passes_conditions(const struct fill *f)
{
	return f->q->settings->sidecar && f->client &&
	       f->node.state == NODE_LANDED;
}

/* Makes the conditions of f->out, and f->validating. */
static int fill_fetch_add_conditions(struct fill *f)
{
	const struct node_ask ask = question_ask(f->q, &f->in);
	struct fields stored;
	int err;

	if (fill_fetch_passes_conditions(f))
		return 0;
	if (!f->stale)
		return node_ask_conditions(&ask, NULL, &f->out,
					   &f->validating);
	if (cached_fields(f->stale, &stored))
		return -1;
	err = node_ask_conditions(&ask, &stored, &f->out, &f->validating);
	fields_free(&stored);
	return err;
}

/* Who asks, which is nobody where a response is renewed in the background, and
 * by which scheme. */
static int fill_fetch_tell_client(struct fill *f, const char *host)
{
	const struct worker_settings *set = f->q->settings;
	char address[ADDRESS_TEXT_BYTES];
	const struct server_request *in = fill_fetch_client(f);
	struct forwarded_by by = { NULL, host, target_is_https(&f->q->target) };

	if (in && address_text(in->client, address))
		by.address = address;
	return forwarded_add(f->q->forward ? set->told_forward : set->told, &by,
			     &f->out);
}

/* One hop less for OPTIONS, which alone of what is forwarded counts them. */
static int fill_fetch_count_forward(struct fill *f)
{
	const char *value = fields_get(&f->out, "Max-Forwards");
	struct field_part digits = { value, value ? strlen(value) : 0 };
	int64_t left = value ? field_seconds(digits) : 0;
	char text[DECIMAL_BYTES];

	if (left <= 0 || !question_is_method(f->q, "OPTIONS"))
		return 0;
	decimal_write(left - 1, text);
	return fields_set(&f->out, "Max-Forwards", text);
}

/* As fetch_upload.read says. */
static ssize_t fill_fetch_read_upload(void *arg, void *buf, size_t cap)
{
	struct fill *f = arg;

	return f->client ? request_upload_take(f->client, buf, cap)
			 : FETCH_GIVE_UP;
}

/* As fetch_upload.trailers says. */
static const struct fields *fill_fetch_upload_trailers(void *arg)
{
	const struct fill *f = arg;

	return f->client ? exchange_trailers(f->client->x) : NULL;
}

/* Whether the client takes trailers. */
static bool fill_fetch_wants_trailers(const struct server_request *in)
{
	return in && in->minor && fields_has_token(in->fields, "TE",
						   "trailers");
}

static struct fetch_limits
fill_fetch_origin_limits(const struct worker_settings *set)
{
	return (struct fetch_limits){
		.connect_ms = set->origin_connect_ms,
		.first_byte_ms = set->origin_first_byte_ms,
		.low_rate = LOW_RATE,
		.low_rate_s = set->origin_low_rate_s,
		.max_header_bytes = set->max_header_bytes,
		.tunnel_idle_ms = set->tunnel_ms,
	};
}

/* Says that what is meant for this node alone is understood; see
 * worker_settings.marks. */
static int fill_fetch_announce(struct fill *f)
{
	const struct fields *marks = &f->q->settings->marks;

	return question_acts_for_origin(f->q) && fields_count(marks) > VIA_MARKS
		       ? via_mark(&f->out, marks, VIA_MARKS)
		       : 0;
}

static int fill_fetch_from_origin(struct fill *f,
				  const struct fetch_callbacks *callbacks)
{
	const struct worker_settings *set = f->q->settings;
	const struct server_request *in = fill_fetch_client(f);
	char host[NODE_DOOR_HOST_MAX + 1];
	char url[sizeof("http://") + NODE_DOOR_HOST_MAX];
	struct forward_request how = fill_fetch_route(f);
	const struct fetch_limits limits = fill_fetch_origin_limits(set);
	struct fetch_upload upload = {in ? in->body_len : 0,
				      fill_fetch_read_upload,
				      fill_fetch_upload_trailers};
	struct fetch_request request = {
		.method = f->q->method,
		.url = f->q->forward ? url : f->q->upstream,
		.target = f->q->asterisk ? "*" : f->q->target.path,
		.fields = &f->out,
		.limits = &limits,
		.upload = f->q->upgrade || (in && in->has_body) ? &upload :
								  NULL,
		.upgrade = f->q->upgrade ? in->upgrade : NULL,
		.trailers = fill_fetch_wants_trailers(in),
		.tls = set->origin_tls,
	};

	how.host = host;
	fill_fetch_copy_host(f, host);
	if (f->q->forward)
		snprintf(url, sizeof(url), "http://%s", host);
	if (forward_to_origin(&f->in, &how, &f->out) ||
	    fill_fetch_tell_client(f, host) || fill_fetch_add_conditions(f) ||
	    fill_fetch_count_forward(f) || fill_cut_ask(f) ||
	    fill_fetch_announce(f))
		return -1;
	fill_origin_choose(f);
	if (f->origin.group) {
		request.url = f->origin.url;
		request.address = f->origin.address;
	}
	if (f->q->origins && f->source == SOURCE_ORIGIN)
		fill_figures_begin(f);
	return fetch_start(f->q->forward && !set->forward_private
				   ? f->worker->public
				   : f->worker->fetcher,
			   &request, callbacks, f, &f->fetch);
}

int fill_ask_again(struct fill *f)
{
	uint64_t purges = f->purges;

	fill_fetch_begin_asking(f, SOURCE_ORIGIN);
	f->purges = purges; /* what has come so far is older */
	worker_add(&f->worker->counters.origin_fetches, 1);
	return fill_fetch_from_origin(f, &fill_callbacks);
}

int fill_ask_beside(struct fill *f, const struct fetch_callbacks *callbacks)
{
	worker_add(&f->worker->counters.origin_fetches, 1);
	fill_fetch_begin_asking(f, SOURCE_ORIGIN);
	return fill_fetch_from_origin(f, callbacks);
}

/* The fields of a question to the cache beside this node: the peer's, but for
 * what is between nodes. Returns 0, or -1 without memory. */
static int fill_fetch_make_beside(struct fill *f,
				  const struct forward_request *how)
{
	if (forward_to_origin(&f->in, how, &f->out))
		return -1;
	fields_remove(&f->out, "SCD-Need");
	fields_remove(&f->out, LEASES_FIELD);
	return fields_set(&f->out, "Cache-Control", "only-if-cached");
}

/* Asks the cache beside this node, which must ask nobody. */
static int fill_fetch_beside(struct fill *f)
{
	const struct worker_settings *set = f->q->settings;
	char host[NODE_DOOR_HOST_MAX + 1];
	struct forward_request how = fill_fetch_route(f);
	const struct fetch_limits limits = fill_fetch_origin_limits(set);
	struct fetch_request request = {
		.method = f->q->method,
		.url = set->sidecar,
		.target = f->q->target.path,
		.fields = &f->out,
		.limits = &limits,
		.tls = set->origin_tls,
	};

	how.host = host;
	worker_add(&f->worker->counters.sidecar_queries, 1);
	fill_fetch_begin_asking(f, SOURCE_BESIDE);
	fill_fetch_copy_host(f, host);
	if (fill_fetch_make_beside(f, &how) ||
	    fetch_start(f->worker->fetcher, &request, &fill_callbacks, f,
			&f->fetch))
		return -1;
	node_fill_ask(&f->node, NODE_ASK_ORIGIN, f->asked_ms);
	return 0;
}

static int fill_fetch_origin(struct fill *f)
{
	worker_add(&f->worker->counters.origin_fetches, 1);
	fill_fetch_begin_asking(f, SOURCE_ORIGIN);
	collapse_open(f->collapse);
	if (fill_fetch_from_origin(f, &fill_callbacks))
		return -1;
	fill_origin_asked(f);
	node_fill_ask(&f->node, NODE_ASK_ORIGIN, f->asked_ms);
	return 0;
}

void fill_ask_origin(struct fill *f)
{
	f->past_peers = true;
	if (fill_fetch_origin(f))
		fill_free_if_over(f);
}

/* Whether a peer is asked. Who is not to wait for an origin does not wait for
 * others' fetches from it either. */
static bool fill_fetch_is_at_peers(struct fill *f)
{
	if (f->past_peers)
		return false;
	return fill_fetch_ask_peers(f) ||
	       (!(f->lease.state != NODE_LEASE_BEGIN && fill_outage_holds(f)) &&
		fill_lease_ask(f));
}

void fill_ask(struct fill *f)
{
	enum fill_outage outage;

	if (fill_hedge_goes_on(f) || fill_holder_ask(f) ||
	    fill_fetch_is_at_peers(f))
		return;
	f->past_peers = true;
	if (fill_holder_begins_outage(f))
		return;
	outage = fill_outage_begin(f);
	if (outage != FILL_OUTAGE_REST &&
	    !(f->for_peer ? fill_fetch_beside(f) : fill_fetch_origin(f)) &&
	    (outage == FILL_OUTAGE_NONE || !f->client))
		return;
	if (outage != FILL_OUTAGE_NONE) {
		fill_outage_answer(f);
		return;
	}
	if (!f->client) {
		fill_end_collapse(f);
		fill_free_if_over(f);
		return;
	}
	request_event(f->client, NODE_BROKE);
	reply_error(f->client, 503, "memory");
}

void fill_renew(struct fill *f)
{
	f->node.purpose = NODE_FOR_RENEWAL;
	fill_ask(f);
}
