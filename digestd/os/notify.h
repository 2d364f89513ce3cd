/*
 * Tells systemd how the service is doing (sd_notify(3)), when it asked for it
 * with NOTIFY_SOCKET. Nothing happens otherwise.
 */
#ifndef DIGESTD_OS_NOTIFY_H
#define DIGESTD_OS_NOTIFY_H

#include <sys/types.h>

/* It serves; it reads its configuration anew; it drains and ends. */
void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);

/* Another process is the service's main one from now on, and speaks for it. */
void notify_main_pid(pid_t pid);

#endif
