/*
 * Reading the head of a request: a stage for each part of it, each of which
 * goes on where it stopped. Errors are found at the first byte that shows them,
 * which is why it does not matter how the bytes were cut.
 */
#include "digestd/http/request_head.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "digestd/http/authority.h"
#include "digestd/http/octets.h"

enum request_head_state {
	REQUEST_HEAD_AT_START,
	REQUEST_HEAD_IN_METHOD,
	REQUEST_HEAD_IN_TARGET,
	REQUEST_HEAD_IN_VERSION,
	REQUEST_HEAD_IN_FIELDS,
	/* from here on there is nothing to read */
	REQUEST_HEAD_AT_END,
	REQUEST_HEAD_WAS_PREFACE,
	REQUEST_HEAD_WAS_REFUSED,
};

/* What counts once in a header. */
enum {
	SEEN_CLOSE = 1,
	SEEN_KEEP_ALIVE = 2,
	SEEN_UPGRADE_OPTION = 4, /* Connection: upgrade */
	SEEN_UPGRADE = 8,
	SEEN_UPGRADE_TWICE = 16,
};

static const char request_head_preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
_Static_assert(sizeof(request_head_preface) - 1 == REQUEST_HEAD_PREFACE_BYTES,
	       "RFC 9113, 3.4");

void request_head_init(struct request_head *h,
		       const struct request_limits *limits)
{
	/* all but the fields, which are 1600 bytes and written before read */
	memset(h, 0, offsetof(struct request_head, fields));
	h->fault = MESSAGE_OK;
	h->base = NULL;
	h->limits = *limits;
	h->scan = (struct request_scan){ 0 };
	h->line = (struct field_line){ 0 };
	h->query = 0;
	h->seen = 0;
	framing_init(&h->framing);
}

/* Stages return whether the next one may go on. */

static bool request_head_refuse(struct request_head *h,
				enum message_fault fault)
{
	h->fault = fault;
	h->scan.state = REQUEST_HEAD_WAS_REFUSED;
	return false;
}

/* The part that began at scan.begun ends before `at`, and with one byte more.
 * Returns it. */
static struct request_span request_head_end_part(struct request_head *h,
						 uint32_t at,
						 enum request_head_state next)
{
	struct request_span span = { h->scan.begun, at - h->scan.begun };

	h->scan.at = h->scan.begun = at + 1;
	h->scan.state = (uint8_t)next;
	return span;
}

/* The request line */

/* Whether what there is may be the preface of HTTP/2. */
static bool request_head_may_be_preface(const char *at, size_t len)
{
	size_t n = len < REQUEST_HEAD_PREFACE_BYTES ?
			   len : REQUEST_HEAD_PREFACE_BYTES;

	return *at == 'P' && !memcmp(at, request_head_preface, n);
}

static bool request_head_start(struct request_head *h, const char *at,
			       size_t len)
{
	if (request_head_may_be_preface(at, len)) {
		if (len < REQUEST_HEAD_PREFACE_BYTES)
			return false;
		h->len = REQUEST_HEAD_PREFACE_BYTES;
		h->scan.state = REQUEST_HEAD_WAS_PREFACE;
		return false;
	}
	if (*at == '\r') { /* an empty line (RFC 9112, 2.2) */
		if (len < 2)
			return false;
		if (at[1] != '\n')
			return request_head_refuse(h, MESSAGE_LINE_END);
		h->scan.at = h->scan.begun = 2;
	}
	h->scan.state = REQUEST_HEAD_IN_METHOD;
	return true;
}

/* What is wrong with a byte that should have been of a method or a blank. */
static enum message_fault
request_head_method_fault(const struct request_head *h, char byte)
{
	bool second = h->scan.at == 2 && h->scan.begun == 2;

	if (byte == '\n')
		return MESSAGE_LINE_END;
	if (byte == '\r')
		return second ? MESSAGE_EMPTY_LINES : MESSAGE_REQUEST_LINE;
	return MESSAGE_METHOD;
}

