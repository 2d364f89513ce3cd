/*
 * Sources of members.
 */
#include "digestd/peers/member_source.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "digestd/os/address.h"
#include "digestd/os/plain_file.h"
#include "digestd/os/shell_command.h"
#include "digestd/os/service_records.h"
#include "digestd/peers/peer_kind.h"

enum { NAME_BYTES = 256, URL_BYTES = 300 };

struct member_source_kind {
	const char *prefix;
	bool cancels;
	bool (*is)(const char *name);
	/* Fills the list, in any order; false: the fault says why not. */
	bool (*read)(const struct member_source_ask *ask, const char *name,
		     struct member_list *list, struct member_fault *fault);
};

__attribute__((format(printf, 2, 3))) static bool
member_source_fail(struct member_fault *fault, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(fault->what, sizeof(fault->what), format, args);
	va_end(args);
	return false;
}

/* A member that has no name but where it is. */
static bool member_source_add(const struct member_source_ask *ask,
			      const char *host, unsigned port,
			      struct member_list *list,
			      struct member_fault *fault)
{
	const char *open = strchr(host, ':') ? "[" : "";
	char name[NAME_BYTES + 16], url[URL_BYTES];
	struct upstream member = {.name = name, .url = url};

	member.kind = peer_kind_find(peer_kind_names[0]);
	snprintf(name, sizeof(name), "%s%s%s:%u", open, host, *open ? "]" : "",
		 port);
	snprintf(url, sizeof(url), "%s://%s", ask->https ? "https" : "http",
		 name);
	if (!upstream_is_url(url))
		return member_source_fail(fault, "\"%.60s\" is not a host",
					  host);
	if (member_list_add(list, &member))
		return member_source_fail(fault, "out of memory");
	return true;
}

/* dns:NAME:PORT */

static bool member_source_is_dns(const char *name)
{
	const char *colon = strrchr(name, ':');
	char url[URL_BYTES];

	return colon && (size_t)(colon - name) < NAME_BYTES &&
	       snprintf(url, sizeof(url), "http://%s", name) <
		       (int)sizeof(url) &&
	       upstream_is_url(url);
}

static bool member_source_take_address(const struct member_source_ask *ask,
				       const struct addrinfo *a, unsigned port,
				       struct member_list *list,
				       struct member_fault *fault)
{
	char host[ADDRESS_TEXT_BYTES];

	return !address_text(a->ai_addr, host) ||
	       member_source_add(ask, host, port, list, fault);
}

static bool member_source_read_dns(const struct member_source_ask *ask,
				   const char *name, struct member_list *list,
				   struct member_fault *fault)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	const char *colon = strrchr(name, ':');
	struct addrinfo *found = NULL;
	char host[NAME_BYTES];
	bool well = true;
	int err;

	snprintf(host, sizeof(host), "%.*s", (int)(colon - name), name);
	err = getaddrinfo(host, NULL, &hints, &found);
	if (err)
		return member_source_fail(fault, "%s", gai_strerror(err));
	for (const struct addrinfo *a = found; a && well; a = a->ai_next)
		well = member_source_take_address(
			ask, a, (unsigned)strtoul(colon + 1, NULL, 10), list,
			fault);
	freeaddrinfo(found);
	return well;
}

/* srv:NAME */

static bool member_source_is_srv(const char *name)
{
	return *name && strlen(name) < NAME_BYTES && !strpbrk(name, " \t:/");
}

/* What service_records_read() tells of. */
struct member_service {
	const struct member_source_ask *ask;
	struct member_list *list;
	struct member_fault *fault;
};

static bool member_source_take_service(void *arg, const char *host,
				       unsigned port)
{
	struct member_service *s = arg;

	return member_source_add(s->ask, host, port, s->list, s->fault);
}

static bool member_source_read_srv(const struct member_source_ask *ask,
				   const char *name, struct member_list *list,
				   struct member_fault *fault)
{
	struct member_service s = {ask, list, fault};
	int err = service_records_read(name, member_source_take_service, &s);

	if (err == -ECANCELED)
		return false; /* the fault is there already */
	return !err ||
	       member_source_fail(fault, "%s", service_records_error(err));
}

