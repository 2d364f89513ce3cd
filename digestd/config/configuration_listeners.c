/*
 * The listeners, each held against the others. An address without a host is
 * every address of both families, "0.0.0.0" and "[::]" those of one of them.
 */
#include "digestd/config/configuration_listeners.h"

#include <assert.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/config/configuration_check.h"
#include "digestd/config/value.h"
#include "digestd/node/site.h"
#include "digestd/os/address_prefix.h"
#include "digestd/os/listen_path.h"
#include "digestd/peers/upstream.h"

struct endpoint {
	char path[LISTEN_PATH_BYTES]; /* of a UNIX socket, or "" */
	bool v4, v6;  /* families that it listens on */
	bool any;     /* all their addresses */
	unsigned char address[16];
	long port;
};

/* The text has been checked: it is the address of a listener. */
static struct endpoint configuration_listeners_endpoint_parse(const char *text)
{
	static const unsigned char none[16];
	const char *colon = strrchr(text, ':');
	size_t len = (size_t)(colon - text);
	struct endpoint e = { .port = strtol(colon + 1, NULL, 10) };
	struct listen_path_text path;
	char host[64] = "";

	if (listen_path_read(text, &path)) {
		e = (struct endpoint){ .port = 0 };
		memcpy(e.path, path.path, sizeof(e.path));
		return e;
	}
	e.v6 = !len || text[0] == '[';
	e.v4 = text[0] != '[';
	if (len && e.v6)
		memcpy(host, text + 1, len - 2);
	else
		memcpy(host, text, len);
	if (len)
		inet_pton(e.v6 ? AF_INET6 : AF_INET, host, e.address);
	e.any = !memcmp(e.address, none, sizeof(none));
	return e;
}

/* Port 0 is one of its own each time. */
static bool configuration_listeners_endpoint_overlaps(const struct endpoint *a,
						      const struct endpoint *b)
{
	if (*a->path)
		return !strcmp(a->path, b->path);
	if (a->port != b->port || !a->port)
		return false;
	if (!(a->v4 && b->v4) && !(a->v6 && b->v6))
		return false;
	return a->any || b->any ||
	       !memcmp(a->address, b->address, sizeof(a->address));
}

enum { LISTENERS = 3 };

/* An option that has a listener, and its text; null: there is none. */
struct listener {
	const char *option, *text;
};

static void configuration_listeners_list(const struct config *c,
					 struct listener out[LISTENERS])
{
	out[0] = (struct listener){ "listen_data", c->listen_data };
	out[1] = (struct listener){ "listen_peer", c->listen_peer };
	out[2] = (struct listener){ "listen_admin", c->listen_admin };
}

void config_listeners_check(const struct config *c,
			    const struct config_check *check)
{
	struct listener all[LISTENERS];

	assert(check->errors);
	configuration_listeners_list(c, all);
	for (size_t i = 0; i < LISTENERS; i++) {
		for (size_t j = 0; j < i && all[i].text; j++) {
			struct endpoint
				a = configuration_listeners_endpoint_parse(
					all[i].text),
				b;

			if (!all[j].text)
				continue;
			b = configuration_listeners_endpoint_parse(all[j].text);
			if (!configuration_listeners_endpoint_overlaps(&a, &b))
				continue;
			config_report_option(check, all[i].option,
					     check->errors);
			config_report(check->errors, "\"%s\" is the %s of "
				      "%s (\"%s\", line %u)\n", all[i].text,
				      *a.path ? "path" : "port",
				      all[j].option, all[j].text,
				      config_check_line(check,
							all[j].option));
		}
	}
}

/* A node that asks itself */

/* Whether an address is of this machine, whichever that is: it may be another
 * one that checks the configuration. */
static bool configuration_listeners_is_local(const struct endpoint *e)
{
	static const unsigned char v6[16] = { [15] = 1 };

	return e->v4 ? e->address[0] == 127 :
		       !memcmp(e->address, v6, sizeof(v6));
}

