/*
 * A queue of calls, doubly linked through the calls themselves, so that queuing
 * one allocates nothing, and any of them can be taken out. All in O(1).
 */
#ifndef DIGESTD_OS_CALL_QUEUE_H
#define DIGESTD_OS_CALL_QUEUE_H

#include "digestd/os/loop.h"

struct call_queue {
	struct loop_call *head, **tail;
};

/* Makes it an empty one. */
void call_queue_init(struct call_queue *q);

/* Adds a call that is in no queue at the end. */
void call_queue_push(struct call_queue *q, struct loop_call *c);

/* Removes a call that is in this queue; its link is null then. */
void call_queue_remove(struct call_queue *q, struct loop_call *c);

/* Moves everything in `from` to `to`, whatever that was. */
void call_queue_take(struct call_queue *to, struct call_queue *from);

#endif
