/*
 * The origin of a world, its resources, and the oracle: which version of a
 * resource may answer which request.
 *
 * Each resource has traits of the seed's choice and versions, one after the
 * other. Byte k of a body depends on resource, version, variant, client and k,
 * and on nothing else, so that a few bytes tell whose they are, and which.
 */
#ifndef TESTS_WORLD_ORIGIN_H
#define TESTS_WORLD_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORIGIN_VARIANTS = 3, ORIGIN_TEXT = 96 };

/* "X-Version": names the version that a response is of. */
#define ORIGIN_FIELD "X-Version"

/* "X-Once": the number of an unsafe request, which comes once to all places
 * together, whatever fails. */
#define ORIGIN_ONCE "X-Once"

/* "X-Sent": when the origin has sent a response as a whole [us]; a 304 leaves
 * it as it was. */
#define ORIGIN_SENT "X-Sent"

struct fields;

/* What is asked for with this field must not be asked of the origin. */
#define ORIGIN_UNASKED "X-Unasked"

/* What a response is of. */
struct version {
	uint32_t resource, number, variant, who; /* who: 0, for everybody */
};

enum { ORIGIN_OTHERS_MAX = 2 };

struct origin_plan {
	uint32_t resources;
	uint32_t body_bytes; /* of a body, at most */
	uint32_t lifetime_s; /* of a response, at most */
	unsigned failing;    /* in a thousand answers: 5xx */
	unsigned slow_ms;    /* before an answer, at most */
	unsigned pausing;    /* in a thousand pieces of an upload */
	unsigned early;      /* in a thousand uploads: are answered before they
				are whole, */
	bool early_errors;   /* also with an error */
	bool tags;           /* each resource has entity tags */
	unsigned large;      /* in a thousand resources: of that length */
	unsigned others;     /* places beside the first where it listens, too,
				up to ORIGIN_OTHERS_MAX */
};

/* Begins to listen as origin_name, and where else it does. */
void origin_start(const struct origin_plan *plan);
void origin_stop(void);
extern const char *const origin_name;

/* The URLs of the other places as nodes_plan.more_origins has them. */
const char *origin_more(unsigned others);

/* One of all places does not listen any more, or does again; one always does.
 */
void origin_die(void);

/* The URI and the path of a resource. */
const char *origin_path(uint32_t resource, char text[ORIGIN_TEXT]);

/* A new version of a resource takes the place of the one before. */
void origin_change(uint32_t resource);

/* Whether answers depend on Accept-Language, and on who asks. */
bool origin_varies(uint32_t resource);
bool origin_is_private(uint32_t resource);

/* Whether caches may keep answers, and give them to anybody. */
bool origin_is_shared(uint32_t resource);

/* Whether what was begun to be sent of a version may break off: it is had slice
 * by slice, and there is another one; or a node, that asks for no peer, has
 * evicted a slice meanwhile. */
bool origin_is_gone_in_slices(const struct version *v, bool for_peer);

/* The fields of an answer of a version, but for its cookie. */
void origin_add_fields(const struct version *v, struct fields *to);

/* Of a body: how long it is, and its bytes from `first` on: *len of them at
 * most, and then as many as there are, at least some. */
size_t origin_body_len(const struct version *v);
const char *origin_body(const struct version *v, size_t first, size_t *len);

/* Of the body of any request. */
char origin_upload_byte(uint64_t at);

/* A protocol that the origin may change to: each side says what it likes, the
 * client bytes of an upload, the origin those of version 1 of the resource, for
 * nobody, and how many in ORIGIN_LENGTH of its 101. */
#define ORIGIN_PROTOCOL "world"
#define ORIGIN_LENGTH	"X-Length"
enum { ORIGIN_TUNNEL_BYTES = 10000 }; /* of either side, at most */

/* Reads ORIGIN_FIELD's value; false: it is none. */
bool origin_read_version(const char *text, struct version *v);

/* The entity tag of a version. */
void origin_etag(const struct version *v, char text[ORIGIN_TEXT]);

/* The version that the origin has now. */
uint32_t origin_version(uint32_t resource);

/* A question to the oracle. */
struct question {
	const struct version *v;
	int64_t asked_us;  /* when the client asked */
	bool fresh_only;   /* it wants an answer that was just validated */
	bool no_errors;    /* nothing has failed that would excuse stale ones */
	int64_t purged_us; /* a purge that was acknowledged before; 0: none */
	int64_t sent_us;   /* ORIGIN_SENT of the answer; -1: it has none */
};

/* Returns null, or what is wrong with an answer that arrives now. */
const char *origin_judge(const struct question *q);

#endif
