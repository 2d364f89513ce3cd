/*
 * Connections of a world.
 */
#include "cachesim/world/wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "cachesim/world/world.h"

enum {
	PARTED_US = 20000, /* until a parted link is tried again */
	PARTS_MAX = 64,
	NAMES = 64, /* lists of listeners */
	FAULT_BYTES = 400000, /* a fault comes within so many */
	PIECE_BYTES = 65536, /* where nothing says how many arrive at once */
	NAMES_BYTES = 48, /* a method and a target, mostly */
};

/* What is on its way to one side. */
struct stream {
	struct wire *wire;
	struct wire_ops ops; /* of the receiver */
	void *arg;
	int place;           /* the receiver's */
	bool open;           /* the receiver has not closed */

	struct wire_head head;
	char *names; /* null, or the text of the head, if it is long */
	char short_names[NAMES_BYTES]; /* else here */
	struct fields fields;
	bool has_head, head_arrived;
	bool alike; /* all the data, of which there is no copy then */
	char *data;
	size_t at, len, cap; /* of the data that is on its way */
	bool ended, end_arrived;
	bool garbage;        /* is how it ends */
	bool full;           /* the receiver takes no more for now */
	struct world_event arrival, room;
	int64_t last_us;     /* what was sent before has arrived by then */
	uint64_t bytes;      /* arrived */
	uint64_t fault_at;   /* of them */
};

struct wire {
	int places[2];
	const char *to;
	struct wire_listener **list; /* in which that is */
	struct stream to_side[2];
	bool connected, broken, silent;
	enum wire_end why;
	bool will_cut, will_fall_silent;
	unsigned held; /* calls that use it are under way */
	bool unused;   /* both sides have closed */
	struct world_event connect, breaks;
};

struct wire_weather wire_weather;

static struct wire_listener *wire_listeners[NAMES];
static unsigned wire_nparts; /* links that were ever parted */
static struct { int a, b; int64_t until_us; } wire_parts[PARTS_MAX];

bool wire_are_alike(const char *data)
{
	return wire_weather.alike && data >= wire_weather.alike &&
	       data < wire_weather.alike + wire_weather.nalike;
}

void wire_reset(void)
{
	memset(wire_parts, 0, sizeof(wire_parts));
	wire_nparts = 0;
}

void wire_part(int a, int b, int64_t until_us)
{
	size_t oldest = 0;

	for (size_t i = 0; i < PARTS_MAX; i++) {
		if (wire_parts[i].until_us < wire_parts[oldest].until_us)
			oldest = i;
	}
	wire_parts[oldest].a = a;
	wire_parts[oldest].b = b;
	wire_parts[oldest].until_us = until_us;
	wire_nparts++;
}

static bool wire_is_parted(const struct wire *w)
{
	for (size_t i = 0; wire_nparts && i < PARTS_MAX; i++) {
		if (wire_parts[i].until_us > world_now_us &&
		    ((wire_parts[i].a == w->places[0] &&
		      wire_parts[i].b == w->places[1]) ||
		     (wire_parts[i].b == w->places[0] &&
		      wire_parts[i].a == w->places[1])))
			return true;
	}
	return false;
}

/* The list in which a name's listeners are. */
static struct wire_listener **wire_list_of(const char *name)
{
	unsigned hash = 0;

	while (*name)
		hash = hash * 31 + (unsigned char)*name++;
	return &wire_listeners[hash % NAMES];
}

void wire_listen(struct wire_listener *l)
{
	l->link = wire_list_of(l->name);
	l->next = *l->link;
	if (l->next)
		l->next->link = &l->next;
	*l->link = l;
}

void wire_unlisten(struct wire_listener *l)
{
	if (!l->link)
		return;
	*l->link = l->next;
	if (l->next)
		l->next->link = l->link;
	l->link = NULL;
}

static struct wire_listener *wire_find_listener(const struct wire *w)
{
	struct wire_listener *first = *w->list, *l, *only = NULL;
	const char *name = w->to;
	uint32_t n = 0, chosen;

	for (l = first; l; l = l->next) {
		if (strcmp(l->name, name))
			continue;
		only = l;
		n++;
	}
	if (n < 2)
		return only;
	chosen = world_below(CHOICE_LATENCY, n);
	for (l = first; l; l = l->next) {
		if (!strcmp(l->name, name) && chosen-- == 0)
			break;
	}
	return l;
}

static int64_t wire_latency_us(const struct wire *w)
{
	if (wire_weather.latency)
		return wire_weather.latency(w->places[0], w->places[1]);
	return wire_weather.latency_us / 2 +
	       world_below(CHOICE_LATENCY, wire_weather.latency_us + 1);
}

