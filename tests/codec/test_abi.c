/*
 * The layout of what programs and libscd share: a commit that moves a member
 * of a public structure, or a value that programs were compiled with, shows it
 * here. HACKING.md says what may change.
 */
#include "tests/unit.h"

#include "codec/scd.h"

/* A structure's size, or the offset of a member [bytes]. */
struct place {
	const char *name;
	size_t is, wanted;
};

#define SIZE(type, bytes) {#type, sizeof(struct type), (bytes)}
#define AT(type, member, bytes) \
	{#type "." #member, offsetof(struct type, member), (bytes)}

static const struct place places[] = {
	SIZE(scd_key, 16),
	SIZE(scd_bloom, 32),
	AT(scd_bloom, bits, 0),
	AT(scd_bloom, nbits, 8),
	AT(scd_bloom, nhash, 16),
	AT(scd_bloom, hashing, 20),
	AT(scd_bloom, reserved, 24),
	SIZE(scd_digest_info, 128),
	AT(scd_digest_info, nhash, 12),
	AT(scd_digest_info, nbits, 16),
	AT(scd_digest_info, nkeys, 24),
	AT(scd_digest_info, nones, 32),
	AT(scd_digest_info, instance, 40),
	AT(scd_digest_info, generation, 48),
	AT(scd_digest_info, base_generation, 56),
	AT(scd_digest_info, base_checksum, 64),
	AT(scd_digest_info, checksum, 72),
	AT(scd_digest_info, ncoded, 80),
	AT(scd_digest_info, payload_bytes, 88),
	AT(scd_digest_info, reserved, 96),
	SIZE(scd_limits, 56),
	AT(scd_limits, max_hash, 8),
	AT(scd_limits, max_fp_ppm, 12),
	AT(scd_limits, max_expansion, 16),
	AT(scd_limits, reserved, 24),
	SIZE(scd_work, 64),
	AT(scd_work, engine, 0),
	AT(scd_work, spare, 8),
	AT(scd_work, threads, 16),
	AT(scd_work, reserved, 24),
	SIZE(scd_threads, 32),
	AT(scd_threads, run, 0),
	AT(scd_threads, pool, 8),
	AT(scd_threads, reserved, 16),
	SIZE(scd_delta, 16),
	SIZE(scd_base, 40),
	AT(scd_base, instance, 8),
	AT(scd_base, generation, 16),
	AT(scd_base, reserved, 24),
	SIZE(scd_list_change, 48),
	AT(scd_list_change, added, 8),
	AT(scd_list_change, nremoved, 16),
	AT(scd_list_change, nadded, 24),
	AT(scd_list_change, reserved, 32),
	SIZE(scd_shared_table, 64),
	AT(scd_shared_table, reserved, 24),
	SIZE(scd_squid_info, 40),
	AT(scd_squid_info, capacity, 8),
	AT(scd_squid_info, entry_bits, 20),
	AT(scd_squid_info, reserved, 24),
	SIZE(scd_goal, 168),
	AT(scd_goal, peers, 16),
	AT(scd_goal, fp, 24),
	AT(scd_goal, wire_bits, 64),
	AT(scd_goal, replaced, 72),
	AT(scd_goal, churn, 88),
	AT(scd_goal, max_update, 96),
	AT(scd_goal, deltas, 104),
	AT(scd_goal, max_memory, 112),
	AT(scd_goal, reserved, 120),
	SIZE(scd_tuning, 208),
	AT(scd_tuning, nhash, 8),
	AT(scd_tuning, update, 12),
	AT(scd_tuning, share, 16),
	AT(scd_tuning, full_bytes, 48),
	AT(scd_tuning, memory_bytes, 88),
	AT(scd_tuning, link_rate, 104),
	AT(scd_tuning, stale_cost, 136),
	AT(scd_tuning, bound, 144),
	AT(scd_tuning, reserved, 152),
	SIZE(scd_candidate, 232),
	AT(scd_candidate, verdict, 208),
	AT(scd_candidate, reserved, 216),
};

/* On processors of 64 bits, which have the same layout. */
static void structures_keep_their_layout(void **state)
{
	(void)state;
	if (sizeof(void *) != 8)
		skip();
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (places[i].is != places[i].wanted)
			fail_msg("%s: %zu, not %zu", places[i].name,
				 places[i].is, places[i].wanted);
	}
}

/* What a program was compiled with. */
static void values_stay(void **state)
{
	(void)state;
	assert_int_equal(SCD_EURI, -12);
	assert_int_equal(SCD_HASHING_SQUID, 1);
	assert_int_equal(SCD_HASHING_PREFIX, 2);
	assert_int_equal(SCD_MAX_HASH, 32);
	assert_int_equal(SCD_COUNTING, 3);
	assert_int_equal(SCD_LIST_DELTA, 5);
	assert_int_equal(SCD_CODING_PARTS, 6);
	assert_int_equal(SCD_CODING_LIST, 7);
	assert_int_equal(SCD_LIST_MAX_WIDTH, 40);
	assert_int_equal(SCD_CODING_MIRRORED_SPARSE, 13);
	assert_int_equal(SCD_DIGEST_HEADER_BYTES, 96);
	assert_int_equal(SCD_UPDATE_CONDITIONAL, 3);
	assert_int_equal(SCD_BOUND_COST, 3);
	assert_int_equal(SCD_LOST_LITTLE, 9);
	assert_int_equal(SCD_CANDIDATES, 12);
	assert_int_equal(SCD_INDEX_MAX_COLUMNS, 4096);
	assert_int_equal(SCD_TABLE_MAX_PEERS, 1023);
	assert_int_equal(SCD_SHARED_TABLE_NAME_BYTES, 128);
	assert_int_equal(SCD_SHARED_TABLE_RETIRED, 2);
	assert_int_equal(SCD_SQUID_HEADER_BYTES, 128);
	assert_int_equal(SCD_ADMISSION_BLOCK_BYTES, 64);
}

/* What is asked for as it comes from the library is what headers say. */
static void version_is_the_headers(void **state)
{
	(void)state;
	assert_string_equal(scd_version(), SCD_VERSION);
	assert_int_equal(scd_version_number(), SCD_VERSION_NUMBER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structures_keep_their_layout),
		cmocka_unit_test(values_stay),
		cmocka_unit_test(version_is_the_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
