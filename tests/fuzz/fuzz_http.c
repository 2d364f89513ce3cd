/*
 * Any bytes as a message: the first line a method and a target, the others
 * fields. It goes through the guard, and then, accepted or not, through all
 * that a proxy asks of a request and of a response.
 */
#include <string.h>

#include "codec/uri.h"
#include "digestd/http/cachecontrol.h"
#include "digestd/http/cachestatus.h"
#include "digestd/http/conditional.h"
#include "digestd/http/fields.h"
#include "digestd/http/forward.h"
#include "digestd/http/freshness.h"
#include "digestd/http/guard.h"
#include "digestd/http/range.h"
#include "digestd/http/response_facts.h"
#include "digestd/http/storable.h"
#include "digestd/http/target.h"
#include "digestd/http/vary.h"
#include "digestd/http/via.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_INPUT = 4096, NOW_S = 1795234263 };

struct message {
	char text[MAX_INPUT + 1];
	const char *method, *target;
	struct fields fields;
};

/* Cuts the text at its lines, and those at their first blank or colon. */
static void parse(struct message *m)
{
	char *rest = m->text, *line = strsep(&rest, "\n");

	fields_init(&m->fields);
	m->method = strsep(&line, " ");
	m->target = line ? line : "";
	while (rest) {
		char *value = strsep(&rest, "\n");
		char *name = strsep(&value, ":");

		if (value && fields_add(&m->fields, name, value))
			abort();
	}
}

static void try_target(const struct message *m)
{
	struct target t;
	char again[2 * MAX_INPUT];

	if (target_resolve(&t, m->target, strlen(m->target),
			   fields_get(&m->fields, "Host")))
		return;
	fuzz_must(t.path >= t.host + t.host_len && *t.path == '/');
	fuzz_must(scd_uri_canonical(t.uri, t.uri_len, again, sizeof(again),
				    NULL) == SCD_OK);
	fuzz_must(!strcmp(again, t.uri));
	for (size_t i = 0; i < fields_count(&m->fields); i++) {
		char *uri;

		if (!target_same_origin(&t, fields_at(&m->fields, i)->value,
					&uri))
			free(uri);
	}
	target_free(&t);
}

static void try_range(const struct fields *fields, size_t len)
{
	struct range part;
	char text[RANGE_TEXT];

	if (range_select(fields, fields, len, &part) != RANGE_PART)
		return;
	fuzz_must(part.len > 0 && part.len <= len);
	fuzz_must(part.first <= len - part.len);
	range_text(&part, len, text);
}

static void try_response(const struct fields *fields)
{
	struct exchange_times times = { NOW_S, NOW_S + 1, 0, NULL };
	struct cachecontrol cc;
	struct response_facts facts;
	struct freshness f;
	struct fields out;

	cachecontrol_request(fields, &cc);
	response_facts_read(&facts, 200, fields, "cache1");
	freshness_init(&f, &facts, &times);
	fuzz_must(freshness_age(&f, NOW_S + 10) >= 0);
	if (freshness_reuse(&f, &cc, NOW_S + 10) == REUSE_FRESH)
		fuzz_must(freshness_left(&f, NOW_S + 10) > 0);
	storable("GET", fields, &facts);
	conditional_not_modified(fields, fields, NOW_S);
	try_range(fields, 0);
	try_range(fields, 1000);
	fuzz_must(!conditional_304_fields(fields, &out));
	fields_free(&out);
	if (vary_select(fields, fields, &out))
		fuzz_must(vary_any(fields));
	else
		fuzz_must(vary_match(&out, fields));
	fields_free(&out);
	fuzz_must(!fields_copy(fields, &out));
	fuzz_must(!conditional_update(fields, &out));
	fields_free(&out);
}

static void try_forward(const struct fields *fields)
{
	struct forward_request how = { "node", "host", 1, false, NULL };
	struct cachestatus status = { .node = "node", .ttl_s = -1,
				      .detail = fields_get(fields, "X") };
	struct fields out;

	fuzz_must(!forward_to_peer(fields, &how, "token", &out));
	fuzz_must(fields_lines(&out, "Host") == 1);
	fuzz_must(fields_lines(&out, "Cache-Control") == 1);
	fuzz_must(fields_lines(&out, "Proxy-Authorization") == 1);
	fields_free(&out);
	fuzz_must(!forward_to_origin(fields, &how, &out));
	fuzz_must(via_loops(&out, "node"));
	for (size_t i = 0; i < fields_count(&out); i++)
		fuzz_must(!field_is_hop_by_hop(fields_at(&out, i)->name,
					       fields_at(&out, i)->name_len));
	status.fwd = cachestatus_fwd_nearest(fields);
	fuzz_must(!cachestatus_append(&out, &status));
	fuzz_must(cachestatus_fwd_nearest(&out) == status.fwd);
	fields_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct message m;
	struct guard_request r = { .minor = 1, .fields = &m.fields };

	if (len > MAX_INPUT)
		return 0;
	memcpy(m.text, data, len);
	m.text[len] = '\0';
	parse(&m);
	r.method = m.method;
	r.target = m.target;
	r.target_len = strlen(m.target);
	guard_check(&r);
	try_target(&m);
	try_response(&m.fields);
	try_forward(&m.fields);
	fields_free(&m.fields);
	return 0;
}
