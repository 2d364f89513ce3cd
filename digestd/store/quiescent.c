/*
 * Quiescent states. Why an object that is freed is in nobody's hands:
 *
 * - The writer takes it out, and then advances the epoch from t to t + 1
 *   (release). A reader that passes reads the epoch (acquire) and stores it as
 *   seen (release). If that is more than t, the reader's later lookups find the
 *   object gone; and all that it read before happens before the writer, which
 *   reads seen (acquire), frees the object.
 * - A reader that wakes exchanges seen, and only then reads the structure; the
 *   writer takes the object out, and only then reads seen, by adding nothing to
 *   it. Both change the same word, so one of them comes first, and the other
 *   reads what it wrote: either the writer finds the reader awake in an epoch
 *   that is not over, or the reader's exchange synchronizes with the writer's,
 *   and it finds the object gone. A load would not do: it could read the word
 *   as it was before the reader woke, and be in no order with the exchange.
 */
#include "digestd/store/quiescent.h"

#include <assert.h>

/* As an epoch: later than all. */
static const uint64_t QUIESCENT_ASLEEP = UINT64_MAX;

void quiescent_join(struct quiescent *q, struct quiescent_reader *r)
{
	r->seen = QUIESCENT_ASLEEP;
	r->next = q->readers;
	q->readers = r;
}

void quiescent_leave(struct quiescent *q, struct quiescent_reader *r)
{
	struct quiescent_reader **link = &q->readers;

	assert(r->seen == QUIESCENT_ASLEEP);
	while (*link != r) {
		assert(*link);
		link = &(*link)->next;
	}
	*link = r->next;
}

uint64_t quiescent_advance(struct quiescent *q)
{
	uint64_t epoch = q->epoch;

	assert(epoch < QUIESCENT_ASLEEP - 1);
	__atomic_store_n(&q->epoch, epoch + 1, __ATOMIC_RELEASE);
	return epoch;
}

bool quiescent_has_passed(struct quiescent *q, uint64_t epoch)
{
	assert(epoch <= q->epoch); /* which is this thread's to advance */
	for (struct quiescent_reader *r = q->readers; r; r = r->next) {
		if (__atomic_fetch_add(&r->seen, 0, __ATOMIC_ACQ_REL) <= epoch)
			return false;
	}
	return true;
}

void quiescent_pass(const struct quiescent *q, struct quiescent_reader *r)
{
	uint64_t epoch = __atomic_load_n(&q->epoch, __ATOMIC_ACQUIRE);

	/* only saves the store */
	if (epoch != __atomic_load_n(&r->seen, __ATOMIC_RELAXED))
		__atomic_store_n(&r->seen, epoch, __ATOMIC_RELEASE);
}

void quiescent_sleep(struct quiescent_reader *r)
{
	__atomic_store_n(&r->seen, QUIESCENT_ASLEEP, __ATOMIC_RELEASE);
}

void quiescent_wake(const struct quiescent *q, struct quiescent_reader *r)
{
	uint64_t epoch = __atomic_load_n(&q->epoch, __ATOMIC_ACQUIRE);

	__atomic_exchange_n(&r->seen, epoch, __ATOMIC_ACQ_REL);
}
