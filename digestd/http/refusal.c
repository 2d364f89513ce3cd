/*
 * Reasons of refusals: a table.
 */
#include "digestd/http/refusal.h"

#include <assert.h>

static const struct refusal_row {
	unsigned status;
	const char *name;
} refusal_rows[] = {
#define X(name, status, what) [REFUSAL_##name] = { status, #name },
	REFUSALS(X)
#undef X
};

enum refusal refusal_of_status(unsigned status)
{
	int i = 0;

	while (i < REFUSAL_COUNT && refusal_rows[i].status != status)
		i++;
	return (enum refusal)i;
}

const char *refusal_name(enum refusal refusal)
{
	assert(refusal < REFUSAL_COUNT);
	return refusal_rows[refusal].name;
}
