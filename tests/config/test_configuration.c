/*
 * Configuration files as their authors see them: which values a file gives,
 * and for each thing that can be wrong, the message with its file and line.
 */
#define _GNU_SOURCE /* processors to run on */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/config/configuration.h"
#include "digestd/os/processors.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/mesh/peerset.h"
#include "tests/codec/alloc.h"
#include "tests/config/config_file.h"
#include "tests/unit.h"

#define NODE "node = \"a\"\n"
#define LISTEN "listen_data = \":8080\"\n"
#define ORIGIN "default_origin = \"http://o\"\n"
#define BASE NODE LISTEN ORIGIN /* three lines: the next one is 4 */
#define OTHER "fedcba98765432100123456789abcdef"
#define KEY "0123456789abcdef0123456789ABCDEF"
#define AT "%D/conf"

struct row {
	const char *label, *text;
	const char *errors; /* all of them */
};

static const struct row faults[] = {
	{ "an empty file", "",
	  AT ": listen_data: not given\n"
	  AT ": no origin section, no default_origin, and forward is off: "
	  "there is nowhere to send requests\n" },
	{ "no listener", NODE ORIGIN, AT ": listen_data: not given\n" },
	{ "nowhere to send requests", NODE LISTEN,
	  AT ": no origin section, no default_origin, and forward is off: "
	  "there is nowhere to send requests\n" },
	{ "an unknown option", BASE "colour = \"red\"\n",
	  AT ":4: no such option 'colour'\n" },
	{ "an unknown option in a section",
	  BASE "cluster_key = \"" KEY "\"\n\npeer \"b\" { colour = 1 }\n",
	  AT ":6: no such option 'colour' in section peer\n" },
	{ "an unknown option below comments",
	  "# one's\n// two \"\n/* three\n * four's */ " BASE
	  "stale_on_disconnect = 1s # it's \"\n"
	  "disk_path = '/a # b /* \\' // ' /* * */\ncolour = 1 // c\n",
	  AT ":9: no such option 'colour'\n" },
	{ "no syntax", BASE "threads = = 1\n",
	  AT ":4: unexpected '='\n" },
	{ "a name that is no token", "node = \"a b\"\n" LISTEN ORIGIN,
	  AT ":1: node: \"a b\" is not a token (letters, digits, - . _)\n" },
	{ "an empty text", BASE "cluster_key = \"\"\n",
	  AT ":4: cluster_key: \"\" is empty\n" },
	{ "an address", NODE "listen_data = \"here\"\n" ORIGIN,
	  AT ":2: listen_data: \"here\" is not an address such as "
	  "127.0.0.1:8080, nor unix:/PATH,mode=0660,user=NAME,group=NAME\n" },
	{ "a URL", NODE LISTEN "default_origin = \"o:80\"\n",
	  AT ":3: default_origin: \"o:80\" is not a URL such as "
	  "http://host:port\n" },
	{ "a relative folder", BASE "disk_path = \"store\"\n",
	  AT ":4: disk_path: \"store\" is not an absolute path\n" },
	{ "an eviction policy", BASE "eviction = \"random\"\n",
	  AT ":4: eviction: \"random\" is not sieve, lru, fifo, clock, "
	  "s3fifo, lfu, gdsf or wtinylfu\n" },
	{ "an admission policy", BASE "admission = \"some\"\n",
	  AT ":4: admission: \"some\" is not none, aged, probation or auto\n" },
	{ "what is told", BASE "admission_tell = \"all\"\n",
	  AT ":4: admission_tell: \"all\" is not none, nginx or field\n" },
	{ "a list of addresses", BASE "trusted_proxies = \"10.0.0.1, x\"\n",
	  AT ":4: trusted_proxies: \"x\" is not an address or prefix such as "
	  "192.0.2.1 or 10.0.0.0/8, nor unix:, of up to 64\n" },
	{ "what origins are told", BASE "forwarded = \"me\"\n",
	  AT ":4: forwarded: \"me\" is not none, for, x-forwarded or "
	  "forwarded\n" },
	{ "a cache beside without its URL", BASE "nginx_cache = \"/c\"\n",
	  AT ":4: nginx_cache: needs sidecar: the URL of that cache\n" },
	{ "a feed for no cache", BASE "sidecar_feed = \"/c\"\n",
	  AT ":4: sidecar_feed: needs sidecar: the URL of that cache\n" },
	{ "a table of no peers", BASE "share_table = \"/run/t\"\n",
	  AT ":4: share_table: needs cluster_key, without which no peer is "
	  "followed\n" },
	{ "a group of no table", BASE "share_table_group = \"g\"\n",
	  AT ":4: share_table_group: needs share_table\n" },
	{ "two that say what is held",
	  BASE "sidecar = \"http://c\"\nsidecar_feed = \"/a\"\n"
	  "nginx_cache = \"/c\"\n",
	  AT ":5: sidecar_feed: does not go with nginx_cache\n" },
	{ "a store beside a cache",
	  BASE "sidecar = \"http://c\"\ndisk_path = \"/a\"\n"
	  "leases = true\nplacement = \"keep\"\n",
	  AT ":5: disk_path: does not go with sidecar, where this node stores "
	  "nothing\n"
	  AT ":6: leases: does not go with sidecar, where this node stores "
	  "nothing\n"
	  AT ":7: placement: does not go with sidecar, where this node stores "
	  "nothing\n" },
	{ "a key that cannot be read",
	  BASE "nginx_key = \"$cookie_a$request_uri\"\n",
	  AT ":4: nginx_key: has a variable that is not $scheme, $host, "
	  "$http_host, $proxy_host, $request_uri, $uri$is_args$args or "
	  "$request_method\n" },
	{ "a URL of what the key has not", BASE
	  "nginx_key = \"$request_uri\"\n",
	  AT ":4: nginx_key: nginx_url has a variable that nginx_key has "
	  "not\n" },
	{ "a placement", BASE "placement = \"third\"\n",
	  AT ":4: placement: \"third\" is not keep, second, single, "
	  "single-seen, single-shared or auto\n" },
	{ "cookies", BASE "set_cookie = \"eat\"\n",
	  AT ":4: set_cookie: \"eat\" is not refuse, strip or allow\n" },
	{ "a level", BASE "log_level = \"loud\"\n",
	  AT ":4: log_level: \"loud\" is not error, warning, info or "
	  "debug\n" },
	{ "a version", BASE "tls_oldest = \"1.1\"\n",
	  AT ":4: tls_oldest: \"1.1\" is not 1.2 or 1.3\n" },
	{ "a number", BASE "threads = \"two\"\n",
	  AT ":4: threads: \"two\" is not auto or a number\n" },
	{ "a number below its range", BASE "threads = 0\n",
	  AT ":4: threads: \"0\" is not between 1 and 256\n" },
	{ "a number above its range", BASE "threads = 257\n",
	  AT ":4: threads: \"257\" is not between 1 and 256\n" },
	{ "a size", BASE "cache_size = \"64X\"\n",
	  AT ":4: cache_size: \"64X\" is not a size such as 64M\n" },
	{ "a size below its least", BASE "cache_size = \"1K\"\n",
	  AT ":4: cache_size: \"1K\" is below 64K\n" },
	{ "a time", BASE "poll = \"1\"\n",
	  AT ":4: poll: \"1\" is not a time such as 500ms, 30s, 5m\n" },
	{ "a time out of range", BASE "poll = \"1ms\"\n",
	  AT ":4: poll: \"1ms\" is not between 10ms and 1h\n" },
	{ "a time that is not whole seconds", BASE "wait = \"1500ms\"\n",
	  AT ":4: wait: \"1500ms\" is not a time in whole seconds such as "
	  "30s\n" },
	{ "seconds that are no time", BASE "wait = \"x\"\n",
	  AT ":4: wait: \"x\" is not a time in whole seconds such as 30s\n" },
	{ "seconds out of range", BASE "wait = \"1h\"\n",
	  AT ":4: wait: \"1h\" is not between 0s and 10m\n" },
	{ "a share", BASE "publish_share = \"2\"\n",
	  AT ":4: publish_share: \"2\" is not between 0 and 1\n" },
	{ "a flag", BASE "forward = \"perhaps\"\n",
	  AT ":4: forward: \"perhaps\" is not true, yes or on, nor false, no "
	  "or off\n" },
	{ "lines of no format", BASE "access_log_format = \"%{secret}\"\n",
	  AT ":4: access_log_format: \"%{secret}\" is not common, combined, "
	  "squid, json, nor a text with %{...} as digestd.conf(5) lists "
	  "them\n" },
	{ "publishing", BASE "publish_min = \"2s\"\npublish_max = \"1s\"\n",
	  AT ":5: publish_max: must be at least publish_min\n" },
	{ "one bit", BASE "bits_per_object = 1\n",
	  AT ":4: bits_per_object: must be 0, or at least 2\n" },
	{ "sizes of the filter",
	  BASE "filter_min = \"2M\"\nfilter_max = \"1M\"\n",
	  AT ":5: filter_max: must be at least filter_min\n" },
	{ "load balancers that nobody knows",
	  BASE "proxy_protocol_data = true\n",
	  AT ":4: proxy_protocol_data: needs trusted_proxies: the load "
	  "balancers whose PROXY header is believed\n" },
	{ "too little on probation", BASE "admission_ram = \"0.00001\"\n",
	  AT ":4: admission_ram: \"0.00001\" is not 0, nor between 0.0001 and "
	  "0.9\n" },
	{ "no share on probation", BASE "admission_ram = \"2\"\n",
	  AT ":4: admission_ram: \"2\" is not 0, nor between 0.0001 and "
	  "0.9\n" },
	{ "too much on probation", BASE "admission_ram = \"0.95\"\n",
	  AT ":4: admission_ram: \"0.95\" is not 0, nor between 0.0001 and "
	  "0.9\n" },
	{ "memory for the cache only",
	  BASE "cache_size = \"64M\"\nmemory_limit = \"95M\"\n",
	  AT ":5: memory_limit: must be at least cache_size + 32M\n" },
	{ "several at once", BASE "bits_per_object = 1\nfilter_max = \"8\"\n",
	  AT ":4: bits_per_object: must be 0, or at least 2\n"
	  AT ":5: filter_max: must be at least filter_min\n" },
	/* places */
	{ "a peer's URL", BASE "peer \"b\" { url = \"b:80\" }\n",
	  AT ":4: url: \"b:80\" is not a URL such as http://host:port\n" },
	{ "a peer without a URL",
	  BASE "cluster_key = \"" KEY "\"\npeer \"b\" { }\n",
	  AT ":5: peer \"b\": url: not given\n" },
	{ "members from nowhere",
	  BASE "cluster_key = \"" KEY "\"\nmembers = \"cache.example\"\n",
	  AT ":5: members: \"cache.example\" is not dns:NAME:PORT, srv:NAME, "
	  "file:/PATH or command:COMMAND\n" },
	{ "members without a key", BASE "members = \"file:/members\"\n",
	  AT ":4: members: needs cluster_key_file or cluster_key, the same on "
	  "all nodes: openssl rand -hex 16\n" },
	{ "peers without a key", BASE "peer \"b\" { url = \"http://b\" }\n",
	  AT ":4: peer \"b\": needs cluster_key_file or cluster_key, the same "
	  "on all nodes: openssl rand -hex 16\n" },
	{ "a peer twice",
	  BASE "peer \"b\" { url = \"http://b\" }\n"
	       "peer \"b\" { url = \"http://b\" }\n",
	  AT ":5: peer \"b\" is given twice, first at " AT ":4\n" },
	{ "an origin twice",
	  BASE "origin \"b\" { url = \"http://b\" }\n"
	       "origin \"b\" { url = \"http://b\" }\n",
	  AT ":5: origin \"b\" is given twice, first at " AT ":4\n" },
	{ "an origin in two spellings",
	  BASE "origin \"b\" { url = \"http://b\" }\n"
	       "origin \"B:80\" { url = \"http://b\" }\n",
	  AT ":5: origin \"b\" is given twice, first at " AT ":4\n" },
	{ "an option twice", BASE "node = \"b\"\n",
	  AT ":4: node is given again, after line 1\n" },
	{ "a flag twice", BASE "forward = true\nforward = true\n",
	  AT ":5: forward is given again, after line 4\n" },
	{ "an option of a section twice",
	  BASE "origin \"b\" { url = \"http://b\"\nurl = \"http://c\" }\n",
	  AT ":5: url is given again, after line 4; a list has several: "
	  "\"a\", \"b\"\n" },
	{ "a peer's kind twice",
	  BASE "peer \"b\" { kind = squid\nkind = squid }\n",
	  AT ":5: kind is given again, after line 4\n" },
	{ "an origin's cookies twice",
	  BASE "origin \"b\" { set_cookie = allow\nset_cookie = allow }\n",
	  AT ":5: set_cookie is given again, after line 4\n" },
	{ "a section that is not closed",
	  BASE "origin \"b\" {\nurl = \"http://b\"\n",
	  AT ":4: section origin \"b\" is not closed\n" },
	{ "the second section is not closed",
	  BASE "origin \"b\" { url = \"http://b\" }\n"
	       "peer \"b\" { url = \"http://b\"",
	  AT ":5: section peer \"b\" is not closed\n" },
	{ "an origin without a URL", BASE "origin \"www\" { }\n",
	  AT ":4: origin \"www\": url: not given\n" },
	{ "an origin that is no host",
	  BASE "origin \"w/w\" { url = \"http://b\" }\n",
	  AT ":4: origin \"w/w\": is not a host\n" },
	{ "an origin with no name", BASE "origin \"\" { url = \"http://b\" }\n",
	  AT ":4: origin \"\": is not a host\n" },
	{ "an origin's cookies",
	  BASE "origin \"www\" {\nurl = \"http://b\"\n"
	       "set_cookie = \"eat\"\n}\n",
	  AT ":6: set_cookie: \"eat\" is not refuse, strip or allow\n" },
	{ "cookies of a peer",
	  BASE "peer \"b\" { set_cookie = \"strip\" }\n",
	  AT ":4: no such option 'set_cookie' in section peer; it is one of "
	  "the node, and stands outside of sections\n" },
	{ "a section for an option", BASE "threads { }\n",
	  AT ":4: 'threads' is no section: threads = ...\n" },
	{ "an option for a section", BASE "peer = \"b\"\n",
	  AT ":4: 'peer' is a section: peer { ... }\n" },
	{ "an unknown section", BASE "pear \"b\" { }\n",
	  AT ":4: no such section 'pear'; is 'peer' meant?\n" },
	{ "one that sounds alike", BASE "sight \"a\" {\n}\n",
	  AT ":4: no such section 'sight'; is 'site' meant?\n" },
	{ "one that is cut short", BASE "tls_data_cert = a\n",
	  AT ":4: no such option 'tls_data_cert'; is 'tls_data_certificate' "
	  "meant?\n" },
	{ "none that is near", BASE "poolside = a\ntls_ = b\nsites = c\n",
	  AT ":4: no such option 'poolside'\n"
	  AT ":5: no such option 'tls_'\n"
	  AT ":6: no such option 'sites'; is 'site' meant?\n" },
	{ "a file where the disk's folder should be",
	  BASE "disk_path = \"%D/conf\"\n",
	  AT ":4: disk_path: is not a folder\n" },
	{ "folders and files where others should be",
	  BASE "admission = aged\nadmission_file = \"%D\"\n"
	  "control = \"%D/conf\"\n",
	  AT ":6: control: something that is no socket is there\n"
	  AT ":5: admission_file: is a folder\n" },
	{ "a section without a title", BASE "origin { }\n",
	  AT ":4: origin: needs the name of a host\n" },
	{ "a section with two titles", BASE "peer a b { }\n",
	  AT ":4: peer: \"b\": only the name of a node stands here\n" },
	{ "two values for one", BASE "poll = 1s, 2s\n",
	  AT ":4: poll: has one value, not 2\n" },
	{ "a list twice", BASE "tls_data_key = a\ntls_data_key = b\n",
	  AT ":5: tls_data_key is given again, after line 4; a list has "
	  "several: \"a\", \"b\"\n" },
	{ "what is wrong, all at once",
	  "nod = \"a\"\nlisten_data = here\npoll = \"1ms\npoll = 2ms\n"
	  "colour = red green\norigin \"a\" {\n\turls = \"http://b\"\n}\n",
	  AT ":3: a quote is not closed\n"
	  AT ":5: \"green\" is neither an option, NAME = VALUE, nor a section; "
	  "a value with blanks needs quotes\n"
	  AT ":1: no such option 'nod'; is 'node' meant?\n"
	  AT ":2: listen_data: \"here\" is not an address such as "
	  "127.0.0.1:8080, nor unix:/PATH,mode=0660,user=NAME,group=NAME\n"
	  AT ":4: poll: \"2ms\" is not between 10ms and 1h\n"
	  AT ":5: no such option 'colour'\n"
	  AT ":7: no such option 'urls' in section origin; is 'url' meant?\n" },
	{ "a log in no folder", BASE "access_log = \"%D/none/log\"\n",
	  AT ":4: access_log: there is no folder %D/none/\n" },
	{ "other files in no folder",
	  BASE "disk_path = \"%D/none/disk//\"\ncontrol = \"%D/none/ctl\"\n"
	  "admission_file = \"%D/none/seen\"\n",
	  AT ":5: control: there is no folder %D/none/\n"
	  AT ":4: disk_path: there is no folder %D/none/\n"
	  AT ":6: admission_file: there is no folder %D/none/\n" },
	{ "a log that is a folder", BASE "access_log = \"%D\"\n",
	  AT ":4: access_log: is a folder\n" },
	/* its own listeners */
	{ "a default origin that is this node",
	  NODE LISTEN "default_origin = \"http://127.0.0.1:8080\"\n",
	  AT ":3: default_origin: \"http://127.0.0.1:8080\" is this node's "
	  "own listen_data\n" },
	{ "an origin that is this node",
	  NODE "listen_data = \"127.0.0.1:80\"\n"
	  "origin \"o\" { url = \"http://localhost\" }\n",
	  AT ":3: origin \"o\": url: \"http://localhost\" is this node's own "
	  "listen_data\n" },
	{ "a peer that is this node",
	  BASE "cluster_key = \"" KEY "\"\nlisten_peer = \"[::1]:8081\"\n"
	  "peer \"a\" { url = \"http://[::1]:8081\" }\n"
	  "peer \"b\" { url = \"http://[::1]:8081\" }\n",
	  AT ":7: peer \"b\": url: \"http://[::1]:8081\" is this node's own "
	  "listen_peer\n" },
	{ "a peer of no kind",
	  BASE "peer \"b\" { url = \"http://b\"\nkind = \"varnish\" }\n",
	  AT ":5: kind: \"varnish\" is not digestd or squid\n" },
	/* listeners */
	{ "one port twice", BASE "listen_admin = \":8080\"\n",
	  AT ":4: listen_admin: \":8080\" is the port of listen_data "
	  "(\":8080\", line 2)\n" },
	{ "every address and one of them",
	  BASE "listen_admin = \"127.0.0.1:8080\"\n",
	  AT ":4: listen_admin: \"127.0.0.1:8080\" is the port of listen_data "
	  "(\":8080\", line 2)\n" },
	{ "every address and one of IPv6",
	  BASE "listen_admin = \"[::1]:8080\"\n",
	  AT ":4: listen_admin: \"[::1]:8080\" is the port of listen_data "
	  "(\":8080\", line 2)\n" },
	{ "all of a family and one",
	  NODE ORIGIN "listen_data = \"0.0.0.0:1\"\n"
	  "listen_admin = \"127.0.0.1:1\"\n",
	  AT ":4: listen_admin: \"127.0.0.1:1\" is the port of listen_data "
	  "(\"0.0.0.0:1\", line 3)\n" },
	{ "one address of IPv6 in two spellings",
	  NODE ORIGIN "listen_data = \"[::1]:1\"\n"
	  "listen_admin = \"[0:0::1]:1\"\n",
	  AT ":4: listen_admin: \"[0:0::1]:1\" is the port of listen_data "
	  "(\"[::1]:1\", line 3)\n" },
	{ "three on one port",
	  BASE "cluster_key = \"" KEY "\"\nlisten_peer = \":8080\"\n"
	  "listen_admin = \":8080\"\n",
	  AT ":5: listen_peer: \":8080\" is the port of listen_data "
	  "(\":8080\", line 2)\n"
	  AT ":6: listen_admin: \":8080\" is the port of listen_data "
	  "(\":8080\", line 2)\n"
	  AT ":6: listen_admin: \":8080\" is the port of listen_peer "
	  "(\":8080\", line 5)\n" },
};

