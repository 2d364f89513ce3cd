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
	bool has_digest;
	bool want_full;
};

/*
 * Fetches begin at least so far apart [ms], whatever the peer answers: one that
 * always has news costs 10 fetches a second. An honest one holds its answer for
 * longer than that.
 */
enum { FETCH_PACE_MS = 100 };

/* What to do next: fetch at due_ms, conditionally or whole. */
struct next_fetch {
	int64_t due_ms;
	bool full; /* do not offer a base: the last one did not fit */
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
 * between: a peer may send good ones, and nothing that fits them.
 */
struct next_fetch fetch_schedule_end(struct fetch_schedule *f,
				     const struct fetch_schedule_policy *policy,
				     enum fetched event, int64_t now_ms);

/* Whether the digest is there and recent enough to be consulted. */
bool fetch_schedule_usable(const struct fetch_schedule *f,
			   const struct fetch_schedule_policy *policy,
			   int64_t now_ms);

/* Whether the last fetch has failed. */
bool fetch_schedule_failed(const struct fetch_schedule *f);

/* When it was last known to be current. */
int64_t fetch_schedule_confirmed_ms(const struct fetch_schedule *f);

#endif