/* Where a URL goes, if that is an address; "localhost" is 127.0.0.1. */
static bool configuration_listeners_url_parse(const char *url,
					      struct endpoint *out)
{
	bool tls = !strncmp(url, "https://", 8);
	const char *host = url + (tls ? 8 : 7);
	const char *colon = strrchr(host, ':');
	char text[300];

	if (colon && strchr(colon, ']'))
		colon = NULL; /* within the address */
	if (!strncmp(host, "localhost", 9) && (!host[9] || host[9] == ':'))
		snprintf(text, sizeof(text), "127.0.0.1%s%s", host + 9,
			 colon ? "" : tls ? ":443" : ":80");
	else
		snprintf(text, sizeof(text), "%s%s", host,
			 colon ? "" : tls ? ":443" : ":80");
	if (*host == ':' || !value_is_address(text))
		return false;
	*out = configuration_listeners_endpoint_parse(text);
	return true;
}

/* The listener that a URL leads to, or null. */
static const char *configuration_listeners_own_url(const struct config *c,
					       const char *url)
{
	struct listener all[LISTENERS];
	struct endpoint to, from;

	if (!configuration_listeners_url_parse(url, &to))
		return NULL;
	configuration_listeners_list(c, all);
	for (size_t i = 0; i < LISTENERS; i++) {
		if (!all[i].text)
			continue;
		from = configuration_listeners_endpoint_parse(all[i].text);
		if (configuration_listeners_endpoint_overlaps(&from, &to) &&
		    (!from.any || configuration_listeners_is_local(&to)))
			return all[i].option;
	}
	return NULL;
}

/* The same of one of several URLs. */
static const char *configuration_listeners_own(const struct config *c,
					       const char *urls)
{
	const char *own = NULL;
	char url[300];
	size_t len;

	for (; !own && (len = upstream_next_url(&urls)) > 0; urls += len) {
		snprintf(url, sizeof(url), "%.*s", (int)len, urls);
		own = configuration_listeners_own_url(c, url);
	}
	return own;
}

static void configuration_listeners_refuse(const struct config_check *check,
					   const struct upstream *u,
					   const char *what, const char *own)
{
	config_report(check->errors, "%s: %s \"%s\": url: \"%s\" is this "
		      "node's own %s\n", u->where, what, u->name, u->url, own);
}

void config_listeners_check_upstreams(const struct config *c,
				      const struct config_check *check)
{
	const char *own = c->default_origin ?
		configuration_listeners_own(c, c->default_origin) : NULL;

	if (own) {
		config_report_option(check, "default_origin", check->errors);
		config_report(check->errors,
			      "\"%s\" is this node's own %s\n",
			      c->default_origin, own);
	}
	for (size_t i = 0; i < c->norigins; i++) {
		own = configuration_listeners_own(c, c->origins[i].url);
		if (own)
			configuration_listeners_refuse(check, &c->origins[i],
						       "origin", own);
	}
	for (size_t i = 0; c->sites && i < c->sites->n; i++) {
		const struct site *site = &c->sites->at[i];

		own = site->origin ?
			configuration_listeners_own(c, site->origin) : NULL;
		if (own)
			config_report(check->errors, "%s: site: origin: url: "
				      "\"%s\" is this node's own %s\n",
				      site->where, site->origin, own);
	}
	for (size_t i = 0; i < c->npeers; i++) {
		own = configuration_listeners_own(c, c->peers[i].url);
		if (own && strcmp(c->peers[i].name, c->node) != 0)
			configuration_listeners_refuse(check, &c->peers[i],
						       "peer", own);
	}
}

void config_listeners_check_open(const struct config *c,
				 const struct config_check *check)
{
	struct address_prefixes clients;
	struct endpoint data;

	assert(check->warnings);
	if (!c->forward || !c->listen_data || c->tls_data_ca)
		return;
	if (address_prefixes_read(c->client_addresses, &clients) &&
	    clients.count)
		return;
	data = configuration_listeners_endpoint_parse(c->listen_data);
	if (*data.path ||
	    (!data.any && configuration_listeners_is_local(&data)))
		return;
	config_report_option(check, "forward", check->warnings);
	config_report(check->warnings, "everybody who reaches listen_data can "
		      "use this proxy: client_addresses does not say who may"
		      "\n");
}