static void test_faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(faults); i++) {
		struct config *c = NULL;

		assert_int_equal(config_load_finds(faults[i].label,
						   faults[i].text,
						   faults[i].errors, &c),
				 -EINVAL);
		assert_null(c);
	}
}

/* As many peers as a node can follow, and one more. */
static void test_too_many_peers(void **state)
{
	static const char begins[] =
		BASE "listen_peer = \":1\"\ncluster_key = \"" KEY "\"\n";
	struct config *c = NULL;
	char *text = NULL;
	size_t len;

	(void)state;
	for (int n = PEERSET_MAX_PEERS; n <= PEERSET_MAX_PEERS + 1; n++) {
		FILE *to = open_memstream(&text, &len);

		assert_non_null(to);
		fputs(begins, to);
		for (int i = 0; i < n; i++)
			fprintf(to, "peer \"p%d\" { url = \"http://p\" }\n", i);
		fclose(to);
		assert_int_equal(
			config_load_finds("peers", text,
					  n > PEERSET_MAX_PEERS ? AT
						  ": more than 1024 peers\n"
								: "",
					  &c),
			n > PEERSET_MAX_PEERS ? -EINVAL : 0);
		config_free(&c);
		free(text);
	}
}

static const struct {
	const char *label, *text;
} right[] = {
	{ "as little as possible", BASE },
	{ "a forward proxy needs no origin",
	  NODE LISTEN "forward = true\nclient_addresses = \"10.0.0.0/8\"\n" },
	{ "a forward proxy for this machine",
	  NODE "listen_data = \"[::1]:1\"\nforward = true\n" },
	{ "a forward proxy for all, which is meant", BASE
	  "forward = true\nclient_addresses = \"0.0.0.0/0, ::/0\"\n" },
	{ "an origin section is enough",
	  NODE LISTEN "origin \"www\" { url = \"http://b\" }\n" },
	{ "other ports", BASE "listen_admin = \":8081\"\n" },
	{ "port 0 is one of its own",
	  NODE ORIGIN "listen_data = \":0\"\nlisten_admin = \":0\"\n" },
	{ "other addresses",
	  NODE ORIGIN "listen_data = \"127.0.0.1:1\"\n"
	  "listen_admin = \"127.0.0.2:1\"\n" },
	{ "other families",
	  NODE ORIGIN "listen_data = \"0.0.0.0:1\"\n"
	  "listen_admin = \"[::]:1\"\n" },
	{ "memory for more than the cache",
	  BASE "cache_size = \"64M\"\nmemory_limit = \"96M\"\n" },
	{ "the least on probation",
	  BASE "admission = probation\nadmission_ram = \"0.0001\"\n" },
	{ "the most on probation",
	  BASE "admission = probation\nadmission_ram = \"0.9\"\n" },
	{ "as many bits as there are", BASE "bits_per_object = 2\n" },
	{ "peers with a key",
	  BASE "cluster_key = \"" KEY "\"\npeer \"b\" { url = \"http://b\" }\n"
	  "listen_peer = \":1\"\n" },
	{ "the same URL for two peers",
	  BASE "cluster_key = \"" KEY "\"\npeer \"b\" { url = \"http://b\" }\n"
	  "peer \"c\" { url = \"http://b\" }\n" },
	{ "comments and blank lines",
	  "# one\n\n/* two */\n" BASE "// three\n" },
	{ "another machine with the port", NODE LISTEN
	  "default_origin = \"http://192.0.2.1:8080\"\n" },
	{ "another port of this machine", NODE LISTEN
	  "default_origin = \"http://127.0.0.1:8081\"\n" },
	{ "a log beside the configuration", BASE "access_log = \"%D/log\"\n" },
	{ "no newline at the end",
	  NODE LISTEN "default_origin = \"http://o\"" },
};

