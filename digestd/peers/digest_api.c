/*
 * The digest resources.
 *
 * A request that waits is in the list `waiting`, or it has been taken out of
 * it: by a publication, which posts `wake` to the request's loop, or by its
 * own loop, when its time is over or its client has left. Who takes it out,
 * under the lock, ends it.
 */
#include "digestd/peers/digest_api.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_api_inside.h"
#include "digestd/peers/digest_request.h"

struct waiter {
	struct digest_pending pending;
	struct digest_api *api;
	struct exchange *x; /* null: the client has left */
	struct digest_request request;
	struct loop_call wake;
	struct loop_timer timer;
	bool listed;
	struct waiter *next, **link;
};

void peers_digest_api_count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

void digest_api_count(const struct digest_api *api,
		      struct digest_api_counters *out)
{
#define X(name, held, seen) \
	out->name = __atomic_load_n(&api->counters.name, __ATOMIC_RELAXED);
	DIGEST_API_COUNTERS(X)
#undef X
}

struct publication *digest_api_current(struct digest_api *api)
{
	struct publication *p;

	pthread_mutex_lock(&api->lock);
	p = api->recent[0] ? publication_ref(api->recent[0]) : NULL;
	pthread_mutex_unlock(&api->lock);
	return p;
}

/* The same of a list. */
static struct blob *digest_api_frames_of(const struct publication *p,
					 const struct digest_request *r)
{
	size_t step;

	if (!p->list || p->instance != r->instance || p->generation != r->to)
		return NULL;
	step = list_publication_find(p->list, r->from);
	return step < p->list->nsteps ? list_publication_frames(p->list, step)
				      : NULL;
}

/* A delta of a publication by name, for somebody who is sent it, with one user
 * more; null: there is none. */
static struct blob *digest_api_delta_of(struct publication *p,
					const struct digest_request *r)
{
	const struct publication_delta *delta =
		publication_delta(p, r->instance, r->from);

	if (r->list)
		return digest_api_frames_of(p, r);
	if (p->generation != r->to || !delta || !delta->xor)
		return NULL;
	publication_held(p);
	return blob_ref(delta->xor);
}

/* The same of all publications that are still known. */
static struct blob *digest_api_named_delta(struct digest_api *api,
					   const struct digest_request *r)
{
	struct blob *found = NULL;

	pthread_mutex_lock(&api->lock);
	for (unsigned i = 0;
	     i < DIGEST_API_RECENT && api->recent[i] && !found; i++)
		found = digest_api_delta_of(api->recent[i], r);
	pthread_mutex_unlock(&api->lock);
	return found;
}

/* Replies */

static void digest_api_release_blob(void *arg)
{
	blob_unref(arg);
}

void digest_api_send_blob(struct exchange *x, unsigned status,
			  const struct fields *fields, struct blob *blob)
{
	exchange_reply(x, status, fields, blob->bytes, blob->len,
		       digest_api_release_blob, blob);
}

/* What a link to a delta takes. */
enum { DIGEST_API_LINK_BYTES = 160 };

static int digest_api_add_link(const struct digest_api *api, struct fields *f,
			       const struct publication *p, uint64_t from,
			       const char *suffix)
{
	char link[DIGEST_API_LINK_BYTES];

	snprintf(link, sizeof(link),
		 "<%s%016" PRIx64 "/%" PRIu64 "-%" PRIu64
		 "%s>; rel=\"scd-delta\"", api->paths->delta,
		 p->instance, from, p->generation, suffix);
	return fields_add(f, "Link", link);
}

/* A Link for each delta that leads here; of a list, whose deltas start at each
 * of hundreds of generations, for the newest. */
static int digest_api_add_links(const struct digest_api *api, struct fields *f,
				const struct publication *p, bool list)
{
	const struct list_publication *l = p->list;

	if (list)
		return l->nsteps ? digest_api_add_link(
					   api, f, p,
					   l->steps[l->nsteps - 1].from,
					   "-list")
				 : 0;
	for (unsigned i = 0; i < p->ndeltas; i++) {
		if (!p->deltas[i].xor)
			continue;
		if (digest_api_add_link(api, f, p, p->deltas[i].from, ""))
			return -ENOMEM;
	}
	return 0;
}

