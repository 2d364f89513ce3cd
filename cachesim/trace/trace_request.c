/*
 * Filling a request, and the texts of the errors.
 */
#include "cachesim/trace/trace_request.h"

#include <string.h>
#include <xxhash.h>

const char *trace_strerror(int code)
{
	switch ((enum trace_error)code) {
#define X(name, number, text)                                                  \
	case TRACE_##name:                                                     \
		return text;
		TRACE_ERRORS(X)
#undef X
	case TRACE_OK:
	case TRACE_ENOMEM:
		break;
	}
	return scd_strerror(code);
}

uint64_t trace_hash(const char *at, size_t len)
{
	return XXH3_64bits(at, len);
}

void trace_request_clear(struct trace_request *req)
{
	memset(req, 0, sizeof(*req));
	req->name.at = "";
	req->url.at = "";
	req->method.at = "GET";
	req->method.len = 3;
}

void trace_request_client(struct trace_request *req, struct trace_text name)
{
	if (name.len == 0 || (name.len == 1 && name.at[0] == '-'))
		return;
	req->name = name;
	req->client = trace_hash(name.at, name.len);
}

uint64_t trace_version(struct trace_text name)
{
	uint64_t hash;

	if (name.len == 0 || (name.len == 1 && name.at[0] == '-'))
		return 0;
	hash = trace_hash(name.at, name.len);
	return hash ? hash : 1;
}

void trace_request_url(struct trace_request *req, struct trace_text url)
{
	req->url = url;
	req->key = trace_hash(url.at, url.len);
}
