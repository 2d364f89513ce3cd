/*
 * What a publisher does and when: it publishes the catalog when enough of it
 * has changed, and moves it to a filter of another size when its keys have
 * become many or few. A machine without I/O: each step takes an event, what the
 * catalog is like and the time, and answers with one task. What comes of the
 * task is the next event, until the task is to wait.
 *
 *   state                  due            then
 *   IDLE                   drop filter    IDLE
 *                          begin rebuild  REBUILDING, or wait after a failure
 *                          begin copy     COPYING, or wait after a failure; it
 *                                         is due again when a copy was made
 *                                         and could not be published
 *   REBUILDING             rebuild part   IDLE after the last; a copy may begin
 *                                         after each part
 *   COPYING                copy slice     after the last publish, IDLE
 *   COPYING_IN_REBUILD     copy slice     after the last publish, REBUILDING
 *
 * Where arrays are published only while somebody asks for them, the catalog has
 * a filter only then, which it gets by a rebuild.
 *
 * Parts and slices come at most once in PUBLICATION_PART_MS, so that others get
 * the catalog's lock in between. While nothing is due the machine says from how
 * many changes on it wants to be told: the wait costs nothing however often
 * keys come and go, and is over, but for PUBLICATION_PACE_MS, when it should
 * be.
 */
#ifndef DIGESTD_MESH_PUBLICATION_SCHEDULE_H
#define DIGESTD_MESH_PUBLICATION_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/mesh/catalog.h"
#include "digestd/mesh/resize.h"

enum {
	PUBLICATION_PACE_MS = 20,     /* between two looks at a catalog */
	PUBLICATION_PART_MS = 1,      /* between two parts, or two slices */
	PUBLICATION_RETRY_MS = 60000, /* after there was no memory */
};

enum publication_state {
	PUBLICATION_IDLE,               /* nothing is under way */
	PUBLICATION_REBUILDING,         /* the catalog moves to another size */
	PUBLICATION_COPYING,            /* a snapshot is being made */
	PUBLICATION_COPYING_IN_REBUILD, /* and the rebuild pauses */
};

enum { PUBLICATION_STATES = PUBLICATION_COPYING_IN_REBUILD + 1 };

enum publication_task_kind {
	PUBLICATION_WAIT,          /* until due_ms, or for changes */
	PUBLICATION_DROP_FILTER,   /* nobody asks for arrays any more */
	PUBLICATION_BEGIN_REBUILD, /* to nbits */
	PUBLICATION_REBUILD_PART,
	PUBLICATION_BEGIN_COPY, /* of the catalog, as it is now */
	PUBLICATION_COPY_SLICE,
	PUBLICATION_PUBLISH, /* the copy, which is whole */
};

enum { PUBLICATION_TASKS = PUBLICATION_PUBLISH + 1 };

enum publication_event_kind {
	PUBLICATION_DUE,     /* the wait is over; or there is a new policy */
	PUBLICATION_CHANGED, /* the catalog has changed as often as was said */
	PUBLICATION_DONE,    /* the task is; it was the last part or slice */
	PUBLICATION_MORE,    /* a part or a slice is; it was not the last */
	PUBLICATION_FAILED,  /* the task has, without memory */
};

enum { PUBLICATION_EVENTS = PUBLICATION_FAILED + 1 };

struct publication_policy {
	struct publish_policy publish;
	struct resize_policy resize;
	bool resizable; /* the catalog can be rebuilt; or resize is not used */
};

struct publication_event {
	enum publication_event_kind kind;
	bool arrays; /* are published, or else only lists; but for CHANGED */
	struct catalog_stats catalog; /* now, but for CHANGED */
	int64_t catalog_due_ms;       /* catalog_due_ms(), the same */
};

struct publication_task {
	enum publication_task_kind kind;
	uint64_t nbits;   /* to begin a rebuild */
	int64_t due_ms;   /* to wait; INT64_MAX: for changes only */
	uint64_t changes; /* to wait: until catalog_stats.changed is so many */
};

/* All fields are private. */
struct publication_schedule {
	enum publication_state state;
	struct publication_task task; /* under way */
	struct resize resize;
	int64_t looked_ms;        /* when something was last due */
	int64_t retry_rebuild_ms; /* none begins before */
	int64_t retry_copy_ms;
	int64_t again_ms; /* a copy was not published: the next is due then */
};

/* Starts, and waits until now_ms, which is what it returns. */
struct publication_task
publication_schedule_init(struct publication_schedule *s, int64_t now_ms);

/* Whether an event can come of a task in a state: the machine asserts it. */
bool publication_schedule_expects(enum publication_state state,
				  enum publication_task_kind task,
				  enum publication_event_kind event);

/* The next task. */
struct publication_task publication_schedule_step(
	struct publication_schedule *s, const struct publication_policy *policy,
	const struct publication_event *event, int64_t now_ms);

#endif
