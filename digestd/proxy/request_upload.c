/*
 * The body of a client's request, on its way to the origin as it comes: a
 * window of it lies in r->upload.
 */
#include "digestd/proxy/request.h"

ssize_t request_read_upload(void *arg, void *buf, size_t cap)
{
	struct request *r = arg;
	size_t n = buffer_take(&r->upload, buf, cap);

	if (n && r->x)
		exchange_resume_body(r->x);
	if (n)
		return (ssize_t)n;
	if (!r->x)
		return FETCH_GIVE_UP;
	return r->upload_ended ? FETCH_EOF : FETCH_MORE;
}

void request_push_upload(struct request *r, bool too_large)
{
	const struct node_fill_input in = {
		.event = NODE_UP,
		.now_ms = request_now_ms(r),
		.too_large = too_large,
	};

	request_fill_event(r, &in);
}
