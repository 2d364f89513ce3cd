/*
 * Groups of origins.
 */
#include "digestd/proxy/origin_group.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/mix.h"
#include "digestd/os/address.h"
#include "digestd/os/log.h"
#include "digestd/os/resolver.h"
#include "digestd/peers/upstream.h"

/* What is behind a number of the machine. */
struct origin_slot {
	char *label;   /* null: never used */
	size_t url;    /* of which it is */
	bool placed;
	union resolver_address address;
	/* atomic: turns, and those at what is alone that have not ended; of one
	 * that has gone the number is free when it has none */
	unsigned users, owed;
	uint64_t requests; /* atomic, too */
	int64_t answered_ms; /* atomic, too: last, whatever it was; 0: never */
	bool troubled; /* atomic: what it answers is of interest */
	enum trouble cause;
	int64_t out_ms;
};

struct origin_group {
	struct origin_group *next;
	bool used;
	size_t nurls;
	char *urls[UPSTREAM_URLS_MAX];
	char *name; /* of it, for the table: the URLs as they were given */
	int alone; /* the number of the only one there is; -1: there are more.
		      Atomic: it needs no lock */
	pthread_mutex_t lock; /* guards the rest */
	struct origin_policy policy;
	uint64_t random;
	struct origin_set set;
	struct origin_slot slots[ORIGIN_SET_MAX];
};

struct origins {
	pthread_mutex_t lock; /* guards the list */
	struct origin_policy policy;
	struct origin_group *groups;
};

enum { ORIGIN_MEASURED = 16 }; /* one in so many answers of what is alone */

/* The table */

int origins_new(struct origins **out)
{
	struct origins *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	pthread_mutex_init(&o->lock, NULL);
	*out = o;
	return 0;
}

static void origin_group_free(struct origin_group *g)
{
	for (size_t i = 0; i < g->nurls; i++)
		free(g->urls[i]);
	for (size_t i = 0; i < ORIGIN_SET_MAX; i++) {
		assert(!g->slots[i].users);
		free(g->slots[i].label);
	}
	pthread_mutex_destroy(&g->lock);
	free(g->name);
	free(g);
}

void origins_free(struct origins **origins)
{
	struct origins *o = *origins;

	*origins = NULL;
	while (o && o->groups) {
		struct origin_group *g = o->groups;

		o->groups = g->next;
		origin_group_free(g);
	}
	if (o)
		pthread_mutex_destroy(&o->lock);
	free(o);
}

void origins_configure(struct origins *origins,
		       const struct origin_policy *policy)
{
	pthread_mutex_lock(&origins->lock);
	origins->policy = *policy;
	for (struct origin_group *g = origins->groups; g; g = g->next) {
		g->used = false;
		pthread_mutex_lock(&g->lock);
		g->policy = *policy;
		pthread_mutex_unlock(&g->lock);
	}
	pthread_mutex_unlock(&origins->lock);
}

/* What a URL of the group, or an address of its host, is called. */
static char *origin_group_label(const struct origin_group *g, size_t url,
				const union resolver_address *address)
{
	char text[ADDRESS_TEXT_BYTES] = "", *label;
	size_t len = strlen(g->urls[url]) + sizeof(text) + 2;

	label = malloc(len);
	if (!label)
		return NULL;
	if (address && address_text(&address->any, text))
		snprintf(label, len, "%s#%s", g->urls[url], text);
	else
		snprintf(label, len, "%s", g->urls[url]);
	return label;
}

/* Whether there is one only; under the lock, after a change. */
static void origin_group_look_alone(struct origin_group *g)
{
	int alone = -1;
	unsigned n = 0;

	for (unsigned i = 0; i < g->set.end; i++) {
		if (g->set.at[i].there && n++ == 0)
			alone = (int)i;
	}
	__atomic_store_n(&g->alone, n == 1 ? alone : -1, __ATOMIC_SEQ_CST);
}

