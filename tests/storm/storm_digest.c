/*
 * Digests. A mutated one has mostly its checksums put right, so that what is
 * behind them is reached.
 */
#include "tests/storm/storm_digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/cursor.h"
#include "codec/delta.h"
#include "codec/digest.h"
#include "codec/wire/frame.h"
#include "tests/codec/random.h"
#include "tests/storm/storm_body.h"
#include "tests/storm/storm_world.h"

enum {
	STORM_DIGEST_HASHES = 3,
	STORM_DIGEST_STALL_MS = 300,
};

static void storm_digest_add_keys(struct storm_digest *d, uint64_t *random,
				  unsigned n)
{
	struct scd_key key;
	char uri[64];

	while (n-- > 0) {
		bool good = storm_text_once_in(random, 2);
		int len = snprintf(
			uri, sizeof(uri), "http://%s.example/%s/%u",
			good ? "good" : "bad", good ? "good" : "u",
			(unsigned)random_below(random, good ? STORM_BODY_URLS
							    : STORM_URLS));

		scd_key_make(storm.secret, "GET", uri, (size_t)len, &key);
		scd_bloom_add(&d->now, &key);
		d->nkeys++;
	}
}

void storm_digest_free(struct storm_digest *d)
{
	scd_bloom_free(&d->now);
	scd_bloom_free(&d->before);
	*d = (struct storm_digest){0};
}

void storm_digest_restart(struct storm_digest *d, uint64_t *random)
{
	static const uint64_t sizes[] = {1 << 13, 1 << 14, 1 << 16,
					 40001,   1 << 18, 8192};
	uint64_t nbits = sizes[random_below(random, 6)];

	storm_digest_free(d);
	if (scd_bloom_init(&d->now, nbits, STORM_DIGEST_HASHES))
		abort();
	d->instance = random_next(random) | 1;
	d->generation = 1 + random_below(random, 1000);
	storm_digest_add_keys(d, random, (unsigned)(nbits / 40));
}

void storm_digest_advance(struct storm_digest *d, uint64_t *random)
{
	if (d->nkeys > d->now.nbits / 8) {
		storm_digest_restart(d, random);
		return;
	}
	scd_bloom_free(&d->before);
	if (scd_bloom_copy(&d->now, &d->before))
		abort();
	d->generation++;
	storm_digest_add_keys(d, random,
			      1 + (unsigned)random_below(random, 60));
}

/* The digest itself: full, or a delta from the generation before. */
static void storm_digest_encode(const struct storm_digest *d, unsigned kind,
				struct storm_text *out)
{
	struct scd_digest_info ids = {
		.instance = d->instance,
		.generation = d->generation,
		.base_generation = kind ? d->generation - 1 : 0,
		.nkeys = d->nkeys,
	};
	uint8_t *bytes = NULL;
	size_t len = 0;
	int error;

	if (kind == SCD_DELTA_XOR)
		error = scd_delta_encode(&d->before, &d->now, &ids, &bytes,
					 &len);
	else if (kind == SCD_DELTA_CONDITIONAL)
		error = scd_delta_encode_conditional(&d->before, &d->now, &ids,
						     &bytes, &len);
	else
		error = scd_digest_encode(&d->now, &ids, &bytes, &len);
	if (error)
		abort();
	storm_text_add(out, bytes, len);
	free(bytes);
}

static void storm_digest_put_u64(char *at, uint64_t value)
{
	struct scd__writer w = scd__writer((uint8_t *)at, 8);

	scd__write_u64(&w, value);
}

/* Changes a field of the header: to something near, large, or anything. */
static void storm_digest_change_field(struct storm_text *t, uint64_t *random)
{
	static const unsigned char fields[] = {8,  16, 24, 32, 40,
					       48, 56, 64, 72, 80};
	static const uint64_t values[] = {
		0,
		1,
		7,
		63,
		64,
		4096,
		UINT64_C(1) << 20,
		UINT64_C(1) << 23,
		UINT64_C(1) << 31,
		UINT64_C(1) << 32,
		UINT64_C(1) << 40,
		UINT64_C(1) << 63,
		UINT64_MAX,
	};
	size_t at = fields[random_below(random, sizeof(fields))];
	uint64_t value = values[random_below(random, 13)];

	if (storm_text_once_in(random, 4)) {
		at = 4 + random_below(random, 4);
		t->at[at] = (char)random_below(random, 8);
	} else {
		storm_digest_put_u64(t->at + at, value);
	}
}

static void storm_digest_repair(struct storm_text *t, uint64_t *random)
{
	if (t->len < SCD_DIGEST_HEADER_BYTES)
		return;
	memcpy(t->at, "SCD\1", 4);
	if (!storm_text_once_in(random, 10))
		storm_digest_put_u64(t->at + 80,
				     t->len - SCD_DIGEST_HEADER_BYTES);
	storm_digest_put_u64(t->at + 88,
			     scd__frame_checksum((const uint8_t *)t->at));
}

