/*
 * The HTTP side of scd-origin, on libmicrohttpd with a pool of threads that
 * use poll (its own epoll threads stall, see DESIGN.md); with a delay, a
 * thread a connection, because a delayed answer sleeps.
 */
#ifndef LIVE_ORIGIN_SERVER_H
#define LIVE_ORIGIN_SERVER_H

#include <stdint.h>
#include <sys/socket.h>

#include "cachesim/live/origin_answer.h"

struct origin_options {
	struct origin_answer_rules rules;
	uint64_t threads;  /* > 0 */
	uint64_t delay_ms; /* before each answer */
	double truncate;   /* share of bodies that end early, 0..1 */
	double lie;	   /* share of bodies with one wrong byte, 0..1 */
};

struct origin_counts {
	uint64_t requests, bytes, not_modified, not_found, refused;
};

struct origin_server;

/*
 * Listens and answers until it is freed. opt is borrowed for that time.
 * 0 or -errno.
 */
int origin_server_new(struct origin_server **out, const struct sockaddr *at,
		      socklen_t len, const struct origin_options *opt);

/* The port that it listens on. */
uint16_t origin_server_port(const struct origin_server *s);

/* What it has done so far; from any thread. */
void origin_server_counts(struct origin_server *s, struct origin_counts *out);

/* Accepts null and nulls the pointer. */
void origin_server_free(struct origin_server **s);

#endif
