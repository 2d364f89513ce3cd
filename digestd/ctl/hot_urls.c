/*
 * The URLs that are asked for most.
 */
#include "digestd/ctl/hot_urls.h"

#include <math.h>
#include <string.h>

#include "digestd/ctl/figures.h"

enum { HOT_URLS_SHOWN_MAX = 64 };

/* FNV-1a: whoever chooses URLs that collide deceives a table on a screen. */
static uint64_t hot_urls_hash(const char *url)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *url; url++)
		hash = (hash ^ (unsigned char)*url) * UINT64_C(0x100000001b3);
	return hash;
}

static unsigned hot_urls_least(const struct hot_urls *h)
{
	unsigned least = 0;

	for (unsigned i = 1; i < h->n; i++) {
		if (h->at[i].requests < h->at[least].requests)
			least = i;
	}
	return least;
}

/* Its place, which may have been another one's. */
static struct hot_url *hot_urls_place(struct hot_urls *h, const char *url)
{
	uint64_t hash = hot_urls_hash(url);
	unsigned i = 0;
	double error = 0;

	while (i < h->n && h->hashes[i] != hash)
		i++;
	if (i < h->n)
		return &h->at[i];
	if (h->n < HOT_URLS) {
		h->n++;
	} else {
		i = hot_urls_least(h);
		error = h->at[i].requests;
	}
	h->hashes[i] = hash;
	h->at[i] = (struct hot_url){ .requests = error, .error = error };
	snprintf(h->at[i].url, HOT_URL_BYTES, "%s", url);
	return &h->at[i];
}

void hot_urls_add(struct hot_urls *h, const char *line, size_t len)
{
	json_t *o = json_loadb(line, len, 0, NULL);
	const char *url = json_string_value(json_object_get(o, "url.full"));
	const char *source =
		json_string_value(json_object_get(o, "digestd.source"));
	struct hot_url *u;

	if (url) {
		u = hot_urls_place(h, url);
		u->requests += 1;
		u->bytes += json_number_value(
			json_object_get(o, "http.response.body.bytes"));
		snprintf(u->source, HOT_SOURCE_BYTES, "%s",
			 source ? source : "");
		h->records += 1;
	}
	json_decref(o);
}

void hot_urls_end_frame(struct hot_urls *h, double requests, double seconds)
{
	h->requests += requests;
	h->seconds += seconds;
}

void hot_urls_fade(struct hot_urls *h, double seconds)
{
	double left = exp(-seconds / HOT_URLS_FADE_S);

	for (unsigned i = 0; i < h->n; i++) {
		h->at[i].requests *= left;
		h->at[i].error *= left;
		h->at[i].bytes *= left;
	}
	h->records *= left;
	h->requests *= left;
	h->seconds *= left;
}

/* What is shown */

static double hot_urls_surely(const struct hot_url *u)
{
	return u->requests - u->error;
}

/* Finds those that have most, and returns how many. */
static unsigned hot_urls_sort(const struct hot_urls *h, unsigned most,
			      const struct hot_url *out[HOT_URLS_SHOWN_MAX])
{
	unsigned n = 0;

	if (most > HOT_URLS_SHOWN_MAX)
		most = HOT_URLS_SHOWN_MAX;
	for (unsigned i = 0; i < h->n && most; i++) {
		const struct hot_url *u = &h->at[i];
		unsigned at = n;

		while (at && hot_urls_surely(out[at - 1]) < hot_urls_surely(u))
			at--;
		if (at == most || hot_urls_surely(u) <= 0)
			continue;
		n += n < most;
		memmove(&out[at + 1], &out[at], (n - 1 - at) * sizeof(*out));
		out[at] = u;
	}
	return n;
}

/* Requests of the node a second, for each one that was recorded. */
static double hot_urls_scale(const struct hot_urls *h)
{
	return h->records > 0 && h->seconds > 0
		       ? h->requests / h->records / h->seconds : 0;
}

void hot_urls_print(const struct hot_urls *h, unsigned most, FILE *to)
{
	const struct hot_url *u[HOT_URLS_SHOWN_MAX];
	unsigned n = hot_urls_sort(h, most, u);
	double scale = hot_urls_scale(h);
	char bytes[FIGURES_BYTES];

	if (n)
		fprintf(to, "\n%8s %8s  %-9s  %s\n", "REQ/s", "BYTES/s",
			"SOURCE", "HOTTEST");
	for (unsigned i = 0; i < n; i++)
		fprintf(to, "%8.1f %8s  %-9s  %s\n",
			hot_urls_surely(u[i]) * scale,
			figures_size(u[i]->bytes * scale, bytes), u[i]->source,
			u[i]->url);
}

json_t *hot_urls_json(const struct hot_urls *h, unsigned most)
{
	const struct hot_url *u[HOT_URLS_SHOWN_MAX];
	unsigned n = hot_urls_sort(h, most, u);
	double scale = hot_urls_scale(h);
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(
			list,
			json_pack("{s:s, s:f, s:f, s:s}", "url", u[i]->url,
				  "requests_per_s",
				  hot_urls_surely(u[i]) * scale, "bytes_per_s",
				  u[i]->bytes * scale, "source",
				  u[i]->source));
	return list;
}