static bool request_head_method(struct request_head *h, const char *at,
				size_t len)
{
	size_t max = h->scan.begun + REQUEST_HEAD_METHOD_MAX + 1;
	const char *end = at + (len < max ? len : max);
	const char *from = at + h->scan.at, *stop;

	if (end - from >= 4 && !memcmp(from, "GET ", 4)) /* saves time */
		stop = from + 3;
	else
		stop = octets_skip(from, end, OCTETS_TOKEN);
	h->scan.at = (uint32_t)(stop - at);
	if (h->scan.at == max)
		return request_head_refuse(h, MESSAGE_METHOD_LENGTH);
	if (stop == end)
		return false;
	if (*stop != ' ' || h->scan.at == h->scan.begun)
		return request_head_refuse(
			h, request_head_method_fault(h, *stop));
	h->method = request_head_end_part(h, h->scan.at,
					  REQUEST_HEAD_IN_TARGET);
	return true;
}

/*
 * Whether a byte that RFC 3986 does not have in a target may be there: browsers
 * send some as they are, and a backslash in a query only (in a path they make
 * a slash of it, and so do some servers).
 */
static bool request_head_is_lenient(struct request_head *h, const char *at,
				    uint32_t i)
{
	uint32_t from = h->scan.begun;
	const char *query;

	if (at[i] != '\\')
		return octets_has(OCTETS_BROWSER, at[i]);
	if (!h->query) {
		query = memchr(at + from, '?', i - from);
		h->query = query ? (uint32_t)(query - at) : 0;
	}
	return h->query > 0;
}

static enum message_fault request_head_target_fault(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' ?
		       MESSAGE_REQUEST_LINE : MESSAGE_TARGET_BYTE;
}

static bool request_head_target(struct request_head *h, const char *at,
				size_t len)
{
	size_t max = h->scan.begun + h->limits.max_target_bytes + 1;
	const char *end = at + (len < max ? len : max);
	const char *stop = at + h->scan.at;

	while ((stop = octets_skip(stop, end, OCTETS_TARGET)) < end &&
	       request_head_is_lenient(h, at, (uint32_t)(stop - at)))
		stop++;
	h->scan.at = (uint32_t)(stop - at);
	if (h->scan.at == max)
		return request_head_refuse(h, MESSAGE_TARGET_LENGTH);
	if (stop == end)
		return false;
	if (*stop != ' ' || h->scan.at == h->scan.begun)
		return request_head_refuse(h, request_head_target_fault(*stop));
	h->target = request_head_end_part(h, h->scan.at,
					  REQUEST_HEAD_IN_VERSION);
	return true;
}

static const char request_head_version_form[] = "HTTP/1.d\r\n";
enum { VERSION_DIGIT = 7, VERSION_CR, VERSION_LF, VERSION_BYTES };

/* What is wrong with a byte that should have been another, the i-th. */
static enum message_fault request_head_version_fault(uint32_t i, char byte)
{
	if (i == VERSION_LF || (i == VERSION_CR && byte == '\n'))
		return MESSAGE_LINE_END;
	return (unsigned char)byte <= ' ' || byte == 0x7f ?
		       MESSAGE_REQUEST_LINE : MESSAGE_VERSION;
}

static bool request_head_begin_fields(struct request_head *h);

/* The usual ones, whole: only to save time. */
static bool request_head_is_usual_version(const struct request_head *h,
					  const char *at, size_t len)
{
	return len - h->scan.begun >= VERSION_BYTES &&
	       h->scan.at == h->scan.begun &&
	       !memcmp(at + h->scan.at, "HTTP/1.1\r\n", VERSION_BYTES);
}

static bool request_head_version(struct request_head *h, const char *at,
				 size_t len)
{
	if (request_head_is_usual_version(h, at, len)) {
		h->minor = 1;
		h->scan.at += VERSION_BYTES;
		return request_head_begin_fields(h);
	}
	while (h->scan.at < len) {
		uint32_t i = h->scan.at - h->scan.begun;
		char byte = at[h->scan.at];

		if (i == VERSION_DIGIT && octets_has(OCTETS_DIGIT, byte))
			h->minor = byte != '0';
		else if (byte != request_head_version_form[i])
			return request_head_refuse(
				h, request_head_version_fault(i, byte));
		h->scan.at++;
		if (i == VERSION_LF)
			return request_head_begin_fields(h);
	}
	return false;
}

/* Targets */

static bool request_head_part_is(const struct request_head *h,
				 struct request_span span, const char *text)
{
	return span.len == strlen(text) &&
	       !memcmp(h->base + span.at, text, span.len);
}

/* The length of the scheme of an absolute-form, with "://"; 0: it has none
 * that is meant here. */