/* What the node says of itself; "": nothing. With the lock held. */
static void digest_api_write_node(const struct digest_api *api,
				  char text[DIGEST_NODE_BYTES])
{
	const struct digest_node node = { api->says_leases, api->leases,
					  api->draining };

	digest_node_write(&node, text);
}

static int digest_api_add_node(struct digest_api *api, struct fields *f)
{
	char text[DIGEST_NODE_BYTES];

	pthread_mutex_lock(&api->lock);
	digest_api_write_node(api, text);
	pthread_mutex_unlock(&api->lock);
	return *text ? fields_add(f, DIGEST_NODE, text) : 0;
}

enum { DIGEST_API_SUSPECTS_BYTES = DIGEST_SUSPECTS_MAX * 20 };

/* Whom it suspects; "": nobody. With the lock held. */
static void digest_api_write_suspects(const struct digest_api *api,
				      int64_t now_ms,
				      char text[DIGEST_API_SUSPECTS_BYTES])
{
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < DIGEST_SUSPECTS_MAX; i++) {
		if (api->suspects[i].until_ms > now_ms)
			len += (size_t)snprintf(text + len,
						DIGEST_API_SUSPECTS_BYTES - len,
						"%s%016" PRIx64,
						len ? ", " : "",
						api->suspects[i].instance);
	}
}

static int digest_api_add_suspects(struct digest_api *api, int64_t now_ms,
				   struct fields *f)
{
	char text[DIGEST_API_SUSPECTS_BYTES];

	pthread_mutex_lock(&api->lock);
	digest_api_write_suspects(api, now_ms, text);
	pthread_mutex_unlock(&api->lock);
	return *text ? fields_add(f, DIGEST_SUSPECTS, text) : 0;
}

/* The generation that an answer leads to. */
static struct digest_tag digest_api_tag_of(const struct publication *p,
					   const struct digest_answer *answer)
{
	const bool older = answer->list && answer->kind == DIGEST_ANSWER_FULL;

	return (struct digest_tag){ p->instance,
				    older ? p->list->full_generation
					  : p->generation,
				    answer->list };
}

int digest_api_tagged_fields(struct digest_api *api, const struct exchange *x,
			     const struct digest_tag *tag, struct fields *f)
{
	char etag[DIGEST_ETAG_BYTES + 1];

	digest_tag_write(tag, etag);
	fields_init(f);
	if (fields_add(f, "ETag", etag) ||
	    fields_add(f, "Cache-Control", "no-cache") ||
	    fields_add(f, "Vary", "Accept, A-IM") ||
	    (*api->hash_name &&
	     fields_add(f, DIGEST_HASH_NAME, api->hash_name)) ||
	    digest_api_add_node(api, f) ||
	    digest_api_add_suspects(api, loop_now_ms(exchange_loop(x)), f))
		return -ENOMEM;
	return 0;
}

/* The fields that 200, 226 and 304 of the current digest have in common. */
static int digest_api_current_fields(struct digest_api *api,
				     const struct exchange *x,
				     const struct publication *p,
				     const struct digest_answer *answer,
				     struct fields *f)
{
	const struct digest_tag tag = digest_api_tag_of(p, answer);

	return digest_api_tagged_fields(api, x, &tag, f) ||
			       digest_api_add_links(api, f, p, answer->list) ?
		       -ENOMEM :
		       0;
}

static void digest_api_send_unchanged(struct digest_api *api,
				      struct exchange *x,
				      const struct publication *p,
				      const struct digest_answer *same)
{
	struct fields f;

	if (digest_api_current_fields(api, x, p, same, &f)) {
		exchange_abort(x);
	} else {
		peers_digest_api_count(&api->counters.not_modified, 1);
		exchange_reply_copy(x, 304, &f, "", 0);
	}
	fields_free(&f);
}

