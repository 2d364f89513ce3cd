/*
 * The fetcher: looks at requests, and gives them to its way.
 */
#include "digestd/fetch/fetch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/fetch/fetch_way.h"

static const struct fetch_way *const ways[] = {
	[FETCHER_DATA] = &fetch_way_http,
	[FETCHER_EXCHANGE] = &fetch_way_curl,
};

struct fetcher {
	const struct fetch_way *way;
	struct fetch_means *means;
};

int fetch_global_init(void)
{
	return fetch_curl_global_init();
}

int fetcher_new(struct loop *loop, enum fetcher_use use,
		unsigned max_per_host, struct fetcher **out)
{
	struct fetcher *f = calloc(1, sizeof(*f));
	int err;

	assert(loop);
	if (!f)
		return -ENOMEM;
	f->way = ways[use];
	err = f->way->open(loop, max_per_host, &f->means);
	if (err)
		free(f);
	else
		*out = f;
	return err;
}

void fetcher_public_only(struct fetcher *fetcher)
{
	fetcher->way->public_only(fetcher->means);
}

void fetcher_warm(struct fetcher *fetcher, const char *url,
		  struct tls_client *tls, unsigned connect_ms, unsigned n)
{
	assert(fetcher->way->warm && connect_ms > 0);
	fetcher->way->warm(fetcher->means, url, tls, connect_ms, n);
}

void fetcher_free(struct fetcher **fetcher)
{
	struct fetcher *f = *fetcher;

	*fetcher = NULL;
	if (f)
		f->way->close(f->means);
	free(f);
}

void fetch_list(struct fetch **list, struct fetch *f)
{
	assert(!f->link);
	f->next = *list;
	f->link = list;
	if (f->next)
		f->next->link = &f->next;
	*list = f;
}

void fetch_unlist(struct fetch *f)
{
	if (!f->link)
		return;
	*f->link = f->next;
	if (f->next)
		f->next->link = f->link;
	f->link = NULL;
}

/* With underscores, too: some origins read these as hyphens. */
static bool fetch_has_name(const struct field *field, const char *lower)
{
	const size_t len = strlen(lower);

	return field_has_name(field, lower, len) ||
	       (field->name_len == len &&
		field_name_begins(field->name, len, lower));
}

bool fetch_is_framing(const struct field *field)
{
	switch (*field->name | 32) { /* most begin with other letters */
	case 'c':
		return fetch_has_name(field, "content-length") ||
		       field_is(field, "connection");
	case 'e':
		return field_is(field, "expect");
	case 't':
		return fetch_has_name(field, "transfer-encoding") ||
		       field_is(field, "te");
	default:
		return false;
	}
}

bool fetch_is_safe(const char *method)
{
	static const char *const methods[] = {
		"GET", "HEAD", "OPTIONS", "TRACE",
	};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (!strcmp(method, methods[i]))
			return true;
	}
	return false;
}

bool fetch_expects_continue(const struct fetch_request *r)
{
	return r->upload && r->upload->len && r->fields &&
	       fields_has_token(r->fields, "Expect", "100-continue");
}

static bool fetch_is_clean(const char *text)
{
	return !octets_have_line_end(text, strlen(text));
}

/* The same, and it ends where it is to end. */
static bool fetch_is_target(const char *text)
{
	const size_t len = strlen(text);

	return octets_skip(text, text + len, OCTETS_TARGET) == text + len ||
	       !text[strcspn(text, " \t\r\n")];
}

static bool fetch_is_sane(const struct fetch_request *r)
{
	if (!field_is_token(r->method, strlen(r->method)) ||
	    !fetch_is_clean(r->url) ||
	    (r->upgrade && !fetch_is_clean(r->upgrade)) ||
	    (r->target && !fetch_is_target(r->target)))
		return false;
	for (size_t i = 0; r->fields && i < fields_count(r->fields); i++) {
		const struct field *field = fields_at(r->fields, i);

		if (!field_is_token(field->name, field->name_len) ||
		    octets_have_line_end(field->value, field->value_len))
			return false;
	}
	return true;
}

int fetch_start(struct fetcher *fetcher, const struct fetch_request *request,
		const struct fetch_callbacks *callbacks, void *arg,
		struct fetch **out)
{
	assert(request->url && request->method);
	assert(callbacks->on_done);
	if (!fetch_is_sane(request))
		return -EINVAL;
	assert(fetcher->way->resume_upload || !request->upload);
	return fetcher->way->start(fetcher->means, request, callbacks, arg,
				   out);
}

int fetch_take_fields(struct fetch *f, struct fields *fields)
{
	assert(f->way && f->way->take_fields);
	return f->way->take_fields(f, fields);
}

void fetch_lift_total(struct fetch *f)
{
	assert(f->way);
	f->way->lift_total(f);
}

void fetch_resume(struct fetch *f)
{
	assert(f->way);
	f->way->resume(f);
}

void fetch_resume_upload(struct fetch *f)
{
	assert(f->way);
	f->way->resume_upload(f);
}

unsigned fetch_connect_ms(const struct fetch *f)
{
	assert(f->way && f->way->connect_ms);
	return f->way->connect_ms(f);
}

unsigned fetch_trip_ms(struct fetch *f)
{
	assert(f->way && f->way->trip_ms);
	return f->way->trip_ms(f);
}

bool fetch_is_sent(const struct fetch *f)
{
	assert(f->way && f->way->is_sent);
	return f->way->is_sent(f);
}

void fetch_cancel(struct fetch **f)
{
	struct fetch *gone = *f;

	*f = NULL;
	if (gone)
		gone->way->cancel(gone);
}
