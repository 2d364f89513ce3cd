/*
 * Worlds that have failed.
 */
#include "tests/world/failed_once.h"

const uint64_t failed_once[] = {
	2500, /* slices were asked of peers of which none may be kept: replies
		 waited for them until they broke off */
	1526, /* a node that could not read its disk did without, and had what
		 was purged meanwhile back at the next start */
	51430, /* a peer that a hedge had beaten was counted as a hit when its
		 * header came, before its body broke off */
	60008943, /* that one origin failed now, and another one long ago, was
		     taken for both being out */
	60007577, /* after a reload with another placement, which only a start
		     takes, the cache kept the last view, and the numbers of
		     peers in it: new ones had none, and no digest */
	60001146, /* who waited for the end of a large body got what was stale,
		     while that was on its way */
	40003725, /* what was purged while no peer was listed was not told to
		     one that was listed later */
};

const size_t failed_once_count = sizeof(failed_once) / sizeof(failed_once[0]);
