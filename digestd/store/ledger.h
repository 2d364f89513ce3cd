/*
 * A ledger of memory: how much there may be, what it is used for, and what is
 * left. It counts what others allocate; it allocates nothing itself.
 *
 * Changed by any thread, without a lock: what is taken within a limit never
 * exceeds it, whoever takes at the same time. What has to be there in any case
 * is added, beyond the limit too; then nothing can be taken until as much has
 * been returned.
 *
 * Cost: two atomic additions. What grows piece by piece takes tokens of 64 KiB,
 * see struct ledger_account.
 */
#ifndef DIGESTD_STORE_LEDGER_H
#define DIGESTD_STORE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

/* One row each: name, what the memory is for. */
/* clang-format off */
#define LEDGER_USES(X) \
	X(objects,     "responses with their bodies: stored, or not any more but being sent or written to disk") \
	X(collected,   "bodies that are being received to be stored, or to be sent as a whole") \
	X(promised,    "what those will have taken when they are whole") \
	X(streams,     "windows of bodies that are passed through") \
	X(uploads,     "bodies of requests") \
	X(disk_reads,  "blocks read from the disk, on their way to clients") \
	X(connections, "clients and peers that are connected") \
	X(requests,    "requests that ask origins and peers") \
	X(replies,     "blocks of streamed replies, on their way to clients") \
	X(segments,    "segments of memory files in which bodies are, beyond these") \
	X(other,       "the rest, as measured: program, digests, tables, the allocator's")
/* clang-format on */

enum ledger_use {
#define X(name, help) LEDGER_##name,
	LEDGER_USES(X)
#undef X
	LEDGER_NUSES
};

enum { LEDGER_TOKEN_BYTES = 65536 };

/* All zero but the limit at first. Fields are changed atomically. */
struct ledger {
	uint64_t limit; /* [bytes] */
	uint64_t total; /* of all uses */
	uint64_t used[LEDGER_NUSES];
};

/* What one owner has taken for one use; zero at first. */
struct ledger_account {
	uint64_t bytes;
};

/* Takes bytes, if so many and `leave` more are left. */
bool ledger_take(struct ledger *l, enum ledger_use use, uint64_t bytes,
		 uint64_t leave);

/* Adds bytes in any case. */
void ledger_add(struct ledger *l, enum ledger_use use, uint64_t bytes);

/* Returns bytes that were taken or added. */
void ledger_return(struct ledger *l, enum ledger_use use, uint64_t bytes);

/* Makes bytes of one use bytes of another. */
void ledger_move(struct ledger *l, enum ledger_use from, enum ledger_use to,
		 uint64_t bytes);

/* Sets what is used for something, from one thread. */
void ledger_set(struct ledger *l, enum ledger_use use, uint64_t bytes);

/*
 * Takes tokens until the account has `bytes`; false, and nothing happens, when
 * they, and `leave` more bytes, are not left.
 */
bool ledger_hold(struct ledger *l, enum ledger_use use,
		 struct ledger_account *account, uint64_t bytes,
		 uint64_t leave);

/* Returns all that an account has. */
void ledger_release(struct ledger *l, enum ledger_use use,
		    struct ledger_account *account);

/* What is left within the limit. */
uint64_t ledger_left(const struct ledger *l);

/* What is used for something. */
uint64_t ledger_used(const struct ledger *l, enum ledger_use use);

#endif
