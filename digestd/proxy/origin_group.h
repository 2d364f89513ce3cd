/*
 * The origins of a site, shared by all workers: which of them a request goes to
 * and what came of it. Decisions are those of a machine (mesh/origin_set.h);
 * here are its lock, the URLs and addresses behind its numbers, counters, and
 * the log.
 *
 * A group has one URL or several. A URL whose host is a name is as many origins
 * as the name has addresses, once these are known (origin_watch.h): those of
 * the family that comes first, and the others as backups.
 *
 * Groups live as long as the table of them, so that a reload finds what was
 * measured: one that no configuration names any more is only not watched, and
 * not shown.
 */
#ifndef DIGESTD_PROXY_ORIGIN_GROUP_H
#define DIGESTD_PROXY_ORIGIN_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/trouble.h"
#include "digestd/mesh/origin_set.h"

struct origin_group;
struct origins;
struct resolver_answer;
union resolver_address;

/* Makes the table. Returns 0 or -ENOMEM. */
int origins_new(struct origins **out);

/* Nobody holds an origin any more. Null is allowed. */
void origins_free(struct origins **origins);

/* From now on; all groups that are not asked for after this are unused. */
void origins_configure(struct origins *origins,
		       const struct origin_policy *policy);

/* The group of these URLs, separated by commas and blanks, of which there are
 * at most UPSTREAM_URLS_MAX. Null: no memory. */
struct origin_group *origins_find(struct origins *origins, const char *urls);

/* A request's turn at an origin. All zero: none. */
struct origin_turn {
	struct origin_group *group; /* null: none is held */
	unsigned member;
	bool owed; /* it counts as outstanding */
	bool alone, measured; /* there is no other; how it does is looked at */
	/* of the origin, as long as it is held */
	const char *url;
	const char *label; /* the URL, with #ADDRESS where a name has some */
	const union resolver_address *address; /* null: the host's own */
};

/* Takes a turn at the only origin that there is, without a lock, of whose
 * answers only some are measured; false: there are others. */
bool origin_group_take_alone(struct origin_group *group,
			     struct origin_turn *turn);

/* Takes a turn at the origin that is to be asked. False: all have been tried.
 * ask->random is set here. */
bool origin_group_take(struct origin_group *group, struct origin_ask *ask,
		       struct origin_turn *turn);

/* It has answered, which is what it owed; ms: it took so long to the header,
 * -1: that says nothing. */
void origin_turn_answered(const struct origin_turn *turn, int64_t ms,
			  int64_t now_ms);

/* It has not, within so long. */
void origin_turn_late(const struct origin_turn *turn, int64_t ms,
		      int64_t now_ms);

/* What came of it counts for its health; a change is logged with the cause. */
void origin_turn_judge(const struct origin_turn *turn,
		       enum origin_outcome outcome, enum trouble cause,
		       int64_t now_ms);

/* It was asked at asked_ms and has not answered up to now: nothing came, or
 * somebody does not wait any longer. */
void origin_turn_unanswered(const struct origin_turn *turn, int64_t asked_ms,
			    int64_t now_ms);

/* The request has ended there, however it did (idempotent). */
void origin_turn_end(struct origin_turn *turn);

/* The same, and its label is not needed any more; a turn of none is allowed. */
void origin_turn_release(struct origin_turn *turn);

/* When its answer is late [ms]; INT64_MAX: there is no other to be asked. */
int64_t origin_turn_late_ms(const struct origin_turn *turn);

/* As origin_set_take_retry() says. */
bool origin_group_take_retry(struct origin_group *group, uint32_t tried,
			     bool up, bool asked);

/* What is known of the group, without a lock while it has a single origin that
 * has not failed; and as origin_set_take_trial() says. */
enum origin_condition origin_group_condition(struct origin_group *group,
					     int64_t now_ms);
bool origin_group_take_trial(struct origin_group *group, int64_t now_ms);

/* For who watches them */

/* Calls back for each group that is used. */
void origins_each(struct origins *origins,
		  void (*each)(void *arg, struct origin_group *group),
		  void *arg);

/* The URLs of a group; null: there are no more. They do not change. */
const char *origin_group_url(const struct origin_group *group, size_t i);

/* What the name of its i-th URL stands for now. */
void origin_group_set_addresses(struct origin_group *group, size_t i,
				const struct resolver_answer *answer);

/* Takes a turn at one by its number, to check it; false: there is none. The
 * turn counts as no request. */
bool origin_group_visit(struct origin_group *group, unsigned member,
			struct origin_turn *turn);

/* What came of a check; cause: TROUBLE_none if it is up. */
void origin_turn_checked(const struct origin_turn *turn, enum trouble cause,
			 int64_t now_ms);

/* There are no checks any more. */
void origin_group_unchecked(struct origin_group *group);

/* What is told of an origin. */
struct origin_status {
	const char *group; /* its URLs */
	const char *label;
	enum origin_state state;
	enum trouble cause; /* of the last time that it was out */
	uint64_t requests;
	unsigned outstanding;
	double answer_ms; /* smoothed time to the header; 0: none yet */
};

/* Calls back for each origin of the groups that are used; texts stay until
 * addresses are set. Null origins: there are none. */
void origins_status(struct origins *origins, int64_t now_ms,
		    void (*each)(void *arg, const struct origin_status *s),
		    void *arg);

#endif
