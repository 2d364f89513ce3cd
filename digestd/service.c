/*
 * The node.
 */
#include "digestd/service.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "digestd/admin/admin.h"
#include "digestd/admin/control.h"
#include "digestd/cache/admission_keeper.h"
#include "digestd/cache/admitter.h"
#include "digestd/cache/cache.h"
#include "digestd/config/configuration.h"
#include "digestd/fetch/fetch.h"
#include "digestd/node/client_rates.h"
#include "digestd/os/access_log.h"
#include "digestd/os/address_prefix.h"
#include "digestd/os/listen.h"
#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/os/notify.h"
#include "digestd/os/troubles.h"
#include "digestd/os/upstream_names.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/lease_desk.h"
#include "digestd/peers/renewer.h"
#include "digestd/peers/serving_desk.h"
#include "digestd/peers/squid_digest.h"
#include "digestd/peers/table_share.h"
#include "digestd/peers/placer.h"
#include "digestd/peers/publisher.h"
#include "digestd/proxy/collapse.h"
#include "digestd/proxy/unstored.h"
#include "digestd/proxy/worker.h"
#include "digestd/part_settings.h"
#include "digestd/service_inside.h"
#include "digestd/sidecar/sidecar.h"

enum {
	ADMIN_TIMEOUT_MS = 10000,
	ADMIN_HEADER_BYTES = 8192,
};

/* Those that service_run() handles. */
static void service_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGUSR1);
	sigaddset(set, SIGUSR2);
}

void service_block_signals(void)
{
	sigset_t set;

	service_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* at a limit of files, as at a full disk */
}

bool service_holds(struct service *s, const struct scd_key *key)
{
	return cache_holds(s->cache, key);
}

void service_drop(struct service *s, const struct scd_key *key)
{
	cache_drop(s->cache, key, NULL, loop_now_ms(s->loop) / 1000);
}

size_t service_peer_bytes(const struct service *s)
{
	return s->follow ? peer_follower_memory(s->follow) : 0;
}

static void service_on_view(void *arg)
{
	struct service *s = arg;
	struct peerset *view = s->follow ? peer_follower_view(s->follow) : NULL;

	if (s->follow && !view) {
		log_write(LOG_ERROR, "follower", "out of memory");
		return;
	}
	for (unsigned i = 0; i < s->nworkers; i++) {
		if (worker_set_view(s->workers[i], view))
			log_write(LOG_ERROR, "follower", "out of memory");
	}
	if (view)
		offers_follow(s->offers, view);
	if (view && s->share)
		table_share_set_view(s->share, view);
	/* the configuration may say by now that it has no tiers, which holds
	 * from the next start on */
	cache_set_view(s->cache, view);
	peerset_unref(view);
	service_look_ready(s);
}

/* Start */

int service_open_access_log(struct service *s, const struct config *c)
{
	int err = access_log_set(s->access_log, c->access_log,
				 c->access_log_format);

	if (err)
		log_write(LOG_ERROR, "access", "access_log: %s: %s",
			  c->access_log, strerror(-err));
	return err;
}

static int service_start_cache(struct service *s)
{
	const struct resize_policy sizing = part_settings_of_filter(s->config);
	uint8_t secret[16];
	struct cache_settings settings = {
		.max_bytes = (uint64_t)s->config->cache_size,
		.max_variants = (unsigned)s->config->vary_limit,
		.policy = s->config->eviction,
		.shards = part_settings_shards(s->config),
		.nbits = part_settings_first_bits(s->config),
		.nhash = (unsigned)s->config->hash_functions,
		.bits_per_key = sizing.bits_per_key,
		.max_bits = sizing.max_bits,
		.admitter = s->admitter,
		.disk_path = s->config->disk_path,
		.disk_bytes = (uint64_t)s->config->disk_size,
		.disk_queue_bytes = (uint64_t)s->config->disk_queue,
		.hash_secret = secret,
		.lists = s->config->listen_peer &&
			 part_settings_has_lists(s->config),
		.tiers = part_settings_has_tiers(s->config),
		.troubles = s->troubles,
		.instance = s->instance,
	};

	part_settings_hash_secret(s->config, secret);
	return cache_new(&settings, &s->cache);
}

