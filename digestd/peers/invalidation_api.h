/*
 * The resource by which peers tell each other of purges (docs/PROTOCOL.md):
 *
 *   GET /scd/v1/invalidations     what is known here
 *   POST                          to be applied here
 *   POST /scd/v1/renewal          what is known here and not there, and a
 *                                 serving lease, see mesh/serving_lease.h
 */
#ifndef DIGESTD_PEERS_INVALIDATION_API_H
#define DIGESTD_PEERS_INVALIDATION_API_H

#include <stdbool.h>

#include "digestd/peers/heard.h"
#include "digestd/server/server.h"

#define INVALIDATION_PATH "/scd/v1/invalidations"
#define RENEWAL_PATH "/scd/v1/renewal"

/* Of the answer to a renewal: "granted", or what is missing for that. */
#define RENEWAL_FIELD "SCD-Serving"
#define RENEWAL_GRANTED "granted"

/* While a message is being applied, its sender hears so often that it is. */
enum { INVALIDATION_BEAT_MS = 500 };

/* The acknowledgement of a message that has removed so many objects, to be
 * freed; null: no memory. */
char *invalidation_api_answer(const struct heard_by *by, size_t removed);

/* Whether a request is for it. */
bool invalidation_api_is_for(const struct exchange *x);

/* The exchange's life, as in struct server_handler. `takes`: purges of peers
 * are applied here; if not they are refused with 403. */
void invalidation_api_on_request(struct heard_by *by, struct exchange *x,
				 bool takes);
size_t invalidation_api_on_body(struct exchange *x, const void *data,
				size_t len);
void invalidation_api_on_body_end(struct exchange *x);
void invalidation_api_on_done(struct exchange *x);

#endif
