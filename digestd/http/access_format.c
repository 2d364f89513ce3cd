/*
 * Formats of access logs: a list of pieces, each a text and what comes behind
 * it. The usual ones are texts like all others.
 */
#include "digestd/http/access_format.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/decimal.h"
#include "digestd/http/httpdate.h"

enum access_item {
	ACCESS_NONE, /* no item: the last piece, or an unknown name */
#define X(name, what) ACCESS_##name,
	ACCESS_ITEMS(X)
#undef X
};

static const char *const access_items[] = {
	[ACCESS_NONE] = "",
#define X(name, what) [ACCESS_##name] = #name,
	ACCESS_ITEMS(X)
#undef X
	NULL,
};

static const char *const access_sources[] = {
#define X(name, what) [ACCESS_FROM_##name] = #name,
	ACCESS_SOURCES(X)
#undef X
};

#define ACCESS_COMMON                                                          \
	"%{client} - - [%{time}] \"%{method} %{target} %{protocol}\" "         \
	"%{status} %{bytes}"

static const struct {
	const char *name, *text;
} access_usual[] = {
	{ "common", ACCESS_COMMON },
	{ "combined", ACCESS_COMMON " \"%{referer}\" \"%{agent}\"" },
	{ "json",
	  "{\"@timestamp\":\"%{time_iso}\",\"source.ip\":\"%{client}\","
	  "\"http.request.method\":\"%{method}\",\"url.full\":\"%{url}\","
	  "\"http.version\":\"%{protocol}\","
	  "\"http.request.referrer\":\"%{referer}\","
	  "\"user_agent.original\":\"%{agent}\","
	  "\"http.response.status_code\":%{status},"
	  "\"http.response.body.bytes\":%{bytes},"
	  "\"digestd.source\":\"%{source}\",\"digestd.from\":\"%{from}\","
	  "\"digestd.reason\":\"%{reason}\",\"digestd.reply_ms\":%{reply_ms},"
	  "\"digestd.duration_ms\":%{duration_ms},"
	  "\"digestd.peer_ms\":%{peer_ms},\"digestd.origin_ms\":%{origin_ms},"
	  "\"digestd.end\":\"%{end}\",\"trace.id\":\"%{trace_id}\"}" },
	{ "squid",
	  "%{end_s} %{duration_ms} %{client} %{squid_code}/%{status} %{bytes} "
	  "%{method} %{url} - %{squid_hierarchy} -" },
};

struct access_piece {
	struct field_part text;
	enum access_item item;
};

struct access_format {
	char *text;
	bool json;
	size_t n;
	struct access_piece pieces[];
};

/* Making */

static const char *access_format_text(const char *text)
{
	for (size_t i = 0; i < sizeof(access_usual) / sizeof(access_usual[0]);
	     i++) {
		if (!strcmp(access_usual[i].name, text))
			return access_usual[i].text;
	}
	return text;
}

static enum access_item access_format_item(struct field_part name)
{
	for (int i = ACCESS_NONE + 1; access_items[i]; i++) {
		if (strlen(access_items[i]) == name.len &&
		    !memcmp(access_items[i], name.at, name.len))
			return (enum access_item)i;
	}
	return ACCESS_NONE;
}

/* Takes the next piece off a text; false: it is none. At its end the item is
 * ACCESS_NONE. */
static bool access_format_next(const char **at, struct access_piece *piece)
{
	const char *end = strstr(*at, "%{"), *close;
	struct field_part name;

	*piece = (struct access_piece){ { *at, strlen(*at) }, ACCESS_NONE };
	if (!end) {
		*at += piece->text.len;
		return true;
	}
	close = strchr(end, '}');
	if (!close)
		return false;
	piece->text.len = (size_t)(end - *at);
	name = (struct field_part){ end + 2, (size_t)(close - end - 2) };
	piece->item = access_format_item(name);
	*at = close + 1;
	return piece->item != ACCESS_NONE;
}

/* The number of pieces; 0: it is no format. */
static size_t access_format_count(const char *at)
{
	struct access_piece piece;
	size_t n = 0, items = 0;

	do {
		if ((unsigned char)*at < ' ' && *at)
			return 0;
		if (!access_format_next(&at, &piece))
			return 0;
		n++;
		items += piece.item != ACCESS_NONE;
	} while (piece.item != ACCESS_NONE);
	return items ? n : 0;
}

bool access_format_is(const char *text)
{
	return !strchr(text, '\n') &&
	       access_format_count(access_format_text(text));
}

int access_format_new(const char *text, struct access_format **out)
{
	size_t n = access_format_is(text)
			   ? access_format_count(access_format_text(text)) : 0;
	struct access_format *f;
	const char *at;

	if (!n)
		return -EINVAL;
	f = malloc(sizeof(*f) + n * sizeof(f->pieces[0]));
	if (!f)
		return -ENOMEM;
	*f = (struct access_format){
		.text = strdup(access_format_text(text)), .n = n,
	};
	if (!f->text) {
		free(f);
		return -ENOMEM;
	}
	f->json = f->text[0] == '{';
	at = f->text;
	for (size_t i = 0; i < n; i++)
		(void)access_format_next(&at, &f->pieces[i]);
	*out = f;
	return 0;
}

