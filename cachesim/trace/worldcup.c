/*
 * The logs of the 1998 World Cup web site, as the Internet Traffic Archive has
 * them: records of 20 bytes, big-endian,
 *
 *   uint32 seconds, client, object, bytes; uint8 method, status, type, server
 *
 * The lower six bits of the status count the codes of HTTP/1.1 as RFC 2068 has
 * them; a size of 2^32 - 1 is none. Source: Arlitt and Jin, "Workload
 * Characterization of the 1998 World Cup Web Site", HPL-1999-35R1, and the
 * tools that go with the logs.
 */
#include "cachesim/trace/format.h"

#include <string.h>

#include "cachesim/trace/bytes.h"
#include "cachesim/trace/cacheable.h"
#include "cachesim/trace/scan.h"

enum {
	WC_BYTES = 20,
	WC_SAMPLE = 64, /* records */
	WC_STATUS_MASK = 0x3f,
	WC_TYPES = 13,
	/* the site's logs begin on 30 April 1998 and end on 26 July */
	WC_FROM = 893900000,
	WC_UNTIL = 901500000,
};

static const uint16_t statuses[] = {
	100, 101, 200, 201, 202, 203, 204, 205, 206, 300, 301, 302, 303,
	304, 305, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410,
	411, 412, 413, 414, 415, 500, 501, 502, 503, 504, 505,
};

static const char *const methods[] = {
	"GET",	 "HEAD",    "POST",    "PUT",	 "DELETE",
	"TRACE", "OPTIONS", "CONNECT", "OTHER",
};

enum {
	WC_STATUSES = sizeof(statuses) / sizeof(statuses[0]),
	WC_METHODS = sizeof(methods) / sizeof(methods[0]),
};

static int worldcup_parse(struct trace_parser *p, struct trace_text record,
			  struct trace_request *req)
{
	const char *at = record.at;
	unsigned method = (unsigned char)at[16];
	unsigned status = (unsigned char)at[17] & WC_STATUS_MASK;
	char *name = scan_room(p, SCAN_DECIMAL_MAX);

	if (method >= WC_METHODS)
		return TRACE_EMETHOD;
	if (status > WC_STATUSES) /* one more: another code */
		return TRACE_ESTATUS;
	req->time_ms = (int64_t)bytes_big(at, 4) * 1000;
	req->method.at = methods[method];
	req->method.len = strlen(methods[method]);
	req->status = status < WC_STATUSES ? statuses[status] : 0;
	req->has_size = bytes_big(at + 12, 4) != UINT32_MAX;
	req->size = req->has_size ? bytes_big(at + 12, 4) : 0;
	if (name)
		trace_request_client(
			req, (struct trace_text){
				     name, scan_decimal(bytes_big(at + 4, 4),
							name) });
	scan_number_key(p, bytes_big(at + 8, 4), req);
	return 0;
}

static enum trace_class worldcup_class(unsigned method, unsigned status)
{
	struct trace_text name = { methods[method], strlen(methods[method]) };

	return trace_cacheable_class(name, status);
}

/* Names live in the scratch room: one for each row. */
static int worldcup_rows(struct trace_parser *p, struct trace_text *rest,
			 struct trace_row *rows, int max)
{
	int n = 0;

	for (; n < max && rest->len; n++) {
		const char *at = rest->at;
		unsigned status = (unsigned char)at[17] & WC_STATUS_MASK;
		char *name = scan_room(p, SCAN_DECIMAL_MAX);
		size_t len;

		if (!name || (unsigned char)at[16] >= WC_METHODS ||
		    status >= WC_STATUSES)
			break;
		len = scan_decimal(bytes_big(at + 4, 4), name);
		rows[n] = (struct trace_row){
			.key = bytes_big(at + 8, 4),
			.client = trace_hash(name, len),
			.name = { name, len },
			.time_ms = (int64_t)bytes_big(at, 4) * 1000,
			.has_size = bytes_big(at + 12, 4) != UINT32_MAX,
			.status = statuses[status],
			.class = (uint8_t)worldcup_class(
				(unsigned char)at[16], statuses[status]),
		};
		if (rows[n].has_size)
			rows[n].size = bytes_big(at + 12, 4);
		rest->at += WC_BYTES;
		rest->len -= WC_BYTES;
	}
	return n;
}

/* Times of that summer that never fall, and codes that exist. */
static unsigned worldcup_score(struct trace_text sample)
{
	uint64_t last = WC_FROM;
	size_t records = sample.len / WC_BYTES;

	if (records > WC_SAMPLE)
		records = WC_SAMPLE;
	for (size_t i = 0; i < records; i++) {
		const char *at = sample.at + i * WC_BYTES;
		uint64_t time = bytes_big(at, 4);

		if (time < last || time > WC_UNTIL ||
		    (unsigned char)at[16] >= WC_METHODS ||
		    ((unsigned char)at[17] & WC_STATUS_MASK) > WC_STATUSES ||
		    (unsigned char)at[18] > WC_TYPES)
			return 0;
		last = time;
	}
	return records ? 80 : 0;
}

const struct trace_format trace_worldcup = {
	.name = "worldcup",
	.about = "binary logs of the 1998 World Cup web site",
	.alias = "wc98",
	.block = WC_BYTES,
	.score = worldcup_score,
	.parse = worldcup_parse,
	.rows = worldcup_rows,
};
