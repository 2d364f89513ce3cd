/*
 * What a request costs a thread: instructions of user space and system calls,
 * counted one by one, so that neither other work nor the machine's speed moves
 * them.
 *
 *     steps THREAD PORT COUNT METHOD TARGET
 *
 * is the client, too: it sends COUNT requests for TARGET to PORT, a POST with
 * three bytes, each when the one before has been answered and the thread, by
 * its id, sleeps again; a # in TARGET becomes a number, another one each time.
 * It prints the least of both counts. A system call is one instruction. A step
 * takes some 20 us, for which the thread stands still: timers that run out
 * meanwhile are why the least counts.
 *
 * The exit status is 77 where the kernel does not let it.
 */
#define _GNU_SOURCE /* strcasestr(), ptrace requests */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum {
	ANSWER_BYTES = 1 << 16,
	POLL_US = 1000, /* how often to look whether the thread sleeps */
	SKIPPED = 77,
	SYSTEM_CALL = SIGTRAP | 0x80, /* with PTRACE_O_TRACESYSGOOD */
};

/* A connection and the answer that comes on it. */
struct steps_client {
	int fd;
	size_t len;
	char answer[ANSWER_BYTES + 1];
};

static void steps_fail(const char *what)
{
	perror(what);
	exit(errno == EPERM || errno == ENOSYS ? SKIPPED : 2);
}

/* The client */

static void steps_connect(struct steps_client *c, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(port)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof(to)))
		steps_fail("connect");
}

static void steps_send(struct steps_client *c, const char *method,
		       const char *target)
{
	static unsigned number;
	bool posts = !strcmp(method, "POST");
	const char *mark = strchr(target, '#');
	char text[512], where[16] = "";
	int n;

	if (mark)
		snprintf(where, sizeof(where), "%u", 1000 + ++number);
	n = snprintf(text, sizeof(text),
		     "%s %.*s%s%s HTTP/1.1\r\nHost: www.example.com\r\n%s",
		     method,
		     mark ? (int)(mark - target) : (int)strlen(target), target,
		     where, mark ? mark + 1 : "",
		     posts ? "Content-Length: 3\r\n\r\na=b" : "\r\n");
	c->len = 0;
	if (send(c->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		steps_fail("send");
}

static bool steps_is_whole(const struct steps_client *c)
{
	const char *end = strstr(c->answer, "\r\n\r\n");
	const char *length = strcasestr(c->answer, "\r\nContent-Length:");

	return end && length && length < end &&
	       c->len >= (size_t)(end + 4 - c->answer) +
				 strtoul(length + 17, NULL, 10);
}

/* Whether the answer has come. */
static bool steps_receive(struct steps_client *c)
{
	ssize_t n = recv(c->fd, c->answer + c->len, ANSWER_BYTES - c->len,
			 MSG_DONTWAIT);

	if (n == 0) {
		fputs("steps: the connection was closed\n", stderr);
		exit(2);
	}
	if (n > 0)
		c->len += (size_t)n;
	c->answer[c->len] = '\0';
	return steps_is_whole(c);
}

/* The thread */

static bool steps_is_asleep(pid_t thread)
{
	char path[32], text[256] = "";
	const char *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)thread);
	f = fopen(path, "r");
	if (!f || !fgets(text, sizeof(text), f))
		steps_fail(path);
	fclose(f);
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'S';
}

/* The signal with which the thread stops; 0: it has not for POLL_US. */
static int steps_wait(pid_t thread)
{
	int status = 0;
	pid_t found = waitpid(thread, &status, __WALL);

	if (found < 0 && errno == EINTR)
		return 0;
	if (found < 0 || !WIFSTOPPED(status)) {
		fputs("steps: the thread has ended\n", stderr);
		exit(2);
	}
	return WSTOPSIG(status);
}

static void steps_on_alarm(int number)
{
	(void)number; /* all it does is to interrupt waitpid() */
}

static void steps_set_alarm(void)
{
	const struct itimerval every = { { 0, POLL_US }, { 0, POLL_US } };
	const struct sigaction interrupts = { .sa_handler = steps_on_alarm };

	if (sigaction(SIGALRM, &interrupts, NULL) ||
	    setitimer(ITIMER_REAL, &every, NULL))
		steps_fail("setitimer");
}

static void steps_stop(pid_t thread)
{
	if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL))
		steps_fail("ptrace");
	while (!steps_wait(thread))
		;
}

static void steps_go_on(pid_t thread, int how)
{
	if (ptrace((enum __ptrace_request)how, thread, NULL, NULL))
		steps_fail("ptrace");
}

/* A trap of the last step may be on its way still, and nobody else takes it. */
static void steps_detach(pid_t thread)
{
	steps_stop(thread);
	for (int i = 0; i < 2; i++) {
		steps_go_on(thread, PTRACE_SINGLESTEP);
		while (!steps_wait(thread))
			;
	}
	steps_go_on(thread, PTRACE_DETACH);
}

static bool steps_enters_call(pid_t thread)
{
	struct ptrace_syscall_info info = { 0 };

	if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof(info),
		   &info) < 0)
		steps_fail("ptrace");
	return info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

/* What is asked for; a null target: nothing. */
struct steps_request {
	const char *method, *target;
};

/* Sends a request and counts until it is answered and the thread
 * sleeps in a system call: system calls or, by steps, instructions. */
static long steps_count(struct steps_client *c, pid_t thread,
			const struct steps_request *r, int how)
{
	bool answered = !r->target;
	long count = 0;

	if (r->target)
		steps_send(c, r->method, r->target);
	while (!answered || !steps_is_asleep(thread)) {
		int stopped = steps_wait(thread);

		if (!stopped) {
			answered = answered || steps_receive(c);
			continue;
		}
		count += how == PTRACE_SINGLESTEP ||
			 (stopped == SYSTEM_CALL && steps_enters_call(thread));
		steps_go_on(thread, how);
	}
	return count;
}

/* What the cheapest of so many requests takes. */
static long steps_least(struct steps_client *c, pid_t thread, int count,
			const struct steps_request *r, int how)
{
	static const struct steps_request none;
	long least = LONG_MAX;

	steps_stop(thread);
	steps_go_on(thread, how);
	steps_count(c, thread, &none, how);
	while (count--) {
		long found = steps_count(c, thread, r, how);

		least = found < least ? found : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	static struct steps_client client;
	int count = argc == 6 ? atoi(argv[3]) : 0;
	struct steps_request request;
	long instructions, calls;
	pid_t thread;

	if (count < 1) {
		fputs("usage: steps THREAD PORT COUNT METHOD TARGET\n", stderr);
		return 2;
	}
	thread = (pid_t)atoi(argv[1]);
	request = (struct steps_request){ argv[4], argv[5] };
	steps_connect(&client, argv[2]);
	steps_set_alarm();
	if (ptrace(PTRACE_SEIZE, thread, NULL, (void *)PTRACE_O_TRACESYSGOOD))
		steps_fail("ptrace");
	calls = steps_least(&client, thread, count, &request, PTRACE_SYSCALL);
	instructions = steps_least(&client, thread, count, &request,
				   PTRACE_SINGLESTEP);
	steps_detach(thread);
	printf("%ld %ld\n", instructions, calls);
	return 0;
}
