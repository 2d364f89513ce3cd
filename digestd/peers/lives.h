/*
 * The lives of peers that this node has known, in a file beside what it keeps
 * on disk: their instances. A node that starts, and meets a peer in a life that
 * it knows, hears from it of all that was purged while it was away. If it meets
 * none, that may be known to nobody any more.
 *
 * The file is a hint that may be old, but never says too much: whoever is in it
 * was alive while this node was.
 */
#ifndef DIGESTD_PEERS_LIVES_H
#define DIGESTD_PEERS_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIVES_MAX = 256 }; /* of the latest */

struct lives;

/* Reads the file of a folder, if there is one. Returns 0 or -ENOMEM. */
int lives_new(const char *folder, struct lives **out);

/* *l becomes null; null is allowed. */
void lives_free(struct lives **l);

/* A peer is met: whether its life was known at the start. It is from now on. */
bool lives_meet(struct lives *l, uint64_t instance);

#endif
