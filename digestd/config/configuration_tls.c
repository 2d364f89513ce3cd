/*
 * TLS in the configuration.
 *
 * Each row below is a set of files with one use. The peers' set has two: the
 * certificate that this node shows as a server it shows as a client too.
 */
#include "digestd/config/configuration_tls.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "digestd/config/configuration_check.h"
#include "digestd/server/server.h"
#include "digestd/tls/tls.h"
#include "digestd/tls/tls_client.h"

enum { WARN_DAYS = 14, DAY_S = 86400 };

static const char *const suffixes[] = {
	[TLS_CERTIFICATE] = "certificate",
	[TLS_KEY] = "key",
	[TLS_AUTHORITIES] = "ca",
};

/* Where in struct config a set is. */
struct set {
	const char *name; /* "tls_NAME_certificate" */
	size_t certificate, key, authorities; /* paths */
	size_t server;    /* struct tls *; 0: none */
	size_t client;    /* struct tls_client *; 0: none */
};

/* PEM files, null where not given. */
struct set_files {
	struct tls_pair_files *pairs; /* one at least */
	size_t npairs;
	const char *authorities;
	char *certificates, *keys; /* what pairs point into */
};

#define AT(member) offsetof(struct config, member)
#define FILES(set) AT(set##_certificate), AT(set##_key), AT(set##_ca)

/* clang-format off */
static const struct set sets[] = {
	{ "data",   FILES(tls_data),   AT(tls_data),  0 },
	{ "peer",   FILES(tls_peer),   AT(tls_peer),  AT(tls_peer_client) },
	{ "admin",  FILES(tls_admin),  AT(tls_admin), 0 },
	{ "origin", FILES(tls_origin), 0,             AT(tls_origin) },
};
/* clang-format on */

enum { NSETS = sizeof(sets) / sizeof(sets[0]) };

bool config_tls_is_version(const char *text)
{
	return !strcmp(text, "1.2") || !strcmp(text, "1.3");
}

/* "FILE:LINE: tls_peer_key: what": without a line when it is not given. */
static void configuration_tls_find_fault(const struct config_check *check,
					 const struct set *set,
					 enum tls_file file,
					 struct config_errors *to)
{
	char option[64];

	snprintf(option, sizeof(option), "tls_%s_%s", set->name,
		 suffixes[file]);
	config_report_option(check, option, to);
}

static const char *configuration_tls_path_of(const struct set_files *f,
					     const struct tls_fault *fault)
{
	switch (fault->file) {
	case TLS_CERTIFICATE:
		return f->pairs[fault->pair].certificate;
	case TLS_KEY:
		return f->pairs[fault->pair].key;
	case TLS_AUTHORITIES:
		return f->authorities;
	}
	return NULL;
}

static bool configuration_tls_is_whole(const struct config_check *check,
				       const struct set *set,
				       const struct set_files *f)
{
	const struct tls_pair_files *first = &f->pairs[0];
	enum tls_file given = first->key ? TLS_KEY : TLS_CERTIFICATE;
	enum tls_file missing = first->key ? TLS_CERTIFICATE : TLS_KEY;

	if (!first->certificate != !first->key) {
		configuration_tls_find_fault(check, set, given, check->errors);
		config_report(check->errors, "needs tls_%s_%s\n", set->name,
			      suffixes[missing]);
		return false;
	}
	if (set->server && !set->client && f->authorities &&
	    !first->certificate) {
		configuration_tls_find_fault(check, set, TLS_AUTHORITIES,
					     check->errors);
		config_report(check->errors, "needs tls_%s_certificate\n",
			      set->name);
		return false;
	}
	return true;
}

static void configuration_tls_warn_of_age(const struct config_check *check,
					  const struct set *set,
					  const char *path, int64_t expires_s)
{
	int64_t left_s = expires_s - (int64_t)time(NULL);

	if (left_s > (int64_t)WARN_DAYS * DAY_S)
		return;
	configuration_tls_find_fault(check, set, TLS_CERTIFICATE,
				     check->warnings);
	if (left_s < 0)
		config_report(check->warnings, "%s: has expired\n", path);
	else if (left_s <= DAY_S)
		config_report(check->warnings,
			      "%s: expires in less than a day\n", path);
	else
		config_report(check->warnings, "%s: expires within %lld days\n",
			      path,
			      (long long)((left_s + DAY_S - 1) / DAY_S));
}

/* From options to files */

static const char *configuration_tls_path_at(const struct config *c, size_t at)
{
	return *(char *const *)(const void *)((const char *)c + at);
}

static size_t configuration_tls_count(const char *lines)
{
	size_t n = lines != NULL;

	while (lines && (lines = strchr(lines, '\n'))) {
		lines++;
		n++;
	}
	return n;
}

/* Copies lines, or null. Returns false without memory. */
static bool configuration_tls_copy(const char *lines, char **out)
{
	*out = lines ? strdup(lines) : NULL;
	return !lines == !*out;
}

/* As many pairs as there are certificates; the n-th key is of the n-th. */
static int configuration_tls_open_files(const struct config *c,
					const struct set *set,
					struct set_files *f)
{
	const char *certificates = configuration_tls_path_at(c,
							    set->certificate);
	char *certificate, *key;

