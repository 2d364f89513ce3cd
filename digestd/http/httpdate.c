/*
 * Dates of HTTP: the three forms as three lists of what stands where.
 */
#include "digestd/http/httpdate.h"

#include <string.h>

enum { DAY_S = 86400 };

static const char months[12][4] = {
	"Jan", "Feb", "Mar", "Apr", "May", "Jun",
	"Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
};

static const char days[7][10] = {
	"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday",
	"Saturday",
};

struct date {
	unsigned year, month, day; /* month and day from 1 */
	unsigned hour, minute, second;
};

/* Days since 1970-01-01 (proleptic Gregorian calendar). */
static int64_t httpdate_days_from_civil(const struct date *d)
{
	int64_t y = (int64_t)d->year - (d->month <= 2);
	int64_t m = (d->month + 9) % 12; /* March is 0 */

	return 365 * y + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 +
	       (int64_t)d->day - 1 - 719468;
}

static unsigned httpdate_days_in_month(unsigned year, unsigned month)
{
	static const unsigned char len[12] = { 31, 28, 31, 30, 31, 30,
					       31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 || year % 400 == 0);

	return len[month - 1] + (month == 2 && leap ? 1u : 0u);
}

static int64_t httpdate_seconds_from_date(const struct date *d)
{
	return httpdate_days_from_civil(d) * DAY_S + d->hour * 3600 +
	       d->minute * 60 + d->second;
}

/* The same for a date that comes from outside and may not exist. */
static bool httpdate_date_to_seconds(const struct date *d, int64_t *out_s)
{
	if (d->day < 1 || d->day > httpdate_days_in_month(d->year, d->month) ||
	    d->hour > 23 || d->minute > 59 || d->second > 60)
		return false;
	*out_s = httpdate_seconds_from_date(d);
	return true;
}

/*
 * Readers of one piece each: they move *p, or return false. Case is that of the
 * grammar, but caches are asked not to insist on it (RFC 9111, 4.2).
 */

/* Whether a byte is c, or, where that is a letter, c in the other case. */
static bool httpdate_is_char(char byte, char c)
{
	return byte == c || ((byte ^ c) == 0x20 && ((c >= 'a' && c <= 'z') ||
						    (c >= 'A' && c <= 'Z')));
}

/* The first `len` bytes of a text. With strncasecmp(), which is a call for each
 * month that it is not, a date takes three times as long. */
static bool httpdate_literal_n(const char **p, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!httpdate_is_char((*p)[i], text[i]))
			return false;
	}
	*p += len;
	return true;
}

static bool httpdate_literal(const char **p, const char *text)
{
	return httpdate_literal_n(p, text, strlen(text));
}

static bool httpdate_number(const char **p, unsigned digits, unsigned *out)
{
	*out = 0;
	for (unsigned i = 0; i < digits; i++, ++*p) {
		if (**p < '0' || **p > '9')
			return false;
		*out = *out * 10 + (unsigned)(**p - '0');
	}
	return true;
}

/* asctime pads the day with a blank. */
static bool httpdate_padded_day(const char **p, unsigned *out)
{
	if (**p != ' ')
		return httpdate_number(p, 2, out);
	++*p;
	return httpdate_number(p, 1, out);
}

static bool httpdate_month_name(const char **p, unsigned *out)
{
	for (unsigned i = 0; i < 12; i++) {
		if (httpdate_literal_n(p, months[i], 3)) {
			*out = i + 1;
			return true;
		}
	}
	return false;
}

static bool httpdate_time_of_day(const char **p, struct date *d)
{
	return httpdate_number(p, 2, &d->hour) && httpdate_literal(p, ":") &&
	       httpdate_number(p, 2, &d->minute) && httpdate_literal(p, ":") &&
	       httpdate_number(p, 2, &d->second);
}

/* A day's name: whole, or its first three letters. */
static bool httpdate_day_name(const char **p, bool whole)
{
	for (unsigned i = 0; i < 7; i++) {
		if (httpdate_literal_n(p, days[i], whole ? strlen(days[i]) : 3))
			return true;
	}
	return false;
}