static void test_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(right); i++) {
		struct config *c = NULL;

		assert_int_equal(config_load_finds(right[i].label,
						   right[i].text, "", &c), 0);
		config_free(&c);
		assert_null(c);
	}
}

/* It is a warning: all those that there are would not start any more. */
static void test_an_open_proxy_is_told(void **state)
{
	static const char *const open[] = {
		BASE "forward = true\n",
		BASE "forward = true\nclient_addresses = \"\"\n",
		BASE "forward = true\nclient_addresses = \" ,\"\n",
		NODE "listen_data = \"0.0.0.0:1\"\n" ORIGIN "forward = true\n",
	};

	(void)state;
	for (size_t i = 0; i < NROWS(open); i++) {
		struct config *c = NULL;

		assert_int_equal(config_load_finds(
			open[i], open[i], AT ":4: forward: everybody who "
			"reaches listen_data can use this proxy: "
			"client_addresses does not say who may\n", &c), 0);
		config_free(&c);
	}
}

static struct config *load(const char *text)
{
	struct config *c = NULL;

	assert_int_equal(config_load_finds(text, text, "", &c), 0);
	return c;
}

/* One processor, wherever this runs. */
static void test_threads_follow_processors(void **state)
{
	cpu_set_t all, one;
	struct config *c;
	unsigned cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	c = load(BASE "threads = auto\n");
	assert_in_range(c->threads, 1, CPU_COUNT(&all));
	assert_int_equal(c->threads, processors_usable());
	config_free(&c);
	c = load(BASE);
	assert_int_equal(c->threads, processors_usable());
	config_free(&c);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	c = load(BASE "threads = auto\n");
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(c->threads, 1);
	config_free(&c);
}

