/*
 * What the files of the digest resources share.
 */
#ifndef DIGESTD_PEERS_DIGEST_API_INSIDE_H
#define DIGESTD_PEERS_DIGEST_API_INSIDE_H

#include <pthread.h>

#include "digestd/mesh/digest_stream.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/digest_request.h"

struct digest_stream_reply;
struct waiter;

/* What hangs on an exchange that is not over: a request that waits, or a
 * stream. */
struct digest_pending {
	void (*left)(struct digest_pending *p); /* the exchange is gone now */
};

/* Publications whose deltas can still be had by name. */
enum { DIGEST_API_RECENT = 8 };

struct digest_api {
	const struct digest_paths *paths;
	struct digest_api *more; /* whose paths are others; or null */
	pthread_mutex_t lock;
	/* the current one first */
	struct publication *recent[DIGEST_API_RECENT];
	struct waiter *waiting;
	struct digest_stream_reply *streams;
	int64_t max_wait_s;
	char hash_name[TOKEN_BYTES]; /* empty: it is not said */
	bool draining, handed_over, leases, says_leases;
	struct {
		uint64_t instance;
		int64_t until_ms;
	} suspects[DIGEST_SUSPECTS_MAX];
	void (*on_introduction)(void *arg, const char *text,
				const struct sockaddr *from); /* or null */
	void *arg;
	pthread_mutex_t sector_lock; /* while one is made */
	digest_sector_maker *make_sector; /* or null */
	void *sector_arg;
	int64_t array_wanted_ms; /* last */
	void (*wanted)(void *arg);
	void *wanted_arg;
	struct digest_api_counters counters; /* changed atomically */
};

/* Adds to a counter, in any thread. */
void peers_digest_api_count(uint64_t *counter, uint64_t n);

/* The current publication, with one user more; null: none yet. */
struct publication *digest_api_current(struct digest_api *api);

/* The fields of a 226 of the current digest, to be freed in any case. Returns 0
 * or -ENOMEM. */
int digest_api_delta_fields(struct digest_api *api, const struct exchange *x,
			    const struct publication *p,
			    const struct digest_answer *delta, const char *form,
			    struct fields *f);

/* The answer to a request that may be kept waiting, as things are now. With the
 * lock held. */
struct digest_answer digest_api_answer_to(const struct digest_api *api,
					  const struct digest_ask *ask);

/* Answers a request for the current digest with a stream, if it takes one and
 * may have it. Returns whether it has replied. */
bool digest_api_start_stream(struct digest_api *api, struct exchange *x,
			     const struct digest_request *r);

/* There is a publication; or they end, for their readers to ask again. With the
 * lock held. */
void digest_api_wake_streams(struct digest_api *api, bool end);

/* Sends a note to all who read streams. With the lock held. */
void digest_api_note_all(struct digest_api *api, enum digest_note kind,
			 const char *text);

/* Begins the fields of 200, 226 and 304 of any digest, to be freed in any case.
 * Returns 0 or -ENOMEM. */
int digest_api_tagged_fields(struct digest_api *api, const struct exchange *x,
			     const struct digest_tag *tag, struct fields *f);

/* Adds the type of a body. Returns 0 or -ENOMEM. */
int digest_api_add_type(bool list, struct fields *f);

/* Sends a blob, of which one use is the reply's. */
void digest_api_send_blob(struct exchange *x, unsigned status,
			  const struct fields *fields, struct blob *blob);

/* Answers a request for the digest of a sector. */
void digest_api_send_sector(struct digest_api *api, struct exchange *x,
			    const struct digest_request *r);

#endif