static bool httpdate_parse_fixdate(const char *p, struct date *d)
{
	return httpdate_day_name(&p, false) && httpdate_literal(&p, ", ") &&
	       httpdate_number(&p, 2, &d->day) && httpdate_literal(&p, " ") &&
	       httpdate_month_name(&p, &d->month) &&
	       httpdate_literal(&p, " ") && httpdate_number(&p, 4, &d->year) &&
	       httpdate_literal(&p, " ") && httpdate_time_of_day(&p, d) &&
	       httpdate_literal(&p, " GMT") && !*p;
}

static bool httpdate_parse_asctime(const char *p, struct date *d)
{
	return httpdate_day_name(&p, false) && httpdate_literal(&p, " ") &&
	       httpdate_month_name(&p, &d->month) &&
	       httpdate_literal(&p, " ") && httpdate_padded_day(&p, &d->day) &&
	       httpdate_literal(&p, " ") && httpdate_time_of_day(&p, d) &&
	       httpdate_literal(&p, " ") && httpdate_number(&p, 4, &d->year) &&
	       !*p;
}

static bool httpdate_parse_rfc850(const char *p, struct date *d)
{
	return httpdate_day_name(&p, true) && httpdate_literal(&p, ", ") &&
	       httpdate_number(&p, 2, &d->day) && httpdate_literal(&p, "-") &&
	       httpdate_month_name(&p, &d->month) &&
	       httpdate_literal(&p, "-") && httpdate_number(&p, 2, &d->year) &&
	       httpdate_literal(&p, " ") && httpdate_time_of_day(&p, d) &&
	       httpdate_literal(&p, " GMT") && !*p;
}

static uint32_t httpdate_three(const char *p)
{
	return (uint32_t)(unsigned char)p[0] << 16 |
	       (uint32_t)(unsigned char)p[1] << 8 | (unsigned char)p[2];
}

/* A month's number, from 1; 0: it is none. */
static unsigned httpdate_month_exact(const char *p)
{
#define THREE(a, b, c) ((a) << 16 | (b) << 8 | (c))
	switch (httpdate_three(p)) {
	case THREE('J', 'a', 'n'): return 1;
	case THREE('F', 'e', 'b'): return 2;
	case THREE('M', 'a', 'r'): return 3;
	case THREE('A', 'p', 'r'): return 4;
	case THREE('M', 'a', 'y'): return 5;
	case THREE('J', 'u', 'n'): return 6;
	case THREE('J', 'u', 'l'): return 7;
	case THREE('A', 'u', 'g'): return 8;
	case THREE('S', 'e', 'p'): return 9;
	case THREE('O', 'c', 't'): return 10;
	case THREE('N', 'o', 'v'): return 11;
	case THREE('D', 'e', 'c'): return 12;
	}
	return 0;
#undef THREE
}

/* A number of two digits; what is none makes it larger than a date has. */
static unsigned httpdate_two_digits(const char *p)
{
	unsigned high = (unsigned)(p[0] - '0'), low = (unsigned)(p[1] - '0');

	return high > 9 || low > 9 ? 10000 : high * 10 + low;
}

/* Whether a text has its length, and what is between the numbers. */
static bool httpdate_is_exact_form(const char *p)
{
	return p[0] && p[1] && p[2] && p[3] == ',' && /* others go here */
	       strnlen(p, HTTPDATE_LEN + 1) == HTTPDATE_LEN && p[4] == ' ' &&
	       p[7] == ' ' && p[11] == ' ' && p[16] == ' ' && p[19] == ':' &&
	       p[22] == ':' && !memcmp(p + 25, " GMT", 4);
}

bool httpdate_parse_exact(const char *text, int64_t *out_s)
{
	struct date d;
	int64_t at_s;

	if (!httpdate_is_exact_form(text))
		return false;
	d.day = httpdate_two_digits(text + 5);
	d.month = httpdate_month_exact(text + 8);
	d.year = httpdate_two_digits(text + 12) * 100 +
		 httpdate_two_digits(text + 14);
	d.hour = httpdate_two_digits(text + 17);
	d.minute = httpdate_two_digits(text + 20);
	d.second = httpdate_two_digits(text + 23);
	if (!d.month || d.year < 1970 || d.year > 9999 || d.second > 59 ||
	    !httpdate_date_to_seconds(&d, &at_s) ||
	    memcmp(text, days[(at_s / DAY_S + 4) % 7], 3)) /* last of all */
		return false;
	*out_s = at_s;
	return true;
}

