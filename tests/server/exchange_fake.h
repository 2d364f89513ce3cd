/*
 * Exchanges without a server: a test makes one, hands it to a handler, and
 * looks at what was answered. exchange_fake.c stands in for the functions of
 * exchanges in digestd/server/server.h; link it before the archives.
 *
 * Nothing is sent: of a streamed reply, tests read the source themselves.
 */
#ifndef TEST_SERVER_EXCHANGE_FAKE_H
#define TEST_SERVER_EXCHANGE_FAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "digestd/http/fields.h"
#include "digestd/server/server.h"

struct exchange {
	struct server_request request;
	struct fields fields; /* of the request: tests add to them */
	struct loop *loop;
	void *data;
	/* the answer */
	unsigned answers; /* how many times; 1 is right */
	bool aborted;
	unsigned status;
	struct fields reply;
	char *body; /* ended by a zero that is not counted; of an error, null */
	size_t body_len;
	struct body_source source; /* of a streamed one */
	unsigned wakes;
};

/* A request without fields and body, not answered. `loop` may be null. */
void exchange_fake_make(struct exchange *x, struct loop *loop,
			const char *method, const char *target);

/* Releases what the exchange holds, the answer included. */
void exchange_fake_free(struct exchange *x);

#endif
