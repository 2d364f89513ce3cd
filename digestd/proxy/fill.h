/*
 * A fill: what is under way for a key, from the question to a peer or an origin
 * to the last byte of the response.
 *
 * It has a client, the request that has begun it; or none: what renews a stored
 * response, or probes a peer, never had one, and what is being stored goes on
 * when its client has left. Others join it by its collapse (collapse.h).
 *
 * What it does next is decided by a machine without I/O, node/node_fill.h, of
 * which this is the edge: fill_node.c turns what happens into events and
 * carries out the actions, the other files have what these need.
 */
#ifndef DIGESTD_PROXY_FILL_H
#define DIGESTD_PROXY_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "digestd/cache/cache.h"
#include "digestd/fetch/fetch.h"
#include "digestd/http/fields.h"
#include "digestd/http/freshness.h"
#include "digestd/mesh/route.h"
#include "digestd/node/node_fill.h"
#include "digestd/node/node_holder.h"
#include "digestd/node/node_lease.h"
#include "digestd/os/memory.h"
#include "digestd/proxy/buffer.h"
#include "digestd/proxy/collapse.h"
#include "digestd/proxy/origin_group.h"
#include "digestd/proxy/question.h"
#include "digestd/proxy/worker_inside.h"

struct fill_check;
struct fill_cut;
struct reply_slices;
struct request;

/* What a fill has of the process's memory, see fill_memory.c. */
struct fill_memory {
	struct ledger_account body; /* collected, or passed through */
	uint64_t come;		    /* of what is collected */
	bool passes;
	size_t window; /* of what passes */
};

/* Whom the current fetch asks. */
enum source {
	SOURCE_NONE,
	SOURCE_PEER,
	SOURCE_ORIGIN,
	SOURCE_BESIDE, /* the cache beside this node, for a peer */
};

struct fill {
	struct worker *worker;
	struct question *q;
	struct request *client; /* null: none, or it has left */
	struct node_fill node;
	struct collapse *collapse; /* by which others join; null: nobody can */

	/* whom to ask */
	bool past_peers; /* the origin has been asked: they are no more */
	bool for_peer; /* who gets what is beside this node, and no more */
	bool stale_at_peer; /* one that was asked has it, and not fresh */
	struct node_holder holder; /* of a stale copy, in fill_holder.c, */
	const struct peerset_peer *holder_peer; /* which is this one of view */
	struct peerset *view; /* the one that the route is in; null: none yet */
	struct route route;
	uint64_t origin_number; /* see fill_distance.c; 0: not hashed yet */
	const struct peerset_peer *peer; /* the one asked, or that had it */
	struct origin_turn origin; /* the same of the site's origins */
	uint32_t origins_tried;	   /* bits of those that were asked */
	uint32_t origins_late;	   /* of these, those that may be once more */
	bool origin_served;	   /* an answer was used, or is to be */
	struct origin_turn suspect; /* of them the one asked before it, if it */
	enum origin_outcome suspected; /* may be to blame, and for what */
	struct node_lease lease; /* the way to the origin, in fill_lease.c */
	struct lease_wish wish;	 /* of its request under way */
	struct lease_answer told; /* by the last answer to one */
	struct fill *hedge;  /* asks the origin beside it; null: none */
	struct fill *hedged; /* of a hedge: the one that waits for the peer */
	bool beats;	     /* a hedge that was first, and the other: */
	bool beaten;	     /* it is over with the peer's header */
	struct loop_timer timer; /* the machine's */

	/* the fetch under way */
	enum source source;
	struct fetch *fetch;
	size_t counted;    /* of the process's memory, but for the body */
	struct fields in;  /* the client's fields as they came */
	struct fields out; /* and as they are sent */
	bool aligned;	   /* with a range in whole slices in place of its; */
	bool as_it_is;	   /* which did not do: its own from now on */
	int64_t asked_s, asked_ms, asked_us;
	struct upstream_figures *figures; /* of whom it asks, the worker's */
	enum upstream_kind leg; /* which that is */
	bool on_leg;	   /* it has not ended yet */
	int64_t leg_us[UPSTREAM_KIND_COUNT]; /* that those before it took */
	uint64_t purges;   /* cache_purges() before that */
	size_t needs;	   /* purges that the peer has to know of */
	bool need_met;	   /* by what its 304 says, it does */
	bool unheard;	   /* a peer is asked, see cache_hear_all(): what it has
			      is for this client alone */
	struct cached *stale; /* to be asked about, or served on error */
	uint64_t stale_since; /* cache_purges() before it was looked up */
	bool validates;	   /* it may not be used but by the origin's word */
	bool validating;   /* whoever is asked is asked about it */
	struct cached *refreshed; /* what it has confirmed; null: no memory */

