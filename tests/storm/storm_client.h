/*
 * Clients: hostile ones, of which only what they read is judged, and good
 * ones, who must be answered rightly and soon.
 */
#ifndef TEST_STORM_CLIENT_H
#define TEST_STORM_CLIENT_H

#include "tests/storm/storm_link.h"

extern const struct storm_role storm_client_data;
extern const struct storm_role storm_client_peer;
extern const struct storm_role storm_client_admin;
extern const struct storm_role storm_client_good;

/* Begins a connection that a number stands for. False: no socket. */
bool storm_client_begin(uint64_t id);
bool storm_client_begin_good(uint64_t id);

/* Connections of hostile clients that are open. */
unsigned storm_client_hostile(void);

/* That a good request takes at most, in ms. */
int64_t storm_client_bound_ms(void);

#endif
