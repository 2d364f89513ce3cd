/*
 * From a reader's rows to the columns of a trace. Columns that the trace does
 * not have are not there until the first value comes.
 */
#include "cachesim/sim/trace.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/compact.h"
#include "cachesim/sim/id_map.h"
#include "codec/mix.h"

enum {
	ROWS = ID_MAP_MANY,
	FEW_ROWS = 32, /* read between looks ahead */
	FIRST_ROOM = 4096, /* of a column */
	TELL_BATCHES = 1024,
};

/* The tag of an object that an unsafe request invalidated; no size is that. */
static const uint32_t TAG_INVALID = UINT32_MAX;

/* What is known of an object while more requests may change it. */
struct seen {
	uint32_t first, current, largest; /* sizes; 0: not told yet */
	uint32_t version : 30;
	uint32_t invalid : 1; /* an unsafe request came after the last one */
	uint32_t whole : 1; /* the sizes are those of whole responses */
};

/* The uncacheable requests of a batch. */
struct passing {
	struct trace_row row[ROWS];
	uint64_t hash[ROWS];   /* of the rows' objects */
	uint32_t before[ROWS]; /* cacheable rows of the batch */
	uint32_t client[ROWS];
	size_t n;
};

struct loading {
	struct sim_trace *to; /* its columns, as far as they are not constant */
	struct trace_reader *reader;
	struct id_map objects, clients;
	uint64_t room;        /* of the columns by request */
	uint64_t change_room; /* of those by change */
	uint64_t seen_room;
	uint64_t address_room;
	uint32_t *object, *time, *client, *change_size;
	uint64_t *change;
	struct seen *seen;
	struct sim_address *address;
	bool has_address;
	uint64_t hash[ROWS];	       /* of the rows' objects */
	struct id_map_slot *slot[ROWS]; /* of these */
	struct trace_row row[ROWS];
	bool some_pass; /* of the batch that was read */
	struct passing passing;
	uint64_t pass_room, pass_size_room, pass_client_room;
	uint64_t *pass;
	uint32_t *pass_size, *pass_client;
};

/* Makes room for `want` elements. False: no memory. */
static bool trace_load_grow(void *column, size_t element, uint64_t *room,
			    uint64_t want)
{
	void **at = column, *bigger;
	uint64_t n = *room ? *room : FIRST_ROOM;

	if (want <= *room)
		return true;
	while (n < want)
		n += n / 2;
	bigger = realloc(*at, n * element);
	if (!bigger)
		return false;
	*at = bigger;
	*room = n;
	return true;
}

/* A column that may be missing is as long as the others, or not there. */
static bool trace_load_grow_optional(uint32_t **column, uint64_t old_room,
				     uint64_t room)
{
	if (!*column)
		return true;
	return trace_load_grow(column, sizeof(**column), &old_room, room);
}

static bool trace_load_grow_requests(struct loading *l, uint64_t want)
{
	uint64_t old = l->room;

	if (want <= old)
		return true;
	return trace_load_grow(&l->object, sizeof(*l->object), &l->room,
			       want) &&
	       trace_load_grow_optional(&l->time, old, l->room) &&
	       trace_load_grow_optional(&l->client, old, l->room);
}

static int trace_load_number_objects(struct loading *l, size_t n)
{
	uint32_t *object = l->object + l->to->nrequests;
	int err = id_map_slots(&l->objects, l->hash, n, l->slot);

	if (err)
		return err;
	if (!trace_load_grow(&l->seen, sizeof(*l->seen), &l->seen_room,
			     l->objects.n))
		return TRACE_ENOMEM;
	for (size_t i = 0; i < n; i++)
		object[i] = l->slot[i]->after - 1;
	return 0;
}

static bool trace_load_some_have_clients(const struct trace_row *row, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (row[i].client)
			return true;
	return false;
}

