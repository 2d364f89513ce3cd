/*
 * Age and freshness of a stored response (RFC 9111, 4.2), and whether it may
 * answer a request. Times in seconds since 1970, by a clock that nobody sets
 * back: what it has counted is the time for which a response was here. Dates in
 * fields are of the wall clock.
 */
#ifndef DIGESTD_HTTP_FRESHNESS_H
#define DIGESTD_HTTP_FRESHNESS_H

#include <stdbool.h>
#include <stdint.h>

struct cachecontrol;
struct httpdate_last;
struct response_facts;

/* A heuristic lifetime is a tenth of the time since the last change, and at
 * most a day. */
enum { FRESHNESS_HEURISTIC_MAX_S = 86400 };

/*
 * What is computed once, when a response comes in. Each that is stored has one,
 * so it is small, 16 bytes: see freshness_set().
 */
struct freshness {
	uint64_t birth_s : 35; /* when its age was 0, from 1901 on */
	int64_t stale_while_revalidate_s : 29; /* see struct freshness_spans */
	int32_t lifetime_s;
	int32_t stale_if_error_s : 29;
	bool explicit : 1;        /* the lifetime was stated, not guessed */
	bool always_validate : 1; /* no-cache */
	bool never_stale : 1;     /* must-revalidate and its like */
};

/* Its times and spans before they are cut. */
struct freshness_spans {
	int64_t born_s;		  /* when its age was 0 */
	int64_t lifetime_s;	  /* 0 and less: stale from the start */
	int64_t stale_if_error_s; /* usable so long after it went stale, when
				     the origin fails; negative: not stated */
	int64_t stale_while_revalidate_s; /* and so long while it is fetched
					     again (RFC 5861, 3) */
};

/* Sets all but the flags. What there are no bits for is cut: a lifetime to 68
 * years, the spans after it to 8. */
void freshness_set(struct freshness *f, const struct freshness_spans *spans);

/* What was set. */
struct freshness_spans freshness_spans(const struct freshness *f);

/*
 * What an operator has set for responses, in seconds; negative: nothing. It
 * counts in place of what they say, but for no-cache and must-revalidate.
 */
struct freshness_rules {
	int64_t default_s; /* the lifetime of those that state none */
	int64_t least_s, most_s; /* of any lifetime */
	int64_t on_error_s; /* see stale_if_error_s; also with s-maxage */
	int64_t renew_s;    /* see stale_while_revalidate_s */
};

/* Nothing is set. */
static const struct freshness_rules freshness_no_rules = { -1, -1, -1, -1, -1 };

/* When a request went out and its response came in. */
struct exchange_times {
	int64_t request_s;
	int64_t response_s;
	int64_t ahead_s; /* the wall clock then, of this clock */
	struct httpdate_last *dates; /* of who reads one response after the
					other; null: none is remembered */
};

/* May a stored response be used for a request? */
enum reuse {
	REUSE_FRESH,    /* yes */
	REUSE_STALE,    /* yes: stale, but the request allows it */
	REUSE_RENEW,    /* yes: stale, but the response allows it while
			   somebody asks the origin */
	REUSE_VALIDATE, /* only after the origin has confirmed it */
};

/*
 * Computes the freshness of a response for a shared cache. Of several Ages the
 * first counts; one that is no whole number is ignored (RFC 9111, 5.1).
 */
void freshness_init(struct freshness *f, const struct response_facts *facts,
		    const struct exchange_times *times);

/* What a lifetime is from: name, what is said of it. */
/* clang-format off */
#define FRESHNESS_RULES(X) \
	X(S_MAXAGE,  "s-maxage") \
	X(MAX_AGE,   "max-age") \
	X(EXPIRES,   "Expires") \
	X(CONFIGURED, "fresh_default of its site") \
	X(HEURISTIC, "a tenth of the time since Last-Modified") \
	X(NONE,      "no lifetime")
/* clang-format on */

enum freshness_rule {
#define X(name, text) FRESHNESS_##name,
	FRESHNESS_RULES(X)
#undef X
};

/* The rule that decides a response's lifetime (RFC 9111, 4.2.1). */
enum freshness_rule freshness_rule_of(const struct response_facts *facts);

/* What is said of it. Static. */
const char *freshness_rule_text(enum freshness_rule rule);

/* The age at now_s, never negative (RFC 9111, 4.2.3). */
int64_t freshness_age(const struct freshness *f, int64_t now_s);

/* Seconds for which it is still fresh; negative: since when it is stale. */
int64_t freshness_left(const struct freshness *f, int64_t now_s);

/* Whether the response may answer a request with these directives. */
enum reuse freshness_reuse(const struct freshness *f,
			   const struct cachecontrol *request, int64_t now_s);

/*
 * Whether it may still be used when the origin cannot be reached or answers
 * 500, 502, 503 or 504 (RFC 9111, 4.2.4; RFC 5861, 4): never if it must be
 * revalidated; otherwise within its stale-if-error, or the node's own default.
 */
bool freshness_on_error(const struct freshness *f, int64_t default_s,
			int64_t now_s);

#endif