static void wire_free(struct wire *w)
{
	for (int i = 0; i < 2; i++) {
		struct stream *s = &w->to_side[i];

		world_cancel(&s->arrival);
		world_cancel(&s->room);
		free(s->data);
		free(s->names);
		fields_free(&s->fields);
	}
	world_cancel(&w->connect);
	world_cancel(&w->breaks);
	free(w);
}

static void wire_hold(struct wire *w)
{
	w->held++;
}

static void wire_release(struct wire *w)
{
	if (--w->held == 0 && w->unused)
		wire_free(w);
}

/* Says that an event runs code of the receiver. */
static void wire_stream_runs(const struct stream *s)
{
	world_loop_runs(s->place);
}

/* Whether a side has heard and said all: a break is nothing to it. */
static bool wire_is_done(const struct wire *w, int side)
{
	return w->to_side[side].end_arrived && w->to_side[!side].ended;
}

/* What each side hears when the connection is no more. */
static void wire_run_break(void *arg)
{
	struct wire *w = arg;

	wire_stream_runs(&w->to_side[WIRE_ASKER]);
	wire_stream_runs(&w->to_side[WIRE_ANSWERER]);
	wire_hold(w);
	w->broken = true;
	for (int i = 0; i < 2; i++) {
		struct stream *s = &w->to_side[i];

		world_cancel(&s->arrival);
		world_cancel(&s->room);
		if (!s->open || wire_is_done(w, i))
			continue;
		s->end_arrived = true;
		s->ops.on_broken(s->arg, w->why);
	}
	wire_release(w);
}

static void wire_break(struct wire *w, enum wire_end why)
{
	if (w->broken || w->breaks.place)
		return;
	w->why = why;
	world_at(&w->breaks, world_now_us + wire_latency_us(w), wire_run_break,
		 w);
}

static void wire_stream_arrive(void *arg);

/* Whether something is on its way. */
static bool wire_stream_waits(const struct stream *s)
{
	return (s->has_head && !s->head_arrived) || s->len ||
	       (s->ended && !s->end_arrived);
}

/* Whether something is on its way and not scheduled yet, and can arrive. */
static bool wire_stream_is_idle(const struct stream *s)
{
	return !s->arrival.place && s->wire->connected && !s->full &&
	       !s->wire->broken && !s->wire->silent && s->open &&
	       wire_stream_waits(s);
}

static void wire_stream_schedule(struct stream *s, int64_t delay_us)
{
	int64_t at_us = world_now_us + delay_us;

	if (!wire_stream_is_idle(s))
		return;
	if (at_us < s->last_us)
		at_us = s->last_us;
	s->last_us = at_us;
	world_at(&s->arrival, at_us, wire_stream_arrive, s);
}

/* The same for what was just sent. */
static void wire_stream_leave(struct stream *s)
{
	if (wire_stream_is_idle(s))
		wire_stream_schedule(s, wire_latency_us(s->wire));
}

static void wire_stream_run_room(void *arg)
{
	struct stream *s = arg;
	struct stream *sender = &s->wire->to_side[s == s->wire->to_side];

	wire_stream_runs(sender);
	if (sender->open && sender->ops.on_room)
		sender->ops.on_room(sender->arg);
}

/* Whether a fault ends the connection here. */
static bool wire_stream_meets_fault(struct stream *s)
{
	struct wire *w = s->wire;

	if (wire_weather.calm || s->bytes < s->fault_at ||
	    !(w->will_cut || w->will_fall_silent))
		return false;
	if (w->will_fall_silent)
		w->silent = true;
	else
		wire_break(w, WIRE_BROKEN);
	return true;
}

/* How many bytes arrive next. */
static size_t wire_stream_piece(const struct stream *s)
{
	uint32_t most = wire_weather.whole ? PIECE_BYTES :
					     wire_weather.piece_bytes;
	size_t there = s->len < most ? s->len : most, piece;

	if (wire_weather.whole)
		return there;
	piece = world_skewed(CHOICE_PIECE, 1, most);
	/* mostly what is there, now and then less */
	if (piece > s->len || world_below(CHOICE_PIECE, 4))
		return there;
	return piece;
}

/* Takes what arrives; returns how much, which may be less than there is. */
static size_t wire_stream_take_piece(struct stream *s)
{
	size_t piece = s->len, taken;

	if (s->ops.on_length) {
		s->ops.on_length(s->arg, piece);
		return piece;
	}
	piece = wire_stream_piece(s);
	taken = s->ops.on_bytes(s->arg, s->alike ? wire_weather.alike :
						   s->data + s->at, piece);
	assert(taken <= piece);
	s->full = taken < piece;
	return taken;
}

