/*
 * The processors of the machine.
 */
#ifndef DIGESTD_OS_PROCESSORS_H
#define DIGESTD_OS_PROCESSORS_H

/* How many this process may run on; at least 1. */
unsigned processors_usable(void);

#endif
