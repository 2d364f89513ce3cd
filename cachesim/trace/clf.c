/*
 * Common Log Format, and Combined, which has two more fields at its end:
 *
 *   host ident user [09/Jul/1995:00:00:01 -0400] "GET /x HTTP/1.0" 200 6245
 *
 * Old servers wrote the request as it came, with blanks and quotes in it: the
 * request ends at the first quote that a status follows, its URL at a blank.
 * A backslash escapes the next character (Apache); the escape is kept.
 */
#include "cachesim/trace/format.h"

#include <string.h>

#include "cachesim/trace/scan.h"

/* Days from 1970-01-01 to a date of the Gregorian calendar, month 1..12. */
static int64_t clf_days_from_date(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = y / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year =
		(153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 -
			     year_of_era / 100 + day_of_year;

	return era * 146097 + day_of_era - 719468;
}

/* Two to four digits at t[at..at+len). False unless all are digits. */
static bool clf_digits(struct trace_text t, size_t at, size_t len, int64_t *out)
{
	uint64_t v;

	if (!scan_u64((struct trace_text){ t.at + at, len }, &v))
		return false;
	*out = (int64_t)v;
	return true;
}

static bool clf_month_of(struct trace_text t, size_t at, int64_t *out)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int64_t m = 0; m < 12; m++)
		if (!memcmp(names + 3 * m, t.at + at, 3)) {
			*out = m + 1;
			return true;
		}
	return false;
}

/* "+0200" in seconds. */
static bool clf_zone_of(struct trace_text t, size_t at, int64_t *out)
{
	int64_t h, m;

	if ((t.at[at] != '+' && t.at[at] != '-') ||
	    !clf_digits(t, at + 1, 2, &h) || !clf_digits(t, at + 3, 2, &m) ||
	    m > 59)
		return false;
	*out = (h * 60 + m) * 60 * (t.at[at] == '-' ? -1 : 1);
	return true;
}

/* "09/Jul/1995:00:00:01 -0400", whose every position is fixed. */
static bool clf_time(struct trace_text t, int64_t *out_ms)
{
	int64_t day, month, year, h, m, s, zone;

	if (t.len != TRACE_TIME_TEXT || t.at[2] != '/' || t.at[6] != '/' ||
	    t.at[11] != ':' || t.at[14] != ':' || t.at[17] != ':' ||
	    t.at[20] != ' ')
		return false;
	if (!clf_digits(t, 0, 2, &day) || !clf_month_of(t, 3, &month) ||
	    !clf_digits(t, 7, 4, &year) || !clf_digits(t, 12, 2, &h) ||
	    !clf_digits(t, 15, 2, &m) || !clf_digits(t, 18, 2, &s) ||
	    !clf_zone_of(t, 21, &zone))
		return false;
	if (day < 1 || day > 31 || h > 23 || m > 59 || s > 60)
		return false;
	*out_ms = (clf_days_from_date(year, month, day) * 86400 + h * 3600 +
		   m * 60 + s - zone) *
		  1000;
	return true;
}

/* The same, if it is not that of the record before. */
static bool clf_next_time(struct trace_parser *p, struct trace_text t,
			  int64_t *out_ms)
{
	if (t.len != sizeof(p->last_time.text))
		return false;
	if (!*p->last_time.text || memcmp(p->last_time.text, t.at, t.len)) {
		if (!clf_time(t, &p->last_time.ms))
			return false;
		memcpy(p->last_time.text, t.at, t.len);
	}
	*out_ms = p->last_time.ms;
	return true;
}

/* Whether a status, or the end, comes next: so the request ended before. */
static bool clf_status_follows(struct trace_text rest)
{
	unsigned status;

	return scan_status(scan_word(&rest), &status);
}

/* Takes the quoted request off the line. False: no quotes around one. */
static bool clf_quoted_request(struct trace_text *rest, struct trace_text *out)
{
	struct trace_text skipped, tail;

	if (!scan_until(rest, '"', &skipped))
		return false;
	for (size_t i = 0; i < rest->len; i++) {
		if (rest->at[i] == '\\') {
			i++;
			continue;
		}
		if (rest->at[i] != '"')
			continue;
		tail = (struct trace_text){ rest->at + i + 1,
					    rest->len - i - 1 };
		if (!clf_status_follows(tail) && memchr(tail.at, '"', tail.len))
			continue;
		*out = (struct trace_text){ rest->at, i };
		*rest = tail;
		return true;
	}
	return false;
}

static int clf_request(struct trace_parser *p, struct trace_text line,
		       struct trace_request *req)
{
	req->method = scan_word(&line);
	if (!scan_is_token(req->method))
		return req->method.len ? TRACE_EMETHOD : TRACE_EREQUEST;
	/* servers took the target to end at a blank, whatever came behind */
	return scan_url(p, scan_word(&line), req);
}

static int clf_parse(struct trace_parser *p, struct trace_text record,
		     struct trace_request *req)
{
	struct trace_text rest = record, skipped, field;
	int err;

	if (rest.len == 0)
		return TRACE_SKIP;
	trace_request_client(req, scan_word(&rest));
	if (!scan_until(&rest, '[', &skipped) ||
	    !scan_until(&rest, ']', &field) ||
	    !clf_next_time(p, field, &req->time_ms))
		return TRACE_ETIME;
	if (!clf_quoted_request(&rest, &field))
		return TRACE_EREQUEST;
	err = clf_request(p, field, req);
	if (err)
		return err;
	if (!scan_status(scan_word(&rest), &req->status))
		return TRACE_ESTATUS;
	field = scan_word(&rest);
	if (field.len == 0)
		return TRACE_EFIELDS;
	return scan_size(field, req) ? 0 : TRACE_ESIZE;
}

static unsigned clf_score(struct trace_text sample)
{
	struct trace_text skipped, field, rest = scan_first_line(sample);
	int64_t ms;

	return scan_until(&rest, '[', &skipped) &&
			       scan_until(&rest, ']', &field) &&
			       clf_time(field, &ms)
		       ? 100
		       : 0;
}

const struct trace_format trace_clf = {
	.name = "clf",
	.about = "Common and Combined Log Format of web servers",
	.score = clf_score,
	.parse = clf_parse,
};
