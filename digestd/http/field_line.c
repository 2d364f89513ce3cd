/*
 * A line of a header: name, colon, value, line end.
 */
#include "digestd/http/field_line.h"

#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/http/octets.h"

enum field_line_state {
	FIELD_LINE_IN_NAME,
	FIELD_LINE_BEFORE_COLON, /* blanks, of responses */
	FIELD_LINE_BEFORE_VALUE,
	FIELD_LINE_IN_VALUE,
	FIELD_LINE_AT_LF,
	FIELD_LINE_AT_EMPTY_LF, /* of the line that ends the header */
};

static enum field_line_event field_line_bad(struct field_line *l,
					    enum message_fault fault)
{
	l->fault = fault;
	return FIELD_LINE_BAD;
}

/* What is wrong with a byte that should have been a colon. */
static enum message_fault field_line_name_fault(const struct field_line *l,
						char byte)
{
	if (!field_is_blank(byte))
		return byte == '\n' ? MESSAGE_LINE_END : MESSAGE_FIELD_NAME;
	return l->name_len ? MESSAGE_FIELD_BLANK : MESSAGE_FIELD_FOLDED;
}

/* A name has ended, or there is none. */
static enum field_line_event field_line_end_name(struct field_line *l,
						 char byte, bool strict)
{
	if (byte == ':' && l->name_len)
		l->state = FIELD_LINE_BEFORE_VALUE;
	else if (byte == '\r' && !l->at)
		l->state = FIELD_LINE_AT_EMPTY_LF;
	else if (!strict && l->name_len && field_is_blank(byte))
		l->state = FIELD_LINE_BEFORE_COLON;
	else
		return field_line_bad(l, field_line_name_fault(l, byte));
	l->at++;
	return FIELD_LINE_MORE;
}

static void field_line_trim_value(struct field_line *l, const char *line)
{
	uint32_t end = l->at;

	while (end > l->value_at && field_is_blank(line[end - 1]))
		end--;
	l->value_len = end - l->value_at;
}

static enum field_line_event field_line_end_value(struct field_line *l,
						  const char *line)
{
	if (line[l->at] != '\r')
		return field_line_bad(l, line[l->at] == '\n' ?
						 MESSAGE_LINE_END :
						 MESSAGE_FIELD_VALUE);
	field_line_trim_value(l, line);
	l->state = FIELD_LINE_AT_LF;
	l->at++;
	return FIELD_LINE_MORE;
}

static enum field_line_event field_line_end(struct field_line *l, char byte)
{
	if (byte != '\n')
		return field_line_bad(l, MESSAGE_LINE_END);
	l->at++;
	return l->state == FIELD_LINE_AT_LF ? FIELD_LINE_DONE :
					      FIELD_LINE_EMPTY;
}

/* A step that ends with the bytes, or at a byte that leads to another state. */
static enum field_line_event field_line_step(struct field_line *l,
					     const char *line, size_t len,
					     bool strict)
{
	const char *at = line + l->at, *end = line + len;

	switch ((enum field_line_state)l->state) {
	case FIELD_LINE_IN_NAME:
		l->at = (uint32_t)(octets_skip(at, end, OCTETS_TOKEN) - line);
		l->name_len = l->at;
		if (l->at == len)
			return FIELD_LINE_MORE;
		return field_line_end_name(l, line[l->at], strict);
	case FIELD_LINE_BEFORE_COLON:
		return field_line_end_name(l, *at, strict);
	case FIELD_LINE_BEFORE_VALUE:
		while (l->at < len && field_is_blank(line[l->at]))
			l->at++;
		l->value_at = l->at;
		l->state = l->at < len ? FIELD_LINE_IN_VALUE : l->state;
		return FIELD_LINE_MORE;
	case FIELD_LINE_IN_VALUE:
		l->at = (uint32_t)(octets_skip_value(at, end) - line);
		if (l->at == len)
			return FIELD_LINE_MORE;
		return field_line_end_value(l, line);
	case FIELD_LINE_AT_LF:
	case FIELD_LINE_AT_EMPTY_LF:
		break;
	}
	return field_line_end(l, *at);
}

/* Comes to the same as all of its steps, in half the time. */
bool field_line_read_whole(struct field_line *l, const char *line, size_t len)
{
	const char *end = line + len;
	const char *name_end = octets_skip(line, end, OCTETS_TOKEN);
	const char *value, *value_end;

	if (name_end == line || name_end == end || *name_end != ':')
		return false;
	value = name_end + 1;
	while (value < end && field_is_blank(*value))
		value++;
	value_end = octets_skip_value(value, end);
	if (end - value_end < 2 || memcmp(value_end, "\r\n", 2) != 0)
		return false;
	l->name_len = (uint32_t)(name_end - line);
	l->value_at = (uint32_t)(value - line);
	l->at = (uint32_t)(value_end - line);
	field_line_trim_value(l, line);
	l->at += 2;
	return true;
}

enum field_line_event field_line_read(struct field_line *l, const char *line,
				      size_t len, bool strict)
{
	enum field_line_event event = FIELD_LINE_MORE;

	if (strict && !l->at && len >= 2) { /* only saves time */
		if (line[0] == '\r' && line[1] == '\n') {
			l->at = 2;
			return FIELD_LINE_EMPTY;
		}
		if (field_line_read_whole(l, line, len))
			return FIELD_LINE_DONE;
	}
	while (l->at < len && event == FIELD_LINE_MORE)
		event = field_line_step(l, line, len, strict);
	return event;
}

enum field_line_event field_line_close(struct field_line *l, const char *line)
{
	if (l->state == FIELD_LINE_BEFORE_VALUE)
		l->value_at = l->at;
	else if (l->state != FIELD_LINE_IN_VALUE)
		return field_line_bad(l, MESSAGE_FIELD_NAME);
	field_line_trim_value(l, line);
	return FIELD_LINE_DONE;
}
