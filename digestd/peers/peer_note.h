/*
 * A note to a peer or from it, in a stream between two nodes
 * (mesh/digest_stream.h): whose peer that is, by where it is and which life of
 * it. Both have to be right, as whoever has the key may claim another's
 * instance.
 */
#ifndef DIGESTD_PEERS_PEER_NOTE_H
#define DIGESTD_PEERS_PEER_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include "digestd/mesh/digest_stream.h"

struct peer_note {
	const char *url;   /* of its peer listener */
	uint64_t instance; /* of its digest */
	enum digest_note kind;
	const uint8_t *body;
	size_t len;
};

#endif
