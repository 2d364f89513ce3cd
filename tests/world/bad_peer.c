/*
 * A peer that goes bad.
 */
#include "tests/world/bad_peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/bloom.h"
#include "codec/digest.h"
#include "cachesim/world/nodes.h"
#include "cachesim/world/wire.h"
#include "cachesim/world/world.h"
#include "digestd/http/fields.h"
#include "tests/world/invariants.h"
#include "tests/world/origin.h"

enum {
	PLACE = NODES_MAX,  /* of the network */
	BITS_A_KEY = 16,
	NHASH = 3,
	INSTANCE = 7,
	WAIT_US = 500000,   /* of a digest that does not change */
	LINGER_US = 20000,  /* until what was sent has mostly arrived */
	DRIP_US = 1000000,
	SHORT_BYTES = 1000, /* that are announced */
	FAILURES_MAX = 50,  /* of a node's questions: until the breaker opens,
			       and probes; and those that are under way then: */
	UNDER_WAY_US = 300000, /* when the first ones are known to have failed,
				  and they were asked for all this time */
	FALSE_MAX = 120,    /* 36 until quarantine, those under way, and again
			       after it */
	TRIED = 20,         /* after so many questions it must be noticed */
	SLICE_LEAST = 4096, /* bytes, of the worlds' slice_size: the first
			       whole slice of an answer is a hit */
	EVER_US = 1000000000,
};

const char *const bad_peer_place = "198.51.100.1:8081";

struct asked;

struct bad_way {
	const char *name;
	void (*answer)(struct asked *a);
	enum { ACCEPTS, REFUSES, HOLE } listener;
	enum { STAYS, JUNK, FLIPS } digest;
	bool opens;
};

/* A question that is being answered. */
struct asked {
	struct wire *wire;
	struct version v; /* of an object */
	bool is_digest, is_head, knows, answering;
	unsigned status;
	size_t sent, upto, drip; /* bytes of the body; drip: at once */
	void (*then)(void *arg); /* when they have been sent */
	struct world_event turn;
	struct asked *next, **link;
};

static struct {
	const struct bad_way *way; /* null: there is no such peer */
	bool bad, met;
	unsigned nresources;
	uint64_t failures_max; /* of a node's questions */
	uint64_t nslices; /* answers that broke off after a whole slice */
	uint64_t generation;
	struct wire_listener listener;
	struct asked *list;
} peer;

static unsigned bad_met[BAD_PEER_NWAYS]; /* worlds */

static void bad_free(struct asked *a)
{
	world_cancel(&a->turn);
	wire_close(&a->wire, WIRE_ANSWERER);
	*a->link = a->next;
	if (a->next)
		a->next->link = a->link;
	free(a);
}

static void bad_run_free(void *arg)
{
	bad_free(arg);
}

static void bad_close_in(struct asked *a, int64_t us)
{
	world_at(&a->turn, world_now_us + us, bad_run_free, a);
}

static void bad_run_end(void *arg)
{
	struct asked *a = arg;

	wire_send_end(a->wire, WIRE_ANSWERER);
	bad_close_in(a, 0);
}

static void bad_run_garbage(void *arg)
{
	struct asked *a = arg;

	wire_send_garbage(a->wire, WIRE_ANSWERER);
	bad_close_in(a, LINGER_US);
}

static void bad_run_linger(void *arg)
{
	bad_close_in(arg, LINGER_US);
}

static void bad_run_silence(void *arg)
{
	(void)arg;
}

/* Objects */

static void bad_push(void *arg)
{
	struct asked *a = arg;
	size_t room;

	while (a->sent < a->upto &&
	       (room = wire_room(a->wire, WIRE_ANSWERER)) > 0) {
		size_t n = a->upto - a->sent < room ? a->upto - a->sent : room;
		const char *bytes;

		if (a->drip && n > a->drip)
			n = a->drip;
		bytes = origin_body(&a->v, a->sent, &n);
		wire_send(a->wire, WIRE_ANSWERER, bytes, n);
		a->sent += n;
		if (a->drip && a->sent < a->upto) {
			world_at(&a->turn, world_now_us + DRIP_US, bad_push, a);
			return;
		}
	}
	if (a->sent == a->upto && a->then) {
		void (*then)(void *arg) = a->then;

		a->then = NULL;
		then(a);
	}
}

