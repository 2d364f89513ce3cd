/*
 * The log: one line a message on stderr, for people and for the journal.
 *
 * "2026-11-21T03:05:59.123Z info follower: peer b: full digest, ..."
 * "<6>info follower: peer b: full digest, ..." to the journal
 * From any thread. Cluster key and tokens are never part of a message.
 */
#ifndef DIGESTD_OS_LOG_H
#define DIGESTD_OS_LOG_H

#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* The names of the levels, in this order; a null ends them. */
extern const char *const log_level_names[];

/* Sets the level from its name; of another text nothing comes. */
void log_set_level(const char *name);

/*
 * Looks whether stderr is the journal's, as JOURNAL_STREAM (systemd.exec(5))
 * says: then each line begins with its priority in place of its time, which the
 * journal notes itself, sd-daemon(3). Before there are threads.
 */
void log_find_journal(void);

/* The name of the level that is set. */
const char *log_level_name(void);

/* Writes a message if its level is within the one that is set. */
void log_write(enum log_level level, const char *part, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * A source of messages that may come in floods: lets burst of them through in
 * a period and counts the rest. Zero apart from burst and period_ms at first.
 */
struct log_limit {
	unsigned burst;
	int64_t period_ms;
	int64_t since_ms;
	unsigned passed, dropped;
};

/*
 * Whether a message may be written now. When a new period begins, *dropped is
 * how many were held back in the last one.
 */
int log_allow(struct log_limit *limit, int64_t now_ms, unsigned *dropped);

/* The end of a message before which some were held back; "" if none were. */
const char *log_suppressed(unsigned dropped, char room[static 64]);

#endif
