/*
 * What operators ask of the node at its control socket: a function a command.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/admin/control.h"
#include "digestd/config/configuration.h"
#include "digestd/http/enum_names.h"
#include "digestd/http/target.h"
#include "digestd/os/access_log.h"
#include "digestd/os/log.h"
#include "digestd/part_settings.h"
#include "digestd/peers/peer_follower.h"
#include "digestd/peers/purge.h"
#include "digestd/service.h"
#include "digestd/service_inside.h"

enum { CONTROL_PATIENCE_MS = 30000 }; /* a person types faster */

typedef void service_command(struct service *s, const struct control_request *r,
			     struct control_reply *reply);

static void service_control_status(struct service *s,
				   const struct control_request *r,
				   struct control_reply *reply)
{
	struct node_status now;

	(void)r;
	service_status(s, &now);
	control_reply_end(reply,
			  json_pack("{s:o*}", "status",
				    node_status_object(&now)));
}

/* The end of a purge, in the words of the answer to a PURGE. */
static void service_control_on_purged(void *reply, unsigned status,
				      const char *body)
{
	json_t *answer = body && status != 400 ? json_loads(body, 0, NULL) :
						 NULL;

	if (answer && status == 200)
		control_reply_end(reply, answer);
	else if (answer)
		control_reply_refuse(reply, "not final: too few peers have "
				     "acknowledged it, try again: %s", body);
	else
		control_reply_refuse(reply, "%s",
				     body ? body : "the node has no memory for "
						   "it, or ends");
	if (status != 200)
		json_decref(answer);
}

static void service_control_purge(struct service *s,
				  const struct control_request *r,
				  struct control_reply *reply)
{
	static const char *const names[CONTROL_OPERAND_COUNT] = {
		[CONTROL_PREFIX] = "Purge-Prefix",
		[CONTROL_TAG] = "Purge-Tag",
	};
	const char *name = names[r->operand];
	const char *target = name ? "/" : r->value;
	struct fields fields;
	const struct purge_order order = {
		.target = { target, strlen(target) },
		.fields = &fields,
		.asker = "an operator",
		.done = service_control_on_purged,
		.arg = reply,
	};

	fields_init(&fields);
	if (name && fields_add(&fields, name, r->value))
		control_reply_end(reply, NULL);
	else
		purge_obey(&s->purger, &order);
	fields_free(&fields);
}

static void service_control_explain(struct service *s,
				    const struct control_request *r,
				    struct control_reply *reply)
{
	struct target t;
	int err = target_resolve(&t, r->value, strlen(r->value), NULL);

	if (err) {
		control_reply_refuse(reply, err == -EINVAL ?
				     "\"%s\" is no whole http or https URL" :
				     "%s: out of memory", r->value);
		return;
	}
	control_reply_end(reply, json_pack("{s:o}", "explain",
					   service_explain(s, &t)));
	target_free(&t);
}

static void service_control_on_reader_left(void *log)
{
	access_log_remove_reader(log);
}

/* Hands out where live records are; what is read there this node never sees. */
static void service_control_log(struct service *s,
				const struct control_request *r,
				struct control_reply *reply)
{
	const int fd = access_log_add_reader(s->access_log);
	const struct control_lease lease = {
		.fd = fd,
		.left = service_control_on_reader_left,
		.arg = s->access_log,
	};

	(void)r;
	if (fd < 0)
		control_reply_refuse(reply, "no memory for live records: %s",
				     strerror(-fd));
	else
		control_reply_last(reply, json_pack("{s:s}", "node",
						    s->config->node), &lease);
}

static void service_control_set_drained(struct service *s, bool drained,
					struct control_reply *reply)
{
	if (s->drained != drained)
		log_write(LOG_INFO, "service", "%s by an operator: /readyz "
			  "says %s", drained ? "drained" : "no longer drained",
			  drained ? "503" : "200");
	s->drained = drained;
	service_show_ready(s);
	control_reply_end(reply, json_pack("{s:b}", "drained", drained));
}

static void service_control_drain(struct service *s,
				  const struct control_request *r,
				  struct control_reply *reply)
{
	(void)r;
	service_control_set_drained(s, true, reply);
}

static void service_control_undrain(struct service *s,
				    const struct control_request *r,
				    struct control_reply *reply)
{
	(void)r;
	service_control_set_drained(s, false, reply);
}

