/*
 * See layout.h.
 */
#include "cachesim/trace/layout.h"

#include <stdio.h>
#include <string.h>

#include "cachesim/trace/scan.h"

enum { SPEC_MAX = 512 }; /* the option [bytes] */

/* clang-format off */
static const struct {
	enum trace_column column;
	const char *name;
} names[] = {
	{ TRACE_COL_TIME, "time" },
	{ TRACE_COL_TIME, "timestamp" },
	{ TRACE_COL_TIME, "ts" },
	{ TRACE_COL_TIME, "time-ms" },
	{ TRACE_COL_TIME, "time-s" },
	{ TRACE_COL_TIME, "timestamp-ms" },
	{ TRACE_COL_TIME, "unix-time" },
	{ TRACE_COL_TIME, "unixtime" },
	{ TRACE_COL_TIME, "epoch" },
	{ TRACE_COL_CLIENT, "client" },
	{ TRACE_COL_CLIENT, "client-id" },
	{ TRACE_COL_CLIENT, "client-ip" },
	{ TRACE_COL_CLIENT, "clientip" },
	{ TRACE_COL_CLIENT, "client-addr" },
	{ TRACE_COL_CLIENT, "c-ip" },
	{ TRACE_COL_CLIENT, "ip" },
	{ TRACE_COL_CLIENT, "ip-address" },
	{ TRACE_COL_CLIENT, "host" },
	{ TRACE_COL_CLIENT, "remote-host" },
	{ TRACE_COL_CLIENT, "remote-addr" },
	{ TRACE_COL_CLIENT, "src" },
	{ TRACE_COL_CLIENT, "src-ip" },
	{ TRACE_COL_CLIENT, "source-ip" },
	{ TRACE_COL_CLIENT, "user" },
	{ TRACE_COL_CLIENT, "user-id" },
	{ TRACE_COL_METHOD, "method" },
	{ TRACE_COL_METHOD, "verb" },
	{ TRACE_COL_METHOD, "http-method" },
	{ TRACE_COL_METHOD, "request-method" },
	{ TRACE_COL_METHOD, "cs-method" },
	{ TRACE_COL_URL, "url" },
	{ TRACE_COL_URL, "uri" },
	{ TRACE_COL_URL, "key" },
	{ TRACE_COL_URL, "obj-id" },
	{ TRACE_COL_URL, "object" },
	{ TRACE_COL_URL, "object-id" },
	{ TRACE_COL_URL, "objid" },
	{ TRACE_COL_URL, "id" },
	{ TRACE_COL_URL, "obj" },
	{ TRACE_COL_URL, "request-url" },
	{ TRACE_COL_URL, "request-uri" },
	{ TRACE_COL_URL, "uri-path" },
	{ TRACE_COL_URL, "cs-uri" },
	{ TRACE_COL_URL, "cs-uri-stem" },
	{ TRACE_COL_URL, "path" },
	{ TRACE_COL_URL, "cache-key" },
	{ TRACE_COL_URL, "content-id" },
	{ TRACE_COL_STATUS, "status" },
	{ TRACE_COL_STATUS, "code" },
	{ TRACE_COL_STATUS, "status-code" },
	{ TRACE_COL_STATUS, "http-status" },
	{ TRACE_COL_STATUS, "sc-status" },
	{ TRACE_COL_STATUS, "response-code" },
	{ TRACE_COL_STATUS, "response-status" },
	{ TRACE_COL_SIZE, "size" },
	{ TRACE_COL_SIZE, "sz" },
	{ TRACE_COL_SIZE, "bytes" },
	{ TRACE_COL_SIZE, "obj-size" },
	{ TRACE_COL_SIZE, "object-size" },
	{ TRACE_COL_SIZE, "length" },
	{ TRACE_COL_SIZE, "len" },
	{ TRACE_COL_SIZE, "content-length" },
	{ TRACE_COL_SIZE, "content-size" },
	{ TRACE_COL_SIZE, "response-size" },
	{ TRACE_COL_SIZE, "file-size" },
	{ TRACE_COL_SIZE, "bytes-sent" },
	{ TRACE_COL_SIZE, "body-bytes-sent" },
	{ TRACE_COL_SIZE, "sc-bytes" },
	{ TRACE_COL_VERSION, "version" },
	{ TRACE_COL_VERSION, "modified" },
	{ TRACE_COL_VERSION, "last-modified" },
	{ TRACE_COL_VERSION, "etag" },
};
/* clang-format on */

