/*
 * Lists of peers: what each of them has is found in every view, however lists
 * change, come and go meanwhile, in another thread; and what frames there are
 * that do not fit.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/mesh/digest_answer.h"
#include "digestd/mesh/list_history.h"
#include "digestd/mesh/peer_table.h"
#include "digestd/mesh/peerset.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { NPEERS = 5, KEYS = 2000, MOST = 1 << 16, NREADERS = 3 };

/* A peer: its catalog, what it publishes, and what is known of it here. */
struct node {
	uint64_t instance, random;
	struct catalog *catalog;
	struct list_history *history;
	struct list_publication *published;
	struct scd_key *keys;
	size_t nkeys;
	struct peer_slot slot;
	struct peer_digest *digest; /* null: nothing is known */
};

static void node_add(struct node *n, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct scd_key *key = &n->keys[n->nkeys++];

		assert_true(n->nkeys < MOST);
		key->lo = random_next(&n->random);
		key->hi = random_next(&n->random);
		catalog_add(n->catalog, key);
	}
}

/* But for the first, which stays. */
static void node_remove(struct node *n, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = 1 + random_next(&n->random) % (n->nkeys - 1);

		catalog_remove(n->catalog, &n->keys[at]);
		n->keys[at] = n->keys[--n->nkeys];
	}
}

static void node_publish(struct node *n)
{
	struct catalog_snapshot snapshot;

	list_publication_free(n->published);
	catalog_snapshot_changes(n->catalog, 0, &snapshot);
	assert_int_equal(list_history_publish(n->history, &snapshot,
					      &n->published),
			 SCD_OK);
	catalog_snapshot_free(&snapshot);
}

static void node_start(struct node *n, uint64_t instance)
{
	const struct list_shape shape = { .001, 0 };

	*n = (struct node){ .instance = instance, .random = instance };
	n->keys = malloc(MOST * sizeof(*n->keys));
	assert_non_null(n->keys);
	assert_int_equal(catalog_new(&n->catalog, 1 << 12, 3), SCD_OK);
	catalog_note_changes(n->catalog);
	assert_int_equal(list_history_new(&n->history, instance, &shape),
			 SCD_OK);
	node_add(n, KEYS);
	node_publish(n);
}

static void node_end(struct node *n)
{
	list_publication_free(n->published);
	list_history_free(&n->history);
	catalog_free(&n->catalog);
	peer_digest_unref(n->digest);
	free(n->keys);
}

static void node_keep(struct node *n, struct peer_digest *d)
{
	peer_digest_unref(n->digest);
	n->digest = d;
}

static void follow_blob(struct node *n, const struct blob *full)
{
	const struct peer_digest_bytes in = { full->bytes, full->len, NULL,
					      NULL, NULL };
	struct scd_digest_info info;
	struct peer_digest *d;

	assert_int_equal(peer_digest_read_list(&in, &n->slot, &info, &d),
			 SCD_OK);
	node_keep(n, d);
}

static void follow_full(struct node *n)
{
	follow_blob(n, n->published->full);
	assert_int_equal(n->digest->generation, n->published->full_generation);
}

static int read_frames(struct node *n, const uint8_t *bytes, size_t len)
{
	const struct peer_digest_bytes in = { bytes, len, NULL, n->digest,
					      NULL };
	struct scd_digest_info info;
	struct peer_digest *d;
	int error = peer_digest_read_frames(&in, &info, &d);

	if (!error)
		node_keep(n, d);
	return error;
}

static void follow_frames(struct node *n)
{
	size_t step = list_publication_find(n->published,
					    n->digest->generation);
	struct blob *frames = list_publication_frames(n->published, step);

	assert_int_equal(read_frames(n, frames->bytes, frames->len), SCD_OK);
	assert_int_equal(n->digest->generation, n->published->generation);
	blob_unref(frames);
}