static void bad_send_head(struct asked *a, unsigned status, int64_t len,
			  struct fields *fields)
{
	const struct wire_head head = {
		.status = status,
		.fields = fields,
		.has_body = !a->is_head,
		.body_len = len,
	};

	a->answering = true;
	wire_send_head(a->wire, WIRE_ANSWERER, &head);
	fields_free(fields);
}

/* A header that promises so many bytes; then the first ones of them. */
static void bad_answer(struct asked *a, int64_t promised, size_t upto,
		       void (*then)(void *arg))
{
	struct fields f;

	fields_init(&f);
	origin_add_fields(&a->v, &f);
	bad_send_head(a, 200, promised, &f);
	a->upto = a->is_head ? 0 : upto;
	a->then = then;
	bad_push(a);
}

static void bad_answer_status(struct asked *a, unsigned status)
{
	struct fields f;

	fields_init(&f);
	bad_send_head(a, status, 0, &f);
	bad_run_end(a);
}

static void bad_SILENCE(struct asked *a)
{
	(void)a;
}

static void bad_DRIPS(struct asked *a)
{
	size_t len = origin_body_len(&a->v);

	bad_answer(a, (int64_t)len, 0, NULL);
	/* a body of one byte would be here within a second, and good */
	if (len == 1)
		return;
	a->drip = 1;
	a->upto = a->is_head ? 0 : len;
	a->then = bad_run_end;
	world_at(&a->turn, world_now_us + DRIP_US, bad_push, a);
}

static void bad_RESETS(struct asked *a)
{
	bad_close_in(a, 0);
}

static void bad_CLOSES(struct asked *a)
{
	bad_close_in(a, LINGER_US);
}

static void bad_answer_half(struct asked *a, void (*then)(void *arg))
{
	const size_t len = origin_body_len(&a->v);

	peer.nslices += len / 2 >= SLICE_LEAST;
	bad_answer(a, (int64_t)len, len / 2, then);
}

static void bad_HALF(struct asked *a)
{
	bad_answer_half(a, bad_run_linger);
}

static void bad_HALF_ONLY(struct asked *a)
{
	bad_answer_half(a, bad_run_silence);
}

static void bad_SHORT(struct asked *a)
{
	bad_answer(a, SHORT_BYTES, 4, bad_run_linger);
}

/* What a client of HTTP makes of differing lengths: no answer. */
static void bad_LENGTHS(struct asked *a)
{
	bad_run_garbage(a);
}

static void bad_GARBAGE(struct asked *a)
{
	bad_run_garbage(a);
}

static void bad_CHUNKS(struct asked *a)
{
	bad_answer(a, -1, SHORT_BYTES, bad_run_garbage);
}

static void bad_LIES(struct asked *a)
{
	bad_answer_status(a, 504);
}

static void bad_ERROR(struct asked *a)
{
	bad_answer_status(a, 503);
}