static void wire_stream_take_bytes(struct stream *s)
{
	size_t taken = wire_stream_take_piece(s);

	s->at += taken;
	s->len -= taken;
	s->bytes += taken;
	if (!s->len)
		s->at = 0;
	if (taken && s->open && !(wire_weather.whole && s->ended))
		world_at(&s->room, world_now_us, wire_stream_run_room, s);
}

static void wire_stream_deliver(struct stream *s)
{
	if (!s->head_arrived && s->has_head) {
		s->head_arrived = true;
		s->ops.on_head(s->arg, &s->head);
	} else if (s->len) {
		wire_stream_take_bytes(s);
	} else {
		s->end_arrived = true;
		if (s->garbage)
			s->ops.on_broken(s->arg, WIRE_GARBAGE);
		else
			s->ops.on_end(s->arg);
	}
}

static void wire_stream_deliver_all(struct stream *s)
{
	while (s->open && !s->full && !s->wire->broken && wire_stream_waits(s))
		wire_stream_deliver(s);
}

static void wire_stream_arrive(void *arg)
{
	struct stream *s = arg;
	struct wire *w = s->wire;

	wire_stream_runs(s);
	if (wire_is_parted(w)) {
		wire_stream_schedule(s, PARTED_US);
		return;
	}
	if (wire_stream_meets_fault(s))
		return;
	wire_hold(w);
	wire_stream_deliver(s);
	if (wire_weather.whole)
		wire_stream_deliver_all(s);
	else
		wire_stream_schedule(s, world_below(CHOICE_LATENCY,
					       wire_weather.piece_us + 1));
	wire_release(w);
}

static void wire_run_connect(void *arg)
{
	struct wire *w = arg;
	struct wire_listener *l;

	if (wire_is_parted(w)) {
		world_at(&w->connect, world_now_us + PARTED_US,
			 wire_run_connect, w);
		return;
	}
	l = wire_find_listener(w);
	if (!l) {
		wire_break(w, WIRE_REFUSED);
		return;
	}
	wire_hold(w);
	w->connected = true;
	w->to_side[WIRE_ANSWERER].place = l->place;
	wire_stream_runs(&w->to_side[WIRE_ASKER]);
	wire_stream_runs(&w->to_side[WIRE_ANSWERER]);
	l->accept(l->arg, w);
	if (!wire_weather.whole)
		wire_stream_leave(&w->to_side[WIRE_ANSWERER]);
	if (w->to_side[WIRE_ASKER].open &&
	    w->to_side[WIRE_ASKER].ops.on_connected)
		w->to_side[WIRE_ASKER].ops.on_connected(
			w->to_side[WIRE_ASKER].arg);
	/* what was sent has come along */
	if (wire_weather.whole)
		wire_stream_deliver_all(&w->to_side[WIRE_ANSWERER]);
	wire_release(w);
}

static void wire_choose_fate(struct wire *w, const struct wire_faults *f)
{
	w->will_cut = world_happens(CHOICE_FAULT, f->cut);
	w->will_fall_silent = world_happens(CHOICE_FAULT, f->silent);
	for (int i = 0; i < 2; i++)
		w->to_side[i].fault_at = world_skewed(CHOICE_FAULT, 1,
						      FAULT_BYTES) - 1;
}

static int wire_place_of(const struct wire *w)
{
	for (struct wire_listener *l = *w->list; l; l = l->next) {
		if (!strcmp(l->name, w->to))
			return l->place;
	}
	return WIRE_ORIGIN;
}

struct wire *wire_open(int from, const char *to, const struct wire_ops *ops,
		       void *arg)
{
	const struct wire_faults none = { 0 };
	const struct wire_faults *f = &wire_weather.faults;
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		world_fail("the world itself is out of memory");
	/* clients break off by themselves */
	if (from == WIRE_CLIENTS || wire_weather.calm)
		f = &none;
	w->places[0] = from;
	w->to = to;
	w->list = wire_list_of(to);
	w->places[1] = wire_place_of(w);
	for (int i = 0; i < 2; i++) {
		w->to_side[i].wire = w;
		w->to_side[i].place = w->places[i];
		fields_init(&w->to_side[i].fields);
	}
	w->to_side[WIRE_ASKER].ops = *ops;
	w->to_side[WIRE_ASKER].arg = arg;
	w->to_side[WIRE_ASKER].open = true;
	if (wire_weather.whole) {
		world_at(&w->connect, world_now_us + wire_latency_us(w),
			 wire_run_connect, w);
		return w;
	}
	wire_choose_fate(w, f);
	if (world_happens(CHOICE_FAULT, f->refused))
		wire_break(w, WIRE_REFUSED);
	else if (!world_happens(CHOICE_FAULT, f->black_hole))
		world_at(&w->connect, world_now_us + 2 * wire_latency_us(w),
			 wire_run_connect, w);
	return w;
}