static struct peerset *view_of(const struct peerset *last,
			       const struct node *nodes, size_t n)
{
	struct peerset_peer peers[NPEERS];

	for (size_t i = 0; i < n; i++)
		peers[i] = (struct peerset_peer){ .id = (uint32_t)i,
						  .usable = true,
						  .digest = nodes[i].digest,
						  .name = "a",
						  .url = "b" };
	return peerset_next(last, peers, n);
}

static bool finds(const struct peerset *view, const struct scd_key *key,
		  uint32_t peer)
{
	const struct peerset_keys keys = { key, NULL };
	uint32_t out[NPEERS];
	size_t n = peerset_lookup(view, &keys, out, NPEERS);

	for (size_t i = 0; i < n; i++) {
		if (out[i] == peer)
			return true;
	}
	return false;
}

/* Each peer's keys are found with it, and few others. */
static void check_view(const struct peerset *view, const struct node *nodes,
		       size_t n)
{
	uint64_t random = 99;
	unsigned lies = 0;

	for (uint32_t i = 0; i < n; i++) {
		for (size_t k = 0; k < nodes[i].nkeys; k++)
			assert_true(finds(view, &nodes[i].keys[k], i));
		for (unsigned k = 0; k < 1000; k++) {
			struct scd_key key = { random_next(&random), 0 };

			lies += finds(view, &key, i);
		}
		assert_true(nodes[i].digest->fp > 0 &&
			    nodes[i].digest->fp < .01);
	}
	assert_true(lies < n * 1000 / 100);
}

static void start_nodes(struct node nodes[NPEERS], struct peer_table *t)
{
	for (unsigned i = 0; i < NPEERS; i++) {
		node_start(&nodes[i], i + 1);
		assert_true(peer_table_claim(t, &nodes[i].slot));
		follow_full(&nodes[i]);
	}
}

static void end_nodes(struct node nodes[NPEERS])
{
	for (unsigned i = 0; i < NPEERS; i++)
		node_end(&nodes[i]);
}

static void test_views(void **state)
{
	struct node nodes[NPEERS];
	struct peerset *view, *next;
	struct peer_table *t;

	(void)state;
	assert_int_equal(peer_table_new(&t, NPEERS), SCD_OK);
	start_nodes(nodes, t);
	view = view_of(NULL, nodes, NPEERS);
	check_view(view, nodes, NPEERS);
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < NPEERS; i++) {
			node_remove(&nodes[i], i * 20);
			node_add(&nodes[i], i * 30);
			node_publish(&nodes[i]);
			if (list_publication_find(nodes[i].published,
						  nodes[i].digest->generation) <
			    nodes[i].published->nsteps)
				follow_frames(&nodes[i]);
			else
				follow_full(&nodes[i]);
		}
		next = view_of(view, nodes, NPEERS);
		peerset_unref(view);
		view = next;
		check_view(view, nodes, NPEERS);
	}
	assert_true(peer_table_memory(t) > NPEERS * KEYS * (size_t)4);
	peerset_unref(view);
	peer_table_unref(t);
	end_nodes(nodes);
}

/* A number that a peer has left is another's once no view knows it. */
static void test_numbers(void **state)
{
	struct peer_slot slots[64], again;
	struct peer_table_use *use;
	struct peer_table *t;
	unsigned n = 0;

	(void)state;
	assert_int_equal(peer_table_new(&t, 10), SCD_OK);
	for (; peer_table_claim(t, &slots[n]); n++)
		assert_int_equal(slots[n].number, n);
	assert_int_equal(n, 15);
	use = peer_table_begin(t);
	peer_table_leave(&slots[3]);
	assert_false(peer_table_claim(t, &again));
	peer_table_end(t, use);
	assert_true(peer_table_claim(t, &again));
	assert_int_equal(again.number, 3);
	peer_table_leave(&slots[5]); /* no view has seen it */
	use = peer_table_begin(t);
	assert_true(peer_table_claim(t, &again));
	assert_int_equal(again.number, 5);
	peer_table_end(t, use);
	peer_table_unref(t);
}

