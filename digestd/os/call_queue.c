/*
 * Queues of calls.
 */
#include "digestd/os/call_queue.h"

#include <stddef.h>

void call_queue_init(struct call_queue *q)
{
	q->head = NULL;
	q->tail = &q->head;
}

void call_queue_push(struct call_queue *q, struct loop_call *c)
{
	c->next = NULL;
	c->link = q->tail;
	*q->tail = c;
	q->tail = &c->next;
}

void call_queue_remove(struct call_queue *q, struct loop_call *c)
{
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	else
		q->tail = c->link;
	c->next = NULL;
	c->link = NULL;
}

void call_queue_take(struct call_queue *to, struct call_queue *from)
{
	call_queue_init(to);
	if (!from->head)
		return;
	to->head = from->head;
	to->head->link = &to->head;
	to->tail = from->tail;
	call_queue_init(from);
}
