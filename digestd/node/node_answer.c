/*
 * Judging responses.
 */
#include "digestd/node/node_answer.h"

#include <assert.h>
#include <string.h>

#include "digestd/http/cachestatus.h"
#include "digestd/http/fields.h"
#include "digestd/http/freshness.h"
#include "digestd/http/storable.h"

static enum peer_outcome node_answer_judge_504(const struct fields *fields)
{
	switch (cachestatus_fwd_nearest(fields)) {
	case CACHESTATUS_STALE:
	case CACHESTATUS_REQUEST: /* held, and never used without validation */
		return OUTCOME_STALE;
	case CACHESTATUS_VARY_MISS:
	case CACHESTATUS_PARTIAL: /* held, and not all that was asked for */
		return OUTCOME_VARIANT;
	case CACHESTATUS_NONE:
	case CACHESTATUS_BYPASS:
	case CACHESTATUS_METHOD:
	case CACHESTATUS_URI_MISS:
		break;
	}
	return OUTCOME_FALSE_HIT;
}

/* Nobody gets what is older than what has been served here. */
static bool node_answer_goes_back(const struct node_answer *a)
{
	return a->known && freshness_spans(a->freshness).born_s <
				   freshness_spans(a->known).born_s;
}

/* Whether it is fresh, or will do all the same. */
static bool node_answer_is_usable(const struct node_answer *a)
{
	return freshness_reuse(a->freshness, a->cc, a->now_s) == REUSE_FRESH ||
	       (a->on_error && freshness_on_error(a->freshness,
						  a->on_disconnect_s,
						  a->now_s));
}

enum peer_outcome node_answer_of_peer_304(const struct node_answer *a)
{
	assert(a->known);
	if (a->invalidated || !a->right_variant || node_answer_goes_back(a))
		return OUTCOME_STALE;
	return freshness_reuse(a->freshness, a->cc, a->now_s) == REUSE_FRESH ?
		       OUTCOME_HIT : OUTCOME_STALE;
}

enum peer_outcome node_answer_of_peer(const struct node_answer *a)
{
	enum storable why;

	if (a->status == 504)
		return node_answer_judge_504(a->fields);
	why = storable("GET", a->request, a->facts);
	if (why == STORABLE_SET_COOKIE) /* which that site may store */
		return OUTCOME_STALE;
	if (why != STORABLE_YES)
		return OUTCOME_FAILED;
	if (!a->right_variant)
		return OUTCOME_FAILED;
	if (a->invalidated || node_answer_goes_back(a))
		return OUTCOME_STALE;
	return node_answer_is_usable(a) ? OUTCOME_HIT : OUTCOME_STALE;
}

bool node_answer_is_failure(unsigned status)
{
	return status == 500 || (status >= 502 && status <= 504);
}

static bool node_answer_is_stale_usable(const struct node_stale *stale,
					unsigned default_s)
{
	return stale->freshness && stale->client &&
	       freshness_on_error(stale->freshness, default_s, stale->now_s);
}

enum node_head node_answer_of_origin(const struct node_origin_answer *a)
{
	if (a->status == 304 && a->validating)
		return a->confirms ? NODE_HEAD_CONFIRMS : NODE_HEAD_ELSEWHERE;
	if (node_answer_is_failure(a->status) &&
	    node_answer_is_stale_usable(&a->stale, 0))
		return NODE_HEAD_STALE;
	return NODE_HEAD_USABLE;
}

static unsigned node_answer_failure_status(enum fetch_result result)
{
	switch (result) {
	case FETCH_TIMEOUT:
		return 504;
	case FETCH_REFUSED:
		return 403;
	case FETCH_NOMEM:
		return 503;
	case FETCH_COMPLETE:
	case FETCH_TRUNCATED:
	case FETCH_NOCONNECT:
	case FETCH_NOTLS:
	case FETCH_UNTRUSTED:
	case FETCH_BAD:
		break;
	}
	return 502;
}

bool node_answer_is_disconnect(enum fetch_result result)
{
	switch (result) {
	case FETCH_TIMEOUT:
	case FETCH_TRUNCATED:
	case FETCH_NOCONNECT:
	case FETCH_NOTLS:
	case FETCH_BAD: /* mostly: it has hung up */
		return true;
	case FETCH_COMPLETE:
	case FETCH_REFUSED:
	case FETCH_UNTRUSTED:
	case FETCH_NOMEM:
		break;
	}
	return false;
}

struct node_failure node_answer_of_failure(enum fetch_result result,
					   const struct node_stale *stale)
{
	unsigned default_s = node_answer_is_disconnect(result) ?
				     stale->on_disconnect_s : 0;

	assert(result != FETCH_COMPLETE);
	return (struct node_failure){
		.own_fault = result == FETCH_NOMEM,
		.stale_usable = node_answer_is_stale_usable(stale, default_s),
		.status = node_answer_failure_status(result),
	};
}

bool node_answer_of_delay(const struct node_stale *stale)
{
	return node_answer_is_stale_usable(stale, stale->on_disconnect_s);
}

bool node_answer_of_outage(const struct node_stale *stale,
			   enum origin_condition condition)
{
	switch (condition) {
	case ORIGIN_SERVES:
		return false;
	case ORIGIN_FAILS:
		return node_answer_is_stale_usable(stale, 0);
	case ORIGIN_SILENT:
		break;
	}
	return node_answer_is_stale_usable(stale, stale->on_disconnect_s);
}

static bool node_answer_field_is_same(const struct node_described *a,
				      const struct node_described *b,
				      const char *name)
{
	const char *one = fields_get(a->fields, name);
	const char *other = fields_get(b->fields, name);

	return one && other ? !strcmp(one, other) : one == other;
}

/* Without a strong tag, which says all of it: what the header, which has gone
 * out already, says of the bytes that come yet. */
static bool node_answer_describes_same(const struct node_described *a,
				       const struct node_described *b)
{
	static const char *const names[] = {
		"Content-Encoding", "Content-Type", "Last-Modified",
	};
	const char *tag = fields_get(a->fields, "ETag");

	if (!node_answer_field_is_same(a, b, "ETag"))
		return false;
	if (tag && tag[0] == '"')
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!node_answer_field_is_same(a, b, names[i]))
			return false;
	}
	return true;
}

enum node_head node_answer_of_rejoin(const struct node_described *begun,
				     const struct node_described *origin)
{
	if (origin->status != begun->status ||
	    !node_answer_describes_same(begun, origin) ||
	    (begun->body_len >= 0 && origin->body_len >= 0 &&
	     origin->body_len != begun->body_len))
		return NODE_HEAD_UNUSABLE;
	return NODE_HEAD_USABLE;
}