/* Adds an origin; without memory or a free number there is one less. */
static void origin_group_add(struct origin_group *g, size_t url,
			     const union resolver_address *address, bool backup)
{
	struct origin_slot *slot;
	char *label;
	unsigned i = 0;

	while (i < ORIGIN_SET_MAX &&
	       (g->set.at[i].there || __atomic_load_n(&g->slots[i].users,
						      __ATOMIC_SEQ_CST)))
		i++;
	label = i < ORIGIN_SET_MAX ? origin_group_label(g, url, address) : NULL;
	if (!label)
		return;
	slot = &g->slots[i];
	free(slot->label);
	/* users and owed stay: origin_group_take_alone() counts itself before
	 * it looks whether the number is still the one it read */
	slot->label = label;
	slot->url = url;
	slot->placed = address;
	slot->address = address ? *address : (union resolver_address){ 0 };
	slot->cause = TROUBLE_none;
	slot->out_ms = 0;
	__atomic_store_n(&slot->requests, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->answered_ms, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->troubled, false, __ATOMIC_RELAXED);
	origin_set_add(&g->set, i, backup);
	origin_group_look_alone(g);
}

/* Takes the next URL of a list; false: there is none, or no memory. */
static bool origin_group_add_url(struct origin_group *g, const char **list)
{
	size_t len = upstream_next_url(list);

	if (!len || g->nurls == UPSTREAM_URLS_MAX)
		return false;
	g->urls[g->nurls] = strndup(*list, len);
	if (!g->urls[g->nurls])
		return false;
	*list += len;
	origin_group_add(g, g->nurls++, NULL, false);
	return true;
}

static struct origin_group *origin_group_new(const char *urls)
{
	struct origin_group *g = calloc(1, sizeof(*g));
	const char *list = urls;
	bool complete;

	if (!g)
		return NULL;
	pthread_mutex_init(&g->lock, NULL);
	g->name = strdup(urls);
	while (g->name && origin_group_add_url(g, &list))
		continue;
	for (const char *c = urls; *c; c++)
		g->random = scd__mix64(g->random ^ (unsigned char)*c);
	complete = g->nurls && !upstream_next_url(&list) &&
		   g->slots[g->nurls - 1].label;
	if (complete)
		return g;
	origin_group_free(g);
	return NULL;
}

struct origin_group *origins_find(struct origins *origins, const char *urls)
{
	struct origin_group *g;

	pthread_mutex_lock(&origins->lock);
	g = origins->groups;
	while (g && strcmp(g->name, urls) != 0)
		g = g->next;
	if (!g) {
		g = origin_group_new(urls);
		if (g) {
			g->policy = origins->policy;
			g->next = origins->groups;
			origins->groups = g;
		}
	}
	if (g)
		g->used = true;
	pthread_mutex_unlock(&origins->lock);
	return g;
}

/* Turns */

/* Of one that is held. */
static void origin_group_begin(struct origin_group *g, unsigned i,
			       struct origin_turn *turn)
{
	struct origin_slot *slot = &g->slots[i];

	*turn = (struct origin_turn){
		.group = g,
		.member = i,
		.url = g->urls[slot->url],
		.label = slot->label,
		.address = slot->placed ? &slot->address : NULL,
	};
}

/* Under the lock. */
static void origin_group_hold(struct origin_group *g, unsigned i,
			      struct origin_turn *turn)
{
	__atomic_add_fetch(&g->slots[i].users, 1, __ATOMIC_SEQ_CST);
	origin_group_begin(g, i, turn);
}

bool origin_group_take_alone(struct origin_group *group,
			     struct origin_turn *turn)
{
	int i = __atomic_load_n(&group->alone, __ATOMIC_ACQUIRE);
	struct origin_slot *slot;

	assert(!turn->group);
	if (i < 0)
		return false;
	slot = &group->slots[i];
	__atomic_add_fetch(&slot->users, 1, __ATOMIC_SEQ_CST);
	/* a number is not given to another while it has users */
	if (__atomic_load_n(&group->alone, __ATOMIC_SEQ_CST) != i) {
		__atomic_sub_fetch(&slot->users, 1, __ATOMIC_RELEASE);
		return false;
	}
	__atomic_add_fetch(&slot->owed, 1, __ATOMIC_RELAXED);
	origin_group_begin(group, (unsigned)i, turn);
	turn->alone = turn->owed = true;
	turn->measured = __atomic_add_fetch(&slot->requests, 1,
					    __ATOMIC_RELAXED) %
			 ORIGIN_MEASURED == 0;
	return true;
}

