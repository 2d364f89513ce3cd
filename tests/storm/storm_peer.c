/*
 * Peers. A good URL is answered rightly, not at all, or in a way that can be
 * seen to be broken: whoever has the key could say anything of it, and no node
 * could know.
 */
#include "tests/storm/storm_peer.h"

#include <stdlib.h>
#include <string.h>

#include "tests/codec/random.h"
#include "tests/storm/storm_digest.h"
#include "tests/storm/storm_log.h"
#include "tests/storm/storm_origin.h"
#include "tests/storm/storm_response.h"
#include "tests/storm/storm_world.h"

static struct storm_digest storm_peer_digests[STORM_PEERS];
static uint64_t storm_peer_random;

void storm_peer_begin(uint64_t seed)
{
	storm_peer_random = seed;
	for (size_t i = 0; i < STORM_PEERS; i++)
		storm_digest_restart(&storm_peer_digests[i],
				     &storm_peer_random);
}

void storm_peer_end(void)
{
	for (size_t i = 0; i < STORM_PEERS; i++)
		storm_digest_free(&storm_peer_digests[i]);
}

static struct storm_digest *storm_peer_digest(const struct storm_link *l)
{
	size_t i = 0;

	while (i + 1 < STORM_PEERS && storm.peers[i] != l->port)
		i++;
	return &storm_peer_digests[i];
}

/* The generation that If-None-Match names, if it is of this instance. */
static uint64_t storm_peer_known(const struct storm_link *l,
				 const struct storm_digest *d)
{
	size_t len;
	const char *tag = storm_origin_field(&l->in, "If-None-Match", &len);
	char text[64];

	if (!tag || len < 20 || len >= sizeof(text))
		return 0;
	memcpy(text, tag, len);
	text[len] = '\0';
	if (strtoull(text + 1, NULL, 16) != d->instance)
		return 0;
	return strtoull(text + 18, NULL, 10);
}

/* Every other answer is right: after a failure the node waits. */
static void storm_peer_answer_digest(struct storm_link *l)
{
	struct storm_digest *d = storm_peer_digest(l);
	uint64_t seed = random_next(&storm_peer_random);
	bool lie = storm_text_once_in(&storm_peer_random, 2);

	storm_digest_answer(&l->script, d, storm_peer_known(l, d), lie, &seed);
	storm.counts.digests += lie;
	storm_log_note(lie ? "digest" : "right digest", seed, l->script.text.at,
		       l->script.text.len);
}

static void storm_peer_refuse(struct storm_script *s, uint64_t *random)
{
	static const char *const why[] = {
		"n2; fwd=stale",
		"n2; fwd=uri-miss",
		"n2; fwd=vary-miss",
		"\"",
		"n2; fwd=request",
		"",
		"n2;fwd",
		"a, n2; fwd=stale;detail=\"",
	};

	storm_text_print(&s->text,
			 "HTTP/1.1 504 Gateway Timeout\r\n"
			 "Cache-Status: %s\r\nContent-Length: 0\r\n\r\n",
			 STORM_CHOOSE(random, why));
	storm_script_send(s);
}

/* A good URL: right, or broken for all to see. */
static bool storm_peer_answer_good(struct storm_link *l, uint64_t *random)
{
	struct storm_script *s = &l->script;

	if (!storm_origin_answer_good(s, &l->in, random))
		return false;
	switch (random_below(random, 6)) {
	case 0:
		s->text.len = 0;
		storm_peer_refuse(s, random);
		break;
	case 1: /* a part of it */
		s->text.len = random_below(random, s->text.len);
		storm_script_send_torn(s, random);
		storm_script_add(s,
				 storm_text_once_in(random, 2) ? STORM_RESET
							       : STORM_CLOSE,
				 0);
		break;
	case 2: /* it stands still */
		s->text.len = random_below(random, s->text.len);
		storm_script_send(s);
		storm_script_add(s, STORM_PAUSE, 300);
		storm_script_add(s, STORM_CLOSE, 0);
		break;
	default:
		storm_script_send_torn(s, random);
	}
	return true;
}

/* What stands behind the authority: a client's target has that at least. */
static void storm_peer_strip_authority(struct storm_asked *asked)
{
	const char *slash;

	if (asked->target_len < 7 || memcmp(asked->target, "http://", 7))
		return;
	slash = memchr(asked->target + 7, '/', asked->target_len - 7);
	if (!slash)
		return;
	asked->target_len -= (size_t)(slash - asked->target);
	asked->target = slash;
}

static void storm_peer_answer_object(struct storm_link *l)
{
	struct storm_asked asked = {0};
	uint64_t seed;

	storm_origin_target(&l->in, &asked.target, &asked.target_len);
	storm_peer_strip_authority(&asked);
	asked.head = !memcmp(l->in.at, "HEAD", 4);
	seed = storm_origin_seed(asked.target, asked.target_len);
	storm.counts.objects++;
	if (!storm_peer_answer_good(l, &seed))
		storm_response_make(&l->script, &asked, seed);
	storm_log_note("object", seed, l->script.text.at, l->script.text.len);
}

static void storm_peer_input(struct storm_link *l)
{
	const char *wrong, *target;
	size_t len, target_len;

	if (l->script.count)
		return;
	len = storm_origin_measure(&l->in, &wrong);
	if (!len)
		return;
	if (wrong) {
		storm_log_note("peer was asked", l->id, l->in.at, l->in.len);
		storm_log_finding("a peer was sent %s: %.*s", wrong,
				  len < 200 ? (int)len : 200, l->in.at);
	}
	storm_origin_target(&l->in, &target, &target_len);
	l->script.text.len = l->script.covered = 0;
	if (target_len > 5 && !memcmp(target, "/scd/", 5))
		storm_peer_answer_digest(l);
	else
		storm_peer_answer_object(l);
	memmove(l->in.at, l->in.at + len, l->in.len - len);
	l->in.len -= len;
	storm_link_play(l);
}

static void storm_peer_rest(struct storm_link *l)
{
	if (l->in.len && !l->ended)
		storm_peer_input(l);
}

const struct storm_role storm_peer_role = {
	.name = "peer",
	.on_input = storm_peer_input,
	.on_rest = storm_peer_rest,
};
