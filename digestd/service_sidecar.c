/*
 * The service beside another cache: what that holds is published in place of
 * what the node stores, which is nothing.
 */
#include "digestd/admin/node_status.h"
#include "digestd/config/configuration.h"
#include "digestd/part_settings.h"
#include "digestd/service_inside.h"
#include "digestd/peers/squid_digest.h"
#include "digestd/peers/table_share.h"
#include "digestd/sidecar/sidecar.h"

int service_start_sidecar(struct service *s)
{
	const struct sidecar_settings settings =
		part_settings_of_sidecar(s->config);

	return s->config->sidecar ? sidecar_new(&settings, &s->sidecar) : 0;
}

struct publisher_source service_holds_source(const struct service *s)
{
	return s->sidecar ? holdings_source(sidecar_holdings(s->sidecar)) :
			    publisher_of_cache(s->cache);
}

int service_start_squid(struct service *s)
{
	struct squid_source source;

	if (!s->config->squid_peers || !s->config->listen_peer)
		return 0;
	source = s->sidecar ?
			 holdings_squid_source(sidecar_holdings(s->sidecar)) :
			 squid_source_of_cache(s->cache);
	return squid_digest_new(s->loop, &source, s->config->squid_period_ms,
				&s->squid);
}

int service_start_share(struct service *s)
{
	const struct table_share_settings settings =
		part_settings_of_share(s->config);

	if (!settings.path)
		return 0;
	return table_share_new(s->loop, &settings, &s->share);
}

void service_sidecar_status(const struct service *s, struct node_status *out)
{
	out->has_squid = s->squid;
	if (s->squid)
		squid_digest_stats(s->squid, &out->squid);
	out->has_share = s->share;
	if (s->share)
		table_share_stats(s->share, &out->share);
	out->has_sidecar = s->sidecar;
	if (!s->sidecar)
		return;
	sidecar_stats(s->sidecar, &out->sidecar);
	holdings_catalog_stats(sidecar_holdings(s->sidecar), &out->catalog);
}