	/* its response */
	unsigned rtt_ms;   /* of the peer that is answering */
	enum peer_outcome verdict; /* on its header */
	unsigned fwd_status; /* of what has been received, whatever is used */
	unsigned came;	   /* how often more of it has, its header first */
	unsigned status;
	struct fields response;
	struct fields withheld;  /* those of it that are not stored */
	struct fields trailers;  /* behind its body, for the client only: the
				    store has none (RFC 9111, 3.1) */
	struct fields selecting; /* of it, see vary_select() */
	bool selected;           /* that has been found out, and: */
	bool right_variant;
	struct freshness freshness;
	bool weighed;		 /* the admission policy has been asked: */
	enum admission_decision worth;
	enum not_stored not_stored; /* why it may not be kept; or none */
	bool judged;             /* it could be kept, and should be there: */
	enum admission_decision place;
	bool placed;             /* it was asked whether it belongs here: */
	bool placed_here;
	bool hot_copy;           /* only as one, of what a peer has */
	struct cached *head;     /* what is to be stored, but for its body */
	struct cached *stored;   /* once it is whole and stored */
	bool kept;               /* it, or what was renewed, is in the store */
	bool tunnel;             /* the protocol has changed: what comes is
				    no response, and no request any more */
	bool tunnel_half;        /* and the origin has sent all */
	struct buffer body;
	struct fill_memory memory;
	struct fill_cut *cut;	 /* it is stored in slices; null: it is not */
	struct reply_slices *passes_to; /* or they are sent by that alone */
	bool busy;		 /* with bytes of several: is not freed */
	struct fill_check *check; /* of a peer's answer; null: none */
	struct peer_copy *copy;	 /* who waits for its end; null: nobody */

	struct fill *next, **link; /* in the worker */
};

/* Life, in fill.c. */

/* Makes one that nobody has been asked for yet, for requests with these fields,
 * which are copied. Null: no memory. */
struct fill *fill_new(struct worker *w, struct question *q,
		      const struct fields *fields);

/* The same without a client: GET, for the whole. */
struct fill *fill_new_beside(struct worker *w, const struct question *q,
			     const struct fields *fields);

/* Copies what came behind the body, and counts it; -1: no memory. Drop: gives
 * that back, if there is any. */
int fill_keep_trailers(struct fill *f, const struct fields *trailers);
void fill_drop_trailers(struct fill *f);

/* Frees a fill that has no client, and of which nothing is under way. */
void fill_free_if_over(struct fill *f);

/* Ends everything a worker has under way; there are no clients any more. */
void fill_end_all(struct worker *w);

/* The edge of the machine, in fill_node.c. Each may free f. */

/* Of all fetches; arg is the fill. */
extern const struct fetch_callbacks fill_callbacks;

/* One step with bytes, of which f->node may take some. */
void fill_take(struct fill *f, const struct node_fill_input *in,
	       const char *data, size_t len);

/* The client has taken bytes; it has left, or has been served; more of its own
 * body has come, or the end of it. */
void fill_room(struct fill *f);
void fill_left(struct fill *f);
void fill_up(struct fill *f);

/* Asking, in fill_fetch.c. */

/* Asks who is to be asked next: peers, then the origin; for a peer the cache
 * beside this node. Without memory the client gets an error. */
void fill_ask(struct fill *f);

/* Asks f->peer, which has timeout_ms to begin its answer; 0, or there is no
 * memory. */
int fill_ask_peer(struct fill *f, unsigned timeout_ms);

/* Tells the peer what it must have applied. Returns 0, or -1: it cannot be
 * asked. */
int fill_add_need(struct fill *f);

/* Whether its answer says that it had; for others it says nothing any more. */
bool fill_need_is_met(struct fill *f);

/* Whether an answer of the cache beside this node is one for the peer: what
 * else it says is that it has nothing; and it has heard of no purge. */