/* Once it is known which of the configuration's peers is this node itself. */
static int service_start_teller(struct service *s)
{
	bool strict = part_settings_is_strict(s->config);
	int err = strict ? serving_desk_new(&s->serving) : 0;
	struct teller_settings telling = service_telling(s, s->config);

	if (!err)
		err = teller_new(s->loop, s->cache, &telling, &s->teller);
	if (!err && strict)
		err = renewer_new(s->teller, s->serving, &telling, &s->renewer);
	s->purger = (struct purger){ s->loop, s->cache, .teller = s->teller,
				     .sites = s->config->sites };
	part_settings_hash_secret(s->config, s->purger.secret);
	return err;
}

static int service_start_placer(struct service *s)
{
	struct placer_settings settings = part_settings_of_placement(s->config);
	struct sharing_settings sharing = part_settings_of_sharing(s->config);
	int err = 0;

	sharing.publishing.instance = s->instance;
	if (settings.placement == PLACEMENT_SINGLE_SHARED)
		err = sharing_new(&sharing, &s->sharing);
	if (err)
		return err;
	if (s->sharing)
		settings.seen = sharing_seen(s->sharing);
	return placer_new(&settings, &s->placer);
}

static int service_start_admitter(struct service *s)
{
	struct admitter_settings settings =
		part_settings_of_admission(s->config);
	uint8_t secret[16];
	int err = admitter_new(&settings, loop_now_ms(s->loop), &s->admitter);

	if (err || !s->config->admission_file)
		return err;
	part_settings_hash_secret(s->config, secret);
	return admission_keeper_new(s->loop, s->admitter,
				    s->config->admission_file, secret,
				    &s->keeper);
}

/* How many descriptors the process may have; main() has raised it. */
static uint64_t service_open_files(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) ? 1024 : limit.rlim_cur;
}

/* Takes as many connections as there are descriptors for. */
static void service_limit_connections(const struct config *c,
				      struct worker_settings *settings)
{
	uint64_t files = service_open_files();

	settings->max_connections = part_settings_connections(c, files);
	if (settings->max_connections < (unsigned)c->max_connections)
		log_write(LOG_WARNING, "service", "max_connections = %lld "
			  "needs more than the limit of %llu open files: each "
			  "listener of each thread takes %u connections only; "
			  "raise the limit (ulimit -n, LimitNOFILE=), or lower "
			  "max_connections",
			  (long long)c->max_connections,
			  (unsigned long long)files,
			  settings->max_connections);
}

static int service_start_workers(struct service *s)
{
	struct worker_hooks hooks = {
		.on_outcome = service_on_outcome,
		.dozing = &s->dozing,
		.on_stir = service_stir,
		.arg = s,
		.resources = &service_resources,
		.resources_arg = s,
	};
	struct worker_shared shared = {
		.cache = s->cache,
		.collapses = s->collapses,
		.placer = s->placer,
		.leases = s->sidecar ? NULL : s->leases,
		.teller = s->teller,
		.troubles = s->troubles,
		.names = s->names,
		.access_log = s->access_log,
		.rates = s->rates,
		.unstored = s->unstored,
		.ready = &s->shown_ready,
		.serving = s->serving,
		.rechecks = &s->rechecks,
	};
	struct worker_settings settings;
	unsigned n = service_workers(s);
	int err = part_settings_of_workers(s->config, &settings);

	if (!err)
		err = service_find_origins(s, s->config, &settings);
	if (!err)
		err = service_watch_origins(s, s->config);
	if (!err)
		service_limit_connections(s->config, &settings);
	s->workers = calloc(n, sizeof(*s->workers));
	s->emptied = calloc(n, sizeof(*s->emptied));
	if (!s->workers || !s->emptied)
		err = -ENOMEM;
	settings.given = &s->handover.given;
	for (unsigned i = 0; i < n && !err; i++) {
		settings.joins = i > 0;
		settings.number = i;
		err = worker_new(&settings, &hooks, &shared, &s->workers[i]);
		if (!err)
			s->nworkers++;
	}
	part_settings_free(&settings);
	return err;
}

