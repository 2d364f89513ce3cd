/*
 * The node takes another configuration.
 */
#include <stdio.h>
#include <string.h>

#include "digestd/cache/admitter.h"
#include "digestd/cache/cache.h"
#include "digestd/config/configuration.h"
#include "digestd/os/address_prefix.h"
#include "digestd/os/log.h"
#include "digestd/os/notify.h"
#include "digestd/os/troubles.h"
#include "digestd/part_settings.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/sharing.h"
#include "digestd/proxy/worker.h"
#include "digestd/server/server.h"
#include "digestd/service_inside.h"

static void service_apply_admin(struct service *s, const struct config *c)
{
	struct address_prefixes allowed;

	/* the configuration is checked: it is a list */
	(void)address_prefixes_read(c->admin_addresses, &allowed);
	server_set_tls(s->admin, c->tls_admin);
	server_set_allowed(s->admin, &allowed);
}

/* Hands a new configuration to all parts; on -ENOMEM some may have it. */
static int service_apply(struct service *s, const struct config *c)
{
	struct peer_follower_settings following = service_following(s, c);
	struct admitter_settings admission = part_settings_of_admission(c);
	const struct copier_settings copying = part_settings_of_copier(c);
	struct worker_settings workers;
	int err = part_settings_of_workers(c, &workers);

	if (!err)
		err = service_find_origins(s, c, &workers);
	if (!err)
		err = service_watch_origins(s, c);
	for (unsigned i = 0; i < s->nworkers && !err; i++)
		err = worker_reconfigure(s->workers[i], &workers);
	part_settings_free(&workers);
	if (!err && s->follow)
		peer_follower_set(s->follow, &following);
	if (s->copier)
		copier_set(s->copier, &copying);
	service_say_leases(s, c);
	if (!err)
		err = service_apply_peers(s, c);
	admitter_set(s->admitter, &admission, loop_now_ms(s->loop));
	cache_limit(s->cache, (uint64_t)c->cache_size, (uint64_t)c->disk_size,
		    (unsigned)c->vary_limit);
	if (s->admin)
		service_apply_admin(s, c);
	log_set_level(c->log_level);
	return err;
}

/* Says a line in the log, and to who waits for the reload. */
static void service_reload_say(FILE *told, enum log_level level,
			       const char *line, size_t len)
{
	log_write(level, "reload", "%.*s", (int)len, line);
	if (told)
		fprintf(told, "%.*s\n", (int)len, line);
}

static void service_reload_say_lines(FILE *told, enum log_level level,
				     const char *lines)
{
	while (*lines) {
		size_t len = strcspn(lines, "\n");

		service_reload_say(told, level, lines, len);
		lines += len + (lines[len] == '\n');
	}
}

static const char another_key[] =
	"keys of objects would be made by another cluster key: it "
	"takes effect only at the next start, and the old one stays "
	"in force everywhere; see \"Another cluster key\" in "
	"digestd(8)";

/* Whose token is taken no longer does not go on reading, and is not told of
 * what is purged. The workers have been given the tokens before. */
static void service_end_streams(struct service *s)
{
	digest_api_end_streams(s->api);
	if (s->sharing)
		digest_api_end_streams(sharing_api(s->sharing));
}

/* Who changes the key of a cluster sees that a round has taken. */
static void service_change_keys(struct service *s, const struct config *next)
{
	const struct config *old = s->config;

	if (old->nkeys == next->nkeys &&
	    !memcmp(old->keys, next->keys, sizeof(old->keys)))
		return;
	service_end_streams(s);
	log_write(LOG_INFO, "reload", "the cluster key has changed: of peers "
		  "%u %s accepted, and the first is presented to them",
		  (unsigned)next->nkeys, next->nkeys == 1 ? "is" : "are");
}

/* What has not been taken over has its own error before this. */
static void service_log_done(bool key_refused, bool log_unopened)
{
	const char *but = "";

	if (key_refused && log_unopened)
		but = ", but for the cluster key and the access log";
	else if (key_refused)
		but = ", but for the cluster key";
	else if (log_unopened)
		but = ", but for the access log";
	log_write(*but ? LOG_WARNING : LOG_INFO, "reload", "done%s", but);
}

/* Returns whether all of it is in effect, but for what waits for a start. */
static bool service_take(struct service *s, struct config *next, FILE *told)
{
	struct config_errors errors;
	bool refused, unopened, applied;

	config_keep_tls(s->config, next);
	refused = config_keep_key(s->config, next);
	if (refused)
		service_reload_say_lines(told, LOG_ERROR, another_key);
	config_keep_started(s->config, next, &errors);
	service_reload_say_lines(told, LOG_WARNING, errors.text);
	applied = !service_set_members(s, next) && !service_apply(s, next);
	if (!applied)
		service_reload_say_lines(told, LOG_ERROR, "out of memory");
	service_change_keys(s, next);
	unopened = service_open_access_log(s, next);
	if (unopened && told)
		fprintf(told, "access_log: %s cannot be opened, and the old "
			"one goes on\n", next->access_log);
	config_free(&s->config);
	s->config = next;
	s->purger.sites = next->sites;
	service_log_done(refused, unopened);
	return applied && !refused && !unopened;
}

bool service_reload(struct service *s, FILE *told)
{
	struct config_errors errors;
	struct config *next;
	bool failed, done = false;

	notify_reloading();
	failed = config_load(s->config_path, &next, &errors);
	if (failed) {
		service_reload_say_lines(told, LOG_ERROR, errors.text);
		if (told)
			fprintf(told, "the old configuration remains in "
				"effect\n");
		troubles_of_part(s->troubles, TROUBLE_PART_configuration,
				 TROUBLE_configuration, s->config_path,
				 loop_now_ms(s->loop));
		s->reloads.failed++;
	} else {
		service_reload_say_lines(told, LOG_WARNING, errors.text);
		done = service_take(s, next, told);
		s->reloads.done++;
		s->reloads.last_done_s = loop_wall_s(s->loop);
	}
	s->reloads.last_failed = failed;
	notify_ready();
	return done;
}
