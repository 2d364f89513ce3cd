/*
 * The table: linear hashing. With n buckets in use and b the largest power of
 * two up to n, those below n - b have been divided: they, and those from b on,
 * are told apart by a bit more of the key.
 *
 * Who reads without the lock: every word and chain is loaded with acquire and
 * stored with release, so what it leads to is whole. Dividing a bucket makes
 * `moves` odd before and even after it. A reader that misses something because
 * it was moved has read a word or a chain that was stored in between; so it
 * sees `moves` odd, or changed, when it reads that again behind them. No key
 * changes its word otherwise; in a list a newer entry comes before the one that
 * it replaces, where a reader may have been, so lists are never sure.
 */
#include "digestd/store/store_index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "digestd/store/store.h"

enum {
	LINE_BYTES = 64,
	ENTRY_LINES = 3, /* an object's head, which an entry begins */
	WORDS = 8,
	TAGGED = WORDS - 1, /* words with a tag; and the one with the list */
	FIRST_BUCKETS = 128, /* a power of two */
	FULL_KEYS = 5,	     /* a bucket, before there are more */
	DIVIDED = 2,	     /* buckets with each insertion */
	PART_BUCKETS = 128,  /* each costs some cache misses */
	TAG_SHIFT = 48,
	LEFT = 1, /* in a chain: what it leads to is the owner's */
};

struct store_bucket {
	_Alignas(LINE_BYTES) uint64_t words[WORDS];
};

static struct store_entry *store_index_entry_of(uint64_t word)
{
	uint64_t address = word & ((UINT64_C(1) << TAG_SHIFT) - 1);

	return (struct store_entry *)(uintptr_t)address;
}

static uint64_t store_index_tag_of(const struct scd_key *key)
{
	return key->hi >> TAG_SHIFT;
}

/* What stands in a word for an entry; 0 for none. */
static uint64_t store_index_word(unsigned i, const struct store_entry *e)
{
	uint64_t address = (uintptr_t)e;

	assert(!(address >> TAG_SHIFT));
	if (!e || i == TAGGED)
		return address;
	return address | store_index_tag_of(&e->key) << TAG_SHIFT;
}

static uint64_t store_index_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store_index_store(uint64_t *word, uint64_t to)
{
	__atomic_store_n(word, to, __ATOMIC_RELEASE);
}

static struct store_entry *store_index_chain(const struct store_entry *e)
{
	return __atomic_load_n(&e->chain, __ATOMIC_ACQUIRE);
}

static void store_index_set_chain(struct store_entry *e,
				  struct store_entry *next)
{
	__atomic_store_n(&e->chain, next, __ATOMIC_RELEASE);
}

static bool store_index_same_key(const struct scd_key *a,
				 const struct scd_key *b)
{
	return a->lo == b->lo && a->hi == b->hi;
}

static struct store_bucket *store_index_at(const struct store_index *x,
					   uint64_t i)
{
	unsigned segment;
	uint64_t first;

	if (i < FIRST_BUCKETS)
		return &x->segments[0][i];
	segment = 64 - (unsigned)__builtin_clzll(i / FIRST_BUCKETS);
	first = (uint64_t)FIRST_BUCKETS << (segment - 1);
	return &x->segments[segment][i - first];
}

/* A power of two up to n, where n is at least that and less than twice. */
static struct store_bucket *store_index_bucket(const struct store_index *x,
					       const struct scd_key *key)
{
	uint64_t n = __atomic_load_n(&x->nbuckets, __ATOMIC_ACQUIRE);
	uint64_t base = UINT64_C(1) << (63 - __builtin_clzll(n));
	uint64_t i = key->hi & (2 * base - 1);

	return store_index_at(x, i < n ? i : i & (base - 1));
}

static int store_index_add_segment(struct store_index *x, unsigned segment,
				   uint64_t nbuckets)
{
	char *memory;

	if (segment == STORE_INDEX_SEGMENTS ||
	    nbuckets > SIZE_MAX / LINE_BYTES - 1)
		return -ENOMEM;
	memory = calloc((size_t)nbuckets + 1, LINE_BYTES);
	if (!memory)
		return -ENOMEM;
	x->memory[segment] = memory;
	memory += -(uintptr_t)memory % LINE_BYTES;
	x->segments[segment] = (struct store_bucket *)(void *)memory;
	return 0;
}

int store_index_init(struct store_index *x)
{
	*x = (struct store_index){ .base = FIRST_BUCKETS };
	if (store_index_add_segment(x, 0, FIRST_BUCKETS))
		return -ENOMEM;
	x->nbuckets = FIRST_BUCKETS;
	return 0;
}

