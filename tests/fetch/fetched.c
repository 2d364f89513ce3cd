/*
 * The callbacks of a fetch that a test watches.
 */
#include "tests/fetch/fetched.h"

#include "digestd/http/fields.h"
#include "tests/unit.h"

static void fetched_cancel(struct fetched *f)
{
	fetch_cancel(&f->fetch);
	f->over = true;
}

static void fetched_on_interim(void *arg, struct fetch *fetch, unsigned status,
			       const struct fields *fields)
{
	struct fetched *f = arg;

	(void)fetch;
	assert_int_equal(fields_count(fields), 1);
	assert_string_equal(fields_get(fields, "A"), "b");
	f->interim = status;
	if (f->cancels_at_interim)
		fetched_cancel(f);
}

static void fetched_on_headers(void *arg, struct fetch *fetch, unsigned status,
			       const struct fields *fields, int64_t body_len)
{
	struct fetched *f = arg;

	(void)fields;
	(void)body_len;
	f->status = status;
	if (f->lifts_total)
		fetch_lift_total(fetch);
	if (f->cancels_at_head)
		fetched_cancel(f);
}

static void fetched_go_on(void *arg)
{
	struct fetched *f = arg;

	fetch_resume(f->fetch);
}

static bool fetched_on_body(void *arg, struct fetch *fetch, const void *data,
			    size_t len)
{
	struct fetched *f = arg;
	unsigned call = f->calls++;

	(void)fetch;
	assert_false(f->over);
	if (f->pauses && call % f->pauses == 0) {
		loop_timer_set(f->loop, &f->timer,
			       loop_now_ms(f->loop) + call % 2,
			       fetched_go_on, f);
		return false;
	}
	if (f->body)
		assert_memory_equal(data, f->body + f->len, len);
	for (size_t i = 0; i < len && f->len + i < sizeof(f->text) - 1; i++)
		f->text[f->len + i] = ((const char *)data)[i];
	f->len += len;
	return true;
}

static void fetched_on_done(void *arg, struct fetch *fetch,
			    const struct fetch_done *done)
{
	struct fetched *f = arg;

	fetch_cancel(&fetch); /* of no effect, but allowed */
	loop_timer_clear(f->loop, &f->timer);
	f->done = *done;
	f->over = true;
}

const struct fetch_callbacks fetched_callbacks = {
	.on_interim = fetched_on_interim,
	.on_headers = fetched_on_headers,
	.on_body = fetched_on_body,
	.on_done = fetched_on_done,
};

void fetched_begin(struct fetched *f, struct loop *loop,
		   struct fetcher *fetcher, const struct fetch_request *request)
{
	f->loop = loop;
	assert_int_equal(fetch_start(fetcher, request, &fetched_callbacks, f,
				     &f->fetch), 0);
}

enum fetch_result fetched_end(struct fetched *f)
{
	while (!f->over)
		assert_int_equal(loop_turn(f->loop, 5000), 0);
	return f->done.result;
}