bool fill_is_held_beside(struct fill *f, unsigned status,
			 const struct fields *fields);

/* Asks the origin; without memory f may be gone. */
void fill_ask_origin(struct fill *f);

/* Asks the origin for what is being answered; 0, or there is no memory. */
int fill_ask_again(struct fill *f);

/* Asks peers, then the origin, about f->stale, beside a client that has been
 * answered. May free f. */
void fill_renew(struct fill *f);

/* Cancels the fetch, if there is one, and the timer. */
void fill_stop_fetch(struct fill *f);

/* Distances, in fill_distance.c. */

/* By which its route is made, until the next answer. */
struct route_policy fill_distance_policy(struct fill *f);

/* How long f->peer may take to answer [ms], whatever others have taken. */
int64_t fill_distance_timeout_ms(struct fill *f);

/* How long connecting to f->peer may take [ms], which may take timeout_ms to
 * answer; and, from then on, a body of it (node_fill.pace_ms). */
unsigned fill_distance_connect_ms(const struct fill *f, unsigned timeout_ms);
int64_t fill_distance_pace_ms(const struct fill *f, unsigned timeout_ms);

/* What it is worth not to have to ask f->peer again, see
 * eviction_tiers_price(). */
unsigned fill_distance_price(const struct fill *f);

/* A header has come from the peer, which f->verdict is about, or the origin; or
 * there was none in time. */
void fill_distance_answered(struct fill *f);
void fill_distance_late(struct fill *f);

/* Since the peer, or the origin, was sent the request; at least 1. */
unsigned fill_elapsed_ms(const struct fill *f);

/* What the header of a peer's answer (fill_take_response()) says. */
enum peer_outcome fill_judge(struct fill *f);

/* The same of a 206: as it is, it answers the client alone. */
enum peer_outcome fill_judge_part(struct fill *f);

/* Counts what came of asking the peer, and reports it; rtt_ms 0: not known. */
void fill_record_outcome(struct fill *f, enum peer_outcome kind,
			 unsigned rtt_ms);

/* Counts a fetch that has failed, in fill_figures.c; cause: TROUBLE_none where
 * no more is known than the result. */
void fill_count_failure(struct fill *f, enum fetch_result result,
			enum trouble cause);

/* Counts an origin whose Date, in its response, is so far behind the clock here
 * that what it says is fresh is stale when it comes. */
void fill_count_skew(struct fill *f);

/* The same of whom it asks from now on, of a fetch's end, and of a response
 * that is not stored (or is, for NOT_STORED_YES). */
void fill_figures_begin(struct fill *f);
void fill_figures_end(struct fill *f);

/* How long it has asked peers, or origins, so far [ms]. */
unsigned fill_figures_leg_ms(const struct fill *f, enum upstream_kind kind);
void fill_count_not_stored(struct fill *f, enum not_stored why);

/* Reports it to the service only: it is none of this node's answers. */
void fill_report_outcome(const struct fill *f, enum peer_outcome kind,
			 unsigned rtt_ms);

/* In fill_probe.c: asks a half-open peer (a number in f->view), which has
 * timeout_ms to begin its answer, for what f wants, beside f. */
void fill_probe(const struct fill *f, uint32_t peer, unsigned timeout_ms);

/* Holding a peer's answer against what it should be, in fill_check.c. */

/* Its header has come, and will be used; its bytes have been taken; those that
 * have come are the last ones, and nobody has seen them yet, or all have come:
 * whether they are what the header says. */
void fill_check_watch(struct fill *f);
void fill_check_take(struct fill *f, const void *bytes, size_t len);
bool fill_check_last(struct fill *f, const void *bytes, size_t len);
bool fill_check_passes(struct fill *f);

/* It is given up. */
void fill_check_free(struct fill *f);

/* Asks the origin of f, which has no client, for others than the machine; 0, or
 * there is no memory. */
int fill_ask_beside(struct fill *f, const struct fetch_callbacks *callbacks);

/* In fill_copy.c: a fill for a copy is over; does nothing for others. */
void fill_copy_end(struct fill *f);

/* As fetch_callbacks.on_interim says, in fill_interim.c; arg is the fill.
 * Without memory its client gets the final response alone. */
void fill_pass_interim(void *arg, struct fetch *fetch, unsigned status,
		       const struct fields *fields);

