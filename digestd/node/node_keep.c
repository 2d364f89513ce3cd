/*
 * What is kept of responses, and what they invalidate.
 */
#include "digestd/node/node_keep.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/http/freshness.h"
#include "digestd/http/response_facts.h"
#include "digestd/http/storable.h"
#include "digestd/http/target.h"

/* Whether a field names the target of the request. */
static bool node_keep_names_target(const struct node_keep_response *r,
				   const char *name)
{
	const char *reference = fields_get(r->facts->fields, name);
	char *uri;
	bool same;

	if (!reference || target_same_origin(r->target, reference, &uri))
		return false;
	same = !strcmp(uri, r->target->uri);
	free(uri);
	return same;
}

/* The response to a POST may be what a later GET gets, if it says so itself,
 * and for how long (RFC 9110, 9.3.3). */
static bool node_keep_answers_get(const struct node_keep_response *r)
{
	if (!r->post)
		return r->get;
	return r->facts->status == 200 && r->freshness->explicit &&
	       node_keep_names_target(r, "Content-Location");
}

static const struct {
	const char *label, *text;
} node_keep_reasons[] = {
#define X(name, label, what) [NOT_STORED_##name] = { label, what },
	STORABLE_ANSWERS(X)
	NOT_STORED_REASONS(X)
#undef X
};

const char *not_stored_label(enum not_stored reason)
{
	assert(reason < NOT_STORED_COUNT);
	return node_keep_reasons[reason].label;
}

const char *not_stored_text(enum not_stored reason)
{
	assert(reason < NOT_STORED_COUNT);
	return node_keep_reasons[reason].text;
}

enum not_stored node_keep_refuse(const struct node_keep_response *r)
{
	enum storable why;

	/* what came for a range is about it, unless it is the whole */
	if (r->facts->status != 200 && fields_get(r->request, "range"))
		return NOT_STORED_RANGE;
	if (!node_keep_answers_get(r))
		return NOT_STORED_METHOD;
	why = storable("GET", r->request, r->facts);
	if (why != STORABLE_YES)
		return (enum not_stored)why;
	return r->body_len >= 0 && (uint64_t)r->body_len > r->max_bytes ?
		       NOT_STORED_TOO_LARGE :
		       NOT_STORED_YES;
}

enum admission_decision node_keep_place(enum admission_decision worth,
					enum admission_decision was)
{
	return worth < was ? was : worth;
}

enum admission_decision node_keep_place_renewed(enum admission_decision was)
{
	return was == ADMISSION_RAM ? ADMISSION_RAM : ADMISSION_DISK;
}

enum node_renewed node_keep_renewed(const struct response_facts *updated,
				    const struct fields *request,
				    bool right_variant)
{
	enum storable why = storable("GET", request, updated);

	if (why == STORABLE_YES && right_variant)
		return NODE_RENEWED_STORE;
	return why == STORABLE_AUTHORIZATION ? NODE_RENEWED_LEAVE :
					       NODE_RENEWED_DROP;
}

unsigned node_keep_invalidates(const struct node_keep_change *c)
{
	if (c->unsafe && c->status < 400)
		return NODE_DROP_TARGET | NODE_DROP_NAMED;
	return c->head && c->validating && c->status == 200 && !c->same
		       ? NODE_DROP_TARGET
		       : 0;
}
