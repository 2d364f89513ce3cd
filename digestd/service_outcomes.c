/*
 * What came of asking peers, on its way from the workers to the follower.
 *
 * A hit is no news, so the service's thread does not wake up for each: hits
 * wait for its next tick, for OUTCOMES_WAIT of them, or for an outcome of
 * another kind, which it hears of at once, behind those before it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "digestd/os/loop.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/proxy/worker.h"
#include "digestd/service_inside.h"

enum { OUTCOMES_WAIT = 64 };

struct outcome_message {
	struct outcome_message *next;
	struct worker_outcome outcome;
};

struct service_outcomes {
	struct loop *loop;
	struct loop_call wake;
	pthread_mutex_t lock; /* guards what follows */
	struct outcome_message *first, **end;
	unsigned waiting;
	bool posted; /* the call that wakes the service's thread */
};

static void service_outcomes_wake(void *arg)
{
	struct service *s = arg;

	pthread_mutex_lock(&s->outcomes->lock);
	s->outcomes->posted = false;
	pthread_mutex_unlock(&s->outcomes->lock);
	service_take_outcomes(s);
}

int service_start_outcomes(struct service *s)
{
	struct service_outcomes *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->loop = s->loop;
	o->wake.run = service_outcomes_wake;
	o->wake.arg = s;
	pthread_mutex_init(&o->lock, NULL);
	o->end = &o->first;
	s->outcomes = o;
	return 0;
}

static struct outcome_message *service_outcomes_all(struct service_outcomes *o)
{
	struct outcome_message *first;

	pthread_mutex_lock(&o->lock);
	first = o->first;
	o->first = NULL;
	o->end = &o->first;
	o->waiting = 0;
	pthread_mutex_unlock(&o->lock);
	return first;
}

void service_free_outcomes(struct service *s)
{
	struct outcome_message *m, *next;

	if (!s->outcomes)
		return;
	for (m = service_outcomes_all(s->outcomes); m; m = next) {
		next = m->next;
		free(m);
	}
	pthread_mutex_destroy(&s->outcomes->lock);
	free(s->outcomes);
	s->outcomes = NULL;
}

void service_on_outcome(void *arg, const struct worker_outcome *outcome)
{
	struct service_outcomes *o = ((struct service *)arg)->outcomes;
	struct outcome_message *m = malloc(sizeof(*m));
	bool wake;

	if (!m)
		return; /* one sample less */
	m->next = NULL;
	m->outcome = *outcome;
	pthread_mutex_lock(&o->lock);
	*o->end = m;
	o->end = &m->next;
	wake = !o->posted && (outcome->kind != OUTCOME_HIT ||
			      ++o->waiting >= OUTCOMES_WAIT);
	o->posted |= wake;
	pthread_mutex_unlock(&o->lock);
	if (wake)
		loop_post(o->loop, &o->wake);
}

/* Tells the follower of the lookups since the last time. */
static void service_report_lookups(struct service *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->nworkers; i++)
		sum += worker_lookups(s->workers[i]);
	peer_follower_lookups(s->follow, sum - s->lookups);
	s->lookups = sum;
}

void service_take_outcomes(struct service *s)
{
	struct outcome_message *m, *next;

	if (s->follow)
		service_report_lookups(s); /* before what came of them */
	for (m = service_outcomes_all(s->outcomes); m; m = next) {
		next = m->next;
		if (s->follow) {
			service_note_outcome(s, &m->outcome);
			peer_follower_outcome(
				s->follow, m->outcome.peer, m->outcome.kind,
				m->outcome.rtt_ms ? m->outcome.rtt_ms : -1.0,
				m->outcome.body_bytes);
		}
		free(m);
	}
}