int digest_api_add_type(bool list, struct fields *f)
{
	return fields_add(f, "Content-Type",
			  list ? DIGEST_TYPE_LIST : DIGEST_TYPE_ARRAY);
}

static void digest_api_send_full(struct digest_api *api, struct exchange *x,
				 const struct publication *p,
				 const struct digest_answer *full)
{
	struct fields f;

	if (digest_api_current_fields(api, x, p, full, &f) ||
	    digest_api_add_type(full->list, &f)) {
		exchange_abort(x);
	} else {
		peers_digest_api_count(&api->counters.full_sent, 1);
		peers_digest_api_count(&api->counters.full_sent_bytes,
				       full->blob->len);
		digest_api_send_blob(x, 200, &f, blob_ref(full->blob));
	}
	fields_free(&f);
}

static const char *digest_api_form(const struct digest_answer *delta)
{
	if (delta->ages)
		return DIGEST_IM_AGES;
	if (delta->list)
		return delta->aged ? DIGEST_IM_AGED : DIGEST_IM_FRAMES;
	return delta->conditional ? DIGEST_IM_CONDITIONAL : DIGEST_IM_XOR;
}

int digest_api_delta_fields(struct digest_api *api, const struct exchange *x,
			    const struct publication *p,
			    const struct digest_answer *delta, const char *form,
			    struct fields *f)
{
	struct digest_tag base = { p->instance, delta->from, delta->list };
	char etag[DIGEST_ETAG_BYTES + 1];

	digest_tag_write(&base, etag);
	return digest_api_current_fields(api, x, p, delta, f) ||
			       fields_add(f, "IM", form) ||
			       fields_add(f, "Delta-Base", etag) ||
			       digest_api_add_type(delta->list, f) ?
		       -ENOMEM :
		       0;
}

static void digest_api_send_delta(struct digest_api *api, struct exchange *x,
				  const struct publication *p,
				  const struct digest_answer *delta)
{
	struct blob *blob = delta->list ? digest_answer_frames(delta, p)
					: blob_ref(delta->blob);
	struct fields f;

	if (digest_api_delta_fields(api, x, p, delta, digest_api_form(delta),
				    &f) ||
	    !blob) {
		blob_unref(blob);
		exchange_abort(x);
	} else {
		peers_digest_api_count(&api->counters.delta_sent, 1);
		peers_digest_api_count(&api->counters.delta_sent_bytes,
				       blob->len);
		digest_api_send_blob(x, 226, &f, blob);
	}
	fields_free(&f);
}

/* Somebody asks for an array. With the lock held. */
static void digest_api_note_array(struct digest_api *api, int64_t now_ms)
{
	api->array_wanted_ms = now_ms;
	if (!api->recent[0]->full && api->wanted)
		api->wanted(api->wanted_arg);
}

/* There are lists only, still: the array that is being made is there when it is
 * asked for again. */
static void digest_api_put_off(struct digest_api *api, struct exchange *x)
{
	struct fields f;

	fields_init(&f);
	if (fields_add(&f, "Retry-After", "1")) {
		exchange_abort(x);
	} else {
		peers_digest_api_count(&api->counters.array_refused, 1);
		exchange_reply_error(x, 503, &f);
	}
	fields_free(&f);
}

/* Answers with what there is now. */
static void digest_api_send_current(struct digest_api *api, struct exchange *x,
				    const struct digest_request *r)
{
	struct publication *p = digest_api_current(api);
	const struct digest_answer answer = digest_answer_to(&r->ask, p, 0);

	if (p && !answer.list)
		publication_held(p);
	switch (answer.kind) {
	case DIGEST_ANSWER_NONE:
	case DIGEST_ANSWER_WAIT: /* not for no time */
		exchange_reply_error(x, 503, NULL);
		break;
	case DIGEST_ANSWER_NO_ARRAY:
		digest_api_put_off(api, x);
		break;
	case DIGEST_ANSWER_UNCHANGED:
		digest_api_send_unchanged(api, x, p, &answer);
		break;
	case DIGEST_ANSWER_DELTA:
		digest_api_send_delta(api, x, p, &answer);
		break;
	case DIGEST_ANSWER_FULL:
		digest_api_send_full(api, x, p, &answer);
		break;
	}
	publication_unref(p);
}