bool origin_group_take(struct origin_group *group, struct origin_ask *ask,
		       struct origin_turn *turn)
{
	int i;

	assert(!turn->group);
	pthread_mutex_lock(&group->lock);
	ask->random = scd__splitmix64(&group->random);
	i = origin_set_choose(&group->set, &group->policy, ask);
	if (i >= 0) {
		__atomic_add_fetch(&group->slots[i].requests, 1,
				   __ATOMIC_RELAXED);
		origin_group_hold(group, (unsigned)i, turn);
		turn->owed = true;
	}
	pthread_mutex_unlock(&group->lock);
	return i >= 0;
}

/* How many have gone out of how many, for the log. */
struct origin_change {
	bool changed, up;
	unsigned up_count, count;
	int64_t out_ms;
};

/* Under the lock, after a change. */
static struct origin_change origin_group_change(struct origin_group *g,
						unsigned i,
						enum trouble cause,
						int64_t now_ms)
{
	struct origin_change c = { .changed = true };

	c.up = origin_set_state(&g->set, i, &g->policy, now_ms) <=
	       ORIGIN_STATE_STARTING;
	c.up_count = origin_set_up(&g->set);
	for (unsigned k = 0; k < g->set.end; k++)
		c.count += g->set.at[k].there;
	if (c.up) {
		c.out_ms = now_ms - g->slots[i].out_ms;
	} else {
		g->slots[i].cause = cause;
		g->slots[i].out_ms = now_ms;
	}
	return c;
}

static void origin_group_log(const struct origin_turn *turn,
			     const struct origin_change *c,
			     enum trouble cause)
{
	if (!c->changed)
		return;
	if (c->up)
		log_write(LOG_INFO, "origin", "%s is back after %lld s; %u of "
			  "%u are up", turn->label,
			  (long long)(c->out_ms / 1000), c->up_count, c->count);
	else
		log_write(LOG_WARNING, "origin", "%s is taken out: %s (%s); "
			  "%u of %u are up%s", turn->label,
			  trouble_text(cause), trouble_remedy(cause),
			  c->up_count, c->count,
			  c->up_count ? "" : ", so all are asked");
}

