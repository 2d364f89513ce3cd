/*
 * The body of a client's request, on its way to the origin as it comes: a
 * window of it lies in r->upload.
 */
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

/* How many bytes may wait here; so many want to. */
static size_t request_upload_window(struct request *r, size_t need)
{
	const struct node_memory memory = worker_memory();

	return r->q->upgrade ?
		       node_memory_tunnel_up(&memory, &r->upload_memory) :
		       node_memory_upload(&memory, &r->upload_memory, need);
}

void request_upload_reserve(struct request *r)
{
	if (exchange_is_receiving(r->x) && !r->q->upgrade)
		(void)request_upload_window(r, 0);
}

ssize_t request_upload_put(struct request *r, const void *data, size_t len)
{
	size_t room, waiting;

	buffer_compact(&r->upload);
	waiting = buffer_left(&r->upload);
	room = request_upload_window(r, waiting + len) - waiting;
	if (len > room)
		len = room;
	r->upload_bytes += len;
	return len && buffer_append(&r->upload, data, len) ? -1 : (ssize_t)len;
}

ssize_t request_upload_take(struct request *r, void *buf, size_t cap)
{
	size_t n = buffer_take(&r->upload, buf, cap);

	if (n) {
		fill_tunnel_count(r->fill, n);
		exchange_resume_body(r->x);
		return (ssize_t)n;
	}
	return r->upload_ended ? FETCH_EOF : FETCH_MORE;
}

void request_upload_free(struct request *r)
{
	if (r->upload.data) /* only saves the call */
		buffer_free(&r->upload);
	ledger_release(&memory_ledger, LEDGER_uploads, &r->upload_memory);
}
