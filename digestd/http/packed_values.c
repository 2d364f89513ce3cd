/*
 * Values that many responses have: of the static table of RFC 9204 (appendix
 * A), and types, caching and security as servers and frameworks send them by
 * default.
 */
#include "digestd/http/packed_values.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char *const packed_values[] = { /* ascending */
	"1; mode=block",
	"ASP.NET",
	"Accept",
	"Accept-Encoding",
	"Accept-Encoding, Origin",
	"Accept-Encoding, User-Agent",
	"Accept-Encoding,User-Agent",
	"Apache",
	"DENY",
	"Express",
	"GET",
	"GET, HEAD",
	"GET, HEAD, OPTIONS",
	"GET, OPTIONS",
	"GET, POST, OPTIONS",
	"HIT",
	"MISS",
	"Microsoft-IIS/10.0",
	"Origin",
	"Origin, Accept-Encoding",
	"SAMEORIGIN",
	"User-Agent",
	"accept-encoding",
	"application/dash+xml",
	"application/font-woff",
	"application/font-woff2",
	"application/javascript",
	"application/javascript; charset=utf-8",
	"application/json",
	"application/json; charset=utf-8",
	"application/manifest+json",
	"application/octet-stream",
	"application/pdf",
	"application/rss+xml",
	"application/vnd.apple.mpegurl",
	"application/wasm",
	"application/x-javascript",
	"application/x-mpegURL",
	"application/xml",
	"application/zip",
	"attachment",
	"audio/mpeg",
	"br",
	"bytes",
	"cloudflare",
	"cross-origin",
	"deflate",
	"en",
	"en-US",
	"false",
	"font/ttf",
	"font/woff",
	"font/woff2",
	"gzip",
	"image/avif",
	"image/gif",
	"image/jpeg",
	"image/png",
	"image/svg+xml",
	"image/vnd.microsoft.icon",
	"image/webp",
	"image/x-icon",
	"max-age=0",
	"max-age=10",
	"max-age=14400",
	"max-age=15552000",
	"max-age=15552000; includeSubDomains",
	"max-age=15552000; preload",
	"max-age=15724800; includeSubDomains",
	"max-age=1800",
	"max-age=21600",
	"max-age=2592000",
	"max-age=300",
	"max-age=31536000",
	"max-age=31536000, immutable",
	"max-age=31536000, public",
	"max-age=31536000; includeSubDomains",
	"max-age=31536000; includeSubDomains; preload",
	"max-age=31536000; includeSubdomains",
	"max-age=31536000; preload",
	"max-age=31557600",
	"max-age=3600",
	"max-age=43200",
	"max-age=60",
	"max-age=600",
	"max-age=604800",
	"max-age=63072000",
	"max-age=63072000; includeSubDomains; preload",
	"max-age=7200",
	"max-age=86400",
	"max-age=900",
	"nginx",
	"no-cache",
	"no-cache, no-store, must-revalidate",
	"no-referrer",
	"no-referrer-when-downgrade",
	"noindex",
	"none",
	"nosniff",
	"origin",
	"origin-when-cross-origin",
	"public",
	"public, immutable, max-age=31536000",
	"public, max-age=0",
	"public, max-age=0, must-revalidate",
	"public, max-age=14400",
	"public, max-age=2592000",
	"public, max-age=300",
	"public, max-age=31536000",
	"public, max-age=31536000, immutable",
	"public, max-age=3600",
	"public, max-age=60",
	"public, max-age=600",
	"public, max-age=604800",
	"public, max-age=86400",
	"public,max-age=31536000",
	"public,max-age=31536000,immutable",
	"same-origin",
	"same-site",
	"strict-origin-when-cross-origin",
	"text/css",
	"text/css; charset=utf-8",
	"text/css;charset=UTF-8",
	"text/html",
	"text/html; charset=UTF-8",
	"text/html; charset=iso-8859-1",
	"text/html; charset=utf-8",
	"text/html;charset=UTF-8",
	"text/html;charset=utf-8",
	"text/javascript",
	"text/javascript; charset=UTF-8",
	"text/javascript; charset=utf-8",
	"text/plain",
	"text/plain; charset=UTF-8",
	"text/plain; charset=utf-8",
	"text/xml",
	"text/xml; charset=utf-8",
	"true",
	"unsafe-none",
	"video/iso.segment",
	"video/mp2t",
	"video/mp4",
	"video/webm",
	"zstd",
};

enum { PACKED_NVALUES = sizeof(packed_values) / sizeof(packed_values[0]) };

_Static_assert(PACKED_NVALUES < 255, "a value's number is a byte, and not 0");

/* For the last five bits of a first byte, the lengths of those that begin so, a
 * bit each, the last one of all from 63 on: few others get past it. */
static const uint64_t packed_lengths[32] = {
	0x0000000000000000, 0x00000020aff984c0, 0x0000000000000024,
	0x0000000000001400, 0x0000000000000090, 0x00000000000000a4,
	0x0000000000000720, 0x0000000000041218, 0x0000000000000008,
	0x0000000001003600, 0x0000000000000000, 0x0000000000000000,
	0x0000000000000000, 0x000010080b05fe10, 0x00000008040009b0,
	0x0000000001800040, 0x0000000e01fe0040, 0x0000000000002000,
	0x0000000000000000, 0x0000000080000e00, 0x0000000063c08710,
	0x0000000000000c00, 0x0000000000020600, 0x0000000000000000,
	0x0000000000000000, 0x0000000000000000, 0x0000000000000010,
	0x0000000000000000, 0x0000000000000000, 0x0000000000000000,
	0x0000000000000000, 0x0000000000000000,
};

static bool packed_may_have(const char *value, size_t len)
{
	return packed_lengths[*value & 31] >> (len < 63 ? len : 63) & 1;
}

unsigned packed_value_number(const char *value, size_t len)
{
	unsigned from = 0, to = PACKED_NVALUES;

	if (!packed_may_have(value, len)) /* only saves time */
		return 0;

	while (from < to) {
		unsigned i = (from + to) / 2;
		int order = (unsigned char)*value -
			    (unsigned char)*packed_values[i];

		if (!order) /* else it only saves the call */
			order = strcmp(value, packed_values[i]);
		if (!order)
			return i + 1;
		if (order < 0)
			to = i;
		else
			from = i + 1;
	}
	return 0;
}

const char *packed_value(unsigned number)
{
	return number && number <= PACKED_NVALUES ? packed_values[number - 1] :
						    NULL;
}
