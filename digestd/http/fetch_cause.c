/*
 * Causes of fetches that fail: a table.
 */
#include "digestd/http/fetch_cause.h"

#include <assert.h>

static const struct fetch_cause_row {
	const char *name, *text;
} fetch_cause_rows[] = {
#define X(name, text) [FETCH_CAUSE_##name] = { #name, text },
	FETCH_CAUSES(X)
#undef X
};

enum fetch_cause fetch_cause_of_result(enum fetch_result result)
{
	switch (result) {
	case FETCH_COMPLETE:
		break;
	case FETCH_TRUNCATED:
		return FETCH_CAUSE_cut_off;
	case FETCH_TIMEOUT:
		return FETCH_CAUSE_answer_timeout;
	case FETCH_NOCONNECT:
		return FETCH_CAUSE_unreachable;
	case FETCH_NOTLS:
		return FETCH_CAUSE_no_tls;
	case FETCH_UNTRUSTED:
		return FETCH_CAUSE_certificate;
	case FETCH_REFUSED:
		return FETCH_CAUSE_private_address;
	case FETCH_BAD:
		return FETCH_CAUSE_not_http;
	case FETCH_NOMEM:
		return FETCH_CAUSE_memory;
	}
	return FETCH_CAUSE_none;
}

const char *fetch_cause_name(enum fetch_cause cause)
{
	assert(cause < FETCH_CAUSE_COUNT);
	return fetch_cause_rows[cause].name;
}

const char *fetch_cause_text(enum fetch_cause cause)
{
	assert(cause < FETCH_CAUSE_COUNT);
	return fetch_cause_rows[cause].text;
}
