/*
 * What is added to the log, displaced and settled, and what is known of
 * initiators.
 */
#include "digestd/mesh/invalidation_log_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct log_entry) == 48, "as invalidation_log.h says");
_Static_assert(INVALIDATION_PREFIX_MAX < 1 << 14, "as there are bits for");
_Static_assert(INVALIDATION_KINDS <= 1 << 2, "as there are bits for");

/* Life */

static uint32_t mesh_log_buckets_for(uint32_t max)
{
	uint32_t n = 16;

	while (n < max)
		n *= 2;
	return n;
}

int invalidation_log_new(uint64_t own, const uint8_t secret[SCD_SECRET_BYTES],
			 uint32_t max, struct invalidation_log **out)
{
	struct invalidation_log *log = calloc(1, sizeof(*log));
	uint32_t buckets = mesh_log_buckets_for(max);

	assert(own && max);
	*out = log;
	if (!log)
		return -1;
	log->entries = calloc(max, sizeof(*log->entries));
	log->buckets = malloc(buckets * sizeof(*log->buckets));
	if (!log->entries || !log->buckets) {
		invalidation_log_free(out);
		return -1;
	}
	memset(log->buckets, 0xff, buckets * sizeof(*log->buckets));
	memcpy(log->secret, secret, sizeof(log->secret));
	log->max = max;
	log->mask = buckets - 1;
	log->sources[0].is.source = own;
	log->nsources = 1;
	return 0;
}

void invalidation_log_free(struct invalidation_log **log)
{
	if (!*log)
		return;
	free((*log)->entries);
	free((*log)->buckets);
	free(*log);
	*log = NULL;
}

uint64_t invalidation_log_now(const struct invalidation_log *log)
{
	return __atomic_load_n(&log->now, __ATOMIC_ACQUIRE);
}

static uint64_t mesh_log_count(struct invalidation_log *log)
{
	uint64_t now = log->now + 1;

	__atomic_store_n(&log->now, now, __ATOMIC_RELEASE);
	return now;
}

size_t invalidation_log_count(const struct invalidation_log *log)
{
	return log->nlive;
}

/* Initiators */

size_t mesh_log_find_source(const struct invalidation_log *log, uint64_t id)
{
	for (size_t i = 0; i < log->nsources; i++) {
		if (log->sources[i].is.source == id)
			return i;
	}
	return LOG_NOWHERE;
}

/* The one that was heard of least lately, which is forgotten. */
static size_t mesh_log_forget_source(struct invalidation_log *log)
{
	size_t oldest = 1;

	for (size_t i = 2; i < log->nsources; i++) {
		if (log->sources[i].used < log->sources[oldest].used)
			oldest = i;
	}
	for (uint32_t i = 0; i < log->n; i++) {
		struct log_entry *e =
			&log->entries[(log->first + i) % log->max];

		if (e->source == oldest)
			e->source = LOG_NOWHERE;
	}
	return oldest;
}

static struct log_source *mesh_log_source_of(struct invalidation_log *log,
					     uint64_t id)
{
	size_t i = mesh_log_find_source(log, id);

	assert(id);
	if (i == LOG_NOWHERE) {
		i = log->nsources < INVALIDATION_LOG_SOURCES
			    ? log->nsources++
			    : mesh_log_forget_source(log);
		log->sources[i] = (struct log_source){.is.source = id};
	}
	log->sources[i].used = log->now;
	return &log->sources[i];
}

size_t invalidation_log_sources(const struct invalidation_log *log)
{
	return log->nsources;
}

struct invalidation_source
invalidation_log_source(const struct invalidation_log *log, size_t i)
{
	assert(i < log->nsources);
	return log->sources[i].is;
}

void mesh_log_raise(uint64_t *to, uint64_t at_least)
{
	if (*to < at_least)
		*to = at_least;
}

void invalidation_log_reach(struct invalidation_log *log,
			    const struct invalidation_position *position)
{
	mesh_log_raise(&mesh_log_source_of(log, position->source)->is.position,
		       position->seq);
}

