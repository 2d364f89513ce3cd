/*
 * Who the peers are.
 */
#include "digestd/peers/members.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/log.h"
#include "digestd/os/loop.h"
#include "digestd/peers/member_reader.h"
#include "digestd/peers/peer_kind.h"

enum { MEMBERS_SAID_MS = 60000 };

struct members {
	struct loop *loop;
	struct members_events events;
	char *node, *source;
	int64_t interval_ms;
	bool https;
	struct loop_timer timer;
	struct member_reader *reader; /* null: none is under way */

	struct member_list configured;
	struct member_list found;
	struct member_list introduced;
	struct member_list itself; /* those of the above that are this node */
	struct member_list peers;  /* what comes of them */

	int64_t introductions_ms; /* the time that they have used up */
	uint64_t readings, failed_readings;
	struct log_limit said_log; /* of what a command says beside its list */
	char reported[160]; /* the fault of the last reading; empty: none */
};

/* The list of peers */

static const struct upstream *members_find_url(const struct member_list *list,
					       const char *url)
{
	for (size_t i = 0; i < list->n; i++) {
		if (!strcmp(list->at[i].url, url))
			return &list->at[i];
	}
	return NULL;
}

/* Adds those of a list that are other nodes, and not there yet. */
static int members_add_others(const struct members *m,
			      const struct member_list *from,
			      struct member_list *to)
{
	for (size_t i = 0; i < from->n && to->n < PEERSET_MAX_PEERS; i++) {
		const struct upstream *u = &from->at[i];

		if (!strcmp(u->name, m->node) ||
		    members_find_url(&m->itself, u->url) ||
		    members_find_url(to, u->url) ||
		    member_list_find(to, u->name))
			continue;
		if (member_list_add(to, u))
			return -ENOMEM;
	}
	return 0;
}

static int members_gather(const struct members *m, struct member_list *to)
{
	int err = members_add_others(m, &m->configured, to);

	if (!err)
		err = members_add_others(m, &m->found, to);
	if (!err)
		err = members_add_others(m, &m->introduced, to);
	if (err)
		member_list_free(to);
	return err;
}

/* How a member has become one. */
static const char *members_came_by(const struct members *m,
				   const struct upstream *u)
{
	if (members_find_url(&m->configured, u->url))
		return "is a member, by the configuration";
	if (members_find_url(&m->found, u->url))
		return "is a member, by the list of members";
	return "is a member, as it has introduced itself";
}

/* Says which of a list are not in the other one, and what they are (null: how
 * they have become members). */
static void members_log_others(const struct members *m,
			       const struct member_list *list,
			       const struct member_list *other,
			       const char *what)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct upstream *u = &list->at[i];
		const struct upstream *same = member_list_find(other, u->name);

		if (!same || !member_is_same(u, same))
			log_write(LOG_INFO, "members", "peer %s, %s: %s",
				  u->name, u->url,
				  what ? what : members_came_by(m, u));
	}
}

/* An address may be another node's once nobody names it any more. */
static void members_forget_itself(struct members *m)
{
	for (size_t i = m->itself.n; i-- > 0;) {
		const char *url = m->itself.at[i].url;

		if (!members_find_url(&m->configured, url) &&
		    !members_find_url(&m->found, url) &&
		    !members_find_url(&m->introduced, url))
			member_list_remove(&m->itself, i);
	}
}

/* Makes the list anew; *other: it is another one. */
static int members_renew(struct members *m, bool *other)
{
	struct member_list peers = {.n = 0};

	*other = false;
	members_forget_itself(m);
	if (members_gather(m, &peers))
		return -ENOMEM;
	*other = !member_list_is_same(&peers, &m->peers);
	if (!*other) {
		member_list_free(&peers);
		return 0;
	}
	members_log_others(m, &m->peers, &peers, "is not a member any more");
	members_log_others(m, &peers, &m->peers, NULL);
	member_list_free(&m->peers);
	m->peers = peers;
	return 0;
}