/* Which origin is asked, in fill_origin.c. */

/* Chooses one: f->origin, or none if f->q->origins is none. */
void fill_origin_choose(struct fill *f);

/* The machine's own question is about to be asked there: another is asked if
 * the answer is late. */
void fill_origin_asked(struct fill *f);

/* A header has come: whether another is asked instead, whose answer may be
 * better. */
bool fill_origin_answered(struct fill *f, unsigned status);

/* None has, or not all that it announced; returns the same. */
bool fill_origin_failed(struct fill *f, const struct fetch_done *done);

/* What it is called; null: it is the target of a forward proxy. */
const char *fill_origin_label(const struct fill *f);

/* Nothing is under way there; and f does not need its name any more. */
void fill_origin_end(struct fill *f);
void fill_origin_release(struct fill *f);

/* Without an origin, in fill_outage.c. */

struct node_stale;

/* What is known of the site's origins. */
enum origin_condition fill_outage_condition(const struct fill *f);

/* What may be used when the origin fails, of a fill that asks for a client. In
 * fill_node.c. */
struct node_stale fill_stale(const struct fill *f);

/* Whether its client gets what is stale without waiting for the origin, or, if
 * it renews, nobody needs the answer now. */
bool fill_outage_holds(const struct fill *f);

/* More of its response has come: who waits for that waits on. */
void fill_outage_came(struct fill *f);

enum fill_outage {
	FILL_OUTAGE_NONE,
	FILL_OUTAGE_TRIAL, /* the origin is asked, and nobody waits for it; */
	FILL_OUTAGE_REST,  /* it is not asked */
};

/* The origin's turn: what is done instead. */
enum fill_outage fill_outage_begin(struct fill *f);

/* Answers its client with what is stale: what is under way goes on alone. f may
 * be gone. */
void fill_outage_answer(struct fill *f);

/* Its client gets what is stale, after it has waited for an answer (late) or
 * not; f may be gone. */
void fill_outage_leave(struct fill *f, bool late);

/* A peer's stale copy, in fill_holder.c. */

struct node_answer;

/* A peer's answer, which is of no use, has been taken: what it says of a stale
 * copy. */
void fill_holder_note(struct fill *f);

/* The origin has failed, by its status or otherwise, and `status` is what the
 * client would get: whether a peer is asked for its stale copy instead, with
 * the next fill_ask(). */
bool fill_holder_replaces_error(struct fill *f, unsigned status);
bool fill_holder_replaces_failure(struct fill *f, enum fetch_result result,
				  unsigned status);

/* The origin's turn, while it is known to fail: whether a peer is being asked
 * instead. */
bool fill_holder_begins_outage(struct fill *f);

/* Asks the peer, if that is due, or tells the client that the origin has failed
 * when nothing came of it; false: neither. */
bool fill_holder_ask(struct fill *f);

/* Has f->out, a request to a peer, ask for its stale copy if that is what it is
 * for. Returns 0, or -1 without memory. */
int fill_holder_add_wish(struct fill *f);

/* Has the answer to such a request judged as a stale copy. */
void fill_holder_judge(const struct fill *f, struct node_answer *answer);

/* Counts what a peer has sent, if it is a stale copy. */
void fill_holder_count(const struct fill *f);

/* The hedge goes on in place of f. */
void fill_holder_pass_on(const struct fill *f, struct fill *hedge);

/* Hedges, in fill_hedge.c. */

/* A peer is being asked, which has timeout_ms to begin its answer: it is hedged
 * if it is slow. */
void fill_hedge_watch(struct fill *f, unsigned timeout_ms);

/* Now it is slow: NODE_THEN_HEDGE. */
void fill_hedge_begin(struct fill *f);

/* Ends f's hedge, if there is one. */
void fill_hedge_end(struct fill *f);

/* Nothing came of the peer: the hedge of f goes on in its place, and f is gone.
 * False: there is none. */
bool fill_hedge_goes_on(struct fill *f);

/* The hedge has a header from the origin: true, it goes on for the client;
 * false: it is of no use, and the hedge is gone. */
bool fill_hedge_answers(struct fill *hedge, unsigned status);

/* It is being freed. */
void fill_hedge_forget(struct fill *f);

/* Whether a peer may be asked for it: not if it owes too many answers. */
bool fill_hedge_may_ask(const struct fill *f,
			const struct peerset_peer *peer);

