/*
 * See origin_answer.h.
 */
#include "config.h"

#include "cachesim/live/origin_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cachesim/trace/scan.h"
#include "cachesim/trace/sizes.h"
#include "codec/mix.h"

static const double median_bytes = 3000;
static const int64_t modified_from = 784111777; /* 1994-11-06, as in RFC 9110 */
static const uint64_t modified_span = 900000000; /* 28 years */

/* The number after "size=" at the beginning of the query or behind an &. */
static bool origin_answer_size_in_query(const char *path, uint64_t *out)
{
	const char *at = strchr(path, '?');

	while (at) {
		at++;
		if (!strncmp(at, "size=", 5)) {
			at += 5;
			return scan_u64((struct trace_text){
						at, strcspn(at, "&") },
					out) &&
			       *out <= INT64_MAX;
		}
		at = strchr(at, '&');
	}
	return false;
}

static uint64_t origin_answer_size_without_trace(const struct object_url *t)
{
	double unit = (double)(scd__mix64(t->hash) >> 11) * 0x1p-53;
	uint64_t size;

	if (origin_answer_size_in_query(object_url_path(t), &size))
		return size;
	return (uint64_t)(median_bytes * sizes_quantile(unit));
}

static void origin_answer_set_dates(struct origin_answer *a)
{
	time_t when = (time_t)(modified_from +
			       (int64_t)(a->hash % modified_span));
	struct tm tm;

	gmtime_r(&when, &tm);
	strftime(a->modified, sizeof(a->modified), "%a, %d %b %Y %H:%M:%S GMT",
		 &tm);
}

/* Errors of the server are not to be cached, everything else is. */
static void origin_answer_set_control(struct origin_answer *a,
				      uint64_t max_age_s)
{
	if (a->status >= 500)
		strcpy(a->control, "no-store");
	else
		snprintf(a->control, sizeof(a->control),
			 "max-age=%" PRIu64, max_age_s);
}

/* RFC 9110, 13.2.2: If-Modified-Since counts only without If-None-Match. */
static bool origin_answer_not_modified(const struct origin_answer *a,
				       const char *if_none_match,
				       const char *if_modified)
{
	if (a->status != 200)
		return false;
	if (if_none_match)
		return strstr(if_none_match, a->etag) ||
		       !strcmp(if_none_match, "*");
	return if_modified && !strcmp(if_modified, a->modified);
}

void origin_answer_make(struct origin_answer *a,
			const struct origin_answer_rules *rules,
			const struct object_url *t, const char *if_none_match,
			const char *if_modified)
{
	const struct object *o =
		rules->objects ? objects_find(rules->objects, t->hash) : NULL;

	a->hash = t->hash;
	a->status = o ? o->status : rules->objects ? 404 : 200;
	if (o && (o->has_size || o->status != 200))
		a->size = o->size;
	else
		a->size = a->status == 200 ? origin_answer_size_without_trace(t)
					   : 0;
	if (a->status == 204)
		a->size = 0;
	body_etag(a->hash, a->size, a->etag);
	origin_answer_set_dates(a);
	origin_answer_set_control(a, rules->max_age_s);
	if (origin_answer_not_modified(a, if_none_match, if_modified))
		a->status = 304;
}
