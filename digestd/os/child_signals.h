/*
 * Signals of processes that this one starts.
 */
#ifndef DIGESTD_OS_CHILD_SIGNALS_H
#define DIGESTD_OS_CHILD_SIGNALS_H

#include <spawn.h>

/*
 * Has a process that is spawned begin with all signals as by default, and none
 * blocked: this one blocks and ignores some. `flags`: others that the
 * attributes are to have. Returns 0 or an errno.
 */
int child_signals_reset(posix_spawnattr_t *attributes, short flags);

#endif