/* What a table takes besides its lists. */
static size_t table_bytes(struct peer_table *t, unsigned nlists)
{
	size_t bytes = peer_table_memory(t);

	for (unsigned i = 0; i < nlists; i++)
		bytes -= scd_list_memory(
			peer_table_list(&(struct peer_slot){ t, i }));
	return bytes;
}

/* A table in which one peer after the other gets a list; npeers have come.
 * Returns how often it grew. */
static unsigned fill_table(struct peer_table *t, unsigned npeers)
{
	size_t before = table_bytes(t, 0);
	unsigned grown = 0;

	for (unsigned i = 0; i < npeers; i++) {
		struct node n;

		node_start(&n, i + 1);
		n.slot = (struct peer_slot){ t, i };
		follow_full(&n);
		peerset_unref(view_of(NULL, &n, 1)); /* so that old goes */
		grown += table_bytes(t, i + 1) > before + before / 8;
		before = table_bytes(t, i + 1);
		node_end(&n);
	}
	return grown;
}

/* A table that gets many lists one after the other has room for them in time,
 * and does not wait in vain with much more. */
static void test_room(void **state)
{
	enum { MANY = 128, HERE = 32 };
	struct peer_slot slot;
	struct peer_table *t;

	(void)state;
	for (unsigned all = 0; all < 2; all++) {
		const unsigned nlists = all ? MANY : HERE;

		assert_int_equal(peer_table_new(&t, MANY), SCD_OK);
		for (unsigned i = 0; i < MANY; i++)
			assert_true(peer_table_claim(t, &slot));
		assert_in_range(fill_table(t, nlists), 1, 6);
		assert_in_range(table_bytes(t, nlists), KEYS * nlists * 3,
				KEYS * nlists * (all ? 4 : 14));
		peer_table_unref(t);
	}
}

/* The oldest go, and others come. */
static void node_turn(struct node *n, size_t count)
{
	for (size_t i = 0; i < count; i++)
		catalog_remove(n->catalog, &n->keys[i]);
	n->nkeys -= count;
	memmove(n->keys, n->keys + count, n->nkeys * sizeof(*n->keys));
	node_add(n, count);
}

/* Takes what a peer that knows of ages is answered. Returns the bytes. */
static size_t follow_answer(struct node *n)
{
	const struct publication p = { .instance = n->instance,
				       .generation = n->published->generation,
				       .list = n->published };
	const struct digest_ask ask = {
		.tags = { { n->instance, n->digest->generation, true } },
		.ntags = 1,
		.takes_lists = true,
		.takes_frames = true,
		.takes_aged = n->digest->has_ages,
		.takes_ages = peer_digest_wants_ages(n->digest),
	};
	const struct digest_answer a = digest_answer_to(&ask, &p, 0);
	struct blob *body;
	size_t len;

	if (a.kind == DIGEST_ANSWER_UNCHANGED)
		return 0;
	assert_int_equal(a.kind, DIGEST_ANSWER_DELTA);
	body = digest_answer_frames(&a, &p);
	len = body->len;
	assert_int_equal(read_frames(n, body->bytes, len), SCD_OK);
	assert_int_equal(n->digest->generation, p.generation);
	blob_unref(body);
	return len;
}

/* A peer asks for ages when a quarter has gone, gets them once, and after that
 * fewer bytes than by rank. */
static void test_ages(void **state)
{
	size_t by_age = 0, by_rank = 0;
	unsigned aged = 0, told = 0;
	struct peer_table *t;
	struct node n;

	(void)state;
	assert_int_equal(peer_table_new(&t, 1), SCD_OK);
	node_start(&n, 7);
	node_add(&n, 3000);
	node_publish(&n);
	assert_true(peer_table_claim(t, &n.slot));
	follow_full(&n);
	for (unsigned i = 0; i < 300; i++) {
		const bool had = n.digest->has_ages;
		size_t len;

		node_turn(&n, 30);
		node_publish(&n);
		len = follow_answer(&n);
		len += follow_answer(&n); /* at once, if it wants ages */
		told += n.digest->has_ages && !had;
		if (i < 200)
			continue;
		aged += n.digest->has_ages;
		by_age += len;
		by_rank += list_publication_bytes(n.published,
						  n.published->nsteps - 1);
	}
	assert_int_equal(told, 1);
	assert_int_equal(aged, 100);
	assert_true(by_age + 100 * 30 * 5 / 8 < by_rank);
	for (size_t i = 0; i < n.nkeys; i++)
		assert_true(scd_list_has(peer_table_list(&n.slot),
					 &n.keys[i]));
	assert_int_equal(n.digest->nkeys, n.nkeys);
	peer_table_remove(&n.slot);
	node_end(&n);
	peer_table_unref(t);
}

