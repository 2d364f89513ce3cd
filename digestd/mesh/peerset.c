/*
 * The view of the peers: one block with the array of peers and their strings.
 */
#include "digestd/mesh/peerset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/mesh/peerindex.h"

/* How the peers are looked up that have lists. */
struct peerset_lists {
	struct peer_table *table;
	struct peer_table_use *use;
	/* Numbers in the table that may be asked, and whose they are. */
	uint64_t asked[PEER_TABLE_WORDS];
	uint16_t numbers[PEERSET_MAX_PEERS];
};

struct peerset {
	atomic_uint users;
	size_t npeers;
	char *strings;
	struct peerindex *index; /* null: none */
	struct peerset_lists *lists; /* null: no peer has one */
	struct peerset_lists *sectors; /* of peers elsewhere; null: the same */
	struct sector sector; /* theirs; count 0: there are none */
	size_t nelsewhere;
	size_t nothers; /* peers that may be asked, but are in neither */
	bool has_squid; /* one of those has Squid's hashing */
	/* When a half-open peer was last asked: this alone changes. */
	atomic_int_least64_t *probed_ms;
	/* Of the index: columns that may be asked, and whose they are. */
	uint64_t asked[PEERSET_MAX_PEERS / 64];
	uint16_t numbers[PEERSET_MAX_PEERS]; /* those of asked columns */
	uint16_t others[PEERSET_MAX_PEERS];  /* the first nothers */
	struct peerset_peer peers[];
};

static size_t peerset_strings_len(const struct peerset_peer *peers, size_t n)
{
	size_t len = 1;

	for (size_t i = 0; i < n; i++)
		len += strlen(peers[i].name) + strlen(peers[i].url) + 2;
	return len;
}

static const char *peerset_put_string(char **at, const char *text)
{
	char *copy = *at;
	size_t len = strlen(text) + 1;

	memcpy(copy, text, len);
	*at += len;
	return copy;
}

uint64_t peerset_hash_name(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return hash;
}

/* Lets a peer be looked up in the table that has its list. */
static bool peerset_take_list(struct peerset *set, size_t i)
{
	const struct peerset_peer *p = &set->peers[i];
	const struct peer_slot *slot = &p->digest->slot;
	struct peerset_lists *lists =
		peerset_is_elsewhere(p) ? set->sectors : set->lists;

	if (!slot->table)
		return peerset_is_elsewhere(p); /* sectors are lists */
	assert(slot->table == lists->table);
	assert(slot->number < PEERSET_MAX_PEERS);
	lists->asked[slot->number / 64] |= UINT64_C(1) << slot->number % 64;
	lists->numbers[slot->number] = (uint16_t)i;
	return true;
}

/* Begins to use the table of those peers that have lists, here or elsewhere.
 * Returns 0 or SCD_ENOMEM. */
static int peerset_take_table(const struct peerset *set, bool elsewhere,
			      struct peerset_lists **out)
{
	struct peer_table *table = NULL;
	struct peerset_lists *lists;

	for (size_t i = 0; i < set->npeers && !table; i++) {
		const struct peerset_peer *p = &set->peers[i];

		if (p->digest && peerset_is_elsewhere(p) == elsewhere)
			table = p->digest->slot.table;
	}
	if (!table)
		return SCD_OK;
	lists = calloc(1, sizeof(*lists));
	if (lists)
		lists->use = peer_table_begin(table);
	if (!lists || !lists->use) {
		free(lists);
		return SCD_ENOMEM;
	}
	lists->table = table;
	*out = lists;
	return SCD_OK;
}

/* Brings the index up to date and divides the peers that may be asked. */
static void peerset_take_index(struct peerset *set, const struct peerset *last)
{
	uint16_t columns[PEERSET_MAX_PEERS];

	set->index = peerindex_update(last ? last->index : NULL, set->peers,
				      set->npeers, columns);
	for (size_t i = 0; i < set->npeers; i++) {
		uint16_t column = columns[i];

		if (!set->peers[i].usable || peerset_take_list(set, i))
			continue;
		if (column == PEERINDEX_NONE) {
			set->others[set->nothers++] = (uint16_t)i;
			set->has_squid |=
				set->peers[i].digest->bloom.hashing ==
				SCD_HASHING_SQUID;
			continue;
		}
		peerindex_hold(set->index, column);
		set->asked[column / 64] |= UINT64_C(1) << column % 64;
		set->numbers[column] = (uint16_t)i;
	}
}

