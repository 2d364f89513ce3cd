/*
 * The fetcher: looks at requests, and gives each to the first way that takes
 * it. A fetch knows its way from then on.
 */
#include "digestd/fetch/fetch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/fetch/fetch_way.h"

static const struct fetch_way *const ways[] = {
	&fetch_way_plain,
	&fetch_way_curl,
	&fetch_way_once, /* takes everything */
};

enum { NWAYS = sizeof(ways) / sizeof(ways[0]) };

struct fetcher {
	struct fetch_means *means[NWAYS];
};

int fetch_global_init(void)
{
	return fetch_curl_global_init();
}

int fetcher_new(struct loop *loop, unsigned max_per_host, struct fetcher **out)
{
	struct fetcher *f = calloc(1, sizeof(*f));
	int err = f ? 0 : -ENOMEM;

	assert(loop);
	for (int i = 0; i < NWAYS && !err; i++)
		err = ways[i]->open(loop, max_per_host, &f->means[i]);
	if (err)
		fetcher_free(&f);
	else
		*out = f;
	return err;
}

void fetcher_public_only(struct fetcher *fetcher)
{
	for (int i = 0; i < NWAYS; i++)
		ways[i]->public_only(fetcher->means[i]);
}

void fetcher_free(struct fetcher **fetcher)
{
	struct fetcher *f = *fetcher;

	*fetcher = NULL;
	for (int i = 0; f && i < NWAYS; i++)
		ways[i]->close(f->means[i]);
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

bool fetch_is_framing(const char *name)
{
	return field_name_is(name, "content-length") ||
	       field_name_is(name, "transfer-encoding") ||
	       field_name_is(name, "connection") ||
	       field_name_is(name, "expect");
}

static bool fetch_is_clean(const char *text)
{
	return !text[strcspn(text, "\r\n")];
}

static bool fetch_is_sane(const struct fetch_request *r)
{
	if (!field_is_token(r->method, strlen(r->method)) ||
	    !fetch_is_clean(r->url) ||
	    (r->target && r->target[strcspn(r->target, " \t\r\n")]))
		return false;
	for (size_t i = 0; r->fields && i < fields_count(r->fields); i++) {
		const struct field *field = fields_at(r->fields, i);

		if (!field_is_token(field->name, strlen(field->name)) ||
		    !fetch_is_clean(field->value))
			return false;
	}
	return true;
}

int fetch_start(struct fetcher *fetcher, const struct fetch_request *request,
		const struct fetch_callbacks *callbacks, void *arg,
		struct fetch **out)
{
	int i = 0;

	assert(request->url && request->method);
	assert(callbacks->on_done);
	if (!fetch_is_sane(request))
		return -EINVAL;
	while (!ways[i]->takes(request))
		i++;
	return ways[i]->start(fetcher->means[i], request, callbacks, arg, out);
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

void fetch_cancel(struct fetch **f)
{
	struct fetch *gone = *f;

	*f = NULL;
	if (gone)
		gone->way->cancel(gone);
}
