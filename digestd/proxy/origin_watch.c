/*
 * Lookups and checks: a timer for each, and one structure for each that is
 * under way.
 */
#include "digestd/proxy/origin_watch.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/fetch/fetch.h"
#include "digestd/fetch/fetch_place.h"
#include "digestd/fetch/fetch_url.h"
#include "digestd/node/node_answer.h"
#include "digestd/os/loop.h"
#include "digestd/os/resolver.h"
#include "digestd/os/troubles.h"
#include "digestd/proxy/origin_group.h"
#include "digestd/tls/tls_client.h"

enum { CHECK_HEADER_BYTES = 65536 };

struct origin_lookup {
	struct origin_watch *watch;
	struct origin_group *group;
	size_t url;
	struct resolver_query *query; /* null: none is under way */
	struct origin_lookup *next;
	unsigned port;
	char name[POOL_HOST_MAX + 1];
};

struct origin_check {
	struct origin_watch *watch;
	struct origin_turn turn;
	struct fetch *fetch;
	enum trouble cause; /* by the header */
	int64_t asked_ms;
	struct origin_check *next, **link;
};

struct origin_watch {
	struct loop *loop;
	struct origins *origins;
	struct troubles *troubles;
	struct resolver *resolver; /* null: no name was looked up yet */
	struct fetcher *fetcher;   /* the same of checks */
	struct origin_watch_settings settings;
	char *check_path;
	struct origin_lookup *lookups; /* each name of a used group */
	struct origin_check *checks;   /* under way */
	struct loop_timer lookup_timer, check_timer;
};

int origin_watch_new(struct loop *loop, struct origins *origins,
		     struct troubles *troubles, struct origin_watch **out)
{
	struct origin_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->loop = loop;
	w->origins = origins;
	w->troubles = troubles;
	*out = w;
	return 0;
}

/* Lookups */

static void origin_watch_looked_up(void *arg,
				   const struct resolver_answer *answer)
{
	struct origin_lookup *l = arg;

	l->query = NULL;
	if (answer->n)
		origin_group_set_addresses(l->group, l->url, answer);
}

static void origin_watch_look_up(void *arg)
{
	struct origin_watch *w = arg;

	if (!w->resolver && resolver_new(w->loop, &w->resolver))
		w->resolver = NULL;
	for (struct origin_lookup *l = w->lookups; l && w->resolver;
	     l = l->next) {
		if (!l->query)
			(void)resolver_start(w->resolver, l->name, l->port,
					     origin_watch_looked_up, l,
					     &l->query);
	}
	loop_timer_set(w->loop, &w->lookup_timer,
		       loop_now_ms(w->loop) + w->settings.lookup_ms,
		       origin_watch_look_up, w);
}

static void origin_watch_drop_lookups(struct origin_watch *w)
{
	while (w->lookups) {
		struct origin_lookup *l = w->lookups;

		w->lookups = l->next;
		resolver_cancel(&l->query);
		free(l);
	}
}

/* The names of a group's URLs. */
static void origin_watch_add_lookups(void *arg, struct origin_group *group)
{
	struct origin_watch *w = arg;
	const char *text;

	for (size_t i = 0; (text = origin_group_url(group, i)); i++) {
		struct resolver_answer at;
		struct origin_lookup *l;
		struct fetch_url url;

		if (!fetch_url_read(text, &url) ||
		    fetch_place_address(&url.place, &at))
			continue;
		l = calloc(1, sizeof(*l));
		if (!l)
			return; /* the client looks it up by itself */
		*l = (struct origin_lookup){ .watch = w, .group = group,
					     .url = i, .next = w->lookups,
					     .port = url.place.port };
		memcpy(l->name, url.place.host, url.place.host_len);
		w->lookups = l;
	}
}

/* Checks */

static void origin_check_free(struct origin_check *c)
{
	fetch_cancel(&c->fetch);
	origin_turn_release(&c->turn);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	free(c);
}

static void origin_check_on_headers(void *arg, struct fetch *fetch,
				    unsigned status,
				    const struct fields *fields,
				    int64_t body_len)
{
	struct origin_check *c = arg;

	(void)fetch;
	(void)fields;
	(void)body_len;
	if (status != c->watch->settings.check_status)
		c->cause = TROUBLE_failed_check;
}

static void origin_check_end(struct origin_check *c)
{
	const int64_t now_ms = loop_now_ms(c->watch->loop);

	if (c->cause)
		troubles_of_upstream(c->watch->troubles, UPSTREAM_origin,
				     c->turn.label, c->cause, "a check",
				     now_ms);
	origin_turn_checked(&c->turn, c->cause, now_ms);
}

