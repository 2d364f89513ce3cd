/*
 * The module of nginx, called as nginx calls it: what it takes as a
 * configuration, which requests go to a peer's location and which to the next
 * candidate's, its variables, and requests without memory. What it calls of
 * nginx is played here.
 */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/shared_table.h"
#include "tests/codec/alloc.h"
#include "tests/modules/table_file.h"
#include "tests/os/still_clock.h"
#include "tests/unit.h"

#define HOST "www.example.com"
#define URL "http://" HOST "/1"

enum { MAX_BLOCKS = 64, MAX_WORDS = 3 };

extern ngx_module_t ngx_http_scd_module;

/* nginx */

ngx_module_t ngx_http_module = { .index = 0 };
ngx_module_t ngx_http_core_module = { .ctx_index = 1 };

/* All memory is of one pool; an allocation of which may fail. */
static ngx_pool_t pool;
static void *blocks[MAX_BLOCKS];
static size_t nblocks;
static unsigned fails_at; /* 1: the next; 0: none */

void *ngx_pcalloc(ngx_pool_t *p, size_t n)
{
	assert_ptr_equal(p, &pool);
	if (fails_at && !--fails_at)
		return NULL;
	assert_true(nblocks < MAX_BLOCKS);
	blocks[nblocks] = calloc(1, n ? n : 1);
	assert_non_null(blocks[nblocks]);
	return blocks[nblocks++];
}

void *ngx_pnalloc(ngx_pool_t *p, size_t n)
{
	return ngx_pcalloc(p, n);
}

ngx_pool_cleanup_t *ngx_pool_cleanup_add(ngx_pool_t *p, size_t n)
{
	ngx_pool_cleanup_t *c = ngx_pcalloc(p, sizeof(*c) + n);

	if (!c)
		return NULL;
	c->data = n ? c + 1 : NULL;
	c->next = p->cleanup;
	p->cleanup = c;
	return c;
}

/* A pool ends; what other ones have stays. */
static void pool_end(ngx_pool_cleanup_t *until)
{
	for (; pool.cleanup != until; pool.cleanup = pool.cleanup->next)
		pool.cleanup->handler(pool.cleanup->data);
}

static void pool_free(void)
{
	pool_end(NULL);
	while (nblocks)
		free(blocks[--nblocks]);
}

void *ngx_array_push(ngx_array_t *a)
{
	assert_int_equal(a->nelts, 0);
	a->elts = ngx_pcalloc(&pool, sizeof(ngx_http_handler_pt));
	a->nelts = a->elts != NULL;
	return a->elts;
}

/* The two formats that the module has. */
u_char *ngx_sprintf(u_char *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!strcmp(format, "@%T")) {
		out += sprintf((char *)out, "@%ld", (long)va_arg(args, time_t));
	} else {
		assert_string_equal(format, "http://%V%V");
		out += sprintf((char *)out, "http://");
		for (int i = 0; i < 2; i++) {
			const ngx_str_t *s = va_arg(args, const ngx_str_t *);

			memcpy(out, s->data, s->len);
			out += s->len;
		}
	}
	va_end(args);
	return out;
}

ngx_int_t ngx_atoi(u_char *text, size_t n)
{
	ngx_int_t value = 0;

	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return NGX_ERROR;
		value = value * 10 + (text[i] - '0');
	}
	return n ? value : NGX_ERROR;
}

static unsigned nwarnings;

void ngx_log_error_core(ngx_uint_t level, ngx_log_t *log, ngx_err_t err,
			const char *format, ...)
{
	(void)log;
	(void)format;
	nwarnings += level == NGX_LOG_WARN && err == ENOENT;
}

/* A text with variables has the value of its own. */
ngx_int_t ngx_http_complex_value(ngx_http_request_t *r,
				 ngx_http_complex_value_t *v, ngx_str_t *out)
{
	(void)r;
	*out = v->value;
	return NGX_OK;
}

static const ngx_str_t *directive_words(const ngx_conf_t *cf)
{
	return cf->args->elts;
}

