/*
 * Notes between this node and its peers: those who follow it read them in their
 * streams, and it reads theirs (mesh/digest_stream.h).
 */
#include "digestd/config/configuration.h"
#include "digestd/part_settings.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/peer_note.h"
#include "digestd/peers/teller.h"
#include "digestd/service_inside.h"

static bool service_send_note(void *arg, const struct peer_note *note)
{
	struct service *s = arg;

	if (note->kind == DIGEST_NOTE_INVALIDATIONS &&
	    !(s->follow &&
	      peer_follower_reads(s->follow, note->url, note->instance)))
		return false;
	return digest_api_send_note(s->api, note);
}

struct teller_settings service_telling(struct service *s,
				       const struct config *c)
{
	struct teller_settings telling = part_settings_of_telling(c);

	telling.desk = s->serving;
	telling.streams = (struct teller_streams){ service_send_note, s };
	return telling;
}

void service_on_note(void *service, const struct peer_note *note)
{
	struct service *s = service;

	teller_on_note(s->teller, note);
}

void service_on_stream_end(void *service, const char *url)
{
	struct service *s = service;

	teller_on_stream_end(s->teller, url);
}
