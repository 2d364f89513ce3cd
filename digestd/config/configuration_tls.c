/*
 * TLS in the configuration.
 *
 * Each row below is a set of files with one use. The peers' set has two: the
 * certificate that this node shows as a server it shows as a client too.
 */
#include "digestd/config/configuration_tls.h"

#include <assert.h>
#include <errno.h>
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
	const char *certificate;
	const char *key;
	const char *authorities;
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
					     enum tls_file file)
{
	switch (file) {
	case TLS_CERTIFICATE:
		return f->certificate;
	case TLS_KEY:
		return f->key;
	case TLS_AUTHORITIES:
		return f->authorities;
	}
	return NULL;
}

static bool configuration_tls_is_whole(const struct config_check *check,
				       const struct set *set,
				       const struct set_files *f)
{
	enum tls_file missing = f->key ? TLS_CERTIFICATE : TLS_KEY;

	if (!f->certificate != !f->key) {
		configuration_tls_find_fault(check, set, missing,
					     check->errors);
		config_report(check->errors, "not given, but the %s is\n",
			      f->key ? "key" : "certificate");
		return false;
	}
	if (set->server && !set->client && f->authorities && !f->certificate) {
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
					  const struct set_files *f,
					  int64_t expires_s)
{
	int64_t left_s = expires_s - (int64_t)time(NULL);

	if (left_s > (int64_t)WARN_DAYS * DAY_S)
		return;
	configuration_tls_find_fault(check, set, TLS_CERTIFICATE,
				     check->warnings);
	if (left_s < 0)
		config_report(check->warnings, "%s: has expired\n",
			      f->certificate);
	else
		config_report(check->warnings, "%s: expires within %lld days\n",
			      f->certificate,
			      (long long)((left_s + DAY_S - 1) / DAY_S));
}

static const char *configuration_tls_path_at(const struct config *c, size_t at)
{
	return *(char *const *)(const void *)((const char *)c + at);
}

static struct set_files configuration_tls_files_of(const struct config *c,
						   const struct set *set)
{
	return (struct set_files){
		configuration_tls_path_at(c, set->certificate),
		configuration_tls_path_at(c, set->key),
		configuration_tls_path_at(c, set->authorities),
	};
}

static void configuration_tls_load_set(struct config *c,
				       const struct config_check *check,
				       const struct set *set)
{
	const struct set_files given = configuration_tls_files_of(c, set);
	const struct set_files *f = &given;
	struct tls_files files = {
		f->certificate, f->key, f->authorities,
		strcmp(c->tls_oldest, "1.3") ? TLS_1_2 : TLS_1_3,
		!set->server && !c->tls_origin_verify,
	};
	struct tls **server = (void *)((char *)c + set->server);
	struct tls_fault fault = { 0 };
	int err = 0;

	if (!configuration_tls_is_whole(check, set, f))
		return;
	if (set->server && f->certificate) {
		err = tls_new(&files, server, &fault);
		if (!err)
			configuration_tls_warn_of_age(check, set, f,
						      tls_expires_s(*server));
	}
	if (set->client && !err)
		err = tls_client_new(&files, (void *)((char *)c + set->client),
				     &fault);
	if (!err)
		return;
	configuration_tls_find_fault(check, set, fault.file, check->errors);
	config_report(check->errors, "%s: %s\n",
		      configuration_tls_path_of(f, fault.file),
		      err == -EINVAL ? fault.text : strerror(-err));
}

void config_tls_load(struct config *c, const struct config_check *check)
{
	assert(c->tls_oldest);
	assert(!c->tls_origin && !c->tls_peer_client);
	for (size_t i = 0; i < NSETS; i++)
		configuration_tls_load_set(c, check, &sets[i]);
	if ((c->tls_peer || c->tls_admin) && !server_has_tls())
		config_report(check->errors, "%s: tls_*_certificate: this "
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

/* Keeps the old one of two that are the same, with all that hangs on it. */
static void configuration_tls_keep(struct tls *now, struct tls **next)
{
	if (!now || !*next || !tls_same(now, *next))
		return;
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