static void members_update(struct members *m)
{
	bool other;

	if (members_renew(m, &other))
		log_write(LOG_ERROR, "members", "out of memory");
	else if (other)
		m->events.changed(m->events.arg);
}

/* Reading the source */

static void members_on_timer(void *arg);

static void members_wait(struct members *m)
{
	loop_timer_set(m->loop, &m->timer,
		       loop_now_ms(m->loop) + m->interval_ms, members_on_timer,
		       m);
}

/* The same fault once. */
static void members_report(struct members *m, const char *what)
{
	m->failed_readings++;
	if (!strcmp(m->reported, what))
		return;
	snprintf(m->reported, sizeof(m->reported), "%s", what);
	log_write(LOG_WARNING, "members",
		  "%s: %s; the members stay as they "
		  "are",
		  m->source, what);
}

/* What a command says beside its list, as often as one may be read about it. */
static void members_log_said(struct members *m, const char *said)
{
	unsigned dropped;
	char room[64];

	m->said_log.burst = 1;
	m->said_log.period_ms = MEMBERS_SAID_MS;
	if (*said && log_allow(&m->said_log, loop_now_ms(m->loop), &dropped))
		log_write(LOG_WARNING, "members", "%s: says: %s%s", m->source,
			  said, log_suppressed(dropped, room));
}

/* By its name, or where it is: behind a translation of addresses a node
 * introduces itself with another URL than the one it is listed with, and the
 * names of dns and srv are not those of nodes. */
static bool members_has(const struct member_list *list,
			const struct upstream *u)
{
	return member_list_find(list, u->name) ||
	       members_find_url(list, u->url);
}

/* Those whom the source names have no need of an introduction; and when it
 * ceases to name them, they are gone. */
static void members_drop_named(struct members *m)
{
	for (size_t i = m->introduced.n; i-- > 0;) {
		if (members_has(&m->found, &m->introduced.at[i]))
			member_list_remove(&m->introduced, i);
	}
}

static void members_take(struct members *m, struct member_list *found)
{
	if (*m->reported)
		log_write(LOG_INFO, "members", "%s: can be read again",
			  m->source);
	m->reported[0] = '\0';
	member_list_free(&m->found);
	m->found = *found;
	members_drop_named(m);
}

static void members_on_read(void *arg, struct member_reading *reading)
{
	struct members *m = arg;

	m->reader = NULL;
	m->readings++;
	members_log_said(m, reading->fault.said);
	if (reading->well)
		members_take(m, &reading->list);
	else
		members_report(m, reading->fault.what);
	members_wait(m);
	members_update(m);
}

/* Drops those of whom nothing has been heard. */
static void members_forget(struct members *m, int64_t now_ms)
{
	for (size_t i = m->introduced.n; i-- > 0;) {
		int64_t seen_ms = m->events.seen_ms(m->events.arg,
						    m->introduced.at[i].name);

		if (now_ms - seen_ms > MEMBERS_FORGET_MS)
			member_list_remove(&m->introduced, i);
	}
}

static void members_on_timer(void *arg)
{
	struct members *m = arg;

	members_forget(m, loop_now_ms(m->loop));
	if (member_reader_start(m->loop, m->source, m->https, members_on_read,
				m, &m->reader)) {
		members_report(m, "cannot be read now");
		members_wait(m);
	}
	members_update(m);
}

/* Settings */

static bool members_is_text_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Begins anew with another source; what the old one named counts until the new
 * one has been read. */
static void members_set_source(struct members *m, char *source)
{
	bool same = members_is_text_same(m->source, source);

	free(m->source);
	m->source = source;
	if (!source) {
		member_list_free(&m->found);
		member_list_free(&m->introduced);
	}
	if (source && same)
		return;
	member_reader_cancel(&m->reader);
	loop_timer_clear(m->loop, &m->timer);
	m->reported[0] = '\0';
	if (source)
		loop_timer_set(m->loop, &m->timer, loop_now_ms(m->loop),
			       members_on_timer, m);
}

