/*
 * The status page. Each answer has a nonce of its own, without which browsers
 * run and apply nothing.
 */
#include "digestd/admin/status_page.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "digestd/admin/status_page_lines.h"

static const char status_page_mark[] = "@NONCE@";

int status_page_draw_nonce(char nonce[STATUS_PAGE_NONCE_BYTES])
{
	uint8_t bytes[STATUS_PAGE_NONCE_BYTES / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static void status_page_put(FILE *to, const char *line, const char *nonce)
{
	const char *mark = strstr(line, status_page_mark);

	if (mark)
		fprintf(to, "%.*s%s%s", (int)(mark - line), line, nonce,
			mark + strlen(status_page_mark));
	else
		fputs(line, to);
}

char *status_page_text(const char *nonce)
{
	const size_t n = sizeof(status_page_lines) / sizeof(*status_page_lines);
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return NULL;
	for (size_t i = 0; i < n; i++)
		status_page_put(to, status_page_lines[i], nonce);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

void status_page_policy(const char *nonce, char to[STATUS_PAGE_POLICY_BYTES])
{
	snprintf(to, STATUS_PAGE_POLICY_BYTES,
		 "default-src 'none'; connect-src 'self'; "
		 "style-src 'nonce-%s'; script-src 'nonce-%s'; "
		 "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		 nonce, nonce);
}