char *ngx_http_set_complex_value_slot(ngx_conf_t *cf, ngx_command_t *command,
				      void *conf)
{
	ngx_http_complex_value_t *v = ngx_pcalloc(&pool, sizeof(*v));

	assert_non_null(v);
	v->value = directive_words(cf)[1];
	memcpy((char *)conf + command->offset, &v, sizeof(v));
	return NGX_CONF_OK;
}

char *ngx_conf_set_str_slot(ngx_conf_t *cf, ngx_command_t *command, void *conf)
{
	memcpy((char *)conf + command->offset, &directive_words(cf)[1],
	       sizeof(ngx_str_t));
	return NGX_CONF_OK;
}

static ngx_http_variable_t variables[2];
static size_t nvariables;

ngx_http_variable_t *ngx_http_add_variable(ngx_conf_t *cf, ngx_str_t *name,
					   ngx_uint_t flags)
{
	(void)cf;
	if (fails_at && !--fails_at)
		return NULL;
	variables[nvariables] = (ngx_http_variable_t){ .name = *name,
						       .flags = flags };
	return &variables[nvariables++];
}

/* Where the last request went on; null: where it was. */
static const char *place;
static unsigned nfinished;

ngx_int_t ngx_http_named_location(ngx_http_request_t *r, ngx_str_t *name)
{
	(void)r;
	place = (const char *)name->data;
	return NGX_DONE;
}

void ngx_http_finalize_request(ngx_http_request_t *r, ngx_int_t rc)
{
	(void)r;
	assert_int_equal(rc, NGX_DONE);
	nfinished++;
}

/* A server that was started with a configuration */

static ngx_http_core_main_conf_t core;
static void *main_conf[2], *loc_conf[2];
static ngx_http_conf_ctx_t conf_ctx = { .main_conf = main_conf,
					.loc_conf = loc_conf };
static ngx_conf_t cf = { .pool = &pool, .ctx = &conf_ctx };

static const ngx_http_module_t *module(void)
{
	return ngx_http_scd_module.ctx;
}

static ngx_str_t string_of(const char *text)
{
	return (ngx_str_t){ strlen(text), (u_char *)(uintptr_t)text };
}

/* A directive for a location; or for the server, at its start. Returns what is
 * wrong; null: nothing. */
static const char *set(void *location, const char *name, const char *word,
		       const char *more)
{
	ngx_str_t words[MAX_WORDS] = { string_of(name), string_of(word),
				       string_of(more ? more : "") };
	ngx_array_t args = { .elts = words, .nelts = more ? 3 : 2 };
	ngx_command_t *c = ngx_http_scd_module.commands;

	while (c->name.len && strcmp((char *)c->name.data, name) != 0)
		c++;
	assert_true(c->name.len > 0);
	cf.args = &args;
	return c->set(&cf, c, c->conf == NGX_HTTP_MAIN_CONF_OFFSET
				      ? main_conf[0]
				      : location);
}

static void *location_new(void)
{
	void *l = module()->create_loc_conf(&cf);

	assert_non_null(l);
	return l;
}

static void location_inherit(void *inner, void *outer)
{
	assert_ptr_equal(module()->merge_loc_conf(&cf, outer, inner),
			 NGX_CONF_OK);
}

static int set_up(void **state)
{
	(void)state;
	table_file_begin();
	ngx_http_scd_module.ctx_index = 0;
	memset(&core, 0, sizeof(core));
	main_conf[0] = module()->create_main_conf(&cf);
	main_conf[1] = &core;
	loc_conf[0] = location_new();
	nvariables = 0;
	nwarnings = nfinished = 0;
	return module()->preconfiguration(&cf) ||
	       module()->postconfiguration(&cf);
}

static int tear_down(void **state)
{
	(void)state;
	pool_free();
	table_file_end();
	return 0;
}

static void use_table(void)
{
	assert_ptr_equal(set(NULL, "scd_table", table_file_path, NULL),
			 NGX_CONF_OK);
}

