/*
 * What goes wrong with peers that are followed, and what their clocks say.
 */
#include <inttypes.h>
#include <stdio.h>

#include "codec/error.h"
#include "digestd/fetch/fetch.h"
#include "digestd/http/fields.h"
#include "digestd/os/log.h"
#include "digestd/os/troubles.h"
#include "digestd/peers/peer_follower_inside.h"

enum { SKEW_S = 5 }; /* between clocks, is no trouble */

/* A fetch has brought nothing that can be used. */
void peer_follower_report(struct peer *p, enum trouble trouble,
			  const char *detail)
{
	p->troubled = true;
	troubles_of_upstream(p->follow->settings.troubles, UPSTREAM_peer,
			     p->name, trouble, detail,
			     loop_now_ms(p->follow->loop));
}

void peer_follower_report_well(struct peer *p)
{
	if (p->troubled)
		log_write(LOG_INFO, "follower",
			  "peer %s: its digest is known again", p->name);
	p->troubled = false;
}

/* Whether what has come begins with the header of a full list. */
static bool peer_follower_sends_list(const struct peer *p)
{
	const struct digest_body *b = &p->update.body;
	struct scd_digest_info info;

	return b->len >= SCD_DIGEST_HEADER_BYTES &&
	       !scd_digest_judge(b->bytes, NULL, &info) &&
	       info.kind == SCD_LIST;
}

const char *peer_follower_reason(const struct peer *p, int error)
{
	if (p->update.foreign)
		return "its keys are made by another cluster key than ours";
	if (error != SCD_EMISMATCH)
		return scd_strerror(error);
	return peer_follower_sends_list(p)
		       ? "it is a list, and an array was asked for"
		       : "it has Squid's hashing, which is not looked up here";
}

enum trouble peer_follower_trouble_of(const struct peer *p, int error)
{
	if (p->update.foreign)
		return TROUBLE_wrong_key;
	switch (error) {
	case SCD_EVERSION:
	case SCD_EMISMATCH:
		return TROUBLE_version;
	case SCD_ELIMIT:
		return TROUBLE_too_full;
	case SCD_ENOMEM:
		return TROUBLE_memory;
	default:
		return TROUBLE_bad_digest;
	}
}

/* Why an answer is not whole. */
enum trouble peer_follower_fetch_fault(const struct fetch_done *done)
{
	if (done->cause)
		return done->cause;
	return done->result == FETCH_COMPLETE /* without a length of its own */
		       ? TROUBLE_cut_body
		       : trouble_of_result(done->result);
}

/* What a peer's copies are worth follows from dates: by how much its clock and
 * the one here differ, give or take the time that its answer took. */
void peer_follower_look_at_clock(const struct peer *p,
				 const struct fields *fields)
{
	const char *text = fields_get(fields, "Date");
	int64_t wall_s = loop_wall_s(p->follow->loop), date_s;
	char detail[64];

	if (!text || !httpdate_parse(text, wall_s, &date_s))
		return;
	if (date_s - wall_s >= -SKEW_S && date_s - wall_s <= SKEW_S)
		return;
	snprintf(detail, sizeof(detail), "its clock is %+" PRId64 " s from "
		 "the one here", date_s - wall_s);
	troubles_of_upstream(p->follow->settings.troubles, UPSTREAM_peer,
			     p->name, TROUBLE_clock_skew, detail,
			     loop_now_ms(p->follow->loop));
}
