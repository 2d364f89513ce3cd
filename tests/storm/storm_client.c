/*
 * Clients. What a hostile one reads must be well-formed as far as it goes,
 * and be about what it has asked for.
 */
#include "tests/storm/storm_client.h"

#include <stdio.h>
#include <string.h>

#include "codec/mix.h"
#include "tests/codec/random.h"
#include "tests/storm/storm_answer.h"
#include "tests/storm/storm_body.h"
#include "tests/storm/storm_log.h"
#include "tests/storm/storm_node.h"
#include "tests/storm/storm_request.h"
#include "tests/storm/storm_world.h"

enum {
	STORM_CLIENT_LIFE_MS = 6000,
	STORM_CLIENT_BOUND_MS = 15000, /* of a good request */
};

/* Hostile ones */

static bool storm_client_asked(const struct storm_link *l, char kind,
			       const char *what, size_t len)
{
	char own[40];

	if (kind == 'u')
		return storm_text_has(&l->script.text, what, len);
	if (kind != 'p')
		return true;
	snprintf(own, sizeof(own), "%016llx", (unsigned long long)l->id);
	return len == 16 && !memcmp(own, what, 16);
}

/* Of the first answer's status; 0: there is none. */
static size_t storm_client_hundreds(const struct storm_link *l)
{
	char digit = l->in.len > 9 ? l->in.at[9] : '0';

	return digit >= '1' && digit <= '5' ? (size_t)(digit - '0') : 0;
}

static void storm_client_end(struct storm_link *l)
{
	const char *what;
	size_t at = 0, len;
	char kind;

	storm.counts.requests += !l->refused;
	storm.counts.refused += l->refused;
	storm.counts.statuses[storm_client_hundreds(l)]++;
	if (l->role != &storm_client_data)
		return;
	storm_world_check_secret(l);
	while ((kind = storm_body_next_mark(&l->in, &at, &what, &len)))
		if (!storm_client_asked(l, kind, what, len))
			storm_log_finding("client %llx was sent what another "
					  "asked for: %c %.*s",
					  (unsigned long long)l->id, kind,
					  (int)len, what);
}

static void storm_client_input(struct storm_link *l)
{
	struct storm_answer a;
	bool head =
		l->script.text.len > 4 && !memcmp(l->script.text.at, "HEAD", 4);
	enum storm_answer_state state;

	if (l->in.len > 4 && memcmp(l->in.at, "HTTP", 4))
		storm_log_finding("client %llx was sent no response: %.*s",
				  (unsigned long long)l->id,
				  l->in.len < 100 ? (int)l->in.len : 100,
				  l->in.at);
	state = storm_answer_read(&a, l->in.at, l->in.len, head, l->ended);
	if (state == STORM_ANSWER_WRONG &&
	    (!a.head || !storm_text_has(&l->script.text, "HEAD", 4)))
		storm_log_finding("client %llx was sent %s",
				  (unsigned long long)l->id, a.wrong);
	if (state != STORM_ANSWER_PARTIAL)
		l->answered = true;
	storm_answer_free(&a);
}

/* Takes the tag of the node's own digest, to ask for what follows it. */
static void storm_client_peer_input(struct storm_link *l)
{
	struct storm_answer a;

	if (storm_answer_read(&a, l->in.at, l->in.len, false, l->ended) ==
		    STORM_ANSWER_WHOLE &&
	    storm_text_has(&l->script.text, "/scd/v1/digest", 14))
		storm_answer_field(&a, "ETag", storm.tag, sizeof(storm.tag));
	storm_answer_free(&a);
	storm_client_input(l);
}

bool storm_client_begin(uint64_t id)
{
	uint64_t which = scd__mix64(id ^ 1) % 20;
	enum storm_request_kind kind = which < 15   ? STORM_TO_DATA
				       : which < 18 ? STORM_TO_PEER
						    : STORM_TO_ADMIN;
	const struct storm_role *roles[] = {
		&storm_client_data, &storm_client_peer, &storm_client_admin};
	unsigned ports[] = {storm.data, storm.peer, storm.admin};
	struct storm_link *l =
		storm_net_connect(storm.net, ports[kind], roles[kind], id);

	if (!l)
		return false;
	l->limit_ms = l->began_ms + STORM_CLIENT_LIFE_MS;
	storm_request_make(&l->script, kind, id);
	storm_log_note(roles[kind]->name, id, l->script.text.at,
		       l->script.text.len);
	storm_link_play(l);
	return true;
}

unsigned storm_client_hostile(void)
{
	return storm_net_count(storm.net, &storm_client_data) +
	       storm_net_count(storm.net, &storm_client_peer) +
	       storm_net_count(storm.net, &storm_client_admin);
}

/* Good ones */

