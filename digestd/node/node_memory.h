/*
 * What a request takes of the process's memory, by its ledger: how much of a
 * body may wait here between a fast end and a slow one, and what is done with
 * less when memory is short.
 *
 * A quarter of all memory is the reserve, of which each use leaves a share. As
 * memory fills, first no body is collected any more, then streams get small
 * windows, then the bodies of requests and blocks of the disk; streams that
 * nobody needs are refused, and at the end all that would ask somebody.
 */
#ifndef DIGESTD_NODE_NODE_MEMORY_H
#define DIGESTD_NODE_NODE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger;
struct ledger_account;

/* The memory there is. */
struct node_memory {
	struct ledger *ledger; /* borrowed */
	uint64_t reserve;      /* [bytes] */
};

enum {
	/* comes at once from a source; one may wait beside a window while
	 * another is held */
	NODE_PIECE_BYTES = 65536,
	NODE_BLOCK_BYTES = 65536, /* of a body on disk */
	NODE_TUNNEL_BYTES = 16384, /* a window of a tunnel, and what comes at
				      once: there may be many */
};

/* Takes what a body of so many bytes needs to be collected; false: there is no
 * room, and it has to pass through. */
bool node_memory_collect(const struct node_memory *m,
			 struct ledger_account *account, uint64_t bytes);

/* Whether there would be room for it now. */
bool node_memory_has_room(const struct node_memory *m, uint64_t bytes);

/*
 * Takes what a body needs that passes through. Returns how many bytes of it may
 * wait here: set_bytes, by the settings, or in need fewer. `here` have been
 * collected already, and stay until they are sent. The account is empty.
 */
size_t node_memory_stream(const struct node_memory *m,
			  struct ledger_account *account, size_t set_bytes,
			  uint64_t here);

/* What such a stream has taken, and does not need any more, when of all that
 * was collected only `here` wait yet; to be returned. */
uint64_t node_memory_surplus(const struct ledger_account *account,
			     size_t window, uint64_t here);

/* How many bytes of a request's body may wait here; takes what that needs: the
 * first time little, in any case, and more once `need` bytes want to wait. */
size_t node_memory_upload(const struct node_memory *m,
			  struct ledger_account *account, size_t need);

/* The same for both directions of a tunnel: what the source says, which is
 * taken once, and what the client says. */
size_t node_memory_tunnel(const struct node_memory *m,
			  struct ledger_account *account);
size_t node_memory_tunnel_up(const struct node_memory *m,
			     struct ledger_account *account);

/*
 * Takes what is read of a body on disk at a time, and returns how much that is
 * [bytes, whole blocks]: all of `span`, the blocks that are wanted, or of a
 * large one half of set_bytes, as the other half is sent meanwhile. The account
 * is empty.
 */
size_t node_memory_blocks(const struct node_memory *m,
			  struct ledger_account *account, uint64_t span,
			  size_t set_bytes);

/* Whether no body could be collected: what nobody waits for ends. */
bool node_memory_is_short(const struct node_memory *m);

/* Whether streams are refused: what is left is for connections, and for what is
 * on its way. */
bool node_memory_is_low(const struct node_memory *m);

/* Whether nobody is asked for anything. */
bool node_memory_is_gone(const struct node_memory *m);

#endif
