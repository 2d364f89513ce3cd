/*
 * The protocols, for their table and for who needs a certain one.
 */
#ifndef CACHESIM_PROTOCOL_ROWS_H
#define CACHESIM_PROTOCOL_ROWS_H

#include "cachesim/protocol/protocol.h"

extern const struct protocol protocol_none;
extern const struct protocol protocol_icp;
extern const struct protocol protocol_htcp;
extern const struct protocol protocol_directory;
extern const struct protocol protocol_bloom;
extern const struct protocol protocol_compressed;
extern const struct protocol protocol_lists;
extern const struct protocol protocol_servernames;
extern const struct protocol protocol_golomb;
extern const struct protocol protocol_blocked;
extern const struct protocol protocol_squid;
extern const struct protocol protocol_carp;
extern const struct protocol protocol_hash;
extern const struct protocol protocol_global;

#endif
