/*
 * System calls that fail: a test that links call_faults.c with $(call_ldflags)
 * can make the n-th call of a function fail, where the code that is tested
 * calls it; not where a shared library does. disk_faults.h has the calls of
 * libraries, too, for files.
 */
#ifndef TESTS_OS_CALL_FAULTS_H
#define TESTS_OS_CALL_FAULTS_H

#include <stdbool.h>

/* The n-th call of this function from now on (1: the next) fails with this
 * errno, and no other; n = 0: none. The name is static. */
void call_fail_at(const char *function, unsigned n, int error);

/* Whether it has failed. */
int call_failed(void);

/* For wrappers of further functions: whether this call is to fail, and with
 * which error, which is in errno, too. */
bool call_fails(const char *function);
int call_error(void);

/* The wrapper of a function: its type, name, parameters, arguments, and what it
 * returns when it fails. */
#define CALL_WRAPPER(type, name, parameters, arguments, fails_with) \
	type __real_##name parameters;                              \
	type __wrap_##name parameters;                              \
	type __wrap_##name parameters                               \
	{                                                           \
		return call_fails(#name) ? (fails_with) :           \
					   __real_##name arguments; \
	}

/* The descriptors that this process has open. */
unsigned call_descriptors(void);

#endif