void access_format_free(struct access_format **format)
{
	if (*format)
		free((*format)->text);
	free(*format);
	*format = NULL;
}

/* Writing */

struct access_line {
	char *at, *end; /* room */
	bool json, full;
};

static void access_line_put(struct access_line *l, const char *at, size_t len)
{
	if ((size_t)(l->end - l->at) < len) {
		l->full = true;
		return;
	}
	if (len)
		memcpy(l->at, at, len);
	l->at += len;
}

static void access_line_text(struct access_line *l, const char *text)
{
	access_line_put(l, text, strlen(text));
}

static void access_line_number(struct access_line *l, uint64_t n)
{
	char text[DECIMAL_BYTES];

	decimal_write((int64_t)n, text);
	access_line_text(l, text);
}

/* So many digits, with zeros in front. */
static void access_line_digits(struct access_line *l, uint64_t n, int digits)
{
	char text[DECIMAL_BYTES];

	for (int i = digits; i--; n /= 10)
		text[i] = (char)('0' + n % 10);
	access_line_put(l, text, (size_t)digits);
}

static void access_line_escape(struct access_line *l, unsigned char byte)
{
	static const char digits[] = "0123456789abcdef";
	const char hex[2] = { digits[byte >> 4], digits[byte & 15] };

	access_line_text(l, l->json ? "\\u00" : "\\x");
	access_line_put(l, hex, 2);
}

/* What somebody else has said. */
static void access_line_foreign(struct access_line *l, struct field_part text)
{
	size_t plain = 0;

	if (!text.len && !l->json)
		access_line_text(l, "-");
	for (size_t i = 0; i < text.len; i++) {
		unsigned char byte = (unsigned char)text.at[i];

		if (byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\')
			continue;
		access_line_put(l, text.at + plain, i - plain);
		access_line_escape(l, byte);
		plain = i + 1;
	}
	if (text.len)
		access_line_put(l, text.at + plain, text.len - plain);
}

/* "21/Nov/2026:03:05:59 +0000", of the parts of an HTTP date: "Sat, 21 Nov 2026
 * 03:05:59 GMT". */
static void access_line_clf_time(struct access_line *l, int64_t time_s)
{
	char date[HTTPDATE_LEN + 1];

	httpdate_format(time_s, date);
	access_line_put(l, date + 5, 2);
	access_line_text(l, "/");
	access_line_put(l, date + 8, 3);
	access_line_text(l, "/");
	access_line_put(l, date + 12, 4);
	access_line_text(l, ":");
	access_line_put(l, date + 17, 8);
	access_line_text(l, " +0000");
}

/* "2026-11-21T03:05:59.123Z", of the same. */
static void access_line_iso_time(struct access_line *l, int64_t time_ms)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char date[HTTPDATE_LEN + 1], month[4] = "";

	httpdate_format(time_ms / 1000, date);
	memcpy(month, date + 8, 3);
	access_line_put(l, date + 12, 4);
	access_line_text(l, "-");
	access_line_digits(l, (uint64_t)(strstr(months, month) - months) / 3 +
				      1, 2);
	access_line_text(l, "-");
	access_line_put(l, date + 5, 2);
	access_line_text(l, "T");
	access_line_put(l, date + 17, 8);
	access_line_text(l, ".");
	access_line_digits(l, (uint64_t)(time_ms % 1000), 3);
	access_line_text(l, "Z");
}

static void access_line_seconds(struct access_line *l, int64_t time_ms)
{
	access_line_number(l, (uint64_t)(time_ms / 1000));
	access_line_text(l, ".");
	access_line_digits(l, (uint64_t)(time_ms % 1000), 3);
}

/* The target in full, if it is a path. */
static void access_line_url(struct access_line *l,
			    const struct access_record *r)
{
	if (r->target.len && *r->target.at == '/') {
		access_line_text(l, r->https ? "https://" : "http://");
		access_line_foreign(l, r->host);
	}
	access_line_foreign(l, r->target);
}

static void access_line_protocol(struct access_line *l,
				 const struct access_record *r)
{
	access_line_text(l, r->http2 ? "HTTP/2.0"
			    : r->minor ? "HTTP/1.1" : "HTTP/1.0");
}

/* As Squid's access.log has it, for what reads those. */
static const char *access_squid_code(const struct access_record *r)
{
	switch (r->source) {
	case ACCESS_FROM_memory:
		return "TCP_MEM_HIT";
	case ACCESS_FROM_disk:
		return "TCP_HIT";
	case ACCESS_FROM_collapsed:
		return "TCP_CF_MISS";
	case ACCESS_FROM_node:
		if (!r->method.len)
			return "NONE";
		return r->status == 403 || r->status == 407 ||
		       r->status == 421 ? "TCP_DENIED" : "TCP_MISS";
	case ACCESS_FROM_peer:
	case ACCESS_FROM_origin:
	case ACCESS_FROM_nobody:
		break;
	}
	if (!r->stale)
		return "TCP_MISS";
	if (r->fwd_status == 304)
		return "TCP_REFRESH_UNMODIFIED";
	return r->fwd_status && r->fwd_status < 500 ? "TCP_REFRESH_MODIFIED"
						    : "TCP_REFRESH_FAIL_OLD";
}

