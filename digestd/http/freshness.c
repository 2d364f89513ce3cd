/*
 * Age and freshness (RFC 9111, 4.2).
 */
#include "digestd/http/freshness.h"

#include "digestd/http/fields.h"
#include "digestd/http/httpdate.h"
#include "digestd/http/response_facts.h"
#include "digestd/http/storable.h"

_Static_assert(sizeof(struct freshness) <= 16, "each object has one");

/* What fits into it. */
enum { SPAN_MAX_S = (1 << 28) - 1 };
static const int64_t BORN_MIN_S = INT32_MIN;
static const uint64_t BIRTH_MAX_S = ((uint64_t)1 << 35) - 1;

/* A date field that is there once and valid. */
static bool freshness_date_field(const struct fields *fields, const char *name,
				 int64_t now_s, int64_t *out_s)
{
	const char *value = fields_get(fields, name);

	return value && httpdate_parse(value, now_s, out_s);
}

/* The Age field (RFC 9111, 5.1): of several the first, and 0 when that is no
 * whole number. */
static int64_t freshness_age_field(const struct fields *fields)
{
	struct field_cursor cursor = { 0 };
	struct field_part first;
	int64_t age_s = 0;

	if (fields_next(fields, "Age", &cursor, &first))
		age_s = field_seconds(first);
	return age_s > 0 ? age_s : 0;
}

/* When a response says that it was made, and when it came, by wall clocks. */
struct dates {
	int64_t date_s;
	int64_t response_s;
};

static int64_t freshness_heuristic_lifetime(const struct fields *fields,
					    const struct dates *d)
{
	int64_t modified_s, lifetime_s;

	if (!freshness_date_field(fields, "Last-Modified", d->response_s,
				  &modified_s))
		return 0;
	lifetime_s = (d->date_s - modified_s) / 10;
	if (lifetime_s < 0)
		return 0;
	return lifetime_s < FRESHNESS_HEURISTIC_MAX_S ?
		       lifetime_s :
		       FRESHNESS_HEURISTIC_MAX_S;
}

/* What Expires says; 0 when it is there and says nothing. */
static int64_t freshness_expires_lifetime(const struct response_facts *a,
					  const struct dates *d)
{
	int64_t expires_s;

	if (fields_lines(a->fields, "Expires") != 1 ||
	    !freshness_date_field(a->fields, "Expires", d->response_s,
				  &expires_s))
		return 0;
	return expires_s - d->date_s;
}

/* The first that is there wins. */
enum freshness_rule freshness_rule_of(const struct response_facts *a)
{
	if (a->cc.s_maxage != CACHECONTROL_NONE)
		return FRESHNESS_S_MAXAGE;
	if (a->cc.max_age != CACHECONTROL_NONE)
		return FRESHNESS_MAX_AGE;
	if (response_facts_expires(a))
		return FRESHNESS_EXPIRES;
	if (a->rules.default_s >= 0)
		return FRESHNESS_CONFIGURED;
	if (storable_heuristic_status(a->status) || a->cc.public)
		return FRESHNESS_HEURISTIC;
	return FRESHNESS_NONE;
}

const char *freshness_rule_text(enum freshness_rule rule)
{
	static const char *const texts[] = {
#define X(name, text) [FRESHNESS_##name] = (text),
		FRESHNESS_RULES(X)
#undef X
	};

	return texts[rule];
}

static int64_t freshness_lifetime(const struct response_facts *a,
				  const struct dates *d, bool *explicit)
{
	enum freshness_rule rule = freshness_rule_of(a);

	*explicit = rule < FRESHNESS_CONFIGURED;
	switch (rule) {
	case FRESHNESS_S_MAXAGE:
		return a->cc.s_maxage;
	case FRESHNESS_MAX_AGE:
		return a->cc.max_age;
	case FRESHNESS_EXPIRES:
		return freshness_expires_lifetime(a, d);
	case FRESHNESS_CONFIGURED:
		return a->rules.default_s;
	case FRESHNESS_HEURISTIC:
		return freshness_heuristic_lifetime(a->fields, d);
	case FRESHNESS_NONE:
		break;
	}
	return 0;
}

static int64_t freshness_within(int64_t s, int64_t min, int64_t max)
{
	if (s > max)
		return max;
	return s < min ? min : s;
}

