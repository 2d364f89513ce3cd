/*
 * The configuration, by libconfuse: to which sizes and times are strings
 * ("64M"; "1.5s" is not one of them, "1500ms" is) that option.c reads.
 */
#include "digestd/config/configuration.h"

#include <assert.h>
#include <confuse.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/config/configuration_check.h"
#include "digestd/config/configuration_tls.h"
#include "digestd/config/option.h"
#include "digestd/config/value.h"
#include "digestd/http/enum_names.h"
#include "digestd/peers/peer_kind.h"

/*
 * Where libconfuse's messages go, and where options were seen: its functions
 * have no argument for it. For the time of one config_load(), which only one
 * thread calls.
 */
static struct config_errors *errors_now;
static unsigned lines_now[CONFIG_OPTIONS]; /* 0: not in the file */
static unsigned values_now[CONFIG_OPTIONS]; /* of a list, so far */
static char value_now[PATH_MAX];            /* of a list, the last one */

enum { OPTION_IS_GIVEN = 1 << 24 }; /* beside libconfuse's flags of an option */

/* libconfuse's */
static const char duplicate[] = "found duplicate title";
static const char no_boolean[] = "invalid boolean value";

/* "origin" or "peer": which of them has such a title. */
static const char *configuration_section_of(cfg_t *cfg, const char *title)
{
	bool origin = cfg_gettsec(cfg, "origin", title) != NULL;
	bool peer = cfg_gettsec(cfg, "peer", title) != NULL;

	return origin && peer ? "section" : origin ? "origin" : "peer";
}

static void configuration_report_duplicate(cfg_t *cfg, va_list args)
{
	const char *title = va_arg(args, const char *);

	config_report(errors_now, "%s:%d: %s \"%s\" is given twice\n",
		      cfg->filename, cfg->line,
		      configuration_section_of(cfg, title), title);
}

static void configuration_report_no_boolean(cfg_t *cfg, va_list args)
{
	const char *option = va_arg(args, const char *);

	config_report(errors_now, "%s:%d: %s: is not true, yes or on, nor "
		      "false, no or off\n", cfg->filename, cfg->line, option);
}

__attribute__((format(printf, 2, 0))) static void
configuration_on_error(cfg_t *cfg, const char *format, va_list args)
{
	char message[512];

	if (!strncmp(format, duplicate, strlen(duplicate))) {
		configuration_report_duplicate(cfg, args);
		return;
	}
	if (!strncmp(format, no_boolean, strlen(no_boolean))) {
		configuration_report_no_boolean(cfg, args);
		return;
	}
	vsnprintf(message, sizeof(message), format, args);
	config_report(errors_now, "%s:%d: %s\n",
		      cfg->filename ? cfg->filename : "configuration",
		      cfg->line, message);
}

static unsigned configuration_line_of(const char *name)
{
	return lines_now[option_find(name) - config_options];
}

/* A list that is given again would begin anew, and lose what it had. The end of
 * a list is told by its last value once more. */
static const char *configuration_list_fault(const struct config_option *o,
					    unsigned n, const char *text)
{
	unsigned *before = &values_now[o - config_options];
	bool again = n <= *before && strncmp(text, value_now,
					     sizeof(value_now) - 1) != 0;

	*before = n;
	snprintf(value_now, sizeof(value_now), "%s", text);
	return again ? "is given again; a list has several: { \"a\", \"b\" }" :
		       NULL;
}

/* Whether this option, of this section, was given before; refuses that. */
static bool configuration_is_again(cfg_t *cfg, cfg_opt_t *opt)
{
	bool again = opt->flags & OPTION_IS_GIVEN;

	if (again)
		cfg_error(cfg, "%s is given again", opt->name);
	opt->flags |= OPTION_IS_GIVEN;
	return again;
}

