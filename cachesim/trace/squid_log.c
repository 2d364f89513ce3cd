/*
 * Squid's native access.log:
 *
 *   1066036250.603 310 10.1.2.3 TCP_MISS/200 4567 GET http://x/ - DIRECT/.. -
 *
 * The third field is the client, the fifth the bytes sent to it. A status of
 * 000 (the client went away) leaves the request without one. What peers asked
 * over ICP or HTCP (UDP_HIT, UDP_MISS, ...) is no request of a client: skipped.
 *
 * The logs of IRCache are of this form; their clients and, in some, their URLs
 * are replaced by other names, one to one.
 */
#include "cachesim/trace/format.h"

#include <string.h>

#include "cachesim/trace/scan.h"

static bool squid_is_query(struct trace_text action)
{
	return action.len > 4 && !memcmp(action.at, "UDP_", 4);
}

/* "TCP_MISS/200": the status behind the slash. */
static bool squid_status(struct trace_text t, struct trace_request *req)
{
	struct trace_text code;

	if (!scan_until(&t, '/', &code))
		return false;
	return scan_is(t, "000") || scan_status(t, &req->status);
}

static int squid_parse(struct trace_parser *p, struct trace_text record,
		       struct trace_request *req)
{
	struct trace_text rest = record, action;

	if (rest.len == 0 || *rest.at == '#')
		return TRACE_SKIP;
	if (!scan_seconds(scan_word(&rest), &req->time_ms))
		return TRACE_ETIME;
	scan_word(&rest); /* how long it took */
	trace_request_client(req, scan_word(&rest));
	action = scan_word(&rest);
	if (!squid_status(action, req))
		return TRACE_ESTATUS;
	if (squid_is_query(action))
		return TRACE_SKIP;
	if (!scan_size(scan_word(&rest), req))
		return TRACE_ESIZE;
	req->method = scan_word(&rest);
	if (req->method.len == 0)
		return TRACE_EFIELDS;
	if (!scan_is_token(req->method))
		return TRACE_EMETHOD;
	return scan_url(p, scan_word(&rest), req);
}

static unsigned squid_score(struct trace_text sample)
{
	struct trace_text rest = scan_first_line(sample);
	struct trace_request req;
	int64_t ms;
	uint64_t elapsed;

	trace_request_clear(&req);
	if (!scan_seconds(scan_word(&rest), &ms) ||
	    !scan_u64(scan_word(&rest), &elapsed))
		return 0;
	scan_word(&rest);
	return squid_status(scan_word(&rest), &req) ? 100 : 0;
}

const struct trace_format trace_squid = {
	.name = "squid",
	.about = "Squid's native access.log",
	.score = squid_score,
	.parse = squid_parse,
};