static const struct bad_way bad_ways[] = {
#define X(name, answer, listener, digest, opens) \
	{ name, bad_##answer, listener, digest, opens },
	BAD_PEER_WAYS(X)
#undef X
};

/* Digests */

static void bad_claim(struct scd_bloom *bloom)
{
	for (uint32_t i = 0; i < peer.nresources; i++) {
		char path[ORIGIN_TEXT], url[2 * ORIGIN_TEXT];
		struct scd_key key;
		int len = snprintf(url, sizeof(url), "http://www.example.com%s",
				   origin_path(i, path));

		nodes_hash(0, url, (size_t)len, &key);
		if (origin_is_shared(i))
			scd_bloom_add(bloom, &key);
	}
}

/* Of everything, or of nothing. */
static void bad_encode(bool everything, uint8_t **bytes, size_t *len)
{
	const struct scd_digest_info ids = {
		.instance = INSTANCE,
		.generation = peer.generation,
		.nkeys = everything ? peer.nresources : 0,
	};
	struct scd_bloom bloom;

	if (scd_bloom_init(&bloom, (uint64_t)BITS_A_KEY *
				   (peer.nresources + 1), NHASH))
		world_fail("the world itself is out of memory");
	if (everything)
		bad_claim(&bloom);
	if (scd_digest_encode(&bloom, &ids, bytes, len))
		world_fail("a digest cannot be encoded");
	scd_bloom_free(&bloom);
}

static void bad_format_tag(char text[ORIGIN_TEXT])
{
	snprintf(text, ORIGIN_TEXT, "\"%016x-%" PRIu64 "\"", (unsigned)INSTANCE,
		 peer.generation);
}

static void bad_send_digest(struct asked *a)
{
	static const char junk[4000] = "no digest";
	bool is_junk = peer.bad && peer.way->digest == JUNK;
	bool empty = peer.bad && peer.way->digest == FLIPS &&
		     peer.generation % 2 == 0;
	char tag[ORIGIN_TEXT];
	struct fields f;
	uint8_t *bytes;
	size_t len;

	fields_init(&f);
	bad_format_tag(tag);
	if (fields_add(&f, "ETag", tag) ||
	    fields_add(&f, "Content-Type", "application/scd-digest"))
		world_fail("the world itself is out of memory");
	bad_encode(!empty, &bytes, &len);
	bad_send_head(a, 200, (int64_t)(is_junk ? sizeof(junk) : len), &f);
	if (is_junk)
		wire_send(a->wire, WIRE_ANSWERER, junk, sizeof(junk));
	else
		wire_send(a->wire, WIRE_ANSWERER, (const char *)bytes, len);
	free(bytes);
	bad_run_end(a);
}

/* One that the node has is sent again if it has changed meanwhile. */
static void bad_run_digest(void *arg)
{
	struct asked *a = arg;

	if (!a->knows) {
		bad_send_digest(a);
	} else if (peer.bad && peer.way->digest != STAYS) {
		peer.generation++;
		bad_send_digest(a);
	} else {
		bad_answer_status(a, 304);
	}
}

/* What comes from the nodes */

static void bad_read_object(struct asked *a, const struct wire_head *head)
{
	const char *path = strstr(head->target, "/r");
	const char *language = fields_get(head->fields, "accept-language");

	if (!path || sscanf(path, "/r%" SCNu32, &a->v.resource) != 1 ||
	    a->v.resource >= peer.nresources)
		world_fail("a peer is asked for \"%s\"", head->target);
	a->v.number = origin_version(a->v.resource);
	if (origin_varies(a->v.resource) && language)
		a->v.variant = (uint32_t)strtoul(language + 1, NULL, 10);
}

static void bad_on_head(void *arg, const struct wire_head *head)
{
	struct asked *a = arg;
	const char *tag = fields_get(head->fields, "if-none-match");
	char now[ORIGIN_TEXT];

	a->is_head = !strcmp(head->method, "HEAD");
	a->is_digest = !strncmp(head->target, "/scd/", 5);
	bad_format_tag(now);
	a->knows = tag && strstr(tag, now);
	if (!a->is_digest)
		bad_read_object(a, head);
}

static size_t bad_on_bytes(void *arg, const char *data, size_t len)
{
	(void)arg;
	(void)data;
	return len;
}

static void bad_on_end(void *arg)
{
	struct asked *a = arg;

	if (a->is_digest)
		world_at(&a->turn, world_now_us + (a->knows ? WAIT_US : 0),
			 bad_run_digest, a);
	else if (!peer.bad || !origin_is_shared(a->v.resource))
		bad_LIES(a);
	else
		peer.way->answer(a);
}

static void bad_on_broken(void *arg, enum wire_end why)
{
	(void)why;
	bad_free(arg);
}

static void bad_on_room(void *arg)
{
	struct asked *a = arg;

	if (a->answering && !a->drip)
		bad_push(a);
}

static const struct wire_ops bad_ops = {
	.on_head = bad_on_head,
	.on_bytes = bad_on_bytes,
	.on_end = bad_on_end,
	.on_broken = bad_on_broken,
	.on_room = bad_on_room,
};

static void bad_accept(void *arg, struct wire *wire)
{
	struct asked *a = calloc(1, sizeof(*a));

	(void)arg;
	if (!a)
		world_fail("the world itself is out of memory");
	a->wire = wire;
	a->next = peer.list;
	a->link = &peer.list;
	if (a->next)
		a->next->link = &a->next;
	peer.list = a;
	wire_accept(wire, &bad_ops, a);
}

/* The peer */

void bad_peer_start(unsigned way, unsigned nresources, uint32_t gap_us)
{
	peer.way = &bad_ways[way];
	peer.bad = peer.met = false;
	peer.nslices = 0;
	peer.nresources = nresources;
	peer.failures_max = FAILURES_MAX + UNDER_WAY_US / gap_us;
	peer.generation = 1;
	peer.listener = (struct wire_listener){
		.name = bad_peer_place,
		.place = PLACE,
		.accept = bad_accept,
	};
	wire_listen(&peer.listener);
}

void bad_peer_befall(void)
{
	for (unsigned i = 0; i < nodes_count(); i++) {
		if (!invariants_peer(i, "bad").digest)
			world_fail("node %u has no digest of the peer", i);
	}
	peer.bad = true;
	if (peer.way->listener == REFUSES)
		wire_unlisten(&peer.listener);
	for (int i = 0; peer.way->listener == HOLE && i < (int)nodes_count();
	     i++)
		wire_part(i, PLACE, EVER_US);
}

/* Whether it may be good: it never was asked so often, or it has answered. A
 * header that shows an object to be stale is an answer, and its body is not
 * waited for. */
static bool bad_may_be_good(const struct peer_follower_counters *c)
{
	return c->query_failed < TRIED || c->stale_hits || c->variant_misses;
}

static void bad_check_node(unsigned node)
{
	const struct peer_follower_status p = invariants_peer(node, "bad");
	uint64_t failed = p.counters.query_failed;
	uint64_t in_vain = p.counters.false_hits;

	peer.met |= failed + in_vain > 0;
	if (p.counters.remote_hits > peer.nslices)
		world_fail("a peer that %s has delivered", peer.way->name);
	if (peer.way->opens && !bad_may_be_good(&p.counters) &&
	    p.health == HEALTH_GOOD)
		world_fail("a peer that %s is good after %" PRIu64 " failures",
			   peer.way->name, failed);
	if (failed > peer.failures_max || in_vain > FALSE_MAX)
		world_fail("a peer that %s is asked %" PRIu64 " times in vain, "
			   "and %" PRIu64 " times without an answer",
			   peer.way->name, in_vain, failed);
}

void bad_peer_check(void)
{
	for (unsigned i = 0; peer.way && i < nodes_count(); i++)
		bad_check_node(i);
}

void bad_peer_stop(void)
{
	if (!peer.way)
		return;
	bad_met[peer.way - bad_ways] += peer.met;
	wire_unlisten(&peer.listener);
	while (peer.list)
		bad_free(peer.list);
	peer.way = NULL;
}

unsigned bad_peer_report(void)
{
	unsigned missed = 0;

	for (size_t i = 0; i < BAD_PEER_NWAYS; i++) {
		if (bad_met[i])
			continue;
		printf("# no world has met a peer that goes bad: %s\n",
		       bad_ways[i].name);
		missed++;
	}
	return missed;
}
