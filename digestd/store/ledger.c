/*
 * The ledger: sums that are changed with relaxed atomics, as nothing else
 * depends on their order.
 */
#include "digestd/store/ledger.h"

static uint64_t ledger_load(const uint64_t *sum)
{
	return __atomic_load_n(sum, __ATOMIC_RELAXED);
}

static void ledger_change(uint64_t *sum, uint64_t by)
{
	__atomic_fetch_add(sum, by, __ATOMIC_RELAXED);
}

/* A sum as it is read: what one thread returns may be counted before another
 * has said that it took it, so that the sum is below 0 for that long. */
static uint64_t ledger_clamp(uint64_t sum)
{
	return sum > INT64_MAX ? 0 : sum;
}

bool ledger_take(struct ledger *l, enum ledger_use use, uint64_t bytes,
		 uint64_t leave)
{
	uint64_t limit = ledger_load(&l->limit), total = ledger_load(&l->total);

	do {
		uint64_t there = ledger_clamp(total);

		if (there > limit || bytes > limit - there ||
		    leave > limit - there - bytes)
			return false;
	} while (!__atomic_compare_exchange_n(&l->total, &total, total + bytes,
					      true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	ledger_change(&l->used[use], bytes);
	return true;
}

void ledger_add(struct ledger *l, enum ledger_use use, uint64_t bytes)
{
	ledger_change(&l->total, bytes);
	ledger_change(&l->used[use], bytes);
}

void ledger_return(struct ledger *l, enum ledger_use use, uint64_t bytes)
{
	ledger_change(&l->used[use], -bytes);
	ledger_change(&l->total, -bytes);
}

void ledger_move(struct ledger *l, enum ledger_use from, enum ledger_use to,
		 uint64_t bytes)
{
	ledger_change(&l->used[from], -bytes);
	ledger_change(&l->used[to], bytes);
}

void ledger_set(struct ledger *l, enum ledger_use use, uint64_t bytes)
{
	ledger_add(l, use, bytes - ledger_load(&l->used[use]));
}

bool ledger_hold(struct ledger *l, enum ledger_use use,
		 struct ledger_account *account, uint64_t bytes,
		 uint64_t leave)
{
	uint64_t more;

	if (bytes <= account->bytes)
		return true;
	more = bytes - account->bytes;
	if (more > UINT64_MAX - LEDGER_TOKEN_BYTES)
		return false;
	more += LEDGER_TOKEN_BYTES - 1;
	more -= more % LEDGER_TOKEN_BYTES;
	if (!ledger_take(l, use, more, leave))
		return false;
	account->bytes += more;
	return true;
}

void ledger_release(struct ledger *l, enum ledger_use use,
		    struct ledger_account *account)
{
	if (account->bytes)
		ledger_return(l, use, account->bytes);
	account->bytes = 0;
}

uint64_t ledger_left(const struct ledger *l)
{
	uint64_t limit = ledger_load(&l->limit);
	uint64_t total = ledger_clamp(ledger_load(&l->total));

	return total < limit ? limit - total : 0;
}

uint64_t ledger_used(const struct ledger *l, enum ledger_use use)
{
	return ledger_clamp(ledger_load(&l->used[use]));
}
