/*
 * Origins and peers of a configuration.
 */
#include "digestd/config/config_places.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/config/config_section.h"
#include "digestd/config/configuration.h"
#include "digestd/peers/peer_kind.h"

/* What a section may have. */
struct config_place {
	option_URLS url; /* of a peer one */
	option_COOKIES set_cookie;
	option_PEER_KIND kind;
	option_TOKEN location;
};

#define ROW(name, kind, value) \
	{ #name, kind, offsetof(struct config_place, name), value, 0, 0, \
	  false, "" }

static const struct config_option origin_options[] = {
	ROW(url, URLS, NULL),
	ROW(set_cookie, COOKIES, NULL),
};

static const struct config_option peer_options[] = {
	ROW(url, URL, NULL),
	ROW(kind, PEER_KIND, "digestd"),
	ROW(location, TOKEN, NULL),
};

static const struct config_section origin_section = {
	.name = "origin", .options = origin_options,
	.noptions = sizeof(origin_options) / sizeof(origin_options[0]),
	.min_titles = 1, .max_titles = 1, .title = "the name of a host",
};

static const struct config_section peer_section = {
	.name = "peer", .options = peer_options,
	.noptions = sizeof(peer_options) / sizeof(peer_options[0]),
	.min_titles = 1, .max_titles = 1, .title = "the name of a node",
};

/* The first section with the title of this one. */
static const struct config_node *config_places_first(
	const struct config_node *first, const struct config_node *n)
{
	while (first != n && (first->kind != CONFIG_SECTION ||
			      !first->nwords ||
			      strcmp(first->name, n->name) != 0 ||
			      strcmp(first->words[0], n->words[0]) != 0))
		first = first->next;
	return first;
}

static int config_places_add(const struct config_node *n,
			     struct config_place *from, struct upstream *out)
{
	char where[4096];

	snprintf(where, sizeof(where), "%s:%u", n->file, n->line);
	out->where = strdup(where);
	out->name = strdup(n->words[0]);
	out->url = from->url ? from->url : strdup("");
	out->set_cookie = from->set_cookie;
	out->kind = from->kind ? peer_kind_find(from->kind) : NULL;
	out->location = from->location;
	from->url = from->set_cookie = from->location = NULL;
	return out->where && out->name && out->url ? 0 : -ENOMEM;
}

/* A section into *out; what is wrong is reported. */
static int config_places_take(const struct config_section *s,
			      const struct config_node *n, struct upstream *out,
			      struct config_errors *errors)
{
	struct config_place place = { .url = NULL };
	size_t before = errors->len;
	int err = config_section_read(s, n->children, &place, errors);

	if (!err && !place.url && errors->len == before)
		config_report(errors, "%s:%u: %s \"%s\": url: not given\n",
			      n->file, n->line, n->name, n->words[0]);
	if (!err)
		err = config_places_add(n, &place, out);
	config_section_clear(s, &place);
	return err;
}

static size_t config_places_count(const struct config_node *n, const char *name)
{
	size_t count = 0;

	for (; n; n = n->next)
		count += n->kind == CONFIG_SECTION && !strcmp(n->name, name);
	return count;
}

static int config_places_of(const struct config_section *s,
			    const struct config_node *first,
			    struct upstream **out, size_t *n,
			    struct config_errors *errors)
{
	size_t count = config_places_count(first, s->name);
	int err = 0;

	*out = calloc(count ? count : 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (const struct config_node *at = first; at && !err; at = at->next) {
		const struct config_node *same;

		if (at->kind != CONFIG_SECTION || strcmp(at->name, s->name) ||
		    !config_section_has_titles(s, at, errors))
			continue;
		same = config_places_first(first, at);
		if (same != at)
			config_report(errors, "%s:%u: %s \"%s\" is given "
				      "twice, first at %s:%u\n", at->file,
				      at->line, s->name, at->words[0],
				      same->file, same->line);
		err = config_places_take(s, at, &(*out)[(*n)++], errors);
	}
	return err;
}

int config_places_read(const struct config_node *first, struct config *c,
		       struct config_errors *errors)
{
	int err;

	assert(c && errors);
	err = config_places_of(&origin_section, first, &c->origins,
			       &c->norigins, errors);
	if (!err)
		err = config_places_of(&peer_section, first, &c->peers,
				       &c->npeers, errors);
	return err;
}
