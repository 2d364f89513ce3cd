/*
 * Lines of an access log: a format, which is one of the usual ones by its name
 * or a text with %{...} in it, and a record of a request that fills it.
 *
 * What clients have sent is escaped, so that no line can be forged: control
 * characters, quotes, backslashes and bytes above 0x7e as \xHH, which Apache
 * does and readers of the Common Log Format know; in a format that begins with
 * { as JSON has it. Bytes that are no UTF-8 are told apart by nobody here: JSON
 * has \u00HH for each byte above 0x7e.
 */
#ifndef DIGESTD_HTTP_ACCESS_FORMAT_H
#define DIGESTD_HTTP_ACCESS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/fields.h"
#include "digestd/http/trace_context.h"

/* X(name, what it is) */
/* clang-format off */
#define ACCESS_SOURCES(X) \
	X(memory,    "stored, in memory") \
	X(disk,      "stored, on disk") \
	X(peer,      "a peer") \
	X(origin,    "an origin") \
	X(collapsed, "what another request was having fetched") \
	X(node,      "this node itself: an error, or OPTIONS") \
	X(nobody,    "there was no reply")

/* X(name, what it is): what may stand in %{...} */
#define ACCESS_ITEMS(X) \
	X(client,      "address of the client") \
	X(time,        "when the request came, as Common Log Format has it") \
	X(time_iso,    "the same by ISO 8601, with milliseconds") \
	X(time_s,      "the same in seconds since 1970, with milliseconds") \
	X(end_s,       "when the reply was over, like time_s") \
	X(method,      "method") \
	X(target,      "target as it came") \
	X(url,         "the same with scheme and host") \
	X(protocol,    "protocol and version") \
	X(host,        "Host") \
	X(status,      "status of the reply") \
	X(bytes,       "bytes of its body that were sent") \
	X(referer,     "Referer") \
	X(agent,       "User-Agent") \
	X(source,      "where the reply is from") \
	X(from,        "name of the peer, or URL of the origin") \
	X(reason,      "why it is not from the store, as in Cache-Status, or why it is an error") \
	X(reply_ms,    "time until the reply began") \
	X(duration_ms, "time until it was sent") \
	X(peer_ms,     "of that, time for which peers were asked") \
	X(origin_ms,   "of that, time for which origins were asked") \
	X(end,         "done, or aborted: the client left, or the reply broke off") \
	X(trace_id,    "trace-id of the request's traceparent") \
	X(squid_code,  "what Squid would call it: TCP_MISS and the like") \
	X(squid_hierarchy, "the same of where it is from: HIER_DIRECT/host")
/* clang-format on */

enum access_source {
#define X(name, what) ACCESS_FROM_##name,
	ACCESS_SOURCES(X)
#undef X
};

/* A request and its reply. Texts are borrowed; empty: there is none. */
struct access_record {
	int64_t time_ms; /* when it came, since 1970 */
	uint64_t bytes;
	unsigned status; /* 0: there was none */
	unsigned reply_ms, duration_ms;
	unsigned peer_ms, origin_ms; /* 0: none was asked */
	unsigned fwd_status; /* of who was asked; 0: nobody, or no answer */
	unsigned minor; /* of HTTP/1 */
	bool http2, https, aborted;
	bool stale; /* it was stored, and had to be validated */
	enum access_source source;
	char trace_id[TRACE_ID_BYTES]; /* "": there is none */
	bool local; /* the client is at a UNIX socket, and has no address */
	struct field_part client, method, target, host, referer, agent, from,
		reason;
};

struct access_format;

/* Whether a text is a format. */
bool access_format_is(const char *text);

/* Makes one of a text. Returns 0, -EINVAL or -ENOMEM. */
int access_format_new(const char *text, struct access_format **out);
void access_format_free(struct access_format **format);

/* Writes a line and its end. Returns its length; 0: it does not fit. */
size_t access_format_write(const struct access_format *format,
			   const struct access_record *record, char *to,
			   size_t cap);

#endif
