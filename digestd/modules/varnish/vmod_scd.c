/*
 * Varnish finds in digestd's share_table which peer to ask; vmod_scd.vcc says
 * how. Methods run in many threads at a time, which share nothing that changes
 * but the mapping (table_map.h): peers are added in vcl_init.
 */
#include <stdlib.h>
#include <string.h>

#include <cache/cache.h>
#include <vcc_scd_if.h>
#include <vcl.h>

#include "digestd/modules/table_map.h"

struct scd_peer {
	struct scd_peer *next;
	char *name;
	VCL_BACKEND backend;
};

struct vmod_scd_table {
	unsigned magic;
#define VMOD_SCD_TABLE_MAGIC 0x5cd7ab1e
	struct table_map *map;
	struct scd_peer *peers;
};

VCL_VOID vmod_table__init(VRT_CTX, struct vmod_scd_table **out,
			  const char *name, VCL_STRING path)
{
	struct vmod_scd_table *t;

	CHECK_OBJ_NOTNULL(ctx, VRT_CTX_MAGIC);
	(void)name;
	ALLOC_OBJ(t, VMOD_SCD_TABLE_MAGIC);
	AN(t);
	t->map = path ? table_map_new(path) : NULL;
	*out = t;
	if (!t->map)
		VRT_fail(ctx, "scd.table(): no path");
}

static void vmod_free_peer(struct scd_peer *peer)
{
	VRT_Assign_Backend(&peer->backend, NULL);
	free(peer->name);
	free(peer);
}

VCL_VOID vmod_table__fini(struct vmod_scd_table **out)
{
	struct vmod_scd_table *t = *out;
	struct scd_peer *next;

	*out = NULL;
	if (!t)
		return;
	for (; t->peers; t->peers = next) {
		next = t->peers->next;
		vmod_free_peer(t->peers);
	}
	table_map_free(&t->map);
	FREE_OBJ(t);
}

static struct scd_peer *vmod_find_peer(const struct vmod_scd_table *t,
				       const char *name)
{
	for (struct scd_peer *p = t->peers; p; p = p->next) {
		if (!strcmp(p->name, name))
			return p;
	}
	return NULL;
}

VCL_VOID vmod_table_add_peer(VRT_CTX, struct vmod_scd_table *t,
			     VCL_STRING name, VCL_BACKEND backend)
{
	struct scd_peer *peer;

	CHECK_OBJ_NOTNULL(t, VMOD_SCD_TABLE_MAGIC);
	if (!(ctx->method & VCL_MET_INIT) || !name || !backend ||
	    vmod_find_peer(t, name)) {
		VRT_fail(ctx, "scd: add_peer() is for vcl_init, and once for "
			 "each peer");
		return;
	}
	peer = calloc(1, sizeof(*peer));
	AN(peer);
	peer->name = strdup(name);
	AN(peer->name);
	VRT_Assign_Backend(&peer->backend, backend);
	peer->next = t->peers;
	t->peers = peer;
}

/* The names of the peers that may have a URL. */
static void vmod_look_up(const struct vmod_scd_table *t, const char *url,
			 struct table_map_peers *out)
{
	CHECK_OBJ_NOTNULL(t, VMOD_SCD_TABLE_MAGIC);
	out->n = 0;
	if (url)
		table_map_lookup(t->map, url, strlen(url), out);
}

/* Peers without a backend are no candidates. */
VCL_BACKEND vmod_table_backend(VRT_CTX, struct vmod_scd_table *t,
			       VCL_STRING url, VCL_INT candidate,
			       VCL_BACKEND otherwise)
{
	struct table_map_peers peers;

	(void)ctx;
	vmod_look_up(t, url, &peers);
	for (size_t i = 0; i < peers.n; i++) {
		const struct scd_peer *p = vmod_find_peer(t, peers.names[i]);

		if (p && candidate-- == 0)
			return p->backend;
	}
	return otherwise;
}

VCL_STRING vmod_table_peer(VRT_CTX, struct vmod_scd_table *t, VCL_STRING url,
			   VCL_INT candidate)
{
	struct table_map_peers peers;
	VCL_STRING name;

	vmod_look_up(t, url, &peers);
	if (candidate < 0 || (size_t)candidate >= peers.n)
		return "";
	name = WS_Copy(ctx->ws, peers.names[candidate], -1);
	if (!name)
		VRT_fail(ctx, "scd: no workspace");
	return name;
}

VCL_BOOL vmod_table_live(VRT_CTX, struct vmod_scd_table *t)
{
	(void)ctx;
	CHECK_OBJ_NOTNULL(t, VMOD_SCD_TABLE_MAGIC);
	return table_map_is_live(t->map);
}