/* Whether clients can be served beside what is open by now: without
 * descriptors each of them would be answered with an error. */
static int service_check_descriptors(const struct service *s)
{
	const uint64_t most = service_open_files();
	const unsigned needed = part_settings_files_left(s->config);
	const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uint64_t left = 0;

	if (lowest < 0 && errno != EMFILE)
		return 0; /* it cannot be told */
	if (lowest >= 0) {
		left = most - (uint64_t)lowest;
		close(lowest);
	}
	if (left >= needed)
		return 0;
	log_write(LOG_ERROR, "service", "the limit of %llu open files leaves "
		  "%u for clients, peers and origins, and %u are needed at the "
		  "least; raise it (ulimit -n, LimitNOFILE=)",
		  (unsigned long long)most, (unsigned)left, needed);
	return -EMFILE;
}

static int service_start_publisher(struct service *s)
{
	struct publisher_settings settings = {
		.source = service_holds_source(s),
		.policy = {.publish = part_settings_of_publishing(s->config),
			   .resize = part_settings_of_filter(s->config)},
		.instance = s->instance,
		.keep = (unsigned)s->config->keep_generations,
		.lists = part_settings_has_lists(s->config),
		.list = part_settings_of_list(s->config),
		.array_ms = PUBLISHER_ARRAY_MS,
	};

	if (!s->config->listen_peer)
		return 0;
	return publisher_new(s->loop, s->api, &settings, &s->publisher);
}

static void service_on_seen(void *arg)
{
	struct service *s = arg;
	struct peerset *seen = sharing_view(s->sharing);

	for (unsigned i = 0; i < s->nworkers && seen; i++) {
		if (worker_set_seen(s->workers[i], seen))
			log_write(LOG_ERROR, "follower", "out of memory");
	}
	peerset_unref(seen);
}

static int service_start_sharing(struct service *s)
{
	struct sharing_start how = {
		.loop = s->loop,
		.fetcher = s->fetcher,
		.places = s->config->peers,
		.nplaces = s->config->npeers,
		.changed = service_on_seen,
		.arg = s,
	};

	return s->sharing ? sharing_start(s->sharing, &how) : 0;
}

static int service_start_follow(struct service *s)
{
	struct peer_follower_settings settings =
		service_following(s, s->config);
	int err = fetcher_new(s->loop, FETCHER_EXCHANGE, 0, &s->fetcher);

	if (!err)
		err = service_start_copier(s);
	if (!err && s->config->nkeys)
		err = peer_follower_new(s->loop, s->fetcher, &settings,
					s->config->peers, s->config->npeers,
					service_on_view, s, &s->follow);
	if (!err && s->config->nkeys)
		err = service_start_sharing(s);
	return err;
}

static int service_start_admin(struct service *s)
{
	struct address_prefixes allowed;
	struct server_settings settings = {
		.listen = s->config->listen_admin,
		.given = &s->handover.given,
		.listener = "admin",
		.max_connections =
			part_settings_admin_connections(service_open_files()),
		.max_header_bytes = ADMIN_HEADER_BYTES,
		.header_ms = ADMIN_TIMEOUT_MS,
		.idle_ms = ADMIN_TIMEOUT_MS,
		.min_rate = (unsigned)s->config->client_min_rate,
		.tls = s->config->tls_admin,
		.allowed = &allowed,
		.allowed_by = "admin_addresses",
		.troubles = s->troubles,
	};
	int err;

	if (!settings.listen)
		return 0;
	/* the configuration is checked: it is a list */
	(void)address_prefixes_read(s->config->admin_addresses, &allowed);
	s->admit.admitter = s->admitter;
	part_settings_hash_secret(s->config, s->admit.secret);
	s->admin_source =
		(struct admin){service_status, s, &s->purger, &s->admit,
			       s->sidecar};
	err = server_new(s->loop, &settings, &admin_handler, &s->admin_source,
			 &s->admin);
	if (err)
		log_write(LOG_ERROR, "service", "listen_admin: %s: %s",
			  settings.listen, strerror(-err));
	return err;
}

