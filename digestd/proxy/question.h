/*
 * A question: what a client asks for, where that can be had, and by which
 * settings. A request and its fill have it in common; it is found out at the
 * door, and does not change after that.
 */
#ifndef DIGESTD_PROXY_QUESTION_H
#define DIGESTD_PROXY_QUESTION_H

#include <stdbool.h>

#include "codec/key.h"
#include "digestd/http/cachecontrol.h"
#include "digestd/http/response_facts.h"
#include "digestd/http/slices.h"
#include "digestd/http/target.h"
#include "digestd/node/node_ask.h"
#include "digestd/node/node_door.h"
#include "digestd/node/site.h"
#include "digestd/proxy/worker.h"

struct question {
	unsigned users; /* in one thread */
	struct worker_settings *settings; /* as they were at the beginning */
	const char *method; /* the exchange's, see request_on_data_done() */
	bool get, head, options; /* by it */
	struct scd_key key;
	struct cachecontrol cc;
	const struct worker_origin *site; /* in settings; null: none */
	const struct site *rules; /* in settings; null: none */
	const struct policy *policy; /* by them, before there is an answer */
	struct policy *own_policy; /* that, if it is of malloc(); or null */
	const char *upstream; /* base URL, in settings; null: none */
	struct origin_group *origins; /* behind that; null: no more is known */
	bool safe;            /* by its method (RFC 9110, 9.2.1) */
	bool asterisk;        /* the target is "*": that of OPTIONS */
	bool forward;         /* as a forward proxy, to the target itself */
	bool unsafe;          /* invalidates what it succeeds on */
	bool cacheable;       /* GET or HEAD that the store may answer */
	enum { QUESTION_UNKNOWN, QUESTION_WHOLE, QUESTION_RANGED } ranged;
	bool upgrade;         /* may change protocols, see server_request */
	bool rechecks; /* the client wants what is fresh validated, too */
	struct target target;
};

/* Makes one with one user, who is to find out the rest. The method is borrowed.
 * Null: no memory. */
struct question *question_new(struct worker_settings *settings,
			      const char *method);

/* GET, for the same; null: no memory. */
struct question *question_get(const struct question *q);

/*
 * Makes one of GET for a canonical URI, as a client would ask for it that has
 * sent these fields. Null: no memory, or such a URI is none that this node
 * would answer.
 */
struct question *question_of_uri(struct worker_settings *settings,
				 const char *uri, const struct fields *fields);

/*
 * Finds the site of its target, where that goes, and what counts there; and
 * makes the target what the site's rules for keys make of it, if it is to be
 * read. Returns 0 or -ENOMEM.
 */
int question_find_site(struct question *q);

/* The key under which a GET for a URI of the same scheme and host is stored.
 * Returns 0 or -ENOMEM. */
int question_stored_key(const struct question *q, const char *uri,
			struct scd_key *key);

/* Whether a GET for its target would look up its own key. */
bool question_has_stored_key(const struct question *q);

/* Whether the site wants the fields of a request changed so that fewer differ;
 * and does that: 0 or -ENOMEM. */
bool question_normalises_fields(const struct question *q);
int question_normalise_fields(const struct question *q, struct fields *request);

/* Takes what a client wants of a stored response, where the site does not say
 * otherwise. */
void question_read_wishes(struct question *q, const struct fields *fields);

/* What counts for a response, in *room or elsewhere; null: nothing is set. */
const struct policy *question_answer_policy(const struct question *q,
					    unsigned status,
					    const struct fields *fields,
					    struct policy *room);

/* Gives a response the fields that the site wants, and takes others. Returns 0
 * or -ENOMEM. */
int question_edit_response(const struct question *q, unsigned status,
			   struct fields *fields);

/* How long a client waits for an origin when a stale object would do. */
unsigned question_stale_wait_ms(const struct question *q);

/* What is longer than so much is not stored, whatever it is; and of responses
 * that this policy is for, see question_answer_policy(). */
uint64_t question_max_bytes(const struct question *q, const struct policy *p);

/* Whether nothing that is stored is for it, nor its response stored. */
bool question_passes(const struct question *q);

/* Takes where it goes. */
void question_take_way(struct question *q, enum node_way way);

/* One user more; one less: the last one frees. *q becomes null; null is
 * allowed. */
struct question *question_ref(struct question *q);
void question_unref(struct question **q);

/* Whether it is asked by this method. */
bool question_is_method(const struct question *q, const char *name);

/* The name under which this node acts for the origin; null: it is the client's
 * proxy. */
const char *question_acts_for_origin(const struct question *q);

/* What is done with Set-Cookie in such a response. */
enum set_cookie question_set_cookie(const struct question *q, unsigned status,
				    const struct fields *fields);

/*
 * A slice of it, as the store knows it: its key, and its name, of malloc(),
 * which is the URI's with something behind it. Null: no memory.
 */
char *question_slice(const struct question *q, const struct slices *s,
		     uint64_t number, struct scd_key *key);

/* Only the key; false: no memory. */
bool question_slice_key(const struct question *q, const struct slices *s,
			uint64_t number, struct scd_key *key);

/* Whether it has a Range, by its fields, which are looked through once. */
bool question_is_ranged(struct question *q, const struct fields *fields);

/* What is asked for, with fields that came. */
struct node_ask question_ask(struct question *q,
			     const struct fields *fields);

/* Reads a response, with the rules of the site. */
void question_read_response(const struct question *q, unsigned status,
			    const struct fields *fields,
			    struct response_facts *facts);

#endif
