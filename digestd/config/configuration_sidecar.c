/*
 * A cache beside the node.
 */
#include "digestd/config/configuration_sidecar.h"

#include <assert.h>
#include <string.h>

#include "digestd/config/configuration_check.h"
#include "digestd/mesh/placement.h"
#include "digestd/mesh/serving_lease.h"
#include "digestd/sidecar/nginx_key.h"

static void configuration_sidecar_refuse(const struct config_check *check,
					 const char *option, const char *why)
{
	config_report_option(check, option, check->errors);
	config_report(check->errors, "%s\n", why);
}

/* Options that are of no use without the other one. */
static void configuration_sidecar_check_needs(const struct config *c,
					      const struct config_check *check)
{
	static const char why[] = "needs sidecar: the URL of that cache";

	if (!c->sidecar && c->sidecar_feed)
		configuration_sidecar_refuse(check, "sidecar_feed", why);
	if (!c->sidecar && c->nginx_cache)
		configuration_sidecar_refuse(check, "nginx_cache", why);
	if (c->share_table && !c->cluster_key && !c->cluster_key_file)
		configuration_sidecar_refuse(check, "share_table",
					     "needs cluster_key, without which "
					     "no peer is followed");
	if (c->share_table_group && !c->share_table)
		configuration_sidecar_refuse(check, "share_table_group",
					     "needs share_table");
	if (c->sidecar_feed && c->nginx_cache)
		configuration_sidecar_refuse(check, "sidecar_feed",
					     "does not go with nginx_cache");
}

/* Options of a store, or of copies in it. */
static void configuration_sidecar_check_store(const struct config *c,
					      const struct config_check *check)
{
	static const char why[] =
		"does not go with sidecar, where this node stores nothing";

	if (c->disk_path)
		configuration_sidecar_refuse(check, "disk_path", why);
	if (c->leases)
		configuration_sidecar_refuse(check, "leases", why);
	if (strcmp(c->placement, placement_names[PLACEMENT_AUTO]) != 0)
		configuration_sidecar_refuse(check, "placement", why);
	if (!strcmp(c->invalidation,
		    invalidation_mode_names[INVALIDATION_STRICT]))
		configuration_sidecar_refuse(check, "invalidation", why);
}

static void configuration_sidecar_check_nginx(const struct config *c,
					      const struct config_check *check)
{
	struct nginx_key key, url;
	const char *fault = nginx_key_read(c->nginx_key, &key);
	const char *other = nginx_key_read(c->nginx_url, &url);

	if (fault)
		configuration_sidecar_refuse(check, "nginx_key", fault);
	if (other)
		configuration_sidecar_refuse(check, "nginx_url", other);
	if (fault || other)
		return;
	fault = nginx_key_fault(&key, &url);
	if (fault)
		configuration_sidecar_refuse(check, "nginx_key", fault);
}

void config_sidecar_check(struct config *c, const struct config_check *check)
{
	assert(c && check->errors);
	configuration_sidecar_check_needs(c, check);
	configuration_sidecar_check_nginx(c, check);
	if (!c->sidecar)
		return;
	configuration_sidecar_check_store(c, check);
	c->slice_size = 0;
	c->handover_bytes = 0;
	c->warm_bytes = 0;
}
