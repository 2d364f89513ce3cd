/*
 * Telling peers what to purge: a PURGE that an operator sent to this node, sent
 * on to all of them at once (PROTOCOL.md).
 */
#ifndef DIGESTD_PEERS_PURGE_PEERS_H
#define DIGESTD_PEERS_PURGE_PEERS_H

#include <jansson.h>
#include <stddef.h>

struct upstream;
struct fetcher;
struct fields;
struct purge_asks;
struct tls_client;

/* Who is told, and how; all but the token is borrowed. */
struct purge_peers {
	struct fetcher *fetcher;
	const struct upstream *peers;
	size_t npeers; /* 0: nobody is told */
	char token[33];
	unsigned timeout_ms; /* for all of one peer's answer */
	struct tls_client *tls;
};

/*
 * Asks all of them to purge a canonical URI; or, if there are such fields, what
 * Purge-Prefix or Purge-Tag name. answered(arg) is called from the loop for
 * each that has answered or failed. Peers of a kind that takes no purges are
 * left out. With none to ask *out is null.
 * Returns 0 or -ENOMEM.
 */
int purge_asks_new(const struct purge_peers *to, const char *uri,
		   const struct fields *fields, void (*answered)(void *arg),
		   void *arg, struct purge_asks **out);

/* Forgets answers that have not come. *asks becomes null. */
void purge_asks_free(struct purge_asks **asks);

/* What came of it: {"n2": 3, "n3": null}, null for a peer that failed. */
json_t *purge_asks_json(const struct purge_asks *asks);

#endif
