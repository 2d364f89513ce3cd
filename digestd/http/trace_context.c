/*
 * traceparent: version "-" trace-id "-" parent-id "-" flags.
 */
#include "digestd/http/trace_context.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "digestd/http/hexdigit.h"

enum {
	TRACE_AT = 3,   /* the id, behind the version */
	PARENT_AT = 36,
	PARENT_LEN = 16,
	FLAGS_AT = 53,
	TRACE_LEN = 55, /* of version 0; others may have more behind it */
	SAMPLE_AT = TRACE_ID_BYTES - 1 - 14, /* the last 56 bits */
};

/* Whether there are so many lower-case digits; *zero: all of them are 0. */
static bool trace_context_is_hex(const char *at, size_t len, bool *zero)
{
	*zero = true;
	for (size_t i = 0; i < len; i++) {
		if (!((at[i] >= '0' && at[i] <= '9') ||
		      (at[i] >= 'a' && at[i] <= 'f')))
			return false;
		*zero &= at[i] == '0';
	}
	return true;
}

static bool trace_context_is_valid(const char *value)
{
	size_t len = strlen(value);
	bool zero, no_trace, no_parent;

	if (len < TRACE_LEN || value[2] != '-' || value[PARENT_AT - 1] != '-' ||
	    value[FLAGS_AT - 1] != '-' ||
	    !trace_context_is_hex(value, 2, &zero) ||
	    !trace_context_is_hex(value + TRACE_AT, TRACE_ID_BYTES - 1,
				  &no_trace) ||
	    !trace_context_is_hex(value + PARENT_AT, PARENT_LEN, &no_parent))
		return false;
	if (no_trace || no_parent || !strncmp(value, "ff", 2) ||
	    (len > TRACE_LEN && (!strncmp(value, "00", 2) ||
				 value[TRACE_LEN] != '-')))
		return false;
	return trace_context_is_hex(value + FLAGS_AT, 2, &zero);
}

bool trace_context_read(const char *traceparent, char id[TRACE_ID_BYTES])
{
	id[0] = '\0';
	if (!trace_context_is_valid(traceparent))
		return false;
	memcpy(id, traceparent + TRACE_AT, TRACE_ID_BYTES - 1);
	id[TRACE_ID_BYTES - 1] = '\0';
	return true;
}

bool trace_context_is_sampled(const char id[TRACE_ID_BYTES], unsigned every)
{
	uint64_t random = 0;

	assert(every);
	for (size_t i = SAMPLE_AT; i < TRACE_ID_BYTES - 1; i++)
		random = random << 4 | (uint64_t)hexdigit_value(id[i]);
	return random < (UINT64_C(1) << 56) / every;
}