static void test_values_arrive(void **state)
{
	struct config *c = load(
		BASE "threads = 3\ncache_size = \"64M\"\nwait = \"2m\"\n"
		"poll = \"2s\"\npublish_share = \"0.5\"\nforward = true\n"
		"client_addresses = \"10.0.0.0/8 ::1\"\n"
		"filter_resize = false\nadmission_ram = \"0.1\"\n"
		"admission = auto\nlisten_peer = \":1\"\n"
		"eviction = \"lru\"\nmax_object_size = \"65M\"\n"
		"cluster_key = \"" KEY "\"\n"
		"origin \"WWW.Example.com:80\" { url = \"http://b\" }\n"
		"origin \"x:8080\" {\nurl = \"https://c\"\n"
		"set_cookie = \"strip\"\n}\n"
		"peer \"b\" { url = \"http://d:1\" }\n"
		"peer \"s\" { url = \"http://e:3128\" kind = squid }\n");

	(void)state;
	assert_string_equal(c->node, "a");
	assert_string_equal(c->listen_data, ":8080");
	assert_string_equal(c->default_origin, "http://o");
	assert_string_equal(c->eviction, "lru");
	assert_null(c->listen_admin);
	assert_int_equal(c->threads, 3);
	assert_int_equal(c->cache_size, 64 << 20);
	assert_int_equal(c->wait_s, 120);
	assert_int_equal(c->poll_ms, 2000);
	assert_true(c->publish_share == .5);
	assert_true(c->admission_ram == .1);
	assert_true(c->forward);
	assert_string_equal(c->client_addresses, "10.0.0.0/8 ::1");
	assert_false(c->filter_resize);
	assert_true(c->tls_origin_verify); /* as it is by default */
	/* nothing larger than the cache is stored */
	assert_int_equal(c->max_object_size, c->cache_size);
	assert_int_equal(c->nkeys, 1);
	assert_memory_equal(c->keys[0], "\x01\x23\x45\x67\x89\xab\xcd\xef"
			    "\x01\x23\x45\x67\x89\xab\xcd\xef", 16);
	assert_int_equal(c->norigins, 2);
	assert_string_equal(c->origins[0].name, "www.example.com");
	assert_string_equal(c->origins[0].url, "http://b");
	assert_null(c->origins[0].set_cookie);
	assert_string_equal(c->origins[1].name, "x:8080");
	assert_string_equal(c->origins[1].set_cookie, "strip");
	assert_int_equal(c->npeers, 2);
	assert_ptr_equal(c->peers[0].kind, &peer_kind_digestd);
	assert_ptr_equal(c->peers[1].kind, &peer_kind_squid);
	assert_string_equal(c->peers[0].name, "b");
	assert_string_equal(c->peers[0].url, "http://d:1");
	assert_null(c->peers[0].set_cookie);
	config_free(&c);
}