void origin_turn_answered(const struct origin_turn *turn, int64_t ms,
			  int64_t now_ms)
{
	struct origin_group *g = turn->group;
	struct origin_slot *slot = &g->slots[turn->member];
	struct origin_change change = { 0 };

	__atomic_store_n(&slot->answered_ms, now_ms, __ATOMIC_RELAXED);
	if (turn->alone && !turn->measured &&
	    !__atomic_load_n(&slot->troubled, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&g->lock);
	if (ms >= 0)
		origin_set_timed(&g->set, turn->member, ms, now_ms);
	if (origin_set_outcome(&g->set, turn->member, &g->policy,
			       ORIGIN_ANSWERED, now_ms))
		change = origin_group_change(g, turn->member, TROUBLE_none,
					     now_ms);
	__atomic_store_n(&slot->troubled,
			 origin_set_state(&g->set, turn->member, &g->policy,
					  now_ms) > ORIGIN_STATE_STARTING,
			 __ATOMIC_RELAXED);
	pthread_mutex_unlock(&g->lock);
	origin_group_log(turn, &change, TROUBLE_none);
}

void origin_turn_late(const struct origin_turn *turn, int64_t ms,
		      int64_t now_ms)
{
	pthread_mutex_lock(&turn->group->lock);
	origin_set_late(&turn->group->set, ms, now_ms);
	pthread_mutex_unlock(&turn->group->lock);
}

void origin_turn_judge(const struct origin_turn *turn,
		       enum origin_outcome outcome, enum trouble cause,
		       int64_t now_ms)
{
	struct origin_group *g = turn->group;
	struct origin_change change = { 0 };

	if (outcome == ORIGIN_ERROR)
		__atomic_store_n(&g->slots[turn->member].answered_ms, now_ms,
				 __ATOMIC_RELAXED);
	pthread_mutex_lock(&g->lock);
	__atomic_store_n(&g->slots[turn->member].troubled, true,
			 __ATOMIC_RELAXED);
	if (origin_set_outcome(&g->set, turn->member, &g->policy, outcome,
			       now_ms))
		change = origin_group_change(g, turn->member, cause, now_ms);
	pthread_mutex_unlock(&g->lock);
	origin_group_log(turn, &change, cause);
}

void origin_turn_unanswered(const struct origin_turn *turn, int64_t asked_ms,
			    int64_t now_ms)
{
	struct origin_group *g = turn->group;
	struct origin_slot *slot = &g->slots[turn->member];

	pthread_mutex_lock(&g->lock);
	/* the next answer is not overlooked, and ends it */
	__atomic_store_n(&slot->troubled, true, __ATOMIC_RELAXED);
	origin_set_unanswered(&g->set, turn->member, asked_ms,
			      __atomic_load_n(&slot->answered_ms,
					      __ATOMIC_RELAXED),
			      now_ms);
	pthread_mutex_unlock(&g->lock);
}

void origin_turn_end(struct origin_turn *turn)
{
	if (!turn->owed)
		return;
	turn->owed = false;
	if (turn->alone) {
		__atomic_sub_fetch(&turn->group->slots[turn->member].owed, 1,
				   __ATOMIC_RELAXED);
		return;
	}
	pthread_mutex_lock(&turn->group->lock);
	origin_set_end(&turn->group->set, turn->member);
	pthread_mutex_unlock(&turn->group->lock);
}

void origin_turn_release(struct origin_turn *turn)
{
	if (!turn->group)
		return;
	origin_turn_end(turn);
	__atomic_sub_fetch(&turn->group->slots[turn->member].users, 1,
			   __ATOMIC_RELEASE);
	*turn = (struct origin_turn){ 0 };
}

int64_t origin_turn_late_ms(const struct origin_turn *turn)
{
	int64_t ms;

	if (turn->alone)
		return INT64_MAX;
	pthread_mutex_lock(&turn->group->lock);
	ms = origin_set_late_ms(&turn->group->set);
	pthread_mutex_unlock(&turn->group->lock);
	return ms;
}

bool origin_group_take_retry(struct origin_group *group, uint32_t tried,
			     bool up, bool asked)
{
	bool taken;

	pthread_mutex_lock(&group->lock);
	taken = origin_set_take_retry(&group->set, tried, up, asked);
	pthread_mutex_unlock(&group->lock);
	return taken;
}

enum origin_condition origin_group_condition(struct origin_group *group,
					     int64_t now_ms)
{
	int i = __atomic_load_n(&group->alone, __ATOMIC_ACQUIRE);
	enum origin_condition condition;

	if (i >= 0 && !__atomic_load_n(&group->slots[i].troubled,
				       __ATOMIC_RELAXED))
		return ORIGIN_SERVES;
	pthread_mutex_lock(&group->lock);
	condition = origin_set_condition(&group->set, now_ms);
	pthread_mutex_unlock(&group->lock);
	return condition;
}

bool origin_group_take_trial(struct origin_group *group, int64_t now_ms)
{
	bool taken;

	pthread_mutex_lock(&group->lock);
	taken = origin_set_take_trial(&group->set, now_ms);
	pthread_mutex_unlock(&group->lock);
	return taken;
}

/* Watching */

void origins_each(struct origins *origins,
		  void (*each)(void *arg, struct origin_group *group),
		  void *arg)
{
	pthread_mutex_lock(&origins->lock);
	for (struct origin_group *g = origins->groups; g; g = g->next) {
		if (g->used)
			each(arg, g);
	}
	pthread_mutex_unlock(&origins->lock);
}

const char *origin_group_url(const struct origin_group *group, size_t i)
{
	return i < group->nurls ? group->urls[i] : NULL;
}

static bool origin_slot_is_at(const struct origin_slot *slot,
			      const struct resolver_answer *answer)
{
	for (size_t k = 0; slot->placed && k < answer->n; k++) {
		if (resolver_address_is(&answer->addresses[k], &slot->address))
			return true;
	}
	return false;
}

static bool origin_group_has(const struct origin_group *g, size_t url,
			     const union resolver_address *address)
{
	for (unsigned i = 0; i < g->set.end; i++) {
		const struct origin_slot *slot = &g->slots[i];

		if (g->set.at[i].there && slot->url == url && slot->placed &&
		    resolver_address_is(&slot->address, address))
			return true;
	}
	return false;
}

void origin_group_set_addresses(struct origin_group *group, size_t i,
				const struct resolver_answer *answer)
{
	assert(i < group->nurls && answer->n);
	pthread_mutex_lock(&group->lock);
	for (unsigned k = 0; k < group->set.end; k++) {
		if (group->set.at[k].there && group->slots[k].url == i &&
		    !origin_slot_is_at(&group->slots[k], answer)) {
			origin_set_remove(&group->set, k);
			log_write(LOG_INFO, "origin", "%s has left",
				  group->slots[k].label);
		}
	}
	origin_group_look_alone(group);
	for (size_t k = 0; k < answer->n; k++) {
		const union resolver_address *a = &answer->addresses[k];

		if (!origin_group_has(group, i, a))
			origin_group_add(group, i, a,
					 a->any.sa_family !=
					 answer->addresses[0].any.sa_family);
	}
	pthread_mutex_unlock(&group->lock);
}

bool origin_group_visit(struct origin_group *group, unsigned member,
			struct origin_turn *turn)
{
	bool there;

	assert(!turn->group);
	pthread_mutex_lock(&group->lock);
	there = member < group->set.end && group->set.at[member].there;
	if (there)
		origin_group_hold(group, member, turn);
	pthread_mutex_unlock(&group->lock);
	return there;
}

void origin_turn_checked(const struct origin_turn *turn, enum trouble cause,
			 int64_t now_ms)
{
	struct origin_group *g = turn->group;
	struct origin_change change = { 0 };

	pthread_mutex_lock(&g->lock);
	if (g->set.at[turn->member].there &&
	    origin_set_checked(&g->set, turn->member, &g->policy,
			       cause == TROUBLE_none, now_ms))
		change = origin_group_change(g, turn->member, cause, now_ms);
	if (cause != TROUBLE_none)
		__atomic_store_n(&g->slots[turn->member].troubled, true,
				 __ATOMIC_RELAXED);
	pthread_mutex_unlock(&g->lock);
	origin_group_log(turn, &change, cause);
}

void origin_group_unchecked(struct origin_group *group)
{
	pthread_mutex_lock(&group->lock);
	for (unsigned i = 0; i < group->set.end; i++)
		origin_set_unchecked(&group->set, i);
	pthread_mutex_unlock(&group->lock);
}

/* Status */

static void origin_group_status(struct origin_group *g, int64_t now_ms,
				void (*each)(void *arg,
					     const struct origin_status *s),
				void *arg)
{
	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; i < g->set.end; i++) {
		const struct origin_member *m = &g->set.at[i];
		const struct origin_status s = {
			.group = g->name,
			.label = g->slots[i].label,
			.state = origin_set_state(&g->set, i, &g->policy,
						  now_ms),
			.cause = g->slots[i].cause,
			.requests = __atomic_load_n(&g->slots[i].requests,
						    __ATOMIC_RELAXED),
			.outstanding = m->outstanding +
				       __atomic_load_n(&g->slots[i].owed,
						       __ATOMIC_RELAXED),
			.answer_ms = (double)m->time / ORIGIN_TIME_UNIT,
		};

		if (m->there)
			each(arg, &s);
	}
	pthread_mutex_unlock(&g->lock);
}

void origins_status(struct origins *origins, int64_t now_ms,
		    void (*each)(void *arg, const struct origin_status *s),
		    void *arg)
{
	if (!origins)
		return;
	pthread_mutex_lock(&origins->lock);
	for (struct origin_group *g = origins->groups; g; g = g->next) {
		if (g->used)
			origin_group_status(g, now_ms, each, arg);
	}
	pthread_mutex_unlock(&origins->lock);
}
