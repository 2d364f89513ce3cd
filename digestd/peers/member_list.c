/*
 * Lists of members.
 */
#include "digestd/peers/member_list.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/mesh/peerset.h"
#include "digestd/peers/peer_kind.h"

enum {
	NAME_MAX_BYTES = 255,
	URL_MAX_BYTES = 300, /* of a host, its scheme and port */
	WORDS = 4,
};

/* A line's words, each ended by a NUL; `more` is what is behind them. */
struct words {
	char *at[WORDS];
	size_t n;
	bool more;
};

static const char blanks[] = " \t\r";

static struct words member_list_split(char *line)
{
	struct words w = {.n = 0};

	line[strcspn(line, "#")] = '\0';
	while (*(line += strspn(line, blanks))) {
		if (w.n == WORDS) {
			w.more = true;
			break;
		}
		w.at[w.n++] = line;
		line += strcspn(line, blanks);
		if (*line)
			*line++ = '\0';
	}
	return w;
}

/* Names stand in logs, in labels of metrics and in JSON. */
static bool member_list_is_name(const char *text)
{
	size_t len = strlen(text);

	if (!len || len > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~' || text[i] == '"' ||
		    text[i] == '\\')
			return false;
	}
	return true;
}

/* What is quoted goes to the log, and from there to terminals. */
static int member_list_refuse(struct member_fault *fault, const char *text,
			      const char *why)
{
	snprintf(fault->what, sizeof(fault->what), "\"%.60s\" %s", text, why);
	for (char *c = fault->what; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	return -EINVAL;
}

/* From the words of a line to a member, which borrows them. */
static int member_list_judge(const struct words *w, struct upstream *member,
			     struct member_fault *fault)
{
	*member = (struct upstream){.name = w->at[0], .url = w->at[1],
				    .location = w->n == WORDS ? w->at[3] :
								NULL};
	if (!member_list_is_name(w->at[0]))
		return member_list_refuse(fault, w->at[0], "is not a name");
	if (w->n < 2)
		return member_list_refuse(fault, w->at[0], "has no URL");
	if (!upstream_is_url(w->at[1]))
		return member_list_refuse(fault, w->at[1],
					  "is not a URL such "
					  "as http://host:port");
	if (w->more)
		return member_list_refuse(fault, w->at[0],
					  "has more than a "
					  "URL, a kind and a location");
	if (member->location && !member_list_is_name(member->location))
		return member_list_refuse(fault, member->location,
					  "is not a location");
	member->kind = w->n > 2 ? peer_kind_find(w->at[2])
				     : peer_kind_find(peer_kind_names[0]);
	if (!member->kind)
		return member_list_refuse(fault, w->at[2],
					  "is not a kind of peer");
	return 0;
}

static int member_list_take_line(struct member_list *list, char *line,
				 struct member_fault *fault)
{
	struct words w = member_list_split(line);
	struct upstream member;
	int err;

	if (!w.n)
		return 0;
	err = member_list_judge(&w, &member, fault);
	if (!err && list->n == PEERSET_MAX_PEERS)
		err = member_list_refuse(fault, member.name,
					 "is one more than a node follows");
	return err ? err : member_list_add(list, &member);
}

static int member_list_read_lines(struct member_list *list, char *text,
				  struct member_fault *fault)
{
	char *next;
	int err = 0;

	for (; text && !err; text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		fault->line++;
		err = member_list_take_line(list, text, fault);
	}
	return err;
}

static int member_list_compare_names(const void *a, const void *b)
{
	const struct upstream *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int member_list_compare_urls(const void *a, const void *b)
{
	const struct upstream *x = a, *y = b;

	return strcmp(x->url, y->url);
}

static void member_list_order(struct member_list *list,
			      int (*compare)(const void *, const void *))
{
	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), compare);
}

/* Orders the list by its URLs: two that are the same are neighbours then, and a
 * node would follow only the first. */
static int member_list_check_urls(struct member_list *list,
				  struct member_fault *fault)
{
	member_list_order(list, member_list_compare_urls);
	for (size_t i = 1; i < list->n; i++) {
		if (strcmp(list->at[i - 1].url, list->at[i].url) != 0)
			continue;
		fault->line = 0;
		return member_list_refuse(fault, list->at[i].url,
					  "is given twice");
	}
	return 0;
}