/* Whether they are the same, letters of either case and - and _ equal. */
static bool layout_same_name(struct trace_text a, const char *b)
{
	if (a.len != strlen(b))
		return false;
	for (size_t i = 0; i < a.len; i++) {
		char c = a.at[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if ((c == '_' ? '-' : c) != b[i])
			return false;
	}
	return true;
}

static struct trace_text layout_trimmed(struct trace_text t)
{
	while (t.len && *t.at == ' ') {
		t.at++;
		t.len--;
	}
	while (t.len && t.at[t.len - 1] == ' ')
		t.len--;
	return t;
}

void trace_layout_names(char *out, size_t size)
{
	enum trace_column last = TRACE_COLUMNS;
	size_t len = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *before = names[i].column == last ? ", " :
				     i			     ? "; " :
							       "";

		len += (size_t)snprintf(out + len, size - len, "%s%s", before,
					names[i].name);
		if (len >= size)
			return;
		last = names[i].column;
	}
}

enum trace_column trace_column_named(struct trace_text t)
{
	t = layout_trimmed(t);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (layout_same_name(t, names[i].name))
			return names[i].column;
	return TRACE_COLUMNS;
}

void trace_layout_init(struct trace_layout *l)
{
	memset(l, 0, sizeof(*l));
	for (int i = 0; i < TRACE_COLUMNS; i++)
		l->column[i] = -1;
	l->header = -1;
}

static bool layout_scan_bool(struct trace_text t, bool *out)
{
	*out = scan_is(t, "1") || scan_is(t, "true") || scan_is(t, "yes") ||
	       scan_is(t, "y");
	return *out || scan_is(t, "0") || scan_is(t, "false") ||
	       scan_is(t, "no") || scan_is(t, "n");
}

static int layout_set_delimiter(struct trace_layout *l, struct trace_text value)
{
	if (value.len == 0) /* the comma ended the word */
		l->delimiter = ',';
	else if (value.len == 1 && *value.at != '"' &&
		 ((unsigned char)*value.at >= 0x20 || *value.at == '\t'))
		l->delimiter = *value.at == '\\' ? ',' : *value.at;
	else if (scan_is(value, "space") || scan_is(value, "\\s"))
		l->delimiter = ' ';
	else if (scan_is(value, "\\t") || scan_is(value, "tab"))
		l->delimiter = '\t';
	else
		return TRACE_EOPTION;
	return 0;
}

static int layout_set_header(struct trace_layout *l, struct trace_text value)
{
	bool is;

	if (!layout_scan_bool(value, &is))
		return TRACE_EOPTION;
	l->header = is;
	return 0;
}

static int layout_set_number_keys(struct trace_layout *l,
				  struct trace_text value)
{
	return layout_scan_bool(value, &l->number_keys) ? 0 : TRACE_EOPTION;
}

/* What a letter of the format string stands for; bytes 0: not known. */
static struct trace_field layout_field_of_letter(char c)
{
	/* clang-format off */
	static const struct {
		char letter;
		struct trace_field field;
	} letters[] = {
		{ 'x', { 0, 1, 'x' } }, { 'c', { 0, 1, 'u' } },
		{ 'b', { 0, 1, 'i' } }, { 'B', { 0, 1, 'u' } },
		{ 'h', { 0, 2, 'i' } }, { 'H', { 0, 2, 'u' } },
		{ 'i', { 0, 4, 'i' } }, { 'I', { 0, 4, 'u' } },
		{ 'l', { 0, 4, 'i' } }, { 'L', { 0, 4, 'u' } },
		{ 'q', { 0, 8, 'i' } }, { 'Q', { 0, 8, 'u' } },
		{ 'f', { 0, 4, 'f' } }, { 'd', { 0, 8, 'f' } },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (letters[i].letter == c)
			return letters[i].field;
	return (struct trace_field){ 0, 0, 0 };
}

/* Appends `count` fields of one kind. False: too many. */
static bool layout_add_fields(struct trace_layout *l, struct trace_field f,
			      unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		f.offset = (uint16_t)l->block;
		l->block += f.bytes;
		if (f.type == 'x')
			continue;
		if (l->fields == TRACE_FIELDS_MAX)
			return false;
		l->field[l->fields++] = f;
	}
	return true;
}

