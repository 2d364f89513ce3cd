/*
 * Clients of the server that is tested.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/server/served.h"

int dial(void)
{
	return loopback_dial(server_port(at.server));
}

void say(int fd, const char *text)
{
	ssize_t n = send(fd, text, strlen(text), MSG_NOSIGNAL);

	assert_int_equal(n, (ssize_t)strlen(text));
}

char *hear(int fd, size_t *len)
{
	char *text = malloc(REPLY_MAX);
	size_t have = 0;
	ssize_t n;

	while (have < REPLY_MAX - 1 &&
	       (n = recv(fd, text + have, REPLY_MAX - 1 - have, 0)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	if (len)
		*len = have;
	close(fd);
	return text;
}

char *ask(const char *request, size_t *len)
{
	int fd = dial();

	say(fd, request);
	return hear(fd, len);
}

void wait_for(atomic_int *counter, int value)
{
	for (int i = 0; i < 5000 && atomic_load(counter) < value; i++)
		usleep(1000);
	assert_int_equal(atomic_load(counter), value);
}

size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	while ((text = strstr(text, part)) != NULL) {
		text += strlen(part);
		n++;
	}
	return n;
}
