/*
 * Reason phrases: those of the statuses that IANA has registered.
 * Source: RFC 9110, 15, and the registry.
 */
#include "digestd/http/reason.h"

#include <stddef.h>

static const char *const reason_phrases[][52] = {
	{ [0] = "Continue", "Switching Protocols", "Processing",
	  "Early Hints" },
	{ [0] = "OK", "Created", "Accepted", "Non-Authoritative Information",
	  "No Content", "Reset Content", "Partial Content", "Multi-Status",
	  "Already Reported", [26] = "IM Used" },
	{ [0] = "Multiple Choices", "Moved Permanently", "Found", "See Other",
	  "Not Modified", "Use Proxy", "Switch Proxy", "Temporary Redirect",
	  "Permanent Redirect" },
	{ [0] = "Bad Request", "Unauthorized", "Payment Required", "Forbidden",
	  "Not Found", "Method Not Allowed", "Not Acceptable",
	  "Proxy Authentication Required", "Request Timeout", "Conflict",
	  "Gone", "Length Required", "Precondition Failed",
	  "Content Too Large", "URI Too Long", "Unsupported Media Type",
	  "Range Not Satisfiable", "Expectation Failed",
	  [21] = "Misdirected Request", "Unprocessable Content", "Locked",
	  "Failed Dependency", "Too Early", "Upgrade Required",
	  [28] = "Precondition Required", "Too Many Requests",
	  [31] = "Request Header Fields Too Large",
	  [51] = "Unavailable For Legal Reasons" },
	{ [0] = "Internal Server Error", "Not Implemented", "Bad Gateway",
	  "Service Unavailable", "Gateway Timeout",
	  "HTTP Version Not Supported", "Variant Also Negotiates",
	  "Insufficient Storage", "Loop Detected", [10] = "Not Extended",
	  "Network Authentication Required" },
};

const char *reason_phrase(unsigned status)
{
	unsigned family = status / 100 - 1, number = status % 100;
	const char *phrase = NULL;

	if (family < sizeof(reason_phrases) / sizeof(reason_phrases[0]) &&
	    number < sizeof(reason_phrases[0]) / sizeof(reason_phrases[0][0]))
		phrase = reason_phrases[family][number];
	return phrase ? phrase : "Unknown";
}