static void digest_api_send_named_delta(struct digest_api *api,
					struct exchange *x,
					const struct digest_request *r)
{
	struct blob *blob = digest_api_named_delta(api, r);
	struct fields f;

	fields_init(&f);
	if (!blob) {
		exchange_reply_error(x, 404, NULL);
	} else if (digest_api_add_type(r->list, &f) ||
		   fields_add(&f, "Cache-Control",
			      "public, immutable, max-age=86400")) {
		blob_unref(blob);
		exchange_abort(x);
	} else {
		peers_digest_api_count(&api->counters.delta_sent, 1);
		peers_digest_api_count(&api->counters.delta_sent_bytes,
				       blob->len);
		digest_api_send_blob(x, 200, &f, blob);
	}
	fields_free(&f);
}

/* Waiting */

static void digest_api_unlist(struct waiter *w)
{
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	w->listed = false;
}

/* Takes a waiter out of the list; false: somebody else has, and has posted. */
static bool digest_api_take(struct waiter *w)
{
	bool listed;

	pthread_mutex_lock(&w->api->lock);
	listed = w->listed;
	if (listed)
		digest_api_unlist(w);
	pthread_mutex_unlock(&w->api->lock);
	return listed;
}

static void digest_api_answer(struct waiter *w)
{
	exchange_set_data(w->x, NULL);
	digest_api_send_current(w->api, w->x, &w->request);
}

/* In the request's loop, after a publication has taken it out of the list. */
static void digest_api_on_wake(void *arg)
{
	struct waiter *w = arg;

	if (w->x) {
		loop_timer_clear(exchange_loop(w->x), &w->timer);
		digest_api_answer(w);
	}
	free(w);
}

static void digest_api_on_timer(void *arg)
{
	struct waiter *w = arg;

	if (!digest_api_take(w))
		return;
	digest_api_answer(w);
	free(w);
}

struct digest_answer digest_api_answer_to(const struct digest_api *api,
					  const struct digest_ask *ask)
{
	const bool waits = !api->draining && !api->handed_over;

	return digest_answer_to(ask, api->recent[0],
				waits ? api->max_wait_s : 0);
}

/* Takes a waiter out of the list and posts to it. With the lock held. */
static void digest_api_wake(struct waiter *w)
{
	digest_api_unlist(w);
	loop_post(exchange_loop(w->x), &w->wake);
}

static void digest_api_wake_all(struct digest_api *api)
{
	while (api->waiting)
		digest_api_wake(api->waiting);
}

/* The same where nobody will be kept waiting. */
static void digest_api_end_all(struct digest_api *api)
{
	digest_api_wake_all(api);
	digest_api_wake_streams(api, true);
}

static void digest_api_waiter_left(struct digest_pending *pending)
{
	struct waiter *w = (struct waiter *)pending;

	loop_timer_clear(exchange_loop(w->x), &w->timer);
	if (digest_api_take(w))
		free(w);
	else
		w->x = NULL; /* digest_api_on_wake() is on its way and frees it
			      */
}

/* Wakes who need not wait any more: after a publication without an array, those
 * who want one stay. With the lock held. */
static void digest_api_wake_answered(struct digest_api *api)
{
	struct waiter *next;

	for (struct waiter *w = api->waiting; w; w = next) {
		next = w->next;
		if (digest_api_answer_to(api, &w->request.ask).kind !=
		    DIGEST_ANSWER_WAIT)
			digest_api_wake(w);
	}
}

/*
 * Makes a request wait, unless something new has come meanwhile, or if it is
 * for an array that is yet to be made. Returns whether it waits.
 */
