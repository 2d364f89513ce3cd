/*
 * A thousand peers in one process, for a node to follow (bench_crowd.py): each
 * publishes a list of its own objects, and replaces some of them every second.
 * What answers is what answers in digestd (peers/digest_api.h); but all peers
 * share a server, and which of them is meant is said by the address in Host:
 * peer i has the i-th address from 127.1.0.1 on.
 *
 *     bench_crowd PORT PEERS OBJECTS CHANGES
 *
 * It prints the port (0: any) when all is published, and from the first line
 * that comes on its standard input on, makes so many changes a second of each
 * peer, evenly spread over the second; until its standard input ends. Tokens
 * are not looked at.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/error.h"
#include "digestd/http/fields.h"
#include "digestd/mesh/catalog.h"
#include "digestd/mesh/list_history.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_api.h"
#include "digestd/peers/digest_request.h"
#include "digestd/server/server.h"
#include "tests/codec/random.h"

enum {
	FIRST = 0x7f010001, /* 127.1.0.1 */
	WAIT_S = 30,
	TICK_MS = 10,
	SECOND_MS = 1000,
	HEADER_BYTES = 4096,
};

struct crowd_peer {
	struct digest_api *api;
	struct catalog *catalog;
	struct list_history *history;
	struct generations *generations;
	struct scd_key *keys;
	size_t oldest;
};

struct crowd {
	struct loop *loop;
	struct server *server;
	struct crowd_peer *peers;
	unsigned npeers, nobjects, nchanges;
	uint64_t random;
	struct loop_timer timer;
	int64_t began_ms;
	uint64_t changed; /* peers, since then */
	struct loop_watch input;
	bool ends;
};

static void crowd_need(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "bench_crowd: %s: %d\n", what, error);
	exit(1);
}

static void crowd_publish(struct crowd_peer *p)
{
	struct catalog_snapshot snapshot;
	struct list_publication *list;
	struct publication *publication;

	catalog_snapshot_changes(p->catalog, 0, &snapshot);
	crowd_need(list_history_publish(p->history, &snapshot, &list), "list");
	crowd_need(generations_publish(p->generations, &snapshot,
				       &publication), "publication");
	catalog_snapshot_free(&snapshot);
	publication->list = list;
	digest_api_publish(p->api, publication);
}

static void crowd_take_object(struct crowd *c, struct crowd_peer *p, size_t i)
{
	p->keys[i].lo = random_next(&c->random);
	p->keys[i].hi = random_next(&c->random);
	catalog_add(p->catalog, &p->keys[i]);
}

static void crowd_change(struct crowd *c, struct crowd_peer *p)
{
	for (unsigned i = 0; i < c->nchanges; i++) {
		catalog_remove(p->catalog, &p->keys[p->oldest]);
		crowd_take_object(c, p, p->oldest);
		p->oldest = (p->oldest + 1) % c->nobjects;
	}
	crowd_publish(p);
}

static void crowd_make_peer(struct crowd *c, unsigned number)
{
	const struct list_shape shape = { 1e-2 / c->npeers, c->nobjects };
	struct crowd_peer *p = &c->peers[number];

	p->keys = calloc(c->nobjects, sizeof(*p->keys));
	crowd_need(!p->keys, "memory");
	crowd_need(catalog_new(&p->catalog, 0, 1), "catalog");
	catalog_note_changes(p->catalog);
	crowd_need(list_history_new(&p->history, number + 1, &shape),
		   "history");
	crowd_need(generations_new(&p->generations, number + 1, 0),
		   "generations");
	crowd_need(digest_api_new(&p->api, WAIT_S, &digest_paths_held), "api");
	for (unsigned i = 0; i < c->nobjects; i++)
		crowd_take_object(c, p, i);
	crowd_publish(p);
}

static void crowd_free_peer(struct crowd_peer *p)
{
	digest_api_free(&p->api);
	generations_free(&p->generations);
	list_history_free(&p->history);
	catalog_free(&p->catalog);
	free(p->keys);
}

/* The clock */

