/*
 * Sites: what an operator has set for some hosts, and by rules for some paths,
 * statuses and types of content there.
 *
 * A host belongs to the site that names it; else to the one whose name has the
 * longest part of it behind "*."; else to "*". Of the site's rules all that
 * match count, in their order, behind what is set for the site itself: the last
 * one that sets something wins, setting by setting. Rules by status or type
 * match answers only.
 *
 * What is made once is never changed, and shared by all threads. A host costs a
 * search in the names of sites for each of its labels; a path, a few
 * instructions a byte and rule (path_pattern.h).
 */
#ifndef DIGESTD_NODE_SITE_H
#define DIGESTD_NODE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/freshness.h"
#include "digestd/http/path_pattern.h"
#include "digestd/http/query.h"
#include "digestd/http/setcookie.h"
#include "digestd/http/target.h"

/* What becomes of a client's no-cache, max-age and min-fresh. */
enum client_no_cache {
	NO_CACHE_OBEY,     /* the origin is asked each time */
	NO_CACHE_VALIDATE, /* at most once a second, for all clients */
	NO_CACHE_IGNORE,
};

/* Their names, in this order; a null ends them. */
extern const char *const no_cache_names[];

/* The settings: type, member. */
#define POLICY_SETTINGS(X) \
	X(int64_t, fresh_default_s) \
	X(int64_t, fresh_least_s) \
	X(int64_t, fresh_most_s) \
	X(int64_t, stale_on_error_s) \
	X(int64_t, stale_while_revalidate_s) \
	X(int64_t, stale_wait_ms) \
	X(enum set_cookie, set_cookie) \
	X(enum client_no_cache, client_no_cache) \
	X(int64_t, max_object_bytes) \
	X(bool, pass) \
	X(const char *, purge_addresses) \
	X(const char *, field_drop) \
	X(const char *, field_set) \
	X(const char *, keep) \
	X(const char *, drop) \
	X(bool, sort) \
	X(bool, encodings) \
	X(const char *, cookies)

enum policy_setting {
#define X(type, member) POLICY_##member,
	POLICY_SETTINGS(X)
#undef X
	POLICY_COUNT,
};

/* Values of those settings whose bit (1 << POLICY_...) is in `set`. Texts are
 * the site's: names in lines, and for field_set lines of a header. */
struct policy {
	uint32_t set;
#define X(type, member) type member;
	POLICY_SETTINGS(X)
#undef X
};

static inline bool policy_has(const struct policy *p, enum policy_setting s)
{
	return p->set >> s & 1;
}

/* Sets in *into what *from sets. */
void policy_merge(struct policy *into, const struct policy *from);

enum site_rule_kind {
	SITE_RULE_ALL, /* of the site itself */
	SITE_RULE_PATH,
	SITE_RULE_STATUS,
	SITE_RULE_TYPE, /* of the content, its pattern in small letters */
};

struct site_rule {
	enum site_rule_kind kind;
	char *text; /* as in the file; null: of the site itself */
	struct path_pattern pattern; /* of a path or type */
	unsigned status;
	struct policy policy;
	char *lists[POLICY_COUNT]; /* texts that the policy refers to */
	char *from[POLICY_COUNT];  /* "FILE:LINE", where that is set */
	char *value[POLICY_COUNT]; /* as it stands there */
};

struct site {
	char **names; /* canonical hosts, "*.example.org" or "*" */
	size_t nnames;
	char *where;  /* "FILE:LINE" */
	char *origin; /* URLs, with commas between; null: as without a site */
	struct site_rule *rules; /* the first is the site itself */
	size_t nrules;
};

/* Where a name leads. */
struct site_name {
	const char *name;
	const struct site *site;
};

/* All of them. Made by one thread, by sites_new(), filling `at`, and then
 * sites_index(). */
struct sites {
	struct site *at;
	size_t n;
	struct site_name *names; /* sorted */
	size_t nnames;
	unsigned users; /* changed atomically */
};

/* One user, and room for n sites; null: no memory. */
struct sites *sites_new(size_t n);

/* Makes the index of names. Returns 0, -ENOMEM, or -EEXIST: *twice is claimed
 * by two of them. */
int sites_index(struct sites *s, const char **twice);

/* One user more; one less, of whom the last frees all. Null is allowed for
 * both. */
struct sites *sites_ref(struct sites *s);
void sites_unref(struct sites *s);

/* The site of a host (with its port, where that is not the scheme's), or null;
 * `sites` may be null. */
const struct site *sites_find(const struct sites *sites, const char *host,
			      size_t len);

/* An answer; status 0: there is none yet, and only paths match. */
struct site_answer {
	unsigned status;
	const char *type; /* Content-Type; null: none */
};

/* Whether a rule counts for a path, with its query, and an answer. */
bool site_rule_matches(const struct site_rule *rule, const char *path,
		       const struct site_answer *answer);

/* Makes *out what counts. Lifetimes that are not set by status count for
 * successful answers and redirections only. */
void site_policy(const struct site *site, const char *path,
		 const struct site_answer *answer, struct policy *out);

/* What of it is about freshness. */
struct freshness_rules policy_freshness(const struct policy *p);

/*
 * Makes a canonical URI, in place, what a GET for it is stored as: by a policy;
 * by that of its path, where its host is of the site; or by that of the site of
 * its host, where there is one (`sites` may be null). What has been made so
 * once, doing it again leaves as it is. *len is that of the URI, which ends
 * with a NUL. Each returns 0, or -ENOMEM, and then it is as it was.
 */
int policy_normalise(const struct policy *p, char *uri, size_t *len);
int site_normalise(const struct site *site, char *uri, size_t *len);
int sites_normalise(const struct sites *sites, struct target *t);

#endif