/* A table where "a" is the best peer for the URL, then "b". */
static void put_table(void)
{
	table_file_put();
	table_file_name(0, "a", 1000);
	table_file_name(1, "b", 100000);
	table_file_add(0, URL);
	table_file_add(1, URL);
}

/* Requests */

struct request {
	ngx_http_request_t r;
	ngx_http_cache_t cache;
	ngx_pool_cleanup_t *before;
};

static void request_begin(struct request *q, ngx_uint_t method,
			  const char *target)
{
	memset(q, 0, sizeof(*q));
	q->before = pool.cleanup;
	q->r.pool = &pool;
	q->r.main = &q->r;
	q->r.main_conf = main_conf;
	q->r.loc_conf = loc_conf;
	q->r.method = method;
	q->r.unparsed_uri = string_of(target);
	q->r.headers_in.server = string_of(HOST);
}

static void request_end(struct request *q)
{
	pool_end(q->before);
}

/* The access phase in a location. Returns where it goes on; "": there. */
static const char *access_of(struct request *q, void *location)
{
	const ngx_http_handler_pt *handler =
		core.phases[NGX_HTTP_ACCESS_PHASE].handlers.elts;
	const unsigned finished = nfinished;
	ngx_int_t rc;

	loc_conf[0] = location;
	place = "";
	rc = (*handler)(&q->r);
	assert_int_equal(rc, *place ? NGX_DONE : NGX_DECLINED);
	assert_int_equal(nfinished - finished, *place != '\0');
	return place;
}

/* A GET of a target in a location. */
static const char *get(void *location, const char *target)
{
	struct request q;
	const char *where;

	request_begin(&q, NGX_HTTP_GET, target);
	where = access_of(&q, location);
	request_end(&q);
	return where;
}

static ngx_int_t variable(struct request *q, const char *name,
			  ngx_http_variable_value_t *v)
{
	memset(v, 0, sizeof(*v));
	for (size_t i = 0; i < nvariables; i++) {
		if (!strcmp((char *)variables[i].name.data, name))
			return variables[i].get_handler(&q->r, v, 0);
	}
	fail_msg("there is no $%s", name);
	return NGX_ERROR;
}

/* What $scd_peer says in a location; "": nothing. */
static const char *peer_of(struct request *q, void *location)
{
	ngx_http_variable_value_t v;

	loc_conf[0] = location;
	assert_int_equal(variable(q, "scd_peer", &v), NGX_OK);
	assert_true(v.not_found || v.len == strlen((char *)v.data));
	return v.not_found ? "" : (char *)v.data;
}

/* Configuration */

static void directives_are_checked(void **state)
{
	static const struct {
		const char *word;
		bool right;
	} rows[] = {
		{ "1", true }, { "4", true }, { "0", false }, { "5", false },
		{ "", false }, { "x", false }, { "-1", false },
	};
	void *l;

	(void)state;
	use_table();
	assert_string_equal(set(NULL, "scd_table", "other", NULL),
			    "is duplicate");
	for (size_t i = 0; i < NROWS(rows); i++) {
		const char *wrong;

		l = location_new();
		wrong = set(l, "scd_candidate", rows[i].word, NULL);
		if (rows[i].right)
			assert_ptr_equal(wrong, NGX_CONF_OK);
		else
			assert_string_equal(wrong,
					    "needs a number from 1 to 4");
	}
	l = location_new();
	assert_ptr_equal(set(l, "scd_candidate", "1", "@o"), NGX_CONF_OK);
	assert_string_equal(set(l, "scd_candidate", "2", "@o"),
			    "is duplicate");
}

static void a_worker_says_that_there_is_no_table(void **state)
{
	void *conf[] = { &conf_ctx };
	ngx_log_t log = { .log_level = NGX_LOG_WARN };
	ngx_cycle_t cycle = { .conf_ctx = (void ****)conf, .log = &log };

	(void)state;
	assert_int_equal(ngx_http_scd_module.init_process(&cycle), NGX_OK);
	assert_int_equal(nwarnings, 0); /* none is configured */
	use_table();
	assert_int_equal(ngx_http_scd_module.init_process(&cycle), NGX_OK);
	assert_int_equal(nwarnings, 1);
	put_table();
	assert_int_equal(ngx_http_scd_module.init_process(&cycle), NGX_OK);
	assert_int_equal(nwarnings, 1);
	conf[0] = NULL; /* there is no http {} */
	assert_int_equal(ngx_http_scd_module.init_process(&cycle), NGX_OK);
}

