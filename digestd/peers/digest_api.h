/*
 * The digest resources of the peer listener (docs/PROTOCOL.md):
 *
 *   /scd/v1/digest                          the current digest
 *   /scd/v1/delta/<instance>/<from>-<to>    a delta, immutable
 *   /scd/v1/sector/<number>-<count>         the same of a sector's objects
 *
 * and the same of what the node was asked for, under seen and seen-delta.
 *
 * Requests come from several workers; publications from the service loop.
 * Requests that wait for news hang in a list here until there is some.
 */
#ifndef DIGESTD_PEERS_DIGEST_API_H
#define DIGESTD_PEERS_DIGEST_API_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/mesh/generations.h"
#include "digestd/peers/token.h"
#include "digestd/server/server.h"

struct digest_api;
struct digest_paths;
struct peer_note;
struct sector;
struct sector_digest;
struct sockaddr;

/* Counters; one row each. name, what it counts of what the node holds, and of
 * what it was asked for. */
/* clang-format off */
#define DIGEST_API_COUNTERS(X) \
	X(full_sent,        "full digests sent", \
	  "full digests of requested URIs sent") \
	X(full_sent_bytes,  "bytes of full digests sent", \
	  "bytes of full digests of requested URIs sent") \
	X(delta_sent,       "deltas sent", \
	  "deltas of requested URIs sent") \
	X(delta_sent_bytes, "bytes of deltas sent", \
	  "bytes of deltas of requested URIs sent") \
	X(streams,          "streams of deltas begun", \
	  "streams of deltas of requested URIs begun") \
	X(stream_notes,     "notes sent in streams of deltas", \
	  "notes sent in streams of deltas of requested URIs") \
	X(not_modified,     "digest requests answered with nothing new", \
	  "requests for requested URIs answered with nothing new") \
	X(array_refused,    "requests for an array that were put off", \
	  "requests for an array of requested URIs that were put off")
/* clang-format on */

struct digest_api_counters {
#define X(name, held, seen) uint64_t name;
	DIGEST_API_COUNTERS(X)
#undef X
};

/* How requests are served; arg is the struct digest_api. */
extern const struct server_handler digest_api_handler;

/*
 * Makes an interface without a publication: requests get 503 until there is
 * one. max_wait_s bounds Prefer: wait; `paths` are borrowed. Returns 0 or
 * -ENOMEM.
 */
int digest_api_new(struct digest_api **out, int64_t max_wait_s,
		   const struct digest_paths *paths);

/* Says in each answer by which secret keys are made (PROTOCOL.md); before there
 * are any. */
void digest_api_name_hash(struct digest_api *api,
			  const char name[TOKEN_BYTES]);

/* Says from now on whether this node asks for leases, and grants them; until
 * then nothing is said of it. Another word than before is noted in streams. */
void digest_api_say_leases(struct digest_api *api, bool leases);

/* Names an instance in each answer up to a time [loop_now_ms()] as one that has
 * sent something wrong; notes it in streams, and answers who waits, so that
 * they hear of it. */
void digest_api_suspect(struct digest_api *api, uint64_t instance,
			int64_t now_ms, int64_t until_ms);

/*
 * Has make(arg, sector, from, out) called, in a worker's thread, for each
 * request for the digest of a sector, as sector_digest_make(): SCD_EINVAL where
 * there is none. Null: not any more, and none is under way; they are answered
 * with 404.
 */
typedef int digest_sector_maker(void *arg, const struct sector *s,
				uint64_t from, struct sector_digest *out);
void digest_api_make_sectors(struct digest_api *api, digest_sector_maker *make,
			     void *arg);

/* Sends a note in the stream that the node of an instance reads, which has said
 * that it takes some. False: there is none, or no memory. */
bool digest_api_send_note(struct digest_api *api, const struct peer_note *note);

/* Requests for other paths than its own go to `more`, which is borrowed;
 * before there are any. */
void digest_api_add(struct digest_api *api, struct digest_api *more);

/*
 * Has on_introduction(arg, text, from) called, in a worker's thread, for each
 * request for the current digest by which a node introduces itself; before
 * there are any.
 */
void digest_api_on_introduction(struct digest_api *api,
				void (*on_introduction)(
					void *arg, const char *text,
					const struct sockaddr *from),
				void *arg);

/* Frees it, when no worker runs any more. */
void digest_api_free(struct digest_api **api);

/* Makes p, which becomes its own, the current one and wakes who waits. */
void digest_api_publish(struct digest_api *api, struct publication *p);

/*
 * Somebody has asked for an array since a time [loop_now_ms()]. And wanted(arg)
 * is called, in any thread, when one is asked for that the current publication
 * has not; null: not any more.
 */
bool digest_api_array_wanted(struct digest_api *api, int64_t since_ms);
void digest_api_on_wanted(struct digest_api *api, void (*wanted)(void *arg),
			  void *arg);

/* Ends all streams, for their readers to ask again: by now others may be let
 * in. */
void digest_api_end_streams(struct digest_api *api);

/* From now on nobody is kept waiting: those who do are answered, and told that
 * this node drains. */
void digest_api_drain(struct digest_api *api);

/* The same where another process answers for this node from now on: nobody is
 * told that it drains. */
void digest_api_hand_over(struct digest_api *api);

/* What it has answered so far; from any thread. */
void digest_api_count(const struct digest_api *api,
		      struct digest_api_counters *out);

#endif
