/*
 * Options that do nothing without another one: a row each.
 */
#include "digestd/config/configuration_needs.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "digestd/config/configuration_check.h"

struct configuration_need {
	const char *option, *needed;
	bool there;
};

/* A list is none if it is empty, as that of no addresses. */
static bool configuration_needs_is_given(const char *text)
{
	return text && *text;
}

void config_needs_check(const struct config *c,
			const struct config_check *check)
{
	/* as it is unset, that depends on the disk */
	const bool admits = c->admission ? strcmp(c->admission, "none") != 0
					 : c->disk_path != NULL;
	/* clang-format off */
	const struct configuration_need needs[] = {
		{ "disk_size", "disk_path", c->disk_path },
		{ "disk_queue", "disk_path", c->disk_path },
		{ "access_log_format", "access_log", c->access_log },
		{ "client_burst", "client_rate", c->client_rate },
		{ "forward_private", "forward", c->forward },
		{ "http2_streams", "http2", c->http2 || c->http2_plain },
		{ "peer_addresses", "listen_peer", c->listen_peer },
		{ "publish_share", "listen_peer", c->listen_peer },
		{ "publish_min", "listen_peer", c->listen_peer },
		{ "publish_max", "listen_peer", c->listen_peer },
		{ "keep_generations", "listen_peer", c->listen_peer },
		{ "peer_url", "listen_peer", c->listen_peer },
		{ "admin_addresses", "listen_admin", c->listen_admin },
		{ "members_interval", "members", c->members },
		{ "squid_period", "squid_peers",
		  configuration_needs_is_given(c->squid_peers) },
		{ "admission_window", "admission", admits },
		{ "admission_ram", "admission", admits },
		{ "admission_file", "admission", admits },
		{ "lease_wait", "leases", c->leases },
		{ "origin_check_interval", "origin_check", c->origin_check },
		{ "origin_check_status", "origin_check", c->origin_check },
	};
	/* clang-format on */

	assert(check->warnings);
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (needs[i].there || !config_check_line(check,
							 needs[i].option))
			continue;
		config_report_option(check, needs[i].option, check->warnings);
		config_report(check->warnings, "has no effect without %s\n",
			      needs[i].needed);
	}
}