void store_index_free(struct store_index *x)
{
	for (unsigned i = 0; i < STORE_INDEX_SEGMENTS; i++)
		free(x->memory[i]);
	*x = (struct store_index){ 0 };
}

/* Looking up */

/* The entry of a key in a list of any. */
static struct store_entry *store_index_search(struct store_entry *e,
					      const struct scd_key *key)
{
	while (e && !((uintptr_t)e & LEFT)) {
		if (store_index_same_key(&e->key, key))
			return e;
		e = store_index_chain(e);
	}
	return NULL;
}

/* The word with a tag that has a key; null: none. */
static uint64_t *store_index_word_of(struct store_bucket *b,
				     const struct scd_key *key)
{
	uint64_t tag = store_index_tag_of(key);

	for (unsigned i = 0; i < TAGGED; i++) {
		uint64_t word = store_index_load(&b->words[i]);

		if (word && word >> TAG_SHIFT == tag &&
		    store_index_same_key(&store_index_entry_of(word)->key, key))
			return &b->words[i];
	}
	return NULL;
}

/* Its owner keeps more behind it: all of it is loaded at once, and not one line
 * after the other as it is used. What is not there does no harm. */
static void store_index_prefetch_entry(const struct store_entry *e)
{
	for (unsigned i = 1; i < ENTRY_LINES; i++)
		__builtin_prefetch((const char *)e + i * LINE_BYTES);
}

/* *listed: the bucket has a list, too. */
static struct store_entry *store_index_look(struct store_bucket *b,
					    const struct scd_key *key,
					    bool *listed)
{
	uint64_t tag = store_index_tag_of(key), word;

	for (unsigned i = 0; i < TAGGED; i++) {
		struct store_entry *e;

		word = store_index_load(&b->words[i]);
		if (word >> TAG_SHIFT != tag)
			continue;
		e = store_index_entry_of(word);
		if (!e)
			continue;
		store_index_prefetch_entry(e);
		if (store_index_same_key(&e->key, key))
			return e;
	}
	word = store_index_load(&b->words[TAGGED]);
	*listed = word;
	return word ? store_index_search(store_index_entry_of(word), key) :
		      NULL;
}

void store_index_prefetch(const struct store_index *x,
			  const struct scd_key *key)
{
	__builtin_prefetch(store_index_bucket(x, key));
}

struct store_entry *store_index_find(const struct store_index *x,
				     const struct scd_key *key)
{
	bool listed;

	return store_index_look(store_index_bucket(x, key), key, &listed);
}

struct store_entry *store_index_next(const struct store_entry *e)
{
	return store_index_search(store_index_chain(e), &e->key);
}

struct store_entry *store_index_peek(const struct store_index *x,
				     const struct scd_key *key, bool *sure)
{
	uint64_t moves = store_index_load(&x->moves);
	bool listed = false;
	struct store_entry *e =
		store_index_look(store_index_bucket(x, key), key, &listed);

	*sure = e || (!listed && !(moves & 1) &&
		      store_index_load(&x->moves) == moves);
	return e;
}

/* A variant that is not found among those that were there may have come since,
 * in place of one of them. */
struct store_entry *store_index_peek_next(const struct store_entry *e,
					  bool *sure)
{
	struct store_entry *next = store_index_next(e);

	*sure = next;
	return next;
}

/* Changing */

static struct store_entry *store_index_list_of(const struct store_bucket *b)
{
	return store_index_entry_of(b->words[TAGGED]);
}

static unsigned store_index_free_word(const struct store_bucket *b)
{
	unsigned i = 0;

	while (i < TAGGED && b->words[i])
		i++;
	return i;
}

static void store_index_push(struct store_bucket *b, unsigned i,
			     struct store_entry *e)
{
	store_index_set_chain(e, store_index_entry_of(b->words[i]));
	store_index_store(&b->words[i], store_index_word(i, e));
}

/* All entries of a key are in one word, or in the list. */
static void store_index_add_to(struct store_bucket *b, struct store_entry *e)
{
	uint64_t *word = store_index_word_of(b, &e->key);

	if (word)
		store_index_push(b, (unsigned)(word - b->words), e);
	else if (store_index_search(store_index_list_of(b), &e->key))
		store_index_push(b, TAGGED, e);
	else
		store_index_push(b, store_index_free_word(b), e);
}

void store_index_add(struct store_index *x, struct store_entry *e)
{
	store_index_add_to(store_index_bucket(x, &e->key), e);
}