/* One fetch for the cluster, in fill_lease.c. */

/* Asks whom the origin's turn waits for; false: nobody, or no more. */
bool fill_lease_ask(struct fill *f);

/* Adds to a request to a peer, f->out, what f->wish is, if it is on that way,
 * and the conditions of what is stored here. Returns 0, or -1 without
 * memory. */
int fill_lease_add_wish(struct fill *f);

/* Whether the question under way may wait for what the peer fetches; the others
 * are answered at once. */
bool fill_lease_waits(const struct fill *f);

/* A peer has been asked, on that way or because its digest shows the object: it
 * had it, or not. */
void fill_lease_found(struct fill *f, bool found);

/* Takes what a peer's answer says of the lease. */
void fill_lease_take_answer(struct fill *f, unsigned status,
			    const struct fields *fields);

/* The origin has answered: remembers what is for one request only. */
void fill_lease_judge_origin(const struct fill *f);

/* Tunnels, in fill_tunnel.c. */

/* Whether a 101 with these fields is one that the client's request allows. */
bool fill_tunnel_is_allowed(const struct fill *f, const struct fields *fields);

/* The response is that 101, to this protocol, and has been taken. Returns 0, or
 * -1 without memory. */
int fill_tunnel_begin(struct fill *f, const char *protocol);

/* As fetch_callbacks.on_half_close says; arg is the fill. */
void fill_tunnel_half_close(void *arg, struct fetch *fetch);

/* Counts its bytes, either way. */
void fill_tunnel_count(struct fill *f, size_t len);

/* The fill is over. */
void fill_tunnel_end(struct fill *f);

/* Memory, in fill_memory.c. */

/* Takes what a body of so many bytes needs to be collected; false: no room. */
bool fill_hold(struct fill *f, uint64_t bytes);

/* More of that body has come. */
void fill_held(struct fill *f);

/* Returns what was taken for the body, collected or passed through. */
void fill_release(struct fill *f);

/* From now on the body passes through: how many bytes of it may wait here. In
 * need there are fewer. */
size_t fill_window(struct fill *f);

/* Returns what was collected before the body began to pass through, once that
 * has gone. */
void fill_trim(struct fill *f);

/* The client has left before there was a header: whether others wait for it. If
 * not, nobody can any more; one step under a lock. */
bool fill_is_awaited(struct fill *f);

/*
 * The client has left, while the response is kept: whether it goes on alone, or
 * others wait for it. If not, nobody can wait for it any more. This is one step
 * under a lock.
 */
bool fill_is_wanted(struct fill *f);

/* Large objects in slices, in fill_cut.c. */

/* Whether a response for the client, which has been taken, begins one; then
 * f->cut is there. */
bool fill_cut_begins(struct fill *f, int64_t body_len);

/* What the answer to a run, which has been taken, comes to. */
enum node_head fill_cut_read(struct fill *f, int64_t body_len);

/* Puts ranges of whole slices into f->out, and sets f->aligned. Returns 0, or
 * -1 without memory. */
int fill_cut_ask(struct fill *f);

/* Begins: a new head is stored, and becomes f->stored. */
void fill_cut_start(struct fill *f);

/* Takes bytes of the response; may free f. Returns true. */
bool fill_cut_take(struct fill *f, const char *data, size_t len);

/* f->body is a whole slice: stores it. */
void fill_cut_store(struct fill *f);

/* The client has left: gives up slices that nobody waits for, but for the one
 * that is coming. */
void fill_cut_left(struct fill *f);

/* Lets go of who waits for slices; frees. Both do nothing without f->cut. */
void fill_cut_end(struct fill *f);
void fill_cut_free(struct fill *f);

/* Slices that are missing. All is borrowed. */
struct fill_cut_want {
	struct worker *worker;
	const struct question *q;    /* for the object */
	const struct fields *fields; /* by one of its clients */
	struct cached *head;	     /* of it, and what that records: */
	const struct slices *slices;
	struct slices_run run;	/* at most NODE_ASK_SLICES */
	bool past_peers;	/* they are not asked */
	struct collapse **lead; /* of the first; becomes null. The others are
				   fetched as far as nobody else does */
};

/* Fetches them; without memory, lets go of who waits. */
void fill_cut_run(const struct fill_cut_want *want);