static bool digest_api_wait_for_news(struct digest_api *api, struct exchange *x,
				     const struct digest_request *r)
{
	struct loop *loop = exchange_loop(x);
	struct waiter *w = calloc(1, sizeof(*w));
	struct digest_answer answer;
	bool waits;

	if (!w)
		return false;
	*w = (struct waiter){.pending.left = digest_api_waiter_left,
			     .api = api,
			     .x = x,
			     .request = *r,
			     .wake = {.run = digest_api_on_wake, .arg = w}};
	pthread_mutex_lock(&api->lock);
	answer = digest_api_answer_to(api, &r->ask);
	if (api->recent[0] && !answer.list)
		digest_api_note_array(api, loop_now_ms(loop));
	waits = answer.kind == DIGEST_ANSWER_WAIT;
	if (waits) {
		w->next = api->waiting;
		w->link = &api->waiting;
		if (w->next)
			w->next->link = &w->next;
		api->waiting = w;
		w->listed = true;
		/* in this thread, which also runs digest_api_on_wake() */
		exchange_set_data(x, &w->pending);
		loop_timer_set(loop, &w->timer,
			       loop_now_ms(loop) + answer.wait_s * 1000,
			       digest_api_on_timer, w);
	}
	pthread_mutex_unlock(&api->lock);
	if (!waits)
		free(w);
	return waits;
}

/* The handler */

static void digest_api_tell_introduction(const struct digest_api *api,
					 const struct server_request *request)
{
	const char *text = fields_get(request->fields, DIGEST_INTRODUCTION);

	if (text && api->on_introduction)
		api->on_introduction(api->arg, text, request->client);
}

static void digest_api_on_request(void *arg, struct exchange *x)
{
	const struct server_request *request = exchange_request(x);
	struct digest_api *api = arg;
	struct digest_request r;

	exchange_set_data(x, NULL);
	if (strcmp(request->method, "GET") && strcmp(request->method, "HEAD")) {
		struct fields allow;

		fields_init(&allow);
		if (fields_add(&allow, "Allow", "GET, HEAD"))
			exchange_abort(x);
		else
			exchange_reply_error(x, 405, &allow);
		fields_free(&allow);
		return;
	}
	for (;; api = api->more) {
		digest_request_read(&r, api->paths,
				    (struct field_part){ request->target,
							 request->target_len },
				    request->fields);
		if (r.resource != DIGEST_NONE || !api->more)
			break;
	}
	switch (r.resource) {
	case DIGEST_NONE:
		exchange_reply_error(x, 404, NULL);
		return;
	case DIGEST_DELTA:
		digest_api_send_named_delta(api, x, &r);
		return;
	case DIGEST_SECTOR:
		digest_api_tell_introduction(api, request);
		digest_api_send_sector(api, x, &r);
		return;
	case DIGEST_CURRENT:
		digest_api_tell_introduction(api, request);
		if (!digest_api_start_stream(api, x, &r) &&
		    !digest_api_wait_for_news(api, x, &r))
			digest_api_send_current(api, x, &r);
		return;
	}
}

/* Also comes when the client leaves while it waits. */
static void digest_api_on_done(void *arg, struct exchange *x,
			       enum exchange_end end)
{
	struct digest_pending *pending = exchange_data(x);

	(void)arg;
	(void)end;
	if (pending)
		pending->left(pending);
}

const struct server_handler digest_api_handler = {
	.on_request = digest_api_on_request,
	.on_done = digest_api_on_done,
};

int digest_api_new(struct digest_api **out, int64_t max_wait_s,
		   const struct digest_paths *paths)
{
	struct digest_api *api = calloc(1, sizeof(*api));

	assert(max_wait_s >= 0 && paths);
	if (!api)
		return -ENOMEM;
	pthread_mutex_init(&api->lock, NULL);
	pthread_mutex_init(&api->sector_lock, NULL);
	api->max_wait_s = max_wait_s;
	api->array_wanted_ms = INT64_MIN;
	api->paths = paths;
	*out = api;
	return 0;
}

void digest_api_name_hash(struct digest_api *api, const char name[TOKEN_BYTES])
{
	memcpy(api->hash_name, name, TOKEN_BYTES);
}

