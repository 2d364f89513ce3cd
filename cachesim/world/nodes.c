/*
 * Nodes: a service each, from a configuration file of its own.
 */
#include "cachesim/world/nodes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "codec/key.h"
#include "digestd/config/configuration.h"
#include "digestd/service.h"
#include "digestd/part_settings.h"
#include "cachesim/world/world.h"

enum {
	NAME_BYTES = 32,
	PATH_BYTES = 64,
	DOWN_US = 2000000, /* a node that has ended is started again, mostly */
};

struct node {
	struct service *service; /* null: it does not run */
	int64_t down_us, ahead_s;
	uint64_t cache_bytes;
	const char *options;
	uint64_t without; /* peers that it does not know of */
	unsigned key, started_key; /* of its configuration, and what it has */
	uint8_t hash_secret[16];
	char token[33];
	char data[NAME_BYTES], peer[NAME_BYTES], admin[NAME_BYTES];
	char path[PATH_BYTES], disk[PATH_BYTES];
};

int nodes_place;

static const char *const nodes_keys[NODES_KEYS] = {
	"7d0b5c3e9f1a48266a84b1f0c9d2e357", "c41f8be2073d5a96e8107d4bf2935c6a",
};

static struct {
	struct nodes_plan plan;
	struct node list[NODES_MAX];
	char folder[PATH_BYTES];
	bool run;
	int64_t jumped_back_s;
} nodes;

/* What the daemon asks of the system, and must not have here. While there are
 * no nodes, the program has what is real. */
ssize_t __real_getrandom(void *to, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t len, unsigned flags);

bool nodes_are_there(void)
{
	return nodes.run;
}

ssize_t __wrap_getrandom(void *to, size_t len, unsigned flags)
{
	unsigned char *bytes = to;

	if (!nodes.run)
		return __real_getrandom(to, len, flags);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)world_below(CHOICE_EVENT, 256);
	return (ssize_t)len;
}

unsigned nodes_count(void)
{
	return nodes.plan.nnodes;
}

const char *nodes_data_name(unsigned i)
{
	return nodes.list[i].data;
}

const char *nodes_admin_name(unsigned i)
{
	return nodes.list[i].admin;
}

const char *nodes_peer_name(unsigned i)
{
	return nodes.list[i].peer;
}

const char *nodes_token(unsigned i)
{
	return nodes.list[i].token;
}

void nodes_hash(unsigned i, const char *url, size_t len, struct scd_key *key)
{
	scd_key_make(nodes.list[i].hash_secret, "GET", url, len, key);
}

bool nodes_runs(unsigned i)
{
	return nodes.list[i].service;
}

unsigned nodes_location(unsigned i)
{
	return nodes.plan.locations ? i % nodes.plan.locations : 0;
}

/* Where a node is, in a section or outside of all. */
static void nodes_write_location(FILE *f, unsigned i)
{
	if (nodes.plan.locations)
		fprintf(f, "location = \"l%u\"\n", nodes_location(i));
}

static bool nodes_is_without(unsigned self, unsigned i)
{
	return i < 64 && nodes.list[self].without >> i & 1;
}

static void nodes_write_peers(FILE *f, unsigned self)
{
	for (unsigned i = 0; i < nodes.plan.nnodes; i++) {
		if (i == self || nodes_is_without(self, i))
			continue;
		fprintf(f, "peer \"n%u\" { url = \"http://%s\"\n", i,
			nodes.list[i].peer);
		nodes_write_location(f, i);
		fprintf(f, "}\n");
	}
	if (nodes.plan.stranger)
		fprintf(f, "peer \"bad\" { url = \"http://%s\" }\n",
			nodes.plan.stranger);
}

/* All that it needs; options may say a part of it. */
static void nodes_write_strict(FILE *f, const char *options)
{
	if (!strstr(options, "purge_peers"))
		fprintf(f, "purge_peers = true\n");
	fprintf(f, "invalidation = \"strict\"\n");
}

static void nodes_write_one(unsigned i)
{
	const struct node *n = &nodes.list[i];
	FILE *f = fopen(n->path, "w");

	if (!f)
		world_fail("%s cannot be written", n->path);
	fprintf(f, "node = \"n%u\"\nlisten_data = \"%s\"\n"
		"listen_admin = \"%s\"\ndefault_origin = \"http://%s\"%s\n"
		"threads = %u\ncache_size = %llu\nmax_object_size = %llu\n"
		"log_level = \"error\"\n%s", i, n->data, n->admin,
		nodes.plan.origin,
		nodes.plan.more_origins ? nodes.plan.more_origins : "",
		nodes.plan.threads,
		(unsigned long long)n->cache_bytes,
		(unsigned long long)nodes.plan.max_object_bytes,
		n->options);
	if (nodes.plan.disks)
		fprintf(f, "disk_path = \"%s\"\ndisk_size = %llu\n", n->disk,
			(unsigned long long)nodes.plan.disk_bytes);
	if (nodes.plan.strict)
		nodes_write_strict(f, n->options);
	if (nodes.plan.peers) {
		fprintf(f, "cluster_key = \"%s\"\nlisten_peer = \"%s\"\n",
			nodes_keys[n->key], n->peer);
		nodes_write_location(f, i);
		nodes_write_peers(f, i);
	}
	if (fclose(f))
		world_fail("%s cannot be written", n->path);
}

