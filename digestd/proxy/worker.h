/*
 * A worker: one thread with one loop, its listeners, its fetcher, and all the
 * requests that arrive there, from the client's first byte to the last.
 *
 * Workers share what struct worker_shared names and nothing else. What they
 * need to know of peers comes as a view, what they learn goes out through
 * hooks.
 *
 * All worker_* functions are for one other thread, the service's.
 */
#ifndef DIGESTD_PROXY_WORKER_H
#define DIGESTD_PROXY_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/admission/admission_tell.h"
#include "digestd/http/fields.h"
#include "digestd/http/forwarded.h"
#include "digestd/http/refusal.h"
#include "digestd/http/setcookie.h"
#include "digestd/mesh/peer_outcome.h"
#include "digestd/node/client_rates.h"
#include "digestd/os/address_prefix.h"
#include "digestd/peers/token.h"

struct access_log;
struct cache;
struct collapses;
struct listen_given;
struct loop;
struct lease_desk;
struct serving_desk;
struct loop_call;
struct node_recheck;
struct origin_group;
struct peer_copy;
struct peerset;
struct placer;
struct server_handler;
struct sites;
struct tls;
struct tls_client;
struct troubles;
struct upstream_names;
struct worker;
struct worker_figures;

/* Where requests for a host go. */
struct worker_origin {
	const char *host; /* "www.example.com" or "www.example.com:8080" */
	const char *url;  /* "http://10.0.0.7:8080", or several, see
			     origins_find() */
	enum set_cookie set_cookie;
	struct origin_group *origins; /* of url; null: there is only that, and
					 nothing is known of it */
};

/*
 * Options as they are in the configuration, one row each: type, name here and
 * in struct config, what it is. A row is all that it takes for workers to have
 * it. What is said of listeners and their connections is for worker_new() only.
 */
/* clang-format off */
#define WORKER_TEXTS(X) \
	X(node,           node,           "this node's name, a token") \
	X(data_listen,    listen_data,    "where clients connect") \
	X(peer_listen,    listen_peer,    "where peers do; null: no cooperation") \
	X(health,         health,         "a target that says whether clients should come; or null") \
	X(default_origin, default_origin, "for hosts not listed; null: 421") \
	X(sidecar,        sidecar,        "the cache beside this node, which stores nothing then; or null")

#define WORKER_NUMBERS(X) \
	X(unsigned, max_connections,      max_connections,      "per worker and listener") \
	X(unsigned, client_connections,   client_connections,   "of clients, from one address; 0: any") \
	X(unsigned, header_ms,            header_timeout_ms,    "time for a request's header") \
	X(unsigned, idle_ms,              idle_timeout_ms,      "between requests of a connection") \
	X(unsigned, min_rate,             client_min_rate,      "[bytes/s] of a client reading") \
	X(size_t,   max_header_bytes,     max_header_size,      "of requests and of responses") \
	X(bool,     http2,                http2,                "with clients of TLS") \
	X(bool,     http2_plain,          http2_plain,          "and without") \
	X(unsigned, http2_streams,        http2_streams,        "of a connection") \
	X(bool,     proxy_protocol,       proxy_protocol_data,  "of clients' connections") \
	X(bool,     forward,              forward,              "also a forward proxy for http") \
	X(bool,     forward_private,      forward_private,      "... to private addresses too") \
	X(unsigned, origin_connect_ms,    origin_connect_ms,    "time to connect to an origin") \
	X(unsigned, origin_first_byte_ms, origin_timeout_ms,    "until its answer begins") \
	X(unsigned, origin_low_rate_s,    origin_stall_s,       "stalled for so long is a timeout") \
	X(unsigned, tunnel_ms,            tunnel_timeout_ms,    "a tunnel may be silent") \
	X(unsigned, stale_on_disconnect_s, stale_on_disconnect_s, "see freshness_on_error()") \
	X(unsigned, stale_wait_ms,        stale_wait_ms,        "for an answer, with a stale copy at hand") \
	X(unsigned, origin_connections,   origin_connections,   "to one host, per worker; 0: no limit") \
	X(unsigned, peer_connect_ms,      peer_connect_ms,      "time to connect to a peer; 0: as it has to answer") \
	X(unsigned, peer_first_byte_ms,   peer_timeout_ms,      "of one peer; 0: by its distance") \
	X(unsigned, peer_budget_ms,       peer_budget_ms,       "of all peers asked for one request; 0: the same") \
	X(unsigned, peer_tries,           peer_tries,           "peers asked for one request at most") \
	X(unsigned, peer_hedges,          peer_hedges,          "of a hundred questions to peers; see node_hedge.h") \
	X(bool,     leases,               leases,               "one fetch for the cluster") \
	X(unsigned, lease_wait_ms,        lease_wait_ms,        "for another node's fetch") \
	X(unsigned, access_log_sample,    access_log_sample,    "one request in so many is logged") \
	X(bool,     purge_peers,          purge_peers,          "they may purge objects here") \
	X(int64_t,  peer_freshness_s,     peer_freshness_s,     "that a peer's copy may still have; 0: any") \
	X(bool,     peer_copies,      peer_copies,          "of what peers have sent are for other nodes, too") \
	X(double,   peer_check,           peer_check,           "share of peers' answers that are held against the origin's") \
	X(size_t,   max_object_bytes,     max_object_size,      "larger ones are not stored") \
	X(uint64_t, slice_bytes,          slice_size,           "larger ones are stored in slices; 0: never") \
	X(size_t,   window_bytes,         stream_window,        "buffered of a body that is not stored") \
	X(uint64_t, max_upload_bytes,     max_upload_size,      "of a request's body; 413 beyond")

