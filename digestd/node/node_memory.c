/*
 * Windows, and what they take.
 */
#include "digestd/node/node_memory.h"

#include <assert.h>

#include "digestd/node/node_fill.h"
#include "digestd/store/ledger.h"

enum {
	STREAM_MIN_BYTES = 16384,
	UPLOAD_BYTES = 65536, /* between two ends */
	UPLOAD_MIN_BYTES = 4096,
	BLOCKS_WHOLE_BYTES = 1 << 20, /* is read as a whole: copied once less */
};

/* A window, what it takes of memory, and of that must leave. */
struct node_window {
	size_t bytes;
	uint64_t taken, leave;
};

/* The one that is wanted, or in need the other, which is taken in any case. */
static size_t node_memory_take(const struct node_memory *m, enum ledger_use use,
			       struct ledger_account *account,
			       const struct node_window *wanted,
			       const struct node_window *least)
{
	assert(!account->bytes);
	if (wanted->bytes && ledger_hold(m->ledger, use, account, wanted->taken,
					 wanted->leave))
		return wanted->bytes;
	account->bytes = least->taken;
	ledger_add(m->ledger, use, least->taken);
	return least->bytes;
}

bool node_memory_collect(const struct node_memory *m,
			 struct ledger_account *account, uint64_t bytes)
{
	return bytes <= NODE_SMALL_BODY ||
	       ledger_hold(m->ledger, LEDGER_promised, account, bytes,
			   m->reserve);
}

bool node_memory_has_room(const struct node_memory *m, uint64_t bytes)
{
	uint64_t left = ledger_left(m->ledger);

	return left >= m->reserve && left - m->reserve >= bytes;
}

/* Of a stream with such a window. */
static uint64_t node_memory_of_stream(size_t window)
{
	return window + 2 * NODE_PIECE_BYTES;
}

size_t node_memory_stream(const struct node_memory *m,
			  struct ledger_account *account, size_t set_bytes,
			  uint64_t here)
{
	size_t least_bytes = set_bytes < STREAM_MIN_BYTES ? set_bytes :
							    STREAM_MIN_BYTES;
	const struct node_window wanted = {
		/* when it begins to pass in its middle, that may be too much */
		.bytes = here <= set_bytes ? set_bytes : 0,
		.taken = node_memory_of_stream(set_bytes),
		.leave = m->reserve / 4 * 3,
	};
	const struct node_window least = {
		.bytes = least_bytes,
		.taken = node_memory_of_stream(least_bytes) + here,
	};

	return node_memory_take(m, LEDGER_streams, account, &wanted, &least);
}

uint64_t node_memory_surplus(const struct ledger_account *account,
			     size_t window, uint64_t here)
{
	uint64_t need = node_memory_of_stream(window);

	return here <= window && account->bytes > need ? account->bytes - need :
							 0;
}

size_t node_memory_upload(const struct node_memory *m,
			  struct ledger_account *account, size_t need)
{
	if (!account->bytes) {
		ledger_add(m->ledger, LEDGER_uploads, UPLOAD_MIN_BYTES);
		account->bytes = UPLOAD_MIN_BYTES;
	}
	if (need > account->bytes && account->bytes < UPLOAD_BYTES &&
	    ledger_take(m->ledger, LEDGER_uploads,
			UPLOAD_BYTES - account->bytes, m->reserve / 2))
		account->bytes = UPLOAD_BYTES;
	return (size_t)account->bytes;
}

/* Small as it is, it is taken in any case, and not in tokens. */
static size_t node_memory_take_tunnel(const struct node_memory *m,
				      enum ledger_use use,
				      struct ledger_account *account,
				      uint64_t beside)
{
	const struct node_window window = {
		NODE_TUNNEL_BYTES, NODE_TUNNEL_BYTES + beside, 0
	};
	const struct node_window none = { 0 };

	return node_memory_take(m, use, account, &none, &window);
}

size_t node_memory_tunnel(const struct node_memory *m,
			  struct ledger_account *account)
{
	return node_memory_take_tunnel(m, LEDGER_streams, account,
				       2 * NODE_TUNNEL_BYTES);
}

size_t node_memory_tunnel_up(const struct node_memory *m,
			     struct ledger_account *account)
{
	return account->bytes ? (size_t)account->bytes :
				node_memory_take_tunnel(m, LEDGER_uploads,
							account, 0);
}

size_t node_memory_blocks(const struct node_memory *m,
			  struct ledger_account *account, uint64_t span,
			  size_t set_bytes)
{
	const struct node_window least = {NODE_BLOCK_BYTES, NODE_BLOCK_BYTES,
					  0};
	struct node_window wanted = { .leave = m->reserve / 2 };

	assert(span && span % NODE_BLOCK_BYTES == 0);
	if (span > BLOCKS_WHOLE_BYTES + NODE_BLOCK_BYTES) {
		span = set_bytes / 2 + NODE_BLOCK_BYTES - 1;
		span -= span % NODE_BLOCK_BYTES;
	}
	wanted.bytes = (size_t)span;
	wanted.taken = span;
	return node_memory_take(m, LEDGER_disk_reads, account, &wanted, &least);
}

bool node_memory_is_short(const struct node_memory *m)
{
	return ledger_left(m->ledger) < m->reserve;
}

bool node_memory_is_low(const struct node_memory *m)
{
	return ledger_left(m->ledger) < m->reserve / 4;
}

bool node_memory_is_gone(const struct node_memory *m)
{
	return !ledger_left(m->ledger);
}