static struct sim_address trace_load_address_of(struct trace_text name)
{
	struct sim_address a = { { 0 } };
	struct in_addr v4;
	char text[INET6_ADDRSTRLEN];

	if (name.len == 0 || name.len >= sizeof(text))
		return a;
	memcpy(text, name.at, name.len);
	text[name.len] = '\0';
	if (inet_pton(AF_INET, text, &v4) == 1) {
		a.byte[10] = a.byte[11] = 0xff;
		memcpy(a.byte + 12, &v4, 4);
	} else if (inet_pton(AF_INET6, text, a.byte) != 1) {
		memset(&a, 0, sizeof(a));
	}
	return a;
}

/* Room for the addresses of all clients; new ones have none yet. */
static int trace_load_grow_addresses(struct loading *l, uint32_t known)
{
	if (!trace_load_grow(&l->address, sizeof(*l->address), &l->address_room,
			     l->clients.n))
		return TRACE_ENOMEM;
	if (l->clients.n > known)
		memset(l->address + known, 0,
		       (l->clients.n - known) * sizeof(*l->address));
	return 0;
}

/* The first client: all requests before came from one without a name. */
static int trace_load_start_clients(struct loading *l)
{
	uint64_t nobody = scd__mix64(0);
	uint32_t number;
	int err = 0;

	l->client = calloc(l->room, sizeof(*l->client));
	if (!l->client)
		return TRACE_ENOMEM;
	if (l->to->nrequests + l->to->npasses)
		err = id_map_numbers(&l->clients, &nobody, 1, &number);
	return err ? err : trace_load_grow_addresses(l, 0);
}

static int trace_load_number_clients(struct loading *l,
				     const struct trace_row *row, size_t n,
				     uint32_t *client)
{
	static const struct sim_address none;
	uint32_t known = l->clients.n;
	uint64_t hash[ROWS];
	int err;

	for (size_t i = 0; i < n; i++)
		hash[i] = scd__mix64(row[i].client);
	err = id_map_numbers(&l->clients, hash, n, client);
	if (!err)
		err = trace_load_grow_addresses(l, known);
	/* a new client's number is the next one */
	for (size_t i = 0; !err && known < l->clients.n; i++) {
		if (client[i] != known)
			continue;
		l->address[known] = trace_load_address_of(row[i].name);
		l->has_address |=
			memcmp(&l->address[known++], &none, sizeof(none)) != 0;
	}
	return err;
}

static int trace_load_take_clients(struct loading *l, size_t n)
{
	struct passing *p = &l->passing;
	int err = 0;

	if (!l->client && !trace_load_some_have_clients(l->row, n) &&
	    !trace_load_some_have_clients(p->row, p->n))
		return 0;
	if (!l->client)
		err = trace_load_start_clients(l);
	if (!err)
		err = trace_load_number_clients(l, l->row, n,
						l->client + l->to->nrequests);
	return err ? err
		   : trace_load_number_clients(l, p->row, p->n, p->client);
}

static uint32_t trace_load_seconds(const struct loading *l, int64_t time_ms)
{
	int64_t s = (time_ms - l->to->totals.first_ms) / 1000;

	return s < 0 ? 0 : s > UINT32_MAX ? UINT32_MAX : (uint32_t)s;
}

static int trace_load_take_times(struct loading *l, size_t n)
{
	uint32_t any = 0;

	if (l->to->nrequests == 0)
		l->to->totals.first_ms = l->row[0].time_ms;
	if (!l->time) {
		for (size_t i = 0; i < n; i++)
			any |= trace_load_seconds(l, l->row[i].time_ms);
		if (!any)
			return 0;
		l->time = calloc(l->room, sizeof(*l->time));
	}
	if (!l->time)
		return TRACE_ENOMEM;
	for (size_t i = 0; i < n; i++)
		l->time[l->to->nrequests + i] =
			trace_load_seconds(l, l->row[i].time_ms);
	return 0;
}