/* Null: none of the listener's, and for clients see fetch_request. */
#define WORKER_TLS(X) \
	X(tls,        data_tls,        tls_data,        "of clients") \
	X(tls,        peer_tls,        tls_peer,        "of peers") \
	X(tls_client, origin_tls,      tls_origin,      "to origins") \
	X(tls_client, peer_client_tls, tls_peer_client, "to peers")
/* clang-format on */

/* Everything a worker is told, which worker_new() and worker_reconfigure()
 * copy. */
struct worker_settings {
#define X(name, option, what) const char *name;
	WORKER_TEXTS(X)
#undef X
#define X(type, name, option, what) type name;
	WORKER_NUMBERS(X)
#undef X
#define X(type, name, option, what) struct type *name;
	WORKER_TLS(X)
#undef X
	uint8_t hash_secret[16]; /* of the cluster, see scd_derive() */
	struct tokens tokens;    /* what peers present */
	bool joins;              /* another worker listens there, too */
	unsigned number;         /* from 0 */
	struct listen_given *given; /* sockets for listeners; null: none */
	enum admission_tell tell; /* to a cache in front of this node */

	/* where requests go */
	const struct worker_origin *origins;
	size_t norigins;
	const char *default_host; /* of the first of default_origin; made by
				     who copies these */
	struct fields marks; /* of this node, see via_marks_make(), and what
				targeted_announce() says; made by who copies
				these */
	const char *hit_lines; /* Via and the beginning of Cache-Status, as each
				  hit has them; made by who copies these */
	size_t hit_lines_len;
	void *spare; /* memory of a question that is over, for the next one;
			null: there is none */
	struct origin_group *default_origins; /* of default_origin; or null */
	enum set_cookie set_cookie;      /* of those to default_origin */
	struct sites *sites; /* see node/site.h; null: there are none */
	struct address_prefixes trusted; /* clients: see server_settings */
	struct address_prefixes clients; /* that are answered; none: all */
	struct client_rate client_rate; /* per_s 0: no limit */
	struct address_prefixes purgers; /* clients that may PURGE; none: it
					    goes to origins */
	struct address_prefixes peers; /* that may connect; none: all */
	struct address_prefixes squids; /* that may ask without a token */
	enum forwarded told;             /* of clients, to origins */
	enum forwarded told_forward;     /* as a forward proxy */
};

/* A peer was asked for an object. */
struct worker_outcome {
	enum peer_outcome kind;
	uint32_t peer;       /* its id, see struct peerset_peer */
	uint64_t hash;       /* of the object's key: scd_key.lo */
	unsigned rtt_ms;     /* until its header was there; 0: it never was */
	uint64_t body_bytes; /* received, with OUTCOME_HIT */
};

/* Called in the worker's thread; they must not block. */
struct worker_hooks {
	void (*on_outcome)(void *arg, const struct worker_outcome *outcome);

	/* A client asks for something while *dozing is not 0; null: nobody
	 * wants to know. */
	void (*on_stir)(void *arg);
	const atomic_int *dozing;
	void *arg;

	/*
	 * Answers origin-form requests on the peer listener, once their token
	 * is right (the digest resources); called from several workers. Bodies
	 * of such requests are thrown away.
	 */
	const struct server_handler *resources;
	void *resources_arg;
};