/* libconfuse's validator: called for each value, with the line at hand. */
static int configuration_validate(cfg_t *cfg, cfg_opt_t *opt)
{
	const struct config_option *o = option_find(opt->name);
	unsigned n = cfg_opt_size(opt);
	const char *text = n ? cfg_opt_getnstr(opt, n - 1) : NULL;
	char room[128], part[OPTION_PART_BYTES];
	const char *wrong;

	if (!o || (o->kind != PATHS && configuration_is_again(cfg, opt)))
		return o ? -1 : 0;
	lines_now[o - config_options] = (unsigned)cfg->line;
	if (!text)
		return 0;
	wrong = option_fault(o, text, room);
	if (!wrong && o->kind == PATHS)
		wrong = configuration_list_fault(o, n, text);
	if (wrong)
		cfg_error(cfg, "%s: \"%s\" %s", o->name,
			  option_faulty_part(o, text, part), wrong);
	return wrong ? -1 : 0;
}

static int configuration_validate_place(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *url = cfg_opt_getstr(opt);

	if (configuration_is_again(cfg, opt))
		return -1;
	if (url && upstream_is_url(url))
		return 0;
	cfg_error(cfg, "url: \"%s\" is not a URL such as http://host:port",
		  url ? url : "");
	return -1;
}

static int configuration_validate_kind(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *kind = cfg_opt_getstr(opt);
	char what[128];

	if (configuration_is_again(cfg, opt))
		return -1;
	if (kind && peer_kind_find(kind))
		return 0;
	enum_names_refuse(peer_kind_names, what, sizeof(what));
	cfg_error(cfg, "kind: \"%s\" %s", kind ? kind : "", what);
	return -1;
}

/* An option that sites have, too. */
static int configuration_validate_site(cfg_t *cfg, cfg_opt_t *opt)
{
	const struct config_option *o = option_find(opt->name);
	const char *text = cfg_opt_getstr(opt);
	const char *wrong;
	char room[128];

	if (configuration_is_again(cfg, opt))
		return -1;
	wrong = text ? option_fault(o, text, room) : "is missing";
	if (wrong)
		cfg_error(cfg, "%s: \"%s\" %s", o->name, text ? text : "",
			  wrong);
	return wrong ? -1 : 0;
}

/* From libconfuse's values to ours */

/* The values of a list, one a line. */
static int configuration_fill_list(struct config *c,
				   const struct config_option *o, cfg_t *cfg)
{
	unsigned n = cfg_size(cfg, o->name);
	size_t room = 0, len = 0;
	char *lines;
	int err;

	for (unsigned i = 0; i < n; i++)
		room += strlen(cfg_getnstr(cfg, o->name, i)) + 1;
	if (!room)
		return 0;
	lines = malloc(room);
	if (!lines)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		const char *text = cfg_getnstr(cfg, o->name, i);
		size_t text_len = strlen(text);

		memcpy(lines + len, text, text_len);
		len += text_len;
		lines[len++] = '\n';
	}
	lines[len - 1] = '\0';
	err = option_set(o, c, lines);
	free(lines);
	return err;
}

static int configuration_fill_option(struct config *c,
				     const struct config_option *o, cfg_t *cfg)
{
	const char *text;

	if (o->kind == FLAG) {
		option_set_flag(o, c, cfg_getbool(cfg, o->name));
		return 0;
	}
	if (o->kind == PATHS)
		return configuration_fill_list(c, o, cfg);
	text = cfg_getstr(cfg, o->name);
	return text ? option_set(o, c, text) : 0;
}

/* What only one of the sections has. */
static int configuration_fill_rest(cfg_t *sub, struct upstream *place)
{
	const char *text;

	if (!strcmp(cfg_name(sub), "peer")) {
		place->kind = peer_kind_find(cfg_getstr(sub, "kind"));
		return 0;
	}
	text = cfg_getstr(sub, "set_cookie");
	if (text)
		place->set_cookie = strdup(text);
	return text && !place->set_cookie ? -ENOMEM : 0;
}

