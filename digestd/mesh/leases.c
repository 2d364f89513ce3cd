/*
 * Leases: a hash table of small sets, in each of which the lease that ends
 * first makes room. A set is a line of the processor's cache: a miss of a cache
 * looks into one that nobody has looked into for a while.
 */
#include "digestd/mesh/leases.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/hexdigit.h"
#include "digestd/mesh/peerset.h"
#include "digestd/mesh/route.h"

enum {
	LEASES_WAYS = 4,
	LEASES_LINE = 64,
	LEASES_TAG_BITS = 24,
	LEASES_INSTANCE_DIGITS = 16,
};

/* Another key of the same tag, one of 4 million lookups, costs what any hint
 * costs that is wrong. */
struct lease {
	uint64_t what;   /* until when [ms], 34 years at most, and a tag of the
			    key's upper half; the lower one chooses the set */
	uint64_t holder; /* 0: alone */
};

struct leases_set {
	struct lease at[LEASES_WAYS];
};

_Static_assert(sizeof(struct leases_set) == LEASES_LINE,
	       "one line of the cache has it");

struct leases {
	size_t nsets; /* a power of two */
	struct leases_set *sets;
	char memory[]; /* of them, and a part of a line before them */
};

struct leases *leases_new(size_t n)
{
	size_t nsets = 1;
	struct leases *l;

	assert(n > 0);
	while (nsets * LEASES_WAYS < n)
		nsets *= 2;
	l = calloc(1, sizeof(*l) + LEASES_LINE + nsets * sizeof(*l->sets));
	if (!l)
		return NULL;
	l->nsets = nsets;
	l->sets = (void *)(((uintptr_t)l->memory + LEASES_LINE - 1) &
			   ~(uintptr_t)(LEASES_LINE - 1));
	return l;
}

void leases_free(struct leases **l)
{
	free(*l);
	*l = NULL;
}

static struct lease *leases_set(const struct leases *l,
				const struct scd_key *key)
{
	return l->sets[key->lo & (l->nsets - 1)].at;
}

static const uint64_t leases_tag_mask = (UINT64_C(1) << LEASES_TAG_BITS) - 1;

static bool leases_is_of(const struct lease *lease, const struct scd_key *key)
{
	return !((lease->what ^ key->hi) & leases_tag_mask);
}

static int64_t leases_until_ms(const struct lease *lease)
{
	return (int64_t)(lease->what >> LEASES_TAG_BITS);
}

/* The lease of a key that has not ended; null: there is none. */
static struct lease *leases_find(const struct leases *l,
				 const struct scd_key *key, int64_t now_ms)
{
	struct lease *set = leases_set(l, key);

	for (unsigned i = 0; i < LEASES_WAYS; i++) {
		if (leases_is_of(&set[i], key) &&
		    leases_until_ms(&set[i]) > now_ms)
			return &set[i];
	}
	return NULL;
}

static void leases_put(struct leases *l, const struct scd_key *key,
		       uint64_t holder, int64_t until_ms)
{
	struct lease *set = leases_set(l, key);
	struct lease *to = set;

	for (unsigned i = 0; i < LEASES_WAYS; i++) {
		if (leases_is_of(&set[i], key)) {
			to = &set[i];
			break;
		}
		if (leases_until_ms(&set[i]) < leases_until_ms(to))
			to = &set[i];
	}
	*to = (struct lease){
		.what = (uint64_t)until_ms << LEASES_TAG_BITS |
			(key->hi & leases_tag_mask),
		.holder = holder,
	};
}

struct lease_answer leases_ask(struct leases *l, const struct scd_key *key,
			       const struct lease_wish *wish, int64_t now_ms)
{
	const struct lease *held = leases_find(l, key, now_ms);

	assert(wish->who);
	if (held && !held->holder)
		return (struct lease_answer){.word = LEASE_ALONE};
	if (held && held->holder != wish->who && held->holder != wish->not )
		return (struct lease_answer){LEASE_ELSEWHERE, held->holder};
	leases_put(l, key, wish->who, now_ms + LEASES_TERM_MS);
	return (struct lease_answer){.word = LEASE_YOURS};
}

void leases_set_alone(struct leases *l, const struct scd_key *key,
		      int64_t now_ms)
{
	leases_put(l, key, 0, now_ms + LEASES_ALONE_MS);
}

void leases_set_shared(struct leases *l, const struct scd_key *key)
{
	struct lease *held = leases_find(l, key, INT64_MIN);

	if (held && !held->holder)
		held->what &= leases_tag_mask;
}

bool leases_is_alone(const struct leases *l, const struct scd_key *key,
		     int64_t now_ms)
{
	const struct lease *held = leases_find(l, key, now_ms);

	return held && !held->holder;
}

/* Owners */

static bool leases_is_askable(const struct peerset_peer *p)
{
	return p->usable && !p->half_open && p->digest && p->digest->instance;
}

/* The heavier of an owner, 0 for nobody, and a peer. */
static uint64_t leases_heavier(uint64_t owner, const struct peerset_peer *p,
			       const struct scd_key *key)
{
	if (!leases_is_askable(p))
		return owner;
	if (owner && route_weight(key->lo, p->digest->instance) <=
			     route_weight(key->lo, owner))
		return owner;
	return p->digest->instance;
}

