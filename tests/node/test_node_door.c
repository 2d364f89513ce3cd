/*
 * The door: a row a case, then every mixture of facts against what must hold
 * for all of them.
 */
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/http/target.h"
#include "digestd/node/node_door.h"
#include "tests/unit.h"

enum method { GET, HEAD, OPTIONS, POST };

/* What may be the case, as bits of a row. */
enum {
	FORWARD = 1 << 0,
	DEFAULT = 1 << 1,
	PEER = 1 << 2,
	TLS = 1 << 3, /* the client's connection */
	UPGRADE = 1 << 4,
	BODY = 1 << 5,
	LONG = 1 << 6, /* it says that it is too long */
	STAR = 1 << 7,
	HOST = 1 << 8,
	SITE = 1 << 9,
	NOMEM = 1 << 10,
	WHOLE = 1 << 11, /* it has just the length that it may have */
	BARRED = 1 << 12,
	PURGE_BARRED = 1 << 13, /* a PURGE, by a client that may not */
	PURGE_ALLOWED = 1 << 14,
	HURRIED = 1 << 15,
	BITS = 16,
};

enum { MAX_UPLOAD = 100 };

static const char *const targets[] = {
	NULL, "/p", "http://h/p", "https://h/p",
};

enum { NONE, PATH, HTTP, HTTPS };

struct pair {
	const char *name, *value;
};

static struct node_entry enter(enum method method, unsigned facts,
			       unsigned target, const struct pair *field)
{
	struct node_door door = {
		.node = "a",
		.forward = facts & FORWARD,
		.has_default = facts & DEFAULT,
		.max_upload_bytes = MAX_UPLOAD,
		.from_peer = facts & PEER,
		.barred = facts & BARRED,
		.hurried = facts & HURRIED,
		.purge = facts & PURGE_BARRED	 ? NODE_PURGE_BARRED
			 : facts & PURGE_ALLOWED ? NODE_PURGE_ALLOWED
						 : NODE_PURGE_NONE,
		.get = method == GET,
		.head = method == HEAD,
		.options = method == OPTIONS,
		.https = facts & TLS,
		.upgrade = facts & UPGRADE,
		.has_body = facts & (BODY | LONG | WHOLE),
		.body_len = facts & LONG  ? MAX_UPLOAD + 1 :
			    facts & WHOLE ? MAX_UPLOAD :
			    facts & BODY  ? -1 : 0,
		.asterisk = facts & STAR,
		.has_host = facts & HOST,
		.site = facts & SITE,
		.no_memory = facts & NOMEM,
	};
	struct target resolved;
	struct node_entry entry;
	struct fields f;

	fields_init(&f);
	if (field->name)
		assert_int_equal(fields_add(&f, field->name, field->value), 0);
	if (facts & UPGRADE)
		assert_int_equal(fields_add(&f, "Upgrade", "echo"), 0);
	door.fields = &f;
	if (targets[target]) {
		assert_int_equal(target_resolve(&resolved, targets[target],
						strlen(targets[target]), "h"),
				 0);
		door.target = &resolved;
	}
	entry = node_door_enter(&door);
	if (door.target)
		target_free(&resolved);
	fields_free(&f);
	return entry;
}

/* instead of a status: it enters, is answered here, is carried out here */
enum { IN = 0, OWN = 1, PURGED = 2 };