/* Orders the list by its names, as it stays. */
static int member_list_check_names(struct member_list *list,
				   struct member_fault *fault)
{
	member_list_order(list, member_list_compare_names);
	for (size_t i = 1; i < list->n; i++) {
		if (strcmp(list->at[i - 1].name, list->at[i].name) != 0)
			continue;
		fault->line = 0;
		return member_list_refuse(fault, list->at[i].name,
					  "is given twice");
	}
	return 0;
}

int member_list_read(struct member_list *list, const char *text,
		     struct member_fault *fault)
{
	char *copy = strdup(text);
	int err = copy ? 0 : -ENOMEM;

	assert(!list->n);
	*fault = (struct member_fault){.what = "out of memory"};
	if (!err)
		err = member_list_read_lines(list, copy, fault);
	if (!err)
		err = member_list_check_urls(list, fault);
	if (!err)
		err = member_list_check_names(list, fault);
	if (err)
		member_list_free(list);
	free(copy);
	return err;
}

int member_list_add(struct member_list *list, const struct upstream *member)
{
	struct upstream *at = realloc(list->at, (list->n + 1) * sizeof(*at));
	struct upstream copy = {.kind = member->kind};

	if (at)
		list->at = at;
	copy.name = strdup(member->name);
	copy.url = strdup(member->url);
	copy.location = member->location ? strdup(member->location) : NULL;
	if (!at || !copy.name || !copy.url ||
	    (member->location && !copy.location)) {
		free(copy.name);
		free(copy.url);
		free(copy.location);
		return -ENOMEM;
	}
	list->at[list->n++] = copy;
	return 0;
}

int member_list_copy(struct member_list *to, const struct member_list *from)
{
	assert(!to->n);
	for (size_t i = 0; i < from->n; i++) {
		if (member_list_add(to, &from->at[i])) {
			member_list_free(to);
			return -ENOMEM;
		}
	}
	return 0;
}

void member_list_remove(struct member_list *list, size_t i)
{
	assert(i < list->n);
	free(list->at[i].name);
	free(list->at[i].url);
	free(list->at[i].location);
	list->n--;
	memmove(&list->at[i], &list->at[i + 1],
		(list->n - i) * sizeof(list->at[0]));
}

void member_list_sort(struct member_list *list)
{
	member_list_order(list, member_list_compare_names);
	for (size_t i = list->n; i-- > 1;) {
		if (!strcmp(list->at[i - 1].name, list->at[i].name))
			member_list_remove(list, i);
	}
}

const struct upstream *member_list_find(const struct member_list *list,
					const char *name)
{
	for (size_t i = 0; i < list->n; i++) {
		if (!strcmp(list->at[i].name, name))
			return &list->at[i];
	}
	return NULL;
}

bool member_is_same(const struct upstream *a, const struct upstream *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->url, b->url) &&
	       a->kind == b->kind &&
	       !strcmp(a->location ? a->location : "",
		       b->location ? b->location : "");
}

bool member_list_is_same(const struct member_list *a,
			 const struct member_list *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (!member_is_same(&a->at[i], &b->at[i]))
			return false;
	}
	return true;
}

void member_list_free(struct member_list *list)
{
	upstreams_free(list->at, list->n);
	*list = (struct member_list){.n = 0};
}

/* "http://:8081" with the host that it lacks; another URL as it is. False: it
 * is too long for one. */
static bool member_list_fill_host(char out[URL_MAX_BYTES], const char *url,
				  const char *from)
{
	size_t scheme = strcspn(url, ":") + 3;
	bool lacks = strlen(url) > scheme && url[scheme] == ':';
	bool v6 = strchr(from, ':');
	int len;

	if (lacks)
		len = snprintf(out, URL_MAX_BYTES, "%.*s%s%s%s%s", (int)scheme,
			       url, v6 ? "[" : "", from, v6 ? "]" : "",
			       url + scheme);
	else
		len = snprintf(out, URL_MAX_BYTES, "%s", url);
	return len < URL_MAX_BYTES;
}

int member_list_introduce(struct member_list *list, const char *text,
			  const char *from)
{
	char *copy = strdup(text), url[URL_MAX_BYTES];
	struct upstream member;
	struct member_fault fault;
	struct words w;
	int err = -EINVAL;

	if (!copy)
		return -ENOMEM;
	w = member_list_split(copy);
	if (w.n >= 2 && w.n != 3 && !w.more &&
	    member_list_fill_host(url, w.at[1], from)) {
		w.at[1] = url;
		err = member_list_judge(&w, &member, &fault);
	}
	if (!err)
		err = member_list_add(list, &member);
	free(copy);
	return err;
}
