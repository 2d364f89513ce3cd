/*
 * What an operator asks of a running node.
 */
#include "digestd/admin/control_request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const operand_members[] = {
#define X(name, member) [CONTROL_##name] = (member),
	CONTROL_OPERANDS(X)
#undef X
};

static const struct {
	const char *word;
	unsigned operands; /* 1 << CONTROL_URL and so on */
} commands[] = {
#define X(name, word, operands) [CONTROL_##name] = { (word), (operands) },
	CONTROL_COMMANDS(X)
#undef X
};

const char *control_command_word(enum control_command command)
{
	return commands[command].word;
}

/* What somebody else has written, as far as it fits and can be shown. */
static int control_request_fault(char *fault, const char *what,
				 const char *name)
{
	size_t len = (size_t)snprintf(fault, CONTROL_FAULT_BYTES,
				      "%s \"%.60s\"", what, name);

	for (size_t i = 0; i < len && i < CONTROL_FAULT_BYTES; i++) {
		if (fault[i] && ((unsigned char)fault[i] < ' ' ||
				 (unsigned char)fault[i] > '~'))
			fault[i] = '?';
	}
	return -EINVAL;
}

static int control_request_say(char *fault, const char *what)
{
	snprintf(fault, CONTROL_FAULT_BYTES, "%s", what);
	return -EINVAL;
}

/* The version comes first: with another one nothing else may be believed. */
static int control_request_check_version(const json_t *line, char *fault)
{
	const json_t *v = json_object_get(line, "v");

	if (json_is_integer(v) && json_integer_value(v) == CONTROL_VERSION)
		return 0;
	snprintf(fault, CONTROL_FAULT_BYTES,
		 json_is_integer(v) ? "this node speaks version %d only" :
				      "\"v\", the version, must be %d",
		 CONTROL_VERSION);
	return -EINVAL;
}

static int control_request_find_command(struct control_request *r, char *fault)
{
	const char *word =
		json_string_value(json_object_get(r->line, "command"));

	if (!word)
		return control_request_say(fault,
					   "\"command\" must be a string");
	for (int i = 0; i < CONTROL_COMMAND_COUNT; i++) {
		if (!strcmp(word, commands[i].word)) {
			r->command = (enum control_command)i;
			return 0;
		}
	}
	return control_request_fault(fault, "no command", word);
}

static bool control_request_is_text(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	}
	return true;
}

static int control_request_set_operand(struct control_request *r,
				       const char *member, json_t *value,
				       char *fault)
{
	int i = 0;

	while (i < CONTROL_OPERAND_COUNT && strcmp(member, operand_members[i]))
		i++;
	if (i == CONTROL_OPERAND_COUNT ||
	    !(commands[r->command].operands & 1u << i))
		return control_request_fault(fault, "this command has no",
					     member);
	if (r->value)
		return control_request_fault(
			fault, "there is another one already, beside", member);
	r->operand = (enum control_operand)i;
	r->value = json_string_value(value);
	if (!r->value || !*r->value || !control_request_is_text(r->value))
		return control_request_fault(
			fault, "a text without control characters must be in",
			member);
	return 0;
}

/* "purge" needs "url" or "prefix" or "tag" */
static int control_request_miss(const struct control_request *r, char *fault)
{
	size_t len = (size_t)snprintf(fault, CONTROL_FAULT_BYTES,
				      "\"%s\" needs",
				      commands[r->command].word);
	const char *or = "";

	for (int i = 0; i < CONTROL_OPERAND_COUNT; i++) {
		if (!(commands[r->command].operands & 1u << i))
			continue;
		len += (size_t)snprintf(fault + len, CONTROL_FAULT_BYTES - len,
					"%s \"%s\"", or, operand_members[i]);
		or = " or";
	}
	return -EINVAL;
}

static int control_request_take_operands(struct control_request *r, char *fault)
{
	const char *member;
	json_t *value;
	int err = 0;

	json_object_foreach(r->line, member, value) {
		if (!strcmp(member, "v") || !strcmp(member, "command"))
			continue;
		err = control_request_set_operand(r, member, value, fault);
		if (err)
			return err;
	}
	if (commands[r->command].operands && !r->value)
		return control_request_miss(r, fault);
	return 0;
}

int control_request_read(const char *line, size_t len,
			 struct control_request *out,
			 char fault[CONTROL_FAULT_BYTES])
{
	struct control_request r = { .command = CONTROL_STATUS };
	json_error_t wrong;
	int err;

	if (len > CONTROL_LINE_MAX)
		return control_request_say(fault, "the line is too long");
	r.line = json_loadb(line, len, JSON_REJECT_DUPLICATES, &wrong);
	if (!json_is_object(r.line)) {
		json_decref(r.line);
		return control_request_say(fault,
					   "the line is no JSON object");
	}
	err = control_request_check_version(r.line, fault);
	if (!err)
		err = control_request_find_command(&r, fault);
	if (!err)
		err = control_request_take_operands(&r, fault);
	if (err)
		control_request_free(&r);
	else
		*out = r;
	return err;
}

void control_request_free(struct control_request *r)
{
	json_decref(r->line);
	r->line = NULL;
	r->value = NULL;
}
