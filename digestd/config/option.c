/*
 * What a kind of options takes, how it is told what is wrong, and where a value
 * goes.
 */
#include "digestd/config/option.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/cache/admitter.h"
#include "digestd/config/configuration_tls.h"
#include "digestd/config/value.h"
#include "digestd/admission/admission_tell.h"
#include "digestd/http/access_format.h"
#include "digestd/http/enum_names.h"
#include "digestd/http/fields.h"
#include "digestd/http/forwarded.h"
#include "digestd/mesh/list_history.h"
#include "digestd/mesh/placement.h"
#include "digestd/mesh/serving_lease.h"
#include "digestd/node/site.h"
#include "digestd/http/setcookie.h"
#include "digestd/os/address_prefix.h"
#include "digestd/os/listen_path.h"
#include "digestd/os/log.h"
#include "digestd/os/processors.h"
#include "digestd/peers/member_source.h"
#include "digestd/peers/peer_kind.h"
#include "digestd/peers/upstream.h"

/* What one of a unit is; a suffix that is null ends them. */
struct unit {
	const char *suffix;
	int64_t of;
};

/* clang-format off */
static const struct unit numbers[] = { { "", 1 }, { NULL, 0 } };
static const struct unit sizes[] = {
	{ "G", 1 << 30 }, { "M", 1 << 20 }, { "K", 1 << 10 }, { "", 1 },
	{ NULL, 0 },
};
static const struct unit times_ms[] = {
	{ "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 },
	{ NULL, 0 },
};
static const struct unit times_s[] = {
	{ "h", 3600 }, { "m", 60 }, { "s", 1 }, { NULL, 0 },
};
/* clang-format on */

/* Names or exactly one of the functions is given. */
struct kind {
	const char *const *names; /* of an enum; a null ends them */
	bool (*text)(const char *text);
	bool (*number)(const char *text, int64_t *out);
	bool (*share)(const char *text, double *out);
	bool (*flag)(const char *text, bool *out);
	const char *wrong; /* follows a value that is not of the kind */
	const struct unit *units; /* of a number's range, the largest first */
};

static bool option_is_some(const char *text)
{
	return *text;
}

/* Several are kept in lines. */
static bool option_is_line(const char *text)
{
	return *text && !strchr(text, '\n');
}

static bool option_is_token(const char *text)
{
	return field_is_token(text, strlen(text));
}

/* Of a query; a star at its end is for all that begin so. */
static bool option_is_argument(const char *text)
{
	return !strpbrk(text, "&=#\n");
}

/* What says where a body ends, how it is coded, and which part of it comes, is
 * not an operator's. */
static bool option_is_editable(const char *name, size_t len)
{
	static const char *const framing[] = {
		"Content-Encoding", "Content-Length", "Content-Range", "Date",
		"Age", "Vary", "Via", "Cache-Status",
	};
	char copy[64];

	if (!field_is_token(name, len) || len >= sizeof(copy))
		return false;
	memcpy(copy, name, len);
	copy[len] = '\0';
	for (size_t i = 0; i < sizeof(framing) / sizeof(framing[0]); i++) {
		if (field_name_is(copy, framing[i]))
			return false;
	}
	return !field_is_hop_by_hop(copy, strlen(copy));
}

static bool option_is_field_name(const char *text)
{
	return option_is_editable(text, strlen(text));
}

static bool option_is_field_line(const char *text)
{
	const char *colon = strchr(text, ':');

	if (!colon || !option_is_editable(text, (size_t)(colon - text)))
		return false;
	for (text = colon + 1; *text; text++) {
		if ((unsigned char)*text < ' ' && *text != '\t')
			return false;
	}
	return true;
}

static bool option_is_folder(const char *text)
{
	return *text == '/';
}

static bool option_is_eviction(const char *text)
{
	return eviction_policy_find(text);
}

static bool option_is_admission(const char *text)
{
	return admitter_policy(text);
}

static bool option_is_prefixes(const char *text)
{
	struct address_prefixes list;

	return address_prefixes_read(text, &list);
}

static bool option_read_seconds(const char *text, int64_t *out)
{
	if (!value_time_ms(text, out) || *out % 1000)
		return false;
	*out /= 1000;
	return true;
}

static bool option_read_threads(const char *text, int64_t *out)
{
	unsigned n = processors_usable();

	if (strcmp(text, "auto") != 0)
		return value_number(text, out);
	*out = n < OPTION_THREADS_MAX ? n : OPTION_THREADS_MAX;
	return true;
}

static bool option_read_probation(const char *text, double *out)
{
	return value_share(text, out) &&
	       (*out == 0 || (*out >= .0001 && *out <= .9));
}

static bool option_is_listener(const char *text)
{
	struct listen_path_text path;

	return value_is_address(text) || listen_path_read(text, &path);
}

/* clang-format off */
static const struct kind kinds[] = {
	[TEXT] = { .text = option_is_some, .wrong = "is empty" },
	[KEY] = { .text = option_is_some, .wrong = "is empty" },
	[PATH] = { .text = option_is_some, .wrong = "is empty" },
	[PATHS] = { .text = option_is_line, .wrong = "is not a path" },
	[TOKEN] = { .text = option_is_token,
		    .wrong = "is not a token (letters, digits, - . _)" },
	[ADDRESS] = { .text = value_is_address,
		      .wrong = "is not an address such as 127.0.0.1:8080" },
	[LISTENER] = { .text = option_is_listener,
		       .wrong = "is not an address such as 127.0.0.1:8080, nor "
				"unix:/PATH,mode=0660,user=NAME,group=NAME" },
	[URL] = { .text = upstream_is_url,
		  .wrong = "is not a URL such as http://host:port" },
	[URLS] = { .text = upstream_is_url,
		   .wrong = "is not a URL such as http://host:port" },
	[TARGET] = { .text = upstream_is_path,
		     .wrong = "is not a path such as /health" },
	[SOURCE] = { .text = member_source_is,
		     .wrong = "is not dns:NAME:PORT, srv:NAME, file:/PATH or "
			      "command:COMMAND" },
	[FOLDER] = { .text = option_is_folder, .wrong = "is not an absolute path" },
	[POLICY] = { .text = option_is_eviction,
		     .wrong = "is not sieve, lru, fifo, clock, s3fifo, lfu, gdsf "
			      "or wtinylfu" },
	[ADMISSION] = { .text = option_is_admission,
			.wrong = "is not none, aged, probation or auto" },
	[LINES] = { .text = access_format_is,
		    .wrong = "is not common, combined, squid, json, nor a text "
			     "with %{...} as digestd.conf(5) lists them" },
	[TELL] = { .names = admission_tell_names },
	[PREFIXES] = { .text = option_is_prefixes,
		       .wrong = "is not an address or prefix such as 192.0.2.1 "
				"or 10.0.0.0/8, nor unix:, of up to 64" },
	[FORWARDED] = { .names = forwarded_names },
	[PLACEMENT] = { .names = placement_names },
	[INVALIDATION] = { .names = invalidation_mode_names },
	[PEER_KIND] = { .names = peer_kind_names },
	[DIGEST_FORM] = { .names = digest_form_names },
	[NO_CACHE] = { .names = no_cache_names },
	[ARGUMENTS] = { .text = option_is_argument,
			.wrong = "is not the name of an argument" },
	[FIELD_NAMES] = { .text = option_is_field_name,
			  .wrong = "is not the name of a field, or of one that "
				   "frames the body" },
	[FIELD_LINES] = { .text = option_is_field_line,
			  .wrong = "is not a field such as \"Name: value\", or "
				   "is one that frames the body" },
	[COOKIES] = { .names = setcookie_names },
	[LEVEL] = { .names = log_level_names },
	[VERSION] = { .text = config_tls_is_version,
		      .wrong = "is not 1.2 or 1.3" },
	[NUMBER] = { .number = value_number, .wrong = "is not a number",
		     .units = numbers },
	[THREADS] = { .number = option_read_threads,
		      .wrong = "is not auto or a number",
		      .units = numbers },
	[SIZE] = { .number = value_size, .wrong = "is not a size such as 64M",
		   .units = sizes },
	[TIME_MS] = { .number = value_time_ms,
		      .wrong = "is not a time such as 500ms, 30s, 5m",
		      .units = times_ms },
	[TIME_S] = { .number = option_read_seconds,
		     .wrong = "is not a time in whole seconds such as 30s",
		     .units = times_s },
	[PROBATION] = { .share = option_read_probation,
			.wrong = "is not 0, nor between 0.0001 and 0.9" },
	[SHARE] = { .share = value_share, .wrong = "is not between 0 and 1" },
	[FLAG] = { .flag = value_flag,
		   .wrong = "is not true, yes or on, nor false, no or off" },
};
/* clang-format on */

/* Whether the member is an allocated string (or null). */
static bool option_is_string(const struct config_option *o)
{
	return kinds[o->kind].text || kinds[o->kind].names;
}

/* As in a file, in the largest unit in which it is whole. */
static void option_print_number(const struct config_option *o, int64_t number,
				char text[32])
{
	const struct unit *u = kinds[o->kind].units;

	while (u[1].suffix && (!number || number % u->of))
		u++;
	snprintf(text, 32, "%" PRId64 "%s", number / u->of, u->suffix);
}

/* A number that is one, but not within its range. */
static const char *option_range_fault(const struct config_option *o,
				      char room[128])
{
	char least[32], most[32];

	option_print_number(o, o->min, least);
	option_print_number(o, o->max, most);
	if (o->max == INT64_MAX)
		snprintf(room, 128, "is below %s", least);
	else
		snprintf(room, 128, "is not between %s and %s", least, most);
	return room;
}

const char *option_faulty_part(const struct config_option *o, const char *text,
			       char part[static OPTION_PART_BYTES])
{
	const char *bad;
	size_t len;

	if (o->kind != PREFIXES)
		return text;
	bad = address_prefixes_bad(text, &len);
	if (!bad)
		return text;
	snprintf(part, OPTION_PART_BYTES, "%.*s", (int)len, bad);
	return part;
}

const char *option_fault(const struct config_option *o, const char *text,
			 char room[static 128])
{
	const struct kind *kind = &kinds[o->kind];
	int64_t number;
	double share;
	bool flag;

	assert(text);
	if (kind->number) {
		if (!kind->number(text, &number))
			return kind->wrong;
		return number >= o->min && number <= o->max
			       ? NULL
			       : option_range_fault(o, room);
	}
	if (kind->share)
		return kind->share(text, &share) ? NULL : kind->wrong;
	if (kind->flag)
		return kind->flag(text, &flag) ? NULL : kind->wrong;
	if (kind->names) {
		enum_names_refuse(kind->names, room, 128);
		return enum_names_find(kind->names, text) < 0 ? room : NULL;
	}
	return kind->text(text) ? NULL : kind->wrong;
}

static void *option_member(void *section, const struct config_option *o)
{
	return (char *)section + o->at;
}

int option_set(const struct config_option *o, void *section, const char *text)
{
	const struct kind *kind = &kinds[o->kind];
	void *member = option_member(section, o);

	assert(text);
	if (kind->share)
		return kind->share(text, member) ? 0 : -EINVAL;
	if (kind->number)
		return kind->number(text, member) ? 0 : -EINVAL;
	if (kind->flag)
		return kind->flag(text, member) ? 0 : -EINVAL;
	*(char **)member = strdup(text);
	return *(char **)member ? 0 : -ENOMEM;
}

void option_clear(const struct config_option *o, void *section)
{
	if (option_is_string(o))
		free(*(char **)option_member(section, o));
}

bool option_is_same(const struct config_option *o, const struct config *a,
		    const struct config *b)
{
	const char *x = (const char *)a + o->at;
	const char *y = (const char *)b + o->at;
	const char *s, *t;

	if (o->kind == FLAG)
		return *(const bool *)x == *(const bool *)y;
	if (!option_is_string(o))
		return !memcmp(x, y, sizeof(int64_t));
	memcpy(&s, x, sizeof(s));
	memcpy(&t, y, sizeof(t));
	return s && t ? !strcmp(s, t) : s == t;
}

static size_t option_bytes(const struct config_option *o)
{
	if (o->kind == FLAG)
		return sizeof(bool);
	return option_is_string(o) ? sizeof(char *) : sizeof(int64_t);
}

void option_swap(const struct config_option *o, struct config *a,
		 struct config *b)
{
	char saved[sizeof(int64_t)];

	assert(a != b);
	memcpy(saved, option_member(a, o), option_bytes(o));
	memcpy(option_member(a, o), option_member(b, o), option_bytes(o));
	memcpy(option_member(b, o), saved, option_bytes(o));
}
