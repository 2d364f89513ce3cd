/*
 * The node ends: it drains, see node_drain.h.
 */
#include "digestd/config/configuration.h"
#include "digestd/os/log.h"
#include "digestd/os/notify.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/sharing.h"
#include "digestd/proxy/worker.h"
#include "digestd/service_inside.h"

static void service_drain_step(struct service *s, enum node_drain_event event);

static void service_on_handed(void *arg)
{
	service_drain_step(arg, NODE_DRAIN_HANDED);
}

static void service_on_empty(void *arg)
{
	service_drain_step(arg, NODE_DRAIN_EMPTY);
}

static void service_on_late(void *arg)
{
	service_drain_step(arg, NODE_DRAIN_LATE);
}

static void service_drain(struct service *s)
{
	log_write(LOG_INFO, "service", "draining");
	loop_timer_set(s->loop, &s->drain_timer, s->drain.due_ms,
		       service_on_late, s);
	for (unsigned i = 0; i < s->nworkers; i++)
		s->emptied[i] = (struct loop_call){ .run = service_on_empty,
						    .arg = s };
	if (s->handover.yields) {
		service_drain_after_handover(s);
		return;
	}
	notify_stopping();
	for (unsigned i = 0; i < s->nworkers; i++) {
		if (*s->handover.data_name)
			worker_leave_socket(s->workers[i]);
		worker_drain(s->workers[i], s->loop, &s->emptied[i]);
	}
	/* who hears of the drain comes for its list at once */
	service_hand_over(s, service_on_handed);
	digest_api_drain(s->api);
	if (s->sharing)
		digest_api_drain(sharing_api(s->sharing));
}

static void service_drain_step(struct service *s, enum node_drain_event event)
{
	const struct node_drain_input in = {
		.event = event,
		.now_ms = loop_now_ms(s->loop),
		.drain_ms = s->config->drain_ms,
		.workers = s->nworkers,
	};

	switch (node_drain_step(&s->drain, &in)) {
	case NODE_DRAIN_GO_ON:
		break;
	case NODE_DRAIN_BEGIN:
		service_drain(s);
		if (s->handover.yields)
			service_on_handed(s);
		break;
	case NODE_DRAIN_PART:
		for (unsigned i = 0; i < s->nworkers && !s->handover.yields;
		     i++)
			worker_part(s->workers[i]);
		break;
	case NODE_DRAIN_END:
		loop_stop(s->loop);
		break;
	}
}

void service_ask_to_drain(struct service *s)
{
	service_drain_step(s, NODE_DRAIN_ASKED);
}
