/*
 * Kinds of faults that a test plants one after the other, first at the first
 * place where there may be one, then at the second: for tests that link
 * $(fault_sources), with $(alloc_ldflags) and $(call_ldflags).
 */
#ifndef TESTS_OS_FAULT_KINDS_H
#define TESTS_OS_FAULT_KINDS_H

#include <stdbool.h>

struct fault_kind {
	void (*arm)(unsigned i); /* the i-th from now on, from 1, fails */
	bool (*disarm)(void);	 /* none does; whether one has */
};

/* A system call, and how it fails. */
struct failing_call {
	const char *function; /* as call_fail_at() has it */
	int error;
};

/* Of allocations; and of this call, until there is another one. */
extern const struct fault_kind fault_of_memory;
const struct fault_kind *fault_of_call(const struct failing_call *call);

#endif
