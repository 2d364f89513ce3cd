/*
 * Plain hits: all of a stored response for one client alone. Their header goes
 * from packed fields to the bytes that are sent, without a list of fields, as
 * what they have of this node is the same lines each time, but for numbers.
 */
#include "digestd/http/decimal.h"
#include "digestd/http/packed.h"
#include "digestd/proxy/request.h"
#include "digestd/server/reply_head.h"

#define REPLY_PLAIN_JUDGED(X) \
	X("Age")              \
	X("Date")             \
	X("Set-Cookie")

/* Whether a name has to be looked at, perhaps: a bit, see fields.h. */
static FIELD_NAMES_HAVE(reply_plain_judges, REPLY_PLAIN_JUDGED)

struct reply_plain {
	const struct request *r;
	const struct cached *c;
};

/* Whether clients may have a stored Set-Cookie. */
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

/* Whether a stored line is sent. *dated: it is Date. */
static bool reply_plain_sends(const struct reply_plain *of,
			      const struct packed_line *line, bool *dated)
{
	const char *name = line->name.at;
	const size_t len = line->name.len;

	if (!line->value.len || server_writes_field(name, len))
		return false;
	if (*name == ':') /* tags_source_field and the like */
		return false;
	if (!reply_plain_judges(name, len))
		return true;
	if (field_part_is(line->name, "Date")) {
		*dated = true;
		return true;
	}
	return field_part_is(line->name, "Set-Cookie") &&
	       reply_plain_allows_cookies(of);
}

static void reply_plain_add_number(struct reply_head *head, const char *before,
				   size_t len, int64_t number)
{
	char text[DECIMAL_BYTES + 2];
	size_t digits = decimal_write(number, text);

	memcpy(text + digits, "\r\n", 2);
	reply_head_add_bytes(head, before, len);
	reply_head_add_bytes(head, text, digits + 2);
}

static bool reply_plain_write(struct reply_head *head, const void *arg)
{
	const struct reply_plain *of = arg;
	const struct worker_settings *set = of->r->q->settings;
	const struct freshness *freshness = &of->c->freshness;
	const int64_t now_s = worker_now_s(of->r->worker);
	size_t len;
	const char *at = cached_packed(of->c, &len), *end = at + len;
	struct packed_line line;
	bool dated = false;

	while (at < end) {
		packed_next(&at, &line);
		if (reply_plain_sends(of, &line, &dated))
			reply_head_add_line(head, line.name, line.value);
	}
	reply_plain_add_number(head, "Age: ", 5,
			       freshness_age(freshness, now_s));
	reply_plain_add_number(head, set->hit_lines, set->hit_lines_len,
			       freshness_left(freshness, now_s));
	return dated;
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