/* Files that are not read at all */

static void check_unreadable(const char *name, const char *why)
{
	struct config_errors errors;
	struct config *c = NULL;
	char expected[512];

	snprintf(expected, sizeof(expected), "%s: %s\n", config_path(name),
		 why);
	assert_int_equal(config_load(config_path(name), &c, &errors), -EINVAL);
	assert_string_equal(errors.text, expected);
	assert_null(c);
}

/* One file does for all nodes. */
static void test_a_node_has_its_hosts_name(void **state)
{
	struct config *c = load(LISTEN ORIGIN "cluster_key = \"" KEY "\"\n"
				"members = \"dns:cache.example:8081\"\n");
	char name[HOST_NAME_MAX + 1] = "";

	(void)state;
	assert_int_equal(gethostname(name, sizeof(name) - 1), 0);
	assert_string_equal(c->node, name);
	assert_string_equal(c->members, "dns:cache.example:8081");
	assert_int_equal(c->members_ms, 1000);
	config_free(&c);
}

static void test_unreadable(void **state)
{
	static const char nul[] = "node = \"a\"\0\n";

	(void)state;
	check_unreadable("absent", "No such file or directory");
	check_unreadable("", "Is a directory");
	config_write("nul", nul, sizeof(nul) - 1, 0600);
	check_unreadable("nul", "has a NUL byte");
	config_write("nul", "\0", 1, 0600);
	check_unreadable("nul", "has a NUL byte");
}

