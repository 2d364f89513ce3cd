/*
 * A bucket of bytes, see the header.
 */
#include "digestd/admission/admission_rate.h"

static void admission_rate_fill(struct admission_rate *r, int64_t now_ms)
{
	double most = (double)r->rate;

	r->saved += most * (double)(now_ms - r->last_ms) / 1000;
	if (r->saved > most)
		r->saved = most;
	r->last_ms = now_ms;
}

void admission_rate_set(struct admission_rate *r, uint64_t rate, int64_t now_ms)
{
	bool was_capped = r->rate;

	admission_rate_fill(r, now_ms);
	r->rate = rate;
	if (!was_capped || r->saved > (double)rate)
		r->saved = (double)rate;
}

bool admission_rate_take(struct admission_rate *r, uint64_t bytes,
			 int64_t now_ms)
{
	if (!r->rate)
		return true;
	admission_rate_fill(r, now_ms);
	if (r->saved <= 0)
		return false;
	r->saved -= (double)bytes;
	return true;
}