static int service_start_threads(struct service *s)
{
	int err = 0;

	for (unsigned i = 0; i < s->nworkers && !err; i++)
		err = worker_start(s->workers[i]);
	return err;
}

static int service_draw_instance(struct service *s)
{
	do {
		if (getrandom(&s->instance, sizeof(s->instance), 0) !=
		    sizeof(s->instance))
			return -EIO;
	} while (!s->instance);
	return 0;
}

/* Also where there is no limit yet: a reload may bring one, and what is not
 * used takes no memory. */
static int service_make_rates(struct service *s)
{
	uint64_t secret[2];

	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return -EIO;
	s->rates = client_rates_new(secret);
	return s->rates ? 0 : -ENOMEM;
}

void service_say_leases(struct service *s, const struct config *c)
{
	if (!c->sidecar) /* which fetches nothing that it keeps */
		digest_api_say_leases(s->api, part_settings_has_leases(c));
}

static void service_name_hash(struct service *s)
{
	char name[TOKEN_BYTES];

	part_settings_hash_name(s->config, name);
	digest_api_name_hash(s->api, name);
	service_say_leases(s, s->config);
}

static int service_start(struct service *s)
{
	int err = loop_new(&s->loop);

	if (!err)
		err = service_draw_instance(s);
	if (!err)
		err = service_take_disk(s);
	if (!err)
		err = service_start_admitter(s);
	if (!err)
		err = service_start_placer(s);
	if (!err)
		err = lease_desk_new(s->instance, &s->leases);
	if (!err)
		err = collapses_new(&s->collapses);
	if (!err)
		err = upstream_names_new(&s->names);
	if (!err)
		err = troubles_new(s->names, &s->troubles);
	if (!err)
		err = unstored_new(&s->unstored);
	if (!err)
		err = service_make_rates(s);
	if (!err)
		err = service_start_origins(s);
	if (!err)
		err = access_log_new(&s->access_log);
	if (!err)
		err = service_open_access_log(s, s->config);
	if (!err)
		err = service_start_cache(s);
	if (!err)
		err = service_start_sidecar(s);
	if (!err)
		err = digest_api_new(&s->api, s->config->wait_s,
				     &digest_paths_held);
	if (!err)
		service_name_hash(s);
	if (!err)
		err = service_start_offers(s);
	if (!err)
		err = service_start_members(s);
	if (!err)
		err = service_start_teller(s);
	if (!err && s->sharing)
		digest_api_add(s->api, sharing_api(s->sharing));
	if (!err && s->members)
		digest_api_on_introduction(s->api, service_on_introduction, s);
	if (!err)
		err = service_start_outcomes(s);
	if (!err)
		err = service_open_paths(s);
	if (!err)
		err = service_start_workers(s);
	if (!err)
		err = service_start_admin(s);
	if (!err) {
		service_note_listeners(s);
		err = service_check_given(s);
	}
	if (!err)
		err = service_start_control(s);
	if (!err)
		err = service_start_publisher(s);
	if (!err)
		err = service_start_squid(s);
	if (!err)
		err = service_start_share(s);
	if (!err)
		err = service_start_follow(s);
	if (!err)
		err = service_check_descriptors(s);
	if (!err)
		err = service_catch_up_purges(s);
	if (!err)
		err = service_start_threads(s);
	return err;
}

