/*
 * Faults of messages: a table.
 */
#include "digestd/http/message_fault.h"

#include <assert.h>

struct message_fault_row {
	unsigned status;
	const char *reason;
};

static const struct message_fault_row message_fault_rows[] = {
	[MESSAGE_OK] = { 0, "well-formed" },
#define X(name, status, reason) [MESSAGE_##name] = { status, reason },
	MESSAGE_FAULTS(X)
#undef X
};

unsigned message_fault_status(enum message_fault fault)
{
	assert(fault > MESSAGE_OK && fault < MESSAGE_FAULT_COUNT);
	return message_fault_rows[fault].status;
}

const char *message_fault_reason(enum message_fault fault)
{
	assert(fault < MESSAGE_FAULT_COUNT);
	return message_fault_rows[fault].reason;
}