/* As many findings as there is room for, and that there are more. */
static void test_findings_are_cut(void **state)
{
	struct config_errors e = { .len = 0 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		config_report(&e, "finding ");
		config_report(&e, "number %d\n", i);
	}
	assert_true(e.len > sizeof(e.text) - 100);
	assert_int_equal(strlen(e.text), e.len);
	assert_non_null(strstr(e.text, "\nfinding number 700\n"));
	config_report(&e, "x\n");
	assert_string_equal(strstr(e.text, "\nthere is more"),
			    "\nthere is more, for which there was no room\n");
	assert_int_equal(strlen(e.text), e.len);
}

/* Reloads */

static void test_reload_keeps_what_was_started(void **state)
{
	struct config *now = load(BASE "threads = 2\npoll = \"1s\"\n"
				  "eviction = \"lru\"\n");
	struct config *next = load(
		"node = \"b\"\nlisten_data = \":8080\"\n"
		"listen_admin = \":9\"\n" ORIGIN
		"threads = 4\npoll = \"2s\"\ncache_size = \"1M\"\n"
		"eviction = \"lru\"\n");
	struct config_errors kept;

	(void)state;
	config_keep_started(now, next, &kept);
	assert_string_equal(
		kept.text,
		"node takes effect only at the next start\n"
		"listen_admin takes effect only at the next start\n"
		"threads takes effect only at the next start\n");
	assert_string_equal(next->node, "a");
	assert_null(next->listen_admin);
	assert_int_equal(next->threads, 2);
	assert_int_equal(next->poll_ms, 2000);
	assert_int_equal(next->cache_size, 1 << 20);
	assert_string_equal(now->node, "b"); /* to be freed with it */
	config_keep_started(now, now, &kept);
	assert_int_equal(kept.len, 0);
	config_free(&now);
	config_free(&next);
}

