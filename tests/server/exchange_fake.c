/*
 * Exchanges without a server.
 */
#include "tests/server/exchange_fake.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"

void exchange_fake_make(struct exchange *x, struct loop *loop,
			const char *method, const char *target)
{
	*x = (struct exchange){ .loop = loop };
	fields_init(&x->fields);
	fields_init(&x->reply);
	x->request.method = method;
	x->request.target = target;
	x->request.target_len = strlen(target);
	x->request.minor = 1;
	x->request.fields = &x->fields;
}

void exchange_fake_free(struct exchange *x)
{
	fields_free(&x->fields);
	fields_free(&x->reply);
	free(x->body);
	x->body = NULL;
}

const struct server_request *exchange_request(const struct exchange *x)
{
	return &x->request;
}

void exchange_set_data(struct exchange *x, void *data)
{
	x->data = data;
}

void *exchange_data(const struct exchange *x)
{
	return x->data;
}

struct loop *exchange_loop(const struct exchange *x)
{
	assert_non_null(x->loop);
	return x->loop;
}

bool exchange_answered(const struct exchange *x)
{
	return x->answers;
}

static void exchange_fake_answer(struct exchange *x, unsigned status,
				 const struct fields *fields)
{
	assert_int_equal(x->answers, 0);
	x->answers++;
	x->status = status;
	for (size_t i = 0; fields && i < fields_count(fields); i++) {
		const struct field *f = fields_at(fields, i);

		if (fields_add(&x->reply, f->name, f->value))
			x->aborted = true;
	}
}

void exchange_reply(struct exchange *x, unsigned status,
		    const struct fields *fields, const void *body, size_t len,
		    void (*release)(void *arg), void *arg)
{
	exchange_reply_copy(x, status, fields, body, len);
	if (release)
		release(arg);
}

void exchange_reply_copy(struct exchange *x, unsigned status,
			 const struct fields *fields, const void *body,
			 size_t len)
{
	exchange_fake_answer(x, status, fields);
	x->body = malloc(len + 1);
	if (!x->body) {
		x->aborted = true;
		return;
	}
	if (len)
		memcpy(x->body, body, len);
	x->body[len] = '\0';
	x->body_len = len;
}

void exchange_reply_error(struct exchange *x, unsigned status,
			  const struct fields *fields)
{
	exchange_fake_answer(x, status, fields);
}

void exchange_reply_stream(struct exchange *x, unsigned status,
			   const struct fields *fields, int64_t body_len,
			   const struct body_source *source)
{
	(void)body_len;
	exchange_fake_answer(x, status, fields);
	x->source = *source;
}

void exchange_wake(struct exchange *x)
{
	assert_non_null(x->source.read);
	x->wakes++;
}

void exchange_abort(struct exchange *x)
{
	assert_int_equal(x->answers, 0);
	x->answers++;
	x->aborted = true;
}