void digest_api_say_leases(struct digest_api *api, bool leases)
{
	char text[DIGEST_NODE_BYTES];
	bool new;

	pthread_mutex_lock(&api->lock);
	new = api->leases != leases || !api->says_leases;
	api->says_leases = true;
	api->leases = leases;
	digest_api_write_node(api, text);
	if (new)
		digest_api_note_all(api, DIGEST_NOTE_NODE, text);
	pthread_mutex_unlock(&api->lock);
}

void digest_api_add(struct digest_api *api, struct digest_api *more)
{
	assert(more != api && !api->more);
	api->more = more;
}

void digest_api_on_introduction(struct digest_api *api,
				void (*on_introduction)(
					void *arg, const char *text,
					const struct sockaddr *from),
				void *arg)
{
	assert(on_introduction && !api->on_introduction);
	api->on_introduction = on_introduction;
	api->arg = arg;
}

void digest_api_free(struct digest_api **api)
{
	if (!*api)
		return;
	assert(!(*api)->waiting && !(*api)->streams);
	for (unsigned i = 0; i < DIGEST_API_RECENT; i++)
		publication_unref((*api)->recent[i]);
	pthread_mutex_destroy(&(*api)->lock);
	pthread_mutex_destroy(&(*api)->sector_lock);
	free(*api);
	*api = NULL;
}

void digest_api_publish(struct digest_api *api, struct publication *p)
{
	struct publication *oldest;

	assert(p && (p->full || p->list));
	pthread_mutex_lock(&api->lock);
	oldest = api->recent[DIGEST_API_RECENT - 1];
	memmove(api->recent + 1, api->recent,
		(DIGEST_API_RECENT - 1) * sizeof(api->recent[0]));
	api->recent[0] = p;
	digest_api_wake_answered(api);
	digest_api_wake_streams(api, false);
	pthread_mutex_unlock(&api->lock);
	publication_unref(oldest);
}

/* The place of who is named already, or of who has been for longest. */
static size_t digest_api_suspect_place(const struct digest_api *api,
				       uint64_t instance)
{
	size_t place = 0;

	for (size_t i = 0; i < DIGEST_SUSPECTS_MAX; i++) {
		if (api->suspects[i].instance == instance)
			return i;
		if (api->suspects[i].until_ms < api->suspects[place].until_ms)
			place = i;
	}
	return place;
}

void digest_api_suspect(struct digest_api *api, uint64_t instance,
			int64_t now_ms, int64_t until_ms)
{
	char text[DIGEST_API_SUSPECTS_BYTES];
	size_t place;

	pthread_mutex_lock(&api->lock);
	place = digest_api_suspect_place(api, instance);
	api->suspects[place].instance = instance;
	api->suspects[place].until_ms = until_ms;
	digest_api_write_suspects(api, now_ms, text);
	digest_api_note_all(api, DIGEST_NOTE_SUSPECTS, text);
	digest_api_wake_all(api);
	pthread_mutex_unlock(&api->lock);
}

void digest_api_hand_over(struct digest_api *api)
{
	pthread_mutex_lock(&api->lock);
	api->handed_over = true;
	digest_api_end_all(api);
	pthread_mutex_unlock(&api->lock);
}

bool digest_api_array_wanted(struct digest_api *api, int64_t since_ms)
{
	bool wanted;

	pthread_mutex_lock(&api->lock);
	wanted = api->array_wanted_ms >= since_ms;
	pthread_mutex_unlock(&api->lock);
	return wanted;
}

void digest_api_on_wanted(struct digest_api *api, void (*wanted)(void *arg),
			  void *arg)
{
	pthread_mutex_lock(&api->lock);
	api->wanted = wanted;
	api->wanted_arg = arg;
	pthread_mutex_unlock(&api->lock);
}

void digest_api_drain(struct digest_api *api)
{
	pthread_mutex_lock(&api->lock);
	api->draining = true;
	digest_api_end_all(api);
	pthread_mutex_unlock(&api->lock);
}