static uint32_t request_head_scheme(struct request_head *h)
{
	const char *target = h->base + h->target.at;

	if (h->target.len > 7 && !strncasecmp(target, "http://", 7))
		return 7;
	h->https = h->target.len > 8 && !strncasecmp(target, "https://", 8);
	return h->https ? 8 : 0;
}

static enum message_fault request_head_absolute(struct request_head *h)
{
	uint32_t scheme = request_head_scheme(h), len = 0;
	const char *at = h->base + h->target.at + scheme;
	struct authority unused;

	if (!scheme)
		return MESSAGE_TARGET_FORM;
	while (scheme + len < h->target.len && at[len] != '/' && at[len] != '?')
		len++;
	h->form = REQUEST_ABSOLUTE_FORM;
	h->authority = (struct request_span){ h->target.at + scheme, len };
	h->path = (struct request_span){ h->authority.at + len,
					 h->target.len - scheme - len };
	if (memchr(at, '@', len))
		return MESSAGE_TARGET_USER;
	return authority_parse(request_head_part(h, h->authority), &unused) ?
		       MESSAGE_OK : MESSAGE_TARGET_FORM;
}

/* The target of a CONNECT. */
static enum message_fault request_head_connect(struct request_head *h)
{
	struct authority a;

	h->form = REQUEST_AUTHORITY_FORM;
	h->authority = h->target;
	return authority_parse(request_head_part(h, h->target), &a) && a.port ?
		       MESSAGE_OK : MESSAGE_TARGET_FORM;
}

static enum message_fault request_head_check_target(struct request_head *h)
{
	if (request_head_part_is(h, h->method, "CONNECT"))
		return request_head_connect(h);
	if (h->base[h->target.at] == '/') {
		h->form = REQUEST_ORIGIN_FORM;
		h->path = h->target;
		return MESSAGE_OK;
	}
	if (h->base[h->target.at] != '*')
		return request_head_absolute(h);
	h->form = REQUEST_ASTERISK_FORM;
	return h->target.len == 1 &&
			       request_head_part_is(h, h->method, "OPTIONS") ?
		       MESSAGE_OK : MESSAGE_TARGET_FORM;
}

static bool request_head_begin_fields(struct request_head *h)
{
	enum message_fault fault = request_head_check_target(h);

	if (fault)
		return request_head_refuse(h, fault);
	h->scan.begun = h->scan.at;
	h->scan.limit = h->scan.at + (uint32_t)h->limits.max_header_bytes;
	h->scan.state = REQUEST_HEAD_IN_FIELDS;
	return true;
}

/* Fields */

static enum message_fault request_head_note_host(struct request_head *h,
						 struct field_part value)
{
	struct authority unused;

	if (h->host.at)
		return MESSAGE_HOST_REPEATED;
	h->host = (struct request_span){ (uint32_t)(value.at - h->base),
					 (uint32_t)value.len };
	return authority_parse(value, &unused) ? MESSAGE_OK : MESSAGE_HOST;
}

/* An option of Connection. What frames or routes must not be named there:
 * whoever removes it, reads another message (RFC 9110, 7.6.1). */
static enum message_fault request_head_note_option(struct request_head *h,
						   struct field_part option)
{
	if (field_part_is(option, "close"))
		h->seen |= SEEN_CLOSE;
	else if (field_part_is(option, "keep-alive"))
		h->seen |= SEEN_KEEP_ALIVE;
	else if (field_part_is(option, "upgrade"))
		h->seen |= SEEN_UPGRADE_OPTION;
	else if (field_part_is(option, "host") ||
		 field_part_is(option, "content-length") ||
		 field_part_is(option, "transfer-encoding"))
		return MESSAGE_CONNECTION;
	return MESSAGE_OK;
}

/* Options are tokens, not quoted strings: each comma separates. */
static enum message_fault request_head_note_options(struct request_head *h,
						    struct field_part value)
{
	enum message_fault fault = MESSAGE_OK;

	while (value.len && !fault) {
		const char *comma = memchr(value.at, ',', value.len);
		size_t len = comma ? (size_t)(comma - value.at) : value.len;
		struct field_part rest = { value.at, len };

		value.at += len + (comma != NULL);
		value.len -= len + (comma != NULL);
		fault = request_head_note_option(h,
						 field_part_take(&rest, ','));
	}
	return fault;
}

static enum message_fault request_head_note_expect(struct request_head *h,
						   struct field_part value)
{
	/* to HTTP/1.0 it means nothing (RFC 9110, 10.1.1) */
	h->expects_continue = h->minor;
	return field_part_is(value, "100-continue") ? MESSAGE_OK :
						      MESSAGE_EXPECTATION;
}

