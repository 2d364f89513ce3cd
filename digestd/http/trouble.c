/*
 * What can go wrong: a table.
 */
#include "digestd/http/trouble.h"

#include <assert.h>
#include <errno.h>

static const struct trouble_row {
	const char *label, *text, *remedy;
} trouble_rows[] = {
#define X(name, label, what, remedy) [TROUBLE_##name] = { label, what, remedy },
	TROUBLES(X)
#undef X
};

enum trouble trouble_of_result(enum fetch_result result)
{
	switch (result) {
	case FETCH_COMPLETE:
		break;
	case FETCH_TRUNCATED:
		return TROUBLE_cut_body;
	case FETCH_TIMEOUT:
		return TROUBLE_timeout_answer;
	case FETCH_NOCONNECT:
		return TROUBLE_no_route;
	case FETCH_NOTLS:
		return TROUBLE_tls_plain;
	case FETCH_UNTRUSTED:
		return TROUBLE_tls_untrusted;
	case FETCH_REFUSED:
		return TROUBLE_private_address;
	case FETCH_BAD:
		return TROUBLE_bad_header;
	case FETCH_NOMEM:
		return TROUBLE_memory;
	}
	return TROUBLE_none;
}

enum trouble trouble_of_connect(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return TROUBLE_refused;
	case ECONNRESET:
		return TROUBLE_reset;
	case EMFILE:
	case ENFILE:
		return TROUBLE_descriptors;
	default:
		return TROUBLE_none;
	}
}

const char *trouble_label(enum trouble trouble)
{
	assert(trouble < TROUBLE_COUNT);
	return trouble_rows[trouble].label;
}

const char *trouble_text(enum trouble trouble)
{
	assert(trouble < TROUBLE_COUNT);
	return trouble_rows[trouble].text;
}

const char *trouble_remedy(enum trouble trouble)
{
	assert(trouble < TROUBLE_COUNT);
	return trouble_rows[trouble].remedy;
}