/* clang-format off */
static const struct {
	const char *label;
	enum method method;
	unsigned facts;
	unsigned target;
	struct pair field;
	unsigned status;
	enum node_way way;
} ways[] = {
	{ "the only origin", GET, DEFAULT | HOST, PATH, { 0 },
	  IN, NODE_WAY_DEFAULT },
	{ "a site's", GET, DEFAULT | SITE | HOST, PATH, { 0 },
	  IN, NODE_WAY_SITE },
	{ "a site's, by its URI", GET, FORWARD | SITE, HTTP, { 0 },
	  IN, NODE_WAY_SITE },
	{ "a forward proxy's", GET, FORWARD | DEFAULT, HTTP, { 0 },
	  IN, NODE_WAY_TARGET },
	{ "a forward proxy's, by https", GET, FORWARD, HTTPS, { 0 }, 403, 0 },
	{ "the same, where there is an origin", GET, FORWARD | DEFAULT, HTTPS,
	  { 0 }, IN, NODE_WAY_DEFAULT },
	{ "no forward proxy", GET, 0, HTTP, { 0 }, 403, 0 },
	{ "nobody's host", GET, FORWARD | HOST, PATH, { 0 }, 421, 0 },
	{ "nobody's host, posted", POST, HOST, PATH, { 0 }, 421, 0 },
	{ "a peer's", GET, PEER, HTTP, { 0 }, IN, NODE_WAY_NONE },
	{ "a peer's, of a site", GET, PEER | SITE | FORWARD, HTTP, { 0 },
	  IN, NODE_WAY_NONE },
	{ "a loop", GET, DEFAULT, PATH, { "Via", "1.1 b, 1.1 a" }, 508, 0 },
	{ "a loop of a CDN", GET, DEFAULT, PATH, { "CDN-Loop", "a" }, 508, 0 },
	{ "a peer's loop", GET, PEER, HTTP, { "CDN-Loop", "a" }, 508, 0 },
	{ "a loop goes before all", OPTIONS, STAR | NOMEM, NONE,
	  { "Via", "1.1 a" }, 508, 0 },
	{ "a client that may not ask", GET, DEFAULT | BARRED, PATH, { 0 },
	  403, 0 },
	{ "it is not told of a loop", GET, BARRED, HTTP, { "Via", "1.1 a" },
	  403, 0 },
	{ "nor what OPTIONS say", OPTIONS, STAR | BARRED, NONE, { 0 }, 403, 0 },
	{ "a client that asks too often", GET, DEFAULT | HURRIED, PATH, { 0 },
	  429, 0 },
	{ "one that may not ask at all", GET, HURRIED | BARRED, PATH, { 0 },
	  403, 0 },
	{ "a purge by who may not", POST, DEFAULT | PURGE_BARRED, PATH,
	  { 0 }, 403, 0 },
	{ "a purge by who may", POST, DEFAULT | PURGE_ALLOWED, PATH, { 0 },
	  PURGED, 0 },
	{ "a purge of what has no origin here", POST, PURGE_ALLOWED, HTTP,
	  { 0 }, PURGED, 0 },
	{ "a client that may purge, but not ask", POST,
	  BARRED | PURGE_ALLOWED, PATH, { 0 }, 403, 0 },
	{ "a purge of no target", POST, PURGE_ALLOWED, NONE, { 0 }, 400, 0 },
	{ "another's Via", GET, DEFAULT, PATH, { "Via", "1.1 b" },
	  IN, NODE_WAY_DEFAULT },
	{ "the last for OPTIONS", OPTIONS, DEFAULT, PATH,
	  { "Max-Forwards", "0" }, OWN, 0 },
	{ "not yet the last", OPTIONS, DEFAULT, PATH,
	  { "Max-Forwards", "1" }, IN, NODE_WAY_DEFAULT },
	{ "OPTIONS only", GET, DEFAULT, PATH, { "Max-Forwards", "0" },
	  IN, NODE_WAY_DEFAULT },
	{ "the last, and no target", OPTIONS, 0, NONE, { "Max-Forwards", "0" },
	  OWN, 0 },
	{ "* for nobody", OPTIONS, STAR, NONE, { 0 }, OWN, 0 },
	{ "* for a host", OPTIONS, STAR | HOST | DEFAULT, PATH, { 0 },
	  IN, NODE_WAY_DEFAULT },
	{ "* for nobody's host", OPTIONS, STAR | HOST, PATH, { 0 }, OWN, 0 },
	{ "no target", GET, DEFAULT | HOST, NONE, { 0 }, 400, 0 },
	{ "no memory for it", GET, DEFAULT | HOST | NOMEM, NONE, { 0 }, 503,
	  0 },
	{ "a body of any length", POST, DEFAULT | BODY, PATH, { 0 },
	  IN, NODE_WAY_DEFAULT },
	{ "one that is not too long", POST, DEFAULT | WHOLE, PATH, { 0 },
	  IN, NODE_WAY_DEFAULT },
	{ "one that is too long", POST, DEFAULT | LONG, PATH, { 0 }, 413, 0 },
	{ "for nobody", POST, LONG, PATH, { 0 }, 421, 0 },
};