static void test_reload_keeps_the_key(void **state)
{
	struct config *none = load(BASE);
	struct config *one = load(BASE "cluster_key = \"" KEY "\"\n");
	struct config *same = load(BASE "cluster_key = \"" KEY "\"\n");
	struct config *other = load(BASE "cluster_key = \"" OTHER "\"\n");

	(void)state;
	assert_false(config_keep_key(one, same));
	assert_true(config_keep_key(one, other));
	assert_memory_equal(one->keys[0], other->keys[0], sizeof(one->keys[0]));
	assert_memory_equal(one->hash_key, other->hash_key,
			    sizeof(one->hash_key));
	assert_true(config_keep_key(none, other));
	assert_int_equal(other->nkeys, 0);
	assert_true(config_keep_key(one, none));
	assert_int_equal(none->nkeys, 1);
	config_free(&none);
	config_free(&one);
	config_free(&same);
	config_free(&other);
	config_free(&other); /* null is allowed */
}

/* What is presented may be another one, if what hashes stays. */
static void test_reload_takes_keys(void **state)
{
	static const char both[] = OTHER "\n" KEY "\nhash " KEY "\n";
	struct config *one = load(BASE "cluster_key = \"" KEY "\"\n");
	struct config *next;

	(void)state;
	config_write("key", both, strlen(both), 0600);
	next = load(BASE "cluster_key_file = \"%D/key\"\n");
	assert_false(config_keep_key(one, next));
	assert_int_equal(next->nkeys, 2);
	assert_int_equal(next->keys[0][0], 0xfe);
	config_free(&one);
	config_free(&next);
}

