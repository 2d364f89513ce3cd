/*
 * router: links between network namespaces, with delay and loss.
 *
 *	router PLACES FROM-TO:MS:PERCENT ...
 *
 * For kernels without netem. Makes a namespace for each place, with a loopback
 * and a tun device of the address 10.99.N.1, N from 0 on, and passes packets
 * from one to the other: both ways of the link FROM-TO take MS milliseconds and
 * lose PERCENT of the packets, decided by a generator that begins with the same
 * number each time. Places without a link cannot reach each other. Prints the
 * namespaces as files, one a line, then serves until it is killed; they go with
 * it and with what runs in them. Exits with 77 where it may not do that.
 *
 * Packets of a way keep their order. A queue is as long as its delay makes it:
 * there is no limit to the rate.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	PLACES_MAX = 16,
	PACKET_BYTES = 65536,
	VERSION_4 = 4,       /* in the first half byte of a packet */
	DESTINATION_AT = 16, /* of its four bytes in the header */
	NETWORK_A = 10,
	NETWORK_B = 99,
	SKIPPED = 77, /* exit code, as Automake has it */
	USAGE = 2,
};

static const int64_t second_ns = 1000000000;

struct packet {
	struct packet *next;
	int64_t due_ns;
	size_t len;
	unsigned char bytes[];
};

/* One way between two places: what is on it, the oldest first. */
struct way {
	bool there;
	int64_t delay_ns;
	double loss; /* share */
	struct packet *first, **last;
};

struct router {
	unsigned nplaces;
	int space[PLACES_MAX], tun[PLACES_MAX];
	struct way ways[PLACES_MAX][PLACES_MAX];
};

static int64_t router_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * second_ns + t.tv_nsec;
}

_Noreturn static void router_fail(const char *what, int code)
{
	perror(what);
	exit(code);
}

/* Namespaces */

/* Brings a device of this namespace up, with an address unless that is null. */
static void router_set_up(const char *device, const char *address)
{
	struct ifreq r = { 0 };
	struct sockaddr_in *at = (struct sockaddr_in *)&r.ifr_addr;
	const int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0)
		router_fail("socket", SKIPPED);
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", device);
	at->sin_family = AF_INET;
	if (address) {
		inet_pton(AF_INET, address, &at->sin_addr);
		if (ioctl(s, SIOCSIFADDR, &r))
			router_fail(address, SKIPPED);
		inet_pton(AF_INET, "255.255.0.0", &at->sin_addr);
		if (ioctl(s, SIOCSIFNETMASK, &r))
			router_fail("netmask", SKIPPED);
	}
	r.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(s, SIOCSIFFLAGS, &r))
		router_fail(device, SKIPPED);
	close(s);
}

/* A new namespace for a place; this process is in it then. */
static void router_make_place(struct router *r, unsigned i)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	char address[sizeof("10.99.255.1")];

	if (unshare(CLONE_NEWNET))
		router_fail("unshare", SKIPPED);
	r->space[i] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	r->tun[i] = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (r->space[i] < 0 || r->tun[i] < 0)
		router_fail("/dev/net/tun", SKIPPED);
	snprintf(request.ifr_name, sizeof(request.ifr_name), "wan");
	if (ioctl(r->tun[i], TUNSETIFF, &request))
		router_fail("TUNSETIFF", SKIPPED);
	snprintf(address, sizeof(address), "10.99.%u.1", i % 256);
	router_set_up("lo", NULL);
	router_set_up("wan", address);
}

/* Links */

static void router_set_way(struct way *w, double ms, double percent)
{
	w->there = true;
	w->delay_ns = (int64_t)(ms * 1e6);
	w->loss = percent / 100;
}

static void router_read_link(struct router *r, const char *text)
{
	unsigned from, to;
	double ms, percent;

	if (sscanf(text, "%u-%u:%lf:%lf", &from, &to, &ms, &percent) != 4 ||
	    from >= r->nplaces || to >= r->nplaces) {
		fprintf(stderr, "router: %s is no link\n", text);
		exit(USAGE);
	}
	router_set_way(&r->ways[from][to], ms, percent);
	router_set_way(&r->ways[to][from], ms, percent);
}

