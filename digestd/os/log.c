/*
 * The log.
 */
#include "digestd/os/log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "digestd/http/enum_names.h"

const char *const log_level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARNING] = "warning",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
	NULL,
};

/* One for the process: every thread logs. */
static atomic_int level_now = LOG_INFO;
static bool to_journal;

void log_set_level(const char *name)
{
	int level = enum_names_find(log_level_names, name);

	if (level >= 0)
		atomic_store(&level_now, level);
}

const char *log_level_name(void)
{
	return log_level_names[atomic_load(&level_now)];
}

void log_find_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char mine[64];
	struct stat st;

	if (fstat(STDERR_FILENO, &st))
		stream = NULL;
	else
		snprintf(mine, sizeof(mine), "%ju:%ju", (uintmax_t)st.st_dev,
			 (uintmax_t)st.st_ino);
	to_journal = stream && !strcmp(stream, mine);
}

/* What stands before the level; its length. */
static size_t log_write_head(enum log_level level, char *to, size_t bytes)
{
	/* of syslog(3) */
	static const char priorities[] = {
		[LOG_ERROR] = '3', [LOG_WARNING] = '4', [LOG_INFO] = '6',
		[LOG_DEBUG] = '7',
	};
	struct timespec now;
	struct tm utc;
	size_t len;

	if (to_journal)
		return (size_t)snprintf(to, bytes, "<%c>", priorities[level]);
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	len = strftime(to, bytes, "%Y-%m-%dT%H:%M:%S", &utc);
	return len + (size_t)snprintf(to + len, bytes - len, ".%03ldZ ",
				      now.tv_nsec / 1000000);
}

void log_write(enum log_level level, const char *part, const char *format, ...)
{
	char line[2048];
	va_list args;
	size_t len;
	int n;

	assert(level <= LOG_DEBUG);
	if ((int)level > atomic_load(&level_now))
		return;
	len = log_write_head(level, line, sizeof(line));
	len += (size_t)snprintf(line + len, sizeof(line) - len, "%s %s: ",
				log_level_names[level], part);
	va_start(args, format);
	n = vsnprintf(line + len, sizeof(line) - len - 1, format, args);
	va_end(args);
	if (n > 0)
		len += (size_t)n;
	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	/* one write, so that threads do not mix lines; a lost log line must
	 * not stop the daemon */
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}

const char *log_suppressed(unsigned dropped, char room[static 64])
{
	if (!dropped)
		return "";
	snprintf(room, 64, " (%u similar message%s suppressed)", dropped,
		 dropped == 1 ? "" : "s");
	return room;
}

int log_allow(struct log_limit *limit, int64_t now_ms, unsigned *dropped)
{
	assert(limit->burst > 0);
	*dropped = 0;
	if (!limit->passed || now_ms - limit->since_ms >= limit->period_ms) {
		*dropped = limit->dropped;
		limit->since_ms = now_ms;
		limit->passed = 0;
		limit->dropped = 0;
	}
	if (limit->passed >= limit->burst) {
		limit->dropped++;
		return 0;
	}
	limit->passed++;
	return 1;
}
