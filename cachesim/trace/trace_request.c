/*
 * Filling a request, and the texts of the errors.
 */
#include "cachesim/trace/trace_request.h"

#include <string.h>
#include <xxhash.h>

const char *trace_strerror(int code)
{
	switch ((enum trace_error)code) {
	case TRACE_OK:
		return "success";
	case TRACE_ENOMEM:
		return "out of memory";
	case TRACE_EIO:
		return "cannot read";
	case TRACE_ECODING:
		return "the compressed stream is damaged or cut";
	case TRACE_EUNKNOWN:
		return "not a known trace format";
	case TRACE_EOPTION:
		return "unknown option or value out of range";
	case TRACE_ELONG:
		return "line too long";
	case TRACE_EFIELDS:
		return "fields are missing";
	case TRACE_ETIME:
		return "no valid time";
	case TRACE_EREQUEST:
		return "no request line";
	case TRACE_EMETHOD:
		return "not a method";
	case TRACE_EURL:
		return "not a URL";
	case TRACE_ESTATUS:
		return "not an HTTP status";
	case TRACE_ESIZE:
		return "not a size";
	case TRACE_ECUT:
		return "the trace ends inside a record";
	case TRACE_EKEY:
		return "the key is not a number";
	case TRACE_EHEADER:
		return "the columns are not known";
	case TRACE_EBLANKS:
		return "lines with blanks, in no known format; name it with "
		       "--trace-type and --trace-type-params, as in "
		       "--trace-type csv --trace-type-params "
		       "delimiter=space,time=1,url=3";
	case TRACE_EOBJECTS:
		return "more objects or clients than 2^32 - 1";
	case TRACE_ECOMPACT:
		return "the compact trace is damaged";
	}
	return "unknown error";
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