/* Takes an entry out of what hangs at a word; false: it is not there. */
static bool store_index_unlink(struct store_bucket *b, unsigned i,
			       struct store_entry *e)
{
	struct store_entry *before = store_index_entry_of(b->words[i]);

	if (before == e) {
		store_index_store(&b->words[i], store_index_word(i, e->chain));
		return true;
	}
	while (before && before->chain != e)
		before = before->chain;
	if (before)
		store_index_set_chain(before, e->chain);
	return before;
}

void store_index_remove(struct store_index *x, struct store_entry *e)
{
	struct store_bucket *b = store_index_bucket(x, &e->key);
	uint64_t *word = store_index_word_of(b, &e->key);
	unsigned i = word ? (unsigned)(word - b->words) : TAGGED;
	bool found = store_index_unlink(b, i, e);

	assert(found);
	(void)found;
}

void store_index_link(struct store_entry *e, struct store_entry *next)
{
	store_index_set_chain(e, (void *)((uintptr_t)next | LEFT));
}

struct store_entry *store_index_linked(const struct store_entry *e)
{
	assert((uintptr_t)e->chain & LEFT);
	return (void *)((uintptr_t)e->chain & ~(uintptr_t)LEFT);
}

/* Growing */

/* Whether a key of a divided bucket goes to the other one. */
static bool store_index_goes(const struct store_index *x,
			     const struct scd_key *key)
{
	return key->hi & x->base;
}

/* The list anew, oldest first, so that variants keep their order; what has come
 * first finds a word. */
static void store_index_divide_list(const struct store_index *x,
				    struct store_bucket *from,
				    struct store_bucket *to)
{
	struct store_entry *e = store_index_list_of(from), *reversed = NULL;

	store_index_store(&from->words[TAGGED], 0);
	while (e) {
		struct store_entry *next = e->chain;

		store_index_set_chain(e, reversed);
		reversed = e;
		e = next;
	}
	while (reversed) {
		struct store_entry *next = reversed->chain;

		store_index_add_to(store_index_goes(x, &reversed->key) ? to :
									 from,
				   reversed);
		reversed = next;
	}
}

static void store_index_divide(struct store_index *x)
{
	struct store_bucket *from = store_index_at(x, x->nbuckets - x->base);
	struct store_bucket *to = store_index_at(x, x->nbuckets);

	store_index_store(&x->moves, x->moves + 1);
	for (unsigned i = 0; i < TAGGED; i++) {
		struct store_entry *e = store_index_entry_of(from->words[i]);

		if (!e || !store_index_goes(x, &e->key))
			continue;
		store_index_store(&to->words[i], from->words[i]);
		store_index_store(&from->words[i], 0);
	}
	store_index_divide_list(x, from, to);
	store_index_store(&x->nbuckets, x->nbuckets + 1);
	if (x->nbuckets == 2 * x->base)
		x->base *= 2;
	store_index_store(&x->moves, x->moves + 1);
}

/* The next segment is there, or was made. */
static bool store_index_has_room(struct store_index *x)
{
	unsigned segment = 64 - (unsigned)__builtin_clzll(x->nbuckets /
							  FIRST_BUCKETS);

	if (segment < STORE_INDEX_SEGMENTS && x->segments[segment])
		return true;
	return !store_index_add_segment(x, segment, x->nbuckets);
}

void store_index_grow(struct store_index *x, uint64_t nkeys)
{
	if (x->nbuckets == x->base &&
	    (nkeys <= FULL_KEYS * x->base || !store_index_has_room(x)))
		return;
	for (int i = 0; i < DIVIDED && (!i || x->nbuckets != x->base); i++)
		store_index_divide(x);
}

/* Walking */

uint64_t store_index_parts(const struct store_index *x)
{
	return x->base > PART_BUCKETS ? x->base / PART_BUCKETS : 1;
}

static void store_index_walk_word(uint64_t word,
				  void (*each)(void *arg,
					       struct store_entry *e),
				  void *arg)
{
	struct store_entry *e = store_index_entry_of(word);

	while (e) {
		struct store_entry *next = e->chain;

		each(arg, e);
		e = next;
	}
}

/* In a table with fewer buckets than parts, several parts share a bucket. What
 * an init without memory has left has none. */
void store_index_walk(const struct store_index *x, const struct keypart *part,
		      void (*each)(void *arg, struct store_entry *e), void *arg)
{
	uint64_t step = part->count < x->base ? part->count : x->base;

	for (uint64_t i = part->number & (step - 1); i < x->nbuckets;
	     i += step) {
		struct store_bucket *b = store_index_at(x, i);

		for (unsigned word = 0; word < WORDS; word++)
			store_index_walk_word(b->words[word], each, arg);
	}
}