static int configuration_fill_places(cfg_t *cfg, const char *section,
				     struct upstream **out, size_t *n)
{
	unsigned count = cfg_size(cfg, section);

	*out = calloc(count ? count : 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		cfg_t *sub = cfg_getnsec(cfg, section, i);
		struct upstream *place = &(*out)[(*n)++];
		const char *url = cfg_getstr(sub, "url");

		place->name = strdup(cfg_title(sub));
		place->url = strdup(url ? url : "");
		if (!place->name || !place->url ||
		    configuration_fill_rest(sub, place))
			return -ENOMEM;
	}
	return 0;
}

static int configuration_fill(struct config *c, cfg_t *cfg)
{
	int err = 0;

	for (size_t i = 0; i < CONFIG_OPTIONS && !err; i++)
		err = configuration_fill_option(c, &config_options[i], cfg);
	if (!err)
		err = configuration_fill_places(cfg, "origin", &c->origins,
						&c->norigins);
	if (!err)
		err = configuration_fill_places(cfg, "peer", &c->peers,
						&c->npeers);
	return err;
}

/* One row of ours as one of libconfuse's, which wants writable strings. */
static cfg_opt_t configuration_to_confuse(const struct config_option *o)
{
	if (o->kind == FLAG)
		return (cfg_opt_t)CFG_BOOL(
			o->name, !strcmp(o->value, "true"), CFGF_NONE);
	if (o->kind == PATHS)
		return (cfg_opt_t)CFG_STR_LIST(o->name, NULL, CFGF_NONE);
	return (cfg_opt_t)CFG_STR(o->name, o->value, CFGF_NONE);
}

static cfg_t *configuration_set_up(void)
{
	static cfg_opt_t place[] = {
		CFG_STR("url", NULL, CFGF_NONE),
		CFG_STR("kind", "digestd", CFGF_NONE),
		CFG_END(),
	};
	static cfg_opt_t site[] = {
		CFG_STR("url", NULL, CFGF_NONE),
		CFG_STR("set_cookie", NULL, CFGF_NONE),
		CFG_END(),
	};
	cfg_opt_t all[CONFIG_OPTIONS + 3];
	cfg_t *cfg;

	for (size_t i = 0; i < CONFIG_OPTIONS; i++)
		all[i] = configuration_to_confuse(&config_options[i]);
	all[CONFIG_OPTIONS] = (cfg_opt_t)CFG_SEC(
		"origin", site, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES);
	all[CONFIG_OPTIONS + 1] = (cfg_opt_t)CFG_SEC(
		"peer", place, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES);
	all[CONFIG_OPTIONS + 2] = (cfg_opt_t)CFG_END();
	cfg = cfg_init(all, CFGF_NONE); /* copies the table */
	if (!cfg)
		return NULL;
	cfg_set_error_function(cfg, configuration_on_error);
	for (size_t i = 0; i < CONFIG_OPTIONS; i++)
		cfg_set_validate_func(cfg, config_options[i].name,
				      configuration_validate);
	cfg_set_validate_func(cfg, "origin|url", configuration_validate_place);
	cfg_set_validate_func(cfg, "origin|set_cookie",
			      configuration_validate_site);
	cfg_set_validate_func(cfg, "peer|url", configuration_validate_place);
	cfg_set_validate_func(cfg, "peer|kind", configuration_validate_kind);
	return cfg;
}

/* All of a file as a string; null: it cannot be read, and *error says why. */
static char *configuration_config_read_file(const char *path,
					    const char **error)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;

	*error = file ? NULL : strerror(errno);
	if (!file)
		return NULL;
	if (getdelim(&text, &room, '\0', file) < 0) {
		*error = feof(file) ? NULL : strerror(errno);
		free(text);
		text = *error ? NULL : strdup(""); /* it is empty */
	} else if (!feof(file)) {
		*error = "has a NUL byte";
		free(text);
		text = NULL;
	}
	if (!text && !*error)
		*error = strerror(ENOMEM);
	fclose(file);
	return text;
}

