/*
 * PURGE at listen_data: who may, by the lists purge_addresses of the node, its
 * sites and their rules; and what an address that may gets. Where there is no
 * list for a target PURGE is a method like any other, which goes to the origin.
 *
 *	a URI		the list that counts for that
 *	Purge-Prefix	those of its site and of all rules of that: what begins
 *			so may be of any of them
 *	Purge-Tag	the node's own: tags are of all sites
 *
 * What is done is what the admin listener does, see peers/purge.h. Lists of
 * sites are read from their text each time, which takes microseconds.
 */
#ifndef DIGESTD_PROXY_CLIENT_PURGE_H
#define DIGESTD_PROXY_CLIENT_PURGE_H

#include "digestd/node/node_door.h"

struct request;

/* Makes *right what a request is to the door, whose target is resolved. Returns
 * 0 or -ENOMEM. */
int client_purge_right(const struct request *r, enum node_purge *right);

/* Purges, and answers at the end; the request's body is thrown away. */
void client_purge_serve(struct request *r);

/* Its exchange is over: the purge goes on without. */
void client_purge_leave(struct request *r);

#endif