static void router_start(struct router *r)
{
	for (unsigned i = 0; i < r->nplaces; i++) {
		for (unsigned k = 0; k < r->nplaces; k++)
			r->ways[i][k].last = &r->ways[i][k].first;
		router_make_place(r, i);
	}
	for (unsigned i = 0; i < r->nplaces; i++)
		printf("/proc/%d/fd/%d\n", (int)getpid(), r->space[i]);
	fflush(stdout);
}

/* Packets */

/* The way that a packet of a place takes; null: none. */
static struct way *router_way(struct router *r, unsigned from,
			      const unsigned char *packet, size_t len)
{
	const unsigned char *to = packet + DESTINATION_AT;
	struct way *w;

	if (len < DESTINATION_AT + 4 || packet[0] >> 4 != VERSION_4 ||
	    to[0] != NETWORK_A || to[1] != NETWORK_B || to[2] >= r->nplaces)
		return NULL;
	w = &r->ways[from][to[2]];
	return w->there ? w : NULL;
}

static void router_put(struct way *w, const unsigned char *bytes, size_t len)
{
	struct packet *p;

	if (drand48() < w->loss)
		return;
	p = malloc(sizeof(*p) + len);
	if (!p)
		return; /* lost, too */
	p->next = NULL;
	p->due_ns = router_now_ns() + w->delay_ns;
	p->len = len;
	memcpy(p->bytes, bytes, len);
	*w->last = p;
	w->last = &p->next;
}

/* Takes what a place has sent. */
static void router_take(struct router *r, unsigned from)
{
	static unsigned char bytes[PACKET_BYTES];
	ssize_t len;

	while ((len = read(r->tun[from], bytes, sizeof(bytes))) > 0) {
		struct way *w = router_way(r, from, bytes, (size_t)len);

		if (w)
			router_put(w, bytes, (size_t)len);
	}
}

/* Delivers what is due on a way; returns when more is [ns], or INT64_MAX. A
 * place that takes no more loses it. */
static int64_t router_deliver(struct way *w, int tun, int64_t now_ns)
{
	while (w->first && w->first->due_ns <= now_ns) {
		struct packet *p = w->first;

		if (write(tun, p->bytes, p->len) < 0 && errno == EBADF)
			router_fail("tun", 1);
		w->first = p->next;
		if (!w->first)
			w->last = &w->first;
		free(p);
	}
	return w->first ? w->first->due_ns : INT64_MAX;
}

static int64_t router_deliver_all(struct router *r)
{
	const int64_t now_ns = router_now_ns();
	int64_t next_ns = INT64_MAX;

	for (unsigned i = 0; i < r->nplaces; i++) {
		for (unsigned k = 0; k < r->nplaces; k++) {
			int64_t due_ns = router_deliver(&r->ways[i][k],
							r->tun[k], now_ns);

			if (due_ns < next_ns)
				next_ns = due_ns;
		}
	}
	return next_ns;
}

_Noreturn static void router_serve(struct router *r)
{
	struct pollfd polled[PLACES_MAX];

	for (unsigned i = 0; i < r->nplaces; i++)
		polled[i] = (struct pollfd){ .fd = r->tun[i],
					     .events = POLLIN };
	for (;;) {
		const int64_t due_ns = router_deliver_all(r);
		const int64_t left_ns = due_ns - router_now_ns();
		const int64_t wait_ns = left_ns > 0 ? left_ns : 0;
		const struct timespec wait = { wait_ns / second_ns,
					       wait_ns % second_ns };

		ppoll(polled, r->nplaces, due_ns < INT64_MAX ? &wait : NULL,
		      NULL);
		for (unsigned i = 0; i < r->nplaces; i++)
			router_take(r, i);
	}
}

int main(int argc, char **argv)
{
	static struct router r;

	r.nplaces = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	if (!r.nplaces || r.nplaces > PLACES_MAX) {
		fprintf(stderr,
			"usage: router PLACES FROM-TO:MS:PERCENT ...\n");
		return USAGE;
	}
	for (int i = 2; i < argc; i++)
		router_read_link(&r, argv[i]);
	srand48(1);
	router_start(&r);
	router_serve(&r);
}
