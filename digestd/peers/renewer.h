/*
 * Keeps this node's serving lease (mesh/serving_lease.h): asks all peers to
 * renew it, three times a term, and applies what they know and this node does
 * not before it counts; and at a start has the log made whole again.
 *
 * On the service loop.
 */
#ifndef DIGESTD_PEERS_RENEWER_H
#define DIGESTD_PEERS_RENEWER_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct renewer;
struct serving_desk;
struct teller;
struct teller_settings;

/* Makes one that asks at once; what it is given outlives it. Peers, and how
 * they are asked, are those of a teller. Returns 0 or -ENOMEM. */
int renewer_new(struct teller *teller, struct serving_desk *desk,
		const struct teller_settings *settings, struct renewer **out);

/* Other peers, or others of their settings. Where the peers are the same, in
 * the same order, what they have granted holds; else the lease is to be renewed
 * by all of them. Returns 0 or -ENOMEM, and then all is as before. */
int renewer_set(struct renewer *r, const struct teller_settings *settings);

/* *r becomes null; null is allowed. Before the teller's end. */
void renewer_free(struct renewer **r);

#endif
