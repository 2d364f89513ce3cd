/*
 * The body of a client's request, on its way to the origin as it comes: a
 * window of it lies in r->upload.
 */
#include "digestd/proxy/request.h"

ssize_t request_read_upload(void *arg, void *buf, size_t cap)
{
	struct request *r = arg;
	size_t n = buffer_take(&r->upload, buf, cap);

	if (n && r->fill.client)
		exchange_resume_body(r->x);
	if (n)
		return (ssize_t)n;
	if (!r->fill.client)
		return FETCH_GIVE_UP;
	return r->upload_ended ? FETCH_EOF : FETCH_MORE;
}