/* Whether a peer has the sector of a key, and can be asked for the lease. */
static bool leases_owns_sector(const struct peerset_peer *p,
			       const struct scd_key *key)
{
	return p->owns.count && sector_has(&p->owns, key) &&
	       leases_is_askable(p);
}

uint64_t lease_owner(const struct peerset *view, const struct scd_key *key,
		     uint64_t self)
{
	const struct sector own = peerset_sector(view);
	uint64_t owner = self;

	if (own.count && sector_has(&own, key))
		return self;
	for (size_t i = 0; i < peerset_count(view); i++) {
		const struct peerset_peer *p = peerset_at(view, i);

		if (!p->leases || peerset_is_elsewhere(p))
			continue;
		if (leases_owns_sector(p, key))
			return p->digest->instance;
		owner = leases_heavier(owner, p, key);
	}
	return owner;
}

bool lease_elsewhere(const struct peerset *view, const struct scd_key *key,
		     uint64_t *out)
{
	const struct sector own = peerset_sector(view);
	const struct peerset_keys keys = { .own = key };
	uint32_t found[PEERSET_MAX_PEERS];
	uint64_t best = 0;
	size_t n;

	if (!own.count || !sector_has(&own, key))
		return false;
	n = peerset_lookup(view, &keys, found, PEERSET_MAX_PEERS);
	for (size_t i = 0; i < n; i++) {
		const struct peerset_peer *p = peerset_at(view, found[i]);

		if (peerset_is_elsewhere(p))
			best = leases_heavier(best, p, key);
	}
	*out = best;
	return best;
}

uint64_t lease_owner_among(const struct peerset *view,
			   const struct scd_key *key, uint64_t self,
			   const uint32_t *peers, size_t n)
{
	uint64_t owner = self;

	for (size_t i = 0; i < n; i++)
		owner = leases_heavier(owner, peerset_at(view, peers[i]), key);
	return owner;
}

int lease_find(const struct peerset *view, uint64_t instance)
{
	for (size_t i = 0; i < peerset_count(view); i++) {
		const struct peerset_peer *p = peerset_at(view, i);

		if (leases_is_askable(p) && p->digest->instance == instance)
			return (int)i;
	}
	return -1;
}

/* Texts */

static bool leases_read_instance(const char **text, uint64_t *out)
{
	*out = 0;
	for (unsigned i = 0; i < LEASES_INSTANCE_DIGITS; i++, (*text)++) {
		int digit = hexdigit_value(**text);

		if (digit < 0)
			return false;
		*out = *out << 4 | (uint64_t)digit;
	}
	return *out != 0;
}

/* Writes a word; returns where it ends. */
static char *leases_write(char *text, const char *word)
{
	const size_t len = strlen(word);

	memcpy(text, word, len + 1);
	return text + len;
}

/* The same, and a number behind it. */
static char *leases_write_number(char *text, const char *word, uint64_t number)
{
	text = hexdigit_write(number, leases_write(text, word));
	*text = '\0';
	return text;
}

void lease_wish_write(const struct lease_wish *wish,
		      char text[LEASES_TEXT_BYTES])
{
	assert(wish->waits);
	if (!wish->who && !wish->not ) {
		leases_write(text, "wait");
		return;
	}
	text = leases_write_number(text, "for=", wish->who);
	if (wish->not )
		leases_write_number(text, ";not=", wish->not );
}

void lease_wish_read(const char *text, struct lease_wish *out)
{
	struct lease_wish wish = {.waits = true};

	*out = (struct lease_wish){.waits = false};
	if (!strncmp(text, "for=", 4)) {
		text += 4;
		if (!leases_read_instance(&text, &wish.who))
			return;
		if (!strncmp(text, ";not=", 5)) {
			text += 5;
			if (!leases_read_instance(&text, &wish.not ))
				return;
		}
	} else if (!strncmp(text, "wait", 4)) {
		text += 4;
	} else {
		return;
	}
	if (!*text)
		*out = wish;
}

void lease_answer_write(const struct lease_answer *answer,
			char text[LEASES_TEXT_BYTES])
{
	switch (answer->word) {
	case LEASE_YOURS:
		leases_write(text, "yours");
		return;
	case LEASE_ALONE:
		leases_write(text, "alone");
		return;
	case LEASE_ELSEWHERE:
		leases_write_number(text, "at=", answer->holder);
		return;
	case LEASE_NONE:
		*text = '\0';
	}
}

struct lease_answer lease_answer_read(const char *text)
{
	struct lease_answer answer = {.word = LEASE_ELSEWHERE};

	if (!strcmp(text, "yours"))
		return (struct lease_answer){.word = LEASE_YOURS};
	if (!strcmp(text, "alone"))
		return (struct lease_answer){.word = LEASE_ALONE};
	if (strncmp(text, "at=", 3) != 0)
		return (struct lease_answer){.word = LEASE_NONE};
	text += 3;
	if (!leases_read_instance(&text, &answer.holder) || *text)
		return (struct lease_answer){.word = LEASE_NONE};
	return answer;
}
