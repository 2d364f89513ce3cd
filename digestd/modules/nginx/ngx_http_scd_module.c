/*
 * nginx finds in digestd's share_table which peer to ask for what it has not in
 * its own cache:
 *
 *   scd_table PATH;           http: the file of share_table
 *   scd_url TEXT;             http, server, location: the URL that is looked
 *                             up; default http://$host$request_uri
 *   scd_route @NAME;          location: what a peer may have goes there
 *   scd_candidate N [@NAME];  location: $scd_peer is the Nth peer that may have
 *                             it, the best one being the first; where there is
 *                             no such peer, the request goes to @NAME
 *
 *   $scd_peer                 the name of that peer, as digestd's configuration
 *                             has it: an upstream of this name is asked
 *   $scd_expires              for X-Accel-Expires, at the listener where peers
 *                             ask: until when what comes from the cache is
 *                             fresh, as nginx tells no Age
 *
 * Only GET and HEAD without Authorization are routed, and no subrequests.
 * digestd(8) has the configuration, and what it promises.
 *
 * It works in the access phase, where a request may go to another location; so
 * the lookup is paid for hits of the own cache, too. It is made once for a
 * request: whatever the table says later, each of its candidates stays.
 */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "digestd/modules/table_map.h"

struct scd_main {
	ngx_str_t path;
	struct table_map *map; /* null: no scd_table */
};

struct scd_location {
	ngx_http_complex_value_t *url; /* null: the default */
	ngx_str_t route;
	ngx_uint_t candidate; /* from 1 on; 0: it is no place for one */
	ngx_str_t otherwise;
};

extern ngx_module_t ngx_http_scd_module;

/* What is known of a request */

/* A cleanup, as it outlives the redirects that clear a module's context. */
static void ngx_http_scd_forget(void *peers)
{
	(void)peers;
}

static struct table_map_peers *ngx_http_scd_known(ngx_http_request_t *r)
{
	for (ngx_pool_cleanup_t *c = r->pool->cleanup; c; c = c->next) {
		if (c->handler == ngx_http_scd_forget)
			return c->data;
	}
	return NULL;
}

/* The URL of a request, by which digests know it. */
static ngx_int_t ngx_http_scd_url(ngx_http_request_t *r, ngx_str_t *out)
{
	const struct scd_location *l =
		ngx_http_get_module_loc_conf(r, ngx_http_scd_module);
	const ngx_str_t *host = &r->headers_in.server;

	if (l->url)
		return ngx_http_complex_value(r, l->url, out);
	out->data = ngx_pnalloc(r->pool, sizeof("http://") + host->len +
						 r->unparsed_uri.len);
	if (!out->data)
		return NGX_ERROR;
	out->len = (size_t)(ngx_sprintf(out->data, "http://%V%V", host,
					&r->unparsed_uri) -
			    out->data);
	return NGX_OK;
}

/* The peers that may have what is asked for; null: no memory. */
static const struct table_map_peers *ngx_http_scd_peers(ngx_http_request_t *r)
{
	struct scd_main *m =
		ngx_http_get_module_main_conf(r, ngx_http_scd_module);
	struct table_map_peers *peers = ngx_http_scd_known(r);
	ngx_pool_cleanup_t *c;
	ngx_str_t url;

	if (peers)
		return peers;
	c = ngx_pool_cleanup_add(r->pool, sizeof(*peers));
	if (!c)
		return NULL;
	peers = c->data;
	peers->n = 0;
	c->handler = ngx_http_scd_forget;
	if (m->map && ngx_http_scd_url(r, &url) == NGX_OK)
		table_map_lookup(m->map, (const char *)url.data, url.len,
				 peers);
	return peers;
}

/* Variables */

static ngx_int_t ngx_http_scd_peer(ngx_http_request_t *r,
				   ngx_http_variable_value_t *v, uintptr_t data)
{
	const struct scd_location *l =
		ngx_http_get_module_loc_conf(r, ngx_http_scd_module);
	const struct table_map_peers *peers = ngx_http_scd_peers(r);
	const size_t i = l->candidate ? l->candidate - 1 : 0;

	(void)data;
	if (!peers)
		return NGX_ERROR;
	v->not_found = i >= peers->n;
	if (v->not_found)
		return NGX_OK;
	v->data = (u_char *)(uintptr_t)peers->names[i];
	v->len = (unsigned)ngx_strlen(v->data) & 0xfffffff;
	v->valid = 1;
	v->no_cacheable = 1;
	return NGX_OK;
}