/* When this peer was last asked, if it has been half open since: another peer's
 * news must not let one request more through. */
static int_least64_t peerset_last_probed_ms(const struct peerset *last,
					   const struct peerset_peer *p)
{
	for (size_t i = 0; last && p->half_open && i < last->npeers; i++) {
		if (last->peers[i].id == p->id && last->peers[i].half_open)
			return atomic_load_explicit(&last->probed_ms[i],
						    memory_order_relaxed);
	}
	return INT64_MIN / 2;
}

struct peerset *peerset_next(const struct peerset *last,
			     const struct peerset_peer *peers, size_t n)
{
	struct peerset *set = malloc(sizeof(*set) + n * sizeof(*peers));
	char *strings = malloc(peerset_strings_len(peers, n));
	atomic_int_least64_t *probed_ms = calloc(n + 1, sizeof(*probed_ms));

	assert(n <= PEERSET_MAX_PEERS);
	if (!set || !strings || !probed_ms) {
		free(set);
		free(strings);
		free(probed_ms);
		return NULL;
	}
	/* most of it is room for numbers of a thousand peers */
	memset(set, 0, offsetof(struct peerset, numbers));
	atomic_init(&set->users, 1);
	set->probed_ms = probed_ms;
	set->npeers = n;
	set->strings = strings;
	for (size_t i = 0; i < n; i++) {
		struct peerset_peer *p = &set->peers[i];

		*p = peers[i];
		p->name = peerset_put_string(&strings, peers[i].name);
		p->url = peerset_put_string(&strings, peers[i].url);
		p->name_hash = peerset_hash_name(p->name);
		if (p->digest)
			peer_digest_ref(p->digest);
		p->usable = p->usable && p->digest;
		set->nelsewhere += peerset_is_elsewhere(p);
		if (peerset_is_elsewhere(p))
			set->sector = p->sector;
		atomic_init(&probed_ms[i], peerset_last_probed_ms(last, p));
	}
	if (peerset_take_table(set, false, &set->lists) ||
	    peerset_take_table(set, true, &set->sectors)) {
		peerset_unref(set);
		return NULL;
	}
	peerset_take_index(set, last);
	return set;
}

struct peerset *peerset_new(const struct peerset_peer *peers, size_t n)
{
	return peerset_next(NULL, peers, n);
}

struct peerset *peerset_ref(struct peerset *set)
{
	unsigned users = atomic_fetch_add_explicit(&set->users, 1,
						   memory_order_relaxed);

	assert(users);
	return set;
}

static void peerset_drop_index(struct peerset *set)
{
	for (unsigned w = 0; w < PEERSET_MAX_PEERS / 64; w++) {
		uint64_t bits = set->asked[w];

		for (; bits; bits &= bits - 1)
			peerindex_release(set->index,
					  w * 64 + (unsigned)__builtin_ctzll(
							   bits));
	}
	peerindex_unref(set->index);
}

static void peerset_end_table(struct peerset_lists *lists)
{
	if (lists)
		peer_table_end(lists->table, lists->use);
	free(lists);
}

