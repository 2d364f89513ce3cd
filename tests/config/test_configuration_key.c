/*
 * The cluster key: in the configuration, in a file, or as a credential of the
 * service manager; and each way in which it is refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/config/config_file.h"
#include "tests/unit.h"

#define BASE "node = \"a\"\nlisten_data = \"127.0.0.1:8080\"\nforward = true\n"
#define KEY "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba98765432100123456789abcdef"
#define PUBLISHED "00112233445566778899aabbccddeeff"
#define AT "%D/conf:4: "
#define MINE "make one of your own: openssl rand -hex 16\n"

static const char key_bytes[] = "\x01\x23\x45\x67\x89\xab\xcd\xef"
				"\x01\x23\x45\x67\x89\xab\xcd\xef";

#define MAKE_IT \
	"; make one, the same for all nodes: (umask 077; openssl rand -hex " \
	"16 >%D/key)\n"
#define TOO_MUCH "something follows the key; each line has one key, and a " \
		 "comment begins with #\n"

/* A file "key" with these contents and mode, and what comes of it. */
static const struct {
	const char *label, *contents;
	mode_t mode;
	const char *errors; /* empty: it is the key */
} files[] = {
	{ "a key", KEY, 0600, "" },
	{ "with the end of its line", KEY "\n", 0600, "" },
	{ "read only", KEY "\n", 0400, "" },
	{ "as Windows ends lines", KEY "\r\n", 0600, "" },
	{ "what follows a # is a comment", KEY " # of July\n\n # more\n", 0600,
	  "" },
	{ "a # right behind the key", KEY "# of July\n", 0600, "" },
	{ "a comment behind the one to hash with",
	  KEY "\nhash " KEY " # of July\n", 0600, "" },
	{ "two in a line", KEY " " OTHER "\n", 0600,
	  AT "cluster_key_file: %D/key:1: " TOO_MUCH },
	{ "words behind a key", KEY "\n" OTHER " of July\n", 0600,
	  AT "cluster_key_file: %D/key:2: " TOO_MUCH },
	{ "two to hash with in a line", KEY "\nhash " KEY " " OTHER, 0600,
	  AT "cluster_key_file: %D/key:2: " TOO_MUCH },
	{ "empty", "", 0600,
	  AT "cluster_key_file: %D/key: has no key" MAKE_IT },
	{ "only a comment", "# " KEY "\n", 0600,
	  AT "cluster_key_file: %D/key: has no key" MAKE_IT },
	{ "as many as there may be", KEY "\n" OTHER "\n" OTHER "\n" OTHER,
	  0600, "" },
	{ "one more", KEY "\n" OTHER "\n" OTHER "\n" OTHER "\n" KEY, 0600,
	  AT "cluster_key_file: %D/key:5: more than 4 keys\n" },
	{ "a bad one behind it", KEY "\n\nxyz\n", 0600,
	  AT "cluster_key_file: %D/key:3: not 32 hexadecimal digits\n" },
	{ "none to hash with", KEY "\nhash\n", 0600,
	  AT "cluster_key_file: %D/key:2: not 32 hexadecimal digits\n" },
	{ "two to hash with", KEY "\nhash " KEY "\nhash " OTHER, 0600,
	  AT "cluster_key_file: %D/key:3: a second line \"hash\"\n" },
	{ "only one to hash with", "hash " KEY "\n", 0600,
	  AT "cluster_key_file: %D/key: has no key" MAKE_IT },
	{ "too short", "0123\n", 0600,
	  AT "cluster_key_file: %D/key:1: not 32 hexadecimal digits\n" },
	{ "too long", KEY "0\n", 0600,
	  AT "cluster_key_file: %D/key:1: not 32 hexadecimal digits\n" },
	{ "not hexadecimal", "0123456789abcdef0123456789abcdeg", 0600,
	  AT "cluster_key_file: %D/key:1: not 32 hexadecimal digits\n" },
	{ "not hexadecimal at once", "g123456789abcdef0123456789abcdef", 0600,
	  AT "cluster_key_file: %D/key:1: not 32 hexadecimal digits\n" },
	{ "a blank first line", "\n" KEY "\n", 0600, "" },
	{ "that of the examples", PUBLISHED, 0600,
	  AT "cluster_key_file: %D/key:1: " PUBLISHED " is the key of a "
	  "published example, which everybody has; " MINE },
	{ "others may read it", KEY, 0604,
	  AT "cluster_key_file: %D/key: mode 0604 lets others read or write "
	  "it; chmod 600 %D/key\n" },
	{ "others may write it", KEY, 0602,
	  AT "cluster_key_file: %D/key: mode 0602 lets others read or write "
	  "it; chmod 600 %D/key\n" },
	{ "the group may write it", KEY, 0620,
	  AT "cluster_key_file: %D/key: mode 0620 lets others read or write "
	  "it; chmod 600 %D/key\n" },
};