static ngx_int_t ngx_http_scd_expires(ngx_http_request_t *r,
				      ngx_http_variable_value_t *v,
				      uintptr_t data)
{
	u_char *text;

	(void)data;
	v->not_found = 1;
#if (NGX_HTTP_CACHE)
	if (!r->cache || !r->cache->valid_sec)
		return NGX_OK;
	text = ngx_pnalloc(r->pool, NGX_TIME_T_LEN + 1);
	if (!text)
		return NGX_ERROR;
	v->data = text;
	v->len = (unsigned)(ngx_sprintf(text, "@%T", r->cache->valid_sec) -
			    text) & 0xfffffff;
	v->not_found = 0;
	v->valid = 1;
	v->no_cacheable = 1;
#else
	(void)r;
	(void)text;
#endif
	return NGX_OK;
}

static ngx_http_variable_t ngx_http_scd_variables[] = {
	{ .name = ngx_string("scd_peer"),
	  .get_handler = ngx_http_scd_peer,
	  .flags = NGX_HTTP_VAR_NOCACHEABLE },
	{ .name = ngx_string("scd_expires"),
	  .get_handler = ngx_http_scd_expires,
	  .flags = NGX_HTTP_VAR_NOCACHEABLE },
	ngx_http_null_variable
};

static ngx_int_t ngx_http_scd_add_variables(ngx_conf_t *cf)
{
	for (ngx_http_variable_t *v = ngx_http_scd_variables; v->name.len;
	     v++) {
		ngx_http_variable_t *added =
			ngx_http_add_variable(cf, &v->name, v->flags);

		if (!added)
			return NGX_ERROR;
		added->get_handler = v->get_handler;
	}
	return NGX_OK;
}

/* The access phase */

/* Where a request goes on; null: where it is. */
static ngx_str_t *ngx_http_scd_place(ngx_http_request_t *r)
{
	struct scd_location *l =
		ngx_http_get_module_loc_conf(r, ngx_http_scd_module);
	const struct table_map_peers *peers;

	if (!l->route.len && !l->otherwise.len)
		return NULL;
	peers = ngx_http_scd_peers(r);
	if (l->route.len)
		return peers && peers->n ? &l->route : NULL;
	return peers && peers->n >= l->candidate ? NULL : &l->otherwise;
}

static ngx_int_t ngx_http_scd_access(ngx_http_request_t *r)
{
	ngx_str_t *place;

	if (r != r->main || r->headers_in.authorization ||
	    !(r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)))
		return NGX_DECLINED;
	place = ngx_http_scd_place(r);
	if (!place)
		return NGX_DECLINED;
	(void)ngx_http_named_location(r, place);
	ngx_http_finalize_request(r, NGX_DONE); /* gives back its count */
	return NGX_DONE;
}

static ngx_int_t ngx_http_scd_add_handler(ngx_conf_t *cf)
{
	ngx_http_core_main_conf_t *core =
		ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
	ngx_http_handler_pt *handler = ngx_array_push(
		&core->phases[NGX_HTTP_ACCESS_PHASE].handlers);

	if (!handler)
		return NGX_ERROR;
	*handler = ngx_http_scd_access;
	return NGX_OK;
}

/* Configuration */

/* What is wrong with a directive, as nginx takes it: it changes no text. */
static char *ngx_http_scd_fault(const char *text)
{
	return (char *)(uintptr_t)text;
}

static void ngx_http_scd_free_map(void *data)
{
	struct scd_main *m = data;

	table_map_free(&m->map);
}

static char *ngx_http_scd_set_table(ngx_conf_t *cf, ngx_command_t *command,
				    void *conf)
{
	struct scd_main *m = conf;
	const ngx_str_t *words = cf->args->elts;
	ngx_pool_cleanup_t *c;

	(void)command;
	if (m->map)
		return ngx_http_scd_fault("is duplicate");
	c = ngx_pool_cleanup_add(cf->pool, 0);
	if (!c)
		return NGX_CONF_ERROR;
	m->path = words[1]; /* nginx ends it with a NUL */
	m->map = table_map_new((const char *)m->path.data);
	c->handler = ngx_http_scd_free_map;
	c->data = m;
	return m->map ? NGX_CONF_OK : NGX_CONF_ERROR;
}