void peerset_unref(struct peerset *set)
{
	if (!set || atomic_fetch_sub_explicit(&set->users, 1,
					      memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < set->npeers; i++)
		peer_digest_unref(set->peers[i].digest);
	peerset_drop_index(set);
	peerset_end_table(set->lists);
	peerset_end_table(set->sectors);
	free(set->strings);
	free(set->probed_ms);
	free(set);
}

size_t peerset_count(const struct peerset *set)
{
	return set->npeers;
}

size_t peerset_count_here(const struct peerset *set)
{
	return set->npeers - set->nelsewhere;
}

struct sector peerset_sector(const struct peerset *set)
{
	return set->sector;
}

const struct peerset_peer *peerset_at(const struct peerset *set, size_t i)
{
	assert(i < set->npeers);
	return &set->peers[i];
}

static bool peerset_all_set(const struct scd_bloom *b, const uint64_t *at)
{
	for (unsigned i = 0; i < b->nhash; i++) {
		if (!(b->bits[at[i] >> 3] >> (at[i] & 7) & 1))
			return false;
	}
	return true;
}

static size_t peerset_ask_index(const struct peerset *set,
				const struct scd_key *key, uint32_t *out,
				size_t cap)
{
	uint64_t found[PEERSET_MAX_PEERS / 64];
	size_t n = 0;

	peerindex_lookup(set->index, key, found);
	for (unsigned w = 0; w < peerindex_words(set->index); w++) {
		uint64_t bits = found[w] & set->asked[w];

		for (; bits && n < cap; bits &= bits - 1) {
			unsigned column =
				w * 64 + (unsigned)__builtin_ctzll(bits);

			out[n++] = set->numbers[column];
		}
	}
	return n;
}

static size_t peerset_ask_table(const struct peerset_lists *lists,
				const struct scd_key *key, uint32_t *out,
				size_t cap)
{
	uint64_t found[PEER_TABLE_WORDS];
	size_t n = 0;

	if (!peer_table_lookup(lists->table, key, found))
		return 0;
	for (unsigned w = 0; w < peer_table_words(lists->table); w++) {
		uint64_t bits = found[w] & lists->asked[w];

		for (; bits && n < cap; bits &= bits - 1) {
			unsigned number =
				w * 64 + (unsigned)__builtin_ctzll(bits);

			out[n++] = lists->numbers[number];
		}
	}
	return n;
}

/* Peers elsewhere: of those keys alone that this node is asked for. */
static size_t peerset_ask_sectors(const struct peerset *set,
				  const struct scd_key *key, uint32_t *out,
				  size_t cap)
{
	struct scd_key within;

	if (!set->sectors || !sector_has(&set->sector, key))
		return 0;
	within = sector_key(&set->sector, key);
	return peerset_ask_table(set->sectors, &within, out, cap);
}

bool peerset_has_squid(const struct peerset *set)
{
	return set->has_squid;
}

static const struct scd_key *peerset_key_for(enum scd_hashing hashing,
					     const struct peerset_keys *keys)
{
	switch (hashing) {
	case SCD_HASHING_DOUBLE:
	case SCD_HASHING_PREFIX:
		return keys->own;
	case SCD_HASHING_SQUID:
		return keys->squid;
	}
	return NULL;
}

static size_t peerset_ask_others(const struct peerset *set,
				 const struct peerset_keys *keys, uint32_t *out,
				 size_t cap)
{
	const struct scd_bloom *shape = NULL;
	uint64_t at[SCD_MAX_HASH];
	size_t n = 0;

	for (size_t i = 0; i < set->nothers && n < cap; i++) {
		uint32_t number = set->others[i];
		const struct scd_bloom *b = &set->peers[number].digest->bloom;
		const struct scd_key *key = peerset_key_for(b->hashing, keys);

		if (!key)
			continue;
		if (!shape || !scd_bloom_same_shape(shape, b))
			scd_bloom_positions(b, key, at);
		shape = b;
		if (peerset_all_set(b, at))
			out[n++] = number;
	}
	return n;
}

size_t peerset_lookup(const struct peerset *set,
		      const struct peerset_keys *keys, uint32_t *out,
		      size_t cap)
{
	size_t n = set->index ? peerset_ask_index(set, keys->own, out, cap) : 0;

	if (set->lists)
		n += peerset_ask_table(set->lists, keys->own, out + n, cap - n);
	n += peerset_ask_sectors(set, keys->own, out + n, cap - n);
	return n + peerset_ask_others(set, keys, out + n, cap - n);
}

bool peerset_claim_probe(struct peerset *set, size_t i, int64_t now_ms)
{
	int_least64_t last_ms;

	assert(i < set->npeers);
	if (!set->peers[i].half_open)
		return true;
	last_ms = atomic_load_explicit(&set->probed_ms[i],
				       memory_order_relaxed);
	return now_ms - last_ms >= PEERSET_PROBE_MS &&
	       atomic_compare_exchange_strong(&set->probed_ms[i], &last_ms,
					      now_ms);
}