void invalidation_log_hear_floor(struct invalidation_log *log,
				 const struct invalidation_position *floor,
				 uint64_t upto)
{
	struct log_source *s = mesh_log_source_of(log, floor->source);

	assert(floor->seq <= upto);
	if (upto > s->is.position)
		s->is.floor = floor->seq;
	else if (upto == s->is.position)
		mesh_log_raise(&s->is.floor, floor->seq);
}

void invalidation_log_set_floor(struct invalidation_log *log, uint64_t floor)
{
	struct invalidation_source *own = &log->sources[0].is;

	assert(floor <= own->position);
	if (floor < own->floor)
		own->position++;
	own->floor = floor;
}

void invalidation_log_hold_floors(struct invalidation_log *log, bool hold)
{
	log->holds_floors = hold;
}

bool invalidation_log_has(const struct invalidation_log *log,
			  const struct invalidation_position *position)
{
	size_t i = mesh_log_find_source(log, position->source);

	if (!i && log->nopen)
		return position->seq <= log->own_settled;
	return i != LOG_NOWHERE && position->seq <= log->sources[i].is.position;
}

/* Prefixes' lengths */

static size_t mesh_log_find_len(const struct invalidation_log *log,
				uint16_t len)
{
	size_t i = 0;

	while (i < log->nlens && log->lens[i] < len)
		i++;
	return i;
}

static void mesh_log_use_len(struct invalidation_log *log, uint16_t len)
{
	size_t i = mesh_log_find_len(log, len);

	if (log->uses[len]++)
		return;
	memmove(&log->lens[i + 1], &log->lens[i],
		(log->nlens++ - i) * sizeof(log->lens[0]));
	log->lens[i] = len;
}

static void mesh_log_leave_len(struct invalidation_log *log, uint16_t len)
{
	size_t i = mesh_log_find_len(log, len);

	if (--log->uses[len])
		return;
	memmove(&log->lens[i], &log->lens[i + 1],
		(--log->nlens - i) * sizeof(log->lens[0]));
}

/* Entries */

uint32_t *mesh_log_list(const struct invalidation_log *log,
			       const struct scd_key *hash)
{
	return &log->buckets[(hash->lo ^ hash->hi) & log->mask];
}

bool mesh_log_is_of(const struct log_entry *e, const struct invalidation *of)
{
	return e->hash.lo == of->hash.lo && e->hash.hi == of->hash.hi &&
	       e->kind == of->kind && e->len == of->len;
}

static uint64_t mesh_log_settled(const struct log_entry *e)
{
	return e->settled_after == log_open ? UINT64_MAX
					    : e->added + e->settled_after;
}

void mesh_log_raise_s(int64_t *to, int64_t at_least)
{
	if (*to < at_least)
		*to = at_least;
}

void mesh_log_raise_newest(struct invalidation_newest *to,
			   const struct log_entry *e)
{
	mesh_log_raise(&to->added, e->added);
	mesh_log_raise(&to->settled, mesh_log_settled(e));
	mesh_log_raise_s(&to->at_s, e->at_s);
	if (e->source != LOG_NOWHERE)
		return;
	to->local = true;
	mesh_log_raise_s(&to->local_at_s, e->at_s);
}

static void mesh_log_unlink(struct invalidation_log *log, struct log_entry *e)
{
	uint32_t at = (uint32_t)(e - log->entries);
	uint32_t *link = mesh_log_list(log, &e->hash);

	if (e->kind != INVALIDATION_ALL) {
		while (*link != at)
			link = &log->entries[*link].next;
		*link = e->next;
	}
	if (e->kind == INVALIDATION_PREFIX)
		mesh_log_leave_len(log, e->len);
	log->ntags -= e->kind == INVALIDATION_TAG;
	log->nlive--;
	e->next = log_dead;
}

static void mesh_log_link(struct invalidation_log *log, struct log_entry *e)
{
	uint32_t *list = mesh_log_list(log, &e->hash);

	e->next = log_none;
	log->nlive++;
	log->ntags += e->kind == INVALIDATION_TAG;
	if (e->kind == INVALIDATION_PREFIX)
		mesh_log_use_len(log, e->len);
	if (e->kind == INVALIDATION_ALL)
		return;
	e->next = *list;
	*list = (uint32_t)(e - log->entries);
}

