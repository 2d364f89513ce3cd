/*
 * A ring of messages.
 */
#include "tests/storm/storm_log.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	STORM_LOG_NOTES = 4096,
	STORM_LOG_NOTE_BYTES = 1200,
	STORM_LOG_FILES = 8, /* findings that are written with all notes */
};

struct storm_log_note {
	int64_t at_ms;
	const char *role;
	uint64_t id;
	size_t len, kept;
	char bytes[STORM_LOG_NOTE_BYTES];
};

static struct storm_log_note storm_log_notes[STORM_LOG_NOTES];
static size_t storm_log_count;
static unsigned storm_log_found;
static const char *storm_log_folder = ".";

int64_t storm_log_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void storm_log_open(const char *folder)
{
	storm_log_folder = folder;
}

void storm_log_note(const char *role, uint64_t id, const void *bytes,
		    size_t len)
{
	struct storm_log_note *n =
		&storm_log_notes[storm_log_count++ % STORM_LOG_NOTES];

	n->at_ms = storm_log_now_ms();
	n->role = role;
	n->id = id;
	n->len = len;
	n->kept = len < STORM_LOG_NOTE_BYTES ? len : STORM_LOG_NOTE_BYTES;
	if (n->kept)
		memcpy(n->bytes, bytes, n->kept);
}

static void storm_log_escape(FILE *f, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c == '\\')
			fputs("\\\\", f);
		else if (c == '\n')
			fputs("\\n\n    ", f);
		else if (c == '\r')
			fputs("\\r", f);
		else if (isprint(c))
			fputc(c, f);
		else
			fprintf(f, "\\x%02x", c);
	}
}

static void storm_log_write(FILE *f)
{
	size_t first = storm_log_count > STORM_LOG_NOTES
			       ? storm_log_count - STORM_LOG_NOTES
			       : 0;

	for (size_t i = first; i < storm_log_count; i++) {
		const struct storm_log_note *n =
			&storm_log_notes[i % STORM_LOG_NOTES];

		fprintf(f, "%lld %s %llx, %zu bytes\n    ", (long long)n->at_ms,
			n->role, (unsigned long long)n->id, n->len);
		storm_log_escape(f, n->bytes, n->kept);
		fputc('\n', f);
	}
}

void storm_log_finding(const char *format, ...)
{
	char path[4096], what[2048];
	va_list args;
	FILE *f;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	printf("# finding: %s\n", what);
	fflush(stdout);
	if (storm_log_found++ >= STORM_LOG_FILES)
		return;
	snprintf(path, sizeof(path), "%s/finding-%u.txt", storm_log_folder,
		 storm_log_found);
	f = fopen(path, "w");
	if (!f)
		return;
	fprintf(f, "%s\n\nat %lld; the last messages, the oldest first:\n",
		what, (long long)storm_log_now_ms());
	storm_log_write(f);
	fclose(f);
	printf("# its messages: %s\n", path);
}

unsigned storm_log_findings(void)
{
	return storm_log_found;
}