/* What all workers share; each part has a lock of its own. */
struct worker_shared {
	struct cache *cache;
	struct cache_reader *reader; /* the worker's own way into it */
	struct collapses *collapses;
	struct placer *placer; /* null: all is kept here */
	struct lease_desk *leases; /* null: peers are asked for none */
	struct teller *teller; /* of purges; null: nobody is told */
	struct troubles *troubles; /* null: nobody counts them */
	struct upstream_names *names; /* null: all are "other" */
	struct access_log *access_log; /* null: there is none */
	struct client_rates *rates; /* null: clients have no limit */
	struct unstored *unstored; /* null: nobody wants to know */
	const atomic_bool *ready; /* clients should come; null: they should */
	struct serving_desk *serving; /* null: purges are not strict */
	struct node_recheck *rechecks; /* null: each client has its own */
};

/* Counters of a worker; one row each. name, what it counts. */
/* clang-format off */
#define WORKER_COUNTERS(X) \
	X(requests,        "requests from clients") \
	X(http2_requests,  "requests from clients by HTTP/2") \
	X(local_hits,      "requests answered from the store") \
	X(revalidated,     "stale objects that the origin confirmed") \
	X(revalidated_by_peers, "stale objects that a peer's fresh copy confirmed") \
	X(hedges,          "origin fetches beside a peer that was slow to answer") \
	X(hedges_won,      "hedges that the origin answered first") \
	X(hedges_held_back, "slow answers of peers that were not hedged, as there were too many") \
	X(remote_hits,     "requests answered by a peer") \
	X(misses,          "requests answered by the origin") \
	X(collapsed,       "requests answered by the fetch of another request") \
	X(stale_served,    "stale objects served: allowed, or the origin failed") \
	X(stale_late,      "stale objects served, as the origin did not answer within stale_wait") \
	X(stale_outage,    "stale objects served at once, as no origin of the site was known to serve") \
	X(stale_from_peers, "stale objects that a peer gave, as the origin failed") \
	X(errors,          "answered with an error of this node's own") \
	X(client_purges,   "PURGE requests of clients that were carried out here") \
	X(aborted,         "clients that left before the end") \
	X(origin_fetches,  "requests sent to origins") \
	X(origin_errors,   "requests to origins that failed") \
	X(origin_retries,  "requests sent to another origin, as one had failed or was late") \
	X(origin_retries_held_back, "requests not sent to another origin: all had been asked, or too many were") \
	X(origin_untrusted, "fetches from origins whose certificate is not trusted") \
	X(origin_bytes,    "body bytes received from origins") \
	X(sidecar_queries, "requests of peers that were passed to the cache beside this node") \
	X(sidecar_errors,  "requests of peers that the cache beside this node did not answer") \
	X(lookups,         "misses looked up in the digests of peers") \
	X(peer_queries,    "requests sent to peers") \
	X(lease_queries,   "requests to peers for a lease, or for what one was given for") \
	X(peers_too_far,   "peers that had an object and were not asked: the origin is nearer") \
	X(peer_probes,     "requests to peers that had failed, for no client") \
	X(false_hits,      "peers that had nothing where their digest said so") \
	X(stale_hits,      "peers whose object was stale") \
	X(variant_misses,  "peers that had other variants of the object") \
	X(peer_errors,     "requests to peers that failed or got an invalid answer") \
	X(taken_over,      "bodies that a peer began and the origin went on with") \
	X(peer_bytes,      "body bytes received from peers") \
	X(digest_mismatches, "bodies from peers that were not what their Repr-Digest says") \
	X(checks,          "answers of peers that were compared with the origin's") \
	X(checked_same,    "compared answers of peers that were the origin's bytes") \
	X(checked_other,   "compared answers of peers that may have been another version") \
	X(checked_wrong,   "compared answers of peers that the origin contradicts") \
	X(peer_requests,   "object requests from peers") \
	X(peer_served,     "object requests from peers that got the object") \
	X(reply_bytes,     "body bytes sent to clients") \
	X(stored,          "objects stored") \
	X(slices_begun,    "large objects that were begun to be stored in slices") \
	X(slice_hits,      "slices of large objects sent from the store") \
	X(slice_misses,    "slices of large objects sent while being fetched") \
	X(slice_fetches,   "requests for slices of large objects") \
	X(slices_stored,   "slices of large objects stored") \
	X(memory_passed,   "objects not stored, or only in part, as memory was short") \
	X(memory_given_up, "fetches ended to free memory, as their client had left") \
	X(memory_refused,  "requests refused because memory was short") \
	X(invalidated,     "objects removed by unsafe methods") \
	X(invalidations_refused, "answers to unsafe methods that were not sent: strict, and too few peers could be told; or no memory") \
	X(unleased,        "requests without a serving lease: what is stored was validated") \
	X(tunnels,         "connections that have changed protocols (101)") \
	X(tunnels_ended,   "tunnels that have ended") \
	X(tunnel_bytes,    "bytes that went through tunnels, either way") \
	X(loops,           "requests refused because of a loop") \
	X(refused,         "peer requests without a valid token") \
	X(too_large,       "requests refused for their header's size: 431, 414") \
	X(surplus,         "connections closed at once: their address had client_connections, or many and memory was short") \
	X(floods,          "connections closed for a flood of HTTP/2 frames") \
	X(crowded_out,     "idle connections and slow uploads closed to make room") \
	X(proxy_refused,   "connections refused: no valid PROXY header, or not from trusted_proxies") \
	X(tls_data_failed, "client connections whose TLS handshake failed") \
	X(tls_peer_failed, "peer connections whose TLS handshake failed")