static void crowd_on_timer(void *arg)
{
	struct crowd *c = arg;
	const int64_t now_ms = loop_now_ms(c->loop);
	uint64_t due = (uint64_t)(now_ms - c->began_ms) * c->npeers / SECOND_MS;

	/* on a machine that has no time for it, fewer, and requests */
	if (due > c->changed + c->npeers / 10 + 1)
		due = c->changed + c->npeers / 10 + 1;
	for (; c->changed < due; c->changed++)
		crowd_change(c, &c->peers[c->changed % c->npeers]);
	loop_timer_set(c->loop, &c->timer, now_ms + TICK_MS, crowd_on_timer, c);
}

static void crowd_on_input(void *arg, unsigned events)
{
	struct crowd *c = arg;
	char byte;

	(void)events;
	c->ends = read(STDIN_FILENO, &byte, 1) != 1;
	if (c->ends || c->timer.loop || !c->nchanges)
		return;
	c->began_ms = loop_now_ms(c->loop);
	crowd_on_timer(c);
}

/* Requests */

static struct crowd_peer *crowd_find(const struct crowd *c,
				     const struct exchange *x)
{
	const struct server_request *r = exchange_request(x);
	const char *host = fields_get(r->fields, "Host");
	char text[INET_ADDRSTRLEN] = "";
	struct in_addr address;
	uint32_t number;

	if (host)
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(host, ":"),
			 host);
	if (inet_pton(AF_INET, text, &address) != 1)
		return NULL;
	number = ntohl(address.s_addr) - FIRST;
	return number < c->npeers ? &c->peers[number] : NULL;
}

static void crowd_on_request(void *arg, struct exchange *x)
{
	struct crowd_peer *p = crowd_find(arg, x);

	if (p)
		digest_api_handler.on_request(p->api, x);
	else
		exchange_reply_error(x, 404, NULL);
}

static void crowd_on_done(void *arg, struct exchange *x, enum exchange_end end)
{
	struct crowd_peer *p = crowd_find(arg, x);

	if (p)
		digest_api_handler.on_done(p->api, x, end);
}

static const struct server_handler crowd_handler = {
	.on_request = crowd_on_request,
	.on_done = crowd_on_done,
};

static void crowd_listen(struct crowd *c, const char *port)
{
	char listen[32];
	const struct server_settings settings = {
		.listen = listen,
		.max_connections = 3 * c->npeers + 10,
		.max_header_bytes = HEADER_BYTES,
		.header_ms = 10000,
		.idle_ms = 60000,
	};

	snprintf(listen, sizeof(listen), "0.0.0.0:%s", port);
	crowd_need(server_new(c->loop, &settings, &crowd_handler, c,
			      &c->server), "listen");
	printf("%u\n", server_port(c->server));
	fflush(stdout);
}

static void crowd_run(struct crowd *c, const char *port)
{
	crowd_need(loop_new(&c->loop), "loop");
	c->peers = calloc(c->npeers, sizeof(*c->peers));
	crowd_need(!c->peers, "memory");
	for (unsigned i = 0; i < c->npeers; i++)
		crowd_make_peer(c, i);
	crowd_listen(c, port);
	crowd_need(loop_watch(c->loop, &c->input, STDIN_FILENO, LOOP_READ,
			      crowd_on_input, c), "input");
	while (!c->ends)
		loop_turn(c->loop, -1);
	loop_unwatch(c->loop, &c->input);
	loop_timer_clear(c->loop, &c->timer);
	server_free(&c->server);
	loop_turn(c->loop, 0);
	for (unsigned i = 0; i < c->npeers; i++)
		crowd_free_peer(&c->peers[i]);
	free(c->peers);
	loop_free(&c->loop);
}

static unsigned crowd_number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	crowd_need(*end || !*text || n > 1000000, text);
	return (unsigned)n;
}

int main(int argc, char **argv)
{
	struct crowd c = { .random = 2026 };

	if (argc != 5) {
		fputs("bench_crowd PORT PEERS OBJECTS CHANGES\n", stderr);
		return 2;
	}
	c.npeers = crowd_number(argv[2]);
	c.nobjects = crowd_number(argv[3]);
	c.nchanges = crowd_number(argv[4]);
	crowd_need(!c.npeers || !c.nobjects, "no peers, or no objects");
	crowd_run(&c, argv[1]);
	return 0;
}
