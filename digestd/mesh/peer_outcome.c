/*
 * What came of asking a peer, in words.
 */
#include "digestd/mesh/peer_outcome.h"

const char *peer_outcome_text(enum peer_outcome outcome)
{
	switch (outcome) {
	case OUTCOME_HIT:
		return "hit";
	case OUTCOME_FALSE_HIT:
		return "false hit";
	case OUTCOME_STALE:
		return "stale hit";
	case OUTCOME_VARIANT:
		return "variant miss";
	case OUTCOME_FAILED:
		return "failed";
	case OUTCOME_DOUBT:
		return "doubtful";
	case OUTCOME_WRONG:
		return "wrong";
	}
	return "unknown";
}
