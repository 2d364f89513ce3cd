/*
 * What a trace is made of: requests, objects, clients, bytes, the share of
 * objects that are asked for once, and what an infinite cache could hit.
 * An object is a URL; its size is the largest that was seen. What a cache may
 * not store, by trace_cacheable_class(), is requested, but no object and no
 * hit. Costs 32 bytes a distinct object and 8 a client, in tables that are at
 * most 3/4 full.
 */
#ifndef TRACE_STATS_H
#define TRACE_STATS_H

#include "cachesim/trace/trace_request.h"

struct trace_totals {
	uint64_t requests;
	uint64_t uncacheable;  /* of these */
	uint64_t objects;
	uint64_t clients;
	uint64_t bytes;	       /* requested */
	uint64_t unique_bytes; /* the size of an infinite cache */
	uint64_t one_hit;      /* objects that are requested exactly once */
	int64_t first_ms, last_ms;
	/* of an infinite cache: what is left of the requests, or the bytes,
	 * without the uncacheable ones and the first of each object */
	double hit_ratio, byte_hit_ratio;
};

struct trace_stats;

/* 0 or TRACE_ENOMEM. */
int trace_stats_new(struct trace_stats **out);

/* Counts a request. 0 or TRACE_ENOMEM (the request is not counted). */
int trace_stats_add(struct trace_stats *s, const struct trace_request *req);

/* The totals of what was counted; visits every object. */
void trace_stats_totals(const struct trace_stats *s, struct trace_totals *out);

/* Accepts null and nulls the pointer. */
void trace_stats_free(struct trace_stats **s);

#endif