static void origin_check_on_done(void *arg, struct fetch *fetch,
				 const struct fetch_done *done)
{
	struct origin_check *c = arg;

	(void)fetch;
	c->fetch = NULL;
	if (node_answer_is_disconnect(done->result))
		origin_turn_unanswered(&c->turn, c->asked_ms,
				       loop_now_ms(c->watch->loop));
	if (done->result != FETCH_COMPLETE)
		c->cause = done->cause ? done->cause :
					 trouble_of_result(done->result);
	/* what is missing here says nothing of the origin */
	if (c->cause != TROUBLE_memory &&
	    c->cause != TROUBLE_descriptors)
		origin_check_end(c);
	origin_check_free(c);
}

static const struct fetch_callbacks origin_check_callbacks = {
	.on_headers = origin_check_on_headers,
	.on_done = origin_check_on_done,
};

static int origin_check_start(struct origin_check *c)
{
	struct origin_watch *w = c->watch;
	const unsigned ms = w->settings.check_ms < ORIGIN_CHECK_MS ?
				    (unsigned)w->settings.check_ms :
				    ORIGIN_CHECK_MS;
	const struct fetch_limits limits = {
		.connect_ms = ms,
		.first_byte_ms = ms,
		.total_ms = ms,
		.max_header_bytes = CHECK_HEADER_BYTES,
	};
	const struct fetch_request request = {
		.method = "GET",
		.url = c->turn.url,
		.target = w->check_path,
		.address = c->turn.address,
		.limits = &limits,
		.tls = w->settings.tls,
	};

	return fetch_start(w->fetcher, &request, &origin_check_callbacks, c,
			   &c->fetch);
}

/* Checks one, by its number; false: there are no more. */
static void origin_check_new(struct origin_watch *w, struct origin_group *group,
			     unsigned member)
{
	struct origin_check *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	c->watch = w;
	c->asked_ms = loop_now_ms(w->loop);
	c->next = w->checks;
	c->link = &w->checks;
	if (c->next)
		c->next->link = &c->next;
	w->checks = c;
	if (!origin_group_visit(group, member, &c->turn) ||
	    origin_check_start(c))
		origin_check_free(c);
}

static bool origin_watch_is_checking(const struct origin_watch *w,
				     const struct origin_group *group)
{
	const struct origin_check *c = w->checks;

	while (c && c->turn.group != group)
		c = c->next;
	return c;
}

static void origin_watch_check_group(void *arg, struct origin_group *group)
{
	struct origin_watch *w = arg;

	if (origin_watch_is_checking(w, group)) /* they have not ended yet */
		return;
	for (unsigned i = 0; i < ORIGIN_SET_MAX; i++)
		origin_check_new(w, group, i);
}

static void origin_watch_check(void *arg)
{
	struct origin_watch *w = arg;

	origins_each(w->origins, origin_watch_check_group, w);
	loop_timer_set(w->loop, &w->check_timer,
		       loop_now_ms(w->loop) + w->settings.check_ms,
		       origin_watch_check, w);
}

static void origin_watch_end_checks(struct origin_watch *w)
{
	while (w->checks)
		origin_check_free(w->checks);
}

/* Settings */

static void origin_watch_unchecked(void *arg, struct origin_group *group)
{
	(void)arg;
	origin_group_unchecked(group);
}

static void origin_watch_begin(struct origin_watch *w)
{
	loop_timer_clear(w->loop, &w->lookup_timer);
	loop_timer_clear(w->loop, &w->check_timer);
	if (w->lookups)
		origin_watch_look_up(w);
	if (w->check_path)
		loop_timer_set(w->loop, &w->check_timer, loop_now_ms(w->loop),
			       origin_watch_check, w);
	else
		origins_each(w->origins, origin_watch_unchecked, w);
}

int origin_watch_set(struct origin_watch *w,
		     const struct origin_watch_settings *settings)
{
	char *path = NULL;

	assert(settings->lookup_ms > 0);
	if (settings->check_path && !w->fetcher &&
	    fetcher_new(w->loop, FETCHER_DATA, 0, &w->fetcher))
		return -ENOMEM;
	if (settings->check_path && !(path = strdup(settings->check_path)))
		return -ENOMEM;
	origin_watch_end_checks(w);
	origin_watch_drop_lookups(w);
	if (settings->tls)
		tls_client_ref(settings->tls);
	tls_client_unref(w->settings.tls);
	free(w->check_path);
	w->check_path = path;
	w->settings = *settings;
	origins_each(w->origins, origin_watch_add_lookups, w);
	origin_watch_begin(w);
	return 0;
}

void origin_watch_free(struct origin_watch **watch)
{
	struct origin_watch *w = *watch;

	*watch = NULL;
	if (!w)
		return;
	origin_watch_end_checks(w);
	origin_watch_drop_lookups(w);
	loop_timer_clear(w->loop, &w->lookup_timer);
	loop_timer_clear(w->loop, &w->check_timer);
	if (w->fetcher)
		fetcher_free(&w->fetcher);
	resolver_free(&w->resolver);
	tls_client_unref(w->settings.tls);
	free(w->check_path);
	free(w);
}
