/*
 * Age and freshness (RFC 9111, 4.2).
 */
#include "digestd/core/freshness.h"

#include <stddef.h>
#include <string.h>

#include "digestd/core/answer.h"
#include "digestd/core/fields.h"
#include "digestd/core/httpdate.h"
#include "digestd/core/storable.h"

/* A date field that is there once and valid. */
static bool date_field(const struct fields *fields, const char *name,
		       int64_t now_s, int64_t *out_s)
{
	const char *value = fields_get(fields, name);

	return value && httpdate_parse(value, now_s, out_s);
}

/* The Age field; 0 without one, -1 when it is not one whole number. */
static int64_t age_field(const struct fields *fields)
{
	const char *value = fields_get(fields, "Age");

	if (!value)
		return 0;
	if (fields_lines(fields, "Age") > 1)
		return -1;
	return field_seconds((struct field_part){ value, strlen(value) });
}

/* When a response says that it was made, and when it came. */
struct dates {
	int64_t date_s;
	int64_t response_s;
};

static int64_t heuristic_lifetime(const struct fields *fields,
				  const struct dates *d)
{
	int64_t modified_s, lifetime_s;

	if (!date_field(fields, "Last-Modified", d->response_s, &modified_s))
		return 0;
	lifetime_s = (d->date_s - modified_s) / 10;
	if (lifetime_s < 0)
		return 0;
	return lifetime_s < FRESHNESS_HEURISTIC_MAX_S ?
		       lifetime_s :
		       FRESHNESS_HEURISTIC_MAX_S;
}

/* What Expires says; 0 when it is there and says nothing. */
static int64_t expires_lifetime(const struct answer *a, const struct dates *d)
{
	int64_t expires_s;

	if (fields_lines(a->fields, "Expires") != 1 ||
	    !date_field(a->fields, "Expires", d->response_s, &expires_s))
		return 0;
	return expires_s - d->date_s;
}

static int32_t span(int64_t s)
{
	if (s > INT32_MAX)
		return INT32_MAX;
	return s < INT32_MIN ? INT32_MIN : (int32_t)s;
}

/* RFC 9111, 4.2.1: the first that is there wins. */
static void set_lifetime(struct freshness *f, const struct answer *a,
			 const struct dates *d)
{
	f->explicit = true;
	if (a->cc.s_maxage != CACHECONTROL_NONE) {
		f->lifetime_s = span(a->cc.s_maxage);
	} else if (a->cc.max_age != CACHECONTROL_NONE) {
		f->lifetime_s = span(a->cc.max_age);
	} else if (answer_expires(a)) {
		f->lifetime_s = span(expires_lifetime(a, d));
	} else {
		f->explicit = false;
		f->lifetime_s = 0;
		if (storable_heuristic_status(a->status) || a->cc.public)
			f->lifetime_s = span(heuristic_lifetime(a->fields, d));
	}
}

void freshness_init(struct freshness *f, const struct answer *answer,
		    const struct exchange_times *times)
{
	const struct cachecontrol *cc = &answer->cc;
	struct dates d = { times->response_s, times->response_s };
	int64_t delay_s = times->response_s - times->request_s;
	int64_t apparent_s, corrected_s, sent_s = age_field(answer->fields);

	*f = (struct freshness){ 0 };
	if (!date_field(answer->fields, "Date", times->response_s, &d.date_s))
		d.date_s = times->response_s;
	apparent_s = times->response_s - d.date_s;
	corrected_s = (sent_s > 0 ? sent_s : 0) + (delay_s > 0 ? delay_s : 0);
	if (apparent_s > corrected_s)
		corrected_s = apparent_s;
	f->born_s = times->response_s - corrected_s;
	set_lifetime(f, answer, &d);
	if (sent_s < 0 && f->lifetime_s > 0)
		f->lifetime_s = 0; /* of unknown age: stale is the safe side */
	f->always_validate = cc->no_cache || cc->no_cache_fields;
	f->never_stale = cc->must_revalidate || cc->proxy_revalidate ||
			 cc->s_maxage != CACHECONTROL_NONE ||
			 f->always_validate;
	f->stale_if_error_s = span(cc->stale_if_error);
	f->stale_while_revalidate_s = span(cc->stale_while_revalidate);
}

int64_t freshness_age(const struct freshness *f, int64_t now_s)
{
	int64_t age_s = now_s - f->born_s;

	return age_s > 0 ? age_s : 0;
}

int64_t freshness_left(const struct freshness *f, int64_t now_s)
{
	return f->lifetime_s - freshness_age(f, now_s);
}

enum reuse freshness_reuse(const struct freshness *f,
			   const struct cachecontrol *request, int64_t now_s)
{
	int64_t age_s = freshness_age(f, now_s);
	int64_t left_s = freshness_left(f, now_s);

	/* an age below one second is 0, so max-age=0 needs a word of its own */
	if (f->always_validate || request->no_cache || request->max_age == 0)
		return REUSE_VALIDATE;
	if (request->max_age != CACHECONTROL_NONE && age_s > request->max_age)
		return REUSE_VALIDATE;
	if (request->min_fresh != CACHECONTROL_NONE &&
	    left_s < request->min_fresh)
		return REUSE_VALIDATE;
	if (left_s > 0)
		return REUSE_FRESH;
	if (f->never_stale)
		return REUSE_VALIDATE;
	if (request->max_stale != CACHECONTROL_NONE &&
	    -left_s <= request->max_stale)
		return REUSE_STALE;
	/* CACHECONTROL_NONE is less than any */
	return -left_s < f->stale_while_revalidate_s ? REUSE_RENEW :
						       REUSE_VALIDATE;
}

bool freshness_on_error(const struct freshness *f, int64_t default_s,
			int64_t now_s)
{
	int64_t left_s = freshness_left(f, now_s);
	int64_t allowed_s = f->stale_if_error_s == CACHECONTROL_NONE ?
				    default_s :
				    f->stale_if_error_s;

	if (f->always_validate)
		return false;
	if (left_s > 0)
		return true;
	return !f->never_stale && -left_s <= allowed_s;
}