static const struct {
	enum method method;
	unsigned facts;
	unsigned target;
	struct pair field;
	bool cacheable, unsafe, upgrade, own_scheme;
} kinds[] = {
	{ GET, DEFAULT, PATH, { 0 }, true, false, false, false },
	{ HEAD, DEFAULT, PATH, { 0 }, true, false, false, false },
	{ OPTIONS, DEFAULT, PATH, { 0 }, false, false, false, false },
	{ POST, DEFAULT, PATH, { 0 }, false, true, false, false },
	{ GET, DEFAULT | BODY, PATH, { 0 }, false, false, false, false },
	{ GET, DEFAULT, PATH, { "X-HTTP-Method", "DELETE" },
	  false, false, false, false },
	{ GET, DEFAULT, PATH, { "x-http-method-override", "" },
	  false, false, false, false },
	{ GET, DEFAULT, PATH, { "X-Method-Override", "GET" },
	  false, false, false, false },
	{ GET, DEFAULT, PATH, { "x_HTTP_Method-override", "PUT" },
	  false, false, false, false },
	{ GET, DEFAULT, PATH, { "X-HTTP-Methods", "PUT" },
	  true, false, false, false },
	{ GET, DEFAULT | UPGRADE, PATH, { 0 }, false, false, true, false },
	{ GET, DEFAULT | UPGRADE, PATH, { "Upgrade", "h2c" },
	  true, false, false, false },
	{ GET, FORWARD | UPGRADE, HTTP, { 0 }, true, false, false, false },
	/* the scheme */
	{ GET, DEFAULT | TLS, PATH, { 0 }, true, false, false, true },
	{ GET, DEFAULT | TLS, HTTPS, { 0 }, true, false, false, false },
	{ GET, DEFAULT, HTTPS, { 0 }, true, false, false, true },
	{ GET, DEFAULT | TLS, HTTP, { 0 }, true, false, false, true },
	{ GET, FORWARD | TLS, HTTP, { 0 }, true, false, false, false },
	{ GET, PEER | TLS, HTTP, { 0 }, true, false, false, false },
	{ GET, PEER, HTTPS, { 0 }, true, false, false, false },
	{ GET, PEER | TLS, PATH, { 0 }, true, false, false, true },
};
/* clang-format on */

static void expect_way(size_t i)
{
	const struct node_entry entry = enter(ways[i].method, ways[i].facts,
					      ways[i].target, &ways[i].field);

	switch (ways[i].status) {
	case IN:
		assert_int_equal(entry.action, NODE_DOOR_ENTER);
		assert_int_equal(entry.way, ways[i].way);
		break;
	case OWN:
		assert_int_equal(entry.action, NODE_DOOR_OPTIONS);
		break;
	case PURGED:
		assert_int_equal(entry.action, NODE_DOOR_PURGE);
		break;
	default:
		assert_int_equal(entry.action, NODE_DOOR_REFUSE);
		assert_int_equal(entry.status, ways[i].status);
		assert_non_null(entry.why);
	}
}

static void where_it_goes(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(ways); i++) {
		print_message("# %s\n", ways[i].label);
		expect_way(i);
	}
}

static void what_it_is(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(kinds); i++) {
		const struct node_entry entry =
			enter(kinds[i].method, kinds[i].facts, kinds[i].target,
			      &kinds[i].field);
		bool readable = kinds[i].method <= HEAD;

		print_message("# row %zu\n", i);
		assert_int_equal(entry.action, NODE_DOOR_ENTER);
		assert_int_equal(entry.cacheable, kinds[i].cacheable);
		assert_int_equal(entry.unsafe, kinds[i].unsafe);
		assert_int_equal(entry.upgrade, kinds[i].upgrade);
		assert_int_equal(entry.own_scheme, kinds[i].own_scheme);
		assert_int_equal(entry.fwd, readable ? CACHESTATUS_BYPASS :
						       CACHESTATUS_METHOD);
	}
}

