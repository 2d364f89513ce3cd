/*
 * Telling peers what to purge: one fetch a peer, all at once.
 */
#include "digestd/peers/purge_peers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/fetch/fetch.h"
#include "digestd/os/log.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/upstream.h"

enum {
	ANSWER_MAX = 128, /* bytes of {"purged": N} */
	HEADER_MAX = 8192,
};

struct ask {
	struct purge_asks *all;
	struct fetch *fetch;
	char *name;
	unsigned status;
	char answer[ANSWER_MAX];
	size_t len;
	json_int_t purged; /* -1: it failed, or has not answered */
};

struct purge_asks {
	void (*answered)(void *arg);
	void *arg;
	size_t n;
	struct ask asks[];
};

static void purge_peers_on_headers(void *arg, struct fetch *f, unsigned status,
				   const struct fields *fields,
				   int64_t body_len)
{
	struct ask *ask = arg;

	(void)f;
	(void)fields;
	(void)body_len;
	ask->status = status;
}

/* What is longer than an answer is none: its length tells. */
static bool purge_peers_on_body(void *arg, struct fetch *f, const void *data,
				size_t len)
{
	struct ask *ask = arg;
	size_t room = ANSWER_MAX - ask->len;

	(void)f;
	if (len > room)
		len = room;
	memcpy(ask->answer + ask->len, data, len);
	ask->len += len;
	return true;
}

static void purge_peers_take_answer(struct ask *ask)
{
	json_t *o = json_loadb(ask->answer, ask->len, 0, NULL);
	json_int_t purged;

	if (!json_unpack(o, "{s:I}", "purged", &purged) && purged >= 0)
		ask->purged = purged;
	json_decref(o);
}

static void purge_peers_on_done(void *arg, struct fetch *f,
				const struct fetch_done *done)
{
	struct ask *ask = arg;
	struct purge_asks *all = ask->all;

	(void)f;
	ask->fetch = NULL;
	if (done->result == FETCH_COMPLETE && ask->status == 200)
		purge_peers_take_answer(ask);
	if (ask->purged < 0 && ask->status)
		log_write(LOG_WARNING, "purge",
			  "peer %s refused the purge (%u)", ask->name,
			  ask->status);
	else if (ask->purged < 0)
		log_write(LOG_WARNING, "purge",
			  "peer %s did not answer the purge", ask->name);
	all->answered(all->arg);
}

static const struct fetch_callbacks callbacks = {
	.on_headers = purge_peers_on_headers,
	.on_body = purge_peers_on_body,
	.on_done = purge_peers_on_done,
};

/* Host is that of the URI, or the peer would refuse the request. */
static int purge_peers_add_host(struct fields *out, const char *uri)
{
	const char *host = strstr(uri, "://") + 3;

	return fields_add_n(out, "Host", 4, host, strcspn(host, "/"));
}

static int purge_peers_fill_fields(struct fields *out,
				   const struct fields *from, const char *uri,
				   const struct purge_peers *to)
{
	char bearer[64];
	int err = purge_peers_add_host(out, uri);

	snprintf(bearer, sizeof(bearer), "Bearer %s", to->token);
	if (!err)
		err = fields_add(out, "Proxy-Authorization", bearer);
	for (size_t i = 0; !err && i < fields_count(from); i++) {
		const struct field *f = fields_at(from, i);

		if (!strncasecmp(f->name, "Purge-", 6))
			err = fields_add(out, f->name, f->value);
	}
	return err;
}

static int purge_peers_start(struct ask *ask, const struct purge_peers *to,
			     const char *url, struct fetch_request *request)
{
	struct fetch_limits limits = {
		.connect_ms = to->timeout_ms,
		.first_byte_ms = to->timeout_ms,
		.total_ms = to->timeout_ms,
		.max_header_bytes = HEADER_MAX,
	};

	request->url = url;
	request->limits = &limits;
	return fetch_start(to->fetcher, request, &callbacks, ask, &ask->fetch);
}

static int purge_peers_start_all(struct purge_asks *all,
				 const struct purge_peers *to, const char *uri,
				 const struct fields *fields)
{
	struct fetch_request request = {
		.method = "PURGE",
		.target = uri,
		.fields = fields,
		.tls = to->tls,
	};
	int err = 0;

	for (size_t i = 0; i < to->npeers && !err; i++) {
		struct ask *ask = &all->asks[all->n];

		if (!to->peers[i].kind->purges)
			continue;
		all->n++;
		ask->all = all;
		ask->purged = -1;
		ask->name = strdup(to->peers[i].name);
		err = ask->name ? purge_peers_start(ask, to, to->peers[i].url,
						    &request)
				: -ENOMEM;
	}
	return err;
}

int purge_asks_new(const struct purge_peers *to, const char *uri,
		   const struct fields *fields, void (*answered)(void *arg),
		   void *arg, struct purge_asks **out)
{
	struct purge_asks *all;
	struct fields sent;
	int err;

	*out = NULL;
	if (!to->npeers)
		return 0;
	all = calloc(1, sizeof(*all) + to->npeers * sizeof(all->asks[0]));
	if (!all)
		return -ENOMEM;
	all->answered = answered;
	all->arg = arg;
	fields_init(&sent);
	err = purge_peers_fill_fields(&sent, fields, uri, to);
	if (!err)
		err = purge_peers_start_all(all, to, uri, &sent);
	fields_free(&sent);
	if (err || !all->n)
		purge_asks_free(&all);
	*out = all;
	return err;
}

void purge_asks_free(struct purge_asks **asks)
{
	struct purge_asks *all = *asks;

	*asks = NULL;
	for (size_t i = 0; all && i < all->n; i++) {
		fetch_cancel(&all->asks[i].fetch);
		free(all->asks[i].name);
	}
	free(all);
}

json_t *purge_asks_json(const struct purge_asks *asks)
{
	json_t *o = json_object();

	assert(asks->n);
	for (size_t i = 0; i < asks->n; i++)
		json_object_set_new(o, asks->asks[i].name,
				    asks->asks[i].purged < 0 ? json_null() :
				    json_integer(asks->asks[i].purged));
	return o;
}
