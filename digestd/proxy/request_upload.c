/*
 * The body of a client's request, on its way to the origin as it comes: a
 * window of it lies in r->upload.
 */
#include "digestd/proxy/request.h"

enum {
	UPLOAD_WINDOW = 65536, /* between two ends */
	UPLOAD_WINDOW_MIN = 4096,
};

/* How many bytes may wait here. In need there are fewer. */
static size_t request_upload_window(struct request *r)
{
	struct ledger_account *memory = &r->upload_memory;

	if (!memory->bytes &&
	    !ledger_hold(&memory_ledger, LEDGER_uploads, memory, UPLOAD_WINDOW,
			 memory_reserve() / 2)) {
		memory->bytes = UPLOAD_WINDOW_MIN;
		ledger_add(&memory_ledger, LEDGER_uploads, memory->bytes);
	}
	return (size_t)memory->bytes;
}

ssize_t request_upload_put(struct request *r, const void *data, size_t len)
{
	size_t room;

	buffer_compact(&r->upload);
	room = request_upload_window(r) - buffer_left(&r->upload);
	if (len > room)
		len = room;
	r->upload_bytes += len;
	return len && buffer_append(&r->upload, data, len) ? -1 : (ssize_t)len;
}

ssize_t request_upload_take(struct request *r, void *buf, size_t cap)
{
	size_t n = buffer_take(&r->upload, buf, cap);

	if (n) {
		exchange_resume_body(r->x);
		return (ssize_t)n;
	}
	return r->upload_ended ? FETCH_EOF : FETCH_MORE;
}

void request_upload_free(struct request *r)
{
	buffer_free(&r->upload);
	ledger_release(&memory_ledger, LEDGER_uploads, &r->upload_memory);
}