static void a_configuration_needs_memory(void **state)
{
	(void)state;
	fails_at = 1;
	assert_null(module()->create_main_conf(&cf));
	fails_at = 1;
	assert_null(module()->create_loc_conf(&cf));
	fails_at = 1;
	assert_ptr_equal(set(NULL, "scd_table", "path", NULL), NGX_CONF_ERROR);
	for (unsigned n = 2; n <= 3; n++) { /* behind what the pool takes */
		alloc_fail_at(n);
		assert_ptr_equal(set(NULL, "scd_table", "path", NULL),
				 NGX_CONF_ERROR);
		assert_true(alloc_failed());
	}
	alloc_fail_at(0);
	for (unsigned n = 1; n <= 2; n++) {
		nvariables = 0;
		fails_at = n;
		assert_int_equal(module()->preconfiguration(&cf), NGX_ERROR);
	}
	core.phases[NGX_HTTP_ACCESS_PHASE].handlers.nelts = 0;
	fails_at = 1;
	assert_int_equal(module()->postconfiguration(&cf), NGX_ERROR);
	assert_int_equal(core.phases[NGX_HTTP_ACCESS_PHASE].handlers.nelts, 0);
}

/* Requests */

static void only_what_a_peer_may_have_is_routed(void **state)
{
	static const struct {
		const char *label, *target;
		ngx_uint_t method;
		bool authorized, sub, routed;
	} rows[] = {
		{ "GET", "/1", NGX_HTTP_GET, false, false, true },
		{ "HEAD", "/1", NGX_HTTP_HEAD, false, false, true },
		{ "POST", "/1", NGX_HTTP_POST, false, false, false },
		{ "Authorization", "/1", NGX_HTTP_GET, true, false, false },
		{ "a subrequest", "/1", NGX_HTTP_GET, false, true, false },
		{ "what no peer has", "/2", NGX_HTTP_GET, false, false, false },
	};
	void *l = loc_conf[0];

	(void)state;
	use_table();
	put_table();
	assert_ptr_equal(set(l, "scd_route", "@peer", NULL), NGX_CONF_OK);
	location_inherit(l, location_new());
	for (size_t i = 0; i < NROWS(rows); i++) {
		ngx_table_elt_t authorization = { .hash = 1 };
		struct request q, outer;

		request_begin(&outer, NGX_HTTP_GET, "/");
		request_begin(&q, rows[i].method, rows[i].target);
		if (rows[i].authorized)
			q.r.headers_in.authorization = &authorization;
		if (rows[i].sub)
			q.r.main = &outer.r;
		if (strcmp(access_of(&q, l), rows[i].routed ? "@peer" : ""))
			fail_msg("%s", rows[i].label);
		request_end(&q);
	}
	still_clock_ms += SCD_SHARED_TABLE_SILENT_MS + 1;
	assert_string_equal(get(l, "/1"), ""); /* nobody writes it */
}

/* Without a table, and in a location without directives. */
static void others_stay_where_they_are(void **state)
{
	void *l = loc_conf[0], *bare = location_new();

	(void)state;
	assert_ptr_equal(set(l, "scd_route", "@peer", NULL), NGX_CONF_OK);
	location_inherit(bare, l); /* routes are not inherited */
	location_inherit(l, location_new());
	put_table();
	assert_string_equal(get(l, "/1"), "");
	use_table();
	assert_string_equal(get(l, "/1"), "@peer");
	assert_string_equal(get(bare, "/1"), "");
}

/* From a candidate's location to that of the next one; whatever the table says
 * meanwhile, each stays what it was. */