/* Ages of another list, and such as are there already, are refused. */
static void test_bad_ages(void **state)
{
	struct peer_table *t;
	struct blob *ages;
	struct node n;

	(void)state;
	assert_int_equal(peer_table_new(&t, 1), SCD_OK);
	node_start(&n, 7);
	node_add(&n, 2000);
	node_publish(&n);
	assert_true(peer_table_claim(t, &n.slot));
	follow_full(&n);
	ages = blob_ref(n.published->ages);
	node_turn(&n, 10);
	node_publish(&n);
	follow_frames(&n);
	assert_int_equal(read_frames(&n, ages->bytes, ages->len),
			 SCD_ECHECKSUM);
	assert_false(n.digest->has_ages);
	blob_unref(ages);
	ages = n.published->ages;
	assert_int_equal(n.published->full_generation, n.digest->generation);
	assert_int_equal(read_frames(&n, ages->bytes, ages->len), SCD_OK);
	assert_true(n.digest->has_ages);
	assert_int_equal(read_frames(&n, ages->bytes, ages->len), SCD_EBASE);
	peer_table_remove(&n.slot);
	assert_int_equal(read_frames(&n, ages->bytes, ages->len), SCD_EBASE);
	node_end(&n);
	peer_table_unref(t);
}

/* Frames that do not fit change nothing, but for what went before them. */
static void test_bad_frames(void **state)
{
	struct peer_table *t;
	struct blob *base, *frames;
	unsigned misnumbered = 0;
	struct node n;
	uint8_t *bytes;

	(void)state;
	assert_int_equal(peer_table_new(&t, 1), SCD_OK);
	node_start(&n, 7);
	assert_true(peer_table_claim(t, &n.slot));
	follow_full(&n);
	base = blob_ref(n.published->full);
	assert_int_equal(read_frames(&n, (const uint8_t *)"", 0), SCD_ETRUNC);
	node_add(&n, 50);
	node_publish(&n);
	frames = list_publication_frames(
		n.published,
		list_publication_find(n.published, n.digest->generation));
	bytes = malloc(2 * frames->len);
	assert_non_null(bytes);
	for (size_t len = 0; len < frames->len; len++) {
		memcpy(bytes, frames->bytes, frames->len);
		assert_int_equal(read_frames(&n, bytes, len), SCD_ETRUNC);
		bytes[len] ^= 8;
		if (read_frames(&n, bytes, frames->len))
			continue;
		/* the number of the generation: no list is wrong by that */
		assert_int_not_equal(n.digest->generation,
				     n.published->generation);
		misnumbered++;
		follow_blob(&n, base);
	}
	assert_true(misnumbered <= 1);
	/* the second has another base; the list has gone on to it */
	memcpy(bytes, frames->bytes, frames->len);
	memcpy(bytes + frames->len, frames->bytes, frames->len);
	assert_int_equal(read_frames(&n, bytes, 2 * frames->len),
			 SCD_ECHECKSUM);
	assert_int_equal(read_frames(&n, bytes, frames->len), SCD_EBASE);
	follow_full(&n);
	assert_int_equal(read_frames(&n, bytes, frames->len), SCD_ECHECKSUM);
	peer_table_remove(&n.slot);
	assert_int_equal(read_frames(&n, bytes, frames->len), SCD_EBASE);
	free(bytes);
	blob_unref(base);
	blob_unref(frames);
	node_end(&n);
	peer_table_unref(t);
}

/* Readers under views, the thread that decodes, and the loop. */

