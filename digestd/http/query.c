/*
 * Normalising queries.
 */
#include "digestd/http/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"

struct query_argument {
	const char *at;
	size_t len, name_len;
	unsigned number;
};

static bool query_is_name(struct field_part name, struct field_part pattern)
{
	size_t len = pattern.len;

	if (len && pattern.at[len - 1] == '*')
		return name.len >= len - 1 &&
		       !memcmp(name.at, pattern.at, len - 1);
	return name.len == len && !memcmp(name.at, pattern.at, len);
}

bool query_lists_name(const char *names, const char *name, size_t len)
{
	for (;;) {
		size_t n = strcspn(names, "\n");

		if (query_is_name((struct field_part){ name, len },
				  (struct field_part){ names, n }))
			return true;
		if (!names[n])
			return false;
		names += n + 1;
	}
}

static bool query_counts(const struct query_rules *rules,
			 const struct query_argument *a)
{
	return (!rules->keep ||
		query_lists_name(rules->keep, a->at, a->name_len)) &&
	       (!rules->drop ||
		!query_lists_name(rules->drop, a->at, a->name_len));
}

static int query_compare(const void *x, const void *y)
{
	const struct query_argument *a = x, *b = y;
	size_t least = a->name_len < b->name_len ? a->name_len : b->name_len;
	int order = memcmp(a->at, b->at, least);

	if (!order && a->name_len != b->name_len)
		order = a->name_len < b->name_len ? -1 : 1;
	if (!order)
		order = a->number < b->number ? -1 : 1;
	return order;
}

/* Returns how many there are; QUERY_MAX_ARGUMENTS + 1: more. */
static size_t query_split(const char *query, struct query_argument *out)
{
	size_t n = 0;

	while (n < QUERY_MAX_ARGUMENTS) {
		struct query_argument *a = &out[n];

		a->at = query;
		a->len = strcspn(query, "&");
		a->name_len = strcspn(query, "=&");
		a->number = (unsigned)n++;
		if (!query[a->len])
			return n;
		query += a->len + 1;
	}
	return QUERY_MAX_ARGUMENTS + 1;
}

/* Returns behind the last byte. */
static char *query_write(char *to, const struct query_argument *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		*to++ = i ? '&' : '?';
		memcpy(to, a[i].at, a[i].len);
		to += a[i].len;
	}
	return to;
}

/* From the copy of a query back to its place, of which it is never longer. */
static void query_rewrite(char *query, const char *copy, size_t *len,
			  const struct query_rules *rules)
{
	struct query_argument all[QUERY_MAX_ARGUMENTS];
	size_t n = query_split(copy, all), kept = 0;
	char *end;

	if (n > QUERY_MAX_ARGUMENTS)
		return;
	for (size_t i = 0; i < n; i++) {
		if (query_counts(rules, &all[i]))
			all[kept++] = all[i];
	}
	if (rules->sort)
		qsort(all, kept, sizeof(all[0]), query_compare);
	*len -= strlen(query);
	end = query_write(query, all, kept);
	*end = '\0';
	*len += (size_t)(end - query);
}

int query_normalise(char *uri, size_t *len, const struct query_rules *rules)
{
	char *query = strchr(uri, '?'), *copy;

	if (!query)
		return 0;
	copy = strdup(query + 1);
	if (!copy)
		return -ENOMEM;
	query_rewrite(query, copy, len, rules);
	free(copy);
	return 0;
}
