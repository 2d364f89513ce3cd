/*
 * Comparing copies.
 */
#include "digestd/node/node_check.h"

#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/http/httpdate.h"
#include "digestd/http/repr_digest.h"

enum { NODE_CHECK_SLACK_S = 60 }; /* clocks, and what changes twice a second */

static bool node_check_is_same_field(const struct node_checked *a,
				     const struct node_checked *b,
				     const char *name)
{
	const char *one = fields_get(a->fields, name);
	const char *other = fields_get(b->fields, name);

	return one && other ? !strcmp(one, other) : one == other;
}

static bool node_check_has_strong_tag(const struct node_checked *r)
{
	const char *tag = fields_get(r->fields, "ETag");

	return tag && tag[0] == '"';
}

/* Whether both say that they are of one representation by its hash. */
static bool node_check_claims_same(const struct node_checked *copy,
				   const struct node_checked *origin)
{
	uint8_t one[REPR_DIGEST_BYTES], other[REPR_DIGEST_BYTES];

	return repr_digest_read(copy->fields, one) &&
	       repr_digest_read(origin->fields, other) &&
	       !memcmp(one, other, sizeof(one));
}

/* Whether the origin says that nothing has changed since the copy was made. */
static bool node_check_is_unchanged(const struct node_checked *origin,
				    int64_t made_s)
{
	const char *text = fields_get(origin->fields, "Last-Modified");
	int64_t changed_s;

	return text && httpdate_parse(text, made_s, &changed_s) &&
	       changed_s + NODE_CHECK_SLACK_S < made_s;
}

bool node_check_is_right(const struct node_checked *r)
{
	uint8_t claimed[REPR_DIGEST_BYTES];

	return r->status != 200 || !repr_digest_read(r->fields, claimed) ||
	       !memcmp(claimed, r->hash, sizeof(claimed));
}

enum node_check node_check(const struct node_checked *copy,
			   const struct node_checked *origin, int64_t made_s)
{
	if (origin->status != 200 || copy->status != 200)
		return NODE_CHECK_OTHER;
	if (!node_check_is_right(origin))
		return NODE_CHECK_ORIGIN;
	if (!memcmp(copy->hash, origin->hash, sizeof(copy->hash)))
		return NODE_CHECK_SAME;
	if (node_check_claims_same(copy, origin))
		return NODE_CHECK_WRONG;
	if (!node_check_is_same_field(copy, origin, "Content-Encoding") ||
	    !node_check_is_same_field(copy, origin, "Content-Type"))
		return NODE_CHECK_OTHER;
	if (node_check_has_strong_tag(origin) &&
	    node_check_is_same_field(copy, origin, "ETag"))
		return NODE_CHECK_WRONG;
	return node_check_is_unchanged(origin, made_s) ? NODE_CHECK_DOUBT
						       : NODE_CHECK_OTHER;
}