/* A modification by the request with this number in the batch. */
static int trace_load_note_change(struct loading *l, size_t i, uint32_t size)
{
	uint64_t at = l->to->nchanges, room = l->change_room;

	if (!trace_load_grow(&l->change, sizeof(*l->change), &l->change_room,
			     at + 1) ||
	    !trace_load_grow(&l->change_size, sizeof(*l->change_size), &room,
			     at + 1))
		return TRACE_ENOMEM;
	l->change[at] = l->to->nrequests + i;
	l->change_size[at] = size;
	l->to->nchanges++;
	return 0;
}

/* 30 bits that stand for a version; 0: it is unknown. */
static uint32_t trace_load_version_of(const struct trace_row *row)
{
	return row->version ? (uint32_t)(scd__mix64(row->version) >> 34) | 1
			    : 0;
}

static bool trace_load_is_whole(const struct trace_row *row)
{
	return row->has_size && (row->status == 200 || row->status == 0);
}

static uint32_t trace_load_size_of(const struct trace_row *row)
{
	return row->size < UINT32_MAX ? (uint32_t)row->size : UINT32_MAX;
}

/* Learns from a request of an object. Whether it shows a modification. */
static bool trace_load_see(struct seen *s, const struct trace_row *row)
{
	uint32_t version = trace_load_version_of(row),
		 size = trace_load_size_of(row);
	bool changed = s->invalid ||
		       (s->version && version && s->version != version);

	s->invalid = 0;
	if (version)
		s->version = version & 0x3fffffff;
	if (s->whole && trace_load_is_whole(row)) {
		changed |= s->current != size;
		s->current = size;
	} else if (trace_load_is_whole(row) || !s->current) {
		s->first = s->current = size;
		s->whole = trace_load_is_whole(row);
	}
	return changed;
}

/*
 * Nothing new about an object. Its slot's tag is the size of the last whole
 * response, 0 for none: known without looking at what was seen.
 */
static bool trace_load_nothing_new(const struct id_map_slot *slot,
				   const struct trace_row *row, uint32_t size)
{
	if (row->version || slot->tag == TAG_INVALID)
		return false;
	return trace_load_is_whole(row) ? size && slot->tag == size : !size;
}

/* Something new about an object. */
static int trace_load_take_news(struct loading *l, size_t i, uint32_t size)
{
	struct seen *s = &l->seen[l->slot[i]->after - 1];

	if (size > s->largest) {
		l->to->totals.unique_bytes += size - s->largest;
		s->largest = size;
	}
	if (trace_load_see(s, &l->row[i]) &&
	    trace_load_note_change(l, i, s->current ? s->current : 1))
		return TRACE_ENOMEM;
	l->slot[i]->tag = s->whole && s->current != TAG_INVALID ? s->current
								: 0;
	return 0;
}

/*
 * The unsafe requests that came before a row invalidate their objects, if
 * these are among the `known` ones that were asked for before. From the
 * at-th of the passing ones on; returns the next.
 */
static size_t trace_load_invalidate(struct loading *l, size_t at, size_t row,
				    uint32_t known)
{
	const struct passing *p = &l->passing;

	for (; at < p->n && p->before[at] <= row; at++) {
		struct id_map_slot *slot;

		if (p->row[at].class != TRACE_UNSAFE)
			continue;
		slot = id_map_find(&l->objects, p->hash[at]);
		if (slot->after && slot->after <= known) {
			l->seen[slot->after - 1].invalid = 1;
			slot->tag = TAG_INVALID;
		}
	}
	return at;
}

/* Objects are the new ones from number `known` on. */
static int trace_load_take_sizes(struct loading *l, size_t n, uint32_t known)
{
	size_t pass = 0;
	int err = 0;

	if (l->objects.n > known)
		memset(l->seen + known, 0,
		       (l->objects.n - known) * sizeof(*l->seen));
	for (size_t i = 0; i < n && !err; i++) {
		uint32_t size = trace_load_size_of(&l->row[i]);

		if (pass < l->passing.n)
			pass = trace_load_invalidate(l, pass, i, known);
		if (l->slot[i]->after > known)
			known = l->slot[i]->after;
		l->to->totals.bytes += size;
		if (!trace_load_nothing_new(l->slot[i], &l->row[i], size))
			err = trace_load_take_news(l, i, size);
	}
	trace_load_invalidate(l, pass, n, known);
	return err;
}