void wire_accept(struct wire *w, const struct wire_ops *ops, void *arg)
{
	w->to_side[WIRE_ANSWERER].ops = *ops;
	w->to_side[WIRE_ANSWERER].arg = arg;
	w->to_side[WIRE_ANSWERER].open = true;
}

static struct stream *wire_from(struct wire *w, enum wire_side from)
{
	return &w->to_side[from == WIRE_ASKER ? WIRE_ANSWERER : WIRE_ASKER];
}

/* Copies method and target of a head. */
static void wire_stream_name(struct stream *s)
{
	size_t method = strlen(s->head.method) + 1;
	size_t target = strlen(s->head.target) + 1;
	char *names = s->short_names;

	if (method + target > NAMES_BYTES)
		names = s->names = malloc(method + target);
	if (!names)
		world_fail("the world itself is out of memory");
	s->head.method = memcpy(names, s->head.method, method);
	s->head.target = memcpy(names + method, s->head.target, target);
}

void wire_move_head(struct wire *w, enum wire_side from,
		    const struct wire_head *head, struct fields *fields)
{
	struct stream *s = wire_from(w, from);

	assert(!s->has_head);
	assert(!head->method == !head->target);
	s->has_head = true;
	s->head = *head;
	if (head->method)
		wire_stream_name(s);
	s->fields = *fields;
	fields_init(fields);
	s->head.fields = &s->fields;
	wire_stream_leave(s);
}

void wire_send_head(struct wire *w, enum wire_side from,
		    const struct wire_head *head)
{
	struct fields copy;

	if (fields_copy(head->fields, &copy))
		world_fail("the world itself is out of memory");
	wire_move_head(w, from, head, &copy);
}

size_t wire_room(const struct wire *w, enum wire_side from)
{
	const struct stream *s = wire_from((struct wire *)(uintptr_t)w, from);

	return s->len < wire_weather.window ? wire_weather.window - s->len : 0;
}

static void wire_stream_append(struct stream *s, const char *data, size_t len)
{
	assert(!s->alike);
	/* seldom: what has arrived is then as long as what is moved */
	if (s->at && s->at + s->len + len > s->cap && s->at >= s->len) {
		memmove(s->data, s->data + s->at, s->len);
		s->at = 0;
	}
	if (s->at + s->len + len > s->cap) {
		s->cap = 2 * (s->at + s->len + len);
		s->data = realloc(s->data, s->cap);
		if (!s->data)
			world_fail("the world itself is out of memory");
	}
	memcpy(s->data + s->at + s->len, data, len);
}

void wire_send(struct wire *w, enum wire_side from, const char *data,
	       size_t len)
{
	struct stream *s = wire_from(w, from);

	assert(!s->ended && s->has_head);
	if (w->broken || !len)
		return;
	if (wire_are_alike(data))
		s->alike = true;
	else if (!s->ops.on_length)
		wire_stream_append(s, data, len);
	s->len += len;
	wire_stream_leave(s);
}

void wire_send_end(struct wire *w, enum wire_side from)
{
	struct stream *s = wire_from(w, from);

	if (s->ended)
		return;
	s->ended = true;
	wire_stream_leave(s);
}

void wire_send_garbage(struct wire *w, enum wire_side from)
{
	wire_from(w, from)->garbage = true;
	wire_send_end(w, from);
}

void wire_resume(struct wire *w, enum wire_side to)
{
	struct stream *s = &w->to_side[to];

	s->full = false;
	wire_stream_schedule(s, 0);
}

void wire_close(struct wire **wire, enum wire_side side)
{
	struct wire *w = *wire;
	struct stream *in, *out;

	if (!w)
		return;
	*wire = NULL;
	in = &w->to_side[side];
	out = wire_from(w, side);
	in->open = false;
	world_cancel(&in->arrival);
	world_cancel(&in->room);
	if (!out->open || !w->connected) {
		w->unused = true;
		wire_hold(w);
		wire_release(w);
		return;
	}
	/* a side that had not heard all, or not said all, leaves a wreck */
	if (!out->ended || !in->end_arrived)
		wire_break(w, WIRE_BROKEN);
}
