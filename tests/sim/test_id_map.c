/*
 * Dense numbers against a twin that searches a list, and where numbers or
 * memory end.
 */
#include "tests/unit.h"

#include "cachesim/sim/id_map.h"
#include "cachesim/trace/trace_request.h"
#include "codec/mix.h"
#include "tests/codec/alloc.h"
#include "tests/codec/random.h"

enum { TWIN_MAX = 3000 };

struct twin {
	uint64_t hash[TWIN_MAX];
	uint32_t n;
};

static uint32_t twin_number(struct twin *t, uint64_t hash)
{
	uint32_t i = 0;

	while (i < t->n && t->hash[i] != hash)
		i++;
	if (i == t->n)
		t->hash[t->n++] = hash;
	return i;
}

/*
 * Hashes that differ in bits 0..31 only, in bits 32..63 only, and in all: what
 * the table tells apart by the slot, by its 32 bits, and by the array.
 */
static uint64_t draw(uint64_t *seed)
{
	uint64_t x = random_below(seed, TWIN_MAX / 3);

	switch (random_below(seed, 3)) {
	case 0:
		return 0x123456780000000fu + (x << 5);
	case 1:
		return x << 32 | 0x7777;
	default:
		return scd__mix64(x);
	}
}

static void same_as_twin(void **state)
{
	static struct twin twin;
	struct id_map d;
	uint64_t seed = 5, hash[ID_MAP_MANY];
	uint32_t out[ID_MAP_MANY];

	(void)state;
	assert_int_equal(id_map_init(&d), 0);
	for (int batch = 0; batch < 300; batch++) {
		size_t n = (size_t)random_below(&seed, ID_MAP_MANY + 1);

		for (size_t i = 0; i < n; i++)
			hash[i] = draw(&seed);
		assert_int_equal(id_map_numbers(&d, hash, n, out), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(out[i], twin_number(&twin, hash[i]));
	}
	assert_int_equal(d.n, twin.n);
	assert_true(d.n > 2000);
	assert_memory_equal(d.hash, twin.hash, d.n * sizeof(*d.hash));
	id_map_free(&d);
}

/* Past two megabytes the table lies in large pages. */
static void grows_large(void **state)
{
	enum { N = 1 << 19 };
	struct id_map d;
	uint64_t hash[ID_MAP_MANY];
	uint32_t out[ID_MAP_MANY];

	(void)state;
	assert_int_equal(id_map_init(&d), 0);
	for (uint32_t twice = 0; twice < 2; twice++) {
		for (uint32_t i = 0; i < N; i += ID_MAP_MANY) {
			for (uint32_t j = 0; j < ID_MAP_MANY; j++)
				hash[j] = scd__mix64(i + j + 1);
			assert_int_equal(
				id_map_numbers(&d, hash, ID_MAP_MANY, out), 0);
			for (uint32_t j = 0; j < ID_MAP_MANY; j++)
				assert_int_equal(out[j], i + j);
		}
		assert_int_equal(d.n, N);
	}
	id_map_free(&d);
}

static void numbers_end(void **state)
{
	struct id_map d;
	uint64_t hash[] = { 10, 20, 10, 30 };
	uint32_t out[4];

	(void)state;
	assert_int_equal(id_map_init(&d), 0);
	d.most = 2;
	assert_int_equal(id_map_numbers(&d, hash, 3, out), 0);
	assert_int_equal(id_map_numbers(&d, hash, 4, out), TRACE_EOBJECTS);
	assert_int_equal(d.n, 2);
	id_map_free(&d);
}

/* A table that could not grow is as it was. */
static void no_memory(void **state)
{
	struct id_map d;
	uint64_t hash[ID_MAP_MANY];
	uint32_t out[ID_MAP_MANY], n = 0, failures = 0;

	(void)state;
	for (unsigned i = 1; i <= 2; i++) {
		alloc_fail_at(i);
		assert_int_equal(id_map_init(&d), TRACE_ENOMEM);
		id_map_free(&d);
	}
	alloc_fail_at(0);
	assert_int_equal(id_map_init(&d), 0);
	while (n < 20000) {
		int err;

		for (uint32_t i = 0; i < ID_MAP_MANY; i++)
			hash[i] = scd__mix64(n + i);
		alloc_fail_at(1);
		err = id_map_numbers(&d, hash, ID_MAP_MANY, out);
		alloc_fail_at(0);
		if (err) {
			assert_int_equal(err, TRACE_ENOMEM);
			assert_int_equal(d.n, n);
			failures++;
			assert_int_equal(
				id_map_numbers(&d, hash, ID_MAP_MANY, out), 0);
		}
		assert_int_equal(out[ID_MAP_MANY - 1], n + ID_MAP_MANY - 1);
		n += ID_MAP_MANY;
	}
	assert_true(failures > 4);
	id_map_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_twin),
		cmocka_unit_test(grows_large),
		cmocka_unit_test(numbers_end),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests_name("dense", tests, NULL, NULL);
}