static void access_line_squid_code(struct access_line *l,
				   const struct access_record *r)
{
	access_line_text(l, access_squid_code(r));
	if (r->aborted)
		access_line_text(l, "_ABORTED");
}

/* The host of a URL, with its port. */
static struct field_part access_host(struct field_part url)
{
	const char *at = url.len > 7 ? memchr(url.at, '/', url.len) : NULL;
	struct field_part host = url;

	if (at && at + 1 < url.at + url.len && at[1] == '/') {
		host.at = at + 2;
		host.len = (size_t)(url.at + url.len - host.at);
	}
	at = memchr(host.at, '/', host.len);
	if (at)
		host.len = (size_t)(at - host.at);
	return host;
}

static void access_line_squid_hierarchy(struct access_line *l,
					const struct access_record *r)
{
	if (!r->from.len) {
		access_line_text(l, "HIER_NONE/-");
	} else if (r->source == ACCESS_FROM_peer) {
		access_line_text(l, "CD_SIBLING_HIT/");
		access_line_foreign(l, r->from);
	} else {
		access_line_text(l, "HIER_DIRECT/");
		access_line_foreign(l, access_host(r->from));
	}
}

/* How long something took. */
static unsigned access_line_ms(enum access_item item,
			       const struct access_record *r)
{
	if (item == ACCESS_reply_ms)
		return r->reply_ms;
	if (item == ACCESS_duration_ms)
		return r->duration_ms;
	return item == ACCESS_peer_ms ? r->peer_ms : r->origin_ms;
}

static void access_line_item(struct access_line *l, enum access_item item,
			     const struct access_record *r)
{
	switch (item) {
	case ACCESS_NONE:
		break;
	case ACCESS_client:
		if (r->local && !l->json) /* which has a field for IPs only */
			access_line_text(l, "unix:");
		else
			access_line_foreign(l, r->client);
		break;
	case ACCESS_time:
		access_line_clf_time(l, r->time_ms / 1000);
		break;
	case ACCESS_time_iso:
		access_line_iso_time(l, r->time_ms);
		break;
	case ACCESS_time_s:
		access_line_seconds(l, r->time_ms);
		break;
	case ACCESS_end_s:
		access_line_seconds(l, r->time_ms + r->duration_ms);
		break;
	case ACCESS_method:
		access_line_foreign(l, r->method);
		break;
	case ACCESS_target:
		access_line_foreign(l, r->target);
		break;
	case ACCESS_url:
		access_line_url(l, r);
		break;
	case ACCESS_protocol:
		access_line_protocol(l, r);
		break;
	case ACCESS_host:
		access_line_foreign(l, r->host);
		break;
	case ACCESS_status:
		access_line_digits(l, r->status, l->json && !r->status ? 1 : 3);
		break;
	case ACCESS_bytes:
		access_line_number(l, r->bytes);
		break;
	case ACCESS_referer:
		access_line_foreign(l, r->referer);
		break;
	case ACCESS_agent:
		access_line_foreign(l, r->agent);
		break;
	case ACCESS_source:
		access_line_text(l, access_sources[r->source]);
		break;
	case ACCESS_from:
		access_line_foreign(l, r->from);
		break;
	case ACCESS_reason:
		access_line_foreign(l, r->reason);
		break;
	case ACCESS_reply_ms:
	case ACCESS_duration_ms:
	case ACCESS_peer_ms:
	case ACCESS_origin_ms:
		access_line_number(l, access_line_ms(item, r));
		break;
	case ACCESS_end:
		access_line_text(l, r->aborted ? "aborted" : "done");
		break;
	case ACCESS_trace_id:
		access_line_foreign(l, (struct field_part){
					       r->trace_id,
					       strlen(r->trace_id) });
		break;
	case ACCESS_squid_code:
		access_line_squid_code(l, r);
		break;
	case ACCESS_squid_hierarchy:
		access_line_squid_hierarchy(l, r);
		break;
	}
}

size_t access_format_write(const struct access_format *format,
			   const struct access_record *record, char *to,
			   size_t cap)
{
	struct access_line l = { to, to + cap, format->json, false };

	assert(record->time_ms >= 0);
	for (size_t i = 0; i < format->n; i++) {
		const struct access_piece *piece = &format->pieces[i];

		access_line_put(&l, piece->text.at, piece->text.len);
		access_line_item(&l, piece->item, record);
	}
	access_line_put(&l, "\n", 1);
	return l.full ? 0 : (size_t)(l.at - to);
}
