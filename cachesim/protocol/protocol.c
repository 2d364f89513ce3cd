/*
 * The table of protocols, and what is the same for all of them.
 */
#include "cachesim/protocol/protocol.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/protocol/rows.h"
#include "codec/error.h"

const struct protocol *const protocols[] = {
	&protocol_none,
	&protocol_icp,
	&protocol_htcp,
	&protocol_directory,
	&protocol_servernames,
	&protocol_bloom,
	&protocol_compressed,
	&protocol_lists,
	&protocol_golomb,
	&protocol_blocked,
	&protocol_squid,
	&protocol_carp,
	&protocol_hash,
	&protocol_global,
	NULL,
};

const struct protocol *protocol_find(const char *name)
{
	for (size_t i = 0; protocols[i]; i++) {
		if (strcmp(protocols[i]->name, name) == 0)
			return protocols[i];
	}
	return NULL;
}

static bool protocol_makes_sense(const struct protocol *protocol,
				 const struct protocol_config *c)
{
	if (c->nproxies < 1 || c->nproxies > PROTOCOL_MAX_PROXIES)
		return false;
	if (c->nviews != 1 && c->nviews != c->nproxies)
		return false;
	if (c->digest.form >= PROTOCOL_FORMS)
		return false;
	return !protocol->servers || c->server;
}

int protocol_new(struct protocol_state **out, const struct protocol *protocol,
		 const struct protocol_config *config)
{
	struct protocol_state *s;
	int err = 0;

	if (!protocol_makes_sense(protocol, config))
		return SCD_EINVAL;
	s = calloc(1, protocol->size);
	if (!s)
		return SCD_ENOMEM;
	s->protocol = protocol;
	s->config = *config;
	if (protocol->init)
		err = protocol->init(s);
	if (err) {
		protocol_free(&s);
		return err;
	}
	*out = s;
	return 0;
}

void protocol_free(struct protocol_state **s)
{
	if (!*s)
		return;
	if ((*s)->protocol->release)
		(*s)->protocol->release(*s);
	free(*s);
	*s = NULL;
}

void protocol_unref(struct protocol_state *s, struct protocol_publication *p)
{
	if (--p->users == 0)
		s->protocol->discard(s, p);
}
