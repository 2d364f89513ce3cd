/*
 * The door.
 */
#include "digestd/node/node_door.h"

#include <stddef.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/http/target.h"
#include "digestd/http/upgrade.h"
#include "digestd/http/via.h"

static struct node_entry node_door_refuse(unsigned status, const char *why)
{
	return (struct node_entry){
		.action = NODE_DOOR_REFUSE, .status = status, .why = why
	};
}

static bool node_door_is_last(const struct node_door *d)
{
	const char *left = d->options ? fields_get(d->fields, "Max-Forwards") :
					NULL;

	return left && !strcmp(left, "0");
}

/* Whether this node answers, whoever it is for. */
static bool node_door_is_for_node(const struct node_door *d)
{
	return node_door_is_last(d) || (d->asterisk && !d->has_host);
}

/* A forward proxy fetches by http. */
static bool node_door_goes_to_target(const struct node_door *d)
{
	return d->forward && d->target->absolute && !target_is_https(d->target);
}

static enum node_way node_door_find_way(const struct node_door *d)
{
	if (d->from_peer)
		return NODE_WAY_NONE;
	if (d->site)
		return NODE_WAY_SITE;
	if (node_door_goes_to_target(d))
		return NODE_WAY_TARGET;
	return d->has_default ? NODE_WAY_DEFAULT : NODE_WAY_NONE;
}

static struct node_entry node_door_without_way(const struct node_door *d)
{
	if (d->asterisk)
		return (struct node_entry){ .action = NODE_DOOR_OPTIONS };
	return node_door_refuse(d->target->absolute ? 403 : 421, "host");
}

/* Peers name objects as they are stored; clients could make up the scheme,
 * which the origin would not be told. */
static bool node_door_sets_scheme(const struct node_door *d, enum node_way way)
{
	if (target_is_https(d->target) == d->https)
		return false;
	return way != NODE_WAY_TARGET &&
	       !(d->from_peer && d->target->absolute);
}

static bool node_door_is_override(const char *name, size_t len)
{
	static const char *const names[] = {
		"x-http-method-override", "x-http-method", "x-method-override",
	};

	if ((name[0] | 0x20) != 'x') /* only saves time */
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (len == strlen(names[i]) &&
		    field_name_begins(name, len, names[i]))
			return true;
	}
	return false;
}

/* Whether an origin may take it for another method than its own: the answer is
 * not one to a GET then. One that sees fields through CGI cannot tell "_" from
 * "-". */
static bool node_door_overrides_method(const struct fields *in)
{
	for (size_t i = 0; i < fields_count(in); i++) {
		const struct field *line = fields_at(in, i);

		if (node_door_is_override(line->name, line->name_len))
			return true;
	}
	return false;
}

static struct node_entry node_door_classify(const struct node_door *d,
					    enum node_way way)
{
	bool readable = d->get || d->head;
	bool upgrade = d->upgrade && way != NODE_WAY_TARGET &&
		       upgrade_may_pass(d->fields);

	return (struct node_entry){
		.action = NODE_DOOR_ENTER,
		.way = way,
		.own_scheme = node_door_sets_scheme(d, way),
		.unsafe = !readable && !d->options,
		.cacheable = readable && !d->has_body && !upgrade &&
			     !node_door_overrides_method(d->fields),
		.upgrade = upgrade,
		.fwd = readable ? CACHESTATUS_BYPASS : CACHESTATUS_METHOD,
	};
}

struct node_entry node_door_enter(const struct node_door *d)
{
	enum node_way way;

	if (d->barred)
		return node_door_refuse(403, "client");
	if (d->hurried)
		return node_door_refuse(429, "rate");
	if (via_loops(d->fields, d->node))
		return node_door_refuse(508, "loop");
	if (node_door_is_for_node(d))
		return (struct node_entry){ .action = NODE_DOOR_OPTIONS };
	if (!d->target)
		return d->no_memory ? node_door_refuse(503, "memory") :
				      node_door_refuse(400, "target");
	if (d->target->host_len > NODE_DOOR_HOST_MAX)
		return node_door_refuse(400, "target");
	if (d->purge == NODE_PURGE_BARRED)
		return node_door_refuse(403, "purge");
	if (d->purge == NODE_PURGE_ALLOWED)
		return (struct node_entry){ .action = NODE_DOOR_PURGE };
	way = node_door_find_way(d);
	if (way == NODE_WAY_NONE && !d->from_peer)
		return node_door_without_way(d);
	if (d->body_len > 0 && (uint64_t)d->body_len > d->max_upload_bytes)
		return node_door_refuse(413, "body");
	return node_door_classify(d, way);
}

/* Peers */

enum node_peer_wish node_door_peer_wish(const char *method, const char *target)
{
	if (target[0] == '/')
		return NODE_PEER_RESOURCE;
	return strcmp(method, "PURGE") ? NODE_PEER_OBJECT : NODE_PEER_PURGE;
}

const char *node_door_token_field(enum node_peer_wish wish)
{
	return wish == NODE_PEER_RESOURCE ? "Authorization" :
					    "Proxy-Authorization";
}

const char *node_door_challenge_field(enum node_peer_wish wish)
{
	return wish == NODE_PEER_RESOURCE ? "WWW-Authenticate" :
					    "Proxy-Authenticate";
}

unsigned node_door_refuse_peer(enum node_peer_wish wish, bool token,
			       bool purges)
{
	if (!token)
		return wish == NODE_PEER_RESOURCE ? 401 : 407;
	return wish == NODE_PEER_PURGE && !purges ? 403 : 0;
}
