/*
 * Tunnels: an origin has agreed to change protocols with a client (101,
 * RFC 9110, 7.8). What it sends is passed on like a body without an end, what
 * the client says like an upload; each has a small window here, and whoever
 * does not take what there is makes the other wait.
 */
#include "digestd/http/upgrade.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

bool fill_tunnel_is_allowed(const struct fill *f, const struct fields *fields)
{
	return upgrade_chosen(&f->in, fields);
}

int fill_tunnel_begin(struct fill *f, const char *protocol)
{
	/* the field is the connection's, so that it has been dropped */
	if (fields_add(&f->response, "Upgrade", protocol))
		return -1;
	f->tunnel = true;
	worker_add(&f->worker->counters.tunnels, 1);
	return 0;
}

void fill_tunnel_half_close(void *arg, struct fetch *fetch)
{
	struct fill *f = arg;

	(void)fetch;
	f->tunnel_half = true;
	if (f->client)
		exchange_wake(f->client->x);
}

void fill_tunnel_count(struct fill *f, size_t len)
{
	if (f->tunnel)
		worker_add(&f->worker->counters.tunnel_bytes, len);
}

void fill_tunnel_end(struct fill *f)
{
	if (f->tunnel)
		worker_add(&f->worker->counters.tunnels_ended, 1);
	f->tunnel = false;
}
