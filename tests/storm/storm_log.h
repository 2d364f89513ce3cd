/*
 * What was said of late, and what was found. The last messages are kept in
 * memory; a finding writes them to a file, so that it can be played again.
 */
#ifndef TEST_STORM_LOG_H
#define TEST_STORM_LOG_H

#include <stddef.h>
#include <stdint.h>

/* Where findings are written: a folder that is there. */
void storm_log_open(const char *folder);

/* Notes a message: whose it is, the number that it was made from. */
void storm_log_note(const char *role, uint64_t id, const void *bytes,
		    size_t len);

/* A promise that was broken. Prints it, and the log for the first ones. */
void storm_log_finding(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
unsigned storm_log_findings(void);

int64_t storm_log_now_ms(void);

#endif