static enum message_fault request_head_note_upgrade(struct request_head *h,
						    struct field_part value)
{
	h->seen |= h->seen & SEEN_UPGRADE ? SEEN_UPGRADE_TWICE : SEEN_UPGRADE;
	h->upgrade = (struct request_span){ (uint32_t)(value.at - h->base),
					    (uint32_t)value.len };
	return MESSAGE_OK;
}

/* Looks at a field that framing, routing or the connection depend on. Names
 * are told apart by their length, because nearly all are none of these. */
static enum message_fault request_head_note(struct request_head *h,
					    struct field_part name,
					    struct field_part value)
{
	switch (name.len) {
	case 4:
		if (field_part_is(name, "host"))
			return request_head_note_host(h, value);
		break;
	case 6:
		if (field_part_is(name, "expect"))
			return request_head_note_expect(h, value);
		break;
	case 7:
		if (field_part_is(name, "upgrade"))
			return request_head_note_upgrade(h, value);
		break;
	case 10:
		if (field_part_is(name, "connection"))
			return request_head_note_options(h, value);
		break;
	case 14:
		if (field_part_is(name, "content-length"))
			return framing_add_length(&h->framing, value, true);
		break;
	case 17:
		if (field_part_is(name, "transfer-encoding"))
			return framing_add_coding(&h->framing, value);
		break;
	}
	return MESSAGE_OK;
}

/* The header is whole */

static enum message_fault request_head_check_host(struct request_head *h)
{
	struct authority ours, theirs;

	if (!h->host.at)
		return h->minor ? MESSAGE_HOST_MISSING : MESSAGE_OK;
	if (h->form == REQUEST_ORIGIN_FORM || h->form == REQUEST_ASTERISK_FORM)
		h->authority = h->host;
	if (h->form != REQUEST_ABSOLUTE_FORM)
		return MESSAGE_OK;
	authority_parse(request_head_part(h, h->authority), &ours);
	authority_parse(request_head_part(h, h->host), &theirs);
	return authority_same(&ours, &theirs, h->https) ? MESSAGE_OK :
							  MESSAGE_HOST_DIFFERS;
}

/* A field that is alone, with its option, in a message that can be upgraded. */
static bool request_head_may_upgrade(const struct request_head *h)
{
	return (h->seen & SEEN_UPGRADE_OPTION) &&
	       !(h->seen & SEEN_UPGRADE_TWICE) && h->minor &&
	       !h->framing.chunked && h->framing.length <= 0 &&
	       request_head_part_is(h, h->method, "GET");
}

static bool request_head_end(struct request_head *h)
{
	enum message_fault fault = framing_check(&h->framing, h->minor);

	if (!fault)
		fault = request_head_check_host(h);
	if (fault)
		return request_head_refuse(h, fault);
	h->keep = !(h->seen & SEEN_CLOSE) &&
		  (h->minor || h->seen & SEEN_KEEP_ALIVE);
	if (!request_head_may_upgrade(h))
		h->upgrade = (struct request_span){ 0 };
	h->len = h->scan.at;
	h->header_len = (uint32_t)h->limits.max_header_bytes -
			(h->scan.limit - h->len);
	h->scan.state = REQUEST_HEAD_AT_END;
	return false;
}

/* A line of the header is whole. */
static enum message_fault request_head_end_field(struct request_head *h)
{
	const struct field_line *l = &h->line;
	struct request_field *f;

	if (h->nfields == REQUEST_HEAD_FIELDS)
		return MESSAGE_FIELD_COUNT;
	f = &h->fields[h->nfields++];
	f->name = (struct request_span){ h->scan.begun, l->name_len };
	f->value = (struct request_span){ h->scan.begun + l->value_at,
					  l->value_len };
	h->scan.at = h->scan.begun += l->at;
	h->line = (struct field_line){ 0 };
	return request_head_note(h, request_head_part(h, f->name),
				 request_head_part(h, f->value));
}

