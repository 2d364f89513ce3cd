/*
 * Signals of processes that this one starts.
 */
#include "digestd/os/child_signals.h"

#include <signal.h>

int child_signals_reset(posix_spawnattr_t *attributes, short flags)
{
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	err = posix_spawnattr_setsigmask(attributes, &none);
	if (!err)
		err = posix_spawnattr_setsigdefault(attributes, &all);
	if (!err)
		err = posix_spawnattr_setflags(
			attributes, (short)(flags | POSIX_SPAWN_SETSIGMASK |
					    POSIX_SPAWN_SETSIGDEF));
	return err;
}