static void nodes_read_key(struct node *n, const struct config *config)
{
	n->started_key = n->key;
	part_settings_hash_secret(config, n->hash_secret);
	part_settings_token(config, n->token);
}

static void nodes_start_one(unsigned i)
{
	struct node *n = &nodes.list[i];
	struct config_errors errors;
	struct config *config;

	nodes_place = (int)i;
	world_loop_ahead_s = n->ahead_s;
	if (config_load(n->path, &config, &errors))
		world_fail("%s", errors.text);
	nodes_read_key(n, config);
	if (service_new(config, n->path, NULL, &n->service))
		world_fail("node %u does not start", i);
	if (service_run(n->service)) /* returns at once here */
		world_fail("node %u does not run", i);
}

static void nodes_name(char name[NAME_BYTES], unsigned i, unsigned port)
{
	snprintf(name, NAME_BYTES, "127.0.%u.%u:%u", (i + 1) / 256,
		 (i + 1) % 256, port);
}

void nodes_start(const struct nodes_plan *plan)
{
	nodes.plan = *plan;
	nodes.run = true;
	nodes.jumped_back_s = 0;
	snprintf(nodes.folder, sizeof(nodes.folder), "/tmp/world.XXXXXX");
	if (!mkdtemp(nodes.folder))
		world_fail("no temporary folder");
	service_block_signals();
	for (unsigned i = 0; i < plan->nnodes; i++) {
		struct node *n = &nodes.list[i];

		*n = (struct node){ .cache_bytes = plan->cache_bytes,
				    .options = plan->options };
		nodes_name(n->data, i, 8080);
		nodes_name(n->peer, i, 8081);
		nodes_name(n->admin, i, 8082);
		snprintf(n->path, PATH_BYTES, "%.40s/n%u.conf", nodes.folder,
			 i);
		snprintf(n->disk, PATH_BYTES, "/disk-n%u", i);
	}
	for (unsigned i = 0; i < plan->nnodes; i++) {
		if (plan->clocks_differ)
			nodes.list[i].ahead_s = (int64_t)
				world_below(CHOICE_SWARM, 200) - 100;
		nodes_write_one(i);
		nodes_start_one(i);
	}
	if (plan->once)
		nodes_remove_files();
}

void nodes_status(unsigned i, struct node_status *out)
{
	service_status(nodes.list[i].service, out);
}

size_t nodes_peer_bytes(unsigned i)
{
	return service_peer_bytes(nodes.list[i].service);
}

bool nodes_holds(unsigned i, const struct scd_key *key)
{
	return service_holds(nodes.list[i].service, key);
}

void nodes_drop(unsigned i, const struct scd_key *key)
{
	service_drop(nodes.list[i].service, key);
}

void nodes_remove_files(void)
{
	for (unsigned i = 0; i < nodes.plan.nnodes; i++)
		unlink(nodes.list[i].path);
	rmdir(nodes.folder);
}

static void nodes_end_one(struct node *n)
{
	service_free(&n->service);
	n->down_us = world_now_us;
}

bool nodes_kill(unsigned i, enum nodes_disk_end how)
{
	struct node *n = &nodes.list[i];
	bool lost = false;

	if (!n->service)
		return false;
	if (nodes.plan.disks)
		lost = nodes.plan.disks->end(n->disk, how);
	nodes_end_one(n);
	return lost;
}

void nodes_jump(unsigned i, int64_t by_s)
{
	struct node *n = &nodes.list[i];

	n->ahead_s += by_s;
	if (by_s < 0)
		nodes.jumped_back_s -= by_s;
	world_loop_set_ahead((int)i, n->ahead_s);
}

bool nodes_have_disks(void)
{
	return nodes.plan.disks;
}

int64_t nodes_jumped_back_us(void)
{
	return nodes.jumped_back_s * 1000000;
}

void nodes_reload(unsigned i, uint64_t cache_bytes, const char *options,
		  uint64_t without)
{
	struct node *n = &nodes.list[i];

	n->cache_bytes = cache_bytes;
	n->options = options;
	n->without = without;
	nodes_write_one(i);
	if (n->service)
		world_loop_signal((int)i, SIGHUP);
}

void nodes_set_key(unsigned i, unsigned key)
{
	nodes.list[i].key = key;
}

void nodes_restore(void)
{
	for (unsigned i = 0; i < nodes.plan.nnodes; i++) {
		nodes_set_key(i, 0);
		nodes_reload(i, nodes.plan.cache_bytes, nodes.plan.options, 0);
	}
}

bool nodes_has_another_key(unsigned i)
{
	return nodes.list[i].service && nodes.list[i].started_key;
}

void nodes_tend(void)
{
	int64_t down_us = nodes.plan.down_us ? nodes.plan.down_us : DOWN_US;

	for (unsigned i = 0; i < nodes.plan.nnodes; i++) {
		struct node *n = &nodes.list[i];

		if (!n->service && world_now_us > n->down_us + down_us)
			nodes_start_one(i);
	}
}

void nodes_stop(void)
{
	for (unsigned i = 0; i < nodes.plan.nnodes; i++)
		nodes_kill(i, NODES_DISK_CLOSED);
	nodes_remove_files();
	if (nodes.plan.disks)
		nodes.plan.disks->stop();
	nodes.run = false;
}