static void httpdate_civil_from_days(int64_t n, struct date *d)
{
	unsigned doe, yoe, doy, mp; /* 32 bits, which divide faster */
	int64_t era;

	n += 719468;
	era = (n >= 0 ? n : n - 146096) / 146097;
	doe = (unsigned)(n - era * 146097);
	yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	mp = (5 * doy + 2) / 153;
	d->day = doy - (153 * mp + 2) / 5 + 1;
	d->month = mp < 10 ? mp + 3 : mp - 9;
	d->year = (unsigned)(yoe + era * 400 + (d->month <= 2));
}

/* RFC 9110, 5.6.7: more than 50 years ahead means the century before. */
static void httpdate_set_century(struct date *d, int64_t now_s)
{
	struct date limit = { 0 };
	int64_t limit_s;

	httpdate_civil_from_days(now_s / DAY_S, &limit);
	limit.year += 50;
	limit_s = httpdate_days_from_civil(&limit) * DAY_S + now_s % DAY_S;
	d->year += limit.year / 100 * 100;
	if (httpdate_seconds_from_date(d) > limit_s)
		d->year -= 100;
}

bool httpdate_parse(const char *text, int64_t now_s, int64_t *out_s)
{
	struct date d = { 0 };

	if (httpdate_parse_exact(text, out_s)) /* only saves time */
		return true;
	if (httpdate_parse_fixdate(text, &d) ||
	    httpdate_parse_asctime(text, &d))
		return httpdate_date_to_seconds(&d, out_s);
	if (!httpdate_parse_rfc850(text, &d))
		return false;
	httpdate_set_century(&d, now_s);
	return httpdate_date_to_seconds(&d, out_s);
}

/* 0 to 99. */
static const char httpdate_digits[] =
	"00010203040506070809101112131415161718192021222324"
	"25262728293031323334353637383940414243444546474849"
	"50515253545556575859606162636465666768697071727374"
	"75767778798081828384858687888990919293949596979899";

static void httpdate_put_two(char *p, unsigned value)
{
	memcpy(p, httpdate_digits + (size_t)2 * value, 2);
}

/* The nearest that can be written. */
static int64_t httpdate_within(int64_t at_s)
{
	static const int64_t last_s = 253402300799; /* end of the year 9999 */

	return at_s < 0 ? 0 : at_s > last_s ? last_s : at_s;
}

/* All but digits and names is of one form, and is there before them. */
void httpdate_format(int64_t at_s, char out[HTTPDATE_LEN + 1])
{
	unsigned day, clock;
	struct date d;

	at_s = httpdate_within(at_s);
	day = (unsigned)(at_s / DAY_S);
	clock = (unsigned)(at_s - (int64_t)day * DAY_S);
	httpdate_civil_from_days(day, &d);
	memcpy(out, "Thu, 01 Jan 1970 00:00:00 GMT", HTTPDATE_LEN + 1);
	memcpy(out, days[(day + 4) % 7], 3);
	httpdate_put_two(out + 5, d.day);
	memcpy(out + 8, months[d.month - 1], 3);
	httpdate_put_two(out + 12, d.year / 100);
	httpdate_put_two(out + 14, d.year % 100);
	httpdate_put_two(out + 17, clock / 3600);
	httpdate_put_two(out + 20, clock / 60 % 60);
	httpdate_put_two(out + 23, clock % 60);
}

bool httpdate_parse_next(struct httpdate_last *last, const char *text,
			 int64_t now_s, int64_t *out_s)
{
	if (*last->text && !strcmp(text, last->text)) {
		*out_s = last->at_s;
		return true;
	}
	if (!httpdate_parse_exact(text, out_s))
		return httpdate_parse(text, now_s, out_s);
	last->at_s = *out_s;
	memcpy(last->text, text, sizeof(last->text));
	return true;
}

const char *httpdate_format_next(struct httpdate_last *last, int64_t at_s)
{
	at_s = httpdate_within(at_s);
	if (!*last->text || last->at_s != at_s) {
		last->at_s = at_s;
		httpdate_format(at_s, last->text);
	}
	return last->text;
}
