/*
 * Windows of bodies, with all the memory that they want, with just enough, and
 * with a byte less.
 */
#include "digestd/node/node_fill.h"
#include "digestd/node/node_memory.h"
#include "digestd/store/ledger.h"
#include "tests/unit.h"

enum {
	KIB = 1024,
	MIB = 1024 * KIB,
	RESERVE = 4 * MIB,
	TWO_PIECES = 2 * NODE_PIECE_BYTES,
};

/* A ledger of which so many bytes are left. */
static struct node_memory memory_of(struct ledger *l, uint64_t left)
{
	*l = (struct ledger){ .limit = 4 * RESERVE };
	ledger_add(l, LEDGER_other, l->limit - left);
	return (struct node_memory){ l, RESERVE };
}

/* All that is taken is in the account, and returned with it. */
static void release(struct ledger *l, enum ledger_use use,
		    struct ledger_account *account)
{
	assert_int_equal(ledger_used(l, use), account->bytes);
	ledger_release(l, use, account);
	assert_int_equal(ledger_used(l, use), 0);
}

/* What is taken comes in tokens. */
static uint64_t tokens(uint64_t bytes)
{
	bytes += LEDGER_TOKEN_BYTES - 1;
	return bytes - bytes % LEDGER_TOKEN_BYTES;
}

static void collected(void **arg)
{
	uint64_t just = tokens(100 * KIB) + RESERVE;
	struct ledger_account account = { 0 };
	struct ledger l;
	struct node_memory m = memory_of(&l, just);

	(void)arg;
	assert_true(node_memory_collect(&m, &account, 100 * KIB));
	assert_true(node_memory_collect(&m, &account, 100 * KIB)); /* has it */
	release(&l, LEDGER_promised, &account);
	m = memory_of(&l, just - 1);
	assert_false(node_memory_collect(&m, &account, 100 * KIB));
	assert_int_equal(account.bytes, 0);
	/* its request's memory is enough */
	m = memory_of(&l, 0);
	assert_true(node_memory_collect(&m, &account, NODE_SMALL_BODY));
	assert_false(node_memory_collect(&m, &account, NODE_SMALL_BODY + 1));
	assert_int_equal(account.bytes, 0);
}

/* clang-format off */
static const struct {
	size_t set_bytes;
	uint64_t here;
	int64_t spare; /* beside what the wanted window needs */
	size_t expected;
} stream_rows[] = {
	{ 256 * KIB, 0, 0, 256 * KIB },
	{ 256 * KIB, 0, -1, 16 * KIB },
	{ 256 * KIB, 256 * KIB, 0, 256 * KIB },
	{ 256 * KIB, 256 * KIB + 1, MIB, 16 * KIB },
	{ 16 * KIB, 0, -1, 16 * KIB },
	{ 1 * KIB, 0, 0, 1 * KIB },
	{ 1 * KIB, 0, -1, 1 * KIB },
};
/* clang-format on */

static void streams(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(stream_rows); i++) {
		size_t set_bytes = stream_rows[i].set_bytes, window;
		uint64_t here = stream_rows[i].here;
		uint64_t wanted = tokens(set_bytes + TWO_PIECES);
		uint64_t left = wanted + RESERVE / 4 * 3 +
				(uint64_t)stream_rows[i].spare;
		struct ledger_account account = { 0 };
		struct ledger l;
		struct node_memory m = memory_of(&l, left);

		window = node_memory_stream(&m, &account, set_bytes, here);
		if (window != stream_rows[i].expected)
			fail_msg("row %zu: %zu", i, window);
		assert_true(account.bytes >= window + TWO_PIECES);
		release(&l, LEDGER_streams, &account);
		/* and when nothing is left at all */
		m = memory_of(&l, 0);
		window = node_memory_stream(&m, &account, set_bytes, here);
		assert_true(window && window <= 16 * KIB);
		assert_int_equal(account.bytes, window + TWO_PIECES + here);
		release(&l, LEDGER_streams, &account);
	}
}

/* What was collected before it passed through goes back once it was sent. */
static void what_was_collected_goes_back(void **arg)
{
	struct ledger_account account = { 0 };
	struct ledger l;
	const struct node_memory m = memory_of(&l, 0);
	size_t window = node_memory_stream(&m, &account, 256 * KIB, MIB);

	(void)arg;
	assert_int_equal(window, 16 * KIB);
	assert_int_equal(node_memory_surplus(&account, window, MIB), 0);
	assert_int_equal(node_memory_surplus(&account, window, window + 1), 0);
	assert_int_equal(node_memory_surplus(&account, window, window), MIB);
	account.bytes -= MIB;
	assert_int_equal(node_memory_surplus(&account, window, 0), 0);
}