/* It has to go for another one: it is of all that was born before. */
static void mesh_log_lose(struct invalidation_log *log, struct log_entry *e)
{
	struct log_source *s;

	if (e->next == log_dead)
		return;
	mesh_log_unlink(log, e);
	mesh_log_raise_newest(&log->all, e);
	if (e->source == LOG_NOWHERE)
		return;
	s = &log->sources[e->source];
	mesh_log_raise(&s->is.lost, e->seq); /* a floor may fall yet */
}

static struct log_entry *mesh_log_take_slot(struct invalidation_log *log)
{
	if (log->n < log->max)
		return &log->entries[(log->first + log->n++) % log->max];
	mesh_log_lose(log, &log->entries[log->first]);
	log->first = (log->first + 1) % log->max;
	return &log->entries[(log->first + log->n - 1) % log->max];
}

/* What the same initiator has said before. */
static void mesh_log_displace(struct invalidation_log *log,
			      const struct invalidation *of, uint16_t source)
{
	uint32_t i = *mesh_log_list(log, &of->hash);

	while (i != log_none && !(mesh_log_is_of(&log->entries[i], of) &&
				  log->entries[i].source == source))
		i = log->entries[i].next;
	if (i != log_none)
		mesh_log_unlink(log, &log->entries[i]);
}

/* Numbers an entry. */
static uint64_t mesh_log_number(struct invalidation_log *log, uint16_t source,
				const struct invalidation *of, uint64_t seq)
{
	struct log_source *s = &log->sources[source];

	if (!source && !seq)
		seq = ++s->is.position;
	if (of->kind == INVALIDATION_TAG)
		mesh_log_raise(&s->latest_tag, seq);
	if (of->kind == INVALIDATION_ALL)
		mesh_log_raise(&s->latest_all, seq);
	return seq;
}

uint64_t invalidation_log_add(struct invalidation_log *log,
			      const struct invalidation *of,
			      const struct invalidation_position *at,
			      int64_t now_s)
{
	uint16_t source = LOG_NOWHERE;
	struct log_entry *e;

	assert(of->kind == INVALIDATION_KEY || log->nopen);
	if (at->source)
		source = (uint16_t)(mesh_log_source_of(log, at->source) -
				    log->sources);
	if (of->kind != INVALIDATION_ALL)
		mesh_log_displace(log, of, source);
	e = mesh_log_take_slot(log);
	*e = (struct log_entry){
		.hash = of->hash,
		.added = mesh_log_count(log),
		.settled_after = of->kind == INVALIDATION_KEY ? 0 : log_open,
		.at_s = (uint32_t)now_s,
		.source = source,
		.kind = of->kind & 3U,
		.len = of->len & 0x3fffU,
	};
	if (source != LOG_NOWHERE)
		e->seq = mesh_log_number(log, source, of, at->seq);
	mesh_log_link(log, e);
	if (of->kind == INVALIDATION_TAG)
		mesh_log_raise_newest(&log->tag, e);
	if (of->kind == INVALIDATION_PREFIX)
		mesh_log_raise_newest(&log->prefix, e);
	if (of->kind == INVALIDATION_ALL)
		mesh_log_raise_newest(&log->all, e);
	return e->seq;
}

/* Walks */

void invalidation_log_open(struct invalidation_log *log)
{
	if (!log->nopen++)
		log->own_settled = log->sources[0].is.position;
}

/* No walk is open: all that was of unknown entries is settled. */
static void mesh_log_settle_rest(struct invalidation_log *log, uint64_t now)
{
	if (log->tag.settled == UINT64_MAX)
		log->tag.settled = now;
	if (log->prefix.settled == UINT64_MAX)
		log->prefix.settled = now;
	if (log->all.settled == UINT64_MAX)
		log->all.settled = now;
}

void invalidation_log_settle(struct invalidation_log *log, uint64_t first,
			     uint64_t last)
{
	uint64_t now = mesh_log_count(log);

	assert(log->nopen);
	for (uint32_t i = log->n; i; i--) {
		struct log_entry *e =
			&log->entries[(log->first + i - 1) % log->max];

		if (e->added < first)
			break;
		if (e->added <= last && e->settled_after == log_open)
			e->settled_after = (uint32_t)(now - e->added);
	}
	if (!--log->nopen)
		mesh_log_settle_rest(log, now);
}