/* clang-format on */

struct worker_counters {
#define X(name, help) uint64_t name;
	WORKER_COUNTERS(X)
#undef X
	uint64_t refusals[REFUSAL_COUNT]; /* of requests, by their reason */
};

/*
 * Makes a worker: opens its listeners (those with port 0 find one each) and
 * starts no thread yet. `settings` are copied; `hooks` and what `shared` names
 * are borrowed for the worker's life. Returns 0, -ENOMEM, -EINVAL for an
 * address that is none, or the negative errno of the socket call that failed.
 */
int worker_new(const struct worker_settings *settings,
	       const struct worker_hooks *hooks,
	       const struct worker_shared *shared, struct worker **out);

/* Starts its thread. Returns 0 or the negative errno of pthread_create(). */
int worker_start(struct worker *worker);

/* The ports listened on; 0: there is no listener for peers. */
unsigned worker_data_port(const struct worker *worker);
unsigned worker_peer_port(const struct worker *worker);

/*
 * Gives it a new view of the peers, which takes effect within a turn of its
 * loop; the worker holds a reference of its own. Null: no peers. Returns 0 or
 * -ENOMEM.
 */
int worker_set_view(struct worker *worker, struct peerset *view);

/* The same of what the peers were asked for. */
int worker_set_seen(struct worker *worker, struct peerset *seen);

/*
 * Gives it new settings, a copy; requests under way go on. Returns 0 or
 * -ENOMEM.
 */
int worker_reconfigure(struct worker *worker,
		       const struct worker_settings *settings);

/*
 * Has the worker copy an object from a peer, and copy->done posted to
 * copy->loop when that has ended, also by worker_stop().
 */
void worker_copy(struct worker *worker, struct peer_copy *copy);

/*
 * Starts to drain: no new connections of clients, what is under way goes on.
 * Peers are served until worker_part(). When no connection of either is left,
 * `drained` is posted to the loop `to`, once. Asked for again, nothing changes.
 */
void worker_drain(struct worker *worker, struct loop *to,
		  struct loop_call *drained);

/* The same for peers, after worker_drain(), once. */
void worker_part(struct worker *worker);

/* Of the clients' socket, before worker_drain(): a service manager keeps it
 * open, and another process is to accept from it, see server_hand_over(). */
void worker_leave_socket(struct worker *worker);

/* Both, where another process accepts from the listeners' sockets, see
 * server_hand_over(). */
void worker_hand_over(struct worker *worker, struct loop *to,
		      struct loop_call *drained);

/* The sockets listened on, until it drains; -1: there is no listener for peers.
 * The worker's own. */
int worker_data_socket(const struct worker *worker);
int worker_peer_socket(const struct worker *worker);

/*
 * Ends its thread and frees it; what is still under way is cut off. *worker
 * becomes null. A worker that was never started is freed too.
 */
void worker_stop(struct worker **worker);

/* Adds the worker's counters, as they stand, to *sum. */
void worker_count(const struct worker *worker, struct worker_counters *sum);

/* The same of its figures. */
void worker_measure(const struct worker *worker, struct worker_figures *sum);

/* Of them, only how often peers' digests were looked up: each outcome at a peer
 * asks for that. */
uint64_t worker_lookups(const struct worker *worker);

#endif
