/*
 * Options that do nothing, or little, without another one: warnings, as they do
 * no harm.
 */
#include <errno.h>

#include "digestd/config/configuration.h"
#include "tests/config/config_file.h"
#include "tests/unit.h"

#define BASE                                                                   \
	"node = \"a\"\nlisten_data = \":8080\"\ndefault_origin = \"http://o\"\n"
#define AT "%D/conf"

struct row {
	const char *label, *text;
	const char *errors; /* all of them */
};

static void test_what_has_no_effect_is_told(void **state)
{
	static const struct row rows[] = {
		{ "by themselves",
		  BASE "disk_size = 1G\nclient_burst = 5\n"
		  "peer_addresses = \"::1\"\nmembers_interval = 1s\n"
		  "admission_window = 9\nlease_wait = 1s\n",
		  AT ":4: disk_size: has no effect without disk_path\n"
		  AT ":5: client_burst: has no effect without client_rate\n"
		  AT ":6: peer_addresses: has no effect without listen_peer\n"
		  AT ":7: members_interval: has no effect without members\n"
		  AT ":8: admission_window: has no effect without admission\n"
		  AT ":9: lease_wait: has no effect without leases\n" },
		{ "with what is off",
		  BASE "http2 = false\nhttp2_streams = 9\nadmission = none\n"
		  "admission_ram = 0.1\ndisk_path = \"%D/d\"\n",
		  AT ":5: http2_streams: has no effect without http2\n"
		  AT ":7: admission_ram: has no effect without admission\n" },
		{ "with what they need",
		  BASE "disk_path = \"%D/d\"\ndisk_size = 1G\n"
		  "client_rate = 9\nclient_burst = 5\nhttp2_streams = 9\n"
		  "admission_window = 9\n", "" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct config *c = NULL;

		assert_int_equal(config_load_finds(rows[i].label, rows[i].text,
						   rows[i].errors, &c), 0);
		config_free(&c);
	}
}

#define STRICT                                                                 \
	BASE "cluster_key = \"0123456789abcdef0123456789abcdef\"\n"            \
	     "listen_peer = \":8081\"\ninvalidation = \"strict\"\n"
#define PEER(name)                                                             \
	"peer \"" name "\" { url = \"http://" name ":8081\" }\n"

#define TWO_NODES                                                              \
	AT ":6: invalidation: strict: two nodes are no majority without each " \
	   "other: while one is away the other asks the origin for each "      \
	   "request; of three, one may be\n"

/* Two nodes can be strict, though not for long without each other. */
static void test_strict_is_for_three(void **state)
{
	struct config *c = NULL;

	(void)state;
	assert_int_equal(config_load_finds("two nodes", STRICT PEER("b"),
			 TWO_NODES, &c), 0);
	config_free(&c);
	assert_int_equal(config_load_finds("three nodes",
			 STRICT PEER("b") PEER("c"), "", &c), 0);
	config_free(&c);
	/* one file for all nodes has this one, too */
	assert_int_equal(config_load_finds("three nodes with this one",
			 STRICT PEER("a") PEER("b") PEER("c"),
			 "", &c), 0);
	config_free(&c);
	assert_int_equal(config_load_finds("two nodes with this one",
			 STRICT PEER("a") PEER("b"),
			 TWO_NODES, &c), 0);
	config_free(&c);
	assert_int_equal(config_load_finds("this one alone",
			 STRICT PEER("a"),
			 AT ":6: invalidation: strict needs purge_peers, and "
			 "all other nodes in peer sections, not members\n",
			 &c), -EINVAL);
	assert_null(c);
	assert_int_equal(config_load_finds("members",
			 STRICT "members = \"dns:nodes:8081\"\n",
			 AT ":6: invalidation: strict needs purge_peers, and "
			 "all other nodes in peer sections, not members\n",
			 &c), -EINVAL);
	assert_null(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_has_no_effect_is_told),
		cmocka_unit_test(test_strict_is_for_three),
	};

	return cmocka_run_group_tests(tests, config_folder_make,
				      config_folder_remove);
}