static char *ngx_http_scd_set_candidate(ngx_conf_t *cf, ngx_command_t *command,
					void *conf)
{
	struct scd_location *l = conf;
	const ngx_str_t *words = cf->args->elts;
	const ngx_int_t n = ngx_atoi(words[1].data, words[1].len);

	(void)command;
	if (l->candidate)
		return ngx_http_scd_fault("is duplicate");
	if (n < 1 || n > TABLE_MAP_PEERS)
		return ngx_http_scd_fault("needs a number from 1 to 4");
	l->candidate = (ngx_uint_t)n;
	if (cf->args->nelts > 2)
		l->otherwise = words[2];
	return NGX_CONF_OK;
}

/* Each worker looks once, to say what is wrong; lookups go on looking. */
static ngx_int_t ngx_http_scd_start(ngx_cycle_t *cycle)
{
	struct scd_main *m =
		ngx_http_cycle_get_module_main_conf(cycle, ngx_http_scd_module);
	int err;

	if (!m || !m->map)
		return NGX_OK;
	err = table_map_open(m->map);
	if (err)
		ngx_log_error(NGX_LOG_WARN, cycle->log, (ngx_err_t)-err,
			      "scd_table \"%V\": no table yet; no peer is "
			      "asked until there is one", &m->path);
	return NGX_OK;
}

static void *ngx_http_scd_new_main(ngx_conf_t *cf)
{
	return ngx_pcalloc(cf->pool, sizeof(struct scd_main));
}

static void *ngx_http_scd_new_location(ngx_conf_t *cf)
{
	struct scd_location *l = ngx_pcalloc(cf->pool, sizeof(*l));

	if (l)
		l->url = NGX_CONF_UNSET_PTR;
	return l;
}

/* Routes are of one location: what they lead to is inside it, too. */
static char *ngx_http_scd_merge(ngx_conf_t *cf, void *parent, void *child)
{
	const struct scd_location *outer = parent;
	struct scd_location *inner = child;

	(void)cf;
	ngx_conf_merge_ptr_value(inner->url, outer->url, NULL);
	return NGX_CONF_OK;
}

static ngx_command_t ngx_http_scd_commands[] = {
	{ ngx_string("scd_table"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1,
	  ngx_http_scd_set_table, NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL },
	{ ngx_string("scd_url"),
	  NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF |
		  NGX_CONF_TAKE1,
	  ngx_http_set_complex_value_slot, NGX_HTTP_LOC_CONF_OFFSET,
	  offsetof(struct scd_location, url), NULL },
	{ ngx_string("scd_route"), NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1,
	  ngx_conf_set_str_slot, NGX_HTTP_LOC_CONF_OFFSET,
	  offsetof(struct scd_location, route), NULL },
	{ ngx_string("scd_candidate"), NGX_HTTP_LOC_CONF | NGX_CONF_TAKE12,
	  ngx_http_scd_set_candidate, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL },
	ngx_null_command
};

static ngx_http_module_t ngx_http_scd_context = {
	.preconfiguration = ngx_http_scd_add_variables,
	.postconfiguration = ngx_http_scd_add_handler,
	.create_main_conf = ngx_http_scd_new_main,
	.create_loc_conf = ngx_http_scd_new_location,
	.merge_loc_conf = ngx_http_scd_merge,
};

ngx_module_t ngx_http_scd_module = {
	NGX_MODULE_V1,
	.ctx = &ngx_http_scd_context,
	.commands = ngx_http_scd_commands,
	.type = NGX_HTTP_MODULE,
	.init_process = ngx_http_scd_start,
	NGX_MODULE_V1_PADDING,
};

/* What nginx looks for in a file that it loads; its configure script makes a
 * source of this otherwise. */
extern ngx_module_t *ngx_modules[];
extern char *ngx_module_names[];
extern char *ngx_module_order[];
ngx_module_t *ngx_modules[] = { &ngx_http_scd_module, NULL };
char *ngx_module_names[] = { (char *)(uintptr_t)"ngx_http_scd_module", NULL };
char *ngx_module_order[] = { NULL };
