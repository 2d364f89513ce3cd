/*
 * When to fetch a peer's digest next, and whether the copy that is here is
 * recent enough. Without I/O: what came of a fetch and the time go in, the next
 * fetch comes out.
 */
#ifndef DIGESTD_MESH_FETCH_SCHEDULE_H
#define DIGESTD_MESH_FETCH_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fetch_schedule_policy {
	int64_t poll_ms;        /* between fetches that brought nothing new */
	bool polled;            /* ... or something: the peer never waits */
	int64_t backoff_min_ms; /* after the first failure */
	int64_t backoff_max_ms; /* a dead peer costs little */
	int64_t max_age_ms;     /* an older digest is not consulted */
	int64_t silence_ms;     /* of a stream: then it is over */
	unsigned budget; /* what a peer may cost, see below; FETCH_BUDGET */
	int64_t price_ms; /* FETCH_PRICE_MS; 0: anything */
};

enum fetched {
	FETCHED_FULL,   /* a full digest came and is in place */
	FETCHED_DELTA,  /* a delta came, and its result is in place */
	FETCHED_SAME,   /* the peer has nothing new */
	FETCHED_STREAM, /* frames came one by one; the peer has ended that */
	FETCHED_UNFIT,  /* what came does not fit what is here */
	FETCHED_FAILED, /* no answer, an error, or nonsense */
};

/* All fields are private; zero is not a valid state. */
struct fetch_schedule {
	uint64_t seed;        /* of the jitter */
	int64_t started_ms;   /* of the fetch under way */
	int64_t confirmed_ms; /* the digest was current then */
	unsigned failures;    /* in a row */
	unsigned misfits;     /* since anything but a full digest fitted */
	bool unfit;           /* the last one */
	int64_t paid_ms;      /* what fetches have cost is made up for then */
	bool overspent;       /* until half of what may be spent is there */
	bool has_digest;
	bool want_full;
};

/*
 * Fetches begin at least so far apart [ms], whatever the peer answers: one that
 * always has news costs 10 fetches a second. An honest one holds its answer for
 * longer than that.
 */
enum { FETCH_PACE_MS = 100 };

/*
 * What a peer may cost, whatever it answers: `budget` fetches at once, and one
 * more each price_ms, that bring a full digest, or end a stream, or that are
 * the first to fail or not to fit after others did: a full digest comes after
 * those. More of these in a row are backed off from; deltas have the pace
 * alone. An honest peer needs a full digest when it starts, when its digest
 * takes another shape, or when more was replaced than a delta pays for.
 */
enum { FETCH_BUDGET = 30, FETCH_PRICE_MS = 2000 };

/* What to do next: fetch at due_ms, conditionally or whole. */
struct next_fetch {
	int64_t due_ms;
	bool full; /* do not offer a base: the last one did not fit */
	bool put_off; /* the peer has cost too much for an earlier one, */
	bool overspent; /* which is new */
};

/* Starts: the first fetch is due at now_ms. `seed` differs between peers. */
struct next_fetch fetch_schedule_init(struct fetch_schedule *f, uint64_t seed,
				      int64_t now_ms);

enum { FETCH_PEERS_OF_A_WAIT = 32 };

/*
 * How long each of so many peers is asked to hold its answer, or to be quiet
 * [s]: `wait_s`, and as much again for each FETCH_PEERS_OF_A_WAIT of them, so
 * that what many do for nothing stays little; but more than `wait_s` at most
 * half of max_age_ms, for a digest to be confirmed in time.
 */
int64_t fetch_schedule_wait_s(int64_t wait_s, size_t npeers,
			      int64_t max_age_ms);

/* A fetch begins. */
void fetch_schedule_begin(struct fetch_schedule *f, int64_t now_ms);

/* Of a fetch that goes on: there is nothing newer than the digest that is here,
 * so the peer says, which is no sign that what it will send fits. */
void fetch_schedule_stays(struct fetch_schedule *f, int64_t now_ms);

/* The same: a frame has come and is in place. */
void fetch_schedule_confirm(struct fetch_schedule *f, int64_t now_ms);

/*
 * It ended so: says when to fetch again. After something new that is at once
 * (the peer holds its answer until there is news), but FETCH_PACE_MS after
 * the beginning of the last fetch; after nothing new, or if peers are polled,
 * poll_ms after it; after failures, with a back-off that doubles, give or take
 * a quarter. So it is after a second misfit, also where full digests come in
 * between: a peer may send good ones, and nothing that fits them. In any case
 * no sooner than the peer's budget allows.
 */
struct next_fetch fetch_schedule_end(struct fetch_schedule *f,
				     const struct fetch_schedule_policy *policy,
				     enum fetched event, int64_t now_ms);

/* Whether the digest is there and recent enough to be consulted. */
bool fetch_schedule_usable(const struct fetch_schedule *f,
			   const struct fetch_schedule_policy *policy,
			   int64_t now_ms);

/* The peer has been heard of: says when a fetch that waits after a failure, for
 * due_ms, is due now. At once, as far as the pace and the budget allow, of
 * which it takes its part. */
int64_t fetch_schedule_wake(struct fetch_schedule *f,
			    const struct fetch_schedule_policy *policy,
			    int64_t due_ms, int64_t now_ms);

/* When it was last known to be current. */
int64_t fetch_schedule_confirmed_ms(const struct fetch_schedule *f);

#endif