/* Lists as text */

static bool member_source_take_text(const char *text, struct member_list *list,
				    struct member_fault *fault)
{
	char what[sizeof(fault->what)];

	if (!member_list_read(list, text, fault))
		return true;
	if (fault->line) {
		memcpy(what, fault->what, sizeof(what));
		member_source_fail(fault, "line %u: %.*s", fault->line,
				   (int)sizeof(what) - 20, what);
	}
	return false;
}

static bool member_source_is_file(const char *name)
{
	return *name == '/';
}

static bool member_source_read_file(const struct member_source_ask *ask,
				    const char *name, struct member_list *list,
				    struct member_fault *fault)
{
	const char *error;
	FILE *file = plain_file_open(name, &error);
	char *text = file ? malloc(MEMBER_TEXT_BYTES + 1) : NULL;
	size_t len = 0;
	bool well = false;

	(void)ask;
	if (file && !text)
		error = strerror(ENOMEM);
	if (text) {
		len = fread(text, 1, MEMBER_TEXT_BYTES, file);
		text[len] = '\0';
		error = ferror(file) ? strerror(errno) : NULL;
	}
	if (error)
		member_source_fail(fault, "%s", error);
	else if (len == MEMBER_TEXT_BYTES)
		member_source_fail(fault, "is larger than %d bytes",
				   MEMBER_TEXT_BYTES - 1);
	else if (strlen(text) != len)
		member_source_fail(fault, "has a NUL byte");
	else
		well = member_source_take_text(text, list, fault);
	if (file)
		fclose(file);
	free(text);
	return well;
}

static bool member_source_is_command(const char *name)
{
	return *name;
}

static bool member_source_read_command(const struct member_source_ask *ask,
				       const char *name,
				       struct member_list *list,
				       struct member_fault *fault)
{
	const struct shell_command_limits limits = {
		MEMBER_COMMAND_MS, MEMBER_TEXT_BYTES - 1, ask->cancel};
	struct shell_command_result result;
	bool well = false;

	shell_command_run(name, &limits, &result);
	if (*result.fault)
		member_source_fail(fault, "%s", result.fault);
	else if (strlen(result.text) != result.len)
		member_source_fail(fault, "has printed a NUL byte");
	else
		well = member_source_take_text(result.text, list, fault);
	snprintf(fault->said, sizeof(fault->said), "%s", result.said);
	free(result.text);
	return well;
}

/* clang-format off */
static const struct member_source_kind member_source_kinds[] = {
	{ "dns:", false, member_source_is_dns, member_source_read_dns },
	{ "srv:", false, member_source_is_srv, member_source_read_srv },
	{ "file:", true, member_source_is_file, member_source_read_file },
	{ "command:", true, member_source_is_command,
	  member_source_read_command },
};
/* clang-format on */

/* The kind of a source, and its name; null: it is of none. */
static const struct member_source_kind *
member_source_kind_of(const char *source, const char **name)
{
	const size_t n =
		sizeof(member_source_kinds) / sizeof(member_source_kinds[0]);

	for (size_t i = 0; i < n; i++) {
		const char *prefix = member_source_kinds[i].prefix;

		*name = source + strlen(prefix);
		if (!strncmp(source, prefix, strlen(prefix)))
			return &member_source_kinds[i];
	}
	return NULL;
}

bool member_source_is(const char *text)
{
	const char *name;
	const struct member_source_kind *kind =
		member_source_kind_of(text, &name);

	return kind && kind->is(name);
}

bool member_source_can_be_cancelled(const char *source)
{
	const char *name;

	assert(member_source_is(source));
	return member_source_kind_of(source, &name)->cancels;
}

bool member_source_read(const struct member_source_ask *ask,
			struct member_list *list, struct member_fault *fault)
{
	const char *name;
	const struct member_source_kind *kind =
		member_source_kind_of(ask->source, &name);

	assert(kind && !list->n);
	*fault = (struct member_fault){.line = 0};
	if (!kind->read(ask, name, list, fault)) {
		member_list_free(list);
		return false;
	}
	member_list_sort(list);
	return true;
}
