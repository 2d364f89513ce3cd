/*
 * A worker: puts loop, servers, fetchers and requests together, and carries
 * messages from the service's thread into its own.
 */
#include "digestd/proxy/worker.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/cache.h"
#include "digestd/mesh/peerset.h"
#include "digestd/os/access_log.h"
#include "digestd/os/address.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"
#include "digestd/proxy/worker_inside.h"

enum { WORKER_LOG_MS = 10000 };

/* Between two turns no request holds what it has not counted. */
static void worker_waits(void *arg, bool waits)
{
	struct worker *w = arg;

	if (waits)
		cache_rest(w->shared.reader);
	else
		cache_wake(w->shared.reader);
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;

	/* it only fails when epoll itself does: nothing is left to be done */
	(void)loop_run(w->loop);
	worker_waits(w, true); /* what it has not counted yet, too */
	return NULL;
}

static int worker_open_server(struct worker *w, bool peers)
{
	const struct worker_settings *set = w->settings;
	struct server_settings settings = {
		.listen = peers ? set->peer_listen : set->data_listen,
		.joins = set->joins,
		.given = set->given,
		.listener = peers ? "peer" : "data",
		.worker = set->number,
		.max_connections = set->max_connections,
		.client_connections = peers ? 0 : set->client_connections,
		.max_header_bytes = set->max_header_bytes,
		.header_ms = set->header_ms,
		.idle_ms = set->idle_ms,
		.min_rate = set->min_rate,
		.strict = true,
		.http2 = !peers && set->http2,
		.http2_plain = !peers && set->http2_plain,
		.http2_streams = set->http2_streams,
		.proxy_protocol = !peers && set->proxy_protocol,
		.tls = peers ? set->peer_tls : set->data_tls,
		.trusted = peers ? NULL : &set->trusted,
		.allowed = peers ? &set->peers : NULL,
		.allowed_by = "peer_addresses",
		.troubles = w->shared.troubles,
	};

	int err;

	assert(peers || settings.listen);
	if (!settings.listen)
		return 0;
	err = server_new(w->loop, &settings,
			 peers ? &request_peer_handler : &request_data_handler,
			 w, peers ? &w->peer : &w->data);
	if (err)
		log_write(LOG_ERROR, "service", "listen_%s: %s: %s",
			  peers ? "peer" : "data", settings.listen,
			  strerror(-err));
	return err;
}

static int worker_open_all(struct worker *w)
{
	unsigned per_host = w->settings->origin_connections;
	int err = loop_new(&w->loop);

	if (!err)
		err = cache_join(w->shared.cache, &w->shared.reader);
	if (!err)
		err = fetcher_new(w->loop, FETCHER_DATA, per_host, &w->fetcher);
	if (!err)
		err = fetcher_new(w->loop, FETCHER_DATA, per_host, &w->public);
	if (err)
		return err;
	if (w->shared.access_log)
		w->access = access_log_ring(w->shared.access_log);
	if (w->shared.access_log && !w->access)
		return -ENOMEM;
	loop_on_wait(w->loop, worker_waits, w);
	w->ready.loop = w->loop;
	w->purger = (struct purger){ .loop = w->loop,
				     .cache = w->shared.cache,
				     .sites = w->settings->sites };
	memcpy(w->purger.secret, w->settings->hash_secret,
	       sizeof(w->purger.secret));
	w->client_purger = w->purger;
	w->client_purger.teller = w->shared.teller;
	w->heard_by = (struct heard_by){ .loop = w->loop,
					 .cache = w->shared.cache,
					 .secret = w->purger.secret,
					 .desk = w->shared.serving };
	fetcher_public_only(w->public);
	err = worker_open_server(w, false);
	if (!err)
		err = worker_open_server(w, true);
	return err;
}

int worker_new(const struct worker_settings *settings,
	       const struct worker_hooks *hooks,
	       const struct worker_shared *shared, struct worker **out)
{
	struct worker *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	assert(settings->node && shared->cache && shared->collapses);
	if (!w)
		return err;
	w->shared = *shared;
	w->hooks = *hooks;
	w->settings = worker_settings_copy(settings);
	if (w->settings)
		err = worker_open_all(w);
	if (err) {
		worker_stop(&w);
		return err;
	}
	*out = w;
	return 0;
}

int worker_start(struct worker *worker)
{
	int err;

	assert(worker->loop && !worker->started);
	err = pthread_create(&worker->thread, NULL, worker_run, worker);

	worker->started = !err;
	return -err;
}