int service_new(struct config *config, const char *config_path,
		const struct service_process *process, struct service **out)
{
	struct service *s = calloc(1, sizeof(*s));
	char label[LISTEN_LABEL_BYTES];
	int err = -ENOMEM;

	if (!s) {
		config_free(&config);
		return err;
	}
	s->config = config;
	s->config_path = config_path;
	s->signals = -1;
	s->handover.predecessor = s->handover.successor.channel = -1;
	if (process) {
		s->handover.argv = process->argv;
		s->handover.given = process->given;
		s->handover.predecessor = process->predecessor;
	}
	log_set_level(config->log_level);
	err = fetch_global_init();
	if (!err)
		err = service_start(s);
	if (err) {
		log_write(LOG_ERROR, "service", "not started: %s",
			  strerror(-err));
		service_free(&s);
		return err;
	}
	s->started_s = loop_wall_s(s->loop);
	s->reloads.last_done_s = s->started_s;
	s->started_ms = loop_now_ms(s->loop);
	s->started = true;
	service_look_ready(s);
	listen_label(worker_data_socket(s->workers[0]), label);
	log_write(LOG_INFO, "service", "node %s: data on %s%s",
		  config->node, label,
		  s->publisher ? ", publishing digests" : "");
	*out = s;
	return 0;
}

void service_free(struct service **out)
{
	struct service *s = *out;

	if (!s)
		return;
	if (s->loop) {
		loop_unwatch(s->loop, &s->watch);
		service_end_ticks(s);
		loop_timer_clear(s->loop, &s->drain_timer);
	}
	if (s->copier)
		copier_stop(s->copier);
	for (unsigned i = 0; i < s->nworkers; i++)
		worker_stop(&s->workers[i]);
	if (s->admin)
		server_free(&s->admin);
	control_free(&s->control);
	purger_stop(&s->purger);
	teller_stop(s->teller);
	renewer_free(&s->renewer);
	if (s->sharing)
		sharing_stop(s->sharing);
	peer_follower_free(&s->follow);
	table_share_free(&s->share);
	members_free(&s->members);
	publisher_free(&s->publisher);
	squid_digest_free(&s->squid);
	sidecar_free(&s->sidecar);
	if (s->loop)
		loop_turn(s->loop, 0); /* the workers' last messages */
	copier_free(&s->copier);
	offers_free(&s->offers);
	teller_free(&s->teller);
	serving_desk_free(&s->serving);
	if (s->fetcher)
		fetcher_free(&s->fetcher);
	digest_api_free(&s->api);
	service_handover_free(s);
	if (s->cache)
		cache_free(&s->cache);
	collapses_free(&s->collapses);
	origin_watch_free(&s->watcher);
	origins_free(&s->origins);
	troubles_free(&s->troubles);
	upstream_names_free(&s->names);
	unstored_free(&s->unstored);
	client_rates_free(&s->rates);
	service_free_outcomes(s);
	free(s->asked);
	access_log_free(&s->access_log);
	placer_free(&s->placer);
	lease_desk_free(&s->leases);
	sharing_free(&s->sharing);
	admission_keeper_free(&s->keeper);
	admitter_free(&s->admitter);
	if (s->loop)
		loop_free(&s->loop);
	if (s->signals >= 0)
		close(s->signals);
	free(s->workers);
	free(s->emptied);
	config_free(&s->config);
	free(s);
	*out = NULL;
}

/* Run */

static void service_on_signal(void *arg, unsigned events)
{
	struct service *s = arg;
	struct signalfd_siginfo info;

	(void)events;
	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			(void)service_reload(s, NULL);
		else if (info.ssi_signo == SIGUSR1)
			(void)service_open_access_log(s, s->config);
		else if (info.ssi_signo == SIGUSR2)
			service_begin_handover(s);
		else
			service_ask_to_drain(s);
	}
}

int service_run(struct service *s)
{
	sigset_t set;
	int err;

	service_signals(&set);
	s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s->signals < 0)
		return -errno;
	err = loop_watch(s->loop, &s->watch, s->signals, LOOP_READ,
			 service_on_signal, s);
	if (err)
		return err;
	service_start_ticks(s);
	notify_ready();
	service_say_it_serves(s);
	err = loop_run(s->loop);
	log_write(LOG_INFO, "service", "stopped");
	return err;
}
