/*
 * Plain hits: all of a stored response for one client alone. Their header goes
 * from packed fields to the bytes that are sent, without a list of fields, as
 * what they have of this node is the same lines each time, but for numbers.
 */
#include "digestd/http/decimal.h"
#include "digestd/http/packed.h"
#include "digestd/proxy/request.h"
#include "digestd/server/reply_head.h"

enum { REPLY_PLAIN_BEFORE = 8 };

/* Names of stored lines that are not sent, or are looked at first. */
#define REPLY_PLAIN_JUDGED(X) \
	SERVER_FIELDS(X) X("Age") X("Date") X("Set-Cookie")

struct reply_plain {
	const struct request *r;
	const struct cached *c;
};

/* What has been found out about its lines. */
struct reply_plain_found {
	bool dated; /* Date is among them */
	enum { COOKIES_UNKNOWN, COOKIES_SENT, COOKIES_KEPT } cookies;
};

/* Whether clients may have what is stored of Set-Cookie. */
static bool reply_plain_allows_cookies(const struct reply_plain *of)
{
	struct fields f;
	bool allows;

	if (cached_fields(of->c, &f))
		return false;
	allows = question_set_cookie(of->r->q, of->c->status, &f) ==
		 SET_COOKIE_ALLOW;
	fields_free(&f);
	return allows;
}

/* The same for a line: it takes a list of all, which is made once. */
static bool reply_plain_sends_cookie(const struct reply_plain *of,
				     struct reply_plain_found *found)
{
	if (found->cookies == COOKIES_UNKNOWN)
		found->cookies = reply_plain_allows_cookies(of) ?
					 COOKIES_SENT : COOKIES_KEPT;
	return found->cookies == COOKIES_SENT;
}

/* Whether a line is sent whose name may be one of those above. */
static bool reply_plain_judge(const struct reply_plain *of,
			      const struct packed_line *line,
			      struct reply_plain_found *found)
{
	if (field_part_is(line->name, "Date")) {
		found->dated = true;
		return true;
	}
	if (field_part_is(line->name, "Set-Cookie"))
		return reply_plain_sends_cookie(of, found);
	return !field_part_is(line->name, "Age") &&
	       !server_writes_field(line->name.at, line->name.len);
}

/* Whether a stored line is sent. Nearly all are, as a bit of their names says,
 * see fields.h. */
static bool reply_plain_sends(const struct reply_plain *of,
			      const struct packed_line *line,
			      struct reply_plain_found *found)
{
	const struct field_part *name = &line->name;

	if (*name->at == ':') /* tags_source_field, say */
		return false;
	return !(field_name_bit(name->at, name->len) &
		 FIELD_NAMES_BITS(REPLY_PLAIN_JUDGED)) ||
	       reply_plain_judge(of, line, found);
}

/* Up to REPLY_PLAIN_BEFORE bytes, a number, and the end of the line. */
static void reply_plain_add_number(struct reply_head *head,
				   struct field_part before, int64_t number)
{
	char text[REPLY_PLAIN_BEFORE + DECIMAL_BYTES + 2];
	size_t len = before.len;

	memcpy(text, before.at, len);
	len += decimal_write(number, text + len);
	memcpy(text + len, "\r\n", 2);
	reply_head_add_bytes(head, text, len + 2);
}

static bool reply_plain_write(struct reply_head *head, const void *arg)
{
	static const struct field_part age = { "Age: ", 5 };
	const struct reply_plain *of = arg;
	const struct worker_settings *set = of->r->q->settings;
	const struct freshness *freshness = &of->c->freshness;
	const int64_t now_s = worker_now_s(of->r->worker);
	size_t len;
	const char *at = cached_packed(of->c, &len), *end = at + len;
	struct packed_line line;
	struct reply_plain_found found = { .dated = false };

	while (at < end) {
		packed_next(&at, &line);
		if (reply_plain_sends(of, &line, &found))
			reply_head_add_line(head, line.name, line.value);
	}
	reply_plain_add_number(head, age, freshness_age(freshness, now_s));
	reply_head_add_bytes(head, set->hit_lines, set->hit_lines_len);
	reply_plain_add_number(head, (struct field_part){ "", 0 },
			       freshness_left(freshness, now_s));
	return found.dated;
}

static void reply_plain_release(void *arg)
{
	struct cached *c = arg;

	cached_unref(&c);
}

bool reply_plain(struct request *r, struct cached *c)
{
	const struct reply_plain of = { r, c };
	const struct reply_written reply = {
		.status = c->status,
		.write = reply_plain_write,
		.arg = &of,
		.body = { cached_body(c), c->body_len, reply_plain_release,
			  c },
	};

	cached_ref(c);
	if (exchange_reply_written(r->x, &reply))
		return true;
	cached_unref(&c);
	return false;
}