/* Takes the uncacheable rows out of a batch of n; returns how many stay. */
static size_t trace_load_split(struct loading *l, size_t n)
{
	struct passing *p = &l->passing;
	size_t kept = 0;

	p->n = 0;
	if (!l->some_pass)
		return n;
	for (size_t i = 0; i < n; i++) {
		if (l->row[i].class == TRACE_CACHEABLE) {
			l->row[kept] = l->row[i];
			l->hash[kept++] = l->hash[i];
			continue;
		}
		p->before[p->n] = (uint32_t)kept;
		p->hash[p->n] = l->hash[i];
		p->client[p->n] = 0;
		p->row[p->n++] = l->row[i];
	}
	return kept;
}

/* The uncacheable requests of a batch behind those of the trace. */
static int trace_load_passes(struct loading *l)
{
	const struct passing *p = &l->passing;
	uint64_t at = l->to->npasses, want = at + p->n;

	if (!trace_load_grow(&l->pass, sizeof(*l->pass), &l->pass_room, want) ||
	    !trace_load_grow(&l->pass_size, sizeof(*l->pass_size),
			     &l->pass_size_room, want) ||
	    !trace_load_grow(&l->pass_client, sizeof(*l->pass_client),
			     &l->pass_client_room, want))
		return TRACE_ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		l->pass[at + i] = l->to->nrequests + p->before[i];
		l->pass_size[at + i] = trace_load_size_of(&p->row[i]);
		l->pass_client[at + i] = p->client[i];
	}
	l->to->npasses = want;
	return 0;
}

static int trace_load_take_rows(struct loading *l, size_t n)
{
	uint32_t known = l->objects.n;
	int err;

	n = trace_load_split(l, n);
	/* columns have room even if the first requests are uncacheable */
	err = trace_load_grow_requests(l, l->to->nrequests + n + 1)
		      ? trace_load_number_objects(l, n)
		      : TRACE_ENOMEM;
	if (!err)
		err = trace_load_take_sizes(l, n, known);
	if (!err && n)
		err = trace_load_take_times(l, n);
	if (!err)
		err = trace_load_take_clients(l, n);
	if (!err && l->passing.n)
		err = trace_load_passes(l);
	l->to->nrequests += n;
	return err;
}

/* Hashes the keys of rows, and has their slots fetched. Keys may be small
 * numbers: mixed, which keeps different ones different. Some have clients? */
static bool trace_load_expect_rows(struct loading *l, int from, int end)
{
	bool clients = false;

	for (int i = from; i < end; i++) {
		l->hash[i] = scd__mix64(l->row[i].key);
		id_map_expect(&l->objects, l->hash[i]);
		clients |= l->row[i].client != 0;
		l->some_pass |= l->row[i].class != TRACE_CACHEABLE;
	}
	return clients;
}

/*
 * The next rows, few at a time, so that slots are fetched while others are
 * read. Names of clients stay until the next reading only: no more is read
 * then. Their number, 0 at the end, or an error.
 */
static int trace_load_read_rows(struct loading *l)
{
	int step = l->client ? ROWS : FEW_ROWS, n = 0;
	bool clients = false;

	l->some_pass = false;
	while (n + step <= ROWS && !clients) {
		int got = trace_rows(l->reader, l->row + n, step);

		if (got <= 0)
			return n ? n : got;
		clients = trace_load_expect_rows(l, n, n + got);
		n += got;
	}
	return n;
}

