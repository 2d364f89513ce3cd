/*
 * The fields of a request as libcurl takes them: a list of lines.
 */
#ifndef DIGESTD_FETCH_FETCH_LINES_H
#define DIGESTD_FETCH_FETCH_LINES_H

#include <curl/curl.h>

struct fetch_request;

/*
 * Makes the lines of a request, without the fields that are the client's own
 * to write, and so that libcurl adds none. Returns 0, -EINVAL for a field that
 * is too long, or -ENOMEM; *lines is the caller's to free in any case.
 */
int fetch_lines_make(const struct fetch_request *request,
		     struct curl_slist **lines);

#endif