/*
 * Has a part of the run, which nobody leads, come to a reply past the store, as
 * fast as that takes it: reply_slices_wake() is called when there is more, or
 * the end. Null: there is no memory. It is the reply's until it leaves.
 */
struct fill *fill_cut_pass(const struct fill_cut_want *want,
			   const struct range *part, struct reply_slices *to);

/* Bytes of what was asked for, or BODY_*. */
ssize_t fill_cut_take_passed(struct fill *f, char *buf, size_t cap);

/* The reply needs no more of it; *f becomes null. */
void fill_cut_leave(struct fill **f);

/* Of bytes that come: those that are before what was asked for, if the answer
 * is more than that. They have been dropped; at the next call they count. */
size_t fill_cut_skips(const struct fill *f, size_t len);
void fill_cut_skip(struct fill *f, size_t len);

/* What a response does to the store, in fill_store.c. */

/* Takes the freshness of f->response, of this status. */
void fill_take_freshness(struct fill *f);

/* Whether a large object may be stored in slices, by the header of f->response
 * as that of a 200, whose freshness f->freshness becomes; and whether it is, in
 * f->place, which counts as a miss: ask this last. */
bool fill_may_cut(struct fill *f);
bool fill_places_cut(struct fill *f);

/* What the admission policy says of the key, which is a use of it, once. */
enum admission_decision fill_worth(struct fill *f, uint64_t weight);

/* Whether the response is a peer's. */
static inline bool fill_is_from_peer(const struct fill *f)
{
	return f->source == SOURCE_PEER && f->peer;
}

/*
 * Makes *out fields whose text stays theirs, with the line that says from which
 * peer their body is (tags_source_field, or tags_from_field): the first one,
 * but for the record of a head. 0 or -ENOMEM.
 */
int fill_add_source(const struct fill *f, const struct fields *fields,
		    struct fields *out);

/* An entry of these fields, without its body. Null without memory. */
struct cached *fill_make_entry(struct fill *f, const struct fields *fields);

/* Lands c, or null: nothing. Returns whether it is stored. */
bool fill_land(struct fill *f, struct cached *c);

/*
 * Takes the header of a response from the fetch: f->response and what follows
 * from it, up to f->node.keep, whether it may be stored. Returns 0, or -1
 * without memory.
 */
int fill_take_response(struct fill *f, unsigned status, int64_t body_len);

/*
 * The response will be used: is it worth keeping, and where? If it is, returns
 * true, and leaves f->head. In place of what has gone stale it is kept where
 * that was.
 */
bool fill_admit(struct fill *f);

/*
 * Whether the response is one for requests like the client's: what was asked
 * without (preconditions, what Connection names) must not be what it was chosen
 * by. Found out once for a response.
 */
bool fill_right_variant(struct fill *f);

/* Makes the whole response, f->head with its body, f->stored, and lands it; in
 * the store it is only if there is room, and it was not purged meanwhile. */
void fill_store(struct fill *f);

/* Whether a 304 with these fields is about the stale response. Without memory
 * to look, it is not. */
bool fill_is_confirmed(const struct fill *f, const struct fields *not_modified);

/* The stale response after a 304 with these fields has confirmed it; null
 * without memory. */
struct cached *fill_refreshed(struct fill *f);

/* What a peer's 304 is worth, which has made it this. */
enum peer_outcome fill_judge_refreshed(const struct fill *f,
				       const struct cached *c);

/* Lands it in place of the stale one; or drops that, when the 304 has said that
 * it must not be stored any more. */
void fill_keep_refreshed(struct fill *f, struct cached *c);

/* Whether a peer's copy may be older than what was invalidated or purged here:
 * it must not come back from there; `met`: the peer knew of that. */
bool fill_is_invalidated(const struct fill *f, bool met);

/* In fill_invalidate.c: drops what an unsafe request may have changed (RFC
 * 9111, 4.4), and what the response to HEAD differs from (4.3.5). */
void fill_invalidate(struct fill *f);

/* Shows the response under way, of known length, to who waits for it; without
 * memory, nobody sees it before it is stored. */
void fill_share_body(struct fill *f);

/* Ends the fill for who has joined it, if it has not landed: what was shown of
 * it has broken off. */
void fill_end_collapse(struct fill *f);

#endif
