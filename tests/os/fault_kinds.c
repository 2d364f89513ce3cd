/*
 * Kinds of faults.
 */
#include "tests/os/fault_kinds.h"

#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"

static bool disarm_memory(void)
{
	bool failed = alloc_failed();

	alloc_fail_at(0);
	return failed;
}

const struct fault_kind fault_of_memory = { alloc_fail_at, disarm_memory };

static const struct failing_call *failing;

static void arm_call(unsigned i)
{
	call_fail_at(failing->function, i, failing->error);
}

static bool disarm_call(void)
{
	bool failed = call_failed();

	call_fail_at(failing->function, 0, 0);
	return failed;
}

const struct fault_kind *fault_of_call(const struct failing_call *call)
{
	static const struct fault_kind kind = { arm_call, disarm_call };

	failing = call;
	return &kind;
}