static void storm_digest_mutate(struct storm_text *t, uint64_t *random)
{
	struct storm_text payload = {0};
	size_t head = SCD_DIGEST_HEADER_BYTES;

	switch (random_below(random, 4)) {
	case 0:
		storm_text_mutate(t, random, 3);
		return;
	case 1:
		storm_digest_change_field(t, random);
		break;
	case 2:
		storm_digest_change_field(t, random);
		storm_digest_change_field(t, random);
		if (storm_text_once_in(random, 2))
			t->len = head +
				 random_below(random, 40) % (t->len - head + 1);
		break;
	default:
		storm_text_add(&payload, t->at + head, t->len - head);
		if (payload.len)
			storm_text_mutate(&payload, random, 3);
		t->len = head;
		storm_text_add(t, payload.at, payload.len);
		storm_text_free(&payload);
	}
	storm_digest_repair(t, random);
}

/* Header and body, by one of the answers that there are. */
static void storm_digest_print(struct storm_text *t,
			       const struct storm_digest *d, unsigned kind,
			       const struct storm_text *body, uint64_t *random)
{
	static const char *const ims[] = {"", "scd", "scd-conditional"};
	bool lie = random != NULL;
	uint64_t instance = d->instance, generation = d->generation;

	if (lie && storm_text_once_in(random, 6))
		instance = random_next(random);
	if (lie && storm_text_once_in(random, 6))
		generation = random_next(random) >> random_below(random, 64);
	storm_text_print(t,
			 "HTTP/1.1 %s\r\nETag: \"%016" PRIx64 "-%" PRIu64
			 "\"\r\nCache-Control: no-cache\r\nVary: A-IM\r\n"
			 "Content-Type: application/scd-digest\r\n",
			 kind ? "226 IM Used" : "200 OK", instance, generation);
	if (kind)
		storm_text_print(t,
				 "IM: %s\r\nDelta-Base: \"%016" PRIx64
				 "-%" PRIu64 "\"\r\n",
				 ims[kind], d->instance, d->generation - 1);
	if (lie && storm_text_once_in(random, 8)) {
		storm_text_print(t, "Transfer-Encoding: chunked\r\n\r\n%zx\r\n",
				 body->len);
		storm_text_add(t, body->at, body->len);
		storm_text_print(t, "\r\n0\r\n\r\n");
		return;
	}
	storm_text_print(t, "Content-Length: %zu\r\n\r\n", body->len);
	storm_text_add(t, body->at, body->len);
}

static void storm_digest_print_lie(struct storm_script *s,
				   const struct storm_digest *d, unsigned kind,
				   struct storm_text *body, uint64_t *random)
{
	static const char *const others[] = {
		"HTTP/1.1 304 Not Modified\r\n\r\n",
		"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 226 IM Used\r\nContent-Length: 3\r\n\r\nSCD",
		"HTTP/1.1 200 OK\r\n\r\nSCD",
		"HTTP/1.1 204 No\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 301 M\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 206 P\r\nContent-Length: 3\r\n\r\nSCD",
		"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 304 N\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nSCD",
	};
	uint64_t how = random_below(random, 10);

	if (how == 0) {
		storm_text_print(&s->text, "%s", STORM_CHOOSE(random, others));
	} else {
		if (how > 1)
			storm_digest_mutate(body, random);
		storm_digest_print(&s->text, d, how == 2 ? !kind : kind, body,
				   random);
		if (storm_text_once_in(random, 8))
			storm_text_mutate(&s->text, random, 3);
	}
	storm_script_send_torn(s, random);
	if (storm_text_once_in(random, 10))
		storm_script_add(s, STORM_PAUSE,
				 random_below(random, STORM_DIGEST_STALL_MS));
	if (storm_text_once_in(random, 6))
		storm_script_spoil(s, random);
	else if (storm_text_once_in(random, 4))
		storm_script_add(s, STORM_CLOSE, 0);
}

void storm_digest_answer(struct storm_script *s, struct storm_digest *d,
			 uint64_t known, bool lie, uint64_t *random)
{
	struct storm_text body = {0};
	unsigned kind = SCD_FULL;

	if (known == d->generation)
		storm_digest_advance(d, random);
	if (d->before.bits && known && known == d->generation - 1)
		kind = (unsigned)random_below(random, 3);
	storm_digest_encode(d, kind, &body);
	if (lie) {
		storm_digest_print_lie(s, d, kind, &body, random);
	} else {
		storm_digest_print(&s->text, d, kind, &body, NULL);
		storm_script_send(s);
	}
	storm_text_free(&body);
}