/* What goes on has a way, unless it is a peer's, and then has none. */
static void expect_sound(enum method method, unsigned facts, unsigned target)
{
	static const struct pair nothing = { 0 };
	const struct node_entry e = enter(method, facts, target, &nothing);

	if (facts & BARRED)
		assert_int_equal(e.status, 403);
	else if (facts & HURRIED)
		assert_int_equal(e.status, 429);
	if (e.action == NODE_DOOR_REFUSE)
		assert_in_range(e.status, 400, 599);
	if (e.action == NODE_DOOR_OPTIONS)
		assert_true(facts & STAR);
	if (e.action == NODE_DOOR_PURGE)
		assert_true(targets[target] && facts & PURGE_ALLOWED);
	if (e.action != NODE_DOOR_ENTER)
		return;
	assert_false(facts & (PURGE_BARRED | PURGE_ALLOWED));
	assert_true(targets[target] && !(facts & LONG));
	assert_int_equal(e.way == NODE_WAY_NONE, !!(facts & PEER));
	if (e.way == NODE_WAY_TARGET)
		assert_true(facts & FORWARD && target == HTTP &&
			    !(facts & SITE) && !e.upgrade && !e.own_scheme);
	if (e.cacheable)
		assert_true(method <= HEAD && !e.unsafe && !e.upgrade &&
			    !(facts & (BODY | WHOLE)));
}

static void any_mixture(void **arg)
{
	(void)arg;
	for (unsigned facts = 0; facts < 1 << BITS; facts++) {
		for (unsigned i = 0; i < 4 * NROWS(targets); i++)
			expect_sound((enum method)(i % 4), facts, i / 4);
	}
}

/* clang-format off */
static const struct {
	const char *method, *target;
	bool token, purges;
	enum node_peer_wish wish;
	unsigned status;
} peers[] = {
	{ "GET", "/scd/v1/digest", true, false, NODE_PEER_RESOURCE, 0 },
	{ "GET", "/scd/v1/digest", false, true, NODE_PEER_RESOURCE, 401 },
	{ "PURGE", "/scd/v1/digest", true, false, NODE_PEER_RESOURCE, 0 },
	{ "GET", "http://h/p", true, false, NODE_PEER_OBJECT, 0 },
	{ "GET", "http://h/p", false, true, NODE_PEER_OBJECT, 407 },
	{ "purge", "http://h/p", true, false, NODE_PEER_OBJECT, 0 },
	{ "OPTIONS", "*", true, false, NODE_PEER_OBJECT, 0 },
	{ "PURGE", "http://h/p", true, true, NODE_PEER_PURGE, 0 },
	{ "PURGE", "http://h/p", true, false, NODE_PEER_PURGE, 403 },
	{ "PURGE", "http://h/p", false, false, NODE_PEER_PURGE, 407 },
};
/* clang-format on */

static void peers_wish(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(peers); i++) {
		enum node_peer_wish wish = node_door_peer_wish(
			peers[i].method, peers[i].target);
		bool resource = wish == NODE_PEER_RESOURCE;

		assert_int_equal(wish, peers[i].wish);
		assert_int_equal(node_door_refuse_peer(wish, peers[i].token,
						       peers[i].purges),
				 peers[i].status);
		assert_string_equal(node_door_token_field(wish),
				    resource ? "Authorization" :
					       "Proxy-Authorization");
		assert_string_equal(node_door_challenge_field(wish),
				    resource ? "WWW-Authenticate" :
					       "Proxy-Authenticate");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_it_goes),
		cmocka_unit_test(what_it_is),
		cmocka_unit_test(any_mixture),
		cmocka_unit_test(peers_wish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
