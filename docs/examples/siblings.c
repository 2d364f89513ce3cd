/*
 * Two caches that tell each other what they hold, with libscd. It is a whole
 * program, so that it can be built and changed:
 *
 *     cc siblings.c -o siblings $(pkg-config --cflags --libs libscd)
 *
 * North and south stand for two processes. What goes from one to the other are
 * buffers of bytes; how they travel, over HTTP for example, is left out.
 *
 *     north                              south
 *     store, evict -> counting filter
 *     full digest ---------------------> filter -> column of an index
 *     store, evict -> counting filter
 *     delta ---------------------------> filter -> the same column
 *                                        lookup: who may have an object?
 */
#include <scd/scd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS = 1000, PEERS = 2, NORTH = 0 };

/* The same in all caches of a cluster, and known to nobody else. */
static const uint8_t secret[SCD_SECRET_BYTES] = "of this cluster";

/* Errors here are faults of the program, or there is no memory. */
static void must(int error)
{
	if (error) {
		fprintf(stderr, "siblings: %s\n", scd_strerror(error));
		exit(1);
	}
}

/* An object is known by its method and the canonical form of its URI. */
static struct scd_key key_of(const char *uri)
{
	char canonical[256];
	struct scd_key key = {0, 0};
	size_t len;

	must(scd_uri_canonical(uri, strlen(uri), canonical, sizeof(canonical),
			       &len));
	scd_key_make(secret, "GET", canonical, len, &key);
	return key;
}

static struct scd_key object(unsigned i)
{
	char uri[64];

	snprintf(uri, sizeof(uri), "http://Example.com:80/%u", i);
	return key_of(uri);
}

/* A cache that publishes. */
struct owner {
	struct scd_counting *filter; /* in step with what it holds */
	struct scd_bloom published;  /* the filter when it was sent last */
	struct scd_digest_info ids;  /* instance, generation, number of keys */
};

static void owner_store(struct owner *o, unsigned i)
{
	struct scd_key key = object(i);

	scd_counting_add(o->filter, &key);
	o->ids.nkeys++;
}

static void owner_evict(struct owner *o, unsigned i)
{
	struct scd_key key = object(i);

	scd_counting_remove(o->filter, &key);
	o->ids.nkeys--;
}

/* A filter whose size on the wire and in memory suits so many objects. */
static void owner_start(struct owner *o, unsigned objects)
{
	const struct scd_goal goal = {.expected = objects,
				      .peers = PEERS,
				      .fp = 0.01,
				      .max_update = SCD_UPDATE_CONDITIONAL};
	struct scd_tuning tuning;

	must(scd_tune(&goal, &tuning));
	must(scd_counting_new(&o->filter, tuning.nbits, tuning.nhash));
	/* Random in earnest: another one whenever the cache starts. */
	o->ids = (struct scd_digest_info){.instance = 4711};
}

/* The first message. The caller frees *bytes. */
static void owner_publish_full(struct owner *o, uint8_t **bytes, size_t *len)
{
	o->ids.generation = 1;
	must(scd_bloom_copy(scd_counting_bloom(o->filter), &o->published));
	must(scd_digest_encode(&o->published, &o->ids, bytes, len));
}

/* All others: what has changed since the last. The caller frees *bytes. */
static void owner_publish_delta(struct owner *o, uint8_t **bytes, size_t *len)
{
	const struct scd_bloom *now = scd_counting_bloom(o->filter);

	o->ids.base_generation = o->ids.generation++;
	must(scd_delta_encode_conditional(&o->published, now, &o->ids, bytes,
					  len));
	scd_bloom_free(&o->published);
	must(scd_bloom_copy(now, &o->published));
}

/* A cache that follows: the filter of each peer, and all of them in an index,
 * which a lookup asks at once. */
struct reader {
	struct scd_bloom peer[PEERS];
	struct scd_digest_info held[PEERS];
	struct scd_index *index;
};

/*
 * Takes a message of a peer, full or delta. What others send is not trusted:
 * on any error the reader goes on with what it has, and asks for a full digest
 * next.
 */
static int reader_take(struct reader *r, unsigned peer, const uint8_t *bytes,
		       size_t len)
{
	const struct scd_base base = {.bloom = &r->peer[peer],
				      .instance = r->held[peer].instance,
				      .generation = r->held[peer].generation};
	struct scd_digest_info info;
	struct scd_bloom next;
	int error = scd_digest_parse(bytes, len, NULL, &info);

	if (error)
		return error;
	if (!scd_digest_is_delta(&info))
		error = scd_digest_decode(bytes, len, NULL, &info, &next);
	else if (base.bloom->bits)
		error = scd_delta_apply(bytes, len, NULL, &base, &info, &next);
	else
		error = SCD_EBASE;
	if (error)
		return error;
	if (!r->index)
		error = scd_index_new(&r->index, info.nbits, PEERS);
	if (!error)
		error = scd_index_set(r->index, peer, &next);
	if (error) {
		scd_bloom_free(&next);
		return error;
	}
	scd_bloom_free(&r->peer[peer]);
	r->peer[peer] = next;
	r->held[peer] = info;
	return 0;
}

static unsigned reader_count(const struct reader *r, unsigned first,
			     unsigned end)
{
	unsigned found = 0;

	for (unsigned i = first; i < end; i++) {
		struct scd_key key = object(i);
		uint64_t who; /* a word has up to 64 columns */

		if (scd_index_lookup(r->index, &key, &who))
			found += who >> NORTH & 1;
	}
	return found;
}

int main(void)
{
	struct owner north = {0};
	struct reader south = {0};
	uint8_t *full, *delta;
	size_t full_len, delta_len;

	owner_start(&north, OBJECTS);
	for (unsigned i = 0; i < OBJECTS; i++)
		owner_store(&north, i);
	owner_publish_full(&north, &full, &full_len);
	must(reader_take(&south, NORTH, full, full_len));
	printf("south knows %u of %d objects\n",
	       reader_count(&south, 0, OBJECTS), OBJECTS);

	for (unsigned i = 0; i < 10; i++) { /* one percent is replaced */
		owner_evict(&north, i);
		owner_store(&north, OBJECTS + i);
	}
	owner_publish_delta(&north, &delta, &delta_len);
	delta[delta_len / 2] ^= 1; /* a damaged message changes nothing */
	printf("damaged: %s\n",
	       reader_take(&south, NORTH, delta, delta_len) ? "refused"
							    : "taken");
	delta[delta_len / 2] ^= 1;
	must(reader_take(&south, NORTH, delta, delta_len));
	printf("south knows %u of 10 new objects\n",
	       reader_count(&south, OBJECTS, OBJECTS + 10));
	printf("the delta is %s\n",
	       delta_len < full_len / 4 ? "small" : "large");

	free(delta);
	free(full);
	scd_index_free(&south.index);
	scd_bloom_free(&south.peer[NORTH]);
	scd_bloom_free(&north.published);
	scd_counting_free(&north.filter);
	return 0;
}