static bool storm_client_range(uint64_t id, size_t *from, size_t *to)
{
	size_t size = storm_body_size((unsigned)(id % STORM_BODY_URLS));

	if (scd__mix64(id ^ 2) % 6 || size < 2)
		return false;
	*from = scd__mix64(id ^ 3) % size;
	*to = *from + 1 + scd__mix64(id ^ 4) % (size - *from);
	return true;
}

static bool storm_client_heads(uint64_t id)
{
	return scd__mix64(id ^ 5) % 9 == 0;
}

static unsigned storm_client_version(const struct storm_answer *a,
				     unsigned number)
{
	char tag[64];
	unsigned version = 0, of = 0;

	if (!storm_answer_field(a, "ETag", tag, sizeof(tag)) ||
	    sscanf(tag, "\"v%u-%u\"", &version, &of) != 2 || of != number)
		return 0;
	return version;
}

/* What is wrong with the answer to a good request; null: nothing. */
static const char *storm_client_judge(uint64_t id, const struct storm_answer *a)
{
	unsigned number = (unsigned)(id % STORM_BODY_URLS);
	unsigned version = storm_client_version(a, number);
	size_t size = storm_body_size(number), from = 0, to = size;
	bool part = storm_client_range(id, &from, &to);

	if (a->status == 200) {
		from = 0;
		to = size;
	} else if (a->status != 206 || !part) {
		return "another status";
	}
	if (!version || version > storm.version)
		return "another's ETag";
	if (storm_client_heads(id))
		return NULL;
	if (a->body.len != to - from)
		return "a body of another length";
	if (!storm_body_is(number, version, from, a->body.at, a->body.len))
		return "a wrong body";
	return NULL;
}

static void storm_client_good_input(struct storm_link *l)
{
	struct storm_answer a;
	enum storm_answer_state state = storm_answer_read(
		&a, l->in.at, l->in.len, storm_client_heads(l->id), l->ended);
	const char *wrong = state == STORM_ANSWER_WRONG ? a.wrong : NULL;
	int64_t took_ms = storm_log_now_ms() - l->began_ms;

	if (state == STORM_ANSWER_WHOLE)
		wrong = storm_client_judge(l->id, &a);
	if (wrong)
		storm_log_finding("a good request, %llx for /good/%llu, was "
				  "answered with %s (status %u, %zu bytes)",
				  (unsigned long long)l->id,
				  (unsigned long long)(l->id % STORM_BODY_URLS),
				  wrong, a.status, a.body.len);
	if (state != STORM_ANSWER_PARTIAL) {
		l->data = l; /* it was answered */
		storm.counts.good += !wrong;
		if (took_ms > storm.counts.slowest_ms)
			storm.counts.slowest_ms = took_ms;
		storm_link_close(l);
	}
	storm_answer_free(&a);
}

static void storm_client_good_end(struct storm_link *l)
{
	if (!l->data && !storm_node_is_dying())
		storm_log_finding("a good request, %llx for /good/%llu, was "
				  "not answered in %lld ms: %s, %zu bytes",
				  (unsigned long long)l->id,
				  (unsigned long long)(l->id % STORM_BODY_URLS),
				  (long long)(storm_log_now_ms() - l->began_ms),
				  l->refused ? "refused"
				  : l->ended ? "closed"
					     : "open",
				  l->in.len);
}

int64_t storm_client_bound_ms(void)
{
	return (int64_t)(STORM_CLIENT_BOUND_MS * storm.patience);
}

bool storm_client_begin_good(uint64_t id)
{
	struct storm_link *l = storm_net_connect(storm.net, storm.data,
						 &storm_client_good, id);
	size_t from, to;

	if (!l)
		return false;
	l->limit_ms = l->began_ms + storm_client_bound_ms();
	storm_text_print(&l->script.text,
			 "%s /good/%llu HTTP/1.1\r\n"
			 "Host: good.example\r\n",
			 storm_client_heads(id) ? "HEAD" : "GET",
			 (unsigned long long)(id % STORM_BODY_URLS));
	if (storm_client_range(id, &from, &to))
		storm_text_print(&l->script.text, "Range: bytes=%zu-%zu\r\n",
				 from, to - 1);
	storm_text_print(&l->script.text, "\r\n");
	storm_script_send(&l->script);
	storm_script_add(&l->script, STORM_WAIT,
			 (size_t)storm_client_bound_ms() + 1000);
	storm_log_note("good client", id, l->script.text.at,
		       l->script.text.len);
	storm_link_play(l);
	return true;
}

const struct storm_role storm_client_data = {
	.name = "client",
	.on_input = storm_client_input,
	.on_end = storm_client_end,
};

const struct storm_role storm_client_peer = {
	.name = "client of the peer listener",
	.on_input = storm_client_peer_input,
	.on_end = storm_client_end,
};

const struct storm_role storm_client_admin = {
	.name = "client of the admin listener",
	.on_input = storm_client_input,
	.on_end = storm_client_end,
};

const struct storm_role storm_client_good = {
	.name = "good client",
	.on_input = storm_client_good_input,
	.on_end = storm_client_good_end,
};
