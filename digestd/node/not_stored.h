/*
 * Why a response was not stored: for metrics, and for operators who ask. The
 * first reasons are those of http/storable.h.
 */
#ifndef DIGESTD_NODE_NOT_STORED_H
#define DIGESTD_NODE_NOT_STORED_H

#include "digestd/http/storable.h"

/* X(name, label, what it is), behind STORABLE_ANSWERS */
/* clang-format off */
#define NOT_STORED_REASONS(X) \
	X(RANGE,     "range",     "a part, or an answer that is about one") \
	X(TOO_LARGE, "too-large", "larger than max_object_size") \
	X(PURGES,    "purges",    "a peer's, while purges are still to be heard of") \
	X(PLACEMENT, "placement", "a peer has it, or it is too much of the cache") \
	X(ADMISSION, "admission", "not worth the place of another") \
	X(MEMORY,    "memory",    "there is no memory for it now") \
	X(PURGED,    "purged",    "purged while it came, or larger than the store")
/* clang-format on */

/* NOT_STORED_YES, which is 0: there is no reason. */
enum not_stored {
#define X(name, label, what) NOT_STORED_##name,
	STORABLE_ANSWERS(X)
	NOT_STORED_REASONS(X)
#undef X
	NOT_STORED_COUNT
};

/* Its label, and what it is. Static. */
const char *not_stored_label(enum not_stored reason);
const char *not_stored_text(enum not_stored reason);

#endif