static void a_request_goes_through_its_candidates(void **state)
{
	static const char *const numbers[] = { "1", "2", "3" };
	static const char *const peers[] = { "a", "b", "" };
	void *locations[3];
	struct request q;

	(void)state;
	use_table();
	put_table();
	for (unsigned i = 0; i < 3; i++) {
		locations[i] = location_new();
		assert_ptr_equal(set(locations[i], "scd_candidate", numbers[i],
				     "@origin"), NGX_CONF_OK);
		location_inherit(locations[i], location_new());
	}
	request_begin(&q, NGX_HTTP_GET, "/1");
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(access_of(&q, locations[i]),
				    i < 2 ? "" : "@origin");
		assert_string_equal(peer_of(&q, locations[i]), peers[i]);
		table_file_name(i, NULL, 0);
	}
	request_end(&q);
	assert_string_equal(get(locations[0], "/1"), "@origin");
}

/* The peer of a location that is none of a candidate is the first one. */
static void the_url_is_what_the_configuration_says(void **state)
{
	void *outer = loc_conf[0], *inner = location_new();
	struct request q;

	(void)state;
	use_table();
	put_table();
	assert_ptr_equal(set(outer, "scd_url", URL, NULL), NGX_CONF_OK);
	location_inherit(inner, outer);
	request_begin(&q, NGX_HTTP_GET, "/other");
	assert_string_equal(peer_of(&q, inner), "a");
	request_end(&q);
	assert_ptr_equal(set(inner, "scd_url", "no URL", NULL), NGX_CONF_OK);
	request_begin(&q, NGX_HTTP_GET, "/1");
	assert_string_equal(peer_of(&q, inner), "");
	request_end(&q);
}

static void what_is_cached_expires(void **state)
{
	ngx_http_variable_value_t v;
	struct request q;

	(void)state;
	request_begin(&q, NGX_HTTP_GET, "/1");
	assert_int_equal(variable(&q, "scd_expires", &v), NGX_OK);
	assert_true(v.not_found);
	q.r.cache = &q.cache;
	assert_int_equal(variable(&q, "scd_expires", &v), NGX_OK);
	assert_true(v.not_found);
	q.cache.valid_sec = 1234567890;
	assert_int_equal(variable(&q, "scd_expires", &v), NGX_OK);
	assert_false(v.not_found);
	assert_int_equal(v.len, 11);
	assert_memory_equal(v.data, "@1234567890", 11);
	fails_at = 1;
	assert_int_equal(variable(&q, "scd_expires", &v), NGX_ERROR);
	assert_true(v.not_found);
	request_end(&q);
}

/* Without memory for the answer, or for the URL, no peer is asked. */
static void requests_without_memory_go_to_the_origin(void **state)
{
	void *route = loc_conf[0], *candidate = location_new();
	ngx_http_variable_value_t v;
	struct request q;

	(void)state;
	use_table();
	put_table();
	assert_ptr_equal(set(route, "scd_route", "@peer", NULL), NGX_CONF_OK);
	location_inherit(route, location_new());
	assert_ptr_equal(set(candidate, "scd_candidate", "1", "@origin"),
			 NGX_CONF_OK);
	location_inherit(candidate, location_new());
	for (unsigned n = 1; n <= 2; n++) {
		fails_at = n;
		assert_string_equal(get(route, "/1"), "");
		fails_at = n;
		assert_string_equal(get(candidate, "/1"), "@origin");
		assert_int_equal(fails_at, 0);
	}
	assert_string_equal(get(route, "/1"), "@peer");
	request_begin(&q, NGX_HTTP_GET, "/1");
	fails_at = 1;
	assert_int_equal(variable(&q, "scd_peer", &v), NGX_ERROR);
	request_end(&q);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(directives_are_checked),
		TEST(a_worker_says_that_there_is_no_table),
		TEST(a_configuration_needs_memory),
		TEST(only_what_a_peer_may_have_is_routed),
		TEST(others_stay_where_they_are),
		TEST(a_request_goes_through_its_candidates),
		TEST(the_url_is_what_the_configuration_says),
		TEST(what_is_cached_expires),
		TEST(requests_without_memory_go_to_the_origin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