static void check_key(const char *label, const char *text, const char *errors)
{
	struct config *c = NULL;
	int err = config_load_finds(label, text, errors, &c);

	assert_int_equal(err, *errors ? -EINVAL : 0);
	if (err)
		return;
	assert_true(c->nkeys > 0);
	assert_memory_equal(c->keys[0], key_bytes, sizeof(c->keys[0]));
	assert_memory_equal(c->hash_key, key_bytes, sizeof(c->hash_key));
	config_free(&c);
}

static void test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(files); i++) {
		config_write("key", files[i].contents,
			     strlen(files[i].contents), files[i].mode);
		check_key(files[i].label,
			  BASE "cluster_key_file = \"%D/key\"\n",
			  files[i].errors);
	}
}

/* While a cluster changes over, its nodes have both. */
static void test_several(void **state)
{
	static const char text[] = OTHER "\n" KEY "\nhash " KEY "\n";
	struct config *c = NULL;

	(void)state;
	config_write("key", text, strlen(text), 0600);
	assert_int_equal(config_load_finds(
		"both", BASE "cluster_key_file = \"%D/key\"\n", "", &c), 0);
	assert_int_equal(c->nkeys, 2);
	assert_int_equal(c->keys[0][0], 0xfe);
	assert_memory_equal(c->keys[1], key_bytes, sizeof(c->keys[1]));
	assert_memory_equal(c->hash_key, key_bytes, sizeof(c->hash_key));
	config_free(&c);
}

/* Root's own may be for a group, as a service's credential is. */
static void test_group_of_root(void **state)
{
	(void)state;
	config_write("key", KEY, strlen(KEY), 0640);
	check_key("of a group", BASE "cluster_key_file = \"%D/key\"\n",
		  geteuid() == 0 ? "" :
		  AT "cluster_key_file: %D/key: mode 0640 lets others read or "
		  "write it; chmod 600 %D/key\n");
}

/* Nobody waits for the other end of a pipe. */
static void test_pipe(void **state)
{
	(void)state;
	unlink(config_path("key"));
	assert_int_equal(mkfifo(config_path("key"), 0600), 0);
	check_key("a pipe", BASE "cluster_key_file = \"%D/key\"\n",
		  AT "cluster_key_file: %D/key: not a regular file\n");
}

static void test_no_file(void **state)
{
	(void)state;
	unlink(config_path("key"));
	check_key("absent", BASE "cluster_key_file = \"%D/key\"\n",
		  AT "cluster_key_file: %D/key: No such file or directory"
		     MAKE_IT);
}

static void test_in_the_configuration(void **state)
{
	(void)state;
	check_key("given", BASE "cluster_key = \"" KEY "\"\n", "");
	check_key("too short", BASE "cluster_key = \"0123\"\n",
		  AT "cluster_key: not 32 hexadecimal digits\n");
	check_key("published", BASE "cluster_key = \"" PUBLISHED "\"\n",
		  AT "cluster_key: " PUBLISHED " is the key of a published "
		  "example, which everybody has; " MINE);
	check_key("twice", BASE "cluster_key = \"" KEY "\"\n"
		  "cluster_key_file = \"%D/key\"\n",
		  AT "cluster_key: give this or cluster_key_file, not both\n");
}

/* What the service manager hands over is taken where no key is named, by
 * those who need one. */
static void test_credential(void **state)
{
	const char *peers = BASE "listen_peer = \":1\"\n";

	(void)state;
	unlink(config_path("cluster.key"));
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", config_path(""), 1),
			 0);
	check_key("no such credential", peers,
		  "%D/conf:4: listen_peer: needs cluster_key_file or "
		  "cluster_key, the same on all nodes: openssl "
		  "rand -hex 16\n");
	config_write("cluster.key", KEY "\n", strlen(KEY) + 1, 0600);
	check_key("a credential", peers, "");
	check_key("a peer section needs one, too",
		  BASE "peer \"b\" { url = \"http://b\" }\n", "");
	assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
	check_key("no credentials", peers,
		  "%D/conf:4: listen_peer: needs cluster_key_file or "
		  "cluster_key, the same on all nodes: openssl "
		  "rand -hex 16\n");
}

/* Without peers nobody needs a key, nor looks for one. */
static void test_no_key(void **state)
{
	struct config *c = NULL;

	(void)state;
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", config_path(""), 1),
			 0);
	assert_int_equal(config_load_finds("no key", BASE, "", &c), 0);
	assert_int_equal(c->nkeys, 0);
	config_free(&c);
	unsetenv("CREDENTIALS_DIRECTORY");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_group_of_root),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_in_the_configuration),
		cmocka_unit_test(test_credential),
		cmocka_unit_test(test_no_key),
	};

	return cmocka_run_group_tests(tests, config_folder_make,
				      config_folder_remove);
}