static int layout_set_format(struct trace_layout *l, struct trace_text value)
{
	static const unsigned count_max = 4096;
	unsigned count = 0;

	l->fields = l->block = 0;
	for (size_t i = 0; i < value.len; i++) {
		char c = value.at[i];
		struct trace_field f = layout_field_of_letter(c);

		if (i == 0 && (c == '<' || c == '>' || c == '=')) {
			l->big = c == '>';
			continue;
		}
		if (c >= '0' && c <= '9' && count < count_max) {
			count = 10 * count + (unsigned)(c - '0');
			continue;
		}
		if (!f.bytes || count > count_max ||
		    !layout_add_fields(l, f, count ? count : 1))
			return TRACE_EOPTION;
		count = 0;
		if (l->block > UINT16_MAX - 8 * count_max)
			return TRACE_EOPTION;
	}
	return l->fields && !count ? 0 : TRACE_EOPTION;
}

static const struct {
	const char *name;
	int (*set)(struct trace_layout *l, struct trace_text value);
} settings[] = {
	{"delimiter", layout_set_delimiter},
	{"has-header", layout_set_header},
	{"header", layout_set_header},
	{"obj-id-is-num", layout_set_number_keys},
	{"format", layout_set_format},
};

/* "obj-id-col" as "obj-id". */
static struct trace_text layout_without_suffix(struct trace_text name)
{
	static const char *const suffixes[] = { "-col", "-field" };

	for (size_t i = 0; i < 2; i++) {
		size_t len = strlen(suffixes[i]);

		if (name.len > len &&
		    layout_same_name(
			    (struct trace_text){name.at + name.len - len, len},
			    suffixes[i]))
			name.len -= len;
	}
	return name;
}

/* A column at a number from 1, or under a heading. */
static int layout_set_column(struct trace_layout *l, struct trace_text name,
			     struct trace_text value)
{
	enum trace_column c = trace_column_named(layout_without_suffix(name));
	uint64_t number;

	if (c == TRACE_COLUMNS)
		return TRACE_EOPTION;
	l->columns_set = true;
	if (scan_u64(value, &number)) {
		if (number < 1 || number > TRACE_FIELDS_MAX)
			return TRACE_EOPTION;
		l->column[c] = (int)number - 1;
		return 0;
	}
	if (value.len == 0 || value.len >= TRACE_HEADING_MAX)
		return TRACE_EOPTION;
	memcpy(l->heading[c], value.at, value.len);
	l->heading[c][value.len] = '\0';
	l->header = 1;
	return 0;
}

static int layout_take_setting(struct trace_layout *l, struct trace_text name,
			       struct trace_text value)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (layout_same_name(name, settings[i].name))
			return settings[i].set(l, value);
	return layout_set_column(l, name, value);
}

/* A word without "=": the column at place *pos. */
static int layout_take_place(struct trace_layout *l, struct trace_text word,
			     int *pos)
{
	enum trace_column c = trace_column_named(word);
	int at = (*pos)++;

	if (scan_is(word, "-"))
		return 0;
	if (c == TRACE_COLUMNS || at >= TRACE_FIELDS_MAX)
		return TRACE_EOPTION;
	l->columns_set = true;
	l->column[c] = at;
	return 0;
}

int trace_layout_parse(struct trace_layout *l, const char *spec)
{
	struct trace_text rest = { spec, strlen(spec) }, word, name;
	bool more = true;
	int pos = 0, err = 0;

	if (rest.len > SPEC_MAX)
		return TRACE_EOPTION;
	while (more && !err) {
		more = scan_until(&rest, ',', &word);
		word = layout_trimmed(more ? word : rest);
		if (word.len == 0 && pos == 0 && l->delimiter == ',')
			continue; /* the comma of "delimiter=,," */
		l->refused = word;
		err = scan_until(&word, '=', &name)
			      ? layout_take_setting(l, layout_trimmed(name),
						    layout_trimmed(word))
			      : layout_take_place(l, word, &pos);
	}
	if (err)
		return err;
	l->refused.len = 0;
	if (l->columns_set && l->column[TRACE_COL_URL] < 0 &&
	    !l->heading[TRACE_COL_URL][0])
		return TRACE_EOPTION;
	return 0;
}