static void worker_run_taken(void *arg)
{
	bool *taken = arg;

	*taken = true;
}

/* Takes in the messages that have come too late. One turn would not do where
 * many connections have something to say, too. */
static void worker_take_messages(struct worker *w)
{
	bool taken = false;
	struct loop_call last = { .run = worker_run_taken, .arg = &taken };

	loop_post(w->loop, &last);
	while (!taken && !loop_turn(w->loop, 0))
		;
}

void worker_stop(struct worker **worker)
{
	struct worker *w = *worker;

	if (!w)
		return;
	if (w->started) {
		loop_stop(w->loop);
		pthread_join(w->thread, NULL);
	}
	if (w->loop)
		worker_take_messages(w);
	if (w->ready.loop)
		ready_clear(&w->ready);
	server_free(&w->data);
	server_free(&w->peer);
	purger_stop(&w->purger);
	purger_stop(&w->client_purger);
	if (w->loop) {
		heard_stop(&w->heard_by);
		loop_timer_clear(w->loop, &w->warm);
	}
	request_end_all(w);
	fill_end_all(w);
	fetcher_free(&w->fetcher);
	fetcher_free(&w->public);
	loop_free(&w->loop);
	cache_quit(&w->shared.reader);
	peerset_unref(w->view);
	peerset_unref(w->seen);
	distance_table_free(&w->peer_distances);
	distance_table_free(&w->origin_distances);
	worker_settings_unref(w->settings);
	free(w);
	*worker = NULL;
}

unsigned worker_data_port(const struct worker *worker)
{
	return server_port(worker->data);
}

unsigned worker_peer_port(const struct worker *worker)
{
	return worker->peer ? server_port(worker->peer) : 0;
}

/* A message that brings a new view or new settings. */
struct news {
	struct loop_call call;
	struct worker *worker;
	struct peerset *view;
	struct worker_settings *settings;
};

static void worker_take_view(void *arg)
{
	struct news *news = arg;

	peerset_unref(news->worker->view);
	news->worker->view = news->view;
	free(news);
}

static void worker_take_seen(void *arg)
{
	struct news *news = arg;

	peerset_unref(news->worker->seen);
	news->worker->seen = news->view;
	free(news);
}

static void worker_take_settings(void *arg)
{
	struct news *news = arg;
	struct worker *w = news->worker;

	server_set_tls(w->data, news->settings->data_tls);
	server_set_trusted(w->data, &news->settings->trusted);
	if (w->peer)
		server_set_tls(w->peer, news->settings->peer_tls);
	if (w->peer)
		server_set_allowed(w->peer, &news->settings->peers);
	ready_clear(&w->ready);
	worker_settings_unref(w->settings);
	w->settings = news->settings;
	w->purger.sites = w->settings->sites;
	free(news);
}

static struct news *worker_news_new(struct worker *w,
				    void (*run_news)(void *arg))
{
	struct news *news = calloc(1, sizeof(*news));

	if (!news)
		return NULL;
	news->worker = w;
	news->call.run = run_news;
	news->call.arg = news;
	return news;
}

static int worker_post_view(struct worker *worker, struct peerset *view,
			    void (*take)(void *arg))
{
	struct news *news = worker_news_new(worker, take);

	if (!news)
		return -ENOMEM;
	/* who has no peers need not ask any, nor keep leases for them */
	news->view = view && peerset_count(view) ? peerset_ref(view) : NULL;
	loop_post(worker->loop, &news->call);
	return 0;
}

int worker_set_view(struct worker *worker, struct peerset *view)
{
	return worker_post_view(worker, view, worker_take_view);
}

int worker_set_seen(struct worker *worker, struct peerset *seen)
{
	return worker_post_view(worker, seen, worker_take_seen);
}

int worker_reconfigure(struct worker *worker,
		       const struct worker_settings *settings)
{
	struct news *news = worker_news_new(worker, worker_take_settings);

	assert(settings->node);
	if (!news)
		return -ENOMEM;
	news->settings = worker_settings_copy(settings);
	if (!news->settings) {
		free(news);
		return -ENOMEM;
	}
	loop_post(worker->loop, &news->call);
	return 0;
}

static void worker_one_drained(void *arg)
{
	struct worker *w = arg;

	assert(w->draining);
	if (--w->draining == 0)
		loop_post(w->drained_to, w->drained);
}