static void uploads(void **arg)
{
	uint64_t just = 60 * KIB + RESERVE / 2;
	struct ledger_account account = { 0 };
	struct ledger l;
	struct node_memory m = memory_of(&l, 0);

	(void)arg;
	/* a small one costs little, which is there in any case */
	assert_int_equal(node_memory_upload(&m, &account, 0), 4 * KIB);
	assert_int_equal(ledger_used(&l, LEDGER_uploads), 4 * KIB);
	assert_int_equal(node_memory_upload(&m, &account, 4 * KIB), 4 * KIB);
	assert_int_equal(node_memory_upload(&m, &account, 5 * KIB), 4 * KIB);
	m = memory_of(&l, just - 1);
	assert_int_equal(node_memory_upload(&m, &account, 5 * KIB), 4 * KIB);
	m = memory_of(&l, just);
	assert_int_equal(node_memory_upload(&m, &account, 4 * KIB), 4 * KIB);
	assert_int_equal(node_memory_upload(&m, &account, 5 * KIB), 64 * KIB);
	assert_int_equal(ledger_left(&l), RESERVE / 2);
	/* it stays as it is */
	assert_int_equal(node_memory_upload(&m, &account, 99 * KIB), 64 * KIB);
	assert_int_equal(node_memory_upload(&m, &account, 0), 64 * KIB);
}

/* However little there is: a stream that is not needed is refused before. */
static void tunnels(void **arg)
{
	(void)arg;
	for (int i = 0; i < 2; i++) {
		struct ledger_account account = { 0 };
		struct ledger l;
		struct node_memory m = memory_of(&l, i ? MIB + RESERVE : 0);

		assert_int_equal(node_memory_tunnel(&m, &account), 16 * KIB);
		assert_int_equal(account.bytes, 48 * KIB);
		release(&l, LEDGER_streams, &account);
		for (int again = 0; again < 2; again++)
			assert_int_equal(node_memory_tunnel_up(&m, &account),
					 16 * KIB);
		assert_int_equal(account.bytes, 16 * KIB);
		release(&l, LEDGER_uploads, &account);
	}
}

enum { BLOCK = NODE_BLOCK_BYTES };

static const struct {
	uint64_t span;
	size_t set_bytes, expected;
} block_rows[] = {
	{ BLOCK, 256 * KIB, BLOCK },
	{ MIB, 256 * KIB, MIB },
	{ MIB + BLOCK, 256 * KIB, MIB + BLOCK }, /* not from its beginning */
	{ MIB + 2 * BLOCK, 256 * KIB, 2 * BLOCK },
	{ 100 * MIB, 4 * MIB, 2 * MIB },
	{ 100 * MIB, 2 * BLOCK + 2, 2 * BLOCK },
	{ 100 * MIB, 1 * KIB, BLOCK },
	{ 100 * MIB, 0, BLOCK },
};

static void blocks(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(block_rows); i++) {
		size_t expected = block_rows[i].expected, bytes;
		struct ledger_account account = { 0 };
		struct ledger l;
		struct node_memory m = memory_of(&l, expected + RESERVE / 2);

		bytes = node_memory_blocks(&m, &account, block_rows[i].span,
					   block_rows[i].set_bytes);
		if (bytes != expected)
			fail_msg("row %zu: %zu", i, bytes);
		assert_int_equal(account.bytes, bytes);
		release(&l, LEDGER_disk_reads, &account);
		m = memory_of(&l, expected + RESERVE / 2 - 1);
		bytes = node_memory_blocks(&m, &account, block_rows[i].span,
					   block_rows[i].set_bytes);
		assert_int_equal(bytes, BLOCK);
		assert_int_equal(account.bytes, bytes);
		release(&l, LEDGER_disk_reads, &account);
	}
}

/* As memory fills, one use after the other has none. */
static void shortages(void **arg)
{
	struct ledger l;
	struct node_memory m = memory_of(&l, RESERVE);

	(void)arg;
	assert_false(node_memory_is_short(&m));
	m = memory_of(&l, RESERVE - 1);
	assert_true(node_memory_is_short(&m));
	assert_false(node_memory_has_room(&m, 0));
	m = memory_of(&l, RESERVE + 5);
	assert_true(node_memory_has_room(&m, 5));
	assert_false(node_memory_has_room(&m, 6));
	m = memory_of(&l, RESERVE / 4);
	assert_false(node_memory_is_low(&m));
	m = memory_of(&l, RESERVE / 4 - 1);
	assert_true(node_memory_is_low(&m));
	m = memory_of(&l, 1);
	assert_false(node_memory_is_gone(&m));
	m = memory_of(&l, 0);
	assert_true(node_memory_is_gone(&m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collected),
		cmocka_unit_test(streams),
		cmocka_unit_test(what_was_collected_goes_back),
		cmocka_unit_test(uploads),
		cmocka_unit_test(tunnels),
		cmocka_unit_test(blocks),
		cmocka_unit_test(shortages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