/* Behind the string that begins here, or the end of the text. */
static char *configuration_string_end(char *s)
{
	const char quote = *s++;

	while (*s && *s != quote)
		s += *s == '\\' && s[1] ? 2 : 1;
	return *s ? s + 1 : s;
}

/* Behind the comment that begins here; null: none does, or it has no end. */
static char *configuration_comment_end(char *s)
{
	char *end;

	if (*s == '#' || !strncmp(s, "//", 2))
		return s + strcspn(s, "\n");
	if (strncmp(s, "/*", 2))
		return NULL;
	end = strstr(s + 2, "*/");
	return end ? end + 2 : NULL;
}

/* libconfuse counts the lines of comments twice: it gets blanks for them. */
static void configuration_blank_comments(char *text)
{
	bool within = false; /* a word, which may have such signs in it */
	char *end;

	while (*text) {
		if (*text == '"' || *text == '\'') {
			text = configuration_string_end(text);
			within = false;
		} else if (!within && (end = configuration_comment_end(text))) {
			for (; text < end; text++)
				*text = *text == '\n' ? '\n' : ' ';
		} else {
			within = !strchr(" \t\r\n={}()+,", *text++);
		}
	}
}

/*
 * libconfuse gets the text of the file and its name: its scanner ends the
 * process when it cannot read, a running node's too.
 */
static int configuration_config_parse_text(cfg_t *cfg, const char *path,
					   char *text)
{
	FILE *file = *text ? fmemopen(text, strlen(text), "r") : NULL;
	int result;

	if (!*text)
		return CFG_SUCCESS;
	cfg->filename = strdup(path);
	result = file && cfg->filename ? cfg_parse_fp(cfg, file) :
					 CFG_FILE_ERROR;
	if (file)
		fclose(file);
	return result;
}

/*
 * libconfuse takes the end of a file for the closing brace that a section
 * lacks. So one brace more is a fault after a file that is whole, and none
 * after the other. The text is one without faults. Returns 0; -EINVAL: its last
 * section is not closed; -ENOMEM.
 */
static int configuration_check_closed(const char *path, const char *text)
{
	struct config_errors *errors = errors_now, ignored = { .len = 0 };
	cfg_t *cfg = configuration_set_up();
	size_t room = strlen(text) + 3;
	char *more = malloc(room);
	int err = -ENOMEM;

	errors_now = &ignored;
	memset(values_now, 0, sizeof(values_now));
	if (cfg && more) {
		snprintf(more, room, "%s\n}", text);
		if (!configuration_config_parse_text(cfg, path, more))
			err = -EINVAL;
		else if (ignored.len)
			err = 0;
	}
	errors_now = errors;
	free(more);
	if (cfg)
		cfg_free(cfg);
	return err;
}

/* Which section is the last, of those that a file may end in. */
static void configuration_report_unclosed(cfg_t *cfg, const char *path)
{
	static const char *const names[] = { "origin", "peer" };
	cfg_t *last = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unsigned n = cfg_size(cfg, names[i]);
		cfg_t *sub = n ? cfg_getnsec(cfg, names[i], n - 1) : NULL;

		if (sub && (!last || sub->line >= last->line))
			last = sub;
	}
	if (last)
		config_report(errors_now, "%s:%d: section %s \"%s\" is not "
			      "closed\n", path, last->line, cfg_name(last),
			      cfg_title(last));
}

static void configuration_parse(cfg_t *cfg, const char *path,
				struct config_errors *errors)
{
	const char *error;
	char *text = configuration_config_read_file(path, &error);
	int err = 0;