/* The masks only say that it fits. */
void freshness_set(struct freshness *f, const struct freshness_spans *spans)
{
	const int64_t born_s = freshness_within(
		spans->born_s, BORN_MIN_S, BORN_MIN_S + (int64_t)BIRTH_MAX_S);
	const int64_t error_s = freshness_within(spans->stale_if_error_s,
						 CACHECONTROL_NONE, SPAN_MAX_S);
	const int64_t renew_s = freshness_within(
		spans->stale_while_revalidate_s, CACHECONTROL_NONE, SPAN_MAX_S);

	f->birth_s = (uint64_t)(born_s - BORN_MIN_S) & BIRTH_MAX_S;
	f->lifetime_s = (int32_t)freshness_within(spans->lifetime_s, INT32_MIN,
						  INT32_MAX);
	f->stale_if_error_s = error_s < 0 ? CACHECONTROL_NONE :
					    (int32_t)error_s & SPAN_MAX_S;
	f->stale_while_revalidate_s = renew_s < 0 ? CACHECONTROL_NONE :
						    renew_s & SPAN_MAX_S;
}

static int64_t freshness_born_s(const struct freshness *f)
{
	return (int64_t)f->birth_s + BORN_MIN_S;
}

struct freshness_spans freshness_spans(const struct freshness *f)
{
	return (struct freshness_spans){
		.born_s = freshness_born_s(f),
		.lifetime_s = f->lifetime_s,
		.stale_if_error_s = f->stale_if_error_s,
		.stale_while_revalidate_s = f->stale_while_revalidate_s,
	};
}

static void freshness_apply_rules(const struct freshness_rules *rules,
				  struct freshness_spans *spans)
{
	if (rules->least_s >= 0 && spans->lifetime_s < rules->least_s)
		spans->lifetime_s = rules->least_s;
	if (rules->most_s >= 0 && spans->lifetime_s > rules->most_s)
		spans->lifetime_s = rules->most_s;
	if (rules->on_error_s >= 0)
		spans->stale_if_error_s = rules->on_error_s;
	if (rules->renew_s >= 0)
		spans->stale_while_revalidate_s = rules->renew_s;
}

/* What Date says; false: nothing. */
static bool freshness_read_date(const struct fields *fields,
				const struct exchange_times *times,
				int64_t *out_s)
{
	const int64_t wall_s = times->response_s + times->ahead_s;
	const char *value = fields_get(fields, "Date");

	if (!value || !times->dates)
		return value && httpdate_parse(value, wall_s, out_s);
	return httpdate_parse_next(times->dates, value, wall_s, out_s);
}

void freshness_init(struct freshness *f, const struct response_facts *facts,
		    const struct exchange_times *times)
{
	const struct cachecontrol *cc = &facts->cc;
	const int64_t wall_s = times->response_s + times->ahead_s;
	struct dates d = { wall_s, wall_s };
	int64_t delay_s = times->response_s - times->request_s;
	int64_t apparent_s, corrected_s,
		sent_s = freshness_age_field(facts->fields);
	struct freshness_spans spans;
	bool explicit;

	if (!freshness_read_date(facts->fields, times, &d.date_s))
		d.date_s = wall_s;
	apparent_s = wall_s - d.date_s;
	corrected_s = sent_s + (delay_s > 0 ? delay_s : 0);
	if (apparent_s > corrected_s)
		corrected_s = apparent_s;
	spans.born_s = times->response_s - corrected_s;
	spans.lifetime_s = freshness_lifetime(facts, &d, &explicit);
	spans.stale_if_error_s = cc->stale_if_error;
	spans.stale_while_revalidate_s = cc->stale_while_revalidate;
	freshness_apply_rules(&facts->rules, &spans);
	*f = (struct freshness){ 0 };
	freshness_set(f, &spans);
	f->explicit = explicit;
	f->always_validate = cc->no_cache;
	f->never_stale = cc->must_revalidate || cc->proxy_revalidate ||
			 (cc->s_maxage != CACHECONTROL_NONE &&
			  facts->rules.on_error_s < 0) ||
			 f->always_validate;
}

int64_t freshness_age(const struct freshness *f, int64_t now_s)
{
	int64_t age_s = now_s - freshness_born_s(f);

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
	return !f->never_stale && -left_s < allowed_s;
}