int members_set(struct members *m, const struct members_settings *settings)
{
	struct member_list configured = {.n = 0};
	char *source = settings->source ? strdup(settings->source) : NULL;
	char *node = strdup(settings->node);
	bool other;

	assert(settings->interval_ms > 0);
	if (!node || (settings->source && !source) ||
	    member_list_copy(&configured, &settings->configured)) {
		free(source);
		free(node);
		return -ENOMEM;
	}
	free(m->node);
	m->node = node;
	m->interval_ms = settings->interval_ms;
	m->https = settings->https;
	member_list_free(&m->configured);
	m->configured = configured;
	members_set_source(m, source);
	return members_renew(m, &other);
}

int members_new(struct loop *loop, const struct members_settings *settings,
		const struct members_events *events, struct members **out)
{
	struct members *m = calloc(1, sizeof(*m));
	int err;

	assert(loop && events->changed && events->seen_ms);
	if (!m)
		return -ENOMEM;
	m->loop = loop;
	m->events = *events;
	m->introductions_ms = INT64_MIN;
	err = members_set(m, settings);
	if (err)
		members_free(&m);
	*out = m;
	return err;
}

void members_free(struct members **out)
{
	struct members *m = *out;

	if (!m)
		return;
	member_reader_cancel(&m->reader);
	loop_timer_clear(m->loop, &m->timer);
	member_list_free(&m->configured);
	member_list_free(&m->found);
	member_list_free(&m->introduced);
	member_list_free(&m->itself);
	member_list_free(&m->peers);
	free(m->source);
	free(m->node);
	free(m);
	*out = NULL;
}

const struct member_list *members_list(const struct members *m)
{
	return &m->peers;
}

/* Introductions */

/* A node that comes back elsewhere is not at the old place any more. */
static void members_drop_introduced(struct members *m, const char *name)
{
	for (size_t i = m->introduced.n; i-- > 0;) {
		if (!strcmp(m->introduced.at[i].name, name))
			member_list_remove(&m->introduced, i);
	}
}

/* Whether one more may change something now. */
static bool members_may_introduce(struct members *m)
{
	enum { BURST_MS = MEMBERS_INTRODUCTIONS * MEMBERS_INTRODUCTION_MS };
	int64_t now_ms = loop_now_ms(m->loop);

	if (m->introductions_ms < now_ms - BURST_MS)
		m->introductions_ms = now_ms - BURST_MS;
	if (m->introductions_ms > now_ms - MEMBERS_INTRODUCTION_MS)
		return false;
	m->introductions_ms += MEMBERS_INTRODUCTION_MS;
	return true;
}

/* Whether it has been introduced just so before, or has no need to be. */
static bool members_knows(const struct members *m, const struct upstream *u)
{
	const struct upstream *before = member_list_find(&m->introduced,
							 u->name);

	return members_find_url(&m->peers, u->url) ||
	       members_has(&m->found, u) ||
	       (before && member_is_same(before, u));
}

void members_introduce(struct members *m, const char *text, const char *from)
{
	struct member_list one = {.n = 0};

	if (!m->source || member_list_introduce(&one, text, from))
		return;
	if (!members_knows(m, &one.at[0]) && members_may_introduce(m)) {
		members_drop_introduced(m, one.at[0].name);
		if (m->introduced.n < PEERSET_MAX_PEERS &&
		    !member_list_add(&m->introduced, &one.at[0]))
			members_update(m);
	}
	member_list_free(&one);
}

void members_is_itself(struct members *m, const char *url)
{
	const struct upstream *u = members_find_url(&m->peers, url);

	if (!u || member_list_add(&m->itself, u))
		return;
	log_write(LOG_INFO, "members", "%s, %s: is this node itself", u->name,
		  u->url);
	members_update(m);
}

void members_count(const struct members *m, struct members_stats *out)
{
	*out = (struct members_stats){
		.configured = m->configured.n,
		.found = m->found.n,
		.introduced = m->introduced.n,
		.readings = m->readings,
		.failed_readings = m->failed_readings,
		.reads = !*m->reported,
	};
}