/* Each line of --options: a name, its default, what it is. */
static void test_options_are_listed(void **state)
{
	char *text = NULL, *line, *rest;
	size_t len, lines = 0;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_non_null(to);
	config_print_options(to);
	fclose(to);
	assert_non_null(strstr(text, "\nthreads                  auto     "));
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char name[32], value[32], help[8];

		assert_int_equal(sscanf(line, "%31s %31s %7s", name, value,
					help), 3);
		lines++;
	}
	assert_true(lines > 50);
	free(text);
}

/* A configuration without memory for it: an error, and not half of it. */
static void test_without_memory(void **state)
{
	static const char text[] =
		BASE "cluster_key = \"" KEY "\"\n"
		"listen_peer = \":8081\"\n"
		"trusted_proxies = \"127.0.0.1 10.0.0.0/8\"\n"
		"origin \"h\" { url = \"http://o\" "
		"set_cookie = \"strip\" }\n"
		"peer \"b\" { url = \"http://b:1\" }\n"
		"peer \"c\" { url = \"http://c:1\" kind = \"squid\" }\n";
	bool failed = true;

	(void)state;
	config_write("conf", text, strlen(text), 0600);
	for (unsigned i = 1; failed; i++) {
		struct config_errors found;
		struct config *c = NULL;
		int err;

		alloc_fail_at(i);
		err = config_load(config_path("conf"), &c, &found);
		failed = alloc_failed();
		alloc_fail_at(0);
		if (!failed)
			assert_string_equal(found.text, "");
		assert_int_equal(!err, !failed);
		assert_int_equal(!c, failed);
		assert_int_equal(!found.len, !failed);
		config_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_too_many_peers),
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_an_open_proxy_is_told),
		cmocka_unit_test(test_values_arrive),
		cmocka_unit_test(test_threads_follow_processors),
		cmocka_unit_test(test_a_node_has_its_hosts_name),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_findings_are_cut),
		cmocka_unit_test(test_reload_keeps_what_was_started),
		cmocka_unit_test(test_reload_keeps_the_key),
		cmocka_unit_test(test_reload_takes_keys),
		cmocka_unit_test(test_options_are_listed),
	};

	return cmocka_run_group_tests(tests, config_folder_make,
				      config_folder_remove);
}
