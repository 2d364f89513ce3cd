/*
 * Requests by a grammar whose words are mostly right and often in the wrong
 * place, mutated: what a hostile client, peer or operator sends.
 */
#ifndef TEST_STORM_REQUEST_H
#define TEST_STORM_REQUEST_H

#include "tests/storm/storm_script.h"

enum storm_request_kind {
	STORM_TO_DATA,
	STORM_TO_PEER,
	STORM_TO_ADMIN,
};

/* The script of a connection, from a seed. */
void storm_request_make(struct storm_script *s, enum storm_request_kind kind,
			uint64_t seed);

#endif
