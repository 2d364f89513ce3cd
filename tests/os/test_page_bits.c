/*
 * Bits of pages, held against an array of them.
 */
#include <string.h>

#include "digestd/os/page_bits.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"
#include "tests/unit.h"

static unsigned next_of(const bool twin[PAGE_BITS], unsigned from, bool set)
{
	while (from < PAGE_BITS && twin[from] != set)
		from++;
	return from;
}

static struct page_runs runs_of(const bool twin[PAGE_BITS])
{
	struct page_runs runs = {0};
	uint16_t run = 0;

	for (unsigned i = 0; i < PAGE_BITS; i++) {
		run = twin[i] ? 0 : (uint16_t)(run + 1);
		if (run == i + 1)
			runs.head = run;
		if (run > runs.longest)
			runs.longest = run;
	}
	runs.tail = run;
	return runs;
}

static void check(const struct page_bits *b, const bool twin[PAGE_BITS],
		  uint64_t *x)
{
	unsigned from = (unsigned)random_below(x, PAGE_BITS + 1), sum = 0;
	unsigned n = (unsigned)random_below(x, PAGE_BITS - from + 1), first;
	struct page_runs runs = page_bits_clear_runs(b), right = runs_of(twin);

	for (unsigned i = from; i < from + n; i++)
		sum += twin[i];
	assert_int_equal(page_bits_count(b, from, n), sum);
	assert_int_equal(page_bits_next(b, from, true),
			 next_of(twin, from, true));
	assert_int_equal(page_bits_next(b, from, false),
			 next_of(twin, from, false));
	assert_int_equal(runs.head, right.head);
	assert_int_equal(runs.tail, right.tail);
	assert_int_equal(runs.longest, right.longest);
	if (runs.longest == PAGE_BITS)
		return;
	assert_int_equal(page_bits_find_clear(b, runs.longest + 1u), PAGE_BITS);
	first = page_bits_find_clear(b, n + 1);
	assert_int_equal(first < PAGE_BITS, n < runs.longest);
	for (unsigned i = first; first < PAGE_BITS && i <= first + n; i++)
		assert_false(twin[i]);
}

static void bits_are_as_of_an_array(void **state)
{
	struct page_bits b = {{0}};
	bool twin[PAGE_BITS] = {false};
	uint64_t x = 1;

	(void)state;
	for (int i = 0; i < rounds_of(5000, 500000); i++) {
		unsigned from = (unsigned)random_below(&x, PAGE_BITS);
		unsigned n = 1 + (unsigned)random_below(&x, PAGE_BITS - from);
		bool set = random_below(&x, 2);

		if (random_below(&x, 8))
			n = 1 + (n - 1) % 20;
		if (!set)
			page_bits_clear(&b, from, n);
		else if (random_below(&x, 2))
			page_bits_set(&b, from, n);
		else
			page_bits_set_shared(&b, from, n);
		memset(twin + from, set, n);
		assert_int_equal(page_bits_has(&b, from), set);
		check(&b, twin, &x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits_are_as_of_an_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