static int trace_load_take_all(struct loading *l, const struct sim_tell *tell)
{
	for (uint64_t batch = 0;; batch++) {
		int n = trace_load_read_rows(l);
		int err = n > 0 ? trace_load_take_rows(l, (size_t)n) : n;

		if (n == 0 || err)
			return err;
		if (tell && tell->loaded && batch % TELL_BATCHES == 0)
			tell->loaded(tell->arg, l->to->nrequests,
				     trace_expected(l->reader));
	}
}

/* Gives back what a column has too much; it may stay where it is. */
static void *trace_load_fitted(void *column, uint64_t n, size_t element)
{
	void *smaller = column && n ? realloc(column, n * element) : NULL;

	return smaller ? smaller : column;
}

static int trace_load_give_sizes(struct loading *l)
{
	uint32_t n = l->objects.n;
	uint32_t *size = malloc((n ? n : 1) * sizeof(*size));

	for (uint32_t i = 0; size && i < n; i++)
		size[i] = l->seen[i].first ? l->seen[i].first : 1;
	l->to->size = size;
	return size ? 0 : TRACE_ENOMEM;
}

/* The columns go over to the trace. */
static void trace_load_give(struct loading *l)
{
	struct sim_trace *t = l->to;

	t->nobjects = l->objects.n;
	t->nclients = l->clients.n;
	t->object =
		trace_load_fitted(l->object, t->nrequests, sizeof(*l->object));
	t->time = trace_load_fitted(l->time, t->nrequests, sizeof(*l->time));
	t->client =
		trace_load_fitted(l->client, t->nrequests, sizeof(*l->client));
	t->hash = trace_load_fitted(l->objects.hash, t->nobjects,
				    sizeof(uint64_t));
	t->client_hash = trace_load_fitted(l->clients.hash, t->nclients,
					   sizeof(uint64_t));
	t->change =
		trace_load_fitted(l->change, t->nchanges, sizeof(*l->change));
	t->change_size = trace_load_fitted(l->change_size, t->nchanges,
					   sizeof(*l->change_size));
	t->address =
		trace_load_fitted(l->address, t->nclients, sizeof(*l->address));
	t->pass = trace_load_fitted(l->pass, t->npasses, sizeof(*l->pass));
	t->pass_size = trace_load_fitted(l->pass_size, t->npasses,
					 sizeof(*l->pass_size));
	t->pass_client = trace_load_fitted(l->pass_client, t->npasses,
					   sizeof(*l->pass_client));
	t->totals.bad = trace_bad(l->reader);
	l->objects.hash = l->clients.hash = NULL;
}

static void trace_load_release(struct loading *l)
{
	if (!l->has_address) {
		free((void *)(uintptr_t)l->to->address);
		l->to->address = NULL;
	}
	if (!l->to->client) {
		free((void *)(uintptr_t)l->to->client_hash);
		free((void *)(uintptr_t)l->to->pass_client);
		l->to->client_hash = NULL;
		l->to->pass_client = NULL;
	}
	id_map_free(&l->objects);
	id_map_free(&l->clients);
	free(l->seen);
	trace_close(&l->reader);
}

int sim_trace_load(struct sim_trace *out, const char *name,
		   const struct trace_options *opt, const struct sim_tell *tell)
{
	struct loading *l;
	int err;

	memset(out, 0, sizeof(*out));
	if (sim_compact_is(name))
		return sim_compact_map(out, name, opt && opt->checksum);
	l = calloc(1, sizeof(*l));
	if (!l)
		return TRACE_ENOMEM;
	l->to = out;
	err = trace_open(&l->reader, name, opt);
	if (!err)
		err = id_map_init(&l->objects);
	if (!err)
		err = id_map_init(&l->clients);
	if (!err)
		err = trace_load_take_all(l, tell);
	if (!err)
		err = trace_load_give_sizes(l);
	if (l->reader)
		trace_load_give(l);
	trace_load_release(l);
	free(l);
	if (err)
		sim_trace_free(out);
	return err;
}