static bool request_head_fields(struct request_head *h, const char *at,
				size_t len)
{
	size_t end = len < h->scan.limit ? len : h->scan.limit;
	enum message_fault fault = MESSAGE_OK;

	while (!fault) {
		switch (field_line_read(&h->line, at + h->scan.begun,
					end - h->scan.begun, true)) {
		case FIELD_LINE_MORE:
			return end == h->scan.limit ?
				       request_head_refuse(
					       h, MESSAGE_HEADER_LENGTH) :
				       false;
		case FIELD_LINE_EMPTY:
			h->scan.at = h->scan.begun + h->line.at;
			return request_head_end(h);
		case FIELD_LINE_BAD:
			fault = h->line.fault;
			break;
		case FIELD_LINE_DONE:
			fault = request_head_end_field(h);
			break;
		}
	}
	return request_head_refuse(h, fault);
}

/* From the stage that it is in to the first that does not end here. */
static void request_head_run(struct request_head *h, const char *at, size_t len)
{
	switch ((enum request_head_state)h->scan.state) {
	case REQUEST_HEAD_AT_START:
		if (!len || !request_head_start(h, at, len))
			return;
		/* fall through */
	case REQUEST_HEAD_IN_METHOD:
		if (!request_head_method(h, at, len))
			return;
		/* fall through */
	case REQUEST_HEAD_IN_TARGET:
		if (!request_head_target(h, at, len))
			return;
		/* fall through */
	case REQUEST_HEAD_IN_VERSION:
		if (!request_head_version(h, at, len))
			return;
		/* fall through */
	case REQUEST_HEAD_IN_FIELDS:
		request_head_fields(h, at, len);
		return;
	case REQUEST_HEAD_AT_END:
	case REQUEST_HEAD_WAS_PREFACE:
	case REQUEST_HEAD_WAS_REFUSED:
		return;
	}
}

enum request_head_event request_head_read(struct request_head *h,
					  const char *at, size_t len)
{
	h->base = at;
	request_head_run(h, at, len);
	switch ((enum request_head_state)h->scan.state) {
	case REQUEST_HEAD_AT_START:
	case REQUEST_HEAD_IN_METHOD:
	case REQUEST_HEAD_IN_TARGET:
	case REQUEST_HEAD_IN_VERSION:
	case REQUEST_HEAD_IN_FIELDS:
		return REQUEST_HEAD_MORE;
	case REQUEST_HEAD_AT_END:
		return REQUEST_HEAD_DONE;
	case REQUEST_HEAD_WAS_PREFACE:
		return REQUEST_HEAD_PREFACE;
	case REQUEST_HEAD_WAS_REFUSED:
		break;
	}
	return REQUEST_HEAD_REFUSED;
}

/* Fields as a list */

/* Whether a server has no use for it. */
static bool request_head_is_undone(const struct request_head *h)
{
	static const char trace[] = "TRACE";
	struct field_part method = request_head_part(h, h->method);

	return h->form == REQUEST_AUTHORITY_FORM ||
	       (method.len == sizeof(trace) - 1 &&
		!memcmp(method.at, trace, sizeof(trace) - 1));
}

unsigned request_head_refusal(const struct request_head *h,
			      enum request_head_event event)
{
	switch (event) {
	case REQUEST_HEAD_DONE:
		return request_head_is_undone(h) ? 501 : 0;
	case REQUEST_HEAD_PREFACE:
		return 505;
	case REQUEST_HEAD_REFUSED:
		return message_fault_status(h->fault);
	case REQUEST_HEAD_MORE:
		assert(event != REQUEST_HEAD_MORE);
	}
	return 400;
}

const char *request_head_reason(const struct request_head *h,
				enum request_head_event event)
{
	switch (event) {
	case REQUEST_HEAD_DONE:
		return "a method that is not served";
	case REQUEST_HEAD_PREFACE:
		return "HTTP/2, which is not spoken there";
	case REQUEST_HEAD_REFUSED:
		return message_fault_reason(h->fault);
	case REQUEST_HEAD_MORE:
		break;
	}
	return "";
}

/* The part as a string. */
static char *request_head_terminate(char *at, struct request_span span)
{
	at[span.at + span.len] = '\0';
	return at + span.at;
}

int request_head_borrow_fields(const struct request_head *h, char *at,
			       struct fields *to)
{
	assert(at == h->base);
	request_head_terminate(at, h->method);
	request_head_terminate(at, h->target);
	for (unsigned i = 0; i < h->nfields; i++) {
		const struct request_field *f = &h->fields[i];

		if (fields_borrow_n(to, request_head_terminate(at, f->name),
				    f->name.len,
				    request_head_terminate(at, f->value),
				    f->value.len))
			return -ENOMEM;
	}
	return 0;
}
