/*
 * What a proxy changes in messages.
 */
#include "digestd/http/forward.h"

#include <errno.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/http/httpdate.h"
#include "digestd/http/via.h"

/* Lends and cleans; *out is empty when it fails. */
static int forward_lend_end_to_end(const struct fields *from,
				   struct fields *out)
{
	if (fields_lend(from, out))
		return -ENOMEM;
	fields_remove_hop_by_hop(out);
	return 0;
}

static const char *forward_version(const struct forward_request *how)
{
	if (how->http2)
		return "2.0";
	return how->minor ? "1.1" : "1.0";
}

static int forward_add_marks(struct fields *out,
			     const struct forward_request *how)
{
	if (!how->marks)
		return via_append(out, forward_version(how), how->node) ||
		       via_cdn_loop(out, how->node);
	return via_mark(out, how->marks,
			how->http2   ? VIA_MARK_2_0
			: how->minor ? VIA_MARK_1_1
				     : VIA_MARK_1_0) ||
	       via_mark(out, how->marks, VIA_MARK_CDN_LOOP);
}

static int forward_mark(struct fields *out, const struct forward_request *how)
{
	if (!how->minor) /* whoever speaks 1.0 expects nothing */
		fields_remove(out, "Expect");
	if ((!fields_are(out, "Host", how->host) && /* only saves time */
	     fields_set(out, "Host", how->host)) ||
	    forward_add_marks(out, how)) {
		fields_free(out);
		return -ENOMEM;
	}
	return 0;
}

int forward_to_origin(const struct fields *request,
		      const struct forward_request *how, struct fields *out)
{
	if (forward_lend_end_to_end(request, out))
		return -ENOMEM;
	return forward_mark(out, how);
}

/* Names as constants, of which each knows the bit that it has in a list. */
#define FORWARD_KEPT_FROM_PEERS(X)                                     \
	X("If-Match")                                                  \
	X("If-None-Match")                                             \
	X("If-Modified-Since")                                         \
	X("If-Unmodified-Since")                                       \
	X("If-Range")                                                  \
	X("Pragma")                                                    \
	/* a node's to say */                                          \
	X("Scd-Lease")                                                 \
	X("SCD-Need")                                                  \
	/* a client could name the peer, which would refuse; who never \
	 * goes upstream for a peer closes no loop */                  \
	X("Via")                                                       \
	X("CDN-Loop")

static int forward_add_token(struct fields *out, const char *token)
{
	static const char scheme[] = "Bearer ";
	char value[100];
	const size_t before = sizeof(scheme) - 1;
	const size_t len = strnlen(token, sizeof(value) - before);

	memcpy(value, scheme, before);
	memcpy(value + before, token, len);
	return fields_add_n(out, "Proxy-Authorization",
			    sizeof("Proxy-Authorization") - 1, value,
			    before + len);
}

int forward_to_peer(const struct fields *request,
		    const struct forward_request *how, const char *token,
		    struct fields *out)
{
	if (forward_lend_end_to_end(request, out))
		return -ENOMEM;
#define X(name) fields_remove(out, name);
	FORWARD_KEPT_FROM_PEERS(X)
#undef X
	if (fields_set(out, "Cache-Control", "only-if-cached") ||
	    (token && forward_add_token(out, token))) {
		fields_free(out);
		return -ENOMEM;
	}
	return forward_mark(out, how);
}

int forward_response(struct fields *response, int64_t now_s,
		     struct httpdate_last *dates)
{
	const char *date;

	fields_remove_hop_by_hop(response);
	date = fields_get(response, "Date");
	if (date && *date)
		return 0;
	if (date)
		fields_remove(response, "Date");
	if (fields_add_n(response, "Date", 4,
			 httpdate_format_next(dates, now_s), HTTPDATE_LEN)) {
		fields_free(response);
		return -ENOMEM;
	}
	return 0;
}
