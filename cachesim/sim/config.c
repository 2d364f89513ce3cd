/*
 * What a cluster may be configured as: defaults, and what does not go.
 */
#include "cachesim/sim/cluster.h"

enum {
	DEFAULT_PROXIES = 4,
	DEFAULT_CAPACITY_PPM = 100000,
	DEFAULT_SHARE_PPM = 10000,
	DEFAULT_PREFIX_BITS = 96 + 24, /* of a mapped IPv4 address */
	MILLION = 1000000,
};

void sim_config_init(struct sim_config *c)
{
	*c = (struct sim_config){
		.nproxies = DEFAULT_PROXIES,
		.partition = SIM_BY_CLIENT,
		.prefix_bits = DEFAULT_PREFIX_BITS,
		.capacity_ppm = DEFAULT_CAPACITY_PPM,
		.tries = 1,
		.publish = { .share_ppm = DEFAULT_SHARE_PPM },
		.latency = { .local = 1000, .peer = 2000, .origin = 100000 },
		.epoch = 1,
		.seed = 1,
	};
	admission_defaults(&c->admission_options);
}

void sim_config_use(struct sim_config *c, const struct protocol *protocol)
{
	c->protocol = protocol;
	c->publish = (struct sim_publish){ .share_ppm = DEFAULT_SHARE_PPM };
	if (protocol->period_s)
		c->publish = (struct sim_publish){
			.period_s = protocol->period_s
		};
}

/* Whether what a proxy keeps depends on what others have. */
static bool config_depends_on_peers(const struct sim_config *c,
				    enum protocol_way way)
{
	switch (c->placement) {
	case PLACEMENT_KEEP:
	case PLACEMENTS:
		return c->peer_use && way != PROTOCOL_ALONE;
	case PLACEMENT_SECOND:
	case PLACEMENT_SINGLE:
	case PLACEMENT_SINGLE_SEEN:
	case PLACEMENT_AUTO:
		return way != PROTOCOL_ALONE;
	case PLACEMENT_SINGLE_SHARED:
		break;
	}
	return true;
}

enum sim_spread_way sim_config_spread(const struct sim_config *c)
{
	enum protocol_way way =
		c->protocol ? c->protocol->way : PROTOCOL_ALONE;

	if (c->nproxies < 2 || c->nproxies > SIM_MAX_SPREAD ||
	    way == PROTOCOL_ONE ||
	    (c->admission && c->admission_shared))
		return SPREAD_NOT;
	if (way == PROTOCOL_OWNER)
		return SPREAD_APART;
	if (config_depends_on_peers(c, way))
		return c->epoch > 1 ? SPREAD_EPOCHS : SPREAD_NOT;
	return way == PROTOCOL_ALONE ? SPREAD_APART : SPREAD_DEFERRED;
}

static const char *config_fault_of_number(const struct sim_config *c)
{
	return c->nproxies < 1 || c->nproxies > SIM_MAX_PROXIES
		       ? "the number of proxies is not 1 to 1024"
		       : NULL;
}

static const char *config_fault_of_cluster(const struct sim_config *c)
{
	if (config_fault_of_number(c))
		return config_fault_of_number(c);
	if (c->partition >= SIM_PARTITIONS)
		return "no such partition";
	if (c->prefix_bits < 1 || c->prefix_bits > 8 * SIM_ADDRESS_BYTES)
		return "the prefix is not 1 to 128 bits long";
	if (c->placement >= PLACEMENTS)
		return "no such placement";
	if (!c->capacity && !c->capacity_ppm)
		return "the caches have no capacity";
	if (c->warmup_ppm >= MILLION)
		return "nothing is left after the warm-up";
	return NULL;
}

static bool config_uses_time(const struct sim_config *c)
{
	return c->publish.period_s || c->transport.delay_s;
}

static const char *config_fault_of_warmup(const struct sim_config *c,
					  const struct sim_trace *t)
{
	if (c->warmup_s && !t->time)
		return "the trace has no times to warm up by";
	if (c->warmup_s && sim_config_warm(c, t) == t->nrequests)
		return "nothing is left after the warm-up";
	return NULL;
}

static const char *config_fault_of_protocol(const struct sim_config *c,
					    const struct sim_trace *t)
{
	if (c->protocol && c->protocol->servers && !c->server)
		return "the servers of the objects are not known";
	if (c->protocol && c->protocol->way == PROTOCOL_SUMMARY &&
	    config_uses_time(c) && !t->time)
		return "the trace has no times to publish by";
	if (c->transport.loss_ppm > MILLION)
		return "more publications are lost than are sent";
	if (c->digest.form >= PROTOCOL_FORMS)
		return "no such form of digests";
	return NULL;
}

const char *sim_config_fault(const struct sim_config *c,
			     const struct sim_trace *t)
{
	const char *fault = config_fault_of_cluster(c);

	if (!fault)
		fault = config_fault_of_warmup(c, t);
	return fault ? fault : config_fault_of_protocol(c, t);
}
