/*
 * The line of a chunk's size: a machine that takes bytes.
 */
#include "digestd/http/chunk.h"

#include "digestd/http/hexdigit.h"
#include "digestd/http/octets.h"

enum chunk_state {
	CHUNK_IN_DIGITS,
	CHUNK_IN_BLANKS,
	CHUNK_IN_EXTENSION,
	CHUNK_AT_LF,
};

static enum chunk_event chunk_bad(struct chunk_size *c,
				  enum message_fault fault)
{
	c->fault = fault;
	return CHUNK_BAD;
}

/* What follows the digits, or the blanks behind them. */
static enum chunk_event chunk_end_digits(struct chunk_size *c, char byte,
					 bool strict)
{
	if (!c->digits)
		return chunk_bad(c, MESSAGE_CHUNK_SIZE);
	if (byte == ';')
		c->state = CHUNK_IN_EXTENSION;
	else if (byte == '\r')
		c->state = CHUNK_AT_LF;
	else if (byte == '\n')
		return chunk_bad(c, MESSAGE_LINE_END);
	else if (!strict && field_is_blank(byte))
		c->state = CHUNK_IN_BLANKS;
	else
		return chunk_bad(c, MESSAGE_CHUNK_SIZE);
	return CHUNK_MORE;
}

static enum chunk_event chunk_take_digit(struct chunk_size *c, char byte,
					 bool strict)
{
	int digit = hexdigit_value(byte);

	if (digit < 0)
		return chunk_end_digits(c, byte, strict);
	if (c->digits == CHUNK_DIGITS_MAX)
		return chunk_bad(c, MESSAGE_CHUNK_SIZE);
	c->digits++;
	c->size = c->size << 4 | (unsigned)digit;
	return CHUNK_MORE;
}

static enum chunk_event chunk_take_extension(struct chunk_size *c, char byte)
{
	if (byte == '\r')
		c->state = CHUNK_AT_LF;
	else if (byte == '\n')
		return chunk_bad(c, MESSAGE_LINE_END);
	else if (!octets_has(OCTETS_VALUE, byte))
		return chunk_bad(c, MESSAGE_CHUNK_EXTENSION);
	return CHUNK_MORE;
}

static enum chunk_event chunk_take(struct chunk_size *c, char byte, bool strict)
{
	switch ((enum chunk_state)c->state) {
	case CHUNK_IN_DIGITS:
		return chunk_take_digit(c, byte, strict);
	case CHUNK_IN_BLANKS:
		return chunk_end_digits(c, byte, strict);
	case CHUNK_IN_EXTENSION:
		return chunk_take_extension(c, byte);
	case CHUNK_AT_LF:
		break;
	}
	return byte == '\n' ? CHUNK_DONE : chunk_bad(c, MESSAGE_LINE_END);
}

enum chunk_event chunk_size_read(struct chunk_size *c, struct field_part *in,
				 bool strict)
{
	enum chunk_event event = CHUNK_MORE;

	while (in->len && event == CHUNK_MORE) {
		event = chunk_take(c, *in->at, strict);
		c->extension += c->state == CHUNK_IN_EXTENSION;
		if (strict && c->extension > CHUNK_EXTENSION_MAX)
			event = chunk_bad(c, MESSAGE_CHUNK_EXTENSION);
		in->at++;
		in->len--;
	}
	return event;
}
