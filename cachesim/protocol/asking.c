/*
 * Protocols without summaries: nobody is asked, or everybody is.
 *
 * An ICP query is its header of 20 bytes, the requester's address of 4, and a
 * URL, here of 46 and its NUL: the 70 bytes in all that Summary Cache counts,
 * and the same for a reply. (RFC 2186)
 *
 * An HTCP query has headers of 12 bytes, four strings with lengths of 2 bytes
 * ("GET", the URL of 50, "1.1" and the request's headers, 120) and the 2 of an
 * absent signature; a reply the same 14 and three strings, of which the
 * response headers take 180. (RFC 2756)
 */
#include "cachesim/protocol/rows.h"

static uint64_t asking_nobody(struct protocol_state *s, unsigned view,
			      uint32_t object, unsigned word)
{
	(void)s, (void)view, (void)object, (void)word;
	return 0;
}

static uint64_t asking_everybody(struct protocol_state *s, unsigned view,
				 uint32_t object, unsigned word)
{
	unsigned n = s->config.nproxies - word * PROTOCOL_WORD;

	(void)view, (void)object;
	return UINT64_MAX >> (n < PROTOCOL_WORD ? PROTOCOL_WORD - n : 0);
}

const struct protocol protocol_none = {
	.name = "none",
	.about = "no cooperation",
	.way = PROTOCOL_ALONE,
	.size = sizeof(struct protocol_state),
	.candidates = asking_nobody,
};

const struct protocol protocol_icp = {
	.name = "icp",
	.about = "every peer is asked by an ICP query",
	.way = PROTOCOL_ASK_ALL,
	.by_query = true,
	.sizes = {.query = 70, .reply = 70, .fetch = 600},
	.size = sizeof(struct protocol_state),
	.candidates = asking_everybody,
};

const struct protocol protocol_htcp = {
	.name = "htcp",
	.about = "every peer is asked by an HTCP query",
	.way = PROTOCOL_ASK_ALL,
	.by_query = true,
	.sizes = {.query = 198, .reply = 200, .fetch = 600},
	.size = sizeof(struct protocol_state),
	.candidates = asking_everybody,
};