struct shared {
	pthread_mutex_t lock; /* guards view */
	struct peerset *view;
	struct scd_key stays[NPEERS];
	atomic_bool end;
	atomic_uint missed, lookups;
	struct node *nodes;
};

static struct peerset *shared_get(struct shared *s)
{
	struct peerset *view;

	pthread_mutex_lock(&s->lock);
	view = peerset_ref(s->view);
	pthread_mutex_unlock(&s->lock);
	return view;
}

static void *look_up(void *arg)
{
	struct shared *s = arg;

	while (!atomic_load(&s->end)) {
		struct peerset *view = shared_get(s);

		for (uint32_t i = 0; i < 100; i++) {
			uint32_t peer = i % NPEERS;

			if (!finds(view, &s->stays[peer], peer))
				atomic_fetch_add(&s->missed, 1);
			atomic_fetch_add(&s->lookups, 1);
		}
		peerset_unref(view);
	}
	return NULL;
}

/* One job of the decoder: of each peer, many come and few go; or another
 * list. */
static void *decode(void *arg)
{
	struct shared *s = arg;

	for (unsigned i = 0; i < NPEERS; i++) {
		struct node *n = &s->nodes[i];

		if (list_publication_find(n->published,
					  n->digest->generation) <
		    n->published->nsteps)
			follow_frames(n);
		else
			follow_full(n);
	}
	return NULL;
}

static void test_readers_and_a_decoder(void **state)
{
	struct shared s = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t readers[NREADERS], decoder;
	struct node nodes[NPEERS];
	struct peer_table *t;

	(void)state;
	assert_int_equal(peer_table_new(&t, NPEERS), SCD_OK);
	start_nodes(nodes, t);
	s.nodes = nodes;
	for (unsigned i = 0; i < NPEERS; i++)
		s.stays[i] = nodes[i].keys[0];
	s.view = view_of(NULL, nodes, NPEERS);
	for (unsigned i = 0; i < NREADERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, look_up, &s),
				 0);
	for (unsigned round = 0; round < 40; round++) {
		struct peerset *next, *last;

		for (unsigned i = 0; i < NPEERS; i++) {
			node_remove(&nodes[i], 100);
			node_add(&nodes[i], round % 8 ? 120 : 2000);
			node_publish(&nodes[i]);
		}
		assert_int_equal(pthread_create(&decoder, NULL, decode, &s), 0);
		pthread_join(decoder, NULL);
		next = view_of(s.view, nodes, NPEERS);
		pthread_mutex_lock(&s.lock);
		last = s.view;
		s.view = next;
		pthread_mutex_unlock(&s.lock);
		peerset_unref(last);
	}
	atomic_store(&s.end, true);
	for (unsigned i = 0; i < NREADERS; i++)
		pthread_join(readers[i], NULL);
	assert_int_equal(atomic_load(&s.missed), 0);
	assert_true(atomic_load(&s.lookups) > 0);
	check_view(s.view, nodes, NPEERS);
	peerset_unref(s.view);
	peer_table_unref(t);
	end_nodes(nodes);
}

static void test_no_memory(void **state)
{
	struct peer_table *t;
	struct node n;

	(void)state;
	alloc_fail_at(1);
	assert_int_equal(peer_table_new(&t, 1), SCD_ENOMEM);
	alloc_fail_at(0);
	assert_int_equal(peer_table_new(&t, 1), SCD_OK);
	alloc_fail_at(1);
	assert_null(peer_table_begin(t));
	alloc_fail_at(0);
	node_start(&n, 7);
	assert_true(peer_table_claim(t, &n.slot));
	follow_full(&n);
	for (unsigned at = 1; at < 8; at++) {
		alloc_fail_at(at);
		peerset_unref(view_of(NULL, &n, 1));
		alloc_fail_at(0);
	}
	node_end(&n);
	peer_table_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_ages),
		cmocka_unit_test(test_bad_ages),
		cmocka_unit_test(test_bad_frames),
		cmocka_unit_test(test_readers_and_a_decoder),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