static void worker_drain_server(struct worker *w, struct server *s)
{
	if (w->hands_over || (w->leaves && s == w->data))
		server_hand_over(s, worker_one_drained, w);
	else
		server_drain(s, worker_one_drained, w);
}

static void worker_run_drain(void *arg)
{
	struct worker *w = arg;

	w->draining = 2; /* listeners, of which one may not be there */
	worker_drain_server(w, w->data);
}

static void worker_run_part(void *arg)
{
	struct worker *w = arg;

	if (w->peer)
		worker_drain_server(w, w->peer);
	else
		worker_one_drained(w);
}

void worker_drain(struct worker *worker, struct loop *to,
		  struct loop_call *drained)
{
	if (worker->drain.run) /* asked for already */
		return;
	worker->drained_to = to;
	worker->drained = drained;
	worker->drain =
		(struct loop_call){.run = worker_run_drain, .arg = worker};
	loop_post(worker->loop, &worker->drain);
}

void worker_part(struct worker *worker)
{
	assert(worker->drain.run && !worker->part.run);
	worker->part =
		(struct loop_call){.run = worker_run_part, .arg = worker};
	loop_post(worker->loop, &worker->part);
}

void worker_leave_socket(struct worker *worker)
{
	assert(!worker->drain.run);
	worker->leaves = true;
}

void worker_hand_over(struct worker *worker, struct loop *to,
		      struct loop_call *drained)
{
	if (worker->drain.run) /* it drains already */
		return;
	worker->hands_over = true;
	worker_drain(worker, to, drained);
	worker_part(worker);
}

int worker_data_socket(const struct worker *worker)
{
	return server_socket(worker->data);
}

int worker_peer_socket(const struct worker *worker)
{
	return worker->peer ? server_socket(worker->peer) : -1;
}

uint64_t worker_lookups(const struct worker *worker)
{
	return __atomic_load_n(&worker->counters.lookups, __ATOMIC_RELAXED);
}

void worker_measure(const struct worker *worker, struct worker_figures *sum)
{
	worker_figures_merge(sum, &worker->figures);
}

void worker_count(const struct worker *worker, struct worker_counters *sum)
{
	const struct worker_counters *from = &worker->counters;

#define X(name, help) \
	sum->name += __atomic_load_n(&from->name, __ATOMIC_RELAXED);
	WORKER_COUNTERS(X)
#undef X
	for (int i = 0; i < REFUSAL_COUNT; i++)
		sum->refusals[i] += __atomic_load_n(&from->refusals[i],
						    __ATOMIC_RELAXED);
	server_refusals(worker->data, sum->refusals);
	sum->surplus += server_surplus(worker->data);
	sum->tls_data_failed += server_tls_failures(worker->data);
	sum->proxy_refused += server_proxy_refused(worker->data);
	sum->floods += server_floods(worker->data);
	sum->crowded_out += server_crowded_out(worker->data);
	sum->too_large += server_too_large(worker->data);
	if (worker->peer) {
		server_refusals(worker->peer, sum->refusals);
		sum->tls_peer_failed += server_tls_failures(worker->peer);
		sum->crowded_out += server_crowded_out(worker->peer);
		sum->too_large += server_too_large(worker->peer);
	}
}

void worker_log_hurried(struct worker *w, const struct sockaddr *from,
			unsigned per_s)
{
	char host[ADDRESS_TEXT_BYTES], room[64];
	unsigned dropped;

	w->rate_log.burst = 1;
	w->rate_log.period_ms = WORKER_LOG_MS;
	if (log_allow(&w->rate_log, loop_now_ms(w->loop), &dropped))
		log_write(LOG_WARNING, "request", "429 to %s: it asks more "
			  "often than client_rate = %u%s",
			  address_text(from, host) ? host : "a client", per_s,
			  log_suppressed(dropped, room));
}

void worker_count_loop(struct worker *w)
{
	unsigned dropped;
	char room[64];

	worker_add(&w->counters.loops, 1);
	w->loop_log.burst = 1;
	w->loop_log.period_ms = WORKER_LOG_MS;
	if (log_allow(&w->loop_log, loop_now_ms(w->loop), &dropped))
		log_write(LOG_WARNING, "request", "refused with 508: it has "
			  "been at this node before, or another node has the "
			  "name \"%s\", too%s", w->settings->node,
			  log_suppressed(dropped, room));
}