	*f = (struct set_files){
		.npairs = configuration_tls_count(certificates),
		.authorities = configuration_tls_path_at(c, set->authorities),
	};
	f->npairs += !f->npairs;
	f->pairs = calloc(f->npairs, sizeof(*f->pairs));
	if (!f->pairs ||
	    !configuration_tls_copy(certificates, &f->certificates) ||
	    !configuration_tls_copy(configuration_tls_path_at(c, set->key),
				    &f->keys))
		return -ENOMEM;
	certificate = f->certificates;
	key = f->keys;
	for (size_t i = 0; i < f->npairs; i++) {
		f->pairs[i].certificate = strsep(&certificate, "\n");
		f->pairs[i].key = strsep(&key, "\n");
	}
	return 0;
}

static void configuration_tls_close_files(struct set_files *f)
{
	free(f->pairs);
	free(f->certificates);
	free(f->keys);
}

/* Loading */

struct loading {
	struct config *config;
	const struct config_check *check;
	const struct set *set;
	struct set_files files;
	struct tls_fault fault;
};

static bool configuration_tls_has_pairs(const struct loading *l)
{
	size_t ncertificates = configuration_tls_count(
		configuration_tls_path_at(l->config, l->set->certificate));
	size_t nkeys = configuration_tls_count(
		configuration_tls_path_at(l->config, l->set->key));

	if (ncertificates == nkeys)
		return true;
	configuration_tls_find_fault(l->check, l->set, TLS_KEY,
				     l->check->errors);
	config_report(l->check->errors,
		      "has %zu files, but there are %zu certificates\n", nkeys,
		      ncertificates);
	return false;
}

static int configuration_tls_make_server(struct loading *l,
					 const struct tls_files *files)
{
	struct tls **out = (void *)((char *)l->config + l->set->server);
	int err = tls_new(files, out, &l->fault);

	for (size_t i = 0; i < l->files.npairs && !err; i++)
		configuration_tls_warn_of_age(l->check, l->set,
					      l->files.pairs[i].certificate,
					      tls_pair_expires_s(*out, i));
	return err;
}

/* Makes what they are for. Errors as those of tls_new(). */
static int configuration_tls_make(struct loading *l)
{
	const struct set_files *f = &l->files;
	const struct config *c = l->config;
	const struct tls_files files = {
		.certificate = f->pairs[0].certificate,
		.key = f->pairs[0].key,
		.authorities = f->authorities,
		.oldest = strcmp(c->tls_oldest, "1.3") ? TLS_1_2 : TLS_1_3,
		.unverified = !l->set->server && !c->tls_origin_verify,
		.others = f->pairs + 1,
		.nothers = f->npairs - 1,
	};
	int err = 0;

	if (l->set->server && files.certificate)
		err = configuration_tls_make_server(l, &files);
	if (l->set->client && !err)
		err = tls_client_new(&files, (void *)((char *)l->config +
						      l->set->client),
				     &l->fault);
	return err;
}

static void configuration_tls_report(const struct loading *l, int err)
{
	configuration_tls_find_fault(l->check, l->set, l->fault.file,
				     l->check->errors);
	if (err == -EINVAL)
		config_report(l->check->errors, "%s: %s\n",
			      configuration_tls_path_of(&l->files, &l->fault),
			      l->fault.text);
	else
		config_report(l->check->errors, "%s\n", strerror(-err));
}

static void configuration_tls_load_set(struct config *c,
				       const struct config_check *check,
				       const struct set *set)
{
	struct loading l = { .config = c, .check = check, .set = set };
	int err = configuration_tls_open_files(c, set, &l.files);

	if (!err && configuration_tls_is_whole(check, set, &l.files) &&
	    configuration_tls_has_pairs(&l))
		err = configuration_tls_make(&l);
	if (err)
		configuration_tls_report(&l, err);
	configuration_tls_close_files(&l.files);
}

void config_tls_load(struct config *c, const struct config_check *check)
{
	assert(c->tls_oldest);
	assert(!c->tls_origin && !c->tls_peer_client);
	for (size_t i = 0; i < NSETS; i++)
		configuration_tls_load_set(c, check, &sets[i]);
	if (c->tls_admin && !server_has_tls())
		config_report(check->errors, "%s: tls_admin_certificate: this "
			      "libmicrohttpd was built without TLS\n",
			      check->path);
}

void config_tls_free(struct config *c)
{
	tls_unref(c->tls_data);
	tls_unref(c->tls_peer);
	tls_unref(c->tls_admin);
	tls_client_unref(c->tls_peer_client);
	tls_client_unref(c->tls_origin);
}

/* Keeps the old one of two that are the same, with all that hangs on it; of
 * others its clients' sessions. */
static void configuration_tls_keep(struct tls *now, struct tls **next)
{
	if (!now || !*next)
		return;
	if (!tls_same(now, *next)) {
		tls_keep_tickets(now, *next);
		return;
	}
	tls_unref(*next);
	*next = tls_ref(now);
}

static void configuration_tls_keep_client(struct tls_client *now,
					  struct tls_client **next)
{
	if (!now || !*next || !tls_client_same(now, *next))
		return;
	tls_client_unref(*next);
	*next = tls_client_ref(now);
}

void config_keep_tls(const struct config *now, struct config *next)
{
	assert(now != next);
	configuration_tls_keep(now->tls_data, &next->tls_data);
	configuration_tls_keep(now->tls_peer, &next->tls_peer);
	configuration_tls_keep(now->tls_admin, &next->tls_admin);
	configuration_tls_keep_client(now->tls_peer_client,
				      &next->tls_peer_client);
	configuration_tls_keep_client(now->tls_origin, &next->tls_origin);
}