	if (!text) {
		config_report(errors, "%s: %s\n", path, error);
		return;
	}
	configuration_blank_comments(text);
	errors_now = errors;
	memset(lines_now, 0, sizeof(lines_now));
	memset(values_now, 0, sizeof(values_now));
	value_now[0] = '\0';
	if (configuration_config_parse_text(cfg, path, text) && !errors->len)
		config_report(errors, "%s: not a configuration\n", path);
	if (!errors->len)
		err = configuration_check_closed(path, text);
	if (err == -EINVAL)
		configuration_report_unclosed(cfg, path);
	else if (err)
		config_report(errors, "%s: out of memory\n", path);
	errors_now = NULL;
	free(text);
}

int config_load(const char *path, struct config **out,
		struct config_errors *errors)
{
	assert(path && out);
	cfg_t *cfg = configuration_set_up();
	struct config *c = calloc(1, sizeof(*c));
	struct config_errors warnings = { .len = 0 };
	const struct config_check check = {path, configuration_line_of, errors,
					   &warnings};

	*errors = (struct config_errors){ .len = 0 };
	if (cfg && c)
		configuration_parse(cfg, path, errors);
	if (!cfg || !c || (!errors->len && configuration_fill(c, cfg)))
		config_report(errors, "%s: out of memory\n", path);
	if (!errors->len)
		config_check_whole(c, &check);
	if (!errors->len)
		config_tls_load(c, &check);
	if (cfg)
		cfg_free(cfg);
	if (errors->len) {
		config_free(&c);
		return -EINVAL;
	}
	*out = c;
	*errors = warnings;
	return 0;
}

void config_free(struct config **c)
{
	if (!*c)
		return;
	for (size_t i = 0; i < CONFIG_OPTIONS; i++)
		option_clear(&config_options[i], *c);
	upstreams_free((*c)->origins, (*c)->norigins);
	upstreams_free((*c)->peers, (*c)->npeers);
	config_tls_free(*c);
	explicit_bzero((*c)->keys, sizeof((*c)->keys));
	explicit_bzero((*c)->hash_key, sizeof((*c)->hash_key));
	free(*c);
	*c = NULL;
}

bool config_keep_key(const struct config *now, struct config *next)
{
	const bool other = !now->nkeys != !next->nkeys ||
			   memcmp(now->hash_key, next->hash_key,
				  sizeof(now->hash_key)) != 0;

	assert(now != next);
	if (other) {
		next->nkeys = now->nkeys;
		memcpy(next->keys, now->keys, sizeof(next->keys));
		memcpy(next->hash_key, now->hash_key, sizeof(next->hash_key));
	}
	return other;
}

static void configuration_config_report_kept(struct config_errors *kept,
					     const char *option)
{
	config_report(kept, "%s takes effect only at the next start\n", option);
}

/* A listener has TLS, or has none, until the next start. */
static void configuration_config_keep_tls_use(const char *option,
					      struct tls **now,
					      struct tls **next,
					      struct config_errors *kept)
{
	struct tls *other = *next;

	if (!*now == !*next)
		return;
	*next = *now;
	*now = other;
	configuration_config_report_kept(kept, option);
}

void config_keep_started(struct config *now, struct config *next,
			 struct config_errors *kept)
{
	assert(now && next);
	*kept = (struct config_errors){ .len = 0 };
	for (size_t i = 0; i < CONFIG_OPTIONS; i++) {
		const struct config_option *o = &config_options[i];

		if (!o->restart || option_is_same(o, now, next))
			continue;
		option_swap(o, now, next);
		configuration_config_report_kept(kept, o->name);
	}
	configuration_config_keep_tls_use(
		"tls_data_certificate", &now->tls_data, &next->tls_data, kept);
	configuration_config_keep_tls_use(
		"tls_peer_certificate", &now->tls_peer, &next->tls_peer, kept);
	configuration_config_keep_tls_use("tls_admin_certificate",
					  &now->tls_admin, &next->tls_admin,
					  kept);
}

void config_print_options(FILE *to)
{
	for (size_t i = 0; i < CONFIG_OPTIONS; i++)
		fprintf(to, "%-24s %-8s %s\n", config_options[i].name,
			config_options[i].value ? config_options[i].value : "-",
			config_options[i].help);
}
