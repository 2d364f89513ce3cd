/*
 * Calls of LMDB that fail on demand, with its codes or an errno; see
 * tests/os/call_faults.h.
 */
#include <lmdb.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/os/call_faults.h"

/* clang-format off */
#define LMDB(name, parameters, arguments) \
	CALL_WRAPPER(int, mdb_##name, parameters, arguments, call_error())

LMDB(env_create, (MDB_env **a), (a))
LMDB(env_set_mapsize, (MDB_env *a, size_t b), (a, b))
LMDB(env_set_maxreaders, (MDB_env *a, unsigned b), (a, b))
LMDB(env_open, (MDB_env *a, const char *b, unsigned c, mdb_mode_t d),
     (a, b, c, d))
LMDB(env_sync, (MDB_env *a, int b), (a, b))
LMDB(txn_begin, (MDB_env *a, MDB_txn *b, unsigned c, MDB_txn **d),
     (a, b, c, d))
LMDB(dbi_open, (MDB_txn *a, const char *b, unsigned c, MDB_dbi *d),
     (a, b, c, d))
LMDB(put, (MDB_txn *a, MDB_dbi b, MDB_val *c, MDB_val *d, unsigned e),
     (a, b, c, d, e))
LMDB(del, (MDB_txn *a, MDB_dbi b, MDB_val *c, MDB_val *d), (a, b, c, d))
LMDB(get, (MDB_txn *a, MDB_dbi b, MDB_val *c, MDB_val *d), (a, b, c, d))
LMDB(cursor_open, (MDB_txn *a, MDB_dbi b, MDB_cursor **c), (a, b, c))
LMDB(cursor_get, (MDB_cursor *a, MDB_val *b, MDB_val *c, MDB_cursor_op d),
     (a, b, c, d))
/* clang-format on */

/* One that fails has given its batch up. */
int __real_mdb_txn_commit(MDB_txn *txn);
int __wrap_mdb_txn_commit(MDB_txn *txn);
int __wrap_mdb_txn_commit(MDB_txn *txn)
{
	if (!call_fails("mdb_txn_commit"))
		return __real_mdb_txn_commit(txn);
	mdb_txn_abort(txn);
	return call_error();
}

/* There where the program counts what it executes. */
extern void __gcov_init(void *) __attribute__((weak));

/* The count is written by exit(), which is to write nothing else. */
void __real__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code)
{
	if (!__gcov_init)
		__real__exit(code);
	__fpurge(stdout);
	exit(code);
}