static void service_control_hold(struct service *s,
				 const struct control_request *r, bool hold,
				 struct control_reply *reply)
{
	int err = s->follow ? peer_follower_hold(s->follow, r->value, hold) :
			      -ENOENT;

	if (err == -ENOENT)
		control_reply_refuse(reply, "there is no peer \"%s\" whose "
				     "digest is followed", r->value);
	else
		control_reply_end(reply, json_pack("{s:s, s:b}", "peer",
						   r->value, "changed", !err));
}

static void service_control_quarantine(struct service *s,
				       const struct control_request *r,
				       struct control_reply *reply)
{
	service_control_hold(s, r, true, reply);
}

static void service_control_release(struct service *s,
				    const struct control_request *r,
				    struct control_reply *reply)
{
	service_control_hold(s, r, false, reply);
}

/* The lines of a text, which may be null. */
static json_t *service_control_lines(const char *text)
{
	json_t *lines = json_array();

	while (text && *text) {
		size_t len = strcspn(text, "\n");

		/* what is no UTF-8 is left out: JSON cannot have it */
		json_array_append_new(lines, json_stringn(text, len));
		text += len + (text[len] == '\n');
	}
	return lines;
}

static void service_control_reload(struct service *s,
				   const struct control_request *r,
				   struct control_reply *reply)
{
	char *text = NULL;
	size_t len;
	FILE *told = open_memstream(&text, &len);
	bool done = service_reload(s, told);

	(void)r;
	if (told)
		fclose(told);
	control_reply_end(reply, json_pack("{s:b, s:o}", "reloaded", done,
					   "told",
					   service_control_lines(text)));
	free(text);
}

static void service_control_token(struct service *s,
				  const struct control_request *r,
				  struct control_reply *reply)
{
	char token[TOKEN_BYTES] = "";

	(void)r;
	if (s->config->nkeys)
		part_settings_token(s->config, token);
	if (*token)
		control_reply_end(reply, json_pack("{s:s}", "token", token));
	else
		control_reply_refuse(reply, "this node has no cluster key");
}

static void service_control_log_level(struct service *s,
				      const struct control_request *r,
				      struct control_reply *reply)
{
	const char *was = log_level_name();
	char wrong[80];

	(void)s;
	if (enum_names_find(log_level_names, r->value) < 0) {
		enum_names_refuse(log_level_names, wrong, sizeof(wrong));
		control_reply_refuse(reply, "\"%s\" %s", r->value, wrong);
		return;
	}
	log_set_level(r->value);
	control_reply_end(reply, json_pack("{s:s, s:s}", "level", r->value,
					   "was", was));
}

static service_command *const service_commands[CONTROL_COMMAND_COUNT] = {
	[CONTROL_STATUS] = service_control_status,
	[CONTROL_PURGE] = service_control_purge,
	[CONTROL_EXPLAIN] = service_control_explain,
	[CONTROL_LOG] = service_control_log,
	[CONTROL_DRAIN] = service_control_drain,
	[CONTROL_UNDRAIN] = service_control_undrain,
	[CONTROL_QUARANTINE] = service_control_quarantine,
	[CONTROL_RELEASE] = service_control_release,
	[CONTROL_RELOAD] = service_control_reload,
	[CONTROL_TOKEN] = service_control_token,
	[CONTROL_LOG_LEVEL] = service_control_log_level,
};

static void service_on_control(void *arg, const struct control_request *r,
			       struct control_reply *reply)
{
	service_commands[r->command](arg, r, reply);
}

static const char *service_control_error(int err)
{
	switch (err) {
	case -EADDRINUSE:
		return "another process listens there";
	case -ENOTSOCK:
		return "what is there is no socket";
	default:
		return strerror(-err);
	}
}

int service_start_control(struct service *s)
{
	char path[PART_SETTINGS_CONTROL_BYTES];
	const struct control_settings settings = {
		.path = path,
		.patience_ms = CONTROL_PATIENCE_MS,
		.serve = service_on_control,
		.arg = s,
	};
	int err;

	if (!part_settings_control(s->config, path))
		return 0;
	err = control_new(s->loop, &settings, &s->control);
	if (err)
		log_write(LOG_ERROR, "service", "control: %s: %s", path,
			  service_control_error(err));
	return err;
}
